"""Every statistic of the gate again by another way: enumeration, root finding, plain resampling."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from gate_samples import little_to_collect  # noqa: F401 - a fixture that all tests here use
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import nct, t

from pytest_supportbench.errors import UsageError
from pytest_supportbench.permutation import sign_flip_differs, sign_flip_worse
from pytest_supportbench.reliability import pass_at_k, pass_hat_k
from pytest_supportbench.statistics import (
    clustered,
    correlation,
    detectable_drop,
    difference_interval,
    fisher_worse,
    holm,
    mcnemar_differs,
    mcnemar_worse,
    require_statistics,
    simulate_any_above,
    wilson,
)

CALM = settings(max_examples=60, deadline=None)
SMALL = st.integers(0, 12)


def tail(passed: int, trials: int, rate: float) -> float:
    """Return the chance of at least so many passes."""
    return math.fsum(
        math.comb(trials, count) * rate**count * (1 - rate) ** (trials - count)
        for count in range(passed, trials + 1)
    )


def clopper_pearson_upper(passed: int, trials: int, level: float = 0.95) -> float:
    """Return the rate at which so few passes are just unlikely, by root finding."""
    if passed == trials:
        return 1.0
    unlikely = (1 - level) / 2
    return float(brentq(lambda rate: 1 - tail(passed + 1, trials, rate) - unlikely, 1e-12, 1 - 1e-12))


# Wilson.


@CALM
@given(st.integers(1, 400).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole))))
def test_wilsons_bounds_are_where_the_score_test_just_rejects(counts: tuple[int, int]):
    """The bounds solve (share - p)² = z² p (1 - p) / n, found by halving the interval."""
    passed, whole = counts
    found, z, share = wilson(passed, whole), NormalDist().inv_cdf(0.975), passed / whole

    def score(rate: float) -> float:
        return (share - rate) ** 2 - z * z * rate * (1 - rate) / whole

    low = (
        brentq(score, 0, min(share, 1 - 1e-9)) if passed else 0.0
    )  # 0 and 1 solve it too, beside a share of 0 or 1
    high = brentq(score, max(share, 1e-9), 1) if passed < whole else 1.0
    assert (found.estimate, found.low, found.high) == pytest.approx((share, low, high), abs=1e-9)
    mirrored = wilson(whole - passed, whole)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-12)
    assert wilson(passed, whole, 0.8).low >= found.low


@pytest.mark.parametrize("sizes", [[], [0], [2, 0]], ids=str)
def test_a_share_of_nothing_has_no_interval(sizes: list[int]):
    """A share of nothing is an error and no NaN."""
    with pytest.raises(ValueError, match="nothing has no interval"):
        wilson(0, 0)
    with pytest.raises(ValueError, match="nothing has no interval"):
        clustered([0.0] * len(sizes), sizes)


def test_a_difference_of_nothing_has_no_interval():
    """A mean difference over no scenario is an error and no NaN."""
    with pytest.raises(ValueError, match="nothing has no interval"):
        difference_interval([], [])


# Tests.


@CALM
@given(SMALL, SMALL)
def test_mcnemars_p_value_counts_the_ways_that_flips_could_have_gone(broken: int, fixed: int):
    """Each flip is as likely to break as to fix: the share of all 2^n ways with as many broken or more."""
    flips = broken + fixed
    if flips > 14:
        flips, broken = 14, min(broken, 14)
    ways = [sum(way) for way in itertools.product((0, 1), repeat=flips)]
    exact = sum(count >= broken for count in ways) / len(ways)
    assert mcnemar_worse(broken, flips - broken) == pytest.approx(exact, rel=1e-12)


@given(st.integers(0, 60), st.integers(0, 60))
@CALM
def test_mcnemars_p_value_is_monotone_and_symmetric(broken: int, fixed: int):
    """One more broken is never weaker evidence, one more fixed never stronger; the two sides overlap in the tie."""
    found = mcnemar_worse(broken, fixed)
    assert mcnemar_worse(broken + 1, fixed) <= found + 1e-12
    assert mcnemar_worse(broken, fixed + 1) >= found - 1e-12
    tie = math.comb(broken + fixed, broken) / 2 ** (broken + fixed)
    assert found + mcnemar_worse(fixed, broken) == pytest.approx(1 + tie)


@CALM
@given(st.lists(st.integers(-15, 15), max_size=10))
def test_the_permutation_test_counts_all_flips_of_signs(fifteenths: list[int]):
    """The p-value is the share of all ways to swap before and now, cluster by cluster, with as low a sum."""
    exact = sign_flips(fifteenths)
    assert sign_flip_worse([Fraction(value, 15) for value in fifteenths]) == pytest.approx(exact, rel=1e-9)


def sign_flips(values: Sequence[int]) -> float:
    """Return the exact p-value by counting, for each sum, the ways to reach it."""
    ways = {0: 1}
    for value in values:
        after: dict[int, int] = {}
        for total, count in ways.items():
            for more in (value, -value):
                after[total + more] = after.get(total + more, 0) + count
        ways = after
    low = sum(count for total, count in ways.items() if total <= sum(values))
    return float(Fraction(low, 2 ** len(values)))


@pytest.mark.parametrize("seed", range(8))
def test_many_clusters_are_exact_too(seed: int):
    """Whatever their number, and however small the p-value: nothing is drawn."""
    source = np.random.default_rng(seed)
    values = [int(value) for value in source.integers(-5, 4, 40)]
    assert sign_flip_worse([Fraction(value, 5) for value in values]) == pytest.approx(
        sign_flips(values), rel=1e-9
    )
    assert sign_flip_worse([Fraction(-1)] * 60) == pytest.approx(2.0**-60)
    assert sign_flip_differs([Fraction(-1)] * 60) == pytest.approx(2.0**-59)


@pytest.mark.parametrize("seed", range(3))
def test_rates_of_very_many_trials_are_rounded_and_no_worse_for_it(seed: int):
    """Rates without a common denominator to count with give the p-value of the exact ones, to within a percent."""
    source = np.random.default_rng(seed)
    values = [Fraction(int(source.integers(-997, 900)), int(source.integers(900, 998))) for _ in range(16)]
    exact = np.asarray([float(value) for value in values])
    signs = 1 - 2 * ((np.arange(2**16)[:, None] >> np.arange(16)) & 1)
    sums = (signs * abs(exact)).sum(axis=1)
    expected = float((sums <= exact.sum() + 1e-12).mean())
    assert sign_flip_worse(values) == pytest.approx(expected, rel=0.01, abs=1e-4)


@CALM
@given(st.lists(st.fractions(-1, 1, max_denominator=7), max_size=9), st.randoms())
def test_the_permutation_test_knows_no_order_and_no_unchanged_clusters(values: list[Fraction], random):
    """Neither the order nor clusters without a change matter."""
    found = sign_flip_worse(values)
    shuffled = [*values, Fraction(0), Fraction(0)]
    random.shuffle(shuffled)
    assert sign_flip_worse(shuffled) == pytest.approx(found, rel=1e-12)
    assert 0 < found <= 1


@CALM
@given(SMALL, SMALL, SMALL, SMALL)
def test_fishers_p_value_counts_the_tables_with_the_same_margins(a: int, b: int, c: int, d: int):
    """Of all ways to deal out the passes between before and now: the share with as many before or more."""
    whole, passed, before = a + b + c + d, a + c, a + b
    ways = sum(
        math.comb(passed, count) * math.comb(whole - passed, before - count)
        for count in range(a, min(passed, before) + 1)
    )
    assert fisher_worse((a, b), (c, d)) == pytest.approx(ways / math.comb(whole, before), rel=1e-9)


@CALM
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 40))
def test_fishers_p_value_is_monotone(before: int, passed: int, failed: int):
    """One more failure today is never weaker evidence, one more pass never stronger."""
    found = fisher_worse((before, 0), (passed, failed))
    assert fisher_worse((before, 0), (passed, failed + 1)) <= found + 1e-12
    assert fisher_worse((before, 0), (passed + 1, failed)) >= found - 1e-12


@CALM
@given(st.lists(st.floats(0, 1), max_size=6), st.randoms())
def test_holms_p_values_follow_their_definition(values: list[float], random):
    """The i-th smallest of m is multiplied by m - i + 1, never below an earlier one, at most 1; in the order given."""
    ranked = sorted(range(len(values)), key=values.__getitem__)
    expected, highest = [0.0] * len(values), 0.0
    for rank, index in enumerate(ranked):
        highest = max(highest, min(1.0, values[index] * (len(values) - rank)))
        expected[index] = highest
    assert holm(values) == pytest.approx(expected)
    order = list(range(len(values)))
    random.shuffle(order)
    assert holm([values[index] for index in order]) == pytest.approx([expected[index] for index in order])


# Intervals over clusters.


def resampled(sums: Sequence[float], sizes: Sequence[int], seed: int = 7) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap's bounds in plain numpy, with draws of its own."""
    totals, counts = np.asarray(sums, dtype=float), np.asarray(sizes)
    picks = np.random.default_rng(seed).integers(0, len(totals), (40_000, len(totals)))
    means = totals[picks].sum(axis=1) / counts[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.parametrize("seed", range(6))
def test_clusters_are_drawn_whole(seed: int):
    """Where clusters differ widely the interval is that of a plain bootstrap over them, to within half a point."""
    source = np.random.default_rng(seed)
    sizes = [int(size) for size in source.integers(1, 8, 80)]
    sums = [int(source.binomial(size, source.beta(0.7, 0.5))) for size in sizes]
    found = clustered(sums, sizes)
    assert found.estimate == pytest.approx(sum(sums) / sum(sizes))
    assert (found.low, found.high) == pytest.approx(resampled(sums, sizes), abs=0.005)


@pytest.mark.parametrize("clusters", [1, 2, 3, 50])
def test_clusters_that_all_passed_are_as_unsure_as_their_number(clusters: int):
    """However many trials each has: a cluster counts as one observation, whose interval Wilson gives."""
    found, expected = clustered([5] * clusters, [5] * clusters), wilson(clusters, clusters)
    assert (found.low, found.high) == pytest.approx((expected.low, 1.0))
    found, expected = clustered([0] * clusters, [5] * clusters), wilson(0, clusters)
    assert (found.low, found.high) == pytest.approx((0.0, expected.high))


def test_one_cluster_says_next_to_nothing():
    """The share of one scenario's trials is no share of scenarios."""
    assert clustered([3], [4]).low == 0.0
    assert clustered([3], [4]).high == 1.0


@pytest.mark.parametrize("trials", [1, 3, 5])
def test_a_share_with_a_further_failure_never_has_a_better_bound(trials: int):
    """From fifty scenarios that all pass, further failed trials lower the lower bound, but for two points of noise."""
    sums, lows = [trials] * 50, [clustered([trials] * 50, [trials] * 50).low]
    for failed in range(10 * trials):
        sums[failed // trials] -= 1
        lows.append(clustered(sums, [trials] * 50).low)
    assert all(after <= before + 0.02 for before, after in itertools.combinations(lows, 2))


@pytest.mark.parametrize("seed", range(6))
def test_a_difference_of_many_changes_is_bootstrapped(seed: int):
    """Where many clusters changed both ways the interval is that of a plain bootstrap, to within half a point."""
    source = np.random.default_rng(seed)
    sizes = [1, 2] * 20
    sums = [float(source.integers(-2, 3)) / 5 * size for size in sizes]
    found = difference_interval(sums, sizes)
    assert found.estimate == pytest.approx(sum(sums) / 60)
    assert (found.low, found.high) == pytest.approx(resampled(sums, sizes), abs=0.005)


@pytest.mark.parametrize("broken", [0, 1, 2, 5])
def test_rare_changes_are_as_far_off_as_clopper_and_pearson_say(broken: int):
    """Of fifty scenarios of which few broke, the drop may be as large as the exact bound of the share that breaks."""
    found = difference_interval([-1.0] * broken + [0.0] * (50 - broken), [1] * 50)
    assert -found.low == pytest.approx(clopper_pearson_upper(broken, 50), abs=1e-6)
    assert found.high >= found.estimate + clopper_pearson_upper(0, 50) - 1e-6


def test_a_worse_run_never_looks_surer():
    """With each further scenario that breaks, the drop that is not ruled out grows, up to the bootstrap's noise."""
    lows = [
        difference_interval([-1.0] * broken + [0.0] * (50 - broken), [1] * 50).low for broken in range(51)
    ]
    assert all(after <= before + 0.005 for before, after in itertools.pairwise(lows))
    assert lows[-1] == -1.0


@CALM
@given(st.lists(st.sampled_from([-1.0, -0.6, -0.2, 0.0, 0.2, 0.6, 1.0]), min_size=1, max_size=12))
def test_a_difference_and_its_mirror_image_have_mirrored_intervals(changes: list[float]):
    """Swapping before and now swaps the bounds; they hold the estimate and stay within -1 and 1."""
    sizes = [1] * len(changes)
    found, mirrored = (
        difference_interval(changes, sizes),
        difference_interval([-value for value in changes], sizes),
    )
    assert -1 <= found.low <= found.estimate <= found.high <= 1
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))
    assert found.low < found.high


