"""Behaviour of ``http://…`` and ``https://…`` against real servers on loopback."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import pickle
import socket
import ssl
import threading
import time
from decimal import Decimal

import pytest
import trustme
from agent_samples import observation
from fake_http import GOOD, served
from fake_ollama import raw_server
from projects import last_run, project, verdicts

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.agents.base import Case
from pytest_supportbench.agents.wire import limited
from pytest_supportbench.errors import AgentFailure, InfrastructureError, UsageError
from pytest_supportbench.protocol import Observation, Reply, Turn, Unreadable, Usage
from pytest_supportbench.replies import parse_turn

SECRET = "pa55word-xyz-123"


@pytest.fixture
def make(tmp_path):
    """Make agents of a URL, through an agent file where there are options or headers; close them afterwards."""
    made = []

    def make(url, headers=None, **options):
        text = url
        if options or headers:
            file = {
                "kind": url.partition(":")[0],
                "target": url,
                "options": options,
                "headers": headers or {},
            }
            (tmp_path / "desk.yaml").write_text(json.dumps(file), encoding="utf-8")
            text = "desk.yaml"
        made.append(make_agent(parse_spec(text, tmp_path), tmp_path))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


def asked(agent, seconds=20.0):
    """Return what the agent replies in an episode that has so many seconds left."""
    return agent.asker(Case("desk", "TB-001", 1, None, limited(seconds)))(observation())


def error_of(agent, seconds=20.0):
    with pytest.raises(InfrastructureError) as caught:
        asked(agent, seconds)
    assert caught.value.remedy
    return caught.value


def failure_of(agent, seconds=20.0):
    with pytest.raises(AgentFailure) as caught:
        asked(agent, seconds)
    return str(caught.value)


def status(number, body="", **headers):
    return lambda request: request.send(number, body, **headers)


def test_the_observation_is_posted_and_the_answer_is_the_turn(make):
    """The server gets the observation as JSON of the published shape, and its answer is read as a turn."""
    with served() as server:
        reply = make(server.url).reply(observation())
    assert parse_turn(reply) == Turn.model_validate(GOOD)
    (path, headers, body) = server.requests[0]
    assert path == "/reply"
    assert headers["Content-Type"] == "application/json"
    assert Observation.model_validate(body) == observation()
    assert body["actions"][0]["class"] == "resolve"
    assert "mcp" not in body


def test_usage_beside_the_turn_is_reported(make):
    """An answer may carry tokens and cost beside the turn; nonsense there is an invalid reply."""
    good = {"turn": GOOD, "usage": {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.0125}}
    with served(lambda request: request.send(body=good)) as server:
        reply = asked(make(server.url))
    assert isinstance(reply, Reply)
    assert parse_turn(reply.turn) == Turn.model_validate(GOOD)
    assert reply.usage == Usage(prompt_tokens=7, completion_tokens=3, cost=Decimal("0.0125"))
    for bad in ({"prompt_tokens": -1}, {"prompt_tokens": "many"}, {"seconds": 1e400}, {"tokens": 1}, 7):
        with served(lambda request, bad=bad: request.send(body={"turn": GOOD, "usage": bad})) as server:
            reply = asked(make(server.url))
        assert isinstance(reply, Unreadable)
        assert "usage" in reply.reason
    with served(lambda request: request.send(body={"turn": GOOD, "usage": {"input_tokens": 1}})) as server:
        assert asked(make(server.url)).reason == (
            "unknown key 'usage.input_tokens'; usage has prompt_tokens, completion_tokens, seconds and cost"
        )


@pytest.mark.parametrize("body", ["<html>Hello</html>", "", "null", "[1]", "[" * 100_000, '{"a": 1, "a": 2}'])
def test_an_answer_that_is_no_turn_is_the_agents_invalid_reply(make, body):
    """Whatever comes with status 200 goes to the episode, which says what is wrong with it."""
    with (
        served(lambda request: request.send(body=body)) as server,
        pytest.raises(Exception, match="the reply"),
    ):
        parse_turn(asked(make(server.url)))


def test_an_answer_that_is_not_utf8_is_named_so(make):
    """Bytes that are no text are an invalid reply with an excerpt."""
    with served(lambda request: request.send(body=b'{"message": "\xff"}')) as server:
        reply = asked(make(server.url))
    assert reply.reason == "the reply is not UTF-8 (byte 13)"
    assert reply.excerpt == '{"message": "�"}'


def test_a_flood_is_cut_off(make):
    """Of an endless answer one megabyte is read; then the connection is closed and the reply is invalid."""
    sent = []

    def flood(request):
        request.send_response(200)
        request.end_headers()
        try:
            sent.extend(request.wfile.write(b"x" * 100_000) for _ in range(1_000))
        except OSError:
            sent.append(0)

    with served(flood) as server:
        reply = asked(make(server.url))
        deadline = time.monotonic() + 5
        while 0 not in sent and time.monotonic() < deadline:
            time.sleep(0.01)
    assert reply.reason == "the reply has more than 1,000,000 bytes"
    assert len(reply.excerpt) == 2_000
    assert 0 in sent
    assert sum(sent) < 20_000_000


def test_a_compressed_answer_is_not_unpacked(make):
    """No compression is asked for, and none is unpacked: a small answer could fill the memory."""
    with served(lambda request: request.send(Content_Encoding="gzip")) as server:
        reply = asked(make(server.url))
    assert server.requests[0][1]["Accept-Encoding"] == "identity"
    assert "compressed (gzip)" in reply.reason


def drip_headers(request):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    drip(request)


def drip_body(request):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    drip(request)


def drip(request):
    try:
        while not request.server.released.wait(0.05):
            request.wfile.write(b"x")
            request.wfile.flush()
    except OSError:
        pass


@pytest.mark.parametrize(
    "answer", [drip_headers, drip_body, lambda request: request.server.released.wait(10)]
)
def test_a_server_that_hangs_or_drips_is_left_at_the_limit(make, answer):
    """The time that an episode has left bounds the whole exchange and not only each read."""
    with served(answer) as server:
        begin = time.monotonic()
        assert "no whole answer within 0." in failure_of(make(server.url), 0.4)
        assert time.monotonic() - begin < 2


def test_the_option_timeout_bounds_one_reply(make):
    """``timeout`` of an agent file ends a reply before the episode does, and the agent failed."""
    with served(lambda request: request.server.released.wait(10)) as server:
        begin = time.monotonic()
        assert "no whole answer within 0.3 s" in failure_of(make(server.url, timeout=0.3))
        assert time.monotonic() - begin < 2


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (401, "unauthorised"),
        (403, "unauthorised"),
        (404, "not_found"),
        (405, "method_not_allowed"),
        (407, "proxy_unauthorised"),
    ],
)
def test_a_status_of_a_wrong_set_up_is_an_error(make, number, cause):
    """No access, no such path: this says nothing about the agent, and the remedy says what to do."""
    with served(status(number, "go away")) as server:
        error = error_of(make(server.url))
    assert error.cause == cause
    assert f"{server.url}: status {number}" in error.message
    assert "go away" in error.message
    assert len(server.requests) == 1


@pytest.mark.parametrize("number", [401, 403])
def test_a_header_that_was_sent_and_refused_is_named_by_its_variable(make, monkeypatch, number):
    """Whoever set the header is told which variable to correct, and how a whole value looks."""
    monkeypatch.setenv("DESK_AUTHORIZATION", SECRET)
    with served(status(number, "go away")) as server:
        error = error_of(make(server.url, headers={"Authorization": "DESK_AUTHORIZATION"}))
    assert error.remedy == (
        "correct DESK_AUTHORIZATION: the header's whole value is wanted, such as 'Bearer ' with the token behind it"
    )


def test_of_an_error_page_only_the_words_are_quoted(make):
    """Markup, styles and scripts of a page for people are left out, and a secret that it escapes stays hidden."""
    page = f"<!DOCTYPE html><style>p {{x}}</style><h1>Gateway\n&amp; gone</h1><p>{SECRET}</p><script>a < b"
    with served(status(502, page)) as server:
        text = failure_of(make(server.url.replace("//", f"//ann:{SECRET}@")))
    assert text.endswith("502 Bad Gateway: Gateway & gone ***")


@pytest.mark.parametrize("number", [400, 413, 422, 500, 502, 503, 504, 599])
def test_a_status_of_a_failure_is_the_agents(make, number):
    """A refused observation and a crash are failures of the agent, with a bounded part of what was said."""
    with served(status(number, f"it broke {'x' * 5_000}")) as server:
        text = failure_of(make(server.url))
    assert f"status {number}" in text
    assert "it broke xxx" in text
    assert len(text) < 1_000
    assert len(server.requests) == 1


def test_a_redirect_is_not_followed_and_named_without_secrets(make):
    """A redirect is an error that says where it leads, without password or query."""
    with served() as other:
        target = other.url.replace("//", f"//ann:{SECRET}@") + f"?token={SECRET}"
        with served(status(302, Location=target)) as server:
            error = error_of(make(server.url))
    assert error.cause == "redirect"
    assert f"to http://***@127.0.0.1:{other.server_port}/reply" in error.message
    assert SECRET not in str(error)
    assert other.requests == []


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_nothing_there_is_found_by_the_check(make):
    """Where nothing listens, or the name is unknown, the check says so within seconds and without a request."""
    begin = time.monotonic()
    with pytest.raises(InfrastructureError, match="nothing answers there") as caught:
        make(f"http://127.0.0.1:{free_port()}/").check()
    assert caught.value.cause == "connection_refused"
    with pytest.raises(InfrastructureError) as caught:
        make("http://no-such-host.invalid/").check()
    assert caught.value.cause in {"unknown_host", "unreachable"}
    assert time.monotonic() - begin < 12
    with served() as server:
        make(server.url).check()
    assert server.requests == []


def test_a_refused_connection_is_tried_again_and_then_an_error(make):
    """A server that restarts is waited for as often as ``retries`` says; in the end nothing is said of the agent."""
    error = error_of(make(f"http://127.0.0.1:{free_port()}/", retries=1))
    assert error.cause == "connection_refused"
    assert "after 1 retry" in error.message
    assert "retr" not in error_of(make(f"http://127.0.0.1:{free_port()}/", retries=0)).message


@pytest.mark.parametrize("number", [429, 503])
def test_a_busy_server_is_asked_again_when_it_says(make, number):
    """429, and 503 with Retry-After, are repeated, and the repetitions are counted."""
    begin = []

    def busy_once(request):
        begin.append(time.monotonic())
        request.send(number, Retry_After="1") if len(begin) == 1 else request.send()

    with served(busy_once) as server:
        reply = asked(make(server.url))
    assert reply.usage.retries == 1
    assert parse_turn(reply.turn).action == "answer"
    assert begin[1] - begin[0] >= 1


def test_a_server_that_stays_busy_failed(make):
    """When the repetitions are used up, the agent failed: it is the system under test."""
    with served(status(429, "later")) as server:
        text = failure_of(make(server.url, retries=1))
    assert "status 429" in text
    assert "after 1 retry" in text
    assert len(server.requests) == 2


def test_a_wait_beyond_the_limit_is_not_begun(make):
    """A server that asks to wait longer than the episode lasts ends the reply at once."""
    with served(status(503, "later", Retry_After="60")) as server:
        begin = time.monotonic()
        text = failure_of(make(server.url), 3)
        assert time.monotonic() - begin < 1
    assert "asked to wait 60 s" in text


def test_a_lost_connection_is_tried_again(make):
    """A connection that goes away before an answer is repeated, and an agent that keeps doing so failed."""
    count = []

    def lost_once(request):
        count.append(1)
        if len(count) == 1:
            request.close_connection = True
        else:
            request.send()

    with served(lost_once) as server:
        assert asked(make(server.url)).usage.retries == 1
    with raw_server(b"", reset=True) as url:
        text = failure_of(make(f"{url}/", retries=1))
    assert "connection was lost" in text
    assert "after 1 retry" in text


def test_a_cut_answer_is_the_agents_failure(make):
    """An answer that breaks off is not repeated; what came of it is shown."""

    def cut(request):
        request.send(body='{"action": "ans', length=500)
        request.close_connection = True

    with served(cut) as server:
        text = failure_of(make(server.url))
    assert "the answer broke off" in text
    assert '{"action": "ans' in text
    assert len(server.requests) == 1


def test_something_else_than_http_is_named(make):
    """What does not speak HTTP failed, with a hint to the address."""
    with raw_server(b"220 mail.example.com ESMTP\r\n\r\n") as url:
        assert "no answer over HTTP" in failure_of(make(f"{url}/"))


@pytest.fixture
def authority(tmp_path):
    """Return a CA with its certificate in a file, and a server's TLS settings signed by it."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    return context


