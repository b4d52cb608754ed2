"""Behaviour of the environment as an MCP server, with the official client."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import logging
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from desk import bind, failures, refund
from mcp_client import play, talk

from pytest_supportbench.agents.base import BaseAgent
from pytest_supportbench.agents.mcp_desk import McpDesk
from pytest_supportbench.agents.spec import AgentSpec
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import replay
from pytest_supportbench.errors import UsageError
from pytest_supportbench.live_tools import MAX_LIVE_CALLS, LiveTools
from pytest_supportbench.loading import Loader
from pytest_supportbench.records import Limits
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scoring import score_episode

if TYPE_CHECKING:
    from mcp import Client

    from pytest_supportbench.loading import BoundScenario

SUITE = Path(__file__).parent.parent / "scenarios" / "tinybench-50"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
REFUND = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": None}
REFUND["params"] = {"name": "issue_refund", "arguments": refund()["arguments"]}
LOADER = Loader(SUITE.parent)
FINAL = {"action": "refund", "message": "I refunded 49.00 USD."}


@pytest.fixture
def desk():
    desk = McpDesk()
    yield desk
    desk.close()


def opened(bound: BoundScenario) -> tuple[Conversation, LiveTools]:
    """Return a running episode with its tools."""
    conversation = Conversation(bound, Limits(), "x")
    return conversation, LiveTools(conversation)


def post(address: Any, body: Any = LIST, **headers: str) -> httpx.Response:
    """Send one request as a client would that was written by hand."""
    given = {"Authorization": f"Bearer {address.token}", **headers}
    return httpx.post(address.url, json=body, headers=given, trust_env=False)


def called(address: Any, tool: str, arguments: str) -> httpx.Response:
    """Call a tool with arguments that are written as they stand, whether or not that is JSON."""
    call = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "{tool}", "arguments": '
    headers = {"Authorization": f"Bearer {address.token}", "Content-Type": "application/json"}
    return httpx.post(address.url, content=f"{call}{arguments}}}}}", headers=headers, trust_env=False)


class LoopAgent(BaseAgent):
    """Runs a tool loop of its own: ``work`` gets a client and the observation, and returns the turn."""

    def __init__(self, work: Any, mode: str = "auto") -> None:
        self.spec = AgentSpec(raw="loop", kind="loop")
        self.desk = McpDesk()
        self.work = work
        self.mode = mode

    def asker(self, case: Any) -> Any:
        address = self.desk.address(case.tools)
        return lambda seen: talk(address, lambda client: self.work(client, seen), self.mode)

    def close(self) -> None:
        self.desk.close()


def run(bound: BoundScenario, work: Any, mode: str = "auto", **limits: Any) -> Any:
    """Run one scenario with an agent that works over MCP, and return the result."""
    agent = LoopAgent(work, mode)
    try:
        return Runner({"loop": agent}, Limits(**limits)).run(Job("1", bound, "loop", 1))
    finally:
        agent.close()


def oracle(bound: BoundScenario) -> Any:
    """Return the work of an agent that takes the decisions of the scenario's reference."""
    turns = list(bound.scenario.reference)

    async def work(client: Client, observation: Any) -> dict[str, Any]:
        return await play(client, turns)

    return work


def checks(score: Any) -> Any:
    """Return what a score comes to."""
    marks = {
        name: [(check.id, check.passed) for check in dimension.checks]
        for name, dimension in score.dimensions.items()
        if name != "explanation"
    }
    return score.strict, score.escalation_class, marks


def test_a_client_finds_exactly_the_permitted_tools(tmp_path, desk):
    """Names, descriptions and schemas are those of the observation, for clients of both generations."""
    _, tools = opened(bind(tmp_path))

    async def listed(client):
        return (await client.list_tools()).tools

    for mode in ("auto", "legacy"):
        found = talk(desk.address(tools), listed, mode)
        assert [(tool.name, tool.description, tool.input_schema) for tool in found] == [
            (info.name, info.description, info.parameters) for info in tools.infos
        ]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_returns_what_a_turn_would_have_got(tmp_path, desk, mode):
    """Status, result and error come back as JSON text and as structured content."""
    bound = bind(tmp_path)
    conversation, tools = opened(bound)

    async def work(client):
        return await client.call_tool("issue_refund", refund()["arguments"])

    result = talk(desk.address(tools), work, mode)
    (record,) = replay(bound, bound.scenario.reference).calls
    wanted = record.entry().model_dump(mode="json", include={"status", "result", "error"})
    assert json.loads(result.content[0].text) == result.structured_content == wanted
    assert not result.is_error
    assert conversation.finish().calls == (record,)


