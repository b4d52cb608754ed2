"""``--supportbench-baseline`` and ``--supportbench-fail-under``: what a run is judged to be, and what CI gets of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import scipy.stats
import statsmodels.stats.api
from projects import DARK, agent, last_run, project, scenario, start

from pytest_supportbench.cli import main

if TYPE_CHECKING:
    from pathlib import Path

PRELOADED = (scipy.stats, statsmodels.stats.api)
"""numpy cannot be loaded twice in one process, and pytester forgets what a run in this process loaded."""

BASELINE = "--supportbench-baseline=baseline.json"

CHANGING = """

def changing(observation):
    \"\"\"Answers well but for the cases that the environment names.\"\"\"
    return BAD if str(case(observation)) in os.environ.get("BROKEN", "").split(",") else GOOD
"""


@pytest.fixture
def blessed(pytester, plain, monkeypatch):
    """Return a function that makes a project whose baseline fails in case 2, with so many trials."""

    def blessed(trials: int = 2, numbers=range(1, 6)) -> Path:
        folder = project(pytester, numbers, CHANGING)
        monkeypatch.setenv("BROKEN", "2")
        plain(agent("changing"), f"--supportbench-trials={trials}", "--supportbench-results=before.jsonl")
        assert main(["baseline", "set", str(pytester.path / "before.jsonl"), "baseline.json"]) == 0
        return folder

    return blessed


def gate(pytester) -> dict:
    """Return what the newest run's closing line says of the gate."""
    return last_run(pytester).summary["gate"]


@pytest.mark.parametrize("way", [(), ("-n", "2"), ("-p", "no:xdist", "-p", "no:html")])
def test_an_unchanged_agent_passes(pytester, blessed, monkeypatch, way):
    """What failed before is an expected failure, and the exit status is 0, in every way of running."""
    blessed()
    process = start(pytester, agent("changing"), "--supportbench-trials=2", BASELINE, *way)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    assert "8 passed, 2 xfailed" in out
    assert "supportbench gate: PASS" in out
    assert gate(pytester)["decision"]["still"] == ["desk/TB-002"]


@pytest.mark.parametrize("way", [(), ("-n", "2")])
def test_a_new_failure_is_tried_again_and_blocks(pytester, blessed, monkeypatch, way):
    """A scenario that passed and fails now gets the declared fresh trials; they confirm it, and the run regressed."""
    blessed()
    monkeypatch.setenv("BROKEN", "2,4")
    process = start(pytester, agent("changing"), "--supportbench-trials=2", BASELINE, *way)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    assert "supportbench gate: REGRESSED" in out
    assert "2 failed, 6 passed, 2 xfailed" in out
    decision = gate(pytester)["decision"]
    assert decision["confirmed"] == ["desk/TB-004"]
    fresh = [line for line in last_run(pytester).episodes if line["trial"] > 2]
    assert len(fresh) == decision["fresh_trials"] >= 3
    assert {line["scenario"] for line in fresh} == {"TB-004"}
    assert last_run(pytester).summary["unreported"] == []
    assert last_run(pytester).summary["verdicts"] == {"passed": 6, "failed": 4, "error": 0}


def test_one_trial_tells_a_new_failure_and_proves_nothing(pytester, plain, blessed, monkeypatch):
    """With one trial before, a single new failure is shown as one and cannot be told from chance: no evidence."""
    blessed(1)
    monkeypatch.setenv("BROKEN", "2,4")
    result = plain(agent("changing"), BASELINE)
    result.assert_outcomes(passed=3, failed=1, xfailed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*supportbench gate: PASS*", "*new failures: 1 (TB-004)*"])


def test_a_fixed_scenario_is_shown_as_fixed(pytester, plain, blessed, monkeypatch):
    """What failed in the baseline and passes now is named."""
    blessed()
    monkeypatch.setenv("BROKEN", "")
    result = plain(agent("changing"), "--supportbench-trials=2", BASELINE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*fixed: 1 (TB-002)*"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-k", "TB-001"], "in the baseline and not in the run"),
        (["--supportbench-trials=1"], "trials*"),
        (["--supportbench-max-turns=3"], "max turns*"),
    ],
)
def test_what_cannot_be_compared_is_never_a_pass(pytester, plain, blessed, arguments, said):
    """A part of the scenarios, fewer trials or other limits leave the gate inconclusive, with exit status 11."""
    blessed()
    result = plain(agent("changing"), "--supportbench-trials=2", BASELINE, *arguments)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*supportbench gate: INCONCLUSIVE*", f"*{said}*"])