def test_certificates_are_verified(make, authority):
    """A certificate of an unknown CA is refused; ``ca_file``, relative to the agent file, makes it known."""
    with served(tls=authority) as server:
        error = error_of(make(server.url))
        assert error.cause == "tls"
        assert "ca_file" in error.remedy
        assert server.requests == []
        reply = asked(make(server.url, ca_file="ca.pem"))
        assert parse_turn(reply) == Turn.model_validate(GOOD)
        wrong_name = make(server.url.replace("127.0.0.1", "localhost"), ca_file="ca.pem")
        assert error_of(wrong_name).remedy == "use the host name that the certificate is for"


def test_https_to_a_plain_server_says_so(make):
    """TLS to a server that speaks plain HTTP is an error that suggests http://."""
    with served() as server:
        error = error_of(make(server.url.replace("http:", "https:")))
    assert error.cause == "tls"
    assert "http://" in error.remedy


def test_a_bad_ca_file_is_a_usage_error(make, tmp_path):
    """A CA file that is missing or no certificate is named when the agent is made."""
    (tmp_path / "empty.pem").write_text("nothing")
    for file in ("missing.pem", "empty.pem"):
        with pytest.raises(UsageError, match=f"ca_file: .*{file}.* PEM"):
            make("https://127.0.0.1:1/", ca_file=file)


