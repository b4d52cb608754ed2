"""The turns of an episode: what ends it, what is delivered, and what becomes of bad replies and bad agents."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from async_episodes import run_async
from desk import bind, call, drafts, refund, turn

from pytest_supportbench.conversation import NEUTRAL_REPLY, Conversation
from pytest_supportbench.episode import (
    agent_crashed,
    failed_before_start,
    replay,
    run_episode,
)
from pytest_supportbench.errors import AgentFailure, InfrastructureError, ToolsetError
from pytest_supportbench.protocol import Observation, Reply, Turn, Usage
from pytest_supportbench.records import Episode, EpisodeError, Limits
from pytest_supportbench.replies import InvalidReply, parse_turn
from pytest_supportbench.scoring import score_episode

DONE = turn("refund", "I refunded 49.00 USD.", refund())


@pytest.fixture
def bound(tmp_path: Path) -> Any:
    return bind(
        tmp_path,
        customer={
            "subject": "cus_1",
            "message": "Help",
            "history": [{"role": "customer", "message": "Hello?"}],
            "replies": [
                {"asked_for": "charge_id", "message": "It is ch_204."},
                {"asked_for": "amount", "message": "49 dollars."},
            ],
        },
    )


class Script:
    """Replies with what it was given, one after the other, and keeps what it saw."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.seen: list[Observation] = []

    def __call__(self, observation: Observation) -> Any:
        self.seen.append(observation)
        reply = self.replies.pop(0) if self.replies else Turn()
        if isinstance(reply, BaseException):
            raise reply
        return reply() if callable(reply) else reply

    async def later(self, observation: Observation) -> Any:
        return self(observation)


def run(bound: Any, *replies: Any, **options: Any) -> tuple[Episode, Script]:
    script = Script(*replies)
    return run_episode(bound, script, **options), script


def strict(bound: Any, episode: Episode) -> bool:
    return score_episode(bound, episode).strict


def test_action_message_and_calls_at_once_end_the_episode(bound: Any):
    """A final turn whose calls all succeeded is delivered and ends it."""
    episode, _ = run(bound, DONE)
    assert (episode.ending, episode.action, episode.delivered) == (
        "acted",
        "refund",
        ("I refunded 49.00 USD.",),
    )
    assert strict(bound, episode)


def test_calls_first_and_an_action_later(bound: Any):
    """Results go back in the transcript, and the agent decides in the next turn."""
    episode, script = run(bound, turn(None, "Let me see.", call("get_charge", charge_id="ch_204")), DONE)
    agent, tool = script.seen[1].transcript
    assert (agent.role, agent.delivered) == ("agent", False)  # type: ignore[union-attr]
    assert (tool.status, tool.result["id"]) == ("ok", "ch_204")  # type: ignore[union-attr]
    assert [seen.turns_left for seen in script.seen] == [6, 5]
    assert drafts(episode) == ("Let me see.",)


def test_an_action_with_a_failed_call_goes_back(bound: Any):
    """Not every call succeeded, so that the message stays a draft and the episode goes on."""
    episode, script = run(bound, turn("refund", "Done!", refund(amount="50")), DONE)
    assert drafts(episode) == ("Done!",)
    assert len(episode.turns) == 2
    assert script.seen[1].transcript[-1].error.code == "exceeds_refundable"  # type: ignore[union-attr]


def test_the_observation_has_no_way_back_to_the_gold(bound: Any):
    """What the agent sees names no expectation, no fault and no secret."""
    _, script = run(bound, DONE)
    text = script.seen[0].model_dump_json()
    for word in ("482913", "failure_mode", "refund-wrong-charge", "expected", "obligation", "It is ch_204"):
        assert word not in text
    assert script.seen[0].customer.history[0].message == "Hello?"
    assert [action.kind for action in script.seen[0].actions if action.name == "refund"] == ["resolve"]


