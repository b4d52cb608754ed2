"""How well two raters agree on yes or no, and how well one finds what people say; intervals clustered by scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pytest_supportbench.statistics import SEED, Interval, clustered, wilson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES: Final = 1_999
"""Draws of the bootstraps that decide nothing: of kappa and AC1."""

Table: TypeAlias = "NDArray[np.float64]"
"""Counts of two raters' answers, q × q: the first one's in rows, the second one's in columns, in the same order."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one question: whether the concept is there. ``cluster`` names the scenario and its twin."""

    first: bool
    second: bool
    cluster: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two raters agree. ``both``, ``first_only``, ``second_only`` and ``neither`` count who said yes.

    ``raw`` is the share of equal answers, ``kappa`` Cohen's (1960), ``ac1`` Gwet's (2008). All three are ``None``
    without items, kappa also where both gave one and the same answer always: then it is undefined.
    """

    both: int
    first_only: int
    second_only: int
    neither: int
    clusters: int
    raw: Interval | None
    kappa: Interval | None
    ac1: Interval | None

    @property
    def items(self) -> int:
        """How many questions both answered."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def differ(self) -> int:
        """How many questions they answered differently."""
        return self.first_only + self.second_only


def agreement(pairs: Sequence[Pair]) -> Agreement:
    """Return how two raters agree over the questions that both answered; needs numpy, scipy and statsmodels."""
    import numpy as np  # noqa: PLC0415 - only calibration pays for it

    counts = Counter((pair.first, pair.second) for pair in pairs)
    clusters = sorted({pair.cluster for pair in pairs})
    cells = Counter((pair.cluster, pair.first, pair.second) for pair in pairs)
    tables = np.asarray(
        [[[cells[name, a, b] for b in (True, False)] for a in (True, False)] for name in clusters],
        dtype=float,
    )
    return Agreement(
        both=counts[True, True],
        first_only=counts[True, False],
        second_only=counts[False, True],
        neither=counts[False, False],
        clusters=len(clusters),
        raw=share([(pair.first == pair.second, pair.cluster) for pair in pairs]),
        kappa=_resampled(tables, cohen_kappa) if pairs else None,
        ac1=_resampled(tables, gwet_ac1) if pairs else None,
    )


def share(observations: Sequence[tuple[bool, str]], level: float = 0.95) -> Interval | None:
    """Return the share of true observations, each with its cluster, by a bootstrap that draws whole clusters.

    Never narrower than Wilson's interval (1927) over as many independent trials as there are clusters: a bootstrap of
    few errors cannot know how they cluster, and one error more must not narrow the interval.
    ``None`` without observations.
    """
    if not observations:
        return None
    sizes = Counter(cluster for _, cluster in observations)
    sums = Counter(cluster for there, cluster in observations if there)
    found = clustered([sums[name] for name in sorted(sizes)], [sizes[name] for name in sorted(sizes)], level)
    whole = wilson(found.estimate * len(sizes), len(sizes), level)
    return Interval(found.estimate, min(found.low, whole.low), max(found.high, whole.high), level)


def cohen_kappa(table: Table) -> float | None:
    """Return Cohen's kappa of a table, ``None`` where both raters gave one and the same answer always."""
    from statsmodels.stats.inter_rater import cohens_kappa  # noqa: PLC0415 - only calibration pays for it

    if (table.diagonal() == table.sum()).any():
        return None
    return float(cohens_kappa(table, return_results=False))


def gwet_ac1(table: Table) -> float:
    """Return Gwet's AC1 of a q × q table of two raters; neither scipy nor statsmodels has it.

    Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement, British Journal
    of Mathematical and Statistical Psychology 61, 29-48: chance agreement is Σ π(1 - π) / (q - 1), where π is the mean
    of both raters' shares of a category.
    """
    shares = table / table.sum()
    usual = (shares.sum(axis=0) + shares.sum(axis=1)) / 2
    chance = float((usual * (1 - usual)).sum()) / (len(table) - 1)
    return (float(shares.diagonal().sum()) - chance) / (1 - chance)


def below(value: float, bound: float) -> str:
    """Return a number that misses a bound with two digits, not rounded up to the bound, and the bound."""
    rounded = f"{value:.2f}"
    shown = f"{value:.4f}" if float(rounded) >= bound else rounded
    return f"{shown}, and must reach {bound:.2f}"


def _resampled(tables: NDArray[np.float64], coefficient: Callable[[Table], float | None]) -> Interval | None:
    """Return a coefficient of the summed tables, by a percentile bootstrap over the tables, one a cluster.

    A resample in which it is undefined counts as 0: such a sample shows no agreement beyond chance. One cluster alone
    says nothing about others, so its bounds are those of the coefficient. Never narrower than `_as_if_independent`:
    clusters that happen to be alike give equal resamples, which is no certainty, and `share` is as careful.
    """
    import numpy as np  # noqa: PLC0415 - only calibration pays for it
    from scipy.stats import bootstrap  # noqa: PLC0415 - likewise

    estimate = coefficient(tables.sum(axis=0))
    if estimate is None:
        return None
    if len(tables) == 1:
        return Interval(estimate, -1.0, 1.0)

    def statistic(drawn: NDArray[np.int64]) -> float:
        return coefficient(tables[drawn].sum(axis=0)) or 0.0

    found: Any = bootstrap(
        (np.arange(len(tables)),),
        statistic,
        vectorized=False,
        n_resamples=RESAMPLES,
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    low, high = _as_if_independent(tables, coefficient)
    return Interval(estimate, min(low, float(found.low), estimate), max(high, float(found.high), estimate))


def _as_if_independent(
    tables: NDArray[np.float64], coefficient: Callable[[Table], float | None]
) -> tuple[float, float]:
    """Return a coefficient's bounds if there had been as many independent items as there are clusters.

    They are those of Jeffreys' posterior (1946): Dirichlet, with half an item more in each cell.
    """
    import numpy as np  # noqa: PLC0415 - only calibration pays for it

    whole = tables.sum(axis=0)
    items = len(tables) * whole / whole.sum() + 0.5
    drawn = np.random.default_rng(SEED).dirichlet(items.ravel(), RESAMPLES)
    found = [coefficient(table.reshape(whole.shape)) or 0.0 for table in drawn]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
