"""Thresholds for those without a baseline: shares that a run must reach, judged by the share or by its lower bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, cast, get_args

from pytest_supportbench.counted import counted
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import Case, CaseEvidence, Evidence
from pytest_supportbench.explained import Explained
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

EXPLANATION: Final = "explanation"
"""The mean share of concepts that a calibrated rater finds in a scored episode; no count of trials."""

MOST_CONCEPTS: Final = 10_000
"""More than any episode has concepts: the fraction behind a share of them is the nearest of so small a denominator."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least share (0 to 1) by measure, judged by the share itself (``point``) or its lower bound (``bound``)."""

    least: Mapping[str, float]
    by: By


@dataclass(frozen=True, slots=True)
class Measured:
    """One threshold with what was seen: good trials of ``whole``; ``interval`` is ``None`` where there were none.

    Of explanation, ``good`` is the sum of the shares of ``whole`` episodes, and ``rater`` who found them. ``unknown``
    says why nothing can be told; ``infrastructure`` that only infrastructure errors are the cause. The share itself is
    compared as a fraction, with ``least`` as the decimal that was written: no rounding decides.
    """

    name: str
    least: float
    good: int | Fraction
    whole: int
    interval: Interval | None
    by: By
    rater: str = ""
    unknown: str = ""
    infrastructure: bool = False

    @property
    def missed(self) -> bool:
        """Whether it is known that the share, or its lower bound, is too low."""
        return not self.holds and not self.unknown

    @property
    def holds(self) -> bool:
        """Whether the share, or its lower bound, is high enough; false where nothing was measured or can be told."""
        if self.interval is None or self.unknown:
            return False
        return self._judged >= _decimal(self.least)

    @property
    def _judged(self) -> Fraction:
        """What is compared: the share, or its lower bound."""
        if self.by == "bound" and self.interval is not None:
            return Fraction(self.interval.low)
        return Fraction(self.good) / self.whole

    def __str__(self) -> str:
        """Return the threshold and what was seen in one line."""
        name = self.name.replace("_", " ")
        if self.unknown:
            return f"{name} cannot be told: {self.unknown}; at least {self.least:.15g} is asked for"
        if self.interval is None:
            return f"{name}: nothing to measure; at least {self.least:.15g} is asked for"
        of = f"mean of {counted(self.whole, 'episode')} by the {self.rater}"
        judged = _shown(self._judged, _decimal(self.least))
        point, low = (judged, f"{self.interval.low:.3f}")
        if self.by == "bound":
            point, low = (f"{float(Fraction(self.good) / self.whole):.3f}", judged)
        share = f"{point} ({of if self.rater else f'{self.good}/{self.whole}'})"
        bounds = f"95 % interval {low} to {self.interval.high:.3f}"
        what = "" if self.by == "point" else " of the lower bound"
        return f"{name}: {share}, {bounds}; at least {self.least:.15g} is asked for{what}"

    def to_json(self) -> dict[str, Any]:
        """Return the threshold and what was seen as JSON data."""
        return {
            "name": self.name,
            "least": self.least,
            "by": self.by,
            "good": self.good if isinstance(self.good, int) else round(float(self.good), 6),
            "whole": self.whole,
            "interval": None
            if self.interval is None
            else [round(self.interval.low, 6), round(self.interval.high, 6)],
            "holds": self.holds,
            "rater": self.rater or None,
            "unknown": self.unknown or None,
        }


def _decimal(share: float) -> Fraction:
    """Return the decimal that a share was written as, exactly: of all decimals the shortest that means this float."""
    return Fraction(repr(share))


def _shown(value: Fraction, least: Fraction) -> str:
    """Return a share with three digits, or with as many as it takes that one below ``least`` looks so."""
    for digits in range(3, 16):
        text = f"{float(value):.{digits}f}"
        if value >= least or Fraction(text) < least:
            return text
    return repr(float(value))


def read_thresholds(
    text: str,
    by: str = "",
    *,
    calibration: bool = False,
    option: str = "--supportbench-fail-under",
    remedy: str = "name what supportbench calibrate wrote with --supportbench-calibration",
) -> Thresholds:
    """Return the thresholds in ``strict=0.8,policy=0.95``. Raises `UsageError` naming the ``option`` and the remedy.

    ``calibration`` says whether a calibration file is named, without which nothing may be gated on explanation;
    ``remedy`` says how to name one.
    """
    if by and by not in get_args(By):
        msg = f"{option}-by: {by[:60]!r} is neither point nor bound"
        raise UsageError(msg)
    least: dict[str, float] = {}
    for part in text.split(","):
        name, mark, value = (piece.strip() for piece in part.partition("="))
        if not mark:
            msg = f"{option}: {part[:60]!r} is no NAME=SHARE; write e.g. strict=0.8,policy=0.95"
            raise UsageError(msg)
        if name == EXPLANATION and not calibration:
            msg = f"{option}: explanation is not calibrated by people, so nothing may be gated on it"
            raise UsageError(f"{msg}; {remedy}, or drop explanation")
        if name not in {*MEASURES, EXPLANATION}:
            known = suggestion(name, (*MEASURES, EXPLANATION), "measures")
            msg = f"{option}: {name[:60]!r} is no measure; {known}"
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


def measure(
    found: Evidence, thresholds: Thresholds, explained: Explained | None = None
) -> tuple[Measured, ...]:
    """Return each threshold with what an agent showed, in their order; ``explained`` is its explanation.

    Where infrastructure errors left nothing to score, no threshold can be told.
    """
    if found.errors and found.errors == found.trials:
        unknown = "nothing could be scored for infrastructure errors"
        return tuple(
            Measured(name, least, 0, 0, None, thresholds.by, unknown=unknown, infrastructure=True)
            for name, least in thresholds.least.items()
        )
    return tuple(
        _explained(explained, least, thresholds.by)
        if name == EXPLANATION
        else _measured(found.cases, name, least, thresholds.by)
        for name, least in thresholds.least.items()
    )


def _explained(found: Explained | None, least: float, by: By) -> Measured:
    """Return the mean share of concepts over scored episodes, its interval clustered by twin family."""
    if found is None:
        return Measured(EXPLANATION, least, 0, 0, None, by, unknown="nobody rated it")
    families: dict[str, tuple[Fraction, int]] = {}
    for family, share in found.shares:
        total, size = families.get(family, (Fraction(), 0))
        exact = Fraction(share).limit_denominator(MOST_CONCEPTS)
        families[family] = (total + exact, size + 1)
    totals, sizes = [total for total, _ in families.values()], [size for _, size in families.values()]
    return Measured(
        EXPLANATION,
        least,
        sum(totals, Fraction()),
        sum(sizes),
        clustered(list(map(float, totals)), sizes) if sizes else None,
        by,
        rater=found.rater,
        unknown=found.unknown,
        infrastructure=found.infrastructure,
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
    """Return the interval of a share of trials: Wilson's for one trial a scenario, else clustered by twin family.

    ``counts`` has each scenario with its good trials; ``None`` where there is none.
    """
    if not counts:
        return None
    if all(item.scored == 1 for item, _ in counts):
        return wilson(sum(good for _, good in counts), len(counts))
    families: dict[tuple[str, str], tuple[int, int]] = {}
    for item, good in counts:
        total, size = families.get((item.case[0], item.family), (0, 0))
        families[item.case[0], item.family] = (total + good, size + item.scored)
    return clustered([total for total, _ in families.values()], [size for _, size in families.values()])
