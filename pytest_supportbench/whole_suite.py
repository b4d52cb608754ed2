"""A suite with all of its scenarios, which is what everything published about it is made from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_supportbench.errors import FileError, Problem, UsageError
from pytest_supportbench.loading import (
    SUITE_FILE,
    BoundScenario,
    BoundSuite,
    Loader,
    find_suite,
    read_yaml,
    scenario_files,
)
from pytest_supportbench.source import read_text
from pytest_supportbench.unique import check_unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CANARY: Final = re.compile(
    r"^# supportbench-canary ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class WholeSuite:
    """A suite and every scenario of its folder, ordered by id."""

    bound: BoundSuite
    scenarios: tuple[BoundScenario, ...]

    @property
    def folder(self) -> Path:
        """The folder that holds the suite file."""
        return self.bound.path.parent

    def data_files(self) -> Iterator[tuple[str, Path, BoundScenario | None]]:
        """Yield the files that the suite's meaning rests on, the suite file first and then by name.

        Each is a POSIX path relative to the folder, the path, and the scenario if it is one.
        """
        yield SUITE_FILE, self.bound.path, None
        data = read_yaml(self.bound.path)
        parts = (data.get(name) for name in ("policies", "knowledge", "toolset"))
        for part in sorted(
            part for part in parts if isinstance(part, str) and part.endswith((".yaml", ".yml"))
        ):
            yield part, self.folder / part, None
        named = {Path(bound.path).absolute(): bound for bound in self.scenarios}
        for name, path in scenario_files(self.folder).items():
            if path.absolute() in named:
                yield name, path, named[path.absolute()]


def canary(path: Path) -> str:
    """Return the GUID of a file's ``# supportbench-canary`` comment, empty where it has none."""
    found = _CANARY.search(read_text(path))
    return found[1] if found else ""


def load_whole(folder: Path, loaded: Iterable[BoundScenario] = ()) -> WholeSuite:
    """Return the suite in ``folder`` with its scenarios; those in ``loaded`` are not read again.

    Scenarios of another suite further down are left out. Raises `UsageError` where the folder has no suite file,
    and `FileError` with all that is wrong in its files.
    """
    path = folder / SUITE_FILE
    if not path.is_file():
        msg = f"{folder} has no {SUITE_FILE}; name the folder of a suite"
        raise UsageError(msg)
    loader = Loader(folder)
    bound = loader.suite(path.absolute())
    known = {Path(scenario.path).absolute(): scenario for scenario in loaded}
    scenarios: list[BoundScenario] = []
    problems: list[Problem] = []
    for file in scenario_files(folder).values():
        if find_suite(file.parent, folder) != bound.path:
            continue
        try:
            scenarios.append(known.get(file.absolute()) or loader.load(file))
        except FileError as error:
            problems += error.problems
    problems += check_unique(scenarios)
    if problems:
        raise FileError(tuple(problems))
    return WholeSuite(bound, tuple(sorted(scenarios, key=lambda scenario: scenario.scenario.id)))
