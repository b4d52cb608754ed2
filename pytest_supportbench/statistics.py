"""Intervals, tests and power of the gate: thin names over scipy and statsmodels, which no plain run imports.

Everything random is drawn with a fixed seed, so that equal inputs give equal numbers on every machine.
"""

# ruff: noqa: PLC0415 - numpy, scipy and statsmodels take a second to import, and only gates and comparisons pay for it

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED: Final = 20_260_101
RESAMPLES: Final = 9_999
POWER: Final = 0.8
CELLS: Final = 2_000_000
"""How many numbers one batch of resamples holds, so that suites of thousands of scenarios fit in memory."""
IN_TAIL: Final = 20
"""So many resamples at least are beyond a bound, or its level could not be told from chance."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its bounds, all in the same unit; ``level`` is the confidence level."""

    estimate: float
    low: float
    high: float
    level: float = 0.95


INSTALL: Final = 'pip install "pytest-supportbench[gate]"'


def missing_packages() -> list[str]:
    """Return which packages of the extra are not installed, importing none of them."""
    from importlib.util import find_spec

    return [name for name in ("scipy", "statsmodels") if find_spec(name) is None]


def require_statistics() -> None:
    """Raise `UsageError` naming the extra where scipy or statsmodels is not installed."""
    if missing := missing_packages():
        raise UsageError(f"gates and comparisons need {' and '.join(missing)}; run: {INSTALL}")


