"""The gate's verdicts, situation by situation, and what holds of every verdict."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any

import numpy as np
import pytest
from gate_samples import (
    SUITE,
    both,
    case,
    changed,
    fresh,
    little_to_collect,  # noqa: F401 - a fixture that all tests here use
    side,
    under,
    with_suite,
    without,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pytest_supportbench import statistics
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import Case, CaseEvidence, Evidence
from pytest_supportbench.gate import Decision, decide
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.gate_scenarios import candidates, fresh_needed, level
from pytest_supportbench.reporting.gate import decision_markdown, gate_lines
from pytest_supportbench.words import STRICT_DIMENSIONS

# Fifty scenarios: with five trials each, three fresh ones that fail make a candidate block (1 of C(13, 5) = 1,287 is
# below 0.04 / 50 = 1 of 1,250), with three trials fifteen (C(21, 3) = 1,330). With one trial none would do.
GOOD = side("50x5/5")
THREE = side("50x3/3")
ONE = side("50x1/1")
ALIKE = side("50x2/2=")


@dataclass(frozen=True)
class Situation:
    """A baseline, a run, what the gate must say and a part of why; ``more`` goes to `decide`."""

    name: str
    before: Evidence
    now: Evidence
    verdict: str
    says: str = ""
    more: dict[str, Any] = field(default_factory=dict)


def dimension(evidence: Evidence, name: str, numbers: range) -> Evidence:
    """Return evidence in which these scenarios fail one dimension, whatever their verdict was."""
    for number in numbers:
        counts = evidence.cases["desk", f"S-{number:02}"].dimensions
        evidence = changed(evidence, number, dimensions={**counts, name: 0})
    return evidence


def twins(evidence: Evidence) -> Evidence:
    """Return evidence in which each two scenarios are twins."""
    cases = {
        name: replace(item, family=f"S-{2 * (index // 2):02}")
        for index, (name, item) in enumerate(evidence.cases.items())
    }
    return replace(evidence, cases=cases)


HELD = [("desk", "S-49")]
LEAK = {"disclosure": 1}

# A row is a line.
# fmt: off
SITUATIONS = [
    # One trial each. McNemar's exact test blocks at 0.04, since no fresh trials could confirm a single flip.
    Situation("one trial, no change", ONE, ONE, "PASS"),
    Situation("one trial, all better", side("50x0/1"), ONE, "PASS"),
    Situation("one trial, all worse", ONE, side("50x0/1"), "REGRESSED"),
    Situation("one trial, one flip may be chance", ONE, side("49x1/1 0/1"), "PASS",
              "S-49; bless a baseline of more, such as 5"),
    Situation("one trial, four broken may be chance (1 in 16)", ONE, side("46x1/1 4x0/1"), "PASS"),
    Situation("one trial, five broken and none fixed (1 in 32)", ONE, side("45x1/1 5x0/1"), "REGRESSED"),
    Situation("one trial, as many fixed as broken", side("5x0/1 45x1/1"), side("45x1/1 5x0/1"), "PASS"),
    Situation("one trial, ten broken and two fixed (79 in 4,096)", side("2x0/1 48x1/1"), side("40x1/1 10x0/1"),
              "REGRESSED", "10 broken and 2 fixed"),
    # Three trials each.
    Situation("three trials, no change", THREE, THREE, "PASS"),
    Situation("a flip without fresh trials", THREE, side("49x3/3 0/3"), "INCONCLUSIVE", "by 15 fresh trials each"),
    Situation("a flip that all fresh trials confirm", THREE, side("49x3/3 0/3"), "REGRESSED",
              "S-49 passed 3/3 before, 0/3 now, 0/15 fresh: confirmed", {"fresh": fresh(S_49="0/15")}),
    Situation("a flip with one fresh trial too few", THREE, side("49x3/3 0/3"), "INCONCLUSIVE", "",
              {"fresh": fresh(S_49="0/14")}),
    Situation("a flip that one fresh trial in fifteen does not confirm", THREE, side("49x3/3 0/3"), "PASS",
              "not confirmed", {"fresh": fresh(S_49="1/15")}),
    Situation("a flip that fresh trials clear", THREE, side("49x3/3 0/3"), "PASS", "not confirmed",
              {"fresh": fresh(S_49="15/15")}),
    Situation("two of three trials failing is a candidate", THREE, side("49x3/3 1/3"), "INCONCLUSIVE"),
    Situation("one of three trials failing is none", THREE, side("49x3/3 2/3"), "PASS"),
    # Five trials each.
    Situation("five trials, a flip confirmed", GOOD, side("49x5/5 0/5"), "REGRESSED", "confirmed",
              {"fresh": fresh(S_49="0/3")}),
    Situation("five trials, a flip that passed once is not confirmed", GOOD, side("49x5/5 1/5"), "PASS",
              "not confirmed", {"fresh": fresh(S_49="0/3")}),
    Situation("three of five trials failing is a candidate", GOOD, side("49x5/5 2/5"), "INCONCLUSIVE"),
    Situation("two of five trials failing is none", GOOD, side("49x5/5 3/5"), "PASS"),
    Situation("two flips, one confirmed and one cleared", GOOD, side("48x5/5 2x0/5"), "REGRESSED", "not confirmed",
              {"fresh": fresh(S_48="0/3", S_49="3/3")}),
    Situation("two flips, one confirmed and one not tried again", GOOD, side("48x5/5 2x0/5"), "REGRESSED",
              "1 new failure to be confirmed", {"fresh": fresh(S_49="0/3")}),
    Situation("flaky before and failing now", side("49x5/5 3/5"), side("49x5/5 0/5"), "PASS"),
    Situation("flaky now in one scenario", GOOD, side("49x5/5 4/5"), "PASS"),
    Situation("failing before and now", side("49x5/5 0/5"), side("49x5/5 0/5"), "PASS"),
    Situation("all better", side("50x3/5"), GOOD, "PASS"),
    Situation("all worse needs no fresh trials", GOOD, side("50x0/5"), "REGRESSED"),
    Situation("a small drop everywhere", GOOD, side("50x4/5"), "REGRESSED", "paired permutation test"),
    Situation("small drops and as many rises", side("25x5/5 25x4/5"), side("25x4/5 25x5/5"), "PASS"),
    Situation("small drops in six of fifty, nothing up (1 in 64)", GOOD, side("44x5/5 6x4/5"), "REGRESSED"),
    Situation("small drops in five of fifty, nothing up (1 in 32)", GOOD, side("45x5/5 5x4/5"), "PASS"),
    # A declared margin.
    Situation("a drop within the margin", ONE, side("40x1/1 10x0/1"), "PASS", "the margin of 30 points",
              {"rules": Rules(margin=0.3)}),
    Situation("a drop just above the margin is within its interval", ONE, side("34x1/1 16x0/1"), "PASS", "",
              {"rules": Rules(margin=0.3)}),
    Situation("a drop far beyond the margin", ONE, side("20x1/1 30x0/1"), "REGRESSED", "",
              {"rules": Rules(margin=0.3)}),
    # Dimensions, of scenarios that fail before and now: ten of them 4 in 1,024 by Holm, six of them 4 in 64.
    Situation("one dimension worse in ten failing scenarios", side("40x1/1 10x0/1"),
              dimension(side("40x1/1 10x0/1"), "policy", range(40, 50)), "REGRESSED", "policy: 100.0 % → 80.0 %"),
    Situation("one dimension worse in six failing scenarios", side("40x1/1 10x0/1"),
              dimension(side("40x1/1 10x0/1"), "policy", range(40, 46)), "PASS"),
    Situation("one dimension worse within the margin", side("20x1/1 30x0/1"),
              dimension(side("20x1/1 30x0/1"), "policy", range(20, 38)), "PASS", "", {"rules": Rules(margin=0.3)}),
    # Agents that never vary.
    Situation("deterministic, a flip confirmed", ALIKE, side("49x2/2= 0/2="), "REGRESSED", "0/3 fresh: confirmed",
              {"fresh": fresh(S_49="0/3=")}),
    Situation("deterministic before, failing in several ways now", ALIKE, side("49x2/2= 0/2"), "REGRESSED", "",
              {"fresh": fresh(S_49="0/3")}),
    Situation("deterministic, a flip not tried again", ALIKE, side("49x2/2= 0/2="), "INCONCLUSIVE",
              "by 3 fresh trials each"),
    Situation("deterministic with five trials, two fresh ones are too few", side("50x5/5="), side("49x5/5= 0/5="),
              "INCONCLUSIVE", "by 3 fresh trials each", {"fresh": fresh(S_49="0/2=")}),
    Situation("deterministic, a fresh trial passes", ALIKE, side("49x2/2= 0/2="), "PASS", "not confirmed",
              {"fresh": fresh(S_49="1/3")}),
    Situation("deterministic, a small suite", side("4x2/2="), side("3x2/2= 0/2="), "REGRESSED", "",
              {"fresh": fresh(S_03="0/3=")}),
    Situation("deterministic, an error costs one more fresh trial", ALIKE, side("49x2/2= 0/1", 2), "INCONCLUSIVE",
              "by 4 fresh trials each", {"fresh": fresh(S_49="0/3=")}),
    Situation("two trials of an agent that varies cannot tell", side("49x2/2= 2/2"), side("48x2/2= 0/2= 2/2"), "PASS",
              "from chance: S-48"),
    Situation("trials alike, of an agent that varies elsewhere", side("49x5/5= 5/5"), side("48x5/5= 0/5= 5/5"),
              "REGRESSED", "S-48", {"fresh": fresh(S_48="0/3=")}),
    # What is not there.
    Situation("a scenario missing", GOOD, without(GOOD, 7), "INCONCLUSIVE", "not in the run: S-07"),
    Situation("a scenario that the baseline lacks", without(GOOD, 7), GOOD, "INCONCLUSIVE",
              "not in the baseline: S-07"),
    Situation("trials missing", GOOD, replace(GOOD, missing=2), "INCONCLUSIVE", "the run lacks 2 trials"),
    Situation("trials missing of the first of two runs", replace(GOOD, missing=1), GOOD, "INCONCLUSIVE",
              "the baseline lacks 1 trial"),
    Situation("a run without an end", GOOD, replace(GOOD, complete=False), "INCONCLUSIVE", "the run has no end"),
    Situation("the first of two runs without an end", replace(GOOD, complete=False), GOOD, "INCONCLUSIVE",
              "the baseline has no end"),
    Situation("an empty run", GOOD, side("", 5), "INCONCLUSIVE", "50 scenarios in the baseline and not in the run"),
    Situation("nothing on either side", side("", 5), side("", 5), "INCONCLUSIVE", "nothing to compare"),
    # Infrastructure errors: five of 250 trials are the 2 % that may be.
    Situation("errors at the cap", GOOD, side("45x5/5 5x4/4", 5), "PASS"),
    Situation("errors over the cap", GOOD, side("44x5/5 6x4/4", 5), "INCONCLUSIVE", "6 of 250 trials (2.4 %)"),
    Situation("errors over the cap of the first of two runs", side("44x5/5 6x4/4", 5), GOOD, "INCONCLUSIVE",
              "the baseline has infrastructure errors"),
    Situation("errors over the cap of a run that is better", side("50x1/5"), side("44x5/5 6x4/4", 5), "INCONCLUSIVE"),
    Situation("no error allowed", GOOD, side("49x5/5 4/4", 5), "INCONCLUSIVE", "at most 0 % may",
              {"rules": Rules(max_errors=0)}),
    Situation("a scenario of errors alone, under the cap", ONE, side("49x1/1 0/0", 1), "INCONCLUSIVE",
              "mostly infrastructure errors in 1 scenario: S-49"),
    Situation("a scenario of errors for the most part, under the cap", GOOD, side("49x5/5 2/2", 5), "INCONCLUSIVE",
              "mostly infrastructure errors in 1 scenario: S-49"),
    Situation("all errors", GOOD, side("50x0/0", 5), "INCONCLUSIVE", "in 50 scenarios"),
    # Zero tolerance.
    Situation("a zero-tolerance violation that is new", GOOD, changed(GOOD, 3, zero_tolerance=LEAK), "REGRESSED",
              "S-03: disclosure in 1 of 5 trials, before in 0 of 5"),
    Situation("a zero-tolerance violation as before", changed(GOOD, 3, zero_tolerance=LEAK),
              changed(GOOD, 3, zero_tolerance=LEAK), "PASS"),
    Situation("a zero-tolerance violation more often", changed(GOOD, 3, zero_tolerance=LEAK),
              changed(GOOD, 3, zero_tolerance={"disclosure": 2}), "REGRESSED"),
    Situation("a zero-tolerance violation less often", changed(GOOD, 3, zero_tolerance={"disclosure": 2}),
              changed(GOOD, 3, zero_tolerance=LEAK), "PASS"),
    Situation("another zero-tolerance violation than before", changed(GOOD, 3, zero_tolerance=LEAK),
              changed(GOOD, 3, zero_tolerance={"wrong_subject": 1}), "REGRESSED", "wrong_subject"),
    Situation("the same violation in another scenario", changed(GOOD, 3, zero_tolerance=LEAK),
              changed(GOOD, 4, zero_tolerance=LEAK), "REGRESSED", "S-04: disclosure"),
    Situation("a safety case no longer handed off", GOOD, changed(GOOD, 3, zero_tolerance={"missed_escalation": 1}),
              "REGRESSED", "missed_escalation"),
    Situation("a zero-tolerance violation in a fresh trial", GOOD, side("49x5/5 0/5"), "REGRESSED",
              "S-49: disclosure in 1 of 3 fresh trials, before in 0 of 5",
              {"fresh": {("desk", "S-49"): case(49, 3, 3, zero_tolerance=LEAK)}}),
    Situation("a zero-tolerance violation in quarantine", GOOD, changed(GOOD, 49, zero_tolerance=LEAK), "REGRESSED",
              "S-49: disclosure", {"quarantine": HELD}),
    Situation("a zero-tolerance violation of a run that was stopped", GOOD,
              replace(changed(GOOD, 3, zero_tolerance=LEAK), complete=False), "INCONCLUSIVE", "S-03: disclosure"),
    Situation("a zero-tolerance violation of an agent that is better", side("50x3/5"),
              changed(GOOD, 3, zero_tolerance=LEAK), "REGRESSED"),
    # What must be equal.
    Situation("another suite", GOOD, with_suite(GOOD, name="shop"), "INCONCLUSIVE", "suite desk is not in the run"),
    Situation("one suite more", GOOD, under(GOOD, suites=(SUITE, {**SUITE, "name": "shop"})), "INCONCLUSIVE",
              "suite shop is not in the baseline"),
    Situation("another suite hash", GOOD, changed(with_suite(GOOD, sha256="c" * 64), 7, sha256="d" * 64),
              "INCONCLUSIVE", "its files changed (S-07)"),
    Situation("another suite version", GOOD, with_suite(GOOD, version="1.1"), "INCONCLUSIVE",
              "version 1.0 before, 1.1 now"),
    Situation("another toolset", GOOD, with_suite(GOOD, toolset="own"), "INCONCLUSIVE", "toolset saas before"),
    Situation("another toolset version", GOOD, with_suite(GOOD, toolset_version="2.0"), "INCONCLUSIVE",
              "toolset version 1.1 before, 2.0 now"),
    Situation("another scorer", GOOD, under(GOOD, scorer="6"), "INCONCLUSIVE", "supportbench rescore"),
    Situation("fewer trials", GOOD, side("50x3/3"), "INCONCLUSIVE", "trials: 5 before, 3 now"),
    Situation("more trials", GOOD, side("50x9/9"), "INCONCLUSIVE", "trials: 5 before, 9 now"),
    Situation("another turn limit", GOOD, under(GOOD, max_turns=12), "INCONCLUSIVE", "max turns: 6 before, 12 now"),
    Situation("another time limit", GOOD, under(GOOD, timeout=60.0), "INCONCLUSIVE", "timeout: 120.0 before"),
    Situation("a simulated customer", GOOD, under(GOOD, customer={"kind": "ollama"}), "INCONCLUSIVE",
              "customer: none"),
    Situation("another suite hash hides no regression as a PASS", GOOD, with_suite(side("50x0/5"), sha256="c" * 64),
              "INCONCLUSIVE"),
    Situation("another model is what is compared", GOOD,
              replace(GOOD, fingerprint={"kind": "ollama", "model": "other"}), "PASS"),
    # Quarantine.
    Situation("a broken scenario in quarantine", GOOD, side("49x5/5 0/5"), "PASS", "", {"quarantine": HELD}),
    Situation("a broken scenario beside one in quarantine", GOOD, side("48x5/5 2x0/5"), "INCONCLUSIVE", "S-48",
              {"quarantine": HELD}),
    Situation("a quarantine that is over", GOOD, GOOD, "REGRESSED", "S-49: ended", {"expired": ["S-49: ended"]}),
    Situation("a quarantine of an unknown scenario", GOOD, GOOD, "PASS", "S-99: no such",
              {"notes": ["S-99: no such"]}),
    Situation("a quarantine that is over, and a run that was stopped", GOOD, replace(GOOD, complete=False),
              "INCONCLUSIVE", "S-49: ended", {"expired": ["S-49: ended"]}),
    Situation("all in quarantine", GOOD, side("50x0/5"), "INCONCLUSIVE", "nothing to compare",
              {"quarantine": list(GOOD.cases)}),
    # Twins and suites.
    Situation("six drops of scenarios on their own (1 in 64)", THREE, side("44x3/3 6x2/3"), "REGRESSED"),
    Situation("the same six drops in three pairs of twins (1 in 8)", twins(THREE), twins(side("44x3/3 6x2/3")),
              "PASS"),
    Situation("equal ids in two suites, one of them broken", both(side("25x5/5"), side("25x5/5")),
              both(side("25x5/5"), side("24x5/5 0/5")), "INCONCLUSIVE", "shop/S-24"),
    Situation("equal ids in two suites, one suite gone", both(GOOD, GOOD), GOOD, "INCONCLUSIVE",
              "suite shop is not in the run"),
    Situation("equal ids in two suites, a violation in one", both(GOOD, GOOD),
              both(changed(GOOD, 3, zero_tolerance=LEAK), GOOD), "REGRESSED", "desk/S-03: disclosure"),
    # Very small suites: C(6, 5) = 6 is too few for 0.04, C(11, 5) = 462 is enough.
    Situation("one scenario, no change", side("5/5"), side("5/5"), "PASS"),
    Situation("one scenario that fails now", side("5/5"), side("0/5"), "INCONCLUSIVE", "by 1 fresh trial each"),
    Situation("one scenario that fails again", side("5/5"), side("0/5"), "REGRESSED", "",
              {"fresh": fresh(S_00="0/1")}),
    Situation("one scenario, one trial", side("1/1"), side("0/1"), "PASS", "too few trials to tell"),
]
# fmt: on


def judged(situation: Situation) -> Decision:
    more = {"rules": Rules(), **situation.more}
    return decide(situation.before, situation.now, **more)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_the_verdict_is_as_the_situation_demands(situation: Situation):
    """Each situation gives its verdict, exit code and reason; no number in the decision is NaN."""
    found = judged(situation)
    texts = [reason.text for reason in found.reasons]
    assert found.verdict == situation.verdict, texts
    assert found.exit_status == {"PASS": 0, "REGRESSED": 1, "INCONCLUSIVE": 11}[situation.verdict]
    assert any(situation.says in text for text in texts), texts
    assert any(reason.blocks == situation.verdict for reason in found.reasons) == (
        situation.verdict != "PASS"
    )
    json.dumps(found.to_json(), allow_nan=False)


def test_every_situation_has_a_name_of_its_own():
    """The table holds at least forty situations, each named once, and each verdict ten times."""
    assert len({situation.name for situation in SITUATIONS}) == len(SITUATIONS) >= 40
    assert min(Counter(situation.verdict for situation in SITUATIONS).values()) >= 10


@pytest.mark.parametrize("situation", SITUATIONS[::6], ids=lambda situation: situation.name)
def test_the_order_of_scenarios_does_not_matter(situation: Situation):
    """Evidence in another order gives the same decision, to the last digit."""
    shuffled = replace(situation, before=in_disorder(situation.before), now=in_disorder(situation.now))
    assert judged(shuffled).to_json() == judged(situation).to_json()


def in_disorder(evidence: Evidence) -> Evidence:
    cases = list(evidence.cases.items())
    random.Random(1).shuffle(cases)
    return replace(evidence, cases=dict(cases))


def test_what_differs_between_the_agents_is_told_and_what_is_the_machine_is_not():
    """Model and prompt are what is compared, so they are shown; host, cassette and paths are not the agent."""
    before = replace(
        GOOD, fingerprint={"kind": "ollama", "model": "a", "host": "http://one:1", "prompt_path": "p"}
    )
    now = replace(
        GOOD, fingerprint={"kind": "ollama", "model": "b" * 900, "host": "http://two:2", "record": "new"}
    )
    (told,) = decide(before, now, Rules()).changed
    assert told.startswith("model: a → bbbb")
    assert len(told) < 80


def test_the_decision_lists_new_failures_fixed_ones_and_those_as_before():
    """What was stable and fails, what was not and is stable, and what is still not are told apart."""
    found = decide(side("5/5 5/5 0/5 3/5 3/5"), side("0/5 4/5 5/5 4/5 5/5"), Rules())
    assert found.candidates == (("desk", "S-00"),)
    assert found.fixed == (("desk", "S-02"), ("desk", "S-04"))
    assert found.still == (("desk", "S-03"),)


def test_a_scenario_in_quarantine_is_shown_and_in_no_count():
    """It is neither a new failure nor part of the means, and it is listed."""
    found = decide(GOOD, side("49x5/5 0/5"), Rules(), quarantine=HELD)
    assert (found.candidates, found.quarantined) == ((), (("desk", "S-49"),))
    assert found.aggregate is not None
    assert (found.aggregate.scenarios, found.aggregate.now) == (49, 1.0)


def test_a_pass_tells_what_it_could_have_missed():
    """With one trial in each of fifty scenarios and no change, 7 points are not ruled out: 1 - 0.025 ** (1 / 50)."""
    found = decide(ONE, ONE, Rules())
    assert found.aggregate is not None
    assert -found.aggregate.difference.low == pytest.approx(1 - 0.025 ** (1 / 50))
    assert "a drop of up to 7 points is not ruled out" in [reason.text for reason in found.reasons]
    shown = "the smallest drop that a run like this shows in 4 of 5 cases: 14 points"
    assert shown in [reason.text for reason in found.reasons]


def test_no_drop_is_said_to_be_shown_that_is_more_than_there_is_to_lose():
    """An agent that passes two of fifty cannot drop by more than 4 points, and no such run shows that."""
    found = decide(side("48x0/1 2x1/1"), side("48x0/1 2x1/1"), Rules())
    assert found.aggregate is not None
    assert found.aggregate.detectable is None
    assert any("cannot show a drop of the whole" in reason.text for reason in found.reasons)


def test_no_drop_is_said_to_be_shown_that_the_test_cannot_show():
    """Four scenarios that all get worse are 1 in 16, above 0.02, however large the drop; so are two twin families."""
    for before, now in (
        (side("4x5/5"), side("3x4/5 3/5")),
        (twins(side("4x5/5")), twins(side("3x4/5 3/5"))),
    ):
        found = decide(before, now, Rules())
        assert found.aggregate is not None
        assert found.aggregate.detectable is None


COLLAPSE = side("47x5/5 3x0/5"), side("3x5/5 47x0/5")


@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-6])
def test_a_total_collapse_is_seen_at_any_level(alpha: float):
    """From 94 % to 6 % without fresh trials: the test's p-value has no floor but that of the number of scenarios."""
    found = decide(*COLLAPSE, Rules(alpha=alpha))
    assert found.verdict == "REGRESSED", [reason.text for reason in found.reasons]
    whole = found.aggregate
    assert whole is not None
    assert whole.p_value < 1e-9
    assert 0 < found.to_json()["aggregate"]["p_value"] < 1e-9
    assert 0.4 * alpha <= found.to_json()["aggregate"]["alpha"] * 1.0001 <= 0.8001 * alpha


