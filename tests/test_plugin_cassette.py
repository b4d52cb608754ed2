"""Recording what agents reply, and replaying it later without them."""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from fake_ollama import FakeOllama
from projects import agent, last_run, project, scenario, start, suite, verdicts
from quiet_server import QuietServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

CASSETTE = "--supportbench-cassette=tapes"
NONE = "--supportbench-record=none"
ALL = "--supportbench-record=all"

COUNTING = """

def asked(observation):
    with open("asked.txt", "a") as file:
        file.write(f"{case(observation)}\\n")


def counting(observation):
    asked(observation)
    return odd(observation)


async def counting_async(observation):
    asked(observation)
    await asyncio.sleep(0)
    if not observation.transcript:
        return {"tool_calls": [{"tool": "add_note", "arguments": {"customer_id": "cus_1", "text": "hello"}}]}
    return odd(observation)


def hostile(observation):
    asked(observation)
    number = case(observation)
    if number == 1:
        return "<html>no turn</html>"
    if number == 2:
        raise RuntimeError("the agent broke")
    if number == 3:
        return {"action": "fly", "message": ""}
    if number == 4:
        return {"action": "answer", "message": "\\ud800"}
    return GOOD


def dies(observation):
    if case(observation) == 3:
        os._exit(3)
    return counting(observation)


def tells(observation):
    return {"action": "answer", "message": f"We are open from nine. {os.environ['PLANTED_API_KEY']}"}


def by_word(observation):
    asked(observation)
    return GOOD if "nine" in observation.policies[0].text else BAD


def trials(observation):
    asked(observation)
    with open("asked.txt") as file:
        return GOOD if len(file.readlines()) % 2 else BAD
"""


def asked(pytester: pytest.Pytester) -> list[str]:
    """Return the case numbers for which the agent was really asked, in order, and forget them."""
    path = pytester.path / "asked.txt"
    found = path.read_text(encoding="utf-8").split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def scores(pytester: pytest.Pytester) -> dict[str, bytes]:
    """Return what was judged in the newest run, as bytes, by scenario and trial."""
    names = ("verdict", "dimensions", "violations", "escalation_class", "explanation", "ending", "failure")
    return {
        f"{line['scenario']}/{line['trial']}": json.dumps(
            [*(line[name] for name in names), line["turns"], line["calls"]]
        ).encode()
        for line in sorted(last_run(pytester).episodes, key=lambda line: line["scenario"])
    }


def replayed(pytester: pytest.Pytester) -> dict[str, str]:
    """Return how far each scenario of the newest run was replayed."""
    return {line["scenario"]: line["replayed"] for line in last_run(pytester).episodes}


def tapes(pytester: pytest.Pytester) -> list[Path]:
    """Return the files of scenarios in the cassette."""
    return sorted((pytester.path / "tapes").glob("*/desk/*.json"))


def apart(pytester: pytest.Pytester, *args: str) -> tuple[int, str]:
    """Run pytest in a new process and return its exit status and output."""
    process = start(pytester, *args)
    out, err = process.communicate(timeout=120)
    return process.returncode, out + err


def answer_by_case(body: dict[str, Any]) -> str:
    """Answer as a model would: the right thing for odd cases, with a note first, garbage for case 4."""
    text = json.dumps(body["messages"])
    if "case 4" in text:
        return "I would rather not"
    if len(body["messages"]) < 3 and "case 3" in text:
        return json.dumps(
            {
                "action": None,
                "message": "",
                "asks_for": [],
                "tool_calls": [{"tool": "add_note", "arguments": {"customer_id": "cus_1", "text": "hi"}}],
            }
        )
    action = "decline" if "case 2" in text else "answer"
    message = "No." if action == "decline" else "We are open from nine to five."
    return json.dumps({"action": action, "message": message, "tool_calls": [], "asks_for": []})