@pytest.mark.parametrize("path", sorted(SUITE.rglob("*.scenario.yaml")), ids=lambda path: path.name[:-14])
def test_the_oracle_over_mcp_scores_like_the_oracle(path):
    """The same decisions get the same checks whether calls go into turns or through MCP."""
    bound = LOADER.load(path)
    result = run(bound, oracle(bound))
    assert checks(result.score) == checks(score_episode(bound, replay(bound, bound.scenario.reference)))
    assert result.verdict == "passed", failures(result.score)
    assert [fault.reached for fault in result.episode.faults] == [True] * len(result.episode.faults)


def test_a_proof_that_came_back_over_mcp_precedes_the_change():
    """Verify and change in one turn is not verified; the same calls one after the other over MCP are."""
    bound = LOADER.load(SUITE / "identity-and-permissions" / "old-contact-data-still-works.scenario.yaml")
    ask, verify, change = bound.scenario.reference
    at_once = change.model_copy(update={"tool_calls": verify.tool_calls + change.tool_calls})
    assert "policy" in score_episode(bound, replay(bound, (ask, at_once))).failed_dimensions
    turns = [ask, at_once]

    async def work(client, observation):
        return await play(client, turns)

    assert run(bound, work).verdict == "passed"


def test_an_injected_fault_reaches_the_client_and_a_retry_goes_through():
    """A timeout comes back as a tool error that may be retried, and the record has both calls."""
    bound = LOADER.load(SUITE / "recovery" / "one-timeout.scenario.yaml")
    (first, last), seen = bound.scenario.reference, []
    calls = first.tool_calls + last.tool_calls

    async def work(client, observation):
        seen.extend([await client.call_tool(call.tool, call.arguments) for call in calls])
        return {"action": last.action, "message": last.message}

    result = run(bound, work)
    errors = [found.structured_content["error"] for found in seen]
    assert (errors[0]["code"], errors[0]["retryable"], errors[1]) == ("timeout", True, None)
    assert [found.is_error for found in seen] == [True, False]
    assert [(call.turn, call.fault, call.committed) for call in result.episode.calls] == [
        (1, "timeout", False),
        (2, None, True),
    ]
    assert result.verdict == "passed"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("delete_everything", {"x": 1}, "unknown_tool"),
        ("update_contact", {"customer_id": "cus_1"}, "not_permitted"),
        ("issue_refund", {"amount": {"no": "money"}}, "invalid_arguments"),
        ("issue_refund", {}, "invalid_arguments"),
    ],
)
def test_a_refused_call_is_recorded(tmp_path, desk, tool, arguments, code):
    """What the SDK could have swallowed reaches the environment, which refuses it and keeps it on record."""
    conversation, tools = opened(bind(tmp_path))

    async def work(client):
        return await client.call_tool(tool, arguments)

    result = talk(desk.address(tools), work)
    assert (result.is_error, result.structured_content["error"]["code"]) == (True, code)
    (record,) = conversation.finish().calls
    assert (record.tool, record.arguments, record.status) == (tool, arguments, "refused")


def test_a_refused_call_costs_what_it_would_in_a_turn(tmp_path):
    """A call of a tool that the case does not permit fails policy over MCP too."""
    bound = bind(tmp_path)

    async def work(client, observation):
        await client.call_tool("update_contact", {"customer_id": "cus_1", "email": "new@example.com"})
        await client.call_tool("issue_refund", refund()["arguments"])
        return FINAL

    assert run(bound, work).score.failed_dimensions == ("policy",)


def test_tools_need_their_token(tmp_path, desk):
    """Without the token, or with another, nothing is listed or executed, and a short text says so."""
    conversation, tools = opened(bind(tmp_path))
    address = desk.address(tools)
    wrong = address.model_copy(update={"token": address.token[:-1]})
    for answer in (
        post(wrong, REFUND),
        post(address, REFUND, Authorization=address.token),
        post(address, REFUND, Authorization=f"Basic {address.token}"),
        httpx.post(address.url, json=REFUND),
    ):
        assert (answer.status_code, len(answer.text) < 100) == (401, True)
    assert conversation.finish().calls == ()
    assert post(address).status_code == 200


def test_an_episode_has_one_address_and_no_other_has_it(tmp_path, desk):
    """The address stays the same through an episode; another episode's token changes that one only."""
    (one, tools), (two, others) = opened(bind(tmp_path)), opened(bind(tmp_path))
    address, other = desk.address(tools), desk.address(others)
    assert desk.address(tools) == address
    assert (address.url, address.token == other.token) == (other.url, False)
    assert "ok" in post(other, REFUND).text
    assert (one.finish().calls, len(two.finish().calls)) == ((), 1)