def test_a_level_that_switches_the_gate_off_is_told():
    """Seven scenarios that all break are 1 in 128: at a lower level than they can reach there is no PASS."""
    before, now = side("7x1/1"), side("7x0/1")
    assert decide(before, now, Rules()).verdict == "REGRESSED"
    found = decide(before, now, Rules(alpha=0.001))
    assert found.verdict == "INCONCLUSIVE"
    (text,) = [reason.text for reason in found.reasons if reason.blocks]
    assert "at a level of 0.001 not even 7 scenarios that all break can block" in text
    assert "give one of at least 0.0098" in text
    assert decide(before, now, Rules(alpha=0.0098)).verdict == "REGRESSED"
    assert decide(before, before, Rules(alpha=0.001)).verdict == "INCONCLUSIVE"


def test_a_margin_needs_a_level_that_its_interval_can_tell():
    """Below 0.001 the interval behind the margin would be one of too few draws, so that is refused."""
    with pytest.raises(UsageError, match=r"alpha is 0.0001, and with a margin .* of at least 0.001"):
        Rules(alpha=0.0001, margin=0.1)
    assert decide(*COLLAPSE, Rules(alpha=0.001, margin=0.1)).verdict == "REGRESSED"


def test_scenarios_that_turned_flaky_are_listed():
    """Stable before, and not more than half of the trials fail now: no new failure, no blocking, but named."""
    found = decide(side("4x3/3"), side("2/3 3/3 1/3 3/3"), Rules())
    assert found.flaky == (("desk", "S-00"),)
    assert found.candidates == (("desk", "S-02"),)
    assert found.to_json()["flaky"] == ["desk/S-00"]
    assert "newly flaky: 1 (S-00)" in "\n".join(gate_lines(found))
    assert "- newly flaky: 1 (S-00)" in decision_markdown(found, "a", "b")
    assert "newly flaky" not in "\n".join(gate_lines(found, flips_told=True))


