"""A gate on a run in parts: shards try their new failures again, and the merged run gets the whole run's verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
import statsmodels.stats.api
from gate_samples import case, fresh, side
from projects import DARK, agent, last_run, project, scenario, suite

from pytest_supportbench.cli import main
from pytest_supportbench.durations import read_durations
from pytest_supportbench.evidence import evidence
from pytest_supportbench.gate import decide
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.questions import questions
from pytest_supportbench.recount import recounted
from pytest_supportbench.results import dump
from pytest_supportbench.results_file import read_run

PRELOADED = (scipy.stats, statsmodels.stats.api)
"""numpy cannot be loaded twice in one process, and pytester forgets what a run in this process loaded."""

BASELINE = "--supportbench-baseline=baseline.json"
SHARDS = 3

AGENTS = """

import random
from collections import Counter

asked = Counter()


def changing(observation):
    \"\"\"Fails in the cases that the environment names, always: 4, or in its first calls: 4:2.\"\"\"
    number = case(observation)
    asked[number] += 1
    for name in filter(None, os.environ.get("BROKEN", "").split(",")):
        broken, _, first = name.partition(":")
        if int(broken) == number and asked[number] <= int(first or 999):
            return BAD
    return GOOD


def flaky(observation):
    \"\"\"Fails at random, seeded by the case and how often it was asked about it: more often in some cases.\"\"\"
    number = case(observation)
    asked[number] += 1
    luck = random.Random(f"{os.environ['SEED']}/{number}/{asked[number]}").random()
    words = f"{GOOD['message']} {asked[number]}"
    rates = dict(pair.split(":") for pair in os.environ["RATES"].split(","))
    return BAD if luck < float(rates.get(str(number), 0)) else {**GOOD, "message": words}


def crashing(observation):
    \"\"\"Its infrastructure breaks in the case that the environment names, at the first calls of so many.\"\"\"
    dark, first = map(int, os.environ.get("DARK", "0:0").split(":"))
    asked[case(observation)] += 1
    if case(observation) == dark and asked[dark] <= first:
        from pytest_supportbench.errors import InfrastructureError

        raise InfrastructureError("unavailable", "the server is busy", "wait")
    return GOOD
"""


def bless(pytester: Any, plain: Any, name: str, trials: int, count: int = 7) -> None:
    """Write a project and the baseline of an agent."""
    project(pytester, range(1, count + 1), AGENTS)
    plain(agent(name), f"--supportbench-trials={trials}", "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", "before.jsonl", "baseline.json"]) == 0


def run_shards(plain: Any, *options: str, exits: int | tuple[int, ...] = 11) -> list[str]:
    """Run each shard, check its exit code, and return the files."""
    names = []
    codes = (exits,) * SHARDS if isinstance(exits, int) else exits
    for number, code in enumerate(codes, 1):
        names.append(f"part{number}.jsonl")
        shard = f"--supportbench-shard={number}/{SHARDS}"
        result = plain(*options, shard, f"--supportbench-results={names[-1]}")
        assert result.ret == code
    return names


def compared(capsys: Any, *words: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code of ``compare`` and its judgement of the only run."""
    capsys.readouterr()
    code = main(["compare", *words, "--format", "json"])
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    return code, found


def fresh_of(path: str, trials: int) -> list[tuple[str, int, str]]:
    """Return the scenario, number and verdict of each fresh trial in a results file, sorted."""
    lines = read_run(Path(path)).episodes
    return sorted(
        (line["scenario"], line["trial"], line["verdict"]) for line in lines if line["trial"] > trials
    )


AGENTS_OF = {
    "never varies, unchanged": ("changing", 2, "2", "2", {"BROKEN": "2"}, "PASS"),
    "never varies, one broken": ("changing", 2, "", "", {"BROKEN": "2,4"}, "REGRESSED"),
    "never varies, broken for a while": ("changing", 2, "", "", {"BROKEN": "2,4:3,5"}, "REGRESSED"),
    "never varies, healed": ("changing", 2, "", "", {"BROKEN": "2,4:2,5:3"}, "PASS"),
    "flaky, as before": ("flaky", 3, "1", "7:0.5", {"SEED": "2", "RATES": "7:0.5"}, ""),
    "flaky, broken": ("flaky", 3, "1", "7:0.5", {"SEED": "3", "RATES": "7:0.5,3:1,4:0.6"}, "REGRESSED"),
    "flaky, much worse": ("flaky", 3, "1", "7:0.5", {"SEED": "4", "RATES": "7:0.5,1:.8,2:.8,3:.8"}, ""),
    "flaky, another seed": ("flaky", 3, "1", "7:0.5", {"SEED": "5", "RATES": "7:.5,1:.6,2:.6,3:.6"}, ""),
}


