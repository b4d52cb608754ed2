"""Shards of a run: balanced, whole families together, and the same on every machine."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from projects import agent, last_run, project, scenario, suite

from pytest_supportbench.comparable import gaps
from pytest_supportbench.durations import Durations, read_durations
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import evidence
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.results_file import read_run
from pytest_supportbench.shards import Plan, Planned, Shard, divide, parse_shard


def cases(count: int, twins: dict[int, int] | None = None, items: int = 1) -> list[Planned]:
    """Return scenarios S-0, S-1, … of one suite; ``twins`` names each one's twin by number."""
    return [
        Planned(("desk", f"S-{number}"), f"S-{twins[number]}" if twins and number in twins else None, items)
        for number in range(count)
    ]


def lasting(*microseconds: int, first: int = 0) -> Durations:
    """Return the durations of S-0, S-1, …."""
    times = {("desk", f"S-{number}"): value for number, value in enumerate(microseconds, first)}
    return Durations(times, {}, "earlier.jsonl")


def loads(plan: Plan, planned: list[Planned], durations: Durations) -> list[int]:
    """Return what each shard takes, added up anew."""
    found = Counter[int]()
    for item in planned:
        found[plan.shard_of[item.case]] += item.items * durations.of(item.case)
    return [found[number] for number in range(1, len(plan.loads) + 1)]


@pytest.mark.parametrize(
    "text", ["", "2", "0/3", "4/3", "-1/3", "1/0", "a/b", "1/3/5", "1 /3", "٣/٣", "1/10000"]
)
def test_what_is_no_shard_is_refused(text):
    """Only N/M with N from 1 to M names a part."""
    with pytest.raises(UsageError, match="is no shard; write 2/8 for the second of eight"):
        parse_shard(text)
    assert parse_shard("8/8") == Shard(8, 8)


@given(
    times=st.lists(st.integers(0, 10**9), min_size=6, max_size=30),
    of=st.integers(1, 3),
    twins=st.dictionaries(st.integers(0, 29), st.integers(0, 29), max_size=6).filter(
        lambda found: len(found) <= 3
    ),
    seed=st.integers(0, 99),
)
@example(times=[0] * 6, of=3, twins={}, seed=1)
def test_shards_are_a_division_whatever_the_order(times, of, twins, seed):
    """Each scenario is in one shard, twins share it, none is empty, and the order of collection is no matter."""
    planned, durations = cases(len(times), twins), lasting(*times)
    plan = divide(planned, of, durations)
    assert plan.shard_of.keys() == {item.case for item in planned}
    assert set(plan.shard_of.values()) == set(range(1, of + 1))
    for one, other in twins.items():
        if one < len(times) and other < len(times):
            assert plan.shard_of["desk", f"S-{one}"] == plan.shard_of["desk", f"S-{other}"]
    shuffled = list(planned)
    random.Random(seed).shuffle(shuffled)
    again = divide(
        shuffled, of, replace(durations, microseconds=dict(reversed(durations.microseconds.items())))
    )
    assert (again.shard_of, again.sha256, again.loads) == (plan.shard_of, plan.sha256, plan.loads)
    assert list(plan.loads) == loads(plan, planned, durations)


@given(times=st.lists(st.integers(1, 50), min_size=3, max_size=7), of=st.integers(1, 3))
def test_the_longest_shard_is_within_grahams_bound_of_the_best(times, of):
    """Against the best of all divisions, found by trying them all: at most 4/3 - 1/(3 of) times as long."""
    best = min(
        max(
            sum(time for time, place in zip(times, places, strict=True) if place == shard)
            for shard in range(of)
        )
        for places in itertools.product(range(of), repeat=len(times))
    )
    assert 3 * of * max(divide(cases(len(times)), of, lasting(*times)).loads) <= (4 * of - 1) * best


def test_without_durations_items_are_counted():
    """By number: all trials of a scenario count, and stay together."""
    planned = [*cases(2, items=6), *cases(8)[2:]]
    plan = divide(planned, 3)
    assert plan.loads == (6, 6, 6)
    assert plan.durations is None


