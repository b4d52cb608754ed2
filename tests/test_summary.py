"""Counts over finished episodes: shares, the escalation table, violations, and errors told apart."""

from pathlib import Path
from typing import Any

from desk import bind, call, play, refund, turn

from pytest_supportbench.episode import failed_before_start
from pytest_supportbench.records import EpisodeError
from pytest_supportbench.results import Result
from pytest_supportbench.summary import Share, by_agent, escalation_table, row, summarise


def made(number: int, verdict: str = "passed", **changes: Any) -> dict[str, Any]:
    passed = verdict == "passed"
    return {
        "suite": "desk 1",
        "scenario": f"S-{number}",
        "family": f"S-{number}",
        "trace": f"{number}/{changes.get('trial', 1)}",
        "trial": 1,
        "agent": "a",
        "category": "billing",
        "tags": [],
        "verdict": verdict,
        "dimensions": {}
        if verdict == "error"
        else dict.fromkeys(("resolution", "policy", "tool_use", "escalation"), passed),
        "strict_effects": None if verdict == "error" else passed,
        "expected_escalation": "must_not",
        "escalation_class": None if verdict == "error" else "correct_autonomy" if passed else "abandoned",
        "constant_class": "unnecessary_handoff",
        "violations": [],
        "explanation": None,
        "not_assessed": 0,
        "hygiene": 0,
        "replayed": "no",
        "seconds": 0.5,
        "usage": {
            "prompt_tokens": None,
            "completion_tokens": None,
            "spent_tokens": None,
            "cost": None,
            "retries": 0,
        },
        "error": {"cause": "refused", "message": f"m{number}", "remedy": "r"} if verdict == "error" else None,
        **changes,
    }


def test_a_share_of_nothing_is_a_dash():
    """No division by zero, and no hundred per cent of nothing."""
    assert str(Share(0, 0)) == "–"
    assert str(Share(4, 10)) == "4/10 (40 %)"


def test_errors_count_in_no_denominator_but_are_shown_as_failures_too():
    """The headline says what an agent got of scored episodes, and of all."""
    summary = summarise("a", [made(1), made(2, "failed"), made(3, "error"), made(4, "error")])
    assert summary.passed == Share(1, 2)
    assert summary.passed_of_all == Share(1, 4)
    assert summary.passed_effects == Share(1, 2)
    assert summary.dimensions["policy"] == Share(1, 2)
    assert summary.errors == {"refused": (2, "m3", "r")}
    assert [item["scenario"] for item in summary.failures] == ["S-2"]


def test_recall_specificity_and_the_constant_agent_stand_together():
    """An agent that hands everything off has full recall, no specificity and solved nothing."""
    rows = [
        made(
            1,
            expected_escalation="must",
            escalation_class="correct_escalation",
            constant_class="correct_escalation",
        ),
        made(
            2, "failed", expected_escalation="must", escalation_class="misrouted", constant_class="misrouted"
        ),
        made(3, "failed", escalation_class="unnecessary_handoff"),
        made(4),
    ]
    summary = summarise("a", rows)
    assert (summary.escalation.recall, summary.escalation.specificity) == (Share(1, 2), Share(1, 2))
    assert summary.escalation.handed_off_needlessly == Share(1, 2)
    assert summary.routine_solved == Share(1, 2)
    assert (summary.constant.recall, summary.constant.specificity) == (Share(1, 2), Share(0, 2))


def test_either_is_in_no_numerator_and_no_denominator():
    """Where both outcomes are right, a hand-off proves nothing; no share exceeds the whole."""
    rows = [
        made(1, expected_escalation="either", escalation_class="correct_escalation"),
        made(2, expected_escalation="either", escalation_class="correct_autonomy"),
        made(3, expected_escalation="must", escalation_class="correct_escalation"),
    ]
    table = escalation_table(rows)
    assert (table.recall, table.specificity) == (Share(1, 1), Share(0, 0))
    assert table.classes == {"correct_escalation": 2, "correct_autonomy": 1}


def test_zero_tolerance_counts_missed_escalation_in_safety_only():
    """Each zero-tolerance violation counts; a missed escalation where lives are at stake does too."""
    rows = [
        made(
            1,
            "failed",
            violations=[["disclosure", "text"], ["wrong_subject", "effect"], ["false_claim", "text"]],
        ),
        made(2, "failed", violations=[["missed_escalation", "effect"]]),
        made(3, "failed", violations=[["missed_escalation", "effect"]], tags=["safety"]),
    ]
    summary = summarise("a", rows)
    assert summary.zero_tolerance == 3
    assert summary.violations["disclosure"] == (0, 1)
    assert summary.violations["missed_escalation"] == (2, 0)


def test_the_explanation_is_a_mean_over_those_that_have_one():
    """Scenarios without concepts do not pull it down; it is marked as uncalibrated."""
    summary = summarise("a", [made(1, explanation=1.0), made(2, explanation=0.5), made(3)])
    assert (summary.explanation, summary.explained) == (0.75, 2)
    assert summary.to_json()["explanation"] == {"mean_share": 0.75, "episodes": 2, "calibrated": False}
    assert summarise("a", [made(1)]).explanation is None


def test_the_closing_line_has_plain_counts():
    """Shares travel as two numbers, and everything is in a stable order."""
    rows = [
        made(
            2, "failed", category="retrieval", violations=[["disclosure", "text"], ["disclosure", "effect"]]
        ),
        made(1),
        made(3, "error"),
    ]
    data = summarise("a", rows).to_json()
    assert data == summarise("a", list(reversed(rows))).to_json()
    assert data["strict"] == [1, 2]
    assert data["strict_errors_as_failures"] == [1, 3]
    assert data["categories"] == {"billing": [1, 1], "retrieval": [0, 1]}
    assert data["violations"] == {"disclosure": 2}
    assert data["errors"] == {"refused": 1}
    assert data["escalation"]["specificity"] == [1, 2]


def test_rows_are_grouped_by_agent_in_order():
    """The first agent seen comes first."""
    grouped = by_agent([made(1, agent="b"), made(1), made(2, agent="b")])
    assert [(name, len(rows)) for name, rows in grouped.items()] == [("b", 2), ("a", 1)]


def test_a_row_has_what_reports_need(tmp_path: Path):
    """Verdict, paths, headline and hygiene of a result, as plain data."""
    bound = bind(tmp_path)
    episode, scored = play(
        bound,
        turn(None, "", call("fly"), call("get_charge")),
        turn("refund", "I refunded 49.00 USD.", refund()),
    )
    passed = row(Result(bound, "a", 1, episode, scored), "unnecessary_handoff")
    assert (passed["key"], passed["suite"], passed["hygiene"]) == ("a/desk/D-1/1", "desk 0.1", 2)
    assert passed["permitted"].startswith("refund: issue_refund(charge_id=ch_204")
    assert passed["headline"] == "passed"
    error = failed_before_start(bound, EpisodeError("refused", "no server", "start it"))
    broken = row(Result(bound, "a", 1, error, None))
    assert (broken["verdict"], broken["strict_effects"], broken["not_assessed"]) == ("error", None, 0)
    assert broken["error"] == {"cause": "refused", "message": "no server", "remedy": "start it"}
    assert broken["headline"] == "infrastructure error (refused): no server"
    assert broken["observed"] == "infrastructure error (refused)"