@pytest.mark.parametrize("kind", AGENTS_OF)
def test_shards_merged_and_compared_say_what_the_whole_gated_run_says(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any, kind: str
):
    """Verdict, reasons and all numbers: of the gate in the whole run, of it stored, and of its shards put together."""
    name, trials, seed, rates, changes, verdict = AGENTS_OF[kind]
    for variable, value in {"BROKEN": "2", "SEED": seed, "RATES": rates or "7:0"}.items():
        monkeypatch.setenv(variable, value)
    bless(pytester, plain, name, trials)
    for variable, value in changes.items():
        monkeypatch.setenv(variable, value)
    options = (agent(name), f"--supportbench-trials={trials}", BASELINE)
    status = plain(*options, "--supportbench-results=whole.jsonl").ret
    gated = read_run(Path("whole.jsonl")).summary["gate"]["decision"]
    assert not verdict or gated["verdict"] == verdict
    names = run_shards(plain, *options)
    assert main(["merge", *names, "--out", "merged.jsonl"]) == 0
    assert fresh_of("merged.jsonl", trials) == fresh_of("whole.jsonl", trials)
    assert bool(fresh_of("whole.jsonl", trials)) == bool(gated["candidates"])
    for path in ("whole.jsonl", "merged.jsonl"):
        code, found = compared(capsys, "baseline.json", path)
        assert (code, found["decision"]) == (status, gated)
    whole, merged = (evidence(read_run(Path(path))) for path in ("whole.jsonl", "merged.jsonl"))
    assert merged == whole


def test_both_outcomes_of_fresh_trials_are_among_the_kinds(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch
):
    """The flaky agent's candidates are confirmed in one run and not in another, so that the above compares both."""
    monkeypatch.setenv("RATES", "7:0.5")
    monkeypatch.setenv("SEED", "1")
    bless(pytester, plain, "flaky", 3)
    said = set()
    for kind in ("flaky, broken", "flaky, another seed", "flaky, much worse"):
        for variable, value in AGENTS_OF[kind][4].items():
            monkeypatch.setenv(variable, value)
        plain(agent("flaky"), "--supportbench-trials=3", BASELINE)
        reasons = last_run(pytester).summary["gate"]["decision"]["reasons"]
        said |= {item["text"].rpartition(": ")[2] for item in reasons if item["step"] == "scenarios"}
    assert {"confirmed", "not confirmed"} <= said


def test_a_shard_says_that_it_cannot_be_judged(pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch):
    """It tells what judges instead, tries its new failure again, and shows what failed before as expected."""
    monkeypatch.setenv("BROKEN", "2")
    bless(pytester, plain, "changing", 2)
    monkeypatch.setenv("BROKEN", "2,4")
    for number in range(1, SHARDS + 1):
        result = plain(
            agent("changing"), "--supportbench-trials=2", BASELINE, f"--supportbench-shard={number}/{SHARDS}"
        )
        assert result.ret == 11
        text = " ".join(result.stdout.str().split())
        assert "supportbench gate: INCONCLUSIVE" in text
        assert f"this is shard {number}/{SHARDS} of a run, and one shard cannot be judged; put all" in text
        assert "(supportbench merge), and judge that run (supportbench compare)" in text
        assert "not in the run" not in text
        run = last_run(pytester)
        held = {line["scenario"] for line in run.episodes}
        assert ("gate: 1 new failure, tried" in text) == ("TB-004" in held)
        outcomes = result.parseoutcomes()
        assert outcomes.get("xfailed", 0) == (2 if "TB-002" in held else 0)
        assert outcomes.get("failed", 0) == (2 if "TB-004" in held else 0)


