"""``--supportbench-judge`` and ``--supportbench-calibration``: explanation in a live run, and in its gate.

No judge here is a real model. All labels are synthetic: no person has labelled anything.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
import scipy.stats
import statsmodels.stats.api
from projects import DARK, agent, last_run, project, start
from stored_runs import OPEN, desk, stored
from test_calibration import good, labels

from pytest_supportbench import judging
from pytest_supportbench.annotators import people
from pytest_supportbench.calibration import Rater, calibrate
from pytest_supportbench.calibration_file import calibration_text
from pytest_supportbench.cli import main
from pytest_supportbench.evidence import evidence
from pytest_supportbench.explained import (
    Explained,
    agent_explained,
    episode_shares,
    gate_lines,
    place_of,
    summary_lines,
)
from pytest_supportbench.judge import parse_judge
from pytest_supportbench.judgements import read_judgements
from pytest_supportbench.judging import Judging
from pytest_supportbench.questions import items_of, matcher_fingerprint
from pytest_supportbench.results_file import RunFile, read_run
from pytest_supportbench.statistics import clustered
from pytest_supportbench.thresholds import Thresholds, measure

if TYPE_CHECKING:
    from pathlib import Path

PRELOADED = (scipy.stats, statsmodels.stats.api)
"""numpy cannot be loaded twice in one process, and pytester forgets what a run in this process loaded."""

JUDGE = "--supportbench-judge=python:desk_judge:judge"
CALIBRATION = "--supportbench-calibration=calibration.json"
DARK_JUDGE = "--supportbench-judge=ollama:m?host=http://127.0.0.1:9&retries=0"

CODE = '''
"""Says yes to whatever was told, but for case 5."""

def judge(question):
    told = [message.message for message in question.told if message.role == "agent"]
    if question.before[-1].message.endswith("case 5"):
        return {"answer": "no"}
    return {"answer": "yes", "evidence": told[0]}
'''

FAILING = "def judge(question):\n    raise OSError('the wire is cut')\n"

FLAKY = """
def judge(question):
    if question.before[-1].message.endswith("case 3"):
        raise OSError("the wire is cut")
    return {"answer": "no"}
"""


@pytest.fixture
def odd(pytester):
    """Make a project of five cases whose agent answers the odd ones, and a judge; return a function that sets it."""
    project(pytester, range(1, 6))

    def write(code: str = CODE) -> None:
        (pytester.path / "desk_judge.py").write_text(code, encoding="utf-8")

    write()
    return write


def told(pytester) -> dict[str, Any]:
    """Return what the newest run's closing line says of explanation."""
    return last_run(pytester).summary["explanation"]


def certify(pytester, *fingerprints: dict[str, Any]) -> None:
    """Write a calibration of these raters, made of synthetic labels on which people and raters agree."""
    made = labels(*good(missed=0))
    said = {item.key: item.matcher for item in made.items}
    found = [calibrate(made, Rater(fingerprint, said)) for fingerprint in fingerprints]
    assert all(one.calibrated for one in found)
    text = calibration_text("synthetic labels", people(made), found)
    (pytester.path / "calibration.json").write_text(text, encoding="utf-8")


def certify_matcher(pytester, plain) -> None:
    plain(agent("odd"))
    certify(pytester, matcher_fingerprint(last_run(pytester).run))


def certify_judge(pytester, plain) -> None:
    plain(agent("odd"), JUDGE)
    certify(pytester, told(pytester)["fingerprint"])


