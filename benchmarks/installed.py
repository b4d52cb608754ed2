"""Rows about having the plugin installed: what it costs a project without scenarios, and what it weighs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from benchmarks.child import INSTALL, ROOT, run
from benchmarks.contest import Contestant, contest, ratios
from benchmarks.projects import CLONE, OURS, PYTEST
from benchmarks.rows import Finding, Row, samples

_TESTS: Final = "".join(
    f"def test_{number}():\n    assert {number} + 1 == {number + 1}\n\n\n" for number in range(5)
)
_MORE: Final = 8
"""Times as many rounds: a process of a third of a second is noisy."""

_MEASURE: Final = """\
import json, pathlib, sysconfig
place = pathlib.Path(sysconfig.get_path("purelib"))
ours = [path for path in place.rglob("*") if path.is_file()]
tools = ("pip", "setuptools", "_distutils_hack", "distutils-precedence.pth")
kept = [path for path in ours if not path.relative_to(place).parts[0].startswith(tools)]
from importlib.metadata import distributions
names = {found.metadata["Name"].lower() for found in distributions()} - {"pip", "setuptools"}
print(json.dumps({"mb": sum(path.stat().st_blocks * 512 for path in kept) / 1e6, "packages": len(names)}))
"""


def idle_rows(place: Path, rounds: int) -> list[Row]:
    """Measure five plain tests with and without the plugin."""
    project = place / "plain"
    project.mkdir(parents=True, exist_ok=True)
    (project / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (project / "test_plain.py").write_text(_TESTS, encoding="utf-8")
    pair = [
        Contestant("without", PYTEST, project, "5 passed", CLONE),
        Contestant("with", OURS, project, "5 passed", CLONE),
    ]
    contest(pair, 1)  # bytecode is written here, once
    heats = contest(pair, _MORE * rounds)
    why = next(iter(heats.failures.values()), "")
    bare, loaded = heats.seconds("without"), heats.seconds("with")
    more = tuple(1e3 * (with_it - without) for with_it, without in zip(loaded, bare, strict=False))
    return [
        Row(
            "idle",
            "plugin installed, no scenario in the project (5 plain tests)",
            "at most 1.05 × pytest without it, 10 ms",
            (
                Finding("to pytest without it", "×", tuple(ratios(loaded, bare)), 1.05, why=why),
                Finding("more", "ms", more, 10.0, why=why),
                Finding("without", "s", tuple(bare), why=why),
            ),
            _MORE * rounds,
            commands=heats.commands,
            samples=samples(heats),
        )
    ]


def weight_rows(place: Path) -> list[Row]:
    """Measure a fresh environment into which this clone was installed without extras. Raises `RuntimeError`."""
    environment = place / "fresh"
    python = str(environment / "bin" / "python")
    install = [python, *INSTALL, str(ROOT)]
    for command in ([sys.executable, "-m", "venv", str(environment)], install, [python, "-c", _MEASURE]):
        done = run(command, place)
        if done.status:
            raise RuntimeError(done.last_line())
    found = json.loads(done.last_line())
    return [
        Row(
            "install",
            "install of the core in a fresh environment",
            "at most 60 MB and 25 packages",
            (
                Finding("size on disk, bytecode included", "MB", (found["mb"],), 60.0),
                Finding("packages, ours among them", "", (found["packages"],), 25.0),
            ),
            note="Without pip and setuptools, which the environment comes with.",
            commands={"install": "python -m pip install ."},
        )
    ]
