"""Behaviour of what keeps secrets out of everything stored or shown."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from desk import bind
from hypothesis import given
from hypothesis import strategies as st
from stubs import StubAgent

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.agents.openai_access import Access
from pytest_supportbench.agents.spec_secrets import hidden, public
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.errors import AgentFailure, InfrastructureError, UsageError
from pytest_supportbench.protocol import Reply, Step, ToolCall, Turn, Unreadable, Usage
from pytest_supportbench.records import Limits
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.replies import InvalidReply, parse_turn
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.secret_values import environment_secrets, option_secrets, sent_secrets

if TYPE_CHECKING:
    from collections.abc import Callable
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
        (Reply(turn="", step=Step(number=1, draft=SECRET)), Reply(turn="", step=Step(number=1, draft="***"))),
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


def test_environment_secrets_are_told_by_name_and_look(tmp_path: Path):
    """Names that say so are taken, unless the value is a word, a path or too short."""
    found = environment_secrets(
        {
            "MY_API_KEY": "abcd-1234-efgh",
            "DB_PASSWORD": "pa55word",
            "OPENAI_APIKEY": "ijkl-5678-mnop",
            "TOKEN_MODE": "strict mode",
            "SSH_KEY_FILE": str(tmp_path / "id_1234"),
            "V_KEY": "/Abc9+dEf77QwZx",
            "KEYBOARD_LAYOUT": "up to 7 working",
            "MONKEY": "abcd-9999-efgh",
            "KEY": "a1",
            "HOME": "abcd-1234-efgh",
        }
    )
    assert set(found) == {"abcd-1234-efgh", "pa55word", "ijkl-5678-mnop", "/Abc9+dEf77QwZx"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ACCESS_TOKEN_EXPIRES", "2026-02-28"),
        ("KEY_CREATED", "2026-02-28T10:30:00+01:00"),
        ("SESSION_TOKEN_LIMIT", "12345678"),
        ("TOKEN_URL", "https://login.example.com:8443/oauth2/v2.0/token"),
        ("SECRET_NAME", "prod/desk-db"),
        ("API_KEY_FILE", "/run/secrets/desk_key"),
        ("PASSWORD_MAX_AGE", "20000000"),
    ],
)
def test_settings_beside_secrets_are_none(name: str, value: str):
    """A date, and a setting that looks ordinary, would else be blanked in the arguments of a good agent's calls."""
    assert environment_secrets({name: value}) == ()
    assert option_secrets([(name.lower(), value)]) == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASSWORD", "34567890"),
        ("API_KEY_FILE", "sk-Ab34/78xYz"),
        ("SECRET_URL", "https://hooks.example.com/services/T01AB23CD/x9Yz8Wv7"),
        ("TOKEN_NAME", "a8f3-99bc-1d2e"),
    ],
)
def test_what_looks_random_is_a_secret_whatever_its_name_ends_in(name: str, value: str):
    """A key that is put where its file or name was meant is blanked, and so is a password of digits."""
    assert environment_secrets({name: value}) == (value,)


def test_passwords_in_addresses_of_the_environment_are_secrets():
    """A proxy's or a database's password is blanked as it stands, decoded, and as it is sent."""
    found = environment_secrets({"HTTP_PROXY": "http://bob:pa%2Fss-word9@proxy:3128"})
    assert set(found) == {"pa/ss-word9", "pa%2Fss-word9", base64.b64encode(b"bob:pa/ss-word9").decode()}


def test_ordinary_words_are_secrets_only_where_a_name_says_so():
    """A tenant's or a team's name in a header would otherwise be blanked wherever the agent uses the word."""
    pairs = [
        ("X-Tenant", "issue_refund"),
        ("X-Api-Key", "correct horse"),
        ("X-Team", "b7x-99"),
        ("day", "2024-03-01"),
    ]
    assert sent_secrets(pairs) == ("correct horse", "correct", "horse", "b7x-99")