@pytest.mark.parametrize("way", [(), ("-n", "2"), ("-p", "no:xdist", "-p", "no:html", "-p", "no:terminal")])
def test_the_judge_is_asked_at_the_end_of_a_run(pytester, odd, way):
    """Both raters' shares, their standing and their disagreement are printed, stored, and the answers beside them."""
    process = start(pytester, agent("odd"), JUDGE, "--supportbench-results=run.jsonl", *way)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    if "no:terminal" not in way:
        assert "supportbench judge: python:desk_judge:judge, asked at the end of the run" in out
        assert "by the phrase matcher  0.60 of concepts, UNCALIBRATED" in out
        assert "by the judge           0.80 of concepts, UNCALIBRATED" in out
        apart = (
            "they disagree on 3 of 5 items: 1 that only the phrase matcher finds, 2 that only the judge finds"
        )
        assert apart in " ".join(out.split())
        assert "uncalibrated because no calibration file is named" in " ".join(out.split())
        assert "judgements: run.judgements.jsonl" in out
    found = read_run(pytester.path / "run.jsonl").summary["explanation"]
    assert found["agents"] == [
        {
            "agent": "python-desk_agents-odd",
            "episodes": 5,
            "matcher": 0.6,
            "judged": 5,
            "judge": 0.8,
            "disagreement": {"items": 5, "differ": 3, "matcher_only": 1, "judge_only": 2},
            "unanswered": 0,
        }
    ]
    assert found["calibrated"] == {"matcher": False, "judge": False}
    assert (found["errors"], found["problem"]) == ({}, None)
    kept = read_judgements(pytester.path / found["file"])
    assert sorted(line.scenario for line in kept.lines.values()) == [
        f"TB-00{number}" for number in range(1, 6)
    ]
    assert kept.fingerprint == found["fingerprint"]


def test_without_judge_and_calibration_nothing_is_said_of_either(pytester, plain, odd):
    """A run that asks for neither has no further section, and ``null`` in its closing line."""
    result = plain(agent("odd"))
    result.stdout.no_fnmatch_line("*supportbench explanation*")
    assert told(pytester) is None


def test_agents_and_trials_are_told_apart_and_equal_texts_are_asked_about_once(pytester, plain, odd):
    """Two agents and two trials give two blocks, and one question for each scenario and text."""
    result = plain(agent("odd"), agent("bad"), "--supportbench-trials=2", JUDGE)
    result.stdout.fnmatch_lines(
        [
            "*judge: 8 questions*",
            "python-desk_agents-odd: explanation in 10 scored episodes with concepts",
            "*by the phrase matcher  0.60 of concepts*",
            "*they disagree on 3 of 5 items*",
            "python-desk_agents-bad: explanation in 10 scored episodes with concepts",
            "*by the phrase matcher  0.00 of concepts*",
            "*they disagree on 4 of 5 items*",
        ]
    )
    assert [one["judge"] for one in told(pytester)["agents"]] == [0.8, 0.8]
    assert told(pytester)["answers"] == 8


def test_a_run_that_stops_early_asks_nobody_and_says_so(pytester, plain, odd):
    """After ``-x`` the judge is not asked, and an explanation that should gate cannot be told."""
    result = plain(agent("odd"), JUDGE, "-x")
    result.stdout.fnmatch_lines(["*STOPPED EARLY*", "*judge: the run was stopped before its end*not asked*"])
    result.stdout.fnmatch_lines(["*disagree is unknown*"])
    assert told(pytester)["answers"] == 0
    assert "stopped before its end" in told(pytester)["problem"]
    assert not list(pytester.path.glob(".supportbench/runs/*.judgements.jsonl"))


def test_collecting_asks_and_imports_nobody(pytester, plain, odd):
    """``--collect-only`` needs no judge, and neither does a run without scenarios."""
    odd("raise SystemError('imported')")
    result = plain(agent("odd"), JUDGE, "--collect-only", "-q")
    assert result.ret == 0
    pytester.makepyfile(test_other="def test_other(): pass")
    assert plain("test_other.py", JUDGE).ret == 0
    assert not (pytester.path / ".supportbench").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--supportbench-judge=rules"], "*--supportbench-judge: *'rules' cannot judge*"),
        (["--supportbench-judge=python:nowhere:judge", "-n", "2"], "*--supportbench-judge: *nowhere*"),
        (["--supportbench-judge=python:nowhere:judge"], "*--supportbench-judge: *nowhere*"),
        (["--supportbench-judge=python:desk_agents:good_async"], "*--supportbench-judge: *asynchronous*"),
        (
            ["--supportbench-calibration=nowhere.json"],
            "*--supportbench-calibration: *nowhere.json*supportbench calibrate*",
        ),
        (["--supportbench-calibration=desk_judge.py"], "*--supportbench-calibration: *desk_judge.py*"),
        (
            ["--supportbench-fail-under=explanation=0.5"],
            "*not calibrated*--supportbench-calibration*drop explanation*",
        ),
        (["--supportbench-fail-under=explanation=0.5", JUDGE], "*not calibrated*--supportbench-calibration*"),
    ],
)
@pytest.mark.usefixtures("odd")
def test_a_mistake_is_told_before_anything_runs(pytester, plain, arguments, said):
    """Wrong specs, judges that cannot be made and files that are none are usage errors, with several workers too."""
    result = plain(agent("odd"), *arguments)
    assert result.ret == 4
    (result.stderr if result.errlines else result.stdout).fnmatch_lines([said])
    assert not (pytester.path / ".supportbench").exists()


