"""Which model or code a recorded agent would be today, found out without making the agent answer."""

from __future__ import annotations

import sys
import threading
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_supportbench.agents import make_agent
from pytest_supportbench.agents.base import declared_prompt, file_digest
from pytest_supportbench.cassette_key import digests
from pytest_supportbench.errors import InfrastructureError

if TYPE_CHECKING:
    from pytest_supportbench.agents.spec import AgentSpec

SECONDS: Final = 4.0
"""The longest wait for a model server that need not be there."""

_FINGERPRINTED: Final = ("command", "local", "ollama")
_MODULES: Final = ("python", "pydantic-ai", "langchain")


def digests_today(spec: AgentSpec, root: Path, source: str | None = None) -> tuple[dict[str, str], str]:
    """Return the digests that can be had now, and in words how far they go, or why there is none.

    A model's digest is asked for once, within seconds; a module is looked at and not imported, a command not started.
    ``source`` is the file of an object that Python code handed over. Raises nothing where the package, the server or
    the file is not there.
    """
    found, words = _found(spec, root, source)
    declared = digests({"kind": spec.kind, **declared_prompt(spec)})
    if declared:
        words = f"prompt and {words}" if found else f"prompt only: {words}"
    return {**found, **declared}, words


def _found(spec: AgentSpec, root: Path, source: str | None) -> tuple[dict[str, str], str]:
    """Return the digests beside that of a declared prompt, and how far they go."""
    if spec.kind in _MODULES or source:
        digest = file_digest(source or _origin(spec.target.partition(":")[0], root))
        return ({"module_sha256": digest}, "module file only") if digest else ({}, "its module is not here")
    if spec.kind not in _FINGERPRINTED:
        return {}, f"agents of kind {spec.kind!r} have no digest"
    found: dict[str, str] = {}
    problem = ["no answer in time"]

    def ask() -> None:
        try:
            agent = make_agent(spec, root)
        except Exception:  # noqa: BLE001 - a broken package is as good as none
            problem[0] = "it cannot be made here"
            return
        try:
            if spec.kind == "ollama":
                agent.check()
            found.update(digests(agent.fingerprint()))
            enough = "named files only" if spec.kind == "command" else "yes"
            problem[0] = enough if found else "it has no digest"
        except InfrastructureError as error:
            problem[0] = f"its server is not there ({error.cause})"
        except Exception:  # noqa: BLE001 - nothing that goes wrong here is of any consequence
            problem[0] = "it cannot be reached here"
        finally:
            agent.close()

    thread = threading.Thread(target=ask, name="supportbench-digest", daemon=True)
    thread.start()
    thread.join(SECONDS)
    return ({}, problem[0]) if thread.is_alive() else (found, problem[0])


def _origin(name: str, root: Path) -> str | None:
    """Return the file of a module that nothing imports for this."""
    places: list[str] = [*sys.path, str(root.resolve()), str(Path.cwd())]
    origin = None
    parts = name.split(".")
    for number in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:number]), places)
        if spec is None:
            return None
        origin, places = spec.origin, list(spec.submodule_search_locations or ())
    return origin