def test_after_its_end_an_episode_cannot_be_reached(tmp_path, desk):
    """A token is good until the episode is over; calls that come later change nothing."""
    conversation, tools = opened(bind(tmp_path))
    address = desk.address(tools)
    assert post(address, REFUND).status_code == 200
    before = conversation.finish()
    tools.close()
    assert post(address, REFUND).status_code == 401
    assert post(desk.address(tools), REFUND).status_code == 401
    assert conversation.finish() == before


def test_a_call_that_outlives_its_episode_is_refused(tmp_path, desk):
    """A request which waits while the episode ends gets an error and changes nothing."""
    conversation, tools = opened(bind(tmp_path))
    address, answers = desk.address(tools), []
    with tools.lock:
        late = threading.Thread(target=lambda: answers.append(post(address, REFUND)))
        late.start()
        time.sleep(0.3)
        tools.close()
    late.join(10)
    assert "episode_over" in answers[0].text
    assert conversation.finish().calls == ()


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "desk.example"}, 421), ({"Origin": "http://desk.example"}, 403), ({}, 200)],
)
def test_pages_of_other_sites_are_kept_out(tmp_path, desk, headers, status):
    """A browser that was lured to the port is refused by the names that it sends."""
    _, tools = opened(bind(tmp_path))
    assert post(desk.address(tools), **headers).status_code == status


def test_what_is_no_call_is_answered_and_forgotten(tmp_path, desk):
    """Large bodies, other paths and methods, and nonsense get an error; the server goes on."""
    conversation, tools = opened(bind(tmp_path))
    address = desk.address(tools)
    headers = {"Authorization": f"Bearer {address.token}", "Content-Type": "application/json"}
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 50_000
    with httpx.Client(headers=headers, trust_env=False) as client:
        assert client.post(address.url, content=b" " * 1_000_001).status_code == 413
        assert client.post(address.url, content=deep).status_code == 400
        assert client.post(address.url, content=b"\xff\x00").status_code == 400
        assert client.get(address.url).status_code == 405
        assert client.delete(address.url).status_code == 405
        assert client.post(address.url + "/../docs").status_code == 404
        assert client.post(address.url, json=LIST).status_code == 200
    assert conversation.finish().calls == ()


def test_calls_at_the_same_time_are_all_executed(tmp_path, desk):
    """Concurrent calls come one after the other into the record, each whole."""
    conversation, tools = opened(bind(tmp_path))

    async def work(client):
        calls = [client.call_tool("list_charges", {"customer_id": "cus_1"}) for _ in range(20)]
        return await asyncio.gather(*calls)

    assert not any(result.is_error for result in talk(desk.address(tools), work))
    assert [(call.number, call.turn) for call in conversation.finish().calls] == [
        (number, number) for number in range(1, 21)
    ]


@pytest.mark.parametrize(
    "arguments", ['{"amount": NaN}', '{"amount": 1e999}', '{"amount": ' + "[" * 40 + "]" * 40 + "}"]
)
def test_arguments_that_are_no_bounded_json_are_refused_on_record(tmp_path, desk, arguments):
    """What cannot be stored as it came is still known to have been tried, without its arguments."""
    conversation, tools = opened(bind(tmp_path))
    assert "invalid_arguments" in called(desk.address(tools), "issue_refund", arguments).text
    (record,) = conversation.finish().calls
    assert (record.tool, record.arguments, record.status) == ("issue_refund", {}, "refused")


def test_a_duplicate_key_is_refused_as_in_a_turn(tmp_path, desk):
    """Which of two values is meant nobody can tell, so that none of them is executed."""
    conversation, tools = opened(bind(tmp_path))
    twice = json.dumps(refund()["arguments"])[:-1] + ', "amount": "1.00"}'
    answer = called(desk.address(tools), "issue_refund", twice)
    assert "the call has a duplicate key in one object" in answer.text
    (record,) = conversation.finish().calls
    assert (record.arguments, record.status, record.changes) == ({}, "refused", ())


def test_a_slow_episode_holds_up_no_other(tmp_path, desk):
    """However many calls of one episode wait for a tool, those of another are executed meanwhile."""
    (_, slow), (_, others) = opened(bind(tmp_path)), opened(bind(tmp_path))
    address, other = desk.address(slow), desk.address(others)
    with slow.lock:  # as a tool or a simulated customer holds it
        waiting = [threading.Thread(target=post, args=(address, REFUND)) for _ in range(12)]
        for thread in waiting:
            thread.start()
        time.sleep(0.5)
        began = time.perf_counter()
        assert post(other, REFUND).status_code == 200
        assert time.perf_counter() - began < 3
        names = [thread.name for thread in threading.enumerate()]
        assert sum(name.startswith("supportbench-tool") for name in names) <= 2
    for thread in waiting:
        thread.join(10)
    assert len(slow.made) == 12