def test_a_calibration_without_its_rater_is_refused(pytester, plain, odd):
    """A fingerprint that somebody emptied is a mistake in the file, told with the file's name."""
    certify(pytester, {"rater": "judge"})
    path = pytester.path / "calibration.json"
    path.write_text(path.read_text("utf-8").replace('"rater": "judge"', '"writer": "judge"'), "utf-8")
    result = plain(agent("odd"), CALIBRATION)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*calibration.json: a fingerprint does not say whose it is*"])


def test_options_come_from_environment_and_ini_too(pytester, plain, odd, monkeypatch):
    """``SUPPORTBENCH_JUDGE`` and ``supportbench_judge`` name a judge; paths of the ini file are relative to it."""
    monkeypatch.setenv("SUPPORTBENCH_JUDGE", "python:desk_judge:judge")
    plain(agent("odd"))
    assert told(pytester)["answers"] == 5
    monkeypatch.delenv("SUPPORTBENCH_JUDGE")
    certify_matcher(pytester, plain)
    toml = "[pytest]\nstrict = true\nsupportbench_judge = 'python:desk_judge:judge'\n"
    (pytester.path / "pytest.toml").write_text(
        f"{toml}supportbench_calibration = 'calibration.json'\n", "utf-8"
    )
    plain(agent("odd"))
    assert told(pytester)["calibrated"] == {"matcher": True, "judge": False}


def test_a_failing_judge_is_told_and_changes_no_verdict(pytester, plain, odd):
    """Its exception and its missing answers are shown; the agent's verdicts and the exit status stay as they are."""
    odd(FAILING)
    result = plain(agent("good"), JUDGE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*by the judge           nothing judged*",
            "*disagree is unknown*",
            "*not judged: 5 items*",
            "*infrastructure error: judge_failed ×5:*",
            "*remedy: mend the function*",
            "*supportbench judge RESULTS --judge SPEC --out *",
        ]
    )
    assert told(pytester)["errors"] == {"judge_failed": 5}


def test_one_missing_answer_leaves_its_episode_out(pytester, plain, odd):
    """The judge's mean is over the episodes that it judged, and the number of the others is told."""
    odd(FLAKY)
    result = plain(agent("good"), JUDGE)
    result.stdout.fnmatch_lines(
        ["*by the judge           0.00 of concepts, UNCALIBRATED, in 4 of 5 episodes"]
    )
    assert told(pytester)["agents"][0]["unanswered"] == 1


def test_a_calibrated_matcher_gates_explanation(pytester, plain, odd):
    """With a calibration of exactly this matcher the mean share must reach the threshold, and counts as calibrated."""
    certify_matcher(pytester, plain)
    reached = plain(agent("odd"), CALIBRATION, "--supportbench-fail-under=explanation=0.6")
    assert reached.ret == 0
    reached.stdout.fnmatch_lines(
        [
            "*explanation: 0.60 of concepts, calibrated phrase matcher*",
            "*supportbench gate: PASS*",
            "*explanation: 0.600 (mean of 5 episodes by the phrase matcher)*",
        ]
    )
    summary = last_run(pytester).summary
    assert summary["agents"][0]["explanation"] == {"mean_share": 0.6, "episodes": 5, "calibrated": True}
    (threshold,) = summary["gate"]["thresholds"]
    assert (threshold["good"], threshold["whole"], threshold["rater"]) == (3.0, 5, "phrase matcher")
    missed = plain(agent("odd"), CALIBRATION, "--supportbench-fail-under=explanation=0.61")
    assert missed.ret == 1
    missed.stdout.fnmatch_lines(["*supportbench gate: FAILED*"])
    bound = ("--supportbench-fail-under=explanation=0.6", "--supportbench-fail-under-by=bound")
    assert plain(agent("odd"), CALIBRATION, *bound).ret == 1


