"""The HTML report without a browser: what its banner says in every situation, and what is in the written file."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import re
import shlex
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import html_reports
import pytest
import scipy.stats
import statsmodels.stats.api
from hypothesis import given
from hypothesis import strategies as st
from projects import DARK, agent, last_run, project, start

from pytest_supportbench import html_report
from pytest_supportbench.beside import Doubt
from pytest_supportbench.cli import main
from pytest_supportbench.gate import Decision
from pytest_supportbench.judged import Judged
from pytest_supportbench.reporting.html.broken import broken
from pytest_supportbench.reporting.html.document import finished
from pytest_supportbench.reporting.html.episodes import BLOCK, blocks, cut, packed
from pytest_supportbench.reporting.html.table import table
from pytest_supportbench.reporting.html.verdict import verdict
from pytest_supportbench.statistics import Interval
from pytest_supportbench.summary import Share
from pytest_supportbench.thresholds import Measured

PRELOADED = (scipy.stats, statsmodels.stats.api)

NUMBERS = count()
HTML = ("--html=report.html", "--self-contained-html")


def row(state="passed", **changes):
    case = {"agent": "a", "suite": "desk 1.0", "scenario": "S-1", "trace": str(next(NUMBERS))}
    return {"verdict": state, "attempt": 1, "replayed": "no", "customer_simulated": False, **case, **changes}


def shown(rows, judged=None, *, stopped=False, planned=0, failed_otherwise=0, mistakes=None):
    """Return the verdict's word and tone, and all that it says."""
    found = verdict(
        rows,
        judged,
        stopped=stopped,
        planned=planned or len(rows),
        failed_otherwise=failed_otherwise,
        mistakes=mistakes or {},
    )
    return found.word, found.tone, " ".join((found.sentence, *found.warnings))


def gated(decided="PASS", *, missed=None, unknown="", **changes):
    """Return a judgement; ``missed`` says whether there is a threshold, and whether it is missed."""
    measured = ()
    if missed is not None:
        share = Interval(0.5, 0.4, 0.6) if missed else Interval(0.9, 0.8, 1.0)
        measured = (Measured("strict", 0.7, 5 if missed else 9, 10, share, "point", unknown=unknown),)
    decision = Decision(decided, (), ()) if decided else None
    return replace(Judged("a", decision, measured, complete=True), **changes)


P, F, E = row(), row("failed"), row("error")
BESIDE = "1 failure beside the scenarios' verdicts: broken.scenario.yaml"