def test_an_ask_gets_the_scripted_reply_of_its_slot(bound: Any):
    """Each slot that was asked for is answered once; the question is delivered."""
    ask = turn("ask_for_information", "Which?", asks_for=["amount", "charge_id", "amount"])
    episode, script = run(bound, ask, DONE)
    assert episode.turns[0].customer_reply == "49 dollars. It is ch_204."
    assert script.seen[1].transcript[-1].message == "49 dollars. It is ch_204."  # type: ignore[union-attr]
    assert episode.delivered == ("Which?", "I refunded 49.00 USD.")
    assert strict(bound, episode)


def test_an_ask_without_script_gets_a_neutral_reply_once_and_then_ends(bound: Any):
    """Who asks what nobody can answer, twice, has ended the episode by asking."""
    ask = turn("ask_for_information", "Your phone?", asks_for=["phone"])
    episode, _ = run(bound, ask, ask, DONE)
    assert (episode.ending, episode.action, len(episode.turns)) == ("asked", "ask_for_information", 2)
    assert [record.customer_reply for record in episode.turns] == [NEUTRAL_REPLY, None]
    assert episode.delivered == ("Your phone?", "Your phone?")


def test_a_question_without_action_is_an_ask_too(bound: Any):
    """Naming a slot is asking, even where the action is left out."""
    episode, _ = run(bound, turn(None, "Which?", asks_for=["charge_id"]), DONE)
    assert episode.turns[0].customer_reply == "It is ch_204."


def test_calls_of_a_question_are_executed(bound: Any):
    """A turn may ask and call at once."""
    episode, _ = run(bound, turn("ask_for_information", "?", call("list_charges", customer_id="cus_1")), DONE)
    assert [record.tool for record in episode.calls] == ["list_charges", "issue_refund"]


def test_turns_run_out(bound: Any):
    """An agent that never acts is cut at the limit, with no action."""
    episode, script = run(bound, limits=Limits(max_turns=3))
    assert (episode.ending, episode.action, len(script.seen)) == ("turn_limit", None, 3)
    assert not strict(bound, episode)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Sure, I will refund that!", "no JSON"),
        ('{"action": "refund", "action": "cancel"}', "duplicate key"),
        ('{"action": "refund", "tool_calls": [{"tool": "x", "arguments": {"a": NaN}}]}', "nan"),
        ({"message": "\ud800"}, "surrogate"),
        ({"message": float("inf")}, "inf"),
        ({"note": "hello"}, "note"),
        ({"action": "refund", "tool_calls": "all"}, "tool_calls"),
        ({"tool_calls": [{"tool": "x", "arguments": {"a": 10**5000}}]}, "no JSON"),
        ({1: 2}, "no string"),
        (["refund"], "list"),
        (None, "None (was a return forgotten?)"),
        (b"\xff\xfe", "no JSON"),
        ({"tool_calls": [{"tool": "x"}] * 33}, "tool_calls"),
        ({"message": object()}, "object"),
    ],
    ids=range(14),
)
def test_a_reply_that_is_no_turn_goes_back_once(bound: Any, reply: Any, reason: str):
    """The agent is told what is wrong, may mend it, and passes if it does; a second time fails."""
    episode, script = run(bound, reply, DONE)
    told = script.seen[1].transcript[-1]
    assert (told.tool, told.error.code) == ("reply", "invalid_reply")  # type: ignore[union-attr]
    assert reason in told.error.message  # type: ignore[union-attr]
    assert episode.turns[0].invalid == told.error.message  # type: ignore[union-attr]
    assert strict(bound, episode)
    twice, _ = run(bound, reply, turn(None, "Hm."), reply, DONE)
    assert (twice.ending, twice.action, len(twice.turns)) == ("invalid_reply", None, 3)
    assert not strict(bound, twice)
    json.dumps(twice.turns[0].excerpt)
    twice.turns[0].excerpt.encode()


def test_deep_and_long_replies_are_bounded(bound: Any):
    """Neither nesting nor size reaches what walks or stores a reply."""
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    limits = Limits(max_chars=1_000)
    for reply in (
        {"tool_calls": [{"tool": "x", "arguments": {"a": deep}}]},
        "[" * 100_000,
        {"message": "x" * 1_001},
        {"asks_for": ["x" * 600, "y" * 600]},
        json.dumps({"message": "x" * 1_000}),
        turn("refund", "", call("add_note", text="x" * 1_000)),
    ):
        episode, _ = run(bound, reply, DONE, limits=limits)
        assert episode.turns[0].invalid
        assert len(episode.turns[0].excerpt) <= 2_000
        assert episode.ending == "acted"
    while deep:
        deep = deep.pop()


