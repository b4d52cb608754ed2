"""A gate that says more than it saw: nothing judged, errors, skips, several agents, failures beside the scenarios."""

from __future__ import annotations

import pickle
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
import statsmodels.stats.api
from projects import agent, last_run, project, scenario, start, suite

from pytest_supportbench.cli import main
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.loading import load_suite

PRELOADED = (scipy.stats, statsmodels.stats.api)
"""numpy cannot be loaded twice in one process, and pytester forgets what a run in this process loaded."""

BASELINE = "--supportbench-baseline=baseline.json"
TRIALS = "--supportbench-trials=2"
UNDER = "--supportbench-fail-under=strict=0.5"

AGENTS = """
from pytest_supportbench import Reply, Turn, Usage
from pytest_supportbench.errors import InfrastructureError


def named(variable, observation):
    return str(case(observation)) in os.environ.get(variable, "").split(",")


def changing(observation):
    if named("DOWN", observation):
        raise InfrastructureError("unavailable", "the server is gone", "start it")
    if named("DIES", observation):  # before anything that waits: a thread left by another test would take us with it
        os._exit(3)
    if named("HANGS", observation):
        time.sleep(30)
    if named("NOTES", observation) and not observation.transcript:
        call = {"tool": "add_note", "arguments": {"customer_id": "cus_1", "text": "x"}}
        return {**GOOD, "tool_calls": [call]}
    return BAD if named("BROKEN", observation) else GOOD


def stumbling(observation, tries=[]):
    tries.append(1)
    if len(tries) == 1:
        raise InfrastructureError("unavailable", "the server is busy", "wait")
    return GOOD


def costly(observation):
    return Reply(turn=Turn(**changing(observation)), usage=Usage(prompt_tokens=10, completion_tokens=0))


def waiting(observation):
    if named("WAITS", observation):
        open("waits", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.05)
    return changing(observation)
"""


@pytest.fixture
def desk(pytester: Any) -> Path:
    """Make a project of five scenarios, of which writing a note breaks a rule, and return its folder."""
    folder = project(pytester, range(1, 6), AGENTS)
    for path in folder.glob("*.scenario.yaml"):
        rule = "  because: [hours]\n  never: [{tool: add_note, code: unauthorised_write}]\n"
        path.write_text(path.read_text("utf-8").replace("  because: [hours]\n", rule), encoding="utf-8")
    return folder


