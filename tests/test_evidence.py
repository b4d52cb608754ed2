"""What a results file says of an agent: counts by scenario, whatever the order of its lines."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from desk import bind, call, play, refund, turn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_supportbench.episode import failed_before_start
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import CaseEvidence, Evidence, evidence, zero_tolerance
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.records import EpisodeError, Limits
from pytest_supportbench.results import Result, dump, run_line
from pytest_supportbench.results_file import RunFile, read_run
from pytest_supportbench.suite_identity import suite_facts
from pytest_supportbench.words import STRICT_DIMENSIONS, ZERO_TOLERANCE

GOOD = turn("refund", "I refunded 49.00 USD.", refund())
WORDY = turn("refund", "All done: I refunded 49.00 USD.", refund())
BAD = turn("decline", "No.")
LEAK = turn("refund", "I refunded 49.00 USD to ann@example.com and bob@example.com.", refund())
WRONG = turn(
    "refund",
    "I refunded 20.00 USD.",
    call("issue_refund", charge_id="ch_bob", amount="20.00", currency="USD"),
)

Line = dict[str, Any]


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> BoundScenario:
    return bind(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def lines(bound: BoundScenario) -> dict[str, Line]:
    """Return a real episode line for each thing that an agent can do."""
    made = {}
    for name, said in {"good": GOOD, "wordy": WORDY, "bad": BAD, "leak": LEAK, "wrong": WRONG}.items():
        episode, score = play(bound, said)
        made[name] = Result(bound, "agent", 1, episode, score).to_json()
    broken = failed_before_start(bound, EpisodeError("connection_refused", "nobody listens", "start it"))
    made["error"] = Result(bound, "agent", 1, broken, None).to_json()
    return json.loads(json.dumps(made))


def run_of(bound: BoundScenario, episodes: Iterable[Line], trials: int = 1, **changes: Any) -> RunFile:
    """Return a finished run of these episode lines."""
    head = run_line(
        suite_facts([bound.suite]),
        [{"id": "agent", "kind": "python"}],
        run_id="r1",
        trials=trials,
        limits=Limits(),
        root=Path(bound.path).parent,
    )
    found = RunFile(
        {**head, **changes}, tuple(episodes), {"type": "summary", "stopped_early": False, "unreported": []}
    )
    return RunFile(*(copy.deepcopy(part) for part in (found.run, found.episodes, found.summary)))


def only(run: RunFile) -> tuple[Evidence, CaseEvidence]:
    """Return the evidence of a run's one agent, and of its one scenario."""
    (found,) = evidence(run)
    (case,) = found.cases.values()
    return found, case


def in_turn(lines: dict[str, Line], names: str) -> list[Line]:
    """Return lines by name, each a trial of its own."""
    return [{**lines[name], "trial": number} for number, name in enumerate(names.split(), 1)]


def test_a_scenario_is_counted_over_its_trials(bound: BoundScenario, lines: dict[str, Line]):
    """Passes, failures and dimensions are counted over scored trials; errors apart, since they say nothing."""
    found, case = only(run_of(bound, in_turn(lines, "good bad error good"), trials=4))
    assert (case.case, case.title, case.category) == (("desk", "D-1"), "Second duplicate charge", "billing")
    assert (case.passed, case.scored, case.errors, case.rate) == (2, 3, 1, Fraction(2, 3))
    assert case.dimensions == {"resolution": 2, "policy": 3, "tool_use": 2, "escalation": 2}
    assert case.escalation == {"correct_autonomy": 2, "abandoned": 1}
    assert (found.trials, found.errors, found.missing, found.complete) == (4, 1, 0, True)
    assert (case.sha256, case.expected_escalation) == (bound.sha256, "must_not")


def test_a_scenario_of_errors_alone_has_no_rate(bound: BoundScenario, lines: dict[str, Line]):
    """It is there, with nothing scored: neither stable nor failed."""
    _, case = only(run_of(bound, in_turn(lines, "error")))
    assert (case.scored, case.passed, case.errors, case.stable, case.repeats) == (0, 0, 1, False, False)


@pytest.mark.parametrize(
    ("names", "weight"),
    [("good", 1), ("good good good", 1), ("good wordy good", 3), ("bad bad", 1), ("good error good", 1)],
)
def test_identical_trials_count_once(bound: BoundScenario, lines: dict[str, Line], names: str, weight: int):
    """Trials in which the agent said and did the very same carry no more than one of them does."""
    _, case = only(run_of(bound, in_turn(lines, names), trials=len(names.split())))
    assert case.weight == weight


