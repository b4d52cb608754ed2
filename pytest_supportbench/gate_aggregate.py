"""The gate's steps over all scenarios together: the paired difference of pass rates, and that of each dimension."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pytest_supportbench.evidence import Case, CaseEvidence
from pytest_supportbench.gate_rules import GateVerdict, Reason, Rules
from pytest_supportbench.permutation import sign_flip_differs, sign_flip_worse
from pytest_supportbench.statistics import (
    Interval,
    detectable_drop,
    difference_interval,
    holm,
    mcnemar_differs,
    mcnemar_worse,
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
            "p_value": float(f"{self.p_value:.6g}"),  # six digits: a tiny one is not 0
            "alpha": float(f"{self.alpha:.6g}"),
            "test": self.test,
            "detectable_drop": None if self.detectable is None else round(self.detectable, 6),
        }


@dataclass(frozen=True, slots=True)
class EitherWay:
    """The difference of the mean pass rates, new minus old, with its 95 % interval; ``p_value`` is two-sided.

    ``test`` names the test, which is the gate's own: `Aggregate` asks it for a drop alone.
    """

    difference: Interval
    p_value: float
    test: str


def either_way(old: Cases, new: Cases) -> EitherWay:
    """Compare two sides of which neither is the old one. Both have the same cases, one at least, and all scored."""
    p_value, test = _test(old, new, _passed, two_sided=True)
    return EitherWay(_interval(old, new, _passed), p_value, test)


def aggregate(old: Cases, new: Cases, rules: Rules, *, scenarios_can_block: bool) -> Aggregate:
    """Judge the drop of the mean pass rate over all scenarios against the margin.

    The level is the step's own, and that of the scenarios' step too where this cannot block.
    """
    alpha = rules.alpha_aggregate + (0.0 if scenarios_can_block else rules.alpha_scenarios)
    size = len(old)
    if not size:
        nothing = Interval(0.0, -1.0, 1.0)
        reason = Reason("aggregate", "no scenario counts: there is nothing to compare", "INCONCLUSIVE")
        return Aggregate(0, 0.0, 0.0, nothing, 1.0, alpha, "none", None, (reason,))
    p_value, test = _test(old, new, _passed)
    interval = _interval(old, new, _passed)
    before, now = _means(old, new, _passed)
    worse = p_value <= alpha and _beyond(old, new, _passed, rules.margin, alpha)
    blocks: GateVerdict | None = "REGRESSED" if worse else None
    detectable = _detectable(old, new, before, alpha, rules.margin)
    text = (
        f"{_change(before, now)}: {100 * interval.estimate:+.1f} points "
        f"(95 % interval {100 * interval.low:+.1f} to {100 * interval.high:+.1f})"
    )
    margin = f", beyond the margin of {100 * rules.margin:g} points" if rules.margin else ""
    reasons = (
        Reason("aggregate", text, blocks),
        Reason("aggregate", f"{test}: p = {p_value:.2g}; a drop blocks at {alpha:.2g}{margin}", blocks),
        *(Reason("aggregate", told) for told in _power(detectable, interval)),
        *(() if scenarios_can_block else _switched_off(old, new, rules, alpha)),
    )
    return Aggregate(size, before, now, interval, p_value, alpha, test, detectable, reasons)


def _passed(item: CaseEvidence) -> Fraction:
    return item.rate


def _means(old: Cases, new: Cases, rate: Rate) -> tuple[float, float]:
    before, now = (float(sum(map(rate, side.values())) / len(side)) for side in (old, new))
    return before, now


def _change(before: float, now: float) -> str:
    return f"{100 * before:.1f} % → {100 * now:.1f} %"


def _interval(old: Cases, new: Cases, rate: Rate, level: float = 0.95) -> Interval:
    families = _by_family(old, new, rate)
    return difference_interval(
        [float(total) for total, _ in families], [count for _, count in families], level
    )


def _beyond(old: Cases, new: Cases, rate: Rate, margin: float, alpha: float) -> bool:
    """Tell whether a drop is larger than the margin, with the same level as the test that it is one at all."""
    if not margin:
        return True
    return _interval(old, new, rate, 1 - 2 * alpha).high < -margin


def _power(detectable: float | None, interval: Interval) -> Iterator[str]:
    if detectable is None:
        yield "this run cannot show a drop of the whole: too few or unsteady passes"
    else:
        drop = f"{100 * detectable:.0f} points"
        yield f"the smallest drop that a run like this shows in 4 of 5 cases: {drop}"
    yield f"a drop of up to {100 * max(0.0, -interval.low):.0f} points is not ruled out"


def _switched_off(old: Cases, new: Cases, rules: Rules, alpha: float) -> Iterator[Reason]:
    """Yield that the chosen level lets no regression block, where the usual one would and no other step can."""
    smallest = _smallest_p_value(old, new)
    if alpha < smallest <= alpha * Rules().alpha / rules.alpha:
        enough = _rounded_up(smallest * rules.alpha / alpha)
        text = (
            f"at a level of {rules.alpha:g} not even {len(old)} scenarios that all break can block; "
            f"give one of at least {enough}, or bless a baseline of more trials"
        )
        yield Reason("aggregate", text, "INCONCLUSIVE")


def _smallest_p_value(old: Cases, new: Cases) -> float:
    """Return the p-value of the test if all that passed before failed now: each change is as likely up as down."""
    single = _single(old, new)
    can_fall = {case if single else (case[0], item.family) for case, item in old.items() if item.passed}
    return 0.5 ** len(can_fall)


def _rounded_up(value: float) -> str:
    """Return a number above 0 with two digits that is not below it."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / step - 1e-9) * step:.2g}"


