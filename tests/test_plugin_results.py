"""What a run leaves behind, whatever way it ends, and the exit code it ends with."""

from __future__ import annotations

import signal
import time
from xml.etree import ElementTree as ET

import pytest
from projects import DARK, agent, last_run, normalised, project, start, verdicts

from pytest_supportbench.results_file import read_run

SLOW = """

import threading

def slow(observation):
    time.sleep(0.05 if case(observation) <= 4 else 30)
    return GOOD


def dies(observation):
    if case(observation) == 2:
        os._exit(3)
    return GOOD


seen = set()


def flaky(observation):
    number = case(observation)
    if number in seen:
        return GOOD
    seen.add(number)
    return BAD


def bad_after_others(observation):
    if case(observation) == 1:
        time.sleep(0.3)
        return BAD
    return GOOD
"""


def wait_for_episodes(process, path, count):
    """Wait until a results file has that many episodes; fail with the process's output after 30 seconds."""
    for _ in range(600):
        if path.exists() and path.read_text(encoding="utf-8").count('"type":"episode"') >= count:
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    process.kill()
    pytest.fail(f"{path} never got {count} episodes: {process.communicate()}")


def test_a_run_is_a_run_line_its_episodes_and_a_summary(plain, pytester):
    """A results file begins with what was run, has a line an episode, and ends with counts and exit status."""
    project(pytester, [1, 2])
    plain(agent("odd"))
    path = pytester.path / ".supportbench" / "last-run.jsonl"
    kinds = [line.split('"')[3] for line in path.read_text(encoding="utf-8").splitlines()]
    assert kinds == ["run", "episode", "episode", "summary"]
    run = read_run(path)
    assert [(suite["name"], suite["version"]) for suite in run.run["suites"]] == [("desk", "1.0")]
    assert [entry["id"] for entry in run.run["agents"]] == ["python-desk_agents-odd"]
    assert run.complete
    assert run.summary["exit_status"] == 1
    assert run.summary["episodes"] == 2
    assert run.summary["verdicts"] == {"passed": 1, "failed": 1, "error": 0}
    assert run.summary["unreported"] == []
    assert not run.summary["stopped_early"]


def test_the_run_line_names_every_agent_of_the_run(plain, pytester):
    """The first line has the fingerprint of each agent, also of one that has not run yet or cannot be made."""
    project(pytester, [1])
    plain(agent("good"), agent("odd"), agent("absent"), "--supportbench-agent=rules")
    agents = last_run(pytester).run["agents"]
    assert [entry["id"] for entry in agents] == [
        "python-desk_agents-good",
        "python-desk_agents-odd",
        "python-desk_agents-absent",
        "rules",
    ]
    assert agents[1]["module_sha256"]
    assert "has no 'absent'" in agents[2]["unusable"]


