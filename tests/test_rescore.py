"""Stored episodes graded anew: the same scorer gives the same line, and what cannot be graded is refused by name."""

from __future__ import annotations

import json
import re
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from projects import scenario
from stored_runs import OPEN, SHUT, desk, stored
from stubs import StubAgent

from pytest_supportbench import rescoring
from pytest_supportbench.agents import make_agent
from pytest_supportbench.agents.spec import parse_spec
from pytest_supportbench.cli import main
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import Dialogue, drive, failed_before_start
from pytest_supportbench.errors import AgentFailure, InfrastructureError
from pytest_supportbench.evidence import evidence
from pytest_supportbench.loading import Loader
from pytest_supportbench.protocol import Reply, Step
from pytest_supportbench.records import EpisodeError, Limits
from pytest_supportbench.recount import recounted
from pytest_supportbench.results import Result, dump, run_line
from pytest_supportbench.results_file import closing_line, read_run
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scoring import SCORER_VERSION, score_episode
from pytest_supportbench.sound_scores import score_problem
from pytest_supportbench.sound_traces import trace_problem
from pytest_supportbench.stored_scenarios import Scenarios
from pytest_supportbench.suite_identity import suite_facts

NOTE = {"tool": "add_note", "arguments": {"customer_id": "cus_1", "text": "Asked for the hours."}}
REFUSES = [{"action": "decline", "message": SHUT}]
ROOT = Path(__file__).parent.parent
SUITE = ROOT / "scenarios" / "tinybench-50"
BUILT_IN = (
    "rules",
    "oracle",
    "do-nothing",
    "always-escalate",
    "always-decline",
    "always-ask",
    "call-every-tool",
    "rules?without=memory,knowledge",
)


@lru_cache
def tinybench() -> Any:
    loader = Loader()
    bounds = [loader.load(path) for path in sorted(SUITE.rglob("*.scenario.yaml"))]
    return bounds, suite_facts(loader.suites())


@pytest.fixture(scope="module")
def todays() -> Scenarios:
    return Scenarios([SUITE], {"tinybench-50"})


def write(path: Path, lines: list[Any], agents: list[Any], facts: Any) -> Path:
    """Write a finished run as pytest leaves it behind."""
    head = run_line(facts, agents, run_id="r1", trials=1, limits=Limits(), root=path.parent)
    path.write_text("".join(map(dump, (head, *lines))), encoding="utf-8")
    counts = recounted(read_run(path), ())
    last = closing_line(path, "r1", reported=set(), exit_status=1, stopped_early=False, **counts)
    with path.open("a", encoding="utf-8") as file:
        file.write(dump({**last, "unreported": []}))
    return path


def text_of(path: Path) -> list[str]:
    """Return the episode lines of a results file as they stand there."""
    return [line for line in path.read_text("utf-8").splitlines() if line.startswith('{"type":"episode"')]


def test_built_in_agents_on_tinybench_come_out_byte_for_byte(tmp_path):
    """Each episode of eight agents on all of TinyBench, graded anew by the same scorer, is the very same line."""
    bounds, facts = tinybench()
    agents = {text: make_agent(parse_spec(text, tmp_path), tmp_path) for text in BUILT_IN}
    runner = Runner(agents, Limits())
    jobs = [Job(f"{bound.scenario.id}/{name}", bound, name, 1) for bound in bounds for name in agents]
    lines = [runner.run(job).to_json() for job in jobs]
    prints = [
        {"id": name, **agent.fingerprint(), "without": sorted(agent.spec.without)}
        for name, agent in agents.items()
    ]
    path = write(tmp_path / "run.jsonl", lines, prints, facts)
    assert main(["rescore", str(path), "--scenarios", str(SUITE), "--out", str(tmp_path / "new.jsonl")]) == 0
    assert text_of(tmp_path / "new.jsonl") == text_of(path)
    assert len(text_of(path)) == 400
    assert len({line["ending"] for line in lines}) == 3


