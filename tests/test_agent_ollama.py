"""Behaviour of ``ollama:MODEL``, with the official client against a fake server over real HTTP."""

from __future__ import annotations

import builtins
import json
import pickle
import socket
import ssl
import time
from pathlib import Path

import httpx
import ollama
import pytest
from agent_samples import TOOL_RESULT, observation
from fake_ollama import DIGEST, FAULTS, FakeOllama, raw_server

from pytest_supportbench.agents import make_agent, parse_spec, retries
from pytest_supportbench.agents.base import Case
from pytest_supportbench.agents.ollama import OllamaAgent
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.protocol import Turn, Unreadable, Usage
from pytest_supportbench.replies import parse_turn

ROOT = Path()
TURN = {"tool_calls": [], "action": "refund", "asks_for": [], "message": "Done."}
CALL = {"tool": "list_charges", "arguments": {"customer_id": "cus_1"}}


@pytest.fixture
def server():
    with FakeOllama(lambda _body: json.dumps(TURN)) as fake:
        yield fake


@pytest.fixture
def agent():
    """Make agents for a host and close them afterwards; they try once unless the test says otherwise."""
    made = []

    def make(host, model="m", **options):
        query = "".join(f"&{key}={value}" for key, value in {"retries": 0, **options}.items())
        made.append(make_agent(parse_spec(f"ollama:{model}?host={host}{query}", ROOT), ROOT))
        return made[-1]

    yield make
    for live in made:
        live.close()


def cause_of(action):
    with pytest.raises(InfrastructureError) as caught:
        action()
    assert caught.value.remedy
    return caught.value.cause


def test_a_model_answers_with_a_turn_and_its_token_counts(server, agent):
    """A reply carries the model's JSON text, tokens as the server counted them, and seconds."""
    reply = agent(server.host).reply(observation())
    assert parse_turn(reply.turn) == Turn(action="refund", message="Done.")
    assert reply.usage.prompt_tokens > 500
    assert reply.usage.completion_tokens == len(json.dumps(TURN)) // 4
    assert reply.usage.seconds == 1.5


def test_the_request_is_constrained_and_repeatable(server, agent):
    """Each request sends the turn's schema, temperature 0, a fixed seed and an explicit context size."""
    agent(server.host).reply(observation())
    body = server.requests[0]
    assert body["options"] == {"temperature": 0.0, "seed": 7, "num_ctx": 8192, "num_predict": 1024}
    assert body["stream"] is False
    assert body["format"]["properties"]["action"]["enum"][0] == "refund"
    assert body["format"]["properties"]["message"]["maxLength"]


def test_options_reach_the_server(server, agent):
    """Options of the spec replace the defaults in the request."""
    options = {"seed": 11, "temperature": 0.5, "num_ctx": 4096, "num_predict": 64, "keep_alive": "1m"}
    agent(server.host, **options).reply(observation())
    body = server.requests[0]
    assert body["options"] == {"temperature": 0.5, "seed": 11, "num_ctx": 4096, "num_predict": 64}
    assert body["keep_alive"] == "1m"


def test_a_turn_is_chosen_from_the_conversation(server, agent):
    """The tool result of the first turn reaches the model as a later message of the same conversation."""
    server.answer = lambda body: json.dumps(
        {**TURN, "action": None, "tool_calls": [CALL]} if len(body["messages"]) == 2 else TURN
    )
    live = agent(server.host)
    first = parse_turn(live.reply(observation()).turn)
    assert first.action is None
    transcript = [{"role": "agent", "tool_calls": [CALL]}, TOOL_RESULT]
    second = parse_turn(live.reply(observation(transcript=transcript)).turn)
    assert second.action == "refund"
    assert [item["role"] for item in server.requests[1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert "ch_204" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("no_tools", "no_tools"),
        ("bad_format", "bad_format"),
        ("bad_option", "bad_option"),
        ("server_busy", "server_busy"),
        ("runner_died", "runner_died"),
        ("out_of_memory", "out_of_memory"),
        ("server_error", "server_error"),
        ("gateway", "server_error"),
        ("unauthorised", "unauthorised"),
        ("rate_limited", "rate_limited"),
        ("redirect", "redirected"),
        ("usage_limit", "quota_exhausted"),
        ("subscription", "quota_exhausted"),
        ("subscription_forbidden", "quota_exhausted"),
        ("no_route", "not_ollama"),
        ("model_page", "not_ollama"),
        ("model_path", "not_ollama"),
        ("streamed", "streamed"),
        ("bad_request", "bad_request"),
        ("html", "not_json"),
        ("empty", "not_json"),
        ("half_json", "not_json"),
        ("not_utf8", "not_json"),
        ("list_body", "invalid_response"),
        ("list_error", "invalid_response"),
        ("no_message", "invalid_response"),
        ("arguments_text", "invalid_response"),
        ("deep_json", "invalid_response"),
        ("cut", "connection_lost"),
        ("repetition", "reply_incomplete"),
        ("no_done", "reply_incomplete"),
        ("no_reason", "reply_incomplete"),
        ("unloaded", "reply_incomplete"),
        ("length", "reply_truncated"),
    ],
)
def test_each_fault_of_the_server_is_an_error_with_its_own_cause(server, fault, cause, agent):
    """A fault of the server is an infrastructure error that names cause and remedy, never a failed agent."""
    assert fault in FAULTS
    live = agent(server.host)
    live.check()
    server.fault = fault
    assert cause_of(lambda: live.reply(observation())) == cause


