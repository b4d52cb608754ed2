"""Behaviour of what keeps secrets out of everything stored or shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from desk import bind
from hypothesis import given
from hypothesis import strategies as st
from stubs import StubAgent

from pytest_supportbench.errors import AgentFailure, InfrastructureError
from pytest_supportbench.protocol import Reply, ToolCall, Turn, Unreadable, Usage
from pytest_supportbench.records import Limits
from pytest_supportbench.redaction import Redactor, environment_secrets
from pytest_supportbench.replies import InvalidReply, parse_turn
from pytest_supportbench.runner import Job, Runner

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 'sk-12/"34\\äöü 56'
REDACTOR = Redactor([SECRET, "second-secret", "short"])


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (f"key {SECRET}!", "key ***!"),
        (f"key {SECRET}!".encode(), b"key ***!"),
        ('{"a": "sk-12/\\"34\\\\\\u00e4\\u00f6\\u00fc 56"}', '{"a": "***"}'),
        ("https://x/?k=sk-12%2F%2234%5C%C3%A4%C3%B6%C3%BC%2056", "https://x/?k=***"),
        ({"message": SECRET, SECRET: [1, SECRET]}, {"message": "***", "***": [1, "***"]}),
        (Turn(message=SECRET), Turn(message="***")),
        (
            Turn(tool_calls=(ToolCall(tool="t", arguments={"a": [SECRET]}),)),
            Turn(tool_calls=(ToolCall(tool="t", arguments={"a": ["***"]}),)),
        ),
        (Reply(turn=SECRET, usage=Usage(retries=1)), Reply(turn="***", usage=Usage(retries=1))),
        (Unreadable(reason="r", excerpt=SECRET), Unreadable(reason="r", excerpt="***")),
        ("short stays", "short stays"),
        (None, None),
        (3, 3),
    ],
)
def test_every_kind_of_reply_is_blanked(raw: Any, clean: Any):
    """A secret is blanked in text, bytes, mappings and turns, also where JSON or a URL escaped it."""
    assert REDACTOR.reply(raw) == clean


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_a_reply_without_secrets_is_left_as_it_is(raw: Any):
    """Blanking changes nothing else."""
    assert REDACTOR.reply(raw) == raw


def test_a_reply_whose_parts_are_shared_or_circular_takes_no_time():
    """A small object that would be endless as JSON is blanked in one walk, and refused as a reply."""
    shared: Any = [SECRET]
    for _ in range(30):
        shared = [shared, shared]
    clean = REDACTOR.reply({"message": "x", "tool_calls": shared})["tool_calls"]
    while isinstance(clean, list):
        clean = clean[0]
    assert clean == "***"
    with pytest.raises(InvalidReply, match=r"nested deeper|too many values"):
        parse_turn({"tool_calls": [{"tool": "t", "arguments": {"a": shared}}]})
    circular: Any = [SECRET]
    circular.append(circular)
    assert REDACTOR.reply(circular) == ["***", "***"]


def test_errors_are_blanked_and_keep_their_kind():
    """Infrastructure stays infrastructure, a failure stays a failure, and others keep their name."""
    infra = REDACTOR.error(InfrastructureError("c", f"bad {SECRET}", f"drop {SECRET}"))
    assert (type(infra), str(infra)) == (InfrastructureError, "bad ***; drop ***")
    assert str(REDACTOR.error(AgentFailure(f"bad {SECRET}"))) == "bad ***"
    other = REDACTOR.error(ValueError(SECRET))
    assert (type(other), str(other)) == (AgentFailure, "ValueError: ***")
    plain = ValueError("fine")
    assert REDACTOR.error(plain) is plain


def test_environment_secrets_are_told_by_name_and_look():
    """Names that say so are taken, unless the value is a word, a path or too short."""
    found = environment_secrets(
        {
            "MY_API_KEY": "abcd-1234-efgh",
            "DB_PASSWORD": "pa55word",
            "TOKEN_MODE": "strict mode",
            "SSH_KEY_FILE": "/home/ann/.ssh/id_1234",
            "KEY": "a1",
            "HOME": "abcd-1234-efgh",
        }
    )
    assert set(found) == {"abcd-1234-efgh", "pa55word"}


@pytest.mark.parametrize("way", ["reply", "crash", "infrastructure", "async"])
def test_a_run_keeps_no_secret_of_the_environment(tmp_path: Path, way: str):
    """What an agent says, and what it says when it breaks, is blanked before anything is recorded."""

    def reply(_: Any) -> Any:
        if way == "crash":
            raise AgentFailure(f"no access with {SECRET}")
        if way == "infrastructure":
            raise InfrastructureError("refused", f"{SECRET} is refused", f"change {SECRET}")
        return {"action": "answer", "message": f"My key is {SECRET}."}

    async def later(observation: Any) -> Any:
        return reply(observation)

    agent = StubAgent(later if way == "async" else reply, is_async=way == "async")
    runner = Runner({"a": agent}, Limits(), secrets=(SECRET,))
    line = repr(runner.run(Job("key", bind(tmp_path), "a", 1)).to_json())
    assert "***" in line
    assert "sk-12" not in line
