"""What is stored of a reply, what it is found by, and what is said where it does not fit any more."""

from __future__ import annotations

import enum
import json
import pickle
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from desk import bind, call, refund
from stubs import StubAgent

from pytest_supportbench.agents import parse_spec
from pytest_supportbench.agents.replay import ReplayAgent
from pytest_supportbench.cassette_changes import changes_in_words
from pytest_supportbench.cassette_counts import cassettes_used
from pytest_supportbench.cassette_file import MAX_BYTES, Tape, change, file_name, read
from pytest_supportbench.cassette_folders import Folders
from pytest_supportbench.cassette_key import canonical, folder_name, identity, is_recorded
from pytest_supportbench.cassette_record import CassetteRecorder
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.protocol import Reply, Step, Usage
from pytest_supportbench.records import Limits
from pytest_supportbench.runner import Job, Runner

if TYPE_CHECKING:
    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.results import Result

FINAL = {"action": "refund", "message": "I refunded 49.00 USD."}
LOOK = ("get_charge", {"charge_id": "ch_204"})


def spec(text: str) -> Any:
    return parse_spec(text, Path("/nowhere"))


class Looper(StubAgent):
    """Runs its own tool loop: looks the charge up, refunds it, and answers, all within one reply."""

    def __init__(self) -> None:
        super().__init__(None)
        self.spec = spec("python:looper:reply")
        self.asked = 0

    def asker(self, case: Any) -> Any:
        def reply(observation: Any) -> Any:
            self.asked += 1
            found = case.tools.call(*LOOK)
            status = found.result["status"] if found.result else "none"
            case.tools.call("issue_refund", refund()["arguments"])
            return Reply(
                turn={**FINAL, "message": f"I refunded 49.00 USD; it was {status}."},
                usage=Usage(prompt_tokens=7, completion_tokens=3, retries=1),
            )

        return reply


def played(bound: BoundScenario, agent: Any, folder: Path, mode: str, trial: int = 1) -> Result:
    """Run one episode of an agent with a cassette."""
    if mode == "none":
        agent = ReplayAgent(agent.spec, Path(), folder=folder / folder_name(agent.spec))
        runner = Runner({"a": agent}, Limits())
    else:
        recorder = CassetteRecorder(folder, mode, {"a": agent.spec})  # type: ignore[arg-type]
        runner = Runner({"a": agent}, Limits(), recorder=recorder)
    return runner.run(Job("k", bound, "a", trial))


def stored(folder: Path) -> Path:
    """Return the only scenario's file below a folder."""
    (path,) = folder.glob("*/desk/*.json")
    return path


def test_a_change_of_one_word_is_shown_as_that_word():
    """A text that differs in a word is shown by the word, in the form of a word diff, with its path."""
    old = {"policies": [{"id": "refund-window", "text": "14 days"}, {"id": "other", "text": "same"}]}
    new = {"policies": [{"id": "other", "text": "same"}, {"id": "refund-window", "text": "14 weeks"}]}
    assert changes_in_words(old, new) == (
        'policies.refund-window.text: "14 [-days-] {+weeks+}"; policies: the order changed'
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"a": 1}, {"a": 1.0}, "a: 1 → 1.0"),
        ({"a": 1}, {"a": True}, "a: 1 → true"),
        ({"a": 1}, {}, "a: gone, it was 1"),
        ({}, {"a": None}, "a: new, null"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1]: 2 → 3"),
        ({"a": "x y"}, {"a": "x  y"}, 'a: "only the white space changed"'),
        ({"a": "text"}, {"a": ["text"]}, 'a: "text" → ["text"]'),
        ({"a": ["text"]}, {"a": "text"}, 'a: ["text"] → "text"'),
        ({"a": [{"id": "x"}, {"id": "x"}]}, {"a": [{"id": "y"}, {"id": "x"}]}, 'a[0].id: "[-x-] {+y+}"'),
        ({"a": 1}, {"a": 1}, ""),
    ],
)
def test_every_kind_of_change_is_named_with_its_place(old, new, words):
    """Numbers, parts that came or went, items of lists and texts each say where and what."""
    assert changes_in_words(old, new) == words