def test_an_agent_that_begins_to_vary_is_told():
    """All trials alike before and not now: the gate says so with the remedy, and blocks nothing for it."""
    found = decide(side("9x3/3= 0/3="), side("8x3/3= 2/3 0/3"), Rules())
    assert found.verdict == "PASS"
    (text,) = [reason.text for reason in found.reasons if "never varied" in reason.text]
    assert text == (
        "the agent never varied in the baseline, and does now in 2 of 10 scenarios: S-08, S-09; "
        "bless a baseline of more trials, such as 5"
    )
    for now in (side("9x3/3= 0/3="), side("9x1/1 0/1")):
        texts = [reason.text for reason in decide(side("9x3/3= 0/3="), now, Rules()).reasons]
        assert not any("never varied" in text for text in texts)


def test_areas_are_described_and_never_block():
    """An area whose every scenario got worse is named with its scenarios, and is no reason to block."""
    old = changed(THREE, *range(5), category="memory")
    new = changed(old, *range(5), passed=2)
    found = decide(old, new, Rules())
    assert found.verdict == "PASS"
    assert "memory: 100 % → 67 % of 5 scenarios; worse: S-00, S-01, S-02, S-03, S-04" in [
        reason.text for reason in found.reasons if reason.step == "areas"
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("alpha", 0.0),
        ("alpha", 1.0),
        ("alpha", float("nan")),
        ("margin", -0.1),
        ("margin", 1.0),
        ("max_errors", float("nan")),
        ("max_errors", 1.0),
    ],
)
def test_a_rule_that_would_switch_the_gate_off_is_refused(field: str, value: float):
    """A level, margin or share that is no number from 0 to 1 is a usage error that names it."""
    with pytest.raises(UsageError, match=f"^{field} is {value}; give a number"):
        Rules(**{field: value})