# Power.


def mcnemar_power(scenarios: int, drop: float, noise: float, alpha: float) -> float:
    """Return how often McNemar's test rejects, by enumerating how many break and how many are fixed."""
    power = 0.0
    for broken in range(scenarios + 1):
        for fixed in range(scenarios - broken + 1):
            flips, same = broken + fixed, scenarios - broken - fixed
            if sum(math.comb(flips, count) for count in range(broken, flips + 1)) / 2**flips <= alpha:
                ways = math.factorial(scenarios) // (
                    math.factorial(broken) * math.factorial(fixed) * math.factorial(same)
                )
                power += (
                    ways * (noise + drop) ** broken * noise**fixed * max(0.0, 1 - 2 * noise - drop) ** same
                )
    return power


@pytest.mark.parametrize("scenarios", [6, 12, 30])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("alpha", [0.02, 0.04])
def test_the_smallest_drop_is_the_first_that_four_of_five_runs_show(
    scenarios: int, noise: float, alpha: float
):
    """Of one trial each: the first number of scenarios whose loss has a power of 80 %, by enumeration."""
    drops = [
        count / scenarios for count in range(1, scenarios + 1) if count / scenarios <= 1 - 2 * noise + 1e-12
    ]
    expected = next((drop for drop in drops if mcnemar_power(scenarios, drop, noise, alpha) >= 0.8), None)
    assert detectable_drop(scenarios, alpha, noise, paired=True) == expected


