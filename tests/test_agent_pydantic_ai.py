"""Behaviour of ``pydantic-ai:module:agent``."""

from __future__ import annotations

import asyncio
import itertools
import json
import pickle
import socket
import sys
import time
from typing import Any

import frameworks
import pytest
from desk import UPDATE, VERIFY, bind, drafts, gated
from frameworks import (
    BROKEN_ANSWERS,
    BUNDLED,
    ORDERED,
    OWN_ANSWERS,
    REFUSALS,
    ROOT,
    ChatServer,
    app,
    bundled,
    decisions,
    judged,
)
from projects import last_run, project
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.errors import UsageError
from pytest_supportbench.protocol import Observation

DONE = {"action": "answer", "message": "Done."}


class Looked(BaseModel):
    """What an agent says that another one calls like a tool."""

    found: str


def scripted(*steps: Any, seen: list[Any] | None = None) -> FunctionModel:
    """Return a model that plays steps: calls, decisions and text, alone or in lists; what it is asked is ``seen``."""
    waiting = iter(steps)

    def play(messages: list[Any], info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append((messages, info))
        step = next(waiting)
        if isinstance(step, Exception):
            raise step
        tool = info.output_tools[0]
        known = tool.parameters_json_schema["properties"]
        parts: list[Any] = []
        for part in step if isinstance(step, list) else [step]:
            if isinstance(part, str):
                parts.append(TextPart(part))
            elif isinstance(part, dict):
                given = {key: value for key, value in part.items() if key in known}
                parts.append(ToolCallPart(tool.name, given))
            else:
                parts.append(ToolCallPart(*part))
        return ModelResponse(parts=parts)

    return FunctionModel(play, model_name="scripted")


def openai(server: ChatServer, **settings: Any) -> OpenAIChatModel:
    return OpenAIChatModel(
        "m", provider=OpenAIProvider(base_url=server.url, api_key="sk-plain-test-key"), **settings
    )


def run(monkeypatch, bound, agent, **options):
    name = app(monkeypatch, support=agent)
    return frameworks.run(bound, f"pydantic-ai:{name}:support", **options)


def problem(monkeypatch, **objects):
    name = app(monkeypatch, **objects)
    with pytest.raises(UsageError) as caught:
        make_agent(parse_spec(f"pydantic-ai:{name}:support", ROOT), ROOT)
    return str(caught.value)


@pytest.fixture
def bound(tmp_path):
    return bind(tmp_path)


@pytest.mark.parametrize("name", BUNDLED)
def test_the_oracles_decisions_get_the_oracles_scores(monkeypatch, name):
    """An agent that decides as the reference does is judged as the reference, check by check and call by call."""
    scenario = bundled(name)
    oracle = frameworks.run(scenario, "oracle")
    result = run(monkeypatch, scenario, Agent(scripted(*decisions(scenario))))
    assert oracle.score.strict
    assert judged(result) == judged(oracle)


@pytest.mark.parametrize("way", ["in order", "calls at once", "all at once"])
@pytest.mark.parametrize("path", ORDERED)
def test_what_one_message_decides_is_judged_like_one_turn(monkeypatch, path, way):
    """Calls of one message saw none of each other's results, and those beside a decision are its turn's."""
    scenario = frameworks.scenario(path)
    steps = frameworks.ways(scenario)[way]
    plain = frameworks.run(scenario, f"python:{app(monkeypatch, support=frameworks.plain(steps))}:support")
    result = run(monkeypatch, scenario, Agent(scripted(*itertools.islice(itertools.cycle(steps), 99))))
    assert judged(result) == judged(plain)
    assert plain.score.strict is (way == "in order")


def test_text_beside_calls_is_a_draft(monkeypatch, bound):
    """What a model writes beside its calls, or beside its decision, is searched for disclosures like a draft."""
    look = ("get_charge", {"charge_id": "ch_204"})
    steps = ["Is it bob@example.com?", look], ["Or +1 555 010 0200?", look, DONE]
    result = run(monkeypatch, bound, Agent(scripted(*steps)))
    assert drafts(result.episode) == ("Is it bob@example.com?", "Or +1 555 010 0200?")
    assert result.episode.delivered == ("Done.",)
    assert [violation.code for violation in result.score.violations] == ["disclosure"]
    assert [call.turn for call in result.episode.calls] == [1, 3]
    beside = run(monkeypatch, bound, Agent(scripted(["It is bob@example.com.", DONE])))
    assert drafts(beside.episode) == ("It is bob@example.com.",)


def test_a_decision_beside_a_call_that_fails_is_none(monkeypatch, tmp_path):
    """As in a turn, the results come back where a call beside the decision did not succeed, and the agent goes on."""
    seen: list[Any] = []
    wrong = ("get_charge", {"charge_id": "ch_none"})
    result = run(
        monkeypatch, bind(tmp_path), Agent(scripted([wrong, DONE], {**DONE, "message": "No."}, seen=seen))
    )
    assert result.episode.delivered == ("No.",)
    assert drafts(result.episode) == ("Done.",)
    assert '"code":"not_found"' in seen[1][0][0].parts[-1].content


def test_a_run_within_a_run_has_messages_of_its_own(monkeypatch, tmp_path):
    """An agent that calls itself in a tool sees what it returned there, and the message around it does not."""
    bound = gated(tmp_path)
    verify, update = ((step["tool"], step["arguments"]) for step in (VERIFY, UPDATE))
    final = {"action": "update_account", "message": "I changed your e-mail address to new@example.com."}

    def judge(*steps: Any) -> Any:
        agent = Agent(scripted(*steps))

        @agent.tool_plain
        async def again() -> str:
            return (await agent.run("look", output_type=Looked)).output.found

        result = run(monkeypatch, bound, agent)
        assert result.episode.ending == "acted"
        return [violation.code for violation in result.score.violations]

    within = [[verify], {"found": "verified"}]
    assert judge([("again", {})], *within, [update], final) == []
    assert judge([("again", {}), update], *within, final) == ["verification_skipped"]


def test_a_real_client_reaches_a_real_server(monkeypatch):
    """Through the OpenAI client and HTTP the decisions, the tools, the instructions and the tokens arrive."""
    scenario = bundled("memory/second-double-payment")
    answers = [
        frameworks.calls(*(step if isinstance(step, list) else [("final_result", step)]))
        for step in decisions(scenario)
    ]
    with ChatServer(*answers) as server:
        result = run(monkeypatch, scenario, Agent(openai(server), instructions="Be kind to Ann."))
    assert judged(result) == judged(frameworks.run(scenario, "oracle"))
    first, *rest = server.requests
    assert len(rest) == len(answers) - 1
    own, ours, user = first["messages"]
    assert (own["role"], ours["role"], user["role"]) == ("system", "system", "user")
    assert own["content"] == "Be kind to Ann."
    assert scenario.scenario.policies[0] in ours["content"]
    assert not [line for line in ours["content"].splitlines() if line.startswith("tools: ")]
    assert json.dumps(scenario.scenario.customer.message, ensure_ascii=False) in user["content"]
    assert json.dumps(scenario.scenario.memory[0].text, ensure_ascii=False) in user["content"]
    offered = {tool["function"]["name"] for tool in first["tools"]}
    assert offered == {*scenario.scenario.tools, "final_result"}
    usage = result.episode.turns[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (100 * len(answers), 10 * len(answers))


def test_the_documented_line_runs_under_pytest(plain, pytester):
    """From the command line the agent is judged, and results say what it was: target, model, hash of the module."""
    project(pytester)
    pytester.makepyfile(
        shop="""
        from pydantic_ai import Agent
        from pydantic_ai.models.test import TestModel

        support = Agent(TestModel(
            call_tools=[],
            custom_output_args={"action": "answer", "message": "We are open from nine to five."},
        ))
        """
    )
    outcome = plain("desk", "--supportbench-agent=pydantic-ai:shop:support")
    outcome.assert_outcomes(passed=1)
    (agent,) = last_run(pytester).run["agents"]
    assert agent["kind"] == "pydantic-ai"
    assert agent["target"] == "shop:support"
    assert agent["model"] == "test"
    assert len(agent["module_sha256"]) == 64


def test_a_dead_model_server_is_an_error_of_the_run(plain, pytester):
    """Nothing listens: exit code 10 with the cause and what to do, and no verdict about the agent."""
    project(pytester)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pytester.makepyfile(
        shop=f"""
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        provider = OpenAIProvider(base_url="http://127.0.0.1:{port}/v1", api_key="sk-plain-test-key")
        support = Agent(OpenAIChatModel("m", provider=provider, settings={{"timeout": 5}}))
        """
    )
    outcome = plain("desk", "--supportbench-agent=pydantic-ai:shop:support")
    assert outcome.ret == 10
    outcome.assert_outcomes(errors=1)
    outcome.stdout.fnmatch_lines(["*connection_refused*", "*correct the base URL*"])


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (500, {"error": {"message": "broken"}}, "server_error"),
        (401, {"error": {"message": "who are you"}}, "unauthorised"),
        (404, {"error": {"message": "no model m", "code": "model_not_found"}}, "model_missing"),
        (429, {"error": {"message": "slow down"}}, "rate_limited"),
        (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, "quota_exhausted"),
        (400, {"error": {"message": "maximum context length is 10"}}, "context_overflow"),
        (400, {"error": {"message": "bad seed"}}, "bad_request"),
    ],
)
def test_what_a_model_server_refuses_is_an_error_with_a_cause(monkeypatch, bound, status, body, cause):
    """A status of the model server says nothing about the agent: the verdict is error, with cause and remedy."""
    with ChatServer((status, body)) as server:
        model = openai(server)
        model.client.max_retries = 0
        result = run(monkeypatch, bound, Agent(model))
    assert result.verdict == "error"
    assert result.episode.error.cause == cause
    assert "model 'm'" in result.episode.error.message
    assert result.episode.error.remedy