def _test(old: Cases, new: Cases, rate: Rate, *, two_sided: bool = False) -> tuple[float, str]:
    """Return the p-value of a drop, or of any difference where ``two_sided``, and the test's name."""
    if _single(old, new):
        broken = sum(rate(new[case]) < rate(old[case]) for case in old)
        fixed = sum(rate(new[case]) > rate(old[case]) for case in old)
        mcnemar = mcnemar_differs if two_sided else mcnemar_worse
        return mcnemar(broken, fixed), f"exact McNemar, {broken} broken and {fixed} fixed"
    families = _by_family(old, new, rate)
    flips = sign_flip_differs if two_sided else sign_flip_worse
    return flips([total for total, _ in families]), "paired permutation test"


def _single(old: Cases, new: Cases) -> bool:
    """Tell whether each scenario counts as one trial, before and now."""
    return all(item.weight == 1 for side in (old, new) for item in side.values())


def _by_family(old: Cases, new: Cases, rate: Rate) -> list[tuple[Fraction, int]]:
    """Return the differences of the rates summed by twin family, and how many scenarios each family has."""
    found: dict[tuple[str, str], tuple[Fraction, int]] = {}
    for case in sorted(old):
        key = (case[0], old[case].family)
        total, count = found.get(key, (Fraction(), 0))
        found[key] = (total + rate(new[case]) - rate(old[case]), count + 1)
    return list(found.values())


def _detectable(old: Cases, new: Cases, before: float, alpha: float, margin: float) -> float | None:
    """Return the smallest drop beyond the margin that is shown; ``None`` where it is more than there is to lose."""
    if _smallest_p_value(old, new) > alpha:
        return None
    changes = [float(new[case].rate - old[case].rate) for case in sorted(old)]
    spread = plain.stdev(changes) if len(changes) > 1 else 0.0
    if _single(old, new) or not spread:
        fixed = sum(change > 0 for change in changes) / len(changes)
        drop = detectable_drop(len(old), alpha, fixed, paired=True)
    else:
        drop = detectable_drop(len(old), alpha, spread, paired=False)
    return None if drop is None or drop + margin > before else drop + margin


def dimension_reasons(old: Cases, new: Cases, rules: Rules) -> tuple[Reason, ...]:
    """Test each of the four dimensions for a drop, adjusted by Holm, and tell the difference of each."""
    if not old:
        return ()
    rates: list[Rate] = [_dimension(name) for name in STRICT_DIMENSIONS]
    p_values = holm([_test(old, new, rate)[0] for rate in rates])
    alpha = rules.alpha_dimensions
    found = []
    for name, rate, p_value in zip(STRICT_DIMENSIONS, rates, p_values, strict=True):
        change = _change(*_means(old, new, rate))
        test = f"p = {p_value:.2g} (Holm); a drop blocks at {alpha:.2g}"
        text = f"{name.replace('_', ' ')}: {change}, {test}"
        blocks = p_value <= alpha and _beyond(old, new, rate, rules.margin, alpha / len(rates))
        found.append(Reason("dimensions", text, "REGRESSED" if blocks else None))
    return tuple(found)


def _dimension(name: str) -> Rate:
    return lambda item: Fraction(item.dimensions[name], item.scored)