def test_a_scenario_that_is_not_known_counts_as_the_mean():
    """A new scenario gets the mean of those that are known, so that nothing is taken for free."""
    assert lasting(10, 20, 60).of(("desk", "S-9")) == 30


def test_more_shards_than_families_are_refused():
    """A shard without scenarios would leave a gap that looks like a killed one."""
    with pytest.raises(
        UsageError, match="4 shards are too many for 4 selected scenarios, of which twins stay together"
    ):
        divide(cases(4, {0: 1, 1: 0}), 4)
    assert divide(cases(4, {0: 1, 1: 0}), 3).shard_of["desk", "S-0"] == 1


def test_the_same_id_in_two_suites_is_two_scenarios():
    """Ids are unique in a suite only, and twins are of one suite."""
    planned = [Planned((name, "S-0"), "S-1", 1) for name in ("a", "b")] + [Planned(("a", "S-1"), None, 1)]
    plan = divide(planned, 2)
    assert plan.shard_of["a", "S-0"] == plan.shard_of["a", "S-1"] != plan.shard_of["b", "S-0"]


def results(path: Path, seconds: list[Any], **changes: Any) -> Path:
    """Write as much of a results file as durations are read from."""
    head = {
        "type": "run",
        "schema": 1,
        "run": "r",
        "suites": [{"name": "desk", "sha256": "aa"}],
        "settings": {"trials": 1},
    }
    lines = [
        {
            "type": "episode",
            "suite": "desk",
            "scenario": f"S-{number}",
            "agent": "a",
            "trial": 1,
            "verdict": "passed",
            "timing": {"seconds": value},
            **changes,
        }
        for number, value in enumerate(seconds)
    ]
    path.write_text(
        "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (head, *lines)), "utf-8"
    )
    return path