class Hostile:
    """Does what hypothesis draws: live calls, steps in any order, questions, garbage, crashes."""

    def __init__(self, data: Any, bound: Any, tools: Any) -> None:
        self.data = data
        self.tools = tools
        names = [info.name for info in tools.infos]
        turns = [
            *bound.scenario.reference,
            *(turn for item in bound.scenario.counterexamples for turn in item.turns),
        ]
        self.calls = [(call.tool, call.arguments) for turn in turns for call in turn.tool_calls]
        self.calls += [(name, {}) for name in names]
        self.calls += [("no_such_tool", {"x": "é\u2028"}), ("issue_refund", {"amount": "1e9"})]
        self.messages = [turn.message for turn in turns] + ["", "I refunded 10.00 USD.", "Ok\x00\u202e"]
        self.slots = [reply.asked_for for reply in bound.scenario.customer.replies] or ["amount"]
        self.actions = [None, *(turn.action for turn in turns), "ask_for_information", "fly"]

    def draw(self, *choices: Any) -> Any:
        return self.data.draw(st.sampled_from(choices))

    def work(self) -> None:
        for _ in range(self.data.draw(st.integers(0, 3))):
            tool, arguments = self.draw(*self.calls)
            step = self.draw(
                None, Step(number=1), Step(number=2, draft="I look."), Step(number=3, draft="Wait.")
            )
            if self.draw(True, True, True, False):
                self.tools.call(tool, arguments, step)
            else:
                self.tools.refuse(tool, "the arguments are no JSON", step)

    def __call__(self, observation: Any) -> Any:
        self.work()
        kind = self.draw("turn", "turn", "turn", "turn", "step", "garbage", "crash", "late")
        if kind == "garbage":
            return self.draw(b"\xff", "{", None, {"message": 7}, {"action": "x" * 300}, object(), "\ud800")
        if kind == "crash":
            raise self.draw(ValueError("bad \ud800"), AgentFailure("502"), SystemExit(3))
        if kind == "late":
            raise TimeoutError
        calls = [{"tool": tool, "arguments": arguments} for tool, arguments in self.pick()]
        turn = {"action": self.draw(*self.actions), "message": self.draw(*self.messages), "tool_calls": calls}
        if self.draw(True, False):
            turn["asks_for"] = [self.draw(*self.slots)]
        return Reply(turn=turn, step=Step(number=2, draft="So:")) if kind == "step" else turn

    def pick(self) -> list[Any]:
        return [self.draw(*self.calls) for _ in range(self.data.draw(st.integers(0, 3)))]


class Talkative:
    """A simulated customer, whose answers are stored and never asked for again."""

    def answer(self, brief: Any, seconds: float) -> str:
        return f"My number is 4711, {len(brief.conversation)}."


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_hostile_agent_does_comes_out_byte_for_byte(todays, data):
    """Live calls, steps, replies of customers, invalid replies, crashes and time-outs are graded as they were."""
    bounds, facts = tinybench()
    bound = data.draw(st.sampled_from(bounds))
    limits = Limits(max_turns=data.draw(st.integers(1, 4)))
    without = data.draw(st.sampled_from([(), ("memory",), ("knowledge", "memory")]))
    dialogue = Dialogue(
        Conversation(bound, limits, "x", without),
        limits,
        simulation=data.draw(st.sampled_from([None, Talkative()])),
    )
    episode = drive(dialogue, Hostile(data, bound, dialogue.tools))
    if data.draw(st.integers(0, 9)) == 0:
        episode = dialogue.out_of_time("it hung")
    result = Result(bound, "h", 1, episode, score_episode(bound, episode))
    line = json.loads(dump(result.to_json()))
    found = todays.find(line, facts[0])
    assert found.problem == ""
    assert dump(rescoring._graded(line, found, without)) == dump(line)