@pytest.mark.parametrize("mode", ["schema", "tools"])
@pytest.mark.parametrize("fault", ["malformed_call", "malformed_xml", "malformed_tag", "malformed_parse"])
def test_what_the_server_could_not_read_is_the_models_own_invalid_reply(server, agent, fault, mode):
    """An answer that the server refused over a call that the model wrote is an invalid reply, asked for once."""
    server.faults = [fault]
    reply = agent(server.host, mode=mode, retries=2).reply(observation())
    assert isinstance(reply.turn, Unreadable)
    assert reply.turn.reason.startswith("the server could not read what the model wrote: ")
    assert reply.turn.reason.endswith("(its parser, or a limit on tokens, may be at fault as well)")
    assert reply.usage == Usage()
    assert server.requests == []


@pytest.mark.parametrize("fault", ["no_reason", "unloaded"])
def test_the_remedy_does_not_say_that_a_model_repeated_itself_for_sure(server, agent, fault):
    """A server that stopped early without saying why is looked up in its log first."""
    server.fault = fault
    with pytest.raises(InfrastructureError) as caught:
        agent(server.host).reply(observation())
    assert caught.value.remedy.startswith("look at the server's log")


def test_servers_that_end_with_tool_calls_are_understood(server, agent):
    """``done_reason: tool_calls``, as other servers with Ollama's API say it, is a whole answer."""
    server.fault = "called"
    assert parse_turn(agent(server.host).reply(observation()).turn).action == "refund"


def test_https_without_a_valid_certificate_is_no_server_that_is_down(agent):
    """A server without TLS behind https is told apart, and the remedy is not to start it."""
    with raw_server(b"HTTP/1.1 200 OK\r\n\r\n") as host:
        live = agent(host.replace("http:", "https:"))
        with pytest.raises(InfrastructureError, match="write http:// for a server without TLS") as caught:
            live.check()
    assert caught.value.cause == "tls_refused"


def test_a_server_that_hangs_is_a_time_out(server, agent):
    """A server that never answers ends after the option ``timeout``, and the remedy names it."""
    live = agent(server.host, timeout=0.2)
    live.check()
    server.fault = "hang"
    start = time.perf_counter()
    with pytest.raises(InfrastructureError, match=r"raise the option timeout \(now 0\.2 s\)") as caught:
        live.reply(observation())
    assert caught.value.cause == "time_out"
    assert time.perf_counter() - start < 5


def test_connecting_has_its_own_short_limit(agent):
    """A server that cannot be reached is given up on after 5 seconds, however long answers may take."""
    limits = agent("http://127.0.0.1:9", timeout=600)._client._client.timeout
    assert (limits.connect, limits.read) == (5.0, 600.0)