def test_results_are_equal_however_items_are_distributed(pytester, plain):
    """Two workers, none, and no xdist at all give the same lines but for order and time."""
    project(pytester, range(1, 7))
    found = []
    for args in (("-p", "no:xdist"), ("-n", "0"), ("-n", "2", "--dist", "worksteal")):
        plain(agent("odd"), "--supportbench-agent=oracle", *args)
        found.append(normalised(last_run(pytester)))
    assert len(found[0]) == 14
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_the_newest_run_has_a_fixed_name_and_git_ignores_the_folder(plain, pytester):
    """``last-run.jsonl`` names the newest run, earlier ones stay, and the folder hides itself from git."""
    project(pytester)
    plain(agent("good"))
    first = last_run(pytester).run["run"]
    plain(agent("bad"))
    second = last_run(pytester).run["run"]
    folder = pytester.path / ".supportbench"
    assert sorted(path.stem for path in (folder / "runs").iterdir()) == sorted([first, second])
    assert verdicts(last_run(pytester)) == {"TB-001": "failed"}
    assert (folder / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_second_run_to_the_same_path_replaces_the_first(plain, pytester):
    """``--supportbench-results`` replaces an earlier run's file, and is relative to where pytest was started."""
    project(pytester, [1, 2])
    plain(agent("good"), "--supportbench-results=out/run.jsonl")
    first = read_run(pytester.path / "out" / "run.jsonl")
    plain(agent("bad"), "--supportbench-results=out/run.jsonl", "-k", "TB-001")
    second = read_run(pytester.path / "out" / "run.jsonl")
    assert len(first.episodes) == 2
    assert verdicts(second) == {"TB-001": "failed"}
    assert second.run["run"] != first.run["run"]


def test_a_run_without_episodes_leaves_an_earlier_file_alone(plain, pytester):
    """A run that evaluates nothing does not touch the results that its path already has."""
    project(pytester)
    plain(agent("good"), "--supportbench-results=run.jsonl")
    before = (pytester.path / "run.jsonl").read_bytes()
    plain("--supportbench-results=run.jsonl")
    plain(agent("good"), "--supportbench-results=run.jsonl", "-k", "zzz")
    assert (pytester.path / "run.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["notes.txt", "desk"])
def test_some_other_file_is_never_overwritten(plain, pytester, name):
    """A results path that is a folder or another file is a usage error, and the file stays."""
    project(pytester)
    (pytester.path / "notes.txt").write_text("precious", encoding="utf-8")
    result = plain(agent("good"), f"--supportbench-results={name}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: --supportbench-results: *{name}' exists and is no results file*"])
    assert (pytester.path / "notes.txt").read_text(encoding="utf-8") == "precious"


def test_results_that_cannot_be_written_are_a_usage_error(plain, pytester):
    """Where the results file cannot be made, items say so with the remedy and the exit code is 4."""
    project(pytester)
    (pytester.path / "file").write_text("", encoding="utf-8")
    result = plain(agent("good"), "--supportbench-results=file/run.jsonl")
    assert result.ret == 4
    result.stdout.fnmatch_lines(
        ["cannot write the results file *name another path with --supportbench-results"]
    )


@pytest.mark.parametrize(
    ("agents", "status"),
    [
        (["oracle"], 0),
        (["do-nothing"], 1),
        ([DARK], 10),
        (["nobody"], 4),
        (["do-nothing", DARK], 1),
        (["oracle", DARK], 10),
        (["nobody", DARK], 4),
        (["do-nothing", "nobody"], 1),
    ],
)
def test_the_exit_code_tells_failures_errors_and_usage_apart(plain, pytester, agents, status):
    """0 passed, 1 failed, 4 misused, 10 only infrastructure errors; failures win over misuse, misuse over errors."""
    project(pytester)
    assert plain(*(f"--supportbench-agent={name}" for name in agents)).ret == status
    if agents != ["nobody"]:
        assert last_run(pytester).summary["exit_status"] == status


def test_a_failing_test_of_another_kind_wins_over_errors(plain, pytester):
    """A plain test that fails makes the exit code 1, also beside infrastructure errors."""
    project(pytester)
    pytester.makepyfile("def test_other(): assert False")
    assert plain(f"--supportbench-agent={DARK}").ret == 1


def test_a_file_that_cannot_be_collected_wins_over_errors(plain, pytester):
    """A broken scenario file is a failure of the run: infrastructure errors do not hide it."""
    folder = project(pytester, [1, 2])
    (folder / "case002.scenario.yaml").write_text("id: [", encoding="utf-8")
    assert plain(f"--supportbench-agent={DARK}", "--continue-on-collection-errors").ret == 1


def test_nothing_collected_and_interrupted_keep_their_meaning(plain, pytester):
    """5 still says that nothing ran, and 2 that collecting failed."""
    folder = project(pytester)
    assert plain(agent("good"), "-k", "zzz").ret == 5
    (folder / "case001.scenario.yaml").write_text("id: [", encoding="utf-8")
    assert plain(agent("good")).ret == 2


def test_x_leaves_what_ran_ahead_unreported(plain, pytester):
    """Episodes that ran ahead of an item that ``-x`` never reached are marked, and count nowhere."""
    project(pytester, range(1, 7), agents=SLOW)
    result = plain("-x", agent("bad_after_others"), "--supportbench-concurrency=3")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "STOPPED EARLY: 1 episode reported; these counts are not of the whole run",
            "  * more had finished; the results file has them, marked unreported",
        ]
    )
    run = last_run(pytester)
    assert run.summary["stopped_early"]
    assert run.summary["episodes"] == 1
    ahead = [line["scenario"] for line in run.episodes if line.get("unreported")]
    assert len(ahead) >= 2
    assert "TB-001" not in ahead
    assert len(ahead) == len(run.episodes) - 1


