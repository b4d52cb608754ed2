"""How long scenarios took in an earlier run: what shards are balanced by."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from pytest_supportbench.errors import UsageError
from pytest_supportbench.gists import asked, gist
from pytest_supportbench.results import Json
from pytest_supportbench.results_copy import damaged, read_results
from pytest_supportbench.results_file import RunFile

Case: TypeAlias = tuple[str, str]

MICROSECONDS: Final = 1_000_000
MAX_SECONDS: Final = 10**7
"""No episode takes longer than this; a number above it is nonsense."""


@dataclass(frozen=True, slots=True)
class Durations:
    """The mean microseconds of one episode by scenario, whole numbers so that sums are equal on every machine.

    ``suites`` has the root hash of each suite that the run had; ``path`` is the results file that they come from.
    """

    microseconds: Mapping[Case, int]
    suites: Mapping[str, str]
    path: str

    @property
    def sha256(self) -> str:
        """The hash of the durations alone, wherever the file is."""
        data = [[*case, value] for case, value in sorted(self.microseconds.items())]
        return hashlib.sha256(json.dumps(data).encode()).hexdigest()

    def of(self, case: Case) -> int:
        """Return a scenario's mean microseconds; those of one that is not known are the mean of all that are."""
        known = self.microseconds
        return known[case] if case in known else sum(known.values()) // len(known)

    def to_json(self) -> Json:
        """Return the durations as JSON data, as an xdist worker is told them."""
        times = [[*case, value] for case, value in sorted(self.microseconds.items())]
        return {"microseconds": times, "suites": dict(self.suites), "path": self.path}

    @classmethod
    def from_json(cls, data: Json) -> Durations:
        """Return durations from what `to_json` returned."""
        times = {(suite, scenario): value for suite, scenario, value in data["microseconds"]}
        return cls(times, data["suites"], data["path"])


def read_durations(path: Path, root: Path) -> Durations:
    """Return the durations that a results file has; ``root`` is what its path is recorded relative to.

    Raises `UsageError` where it is no results file, or has no episode that was scored.
    """
    run = read_results(path, _timed)
    try:
        found = _durations(run, path, root)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise damaged(str(path), error) from error
    if not found.microseconds:
        msg = f"{path}: has no scored episode whose duration could be used; name the results of a whole run"
        raise UsageError(msg)
    return found


def _durations(run: RunFile, path: Path, root: Path) -> Durations:
    """Return the means over scored trials; a gate's fresh ones are none of the items that a run is divided by."""
    times: dict[Case, list[int]] = {}
    trials = int(run.run["settings"]["trials"])
    for line in run.episodes:
        if line["verdict"] == "error" or line.get("own") or int(line["trial"]) > trials:
            continue
        seconds = asked(_seconds, line)
        if not (math.isfinite(seconds) and 0 <= seconds <= MAX_SECONDS):
            msg = f"an episode of {line['scenario']} took {seconds} seconds"
            raise ValueError(msg)
        times.setdefault((str(line["suite"]), str(line["scenario"])), []).append(
            round(seconds * MICROSECONDS)
        )
    means = {case: sum(values) // len(values) for case, values in times.items()}
    suites = {str(suite["name"]): str(suite["sha256"]) for suite in run.run["suites"]}
    place = path.resolve()
    inside = place.is_relative_to(root.resolve())
    return Durations(means, suites, place.relative_to(root.resolve()).as_posix() if inside else str(place))


def _seconds(line: Json) -> float:
    return float(line["timing"]["seconds"])


_timed: Final = partial(gist, questions=(_seconds,))
"""What is kept of an episode line."""


def last_durations(root: Path) -> Durations | None:
    """Return the durations of the last run below ``root``; ``None`` where there is none that can be used.

    A run that is under way, or was killed, is none. Of a shard it is what that shard was balanced by, so that shards
    that run one after the other on one machine fit together.
    """
    path = _last_run(root / ".supportbench")
    if path is None:
        return None
    try:
        run = read_results(path, _timed)
        settings = run.run["settings"]
        if settings.get("shard") is None:
            return read_durations(path, root) if run.complete else None
        used = settings["plan"]["durations"]
        found = None if used is None else read_durations(root / used["path"], root)
        return found if found is not None and found.sha256 == used["sha256"] else None
    except (UsageError, KeyError, TypeError, AttributeError):
        return None  # nobody named that file, so what is wrong with it is no mistake of the user's


def _last_run(folder: Path) -> Path | None:
    """Return the file that ``last-run.jsonl`` leads to, by a link or by what stands in it."""
    pointer = folder / "last-run.jsonl"
    try:
        with pointer.open(encoding="utf-8", errors="replace") as file:
            start = file.read(20)
            file.seek(0)
            line = json.loads(file.readline()) if start.startswith('{"type":"pointer"') else None
        return Path(os.path.realpath(pointer)) if line is None else Path(line["path"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def same_suites(durations: Durations, facts: Iterable[Mapping[str, str]]) -> bool:
    """Tell whether every suite has the hash that it had in the run that the durations come from."""
    return all(durations.suites.get(suite["name"]) == suite["sha256"] for suite in facts)