def test_what_is_said_of_a_change_is_bounded():
    """Hundreds of changes and texts of many words are cut, in a moment."""
    many = changes_in_words({str(n): n for n in range(500)}, {})
    assert many.endswith("; and more")
    assert many.count("gone") == 5
    long = changes_in_words({"a": "one " * 50_000}, {"a": "two " * 50_000})
    assert len(long) < 300
    context = changes_in_words({"a": f"{'w ' * 400}old {'w ' * 400}"}, {"a": f"{'w ' * 400}new {'w ' * 400}"})
    assert context == 'a: "… w w w [-old-] {+new+} w w w …"'


WORDS = [f"word{number}" for number in range(1_200)]
REFUND = "退款政策" * 60


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (" ".join(WORDS), " ".join([*WORDS[:900], "X", *WORDS[901:]]), "[-word900-] {+X+} word901"),
        (f"{REFUND}十四天", f"{REFUND}三十天", "十四天-] {+…"),
        (
            f"see http://x/{'a' * 300} in 14 days",
            f"see http://x/{'a' * 300} in 30 days",
            " in [-14-] {+30+} days",
        ),
        ("caf\u00e9 closes", "cafe\u0301 closes", "[-caf\\xe9-] {+cafe\\u0301+} closes"),
        ("14 days", "14\u200b days", "[-14-] {+14\\u200b+} days"),
        ("14 days", "14\u00a0days", "[-14 days-] {+14\\xa0days+}"),
        ("old " * 1_500, "new " * 1_500, "[-old old"),
    ],
)
def test_the_change_itself_is_shown_however_long_or_alike_the_texts_are(old, new, words):
    """A change deep in a long text, in one without spaces, or of what nobody sees, is in what is said of it."""
    said = changes_in_words({"a": old}, {"a": new})
    assert words in said
    assert len(said) < 300


def test_an_item_that_came_first_leaves_the_others_unchanged():
    """Notes have no id, so they are aligned: one put in front is the only one that is reported."""
    notes = [{"date": "2026-01-01", "text": "A"}, {"date": "2026-01-02", "text": "B"}]
    first = {"date": "2025-01-01", "text": "N"}
    assert changes_in_words({"memory": notes}, {"memory": [first, *notes]}) == (
        'memory[0]: new, {"date": "2025-01-01", "text": "N"}'
    )
    assert changes_in_words({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}) == "a: the order changed"


def test_an_agent_is_told_by_what_its_replies_depend_on():
    """Host, time-outs, retries and prices are no part of an agent's identity; model, seed and mode are."""
    plain = folder_name(spec("ollama:m"))
    assert folder_name(spec("ollama:m?host=http://elsewhere:1&timeout=3&retries=9&keep_alive=1m")) == plain
    assert plain.startswith("ollama-m-")
    others = {
        "ollama:m?mode=tools",
        "ollama:m?seed=8",
        "ollama:m?without=memory",
        "ollama:n",
        "python:m:reply",
    }
    assert len({folder_name(spec(text)) for text in others} | {plain}) == 6
    prompted = replace(spec("ollama:m"), prompt="Be brief.", prompt_path="prompts/a.md", name="brief")
    assert identity(prompted) != identity(spec("ollama:m"))
    moved = replace(prompted, prompt_path="elsewhere/b.md", name="other")
    assert identity(moved) == identity(prompted)


