"""Behaviour of calls that an agent makes while it works on one reply."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from desk import UPDATE, VERIFY, bind, failures, gated, refund, turn
from hypothesis import given
from hypothesis import strategies as st
from stubs import StubAgent

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import Dialogue, drive, drive_async
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.live_tools import MAX_LIVE_CALLS, LiveTools
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
        ("x" * 300, {}, "invalid_arguments"),
    ],
)
def test_a_bad_live_call_is_refused_with_a_reason(bound: Any, tool: str, arguments: Any, code: str):
    """Whatever an agent sends, it gets a typed error and nothing changes."""
    entries = []

    def work(tools: LiveTools, observation: Any) -> Any:
        entries.append(tools.call(tool, arguments))
        return FINAL

    episode = live(bound, work)
    assert entries[0].error.code == code
    assert episode.changes == ()


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


def test_an_async_agent_calls_live_and_is_cut_at_the_limit(bound: Any):
    """What it called before the limit is on record, and what it calls later is refused."""
    dialogue = Dialogue(Conversation(bound, Limits(timeout=0.2), "x"), Limits(timeout=0.2))

    async def hang(_: Any) -> Any:
        dialogue.tools.call("issue_refund", ARGUMENTS)
        await asyncio.sleep(30)

    episode = asyncio.run(drive_async(dialogue, hang))
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