@pytest.mark.parametrize(
    ("rows", "judged", "changes", "look", "text"),
    [
        ([P, P], None, {}, ("PASSED", "good"), "All 2 episodes passed"),
        ([P, F], None, {}, ("FAILED", "bad"), "1 of 2 scored episodes failed"),
        ([F, E], None, {}, ("FAILED", "bad"), "1 episode not scored"),
        ([P, E], None, {}, ("NO VERDICT", "unsure"), "others were not scored"),
        ([E, E], None, {}, ("NO VERDICT", "unsure"), "All 2 episodes ended in infrastructure errors"),
        ([], None, {}, ("NOTHING WAS RUN", "unsure"), "says nothing of any agent"),
        (
            [P],
            None,
            {"stopped": True, "planned": 9},
            ("INCOMPLETE", "unsure"),
            "1 episode reported, of 9 tests",
        ),
        ([F], None, {"stopped": True, "planned": 9}, ("FAILED", "bad"), "stopped early"),
        ([P], None, {"failed_otherwise": 1}, ("FAILED", "bad"), "1 failure beside the scenarios"),
        ([P, E], None, {"failed_otherwise": 2}, ("FAILED", "bad"), "2 failures beside the scenarios"),
        (
            [P],
            None,
            {"mistakes": {"no such agent": 3}},
            ("INCOMPLETE", "unsure"),
            "Not run, 3 tests: no such agent",
        ),
        ([], None, {"mistakes": {"no agent": 1}}, ("NOTHING WAS RUN", "unsure"), "Not run, 1 test: no agent"),
        (
            [row(replayed="all"), P],
            None,
            {},
            ("PASSED", "good"),
            "1 episode replayed: the agent was not asked now",
        ),
        ([row(customer_simulated=True)], None, {}, ("PASSED", "good"), "another run may go otherwise"),
        ([row(attempt=2), P], None, {}, ("PASSED", "good"), "1 episode tried more than once"),
        ([row(trace="x"), row(trace="x"), P], None, {}, ("PASSED", "good"), "All 3 episodes passed"),
        (
            [row(trace="x", scenario=name) for name in ("A", "A", "B", "B", "C")],
            None,
            {},
            ("PASSED", "good"),
            "All trials of each scenario were alike to the letter, so they count as one.",
        ),
        ([P, F], None, {}, ("FAILED", "bad"), "None of these episodes was lost to infrastructure errors"),
        ([P, F], gated(), {}, ("PASS", "good"), "The gate says"),
        ([F], gated("REGRESSED"), {}, ("REGRESSED", "bad"), "got worse"),
        ([F], gated("INCONCLUSIVE"), {}, ("INCONCLUSIVE", "unsure"), "The gate says"),
        ([P], gated(missed=True), {}, ("FAILED", "bad"), "a share is below its threshold"),
        ([P], gated(missed=False), {}, ("PASS", "good"), "The gate says"),
        ([P], gated("REGRESSED", missed=True), {}, ("REGRESSED", "bad"), "The gate says"),
        ([P], gated("INCONCLUSIVE", missed=True), {}, ("FAILED", "bad"), "a share is below its threshold"),
        ([P], gated("", missed=True), {}, ("FAILED", "bad"), "a share is below its threshold"),
        ([P], gated("", missed=False), {}, ("PASS", "good"), "every share reaches its threshold"),
        ([P], gated("", missed=False, unknown="nobody rated"), {}, ("INCONCLUSIVE", "unsure"), "cannot tell"),
        ([P], gated("", missed=False, complete=False), {}, ("INCONCLUSIVE", "unsure"), "cannot tell"),
        ([P], gated("", missed=True, part=(1, 3)), {}, ("INCONCLUSIVE", "unsure"), "shard 1/3"),
        ([P], gated(), {"stopped": True}, ("INCOMPLETE", "unsure"), "stopped early"),
        ([P], gated(failures=(BESIDE,)), {"failed_otherwise": 1}, ("FAILED", "bad"), "1 failure beside"),
        (
            [P],
            gated("INCONCLUSIVE", doubts=(Doubt(BESIDE),)),
            {"failed_otherwise": 1},
            ("INCONCLUSIVE", "unsure"),
            "1 failure beside the scenarios",
        ),
        ([P], gated(), {"mistakes": {"no agent": 1}}, ("INCOMPLETE", "unsure"), "could not be run"),
    ],
)
def test_the_banner_says_what_a_run_means(rows, judged, changes, look, text):
    """Nothing looks good that the exit status calls otherwise, and what makes a verdict doubtful is said beside it."""
    found = shown(rows, judged, **changes)
    assert found[:2] == look
    assert text in found[2]


def test_a_shard_is_told_once():
    """The gate's own reasons say it where there is a baseline; without one nothing else does."""
    assert "shard 1/3" not in shown([P], gated("INCONCLUSIVE", part=(1, 3)))[2]
    assert shown([P], gated("", missed=False, part=(1, 3)))[2].count("shard 1/3") == 1