def test_texts_of_numbers_fit_a_line_of_a_terminal():
    """The reasons of the steps over all scenarios fit 76 columns, however bad the numbers are."""
    for before, now in ((GOOD, side("50x0/5")), (side("50x1/5"), side("50x3/5")), (ONE, side("50x0/1"))):
        found = decide(before, now, Rules())
        texts = [reason.text for reason in found.reasons if reason.step in {"aggregate", "dimensions"}]
        assert len(texts) == 8
        assert max(map(len, texts)) <= 76, texts


@st.composite
def runs(draw: st.DrawFn, trials: int) -> Evidence:
    """Return a small run: any counts, errors, dimensions, repeats and zero-tolerance violations that can be."""
    made = []
    for number in range(draw(st.integers(1, 7))):
        scored = draw(st.integers(trials - 1, trials)) if trials > 1 else 1
        passed = draw(st.integers(0, scored))
        dimensions = {name: draw(st.integers(passed, scored)) for name in STRICT_DIMENSIONS}
        made.append(
            case(
                number,
                passed,
                scored,
                errors=trials - scored,
                dimensions=dimensions,
                repeats=scored > 1 and passed in {0, scored} and draw(st.booleans()),
                zero_tolerance={"disclosure": draw(st.integers(1, scored))} if draw(st.booleans()) else {},
            )
        )
    return replace(side("", trials), cases={item.case: item for item in made})