def test_a_failing_test_of_ones_own_fails_its_shard(pytester: Any, plain: Any):
    """What no merge can judge is told at once."""
    bless(pytester, plain, "good", 2)
    pytester.makepyfile(test_own="def test_own(): assert False")
    run_shards(plain, agent("good"), "--supportbench-trials=2", BASELINE, exits=(1, 11, 11))


def test_errors_fail_a_shard_only_where_the_whole_run_is_lost(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """One error of many trials is tolerated in the whole, so its shard is as any other; a dark server ends with 10."""
    bless(pytester, plain, "crashing", 2)
    options = (agent("crashing"), "--supportbench-trials=2", BASELINE)
    dark = f"--supportbench-agent={DARK}"
    run_shards(plain, dark, "--supportbench-trials=2", BASELINE, exits=10)
    assert (
        main(["merge", *[f"part{number}.jsonl" for number in range(1, SHARDS + 1)], "--out", "m.jsonl"]) == 0
    )
    assert compared(capsys, "baseline.json", "m.jsonl")[0] == 10
    tolerant = "--supportbench-max-errors=0.1"
    monkeypatch.setenv("DARK", "3:1")  # 1 of 14 trials, and 1 of at most 6 of its shard
    names = run_shards(plain, *options, tolerant)
    assert main(["merge", *names, "--out", "m.jsonl"]) == 0
    assert compared(capsys, "baseline.json", "m.jsonl", "--max-errors", "0.1")[0] == 0
    assert compared(capsys, "baseline.json", "m.jsonl")[0] == 10
    monkeypatch.setenv("DARK", "3:2")
    found = [
        plain(*options, f"--supportbench-shard={number}/{SHARDS}", tolerant).ret
        for number in range(1, SHARDS + 1)
    ]
    assert sorted(found) == [10, 11, 11]  # all trials of one scenario are lost, and so is the whole


@pytest.mark.parametrize(
    "options",
    [
        ("-k", "TB-001 or TB-002 or TB-003 or TB-004 or TB-005", "--supportbench-trials=2"),
        ("--supportbench-trials=3",),
        ("--supportbench-trials=2", "--supportbench-max-turns=3"),
    ],
    ids=["selection", "trials", "turns"],
)
def test_a_shard_of_what_cannot_be_judged_asks_nobody_again(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
):
    """Of a selection, or under other conditions, the whole is inconclusive whatever fresh trials show."""
    bless(pytester, plain, "changing", 2)
    monkeypatch.setenv("BROKEN", "1,2,3,4,5")
    for number in (1, 2):
        result = plain(agent("changing"), BASELINE, f"--supportbench-shard={number}/2", *options)
        assert result.ret == 11
        assert "tried" not in result.stdout.str()


def test_a_candidate_that_lost_fresh_trials_is_inconclusive(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """Fewer of them than were declared prove nothing, and a stricter level asks for more."""
    bless(pytester, plain, "changing", 2)
    monkeypatch.setenv("BROKEN", "4")
    plain(agent("changing"), "--supportbench-trials=2", BASELINE, "--supportbench-results=whole.jsonl")
    assert compared(capsys, "baseline.json", "whole.jsonl")[0] == 1
    lines = Path("whole.jsonl").read_text("utf-8").splitlines(keepends=True)
    lost = [line for line in lines if '"trial":5' not in line]
    assert len(lost) == len(lines) - 1
    Path("whole.jsonl").write_text("".join(lost), "utf-8")
    code, found = compared(capsys, "baseline.json", "whole.jsonl")
    assert code == 11
    assert any("to be confirmed by 3 fresh trials each" in item["text"] for item in found["reasons"])


def test_fresh_trials_are_in_no_count(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """Evidence, baselines, summaries, thresholds, merging and grading anew are as without them."""
    bless(pytester, plain, "changing", 2)
    monkeypatch.setenv("BROKEN", "4:2,5:3")  # both fail at first, and pass in most of their fresh trials
    options = (agent("changing"), "--supportbench-trials=2")
    plain(*options, "--supportbench-results=plain.jsonl")
    result = plain(*options, BASELINE, "--supportbench-results=gated.jsonl")
    assert result.ret == 0
    assert len(fresh_of("gated.jsonl", 2)) == 6
    names = run_shards(plain, *options, BASELINE)
    capsys.readouterr()
    assert main(["merge", *names, "--out", "merged.jsonl"]) == 0
    assert (
        capsys.readouterr().out
        == "merged.jsonl: 14 episodes of 3 shards, and 6 fresh trials of new failures\n"
    )
    assert main(["rescore", "gated.jsonl", "--scenarios", "desk"]) == 0
    (clean,) = evidence(read_run(Path("plain.jsonl")))
    assert main(["baseline", "set", "plain.jsonl", "plain.json"]) == 0
    without = read_run(Path("plain.jsonl")).summary
    for path in ("gated.jsonl", "merged.jsonl", "gated.rescored.jsonl"):
        run = read_run(Path(path))
        assert [line["trial"] for line in run.episodes if line.get("unreported")] == []
        assert run.summary["unreported"] == []
        (found,) = evidence(run)
        assert replace(found, fresh={}) == clean
        assert {name: item.scored for name, item in found.fresh.items()} == {
            ("desk", "TB-004"): 3,
            ("desk", "TB-005"): 3,
        }
        assert (run.summary["episodes"], run.summary["verdicts"]) == (14, without["verdicts"])
        counted = {key: run.summary["agents"][0][key] for key in ("strict", "dimensions", "categories")}
        assert counted == {key: without["agents"][0][key] for key in counted}
        assert len(recounted(run, ())["verdicts"]) == 14
        assert main(["baseline", "set", path, "again.json"]) == 0
        assert Path("again.json").read_bytes() == Path("plain.json").read_bytes()
        assert main(["compare", path, "--fail-under", "strict=0.714"]) == 0  # 10 of 14
        assert main(["compare", path, "--fail-under", "strict=0.715"]) == 1
        assert (
            compared(capsys, path, "plain.jsonl")[1]["reasons"]
            == (compared(capsys, "plain.jsonl", "plain.jsonl")[1]["reasons"])
        )


def test_fresh_trials_are_no_questions_no_durations_and_no_flips(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """They are of what failed alone: people and judges are not asked about them, and nothing is balanced by them."""
    monkeypatch.setenv("RATES", "7:0")
    monkeypatch.setenv("SEED", "1")
    bless(pytester, plain, "flaky", 3)
    monkeypatch.setenv("RATES", "3:1")
    options = (agent("flaky"), "--supportbench-trials=3", BASELINE)
    plain(*options, "--supportbench-results=whole.jsonl")
    lines = [json.loads(line) for line in Path("whole.jsonl").read_text("utf-8").splitlines()]
    extra = [line for line in lines if line.get("trial", 0) > 3]
    assert extra
    assert {line["scenario"] for line in extra} == {"TB-003"}
    for line in extra:
        line["timing"]["seconds"] = 9000.0
    Path("slow.jsonl").write_text("".join(map(dump, lines)), "utf-8")
    Path("less.jsonl").write_text("".join(dump(line) for line in lines if line not in extra), "utf-8")
    here = Path().absolute()
    slow, less = (read_durations(Path(name), here) for name in ("slow.jsonl", "less.jsonl"))
    assert slow.microseconds == less.microseconds
    found, fewer = (questions([Path(name)], [Path("desk")]) for name in ("slow.jsonl", "less.jsonl"))
    assert found == fewer
    assert found.episodes == 21
    capsys.readouterr()
    main(["compare", "baseline.json", "slow.jsonl", "--format", "json"])
    (flip,) = json.loads(capsys.readouterr().out)["comparisons"][0]["flips"]
    assert (flip["now"]["passed"], flip["now"]["scored"]) == (0, 3)
    assert [item["trial"] for item in flip["now"]["episodes"]] == [1, 2, 3]


def test_fresh_trials_of_what_is_no_candidate_decide_nothing():
    """Against another baseline, in which the scenario failed too, its fresh trials are nobody's."""
    before, now = side("4x2/2 0/2"), side("4x2/2 0/2")
    bad = {name: replace(item, zero_tolerance={"disclosure": 3}) for name, item in fresh(S_04="0/3").items()}
    assert decide(before, now, Rules(), fresh=bad) == decide(before, now, Rules())
    assert decide(side("5x2/2"), now, Rules(), fresh=bad).verdict == "REGRESSED"


def test_a_candidate_gets_as_many_trials_as_its_own_errors_ask_for():
    """An infrastructure error in one scenario changes nothing for another; one in its own is made up for."""
    before = side("20x5/5=")
    broken = case(0, 0, 4, errors=1)
    now = replace(before, cases={**before.cases, broken.case: broken})
    for count, verdict in (("0/2=", "INCONCLUSIVE"), ("0/3=", "REGRESSED")):
        assert decide(before, now, Rules(), fresh=fresh(S_00=count)).verdict == verdict


def test_tampered_trial_numbers_are_not_taken_for_declared_ones(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """A trial that is there twice is refused, fresh or not."""
    bless(pytester, plain, "changing", 2)
    monkeypatch.setenv("BROKEN", "4")
    plain(agent("changing"), "--supportbench-trials=2", BASELINE, "--supportbench-results=whole.jsonl")
    lines = [json.loads(line) for line in Path("whole.jsonl").read_text("utf-8").splitlines()]
    (fourth,) = [line for line in lines if line.get("trial") == 4]
    fourth["trial"] = 3
    Path("whole.jsonl").write_text("".join(map(dump, lines)), "utf-8")
    capsys.readouterr()
    assert main(["compare", "baseline.json", "whole.jsonl"]) == 4
    assert "is there twice" in capsys.readouterr().err


def test_a_shard_of_one_of_two_suites_tries_its_new_failures_again(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """The other suite is in another shard, which is no difference between two runs."""
    project(pytester, [1, 2], AGENTS)
    suite(pytester.path / "shop", "shop")
    scenario(pytester.path / "shop", 3)
    plain(agent("changing"), "--supportbench-trials=2", "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", "before.jsonl", "baseline.json"]) == 0
    monkeypatch.setenv("BROKEN", "3")
    options = (agent("changing"), "--supportbench-trials=2", BASELINE)
    assert plain(*options, "--supportbench-results=whole.jsonl").ret == 1
    gated = read_run(Path("whole.jsonl")).summary["gate"]["decision"]
    names = run_shards(plain, *options)
    assert main(["merge", *names, "--out", "merged.jsonl"]) == 0
    assert len(fresh_of("merged.jsonl", 2)) == len(fresh_of("whole.jsonl", 2)) > 0
    assert compared(capsys, "baseline.json", "merged.jsonl")[1]["decision"] == gated


QUARANTINE = "quarantine:\n- {{scenario: TB-004, owner: ann, reason: slow queue, expires: {day}}}\n"


def test_quarantine_holds_for_shards_and_for_compare(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """A scenario that does not count gets no fresh trials in its shard, and does not count in what is compared."""
    bless(pytester, plain, "changing", 2)
    Path("q.yaml").write_text(QUARANTINE.format(day="2999-01-01"), "utf-8")
    monkeypatch.setenv("BROKEN", "4")
    options = (agent("changing"), "--supportbench-trials=2", BASELINE, "--supportbench-quarantine=q.yaml")
    status = plain(*options, "--supportbench-results=whole.jsonl").ret
    gated = read_run(Path("whole.jsonl")).summary["gate"]["decision"]
    names = run_shards(plain, *options)
    assert main(["merge", *names, "--out", "merged.jsonl"]) == 0
    assert fresh_of("merged.jsonl", 2) == []
    code, found = compared(capsys, "baseline.json", "merged.jsonl", "--quarantine", "q.yaml")
    assert (code, found["decision"]) == (status, gated)
    assert (code, found["quarantined"]) == (0, ["desk/TB-004"])
    assert compared(capsys, "baseline.json", "merged.jsonl")[0] == 11  # it counts, and nobody tried it again
    Path("q.yaml").write_text(QUARANTINE.format(day="2020-01-01"), "utf-8")
    code, found = compared(capsys, "baseline.json", "merged.jsonl", "--quarantine", "q.yaml")
    assert code == 1
    assert any("ended on 2020-01-01; ann must mend or renew it" in item["text"] for item in found["reasons"])


def test_thresholds_of_a_shard_wait_for_the_whole(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """A part's share is not the whole's; the merged run is judged by it, by the share or its bound."""
    project(pytester, range(1, 8), AGENTS)
    monkeypatch.setenv("BROKEN", "2,4")
    names = run_shards(plain, agent("changing"), "--supportbench-fail-under=strict=0.7")
    last = read_run(Path(names[-1])).summary["gate"]
    assert (last["exit_status"], [item["name"] for item in last["thresholds"]]) == (11, ["strict"])
    result = plain(agent("changing"), "--supportbench-fail-under=strict=0.7", "--supportbench-shard=1/2")
    result.stdout.fnmatch_lines(["*supportbench gate: INCONCLUSIVE*", "*this is shard 1/2 of a run*"])
    assert main(["merge", *names, "--out", "merged.jsonl"]) == 0
    capsys.readouterr()
    for share, by, code, said in (
        ("0.71", "point", 0, "PASS: every share reaches its threshold"),
        ("0.72", "point", 1, "FAILED: a share is below its threshold"),
        ("0.71", "bound", 1, "FAILED: a share is below its threshold"),
    ):
        words = ("compare", "merged.jsonl", "--fail-under", f"strict={share}", "--fail-under-by", by)
        assert main(words) == code
        out = capsys.readouterr().out
        assert said in out
        assert "strict: 0.714 (5/7)" in out
    assert main(["compare", names[0], "--fail-under", "strict=0.1"]) == 11
    assert "this is shard 1/3 of a run" in " ".join(capsys.readouterr().out.split())


def test_thresholds_and_a_baseline_together(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """An unchanged agent passes the gate, and fails where its share is too low."""
    monkeypatch.setenv("BROKEN", "2,4")
    bless(pytester, plain, "changing", 2)
    assert main(["compare", "baseline.json", "before.jsonl", "--fail-under", "strict=0.7"]) == 0
    capsys.readouterr()
    assert main(["compare", "baseline.json", "before.jsonl", "--fail-under", "strict=0.9,policy=1"]) == 1
    out = capsys.readouterr().out
    assert "PASS: no evidence that the agent got worse" in out
    assert "  ! strict: 0.714 (10/14)" in out
    assert "  policy: 1.000 (14/14)" in out


def test_compare_leaves_the_summary_that_a_gated_run_leaves(
    pytester: Any, plain: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """Where it is asked for, or appended to GitHub's file; a place that cannot be written changes no verdict."""
    bless(pytester, plain, "changing", 2)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    words = ["compare", "baseline.json", "before.jsonl", "--fail-under", "strict=0.5"]
    before = sorted(path.name for path in Path().iterdir())
    assert main(words) == 0
    assert sorted(path.name for path in Path().iterdir()) == before
    assert main([*words, "--summary", "made/sum.md"]) == 0
    text = Path("made/sum.md").read_text("utf-8")
    assert text.startswith("**PASS: no evidence that the agent got worse**\n")
    assert "- holds: strict: 1.000 (14/14)" in text
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("step.md").absolute()))
    Path("step.md").write_text("earlier\n", "utf-8")
    capsys.readouterr()
    assert main([*words, "--format", "json"]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["comparisons"][0]["exit_status"] == 0
    assert Path("step.md").read_text("utf-8") == f"earlier\n{text}"
    assert main([*words, "--summary", "before.jsonl/x"]) == 0
    assert "the summary was not written (File exists); name a path: --summary" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name two runs, or one run of two agents, or thresholds with --fail-under"),
        (("--fail-under", "strict"), "--fail-under: 'strict' is no NAME=SHARE"),
        (("--fail-under", "strict=2"), "--fail-under"),
        (("--fail-under", "stict=0.8"), "did you mean 'strict'"),
        (("--fail-under", "strict=0.8", "--fail-under-by", "mean"), "'mean' is neither point nor bound"),
        (("before.jsonl", "--fail-under-by", "bound"), "--fail-under-by goes with --fail-under"),
        (
            ("--fail-under", "explanation=0.8"),
            "judge it where the agent runs, by pytest with --supportbench-calib",
        ),
        (("before.jsonl", "--quarantine", "none.yaml"), "none.yaml"),
    ],
)
def test_wrong_options_of_compare_are_told(pytester: Any, plain: Any, capsys: Any, words: Any, said: str):
    """Each mistake is exit code 4, with the option as it is called here, and the remedy."""
    project(pytester, [1])
    plain(agent("good"), "--supportbench-results=before.jsonl")
    capsys.readouterr()
    assert main(["compare", "before.jsonl", *words]) == 4
    err = capsys.readouterr().err
    assert said in err
    assert "--supportbench-fail" not in err