def test_a_changed_suite_is_not_compared(pytester, plain, blessed):
    """Another scenario file makes another suite; the gate says which one changed."""
    folder = blessed()
    scenario(folder, 3, title="Asks in other words, case 3")
    result = plain(agent("changing"), "--supportbench-trials=2", BASELINE)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*TB-003*"])


def test_a_run_that_stopped_early_is_inconclusive(pytester, plain, blessed, monkeypatch):
    """``-x`` ends a run before its end, so that it proves nothing, whatever it showed."""
    blessed()
    monkeypatch.setenv("BROKEN", "2,4")
    result = plain(agent("changing"), "--supportbench-trials=2", BASELINE, "-x")
    assert result.ret in {1, 11}
    result.stdout.fnmatch_lines(["*supportbench gate: INCONCLUSIVE*"])


def test_a_server_that_is_down_is_an_error_of_the_infrastructure(pytester, plain, blessed):
    """Where nothing could be judged the exit status stays 10, as without a gate."""
    blessed()
    result = plain(f"--supportbench-agent={DARK}", "--supportbench-trials=2", BASELINE)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*supportbench gate: INCONCLUSIVE*"])


def test_a_failing_test_of_ones_own_fails_beside_a_passing_gate(pytester, plain, blessed):
    """The gate judges scenarios; any other failure is one."""
    blessed()
    pytester.makepyfile(test_other="def test_other(): assert False")
    assert plain(agent("changing"), "--supportbench-trials=2", BASELINE).ret == 1


def test_a_scenario_in_quarantine_does_not_count(pytester, plain, blessed, monkeypatch):
    """It runs, is an expected failure with owner and end, and a day after its end the run fails."""
    blessed()
    monkeypatch.setenv("BROKEN", "2,4")
    entry = "- {{scenario: TB-004, owner: ann, reason: slow queue, expires: {day}}}\n"
    path = pytester.path / "quarantine.yaml"
    path.write_text("quarantine:\n" + entry.format(day="2999-01-01"), encoding="utf-8")
    held = plain(
        agent("changing"),
        "--supportbench-trials=2",
        BASELINE,
        "--supportbench-quarantine=quarantine.yaml",
        "-rx",
    )
    held.assert_outcomes(passed=6, xfailed=4)
    assert held.ret == 0
    held.stdout.fnmatch_lines(
        ["*in quarantine, not counted: 1 (TB-004)*", "XFAIL*in quarantine*ann*slow queue*"]
    )
    path.write_text("quarantine:\n" + entry.format(day="2020-01-01"), encoding="utf-8")
    over = plain(
        agent("changing"), "--supportbench-trials=2", BASELINE, "--supportbench-quarantine=quarantine.yaml"
    )
    assert over.ret == 1
    over.stdout.fnmatch_lines(["*ended on 2020-01-01*ann*"])