def test_passwords_and_keys_are_no_part_of_an_identity():
    """A new password or key is the same agent, and none of them can be found or guessed from what is stored."""
    one = identity(spec("http://user:first-password@desk.example/reply?token=abcdefgh"))
    two = identity(spec("http://user:other-password@desk.example/reply?token=ijklmnop"))
    assert one == two
    assert "password" not in canonical(one)
    assert "abcdefgh" not in canonical(one)
    keyed = replace(spec("ollama:m"), headers=(("X-Key", "DESK_KEY"),))
    assert identity(keyed) == identity(spec("ollama:m"))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("python:m:Desk?keyword=a", "python:m:Desk?keyword=b"),
        ("python:m:Desk?monkey=a", "python:m:Desk?monkey=b"),
        ("python:m:Desk?tokenizer=a", "python:m:Desk?tokenizer=b"),
        ("python:m:Desk?sort_key=a", "python:m:Desk?sort_key=b"),
        ("python:m:Desk?who=ann:x@y", "python:m:Desk?who=bob:z@y"),
        ("command:python a.py --token-budget 5", "command:python a.py --token-budget 500"),
        ("command:python a.py --author x", "command:python a.py --author y"),
        ("http://desk.example/reply?monkey=a", "http://desk.example/reply?monkey=b"),
    ],
)
def test_what_only_looks_like_a_secret_tells_agents_apart(one, two):
    """What is blanked where it is shown still counts, unless it is a credential by its whole name."""
    assert folder_name(spec(one)) != folder_name(spec(two))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("python:m:Desk?api_key=a", "python:m:Desk?api_key=b"),
        ("python:m:Desk?password=a", "python:m:Desk?password=b"),
        ("python:m:Desk?url=http://ann:x@y", "python:m:Desk?url=http://ann:z@y"),
        ("command:python a.py --api-key first", "command:python a.py --api-key second"),
        ("command:python a.py --token=first", "command:python a.py --token=second"),
        ("command:env DESK_API_KEY=first python a.py", "command:env DESK_API_KEY=second python a.py"),
    ],
)
def test_a_credential_is_no_part_of_who_an_agent_is(one, two):
    """Neither the value nor a hash of it is stored, and a new one is the same agent."""
    assert identity(spec(one)) == identity(spec(two))


def folders_of(*texts: str) -> list[str]:
    """Return the names of the folders of agents in one run, in the order of the agents."""
    agents = {str(number): spec(text) for number, text in enumerate(texts)}
    folders = Folders(Path("tapes"), agents)
    return [folders.of(name, agent).name for name, agent in agents.items()]


def test_agents_that_differ_only_in_their_server_are_told_apart_by_it():
    """Two of one identity in one run have folders that do not depend on their order; twice the same are numbered."""
    one, two = "ollama:m?host=http://a:1", "ollama:m?host=http://b:1"
    assert folders_of(one, two) == folders_of(two, one)[::-1]
    assert len({*folders_of(one, two)}) == 2
    assert folders_of(one) == folders_of(two)
    first, second = folders_of(one, one)
    assert second == f"{first}-2"
    quick, slow = "ollama:m?timeout=3", "ollama:m?timeout=9"
    assert folders_of(quick, slow) == folders_of(slow, quick)[::-1]


def test_agents_that_differ_only_in_a_password_are_refused():
    """Nothing that may be stored tells them apart, so their replies would be mixed up; `rules` and such have none."""
    with pytest.raises(UsageError, match="cannot tell the agents"):
        folders_of("python:m:Desk?api_key=a", "python:m:Desk?api_key=b")
    folders = Folders(Path("tapes"), {"a": spec("ollama:m?host=http://a:1")})
    with pytest.raises(UsageError, match="cannot tell the agents"):
        folders.of("given", spec("ollama:m?host=http://b:1"))
    assert folders.of("given", spec("ollama:m?host=http://a:1&timeout=3")).name == folders_of("ollama:m")[0]


def test_built_in_agents_and_replays_are_not_recorded():
    """Only agents whose replies could differ another day are stored."""
    recorded = [
        text
        for text in ("rules", "oracle", "replay:x", "local", "command:x", "mine")
        if is_recorded(spec(text))
    ]
    assert recorded == ["local", "command:x", "mine"]


