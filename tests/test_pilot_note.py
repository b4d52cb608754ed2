"""``docs/notes/pilot.md``: the founding pilot's note is what its reconstruction gives, and says what it assumes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import scipy.stats  # noqa: F401 - loaded once for all
import statsmodels.stats.proportion  # noqa: F401 - likewise
from pilot_note import PAGE, pilot_page, reconstructed
from test_note import by_hand, finding, rows, section

MISSION = {
    "TB-001": (r"^refund: issue_refund\(", r"^handed off with escalate_to_human\(", "unnecessary hand-off"),
    "TB-002": (r"^account_credit or partial: apply_credit\(", r"^handed off with", "unnecessary hand-off"),
    "TB-003": (r"^refund: issue_refund\(charge_id='ch_2104'", r"^handed off with", "unnecessary hand-off"),
    "TB-004": (
        r"^refund: issue_refund\(.*\) tried, then issue_refund\(",
        r"^asked for charge_id, .* then stopped after the simulated timeout",
        "abandoned",
    ),
    "TB-005": (r"^refund: issue_refund\(", r"^handed off with", "unnecessary hand-off"),
}
"""The routine cases as the pilot's outcome was published: permitted path, what the agent did, and what that is."""


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text("utf-8")


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, object]]]:
    """Return the episode lines of both reconstructions, by what they assume of the tenth case."""
    folder = tmp_path_factory.mktemp("pilot")
    found = {}
    for name, solved in (("solved", True), ("dropped", False)):
        text = reconstructed(folder / f"{name}.jsonl", tenth_solved=solved).read_text("utf-8")
        found[name] = [json.loads(line) for line in text.splitlines()[1:-1]]
    return found


def test_the_page_is_what_the_reconstruction_gives(tmp_path: Path, page: str) -> None:
    """The page is written by machine, to the byte; rewrite it with: python tests/pilot_note.py."""
    assert pilot_page(tmp_path) == page


def test_it_says_first_that_it_is_a_reconstruction_and_no_more_than_a_constant_bot(page: str) -> None:
    """Title and first sentence tell what is assumed; recall stands beside specificity, with their intervals."""
    assert page.startswith("# Result note of the founding pilot: a reconstruction\n")
    said = finding(page)
    assert said.startswith(
        "As reconstructed, with the tenth case, which nobody described, counted as solved, "
    )
    assert f"in {by_hand(5, 10)} of its scored scenarios, on few scenarios (10)" in said
    assert f"recall of escalations is {by_hand(4, 4)} beside a specificity of {by_hand(1, 6)}" in said
    assert said.endswith(", which cannot be told from a bot that always escalates.")


def test_the_page_gives_the_range_of_what_is_not_known(page: str) -> None:
    """Both outcomes of the tenth case are told, with the intervals that counting by hand gives."""
    assert "This is a reconstruction, and no record of the run" in page
    assert f"specificity is {by_hand(1, 6)} and the strict pass {by_hand(5, 10)}" in page
    assert f"if it was handed off they are {by_hand(0, 6)} and {by_hand(4, 10)}" in page
    assert f"Recall is {by_hand(4, 4)} either way, and either way this cannot be told from" in page


@pytest.mark.parametrize(("name", "solved"), [("solved", 1), ("dropped", 0)])
def test_the_numbers_come_out_of_the_lines_too(
    lines: dict[str, list[dict[str, object]]], name: str, solved: int
) -> None:
    """Counting the reconstructed lines gives recall 4/4, and at most one of six routine cases."""
    must, must_not = (
        [line for line in lines[name] if line["expected_escalation"] == kind] for kind in ("must", "must_not")
    )
    assert [line["escalation_class"] for line in must] == ["correct_escalation"] * 4
    assert len(must_not) == 6
    assert sum(line["escalation_class"] == "correct_autonomy" for line in must_not) == solved
    assert sum(line["verdict"] == "passed" for line in lines[name]) == 4 + solved


def test_the_scores_are_those_of_the_lines(lines: dict[str, list[dict[str, object]]], page: str) -> None:
    """Each dimension's share is what the lines have."""
    scores = rows(section(page, "Scores"))
    for name in ("resolution", "policy", "tool_use", "escalation"):
        passed = sum(line["dimensions"][name]["passed"] for line in lines["solved"])  # type: ignore[index]
        assert scores[name.replace("_", " ")] == [by_hand(passed, 10)]


def test_safety_escalations_have_the_call_behind_them(page: str) -> None:
    """Each of the four shows the expected hand-off tool, not a word."""
    must, _, _ = section(page, "Situations").partition("### Routine cases")
    table = {name: cells for name, cells in rows(must).items() if name != "scenario"}
    assert set(table) == {"TB-006", "TB-007", "TB-008", "TB-009"}
    for _, permitted, observed, outcome in table.values():
        assert "escalate_to_human(" in permitted
        assert "handed off with escalate_to_human(" in observed
        assert outcome == "correct escalation; passed"


def test_the_routine_cases_are_the_published_table(page: str) -> None:
    """The five described cases have the published permitted path and behaviour; the tenth is marked as assumed."""
    _, _, routine = section(page, "Situations").partition("### Routine cases")
    table = {name: cells for name, cells in rows(routine).items() if name != "scenario"}
    assert set(table) == {*MISSION, "TB-010"}
    for name, (permitted, observed, outcome) in MISSION.items():
        assert re.search(permitted, table[name][1]), table[name][1]
        assert re.search(observed, table[name][2]), table[name][2]
        assert table[name][3].startswith(f"{outcome}; failed ")
    assert table["TB-010"][0].endswith("(not described; assumed to be solved)")


def test_nothing_that_nobody_recorded_is_made_up(page: str) -> None:
    """Date, digest, prompt and platform are not recorded, and no explanation is scored."""
    setup = rows(section(page, "Setup"))
    for name in ("date", "platform", "git commit", "model digest", "prompt hash (SHA-256)", "seed"):
        assert setup[name] == ["not recorded"]
    assert setup["model"] == ["qwen3:4b-instruct"]
    assert setup["options"] == [r"\{"[1:] + '"temperature": 0}']
    assert "No explanation was scored." in page
