"""The peers: how each is installed in an environment of its own, and the command that does the toy work with it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.child import INSTALL, run
from benchmarks.contest import Contestant
from benchmarks.floor import TOY

SCRIPTS: Final = Path(__file__).parent / "peer_scripts"


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer by the name in the results: its package, the files it runs, the command behind ``python``.

    ``limit`` is the share of its time at 1,000 cases that we may take; ``width`` tells that it has a setting for how
    many cases run at a time.
    """

    name: str
    package: str
    files: tuple[str, ...]
    command: tuple[str, ...]
    limit: float
    width: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    def python(self, folder: Path) -> Path:
        """Return the interpreter of its environment below ``folder``."""
        return folder / self.package / "bin" / "python"


_DEEPEVAL: Final = {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_NO_INSPECT_PROMPT": "1"}
_AGENT_EVAL: Final = ("-m", "pytest", "-q", "--agent-eval-live", "test_agent_eval.py")
PEERS: Final = (
    Peer(
        "pydantic-evals, with its table",
        "pydantic-evals",
        ("run_pydantic_evals.py",),
        ("run_pydantic_evals.py",),
        0.65,
        width=True,
    ),
    Peer("pytest-agent-eval", "pytest-agent-eval", ("test_agent_eval.py",), _AGENT_EVAL, 0.35),
    Peer(
        "deepeval evaluate()",
        "deepeval",
        ("run_deepeval.py", "deepeval_metric.py"),
        ("run_deepeval.py",),
        0.25,
        width=True,
        environment=_DEEPEVAL,
    ),
    Peer(
        "deepeval under pytest",
        "deepeval",
        ("test_deepeval.py", "deepeval_metric.py"),
        ("-m", "pytest", "-q", "test_deepeval.py"),
        0.12,
        environment=_DEEPEVAL,
    ),
    Peer("inspect-ai", "inspect-ai", ("run_inspect.py",), ("run_inspect.py",), 0.1, width=True),
)


def installed(peer: Peer, folder: Path) -> tuple[str, str]:
    """Install a peer where it is not yet; return its version, or why there is none, as the second of the two."""
    python = peer.python(folder)
    if not python.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = run([sys.executable, "-m", "venv", str(folder / peer.package)], folder)
        if made.status:
            return "", f"no environment: {made.last_line()}"
    version = _version(peer, python, folder)
    if not version:
        done = run([str(python), *INSTALL, peer.package], folder)
        if done.status:
            return "", f"not installed: {done.last_line()}"
        version = _version(peer, python, folder)
    return version, "" if version else "not installed, although pip said so"


def _version(peer: Peer, python: Path, folder: Path) -> str:
    code = f"from importlib.metadata import version; print(version({peer.package!r}))"
    done = run([str(python), "-c", code], folder)
    return "" if done.status else done.tail.strip()


def contestant(
    peer: Peer, folder: Path, place: Path, cases: Path, count: int, **environment: str
) -> Contestant:
    """Return a peer as a contestant over ``count`` cases, in a folder of its own below ``place``."""
    project = place / peer.name.replace(" ", "-")
    if not project.exists():
        project.mkdir(parents=True)
        (project / "toy.py").write_text(TOY, encoding="utf-8")
        (project / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
        (project / "cases.jsonl").symlink_to(cases)
        for name in peer.files:
            shutil.copy(SCRIPTS / name, project / name)
    command = (str(peer.python(folder)), *peer.command)
    before = partial(_forget, project)
    return Contestant(
        peer.name, command, project, f"{count} passed", {**peer.environment, **environment}, before
    )


def _forget(project: Path) -> None:
    for name in ("logs", ".pytest_cache", ".deepeval"):
        shutil.rmtree(project / name, ignore_errors=True)


def able(folder: Path) -> Iterator[tuple[Peer, str, str]]:
    """Yield each peer with its version, or with why it cannot run."""
    for peer in PEERS:
        version, why = installed(peer, folder)
        yield peer, version, why