def test_options_named_like_secrets_are_secrets():
    """An option's value counts by the option's name, but for one that names a variable, and passwords in addresses."""
    options = (("api_key", "s3cret-99x"), ("key_env", "MY_KEY_9"), ("host", "http://a:pass-w0rd@h"), ("n", 3))
    assert option_secrets(options)[0] == "s3cret-99x"
    assert set(option_secrets(options)) >= {"pass-w0rd"}
    assert "MY_KEY_9" not in option_secrets(options)


KEY = "Zq/x7+Kw0pLm/TtR9&vB'n3"


@pytest.mark.parametrize(
    "spelt",
    [
        json.dumps(KEY).replace("/", "\\/")[1:-1],
        json.dumps(KEY).replace("+", "\\u002B").replace("&", "\\u0026")[1:-1],
        "".join(f"\\u{ord(char):04x}" for char in KEY),
        json.dumps(json.dumps(KEY).replace("/", "\\/")[1:-1])[1:-1],
        quote(KEY),
        quote_plus(KEY),
        re.sub("%..", lambda code: code[0].lower(), quote(KEY, safe="")),
        quote(quote(KEY, safe=""), safe=""),
        html.escape(KEY),
        html.escape(json.dumps(KEY).replace("/", "\\/")[1:-1]),
        repr(KEY)[1:-1],
    ],
)
def test_a_secret_is_found_however_it_is_spelt(spelt: str):
    """Escapes of JSON, URLs, HTML and Python are undone before a secret is looked for, also one within another."""
    redactor = Redactor([KEY])
    assert redactor.text(f'{{"a": "key {spelt}!"}}') == '{"a": "key ***!"}'
    assert redactor.reply(f'{{"a": "key {spelt}!"}}') == '{"a": "key ***!"}'


@given(st.text(min_size=8), st.text(), st.text())
def test_what_json_escaped_stays_json(secret: str, before: str, after: str):
    """Blanking the JSON text of a reply leaves JSON, whose text has the secret no more."""
    text = json.dumps({"m": f"{before} {secret} {after}"})
    said = json.loads(Redactor([secret]).reply(text))
    assert secret not in str(said.get("m", ""))


@pytest.mark.parametrize("secret", ['abcd1234"', '"abcd1234', 'abcd1234"}', 'm": "abcd1234'])
def test_a_secret_with_signs_of_json_leaves_json(secret: str):
    """A quote that ends a secret is not taken for the one that ends the text of a reply."""
    json.loads(Redactor([secret]).reply(json.dumps({"m": "abcd1234"})))
    for said in (secret, f"say {secret} now"):
        shown = json.loads(Redactor([secret]).reply(json.dumps({"m": said, "n": [said]})))
        assert shown == {"m": said.replace(secret, "***"), "n": [said.replace(secret, "***")]}


@pytest.mark.parametrize("secret", ["pä😀/wörd12", "ab+cd/ef==gh12", "x\\ '\\/'+", "\\\\\\\\\\\\\\\\"])
@pytest.mark.parametrize(
    "spell",
    [
        lambda text: json.dumps(text)[1:-1],
        lambda text: json.dumps(text).replace("/", "\\/")[1:-1],
        lambda text: json.dumps(json.dumps(text).replace("/", "\\/"))[3:-3],
        lambda text: ascii(text)[1:-1],
        lambda text: repr(text.encode())[2:-1],
        lambda text: quote(quote(text, safe=""), safe=""),
    ],
    ids=["json", "json-slash", "json-twice", "ascii", "bytes", "url-twice"],
)
def test_signs_beyond_letters_are_known_in_every_spelling(secret: str, spell: Callable[[str], str]):
    """Characters of two escapes, the bytes of UTF-8, names of HTML, and values that are mostly backslashes."""
    redactor = Redactor([secret])
    assert redactor.reply(f"key {spell(secret)}!") == "key ***!"
    assert redactor.text(f"key {spell(secret)}!") == "key ***!"