def test_a_server_that_is_down_says_how_to_start_it(agent):
    """With nothing listening the check fails at once and names ``ollama serve``."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(InfrastructureError, match="ollama serve") as caught:
        agent(f"http://127.0.0.1:{port}").check()
    assert caught.value.cause == "connection_refused"


@pytest.mark.parametrize("act", ["check", "reply"])
def test_a_missing_model_says_how_to_pull_it(server, act, agent):
    """A model that the server does not have names the pull command, before any episode."""
    live = agent(server.host, "nope:1b")
    with pytest.raises(InfrastructureError, match="ollama pull nope:1b") as caught:
        live.check() if act == "check" else live.reply(observation())
    assert caught.value.cause == "model_missing"
    assert server.requests == []


def test_a_model_removed_during_the_run_is_a_missing_model(server, agent):
    """A model that disappears after the check is the same error."""
    live = agent(server.host)
    live.check()
    server.models.clear()
    assert cause_of(lambda: live.reply(observation())) == "model_missing"


@pytest.mark.parametrize(
    ("payload", "reset", "cause"),
    [
        (b"", False, "connection_lost"),
        (b"", True, "connection_lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", False, "connection_lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{", False, "connection_lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{", True, "connection_lost"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", False, "connection_lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", False, "invalid_response"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: /api/tags\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            False,
            "redirected",
        ),
    ],
)
def test_a_broken_connection_is_an_error(payload, reset, cause, agent):
    """Connections that are cut, reset or speak another protocol are infrastructure errors, too."""
    with raw_server(payload, reset=reset) as host:
        assert cause_of(agent(host).check) == cause


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (httpx.ConnectTimeout("slow"), "time_out"),
        (httpx.PoolTimeout("full"), "time_out"),
        (httpx.RemoteProtocolError("cut"), "connection_lost"),
        (httpx.ReadError("reset"), "connection_lost"),
        (httpx.WriteError("reset"), "connection_lost"),
        (httpx.ProxyError("refused"), "connection_lost"),
        (httpx.UnsupportedProtocol("ftp"), "bad_host"),
        (httpx.DecodingError("gzip"), "invalid_response"),
        (httpx.ConnectError("refused"), "connection_refused"),
        (ssl.SSLCertVerificationError("self-signed certificate"), "tls_refused"),
        (ollama.ResponseError("boom"), "stream_error"),
        (ollama.ResponseError('{"error": {"message": "boom"}}'), "stream_error"),
        (ollama.ResponseError("input exceeds the context length", 400), "context_overflow"),
    ],
)
def test_each_error_of_the_network_has_a_cause(error, cause):
    """Whatever the client lets through becomes an infrastructure error, error bodies that are objects included."""

    def fail(_request):
        raise error

    spec = parse_spec("ollama:m?host=http://model.test", ROOT)
    live = OllamaAgent(spec, ROOT, transport=httpx.MockTransport(fail))
    assert cause_of(live.check) == cause


class Endless(httpx.SyncByteStream):
    """A body that comes in drops, or in floods, and never ends."""

    def __init__(self, part, pause):
        self.part, self.pause = part, pause

    def __iter__(self):
        while True:
            time.sleep(self.pause)
            yield self.part


@pytest.mark.parametrize(
    ("part", "pause", "headers", "cause", "told"),
    [
        (b" " * 1_000_000, 0, {}, "invalid_response", "more than 8,000,000 bytes"),
        (b" ", 0.02, {}, "time_out", "did not end in time"),
        (b"x", 0, {"content-encoding": "gzip"}, "invalid_response", "compressed"),
    ],
    ids=["flood", "drops", "compressed"],
)
def test_an_answer_without_end_is_bounded(part, pause, headers, cause, told):
    """Size and whole time of an answer are bounded, and a compressed one, which has no bound, is refused."""
    spec = parse_spec("ollama:m?host=http://model.test&timeout=1", ROOT)
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, headers=headers, stream=Endless(part, pause))
    )
    live = OllamaAgent(spec, ROOT, transport=transport)
    begin = time.monotonic()
    with pytest.raises(InfrastructureError) as caught:
        live.check()
    assert time.monotonic() - begin < 5
    assert caught.value.cause == cause
    assert told in caught.value.message


def test_an_unknown_host_is_told_from_a_server_that_is_down():
    """A host name that does not resolve says so instead of advising to start the server."""

    def fail(_request):
        raise httpx.ConnectError("no such host") from socket.gaierror(-2, "Name or service not known")

    spec = parse_spec("ollama:m?host=http://model.test", ROOT)
    live = OllamaAgent(spec, ROOT, transport=httpx.MockTransport(fail))
    with pytest.raises(InfrastructureError, match="Name or service not known") as caught:
        live.check()
    assert caught.value.cause == "unknown_host"


def test_a_conversation_that_the_server_cuts_silently_is_an_error(server, agent):
    """A first message that does not fit is dropped by the server without a word; the agent notices."""
    long = {"message": "Where is my refund? " * 2_000, "history": []}
    transcript = [{"role": "agent", "tool_calls": [CALL]}, TOOL_RESULT]
    live = agent(server.host)
    with pytest.raises(InfrastructureError, match="num_ctx=16384") as caught:
        live.reply(observation(customer=long, transcript=transcript))
    assert caught.value.cause == "context_overflow"


def test_a_dropped_message_in_the_middle_is_noticed(server, agent):
    """One dropped tool result is noticed, though most of the conversation was read."""
    result = {**TOOL_RESULT, "result": [{"id": f"ch_{n}", "amount": "49.00"} for n in range(160)]}
    turn = {"role": "agent", "tool_calls": [CALL]}
    transcript = [turn, result, turn, result, turn, TOOL_RESULT]
    live = agent(server.host, num_ctx=3_600, num_predict=64)
    assert cause_of(lambda: live.reply(observation(transcript=transcript))) == "context_overflow"


def test_a_model_with_a_smaller_context_than_asked_for_is_noticed(server, agent):
    """A server caps ``num_ctx`` at what the model was made for, also without a word."""
    long = {"message": "Where is my refund? " * 1_000, "history": []}
    server.model_context = 1_500
    transcript = [{"role": "agent", "tool_calls": [CALL]}, TOOL_RESULT]
    live = agent(server.host, num_ctx=65_536)
    assert (
        cause_of(lambda: live.reply(observation(customer=long, transcript=transcript))) == "context_overflow"
    )


@pytest.mark.parametrize("num_ctx", [1_200, 2_000])
def test_a_context_without_room_for_the_answer_is_an_error(server, num_ctx, agent):
    """A prompt that fills the context, or leaves less than ``num_predict`` of it, is an overflow."""
    live = agent(server.host, num_ctx=num_ctx)
    assert cause_of(lambda: live.reply(observation())) == "context_overflow"


def test_a_conversation_that_fits_is_no_overflow(server, agent):
    """A long conversation within the context passes."""
    result = {**TOOL_RESULT, "result": [{"id": f"ch_{n}", "amount": "49.00"} for n in range(160)]}
    live = agent(server.host, num_ctx=16_384)
    assert live.reply(observation(transcript=[{"role": "agent", "tool_calls": [CALL]}, result])).usage


@pytest.mark.parametrize("fault", ["no_counts", "odd_counts"])
def test_missing_counts_are_unknown_not_zero(server, agent, fault):
    """Counts that the server leaves out, or that cannot be, stay ``None``."""
    server.fault = fault
    usage = agent(server.host).reply(observation()).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.seconds) == (None, None, None)


@pytest.mark.parametrize("content", ["I cannot help.", '{"action": 3}', "", "null", "[" * 5_000])
def test_text_that_is_no_turn_is_the_models_own_mistake(server, content, agent):
    """Text that is no turn goes back raw, to be recorded as the agent's invalid reply."""
    server.answer = lambda _body: content
    assert agent(server.host).reply(observation()).turn == content


