"""What is stored of a reply, what it is found by, and what is said where it does not fit any more."""

from __future__ import annotations

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
from pytest_supportbench.cassette_file import MAX_BYTES, Tape, read
from pytest_supportbench.cassette_key import canonical, folder_name, identity, is_recorded
from pytest_supportbench.cassette_record import CassetteRecorder
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.protocol import Reply, Usage
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
    from pytest_supportbench.cassette_file import change  # noqa: PLC0415 - beside its use

    data = {"cassette": 1, "suite": "\ud800 ü", "scenario": "s", "openings": {}, "trials": {}}
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
            "asked_anew": [{"episode": "S-1 trial 2", "why": "x: 1 → 2"}],
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