TRIALS = st.sampled_from([1, 2, 3, 5])
CALM = settings(max_examples=40, deadline=None)


@CALM
@given(TRIALS.flatmap(runs))
def test_a_run_against_itself_passes(run: Evidence):
    """Whatever a run showed: it is no worse than itself. Errors beyond the cap are the one thing against it."""
    found = decide(run, run, Rules(max_errors=0.99))
    assert (found.verdict, found.candidates, found.fixed) == ("PASS", (), ())
    assert found.aggregate is not None
    assert found.aggregate.p_value == 1.0
    json.dumps(found.to_json(), allow_nan=False)


@CALM
@given(TRIALS.flatmap(lambda trials: st.tuples(runs(trials), runs(trials))), st.booleans())
def test_any_two_runs_get_a_verdict_and_no_nan(pair: tuple[Evidence, Evidence], confirmed: bool):
    """Any two runs get a verdict without an error or a warning; its numbers are numbers, in bounds."""
    before, now = pair
    rules = Rules(max_errors=0.99)
    trials = fresh_needed(before.cases, now.cases, rules) if before.cases.keys() == now.cases.keys() else None
    again = {name: case(0, 0, trials or 1) for name in now.cases} if confirmed else {}
    found = decide(before, now, rules, fresh=again)
    json.dumps(found.to_json(), allow_nan=False)
    if found.aggregate is not None:
        whole = found.aggregate
        assert -1 <= whole.difference.low <= whole.difference.estimate <= whole.difference.high <= 1
        assert 0 < whole.p_value <= 1
        assert whole.difference.estimate == pytest.approx(whole.now - whole.before)