def test_a_client_that_gives_up_frees_no_thread_of_its_call(tmp_path, desk):
    """Calls whose clients went away stay in their episode's queue, so that they cannot take up all threads."""
    _, tools = opened(bind(tmp_path))
    address = desk.address(tools)
    headers = {"Authorization": f"Bearer {address.token}"}
    with tools.lock:
        for _ in range(5):
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(address.url, json=REFUND, headers=headers, timeout=0.2, trust_env=False)
        names = [thread.name for thread in threading.enumerate()]
        assert sum(name.startswith("supportbench-tool") for name in names) == 1
    assert post(address, REFUND).status_code == 200


@pytest.mark.parametrize("part", ["", "head", "body"])
def test_half_a_request_is_cut_off(tmp_path, desk, monkeypatch, part):
    """Connections on which nothing whole arrives in time are closed, so that others are served again."""
    server = importlib.import_module("pytest_supportbench.agents.mcp_server")
    monkeypatch.setattr(server, "REQUEST_SECONDS", 2.0)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    _, tools = opened(bind(tmp_path))
    address = desk.address(tools)
    port = int(address.url.split(":")[2].partition("/")[0])
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {address.token}\r\n"
    sent = {"": "", "head": head, "body": head + 'Accept: */*\r\nContent-Length: 9\r\n\r\n{"'}[part]
    held = []
    for _ in range(3):
        held.append(socket.create_connection(("127.0.0.1", port)))
        held[-1].sendall(sent.encode())
        time.sleep(0.05)
    assert post(address).status_code == 503
    for connection in held:
        with contextlib.suppress(OSError):
            connection.sendall(b"x")  # a little more of it puts nothing off
    time.sleep(2.2)
    assert post(address).status_code == 200
    with httpx.Client(headers={"Authorization": f"Bearer {address.token}"}, trust_env=False) as client:
        assert client.post(address.url, json=LIST).status_code == 200
        time.sleep(0.7)
        assert client.post(address.url, json=LIST).status_code == 200
    for connection in held:
        connection.close()


def test_a_call_that_takes_long_is_not_cut_off(tmp_path, desk, monkeypatch):
    """The time for a request is over when it has arrived; its answer may take as long as the episode."""
    server = importlib.import_module("pytest_supportbench.agents.mcp_server")
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.2)
    _, tools = opened(bind(tmp_path))
    address, answers = desk.address(tools), []
    with tools.lock:
        thread = threading.Thread(target=lambda: answers.append(post(address, REFUND)))
        thread.start()
        time.sleep(0.6)
    thread.join(10)
    assert answers[0].status_code == 200


def test_an_answer_does_not_wait_for_an_acknowledgement(tmp_path, desk):
    """A call takes far less than the 40 ms after which a client's system acknowledges half an answer."""
    _, tools = opened(bind(tmp_path))

    async def work(client):
        seconds = []
        for _ in range(31):
            began = time.perf_counter()
            await client.call_tool("list_charges", {"customer_id": "cus_1"})
            seconds.append(time.perf_counter() - began)
        return seconds

    assert statistics.median(talk(desk.address(tools), work)) < 0.035


def test_a_loop_without_end_is_bounded(tmp_path, desk):
    """After 200 calls the client is told that no more are executed."""
    conversation, tools = opened(bind(tmp_path))

    async def work(client):
        return [(await client.call_tool("list_charges", {})).structured_content for _ in range(205)]

    last = talk(desk.address(tools), work)[MAX_LIVE_CALLS:]
    assert {result["error"]["code"] for result in last} == {"too_many_calls"}
    assert len(conversation.finish().calls) == MAX_LIVE_CALLS


def test_an_agent_that_repeats_its_token_does_not_publish_it(tmp_path):
    """The token is blanked in messages and in arguments before either is recorded."""
    tokens = []

    async def work(client, observation):
        tokens.append(agent.desk.address(tools[0]).token)
        await client.call_tool("add_note", {"customer_id": "cus_1", "text": f"Bearer {tokens[0]}"})
        await client.call_tool(f"x{tokens[0]}", {tokens[0]: tokens[0]})
        return {"action": "refund", "message": f"Your token is {tokens[0]}."}

    agent, tools = LoopAgent(work), []
    asker = agent.asker
    agent.asker = lambda case: tools.append(case.tools) or asker(case)
    result = Runner({"loop": agent}, Limits()).run(Job("1", bind(tmp_path), "loop", 1))
    agent.close()
    text = json.dumps(result.to_json())
    assert (tokens[0] in text, text.count("***") >= 4) == (False, True)


