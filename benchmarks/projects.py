"""Projects to measure in: ours and both floors over the same files, and the commands that run them.

No plugin is loaded by itself, for us as for the floor (``--disable-plugin-autoload``): others that happen to be
installed cost time that is nobody's here.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.child import ROOT, run, surroundings
from benchmarks.contest import Contestant
from benchmarks.data import write_cases, write_suite
from benchmarks.floor import TRIALS, write_jsonl_floor, write_yaml_floor

PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "--disable-plugin-autoload")
OURS: Final = (*PYTEST, "-p", "pytest_supportbench.plugin")
CLONE: Final = {"PYTHONPATH": str(ROOT)}


@dataclass(frozen=True, slots=True)
class Projects:
    """The folders of one size."""

    root: Path
    count: int

    @property
    def ours(self) -> Path:
        """The project with ``suite/`` and the suite's ``suite.yaml``."""
        return self.root / "ours"

    @property
    def cases(self) -> Path:
        """The same cases, one JSON object a line."""
        return self.root / "cases.jsonl"

    def yaml_floor(self, trials: int = 1) -> Contestant:
        """Return bare pytest with one YAML file a case and so many items of each."""
        folder = self.root / "yaml"
        environment = {TRIALS: str(trials)} if trials > 1 else {}
        proof = f"{self.count * trials} passed"
        forgets = partial(forget, folder)
        return Contestant("YAML floor", (*PYTEST, "suite"), folder, proof, environment, forgets)

    def jsonl_floor(self) -> Contestant:
        """Return bare pytest with one JSONL file."""
        folder = self.root / "jsonl"
        return Contestant("JSONL floor", PYTEST, folder, self._passed(), before=partial(forget, folder))

    def cold(self, *options: str) -> Contestant:
        """Return ours as on a first run: full scoring, a results file, nothing remembered."""
        forgets = partial(forget, self.ours)
        return Contestant("ours", self._command(*options), self.ours, self._passed(), CLONE, forgets)

    def again(self) -> Contestant:
        """Return ours over unchanged files, which comes after a run."""
        return Contestant(
            "ours, second run", self._command(), self.ours, self._passed(), CLONE, self._keep_results
        )

    def collected(self, *, cold: bool) -> Contestant:
        """Return ours with ``--collect-only``."""
        command = (*OURS, "suite", "--collect-only", "--supportbench-agent=oracle")
        name = f"ours, --collect-only {'cold' if cold else 'unchanged'}"
        before = partial(forget, self.ours) if cold else None
        return Contestant(name, command, self.ours, f"{self.count} tests collected", CLONE, before)

    def _command(self, *options: str) -> tuple[str, ...]:
        agent = () if any("-agent=" in option for option in options) else ("--supportbench-agent=oracle",)
        return (*OURS, "suite", *agent, "--supportbench-results=results.jsonl", *options)

    def _passed(self) -> str:
        return f"{self.count} passed"

    def _keep_results(self) -> None:
        (self.ours / "results.jsonl").unlink(missing_ok=True)


def forget(folder: Path) -> None:
    """Remove what earlier runs left in a project; its files stay in the system's page cache, as for everybody."""
    for name in (".supportbench", ".pytest_cache"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "results.jsonl").unlink(missing_ok=True)


def made(root: Path, count: int) -> Projects:
    """Make the projects of one size, in a child, so that this process stays small. Raises `RuntimeError`."""
    found = Projects(root / f"n{count}", count)
    if not found.root.exists():
        command = [sys.executable, "-m", "benchmarks.projects", str(found.root), str(count)]
        done = run(command, ROOT, surroundings(**CLONE))
        if done.status:
            msg = f"the projects of {count} cases could not be made: {done.last_line()}"
            raise RuntimeError(msg)
    return found


def _make(root: Path, count: int) -> None:
    projects = Projects(root, count)
    projects.ours.mkdir(parents=True)
    (projects.ours / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    suite = write_suite(projects.ours, count)
    cases = write_cases(root, count)
    write_yaml_floor(root / "yaml", suite)
    write_jsonl_floor(root / "jsonl", cases)


if __name__ == "__main__":
    _make(Path(sys.argv[1]), int(sys.argv[2]))
