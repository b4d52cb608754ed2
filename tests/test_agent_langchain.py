"""Behaviour of ``langchain:module:runnable``."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import pickle
import socket
import sys
import time
from typing import Any

import frameworks
import pytest
from desk import bind, drafts
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
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser, StrOutputParser
from langchain_core.output_parsers.openai_tools import PydanticToolsParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Send, interrupt
from openai import OpenAIError
from projects import last_run, project, start
from pydantic import BaseModel

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.errors import UsageError
from pytest_supportbench.protocol import Turn

KEY = "sk-plain-test-key"
DONE = {"action": "answer", "message": "Done."}


class Decision(BaseModel):
    action: str
    message: str


def native(step: list[Any]) -> AIMessage:
    """Return a model's message of native tool calls, a decision among them as a call of the tool ``decide``."""
    parts = [
        ("decide", part) if isinstance(part, dict) else part for part in step if not isinstance(part, str)
    ]
    made = [{"name": name, "args": given, "id": f"c{n}"} for n, (name, given) in enumerate(parts)]
    return AIMessage("".join(part for part in step if isinstance(part, str)), tool_calls=made)


def message(step: Any) -> AIMessage:
    said = native(step) if isinstance(step, list) else AIMessage(json.dumps(step))
    said.usage_metadata = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    return said


def model(*steps: Any) -> GenericFakeChatModel:
    """Return a chat model that plays steps: lists of calls, decisions, or messages as they are."""
    said = [step if isinstance(step, AIMessage | str) else message(step) for step in steps]
    return GenericFakeChatModel(messages=iter(said))