def test_thresholds_judge_a_run_without_a_baseline(pytester, plain, monkeypatch):
    """Shares that are high enough give exit status 0 beside failures; one that is not, or its bound, gives 1."""
    project(pytester, range(1, 6), CHANGING)
    monkeypatch.setenv("BROKEN", "2")
    reached = plain(agent("changing"), "--supportbench-fail-under=strict=0.8,policy=1")
    reached.assert_outcomes(passed=4, failed=1)
    assert reached.ret == 0
    missed = plain(agent("changing"), "--supportbench-fail-under=strict=0.81")
    assert missed.ret == 1
    missed.stdout.fnmatch_lines(["*supportbench gate: FAILED*", "*! strict: 0.800 (4/5)*"])
    bound = plain(
        agent("changing"), "--supportbench-fail-under=strict=0.8", "--supportbench-fail-under-by=bound"
    )
    assert bound.ret == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--supportbench-baseline=nowhere.json"], "*nowhere.json*baseline set*"),
        (["--supportbench-fail-under=strict"], "*strict=0.8*"),
        (["--supportbench-fail-under=stict=0.8"], "*did you mean 'strict'*"),
        (["--supportbench-fail-under=strict=80"], "*no share from 0 to 1*"),
        (["--supportbench-fail-under=explanation=0.8"], "*not calibrated*"),
        (["--supportbench-quarantine=q.yaml"], "*goes with --supportbench-baseline*"),
        (["--supportbench-fail-under=strict=0.8", "--supportbench-agent=rules"], "*one agent, not 2*"),
        (["--supportbench-fail-under=strict=0.8", "--supportbench-margin=2"], "*no share below 1*"),
    ],
)
def test_wrong_options_are_told_before_anything_runs(pytester, plain, arguments, said):
    """Each mistake is a usage error that names the option and the remedy."""
    project(pytester, [1], CHANGING)
    result = plain(agent("changing"), *arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([said])


def test_continuous_integration_gets_a_summary_and_annotations(pytester, plain, blessed, monkeypatch):
    """The summary's first line is the verdict, and GitHub shows the new failure at its file."""
    blessed()
    monkeypatch.setenv("BROKEN", "2,4")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "step.md"))
    result = plain(agent("changing"), "--supportbench-trials=2", BASELINE)
    title = "title=REGRESSED%3A TB-004"
    result.stdout.fnmatch_lines([f"::error file=desk/case004.scenario.yaml,{title}::TB-004: *: confirmed; *"])
    text = (pytester.path / "step.md").read_text(encoding="utf-8")
    assert text.splitlines()[0] == "**REGRESSED: the agent got worse**"
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    plain(agent("changing"), "--supportbench-trials=2", BASELINE, "--supportbench-summary=own.md")
    assert (pytester.path / "own.md").read_text(encoding="utf-8").startswith("**REGRESSED")


def test_runs_are_compared_on_the_command_line(pytester, plain, blessed, monkeypatch, capsys):
    """``compare`` judges as the gate does, as text, Markdown and JSON, with the gate's exit codes."""
    blessed()
    plain(agent("changing"), "--supportbench-trials=2", "--supportbench-results=after.jsonl")
    capsys.readouterr()
    assert main(["compare", "before.jsonl", "after.jsonl"]) == 0
    assert "PASS: no evidence" in capsys.readouterr().out
    assert main(["compare", "baseline.json", "after.jsonl", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["verdict"] == "PASS"
    monkeypatch.setenv("BROKEN", "2,4")
    plain(agent("changing"), "--supportbench-trials=2", "--supportbench-results=worse.jsonl")
    capsys.readouterr()
    assert main(["compare", "baseline.json", "worse.jsonl", "--format", "markdown"]) == 11
    assert capsys.readouterr().out.startswith("**INCONCLUSIVE")
    assert main(["aa", "before.jsonl", "after.jsonl"]) == 0
    assert "no scenario flickers" in capsys.readouterr().out
    assert main(["compare", "before.jsonl"]) == 4
    assert main(["compare", "before.jsonl", "nowhere.jsonl"]) == 4


def test_a_reader_that_leaves_early_changes_no_verdict(pytester, plain, blessed, monkeypatch):
    """``compare … | head -1`` ends with the gate's exit code, and never as if all were well."""
    blessed()
    monkeypatch.setenv("BROKEN", "2,4")
    plain(agent("changing"), "--supportbench-trials=2", "--supportbench-results=worse.jsonl")
    reader, writer = os.pipe()
    os.close(reader)
    code = "import sys; from pytest_supportbench.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "compare", "baseline.json", "worse.jsonl"]
    with os.fdopen(writer, "wb") as out:
        assert subprocess.run(command, stdout=out, check=False).returncode == 11


def test_a_run_with_gaps_is_not_blessed(pytester, plain, capsys):
    """A baseline comes of a whole run without infrastructure errors only."""
    project(pytester, [1, 2], CHANGING)
    plain(f"--supportbench-agent={DARK}", "--supportbench-results=dark.jsonl")
    assert main(["baseline", "set", "dark.jsonl"]) == 4
    assert "infrastructure errors" in capsys.readouterr().err