def test_a_rerun_is_an_attempt_of_its_own_and_counts_once(plain, pytester):
    """With pytest-rerunfailures results have both attempts, the summary only the last, JUnit each apart."""
    project(pytester, [1], agents=SLOW)
    result = plain(agent("flaky"), "--reruns=2", "--junitxml=out.xml")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["python-desk_agents-flaky: 1/1 (100 %) passed*"])
    run = last_run(pytester)
    assert [(line["attempt"], line["verdict"]) for line in run.episodes] == [(1, "failed"), (2, "passed")]
    assert run.summary["verdicts"] == {"passed": 1, "failed": 0, "error": 0}
    assert run.summary["exit_status"] == 0
    cases = ET.parse(pytester.path / "out.xml").getroot().iter("testcase")
    values = [
        [pair.get("value") for pair in case.iter("property") if "verdict" in pair.get("name")]
        for case in cases
    ]
    assert values == [["failed"], ["passed"]]


def test_a_kill_keeps_every_finished_episode(pytester):
    """After ``kill -9`` the file has all that finished, and says by its missing summary that it is incomplete."""
    project(pytester, range(1, 8), agents=SLOW)
    process = start(pytester, agent("slow"), "--supportbench-results=run.jsonl")
    wait_for_episodes(process, pytester.path / "run.jsonl", 4)
    process.kill()
    process.communicate(timeout=10)
    run = read_run(pytester.path / "run.jsonl")
    assert set(verdicts(run)) == {"TB-001", "TB-002", "TB-003", "TB-004"}
    assert not run.complete


def test_an_interrupt_keeps_results_and_exits_with_two(pytester):
    """Ctrl-C ends the run at once with exit code 2, a summary, and everything that finished."""
    project(pytester, range(1, 8), agents=SLOW)
    # A process whose SIGINT is ignored, as in the background of a script, would hand that down to its child.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = start(pytester, agent("slow"), "--supportbench-results=run.jsonl")
    finally:
        signal.signal(signal.SIGINT, before)
    wait_for_episodes(process, pytester.path / "run.jsonl", 4)
    time.sleep(0.3)
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert time.perf_counter() - begin < 3
    assert process.returncode == 2, out + err
    run = read_run(pytester.path / "run.jsonl")
    assert run.complete
    assert run.summary["stopped_early"]
    assert run.summary["exit_status"] == 2
    assert run.summary["verdicts"]["passed"] == 4
    assert "4/4 (100 %) passed all four dimensions" in out
    assert "STOPPED EARLY: 4 episodes reported" in out
    assert "Exception" not in err


@pytest.mark.parametrize(
    ("ending", "status", "said"),
    [
        ("raise KeyboardInterrupt", 2, "second"),
        ("pytest.exit('enough', returncode=0)", 0, "only"),
    ],
    ids=["a second Ctrl-C while pytest tells of the first", "an exit that calls itself a success"],
)
def test_a_run_that_was_cut_short_is_no_whole_one(pytester, ending, status, said):
    """However it was cut, its closing line says that it was, and nobody can make a baseline of it."""
    project(pytester, range(1, 8))
    second = "    raise KeyboardInterrupt\n" if said == "second" else "    pass\n"
    pytester.makeconftest(
        "import pytest\n\n"
        f"def pytest_runtest_logfinish(nodeid):\n    if 'TB-003' in nodeid:\n        {ending}\n\n"
        f"def pytest_keyboard_interrupt(excinfo):\n{second}"
    )
    pytester.runpytest_subprocess(agent("good"), "--supportbench-results=run.jsonl")
    run = read_run(pytester.path / "run.jsonl")
    assert (run.summary["stopped_early"], run.summary["exit_status"]) == (True, status)
    assert run.summary["episodes"] == 3
    refused = pytester.run("supportbench", "baseline", "set", "run.jsonl", "base.json")
    assert refused.ret != 0
    assert not (pytester.path / "base.json").exists()


def test_a_worker_that_dies_loses_its_own_episode_only(pytester, plain):
    """An agent that ends its worker's process fails that item; every other episode is kept."""
    project(pytester, range(1, 7), agents=SLOW)
    result = plain("-n", "2", agent("dies"))
    result.assert_outcomes(passed=5, failed=1)
    assert result.ret == 1
    run = last_run(pytester)
    assert set(verdicts(run)) == {"TB-001", "TB-003", "TB-004", "TB-005", "TB-006"}
    assert run.complete
