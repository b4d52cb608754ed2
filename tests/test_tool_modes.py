"""Behaviour of ``mode=schema`` and ``mode=tools`` for both model kinds: the same decisions get the same scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent_samples import TOOL_RESULT, observation, parameters
from fake_ollama import FakeOllama
from fake_openai import FakeOpenAI

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.agents.native_tools import final_schema, native_tools, render_native, tools_prompt
from pytest_supportbench.agents.prompting import default_prompt
from pytest_supportbench.errors import InfrastructureError
from pytest_supportbench.loading import load_scenario
from pytest_supportbench.protocol import Turn, Unreadable
from pytest_supportbench.records import Limits
from pytest_supportbench.replies import InvalidReply, parse_turn
from pytest_supportbench.runner import Job, Runner

ROOT = Path(__file__).parent.parent
SUITE = ROOT / "scenarios" / "tinybench-50"
KINDS = ("openai", "ollama")
SCENARIOS = (
    "recovery/one-timeout",  # a fault: a write that times out
    "recovery/payment-service-down",
    "recovery/five-people-leave-a-workspace",  # a batch that succeeds in part
    "customer-experience/abbuchung-und-mehr",  # must escalate
    "identity-and-permissions/new-phone-and-new-bank",
    "billing/charge-after-cancellation",
    "billing/five-seat-renewal",
)
CALL = {"tool": "list_charges", "arguments": {"customer_id": "cus_1"}}
FINAL = {"action": "refund", "asks_for": [], "message": "Done."}


def called(kind, name, arguments):
    """Return a message with one native call, as servers of a kind write it."""
    if kind == "openai":
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": name, "arguments": text}
        return {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    return {"content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def is_final(body):
    """Tell whether a request asks for a turn by its schema."""
    return bool(body.get("format") or body.get("response_format"))


class Oracle:
    """Stands for a model that decides as a scenario's reference does."""

    def __init__(self, kind, reference):
        self.kind = kind
        self.turns = reference
        self.steps = []
        for number, turn in enumerate(reference):
            if turn.tool_calls:
                self.steps.append(("calls", turn))
            if not turn.tool_calls or number + 1 == len(reference) or turn.asks_for:
                self.steps.append(("final", turn))

    def schema(self, body):
        """Answer in schema mode: the turn whose number is the count of the earlier ones."""
        done = sum(item["role"] == "assistant" for item in body["messages"])
        return self.turns[done].model_dump_json()

    def tools(self, body):
        """Answer in tools mode: calls, or text and then the turn that it stands for."""
        done = sum(item["role"] == "assistant" for item in body["messages"])
        if is_final(body):
            return self.steps[done - 1][1].model_dump_json(exclude={"tool_calls"})
        what, turn = self.steps[done]
        if what == "final":
            return turn.message or "Done."
        calls = [called(self.kind, call.tool, call.arguments)["tool_calls"][0] for call in turn.tool_calls]
        return {"content": "", "tool_calls": calls}


def spec_of(kind, server, mode, **options):
    where = f"base_url={server.url}" if kind == "openai" else f"host={server.host}&num_ctx=65536"
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"{kind}:m?{where}&mode={mode}&retries=0{more}"


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return request.param


@pytest.fixture
def server(kind):
    with (FakeOpenAI if kind == "openai" else FakeOllama)() as fake:
        yield fake


@pytest.fixture
def agent(kind, server):
    """Make agents of the kind and close them afterwards."""
    made = []

    def make(mode="tools", **options):
        made.append(make_agent(parse_spec(spec_of(kind, server, mode, **options), ROOT), ROOT))
        return made[-1]

    yield make
    for live in made:
        live.close()


def judged(result):
    """Return all that a score decides, without words."""
    assert result.episode.error is None, result.episode.error
    checks = {
        (name, check.id): check.passed
        for name, dimension in result.score.dimensions.items()
        for check in dimension.checks
    }
    passed = {name: dimension.passed for name, dimension in result.score.dimensions.items()}
    return checks, passed, result.score.escalation_class, [item.code for item in result.score.violations]