def test_live_calls_are_made_again_and_give_equal_scores(tmp_path):
    """What an agent did over live tools while it worked on a reply is replayed through them, and judged equally."""
    bound, agent = bind(tmp_path, tools=["get_charge", "issue_refund"]), Looper()
    live = played(bound, agent, tmp_path / "t", "auto")
    again = played(bound, agent, tmp_path / "t", "auto")
    none = played(bound, agent, tmp_path / "t", "none")
    assert agent.asked == 1
    assert live.verdict == "passed"
    for result in (again, none):
        assert result.score == live.score
        assert [(item.tool, item.result) for item in result.episode.calls] == [
            (item.tool, item.result) for item in live.episode.calls
        ]
        assert result.episode.replayed == "yes"
        assert result.to_json()["usage"]["prompt_tokens"] == 7
        assert result.to_json()["usage"]["spent_tokens"] == 0


class Talker(Looper):
    """Says something beside its calls, two of them in one message, and decides in a message with a call."""

    def asker(self, case: Any) -> Any:
        def reply(observation: Any) -> Any:
            self.asked += 1
            first, last = Step(number=3, draft="Is it bob@example.com?"), Step(number=5, draft="So.")
            case.tools.call(*LOOK, first)
            case.tools.call(*LOOK, first)
            case.tools.call("issue_refund", refund()["arguments"], last)
            return Reply(turn=FINAL, step=last)

        return reply


def test_messages_with_their_calls_and_texts_replay_as_they_were(tmp_path):
    """Which calls stood in one message, and what it said beside them, is played and judged as it was recorded."""
    bound, agent = bind(tmp_path, tools=["get_charge", "issue_refund"]), Talker()
    live = played(bound, agent, tmp_path / "t", "auto")
    again = played(bound, agent, tmp_path / "t", "none")
    assert [(record.turn.message, len(record.turn.tool_calls)) for record in live.episode.turns] == [
        ("Is it bob@example.com?", 2),
        ("So.", 0),
        (FINAL["message"], 1),
    ]
    assert [violation.code for violation in live.score.violations] == ["disclosure"]
    assert agent.asked == 1
    assert again.score == live.score
    assert again.episode.calls == live.episode.calls
    assert [record.turn for record in again.episode.turns] == [record.turn for record in live.episode.turns]


def test_a_live_call_that_could_not_be_read_is_replayed(tmp_path):
    """It was stored without its arguments, and is refused again for the same reason, whatever the tool would take."""

    class Hasty(Looper):
        def asker(self, case: Any) -> Any:
            work = super().asker(case)

            def reply(observation: Any) -> Any:
                case.tools.call("get_charge", {"charge_id": float("nan")})
                return work(observation)

            return reply

    bound = bind(tmp_path, tools=["get_charge", "issue_refund"])
    live = played(bound, Hasty(), tmp_path / "t", "auto")
    again = played(bound, Hasty(), tmp_path / "t", "none")
    assert live.episode.calls[0].error is not None
    assert (again.episode.replayed, again.episode.calls) == ("yes", live.episode.calls)


def changed_behind_the_scenes(folder: Path) -> BoundScenario:
    """Return the scenario with another state that the first observation does not show."""
    charge = {"customer_id": "cus_1", "amount": "49.00", "currency": "USD", "status": "disputed"}
    return bind(folder, tools=["get_charge", "issue_refund"], rows={"charges": {"ch_204": charge}})


def test_a_tool_that_answers_otherwise_is_a_miss_that_names_the_field(tmp_path):
    """Where a live call gives another result than when it was recorded, ``none`` is an error that shows it."""
    agent = Looper()
    played(bind(tmp_path / "a", tools=["get_charge", "issue_refund"]), agent, tmp_path / "t", "auto")
    result = played(changed_behind_the_scenes(tmp_path / "b"), agent, tmp_path / "t", "none")
    assert result.verdict == "error"
    assert result.episode.error.cause == "cassette_miss"
    assert "get_charge.result.status" in result.episode.error.message
    assert agent.asked == 1