def test_the_excerpt_of_a_hostile_reply_cannot_fail(bound: Any):
    """Showing the beginning of a reply never runs code that can break the episode."""

    class Bomb:
        def __repr__(self) -> str:
            raise RuntimeError("boom")

    class Liar(dict):  # type: ignore[type-arg]
        def __len__(self) -> int:
            raise RuntimeError("boom")

    for reply in ({"message": Bomb()}, Liar(message=Bomb())):
        episode, _ = run(bound, reply, DONE)
        assert episode.ending in {"acted", "agent_failed"}
    assert run(bound, bytearray(b"\xffhello"), DONE)[0].turns[0].excerpt == "\ufffdhello"


def test_an_invalid_reply_in_the_last_turn_ends_the_episode(bound: Any):
    """There is no turn left to mend it in."""
    episode, _ = run(bound, "?", limits=Limits(max_turns=1))
    assert episode.ending == "invalid_reply"


def test_json_text_and_replies_with_usage_are_turns(bound: Any):
    """Adapters may return the model's own text, and what it cost."""
    text = json.dumps({"action": "refund", "message": "Done.", "tool_calls": [refund()]})
    usage = Usage(prompt_tokens=3, completion_tokens=4)
    episode, _ = run(bound, Reply(turn=text, usage=usage))
    assert episode.turns[0].usage == usage
    assert strict(bound, episode)
    broken, _ = run(bound, Reply(turn="?", usage=usage), DONE)
    assert broken.turns[0].usage == usage


