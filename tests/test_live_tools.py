"""Behaviour of calls that an agent makes while it works on one reply."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from async_episodes import drive_async
from desk import UPDATE, VERIFY, bind, drafts, failures, gated, refund, turn
from hypothesis import given
from hypothesis import strategies as st
from stubs import StubAgent

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.environment import Environment
from pytest_supportbench.episode import Dialogue, drive
from pytest_supportbench.errors import AgentFailure, ToolsetError
from pytest_supportbench.live_tools import MAX_LIVE_CALLS, LiveTools
from pytest_supportbench.protocol import Reply, Step
from pytest_supportbench.records import Limits
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scoring import score_episode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_supportbench.loading import BoundScenario

FINAL = {"action": "refund", "message": "I refunded 49.00 USD."}
ARGUMENTS = refund()["arguments"]


@pytest.fixture
def bound(tmp_path: Path) -> Any:
    return bind(tmp_path)


def live(bound: BoundScenario, work: Callable[[LiveTools, Any], Any], **limits: Any) -> Any:
    """Run one episode whose agent does its work with live tools, and return it."""
    dialogue = Dialogue(Conversation(bound, Limits(**limits), "x"), Limits(**limits))
    return drive(dialogue, lambda observation: work(dialogue.tools, observation))


def test_a_live_call_is_executed_recorded_and_seen(bound: Any):
    """What comes back is what a turn's call would have got, and the record has it as a step of its own."""
    seen = []

    def work(tools: LiveTools, observation: Any) -> Any:
        seen.append(tools.call("issue_refund", ARGUMENTS))
        return FINAL

    episode = live(bound, work)
    assert (seen[0].status, seen[0].result["charge_id"]) == ("ok", "ch_204")
    assert [(record.number, record.live) for record in episode.turns] == [(1, True), (2, False)]
    assert [(record.tool, record.turn, record.committed) for record in episode.calls] == [
        ("issue_refund", 1, True)
    ]
    assert score_episode(bound, episode).strict


def test_live_calls_use_up_no_turns(bound: Any):
    """An agent with a tool loop of its own is bounded by calls and time, not by turns."""

    def work(tools: LiveTools, observation: Any) -> Any:
        for _ in range(10):
            assert tools.call("list_charges", {"customer_id": "cus_1"}).status == "ok"
        tools.call("issue_refund", ARGUMENTS)
        assert observation.turns_left == 1
        return FINAL

    episode = live(bound, work, max_turns=1)
    assert (episode.ending, len(episode.calls)) == ("acted", 11)
    assert score_episode(bound, episode).strict


def test_later_replies_see_earlier_live_calls(bound: Any):
    """The transcript carries them, so that a stateless agent knows what it did."""
    observations = []

    def work(tools: LiveTools, observation: Any) -> Any:
        observations.append(observation)
        if len(observations) == 1:
            tools.call("get_charge", {"charge_id": "ch_204"})
            return {"message": "Let me see."}
        tools.call("issue_refund", ARGUMENTS)
        return FINAL

    assert live(bound, work).ending == "acted"
    roles = [(entry.role, getattr(entry, "message", "")) for entry in observations[1].transcript]
    assert roles == [("agent", ""), ("tool", ""), ("agent", "Let me see.")]
    assert [seen.turns_left for seen in observations] == [6, 5]


def test_a_condition_that_came_back_live_counts_as_seen_before(tmp_path: Path):
    """Verify and change in one turn is not verified; one live call after the other is."""
    bound = gated(tmp_path)
    final = {"action": "update_account", "message": "I changed your e-mail address to new@example.com."}

    def work(tools: LiveTools, observation: Any) -> Any:
        for step in (VERIFY, UPDATE):
            assert tools.call(step["tool"], step["arguments"]).status == "ok"
        return final

    def blind(tools: LiveTools, observation: Any) -> Any:
        return turn(final["action"], final["message"], VERIFY, UPDATE)

    assert failures(score_episode(bound, live(bound, work))).get("policy", []) == []
    assert failures(score_episode(bound, live(bound, blind)))["policy"]