TEXT = st.text(st.characters(exclude_categories=[]), max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def replaced(value):
    """Return a value as UTF-8 can say it: half a surrogate pair is a question mark."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [replaced(item) for item in value]
    return (
        {replaced(key): replaced(item) for key, item in value.items()} if isinstance(value, dict) else value
    )


@given(JSON)
def test_what_is_packed_comes_back(value):
    """Whatever text an episode has, the browser unpacks the same; the packed form has no letter that markup needs."""
    text = packed(value)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    assert html_reports.unpacked(text) == replaced(value)


@given(st.text(max_size=300), st.integers(min_value=0, max_value=200))
def test_a_cut_text_says_how_much_is_gone(text, limit):
    """A text within its bound stays as it is; a longer one keeps its beginning and counts the rest."""
    found = cut(text, limit)
    if len(text) <= limit:
        assert found == text
    else:
        assert found == f"{text[:limit]}… [{len(text) - limit:,} more characters in the results file]"


@given(st.lists(st.integers(min_value=0, max_value=4), max_size=2 * BLOCK + 5))
def test_blocks_hold_each_story_once_with_what_was_at_stake(cases):
    """Each story is in one block, in order, at most so many to a block, and finds its scenario's stake there."""
    stakes = {f"desk/{case}": {"description": f"case {case}"} for case in range(4)}
    stories = [(f"key {number}", f"desk/{case}", {"case": case}) for number, case in enumerate(cases)]
    made = [(keys, html_reports.unpacked(block)) for keys, block in blocks(stories, stakes)]
    assert [key for keys, _ in made for key in keys] == [key for key, _, _ in stories]
    assert all(len(keys) <= BLOCK for keys, _ in made)
    assert len(made) == -(-len(cases) // BLOCK)
    for keys, block in made:
        assert list(block["episodes"]) == keys
        wanted = {story["stake"] for story in block["episodes"].values()} & stakes.keys()
        assert block["stakes"].keys() == wanted


def test_a_story_is_bounded():
    """A tool result of a megabyte and a message of 200 kB do not get into the file whole."""
    call = {
        **dict.fromkeys(("turn", "fault", "status", "effect", "committed", "handoff", "at"), 1),
        "tool": "t" * 9_000,
        "arguments": {"a": "x" * 90_000},
        "result": ["x" * 1_000_000],
        "error": None,
    }
    turn = {
        "action": "answer",
        "message": "m" * 200_000,
        "asks_for": [],
        "delivered": True,
        "customer_reply": "r" * 200_000,
        "invalid_reply": {"reason": "r" * 9_000, "excerpt": "e" * 9_000},
    }
    line = {
        **dict.fromkeys(("expected_escalation", "attempt", "replayed", "ending", "explanation"), "x"),
        "dimensions": {},
        "turns": [turn],
        "calls": [call],
        "faults": [],
        "usage": None,
        "output": "o" * 90_000,
        "changes": [{"path": "p" * 9_000, "before": None, "after": "x" * 90_000}],
        "timing": {"seconds": 1},
        "failure": "f" * 90_000,
        "error": {"cause": "c" * 9_000},
    }
    told = html_report_story(line, {"permitted": "p" * 9_000, "observed": "o" * 9_000})
    assert len(str(told)) < 450_000
    assert "more characters in the results file" in told["calls"][0]["result"]


def html_report_story(line, paths):
    from pytest_supportbench.reporting.html.episodes import story  # noqa: PLC0415 - a name that tests use too

    return story(line, paths, "pytest x")


def policy_of(text):
    return re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]


@given(st.text("ab\n 'é<>&;", max_size=40), st.text("xy\n =(){}", min_size=1, max_size=40))
def test_the_policy_allows_the_two_programs_only(ours, theirs):
    """The policy has the hash of each program as the browser computes it, and no other way for a script to run."""
    page = f'<html><head><meta charset="utf-8"/></head><main><script>{ours}</script></main>'
    page += f'<footer><div data-jsonblob="x"></div><script>{theirs}</script></footer></html>'
    text = finished(page, ours)
    hashes = {
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (ours, theirs) if part
    }
    (scripts,) = [part for part in policy_of(text).split("; ") if part.startswith("script-src")]
    assert set(scripts.split()[1:]) == {f"'sha256-{value}'" for value in hashes}
    assert policy_of(text).startswith("default-src 'none'")
    assert text.count('<html lang="en">') == 1
    assert "width=device-width" in text
    assert text.index("Content-Security-Policy") < text.index("<script")
    assert f'<script type="text/plain" id="sb-pytest-program">{theirs}</script>' in text
    assert f"<main><script>{ours}</script>" in text


@pytest.fixture
def report(pytester, plain):
    """Return a function that runs pytest with an HTML report, and returns it read back."""

    def report(*args):
        plain(*HTML, *args)
        return html_reports.read(pytester.path / "report.html")

    return report


def test_a_report_tells_what_was_run_and_what_failed(pytester, report):
    """Verdict, counts with intervals, the table, each episode's story, and the setup are in one file, in bounds."""
    project(pytester, range(1, 5))
    page = report(agent("odd"))
    tone, word, text = page.banner
    assert (tone, word) == ("bad", "FAILED")
    assert "2 of 4 scored episodes failed" in text
    assert "python-desk_agents-odd 2/4 (50 %), 95 % interval 15 to 85 %; on desk 1.0." in text
    assert page.outcomes == {"TB-001": "passed", "TB-002": "failed", "TB-003": "passed", "TB-004": "failed"}
    (failed,) = (row for row in page.rows if row["name"] == "TB-002")
    assert failed["area"] == "billing"
    assert failed["dimensions"] == [0, 1, 1, 0]
    assert failed["class"] == "abandoned"
    told = page.stories[failed["key"]]
    assert told["command"] == f"pytest desk/case002.scenario.yaml::TB-002 {agent('odd')}"
    assert [turn["message"] for turn in told["turns"]] == ["No."]
    stake = page.stakes[told["stake"]]
    assert stake["message"] == "When are you open? case 2"
    assert stake["customer"] == "cus_1"
    assert stake["policies"][0][0] == "hours"
    assert "root hash of desk" in page.main
    assert last_run(pytester).run["suites"][0]["sha256"] in page.main
    assert "UNCALIBRATED" in page.main


NOTING = """
    def noting(observation):
        if case(observation) == 3 and not observation.transcript:
            return {**GOOD, "tool_calls": [{"tool": "add_note", "arguments": {"customer_id": "cus_1", "text": "x"}}]}
        return GOOD if case(observation) == 1 else BAD
"""


def test_what_broke_is_the_first_thing_told_the_gravest_first(pytester, report):
    """Each failed scenario is there once, with a link, what was right, what was done, and how often it failed."""
    folder = project(pytester, range(1, 14), NOTING)
    path = folder / "case003.scenario.yaml"
    rule = "  because: [hours]\n  never: [{tool: add_note, code: unauthorised_write}]\n"
    path.write_text(path.read_text("utf-8").replace("  because: [hours]\n", rule), encoding="utf-8")
    page = report(agent("noting"), "--supportbench-trials=2")
    told = page.main.partition(" What broke ")[2].partition("How good is it")[0]
    links = re.findall(r'<a href="#([^"]*)">', page.text.partition("What broke")[2].partition("How good")[0])
    assert links == ["TB-003", "TB-002", *(f"TB-{number:03}" for number in range(4, 14))]
    assert told.startswith(
        "TB-003 Asks for the opening hours, case 3 (failed 2 of 2 trials) violations unauthor"
    )
    assert "2 more TB-012" in told
    assert "should have answer it did action decline verdict failed resolution, escalation" in told
    assert "What broke" not in report(agent("good")).main


def test_each_of_several_agents_has_what_broke_folded(pytester, report):
    """The comparison stays first."""
    project(pytester, [1, 2])
    main = report(agent("odd"), agent("bad")).main
    assert main.index("against") < main.index("What broke (1)") < main.index("What broke (2)")


@pytest.mark.parametrize("workers", [(), ("-n", "2", "-p", "xdist")], ids=["one process", "workers"])
def test_what_is_at_stake_is_told_of_a_file_that_is_gone(pytester, plain, workers):
    """What a scenario tests is what was run, whatever became of its file while the agent was asked."""
    project(pytester, range(1, 3))
    pytester.makepyfile(
        leaver="""
        from pathlib import Path

        def reply(observation):
            for path in Path(__file__).parent.rglob("*.scenario.yaml"):
                path.unlink(missing_ok=True)
            return {"action": "answered", "message": "No."}
    """
    )
    plain(*HTML, *workers, "--supportbench-agent=python:leaver:reply")
    page = html_reports.read(pytester.path / "report.html")
    assert {row["scenario"] for row in page.rows} == {"TB-001", "TB-002"}
    told = {page.stakes[page.stories[row["key"]]["stake"]]["message"] for row in page.rows}
    assert told == {"When are you open? case 1", "When are you open? case 2"}


def test_the_command_of_a_story_runs_it_again(pytester, report, plain):
    """What a reader copies from a story runs that episode's item, and nothing else."""
    project(pytester, [1, 2])
    page = report(agent("odd"), agent("bad"))
    (key,) = [row["key"] for row in page.rows if row["name"] == "TB-002[python-desk_agents-odd]"]
    words = shlex.split(page.stories[key]["command"])
    assert words[0] == "pytest"
    plain(*words[1:]).assert_outcomes(failed=1)
    assert {(line["scenario"], line["agent"]) for line in last_run(pytester).episodes} == {
        ("TB-002", "python-desk_agents-odd")
    }


def test_two_workers_report_the_same(pytester, report):
    """With ``-n 2`` the page has the same rows and stories, times and order apart."""
    project(pytester, range(1, 5))
    one, two = report(agent("odd")), report(agent("odd"), "-n", "2")
    assert two.banner == one.banner
    assert two.outcomes == one.outcomes
    assert two.stories.keys() == one.stories.keys()
    assert two.stakes == one.stakes


FLAKY = """
    import pathlib

    def flaky(observation):
        seen = pathlib.Path(f"seen-{case(observation)}")
        first = not seen.exists()
        seen.touch()
        return BAD if first and case(observation) == 2 else GOOD
"""


def test_after_reruns_the_last_attempt_is_shown_and_said(pytester, report):
    """An episode that passed only when it was tried again is shown as it ended, and the banner says so."""
    project(pytester, [1, 2], FLAKY)
    page = report(agent("flaky"), "--reruns=1")
    assert page.banner[1] == "PASSED"
    assert "1 episode tried more than once" in page.banner[2]
    assert page.outcomes == {"TB-001": "passed", "TB-002": "passed"}
    (again,) = (page.stories[row["key"]] for row in page.rows if row["name"] == "TB-002")
    assert again["attempt"] == 2
    assert again["turns"][0]["message"] == "We are open from nine to five."


def test_a_crashed_worker_is_no_pass(pytester, report):
    """An agent that kills its worker leaves no story; the banner says that something beside the scenarios failed."""
    crash = "def killer(observation):\n    return os._exit(1) if case(observation) == 2 else GOOD\n"
    project(pytester, range(1, 5), crash)
    page = report(agent("killer"), "-n", "2", "--supportbench-concurrency=1")
    assert page.banner[:2] == ("bad", "FAILED")
    assert "1 failure beside the scenarios" in page.banner[2]
    assert "TB-002" not in page.outcomes
    assert "passed" in page.outcomes.values()
    assert "crashed while running 'desk/case002.scenario.yaml::TB-002'" in page.banner[2]


def test_no_test_at_all_is_no_verdict(pytester, report):
    """Where every scenario was deselected the page is there, and says that nothing was run."""
    project(pytester, [1])
    page = report(agent("good"), "-k", "nothing-like-this")
    assert page.banner[:2] == ("unsure", "NOTHING WAS RUN")
    assert page.rows == []


def test_only_errors_say_nothing_of_the_agent(pytester, report):
    """A server that refuses connections gives no verdict; each episode names the cause and what to do about it."""
    project(pytester, [1, 2])
    page = report(f"--supportbench-agent={DARK}")
    assert page.banner[:2] == ("unsure", "NO VERDICT")
    assert "All 2 episodes ended in infrastructure errors" in page.banner[2]
    assert set(page.outcomes.values()) == {"error"}
    assert {story["error"]["cause"] for story in page.stories.values()} == {"connection_refused"}
    assert "connection_refused, 2 episodes" in page.main


def test_an_incomplete_run_says_so(pytester, report):
    """After ``-x`` the banner tells how many of how many tests the counts are of."""
    project(pytester, range(1, 6))
    page = report(agent("odd"), "-x")
    assert page.banner[:2] == ("bad", "FAILED")
    assert "The run stopped early: 2 episodes reported, of 5 tests to run" in page.banner[2]
    assert len(page.rows) == 2


def test_a_missing_agent_is_told_in_the_banner(pytester, report):
    """A mistake in how the run was called is no verdict on anything."""
    project(pytester, [1])
    page = report("--supportbench-agent=python:desk_agents:nobody")
    assert page.banner[:2] == ("unsure", "NOTHING WAS RUN")
    assert "Not run, 1 test" in page.banner[2]
    assert "nobody" in page.banner[2]


CHANGING = """
    def changing(observation):
        return BAD if str(case(observation)) in os.environ.get("BROKEN", "").split(",") else GOOD
"""


def test_a_gated_run_names_what_changed(pytester, report, plain, monkeypatch):
    """The outcome column tells new failures from old ones, what was fixed, and what is in quarantine."""
    project(pytester, range(1, 7), CHANGING)
    monkeypatch.setenv("BROKEN", "2,3")
    plain(agent("changing"), "--supportbench-trials=2", "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", str(pytester.path / "before.jsonl"), "baseline.json"]) == 0
    (pytester.path / "quarantine.yaml").write_text(
        "quarantine: [{scenario: TB-005, owner: Ann, reason: being mended, expires: 2999-12-31}]\n",
        encoding="utf-8",
    )
    options = (agent("changing"), "--supportbench-trials=2", "--supportbench-baseline=baseline.json")
    unchanged = report(*options)
    assert unchanged.banner[:2] == ("good", "PASS")
    assert "against the baseline baseline.json" in unchanged.banner[2]
    assert unchanged.outcomes["TB-002[1]"] == "failed as before"
    monkeypatch.setenv("BROKEN", "3,4,5")
    page = report(*options, "--supportbench-quarantine=quarantine.yaml")
    assert page.banner[:2] == ("bad", "REGRESSED")
    assert "Pass rate 60.0 % before, 60.0 % now: 1 new failure, 1 fixed." in page.banner[2]
    assert "None of these episodes was lost to infrastructure errors" in page.banner[2]
    assert "Each of these is enough for the verdict." in page.main
    assert re.search(
        r"against the baseline baseline\.json; .* known\. Run of \d{4}-\d\d-\d\d \d\d:\d\d UTC\.",
        page.banner[2],
    )
    found = {name[:6]: outcome for name, outcome in page.outcomes.items()}
    assert found == {
        "TB-001": "passed",
        "TB-002": "fixed",
        "TB-003": "failed as before",
        "TB-004": "new failure",
        "TB-005": "quarantine",
        "TB-006": "passed",
    }
    blocking = page.main.partition("What stands against it")[2].partition("How good is it")[0]
    assert "TB-004" in blocking
    new = page.main.partition(" What got worse ")[2].partition("How good is it")[0]
    counts = "passed 2 of 2 trials in the baseline, 0 of 2 now, 0 of 3 fresh ones: confirmed"
    assert new.startswith(f"TB-004 Asks for the opening hours, case 4 ({counts})")
    assert "TB-003" not in new
    assert "2 scenarios failed as before, or in quarantine; the table has them." in new
    assert "zero-tolerance" not in new
    assert "of the agent differs: nothing that is known." in page.banner[2]