def test_durations_are_means_over_scored_episodes(tmp_path):
    """Errors end early and say nothing of how long a scenario takes; trials and agents are averaged."""
    path = results(tmp_path / "a.jsonl", [0.5])
    text = path.read_text("utf-8")
    more = text.splitlines(keepends=True)[1]
    path.write_text(
        text + more.replace("0.5", "1.5") + more.replace("0.5", "9").replace("passed", "error"), "utf-8"
    )
    found = read_durations(path, tmp_path)
    assert (found.microseconds, found.path) == ({("desk", "S-0"): 1_000_000}, "a.jsonl")
    assert read_durations(path, tmp_path / "elsewhere").path == str(path.resolve())
    assert Durations.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_the_hash_of_durations_is_of_what_they_say(tmp_path):
    """Two machines with the file in other places balance alike."""
    one, other = (results(tmp_path / name, [0.25, 0.5]) for name in ("a.jsonl", "b.jsonl"))
    third = results(tmp_path / "c.jsonl", [0.25, 0.6])
    hashes = [read_durations(path, tmp_path).sha256 for path in (one, other, third)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("value", [float("nan"), -1, 1e300, "soon", None, [1]], ids=repr)
def test_durations_that_cannot_be_are_refused(tmp_path, value):
    """A file that somebody changed is one clear error."""
    with pytest.raises(UsageError, match=r"a.jsonl: cannot be read as results: .*; name a file"):
        read_durations(results(tmp_path / "a.jsonl", [value]), tmp_path)


def test_a_file_without_a_scored_episode_has_no_durations(tmp_path):
    """Nothing can be balanced by errors alone."""
    with pytest.raises(UsageError, match="has no scored episode whose duration could be used"):
        read_durations(results(tmp_path / "a.jsonl", [1, 2], verdict="error"), tmp_path)


TIMED = """

def timed(observation):
    time.sleep(0.15 if case(observation) == 5 else 0)
    return GOOD
"""


def scenarios_of(run: Any) -> set[str]:
    return {line["scenario"] for line in run.episodes}


def test_shards_run_every_scenario_once(run, pytester):
    """Three shards make the whole suite, each scenario and each of its trials in one; the run line says which."""
    project(pytester, range(1, 8))
    parts = []
    for number in (1, 2, 3):
        result = run(
            agent("good"),
            "--supportbench-trials=2",
            f"--supportbench-shard={number}/3",
            "--supportbench-results=part.jsonl",
        )
        assert result.ret == 0
        result.stdout.fnmatch_lines([f"supportbench shard: {number}/3"])
        part = read_run(pytester.path / "part.jsonl")
        assert part.run["settings"]["shard"] == [number, 3]
        assert part.complete
        parts.append(part)
    found = [(line["scenario"], line["trial"]) for part in parts for line in part.episodes]
    assert sorted(found) == [(f"TB-00{number}", trial) for number in range(1, 8) for trial in (1, 2)]
    assert len({part.run["settings"]["plan"]["sha256"] for part in parts}) == 1
    assert parts[0].run["settings"]["plan"]["scenarios"] == 7
    assert all(len(scenarios_of(part)) in {2, 3} for part in parts)


def test_twins_stay_in_one_shard(plain, pytester):
    """A minimal pair is compared with itself, so it is never torn apart."""
    folder = project(pytester, ())
    for number, twin in ((1, 4), (2, 3), (3, 2), (4, 1), (5, 0)):
        path = scenario(folder, number)
        if twin:
            path.write_text(path.read_text("utf-8") + f"twin: TB-00{twin}\n", "utf-8")
    for number in (1, 2, 3):
        plain(agent("good"), f"--supportbench-shard={number}/3")
        assert scenarios_of(last_run(pytester)) in ({"TB-001", "TB-004"}, {"TB-002", "TB-003"}, {"TB-005"})


def test_an_unsharded_run_says_that_it_is_none(plain, pytester):
    """The fields are always there, so that nobody has to guess."""
    project(pytester)
    plain(agent("good"))
    settings = last_run(pytester).run["settings"]
    assert (settings["shard"], settings["plan"]) == (None, None)


def test_a_shard_is_of_what_is_selected(plain, pytester):
    """-k comes first, and the shard divides what it leaves; --collect-only shows it and writes nothing."""
    project(pytester, range(1, 9))
    words = "TB-002 or TB-004 or TB-006 or TB-008"
    seen = []
    for number in (1, 2):
        options = (agent("good"), "-k", words, f"--supportbench-shard={number}/2")
        result = plain(*options, "--collect-only", "-q")
        result.stdout.fnmatch_lines(["*2/8 tests collected (6 deselected)*"])
        shown = {line.rpartition("::")[2] for line in result.outlines if "::" in line}
        assert not (pytester.path / ".supportbench").exists() or number == 2
        plain(*options).assert_outcomes(passed=2, deselected=6)
        assert scenarios_of(last_run(pytester)) == shown
        seen += sorted(shown)
    assert sorted(seen) == ["TB-002", "TB-004", "TB-006", "TB-008"]


SELECTS = """
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    yield
    items[:] = [item for item in items if int(item.name[3:]) % 2 == 0]
"""


@pytest.mark.parametrize("option", ["--lf", "--strict-markers"])
def test_a_shard_is_of_what_others_select(plain, pytester, option):
    """--lf and plugins that select come before the shard, however early they ask to be called."""
    project(pytester, range(1, 9))
    plain(agent("odd")).assert_outcomes(passed=4, failed=4)
    shutil.rmtree(pytester.path / ".supportbench")
    if option != "--lf":
        pytester.makeconftest(SELECTS)
    plain(agent("odd"), option, "--supportbench-shard=1/2")
    assert scenarios_of(last_run(pytester)) == {"TB-002", "TB-006"}


def test_tests_of_the_users_own_run_in_the_first_shard(plain, pytester):
    """They are no scenarios, and run once."""
    project(pytester, (1, 2))
    pytester.makepyfile(test_own="def test_one(): pass\ndef test_two(): pass\n")
    plain(agent("good"), "--supportbench-shard=1/2").assert_outcomes(passed=3, deselected=1)
    plain(agent("good"), "--supportbench-shard=2/2").assert_outcomes(passed=1, deselected=3)
    plain("test_own.py", "--supportbench-shard=2/2").assert_outcomes(passed=2)


def test_the_last_run_balances_all_shards_after_it(run, pytester):
    """One slow scenario weighs as much as all others; shards that run one after the other use one file."""
    project(pytester, range(1, 7), agents=TIMED)
    run(agent("timed"))
    whole = Path(os.path.realpath(pytester.path / ".supportbench" / "last-run.jsonl"))
    used = set()
    for number in (1, 2):
        result = run(agent("timed"), f"--supportbench-shard={number}/2")
        part = last_run(pytester)
        assert scenarios_of(part) == ({"TB-005"} if number == 1 else {f"TB-00{n}" for n in (1, 2, 3, 4, 6)})
        plan = part.run["settings"]["plan"]
        assert plan["durations"]["path"] == whole.relative_to(pytester.path).as_posix()
        used.add(plan["durations"]["sha256"])
        if "collected 6 items" in result.stdout.str():
            told = f"balanced by the durations in {plan['durations']['path']}"
            result.stdout.fnmatch_lines(
                [f"supportbench shard {number}/2: * of 6 scenarios, about 0.* of 0.* s, {told}"]
            )
    assert len(used) == 1


def test_shards_are_counted_where_the_durations_of_the_first_are_gone(plain, pytester):
    """Another run took the place of the file: balancing by that would not fit, which merge refuses to mix."""
    project(pytester, range(1, 7), agents=TIMED)
    plain(agent("timed"), "--supportbench-results=whole.jsonl")
    plain(agent("timed"), "--supportbench-shard=1/2")
    shard = os.path.realpath(pytester.path / ".supportbench" / "last-run.jsonl")
    plain(agent("good"), "--supportbench-results=whole.jsonl")
    (pytester.path / ".supportbench" / "last-run.jsonl").unlink()
    (pytester.path / ".supportbench" / "last-run.jsonl").symlink_to(shard)
    plain(agent("timed"), "--supportbench-shard=2/2")
    assert last_run(pytester).run["settings"]["plan"]["durations"] is None


@pytest.mark.parametrize("change", ["suite", "killed", "gone", "damaged", "none"])
def test_a_last_run_that_does_not_fit_is_left_alone(plain, pytester, change):
    """Of another suite, without end, or damaged: then scenarios are counted, and nobody is bothered."""
    folder = project(pytester, range(1, 7), agents=TIMED)
    plain(agent("timed"))
    file = Path(os.path.realpath(pytester.path / ".supportbench" / "last-run.jsonl"))
    lines = file.read_text("utf-8").splitlines(keepends=True)
    if change == "suite":
        path = folder / "case003.scenario.yaml"
        path.write_text(path.read_text("utf-8") + "# mended\n", "utf-8")
    if change == "killed":
        file.write_text("".join(lines[:-1]), "utf-8")
    if change == "gone":
        file.unlink()
    if change == "damaged":
        file.write_text("[]", "utf-8")
    result = plain(agent("timed"), "--supportbench-shard=1/2")
    used = last_run(pytester).run["settings"]["plan"]["durations"]
    assert (used is None) == (change != "none")
    if used is None:
        result.stdout.fnmatch_lines(["supportbench shard 1/2: 3 of 6 scenarios, balanced by their number"])


def test_named_durations_win(plain, pytester, monkeypatch):
    """The option, the environment or the ini file name them; they are used although the suite has changed since."""
    folder = project(pytester, range(1, 7), agents=TIMED)
    plain(agent("timed"), "--supportbench-results=earlier.jsonl")
    plain(agent("good"))
    path = folder / "case003.scenario.yaml"
    path.write_text(path.read_text("utf-8") + "# mended\n", "utf-8")
    shard, named = "--supportbench-shard=1/2", "--supportbench-durations=earlier.jsonl"
    plain(agent("good"), shard, named)
    assert scenarios_of(last_run(pytester)) == {"TB-005"}
    monkeypatch.setenv("SUPPORTBENCH_SHARD", "2/2")
    (pytester.path / "pytest.toml").write_text(
        '[pytest]\nstrict = true\nsupportbench_durations = "earlier.jsonl"\n'
    )
    plain(agent("good"))
    assert len(scenarios_of(last_run(pytester))) == 5
    plain(agent("good"), shard)
    assert scenarios_of(last_run(pytester)) == {"TB-005"}


def test_workers_that_start_late_divide_alike(plain, pytester):
    """A worker that crashed is replaced when the last run is this one already, and divides as the others did."""
    project(pytester, range(1, 9), agents=TIMED + DIES)
    plain(agent("timed"))
    result = plain(agent("dies"), "--supportbench-shard=2/2", "-n", "2")
    assert "Different tests were collected" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*worker 'gw*' crashed while running*"])
    assert result.parseoutcomes() == {"failed": 1, "passed": 6}


DIES = """

def dies(observation):
    if case(observation) == 2:
        os._exit(3)
    time.sleep(0.2)
    return GOOD
"""


@pytest.mark.parametrize("way", [(), ("-n", "2"), ("--collect-only",)], ids=["plain", "n2", "collect"])
def test_too_many_shards_are_wrong_usage_in_each_of_them(plain, pytester, way):
    """All shards refuse alike, so that no half of a run is left behind."""
    project(pytester, (1, 2))
    for number in (1, 3):
        result = plain(agent("good"), f"--supportbench-shard={number}/3", *way)
        assert result.ret == 4
        result.stdout.fnmatch_lines(
            ["ERROR: --supportbench-shard: 3 shards are too many for 2 selected scenarios; use at most 2"]
        )
    assert not (pytester.path / ".supportbench").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--supportbench-shard=3/2"], "'3/2' is no shard; write 2/8"),
        (["--supportbench-durations=a.jsonl"], "--supportbench-durations goes with --supportbench-shard=N/M"),
        (["--supportbench-shard=1/2", "--supportbench-durations=no.jsonl"], "no.jsonl: cannot be read"),
    ],
)
def test_mistakes_are_told_before_anything_runs(plain, pytester, options, told):
    """A wrong option ends the run with 4, and says what to write instead."""
    project(pytester, (1, 2))
    result = plain(agent("good"), *options)
    assert result.ret == 4
    assert told in result.stderr.str()