@pytest.fixture
def blessed(desk: Path, plain: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bless two trials of an agent that fails in case 2."""
    monkeypatch.setenv("BROKEN", "2")
    plain(agent("changing"), TRIALS, "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", "before.jsonl", "baseline.json"]) == 0
    return desk


def said(result: Any) -> str:
    """Return a terminal's output in one line."""
    return " ".join(result.stdout.str().split())


def verdict(result: Any) -> str:
    """Return the word in the gate's title."""
    titles = re.findall(r"=+ supportbench gate: (.*?) =+$", result.stdout.str(), re.MULTILINE)
    assert len(titles) == 1, result.stdout.str()
    return str(titles[0])


def summary(pytester: Any) -> str:
    """Return the first line of the Markdown summary."""
    return str((pytester.path / ".supportbench" / "summary.md").read_text("utf-8").splitlines()[0])


# What was not scored.


def test_a_server_that_dies_after_one_scenario_reaches_no_threshold(desk, pytester, plain, monkeypatch):
    """One pass beside four infrastructure errors is no share of the whole: 10, as nothing but errors is in the way."""
    monkeypatch.setenv("DOWN", "2,3,4,5")
    result = plain(agent("changing"), "--supportbench-fail-under=strict=0.9")
    assert (result.ret, verdict(result)) == (10, "INCONCLUSIVE")
    assert "mostly infrastructure errors in 4 scenarios: TB-002, TB-003, TB-004, TB-005" in said(result)
    assert "infrastructure errors in 4 of 5 trials (80.0 %); at most 2 % may" in said(result)
    assert summary(pytester).startswith("**INCONCLUSIVE")
    monkeypatch.setenv("BROKEN", "1")
    assert plain(agent("changing"), "--supportbench-fail-under=strict=0.9").ret == 11


def test_tolerated_errors_stand_against_no_threshold(desk, plain):
    """``--supportbench-max-errors`` holds for thresholds too, as long as no scenario has mostly errors."""
    assert plain(agent("stumbling"), TRIALS, UNDER).ret == 10
    result = plain(agent("stumbling"), TRIALS, UNDER, "--supportbench-max-errors=0.1")
    assert (result.ret, verdict(result)) == (0, "PASS")
    assert "strict: 1.000 (9/9)" in said(result)


@pytest.mark.parametrize("way", [(), ("-n", "2")])
def test_skipped_scenarios_leave_thresholds_open(desk, pytester, plain, way):
    """What the user's own hooks skip was never judged, and the gate names it."""
    (pytester.path / "conftest.py").write_text(
        "import pytest\n\ndef pytest_runtest_setup(item):\n"
        "    if 'TB-' in item.name and 'TB-001' not in item.name: pytest.skip('needs staging')\n",
        encoding="utf-8",
    )
    process = start(pytester, agent("changing"), UNDER, "--supportbench-results=skipping.jsonl", *way)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 11, out
    assert "supportbench gate: INCONCLUSIVE" in out
    assert "4 scenarios were skipped: TB-002, TB-003, TB-004, TB-005" in " ".join(out.split())
    assert main(["compare", "skipping.jsonl", "--fail-under=strict=0.5"]) == 11


def test_a_selection_is_judged_by_thresholds(desk, plain):
    """What the command line leaves out was not asked for."""
    assert plain(agent("changing"), UNDER, "-k", "TB-001 or TB-003").ret == 0


# Whose run it is.


@pytest.mark.parametrize("options", [(UNDER,), (TRIALS, BASELINE)], ids=["thresholds", "baseline"])
def test_a_fixture_with_several_agents_is_refused(blessed, pytester, plain, options):
    """One verdict on the first of two agents would be a verdict on neither."""
    scenario(blessed / "deep", 6)
    (pytester.path / "conftest.py").write_text(
        "import pytest, desk_agents\n\n@pytest.fixture\ndef supportbench_agent(request):\n"
        "    return desk_agents.good if 'TB-001' in request.node.nodeid else desk_agents.bad\n",
        encoding="utf-8",
    )
    result = plain(*options)
    assert (result.ret, verdict(result)) == (11, "INCONCLUSIVE")
    assert "the run has 2 agents (bad, good), and a gated run judges one; run them one by one" in said(result)


# What judged nothing.


@pytest.mark.parametrize("options", [(UNDER,), (TRIALS, BASELINE)], ids=["thresholds", "baseline"])
@pytest.mark.parametrize(
    "kind",
    [
        (
            "def pytest_runtest_setup(item):\n    pytest.skip('x')\n",
            ("desk",),
            11,
            "5 scenarios were skipped",
        ),
        ("", ("test_own.py",), 11, "no scenario was run"),
        ("", ("-k", "nothing_at_all"), 5, "no scenario was run"),
    ],
    ids=["skipped", "own tests", "nothing selected"],
)
def test_a_gate_that_judged_nothing_says_so(blessed, pytester, plain, options, kind):
    """Exit status 11 with words, and a summary of this run and of no earlier one."""
    conftest, select, status, why = kind
    plain(agent("changing"), *options)
    assert summary(pytester).startswith("**PASS")
    (pytester.path / "conftest.py").write_text(f"import pytest\n\n{conftest}", encoding="utf-8")
    (pytester.path / "test_own.py").write_text("def test_own(): pass\n", encoding="utf-8")
    result = plain(agent("changing"), *options, *select)
    assert (result.ret, verdict(result)) == (status, "INCONCLUSIVE")
    assert why in said(result)
    assert summary(pytester).startswith("**INCONCLUSIVE")


def test_what_only_collects_judges_nothing(blessed, pytester, plain):
    """Neither a list of items nor one of fixtures is a run, and neither takes the last run's summary away."""
    plain(agent("changing"), TRIALS, BASELINE)
    for option in ("--collect-only", "--fixtures"):
        result = plain(agent("changing"), TRIALS, BASELINE, option)
        assert result.ret == 0
        assert "supportbench gate" not in result.stdout.str()
    assert summary(pytester).startswith("**PASS")


@pytest.mark.parametrize("words", [("--no-summary",), ("-p", "no:terminal")])
def test_the_summary_is_of_this_run_whatever_is_printed(blessed, pytester, plain, words):
    """Continuous integration reads the file, not the terminal."""
    (pytester.path / ".supportbench" / "summary.md").write_text("**REGRESSED: stale**\n", encoding="utf-8")
    assert plain(agent("changing"), TRIALS, BASELINE, *words).ret == 0
    assert summary(pytester).startswith("**PASS")


LAST = """
import pytest, pathlib

@pytest.fixture(autouse=True)
def takes_the_file(request):
    yield
    if "{case}" in request.node.name:
        {what}
"""
GONE = "pathlib.Path('run.jsonl').unlink()"
REPLACED = 'pathlib.Path(\'run.jsonl\').write_text(\'{"type":"run","run":"another"}\\n\')'


@pytest.mark.parametrize("what", [GONE, REPLACED], ids=["deleted", "replaced"])
@pytest.mark.parametrize("case", ["TB-005", "TB-001"], ids=["at the end", "on the way"])
def test_a_run_whose_file_was_taken_away_is_no_pass(desk, pytester, plain, what, case):
    """Without its results there is nothing to judge, and the words say which file it was."""
    (pytester.path / "conftest.py").write_text(LAST.format(what=what, case=case), encoding="utf-8")
    inline = "--supportbench-results=run.jsonl"
    result = plain(agent("changing"), UNDER, inline, "-s")
    assert (result.ret, verdict(result)) == (11 if case == "TB-005" else 4, "INCONCLUSIVE")
    text = said(result)
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert "run.jsonl" in text.partition("supportbench gate")[2]
    if case == "TB-001":
        assert "is another run's now" in text or "is gone" in text
        assert "--supportbench-results" in text
    if what == REPLACED:
        assert (pytester.path / "run.jsonl").read_text("utf-8").count("\n") == 1


def test_two_runs_on_one_path_end_in_words(desk, pytester, monkeypatch):
    """The second one has the file; the first one says so; neither shows a traceback."""
    monkeypatch.setenv("WAITS", "2")
    options = (agent("waiting"), UNDER, "--supportbench-results=run.jsonl")
    first = start(pytester, *options)
    deadline = time.monotonic() + 60
    while not (pytester.path / "waits").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    monkeypatch.setenv("WAITS", "")
    second = start(pytester, *options)
    outs = [second.communicate(timeout=120)[0]]
    (pytester.path / "go").touch()
    outs.append(first.communicate(timeout=120)[0])
    assert (second.returncode, first.returncode) == (0, 4), outs
    assert "is another run's now" in " ".join(outs[1].split())
    assert "supportbench gate: INCONCLUSIVE" in outs[1]
    assert not any("Traceback" in out or "INTERNALERROR" in out for out in outs)


# Failures beside the verdicts.


HOOKS = {
    "a hook around the call": "@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n    yield\n"
    "    if '001' in item.name: pytest.fail('house rule: too slow')\n",
    "a fixture's end": "@pytest.fixture(autouse=True)\ndef rule(request):\n    yield\n"
    "    if '001' in request.node.name: pytest.fail('house rule: too slow')\n",
    "a hook that replaces the failure": "@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n"
    "    try:\n        return (yield)\n    except BaseException:\n        pytest.fail('house rule: no failures')\n",
    "pytest's own count": "def pytest_sessionfinish(session): pass\n\n@pytest.hookimpl(wrapper=True)\n"
    "def pytest_runtestloop(session):\n    done = yield\n    session.testsfailed += 1\n    return done\n",
}


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("options", [(UNDER,), (TRIALS, BASELINE)], ids=["thresholds", "baseline"])
def test_what_fails_for_another_reason_fails_the_run(blessed, pytester, plain, name, options):
    """Only the verdict of a scenario is the gate's to judge; title, summary and exit status say FAILED together."""
    (pytester.path / "conftest.py").write_text(f"import pytest\n\n{HOOKS[name]}", encoding="utf-8")
    result = plain(agent("changing"), *options)
    assert (result.ret, verdict(result)) == (1, "FAILED")
    assert summary(pytester).startswith("**FAILED")
    assert "beside the scenarios' verdicts" in said(result).partition("supportbench gate")[2]


def test_without_a_gate_an_uncounted_failure_wins_over_errors(desk, pytester, plain, monkeypatch):
    """A rerun may cure infrastructure errors, and not what another plugin counts as failed."""
    monkeypatch.setenv("DOWN", "4")
    assert plain(agent("changing")).ret == 10
    text = HOOKS["pytest's own count"]
    (pytester.path / "conftest.py").write_text(f"import pytest\n\n{text}", encoding="utf-8")
    assert plain(agent("changing")).ret == 1


def test_a_failing_test_of_ones_own_is_in_title_and_summary(blessed, pytester, plain):
    """PASS and exit status 1 would contradict each other."""
    pytester.makepyfile(test_other="def test_other(): assert False")
    result = plain(agent("changing"), TRIALS, BASELINE)
    assert (result.ret, verdict(result)) == (1, "FAILED")
    assert summary(pytester).startswith("**FAILED")
    assert "test_other.py::test_other" in said(result).partition("supportbench gate")[2]
    assert last_run(pytester).summary["gate"]["verdict"] == "FAILED"


def test_a_missed_threshold_beside_a_baseline_that_holds_is_one_verdict(blessed, pytester, plain):
    """The worse of the two stands in title, first line of the summary and exit status."""
    result = plain(agent("changing"), TRIALS, BASELINE, "--supportbench-fail-under=strict=0.9")
    assert (result.ret, verdict(result)) == (1, "FAILED")
    assert summary(pytester).startswith("**FAILED")
    assert last_run(pytester).summary["gate"]["verdict"] == "FAILED"


def test_an_infrastructure_error_of_ones_own_test_is_none_of_the_gates(blessed, pytester, plain, monkeypatch):
    """Its exit status is the one that it has without a gate."""
    monkeypatch.setenv("DOWN", "")
    (pytester.path / "test_own.py").write_text(
        "def test_own(supportbench):\n"
        "    supportbench.run('desk/case001.scenario.yaml', agent='http://127.0.0.1:9/')\n",
        encoding="utf-8",
    )
    assert plain(agent("changing"), TRIALS, "test_own.py").ret == 10
    for options in ((TRIALS, BASELINE), (UNDER,)):
        result = plain(agent("changing"), *options)
        assert (result.ret, verdict(result)) == (10, "INCONCLUSIVE")
        assert "1 test of your own ended in an infrastructure error" in said(result)
    monkeypatch.setenv("BROKEN", "1,2,3,4,5")
    missed = plain(agent("changing"), UNDER)
    assert (missed.ret, verdict(missed)) == (1, "FAILED")  # no share of the scenarios is in doubt


# Quarantine.


def quarantine(pytester: Any, name: str, day: str = "2999-01-01") -> str:
    """Write a quarantine file of one scenario and return the option."""
    text = f"quarantine:\n- {{scenario: {name}, owner: ann, reason: slow queue, expires: {day}}}\n"
    (pytester.path / "q.yaml").write_text(text, encoding="utf-8")
    return "--supportbench-quarantine=q.yaml"


def test_thresholds_leave_a_quarantine_out_and_its_end_fails(desk, pytester, plain, monkeypatch, capsys):
    """A held scenario is in no share; a day after its end the run fails and says who must do what."""
    monkeypatch.setenv("BROKEN", "4")
    every = "--supportbench-fail-under=strict=1"
    assert plain(agent("changing"), every).ret == 1
    held = plain(
        agent("changing"), every, quarantine(pytester, "TB-004"), "--supportbench-results=held.jsonl"
    )
    assert (held.ret, verdict(held)) == (0, "PASS")
    assert "strict: 1.000 (4/4)" in said(held)
    assert "TB-004: until 2999-01-01, ann: slow queue" in said(held)
    assert main(["compare", "held.jsonl", "--fail-under=strict=1", "--quarantine=q.yaml"]) == 0
    over = plain(agent("changing"), UNDER, quarantine(pytester, "TB-004", "2020-01-01"))
    assert (over.ret, verdict(over)) == (1, "FAILED")
    assert "ended on 2020-01-01; ann must mend or renew it" in said(over)
    assert "ended on 2020-01-01" in (pytester.path / ".supportbench" / "summary.md").read_text("utf-8")
    assert main(["compare", "held.jsonl", "--fail-under=strict=0.5", "--quarantine=q.yaml"]) == 1
    capsys.readouterr()


@pytest.mark.parametrize("options", [(UNDER,), (TRIALS, BASELINE)], ids=["thresholds", "baseline"])
def test_errors_of_what_is_in_quarantine_stand_against_nothing(
    blessed, pytester, plain, monkeypatch, options
):
    """A scenario whose server is known to be down does not count, with a baseline or without."""
    monkeypatch.setenv("BROKEN", "")
    monkeypatch.setenv("DOWN", "4")
    assert plain(agent("changing"), *options).ret == 10
    held = plain(agent("changing"), *options, quarantine(pytester, "TB-004"))
    assert (held.ret, verdict(held)) == (0, "PASS")
    assert plain(agent("changing"), *options, quarantine(pytester, "TB-003")).ret == 10


def skipping(pytester: Any, name: str) -> None:
    """Let a hook of the user's own skip the items with ``name`` in theirs."""
    (pytester.path / "conftest.py").write_text(
        "import pytest\n\ndef pytest_runtest_setup(item):\n"
        f"    if {name!r} in item.name: pytest.skip('needs staging')\n",
        encoding="utf-8",
    )


@pytest.mark.parametrize("options", [(UNDER,), (TRIALS, BASELINE)], ids=["thresholds", "baseline"])
def test_one_live_scenario_in_quarantine_makes_no_replay_a_live_run(
    blessed, pytester, plain, monkeypatch, options
):
    """Of what counts every reply was a stored one, so the verdict is of stored replies."""
    monkeypatch.setenv("BROKEN", "")
    tapes = "--supportbench-cassette=tapes"
    plain(agent("changing"), TRIALS, tapes)
    for path in (pytester.path / "tapes").rglob("TB-001.json"):
        path.unlink()
    result = plain(agent("changing"), TRIALS, tapes, *options, quarantine(pytester, "TB-001"))
    assert (result.ret, verdict(result)) == (0, "PASS (REPLAYED)")


def test_one_lost_trial_in_quarantine_leaves_thresholds_alone(desk, pytester, plain):
    """A scenario that does not count lacks no trial either; another one does."""
    skipping(pytester, "TB-004[1]")
    assert plain(agent("changing"), TRIALS, UNDER).ret == 11
    held = plain(agent("changing"), TRIALS, UNDER, quarantine(pytester, "TB-004"))
    assert (held.ret, verdict(held)) == (0, "PASS")


def test_a_shard_in_quarantine_whole_has_no_errors(desk, pytester, plain):
    """Exit code 10 is of infrastructure errors alone, and there was none."""
    options = (agent("changing"), UNDER, "--supportbench-shard=1/5")
    name = str(re.search(r"TB-00\d", plain(*options, "-v").stdout.str())[0])
    held = plain(*options, quarantine(pytester, name))
    assert (held.ret, verdict(held)) == (11, "INCONCLUSIVE")


def test_errors_beside_what_no_rerun_cures_are_not_alone(blessed, pytester, plain, monkeypatch):
    """A scenario that is missing, or a new violation of zero tolerance, stays when the server is up again."""
    monkeypatch.setenv("BROKEN", "2")
    monkeypatch.setenv("DOWN", "1")
    assert plain(agent("changing"), TRIALS, BASELINE).ret == 10
    assert plain(agent("changing"), TRIALS, BASELINE, "-k", "not TB-005").ret == 11
    monkeypatch.setenv("NOTES", "3")
    monkeypatch.setenv("BROKEN", "2")
    held = plain(agent("changing"), TRIALS, BASELINE, quarantine(pytester, "TB-003"))
    assert (held.ret, verdict(held)) == (11, "INCONCLUSIVE")


def test_a_skipped_scenario_in_quarantine_leaves_thresholds_alone(desk, pytester, plain):
    """What does not count may be skipped as well; another one may not."""
    skipping(pytester, "TB-004")
    assert plain(agent("changing"), UNDER, quarantine(pytester, "TB-003")).ret == 11
    held = plain(agent("changing"), UNDER, quarantine(pytester, "TB-004"))
    assert (held.ret, verdict(held)) == (0, "PASS")
    assert "TB-004: until 2999-01-01, ann: slow queue" in said(held)


def test_zero_tolerance_in_quarantine_is_seen_as_a_failure_and_annotated(
    blessed, pytester, plain, monkeypatch
):
    """What blocks a run is no expected failure, and GitHub shows it at its file."""
    monkeypatch.setenv("NOTES", "4")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = plain(agent("changing"), TRIALS, BASELINE, quarantine(pytester, "TB-004"))
    assert (result.ret, verdict(result)) == (1, "REGRESSED")
    result.assert_outcomes(passed=6, failed=2, xfailed=2)
    result.stdout.fnmatch_lines(
        [
            "::error file=desk/case004.scenario.yaml,title=REGRESSED%3A TB-004::*unauthorised_write in 2 of 2 trials*"
        ]
    )


def test_an_annotation_tells_counts_and_what_went_wrong(blessed, pytester, plain, monkeypatch):
    """A reader of the pull request need not open the log."""
    monkeypatch.setenv("BROKEN", "2,4")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = plain(agent("changing"), TRIALS, BASELINE)
    (line,) = [line for line in result.stdout.lines if line.startswith("::error")]
    text = line.partition("::error")[2].partition("::")[2]
    assert "passed 2 of 2 trials in the baseline, 0 of 2 now, 0 of 3 fresh ones: confirmed" in text
    assert "failed resolution" in text


def test_a_missed_threshold_is_annotated_as_the_runs(blessed, pytester, plain, monkeypatch):
    """A new failure that a baseline of one trial cannot confirm is not why, and does not stand for what is."""
    plain(agent("changing"), "--supportbench-results=once.jsonl")
    assert main(["baseline", "set", "once.jsonl", "once.json"]) == 0
    monkeypatch.setenv("BROKEN", "2,4")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = plain(
        agent("changing"), "--supportbench-baseline=once.json", "--supportbench-fail-under=strict=0.9"
    )
    lines = [line for line in result.stdout.lines if line.startswith("::error")]
    assert "TB-004" in lines[0]
    assert lines[-1].startswith(
        "::error title=supportbench gate%3A FAILED::FAILED: a share is below its threshold"
    )
    assert len(lines) == 2


def test_new_failures_are_counted_on_a_line_of_their_own(blessed, pytester, monkeypatch):
    """``-q`` has its progress on the line before, and one failure is no plural."""
    monkeypatch.setenv("BROKEN", "2,4")
    out, _ = start(pytester, "-q", agent("changing"), TRIALS, BASELINE).communicate(timeout=120)
    assert "gate: 1 new failure, tried 3 times again" in out.splitlines()


# Replays.


def test_a_replayed_run_is_marked_in_the_first_line(blessed, pytester, plain, monkeypatch):
    """Stored replies say nothing of an agent that changed since, so the verdict is marked wherever it stands."""
    tapes = "--supportbench-cassette=tapes"
    live = plain(agent("changing"), TRIALS, BASELINE, tapes)
    assert verdict(live) == "PASS"
    assert last_run(pytester).summary["gate"]["replayed"] is False
    for options in ((BASELINE,), (UNDER,)):
        result = plain(agent("changing"), TRIALS, tapes, "--supportbench-record=none", *options)
        assert (result.ret, verdict(result)) == (0, "PASS (REPLAYED)")
        assert "of stored replies (REPLAYED, no agent was asked)" in said(result).partition("gate: PASS")[2]
        first = summary(pytester)
        assert first.startswith("**PASS of stored replies (REPLAYED, no agent was asked)")
        assert last_run(pytester).summary["gate"]["replayed"] is True


# Tests of the user's own beside the scenarios.


@pytest.mark.parametrize("order", [("own", "desk"), ("desk", "own")], ids="-".join)
def test_tests_of_ones_own_change_nothing_of_what_is_compared(blessed, pytester, plain, order):
    """A path over a parent folder is the same suite, and a suite that only such tests use is none of the run's."""
    suite(pytester.path / "shop", "shop")
    scenario(pytester.path / "shop", 9)
    (pytester.path / "own").mkdir()
    (pytester.path / "own" / "test_own.py").write_text(
        "def test_same(supportbench):\n    supportbench.run('../desk/case001.scenario.yaml')\n\n"
        "def test_other(supportbench):\n    supportbench.run('../shop/case009.scenario.yaml', agent='oracle')\n",
        encoding="utf-8",
    )
    result = plain(*order, agent("changing"), TRIALS, BASELINE)
    assert (result.ret, verdict(result)) == (0, "PASS")
    assert [item["name"] for item in last_run(pytester).run["suites"]].count("desk") == 1


# Fresh trials that come to nothing.


def test_too_many_hanging_calls_in_fresh_trials_are_told(blessed, pytester, plain, monkeypatch):
    """The baseline has the same limits, so the new failures are tried again, until too many calls hang."""
    plain(agent("changing"), TRIALS, "--supportbench-timeout=0.3", "--supportbench-results=short.jsonl")
    assert main(["baseline", "set", "short.jsonl", "short.json"]) == 0
    monkeypatch.setenv("HANGS", "3,4")
    result = plain(
        agent("changing"), TRIALS, "--supportbench-baseline=short.json", "--supportbench-timeout=0.3"
    )
    assert (result.ret, verdict(result)) == (11, "INCONCLUSIVE")
    assert "calls of the agent 'python-desk_agents-changing' hang past the limit" in said(result)
    assert "Traceback" not in said(result)


def test_a_budget_that_ends_in_fresh_trials_is_told(blessed, pytester, plain, monkeypatch):
    """All scenarios were paid for, and the fresh trials were not."""
    plain(agent("costly"), TRIALS, "--supportbench-results=paid.jsonl")
    assert main(["baseline", "set", "paid.jsonl", "paid.json"]) == 0
    monkeypatch.setenv("BROKEN", "2,4")
    options = (TRIALS, "--supportbench-baseline=paid.json", "--supportbench-max-tokens=101")
    result = plain(agent("costly"), *options)
    assert (result.ret, verdict(result)) == (11, "INCONCLUSIVE")
    assert "--supportbench-max-tokens=101 is used up" in said(result).partition("supportbench gate: ")[2]
    assert "Traceback" not in said(result)


def test_ctrl_c_in_fresh_trials_ends_the_run_in_order(blessed, pytester, plain, monkeypatch):
    """Exit status 2, as ever, a closed results file, and no traceback."""
    plain(agent("waiting"), TRIALS, "--supportbench-results=w.jsonl", "--supportbench-timeout=20")
    assert main(["baseline", "set", "w.jsonl", "w.json"]) == 0
    path = pytester.path / "desk_agents.py"
    again = "\n\ntries = []\n\n\ndef patient(observation):\n    if case(observation) == 4:\n        tries.append(1)\n"
    again += (
        '        if len(tries) > 2:\n            open("waits", "w").close()\n            time.sleep(15)\n'
    )
    again += "        return BAD\n    return changing(observation)\n"
    path.write_text(path.read_text("utf-8") + again, encoding="utf-8")
    options = (agent("patient"), TRIALS, "--supportbench-baseline=w.json", "--supportbench-timeout=20")
    process = start(pytester, *options)
    deadline = time.monotonic() + 60
    while not (pytester.path / "waits").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2, out + err
    assert "Traceback" not in out + err
    assert "supportbench gate: INCONCLUSIVE" in out
    assert "the fresh trials were interrupted" in " ".join(out.split())
    assert last_run(pytester).summary["stopped_early"]


def test_a_run_under_other_limits_asks_nobody_again(blessed, pytester, plain, monkeypatch):
    """It is not comparable, whatever fresh trials would show."""
    monkeypatch.setenv("BROKEN", "2,4")
    result = plain(agent("changing"), TRIALS, BASELINE, "--supportbench-timeout=60")
    assert (result.ret, verdict(result)) == (11, "INCONCLUSIVE")
    assert "new failure, tried" not in said(result)
    assert [line for line in last_run(pytester).episodes if line["trial"] > 2] == []


# Processes.


def test_each_scenario_in_each_process_is_refused(blessed, pytester):
    """``--dist each`` would count every trial twice."""
    process = start(pytester, agent("changing"), TRIALS, BASELINE, "--dist", "each", "--tx", "2*popen")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 4, out + err
    assert "--dist each" in err
    assert "Traceback" not in out + err


def test_an_agent_that_kills_its_worker_has_one_verdict(blessed, pytester, monkeypatch):
    """The item failed without a verdict, so title and exit status say FAILED."""
    monkeypatch.setenv("DIES", "3")
    out, _ = start(pytester, agent("changing"), TRIALS, BASELINE, "-n", "2").communicate(timeout=120)
    assert "supportbench gate: FAILED" in out
    assert summary(pytester).startswith("**FAILED")
    assert last_run(pytester).summary["exit_status"] == 1


def test_other_tools_make_another_suite(pytester, plain):
    """What a suite's own tools do is a part of it: with others the agent is not blamed for what they did."""
    folder = pytester.path / "telecom"
    shutil.copytree(Path(__file__).parent.parent / "examples" / "telecom-yaml", folder)
    plain("telecom", "--supportbench-agent=oracle", TRIALS, "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", "before.jsonl", "baseline.json"]) == 0
    tools = folder / "tools.yaml"
    text = tools.read_text(encoding="utf-8")
    tools.write_text(text.replace("set: {status: blocked}", "set: {status: active}"), encoding="utf-8")
    assert text != tools.read_text(encoding="utf-8")

    result = plain("telecom", "--supportbench-agent=oracle", TRIALS, "--supportbench-baseline=baseline.json")

    assert "INCONCLUSIVE" in verdict(result)
    with pytest.raises(ToolsetError, match="other files here"):
        pickle.loads(_packed_with(tools, text, folder))


def _packed_with(tools: Path, text: str, folder: Path) -> bytes:
    """Return a suite as it travels to a worker, where the tools are not these."""
    other = tools.read_text(encoding="utf-8")
    tools.write_text(text, encoding="utf-8")
    data = pickle.dumps(load_suite(folder / "suite.yaml"))
    assert pickle.loads(data).toolset_sha256
    tools.write_text(other, encoding="utf-8")
    return data