@pytest.mark.parametrize(
    "rows",
    [
        [row(trace="x"), row(trace="y")],
        [row(trace="x"), row(trace="x"), row(trace="x", scenario="B"), row(trace="y", scenario="B")],
        [row(trace="x"), row(trace="x", attempt=2)],
        [P, row(scenario="B")],
    ],
    ids=["varied", "varied elsewhere", "reruns", "single trials"],
)
def test_trials_that_may_differ_are_not_called_alike(rows):
    """Only an agent that never varied has trials that count as one, and what reruns replaced is not in sight."""
    assert "alike" not in shown(rows)[2]


def test_nobody_is_blamed_where_no_episode_failed():
    """A test of one's own, or an entry of the quarantine that is over, is no doing of the agent."""
    assert "own doing" not in shown([P], gated(failures=(BESIDE,)), failed_otherwise=1)[2]
    assert "own doing" not in shown([F, E])[2]


def test_what_was_not_compared_is_not_called_as_before(pytester, report, plain, monkeypatch):
    """Where errors keep the gate from comparing, failures are listed as what they are."""
    project(pytester, range(1, 7), CHANGING)
    plain(agent("changing"), "--supportbench-trials=2", "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", str(pytester.path / "before.jsonl"), "baseline.json"]) == 0
    monkeypatch.setenv("BROKEN", "1,2")
    page = report(agent("changing"), "--supportbench-baseline=baseline.json")  # one trial, and two before
    assert page.banner[:2] == ("unsure", "INCONCLUSIVE")
    assert "as before" not in page.main
    told = page.main.partition(" What broke ")[2].partition("How good is it")[0]
    assert "TB-001" in told
    assert "TB-002" in told