def test_each_kind_of_turn_is_among_what_hostile_agents_did():
    """The property above is not empty: such an agent makes live calls, asks, replies garbage, crashes and is late."""
    bounds, _ = tinybench()
    seen: set[str] = set()

    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    @given(data=st.data())
    def look(data: Any) -> None:
        bound = data.draw(st.sampled_from(bounds))
        dialogue = Dialogue(Conversation(bound, Limits(), "x"), Limits(), simulation=Talkative())
        episode = drive(dialogue, Hostile(data, bound, dialogue.tools))
        seen.add(episode.ending)
        seen.update(f"call {call.status}" for call in episode.calls)
        for record in episode.turns:
            seen.update({"live"} if record.live else set())
            seen.update({"invalid"} if record.invalid else set())
            seen.update({"simulated" if record.simulated else "scripted"} if record.customer_reply else set())

    look()
    assert seen >= {"acted", "invalid_reply", "agent_failed", "live", "invalid", "simulated", "scripted"}
    assert seen >= {"call ok", "call error", "call refused"}


def test_errors_stay_and_failures_of_the_agent_stay_failures(tmp_path, capsys):
    """An infrastructure error is kept as it is; a crash of the agent is graded as the crash that it was."""
    folder = desk(tmp_path, (1, 2))
    loader = Loader()
    first, second = (loader.load(folder / f"case00{number}.scenario.yaml") for number in (1, 2))
    broken = Result(
        first, "a", 1, failed_before_start(first, EpisodeError("refused", "no", "start it")), None
    )

    def crash(observation: Any) -> Any:
        raise AgentFailure("502 from the bot")

    runner = Runner({"a": StubAgent(crash)}, Limits())
    crashed = runner.run(Job("k", second, "a", 1))
    lines = [broken.to_json(), crashed.to_json()]
    path = write(tmp_path / "run.jsonl", lines, [{"id": "a", "kind": "stub"}], suite_facts(loader.suites()))
    assert main(["rescore", str(path), "--scenarios", str(folder)]) == 0
    again = read_run(tmp_path / "run.rescored.jsonl")
    assert [line["verdict"] for line in again.episodes] == ["error", "failed"]
    assert again.episodes[1]["failure"] == "502 from the bot"
    assert text_of(tmp_path / "run.rescored.jsonl") == text_of(path)
    assert again.summary["exit_status"] == 1
    with pytest.raises(InfrastructureError):
        raise InfrastructureError("refused", "no")


def regraded(line: Any) -> Any:
    """Return an episode line as another scorer might have graded it: what passed failed, and no explanation."""
    dimensions = {name: {"passed": False, "checks": []} for name in line["dimensions"]}
    return {
        **line,
        "verdict": "failed",
        "dimensions": dimensions,
        "strict": False,
        "strict_effects": False,
        "violations": [{"code": "disclosure", "basis": "text", "evidence": "x"}],
        "explanation": {"share": 0.0, "calibrated": False},
    }


@pytest.fixture
def old(tmp_path, monkeypatch):
    """Return a run of two scenarios that an older scorer graded otherwise; one passes today."""
    folder = desk(tmp_path, (1, 2))
    path = stored(folder, tmp_path / "old.jsonl", [(1, "a", OPEN), (2, "a", REFUSES)], scorer="1")
    run = read_run(path)
    lines = [{**regraded(line), "trial": 1} for line in run.episodes]
    path = write(path, lines, [{"id": "a", "kind": "python"}], run.run["suites"])
    text = path.read_text("utf-8")
    path.write_text(text.replace(f'"scorer":"{SCORER_VERSION}"', '"scorer":"1"', 1), "utf-8")
    monkeypatch.chdir(tmp_path)
    return path