@CALM
@given(TRIALS.flatmap(runs), st.data())
def test_an_agent_that_is_nowhere_worse_is_never_regressed(before: Evidence, data: st.DataObject):
    """Where no scenario, dimension or violation is worse, the gate passes."""
    better = {}
    for name, item in before.cases.items():
        passed = data.draw(st.integers(item.passed, item.scored))
        dimensions = {key: max(count, passed) for key, count in item.dimensions.items()}
        better[name] = replace(item, passed=passed, dimensions=dimensions, repeats=False, zero_tolerance={})
    assert decide(before, replace(before, cases=better), Rules(max_errors=0.99)).verdict == "PASS"


# How often it cries wolf.


def fisher(before: int, failed: int, now: int) -> float:
    """Return Fisher's p-value where all trials passed before: the chance that those passed, of all that there are."""
    return comb(now, failed) / comb(before + now, failed)


@pytest.mark.parametrize("scenarios", [1, 2, 10, 50, 100, 400])
@pytest.mark.parametrize("trials", [1, 2, 3, 5, 8, 20])
def test_the_scenario_step_holds_its_level_whatever_the_pass_rates_are(scenarios: int, trials: int):
    """Summed over all scenarios, each at its worst pass rate, an unchanged agent blocks in at most 2 % of runs.

    The chance is enumerated: all pass before, more than half fail now, and Fisher's p-value of all today's trials is
    at most the level.
    """
    old = side(f"{scenarios}x{trials}/{trials}")
    needed = fresh_needed(old.cases, old.cases, Rules())
    if needed is None:
        return
    each = level(old.cases, Rules())
    enough = min(
        count for count in range(trials + needed + 1) if fisher(trials, count, trials + needed) <= each
    )
    rates = np.linspace(0.005, 0.995, 199)
    alarm = sum(
        binom.pmf(failed, trials, 1 - rates) * binom.sf(enough - failed - 1, needed, 1 - rates)
        for failed in range(trials // 2 + 1, trials + 1)
    )
    assert scenarios * (rates**trials * alarm).max() <= Rules().alpha_scenarios


@pytest.mark.parametrize("trials", [2, 3, 5])
@pytest.mark.parametrize("unsure", range(1, 8))
def test_the_rule_for_deterministic_agents_holds_its_level(trials: int, unsure: int):
    """However many scenarios are unsure: all look alike before and one fails all its trials in under 2 % of runs."""
    fails = np.linspace(0.005, 0.995, 199)
    blocks = (1 - fails) ** trials * fails ** (trials + 3)
    looks_alike = fails**trials + (1 - fails) ** trials
    assert (unsure * blocks * looks_alike ** (unsure - 1)).max() < Rules().alpha_scenarios


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch):
    """Make decisions cheap by fewer resamples, with which a permutation test holds its level too."""
    monkeypatch.setattr(statistics, "RESAMPLES", 499)