def test_too_few_scenarios_show_no_drop():
    """Five of five broken are one in 32, which is above 0.02; so is nothing at all, and one mean difference."""
    assert detectable_drop(5, 0.02, 0.0, paired=True) is None
    assert detectable_drop(30, 0.02, 0.5, paired=True) is None
    assert detectable_drop(1, 0.02, 0.3, paired=False) is None
    assert detectable_drop(50, 0.02, 0.0, paired=False) is None
    assert detectable_drop(3, 0.02, 0.9, paired=False) is None


@pytest.mark.parametrize("scenarios", [4, 10, 50, 400])
@pytest.mark.parametrize("noise", [0.1, 0.25])
def test_several_trials_show_a_drop_as_the_noncentral_t_says(scenarios: int, noise: float):
    """At the smallest drop, Student's test of that noise rejects in four of five runs."""
    drop = detectable_drop(scenarios, 0.02, noise, paired=False)
    assert drop is not None
    critical = t.isf(0.02, scenarios - 1)
    assert nct.sf(critical, scenarios - 1, drop / noise * math.sqrt(scenarios)) == pytest.approx(
        0.8, abs=1e-4
    )


@pytest.mark.parametrize("scenarios", [400, 5_000])
def test_large_suites_take_no_time_and_little_memory(scenarios: int):
    """Thousands of scenarios are no reason to wait: batches bound the memory, halving the search."""
    changes = [(-1.0, 0.0, 0.0, 1.0, 0.0)[number % 5] for number in range(scenarios)]
    assert sign_flip_worse(list(map(Fraction, changes))) == pytest.approx(0.5, abs=0.05)
    found = difference_interval(changes, [1] * scenarios)
    assert found.high == pytest.approx(1.96 * math.sqrt(0.4 / scenarios), rel=0.06)
    assert detectable_drop(scenarios, 0.02, 0.2, paired=True) == pytest.approx(
        (NormalDist().inv_cdf(0.98) + NormalDist().inv_cdf(0.8)) * math.sqrt(0.4 / scenarios), rel=0.2
    )


