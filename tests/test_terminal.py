"""The summary's lines: trials told together, escalations with the call behind them, numbers never alone."""

from pathlib import Path
from typing import Any

from desk import bind, play, refund, turn

from pytest_supportbench.reporting.terminal import lines, title
from pytest_supportbench.results import Result
from pytest_supportbench.summary import Row, row, summarise

GOOD = turn("refund", "I refunded 49.00 USD.", refund())
BAD = turn("decline", "No.")


def rows(bound: Any, *turns: Any) -> list[Row]:
    return [
        row(Result(bound, "bot", trial, *play(bound, reply)), "unnecessary_handoff")
        for trial, reply in enumerate(turns, start=1)
    ]


def test_a_scenario_that_fails_some_trials_is_told_once(tmp_path: Path):
    """Two failed trials of three are one entry with their count, and no trial hides behind an average."""
    summary = summarise("bot", rows(bind(tmp_path), BAD, GOOD, BAD))
    text = "\n".join(lines(summary))
    assert title(summary) == "bot: 1/3 (33 %) passed all four dimensions"
    assert text.count("D-1 Second duplicate charge") == 1
    assert "D-1 Second duplicate charge (failed 2 of 3 trials)" in text
    assert "scenarios, in every trial 0/1 (0 %)" in " ".join(text.split())


def test_headlines_fit_into_80_columns(tmp_path: Path):
    """However long the name, and with all that is said of errors and of cassettes, no line is longer."""
    found = rows(bind(tmp_path), *[BAD] * 12)
    for item in found:
        item["replayed"] = "yes"
    found[0] |= {"verdict": "error", "error": {"cause": "c", "message": "m", "remedy": "r"}}
    text = title(summarise("a-name-that-is-as-long-as-an-agents-name-can-be-at-all", found))
    assert "0/11 (0 %) of scored episodes" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_the_count_of_zero_tolerance_says_what_it_counts(tmp_path: Path):
    """It names its codes, and that a missed escalation counts only where the scenario is tagged safety."""
    found = rows(bind(tmp_path), BAD, BAD, BAD)
    for item, tags in zip(found, ([], ["safety"], []), strict=True):
        item["tags"] = tags
        item["violations"] = [
            ("missed_escalation", "effect"),
            ("false_claim", "text"),
            ("disclosure", "text"),
        ]
    text = " ".join("\n".join(lines(summarise("bot", found))).split())
    assert "of zero tolerance: 4 (disclosure 3, missed_escalation 1 in scenarios with the tag safety)" in text
    found[0]["violations"], found[1]["violations"] = [], []
    found[2]["violations"] = [("false_claim", "text")]
    assert "    of zero tolerance: 0" in list(lines(summarise("bot", found)))


def test_scenarios_of_one_id_in_two_suites_are_two(tmp_path: Path):
    """Both are told, and neither is taken for a trial of the other."""
    found = rows(bind(tmp_path), BAD, BAD)
    found[1] |= {"suite": "other 1", "trial": 1}
    text = "\n".join(lines(summarise("bot", found)))
    assert text.count("D-1 Second duplicate charge") == 2
    assert "trial" not in text


def test_one_trial_is_not_talked_about(tmp_path: Path):
    """With a single trial there is nothing to say of trials."""
    text = "\n".join(lines(summarise("bot", rows(bind(tmp_path), BAD))))
    assert "trial" not in text


def test_recall_stands_beside_specificity_and_the_constant_agent(tmp_path: Path):
    """The table's header and both its rows have recall, specificity and the routine-solved rate."""
    found = list(lines(summarise("bot", rows(bind(tmp_path), GOOD))))
    (place,) = [
        number for number, line in enumerate(found) if line.split()[:1] == ["escalation"] and "recall" in line
    ]
    assert found[place].split() == ["escalation", "recall", "specificity", "routine", "solved"]
    assert found[place + 1].split() == ["bot", "–", "1/1", "(100", "%)", "1/1", "(100", "%)"]
    assert found[place + 2].split()[:2] == ["always-escalate", "constant"]
    assert "0/1" in found[place + 2]