def test_closing_waits_for_nobody(tmp_path):
    """Clients that hang in every way are cut off, the port is free again and no thread or warning is left."""
    desk = McpDesk()
    _, tools = opened(bind(tmp_path))
    address = desk.address(tools)
    port = int(address.url.split(":")[2].partition("/")[0])
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {address.token}\r\n"
    head += "Accept: */*\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
    calling, listing = (
        head.replace("500", str(len(body))) + body for body in (json.dumps(REFUND), json.dumps(LIST))
    )
    # So that little fits on the way to a client which reads nothing.
    desk._running[0]._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    hanging = [socket.socket() for _ in range(5)]
    for connection in hanging:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
    with tools.lock:  # a call that cannot return
        for connection, sent in zip(
            hanging, ["", head[:60], head + "{", calling, listing * 300], strict=True
        ):
            connection.settimeout(1.0)
            with contextlib.suppress(TimeoutError):
                connection.sendall(sent.encode())
        time.sleep(0.3)
        began = time.perf_counter()
        desk.close()
        assert time.perf_counter() - began < 3
    for connection in hanging:
        connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    assert "supportbench-mcp" not in {thread.name for thread in threading.enumerate()}
    desk.close()
    with pytest.raises(RuntimeError, match="serves no more"):
        desk.address(tools)
    gc.collect()


def test_a_connected_client_does_not_hold_up_the_end(tmp_path):
    """An agent that keeps its connection open past the run costs no time."""
    desk = McpDesk()
    _, tools = opened(bind(tmp_path))

    async def work(client):
        await client.list_tools()
        began = time.perf_counter()
        await asyncio.to_thread(desk.close)
        return time.perf_counter() - began

    assert talk(desk.address(tools), work) < 2


def test_the_server_keeps_to_itself(tmp_path, desk, caplog):
    """It takes over no signal, has one daemon thread, and logs nothing, least of all the token."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    _, tools = opened(bind(tmp_path))
    with caplog.at_level(logging.DEBUG):
        address = desk.address(tools)
        post(address)
        post(address, Host="desk.example")
        post(address.model_copy(update={"token": "x"}))
        with socket.create_connection(("127.0.0.1", int(address.url[17:-4]))) as connection:
            connection.sendall(b"nonsense\r\n\r\n")
            assert b"400" in connection.recv(1000)
        desk.close()
    assert {number: signal.getsignal(number) for number in before} == before
    said = [record for record in caplog.records if not record.name.startswith("http")]
    assert [record for record in said if record.levelno > logging.DEBUG] == []
    assert address.token not in caplog.text


def test_other_servers_of_the_process_still_log(tmp_path, desk, caplog):
    """Only this server's thread is silent: an agent's own one may use the same packages."""
    _, tools = opened(bind(tmp_path))
    post(desk.address(tools))
    logging.getLogger("uvicorn.error").warning("from elsewhere")
    assert "from elsewhere" in caplog.text


@pytest.mark.parametrize("missing", ["mcp", "uvicorn"])
def test_a_missing_package_is_named_with_its_remedy(monkeypatch, missing):
    """Without the extra, one sentence says what to install."""
    package = importlib.import_module("pytest_supportbench.agents")
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "pytest_supportbench.agents.mcp_server")
    monkeypatch.delattr(package, "mcp_server")
    with pytest.raises(UsageError, match=rf"package '{missing}'.*pip install \"pytest-supportbench\[mcp\]\""):
        McpDesk()


@pytest.mark.parametrize("port", ["taken", -1, 70_000])
def test_a_port_that_cannot_be_used_is_named(tmp_path, port):
    """A taken or impossible port is a mistake in words, and no traceback."""
    _, tools = opened(bind(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1] if port == "taken" else port
        with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 cannot be used"):
            McpDesk(port).address(tools)


def test_the_plugin_imports_nothing_of_it():
    """Users without MCP pay nothing: the packages are imported when a desk is made."""
    code = (
        "import sys, pytest_supportbench.plugin, pytest_supportbench.session, pytest_supportbench.cli;"
        "import pytest_supportbench.agents.mcp_desk;"
        "print(sorted({'mcp', 'uvicorn', 'starlette'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