def test_huge_counts_are_no_trouble():
    """Counts of millions give a number, not NaN and no overflow."""
    assert 0 < fisher_worse((10**6, 0), (10**6 - 5, 5)) < 0.05
    assert mcnemar_worse(10**6, 10**6) == pytest.approx(0.5, abs=1e-3)
    assert mcnemar_worse(10**6, 0) == 0.0
    assert wilson(10**9, 10**9).low == pytest.approx(1, abs=1e-8)


# Several trials.


@pytest.mark.parametrize("trials", range(1, 7))
def test_pass_at_k_and_pass_hat_k_are_means_over_all_choices_of_k_trials(trials: int):
    """Of all ways to choose k of the trials: the share with one pass at least, and with nothing but passes."""
    for passed, k in itertools.product(range(trials + 1), range(1, trials + 1)):
        chosen = list(itertools.combinations([1] * passed + [0] * (trials - passed), k))
        assert pass_at_k(passed, trials, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
        assert pass_hat_k(passed, trials, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k])
@pytest.mark.parametrize(("passed", "trials", "k"), [(1, 3, 4), (1, 3, 0), (4, 3, 1), (0, 0, 1)])
def test_more_trials_than_there_are_cannot_be_estimated(
    estimate: Callable[[int, int, int], float], passed: int, trials: int, k: int
):
    """Nothing can be said of k trials out of fewer: an error and no NaN."""
    with pytest.raises(ValueError, match="cannot be drawn"):
        estimate(passed, trials, k)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=30))