def test_an_old_run_gets_todays_scores_and_says_so(old, capsys):
    """The new file has today's scorer, where it comes from, and counts anew; what changed is told by name."""
    assert main(["rescore", str(old)]) == 0
    told = capsys.readouterr().out
    assert "desk/TB-001 of a, trial 1: failed before, passed now" in told
    assert "1 verdict changed:" in told
    run = read_run(old.with_name("old.rescored.jsonl"))
    assert (run.run["scorer"], run.run["rescored_from"]) == (SCORER_VERSION, {"run": "r1", "scorer": "1"})
    assert [line["verdict"] for line in run.episodes] == ["passed", "failed"]
    assert run.summary["verdicts"] == {"passed": 1, "failed": 1, "error": 0}
    assert run.summary["agents"][0]["strict"] == [1, 2]
    (found,) = evidence(run)
    assert (found.complete, found.conditions.scorer) == (True, SCORER_VERSION)


def test_the_original_is_never_touched(old, capsys):
    """The new file stands beside the old one, and --out may not name what is read or what is no results file."""
    before = old.read_bytes()
    (old.parent / "notes.txt").write_text("mine", "utf-8")
    assert main(["rescore", str(old), "--out", str(old)]) == 4
    assert main(["rescore", str(old), "--out", "notes.txt"]) == 4
    assert "no results file" in capsys.readouterr().err
    assert main(["rescore", str(old)]) == 0
    assert main(["rescore", str(old)]) == 0
    assert old.read_bytes() == before
    assert (old.parent / "notes.txt").read_text("utf-8") == "mine"


def test_several_files_go_into_a_folder(old, tmp_path, capsys):
    """With several results --out is a folder; two that would become one file are refused."""
    other = tmp_path / "more" / "old.jsonl"
    other.parent.mkdir()
    shutil.copy(old, other)
    assert main(["rescore", str(old), str(other)]) == 0
    assert other.with_name("old.rescored.jsonl").is_file()
    assert main(["rescore", str(old), str(other), "--out", str(tmp_path / "both")]) == 4
    shutil.copy(old, other.with_name("new.jsonl"))
    assert (
        main(["rescore", str(old), str(other.with_name("new.jsonl")), "--out", str(tmp_path / "both")]) == 0
    )
    names = sorted(path.name for path in (tmp_path / "both").iterdir())
    assert names == ["new.rescored.jsonl", "old.rescored.jsonl"]


def test_a_run_without_end_keeps_none(old, capsys):
    """What was killed is graded as far as it came, and is as incomplete as before."""
    lines = old.read_text("utf-8").splitlines(keepends=True)
    old.write_text("".join(lines[:-2]), "utf-8")
    assert main(["rescore", str(old)]) == 0
    run = read_run(old.with_name("old.rescored.jsonl"))
    assert (len(run.episodes), run.complete) == (1, False)


def with_summary(path: Path, **changes: Any) -> None:
    """Put other values into the closing line of a results file."""
    *lines, last = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines, dump({**json.loads(last), **changes})]), "utf-8")


def test_what_scores_do_not_touch_is_kept(old, capsys):
    """Unreported episodes stay out of the counts, and what was spent and stopped is as it was."""
    budget = {"max_tokens": 9, "spent_tokens": 1, "used_up": False, "agents_without_tokens": []}
    with_summary(old, unreported=["a/desk/TB-002/1"], stopped_early=True, budget=budget)
    with_summary(old, agents=recounted(read_run(old), ())["agents"])
    assert main(["rescore", str(old)]) == 0
    run = read_run(old.with_name("old.rescored.jsonl"))
    assert [line.get("unreported", False) for line in run.episodes] == [False, True]
    assert run.summary["verdicts"] == {"passed": 1, "failed": 0, "error": 0}
    assert (run.summary["unreported"], run.summary["budget"]) == (["a/desk/TB-002/1"], budget)
    assert run.summary["stopped_early"]
    assert '"unreported":true' not in "".join(text_of(old.with_name("old.rescored.jsonl")))


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"exit_status": 0, "verdicts": {"passed": 2, "failed": 0, "error": 0}}, 1),
        ({"exit_status": 0, "verdicts": {"passed": 1, "failed": 1, "error": 0}}, 0),
        ({"exit_status": 11, "verdicts": {"passed": 1, "failed": 1, "error": 0}, "gate": {"agent": "a"}}, 1),
    ],
    ids=["more failures", "failures that were expected", "a gate's verdict on the old scores"],
)
def test_the_exit_status_is_what_the_scores_make_it(old, capsys, changes, status):
    """Where as many fail as before pytest's own status holds; else, and after a gate, verdicts make it."""
    with_summary(old, **changes)
    assert main(["rescore", str(old)]) == 0
    summary = read_run(old.with_name("old.rescored.jsonl")).summary
    assert (summary["exit_status"], summary["gate"]) == (status, None)