@pytest.mark.parametrize(
    "spelt", ["p&auml;&#x1F600;&sol;w&ouml;rd&plus;12&equals;", "p&amp;auml;&#128512;/wörd+12&#61;"]
)
def test_names_of_html_are_undone(spelt: str):
    """Letters and signs have names in HTML, not only those that it must escape."""
    assert Redactor(["pä😀/wörd+12="]).reply(f"key {spelt}!") == "key ***!"


def test_a_long_secret_that_repeats_itself_takes_no_time():
    """Time grows with the text, not with how often a secret's beginning stands in it."""
    begun = time.process_time()
    assert Redactor(["a1" * 4000]).text("a1" * 20_000) == "***"
    assert time.process_time() - begun < 10


def test_a_value_that_is_no_unicode_does_no_harm():
    """A variable may hold any bytes; what it is quoted to is no reason to fail."""
    assert Redactor(["key\udcff-1234"]).text("a key\udcff-1234") == "a ***"


def test_a_secret_of_several_lines_is_found_in_one_and_by_each():
    """A PEM key is blanked where its lines were joined, and where one line of it is told alone."""
    pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq9/x\nhkiG9w0BAQEFAASCx+y\n-----END KEY-----"
    redactor = Redactor([pem])
    assert redactor.text(f"got {' '.join(pem.split())}!") == "got ***!"
    assert redactor.text(f"got {pem!r}!") == "got '***'!"
    assert redactor.text("bad line hkiG9w0BAQEFAASCx+y here") == "bad line *** here"


@pytest.mark.parametrize("where", ["{}", "{}…", "{}...", "{}\n  File x", "{}; do this", "('{}')"])
def test_what_a_cut_left_of_a_secret_is_blanked(where: str):
    """Texts are cut to size in many places; six or more characters of a secret at the cut are still blanked."""
    redactor = Redactor([KEY])
    assert KEY[:9] not in redactor.text("said " + where.format(KEY[:9]))
    assert KEY[-9:] not in redactor.text(f"…{KEY[-9:]} was said")
    assert redactor.reply(Unreadable(reason="r", excerpt=f"x {KEY[:12]}")).excerpt == "x ***"


def test_words_and_whole_replies_are_no_pieces_of_a_secret():
    """What an agent replies was not cut, and a secret that begins with a word does not take the word away."""
    redactor = Redactor(["refund-ch_204-x9"])
    assert redactor.text("no refund") == "no refund"
    assert redactor.reply({"message": "about refund-ch_204"}) == {"message": "about refund-ch_204"}


def test_what_the_scenario_says_itself_is_no_secret_in_replies(tmp_path: Path):
    """A variable whose value is an amount or a name of the case does not change what the agent did."""
    message = "I refunded 49.00 USD for ch_204."
    agent = StubAgent(lambda _: {"action": "answer", "message": f"{message} {SECRET}"})
    bound = bind(tmp_path, title="About 49.00 USD for ch_204.")
    runner = Runner({"a": agent}, Limits(), secrets=("49.00 USD", SECRET))
    turn = runner.run(Job("key", bound, "a", 1)).episode.turns[0].turn
    assert turn is not None
    assert turn.message == f"{message} ***"


def test_a_part_of_what_the_scenario_says_is_a_secret_all_the_same(tmp_path: Path):
    """A password that a tracking number happens to contain is no text of the scenario."""
    agent = StubAgent(lambda _: {"action": "answer", "message": "For 123456789012: 34567890."})
    bound = bind(tmp_path, title="About tracking 123456789012.")
    runner = Runner({"a": agent}, Limits(), secrets=("34567890",))
    turn = runner.run(Job("key", bound, "a", 1)).episode.turns[0].turn
    assert turn is not None
    assert turn.message == "For 12***12: ***."


