"""TinyBench-50: it holds what its documents promise, and no agent that understands nothing looks good on it."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_supportbench.agents import make_agent
from pytest_supportbench.agents.builtin import (
    AlwaysAsk,
    AlwaysDecline,
    AlwaysEscalate,
    CallEveryTool,
    DoNothing,
)
from pytest_supportbench.agents.filling import arguments_for
from pytest_supportbench.agents.spec import parse_spec
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import replay, run_episode
from pytest_supportbench.lint_personal import personal_data
from pytest_supportbench.loading import BoundScenario, Loader
from pytest_supportbench.protocol import ToolCall, Turn
from pytest_supportbench.records import Limits
from pytest_supportbench.scenario import FaultKind, Scenario
from pytest_supportbench.scoring import Score, score_episode
from pytest_supportbench.state import iter_records
from pytest_supportbench.words import STRICT_DIMENSIONS, Category

SUITE = Path(__file__).parent.parent / "scenarios" / "tinybench-50"
IDS = [f"TB-{number:03}" for number in range(1, 51)]
PILOT = IDS[:10]
PILOT_SAFETY = PILOT[5:9]
CANARY = "# supportbench-canary 90dfb0fd-8cf7-4d0f-a983-b0ff2996c26b\n"
CONSTANTS: dict[str, type[Any]] = {
    "do-nothing": DoNothing,
    "always-escalate": AlwaysEscalate,
    "always-decline": AlwaysDecline,
    "always-ask": AlwaysAsk,
    "call-every-tool": CallEveryTool,
}


@lru_cache(maxsize=1)
def suite() -> dict[str, BoundScenario]:
    """Return the scenarios by id, loaded once."""
    loader = Loader()
    found = [loader.load(path) for path in sorted(SUITE.rglob("*.scenario.yaml"))]
    return {bound.scenario.id: bound for bound in found}


@lru_cache(maxsize=1)
def facts() -> dict[str, Scenario]:
    """Return what the files say, by id."""
    return {name: bound.scenario for name, bound in sorted(suite().items())}


def tagged(tag: str) -> list[str]:
    """Return the ids with a tag."""
    return [name for name, scenario in facts().items() if tag in scenario.tags]


def score(bound: BoundScenario, turns: tuple[Turn, ...]) -> Score:
    """Return the score of scripted turns."""
    return score_episode(bound, replay(bound, turns))


def failed(result: Score) -> list[str]:
    """Return the strict dimensions that did not pass, each with its failed checks."""
    return [
        f"{name}: {[f'{check.id} ({check.actual})' for check in result.dimensions[name].failures]}"
        for name in STRICT_DIMENSIONS
        if not result.dimensions[name].passed
    ]


def constant(name: str, bound: BoundScenario) -> Score:
    """Return the score of a built-in constant agent."""
    agent = CONSTANTS[name](parse_spec(name, SUITE), SUITE)
    return score_episode(bound, run_episode(bound, agent.reply))


def test_fifty_scenarios_cover_the_eight_areas_evenly() -> None:
    """Six or seven in each area, under consecutive ids."""
    assert list(facts()) == IDS
    areas = Counter(scenario.category for scenario in facts().values())
    assert set(areas) == set(get_args(Category))
    assert set(areas.values()) == {6, 7}
    assert all(bound.path.split("/")[-2] == bound.scenario.category for bound in suite().values())


def test_about_a_third_must_be_handed_off() -> None:
    """The rest must not be: both kinds of error cost something."""
    kinds = Counter(scenario.escalation for scenario in facts().values())
    assert kinds == {"must": 15, "must_not": 35}


def test_the_pilot_is_among_them() -> None:
    """TB-001 to TB-010 are the pilot: six routine cases and four safety escalations."""
    assert tagged("pilot") == PILOT
    assert [name for name in PILOT if facts()[name].escalation == "must"] == PILOT_SAFETY
    assert [name for name in PILOT if "safety" in facts()[name].tags] == PILOT_SAFETY


def test_minimal_pairs_flip_what_is_right() -> None:
    """At least ten pairs, and the reference of one fails the other."""
    pairs = {frozenset({name, scenario.twin}) for name, scenario in facts().items() if scenario.twin}
    assert len(pairs) >= 10
    for name, scenario in facts().items():
        if scenario.twin:
            assert facts()[scenario.twin].twin == name
            assert not score(suite()[name], facts()[scenario.twin].reference).strict


def test_what_the_documents_promise_is_there() -> None:
    """Every fault kind, injections in four places, other tenants, languages, currencies, zones, replies, knowledge."""
    scenarios = facts().values()
    kinds = {(fault.kind, fault.committed) for scenario in scenarios for fault in scenario.faults}
    assert {kind for kind, _ in kinds} == set(get_args(FaultKind))
    assert {("timeout", True), ("timeout", False)} <= kinds
    assert len(tagged("injection")) >= 4
    assert len(tagged("other-tenant")) >= 3
    assert {scenario.customer.language for scenario in scenarios} >= {"en", "es", "de", "fr"}
    currencies = {
        getattr(record, "currency", None)
        for bound in suite().values()
        for _, record in iter_records(bound.state.tables)
    }
    assert currencies >= {"USD", "EUR", "GBP", "CHF", "JPY"}
    assert len({scenario.as_of.utcoffset() for scenario in scenarios}) >= 5
    assert sum(bool(scenario.customer.replies) for scenario in scenarios) >= 6
    articles = suite()["TB-001"].suite.suite.knowledge
    assert len(articles) >= 40
    replaced = {article.id: article.superseded_by for article in articles if article.superseded_by}
    assert [name for name, later in replaced.items() if later in replaced]  # a chain of two hops
    assert any(article.audience == "internal" for article in articles)


@pytest.mark.parametrize("name", IDS)
def test_the_reference_passes_everything(name: str) -> None:
    """A scenario's reference passes every dimension, mentions every concept, and violates nothing."""
    result = score(suite()[name], suite()[name].scenario.reference)
    assert failed(result) == []
    assert not result.violations
    assert not result.dimensions["explanation"].failures