@pytest.mark.parametrize("way", [(), ("-n", "2")], ids=["plain", "n2"])
def test_a_changed_phrase_takes_the_matchers_calibration_back(pytester, plain, odd, way):
    """It is a usage error that names what differs before anything runs, and inconclusive where workers collect."""
    certify_matcher(pytester, plain)
    path = pytester.path / "desk" / "case001.scenario.yaml"
    path.write_text(path.read_text("utf-8").replace('any_of: ["nine"]', 'any_of: ["nine", "ten"]'), "utf-8")
    runs = len(list(pytester.path.glob(".supportbench/runs/*")))
    result = plain(agent("good"), CALIBRATION, "--supportbench-fail-under=explanation=0.5", *way)
    text = " ".join(str(result.stdout if way else result.stderr).split())
    assert "the phrase matcher is uncalibrated because suites.desk of the phrase matcher was" in text
    assert "calibrate it anew with: supportbench labels export" in text
    assert result.ret == (11 if way else 4)
    if way:
        result.stdout.fnmatch_lines(["*supportbench gate: INCONCLUSIVE*", "*! explanation cannot be told*"])
        assert last_run(pytester).summary["agents"][0]["explanation"]["calibrated"] is False
    else:
        assert len(list(pytester.path.glob(".supportbench/runs/*"))) == runs


@pytest.mark.parametrize("way", [(), ("-n", "2")], ids=["plain", "n2"])
def test_a_calibrated_judge_gates_explanation(pytester, plain, odd, way):
    """Where a judge is named and calibrated, it rates: its share decides, not that of the phrase matcher."""
    certify_judge(pytester, plain)
    reached = plain(agent("odd"), JUDGE, CALIBRATION, "--supportbench-fail-under=explanation=0.8", *way)
    assert reached.ret == 0
    reached.stdout.fnmatch_lines(
        [
            "*by the phrase matcher  0.60 of concepts, UNCALIBRATED*",
            "*by the judge           0.80 of concepts, calibrated*",
            "*they disagree on 3 of 5 items*",
            "*explanation: 0.800 (mean of 5 episodes by the judge*",
        ]
    )
    missed = plain(agent("odd"), JUDGE, CALIBRATION, "--supportbench-fail-under=explanation=0.81", *way)
    assert missed.ret == 1


def test_a_changed_judge_is_uncalibrated_and_the_gate_inconclusive(pytester, plain, odd):
    """What differs is named; the run is neither passed nor failed, whatever the share is."""
    certify_judge(pytester, plain)
    odd(CODE + "\n# changed\n")
    for share in ("0.1", "1"):
        result = plain(agent("odd"), JUDGE, CALIBRATION, f"--supportbench-fail-under=explanation={share}")
        assert result.ret == 11
        text = " ".join(str(result.stdout).split())
        assert "supportbench gate: INCONCLUSIVE" in text
        assert "judge python-desk_judge-judge is uncalibrated because module_sha256 of the judge" in text
    unknown = last_run(pytester).summary["gate"]["thresholds"][0]["unknown"]
    assert "uncalibrated because" in unknown


def test_a_matchers_calibration_is_not_the_judges(pytester, plain, odd):
    """Where a judge is named, only its own calibration counts."""
    certify_matcher(pytester, plain)
    result = plain(agent("odd"), JUDGE, CALIBRATION, "--supportbench-fail-under=explanation=0.1")
    assert result.ret == 11
    assert "has no calibration of the judge" in " ".join(str(result.stdout).split())
    assert told(pytester)["calibrated"] == {"matcher": True, "judge": False}


