"""Thresholds: a share is compared exactly, with the number as it was written, and a miss never looks like a hit."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from gate_samples import (
    changed,
    little_to_collect,  # noqa: F401 - a fixture that all tests here use
    side,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_supportbench.explained import Explained
from pytest_supportbench.statistics import Interval, wilson
from pytest_supportbench.thresholds import Measured, measure, read_thresholds


def point(name: str, least: str, good: int, whole: int) -> Measured:
    """Return a threshold as it is written beside so many good trials."""
    share = good / whole
    return Measured(
        name, read_thresholds(f"{name}={least}").least[name], good, whole, Interval(share, 0, 1), "point"
    )


def test_four_of_five_in_each_of_seven_scenarios_reach_four_fifths():
    """28 of 35 trials are 0.8, though a sum of seven rounded 0.8 is a hair less."""
    (found,) = measure(side("7x4/5"), read_thresholds("strict=0.8"))
    assert (found.good, found.whole) == (28, 35)
    assert found.holds, str(found)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 400).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole))),
    st.integers(0, 1000),
)
def test_a_share_is_compared_exactly(counts: tuple[int, int], thousandths: int):
    """Whatever the counts: a threshold of three decimals holds exactly where the fraction is no smaller."""
    good, whole = counts
    found = point("strict", f"{thousandths / 1000:.3f}", good, whole)
    assert found.holds == (Fraction(good, whole) >= Fraction(thousandths, 1000))
    shown = str(found).removeprefix("strict: ").split()[0]
    assert found.holds or Fraction(shown) < Fraction(thousandths, 1000), str(found)


@pytest.mark.parametrize(
    ("least", "good", "whole", "shown"),
    [
        ("0.8", 7_999, 10_000, "0.7999 (7999/10000)"),
        ("0.80001", 4, 5, "0.800 (4/5)"),
        ("0.8000001", 4, 5, "0.800 (4/5)"),
        ("1", 9_999, 10_000, "0.9999 (9999/10000)"),
        ("0.95", 19, 20, "0.950 (19/20)"),
    ],
)
def test_a_miss_never_looks_like_a_hit(least: str, good: int, whole: int, shown: str):
    """As many digits are shown as tell the share from what is asked for, which is shown as it was written."""
    found = point("strict", least, good, whole)
    assert shown in str(found)
    assert f"at least {least} " in f"{found} "


def test_a_bound_that_is_missed_is_not_rounded_up_to_it():
    """The lower bound has as many digits as it needs, too."""
    found = Measured("strict", 0.8, 85, 100, Interval(0.85, 0.79996, 0.9), "bound")
    assert not found.holds
    assert "0.79996 to 0.900" in str(found)


def test_the_interval_is_that_of_the_share_that_is_printed():
    """Trials lost to errors: 6 of 8 trials passed, and the interval is of that and not of the scenarios' mean."""
    (found,) = measure(side("5/5 1/3", 5), read_thresholds("strict=0.75"))
    assert found.interval is not None
    assert (found.good, found.whole, found.interval.estimate) == (6, 8, 0.75)
    assert found.holds


def test_one_trial_each_has_wilsons_interval():
    """Independent trials need no resampling."""
    (found,) = measure(side("8x1/1 2x0/1"), read_thresholds("strict=0.8", "bound"))
    assert found.interval == wilson(8, 10)
    assert not found.holds


def test_shares_of_concepts_are_added_exactly():
    """Seven episodes with 4 of 5 concepts are 0.8, as trials are; thirds are thirds."""
    asked = read_thresholds("explanation=0.8", calibration=True)
    shares = tuple((f"f{number}", 4 / 5) for number in range(7))
    (found,) = measure(side("5/5"), asked, Explained("judge j", shares))
    assert found.holds, str(found)
    asked = read_thresholds("explanation=0.33333333333", calibration=True)
    (found,) = measure(side("5/5"), asked, Explained("judge j", (("f", 1 / 3),) * 5))
    assert found.holds, str(found)
    assert json.loads(json.dumps(found.to_json()))["good"] == pytest.approx(5 / 3, abs=1e-6)


def test_hand_offs_are_measured_where_they_are_due():
    """A scenario without a trial of its kind is in no share."""
    found = changed(
        side("2x5/5"), 1, expected_escalation="must", escalation={"correct_escalation": 4, "misrouted": 1}
    )
    recall, specificity = measure(found, read_thresholds("recall=0.8,specificity=1"))
    assert (recall.good, recall.whole, recall.holds) == (4, 5, True)
    assert (specificity.good, specificity.whole, specificity.holds) == (5, 5, True)