def test_headers_come_from_the_environment(make, monkeypatch):
    """The values of headers are environment variables; a missing one is a usage error that names it."""
    monkeypatch.setenv("DESK_KEY", f"Bearer {SECRET}")
    with served() as server:
        agent = make(server.url, {"Authorization": "DESK_KEY"})
        asked(agent)
    assert server.requests[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert SECRET in agent.secrets()
    assert SECRET not in json.dumps(agent.fingerprint())
    assert agent.fingerprint()["headers"] == ["Authorization"]
    monkeypatch.delenv("DESK_KEY")
    with pytest.raises(
        UsageError, match="header Authorization: the environment variable DESK_KEY is not set"
    ):
        make(server.url, {"Authorization": "DESK_KEY"})
    monkeypatch.setenv("DESK_KEY", f"two\nlines {SECRET}")
    with pytest.raises(UsageError, match="not plain text") as caught:
        make(server.url, {"Authorization": "DESK_KEY"})
    assert SECRET not in str(caught.value)


def test_user_and_password_become_basic_auth(make):
    """What stands before the @ goes as basic auth, and is shown nowhere."""
    with served(status(500, "no")) as server:
        agent = make(server.url.replace("//", f"//ann:{SECRET}%21@") + f"?api_key={SECRET}q")
        text = failure_of(agent)
    (path, headers, _) = server.requests[0]
    assert path == f"/reply?api_key={SECRET}q"
    assert headers["Authorization"].startswith("Basic ")
    assert {f"{SECRET}!", f"{SECRET}q", headers["Authorization"].removeprefix("Basic ")} <= {*agent.secrets()}
    assert SECRET not in text + json.dumps(agent.fingerprint())
    assert agent.fingerprint()["address"] == server.url


def test_half_a_secret_does_not_slip_by(make, monkeypatch):
    """A server that quotes what was sent is cut to size only after the secret in it was blanked."""
    monkeypatch.setenv("DESK_KEY", f"Bearer {SECRET}")
    with served(lambda request: request.send(500, "x" * 490 + request.headers["Authorization"])) as server:
        text = failure_of(make(server.url, {"Authorization": "DESK_KEY"}))
    assert "x" * 490 in text
    assert SECRET[:3] not in text


def test_ordinary_words_of_the_query_are_no_secrets(make):
    """A plain word or date in the query stays readable in replies; blanking it would change what the agent said."""
    agent = make(f"http://127.0.0.1:1/?lang=customer-support&day=2026-03-14&sig=plainword&k={SECRET}")
    assert agent.secrets() == ("plainword", SECRET)


def test_no_cookies_go_from_one_reply_to_the_next(make):
    """A cookie that the server sets does not come back: it would carry state between episodes."""
    with served(lambda request: request.send(Set_Cookie="session=1; Path=/")) as server:
        agent = make(server.url)
        asked(agent)
        asked(agent)
    assert "Cookie" not in server.requests[1][1]


def test_proxies_are_for_other_machines_only(make, monkeypatch):
    """The environment's proxy serves remote addresses; loopback is asked directly."""
    with served() as proxy, served() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.server_port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        asked(make(server.url))
        asked(make(server.url.replace("127.0.0.1", "localhost")))
        assert (len(server.requests), len(proxy.requests)) == (2, 0)
        remote = make("http://support.invalid/reply")
        remote.check()
        asked(remote)
        assert proxy.requests[0][0] == "http://support.invalid/reply"
    monkeypatch.setenv("HTTP_PROXY", "nonsense://127.0.0.1")
    with pytest.raises(UsageError, match="proxy of the environment"):
        make("http://support.invalid/reply")


def test_an_agent_pickles_by_its_spec(make):
    """An agent travels to another process as its spec, and works there."""
    with served() as server:
        copy = pickle.loads(pickle.dumps(make(server.url)))
        assert parse_turn(asked(copy)).action == "answer"
        copy.close()


def refused(agent):
    with contextlib.suppress(concurrent.futures.CancelledError):
        asked(agent)


def test_closing_breaks_off_what_is_under_way(make):
    """``close`` returns at once although a request hangs, leaves no thread, and later requests are refused."""
    with served(lambda request: request.server.released.wait(20)) as server:
        agent = make(server.url)
        thread = threading.Thread(target=refused, args=(agent,), daemon=True)
        thread.start()
        while not server.requests:
            time.sleep(0.01)
        begin = time.monotonic()
        agent.close()
        thread.join(2)
        assert time.monotonic() - begin < 2
        assert not thread.is_alive()
        assert "supportbench-http" not in {thread.name for thread in threading.enumerate()}
        assert "the run is over" in failure_of(agent)


def test_eight_episodes_run_at_a_time(pytester, plain):
    """The window of an http agent is eight, so forty slow replies take a fraction of their sum."""
    running, most = [], []

    def slow(request):
        running.append(1)
        most.append(len(running))
        time.sleep(0.1)
        running.pop()
        request.send()

    project(pytester, range(1, 41))
    with served(slow) as server:
        result = plain(f"--supportbench-agent={server.url}")
    result.assert_outcomes(passed=40)
    assert 6 <= max(most) <= 8


def test_what_a_server_does_decides_each_verdict_alone(pytester, plain):
    """A crash, a hang and a wrong path are told apart in one run, and the other scenarios are still judged."""

    def by_case(request):
        number = int(request.body["customer"]["message"].split()[-1])
        if number == 2:
            request.send(500, "Traceback: boom")
        elif number == 3:
            request.server.released.wait(20)
        elif number == 4:
            request.send(404)
        else:
            request.send()

    project(pytester, range(1, 6))
    with served(by_case) as server:
        result = plain(f"--supportbench-agent={server.url}", "--supportbench-timeout=1")
    result.assert_outcomes(passed=2, failed=2, errors=1)
    assert result.ret == 1
    run = last_run(pytester)
    assert verdicts(run) == {
        "TB-001": "passed", "TB-002": "failed", "TB-003": "failed", "TB-004": "error", "TB-005": "passed"
    }  # fmt: skip
    endings = {line["scenario"]: line["ending"] for line in run.episodes}
    assert endings["TB-002"] == "agent_failed"
    assert endings["TB-003"] == "time_limit"
    assert "status 500 Internal Server Error: Traceback: boom" in " ".join(result.stdout.str().split())


def test_an_agent_file_asks_for_the_tools_over_mcp(pytester, plain):
    """With ``mcp: true`` each observation has the address of its own episode's tools, whose token comes out nowhere."""
    project(pytester, range(1, 4))
    with served() as server:
        (pytester.path / "desk.yaml").write_text(
            f"kind: http\ntarget: {server.url}\noptions: {{mcp: true}}\n"
        )
        result = plain("--supportbench-agent=desk.yaml")
    result.assert_outcomes(passed=3)
    addresses = [body["mcp"] for _, _, body in server.requests]
    assert {address["url"].partition(":")[0] for address in addresses} == {"http"}
    assert len({address["token"] for address in addresses}) == 3
    stored = (pytester.path / ".supportbench" / "last-run.jsonl").read_text(encoding="utf-8")
    assert not any(address["token"] in stored for address in addresses)