def test_a_changed_scenario_is_refused_by_name(old, tmp_path, capsys):
    """Old traces say nothing of a case that is another one now: nothing is written, and both are named."""
    path = tmp_path / "scenarios" / "case001.scenario.yaml"
    path.write_text(path.read_text("utf-8").replace("case 1", "case 1, please"), "utf-8")
    (tmp_path / "scenarios" / "case002.scenario.yaml").unlink()
    assert main(["rescore", str(old)]) == 11
    told = capsys.readouterr().out
    assert "2 episodes cannot be graded anew, and nothing is written:" in told
    assert re.search(r"TB-001 of a, trial 1: \S*case001.scenario.yaml has changed since; run the agent", told)
    assert "TB-002 of a, trial 1: there is no such scenario below scenarios; name its folder" in told
    assert not old.with_name("old.rescored.jsonl").exists()


def test_a_comment_changes_nothing_and_is_told(old, tmp_path, capsys):
    """The same data graded by the same rules: allowed, with a note, and the hash of the suite stays that of then."""
    path = tmp_path / "scenarios" / "case001.scenario.yaml"
    path.write_text(path.read_text("utf-8") + "# mended a comment\n", "utf-8")
    assert main(["rescore", str(old)]) == 0
    assert "desk: other files of the suite have changed since" in capsys.readouterr().out
    assert read_run(old.with_name("old.rescored.jsonl")).run["suites"] == read_run(old).run["suites"]


def test_another_version_of_the_suite_is_refused(old, tmp_path, capsys):
    """Policies and tools of another version are not those that the agent worked by."""
    path = tmp_path / "scenarios" / "suite.yaml"
    path.write_text(path.read_text("utf-8").replace('version: "1.0"', 'version: "2.0"'), "utf-8")
    assert main(["rescore", str(old)]) == 11
    assert "desk has the version 2.0 today, and had 1.0; run the agent anew" in capsys.readouterr().out


def test_a_tool_that_works_otherwise_is_refused(tmp_path, monkeypatch, capsys):
    """Where a call comes out otherwise than it is stored, the agent saw what is no longer so."""
    folder = desk(tmp_path)
    turns = [{"action": "answer", "message": OPEN, "tool_calls": [NOTE]}]
    path = stored(folder, tmp_path / "old.jsonl", [(1, "a", turns)])
    monkeypatch.chdir(tmp_path)
    assert main(["rescore", str(path)]) == 0
    text = path.read_text("utf-8")
    assert text.count('"status":"ok"') == 1
    path.write_text(text.replace('"status":"ok"', '"status":"partial"'), "utf-8")
    assert main(["rescore", str(path)]) == 11
    assert "call 1, add_note, has another status with today's toolset" in capsys.readouterr().out


def test_a_broken_scenario_is_told_where_it_is_missed(old, tmp_path, capsys):
    """A scenario that cannot be loaded is not found, and the message says which file is broken."""
    path = tmp_path / "scenarios" / "case001.scenario.yaml"
    path.write_text(path.read_text("utf-8").replace("title:", "titel:"), "utf-8")
    assert main(["rescore", str(old)]) == 11
    told = capsys.readouterr().out
    assert "1 file could not be loaded" in told
    assert "case001.scenario.yaml" in told