@pytest.mark.parametrize("failing", [JUDGE, DARK_JUDGE], ids=["function", "server"])
def test_a_broken_judge_leaves_the_gate_open(pytester, plain, odd, failing):
    """Exit status 10 where nothing but the judge broke, 11 where scenarios failed beside it: never 0 and never 1."""
    certify_judge(pytester, plain)
    odd(FAILING)
    under = "--supportbench-fail-under=explanation=0.1"
    alone = plain(agent("good"), failing, CALIBRATION, under)
    assert alone.ret == 10
    alone.stdout.fnmatch_lines(["*infrastructure error: judge_*", "*supportbench gate: INCONCLUSIVE*"])
    assert "infrastructure errors of the judge" in " ".join(str(alone.stdout).split())
    assert plain(agent("odd"), failing, CALIBRATION, under).ret == 11
    both = plain(agent("odd"), failing, CALIBRATION, f"{under},strict=0.9")
    assert both.ret == 1  # what the agent surely missed, it missed


def test_a_threshold_that_is_open_keeps_a_baselines_pass_from_being_one(pytester, plain, odd):
    """The verdict in the title and in the summary for CI is that of both together."""
    plain(agent("good"), "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", str(pytester.path / "before.jsonl"), str(pytester.path / "b.json")]) == 0
    certify_judge(pytester, plain)
    odd(FAILING)
    gate = (
        "--supportbench-baseline=b.json",
        "--supportbench-fail-under=explanation=0.1",
        "--supportbench-summary=s.md",
    )
    result = plain(agent("good"), JUDGE, CALIBRATION, *gate)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*supportbench gate: INCONCLUSIVE*"])
    text = (pytester.path / "s.md").read_text("utf-8")
    assert text.startswith("**INCONCLUSIVE: ")
    assert "**unknown**: explanation cannot be told" in text


def test_agents_that_could_not_be_asked_miss_no_threshold(pytester, plain, odd):
    """Where infrastructure errors left nothing to score, the exit status is 10, with a judge and without."""
    for further in ((), (JUDGE,)):
        result = plain(f"--supportbench-agent={DARK}", "--supportbench-fail-under=strict=0.5", *further)
        assert result.ret == 10
        result.stdout.fnmatch_lines(["*supportbench gate: INCONCLUSIVE*"])
    assert told(pytester)["agents"] == []


def test_the_same_judge_goes_on_with_the_file_of_a_run(pytester, plain, odd, monkeypatch, capsys):
    """``supportbench judge`` asks for what a run could not, with the same keys; a rerun replaces the answers."""
    odd(FLAKY)
    plain(agent("odd"), JUDGE, "--supportbench-results=run.jsonl")
    monkeypatch.chdir(pytester.path)
    monkeypatch.syspath_prepend(pytester.path)
    capsys.readouterr()
    options = ["--scenarios", "desk", "--out", "run.judgements.jsonl"]
    assert main(["judge", "run.jsonl", "--judge", "python:desk_judge:judge", *options]) == 10
    assert "4 concepts judged, 0 of them now" in " ".join(capsys.readouterr().out.split())
    del sys.modules["desk_judge"]  # which this process has by now
    odd()
    plain(agent("odd"), JUDGE, "--supportbench-results=run.jsonl")
    assert (
        told(pytester)["answers"] == len(read_judgements(pytester.path / "run.judgements.jsonl").lines) == 5
    )
    (pytester.path / "run.judgements.jsonl").write_text("mine\n", "utf-8")
    result = plain(agent("odd"), JUDGE, "--supportbench-results=run.jsonl")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*run.judgements.jsonl*"])
    assert (pytester.path / "run.judgements.jsonl").read_text("utf-8") == "mine\n"


def test_episodes_of_ones_own_tests_are_not_asked_about(pytester, plain, odd):
    """They may use any agent, and are in no count of the summary."""
    pytester.makepyfile(
        test_own="def test_own(supportbench):\n"
        "    supportbench.run('desk/case001.scenario.yaml', agent='always-decline')\n"
    )
    plain(agent("odd"), JUDGE)
    assert told(pytester)["answers"] == 5


def test_a_judge_that_was_interrupted_loses_nothing(tmp_path: Path, monkeypatch):
    """Ctrl-C while the judge is asked ends the asking; what is known is kept, and the gate stays open."""
    found, _ = judged(tmp_path, monkeypatch, interrupted=True)
    assert found.asked.problem == judging.INTERRUPTED
    assert found.agents[0].unanswered == 1