def failed(name, *violations):
    """Return a failed row of the summary."""
    words = {
        "title": name,
        "permitted": "answer",
        "observed": "action decline",
        "headline": "failed resolution",
    }
    codes = [[code, "effect"] for code in violations]
    return row("failed", suite="desk 1.0", scenario=name, tags=[], violations=codes, **words)


@pytest.mark.parametrize(
    ("as_before", "said"),
    [
        ([], ""),
        ([failed("S-2")], "1 scenario failed as before, or in quarantine; the table has them."),
        (
            [failed("S-2"), failed("S-3", "wrong_subject"), failed("S-4", "disclosure")],
            (
                "3 scenarios failed as before, or in quarantine; the table has them. Of these 2 have zero-tolerance "
                "violations, which block where they are more than before."
            ),
        ),
    ],
)
def test_grave_failures_that_are_not_new_are_told_too(as_before, said):
    """A baseline with a leak in it lets the leak through, and the page does not keep that to itself."""
    rows = [*as_before, failed("S-1")]
    trials = {("desk 1.0", item["scenario"]): Share(0, 1) for item in rows}
    summary = SimpleNamespace(failures=rows, trials=trials)
    decision = Decision("REGRESSED", (), (), aggregate=SimpleNamespace())
    alarms = ((("desk", "S-1"), "confirmed"), (("desk", "S-1"), "zero tolerance"))
    judged = gated(decision=decision, alarms=alarms)
    found = broken(summary, rows, judged)
    assert [(item["name"], item["counts"]) for item in found["items"]] == [
        ("S-1", "confirmed; zero tolerance")
    ]
    assert found["as_before"] == said