@pytest.mark.parametrize(("body", "cause"), BROKEN_ANSWERS)
def test_what_no_model_would_answer_is_an_error(monkeypatch, bound, body, cause):
    """Web pages, streams, errors and answers that were cut or withheld are the server's failure."""
    with ChatServer((200, body)) as server:
        model = openai(server)
        model.client.max_retries = 0
        result = run(monkeypatch, bound, Agent(model))
    assert result.verdict == "error"
    assert result.episode.error.cause == cause
    assert result.episode.error.remedy


@pytest.mark.parametrize("body", OWN_ANSWERS)
def test_an_answer_that_decides_nothing_is_the_agents_own(monkeypatch, bound, body):
    """A model that says nothing or refuses has failed; no server is to blame."""
    with ChatServer((200, body)) as server:
        assert run(monkeypatch, bound, Agent(openai(server))).verdict == "failed"


@pytest.mark.parametrize("said", REFUSALS)
def test_words_of_a_refusal_mislead_nobody(monkeypatch, bound, said):
    """A name or a link in what the server says does not change what it is."""
    status, text, code, cause = said
    with ChatServer((status, {"error": {"message": text, "code": code}})) as server:
        model = openai(server)
        model.client.max_retries = 0
        result = run(monkeypatch, bound, Agent(model))
    assert result.episode.error.cause == cause


