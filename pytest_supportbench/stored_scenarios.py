"""Today's files of the scenarios that a stored run was of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_supportbench.bundled import bundled_suites
from pytest_supportbench.counted import counted
from pytest_supportbench.errors import FileError, UsageError
from pytest_supportbench.loading import (
    BoundScenario,
    BoundSuite,
    Loader,
    find_suite,
    scenario_files,
)
from pytest_supportbench.suite_identity import suite_facts


@dataclass(frozen=True, slots=True)
class Found:
    """A scenario as its file is today, or in ``problem`` why there is none that fits."""

    bound: BoundScenario | None
    problem: str = ""


def named_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the scenario files that the paths are or hold. Raises `UsageError` at one that does not exist."""
    for path in paths:
        if path.is_dir():
            yield from scenario_files(path).values()
        elif path.is_file():
            yield path
        else:
            msg = f"{path}: there is no such file or folder of scenarios; name one that there is with --scenarios"
            raise UsageError(msg)


def bundled_files() -> Iterator[Path]:
    """Yield the scenario files of the suites that come with the package."""
    for suite in bundled_suites():
        yield from scenario_files(suite.folder).values()


class Scenarios:
    """The scenarios of the suites that are needed, found by suite, id and hash.

    They are looked for below the ``folders``, then among the suites that come with the package. Raises `UsageError`
    where a folder does not exist. Suites of other names are not loaded, so that nothing wrong in them matters.
    """

    def __init__(self, folders: Sequence[Path], needed: Collection[str]) -> None:
        self._where = " or ".join(f"below {folder}" for folder in folders) or "in the package"
        self._known: dict[tuple[str, str], list[BoundScenario]] = {}
        self._facts: dict[Path, Mapping[str, Any]] = {}
        self._broken: list[str] = []
        self._notes: dict[str, None] = {}
        for folder in folders:
            if not folder.is_dir():
                msg = f"{folder}: is no folder; name with --scenarios where the scenario files are"
                raise UsageError(msg)
        self._load(named_files(folders), needed)
        missing = set(needed) - {suite for suite, _ in self._known}
        if missing:
            self._load(bundled_files(), missing)

    def _load(self, files: Iterable[Path], needed: Collection[str]) -> None:
        loader = Loader()
        suites: dict[Path, BoundSuite | None] = {}
        for path in files:
            suite_path = find_suite(path.parent)
            if suite_path is None:
                continue
            if suite_path not in suites:
                suites[suite_path] = self._suite(loader, suite_path, needed)
            if suites[suite_path] is None:
                continue
            try:
                bound = loader.load(path)
            except FileError as error:
                self._broken.append(str(error.problems[0]))
                continue
            self._known.setdefault((bound.suite.suite.name, bound.scenario.id), []).append(bound)

    def _suite(self, loader: Loader, path: Path, needed: Collection[str]) -> BoundSuite | None:
        try:
            suite = loader.suite(path)
        except FileError as error:
            self._broken.append(str(error.problems[0]))
            return None
        if suite.suite.name not in needed:
            return None
        (self._facts[path],) = suite_facts([suite])
        return suite

    def find(self, line: Mapping[str, Any], then: Mapping[str, Any] | None) -> Found:
        """Return the scenario that an episode line is of; ``then`` is what its run line says of the suite."""
        candidates = self._known.get((str(line["suite"]), str(line["scenario"])), [])
        if not candidates:
            broken = (
                f" ({counted(len(self._broken), 'file')} could not be loaded: {self._broken[0]})"
                if self._broken
                else ""
            )
            return Found(
                None,
                f"there is no such scenario {self._where}{broken}; name its folder with --scenarios",
            )
        same = [bound for bound in candidates if bound.sha256 == line["scenario_sha256"]]
        if not same:
            return Found(None, f"{candidates[0].path} has changed since; run the agent anew on it")
        if then is None:
            return Found(same[0])
        same.sort(key=lambda bound: self._facts[bound.suite.path]["sha256"] != then["sha256"])
        now = self._facts[same[0].suite.path]
        for field in ("version", "toolset", "toolset_version"):
            if now[field] != then[field]:
                what = field.replace("_", " ")
                text = f"{now['name']} has the {what} {now[field]} today, and had {str(then[field])[:60]}"
                return Found(None, f"{text}; run the agent anew")
        if now["sha256"] != then["sha256"]:
            self._notes[
                f"{now['name']}: other files of the suite have changed since; its episodes are graded by today's, "
                "and the hash of the suite stays that of then"
            ] = None
        return Found(same[0])

    def notes(self) -> tuple[str, ...]:
        """Return what there was to say of the suites that were found so far."""
        return tuple(self._notes)