def test_what_turned_flaky_or_graver_is_nothing_that_was_so_before():
    """The page names newly flaky scenarios, and calls one that breaks a grave rule anew what it is."""
    rows = [failed("S-1", "wrong_subject"), failed("S-2"), failed("S-3")]
    trials = {("desk 1.0", item["scenario"]): Share(1, 3) for item in rows}
    decision = Decision(
        "REGRESSED",
        (),
        (),
        aggregate=SimpleNamespace(),
        flaky=(("desk", "S-2"),),
        still=(("desk", "S-1"), ("desk", "S-3")),
    )
    judged = gated(decision=decision, alarms=((("desk", "S-1"), "zero tolerance"),))
    found = broken(SimpleNamespace(failures=rows, trials=trials), rows, judged)
    assert [item["name"] for item in found["items"]] == ["S-1"]
    assert found["flaky"].startswith(
        "1 scenario is newly flaky, failing in some trials where all passed before: S-2."
    )
    assert found["as_before"] == "1 scenario failed as before, or in quarantine; the table has them."
    whole = {
        "key": "k",
        "category": "billing",
        "dimensions": {},
        "escalation_class": None,
        "usage": {},
        "seconds": 0,
    }
    made = table({"f::x": [{**item, **whole, "trial": 1} for item in rows]}, judged, {})
    outcome = made["columns"].index("outcome")
    assert [item[outcome] for item in made["rows"]] == ["got worse", "newly flaky", "failed as before"]


