"""The gate's steps over all scenarios together: the paired difference of pass rates, and that of each dimension."""

from __future__ import annotations

import statistics as plain
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pytest_supportbench.evidence import Case, CaseEvidence
from pytest_supportbench.gate_rules import Reason, Rules
from pytest_supportbench.statistics import (
    Interval,
    detectable_drop,
    difference_interval,
    holm,
    mcnemar_worse,
    sign_flip_worse,
)
from pytest_supportbench.words import STRICT_DIMENSIONS

Cases = Mapping[Case, CaseEvidence]
Rate = Callable[[CaseEvidence], Fraction]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The difference of the mean pass rates, now minus before, over scenarios that count.

    ``before`` and ``now`` are the mean rates; ``p_value`` is one-sided, for a drop; ``test`` names the test.
    ``detectable`` is the smallest true drop that this run would have shown with 80 % power, ``None`` where none.
    """

    scenarios: int
    before: float
    now: float
    difference: Interval
    p_value: float
    alpha: float
    test: str
    detectable: float | None
    reasons: tuple[Reason, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON data."""
        return {
            "scenarios": self.scenarios,
            "before": round(self.before, 6),
            "now": round(self.now, 6),
            "difference": round(self.difference.estimate, 6),
            "interval": [round(self.difference.low, 6), round(self.difference.high, 6)],
            "level": self.difference.level,
            "p_value": round(self.p_value, 6),
            "alpha": round(self.alpha, 6),
            "test": self.test,
            "detectable_drop": None if self.detectable is None else round(self.detectable, 6),
        }


def aggregate(old: Cases, new: Cases, rules: Rules, *, scenarios_can_block: bool) -> Aggregate:
    """Judge the drop of the mean pass rate over all scenarios against the margin.

    The level is the step's own, and that of the scenarios' step too where this cannot block.
    """
    alpha = rules.alpha_aggregate + (0.0 if scenarios_can_block else rules.alpha_scenarios)
    size = len(old)
    if not size:
        nothing = Interval(0.0, -1.0, 1.0)
        text = "no scenario counts; there is nothing to compare"
        reason = Reason("aggregate", text, "INCONCLUSIVE")
        return Aggregate(0, 0.0, 0.0, nothing, 1.0, alpha, "none", None, (reason,))
    p_value, test = _test(old, new, lambda item: item.rate)
    families = _by_family(old, new, lambda item: item.rate)
    interval = difference_interval([total for total, _ in families], [count for _, count in families])
    before, now = (float(sum(item.rate for item in side.values()) / size) for side in (old, new))
    drop = -interval.estimate
    worse = p_value <= alpha and drop > rules.margin and (not rules.margin or interval.high < -rules.margin)
    detectable = _detectable(old, new, alpha)
    text = (
        f"{100 * before:.1f} % → {100 * now:.1f} %: {100 * interval.estimate:+.1f} points "
        f"(95 % interval {100 * interval.low:+.1f} to {100 * interval.high:+.1f}), {test}, p = {p_value:.3g} for a drop"
    )
    reason = Reason("aggregate", text, "REGRESSED" if worse else None)
    return Aggregate(
        size,
        before,
        now,
        interval,
        p_value,
        alpha,
        test,
        detectable,
        (reason, *_power(detectable, interval)),
    )


def _power(detectable: float | None, interval: Interval) -> Iterator[Reason]:
    shown = (
        "no drop of the whole could have been shown with so few scenarios"
        if detectable is None
        else f"the smallest drop that it shows four times of five is {100 * detectable:.0f} points"
    )
    missed = max(0.0, -interval.low)
    yield Reason("aggregate", f"{shown}; a drop of {100 * missed:.0f} points is not ruled out")


def _test(old: Cases, new: Cases, rate: Rate) -> tuple[float, str]:
    """Return the one-sided p-value of a drop, and the test's name."""
    if all(item.weight == 1 for side in (old, new) for item in side.values()):
        broken = sum(rate(new[case]) < rate(old[case]) for case in old)
        fixed = sum(rate(new[case]) > rate(old[case]) for case in old)
        return mcnemar_worse(broken, fixed), f"exact McNemar, {broken} broken and {fixed} fixed"
    families = _by_family(old, new, rate)
    return sign_flip_worse([total for total, _ in families]), "paired permutation test"


def _by_family(old: Cases, new: Cases, rate: Rate) -> list[tuple[float, int]]:
    """Return the differences of the rates summed by twin family, and how many scenarios each family has."""
    found: dict[tuple[str, str], tuple[Fraction, int]] = {}
    for case in sorted(old):
        key = (case[0], old[case].family)
        total, count = found.get(key, (Fraction(), 0))
        found[key] = (total + rate(new[case]) - rate(old[case]), count + 1)
    return [(float(total), count) for total, count in found.values()]


def _detectable(old: Cases, new: Cases, alpha: float) -> float | None:
    changes = [float(new[case].rate - old[case].rate) for case in sorted(old)]
    spread = plain.stdev(changes) if len(changes) > 1 else 0.0
    single = all(item.weight == 1 for side in (old, new) for item in side.values())
    if single or not spread:
        fixed = sum(change > 0 for change in changes) / len(changes)
        return detectable_drop(len(old), alpha, fixed, paired=True)
    return detectable_drop(len(old), alpha, spread, paired=False)


def dimension_reasons(old: Cases, new: Cases, rules: Rules) -> tuple[Reason, ...]:
    """Test each of the four dimensions for a drop, adjusted by Holm, and tell the difference of each."""
    if not old:
        return ()
    rates: list[Rate] = [_dimension(name) for name in STRICT_DIMENSIONS]
    p_values = holm([_test(old, new, rate)[0] for rate in rates])
    found = []
    for name, rate, p_value in zip(STRICT_DIMENSIONS, rates, p_values, strict=True):
        before, now = (float(sum(map(rate, side.values())) / len(side)) for side in (old, new))
        text = f"{name.replace('_', ' ')}: {100 * before:.1f} % → {100 * now:.1f} %, p = {p_value:.3g} (Holm)"
        blocks = p_value <= rules.alpha_dimensions and before - now > rules.margin
        found.append(Reason("dimensions", text, "REGRESSED" if blocks else None))
    return tuple(found)


def _dimension(name: str) -> Rate:
    return lambda item: Fraction(item.dimensions[name], item.scored)