def wilson(passed: float, whole: int, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion of independent trials (Wilson 1927).

    ``passed`` need not be whole. By its formula, since the page of a plain run has it, and statsmodels takes two
    seconds to import. Raises `ValueError` for a proportion of nothing.
    """
    if not whole:
        msg = "a proportion of nothing has no interval"
        raise ValueError(msg)
    share = passed / whole
    squared = NormalDist().inv_cdf((1 + level) / 2) ** 2 / whole
    middle = share + squared / 2
    half = math.sqrt(squared * (share * (1 - share) + squared / 4))
    low, high = (middle - half) / (1 + squared), (middle + half) / (1 + squared)
    return Interval(share, max(0.0, min(share, low)), min(1.0, max(share, high)), level)


def clustered(sums: Sequence[float], sizes: Sequence[int], level: float = 0.95) -> Interval:
    """Return the interval of a share (0 to 1) over clusters, by a percentile bootstrap that draws whole clusters.

    ``sums`` and ``sizes`` have each cluster's total and number of observations. A bootstrap knows nothing of clusters
    too rare to be among those drawn, so each bound is at least as far off as `_unseen` says: where all passed, that is
    Wilson's interval with each cluster as one observation. Raises `ValueError` for a share of nothing.
    """
    import numpy as np

    _refuse_nothing(sizes)
    totals, counts = np.asarray(sums, dtype=float), np.asarray(sizes, dtype=float)
    shares = totals / counts
    low, high = _bootstrapped(totals, counts, level)
    estimate = float(totals.sum() / counts.sum())
    low = min(low, estimate - _unseen(1 - shares, 1.0, level, "wilson"))
    high = max(high, estimate + _unseen(shares, 1.0, level, "wilson"))
    return Interval(estimate, max(0.0, low), min(1.0, high), level)


def _refuse_nothing(sizes: Sequence[int]) -> None:
    if not sizes or min(sizes) < 1:
        msg = "a mean of nothing has no interval"
        raise ValueError(msg)


def _bootstrapped(sums: NDArray[np.float64], sizes: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Return the percentile bootstrap's bounds of the mean over clusters (Efron 1979); the mean where all are alike."""
    import numpy as np
    from scipy.stats import bootstrap

    if not np.ptp(sums / sizes):
        return float(sums.sum() / sizes.sum()), float(sums.sum() / sizes.sum())
    found = bootstrap(
        (sums, sizes),
        lambda total, count, axis: total.sum(axis=axis) / count.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=max(RESAMPLES, math.ceil(2 * IN_TAIL / (1 - level))),
        batch=max(1, CELLS // len(sums)),
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


def _unseen(changes: NDArray[np.float64], largest: float, level: float, method: str) -> float:
    """Return how much further up the mean of ``changes`` may be for clusters that did not happen to be seen.

    That is what clusters of the ``largest`` change would add if there were as many as can be while none is seen, or
    what further clusters like those above 0 would, as many as the upper bound of their share allows.
    """
    from statsmodels.stats.proportion import proportion_confint

    up = changes[changes > 0]
    _, most = proportion_confint([0, len(up)], len(changes), alpha=1 - level, method=method)
    further = (most[1] - len(up) / len(changes)) * up.mean() if len(up) else 0.0
    return float(max(most[0] * largest, further))


def mcnemar_worse(broken: int, fixed: int) -> float:
    """Return the exact one-sided p-value of McNemar's test (1947) that more was broken than fixed."""
    return _mcnemar(broken, fixed, "greater")


def mcnemar_differs(broken: int, fixed: int) -> float:
    """Return the exact two-sided p-value of McNemar's test (1947) that one of both is the more frequent."""
    return _mcnemar(broken, fixed, "two-sided")


def _mcnemar(broken: int, fixed: int, alternative: str) -> float:
    from scipy.stats import binomtest

    if not broken + fixed:
        return 1.0
    return float(binomtest(broken, broken + fixed, 0.5, alternative=alternative).pvalue)


def fisher_worse(before: tuple[int, int], now: tuple[int, int]) -> float:
    """Return Fisher's exact one-sided p-value that trials pass less often now; both are (passed, failed)."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([list(before), list(now)], alternative="greater").pvalue)


def difference_interval(differences: Sequence[float], sizes: Sequence[int], level: float = 0.95) -> Interval:
    """Return the interval of a mean paired difference (now minus before, -1 to 1), clusters drawn whole.

    ``differences`` are summed by cluster over ``sizes`` scenarios. Changes too rare to be among them are allowed for by
    `_unseen` with Clopper-Pearson's bounds (1934): as large ones as were seen in either direction, or whole ones where
    nothing changed. Raises `ValueError` for a mean of nothing.
    """
    import numpy as np

    _refuse_nothing(sizes)
    sums, counts = np.asarray(differences, dtype=float), np.asarray(sizes, dtype=float)
    changes = sums / counts
    largest = float(abs(changes).max()) or 1.0
    low, high = _bootstrapped(sums, counts, level)
    estimate = float(sums.sum() / counts.sum())
    low = min(low, estimate - _unseen(-changes, largest, level, "beta"))
    high = max(high, estimate + _unseen(changes, largest, level, "beta"))
    return Interval(estimate, max(-1.0, low), min(1.0, high), level)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the number of tests by Holm's step-down method (1979), in the same order."""
    from statsmodels.stats.multitest import multipletests

    if not p_values:
        return []
    return [float(value) for value in multipletests(list(p_values), method="holm")[1]]


def detectable_drop(scenarios: int, alpha: float, noise: float, *, paired: bool) -> float | None:
    """Return the smallest true drop of the pass rate (0 to 1) that the aggregate test shows with 80 % power.

    ``noise`` is the share of scenarios that flip in each direction without any change (one trial each, ``paired``:
    exact McNemar's power, summed over the number of flips), or the standard deviation of the scenarios' differences
    (several trials: power of the paired t-test). ``None`` where no drop would be shown.
    """
    if paired:
        most = int(scenarios * (1 - 2 * noise))  # beside those that flip anyway, no more can break
        found = bisect_left(
            range(1, most + 1),
            POWER,
            key=lambda broken: _mcnemar_power(scenarios, noise + broken / scenarios, noise, alpha),
        )
        return (found + 1) / scenarios if found < most else None
    from statsmodels.stats.power import TTestPower

    if scenarios < 2 or not noise:  # noqa: PLR2004 - no spread, no test
        return None
    effect = TTestPower().solve_power(
        nobs=scenarios, alpha=alpha, power=POWER, alternative="larger", effect_size=None
    )
    drop = float(effect) * noise
    return drop if drop <= 1 else None


def _mcnemar_power(scenarios: int, broken: float, fixed: float, alpha: float) -> float:
    """Return how often exact McNemar rejects where scenarios break and are fixed with these probabilities."""
    import numpy as np
    from scipy.stats import binom

    flips = min(1.0, broken + fixed)
    numbers = np.arange(1, scenarios + 1)
    least = binom.isf(alpha, numbers, 0.5)  # more than so many broken ones reject
    rejects = binom.sf(least, numbers, broken / flips)
    return float((binom.pmf(numbers, scenarios, flips) * rejects).sum())


def correlation(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Return Pearson's correlation of two binary series: Matthews' coefficient. ``None`` if one is constant."""
    import statistics

    try:
        return statistics.correlation([float(value) for value in first], [float(value) for value in second])
    except statistics.StatisticsError:
        return None


def simulate_any_above(
    counts: Sequence[float], before: Sequence[int], now: Sequence[int], draws: int = 20_000
) -> float:
    """Return how often chance alone lifts any of several counts, and its rate, above what they were before.

    ``counts`` were seen in ``before`` trials, and are taken for the true rates of the ``now`` ones, independently.
    """
    import numpy as np

    source = np.random.default_rng(SEED)
    above = np.zeros(draws, dtype=bool)
    for count, earlier, later in zip(counts, before, now, strict=True):
        seen = source.binomial(later, count / earlier, draws)
        above |= (seen > count) & (seen * earlier > count * later)
    return float(above.mean())