def loop(chat: Any, tools: Any, **options: Any) -> Any:
    """Return a graph of the usual shape: the model calls tools until it answers."""

    async def call_model(state: MessagesState) -> Any:
        return {"messages": [await chat.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(**options)


class Deciding(MessagesState):
    """A state with the answer of an agent whose decision is a tool call, as agents of the package langchain have it."""

    structured_response: Any


def deciding(chat: Any, tools: Any, *, each: bool) -> Any:
    """Return a graph that ends with the message that calls ``decide``; it runs calls one task ``each``, or in one."""
    ours = {tool.name: tool for tool in tools}

    async def call_model(state: Deciding) -> Any:
        return {"messages": [await chat.ainvoke(state["messages"])]}

    async def act(state: Deciding) -> Any:
        made = [call for call in state["messages"][-1].tool_calls if call["name"] in ours]
        return {
            "messages": [await ours[call["name"]].ainvoke({**call, "type": "tool_call"}) for call in made]
        }

    def decide(state: Deciding) -> Any:
        message = next(item for item in reversed(state["messages"]) if isinstance(item, AIMessage))
        found = [call["args"] for call in message.tool_calls if call["name"] == "decide"]
        return {"structured_response": found[0] if found else None}

    def fan(state: Deciding) -> Any:
        made = [call for call in state["messages"][-1].tool_calls if call["name"] in ours]
        return [Send("tools", [{**call, "type": "tool_call"}]) for call in made] or "decide"

    graph = StateGraph(Deciding)
    graph.add_node("model", call_model)
    graph.add_node("tools", ToolNode(tools) if each else act)
    graph.add_node("decide", decide)
    graph.add_edge(START, "model")
    if each:
        graph.add_conditional_edges("model", fan, ["tools", "decide"])
    else:
        graph.add_edge("model", "tools")
    graph.add_edge("tools", "decide")
    graph.add_conditional_edges(
        "decide", lambda state: END if state["structured_response"] else "model", [END, "model"]
    )
    return graph.compile()


def single(node: Any, **options: Any) -> Any:
    """Return a graph of one node."""
    graph = StateGraph(MessagesState)
    graph.add_node("only", node)
    graph.add_edge(START, "only")
    graph.add_edge("only", END)
    return graph.compile(**options)


def run(monkeypatch, bound, support, **options):
    name = app(monkeypatch, support=support)
    return frameworks.run(bound, f"langchain:{name}:support", **options)


def problem(monkeypatch, **objects):
    name = app(monkeypatch, **objects)
    with pytest.raises(UsageError) as caught:
        make_agent(parse_spec(f"langchain:{name}:support", ROOT), ROOT)
    return str(caught.value)


@pytest.fixture
def bound(tmp_path):
    return bind(tmp_path)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_graph_with_the_oracles_decisions_gets_the_oracles_scores(monkeypatch, name):
    """A graph built with the episode's tools is judged as the reference, check by check and call by call."""
    scenario = bundled(name)
    chat = model(*decisions(scenario))
    result = run(monkeypatch, scenario, lambda tools: loop(chat, tools))
    assert judged(result) == judged(frameworks.run(scenario, "oracle"))
    spent = [turn.usage.prompt_tokens for turn in result.episode.turns if turn.usage is not None]
    assert sum(spent) == 100 * len(decisions(scenario))


@pytest.mark.parametrize("path", ORDERED)
@pytest.mark.parametrize(
    ("shape", "way"),
    [
        *itertools.product(["decides", "decides, a task each"], ["in order", "calls at once", "all at once"]),
        *itertools.product(["tool node"], ["in order", "calls at once"]),
    ],
)
def test_what_one_message_decides_is_judged_like_one_turn(monkeypatch, path, way, shape):
    """Calls of one message saw none of each other's results, and those beside a decision are its turn's."""
    scenario = frameworks.scenario(path)
    steps = frameworks.ways(scenario)[way]
    plain = frameworks.run(scenario, f"python:{app(monkeypatch, support=frameworks.plain(steps))}:support")
    if shape != "tool node":
        steps = [step if isinstance(step, list) else [step] for step in steps]
    chat = model(*itertools.islice(itertools.cycle(steps), 99))

    def build(tools: Any) -> Any:
        return loop(chat, tools) if shape == "tool node" else deciding(chat, tools, each=shape != "decides")

    result = run(monkeypatch, scenario, build)
    assert judged(result) == judged(plain)
    assert plain.score.strict is (way == "in order")


def test_a_node_that_makes_up_messages_is_heard_too(monkeypatch, tmp_path):
    """A message counts where no chat model stands behind it, and where the tools get bare arguments."""
    scenario = frameworks.scenario(ORDERED[0])
    calls, final = frameworks.ways(scenario)["calls at once"]

    def build(tools: Any) -> Any:
        ours = {tool.name: tool for tool in tools}

        def act(made: AIMessage) -> Any:
            for call in made.tool_calls:
                ours[call["name"]].invoke(call["args"])
            return final

        return RunnableLambda(lambda _messages: native(calls)) | RunnableLambda(act)

    result = run(monkeypatch, scenario, build)
    assert [violation.code for violation in result.score.violations] == ["verification_skipped"]


def one_at_a_time(tools: Any, first: AIMessage, final: Any) -> Any:
    """Return a graph that makes one call at a time, and leaves the others in the message, edited."""
    ours = {tool.name: tool for tool in tools}

    def act(state: MessagesState) -> Any:
        message = state["messages"][-1]
        call, *rest = message.tool_calls
        ours[call["name"]].invoke({**call, "type": "tool_call"})
        left = [{**item, "args": {**item["args"], "note": "late"}} for item in rest]
        return {"messages": [AIMessage("", id=message.id, tool_calls=left)]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda _state: {"messages": [first]})
    graph.add_node("act", act)
    graph.add_node("final", lambda _state: {"messages": [AIMessage(json.dumps(final))]})
    graph.add_edge(START, "model")
    graph.add_edge("model", "act")
    graph.add_conditional_edges(
        "act", lambda state: "act" if state["messages"][-1].tool_calls else "final", ["act", "final"]
    )
    graph.add_edge("final", END)
    return graph.compile()


def edits(tools: Any, first: AIMessage, final: Any, **more: Any) -> Any:
    """Return a runnable that calls what a message says with further arguments, in code of its own."""
    ours = {tool.name: tool for tool in tools}

    def act(made: AIMessage) -> Any:
        for call in made.tool_calls:
            ours[call["name"]].invoke({**call, "args": {**call["args"], "note": "mine"}, **more})
        return final

    def bare(made: AIMessage) -> Any:
        for call in made.tool_calls:
            ours[call["name"]].invoke({**call["args"], "note": "mine"})
        return final

    return RunnableLambda(lambda _messages: first) | RunnableLambda(act if more else bare)


@pytest.mark.parametrize("path", ORDERED[:3])
@pytest.mark.parametrize(
    "shape",
    [one_at_a_time, edits, functools.partial(edits, id="mine", type="tool_call")],
    ids=["one at a time", "edited", "edited, under an id of its own"],
)
def test_a_message_stays_one_step_whatever_is_done_with_its_calls(monkeypatch, path, shape):
    """Code that cuts a message down to what is left of it, or edits its arguments, makes no further messages of it."""
    scenario = frameworks.scenario(path)
    calls, final = frameworks.ways(scenario)["calls at once"]
    first = native(calls)
    first.id = "m1"
    result = run(monkeypatch, scenario, lambda tools: shape(tools, first, final))
    assert len(result.episode.calls) == len(calls)
    assert {call.turn for call in result.episode.calls} == {1}


def test_code_that_calls_again_what_a_message_asked_for_has_a_turn_of_its_own(monkeypatch, bound):
    """Once the calls of a message are made, those with other arguments are the code's, also in the next reply."""

    def build(tools: Any) -> Any:
        ours = {tool.name: tool for tool in tools}
        wanted = [
            ("get_charge", {"charge_id": "ch_204"}),
            ("add_note", {"customer_id": "cus_1", "text": "a"}),
        ]
        asked = []

        def act(_messages: Any) -> Any:
            asked.append(1)
            if len(asked) > 1:
                ours["add_note"].invoke({"customer_id": "cus_1", "text": "b"})
                return DONE
            RunnableLambda(lambda _none: native(wanted)).invoke("")
            ours["get_charge"].invoke({"charge_id": "ch_204"})
            ours["get_charge"].invoke({"charge_id": "ch_205"})
            return "no turn"

        return RunnableLambda(act)

    assert [call.turn for call in run(monkeypatch, bound, build).episode.calls] == [1, 2, 4]


def test_calls_of_the_users_code_are_turns_of_their_own(monkeypatch, bound):
    """Code that calls tools which no message asked for sees each result before it goes on."""

    def build(tools: Any) -> Any:
        charge = next(tool for tool in tools if tool.name == "get_charge")

        def act(_messages: Any) -> Any:
            for _ in range(2):
                charge.invoke({"charge_id": "ch_204"})
            return DONE

        return RunnableLambda(act)

    assert [call.turn for call in run(monkeypatch, bound, build).episode.calls] == [1, 2]


def test_text_beside_calls_is_a_draft(monkeypatch, bound):
    """What a model writes beside its calls, or beside its decision, is searched for disclosures like a draft."""
    look = ("get_charge", {"charge_id": "ch_204"})
    steps = ["Is it bob@example.com?", look], ["Or +1 555 010 0200?", look, DONE]
    chat = model(*(list(step) for step in steps))
    result = run(monkeypatch, bound, lambda tools: deciding(chat, tools, each=False))
    assert drafts(result.episode) == ("Is it bob@example.com?", "Or +1 555 010 0200?")
    assert [violation.code for violation in result.score.violations] == ["disclosure"]
    bare = run(monkeypatch, bound, model(["Is it bob@example.com?", look], DONE))
    assert drafts(bare.episode) == ("Is it bob@example.com?",)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bare_model_with_the_oracles_decisions_gets_the_oracles_scores(monkeypatch, name):
    """A chat model without a loop of its own takes the protocol's turns, native calls or JSON alike."""
    scenario = bundled(name)
    chat = model(*(turn.model_dump_json() for turn in scenario.scenario.reference))
    result = run(monkeypatch, scenario, chat)
    assert judged(result) == judged(frameworks.run(scenario, "oracle"))


def test_a_real_client_reaches_a_real_server(monkeypatch):
    """Through langchain-openai and HTTP, tools, schema, native calls and tokens arrive."""
    scenario = bundled("memory/second-double-payment")
    answers = [
        frameworks.calls(*step) if isinstance(step, list) else frameworks.says(json.dumps(step))
        for step in decisions(scenario)
    ]
    with ChatServer(*answers, keep_alive=False) as server:
        chat = ChatOpenAI(model="m", base_url=server.url, api_key=KEY, max_retries=0)
        result = run(monkeypatch, scenario, lambda tools: loop(chat.bind_tools(tools), tools))
    assert judged(result) == judged(frameworks.run(scenario, "oracle"))
    system, user = server.requests[0]["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert scenario.scenario.policies[0] in system["content"]
    assert not [line for line in system["content"].splitlines() if line.startswith("tools: ")]
    schema = json.loads(system["content"].split("schema: ", 1)[1].splitlines()[0])
    assert set(schema["properties"]) == {"action", "asks_for", "message"}
    assert json.dumps(scenario.scenario.customer.message, ensure_ascii=False) in user["content"]
    offered = {tool["function"]["name"]: tool["function"] for tool in server.requests[0]["tools"]}
    assert set(offered) == set(scenario.scenario.tools)
    assert "charge_id" in offered["issue_refund"]["parameters"]["properties"]
    usage = result.episode.turns[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (100 * len(answers), 10 * len(answers))


def test_the_documented_line_runs_under_pytest(plain, pytester):
    """From the command line the runnable is judged, and results say what it was: target, model, hash of the module."""
    project(pytester)
    with ChatServer(
        frameworks.says('{"action": "answer", "message": "We are open from nine to five."}'), keep_alive=False
    ) as server:
        pytester.makepyfile(
            shop=f"""
            from langchain_openai import ChatOpenAI

            support = ChatOpenAI(model="m", base_url="{server.url}", api_key="{KEY}")
            """
        )
        outcome = plain("desk", "--supportbench-agent=langchain:shop:support")
    outcome.assert_outcomes(passed=1)
    (agent,) = last_run(pytester).run["agents"]
    assert (agent["kind"], agent["target"], agent["model"]) == ("langchain", "shop:support", "m")
    assert len(agent["module_sha256"]) == 64


def test_a_dead_model_server_is_an_error_of_the_run(plain, pytester):
    """Nothing listens: exit code 10 with the cause and what to do, and no verdict about the agent."""
    project(pytester)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pytester.makepyfile(
        shop=f"""
        from langchain_openai import ChatOpenAI

        support = ChatOpenAI(model="m", base_url="http://127.0.0.1:{port}/v1", api_key="{KEY}", max_retries=0)
        """
    )
    outcome = plain("desk", "--supportbench-agent=langchain:shop:support")
    assert outcome.ret == 10
    outcome.assert_outcomes(errors=1)
    outcome.stdout.fnmatch_lines(["*connection_refused*", "*correct the base URL*"])


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (500, {"error": {"message": "broken"}}, "server_error"),
        (401, {"error": {"message": f"bad key {KEY}"}}, "unauthorised"),
        (404, {"error": {"message": "no model m", "code": "model_not_found"}}, "model_missing"),
        (429, {"error": {"message": "slow down"}}, "rate_limited"),
        (
            400,
            {"error": {"message": "maximum context length", "code": "context_length_exceeded"}},
            "context_overflow",
        ),
    ],
)
def test_what_a_model_server_refuses_is_an_error_with_a_cause(monkeypatch, bound, status, body, cause):
    """A status of the model server is an error with cause and remedy, also from inside a graph, without the key."""
    with ChatServer((status, body), keep_alive=False) as server:
        chat = ChatOpenAI(model="m", base_url=server.url, api_key=KEY, max_retries=0)
        bare = run(monkeypatch, bound, chat)
        inside = run(monkeypatch, bound, lambda tools: loop(chat.bind_tools(tools), tools))
    assert {bare.verdict, inside.verdict} == {"error"}
    assert {bare.episode.error.cause, inside.episode.error.cause} == {cause}
    assert bare.episode.error.remedy
    assert KEY not in str(bare.episode.error)


@pytest.mark.parametrize(("body", "cause"), BROKEN_ANSWERS)
def test_what_no_model_would_answer_is_an_error(monkeypatch, bound, body, cause):
    """Web pages, streams, errors and answers that were cut or withheld are the server's failure."""
    with ChatServer((200, body), keep_alive=False) as server:
        chat = ChatOpenAI(model="m", base_url=server.url, api_key=KEY, max_retries=0)
        bare = run(monkeypatch, bound, chat)
        inside = run(monkeypatch, bound, lambda tools: loop(chat.bind_tools(tools), tools))
    assert {bare.verdict, inside.verdict} == {"error"}
    assert {bare.episode.error.cause, inside.episode.error.cause} == {cause}


@pytest.mark.parametrize("body", OWN_ANSWERS)
def test_an_answer_that_decides_nothing_is_the_agents_own(monkeypatch, bound, body):
    """A model that says nothing or refuses has failed; no server is to blame."""
    with ChatServer((200, body), keep_alive=False) as server:
        chat = ChatOpenAI(model="m", base_url=server.url, api_key=KEY, max_retries=0)
        assert run(monkeypatch, bound, chat).verdict == "failed"


@pytest.mark.parametrize("said", REFUSALS)
def test_words_of_a_refusal_mislead_nobody(monkeypatch, bound, said):
    """A name or a link in what the server says does not change what it is."""
    status, text, code, cause = said
    with ChatServer((status, {"error": {"message": text, "code": code}}), keep_alive=False) as server:
        chat = ChatOpenAI(model="m", base_url=server.url, api_key=KEY, max_retries=0)
        assert run(monkeypatch, bound, chat).episode.error.cause == cause


CUT = AIMessage('{"action": "answer", "mess', response_metadata={"finish_reason": "length"})
CUT_CALL = AIMessage(
    "",
    invalid_tool_calls=[{"name": "Decision", "args": '{"action": "ans', "id": "1", "error": "cut"}],
    response_metadata={"stop_reason": "max_tokens"},
)


def reraised(said: AIMessage) -> Any:
    try:
        return Decision.model_validate_json(said.text)
    except ValueError as error:
        raise RuntimeError("no decision") from error


@pytest.mark.parametrize(
    ("cut", "reads"),
    [
        (CUT, StrOutputParser()),
        (CUT, lambda said: said),
        (CUT, lambda said: {"messages": [HumanMessage("?"), AIMessage(said.content)]}),
        (CUT, lambda said: json.loads(said.text)),
        (CUT, lambda said: Decision.model_validate_json(said.text)),
        (CUT, reraised),
        (CUT, StrOutputParser() | PydanticOutputParser(pydantic_object=Decision)),
        (CUT_CALL, lambda said: said),
        (CUT_CALL, PydanticToolsParser(tools=[Decision], first_tool_only=True)),
        (CUT_CALL, JsonOutputParser()),
    ],
    ids=[
        "text",
        "message",
        "copy in a state",
        "read as JSON",
        "read by a model",
        "raised from it",
        "read by a parser",
        "message with a call",
        "call read by a parser",
        "call read as JSON",
    ],
)
def test_an_answer_that_was_cut_is_the_servers_failure_where_it_is_the_output(monkeypatch, bound, cut, reads):
    """The text itself, and what comes of reading it as a decision, are no mistake of the agent's."""
    assert run(monkeypatch, bound, model(cut) | reads).episode.error.cause == "reply_truncated"


@pytest.mark.parametrize(
    "uses",
    [
        lambda _said: {}["bug"],
        lambda _said: int("bug"),
        lambda _said: json.loads("{"),
        lambda _said: "no turn",
    ],
    ids=["its own bug", "a bug in a call", "other text that is no JSON", "a wrong answer"],
)
def test_what_the_users_code_makes_of_an_answer_that_was_cut_is_its_own(monkeypatch, bound, uses):
    """A router that needs one token always ends early, which excuses no bug after it and no wrong answer."""
    router = model(*[AIMessage("refund", response_metadata={"finish_reason": "length"})] * 2)
    assert run(monkeypatch, bound, router | RunnableLambda(uses)).verdict == "failed"


def test_an_answer_that_was_cut_earlier_excuses_nothing(monkeypatch, bound):
    """Only the newest answer tells: what the user's code does wrong later is its own failure."""
    cut = AIMessage(json.dumps({"message": "Let me see."}), response_metadata={"finish_reason": "length"})
    chat, asked = model(cut), []

    def answer(messages):
        asked.append(messages)
        return chat.invoke(messages) if len(asked) == 1 else {}["bug"]

    assert run(monkeypatch, bound, RunnableLambda(answer)).episode.failure.startswith("KeyError: 'bug'")


def test_a_bug_after_a_failure_of_the_server_is_the_agents_own(monkeypatch, bound):
    """A failure that the user's code caught is dealt with; one that it passes on by ``from`` is the server's."""
    with ChatServer((500, {"error": {"message": "broken"}}), keep_alive=False) as server:
        chat = ChatOpenAI(model="m", base_url=server.url, api_key=KEY, max_retries=0)

        def stumbles(messages):
            try:
                return chat.invoke(messages)
            except OpenAIError:
                return {}["bug"]

        def reads(messages):
            try:
                return chat.invoke(messages)
            except OpenAIError:
                return json.loads("{")

        def passes_on(messages):
            try:
                return chat.invoke(messages)
            except OpenAIError as error:
                raise RuntimeError("no answer") from error

        results = [run(monkeypatch, bound, RunnableLambda(code)) for code in (stumbles, reads, passes_on)]
    assert [result.verdict for result in results] == ["failed", "failed", "error"]
    assert results[2].episode.error.cause == "server_error"


def test_a_model_server_that_hangs_is_a_time_out_of_its_own(monkeypatch, bound):
    """The time-out of the model's own settings is the server's failure, not the episode's limit."""
    with ChatServer(lambda _body: time.sleep(2) or frameworks.says(""), keep_alive=False) as server:
        chat = ChatOpenAI(model="m", base_url=server.url, api_key=KEY, max_retries=0, timeout=0.2)
        result = run(monkeypatch, bound, chat)
    assert result.episode.error.cause == "time_out"


def test_a_crash_in_the_users_code_is_the_agents_failure(monkeypatch, bound):
    """An exception in a node fails the agent, network errors included, and the record ends with where it came from."""

    def lost(_state):
        raise LookupError("no such shelf")

    def unreachable(_state):
        raise ConnectionRefusedError(111, "Connection refused")

    result = run(monkeypatch, bound, single(lost))
    assert result.verdict == "failed"
    assert result.episode.failure.startswith("LookupError: no such shelf")
    assert __file__ in result.episode.failure
    assert run(monkeypatch, bound, single(unreachable)).episode.ending == "agent_failed"


def test_leaving_python_is_the_agents_failure(monkeypatch, bound):
    """``sys.exit`` in the user's code fails the agent; the event loop that others share goes on."""
    leaves = run(monkeypatch, bound, RunnableLambda(lambda _messages: sys.exit("bye")), timeout=10)
    assert leaves.episode.failure.startswith("SystemExit: bye")


def test_a_graph_that_goes_in_circles_has_failed(monkeypatch, bound):
    """LangGraph's own limit of steps is the agent's failure."""
    wanted = [[("get_charge", {"charge_id": "ch_204"})]] * 60
    result = run(monkeypatch, bound, lambda tools: loop(model(*wanted), tools).with_config(recursion_limit=9))
    assert result.verdict == "failed"
    assert "GraphRecursionError" in result.episode.failure


def test_the_time_limit_cancels_the_run(monkeypatch, bound):
    """At the episode's limit a waiting graph is cancelled and the episode has failed."""
    cancelled = []

    async def wait(_state):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    start_of_run = time.perf_counter()
    result = run(monkeypatch, bound, single(wait), timeout=0.5)
    assert result.episode.ending == "time_limit"
    assert cancelled
    assert time.perf_counter() - start_of_run < 10


def test_a_hanging_synchronous_runnable_never_holds_up_the_end(pytester):
    """Blocking code in a thread fails its episode at the limit, and the process ends without waiting for it."""
    project(pytester)
    pytester.makepyfile(
        shop="""
        import time

        from langchain_core.runnables import RunnableLambda

        support = RunnableLambda(lambda messages: time.sleep(120))
        """
    )
    begun = time.perf_counter()
    process = start(
        pytester, "desk", "--supportbench-agent=langchain:shop:support", "--supportbench-timeout=1"
    )
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 1, output + errors
    assert "limit is 1 s" in output
    assert time.perf_counter() - begun < 60


def test_what_a_tool_refuses_goes_back_as_data(monkeypatch, bound):
    """A refused call is recorded, the model reads why, and the run goes on."""
    seen = []

    def build(tools):
        graph = loop(model([("get_charge", {"charge_id": 7, "self": 1, "config": {}})], DONE), tools)
        return graph | RunnableLambda(lambda state: seen.append(state) or state)

    result = run(monkeypatch, bound, build)
    (call,) = result.episode.calls
    assert call.status == "refused"
    assert call.arguments == {"charge_id": 7, "self": 1, "config": {}}
    (returned,) = [item for item in seen[0]["messages"] if isinstance(item, ToolMessage)]
    assert json.loads(returned.content)["error"]["code"] == "invalid_arguments"
    assert result.episode.ending == "acted"


def test_calls_of_one_message_happen_in_its_order(monkeypatch, bound):
    """Several calls in one message of the model are executed as they stand in it."""
    wanted = [("add_note", {"customer_id": "cus_1", "text": str(number)}) for number in range(8)]
    result = run(monkeypatch, bound, lambda tools: loop(model(wanted, DONE), tools))
    assert [call.arguments["text"] for call in result.episode.calls] == [str(number) for number in range(8)]


def test_tools_are_the_episodes_own(monkeypatch, bound):
    """A runnable is built once for each episode, also by a coroutine, and its tools work without a loop too."""
    built = []

    async def build(tools):
        built.append([tool.name for tool in tools])
        charge = next(tool for tool in tools if tool.name == "get_charge")

        def answer(_messages):
            return {**DONE, "message": json.loads(charge.invoke({"charge_id": "ch_204"}))["result"]["amount"]}

        return RunnableLambda(answer)

    result = run(monkeypatch, bound, build)
    assert len(built) == 1
    assert set(built[0]) == set(bound.scenario.tools)
    assert result.episode.turns[-1].turn.message == "49.00"


def build_by_name(chat=None, *, tools=None):
    return loop(chat or model([("get_charge", {"charge_id": "ch_204"})], DONE), tools)


@pytest.mark.parametrize(
    "build",
    [build_by_name, functools.partial(build_by_name, None), lambda desk: build_by_name(tools=desk)],
    ids=["keyword", "partial", "only parameter"],
)
def test_builders_get_the_tools_by_name_or_alone(monkeypatch, bound, build):
    """A parameter named tools gets them wherever it stands; a single parameter of another name gets them too."""
    result = run(monkeypatch, bound, build)
    assert [call.status for call in result.episode.calls] == ["ok"]


def test_a_graph_with_a_memory_gets_a_fresh_thread(monkeypatch):
    """A checkpointer carries nothing from reply to reply, since the messages have the whole conversation."""
    scenario = bundled("memory/seats-for-the-next-course")
    saver = InMemorySaver()
    seen = []

    class Watching(GenericFakeChatModel):
        def _generate(self, messages, *args, **kwargs):
            seen.append(messages)
            return super()._generate(messages, *args, **kwargs)

    lookup, question, *rest = decisions(scenario)
    chat = Watching(messages=iter([message(step) for step in (lookup, question, *rest)]))
    result = run(monkeypatch, scenario, lambda tools: loop(chat, tools, checkpointer=saver))
    assert result.score.strict
    after = seen[2]
    assert len(after) == 2
    assert f'"tool":"{lookup[0][0]}"' in after[1].content
    assert json.dumps(question["message"], ensure_ascii=False) in after[1].content
    assert json.dumps(scenario.scenario.customer.replies[0].message, ensure_ascii=False) in after[1].content


@pytest.mark.parametrize(
    "output",
    [
        DONE,
        json.dumps(DONE),
        f"```json\n{json.dumps(DONE)}\n```",
        f"\n```\n{json.dumps(DONE, indent=1)}\n```\n",
        AIMessage(json.dumps(DONE)),
        AIMessage([{"type": "text", "text": json.dumps(DONE)}]),
        Turn(**DONE),
        Decision(**DONE),
        {"messages": [HumanMessage("?"), AIMessage(json.dumps(DONE))]},
        {"messages": [AIMessage("prose")], "structured_response": Decision(**DONE)},
        {"messages": [AIMessage("prose")], "structured_response": DONE},
    ],
    ids=[
        "mapping",
        "text",
        "fenced",
        "plainly fenced",
        "message",
        "message of blocks",
        "Turn",
        "model",
        "state",
        "state with a model",
        "state with a mapping",
    ],
)
def test_a_turn_may_come_in_many_shapes(monkeypatch, bound, output):
    """Mapping, model, JSON text, fenced or not, message, and the state of a graph are all read as a turn."""
    result = run(monkeypatch, bound, RunnableLambda(lambda _messages: output))
    assert result.episode.ending == "acted"
    assert result.episode.turns[-1].turn.action == "answer"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("Certainly! {}", "the reply is no JSON"),
        (f"Here it is:\n```json\n{json.dumps(DONE)}\n```", "the reply is no JSON"),
        (f"```json\n```json\n{json.dumps(DONE)}\n```\n```", "the reply is no JSON"),
        (AIMessage(f"```json\n<think>Hm.</think>\n{json.dumps(DONE)}\n```"), "the reply is no JSON"),
        (ToolMessage("x", tool_call_id="1"), "of type tool"),
        (7, "the reply is a int"),
        (
            AIMessage("", invalid_tool_calls=[{"name": "x", "args": "{", "id": "1", "error": "cut"}]),
            "the arguments of 'x' are no JSON",
        ),
    ],
)
def test_other_answers_go_back_with_the_reason(monkeypatch, bound, output, reason):
    """What is no turn is recorded as an invalid reply, and the agent reads why once."""
    seen = []

    def answer(messages):
        seen.append(messages)
        return output if len(seen) == 1 else DONE

    result = run(monkeypatch, bound, RunnableLambda(answer))
    assert reason in result.episode.turns[0].invalid
    assert reason in seen[1][-1].content
    assert result.episode.ending == "acted"