def test_auto_starts_an_episode_again_whose_tools_answer_otherwise(tmp_path):
    """A live call that cannot be replayed is not left behind in the episode that is then asked anew."""
    agent = Looper()
    played(bind(tmp_path / "a", tools=["get_charge", "issue_refund"]), agent, tmp_path / "t", "auto")
    bound = changed_behind_the_scenes(tmp_path / "b")
    result = played(bound, agent, tmp_path / "t", "auto")
    assert agent.asked == 2
    assert [item.tool for item in result.episode.calls] == ["get_charge", "issue_refund"]
    assert result.episode.replayed == "no"
    assert played(bound, agent, tmp_path / "t", "none").episode.replayed == "yes"


def test_a_recording_that_ends_early_is_continued(tmp_path):
    """Where only the first turns are stored, ``auto`` plays them, asks for the rest, and stores the whole."""
    bound = bind(tmp_path)
    agent = StubAgent(
        lambda seen: FINAL if seen.transcript else {"tool_calls": [call("get_charge", charge_id="x")]}
    )
    agent.spec = spec("python:two:reply")
    played(bound, agent, tmp_path / "t", "auto")
    path = stored(tmp_path / "t")
    data = json.loads(path.read_text(encoding="utf-8"))
    whole = json.dumps(data)
    del data["trials"]["1"]["replies"][1]
    path.write_text(json.dumps(data), encoding="utf-8")
    assert "ends before turn 2" in played(bound, agent, tmp_path / "t", "none").episode.error.message
    assert played(bound, agent, tmp_path / "t", "auto").episode.replayed == "partly"
    assert json.dumps(json.loads(path.read_text(encoding="utf-8"))) == whole


def test_an_infrastructure_error_is_never_stored(tmp_path):
    """A server that broke says nothing about the agent, so the next run asks again."""
    bound = bind(tmp_path)

    def down(seen: Any) -> Any:
        raise InfrastructureError("connection_refused", "nobody there")

    agent = StubAgent(down)
    agent.spec = spec("python:two:reply")
    assert played(bound, agent, tmp_path / "t", "auto").verdict == "error"
    assert not list((tmp_path / "t").rglob("*.json"))


def test_the_same_recording_is_the_same_bytes(tmp_path):
    """Recording again what did not change leaves the file as it was, so that version control sees no difference."""
    bound, agent = bind(tmp_path, tools=["get_charge", "issue_refund"]), Looper()
    played(bound, agent, tmp_path / "t", "auto", trial=2)
    played(bound, agent, tmp_path / "t", "auto", trial=1)
    first = stored(tmp_path / "t").read_bytes()
    played(bound, agent, tmp_path / "t", "all", trial=2)
    assert stored(tmp_path / "t").read_bytes() == first
    assert list(json.loads(first)["trials"]) == ["1", "2"]
    assert first.count(b'"policies"') == 1


def test_lone_surrogates_are_stored_escaped(tmp_path):
    """Text that is no Unicode is written as JSON escapes, in a file that is valid UTF-8, and comes back as it was."""
    path = tmp_path / "x.json"
    data = {"cassette": 2, "suite": "\ud800 ü", "scenario": "s", "openings": {}, "trials": {}}
    change(path, lambda: data)
    assert b"\\ud800" in path.read_bytes()
    assert "ü" in path.read_text(encoding="utf-8")
    assert read(path, Tape).suite == "\ud800 ü"


def test_a_huge_file_is_not_read(tmp_path):
    """A file beyond the bound is refused by its size."""
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(UsageError, match="more than 20,000,000 bytes"):
        read(path, Tape)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"a": "x" * MAX_BYTES}, "too large"),
        ({"a": float("nan")}, "cannot be stored"),
        ({"a": [[[]] * 2]}, None),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path, data, why):
    """A file that would be refused does not take the place of a good one."""
    path = tmp_path / "x.json"
    path.write_text("before")
    if why is None:
        change(path, lambda: data)
        assert json.loads(path.read_text()) == data
        return
    with pytest.raises(UsageError, match=why):
        change(path, lambda: data)
    assert path.read_text() == "before"