@CALM
def test_the_correlation_of_two_binary_series_is_matthews_coefficient(pairs: list[tuple[int, int]]):
    """(TP · TN - FP · FN) over the root of the product of the four margins; none where a margin is 0."""
    both, neither = pairs.count((1, 1)), pairs.count((0, 0))
    first, second = pairs.count((1, 0)), pairs.count((0, 1))
    margins = (both + first) * (both + second) * (neither + first) * (neither + second)
    expected = (both * neither - first * second) / math.sqrt(margins) if margins else None
    found = correlation([a for a, _ in pairs], [b for _, b in pairs])
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-9))


# Zero tolerance.


def test_the_alarm_of_zero_tolerance_is_the_chance_that_any_rate_is_higher():
    """The simulated chance is the enumerated one, of independent scenarios with several numbers of trials."""
    counts, before, now = [1, 2, 1, 3], [10, 4, 50, 4], [5, 5, 50, 9]
    calm = 1.0
    for count, earlier, later in zip(counts, before, now, strict=True):
        calm *= 1 - math.fsum(
            tail(seen, later, count / earlier) - tail(seen + 1, later, count / earlier)
            for seen in range(later + 1)
            if seen > count and Fraction(seen, later) > Fraction(count, earlier)
        )
    assert simulate_any_above(counts, before, now) == pytest.approx(1 - calm, abs=0.015)
    assert simulate_any_above([5, 0], [5, 5], [5, 5]) == 0.0
    assert simulate_any_above([], [], []) == 0.0


# What it needs.


def test_what_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch):
    """Without scipy or statsmodels the error says what to install."""
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "scipy" else object())
    with pytest.raises(UsageError, match=r'need scipy; run: pip install "pytest-supportbench\[gate\]"'):
        require_statistics()


@given(st.lists(st.sampled_from([-1.0, -0.2, 0.4]), min_size=14, max_size=16))
@settings(max_examples=5, deadline=None)
def test_equal_data_give_equal_numbers(changes: list[float]):
    """What is drawn at random is drawn alike each time."""
    sizes = [1] * len(changes)
    exact = [Fraction(value) for value in changes]
    assert sign_flip_worse(exact) == sign_flip_worse(exact)
    assert difference_interval(changes, sizes) == difference_interval(changes, sizes)
    shares = [abs(value) for value in changes]
    assert clustered(shares, sizes) == clustered(shares, sizes)


# Two-sided.


@CALM
@given(SMALL, SMALL)
def test_mcnemars_two_sided_p_value_counts_the_ways_as_far_from_even(broken: int, fixed: int):
    """The share of all ways that flips could have gone that are at least as far from half and half, on either side."""
    flips = broken + fixed
    far = sum(
        math.comb(flips, count) for count in range(flips + 1) if abs(2 * count - flips) >= abs(broken - fixed)
    )
    assert mcnemar_differs(broken, fixed) == pytest.approx(far / 2**flips, rel=1e-9)
    assert mcnemar_differs(broken, fixed) == mcnemar_differs(fixed, broken)


@CALM
@given(st.lists(st.integers(-15, 15), max_size=10))
def test_the_two_sided_permutation_test_counts_flips_of_signs_on_both_sides(fifteenths: list[int]):
    """The share of all ways to swap before and now with a sum as far from 0, either way; mirrored it is the same."""
    sums = [
        sum(value * sign for value, sign in zip(fifteenths, signs, strict=True))
        for signs in itertools.product((1, -1), repeat=len(fifteenths))
    ]
    exact = sum(abs(total) >= abs(sum(fifteenths)) for total in sums) / len(sums)
    values = [Fraction(value, 15) for value in fifteenths]
    assert sign_flip_differs(values) == pytest.approx(exact, rel=1e-9)
    assert sign_flip_differs([-value for value in values]) == pytest.approx(exact, rel=1e-9)