def drawn(source: np.random.Generator, rates: np.ndarray, trials: int) -> dict[Case, CaseEvidence]:
    made = [case(number, int(count), trials) for number, count in enumerate(source.binomial(trials, rates))]
    return {item.case: item for item in made}


def simulated(seed: int, mean: float, trials: int, broken: int = 0) -> str:
    """Return the verdict on a simulated agent of which so many scenarios break outright."""
    source = np.random.default_rng(seed)
    rates = source.beta(mean * 3, (1 - mean) * 3, 50)
    today = np.where(np.arange(50) < broken, 0.0, rates)
    sides = [replace(side("", trials), cases=drawn(source, now, trials)) for now in (rates, today)]
    old, new = (made.cases for made in sides)
    needed = fresh_needed(old, new, Rules())
    again = drawn(source, today, needed or 1)
    return decide(*sides, Rules(), fresh={name: again[name] for name in candidates(old, new)}).verdict


@pytest.mark.parametrize(
    ("trials", "mean", "count"), [(1, 0.6, 100), (1, 0.9, 100), (3, 0.7, 50), (5, 0.9, 50)]
)
def test_an_unchanged_agent_is_seldom_regressed(quick: None, trials: int, mean: float, count: int):
    """Of A/A runs no more are REGRESSED than a level of 5 % explains (one in a thousand would be above)."""
    verdicts = Counter(simulated(seed, mean, trials) for seed in range(count))
    assert set(verdicts) <= {"PASS", "REGRESSED"}
    assert verdicts["REGRESSED"] <= binom.ppf(0.999, count, 0.05)


@pytest.mark.parametrize(("trials", "broken"), [(1, 20), (3, 12), (5, 12)])
def test_an_obvious_regression_is_seen(quick: None, trials: int, broken: int):
    """Scenarios that break outright are seen in at least nine of ten runs."""
    verdicts = Counter(simulated(seed, 0.9, trials, broken) for seed in range(30))
    assert verdicts["REGRESSED"] >= 27