def test_a_native_call_that_the_server_cannot_read_is_the_agents_own(monkeypatch, bound):
    """A server that refuses what the model wrote is not broken."""
    body = {"error": {"message": "error parsing tool call: raw='{', err=unexpected end"}}
    with ChatServer((500, body)) as server:
        model = openai(server)
        model.client.max_retries = 0
        assert run(monkeypatch, bound, Agent(model)).verdict == "failed"


def test_a_model_server_that_hangs_is_a_time_out_of_its_own(monkeypatch, bound):
    """The time-out of the agent's own model settings is the server's failure, not the episode's limit."""
    with ChatServer(lambda _body: time.sleep(2) or frameworks.says("")) as server:
        model = openai(server, settings={"timeout": 0.2})
        model.client.max_retries = 0
        result = run(monkeypatch, bound, Agent(model))
    assert result.episode.error.cause == "time_out"


def test_a_group_of_dead_models_is_one_error(monkeypatch, bound):
    """Where every model of a fallback fails, the cause of the first one is reported."""
    with ChatServer((500, {"error": {"message": "broken"}})) as server:
        first, second = openai(server), openai(server)
        first.client.max_retries = second.client.max_retries = 0
        result = run(monkeypatch, bound, Agent(FallbackModel(first, second)))
    assert result.episode.error.cause == "server_error"


def test_a_crash_in_the_users_code_is_the_agents_failure(monkeypatch, bound):
    """An exception in a tool of the user's own fails the agent, and the record ends with where it came from."""
    agent = Agent(scripted([("look", {})]))

    @agent.tool_plain
    def look() -> str:
        raise LookupError("no such shelf")

    result = run(monkeypatch, bound, agent)
    assert result.verdict == "failed"
    assert result.episode.ending == "agent_failed"
    assert result.episode.failure.startswith("LookupError: no such shelf")
    assert __file__ in result.episode.failure


def test_a_bug_after_an_answer_that_was_cut_is_the_agents_own(monkeypatch, bound):
    """A tool that raises has failed, however the message ended that called it."""
    parts = [ToolCallPart("look", {})]
    agent = Agent(FunctionModel(lambda _messages, _info: ModelResponse(parts=parts, finish_reason="length")))

    @agent.tool_plain
    def look() -> str:
        raise LookupError("no such shelf")

    assert run(monkeypatch, bound, agent).episode.failure.startswith("LookupError: no such shelf")


