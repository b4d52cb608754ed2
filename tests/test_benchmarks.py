"""The measuring command stands on true ground: its cases pass, its floor runs, its page says what was measured."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from benchmarks import __main__ as command
from benchmarks.child import ROOT
from benchmarks.child import run as run_child
from benchmarks.contest import Contestant, contest, ratios
from benchmarks.data import scenarios, write_cases, write_suite
from benchmarks.families import FAMILIES
from benchmarks.floor import write_jsonl_floor, write_yaml_floor
from benchmarks.interrupts import checked
from benchmarks.report import page, verdict
from benchmarks.rows import Finding, Row
from benchmarks.store import empty, load, merge, save
from pytest_supportbench.check import check_files, find_scenarios

BARE = ("-q", "--disable-plugin-autoload", "-p", "no:cacheprovider")


def test_cases_are_the_same_each_time_and_unlike_each_other():
    first, again = list(scenarios(300)), list(scenarios(300))
    assert first == again
    assert first[:100] == list(scenarios(100))
    assert len({name.split("/")[0] for name, _ in first}) == 2
    texts = [text for _, text in first]
    assert all(40 <= text.count("\n") <= 70 for text in texts)
    names = {re.search(r"cus_0\d+: {name: ([^,]+),", text)[1] for text in texts}
    messages = {text.split("message: >-")[1].split("replies:")[0] for text in texts}
    assert (len(names), len(messages)) == (300, 300)


def test_each_kind_of_case_holds_what_it_claims(tmp_path):
    """References pass, counterexamples fail as they say, and mutants are caught: what is measured is real scoring."""
    suite = write_suite(tmp_path, len(FAMILIES))
    report = check_files(find_scenarios([suite]), tmp_path)
    assert [str(problem) for problem in report.problems] == []
    assert (report.scenarios, report.counterexamples) == (4, 4)


def test_the_floors_run_the_same_cases_as_pytest_does(tmp_path):
    suite, cases = write_suite(tmp_path, 2), write_cases(tmp_path, 2)
    write_yaml_floor(tmp_path / "yaml", suite)
    write_jsonl_floor(tmp_path / "jsonl", cases)
    found = [
        Contestant("yaml", (sys.executable, "-m", "pytest", *BARE, "suite"), tmp_path / "yaml", "2 passed"),
        Contestant("jsonl", (sys.executable, "-m", "pytest", *BARE), tmp_path / "jsonl", "2 passed"),
        Contestant("gone", (sys.executable, "-c", "raise SystemExit('not here')"), tmp_path),
    ]
    heats = contest(found, 1)
    assert heats.failures == {"gone": "exit status 1: not here"}
    assert heats.seconds("yaml")[0] > 0
    assert heats.peaks("jsonl")[0] > 10


def test_a_floor_fails_where_a_reply_is_wrong(tmp_path):
    suite = write_suite(tmp_path, 1)
    write_yaml_floor(tmp_path / "yaml", suite)
    for path in (tmp_path / "yaml" / "suite").rglob("*.scenario.yaml"):
        text = path.read_text("utf-8").replace("actions: [refund]", "actions: [decline]")
        path.unlink()
        path.write_text(text, "utf-8")
    done = run_child([sys.executable, "-m", "pytest", *BARE, "suite"], tmp_path / "yaml")
    assert done.status == 1
    assert "1 failed" in done.tail


def test_a_child_that_takes_too_long_is_ended(tmp_path):
    done = run_child([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, limit=0.2)
    assert done.status < 0
    assert done.seconds < 10


def row(name="cold-50", **more):
    findings = (
        Finding("to the floor", "×", (1.8, 1.2, 2.4), 1.5),
        Finding("a peer", "×", (), 0.5, why="not installed: no such package"),
        Finding("calls", "a second", (60_000.0,), 50_000, least=True),
    )
    return Row(name, "fifty", "at most 1.5 ×", findings, rounds=3, **more)


def test_the_page_says_what_was_measured_and_by_how_much_it_falls_short(tmp_path):
    store = load(tmp_path / "results.json")
    merge(
        store,
        [
            row(
                commands={"us": "pytest suite"},
                samples={"us": {"seconds": [1, 2, 4], "cpu": [1], "peak_mb": [9]}},
            )
        ],
        "floor",
        90.0,
    )
    save(store, tmp_path / "results.json")
    text = page(load(tmp_path / "results.json"))
    assert "| fifty | at most 1.5 × | to the floor: 1.8 × (1.2 to 2.4) | **not met**, 20 % too much;" in text
    assert "- 1 of 2 figures that have a target meet it." in text
    assert "|  |  | a peer: not installed: no such package | not measured |" in text
    assert "|  |  | calls: 60,000 a second | met |" in text
    assert "| us | 2 (1 to 4) | 1 | 9 |" in text
    assert "us: pytest suite" in text
    assert ", 3 rounds. Target" in text


def test_a_trial_says_that_its_figures_say_nothing():
    """It has rows of its own only: those of an earlier trial would stand under this machine and commit."""
    store = {**empty(), "trial": True}
    merge(store, [row()], "floor", 1.0)
    assert "**This is a trial" in page(store)
    assert "In short" not in page(store)


def test_a_row_that_is_measured_again_replaces_only_itself():
    store = empty()
    merge(store, [row("one"), row("two")], "floor", 1.0)
    kept = json.dumps(store["rows"]["two"])
    merge(store, [Row("one", "again", "", (Finding("x", "s", (1.0,)),))], "floor", 2.0)
    assert store["rows"]["one"]["title"] == "again"
    assert json.dumps(store["rows"]["two"]) == kept


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (Finding("", "s", (2.0,), 1.0), "**not met**, 100 % too much"),
        (Finding("", "", (25_000.0,), 50_000, least=True), "**not met**, 50 % too little"),
        (Finding("", "", (2.0,), 0.0), "**not met**, by 2"),
        (Finding("", "s", (1.0, 0.9, 0.5), 1.0), "met"),
        (Finding("", "s", (1.0, 3.0, 0.5), 1.0), "met; the rounds lie on both sides of it"),
        (Finding("", "s", (1.0,)), "–"),
    ],
)
def test_a_verdict_is_about_the_median(finding, said):
    assert verdict(finding) == said


def test_ratios_are_within_rounds():
    assert ratios([2.0, 9.0], [1.0, 3.0]) == [2.0, 3.0]


def test_a_results_file_needs_whole_lines_and_its_closing_one(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"type": "run"}\n{"type": "summary"}\n', "utf-8")
    assert not checked(path)
    path.write_text('{"type": "run"}\n{"type": "episode"}\n', "utf-8")
    assert checked(path) == "no closing line"
    path.write_text('{"type": "run"}\n{"type": "summ', "utf-8")
    assert "not valid" in checked(path)
    path.write_text("", "utf-8")
    assert checked(path) == "no closing line"


def test_the_page_and_the_drawing_are_made_again_from_what_is_stored(tmp_path):
    store = {"machine": {"cores": "2"}, "rows": {}, "curves": {}}
    merge(store, [row()], "floor", 60.0)
    points = [
        {
            "episodes": 10**power,
            "scenarios": 10 ** min(power, 2),
            "trials": 10 ** max(power - 2, 0),
            "seconds": 0.1 * 10**power,
            "cpu": 0.1,
            "peak_mb": 40 + power,
            "file_mb": 10.0**power,
            "floor_seconds": 0.05 * 10**power,
            "floor_mb": 39 + power,
        }
        for power in (1, 2, 3)
    ]
    store["curves"] = {"points": points}
    save(store, tmp_path / "results.json")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--report-only", "--out", tmp_path], cwd=ROOT, check=False
    )
    assert done.returncode == 0
    assert "| 1,000 | 100 scenarios, 10 trials each | 100 | 0.1 | 43 | 1,000 | 50 | 42 |" in (
        tmp_path / "RESULTS.md"
    ).read_text("utf-8")
    assert (tmp_path / "growth.svg").read_text("utf-8").count("<circle") == 18


def test_the_page_about_speed_names_every_group():
    text = (ROOT / "docs" / "speed.md").read_text("utf-8")
    assert [group for group in command.GROUPS if f"`{group}`" not in text] == []