def judged(tmp_path: Path, monkeypatch, *, interrupted: bool = False):
    """Return the explanation of a stored episode, and what a gate gets of it."""
    folder = desk(tmp_path, [1])
    path = stored(folder, tmp_path / "run.jsonl", [(1, "a", OPEN)])
    (tmp_path / "stored_judge.py").write_text("def judge(question):\n    return {'answer': 'no'}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    raters = Judging(parse_judge("python:stored_judge:judge", tmp_path), None, tmp_path)
    if interrupted:

        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(judging, "judge_all", interrupt)
    run = read_run(path)
    raters.ask(run, path, [folder], lambda _text: None)
    found = raters.explanation(run, path)
    return found, raters.for_gate(found, run, "a")


def test_a_gate_without_a_calibration_file_is_open(tmp_path: Path, monkeypatch):
    """Nobody is calibrated by a file that is not there."""
    found, gated = judged(tmp_path, monkeypatch)
    assert found.agents[0].judge == 0
    assert "uncalibrated because no calibration file is named" in gated.unknown
    assert not gated.infrastructure


LINE = {
    "suite": "desk",
    "scenario": "S-1",
    "twin": "S-0",
    "scenario_sha256": "x",
    "agent": "a",
    "trial": 1,
    "attempt": 1,
    "verdict": "passed",
}


def line(*present: bool, said: str = "Hello there", **changes: Any) -> dict[str, Any]:
    """Return an episode line whose phrase matcher found these of its concepts."""
    checks = [{"id": f"concept:c{number}", "passed": value} for number, value in enumerate(present)]
    turn = {"delivered": True, "message": said, "customer_reply": None}
    return {**LINE, "dimensions": {"explanation": {"checks": checks}}, "turns": [turn], **changes}


def test_shares_are_means_over_episodes_and_silence_conveys_nothing():
    """An episode without concepts counts nowhere, a silent one as 0, one with a missing answer for the matcher only."""
    told_one = line(True, False)
    first, second = (place_of(item) for item in items_of(told_one, ()))
    lines = [told_one, line(False, said=""), line(), line(True, said="Unasked")]
    shares = list(episode_shares(lines, {first: False, second: True}))
    assert [(share.matcher, share.judge) for share in shares] == [(0.5, 0.5), (0.0, 0.0), (1.0, None)]
    assert {share.family for share in shares} == {"desk/S-0"}
    whole = agent_explained("a", lines, {first: False, second: True})
    assert (whole.matcher, whole.judge, whole.judged, whole.episodes) == (0.5, 0.25, 2, 3)
    assert (whole.items, whole.matcher_only, whole.judge_only, whole.unanswered) == (2, 1, 1, 1)


def test_a_rerun_changes_the_summary_and_not_the_gate():
    """The summary takes the last attempt, the gate the first that was scored; fresh trials are in neither."""
    attempts = [
        line(False, verdict="error", attempt=1),
        line(False, attempt=2),
        line(True, attempt=3),
        line(True, trial=2),
        line(True, own=True),
        line(True, trial=1, scenario="S-2", unreported=True),
    ]
    run = RunFile({"settings": {"trials": 1}}, tuple(attempts), None)
    assert [one["attempt"] for one in gate_lines(run)] == [2]
    assert [one["attempt"] for one in summary_lines(run)] == [3]


def test_the_interval_draws_whole_twin_families(tmp_path: Path):
    """The estimate is the mean over episodes, and the interval that of the families' sums."""
    path = stored(desk(tmp_path, [1, 2]), tmp_path / "run.jsonl", [(1, "a", OPEN)])
    (now,) = evidence(read_run(path))
    shares = (("f1", 0.5), ("f1", 1.0), ("f2", 0.0), ("f3", 1.0))
    (found,) = measure(now, Thresholds({"explanation": 0.6}, "point"), Explained("judge j", shares))
    assert found.interval == clustered([1.5, 0.0, 1.0], [2, 1, 1])
    assert found.interval.estimate == 0.625
    assert found.holds
    assert json.loads(json.dumps(found.to_json()))["rater"] == "judge j"
    (none,) = measure(now, Thresholds({"explanation": 0.6}, "point"), Explained("judge j", ()))
    assert none.missed
    (open_,) = measure(now, Thresholds({"explanation": 0.6}, "point"))
    assert not open_.missed
    assert not open_.holds
