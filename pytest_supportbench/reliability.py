"""How reliable an agent is over several trials: pass@1, and pass^k, the chance that k trials of a scenario all pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_supportbench.evidence import CaseEvidence
from pytest_supportbench.statistics import Interval, clustered


@dataclass(frozen=True, slots=True)
class Reliability:
    """Means over ``scenarios`` of the unbiased estimates of pass@1 and pass^k, 0 to 1, each scenario counting once.

    Intervals are clustered by twin family, and ``None`` where they were not asked for. Scenarios have ``least`` to
    ``most`` scored trials. ``errors`` counts trials with infrastructure errors, which are in no number, and
    ``unscored`` the scenarios that have nothing else.
    """

    k: int
    scenarios: int
    pass_at_1: float
    pass_hat_k: float
    pass_at_1_interval: Interval | None
    pass_hat_k_interval: Interval | None
    least: int
    most: int
    errors: int
    unscored: int

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON data."""

        def bounds(interval: Interval | None) -> list[float] | None:
            return None if interval is None else [round(interval.low, 6), round(interval.high, 6)]

        return {
            "k": self.k,
            "scenarios": self.scenarios,
            "pass_at_1": round(self.pass_at_1, 6),
            "pass_at_1_interval": bounds(self.pass_at_1_interval),
            "pass_hat_k": round(self.pass_hat_k, 6),
            "pass_hat_k_interval": bounds(self.pass_hat_k_interval),
            "scored_trials": [self.least, self.most],
            "left_out": {"errors": self.errors, "scenarios": self.unscored},
        }


def pass_at_k(passed: int, trials: int, k: int) -> float:
    """Return the unbiased estimate that at least one of ``k`` trials passes (Chen et al. 2021).

    Raises `ValueError` for more than ``trials``, of which nothing can be said.
    """
    return 1 - _all_of(trials - passed, trials, k)


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """Return the unbiased estimate that all of ``k`` trials pass, written pass^k (Yao et al. 2024).

    Raises `ValueError` for more than ``trials``, of which nothing can be said.
    """
    return _all_of(passed, trials, k)


def _all_of(good: int, trials: int, k: int) -> float:
    """Return the share of the ways to choose ``k`` trials that take good ones only; plain runs have no scipy."""
    if not (1 <= k <= trials and 0 <= good <= trials):
        msg = f"{k} trials cannot be drawn of {trials} with {good} among them"
        raise ValueError(msg)
    return math.comb(good, k) / math.comb(trials, k)


def fewest(cases: Iterable[CaseEvidence]) -> int:
    """Return the fewest scored trials of a scenario that has any, 0 without one: the largest k that all can tell of."""
    return min((item.scored for item in cases if item.scored), default=0)


def reliability(
    cases: Iterable[CaseEvidence], *, intervals: bool, k: int | None = None
) -> Reliability | None:
    """Return the estimates over an agent's cases; ``None`` where no scenario has several trials or none is scored.

    ``k`` is by default the fewest scored trials of a scenario. Intervals load scipy. Raises `ValueError` for a ``k``
    above the scored trials of a scenario.
    """
    tried = list(cases)
    scored = [item for item in tried if item.scored]
    if not scored or all(item.scored + item.errors == 1 for item in tried):
        return None
    depth = k or fewest(scored)
    at_1, at_1_interval = _mean(scored, lambda item: pass_at_k(item.passed, item.scored, 1), intervals)
    hat_k, hat_k_interval = _mean(scored, lambda item: pass_hat_k(item.passed, item.scored, depth), intervals)
    return Reliability(
        k=depth,
        scenarios=len(scored),
        pass_at_1=at_1,
        pass_hat_k=hat_k,
        pass_at_1_interval=at_1_interval,
        pass_hat_k_interval=hat_k_interval,
        least=fewest(scored),
        most=max(item.scored for item in scored),
        errors=sum(item.errors for item in tried),
        unscored=len(tried) - len(scored),
    )


def _mean(
    cases: Sequence[CaseEvidence],
    estimate: Callable[[CaseEvidence], float],
    intervals: bool,
) -> tuple[float, Interval | None]:
    families: dict[tuple[str, str], list[float]] = {}
    for item in sorted(cases, key=lambda item: item.case):
        families.setdefault((item.case[0], item.family), []).append(estimate(item))
    sums, sizes = [sum(found) for found in families.values()], [len(found) for found in families.values()]
    return sum(sums) / sum(sizes), clustered(sums, sizes) if intervals else None