@pytest.mark.parametrize(
    "kind", [KeyboardInterrupt, GeneratorExit, SystemExit, asyncio.CancelledError, BaseException]
)
@pytest.mark.parametrize("is_async", [False, True])
def test_what_would_end_the_run_is_a_failure_of_the_agent_without_secrets(
    tmp_path: Path, kind: type[BaseException], is_async: bool
):
    """Whatever an agent raises, its episode has failed, and the text of it is blanked."""

    def reply(_: Any) -> Any:
        raise kind(f"no {SECRET}")

    async def later(observation: Any) -> Any:
        return reply(observation)

    agent = StubAgent(later if is_async else reply, is_async=is_async)
    runner = Runner({"a": agent}, Limits(), secrets=(SECRET,))
    episode = runner.run(Job("key", bind(tmp_path), "a", 1)).episode
    assert episode.ending == "agent_failed"
    assert episode.failure.startswith(f"{kind.__name__}: ")
    assert SECRET[:8] not in episode.failure


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


@pytest.mark.parametrize(
    ("command", "shown", "values"),
    [
        (
            "p -H 'Authorization: Bearer Sxx9aaa' -n 'y'",
            "p -H 'Authorization: Bearer ***' -n 'y'",
            {"Sxx9aaa"},
        ),
        ("p --token=x'Sabcdef' -q", "p --token=*** -q", {"xSabcdef"}),
        ("curl -u bob:Sabcdef99 h", "curl -u bob:*** h", {"Sabcdef99"}),
        ("p --key 'a b c' x", "p --key *** x", {"a b c"}),
        ("sh -c 'TOKEN=ab12345 p.py'", "sh -c 'TOKEN=***'", {"ab12345", "ab12345 p.py"}),
        ("p --auth Basic abcdefgh z", "p --auth Basic *** z", {"abcdefgh"}),
        ("sh -c 'p \"$MY_API_KEY\"'", "sh -c 'p \"$MY_API_KEY\"'", set()),
    ],
)
def test_a_command_is_shown_without_the_values_that_its_words_name(
    command: str, shown: str, values: set[str]
):
    """Values behind secret names are found as a shell splits the words, with quotes and behind a scheme."""
    assert public(command) == shown
    assert set(hidden(command)) == values


def test_what_an_openai_address_carries_is_secret_as_it_is_sent():
    """User and password of an address go out as one value in base64, which a server may echo."""
    access = Access(
        "http://bob:pa%2Fss-9@h/v1?tok=Qt-88&day=monday", "K", "key-77", (("X-Team", "blue"),), ()
    )
    sent = base64.b64encode(b"bob:pa/ss-9").decode()
    assert set(access.secrets()) == {"key-77", "Qt-88", "pa/ss-9", "pa%2Fss-9", sent}


@pytest.mark.parametrize("kind", ["http", "openai"])
def test_certificates_that_are_not_there_are_the_users_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    """A variable that names no file is told by its name, and is no traceback of an HTTP client."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    text = "https://127.0.0.1:9/x" if kind == "http" else "openai:m?base_url=https://127.0.0.1:9/v1&retries=0"
    seen = Conversation(bind(tmp_path), Limits(), "e").observation()
    with pytest.raises(UsageError, match=r"SSL_CERT_FILE=.*none\.pem"):
        make_agent(parse_spec(text, tmp_path), tmp_path).reply(seen)


def test_a_recorder_stores_a_fingerprint_without_secrets(tmp_path: Path):
    """A cassette holds what identifies an agent, of which its server may have made up parts."""
    stored: list[Any] = []

    class Recorder:
        def wrap(self, _case: Any, _name: str, agent: Any, ask: Any) -> Any:
            stored.extend([agent.fingerprint(), agent.spec])
            return ask

    class Served(StubAgent):
        def fingerprint(self) -> dict[str, Any]:
            return {"served_model": f"m-{SECRET}"}

    agent = Served(lambda _: {"action": "answer"})
    runner = Runner({"a": agent}, Limits(), secrets=(SECRET,), recorder=Recorder())
    runner.run(Job("key", bind(tmp_path), "a", 1))
    assert stored == [{"served_model": "m-***"}, agent.spec]