def test_the_gate_on_one_shard_has_gaps(plain, pytester):
    """A shard is complete by itself, and says nothing of the scenarios that it lacks."""
    project(pytester, range(1, 7))
    plain(agent("good"), "--supportbench-results=whole.jsonl")
    (pytester.path / ".supportbench" / "last-run.jsonl").unlink()
    (before,) = evidence(read_run(pytester.path / "whole.jsonl"))
    plain(agent("good"), "--supportbench-shard=1/3")
    (now,) = evidence(last_run(pytester))
    assert (now.complete, now.missing) == (True, 0)
    (reason,) = gaps(before, now, Rules())
    assert reason.blocks == "INCONCLUSIVE"
    assert reason.text.startswith(
        "this is shard 1/3 of a run, and one shard cannot be judged; put all of them"
    )
    part, others = (item.text for item in gaps(now, before, Rules()))
    assert part.startswith(
        "the baseline is shard 1/3 of a run, and nothing can be judged by one shard; put all"
    )
    assert others == (
        "4 scenarios in the run and not in the baseline: "
        + ", ".join(sorted(name for _, name in before.cases.keys() - now.cases.keys()))
    )


def test_suites_of_two_folders_are_divided_together(plain, pytester):
    """Equal ids in two suites are two scenarios, each in one shard."""
    project(pytester, (1, 2))
    suite(pytester.path / "shop", "shop")
    for number in (1, 2):
        scenario(pytester.path / "shop", number)
    found = []
    for number in (1, 2):
        plain(agent("good"), f"--supportbench-shard={number}/2")
        found += [(line["suite"], line["scenario"]) for line in last_run(pytester).episodes]
    assert sorted(found) == [(name, f"TB-00{n}") for name in ("desk", "shop") for n in (1, 2)]