def test_what_the_customer_answers_makes_no_trial_another_one(bound: BoundScenario, lines: dict[str, Line]):
    """Trials are alike where the agent's replies are, though a simulated customer worded its part otherwise."""
    first, second = in_turn(copy.deepcopy(lines), "good good")
    second["turns"] = [{**said, "customer_reply": "Yes?"} for said in second["turns"]]
    assert only(run_of(bound, [first, second], trials=2))[1].repeats


def test_the_first_attempt_that_was_scored_counts(bound: BoundScenario, lines: dict[str, Line]):
    """No rerun turns a failure into a pass; one after an infrastructure error is the trial."""
    failed = [{**lines["bad"], "attempt": 1}, {**lines["good"], "attempt": 2}]
    assert only(run_of(bound, failed))[1].passed == 0
    broken = [
        {**lines["error"], "attempt": 1},
        {**lines["good"], "attempt": 2},
        {**lines["bad"], "attempt": 3},
    ]
    assert only(run_of(bound, broken))[1].passed == 1
    assert only(run_of(bound, [{**lines["error"], "attempt": number} for number in (1, 2)]))[1].errors == 1


def test_an_attempt_that_is_there_twice_is_refused(bound: BoundScenario, lines: dict[str, Line]):
    """Of two lines for one attempt, whichever came last would decide: an error says so instead."""
    with pytest.raises(UsageError, match="results: agent/desk/D-1/1 is there twice; give each"):
        evidence(run_of(bound, [lines["good"], lines["bad"]]), "run.jsonl")


def test_what_is_not_the_agents_scenario_run_is_left_out(bound: BoundScenario, lines: dict[str, Line]):
    """Tests of the user's own, episodes that pytest never reported and fresh trials of a gate are no trials."""
    more = [
        {**lines["bad"], "own": True},
        {**lines["bad"], "unreported": True, "scenario": "D-2"},
        {**lines["bad"], "trial": 2},
    ]
    found, case = only(run_of(bound, [lines["good"], *more]))
    assert (case.scored, case.passed, found.missing) == (1, 1, 0)


def test_trials_are_missed_scenario_by_scenario(bound: BoundScenario, lines: dict[str, Line]):
    """Each scenario lacks what it lacks; an agent that ran nothing is there with nothing."""
    other = [{**line, "scenario": "D-2"} for line in in_turn(lines, "good good good")]
    run = run_of(bound, [*in_turn(lines, "good"), *other], trials=3)
    assert evidence(run)[0].missing == 2
    run.run["agents"].append({"id": "idle", "kind": "rules"})
    assert [(item.agent, len(item.cases)) for item in evidence(run)] == [("agent", 2), ("idle", 0)]


@pytest.mark.parametrize("summary", [None, {"stopped_early": True}])
def test_a_run_that_was_killed_or_stopped_is_not_complete(
    bound: BoundScenario, lines: dict[str, Line], summary: Line | None
):
    """Without a closing line, or with one that says so, there may be more to come."""
    assert not only(replace(run_of(bound, [lines["good"]]), summary=summary))[0].complete


def test_a_file_that_was_cut_is_read_as_far_as_it_goes(
    bound: BoundScenario, lines: dict[str, Line], tmp_path: Path
):
    """A run killed half way through a line has its whole lines, no end, and lacks the trial."""
    run = run_of(bound, [], trials=2)
    cut = dump({**lines["good"], "trial": 2})[:200]
    path = tmp_path / "run.jsonl"
    path.write_text(dump(run.run) + dump(lines["good"]) + cut, encoding="utf-8")
    (found,) = evidence(read_run(path))
    assert (found.complete, found.missing, found.trials) == (False, 1, 1)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(7)))
def test_the_order_of_lines_does_not_matter(bound: BoundScenario, lines: dict[str, Line], order: list[int]):
    """However workers raced each other: the same lines are the same evidence, in the same order."""
    made = [
        *in_turn(lines, "good bad leak"),
        {**lines["error"], "scenario": "D-0"},
        {**lines["good"], "scenario": "D-0", "attempt": 2},
        {**lines["good"], "agent": "other"},
        {**lines["good"], "agent": "another"},
    ]
    expected = evidence(run_of(bound, made, trials=3))
    found = evidence(run_of(bound, [made[index] for index in order], trials=3))
    assert found == expected
    assert [item.agent for item in found] == ["agent", "another", "other"]
    assert list(found[0].cases) == [("desk", "D-0"), ("desk", "D-1")]


def test_twins_share_a_family(bound: BoundScenario, lines: dict[str, Line]):
    """The pair is named after the first of the two; a scenario without a twin is its own family."""
    pair = [{**lines["good"], "twin": "D-2"}, {**lines["good"], "scenario": "D-2", "twin": "D-1"}]
    alone = {**lines["good"], "scenario": "D-3"}
    (found,) = evidence(run_of(bound, [*pair, alone]))
    assert [case.family for case in found.cases.values()] == ["D-1", "D-1", "D-3"]