def test_calls_of_one_message_are_one_turn(tmp_path: Path):
    """None of them saw what another returned, so that verifying and changing in one message is not verified."""
    bound = gated(tmp_path)
    final = {"action": "update_account", "message": "I changed your e-mail address to new@example.com."}

    def work(*numbers: int) -> Any:
        def one(tools: LiveTools, observation: Any) -> Any:
            for call, number in zip((VERIFY, UPDATE), numbers, strict=True):
                tools.call(call["tool"], call["arguments"], Step(number=number, draft=f"Message {number}."))
            return final

        return live(bound, one)

    apart, together = work(1, 2), work(1, 1)
    assert score_episode(bound, apart).strict
    assert failures(score_episode(bound, together))["policy"] == ["verified:update"]
    assert drafts(together) == ("Message 1.",)
    assert [(turn.number, len(turn.turn.tool_calls)) for turn in together.turns] == [(1, 2), (2, 0)]


def test_calls_in_the_message_of_the_decision_are_its_turns(tmp_path: Path):
    """The text beside them stays a draft, and a call that fails undoes the decision, as in any turn."""
    observations: list[Any] = []

    def work(tools: LiveTools, observation: Any) -> Any:
        observations.append(observation)
        step, again = Step(number=1, draft="I look."), len(observations) > 1
        tools.call("get_charge", {"charge_id": "ch_204" if again else "ch_none"}, step)
        return Reply(turn={**FINAL, "tool_calls": [refund()] if again else []}, step=step)

    episode = live(bind(tmp_path), work)
    assert episode.ending == "acted"
    assert [(record.turn.message, record.live, len(record.turn.tool_calls)) for record in episode.turns] == [
        ("I look.", True, 0),
        (FINAL["message"], False, 1),
        ("I look.", True, 0),
        (FINAL["message"], False, 2),
    ]
    assert [call.turn for call in episode.calls] == [2, 4, 4]
    entries = [(entry.role, getattr(entry, "message", None)) for entry in observations[1].transcript]
    assert entries == [("agent", "I look."), ("agent", FINAL["message"]), ("tool", None)]


def test_a_message_that_was_written_earlier_has_the_earlier_turn(tmp_path: Path):
    """Calls of a message around an agent that another one asked come later, and saw nothing of what that one did."""
    bound = gated(tmp_path)
    final = {"action": "update_account", "message": "I changed your e-mail address to new@example.com."}

    def work(*steps: tuple[Any, int]) -> Any:
        def one(tools: LiveTools, observation: Any) -> Any:
            for call, number in steps:
                tools.call(call["tool"], call["arguments"], Step(number=number))
            return final

        return live(bound, one)

    around = work((VERIFY, 2), (UPDATE, 1))
    assert [(call.tool, call.turn) for call in around.calls] == [
        ("verify_identity", 2),
        ("update_contact", 1),
    ]
    assert [turn.number for turn in around.turns] == [1, 2, 3]
    assert failures(score_episode(bound, around))["policy"]
    look = {"tool": "get_customer", "arguments": {"customer_id": "cus_1"}}
    late = work((look, 1), (UPDATE, 2), (VERIFY, 1))
    assert failures(score_episode(bound, late))["policy"]


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("delete_everything", {}, "unknown_tool"),
        ("update_contact", {}, "not_permitted"),
        ("issue_refund", {"amount": "1"}, "invalid_arguments"),
        ("issue_refund", {"amount": float("nan")}, "invalid_arguments"),
        ("issue_refund", {"amount": "\ud800"}, "invalid_arguments"),
        ("issue_refund", {"amount": {1, 2}}, "invalid_arguments"),
        ("issue_refund", {"amount": "x" * 100_000}, "invalid_arguments"),
        ("delete_everything", {"x": float("inf")}, "unknown_tool"),
        ("update_contact", {"x": float("inf")}, "not_permitted"),
        ("x" * 300, {}, "unknown_tool"),
    ],
)
def test_a_bad_live_call_is_refused_with_a_reason(bound: Any, tool: str, arguments: Any, code: str):
    """Whatever an agent sends, it gets a typed error, nothing changes, and the call is on record."""
    entries = []

    def work(tools: LiveTools, observation: Any) -> Any:
        entries.append(tools.call(tool, arguments))
        return FINAL

    episode = live(bound, work)
    assert entries[0].error.code == code
    assert "the reply" not in entries[0].error.message
    assert episode.changes == ()
    (record,) = episode.calls
    assert (record.tool, record.status, record.error) == (tool[:200], "refused", entries[0].error)
    assert json.dumps(record.arguments, allow_nan=False)


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.text() | st.floats(), st.lists, max_leaves=5)))
def test_no_arguments_whatever_raise(arguments: dict[str, Any]):
    """A live call answers with an entry for any arguments."""
    bound = test_no_arguments_whatever_raise.bound  # type: ignore[attr-defined]
    tools = LiveTools(Conversation(bound, Limits(), "x"))
    assert tools.call("issue_refund", arguments).status == "error"