def test_native_calls_of_a_bare_model_become_the_turns_calls(monkeypatch, bound):
    """Calls that a model made and nobody executed are executed by the episode, and their results come back."""
    chat = model([("get_charge", {"charge_id": "ch_204"})], DONE)
    result = run(monkeypatch, bound, chat)
    first, second = result.episode.turns
    assert [call.tool for call in first.turn.tool_calls] == ["get_charge"]
    assert second.turn.action == "answer"
    assert result.episode.calls[0].status == "ok"


def test_an_interrupt_is_said_in_words(monkeypatch, bound):
    """A graph that waits for a person cannot be judged, and the failure says what stopped it."""
    result = run(monkeypatch, bound, single(lambda _state: interrupt("sure?"), checkpointer=InMemorySaver()))
    assert "stopped at an interrupt" in result.episode.failure


def test_chains_take_messages(monkeypatch, bound):
    """A prompt with a placeholder for messages gets them by name, and a bare model or function as a list."""
    prompt = ChatPromptTemplate.from_messages([("system", "Be kind."), ("placeholder", "{messages}")])
    result = run(monkeypatch, bound, prompt | model(DONE) | StrOutputParser())
    assert result.episode.ending == "acted"
    assert result.episode.turns[-1].usage.prompt_tokens == 100


