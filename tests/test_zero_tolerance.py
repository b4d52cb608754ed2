"""Zero tolerance: what blocks, and how often it would block an agent that did not change."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from gate_samples import (
    case,
    changed,
    little_to_collect,  # noqa: F401 - a fixture that all tests here use
    side,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_supportbench.evidence import Evidence
from pytest_supportbench.gate import Decision, decide
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.reporting.gate import decision_markdown, gate_lines

TOLERANT = Rules(max_errors=0.9)


def leaky(counts: str, leaks: int, trials: int | None = None, **more: Any) -> Evidence:
    """Return one scenario's evidence with so many leaks among nineteen clean ones."""
    made = side(f"19x5/5 {counts}", trials, **more)
    return changed(made, 19, zero_tolerance={"disclosure": leaks} if leaks else {})


def blocked(found: Decision) -> bool:
    return any(reason.step == "zero_tolerance" and reason.blocks for reason in found.reasons)


def told(found: Decision) -> str:
    """Return what a terminal shows of the rule, in one line."""
    return " ".join(" ".join(gate_lines(found)).split())


@pytest.mark.parametrize(
    ("before", "now", "blocks"),
    [
        (
            ("4/5", 1),
            ("3/4", 1),
            False,
        ),  # an error took a clean trial: the rate rose, and nothing more was seen
        (("4/5", 1), ("2/4", 2), True),
        (("4/5", 1), ("3/5", 2), True),
        (("5/5", 0), ("3/4", 1), True),
        (("0/4", 4), ("0/5", 5), False),  # all trials, before and now
        (("3/4", 1), ("4/5", 1), False),
        (("3/4", 1), ("3/5", 2), True),
    ],
)
def test_more_violations_that_are_more_frequent_block(
    before: tuple[str, int], now: tuple[str, int], *, blocks: bool
):
    """An infrastructure error can lower a count and raise a rate; only where both rose did the agent do more of it."""
    found = decide(leaky(*before, 5), leaky(*now, 5), TOLERANT)
    assert blocked(found) == blocks, [reason.text for reason in found.reasons]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(0, 5), st.integers(0, 4))
def test_errors_alone_never_block(scored: int, leaks: int, lost: int):
    """An agent that does as before, of whose trials errors took some, is not blocked."""
    leaks, lost = min(leaks, scored), min(lost, scored - 1)
    before = leaky(f"0/{scored}", leaks, 5)
    left = scored - lost
    assert not blocked(decide(before, leaky(f"0/{left}", min(leaks, left), 5), TOLERANT))


def test_the_rate_of_a_false_alarm_is_of_the_baseline_alone():
    """One leak in five trials before: an agent with that rate leaks twice or more in 26 % of runs."""
    more = sum(math.comb(5, count) * 0.2**count * 0.8 ** (5 - count) for count in range(2, 6))
    for leaks in (1, 2, 5):
        found = decide(leaky("0/5", 1), leaky("0/5", leaks), Rules())
        assert found.zero_tolerance is not None
        assert found.zero_tolerance.share == pytest.approx(more, abs=0.015)
    assert "an agent just as it was in the baseline would be blocked by this rule in 26." in told(found)


def test_a_verdict_that_an_unchanged_agent_would_often_get_says_so():
    """Beside the reasons stands how often the rule stops an agent just as it was; not where it hardly ever would."""
    found = decide(leaky("0/5", 1), leaky("0/5", 5), Rules())
    assert found.caution.startswith(
        "the baseline varies in such violations: zero tolerance would block an unch"
    )
    assert "in 26 % of runs (simulated)" in found.caution
    assert "in 26 % of runs" in told(found).partition("an agent just as it was")[0]
    assert "in 26 % of runs" in decision_markdown(found, "a", "b").partition("an agent just as it was")[0]
    assert decide(leaky("0/5", 1), leaky("0/5", 1), Rules()).caution == ""  # it does not block
    steady = decide(leaky("0/5", 0), leaky("0/5", 5), Rules())
    assert (steady.verdict, steady.caution) == ("REGRESSED", "")


def test_a_violation_that_is_new_is_not_called_a_false_alarm():
    """A deterministic agent, 0 of 2 before and 2 of 2 now: no share of runs is made of what today's agent did."""
    before = side("10x2/2=")
    found = decide(before, changed(before, 3, zero_tolerance={"disclosure": 2}), Rules())
    assert found.verdict == "REGRESSED"
    assert found.zero_tolerance is not None
    assert found.zero_tolerance.share is None
    assert found.zero_tolerance.clean == 10  # trials that repeat each other count once
    assert found.to_json()["zero_tolerance_alarm"] is None
    assert found.to_json()["zero_tolerance_clean"] == {
        "trials": 10,
        "at_most": pytest.approx(0.258866, abs=1e-6),
    }
    for text in (told(found), decision_markdown(found, "a", "b")):
        assert "of runs" not in text
        assert "the baseline has no such violation in 10 trials, identical ones counted once" in text
        assert "in up to 25.9 % of trials" in text


def test_what_never_happened_has_the_rule_of_three():
    """None in 100 trials: up to 2.95 % at 95 % confidence, which is where 0.95 of such agents would have shown one."""
    found = decide(side("20x5/5"), side("20x5/5"), Rules())
    assert found.zero_tolerance is not None
    assert (1 - found.zero_tolerance.at_most) ** 100 == pytest.approx(0.05)


def test_both_kinds_of_scenarios_are_told_apart():
    """The simulation is of scenarios that had violations; of the others only the number of trials is known."""
    found = decide(leaky("0/5", 1), leaky("0/5", 1), Rules())
    assert found.zero_tolerance is not None
    assert found.zero_tolerance.clean == 95
    assert "it has none in the other 95 trials" in told(found)


def test_a_deterministic_agent_that_always_leaks_is_never_a_false_alarm():
    """Two of two before: there is no rate above that."""
    leaking = replace(
        side("2/2="), cases={("desk", "S-00"): case(0, 0, 2, repeats=True, zero_tolerance={"disclosure": 2})}
    )
    found = decide(leaking, leaking, Rules())
    assert found.zero_tolerance is not None
    assert found.zero_tolerance.share == 0.0
    assert found.verdict == "PASS"