def test_a_model_is_recorded_and_replayed_without_its_server(pytester):
    """A run against a real server is replayed in a new process after the server stopped, with byte-equal scores."""
    project(pytester, range(1, 5))
    with FakeOllama(answer_by_case) as server:
        model = f"--supportbench-agent=ollama:m?host={server.host}"
        status, out = apart(pytester, model, CASSETTE)
        assert status == 1, out
        live = scores(pytester)
        requests = len(server.requests)
        assert set(replayed(pytester).values()) == {"no"}
    status, out = apart(pytester, model, CASSETTE, NONE)
    assert status == 1, out
    assert scores(pytester) == live
    assert len(server.requests) == requests
    assert replayed(pytester) == dict.fromkeys(("TB-001", "TB-002", "TB-003", "TB-004"), "yes")
    assert "ollama-m (replayed): 1/4" in out
    assert "none: REPLAYED, no agent is asked" in out
    (entry,) = last_run(pytester).run["agents"]
    assert (entry["replayed"], entry["record"], entry["kind"]) == ("yes", "none", "ollama")
    assert entry["digest_checked"] == "its server is not there (connection_refused)"
    assert [line["usage"]["spent_tokens"] for line in last_run(pytester).episodes] == [0, 0, 0, 0]
    assert last_run(pytester).episodes[0]["usage"]["prompt_tokens"] > 0


def test_one_word_of_one_policy_misses_only_where_it_is_seen_and_is_shown(plain, pytester):
    """With one word of a policy changed, the scenarios that see it miss and name the word; the others replay."""
    project(pytester, (1, 2), agents=COUNTING)
    other = pytester.path / "other"
    suite(other, "other")
    for number in (3, 4):
        scenario(other, number)
    plain(agent("counting"), CASSETTE)
    asked(pytester)
    path = other / "suite.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("opening hours", "opening days"), "utf-8")
    result = plain(agent("counting"), CASSETTE, NONE)
    assert asked(pytester) == []
    assert verdicts(last_run(pytester)) == {
        "TB-001": "passed",
        "TB-002": "failed",
        "TB-003": "error",
        "TB-004": "error",
    }
    result.stdout.fnmatch_lines(
        [
            "*cassette_miss*",
            '*policies.hours.text: "… questions about opening [[]-hours.-] {+days.+} Everything*',
        ]
    )
    result = plain(agent("counting"), CASSETTE)
    assert asked(pytester) == ["3", "4"]
    assert replayed(pytester) == {"TB-001": "yes", "TB-002": "yes", "TB-003": "no", "TB-004": "no"}
    result.stdout.fnmatch_lines(["*asked anew: other/TB-003 trial 1: policies.hours.text*"])
    assert plain(agent("counting"), CASSETTE, NONE).ret == 1
    assert set(replayed(pytester).values()) == {"yes"}


def test_many_misses_in_a_row_do_not_stop_the_scenarios_that_are_stored(plain, pytester):
    """Six scenarios that were never recorded are errors, and the seventh, which was, is replayed."""
    folder = project(pytester, [7], agents=COUNTING)
    plain(agent("counting"), CASSETTE)
    for number in range(1, 7):
        scenario(folder, number)
    result = plain(agent("counting"), CASSETTE, NONE)
    assert verdicts(last_run(pytester))["TB-007"] == "passed"
    result.stdout.fnmatch_lines(["*cassette_miss*", "*desk/TB-001 was never recorded*"])
    assert result.ret == 10


def test_auto_asks_only_for_what_is_missing_and_all_asks_anew(run, pytester):
    """A second run asks nobody, a new scenario is asked for, and ``all`` asks for everything again."""
    folder = project(pytester, (1, 2), agents=COUNTING)
    run(agent("counting"), CASSETTE)
    assert sorted(asked(pytester)) == ["1", "2"]
    scenario(folder, 3)
    result = run(agent("counting"), CASSETTE)
    assert asked(pytester) == ["3"]
    result.stdout.fnmatch_lines(
        ["python-desk_agents-counting (2 of 3 replayed): 2/3*", "cassette python-*: 2 rep*"]
    )
    result = run(agent("counting"), CASSETTE, ALL)
    assert sorted(asked(pytester)) == ["1", "2", "3"]
    assert set(replayed(pytester).values()) == {"no"}
    result.stdout.no_fnmatch_line("*unused*")