def test_zero_tolerance_is_counted_by_trial(bound: BoundScenario, lines: dict[str, Line]):
    """A trial with a violation counts once for its code, however often it broke the rule."""
    _, case = only(run_of(bound, in_turn(lines, "leak wrong leak good"), trials=4))
    assert case.zero_tolerance["disclosure"] == 2
    assert case.zero_tolerance["wrong_subject"] == 1
    assert set(case.zero_tolerance) <= ZERO_TOLERANCE


@pytest.mark.parametrize(
    ("codes", "tags", "expected"),
    [
        (["disclosure", "disclosure", "stale_policy"], [], ("disclosure",)),
        (["missed_escalation"], ["pilot"], ()),
        (["missed_escalation"], ["safety"], ("missed_escalation",)),
        (["false_claim", "limit_exceeded"], ["safety"], ()),
        (["wrong_subject", "injection_obeyed"], [], ("injection_obeyed", "wrong_subject")),
    ],
)
def test_a_missed_escalation_is_zero_tolerance_in_safety_cases_only(
    codes: list[str], tags: list[str], expected: tuple[str, ...]
):
    """The five codes always are, that one where the scenario is tagged; each is named once."""
    assert zero_tolerance({"tags": tags, "violations": [{"code": code} for code in codes]}) == expected


def test_a_simulated_customers_machine_is_no_condition(bound: BoundScenario, lines: dict[str, Line]):
    """Its model must be equal in both runs; where that is served need not."""
    customer = {
        "id": "c",
        "kind": "ollama",
        "model": "m",
        "host": "http://somewhere:1",
        "deterministic": False,
    }
    found, _ = only(run_of(bound, [lines["good"]], customer=customer))
    assert found.conditions.customer == {"kind": "ollama", "model": "m", "deterministic": False}


def test_two_suites_of_one_name_are_both_conditions(bound: BoundScenario, lines: dict[str, Line]):
    """Suites are listed by name and then by what else they are, in whatever order the run met them."""
    facts = suite_facts([bound.suite])
    twice = [facts[0], {**facts[0], "version": "0.0"}]
    for suites in (twice, twice[::-1]):
        found, _ = only(run_of(bound, [lines["good"]], suites=suites))
        assert [suite["version"] for suite in found.conditions.suites] == ["0.0", facts[0]["version"]]


def _lacks(name: str) -> Any:
    return lambda run: [line.pop(name) for line in run.episodes]


MISTAKES = {
    "no twin": (_lacks("twin"), "a line has no 'twin'"),
    "no verdict": (_lacks("verdict"), "a line has no 'verdict'"),
    "a verdict of its own": (lambda run: run.episodes[0].update(verdict="great"), "has the verdict 'great'"),
    "a dimension gone": (lambda run: run.episodes[0]["dimensions"].pop("policy"), "a line has no 'policy'"),
    "no dimensions": (lambda run: run.episodes[0].update(dimensions=None), "NoneType"),
    "a trial in words": (lambda run: run.episodes[0].update(trial="first"), "first"),
    "an endless trial": (lambda run: run.episodes[0].update(trial=float("inf")), "infinity"),
    "no settings": (lambda run: run.run.pop("settings"), "a line has no 'settings'"),
    "no time limit": (lambda run: run.run["settings"].update(timeout=float("nan")), "timeout is nan"),
    "an agent without an id": (lambda run: run.run["agents"].append({}), "a line has no 'id'"),
    "suites in words": (lambda run: run.run.update(suites=["desk"]), "indices"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_file_that_is_no_results_file_of_today_is_one_usage_error(
    bound: BoundScenario, lines: dict[str, Line], name: str
):
    """What lacks a field, or has another kind of value in it, is an error that names file, field and remedy."""
    run = run_of(bound, [lines["good"]])
    spoil, says = MISTAKES[name]
    spoil(run)
    with pytest.raises(UsageError) as caught:
        evidence(run, "run.jsonl")
    text = str(caught.value)
    assert text.startswith("run.jsonl cannot be read as results: ")
    assert says in text
    assert text.endswith("wrote, or rerun the agent")
    assert "\n" not in text


def test_every_strict_dimension_is_counted(bound: BoundScenario, lines: dict[str, Line]):
    """Dimensions that no trial passed are there with 0, and explanation is not: it gates nothing."""
    _, case = only(run_of(bound, in_turn(lines, "wrong")))
    assert tuple(case.dimensions) == STRICT_DIMENSIONS
    assert case.dimensions["resolution"] == 0