@pytest.fixture(autouse=True, scope="module")
def _one_bound(tmp_path_factory: Any) -> None:
    test_no_arguments_whatever_raise.bound = bind(tmp_path_factory.mktemp("live"))  # type: ignore[attr-defined]


def test_an_agent_that_goes_in_circles_hears_so(bound: Any):
    """More calls than the limit are refused and not recorded."""
    entries = []

    def work(tools: LiveTools, observation: Any) -> Any:
        entries.extend(tools.call("get_charge", {"charge_id": "ch_204"}) for _ in range(MAX_LIVE_CALLS + 3))
        return FINAL

    episode = live(bound, work)
    assert len(episode.calls) == MAX_LIVE_CALLS
    assert [entry.error and entry.error.code for entry in entries[-4:]] == [None] + 3 * ["too_many_calls"]


def test_calls_that_cannot_be_read_count_like_others(bound: Any):
    """Two hundred calls with NaN are as many as an episode executes."""

    def work(tools: LiveTools, observation: Any) -> Any:
        for _ in range(MAX_LIVE_CALLS):
            tools.call("issue_refund", {"amount": float("nan")})
        assert tools.call("issue_refund", ARGUMENTS).error.code == "too_many_calls"
        return FINAL

    assert len(live(bound, work).calls) == MAX_LIVE_CALLS


def test_after_the_final_reply_nothing_changes(bound: Any):
    """A call that waits while the last reply is taken comes too late, although the episode is not yet closed."""
    dialogue = Dialogue(Conversation(bound, Limits(), "x"), Limits())
    dialogue.take({"action": "answer", "message": "Hello."}, 0.0)
    assert dialogue.tools.call("issue_refund", ARGUMENTS).error.code == "episode_over"
    assert dialogue.tools.refuse("issue_refund", "no JSON").error.code == "episode_over"
    assert dialogue.finish().calls == ()


def test_a_call_under_way_at_the_end_counts(bound: Any, monkeypatch: Any):
    """What a tool has begun before the time limit is waited for, and is part of the episode."""
    execute, begun = Environment.call, threading.Event()

    def slow(*arguments: Any) -> Any:
        begun.set()
        time.sleep(0.3)
        return execute(*arguments)

    monkeypatch.setattr(Environment, "call", slow)

    def work(tools: LiveTools, observation: Any) -> Any:
        threading.Thread(target=tools.call, args=("issue_refund", ARGUMENTS)).start()
        begun.wait(5)
        time.sleep(0.1)
        raise AgentFailure("no answer in time")

    episode = live(bound, work, timeout=0.1)
    assert (episode.ending, [call.committed for call in episode.calls]) == ("time_limit", [True])


def test_after_the_episode_nothing_changes(bound: Any):
    """A background task that goes on calling is refused, and whoever waits for the end is told."""
    kept: list[LiveTools] = []
    closed = []

    def work(tools: LiveTools, observation: Any) -> Any:
        kept.append(tools)
        tools.on_close(lambda: closed.append("then"))
        return {"action": "answer", "message": "Hello."}

    episode = live(bound, work)
    assert kept[0].call("issue_refund", ARGUMENTS).error.code == "episode_over"
    assert kept[0].closed
    kept[0].on_close(lambda: closed.append("at once"))
    assert closed == ["then", "at once"]
    assert (episode.calls, episode.changes) == ((), ())