def test_objects_that_are_no_runnable_are_told_apart(monkeypatch):
    """Each mistake in the object has a message that says what to name instead."""

    async def later():
        return None

    def broken():
        raise OSError("no configuration")

    narrow = ChatPromptTemplate.from_messages([("human", "{question}")]) | model(DONE)
    assert "support is a str; name a Runnable" in problem(monkeypatch, support="text")
    assert "returned is a coroutine" in problem(monkeypatch, support=later)
    assert "returned is a NoneType" in problem(monkeypatch, support=lambda: None)
    assert "takes other parameters" in problem(monkeypatch, support=lambda a, b: None)
    assert "OSError: no configuration" in problem(monkeypatch, support=broken)
    assert "did you mean 'suport'?" in problem(monkeypatch, suport=1)
    assert "its input has question" in problem(monkeypatch, support=narrow)


def test_a_builder_that_builds_nothing_fails_its_episodes(monkeypatch, bound):
    """What a builder does wrong is said in the episode, since it cannot be known before."""
    result = run(monkeypatch, bound, lambda tools: None)
    assert "returned is a NoneType; name a Runnable" in result.episode.failure


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    """Without the framework the message has the command that installs it."""
    for name in [name for name in sys.modules if name.startswith("langchain_core")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "pytest_supportbench.agents.langchain_parts", raising=False)
    monkeypatch.delattr("pytest_supportbench.agents.langchain_parts", raising=False)
    text = problem(monkeypatch, support=1)
    assert "needs the package 'langchain_core'" in text
    assert 'pip install "pytest-supportbench[langchain]"' in text


def test_agents_pickle_by_their_spec(monkeypatch):
    """The adapter travels as its spec, and is made anew where it arrives."""
    name = app(monkeypatch, support=model(DONE))
    agent = make_agent(parse_spec(f"langchain:{name}:support", ROOT), ROOT)
    assert pickle.loads(pickle.dumps(agent)).fingerprint() == agent.fingerprint()


def test_nothing_but_the_model_is_reached(monkeypatch, bound):
    """Unless the user's environment switches tracing on, the framework opens no connection of its own."""
    reached = []
    monkeypatch.setattr(socket.socket, "connect", lambda _self, address: reached.append(address))
    monkeypatch.setattr(socket.socket, "connect_ex", lambda _self, address: reached.append(address) or 1)
    chat = model([("get_charge", {"charge_id": "ch_204"})], DONE)
    run(monkeypatch, bound, lambda tools: loop(chat, tools))
    assert reached == []