def test_what_is_nested_too_deeply_is_neither_written_nor_read(tmp_path):
    """A stored call nested hundreds deep is refused with its file before it is played, and is no agent's failure."""
    bound, agent = bind(tmp_path, tools=["get_charge", "issue_refund"]), Looper()
    played(bound, agent, tmp_path / "t", "auto")
    path = stored(tmp_path / "t")
    data = json.loads(path.read_text(encoding="utf-8"))
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    data["trials"]["1"]["replies"][0]["calls"][0]["result"] = deep
    with pytest.raises(UsageError, match="nested too deeply"):
        change(path, lambda: data)
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match=r"D-1\.json: .*nested too deeply"):
        played(bound, agent, tmp_path / "t", "none")


def test_whatever_goes_wrong_in_playing_is_no_failure_of_the_agent(tmp_path, monkeypatch):
    """A reply that is read but cannot be played is an infrastructure error that names the file."""
    bound, agent = bind(tmp_path, tools=["get_charge", "issue_refund"]), Looper()
    played(bound, agent, tmp_path / "t", "auto")
    monkeypatch.setattr("pytest_supportbench.cassette.said", lambda entry: 1 / 0)
    monkeypatch.setattr("pytest_supportbench.cassette._made_again", lambda call, tools: 1 / 0)
    result = played(bound, agent, tmp_path / "t", "none")
    assert result.verdict == "error"
    assert result.episode.error.cause == "cassette_unusable"
    assert f"{stored(tmp_path / 't').name} cannot be played" in result.episode.error.message


@pytest.mark.parametrize(
    ("edited", "where"),
    [
        ({"cassette": 1}, "cassette"),
        ({"cassette": "2"}, "cassette"),
        ({"identity": {"options": []}}, "identity.options"),
        ({"identity": {"options": None}}, "identity.options"),
        ({"identity": {"options": {"without": "rubbish"}}}, "without is 'rubbish'"),
        ({"identity": {"options": {"without": ["memory"]}}}, "identity.options.without"),
        ({"identity": {"kind": 7}}, "identity.kind"),
        ({"fingerprint": None}, "fingerprint"),
    ],
)
def test_an_edited_file_of_an_agent_is_named_with_its_field(tmp_path, edited, where):
    """What says whose replies these are is checked like the replies."""
    agent = StubAgent(lambda seen: FINAL)
    agent.spec = spec("python:two:reply")
    played(bind(tmp_path), agent, tmp_path / "t", "auto")
    path = stored(tmp_path / "t").parent.parent / "agent.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    parts = {"identity": {**data["identity"], **edited["identity"]}} if "identity" in edited else edited
    path.write_text(json.dumps({**data, **parts}), encoding="utf-8")
    with pytest.raises(UsageError, match=f"agent.json: .*{where}"):
        ReplayAgent(spec("replay:."), path.parent)


class Number(enum.IntEnum):
    """What JSON has no word for."""

    ONE = 1


def test_a_reply_is_judged_as_it_will_be_replayed(tmp_path):
    """An enumeration of the agent's own is its plain value from the start, so that live and replay agree."""
    bound = bind(tmp_path)
    agent = StubAgent(
        lambda seen: FINAL if seen.transcript else {"tool_calls": [call("get_charge", charge_id=Number.ONE)]}
    )
    agent.spec = spec("python:two:reply")
    live = played(bound, agent, tmp_path / "t", "auto")
    again = played(bound, agent, tmp_path / "t", "none")
    assert live.score == again.score
    assert [(item.status, type(item.arguments["charge_id"])) for item in live.episode.calls] == [
        (item.status, type(item.arguments["charge_id"])) for item in again.episode.calls
    ]