def test_a_network_error_of_the_users_own_tool_is_the_agents_failure(monkeypatch, bound):
    """Only the model's server is infrastructure: a tool of the user's that reaches nothing has failed."""
    agent = Agent(scripted([("look", {})]))

    @agent.tool_plain
    def look() -> str:
        raise ConnectionRefusedError(111, "Connection refused")

    assert run(monkeypatch, bound, agent).episode.ending == "agent_failed"


def test_a_model_that_never_decides_has_failed(monkeypatch, bound):
    """Text in the place of a decision exhausts the agent's own retries; that is the agent's failure."""
    model = FunctionModel(lambda _messages, _info: ModelResponse(parts=[TextPart("Hello.")]))
    result = run(monkeypatch, bound, Agent(model))
    assert result.verdict == "failed"
    assert "UnexpectedModelBehavior" in result.episode.failure


def test_the_time_limit_cancels_the_run(monkeypatch, bound):
    """At the episode's limit a waiting agent is cancelled and the episode has failed."""
    cancelled = []

    async def wait(_messages, _info):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    start = time.perf_counter()
    result = run(monkeypatch, bound, Agent(FunctionModel(wait)), timeout=0.5)
    assert result.episode.ending == "time_limit"
    assert cancelled
    assert time.perf_counter() - start < 10


def test_what_a_tool_refuses_goes_back_as_data(monkeypatch, bound):
    """A refused call is recorded, the model reads why, and the run goes on."""
    seen: list[Any] = []
    result = run(monkeypatch, bound, Agent(scripted([("get_charge", {"charge_id": 7})], DONE, seen=seen)))
    (call,) = result.episode.calls
    assert call.status == "refused"
    returned = seen[-1][0][-1].parts[0].content
    assert returned["status"] == "error"
    assert returned["error"]["code"] == "invalid_arguments"
    assert result.episode.ending == "acted"


def test_calls_of_one_message_happen_in_its_order(monkeypatch, bound):
    """Several calls in one message of the model are executed one after the other, as they stand."""
    wanted = [("add_note", {"customer_id": "cus_1", "text": str(number)}) for number in range(8)]
    result = run(monkeypatch, bound, Agent(scripted(wanted, DONE)))
    assert [call.arguments["text"] for call in result.episode.calls] == [str(number) for number in range(8)]


def test_own_tools_of_the_same_name_are_replaced(monkeypatch, bound):
    """The episode's tool stands in for the agent's own of that name, and other tools of its own stay."""
    ran = []
    seen: list[Any] = []
    agent = Agent(scripted([("get_charge", {"charge_id": "ch_204"}), ("weather", {})], DONE, seen=seen))

    @agent.tool_plain
    def get_charge(charge_id: str) -> str:
        ran.append(charge_id)
        return "the real one"

    @agent.tool_plain
    def weather() -> str:
        ran.append("weather")
        return "sunny"

    result = run(monkeypatch, bound, agent)
    assert ran == ["weather"]
    assert [call.tool for call in result.episode.calls] == ["get_charge"]
    assert seen[-1][0][-1].parts[0].content["result"]["amount"] == "49.00"


def test_the_next_reply_sees_the_whole_conversation(monkeypatch):
    """After a question the agent starts anew with its earlier calls, what they returned, and the answer."""
    scenario = bundled("memory/seats-for-the-next-course")
    lookup, question, *rest = decisions(scenario)
    seen: list[Any] = []
    run(monkeypatch, scenario, Agent(scripted(lookup, question, *rest, seen=seen)))
    assert question["asks_for"]
    messages, _ = seen[2]
    assert len(messages) == 1
    prompt = messages[0].parts[-1].content
    assert f'"tool":"{lookup[0][0]}"' in prompt
    assert '"status":"ok","result":' in prompt
    assert json.dumps(question["message"], ensure_ascii=False) in prompt
    assert json.dumps(scenario.scenario.customer.replies[0].message, ensure_ascii=False) in prompt


def test_the_decision_offers_the_suites_names(monkeypatch, bound):
    """The output type lists the suite's actions and slots, so that the framework refuses others before they cost."""
    seen: list[Any] = []
    wrong = {"action": "shrug", "message": "?"}
    result = run(monkeypatch, bound, Agent(scripted(wrong, DONE, seen=seen)))
    properties = seen[0][1].output_tools[0].parameters_json_schema["properties"]
    assert properties["action"]["enum"] == [action.name for action in bound.suite.actions]
    assert properties["asks_for"]["items"]["enum"] == list(bound.suite.suite.slots)
    assert len(result.episode.turns) == 1
    assert result.episode.action == "answer"


