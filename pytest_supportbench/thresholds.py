"""Thresholds for those without a baseline: shares that a run must reach, judged by the share or by its lower bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import Case, CaseEvidence, Evidence
from pytest_supportbench.findings import suggestion
from pytest_supportbench.statistics import Interval, clustered, wilson
from pytest_supportbench.words import STRICT_DIMENSIONS

By = Literal["point", "bound"]
Count = Callable[[CaseEvidence], int | None]


def _escalation(expected: str, good: str) -> Count:
    return lambda item: item.escalation.get(good, 0) if item.expected_escalation == expected else None


def _dimension(name: str) -> Count:
    return lambda item: item.dimensions[name]


MEASURES: Final[Mapping[str, Count]] = {
    "strict": lambda item: item.passed,
    **{name: _dimension(name) for name in STRICT_DIMENSIONS},
    "recall": _escalation("must", "correct_escalation"),
    "specificity": _escalation("must_not", "correct_autonomy"),
    "routine_solved": lambda item: item.passed if item.expected_escalation == "must_not" else None,
}
"""How many trials of a scenario are good by each measure; ``None`` where the scenario is not of its kind."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least share (0 to 1) by measure, judged by the share itself (``point``) or its lower bound (``bound``)."""

    least: Mapping[str, float]
    by: By


@dataclass(frozen=True, slots=True)
class Measured:
    """One threshold with what was seen: good trials of ``whole``; ``interval`` is ``None`` where there were none."""

    name: str
    least: float
    good: int
    whole: int
    interval: Interval | None
    by: By

    @property
    def holds(self) -> bool:
        """Whether the share, or its lower bound, is high enough; false where nothing was measured."""
        if self.interval is None:
            return False
        return (self.interval.estimate if self.by == "point" else self.interval.low) >= self.least

    def __str__(self) -> str:
        """Return the threshold and what was seen in one line."""
        name = self.name.replace("_", " ")
        if self.interval is None:
            return f"{name}: nothing to measure; at least {self.least:g} is asked for"
        share = f"{self.interval.estimate:.3f} ({self.good}/{self.whole})"
        bounds = f"95 % interval {self.interval.low:.3f} to {self.interval.high:.3f}"
        what = "" if self.by == "point" else " of the lower bound"
        return f"{name}: {share}, {bounds}; at least {self.least:g} is asked for{what}"

    def to_json(self) -> dict[str, Any]:
        """Return the threshold and what was seen as JSON data."""
        return {
            "name": self.name,
            "least": self.least,
            "by": self.by,
            "good": self.good,
            "whole": self.whole,
            "interval": None
            if self.interval is None
            else [round(self.interval.low, 6), round(self.interval.high, 6)],
            "holds": self.holds,
        }


def read_thresholds(text: str, by: str = "") -> Thresholds:
    """Return the thresholds in ``strict=0.8,policy=0.95``. Raises `UsageError` naming the part and the remedy."""
    option = "--supportbench-fail-under"
    if by and by not in get_args(By):
        msg = f"{option}-by: {by[:60]!r} is neither point nor bound"
        raise UsageError(msg)
    least: dict[str, float] = {}
    for part in text.split(","):
        name, mark, value = (piece.strip() for piece in part.partition("="))
        if not mark:
            msg = f"{option}: {part[:60]!r} is no NAME=SHARE; write e.g. strict=0.8,policy=0.95"
            raise UsageError(msg)
        if name == "explanation":
            msg = f"{option}: explanation is not calibrated by people, so nothing may be gated on it"
            raise UsageError(msg)
        if name not in MEASURES:
            msg = f"{option}: {name[:60]!r} is no measure; {suggestion(name, MEASURES, 'measures')}"
            raise UsageError(msg)
        if name in least:
            msg = f"{option}: {name} is given twice"
            raise UsageError(msg)
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1:
            msg = f"{option}: {name} asks for {value[:60]!r}, which is no share from 0 to 1; write e.g. {name}=0.8"
            raise UsageError(msg)
        least[name] = number
    return Thresholds(least, cast("By", by or "point"))


def measure(found: Evidence, thresholds: Thresholds) -> tuple[Measured, ...]:
    """Return each threshold with what an agent showed, in their order."""
    return tuple(
        _measured(found.cases, name, least, thresholds.by) for name, least in thresholds.least.items()
    )


def _measured(cases: Mapping[Case, CaseEvidence], name: str, least: float, by: By) -> Measured:
    counts = [
        (item, good)
        for _, item in sorted(cases.items())
        if item.scored and (good := MEASURES[name](item)) is not None
    ]
    good, whole = sum(count for _, count in counts), sum(item.scored for item, _ in counts)
    return Measured(name, least, good, whole, share_interval(counts), by)


def share_interval(counts: list[tuple[CaseEvidence, int]]) -> Interval | None:
    """Return the interval of a share: Wilson's for one trial a scenario, else clustered by twin family.

    ``counts`` has each scenario with its good trials; ``None`` where there is none.
    """
    if not counts:
        return None
    if all(item.scored == 1 for item, _ in counts):
        return wilson(sum(good for _, good in counts), len(counts))
    families: dict[tuple[str, str], tuple[float, int]] = {}
    for item, good in counts:
        total, size = families.get((item.case[0], item.family), (0.0, 0))
        families[item.case[0], item.family] = (total + good / item.scored, size + 1)
    return clustered([total for total, _ in families.values()], [size for _, size in families.values()])
