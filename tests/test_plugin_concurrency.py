"""Episodes run ahead of their items, and each one's time, output and failures stay its own."""

from __future__ import annotations

import re
import time

import pytest
from projects import agent, last_run, project, scenario, start, suite, verdicts

from pytest_supportbench.fixtures import make_job

AGENTS = """

import threading

LOOPS = set()
RUNNING = []


def sleeps(observation):
    time.sleep(0.1)
    return GOOD


async def sleeps_async(observation):
    LOOPS.add(id(asyncio.get_running_loop()))
    await asyncio.sleep(0.1)
    return GOOD


async def one_loop(observation):
    LOOPS.add((id(asyncio.get_running_loop()), threading.get_ident()))
    await asyncio.sleep(0.01)
    return {**GOOD, "message": f"nine {len(LOOPS)}"}


def fails_first(observation):
    if case(observation) == 1:
        return BAD
    time.sleep(30)
    return GOOD


async def fails_first_async(observation):
    if case(observation) == 1:
        return BAD
    await asyncio.sleep(30)
    return GOOD


def talks(observation):
    number = case(observation)
    for _ in range(10):
        print(f"printed by {number}")
        print(f"complained by {number}", file=sys.stderr)
        logging.getLogger("desk").warning("logged by %s", number)
        time.sleep(0.005)
    return BAD


async def talks_async(observation):
    number = case(observation)
    for _ in range(10):
        print(f"printed by {number}")
        logging.getLogger("desk").warning("logged by %s", number)
        await asyncio.sleep(0.005)
    return BAD


def floods(observation):
    for _ in range(200):
        print("flood " * 2_000)
    return BAD


def hangs_once(observation):
    if case(observation) == 2:
        time.sleep(60)
    return GOOD


def hangs(observation):
    time.sleep(60)


def exits(observation):
    raise SystemExit(3)


def where(observation):
    main = threading.current_thread() is threading.main_thread()
    return GOOD if main else BAD
"""


def sections(result, word):
    """Return for each failed item the numbers of the episodes whose output its report shows."""
    found = {}
    for part in re.split(r"\n_+ (?=TB-)", result.stdout.str())[1:]:
        name = part[:6]
        found[name] = {int(number) for number in re.findall(rf"{word} by (\d+)", part)}
    return found


@pytest.mark.parametrize("name", ["sleeps", "sleeps_async"])
def test_a_window_of_eight_is_several_times_faster_and_keeps_the_order(plain, pytester, name):
    """Forty episodes of 0.1 s take far less than 4 s with eight at a time, and are reported in order."""
    project(pytester, range(1, 41), agents=AGENTS)
    begin = time.perf_counter()
    result = plain("-v", agent(name), "--supportbench-concurrency=8")
    seconds = time.perf_counter() - begin
    result.assert_outcomes(passed=40)
    reported = re.findall(r"::(TB-\d+) PASSED", result.stdout.str())
    assert reported == sorted(reported)
    assert seconds < 2.5, seconds


def test_without_a_window_sync_callables_run_one_at_a_time(plain, pytester):
    """A sync callable is asked for one episode at a time unless told otherwise."""
    project(pytester, range(1, 8), agents=AGENTS)
    begin = time.perf_counter()
    plain(agent("sleeps")).assert_outcomes(passed=7)
    assert time.perf_counter() - begin > 0.7


def test_async_agents_share_one_event_loop(plain, pytester):
    """All episodes of an async agent run on the same loop in the same thread."""
    project(pytester, range(1, 21), agents=AGENTS)
    plain(agent("one_loop")).assert_outcomes(passed=20)
    assert {line["turns"][0]["message"] for line in last_run(pytester).episodes} == {"nine 1"}


@pytest.mark.parametrize("name", ["fails_first", "fails_first_async"])
def test_x_ends_promptly_though_calls_still_run(pytester, name):
    """``-x`` does not wait for calls that are under way, and leaves no noise behind."""
    project(pytester, range(1, 20), agents=AGENTS)
    pytester.makeconftest(
        """
        import pathlib, time

        def pytest_runtest_logreport(report):
            if report.failed:
                pathlib.Path("failed_at").write_text(str(time.time()))
        """
    )
    process = start(pytester, "-x", agent(name), "--supportbench-concurrency=8")
    out, err = process.communicate(timeout=20)
    ended = time.time()
    assert process.returncode == 1
    assert "1 failed in" in out
    assert ended - float((pytester.path / "failed_at").read_text(encoding="utf-8")) < 1.5
    assert err == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [("talks", ("printed", "complained", "logged")), ("talks_async", ("printed", "logged"))],
)
@pytest.mark.parametrize("capture", ["fd", "sys"])
def test_output_appears_in_its_own_report_only(plain, pytester, name, words, capture):
    """What an episode prints and logs appears with its own item, though others run at the same time."""
    project(pytester, range(1, 13), agents=AGENTS)
    result = plain(agent(name), "--supportbench-concurrency=6", f"--capture={capture}")
    result.assert_outcomes(failed=12)
    expected = {f"TB-{number:03}": {number} for number in range(1, 13)}
    for word in words:
        assert sections(result, word) == expected
    assert " by " not in result.stderr.str()
    assert " by " not in result.stdout.str().partition("= FAILURES =")[0]
    for line in last_run(pytester).episodes:
        assert set(re.findall(r"printed by (\d+)", line["output"])) == {str(int(line["scenario"][3:]))}