@pytest.mark.parametrize("mode", ["schema", "tools"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_oracles_decisions_score_the_same_in_every_mode(kind, server, agent, name, mode):
    """One scenario decided as its reference does is judged alike, however the decisions travel."""
    bound = load_scenario(SUITE / f"{name}.scenario.yaml")
    oracle = Oracle(kind, bound.scenario.reference)
    server.answer = getattr(oracle, mode)
    agents = {"oracle": make_agent(parse_spec("oracle", ROOT), ROOT), "model": agent(mode)}
    runner = Runner(agents, Limits(max_turns=10))
    expected, result = (runner.run(Job(agent, bound, agent, 1)) for agent in agents)
    assert expected.score.strict
    assert judged(result) == judged(expected)
    assert [call.tool for call in result.episode.calls] == [call.tool for call in expected.episode.calls]


def test_calls_of_a_model_are_the_turn_and_its_text_a_draft(kind, server, agent):
    """Native calls become the turn's calls, and what is said beside them its message, in one request."""
    server.answer = lambda _body: {
        **called(kind, "list_charges", {"customer_id": "cus_1"}),
        "content": "Let me see.",
    }
    reply = agent().reply(observation())
    assert parse_turn(reply.turn) == Turn(message="Let me see.", tool_calls=(CALL,))
    (body,) = server.requests
    assert not is_final(body)
    assert [item["function"]["name"] for item in body["tools"]][:2] == ["list_charges", "get_charge"]


def test_an_answer_without_calls_is_asked_for_as_a_turn(kind, server, agent):
    """Text alone is followed by a request for the turn that it stands for, whose tokens count as well."""
    server.answer = lambda body: json.dumps(FINAL) if is_final(body) else "I have refunded it."
    reply = agent().reply(observation())
    assert parse_turn(reply.turn) == Turn(**FINAL)
    first, second = server.requests
    assert not second.get("tools")
    assert second["messages"][-2] == {"role": "assistant", "content": "I have refunded it."}
    assert second["messages"][-1]["role"] == "user"
    sizes = [sum(len(item["content"]) for item in body["messages"]) // 4 for body in (first, second)]
    assert reply.usage.prompt_tokens > 1.5 * max(sizes)
    assert reply.usage.completion_tokens > len(json.dumps(FINAL)) // 4


def test_an_answer_of_nothing_is_asked_for_as_a_turn(kind, server, agent):
    """A model that says and calls nothing is asked for its turn all the same."""
    server.answer = lambda body: json.dumps(FINAL) if is_final(body) else ""
    assert parse_turn(agent().reply(observation()).turn).action == "refund"
    assert [item["role"] for item in server.requests[1]["messages"]] == ["system", "user"]


def test_without_tools_only_the_turn_is_asked_for(kind, server, agent):
    """An observation that permits no tools costs one request."""
    server.answer = lambda _body: json.dumps(FINAL)
    assert parse_turn(agent().reply(observation(tools=[])).turn).action == "refund"
    assert len(server.requests) == 1


def test_results_come_back_as_results(kind, server, agent):
    """Calls and their results are sent in the server's own form, and the last message says how many turns are left."""
    server.answer = lambda body: json.dumps(FINAL) if is_final(body) else "Done."
    failed = {**TOOL_RESULT, "status": "error", "result": None, "error": {"code": "timeout", "message": "no"}}
    transcript = [
        {"role": "agent", "tool_calls": [CALL, CALL], "message": "One moment."},
        TOOL_RESULT,
        failed,
    ]
    agent().reply(observation(transcript=transcript, turns_left=4))
    messages = server.requests[0]["messages"]
    assert [item["role"] for item in messages] == ["system", "user", "assistant", "tool", "tool"]
    assert messages[2]["content"] == "One moment."
    function = messages[2]["tool_calls"][0]["function"]
    assert function["name"] == "list_charges"
    if kind == "openai":
        assert function["arguments"] == '{"customer_id":"cus_1"}'
        assert [item["tool_call_id"] for item in messages[3:]] == [
            call["id"] for call in messages[2]["tool_calls"]
        ]
    else:
        assert function["arguments"] == {"customer_id": "cus_1"}
        assert messages[3]["tool_name"] == "list_charges"
    assert json.loads(messages[3]["content"])["result"][0]["id"] == "ch_204"
    last = json.loads(messages[4]["content"])
    assert (last["status"], last["error"]["code"], last["turns_left"]) == ("error", "timeout", 4)


def test_questions_answers_and_refused_replies_are_rendered():
    """A question, the customer's answer and a reply that was refused appear as what they were."""
    transcript = [
        {"role": "agent", "action": "ask_for_information", "asks_for": ["amount"], "message": "How much?"},
        {"role": "customer", "message": "49"},
        {"role": "agent"},
        {
            "role": "tool",
            "tool": "reply",
            "status": "error",
            "error": {"code": "invalid_reply", "message": "no JSON"},
        },
    ]
    messages = render_native(observation(transcript=transcript), "Be kind.", "openai")
    assert [item["role"] for item in messages] == ["system", "user", "assistant", "user"]
    assert json.loads(messages[2]["content"])["asks_for"] == ["amount"]
    lines = [json.loads(line) for line in messages[3]["content"].splitlines()]
    assert lines[0] == {"customer": "49"}
    assert lines[1]["error"]["code"] == "invalid_reply"
    assert lines[2] == {"turns_left": 6}


def test_calls_have_ids_of_their_own_across_turns():
    """Every call of a conversation has another id, of nine letters and digits, and its result names it."""
    transcript = [{"role": "agent", "tool_calls": [CALL]}, TOOL_RESULT] * 3
    messages = render_native(observation(transcript=transcript), "Be kind.", "openai")
    made = [item["tool_calls"][0]["id"] for item in messages if item["role"] == "assistant"]
    named = [item["tool_call_id"] for item in messages if item["role"] == "tool"]
    assert made == named
    assert len(set(made)) == 3
    assert all(len(number) == 9 and number.isalnum() for number in made)


@pytest.mark.parametrize(
    "arguments",
    ["no JSON", "[1]", '"text"', '{"a": 1', '{"a": 1, "a": 2}', "[" * 100_000, "x" * 70_000, '{"a": "\ud800'],
    ids=["text", "list", "string", "cut", "twice", "deep", "long", "surrogate"],
)
@pytest.mark.parametrize("kind", ["openai"], indirect=True)
def test_arguments_that_are_no_object_are_an_invalid_reply(server, agent, arguments):
    """Arguments that cannot be read reach the episode as an invalid reply with a reason, never as a crash."""
    server.answer = lambda _body: called("openai", "list_charges", arguments)
    turn = agent().reply(observation()).turn
    assert isinstance(turn, Unreadable)
    assert "the arguments of the call of list_charges are no JSON object" in turn.reason
    with pytest.raises(InvalidReply):
        parse_turn(turn)


@pytest.mark.parametrize(
    "arguments", ['{"a": NaN}', '{"a": "\\ud800"}', '{"a": ' + "[" * 40 + "]" * 40 + "}"]
)
@pytest.mark.parametrize("kind", ["openai"], indirect=True)
def test_arguments_that_json_cannot_say_are_an_invalid_reply(server, agent, arguments):
    """NaN, lone surrogates and deep nesting in arguments are refused when the episode takes the turn."""
    server.answer = lambda _body: called("openai", "list_charges", arguments)
    turn = agent().reply(observation()).turn
    with pytest.raises(InvalidReply):
        parse_turn(turn)


@pytest.mark.parametrize("arguments", ["", "  ", "{}", None])
@pytest.mark.parametrize("kind", ["openai"], indirect=True)
def test_no_arguments_are_an_empty_object(server, agent, arguments):
    """Servers that send nothing for a tool without parameters are understood."""
    message = called("openai", "list_charges", "{}")
    message["tool_calls"][0]["function"]["arguments"] = arguments
    server.answer = lambda _body: message
    assert parse_turn(agent().reply(observation()).turn).tool_calls[0].arguments == {}


@pytest.mark.parametrize("name", [None, 5, "", "x" * 300])
@pytest.mark.parametrize("kind", ["openai"], indirect=True)
def test_calls_of_odd_names_do_not_crash(kind, server, agent, name):
    """A call without a usable name is an invalid reply or a call of an unknown tool."""
    server.answer = lambda _body: called(kind, name, {})
    turn = agent().reply(observation()).turn
    if name == "":
        assert parse_turn(turn).tool_calls[0].tool == ""
    else:
        with pytest.raises(InvalidReply, match="tool"):
            parse_turn(turn)


def test_an_unknown_tool_is_refused_by_the_episode(kind, server, agent):
    """A tool that the model made up comes back to it as a refused call, and the episode goes on."""
    bound = load_scenario(SUITE / "billing/five-seat-renewal.scenario.yaml")

    def answer(body):
        if is_final(body):
            return json.dumps({"action": "decline", "asks_for": [], "message": "No."})
        if any(item["role"] == "tool" for item in body["messages"]):
            return "No."
        return called(kind, "open_the_safe", {})

    server.answer = answer
    result = Runner({"m": agent()}, Limits()).run(Job("k", bound, "m", 1))
    (call,) = result.episode.calls
    assert call.error.code == "unknown_tool"
    assert result.episode.action == "decline"


@pytest.mark.parametrize("kind", ["ollama"], indirect=True)
def test_a_model_that_calls_no_tools_is_found_by_the_check(server, agent):
    """mode=tools with a model that Ollama says cannot call tools stops before the first episode."""
    server.callers.clear()
    with pytest.raises(InfrastructureError) as caught:
        agent().check()
    assert caught.value.cause == "no_tools"
    agent("schema").check()


def test_the_mode_is_part_of_the_fingerprint(agent):
    """Schema mode and native tools are told apart, and have prompts of their own."""
    schema, tools = agent("schema").fingerprint(), agent("tools").fingerprint()
    assert (schema["mode"], tools["mode"]) == ("schema", "tools")
    assert schema["prompt_sha256"] != tools["prompt_sha256"]


def test_both_prompts_give_the_same_rules():
    """How to work is said in the same words in both modes; only how to answer differs."""
    rules = default_prompt().partition("How to work:")[2]
    assert len(rules) > 500
    assert tools_prompt().endswith(rules)
    assert "tool_calls" not in tools_prompt()


def test_the_last_turn_names_an_action():
    """The schema of the last turn has no calls and asks for an action, except where a question has none."""
    schema = final_schema(observation())
    assert set(schema["properties"]) == {"action", "asks_for", "message"}
    assert None not in schema["properties"]["action"]["enum"]
    no_ask = [{"name": "answer", "class": "resolve", "description": ""}]
    assert None in final_schema(observation(actions=no_ask))["properties"]["action"]["enum"]
    assert final_schema(observation(actions=no_ask, slots=[]))["properties"]["action"]["enum"] == ["answer"]


def test_native_tools_keep_descriptions_and_have_no_references():
    """Parameters are sent whole with references resolved; for Ollama alternatives become a list of types."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    money = {"anyOf": [{"type": "number"}, {"type": "string"}], "description": "How much"}
    maybe = {"anyOf": [{"$ref": "#/$defs/Queue"}, {"type": "null"}], "default": None}
    tool = {
        "name": "move",
        "description": "Move it.",
        "handoff": True,
        "parameters": {
            **parameters(["amount"], amount=money, queue=maybe, node={"$ref": "#/$defs/Node"}),
            "$defs": {"Node": node, "Queue": {"enum": ["a", "b"], "type": "string"}},
        },
    }
    seen = observation(tools=[tool])
    (whole,) = native_tools(seen, flat=False)
    assert "$ref" not in json.dumps(whole)
    assert whole["function"]["description"] == "Move it. (hands the case off)"
    assert whole["function"]["parameters"]["properties"]["amount"] == money
    (flat,) = native_tools(seen, flat=True)
    properties = flat["function"]["parameters"]["properties"]
    assert properties["amount"] == {"description": "How much", "type": ["number", "string"]}
    assert properties["queue"] == {"enum": ["a", "b"], "type": "string", "default": None}