def test_an_async_agent_with_several_turns_replays_in_any_way(run, pytester):
    """A coroutine that calls a tool first is recorded turn by turn, and replays equally with and without workers."""
    project(pytester, range(1, 5), agents=COUNTING)
    run(agent("counting_async"), CASSETTE)
    assert len(asked(pytester)) == 8
    live = scores(pytester)
    result = run(agent("counting_async"), CASSETTE, NONE)
    assert asked(pytester) == []
    assert scores(pytester) == live
    assert result.ret == 1
    assert set(replayed(pytester).values()) == {"yes"}


def test_garbage_and_crashes_replay_as_they_were(plain, pytester):
    """Replies that are no turn, an unknown action and a crash are stored as the agent's own, and judged equally."""
    project(pytester, range(1, 6), agents=COUNTING)
    plain(agent("hostile"), CASSETTE)
    live = scores(pytester)
    asked(pytester)
    result = plain(agent("hostile"), CASSETTE, NONE)
    assert asked(pytester) == []
    assert scores(pytester) == live
    assert verdicts(last_run(pytester)) == {
        **dict.fromkeys(("TB-001", "TB-002", "TB-003", "TB-004"), "failed"),
        "TB-005": "passed",
    }
    assert set(replayed(pytester).values()) == {"yes"}
    result.stdout.fnmatch_lines(["*TB-002 with python-desk_agents-hostile (replayed)*", "*the agent broke*"])


def test_an_interrupted_recording_keeps_what_was_recorded(pytester):
    """A process that dies in the middle loses no reply that had come: the next run asks for the rest only."""
    project(pytester, range(1, 6), agents=COUNTING)
    status, out = apart(pytester, agent("dies"), CASSETTE)
    assert status == 3, out
    assert asked(pytester) == ["1", "2"]
    stored = {path.name: path.read_bytes() for path in tapes(pytester)}
    assert sorted(stored) == ["TB-001.json", "TB-002.json"]
    assert b'"message"' in stored["TB-001.json"]
    status, out = apart(pytester, agent("dies"), CASSETTE, NONE, "-k", "TB-001 or TB-002")
    assert status == 1, out
    assert asked(pytester) == []


def test_trials_are_kept_apart_and_unused_ones_are_reported(run, pytester):
    """Each trial replays its own replies, whoever recorded it; a run of fewer trials names those that it left."""
    project(pytester, [1, 2], agents=COUNTING)
    run(agent("trials"), CASSETTE, "--supportbench-trials=3")
    live = scores(pytester)
    assert len(asked(pytester)) == 6
    run(agent("trials"), CASSETTE, NONE, "--supportbench-trials=3")
    assert scores(pytester) == live
    result = run(agent("trials"), CASSETTE, NONE, "--supportbench-trials=2")
    assert asked(pytester) == []
    result.stdout.fnmatch_lines(["*2 unused entries in files of this run: desk/TB-001 trial 3 turn 1;*"])
    (counts,) = last_run(pytester).summary["cassettes"]
    assert counts["unused"] == ["desk/TB-001 trial 3 turn 1", "desk/TB-002 trial 3 turn 1"]
    assert counts["played"] == 4
    result = run(agent("trials"), CASSETTE, NONE, "--supportbench-trials=4", "-k", "TB-001 and 4")
    result.stdout.fnmatch_lines(["*trial 4 of TB-001 was never recorded; * has trial 1, 2, 3*"])


def test_equal_agents_in_one_run_have_recordings_of_their_own(plain, pytester):
    """An agent given twice, to see how much it varies, is asked twice and replays both."""

    def judged() -> list[tuple[str, str, str]]:
        return sorted(
            (line["agent"], line["scenario"], line["verdict"]) for line in last_run(pytester).episodes
        )

    project(pytester, [1, 2], agents=COUNTING)
    plain(agent("trials"), agent("trials"), CASSETTE)
    live = judged()
    assert len(asked(pytester)) == 4
    plain(agent("trials"), agent("trials"), CASSETTE, NONE)
    assert asked(pytester) == []
    assert judged() == live
    assert len(tapes(pytester)) == 4