class Clock:
    """A clock that stands still but for what slow replies take."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def slow(self, reply: Any, seconds: float) -> Any:
        """Return a reply that takes so long."""

        def late() -> Any:
            self.now += seconds
            return reply

        return late


def test_the_time_limit_fails_even_a_right_answer(bound: Any):
    """An answer that came too late is no pass, whatever it did."""
    clock = Clock()
    late, _ = run(bound, clock.slow(DONE, 11), limits=Limits(timeout=10), clock=clock)
    assert (late.ending, late.action) == ("time_limit", None)
    assert late.failure == "the episode took 11.0 s; its limit is 10 s"
    assert not strict(bound, late)
    clock = Clock()
    in_time, _ = run(bound, clock.slow(DONE, 9), limits=Limits(timeout=10), clock=clock)
    assert (in_time.ending, in_time.seconds, in_time.agent_seconds) == ("acted", 9.0, 9.0)


def test_time_is_checked_between_turns(bound: Any):
    """An agent out of time is not asked again."""
    clock = Clock()
    episode, script = run(bound, clock.slow(Turn(), 11), DONE, limits=Limits(timeout=10), clock=clock)
    assert (episode.ending, len(script.seen)) == ("time_limit", 1)


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    ("error", "ending", "told"),
    [
        (ValueError("bad"), "agent_failed", "ValueError: bad"),
        (AgentFailure("HTTP 500"), "agent_failed", "HTTP 500"),
        (SystemExit(3), "agent_failed", "SystemExit: 3"),
        (TimeoutError("mine"), "agent_failed", "TimeoutError: mine"),
        (InfrastructureError("refused", "no server", "start it"), "error", "no server"),
        (ToolsetError("broken"), "error", "broken"),
    ],
    ids=str,
)
def test_what_an_agent_raises_is_a_value(bound: Any, way: str, error: BaseException, ending: str, told: str):
    """A crash is the agent's failure; its server's failure is an error with the cause; neither is raised."""
    script = Script(Turn(), error)
    is_async = way == "async"
    episode = run_async(bound, script.later) if is_async else run_episode(bound, script)
    assert episode.ending == ending
    assert len(episode.turns) == 1
    if ending == "error":
        assert episode.error is not None
        assert episode.error.message == told
        assert episode.error.cause in {"refused", "toolset"}
    else:
        assert (episode.error, episode.failure) == (None, told)
        assert not strict(bound, episode)


def test_an_async_agent_is_cancelled_at_the_limit(bound: Any):
    """The event loop is not held up by one that hangs."""

    async def hang(_: Observation) -> Any:
        await asyncio.sleep(60)

    began = time.perf_counter()
    episode = run_async(bound, hang, limits=Limits(timeout=0.05))
    assert time.perf_counter() - began < 5
    assert (episode.ending, episode.action) == ("time_limit", None)


def test_an_async_agent_that_blocks_the_loop_is_late_all_the_same(bound: Any):
    """Past its limit an episode fails, even where nothing could cancel it."""

    async def block(_: Observation) -> Any:
        time.sleep(0.1)  # noqa: ASYNC251 - that is the mistake under test
        return DONE

    episode = run_async(bound, block, limits=Limits(timeout=0.05))
    assert (episode.ending, episode.action) == ("time_limit", None)


def test_an_async_agent_runs_like_a_sync_one(bound: Any):
    """The same turns give the same episode, calls and all."""
    first = run_async(bound, Script("?", Turn(), DONE).later)
    second = run_episode(bound, Script("?", Turn(), DONE))
    assert (first.ending, first.calls, first.changes) == (second.ending, second.calls, second.changes)
    assert [record.turn for record in first.turns] == [record.turn for record in second.turns]


def test_episodes_that_never_ran_have_their_ending(bound: Any):
    """Crashed and unstarted episodes are scored or excused like any other."""
    assert agent_crashed(bound, SystemExit(1)).failure == "SystemExit: 1"
    assert failed_before_start(bound, EpisodeError("refused", "no server")).ending == "error"


def test_a_replay_that_stops_short_is_cut(bound: Any):
    """Scripted turns that end before the episode does count as cut; further ones are not played."""
    assert replay(bound, (turn(None, "Hm."),)).ending == "turn_limit"
    assert len(replay(bound, (DONE, DONE)).turns) == 1


def test_a_conversation_without_end_finishes_as_cut(bound: Any):
    """Whoever stops driving a conversation gets what happened so far."""
    conversation = Conversation(bound, Limits(), "x")
    assert conversation.finish().ending == "turn_limit"
    assert conversation.observation().episode == "x"


def test_an_unknown_action_goes_back_with_the_known_ones(tmp_path: Path):
    """A misspelt action ends nothing: the agent hears once which actions there are, and which one is near."""
    bound = bind(tmp_path)
    replies = [{"action": "refnd", "message": "ok"}, turn("refund", "I refunded 49.00 USD.", refund())]
    seen = []

    def ask(observation: Any) -> Any:
        seen.append(observation)
        return replies[len(seen) - 1]

    episode = run_episode(bound, ask)
    assert episode.turns[0].invalid.startswith(
        "unknown action 'refnd'; did you mean 'refund'? the actions are"
    )
    assert (episode.ending, episode.action) == ("acted", "refund")
    assert episode.delivered == ("I refunded 49.00 USD.",)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"text": "hi"}, "unknown key 'text'; a turn has action, message, tool_calls and asks_for"),
        ({"tool_calls": {}}, "tool_calls must be a list, not a dict"),
        ({"message": 3}, "message must be text, not a int"),
        ({"tool_calls": [{}]}, "tool_calls.0.tool is missing"),
        (
            {"tool_calls": [{"name": "x", "args": {}}]},
            "unknown key 'tool_calls.0.name'; a tool call has tool and arguments",
        ),
        (
            {"tool_calls": [{"tool": "x", "args": {}}]},
            "unknown key 'tool_calls.0.args'; a tool call has tool and arguments",
        ),
    ],
)
def test_reasons_are_in_plain_words(reply: Any, reason: str):
    """Neither a model nor its author needs to know the library that found the mistake."""
    with pytest.raises(InvalidReply) as error:
        parse_turn(reply)
    assert str(error.value) == reason