def test_a_suite_without_an_action_for_questions_lets_action_out(monkeypatch, bound):
    """Where no action asks, a question is a decision whose action is null."""
    from pytest_supportbench.agents.pydantic_ai_parts import decision_type  # noqa: PLC0415 - an internal

    actions = tuple(item for item in bound.suite.actions if item.kind != "ask")
    base = dict.fromkeys(("memory", "policies", "tools", "transcript"), ())
    observation = Observation.model_construct(**base, actions=actions, slots=("parcel_id",))
    made = decision_type(observation)(action=None, message="Which parcel?", asks_for=["parcel_id"])
    assert made.model_dump()["action"] is None


def test_deps_are_the_observation(monkeypatch, bound):
    """An agent that declares the Observation as its deps gets the episode's, a copy of its own."""
    agent = Agent(scripted([("peek", {})], DONE), deps_type=Observation)
    got = []

    @agent.tool
    def peek(ctx: RunContext[Observation]) -> str:
        got.append(ctx.deps)
        ctx.deps.account.clear()
        return ctx.deps.customer.message

    result = run(monkeypatch, bound, agent)
    assert result.episode.ending == "acted"
    assert got[0].customer.message == bound.scenario.customer.message


def test_a_factory_may_bring_deps(monkeypatch, bound):
    """A function without parameters that returns agent and deps serves agents with deps of their own."""
    agent = Agent(scripted([("peek", {})], DONE), deps_type=dict)
    got = []

    @agent.tool
    def peek(ctx: RunContext[dict[str, str]]) -> str:
        got.append(ctx.deps["shop"])
        return ""

    name = app(monkeypatch, make=lambda: (agent, {"shop": "books"}))
    frameworks.run(bound, f"pydantic-ai:{name}:make")
    assert got == ["books"]


def test_objects_that_are_no_agent_are_told_apart(monkeypatch):
    """Each mistake in the object has a message that says what to name instead."""

    async def later():
        return Agent(TestModel())

    def broken():
        raise OSError("no configuration")

    assert "support is a str; name a pydantic_ai.Agent" in problem(monkeypatch, support="text")
    assert "returned is a coroutine" in problem(monkeypatch, support=later)
    assert "returned is a NoneType" in problem(monkeypatch, support=lambda: None)
    assert "OSError: no configuration" in problem(monkeypatch, support=broken)
    assert "did you mean 'suport'?" in problem(monkeypatch, suport=1)
    assert "(agent, deps)" in problem(monkeypatch, support=Agent(TestModel(), deps_type=socket.socket))


def test_output_validators_are_named_beforehand(monkeypatch):
    """An agent whose own output cannot be replaced is told so before anything runs."""
    agent = Agent(TestModel())

    @agent.output_validator
    def check(text: str) -> str:
        raise ModelRetry("never")

    assert "output validators" in problem(monkeypatch, support=agent)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    """Without the framework the message has the command that installs it."""
    for name in [name for name in sys.modules if name.startswith("pydantic_ai")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.delitem(sys.modules, "pytest_supportbench.agents.pydantic_ai_parts", raising=False)
    monkeypatch.delattr("pytest_supportbench.agents.pydantic_ai_parts", raising=False)
    message = problem(monkeypatch, support=1)
    assert "needs the package 'pydantic_ai'" in message
    assert 'pip install "pytest-supportbench[pydantic-ai]"' in message


def test_the_key_of_the_model_comes_out_nowhere(monkeypatch, bound):
    """A key that stands in the agent's code is blanked in what the server says about it."""
    with ChatServer((401, {"error": {"message": "bad key sk-plain-test-key"}})) as server:
        result = run(monkeypatch, bound, Agent(openai(server)))
    assert result.episode.error.cause == "unauthorised"
    assert "sk-plain-test-key" not in str(result.episode.error)


def test_agents_pickle_by_their_spec(monkeypatch):
    """The adapter travels as its spec, and is made anew where it arrives."""
    name = app(monkeypatch, support=Agent(scripted(DONE)))
    agent = make_agent(parse_spec(f"pydantic-ai:{name}:support", ROOT), ROOT)
    assert pickle.loads(pickle.dumps(agent)).fingerprint() == agent.fingerprint()


def test_nothing_but_the_model_is_reached(monkeypatch, bound):
    """The framework opens no connection of its own, for telemetry or prices."""
    reached = []
    monkeypatch.setattr(socket.socket, "connect", lambda _self, address: reached.append(address))
    monkeypatch.setattr(socket.socket, "connect_ex", lambda _self, address: reached.append(address) or 1)
    run(monkeypatch, bound, Agent(scripted([("get_charge", {"charge_id": "ch_204"})], DONE)))
    assert reached == []