def test_the_bundled_suite_is_found_without_its_folder(tmp_path, monkeypatch, capsys):
    """A run of TinyBench from the package needs no folder of scenarios; a copy that was edited does not mislead."""
    bounds, facts = tinybench()
    agent = make_agent(parse_spec("rules", tmp_path), tmp_path)
    line = Runner({"rules": agent}, Limits()).run(Job("k", bounds[0], "rules", 1)).to_json()
    path = write(tmp_path / "run.jsonl", [line], [{"id": "rules", "kind": "rules"}], facts)
    monkeypatch.chdir(tmp_path)
    assert main(["rescore", str(path)]) == 0
    assert main(["rescore", str(path), "--scenarios", "nowhere"]) == 4
    assert "nowhere: is no folder" in capsys.readouterr().err


DAMAGES = {
    "empty": (lambda text: "", "is no results file"),
    "no objects": (lambda text: "[1]\nnull\n", "is no results file"),
    "schema": (
        lambda text: text.replace('"schema":1', '"schema":9'),
        "its schema is 9, and this version reads 1",
    ),
    "no turns": (lambda text: text.replace('"turns":', '"turnz":'), "a line has no 'turns'"),
    "calls a number": (lambda text: text.replace('"calls":[]', '"calls":7'), "cannot be read as results"),
    "asks deep": (
        lambda text: text.replace('"asks_for":[]', '"asks_for":{"a":' + "[" * 200 + "]" * 200 + "}"),
        "it is nested too deeply",
    ),
    "nested": (lambda text: text.replace('"calls":[]', '"calls":' + "[" * 99_999), "cannot be read"),
    "itself": (lambda text: '{"type":"pointer","path":"old.jsonl"}', "is no results file"),
    "no path": (lambda text: '{"type":"pointer"}', "a line has no 'path'"),
    "a list": (lambda text: text.replace('"scenario":"TB-001"', '"scenario":["TB-001"]'), ""),
}