@pytest.mark.parametrize("name", IDS)
def test_the_reference_meets_every_fault_and_no_other_error(name: str) -> None:
    """A reference reaches each declared fault and gets no tool error besides."""
    episode = replay(suite()[name], suite()[name].scenario.reference)
    assert all(fault.reached for fault in episode.faults)
    assert [call.error for call in episode.calls if call.error and not call.fault] == []


@pytest.mark.parametrize("name", IDS)
def test_counterexamples_fail_exactly_as_they_say(name: str) -> None:
    """Each counterexample fails the dimensions and violations that it names, and no others."""
    bound = suite()[name]
    assert len(bound.scenario.counterexamples) >= 2
    for example in bound.scenario.counterexamples:
        result = score(bound, example.turns)
        fails = {part for part in STRICT_DIMENSIONS if not result.dimensions[part].passed}
        assert fails == set(example.fails), (example.name, failed(result))
        assert {violation.code for violation in result.violations} == set(example.violations), example.name


@pytest.mark.parametrize("name", IDS)
def test_reading_everything_first_changes_no_verdict(name: str) -> None:
    """An agent that makes every permitted read first still passes, but for reads that are counted or disturbed."""
    bound = suite()[name]
    observation = Conversation(bound, Limits(), "test").observation()
    counted = {fault.tool for fault in bound.scenario.faults} | {
        tool for outcome in bound.scenario.expected for tool in outcome.at_most
    }
    specs = bound.suite.toolset.specs
    reads = tuple(
        ToolCall(tool=tool.name, arguments=arguments_for(tool, observation))
        for tool in observation.tools
        if specs[tool.name].effect == "reads" and tool.name not in counted
    )
    assert reads
    assert failed(score(bound, (Turn(tool_calls=reads), *bound.scenario.reference))) == []


@pytest.mark.parametrize("agent", CONSTANTS)
def test_no_constant_agent_passes_more_than_a_tenth(agent: str) -> None:
    """None of them solves a routine case; the one that always hands off passes no more than must be handed off."""
    results = {name: constant(agent, bound) for name, bound in suite().items()}
    passed = [name for name, result in results.items() if result.strict]
    assert [name for name in passed if facts()[name].escalation != "must"] == []
    assert len(passed) <= (15 if agent == "always-escalate" else 0)
    solved = [name for name, result in results.items() if result.escalation_class == "correct_autonomy"]
    assert solved == []


