"""Which attempt at a trial counts: a rerun must not turn a failure into a pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pytest_supportbench.results import Json, episode_key

VERDICTS: Final = frozenset({"passed", "failed", "error"})


def counting_attempts(lines: Iterable[Json]) -> list[Json]:
    """Return the attempt that counts of each trial, sorted by agent, suite, scenario and trial.

    That is the first one that was scored, else the last. Raises `ValueError` for an attempt that is there twice.
    """
    attempts: dict[tuple[str, str, str, int], dict[int, Json]] = {}
    for line in lines:
        if line.get("own") or line.get("unreported"):
            continue
        if line["verdict"] not in VERDICTS:
            msg = f"{episode_key(line)} has the verdict {str(line['verdict'])[:60]!r}"
            raise ValueError(msg)
        trial = (str(line["agent"]), str(line["suite"]), str(line["scenario"]), int(line["trial"]))
        found = attempts.setdefault(trial, {})
        if int(line["attempt"]) in found:
            msg = f"{episode_key(line)} is there twice; give each agent and each suite a name of its own"
            raise ValueError(msg)
        found[int(line["attempt"])] = line
    return [
        next(
            (found[number] for number in sorted(found) if found[number]["verdict"] != "error"),
            found[max(found)],
        )
        for _, found in sorted(attempts.items())
    ]