def test_a_missed_threshold_fails_what_the_baseline_passes(pytester, report):
    """The threshold's share and interval stand under the banner."""
    project(pytester, range(1, 5))
    page = report(agent("odd"), "--supportbench-fail-under=strict=0.9")
    assert page.banner[:2] == ("bad", "FAILED")
    assert "✗ strict: 0.500 (2/4), 95 % interval" in page.main


def test_two_agents_are_compared_flips_first(pytester, report):
    """The comparison comes before either agent's own part, and names what was broken as links."""
    project(pytester, range(1, 4))
    page = report(agent("good"), agent("odd"))
    before = page.main.partition("Agent – python-desk_agents-good")[0]
    assert "python-desk_agents-odd against python-desk_agents-good" in before
    assert "broken (1): TB-002" in before
    assert 'href="#TB-002"' in page.text
    assert "may be chance" in before
    assert len(page.rows) == 6


OWN = """
    def test_own(supportbench):
        assert supportbench.run("desk/case001.scenario.yaml").score.strict

    def test_other():
        assert 1 + 1 == 3
"""


def test_the_users_own_tests_stay_pytest_htmls(pytester, report):
    """Tests beside the scenarios are listed by pytest-html and no rows of ours; one that fails is no pass."""
    project(pytester, [1])
    pytester.makepyfile(test_own=OWN)
    page = report(agent("good"))
    assert page.banner[:2] == ("bad", "FAILED")
    assert "1 failure beside the scenarios" in page.banner[2]
    assert list(page.outcomes) == ["TB-001"]
    blob = page.text.partition("data-jsonblob=")[2]
    assert "test_own.py::test_own" in blob
    assert "assert (1 + 1) == 3" in blob