def test_output_of_other_tests_stays_theirs(plain, pytester):
    """A plain test that prints while episodes run ahead has its own output only."""
    project(pytester, range(1, 9), agents=AGENTS)
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.insert(1, items.pop())")
    pytester.makepyfile(
        test_zz="import time\ndef test_zz():\n    for _ in range(10):\n        print('mine')\n"
        "        time.sleep(0.01)\n    assert False\n"
    )
    result = plain(agent("talks"), "--supportbench-concurrency=6")
    result.assert_outcomes(failed=9)
    mine = re.search(r"_ test_zz _.*?(?=\n_+ TB-)", result.stdout.str(), re.DOTALL)[0]
    assert len(re.findall("^mine$", mine, re.MULTILINE)) == 10
    assert " by " not in mine


def test_a_flood_of_output_is_bounded(plain, pytester):
    """An agent that prints megabytes fills neither the report nor the results file."""
    project(pytester, [1], agents=AGENTS)
    result = plain(agent("floods"), "--supportbench-concurrency=2")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*more characters were dropped*"])
    assert len(result.stdout.str()) < 60_000
    assert len(last_run(pytester).episodes[0]["output"]) < 30_000


def test_a_hung_call_fails_its_item_only(pytester):
    """A call that never returns fails by the time limit; the others pass, and pytest does not wait at its end."""
    project(pytester, [1, 2, 3], agents=AGENTS)
    begin = time.perf_counter()
    process = start(pytester, agent("hangs_once"), "--supportbench-timeout=0.3")
    out, _ = process.communicate(timeout=30)
    assert time.perf_counter() - begin < 15
    assert process.returncode == 1
    assert "1 failed, 2 passed" in out
    assert "ran out of time" in out
    assert verdicts(last_run(pytester)) == {"TB-001": "passed", "TB-002": "failed", "TB-003": "passed"}


def test_too_many_hung_calls_stop_the_run(plain, pytester):
    """After five calls that hang the run stops and says why."""
    project(pytester, range(1, 12), agents=AGENTS)
    result = plain(agent("hangs"), "--supportbench-timeout=0.01", "--supportbench-concurrency=8")
    result.stdout.fnmatch_lines(["*5 calls of the agent 'python-desk_agents-hangs' hang past the limit*"])
    assert "During handling" not in result.stdout.str()
    run = last_run(pytester)
    assert run.summary["stopped_early"]
    assert [line["ending"] for line in run.episodes] == ["time_limit"] * 5
    assert result.ret == 2


def test_an_agent_that_exits_fails_its_item(plain, pytester):
    """``sys.exit`` in an agent is the agent's failure and ends nothing else."""
    project(pytester, [1, 2], agents=AGENTS)
    result = plain(agent("exits"))
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*SystemExit*"])


@pytest.mark.parametrize("option", ["-s", "--pdb", "--trace"])
def test_debugging_runs_inline(plain, pytester, option, monkeypatch):
    """With ``-s``, ``--pdb`` or ``--trace`` episodes run in the main thread, where a debugger can stop them."""
    project(pytester, [1, 2, 3], agents=AGENTS)
    if option == "--trace":
        monkeypatch.setattr(
            "pdb.Pdb.runcall", lambda self, function, *args, **kwargs: function(*args, **kwargs)
        )
    plain(option, agent("where"), "--supportbench-concurrency=4").assert_outcomes(passed=3)


def test_without_debugging_episodes_run_in_threads(plain, pytester):
    """Otherwise they do not run in the main thread."""
    project(pytester, [1], agents=AGENTS)
    plain(agent("where")).assert_outcomes(failed=1)


def test_skipped_and_overridden_items_do_not_run_ahead(plain, pytester):
    """Items that are skipped, or that another agent serves, are left out of what runs ahead."""
    folder = project(pytester, [1], agents=AGENTS)
    suite(pytester.path / "own", "own")
    scenario(pytester.path / "own", 2)
    scenario(folder, 3)
    (pytester.path / "own" / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef supportbench_agent():\n"
        "    return lambda observation: {'action': 'decline'}\n",
        encoding="utf-8",
    )
    plain(agent("good"), "--supportbench-concurrency=4").assert_outcomes(passed=2, failed=1)
    assert [line["agent"] for line in last_run(pytester).episodes if line["scenario"] == "TB-002"] == [
        "lambda"
    ]


def test_items_are_asked_about_once(plain, pytester, monkeypatch):
    """Looking ahead costs the same for each item however many there are and however wide the window is."""
    made = []

    def counted(item, name, attempt):
        made.append(item.nodeid)
        return make_job(item, name, attempt)

    monkeypatch.setattr("pytest_supportbench.upcoming.make_job", counted)
    project(pytester, range(1, 101), agents=AGENTS)
    plain(agent("good_async"), "--supportbench-concurrency=16").assert_outcomes(passed=100)
    assert len(made) < 400


def test_every_agent_of_a_comparison_runs_ahead(plain, pytester):
    """With two agents both have their episodes run ahead, also the one that is made second."""
    project(pytester, range(1, 21), agents=f"{AGENTS}\n\nnaps = sleeps_async\n")
    begin = time.perf_counter()
    plain(agent("sleeps_async"), agent("naps"), "--supportbench-concurrency=10").assert_outcomes(passed=40)
    assert time.perf_counter() - begin < 2.5