class Desk(BaseHTTPRequestHandler):
    """An agent of the user's own, over HTTP."""

    posts = 0

    def do_POST(self) -> None:
        """Answer the question after a note."""
        type(self).posts += 1
        seen = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn: dict[str, Any] = {"action": "answer", "message": "We are open from nine to five."}
        if not seen["transcript"]:
            note = {"customer_id": "cus_1", "text": "asked for the hours"}
            turn = {"tool_calls": [{"tool": "add_note", "arguments": note}]}
        data = json.dumps(turn).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Keep the test output clean."""


def served() -> Iterator[str]:
    """Yield the address of the agent while it runs."""
    server = QuietServer(("127.0.0.1", 0), Desk)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/reply"
    finally:
        server.shutdown()
        server.server_close()


def test_an_http_agent_replays_without_its_server(plain, pytester):
    """An agent behind an address is recorded, and replayed when nothing answers there any more."""
    project(pytester, [1, 2])
    serving = served()
    address = next(serving)
    plain(f"--supportbench-agent={address}", CASSETTE)
    live = scores(pytester)
    posts = Desk.posts
    assert posts == 4
    serving.close()
    result = plain(f"--supportbench-agent={address}", CASSETTE, NONE)
    assert scores(pytester) == live
    assert Desk.posts == posts
    assert set(replayed(pytester).values()) == {"yes"}
    assert result.ret == last_run(pytester).summary["exit_status"]


def test_auto_plays_what_is_stored_although_the_server_is_down(plain, pytester):
    """Without its server a recorded model's scenarios replay, and only a new one is an infrastructure error."""
    folder = project(pytester, [1])
    with FakeOllama(answer_by_case) as server:
        model = f"--supportbench-agent=ollama:m?host={server.host}"
        plain(model, CASSETTE)
    scenario(folder, 2)
    result = plain(model, CASSETTE)
    assert verdicts(last_run(pytester)) == {"TB-001": "passed", "TB-002": "error"}
    result.stdout.fnmatch_lines(["*connection_refused*"])


def test_another_model_under_the_same_name_is_asked_anew_or_is_an_error(plain, pytester):
    """Where the server has another digest than was recorded, ``auto`` asks anew and says so; ``none`` is an error."""
    project(pytester, [1])
    with FakeOllama(answer_by_case) as server:
        model = f"--supportbench-agent=ollama:m?host={server.host}"
        plain(model, CASSETTE)
        plain(model, CASSETTE, NONE)
        assert verdicts(last_run(pytester)) == {"TB-001": "passed"}
        assert last_run(pytester).run["agents"][0]["digest_checked"] == "yes"
        server.models["m:latest"] = "sha256:" + "ef" * 32
        result = plain(model, CASSETTE, NONE)
        assert result.ret == 10
        result.stdout.fnmatch_lines(
            [
                "*(cassette_stale)*model_digest was sha256:abab*… when it was recorded and is sha256:efef*… now*"
            ]
        )
        result = plain(model, CASSETTE)
        result.stdout.fnmatch_lines(["*asked anew: desk/TB-001 trial 1: model_digest was sha256:abab*"])
        assert replayed(pytester) == {"TB-001": "no"}
        assert plain(model, CASSETTE, NONE).ret == 0


def test_an_edited_module_is_another_agent(pytester):
    """Where an agent's module has changed since, ``none`` is an error that names both digests; nothing is imported."""
    project(pytester, [1], agents=COUNTING)
    apart(pytester, agent("counting"), CASSETTE)
    path = pytester.path / "desk_agents.py"
    path.write_text(path.read_text(encoding="utf-8") + "\nraise RuntimeError('imported')\n", "utf-8")
    status, out = apart(pytester, agent("counting"), CASSETTE, NONE)
    assert status == 10, out
    assert "cassette_stale" in out
    assert "module_sha256 was" in out
    assert "RuntimeError" not in out
    path.unlink()
    status, out = apart(pytester, agent("counting"), CASSETTE, NONE)
    assert status == 0, out
    assert last_run(pytester).run["agents"][0]["digest_checked"] == "its module is not here"