def test_the_order_of_fields_counts_since_agents_see_it(tmp_path):
    """A record whose fields stand in another order is another observation, and the miss says so."""
    agent = StubAgent(lambda seen: FINAL)
    agent.spec = spec("python:two:reply")
    bound = bind(tmp_path)
    played(bound, agent, tmp_path / "t", "auto")
    assert played(bound, agent, tmp_path / "t", "none").episode.replayed == "yes"
    path = stored(tmp_path / "t")
    data = json.loads(path.read_text(encoding="utf-8"))
    (opened,) = data["openings"].values()
    (customer,) = opened["account"]["customer"]
    opened["account"]["customer"] = [dict(reversed(customer.items()))]
    path.write_text(json.dumps(data), encoding="utf-8")
    error = played(bound, agent, tmp_path / "t", "none").episode.error
    assert error.cause == "cassette_miss"
    assert "account.customer.cus_1: the order changed" in error.message


def test_no_two_suites_share_a_folder_on_any_system():
    """Names that only capitals tell apart, and those that Windows keeps for devices, have names of their own."""
    names = [file_name(name) for name in ("parcels", "PARCELS", "Parcels", "con", "con.2", "parcels.")]
    assert names[0] == "parcels"
    assert len({name.lower() for name in names}) == len(names)
    assert all(name.partition(".")[0].lower() != "con" and not name.endswith(".") for name in names)
    assert file_name("TB-001", any_case=True) == "TB-001"


def test_unused_entries_are_counted_over_all_processes():
    """An entry that one process knows and another used is used; the rest is named by scenario, trial and turn."""
    note = {
        "file": "a-1/desk/S-1.json",
        "known": ["1.1", "2.1", "10.1"],
        "used": ["1.1"],
        "played": 1,
        "recorded": 0,
    }
    rows = [
        {"scenario": "S-1", "trial": 1, "cassette": {**note, "why": ""}},
        {
            "scenario": "S-1",
            "trial": 2,
            "cassette": {**note, "used": ["2.1"], "why": "x: 1 → 2", "recorded": 1},
        },
        {"scenario": "S-2", "trial": 1, "cassette": None},
        {"scenario": "S-3", "trial": 1},
    ]
    assert cassettes_used(rows) == [
        {
            "folder": "a-1",
            "played": 2,
            "recorded": 1,
            "asked_anew": [{"episode": "desk/S-1 trial 2", "why": "x: 1 → 2"}],
            "unused": ["desk/S-1 trial 10 turn 1"],
        }
    ]


def test_what_the_time_limit_cut_is_not_stored(tmp_path):
    """How far a slow agent gets depends on the machine, so a failure at the time limit is asked for again."""
    bound = bind(tmp_path)

    def slow(seen: Any) -> Any:
        time.sleep(0.05)
        return FINAL

    agent = StubAgent(slow)
    agent.spec = spec("python:slow:reply")
    recorder = CassetteRecorder(tmp_path / "t", "auto", {"a": agent.spec})
    result = Runner({"a": agent}, Limits(timeout=0.01), recorder=recorder).run(Job("k", bound, "a", 1))
    assert result.episode.ending == "time_limit"
    assert not list((tmp_path / "t").rglob("*.json"))
    assert played(bound, agent, tmp_path / "t", "auto").episode.replayed == "no"
    assert played(bound, agent, tmp_path / "t", "none").episode.replayed == "yes"


def test_a_replay_can_travel_to_another_process(tmp_path):
    """The stand-in of an agent pickles, as executors on other machines need it."""
    bound, agent = bind(tmp_path, tools=["get_charge", "issue_refund"]), Looper()
    played(bound, agent, tmp_path / "t", "auto")
    folder = tmp_path / "t" / folder_name(agent.spec)
    arrived = pickle.loads(pickle.dumps(ReplayAgent(agent.spec, Path(), folder=folder)))
    assert Runner({"a": arrived}, Limits()).run(Job("k", bound, "a", 1)).episode.replayed == "yes"
