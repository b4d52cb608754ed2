"""The one rule for the text of a reply in all kinds: a JSON object, a fence around it, thoughts before it."""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING

import pytest
from agent_samples import observation
from fake_ollama import FakeOllama
from fake_openai import FakeOpenAI

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.agents.wire import decode
from pytest_supportbench.protocol import Reply, Turn
from pytest_supportbench.replies import MAX_CHARS, InvalidReply, parse_turn, unwrapped

if TYPE_CHECKING:
    from pathlib import Path

TURN = {"action": "refund", "message": "Done: ```x``` <think>no</think>{}", "tool_calls": [], "asks_for": []}
TEXT = json.dumps(TURN)
FENCED = f"```json\n{json.dumps(TURN, indent=1)}\n```"
GOOD = {
    "bare": TEXT,
    "blank lines": f"\n {TEXT}\r\n",
    "fenced": FENCED,
    "plainly fenced": f"\n```\n{TEXT}\n```\n",
    "fenced in capitals": f"```JSON \r\n{TEXT}\r\n``` ",
    "behind thoughts": f"<think>Hm. {{}}\n```</think>\n\n{TEXT}",
    "behind no thoughts": f"<think></think>{TEXT}",
    "fenced behind thoughts": f"<think>\nHm.\n</think>\n{FENCED}",
    "behind a byte order mark": f"\ufeff{TEXT}",
    "fenced behind a byte order mark": f"\ufeff{FENCED}",
    "behind thoughts that its template opened": f"\nHm. {{}}\n```\n</think>\n\n{TEXT}",
    "fenced behind such thoughts": f"Hm.</think>\n{FENCED}",
    "behind the end of no thoughts": f"</think>{TEXT}",
}
BAD = {
    "prose before": f"Certainly! {TEXT}",
    "prose after": f"{TEXT} I hope that helps.",
    "prose before a fence": f"Here it is:\n{FENCED}",
    "prose after a fence": f"{FENCED}\nThat is all.",
    "two fences": f"{FENCED}\n{FENCED}",
    "another language": f"```yaml\n{TEXT}\n```",
    "half a fence": f"```json\n{TEXT}",
    "a fence on one line": f"```{TEXT}```",
    "nothing in a fence": "```json\n```",
    "thoughts without an end": f"<think>Hm. {TEXT}",
    "thoughts after": f"{TEXT}<think>Hm.</think>",
    "two blocks of thoughts": f"<think>a</think><think>b</think>{TEXT}",
    "thoughts in a fence": f"```json\n<think>a</think>{TEXT}\n```",
    "two blocks, the second unopened": f"<think>a</think>b</think>{TEXT}",
    "two blocks, both unopened": f"a</think>b</think>{TEXT}",
    "prose before thoughts": f"Well. <think>a</think>{TEXT}",
    "prose behind unopened thoughts": f"a</think>Certainly! {TEXT}",
    "unopened thoughts in a fence": f"```json\na</think>{TEXT}\n```",
    "an object before the end of thoughts": f"{TEXT}</think>{TEXT}",
    "a fence in a fence": f"```json\n{FENCED}\n```",
    "thoughts alone": "<think>a</think>",
    "no object": "```json\n[1]\n```",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_a_fence_and_thoughts_may_stand_around_a_turn(text: str):
    """One JSON object is read bare, in one Markdown code fence, and behind a block of thoughts, opened or not."""
    assert parse_turn(text) == parse_turn(text.encode()) == Turn.model_validate(TURN)


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_anything_else_around_a_turn_makes_it_invalid(text: str):
    """Prose, further fences and thoughts that do not end are no part of a reply."""
    with pytest.raises(InvalidReply, match="the reply"):
        parse_turn(text)


@pytest.mark.parametrize(
    "text", ["<think>" * 9_000, "```" * 20_000, "```json\n" * 8_000, "</think>" * 8_000, "\n" * MAX_CHARS]
)
def test_hostile_wrappings_are_only_invalid(text: str):
    """Text of nothing but marks is refused as quickly as any other."""
    with pytest.raises(InvalidReply):
        parse_turn(text)
    assert len(unwrapped(text)) <= len(text)


def test_thoughts_count_as_part_of_the_reply():
    """The limit of a reply's length holds for its text as it came."""
    with pytest.raises(InvalidReply, match="characters"):
        parse_turn(f"<think>{'x' * MAX_CHARS}</think>{TEXT}")


@pytest.mark.parametrize("kind", ["openai", "openai strict", "ollama"])
@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_models_are_read_by_the_same_rule(
    kind: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What is a turn in one kind is a turn in all: the same text gets the same verdict."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with (FakeOllama if kind == "ollama" else FakeOpenAI)(lambda _body: text) as server:
        where = f"host={server.host}" if kind == "ollama" else f"base_url={server.url}"
        strict = "&strict=true" if kind == "openai strict" else ""
        agent = make_agent(parse_spec(f"{kind.split(maxsplit=1)[0]}:m?{where}{strict}", tmp_path), tmp_path)
        reply = agent.reply(observation())
        agent.close()
    assert parse_turn(reply.turn) == Turn.model_validate(TURN)


@pytest.mark.parametrize("text", ["<think>Hm.</think>{0}", "```json\n{0}\n```"])
def test_an_envelope_is_read_by_the_same_rule(text: str):
    """A turn with its usage, from a program or a server, may stand in a fence or behind thoughts, too."""
    envelope = json.dumps({"turn": TURN, "usage": {"prompt_tokens": 7}})
    reply = decode(text.replace("{0}", envelope).encode())
    assert isinstance(reply, Reply)
    assert reply.usage
    assert reply.usage.prompt_tokens == 7
    assert parse_turn(reply.turn) == Turn.model_validate(TURN)


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_thoughts_beside_native_calls_are_no_draft(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """With native tools a block of thoughts is neither part of the draft nor sent back to the model."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    arguments = {"customer_id": "cus_1"}
    call = {"name": "list_charges", "arguments": json.dumps(arguments) if kind == "openai" else arguments}
    thinking = "<think>Is her mail a@b.c?</think>"
    made = {
        "content": f"{thinking}One moment.",
        "tool_calls": [{"id": "c", "type": "function", "function": call}],
    }
    with (FakeOllama if kind == "ollama" else FakeOpenAI)(lambda _body: made) as server:
        where = f"host={server.host}" if kind == "ollama" else f"base_url={server.url}"
        agent = make_agent(parse_spec(f"{kind}:m?{where}&mode=tools", tmp_path), tmp_path)
        assert parse_turn(agent.reply(observation()).turn).message == "One moment."
        server.answer = lambda body: (
            f"{thinking}{TEXT}" if not body.get("tools") else f"{thinking}It is done."
        )
        assert parse_turn(agent.reply(observation()).turn).action == "refund"
        agent.close()
    assert server.requests[-1]["messages"][-2] == {"role": "assistant", "content": "It is done."}
    assert "a@b.c" not in json.dumps(server.requests)


class _Level(enum.IntEnum):
    HIGH = 1


@pytest.mark.parametrize("as_turn", [False, True])
def test_values_of_python_count_as_what_a_record_makes_of_them(as_turn):
    """An enumeration is its plain value and a tuple a list from the start, with or without a recording."""
    call = {"tool": "add_note", "arguments": {"level": _Level.HIGH, "lines": ("a", "b")}}
    raw = Turn.model_validate({"tool_calls": [call]}) if as_turn else {"tool_calls": [call]}
    (found,) = parse_turn(raw).tool_calls
    assert type(found.arguments["level"]) is int
    assert found.arguments == {"level": 1, "lines": ["a", "b"]}