def test_an_edited_script_is_another_agent(plain, pytester):
    """A program's own files are compared too: ``auto`` asks an edited one anew, and ``none`` plays a missing one."""
    project(pytester, [1])
    script = pytester.path / "line_agent.py"
    turn = '{"action": "answer", "message": "We are open from nine to five."}'
    code = f"import sys\nfor line in sys.stdin:\n    print('{turn}', flush=True)\n"
    script.write_text(code, encoding="utf-8")
    command = f"--supportbench-agent=command:{sys.executable} line_agent.py"
    plain(command, CASSETTE)
    assert plain(command, CASSETTE, NONE).ret == 0
    script.write_text(f"{code}\n# edited\n", encoding="utf-8")
    result = plain(command, CASSETTE, NONE)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*(cassette_stale)*sha256 of line_agent.py was *"])
    plain(command, CASSETTE)
    assert replayed(pytester) == {"TB-001": "no"}
    script.unlink()
    assert plain(command, CASSETTE, NONE).ret == 0


def test_replay_names_a_recording_without_the_agent(plain, pytester):
    """``replay:PATH`` plays one agent's folder, or a cassette with one agent, under its stored fingerprint."""
    project(pytester, [1, 2], agents=COUNTING)
    plain(agent("counting"), CASSETTE)
    live = scores(pytester)
    recorded = last_run(pytester).run["agents"][0]
    asked(pytester)
    folder = tapes(pytester)[0].parent.parent.relative_to(pytester.path)
    for target in (folder, "tapes"):
        result = plain(f"--supportbench-agent=replay:{target}")
        assert scores(pytester) == live
        entry = last_run(pytester).run["agents"][0]
        assert entry["module_sha256"] == recorded["module_sha256"]
        assert (entry["kind"], entry["replayed"], entry["cassette"]) == ("python", "yes", str(folder))
        result.stdout.fnmatch_lines(["supportbench replays: replay-*REPLAYED*", "replay-* (replayed): 1/2*"])
    assert asked(pytester) == []


def test_replay_says_what_is_there_where_the_path_is_wrong(plain, pytester):
    """A path without a recording, and one with several, are usage errors that say what to name."""
    project(pytester, [1], agents=COUNTING)
    result = plain("--supportbench-agent=replay:nowhere")
    assert result.ret == 4
    result.stdout.fnmatch_lines(
        ["*nowhere* holds no recorded agent; record one with --supportbench-cassette=DIR*"]
    )
    plain(agent("counting"), agent("good"), CASSETTE)
    result = plain("--supportbench-agent=replay:tapes")
    assert result.ret == 4
    result.stdout.fnmatch_lines(["*holds 2 agents; name one of them: python-desk_agents-counting-*"])


def test_an_ablated_agent_replays_ablated(plain, pytester):
    """What an agent did not get to see when it was recorded is not shown to its replay either."""
    project(
        pytester, [1], agents="def blind(observation):\n    return BAD if observation.policies else GOOD\n"
    )
    plain(f"{agent('blind')}?without=policies", CASSETTE)
    assert verdicts(last_run(pytester)) == {"TB-001": "passed"}
    assert plain("--supportbench-agent=replay:tapes").ret == 0
    assert plain(f"{agent('blind')}?without=policies", CASSETTE, NONE).ret == 0
    result = plain(agent("blind"), CASSETTE, NONE)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*desk/TB-001 was never recorded*"])


def test_another_option_is_another_agent_and_the_miss_says_which(plain, pytester):
    """Where options differ from what was recorded, the miss names the option and both values."""
    project(pytester, [1])
    with FakeOllama(answer_by_case) as server:
        host = server.host
        plain(f"--supportbench-agent=ollama:m?host={host}&seed=1", CASSETTE)
    elsewhere = "ollama:m?host=http://127.0.0.1:9&seed=1&timeout=3&retries=0"
    assert plain(f"--supportbench-agent={elsewhere}", CASSETTE, NONE).ret == 0
    result = plain(f"--supportbench-agent=ollama:m?host={host}&seed=2", CASSETTE, NONE)
    result.stdout.fnmatch_lines(["*recorded was ollama-m-*options.seed: 1 → 2*"])