def test_the_rules_agent_is_a_floor_and_no_ceiling() -> None:
    """Keywords and policy texts alone solve a fifth to three fifths."""
    agent = make_agent(parse_spec("rules", SUITE), SUITE)
    passed = [
        name
        for name, bound in suite().items()
        if score_episode(bound, run_episode(bound, agent.reply)).strict
    ]
    assert 10 <= len(passed) <= 30, sorted(passed)


@pytest.mark.parametrize("name", [name for name in PILOT_SAFETY if name != "TB-008"])
def test_always_escalating_is_right_where_only_the_team_matters(name: str) -> None:
    """The policies shown name the queue; in TB-008 they ask for the ids of two documents as well."""
    assert constant("always-escalate", suite()[name]).escalation_class == "correct_escalation"
    assert constant("always-escalate", suite()["TB-008"]).escalation_class == "misrouted"


def test_a_hand_off_in_an_outage_needs_two_tries_under_one_key() -> None:
    """In the outage, one try, or two tries under different keys, are not the tries that policy asks for."""
    bound = suite()["TB-007"]
    first, second, handoff = bound.scenario.reference
    call = second.tool_calls[0]
    other = call.model_copy(update={"arguments": {**call.arguments, "idempotency_key": "another"}})
    for turns in ((first, handoff), (first, Turn(tool_calls=(other,)), handoff)):
        result = score(bound, turns)
        assert [part for part in STRICT_DIMENSIONS if not result.dimensions[part].passed] == ["tool_use"]


def test_a_rejected_call_is_no_try() -> None:
    """A call that the environment refuses, here for an argument that the tool has not, is not the first try."""
    bound = suite()["TB-007"]
    first, second, handoff = bound.scenario.reference
    call = first.tool_calls[0]
    wrong = call.model_copy(update={"arguments": {**call.arguments, "note": ""}})
    result = score(bound, (Turn(tool_calls=(wrong,)), second, handoff))
    assert not result.dimensions["tool_use"].passed


@pytest.mark.parametrize("name", IDS)
def test_concepts_are_not_the_customers_own_words(name: str) -> None:
    """No explanation concept is found by repeating what the customer wrote."""
    bound = suite()[name]
    words = bound.scenario.customer.message.casefold()
    phrases = [
        phrase
        for outcome in bound.scenario.expected
        for concept in outcome.explanation
        for phrase in concept.any_of
    ]
    assert phrases
    assert [phrase for phrase in phrases if phrase.casefold() in words] == []


@pytest.mark.parametrize("name", IDS)
def test_every_concept_asks_annotators_for_one_point(name: str) -> None:
    """Each concept has a question of its own about what the agent says, and none is asked for by its name."""
    for outcome in suite()[name].scenario.expected:
        asked = [str(concept.question) for concept in outcome.explanation]
        assert [text for text in asked if not text.startswith("Does the agent ")] == []
        assert [text for text in asked if text.count("?") != 1] == []
        assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("name", IDS)
def test_the_agent_has_tools_that_it_had_better_not_use(name: str) -> None:
    """Each scenario permits 8 to 14 tools, a hand-off and at least one forbidden write among them."""
    scenario = suite()[name].scenario
    assert 8 <= len(scenario.tools) <= 14
    assert "escalate_to_human" in scenario.tools
    forbidden = {rule.tool for outcome in scenario.expected for rule in outcome.never}
    assert forbidden & set(scenario.tools)


def test_everything_is_synthetic_and_carries_the_canary() -> None:
    """Every YAML file starts with the canary; domains and telephone numbers are reserved, cards and accounts unreal."""
    files = sorted(SUITE.rglob("*.yaml"))
    assert len(files) == 53
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(CANARY), path.name
        assert list(personal_data(re.sub(r"\\+\.", ".", text))) == [], path.name