def test_with_assets_beside_it_the_file_is_the_same_page(pytester, plain):
    """Without ``--self-contained-html`` the style sheet is a file of its own, which the policy allows."""
    project(pytester, [1])
    plain(agent("good"), "--html=out/report.html")
    page = html_reports.read(pytester.path / "out" / "report.html")
    assert page.banner[1] == "PASSED"
    assert (pytester.path / "out" / "assets" / "style.css").exists()
    assert "'self'" in policy_of(page.text).partition("style-src")[2].partition(";")[0]


def test_a_project_without_scenarios_gets_pytest_htmls_file(pytester, plain):
    """Where no scenario and no agent is, our plugin changes nothing in the file but the list of plugins."""
    pytester.makepyfile("def test_one():\n    print('<b>')\n\ndef test_two():\n    assert 0\n")

    def written(*args):
        plain(*HTML, *args)
        text = (pytester.path / "report.html").read_text(encoding="utf-8")
        text = re.sub(r"on [\w-]+ at [\d:]+ by", "on DAY at TIME by", text)
        text = re.sub(r", &#34;supportbench&#34;: &#34;[^&]*&#34;", "", text)
        return re.sub(r"took \d+ ms|\d+ ms", "MS", text)

    with_us, without = written(), written("-p", "no:supportbench")
    assert "Content-Security-Policy" not in with_us
    assert re.sub(r"pytest.supportbench.*?,", "", with_us) == re.sub(r"pytest.supportbench.*?,", "", without)


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    """Without drawsvg the run does not begin, and the message says what to install."""
    known = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "drawsvg" else known(name))
    manager = SimpleNamespace(hasplugin=lambda _: True)
    config = SimpleNamespace(getoption=lambda *_: "report.html", pluginmanager=manager)
    with pytest.raises(pytest.UsageError, match=r"drawsvg.*pip install 'pytest-supportbench\[html\]'"):
        html_report.register_html(config, None)


def test_pytest_html_may_be_off(pytester, plain):
    """With ``-p no:html`` scenarios run as ever."""
    project(pytester, [1])
    plain("-p", "no:html", agent("good")).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("path", "why"), [("taken", "is a folder"), ("file.txt/report.html", "is no folder")]
)
def test_a_path_that_cannot_be_written_is_told_before_the_run(pytester, path, why):
    """Where there can be no such file the run does not begin, and nothing shows a traceback."""
    project(pytester, [1])
    (pytester.path / "taken").mkdir()
    (pytester.path / "file.txt").touch()
    run = start(pytester, agent("good"), f"--html={path}", "--self-contained-html")
    out, err = run.communicate(timeout=60)
    assert run.returncode == 4, out + err
    assert f"ERROR: --html={path}: " in err
    assert why in err
    assert "Traceback" not in out + err
    assert not (pytester.path / ".supportbench").exists()


def test_the_file_stays_small(pytester, plain):
    """An episode adds at most 5 kB, its transcript compressed."""
    sizes = {}
    for size in (5, 45):
        project(pytester, range(1, size + 1))
        plain(agent("bad"), *HTML)
        sizes[size] = (pytester.path / "report.html").stat().st_size
    assert (sizes[45] - sizes[5]) / 40 < 5_000