@pytest.mark.parametrize(("damage", "told"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_one_clear_error(old, capsys, damage, told):
    """Whatever stands in a file that somebody names, the command ends with 4 and one line, never a traceback."""
    old.write_text(damage(old.read_text("utf-8")), "utf-8")
    code = main(["rescore", str(old)])
    out = capsys.readouterr()
    if code == 11:  # it can be read, and is no episode of today's scenario
        assert re.search("there is no such scenario|come out otherwise", out.out)
        return
    assert code == 4
    assert told in out.err
    assert out.err.count("\n") == 1


def test_a_scenario_that_is_there_twice_is_told_apart_by_its_hash(old, tmp_path, capsys):
    """An edited copy below the same folder does not stand in the way of the file that the run was of."""
    copy = tmp_path / "scenarios" / "a-copy"
    shutil.copytree(tmp_path / "scenarios", copy)
    scenario(copy, 1, title="Edited")
    assert main(["rescore", str(old)]) == 0


ASKED = [{"action": "answer", "message": OPEN, "tool_calls": [NOTE]}]


def edited(path: Path, change: Any) -> None:
    """Change the only episode line of a results file."""
    head, line, *rest = path.read_text("utf-8").splitlines(keepends=True)
    data = json.loads(line)
    change(data)
    path.write_text("".join([head, dump(data), *rest]), "utf-8")


def without_call(line: Any) -> None:
    line.update(calls=[], changes=[])


def without_asking(line: Any) -> None:
    line["turns"][0]["tool_calls"] = []


def other_arguments(line: Any) -> None:
    line["turns"][0]["tool_calls"][0]["arguments"]["text"] = "Something else."


def of_no_turn(line: Any) -> None:
    line["calls"][0]["turn"] = 9
    without_asking(line)


def other_action(line: Any) -> None:
    line["action"] = "decline"


def undelivered(line: Any) -> None:
    line["turns"][0]["delivered"] = False


def passed_with_error(line: Any) -> None:
    line.update(verdict="passed", error={"cause": "x", "message": "y", "remedy": "z"})


def error_without_one(line: Any) -> None:
    line["verdict"] = "error"


def error_with_score(line: Any) -> None:
    line.update(verdict="error", error={"cause": "x", "message": "y", "remedy": "z"})


UNTRUE = {
    "a call taken away": (
        without_call,
        "the call of add_note in turn 1 is among its turns and not among its",
    ),
    "a call put in": (without_asking, "the call of add_note in turn 1 is among its calls and not among its"),
    "other arguments": (other_arguments, "call 1 of turn 1 asked for add_note with"),
    "a turn that is not there": (of_no_turn, "the call of add_note is of turn 9, which is not there"),
    "another action": (other_action, "its action is decline, and that of the turn that ended it is answer"),
    "a message withheld": (undelivered, "the message of turn 1 was not delivered, as it is stored"),
    "passed with an error": (passed_with_error, "its verdict is passed, and it has an error"),
    "an error without one": (error_without_one, "its verdict is error, and it has no error"),
    "an error with a score": (error_with_score, "it has an error, and a score all the same"),
}


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("kind", UNTRUE)
def test_a_trace_that_contradicts_itself_is_refused_by_name(tmp_path, monkeypatch, capsys, kind, live):
    """Calls stand in turns and as they were executed, and only one of them was changed; live calls likewise."""
    change, told = UNTRUE[kind]
    folder = desk(tmp_path)
    path = stored(folder, tmp_path / "old.jsonl", [(1, "a", ASKED)])
    if live:
        bound = Loader(tmp_path).load(folder / "case001.scenario.yaml")
        dialogue = Dialogue(Conversation(bound, Limits(), "x"), Limits())

        def work(observation: Any) -> Any:
            dialogue.tools.call(NOTE["tool"], NOTE["arguments"])
            return {"action": "answer", "message": OPEN}

        episode = drive(dialogue, work)
        line = Result(bound, "a", 1, episode, score_episode(bound, episode)).to_json()
        assert [turn["live"] for turn in line["turns"]] == [True, False]
        head = path.read_text("utf-8").splitlines(keepends=True)[0]
        path.write_text(head + dump(line), "utf-8")
        if kind == "a message withheld":
            change = lambda line: line["turns"][-1].update(delivered=False)  # noqa: E731 - the last turn here
            told = "the message of turn 2 was not delivered"
    monkeypatch.chdir(tmp_path)
    assert main(["rescore", str(path)]) == 0
    edited(path, change)
    capsys.readouterr()
    assert main(["rescore", str(path), "--out", "new.jsonl"]) == 11
    out = capsys.readouterr().out
    assert f"old.jsonl: desk/TB-001 of a, trial 1: {told}" in out
    assert "the file was changed; fetch it anew" in out
    assert not Path("new.jsonl").exists()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_call_that_is_taken_from_either_side_is_always_noticed(data):
    """Whatever a hostile agent did, its own trace holds, and one without a call, or with one more, does not."""
    bound = data.draw(st.sampled_from(tinybench()[0]))
    limits = Limits(max_turns=data.draw(st.integers(1, 4)))
    dialogue = Dialogue(Conversation(bound, limits, "x"), limits, simulation=Talkative())
    episode = drive(dialogue, Hostile(data, bound, dialogue.tools))
    line = json.loads(dump(Result(bound, "h", 1, episode, score_episode(bound, episode)).to_json()))
    assert trace_problem(line) == ""
    assert score_problem(line) == ""
    if line["calls"]:
        place = data.draw(st.integers(0, len(line["calls"]) - 1))
        turn = line["turns"][line["calls"][place]["turn"] - 1]
        if data.draw(st.booleans()):
            del line["calls"][place]
        else:
            turn["tool_calls"] = turn["tool_calls"][1:]
        assert trace_problem(line) != ""