def test_content_that_is_null_is_an_empty_reply(server, agent):
    """A message without content, as thinking models send it, is an empty reply and no crash."""
    server.fault = "null"
    assert agent(server.host).reply(observation()).turn == ""


def test_a_thinking_model_is_told_not_to_think(server, agent):
    """Thinking is switched off for models that can, and not mentioned to those that cannot."""
    agent(server.host, "thinker:8b").reply(observation())
    agent(server.host).reply(observation())
    assert [body.get("think") for body in server.requests] == [False, None]


def test_thinking_can_be_asked_for(server, agent):
    """``think=true`` is sent, and refused by a model that cannot think."""
    agent(server.host, "thinker:8b", think="true").reply(observation())
    assert server.requests[0]["think"] is True
    assert cause_of(lambda: agent(server.host, think="true").reply(observation())) == "no_thinking"


def test_the_fingerprint_names_the_exact_model(server, agent):
    """After the check the fingerprint has the model's digest, the prompt's hash, options and seed."""
    live = agent(server.host, temperature=0.5)
    live.check()
    fingerprint = live.fingerprint()
    assert fingerprint["model_digest"] == DIGEST
    assert len(fingerprint["prompt_sha256"]) == 64
    assert fingerprint["options"]["temperature"] == 0.5
    assert fingerprint["seed"] == 7
    json.dumps(fingerprint)


def test_another_prompt_changes_the_fingerprint(tmp_path, server, agent):
    """An agent file's prompt is what the model reads, and its hash is recorded."""
    (tmp_path / "p.md").write_text("Speak like {a} pirate.")
    (tmp_path / "a.yaml").write_text(
        f"kind: ollama\nmodel: m\nprompt: p.md\noptions: {{host: '{server.host}', num_ctx: 4096}}\n"
    )
    live = make_agent(parse_spec("a.yaml", tmp_path), tmp_path)
    live.reply(observation())
    live.close()
    assert server.requests[0]["messages"][0]["content"].startswith("Speak like {a} pirate.\n")
    assert live.fingerprint()["prompt_sha256"] != agent(server.host).fingerprint()["prompt_sha256"]