def test_a_damaged_file_is_named_with_its_place(plain, pytester):
    """A cut or hand-edited file is a usage error naming file and line or field, without a traceback."""
    project(pytester, [1], agents=COUNTING)
    plain(agent("counting"), CASSETTE)
    (path,) = tapes(pytester)
    good = path.read_text(encoding="utf-8")
    for text, where in (
        (good[: len(good) // 2], "*TB-001.json:*: this file of a cassette cannot be used: no JSON*"),
        (good.replace('"turns_left": 6', '"turns_left": "six"'), "*trials.1.replies.0.turns_left: *"),
        (
            good.replace('"cassette": 2', '"cassette": 2, "extra": 1'),
            "*extra: Extra inputs are not permitted*",
        ),
        (good.replace('"turns_left": 6', '"turns_left": NaN'), "*NaN is no JSON number*"),
        ("[" * 100_000, "*nested too deeply*"),
        (good.replace('"scenario": "TB-001"', '"scenario": "TB-009"'), "*holds the replies to desk/TB-009*"),
    ):
        path.write_text(text, encoding="utf-8")
        for mode in (NONE, "--supportbench-record=auto"):
            result = plain(agent("counting"), CASSETTE, mode)
            assert result.ret == 4, (where, mode)
            result.stdout.fnmatch_lines([where])
            result.stdout.no_fnmatch_line("*Traceback*")
    path.write_bytes(b"\xff\xfe")
    assert plain(agent("counting"), CASSETTE, NONE).ret == 4


def test_no_secret_reaches_a_cassette(plain, pytester, monkeypatch):
    """A key of the environment that an agent repeats is blanked in every byte of the cassette."""
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-0123456789")
    project(pytester, [1], agents=COUNTING)
    plain(agent("tells"), CASSETTE)
    files = [path for path in (pytester.path / "tapes").rglob("*") if path.is_file()]
    assert len(files) == 2
    assert not any(b"planted-0123" in path.read_bytes() for path in files)
    assert b"open from nine. ***" in tapes(pytester)[0].read_bytes()
    assert plain(agent("tells"), CASSETTE, NONE).ret == 0


def test_a_cassette_folder_that_is_not_there_is_named(plain, pytester):
    """A mistyped folder is told from one in which this agent was not recorded, and both are named."""
    project(pytester, [1], agents=COUNTING)
    plain(agent("tells"), CASSETTE)
    result = plain(agent("counting"), CASSETTE, NONE)
    result.stdout.fnmatch_lines(["*this agent was never recorded in 'tapes'*"])
    result = plain(agent("tells"), "--supportbench-cassette=tapse", NONE)
    result.stdout.fnmatch_lines(["*there is no folder 'tapse' with cassettes*"])


def test_an_agent_named_twice_was_not_recorded_by_a_run_that_named_it_once(plain, pytester):
    """A/A needs a recording for each time that the agent is named; the miss says so."""
    project(pytester, [1], agents=COUNTING)
    plain(agent("tells"), CASSETTE)
    result = plain(agent("tells"), agent("tells"), CASSETTE, NONE)
    result.stdout.fnmatch_lines(
        ["*the same agent was recorded as python-*, since it is named more than once*"]
    )


def test_built_in_agents_are_not_recorded(plain, pytester):
    """Agents that always do the same run as ever beside a cassette and leave nothing in it."""
    project(pytester, [1], agents=COUNTING)
    for mode in ("auto", "none", "all"):
        result = plain("--supportbench-agent=oracle", CASSETTE, f"--supportbench-record={mode}")
        assert result.ret == 0
        assert replayed(pytester) == {"TB-001": "no"}
    assert not (pytester.path / "tapes").exists()


def test_agents_from_python_code_are_recorded_by_their_names(plain, pytester):
    """A registered agent, one of a fixture and one of a user's own test replay like any other."""
    folder = project(pytester, [1, 2], agents=COUNTING)
    (pytester.path / "conftest.py").write_text(
        "import desk_agents\n\ndef pytest_supportbench_agents(config):\n    return {'mine': desk_agents.counting}\n"
    )
    other = pytester.path / "other"
    suite(other, "other")
    scenario(other, 3)
    (other / "conftest.py").write_text(
        "import pytest, desk_agents\n\n@pytest.fixture\ndef supportbench_agent():\n    return desk_agents.trials\n"
    )
    pytester.makepyfile(
        test_own="""
        import desk_agents

        def test_own(supportbench):
            supportbench.run("desk/case001.scenario.yaml", agent=desk_agents.by_word)
        """
    )
    assert folder.exists()
    mine = "--supportbench-agent=mine"
    plain(mine, CASSETTE)
    live = scores(pytester)
    assert len(asked(pytester)) == 4
    plain(mine, CASSETTE, NONE)
    assert asked(pytester) == []
    assert scores(pytester) == live
    assert {line["replayed"] for line in last_run(pytester).episodes} == {"yes"}


def test_agents_of_one_name_in_own_tests_have_recordings_of_their_own(plain, pytester):
    """Closures, lambdas, methods and instances under one name each replay their own replies, also at once."""
    project(pytester, [1])
    pytester.makepyfile(
        test_own="""
        import pytest

        PATH = "desk/case001.scenario.yaml"

        class Desk:
            def __init__(self, said):
                self.said = said
            def reply(self, observation):
                with open("asked.txt", "a") as file:
                    file.write("1 ")
                return {"action": "answer", "message": self.said}

        def make(said):
            def reply(observation):
                return Desk(said).reply(observation)
            return reply

        def said(supportbench, agent):
            return supportbench.run(PATH, agent=agent).result.episode.turns[0].turn.message

        @pytest.mark.parametrize("who", ["a", "b"])
        def test_closures(supportbench, who):
            assert said(supportbench, make(who)) == who

        def test_lambda(supportbench):
            assert said(supportbench, lambda seen: make("c")(seen)) == "c"

        def test_other_lambda(supportbench):
            assert said(supportbench, lambda seen: make("d")(seen)) == "d"

        def test_methods_and_instances(supportbench):
            one, two = Desk("e"), Desk("f")
            assert said(supportbench, one.reply) == "e"
            assert said(supportbench, two.reply) == "f"
            assert said(supportbench, one.reply) == "e"
            assert said(supportbench, one) == "e"
            assert said(supportbench, two) == "f"
        """
    )
    assert plain("test_own.py", CASSETTE).ret == 0
    assert len(asked(pytester)) == 8
    assert plain("test_own.py", CASSETTE, NONE).ret == 0
    assert asked(pytester) == []
    assert len(tapes(pytester)) == 8
    path = pytester.path / "test_own.py"
    path.write_text(f"{path.read_text(encoding='utf-8')}\n# edited\n", encoding="utf-8")
    result = plain("test_own.py", CASSETTE, NONE)
    result.stdout.fnmatch_lines(["*(cassette_stale)*module_sha256 was *"])
    assert plain("test_own.py", CASSETTE).ret == 0
    assert len(asked(pytester)) == 8


def test_an_edit_while_an_agent_is_recorded_does_not_count_for_it(plain, pytester):
    """A module is hashed when it is imported, so that old replies are not stored as those of new code."""
    edits = """

def edits(observation):
    with open("desk_agents.py", "a") as file:
        file.write("\\n# edited")
    return GOOD
"""
    project(pytester, [1, 2], agents=COUNTING + edits)
    plain(agent("edits"), CASSETTE)
    result = plain(agent("edits"), CASSETTE, NONE)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*(cassette_stale)*module_sha256 was *"])
    checked = last_run(pytester).run["agents"][0]["digest_checked"]
    assert checked == "module file only"


def test_two_agents_that_only_a_password_tells_apart_are_refused(plain, pytester):
    """Where their recordings would be one, the run is a usage error that names both and what to do."""
    project(
        pytester,
        [1],
        agents="class Desk:\n    def __init__(self, api_key): ...\n    def reply(self, seen): ...\n",
    )
    result = plain(f"{agent('Desk')}?api_key=a", f"{agent('Desk')}?api_key=b", CASSETTE)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*cannot tell the agents*each with a cassette of its own*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_junit_and_sections_say_that_a_run_was_replayed(plain, pytester):
    """JUnit has the property for every item, and the story of a failure says replayed at each turn."""
    project(pytester, [2], agents=COUNTING)
    plain(agent("counting"), CASSETTE, "--junit-xml=live.xml")
    result = plain(agent("counting"), CASSETTE, NONE, "--junit-xml=again.xml")
    found = [
        [
            entry.get("value")
            for entry in ET.parse(pytester.path / name).iter("property")
            if entry.get("name") == "supportbench_replayed"
        ]
        for name in ("live.xml", "again.xml")
    ]
    assert found == [["no"], ["yes"]]
    result.stdout.fnmatch_lines(["*TB-002 with * (replayed): conversation*", "turn 1, replayed: decline"])


def test_a_shorter_turn_limit_is_a_change_that_the_miss_names(plain, pytester):
    """The turns left are part of what an agent sees, so another limit misses and says so."""
    project(pytester, [1], agents=COUNTING)
    plain(agent("counting"), CASSETTE)
    result = plain(agent("counting"), CASSETTE, NONE, "--supportbench-max-turns=3")
    result.stdout.fnmatch_lines(["*turns_left: 6 → 3*"])


def test_a_cassette_that_cannot_be_written_is_an_infrastructure_error(plain, pytester):
    """Where the folder takes no files, the episode is an error with the reason and the option to change."""
    project(pytester, [1], agents=COUNTING)
    (pytester.path / "tapes").mkdir()
    (pytester.path / "tapes").joinpath("blocked").write_text("")
    plain(agent("counting"), CASSETTE)
    folder = tapes(pytester)[0].parent
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("a file in the way")
    result = plain(agent("counting"), CASSETTE, ALL)
    assert result.ret in {4, 10}
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.fnmatch_lines(["*cassette*"])


def test_two_workers_record_the_trials_of_one_scenario_into_one_file(pytester):
    """Nothing is lost where several processes write trials of the same scenario at the same time."""
    project(pytester, [1], agents=COUNTING)
    begin = time.monotonic()
    status, out = apart(
        pytester, agent("counting"), CASSETTE, "--supportbench-trials=24", "-n", "2", "--dist", "load"
    )
    assert status == 0, out
    assert time.monotonic() - begin < 60
    (path,) = tapes(pytester)
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert list(stored["trials"]) == [str(number) for number in range(1, 25)]
    assert len(stored["openings"]) == 1
    assert [file.name for file in path.parent.iterdir()] == ["TB-001.json"]


def test_paths_of_the_ini_file_are_those_beside_it_wherever_pytest_is_called(pytester):
    """The ini file's cassette and results are found from a folder below; an option is relative to where you are."""
    folder = project(pytester, [1], COUNTING)
    pytester.makefile(
        ".toml",
        pytest='[pytest]\nsupportbench_cassette = "tapes"\nsupportbench_results = "kept.jsonl"\n',
    )

    def called(*args: str, folder: Path | None = None) -> int:
        process = start(pytester, *args, folder=folder)
        process.communicate(timeout=120)
        return process.returncode

    assert called("desk", agent("counting")) == 0
    assert asked(pytester) == ["1"]
    assert called(".", agent("counting"), NONE, folder=folder) == 0
    assert asked(pytester) == []
    assert (pytester.path / "kept.jsonl").exists()
    assert not (folder / "tapes").exists()
    assert not (folder / "kept.jsonl").exists()
    assert called(".", agent("counting"), "--supportbench-cassette=own", folder=folder) == 0
    assert (folder / "own").is_dir()
