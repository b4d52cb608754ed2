"""Intervals, tests and power of the gate: thin names over scipy and statsmodels, which no plain run imports.

Everything random is drawn with a fixed seed, so that equal inputs give equal numbers on every machine.
"""

# ruff: noqa: PLC0415 - numpy, scipy and statsmodels take a second to import, and only gates and comparisons pay for it

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED: Final = 20_260_101
RESAMPLES: Final = 9_999
POWER: Final = 0.8


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its bounds, all in the same unit; ``level`` is the confidence level."""

    estimate: float
    low: float
    high: float
    level: float = 0.95


def require_statistics() -> None:
    """Raise `UsageError` naming the extra where scipy or statsmodels is not installed."""
    from importlib.util import find_spec

    missing = [name for name in ("scipy", "statsmodels") if find_spec(name) is None]
    if missing:
        msg = f"gates and comparisons need {' and '.join(missing)}"
        raise UsageError(f'{msg}; run: pip install "pytest-supportbench[gate]"')


def wilson(passed: int, whole: int, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion of independent trials (Wilson 1927).

    Raises `ValueError` for a proportion of nothing.
    """
    from statsmodels.stats.proportion import proportion_confint

    if not whole:
        msg = "a proportion of nothing has no interval"
        raise ValueError(msg)
    low, high = proportion_confint(passed, whole, alpha=1 - level, method="wilson")
    return Interval(passed / whole, float(low), float(high), level)


