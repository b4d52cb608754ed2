"""Hand-off decisions: recall beside specificity with intervals, and what follows from both."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from pytest_supportbench.escalation import escalations
from pytest_supportbench.evidence import CaseEvidence
from pytest_supportbench.reporting.gate import ALWAYS


def cases(*groups: tuple[str, str, int]) -> list[CaseEvidence]:
    """Return one-trial cases: expected escalation, class, and how many."""
    found = []
    for expected, seen, count in groups:
        for number in range(count):
            name = f"{expected}-{seen}-{number}"
            good = seen in {"correct_escalation", "correct_autonomy"}
            found.append(
                CaseEvidence(
                    case=("s", name),
                    title="",
                    category="billing",
                    family=name,
                    expected_escalation=expected,
                    sha256="0" * 64,
                    scored=1,
                    passed=int(good),
                    errors=0,
                    repeats=False,
                    dimensions=dict.fromkeys(("resolution", "policy", "tool_use", "escalation"), int(good)),
                    zero_tolerance={},
                    escalation={seen: 1},
                )
            )
    return found


PILOT = cases(
    ("must", "correct_escalation", 4),
    ("must_not", "correct_autonomy", 1),
    ("must_not", "unnecessary_handoff", 4),
    ("must_not", "abandoned", 1),
)


def test_the_pilots_recall_stands_beside_its_specificity_and_proves_nothing():
    """Four of four escalations with one of six routine cases cannot be told from always escalating."""
    found = escalations(PILOT)
    assert (found.must, found.must_not) == ((4, 4), (1, 6))
    assert "recall 4/4 (51 to 100 %), specificity 1/6 (3 to 56 %)" in str(found)
    assert found.like_always_escalate
    assert "always escalates" in ALWAYS


def test_an_agent_that_solves_routine_cases_is_told_from_always_escalating():
    """Perfect recall with most routine cases solved is no such bot, and neither is one that misses cases."""
    good = cases(
        ("must", "correct_escalation", 4), ("must_not", "correct_autonomy", 5), ("must_not", "abandoned", 1)
    )
    assert not escalations(good).like_always_escalate
    assert not escalations(
        cases(("must", "missed_escalation", 4), ("must_not", "abandoned", 6))
    ).like_always_escalate


@pytest.mark.parametrize(("right", "whole"), [(4, 4), (1, 6), (0, 6), (9, 15)])
def test_intervals_are_wilsons(right, whole):
    """Both bounds solve Wilson's equation: the score test at the bound has exactly the level of the interval."""
    found = escalations(
        cases(("must", "correct_escalation", right), ("must", "missed_escalation", whole - right))
    ).recall
    for bound in (found.low, found.high):
        if 0 < bound < 1:
            spread = math.sqrt(bound * (1 - bound) / whole)
            assert abs(right / whole - bound) / spread == pytest.approx(1.959964, abs=1e-4)
    assert 0 <= found.low <= right / whole <= found.high <= 1
    assert binom.cdf(right, whole, found.high) > 0.001


def test_measures_agree_with_the_table_counted_by_hand():
    """Balanced accuracy, Matthews' coefficient and costs from the four cells, by their definitions."""
    found = escalations(
        cases(
            ("must", "correct_escalation", 7),
            ("must", "missed_escalation", 2),
            ("must", "misrouted", 1),
            ("must_not", "correct_autonomy", 12),
            ("must_not", "unnecessary_handoff", 5),
            ("must_not", "abandoned", 3),
        )
    )
    tp, fn, tn, fp = 7, 3, 12, 8
    assert found.balanced_accuracy == pytest.approx((tp / 10 + tn / 20) / 2)
    root = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert found.matthews == pytest.approx((tp * tn - fp * fn) / root)
    assert found.cost(5) == pytest.approx((5 * fn + fp) / 30)
    assert found.always_escalate == pytest.approx(20 / 30)


def test_what_is_not_there_has_no_number():
    """Without cases of one kind there is no rate, and a bot that never varies has no coefficient."""
    only = escalations(cases(("must", "correct_escalation", 3)))
    assert only.specificity is None
    assert only.balanced_accuracy is None
    assert "specificity – (no such case)" in str(only)
    constant = escalations(cases(("must", "correct_escalation", 3), ("must_not", "unnecessary_handoff", 3)))
    assert constant.matthews is None
    assert constant.like_always_escalate