def test_a_password_in_the_host_is_never_shown(monkeypatch):
    """Neither fingerprint nor error shows the password of a host, wherever the host came from."""
    monkeypatch.setenv("OLLAMA_HOST", "http://ada:s3cret@127.0.0.1:9")
    live = make_agent(parse_spec("ollama:m?timeout=1", ROOT), ROOT)
    with pytest.raises(InfrastructureError) as caught:
        live.check()
    assert "s3cret" not in str(caught.value) + json.dumps(live.fingerprint())
    assert "127.0.0.1:9" in str(caught.value)


def test_a_host_that_is_no_address_is_a_usage_error():
    """A malformed host is reported when the agent is made."""
    with pytest.raises(UsageError, match=r"write e\.g\. host="):
        make_agent(parse_spec("ollama:m?host=http://127.0.0.1:port", ROOT), ROOT)


def test_a_missing_client_names_the_extra(monkeypatch):
    """Without the client package the error says what to install."""
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "ollama":
            raise ModuleNotFoundError("No module named 'ollama'", name="ollama")
        return real(name, *args, **kwargs)

    monkeypatch.delitem(__import__("sys").modules, "pytest_supportbench.agents.ollama_faults", raising=False)
    package = __import__("pytest_supportbench.agents", fromlist=["agents"])
    monkeypatch.delattr(package, "ollama_faults", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UsageError, match=r'pip install "pytest-supportbench\[ollama\]"'):
        make_agent(parse_spec("ollama:m", ROOT), ROOT)


def test_the_agent_pickles_as_its_spec(server, agent):
    """An agent sent to another process is made anew there and works."""
    live = pickle.loads(pickle.dumps(agent(server.host)))
    assert parse_turn(live.reply(observation()).turn).action == "refund"
    live.close()


def test_hostile_error_text_is_bounded(server, monkeypatch, agent):
    """An endless error message of a server is cut, and its line breaks do not break the report."""
    live = agent(server.host)
    live.check()
    monkeypatch.setattr(FakeOllama, "chat", lambda *_: (500, {"error": "x\n" * 100_000 + "{0.__class__}"}))
    with pytest.raises(InfrastructureError) as caught:
        live.reply(observation())
    assert len(str(caught.value)) < 700
    assert "\n" not in str(caught.value)


def test_the_fake_server_streams_as_the_real_one(server):
    """The fake's streamed chunks add up to the same content through the official client."""
    with ollama.Client(host=server.host) as client:
        hello = [{"role": "user", "content": "Hello"}]
        schema, options = {"type": "object"}, {"num_ctx": 4096}
        parts = list(client.chat("m", hello, format=schema, stream=True, options=options))
    assert "".join(part.message.content for part in parts) == json.dumps(TURN)
    assert [part.done for part in parts][-1] is True


def test_lost_answers_are_asked_for_again(server, agent, monkeypatch):
    """A busy queue, a runner that died and a lost connection cost retries, which the usage counts."""
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.01)
    server.faults = ["server_busy", "runner_died", "cut", "gateway"]
    reply = agent(server.host, retries=4).reply(observation())
    assert parse_turn(reply.turn).action == "refund"
    assert reply.usage.retries == 4


@pytest.mark.parametrize(
    "fault", ["server_error", "out_of_memory", "html", "bad_request", "usage_limit", "length"]
)
def test_what_would_fail_again_is_not_repeated(server, agent, fault):
    """Refused requests and broken answers are asked for once: the next one would have been good."""
    server.faults = [fault] if fault != "length" else []
    server.fault = fault if fault == "length" else None
    cause_of(lambda: agent(server.host, retries=3).reply(observation()))
    assert len(server.requests) == (fault == "length")


def test_a_rate_limit_beyond_the_episode_is_not_waited_for(server, agent):
    """A proxy that wants fifteen minutes is not waited for in an episode of two, and the error says so."""
    server.fault = "rate_limited"
    ask = agent(server.host, retries=2).asker(Case("suite", "S-1", 1, None, lambda: 120.0))
    with pytest.raises(InfrastructureError, match="the server asked to wait 900 s"):
        ask(observation())
