"""The ten pilot scenarios: each can be solved, each exposes its failure, and no constant agent looks good."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from pytest_supportbench.agents.builtin import (
    AlwaysAsk,
    AlwaysDecline,
    AlwaysEscalate,
    CallEveryTool,
    DoNothing,
)
from pytest_supportbench.agents.filling import arguments_for
from pytest_supportbench.agents.spec import parse_spec
from pytest_supportbench.conversation import Conversation, Limits
from pytest_supportbench.episode import replay, run_episode
from pytest_supportbench.loading import BoundScenario, Loader
from pytest_supportbench.protocol import ToolCall, Turn
from pytest_supportbench.scoring import Score, score_episode
from pytest_supportbench.words import STRICT_DIMENSIONS

SUITE = Path(__file__).parent.parent / "scenarios" / "tinybench-50"
IDS = [f"TB-{number:03}" for number in range(1, 11)]
SAFETY = IDS[5:9]
CANARY = "# supportbench-canary 90dfb0fd-8cf7-4d0f-a983-b0ff2996c26b\n"
CONSTANTS: dict[str, type[Any]] = {
    "do-nothing": DoNothing,
    "always-escalate": AlwaysEscalate,
    "always-decline": AlwaysDecline,
    "always-ask": AlwaysAsk,
    "call-every-tool": CallEveryTool,
}


@lru_cache(maxsize=1)
def pilot() -> dict[str, BoundScenario]:
    """Return the pilot's scenarios by id, loaded once."""
    loader = Loader()
    found = [loader.load(path) for path in sorted(SUITE.rglob("*.scenario.yaml"))]
    return {bound.scenario.id: bound for bound in found if "pilot" in bound.scenario.tags}


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


def test_the_pilot_has_its_ten_situations() -> None:
    """The pilot is TB-001 to TB-010: six routine cases and four safety escalations."""
    assert sorted(pilot()) == IDS
    must = [name for name, bound in sorted(pilot().items()) if bound.scenario.escalation == "must"]
    assert must == SAFETY
    assert [name for name, bound in sorted(pilot().items()) if "safety" in bound.scenario.tags] == SAFETY


@pytest.mark.parametrize("name", IDS)
def test_the_reference_passes_everything(name: str) -> None:
    """A scenario's reference passes every dimension, mentions every concept, and violates nothing."""
    result = score(pilot()[name], pilot()[name].scenario.reference)
    assert failed(result) == []
    assert not result.violations
    assert not result.dimensions["explanation"].failures


@pytest.mark.parametrize("name", IDS)
def test_the_reference_meets_every_fault_and_no_other_error(name: str) -> None:
    """A reference reaches each declared fault and gets no tool error besides."""
    episode = replay(pilot()[name], pilot()[name].scenario.reference)
    assert all(fault.reached for fault in episode.faults)
    assert [call.error for call in episode.calls if call.error and not call.fault] == []


@pytest.mark.parametrize("name", IDS)
def test_counterexamples_fail_exactly_as_they_say(name: str) -> None:
    """Each counterexample fails the dimensions and violations that it names, and no others."""
    bound = pilot()[name]
    assert len(bound.scenario.counterexamples) >= 2
    for example in bound.scenario.counterexamples:
        result = score(bound, example.turns)
        fails = {part for part in STRICT_DIMENSIONS if not result.dimensions[part].passed}
        assert fails == set(example.fails), (example.name, failed(result))
        assert {violation.code for violation in result.violations} == set(example.violations), example.name


@pytest.mark.parametrize("name", IDS)
def test_reading_everything_first_changes_no_verdict(name: str) -> None:
    """An agent that calls every permitted read before it acts still passes."""
    bound = pilot()[name]
    observation = Conversation(bound, Limits(), "test").observation()
    specs = bound.suite.toolset.specs
    reads = tuple(
        ToolCall(tool=tool.name, arguments=arguments_for(tool, observation))
        for tool in observation.tools
        if specs[tool.name].effect == "reads"
    )
    assert reads
    assert failed(score(bound, (Turn(tool_calls=reads), *bound.scenario.reference))) == []


@pytest.mark.parametrize("agent", CONSTANTS)
@pytest.mark.parametrize("name", [name for name in IDS if name not in SAFETY])
def test_no_constant_agent_solves_a_routine_case(agent: str, name: str) -> None:
    """A routine case is solved by none of the agents that always do the same."""
    result = constant(agent, pilot()[name])
    assert not result.strict
    assert not result.dimensions["escalation"].passed


@pytest.mark.parametrize("agent", [name for name in CONSTANTS if name != "always-escalate"])
@pytest.mark.parametrize("name", SAFETY)
def test_only_a_hand_off_passes_a_safety_case(agent: str, name: str) -> None:
    """A safety case is passed by no constant agent except the one that always hands off."""
    assert not constant(agent, pilot()[name]).strict


@pytest.mark.parametrize("name", SAFETY)
def test_always_escalating_gets_all_of_recall(name: str) -> None:
    """The policies shown name the queue, so that always handing off is a correct escalation four times of four."""
    assert constant("always-escalate", pilot()[name]).escalation_class == "correct_escalation"


def test_a_hand_off_in_an_outage_needs_two_tries_under_one_key() -> None:
    """In the outage, one try, or two tries under different keys, are not the tries that policy asks for."""
    bound = pilot()["TB-007"]
    first, second, handoff = bound.scenario.reference
    call = second.tool_calls[0]
    other = call.model_copy(update={"arguments": {**call.arguments, "idempotency_key": "another"}})
    for turns in ((first, handoff), (first, Turn(tool_calls=(other,)), handoff)):
        result = score(bound, turns)
        assert [part for part in STRICT_DIMENSIONS if not result.dimensions[part].passed] == ["tool_use"]


def test_a_rejected_call_is_no_try() -> None:
    """A call that the environment refuses, here for an argument that the tool has not, is not the first try."""
    bound = pilot()["TB-007"]
    first, second, handoff = bound.scenario.reference
    call = first.tool_calls[0]
    wrong = call.model_copy(update={"arguments": {**call.arguments, "note": ""}})
    result = score(bound, (Turn(tool_calls=(wrong,)), second, handoff))
    assert not result.dimensions["tool_use"].passed


@pytest.mark.parametrize("name", IDS)
def test_concepts_are_not_the_customers_own_words(name: str) -> None:
    """No explanation concept is found by repeating what the customer wrote."""
    bound = pilot()[name]
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
def test_the_agent_has_tools_that_it_had_better_not_use(name: str) -> None:
    """Each scenario permits 8 to 14 tools, a hand-off and at least one forbidden write among them."""
    scenario = pilot()[name].scenario
    assert 8 <= len(scenario.tools) <= 14
    assert "escalate_to_human" in scenario.tools
    forbidden = {rule.tool for outcome in scenario.expected for rule in outcome.never}
    assert forbidden & set(scenario.tools)


def test_everything_is_synthetic_and_carries_the_canary() -> None:
    """Every YAML file starts with the canary; addresses and phone numbers are of reserved ranges only."""
    files = sorted(SUITE.rglob("*.yaml"))
    assert len(files) >= 13
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(CANARY), path.name
        addresses = re.findall(r"[\w.+-]+@[\w.-]+\w", text)
        assert all(re.search(r"[@.]example\.(com|org|net)$", address) for address in addresses), path.name
        for number in re.findall(r"\+[\d ]{9,}", text):
            assert re.fullmatch(r"\+1 202 555 01\d\d|\+44 7700 900\d{3}", number.strip()), (path.name, number)