def test_calls_from_several_threads_are_executed_one_by_one(bound: Any):
    """Parallel calls neither mix nor get lost."""

    def work(tools: LiveTools, observation: Any) -> Any:
        threads = [
            threading.Thread(target=tools.call, args=("get_charge", {"charge_id": "ch_204"}))
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tools.call("issue_refund", ARGUMENTS)
        return FINAL

    episode = live(bound, work)
    assert [record.number for record in episode.calls] == list(range(1, 22))
    assert [record.turn for record in episode.calls] == list(range(1, 22))
    assert score_episode(bound, episode).strict


def test_a_broken_toolset_is_an_error_and_no_failure(bound: Any, monkeypatch: Any):
    """The agent hears that the case cannot go on; the verdict says nothing about it."""

    def crash(*_: Any) -> Any:
        raise ToolsetError("the tool 'get_charge' crashed")

    entries = []

    def work(tools: LiveTools, observation: Any) -> Any:
        monkeypatch.setattr("pytest_supportbench.environment.Environment.call", crash)
        entries.append(tools.call("get_charge", {"charge_id": "ch_204"}))
        entries.append(tools.call("get_charge", {"charge_id": "ch_204"}))
        return FINAL

    episode = live(bound, work)
    assert [entry.error.code for entry in entries] == ["toolset", "episode_over"]
    assert (episode.ending, episode.error.cause) == ("error", "toolset")


@pytest.mark.parametrize("how", ["replies late", "gives up", "is cut", "has replied"])
def test_a_broken_toolset_excuses_what_the_agent_did_then(bound: Any, monkeypatch: Any, how: str):
    """An agent that runs out of time, or has its last reply taken, after a tool broke has not failed."""

    def crash(*_: Any) -> Any:
        raise ToolsetError("the tool 'get_charge' crashed")

    dialogue = Dialogue(Conversation(bound, Limits(timeout=0.1), "x"), Limits(timeout=0.1))
    monkeypatch.setattr(Environment, "call", crash)
    if how == "has replied":
        dialogue.tools.call("get_charge", {"charge_id": "ch_204"})
        dialogue.conversation.take({"action": "answer", "message": "Hello."})
        episode = dialogue.finish()
    else:
        dialogue.observation()
        dialogue.tools.call("get_charge", {"charge_id": "ch_204"})
        time.sleep(0.15)
        if how == "is cut":
            episode = drive(dialogue, lambda _: FINAL)
        elif how == "gives up":
            episode = dialogue.failed(AgentFailure("no answer in time"))
        else:
            dialogue.conversation.take({"action": "answer", "message": "Hello."})
            episode = dialogue.finish()
    assert (episode.ending, episode.error.cause if episode.error else None) == ("error", "toolset")


def test_an_async_agent_calls_live_and_is_cut_at_the_limit(bound: Any):
    """What it called before the limit is on record, and what it calls later is refused."""
    dialogue = Dialogue(Conversation(bound, Limits(timeout=0.2), "x"), Limits(timeout=0.2))

    async def hang(_: Any) -> Any:
        dialogue.tools.call("issue_refund", ARGUMENTS)
        await asyncio.sleep(30)

    episode = drive_async(dialogue, hang)
    assert (episode.ending, len(episode.calls)) == ("time_limit", 1)
    assert dialogue.tools.call("issue_refund", ARGUMENTS).error.code == "episode_over"


def test_the_results_file_marks_live_steps(bound: Any):
    """A reader can tell calls made on the way from replies, and only replies count as turns."""

    class Loop(StubAgent):
        def asker(self, case: Any) -> Any:
            def reply(observation: Any) -> Any:
                case.tools.call("issue_refund", ARGUMENTS)
                return FINAL

            return reply

    runner = Runner({"loop": Loop(lambda _: None)}, Limits())
    result = runner.run(Job("key", bound, "loop", 1))
    assert isinstance(result, Result)
    line = result.to_json()
    assert [item["live"] for item in line["turns"]] == [True, False]
    assert line["usage"]["turns"] == 1
    assert line["verdict"] == "passed"