def clustered(sums: Sequence[float], sizes: Sequence[int], level: float = 0.95) -> Interval:
    """Return the interval of a mean over clusters, by a percentile bootstrap that draws whole clusters.

    ``sums`` and ``sizes`` have each cluster's total and number of observations. Observations that are all alike have a
    bootstrap interval of no width, which is no honest one: then Wilson's interval over the clusters stands in for it.
    """
    import numpy as np
    from scipy.stats import bootstrap

    totals, counts = np.asarray(sums, dtype=float), np.asarray(sizes, dtype=float)
    estimate = float(totals.sum() / counts.sum())
    if len(totals) < 2 or np.ptp(totals / counts) == 0:  # noqa: PLR2004 - one cluster cannot be resampled
        if estimate in {0.0, 1.0}:
            edge = wilson(round(estimate * len(totals)), len(totals), level)
            return Interval(estimate, edge.low, edge.high, level)
        return Interval(estimate, 0.0, 1.0, level)
    found = bootstrap(
        (totals, counts),
        lambda total, count, axis: total.sum(axis=axis) / count.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Interval(estimate, float(found.low), float(found.high), level)


def mcnemar_worse(broken: int, fixed: int) -> float:
    """Return the exact one-sided p-value of McNemar's test (1947) that more was broken than fixed."""
    from scipy.stats import binomtest

    if not broken + fixed:
        return 1.0
    return float(binomtest(broken, broken + fixed, 0.5, alternative="greater").pvalue)


def sign_flip_worse(differences: Sequence[float]) -> float:
    """Return the one-sided p-value of a paired permutation test that the mean difference is below 0 (Fisher 1935).

    ``differences`` are now minus before, summed by cluster. Exact up to 13 clusters that changed, else 9,999 draws.
    """
    import numpy as np
    from scipy.stats import permutation_test

    changed = np.asarray([value for value in differences if value], dtype=float)
    if not len(changed):
        return 1.0
    found = permutation_test(
        (changed,),
        lambda values, axis: values.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        alternative="less",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def fisher_worse(before: tuple[int, int], now: tuple[int, int]) -> float:
    """Return Fisher's exact one-sided p-value that trials pass less often now; both are (passed, failed)."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([list(before), list(now)], alternative="greater").pvalue)


def difference_interval(differences: Sequence[float], sizes: Sequence[int], level: float = 0.95) -> Interval:
    """Return the interval of a mean paired difference (now minus before), clusters drawn whole.

    ``differences`` are summed by cluster over ``sizes`` scenarios. Never narrower than what unseen changes allow: the
    bounds are at least as wide as Clopper-Pearson's for clusters of which none changed in that direction.
    """
    import numpy as np
    from scipy.stats import bootstrap
    from statsmodels.stats.proportion import proportion_confint

    sums, counts = np.asarray(differences, dtype=float), np.asarray(sizes, dtype=float)
    estimate = float(sums.sum() / counts.sum())
    clusters = len(sums)
    _, unseen = proportion_confint(0, clusters, alpha=1 - level, method="beta")
    low = high = estimate
    if clusters > 1 and np.ptp(sums / counts):
        found = bootstrap(
            (sums, counts),
            lambda total, count, axis: total.sum(axis=axis) / count.sum(axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=RESAMPLES,
            confidence_level=level,
            method="percentile",
            rng=np.random.default_rng(SEED),
        ).confidence_interval
        low, high = float(found.low), float(found.high)
    if not (sums < 0).any():
        low = min(low, estimate - float(unseen))
    if not (sums > 0).any():
        high = max(high, estimate + float(unseen))
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
    if not paired:
        from statsmodels.stats.power import TTestPower

        if scenarios < 2 or not noise:  # noqa: PLR2004 - no spread, no test
            return None
        effect = TTestPower().solve_power(
            nobs=scenarios, alpha=alpha, power=POWER, alternative="larger", effect_size=None
        )
        return min(1.0, float(effect) * noise)
    for broken in range(1, scenarios + 1):
        drop = broken / scenarios
        if drop + noise > 1:
            return None
        if _mcnemar_power(scenarios, min(1.0, noise + drop), noise, alpha) >= POWER:
            return drop
    return None


def _mcnemar_power(scenarios: int, broken: float, fixed: float, alpha: float) -> float:
    """Return how often exact McNemar rejects where scenarios break and are fixed with these probabilities."""
    import numpy as np
    from scipy.stats import binom

    flips = min(1.0, broken + fixed)
    if not flips:
        return 0.0
    numbers = np.arange(scenarios + 1)
    least = binom.isf(alpha, numbers, 0.5)  # more than so many broken ones reject
    rejects = binom.sf(np.where(numbers, least, 0), numbers, broken / flips)
    return float((binom.pmf(numbers, scenarios, flips) * rejects).sum())


def pass_at_k(passed: int, trials: int, k: int) -> float:
    """Return the unbiased estimate that at least one of ``k`` trials passes (Chen et al. 2021)."""
    from scipy.stats import hypergeom

    return 1 - float(hypergeom.pmf(0, trials, passed, k))


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """Return the unbiased estimate that all of ``k`` trials pass, written pass^k (Yao et al. 2024)."""
    from scipy.stats import hypergeom

    return float(hypergeom.pmf(k, trials, passed, k))


def correlation(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Return Pearson's correlation of two binary series: Matthews' coefficient. ``None`` if one is constant."""
    import statistics

    try:
        return statistics.correlation([float(value) for value in first], [float(value) for value in second])
    except statistics.StatisticsError:
        return None


def simulate_any_above(
    rates: Sequence[float], before: Sequence[int], now: Sequence[int], draws: int = 20_000
) -> float:
    """Return how often any of several counts is relatively higher now by chance alone, their true rates unchanged.

    ``rates`` are the true rates, ``before`` and ``now`` the numbers of trials of each.
    """
    import numpy as np

    if not rates:
        return 0.0
    source = np.random.default_rng(SEED)
    probabilities = np.asarray(rates)
    earlier: NDArray[np.int64] = source.binomial(before, probabilities, (draws, len(rates)))
    later: NDArray[np.int64] = source.binomial(now, probabilities, (draws, len(rates)))
    above: Any = later * np.asarray(before) > earlier * np.asarray(now)
    return float(above.any(axis=1).mean())
