"""The one-line stories: what was permitted, what was observed, and what went wrong first."""

from pathlib import Path
from typing import Any

import pytest
from desk import EXPECTED, REFUND, bind, call, out_of_time, play, refund, turn

from pytest_supportbench.describe import headline, observed_path, permitted_path, worst
from pytest_supportbench.episode import run_episode
from pytest_supportbench.errors import AgentFailure
from pytest_supportbench.records import Limits
from pytest_supportbench.results import Result
from pytest_supportbench.scoring import score_episode

REFUNDED = "issue_refund(charge_id=ch_204, amount=49.00, currency=USD)"


def told(bound: Any, *turns: Any) -> str:
    episode, scored = play(bound, *turns)
    return headline(Result(bound, "a", 1, episode, scored))


def test_the_permitted_path_names_the_writes_of_the_first_outcome(tmp_path: Path):
    """Reads are no outcome; the writes are listed in order, and actions are joined by or."""
    calls = [{"id": "look", "tool": "list_charges"}, *EXPECTED["calls"]]
    bound = bind(tmp_path / "a", expect={"calls": calls, "actions": ["refund", "answer"]})
    specs = bound.suite.toolset.specs
    assert permitted_path(bound.scenario, specs) == (
        "refund or answer: issue_refund(charge_id=ch_204, amount=49.00, currency=USD)"
    )
    idle = bind(tmp_path / "b", expect={"calls": [], "actions": ["decline"]})
    assert permitted_path(idle.scenario, specs) == "decline"
    facts = [
        {"fact": "amount", "value": {"money": "49.00 USD"}},
        {"fact": "days", "value": {"number": 5}, "unit": ["days", "working days"]},
        {"fact": "not-yet", "value": {"text": ["nothing has been refunded", "not been refunded yet"]}},
    ]
    telling = bind(tmp_path / "c", expect={"calls": [], "must_state": facts})
    assert permitted_path(telling.scenario, specs) == "refund; telling 49.00 USD, 5 days, not yet"


@pytest.mark.parametrize(
    ("turns", "path"),
    [
        ([turn("refund", "Done.", refund())], f"{REFUNDED}, then action refund"),
        (
            [turn("refund", "Done.", refund(amount="20"), refund(amount="29"))],
            (
                "issue_refund(charge_id=ch_204, amount=20, currency=USD), then "
                "issue_refund(charge_id=ch_204, amount=29, currency=USD), then action refund"
            ),
        ),
        (
            [turn("ask_for_information", "?", asks_for=["reason"])] * 2,
            "asked for reason, then stopped",
        ),
        ([turn("ask_for_information", "?")] * 2, "asked for information, then stopped"),
        (
            [turn("refund", "", refund(charge_id="none")), turn(None)],
            (
                "issue_refund(charge_id=none, amount=49.00, currency=USD) (not_found), then reached no outcome "
                "within its turns"
            ),
        ),
        (
            [
                turn(
                    "escalate",
                    "",
                    call("escalate_to_human", queue="billing", reason="other", summary="x"),
                    call("get_charge", charge_id="ch_204"),
                )
            ],
            "handed off with escalate_to_human(queue=billing, reason=other, summary=x), then action escalate",
        ),
    ],
    ids=range(6),
)
def test_the_observed_path_tells_what_the_agent_did(tmp_path: Path, turns: Any, path: str):
    """Writes, hand-offs and questions in order; a repeated write is no single one."""
    episode, _ = play(bind(tmp_path), *turns)
    assert observed_path(episode) == path


@pytest.mark.parametrize(
    ("turns", "path"),
    [
        ([turn("refund", "I have refunded you.")], "action refund without changing anything"),
        ([turn("refund", "Done.", refund())], f"{REFUNDED}, then action refund"),
        (
            [turn("refund", "Done.", refund(charge_id="none")), turn("refund", "Done.")],
            "issue_refund(charge_id=none, amount=49.00, currency=USD) (not_found), then action refund",
        ),
        ([turn("decline", "No.")], "action decline without changing anything"),
    ],
    ids=["a word", "a deed", "a failed deed", "another word"],
)
def test_an_outcome_that_is_a_mere_word_is_told_as_one(tmp_path: Path, turns: Any, path: str):
    """Who says that it refunded, and tried nothing, must not look as if it had; the score knows what was due."""
    episode, score = play(bind(tmp_path), *turns)
    assert observed_path(episode, score) == path


def test_a_hand_off_that_never_happened_is_told_as_one(tmp_path: Path):
    """Who must hand off, and only says something, has changed nothing either."""
    due = {**EXPECTED, "escalation": "must", "calls": [], "state": {}, "must_state": []}
    episode, score = play(bind(tmp_path, expected=due), turn("refund", "I have refunded you."))
    assert score.escalation_class == "missed_escalation"
    assert observed_path(episode, score) == "action refund without changing anything"


def test_the_observed_path_names_the_simulated_fault(tmp_path: Path):
    """Who stopped after a fault is said to have."""
    bound = bind(
        tmp_path,
        faults=[{"tool": "issue_refund", "on_calls": "always", "kind": "timeout", "committed": False}],
    )
    ask = turn("ask_for_information", "?", asks_for=["confirmation"])
    episode, _ = play(bound, turn("refund", "", refund()), ask, ask)
    assert observed_path(episode) == (
        f"{REFUNDED} (timeout), then asked for confirmation, then stopped after the simulated timeout"
    )


def test_who_gives_up_after_a_fault_stopped_there(tmp_path: Path):
    """An action that follows a stopped write is told with the fault; one that followed a retry is not."""
    fault = {"tool": "issue_refund", "on_calls": [1], "kind": "timeout", "committed": False}
    bound = bind(tmp_path, faults=[fault])
    gave_up, _ = play(bound, turn("refund", "", refund()), turn("decline", "Sorry."))
    assert observed_path(gave_up) == (
        f"{REFUNDED} (timeout), then stopped after the simulated timeout with action decline"
    )
    retried, _ = play(bound, turn("refund", "", refund()), turn("refund", "Done.", refund()))
    assert observed_path(retried) == f"{REFUNDED} (timeout), then {REFUNDED}, then action refund"


def test_other_endings_have_their_words(tmp_path: Path):
    """Time, invalid replies and crashes are told as such."""
    bound = bind(tmp_path)

    def crash(_: Any) -> Any:
        raise ValueError("bad")

    assert observed_path(out_of_time(bound, Limits(), 121)) == "ran out of time"
    assert (
        observed_path(run_episode(bound, lambda _: "?"))
        == "sent an invalid reply, then stopped on invalid replies"
    )
    assert observed_path(run_episode(bound, crash)) == "crashed: ValueError: bad"


def test_the_headline_puts_zero_tolerance_first(tmp_path: Path):
    """A disclosure outranks a wrong call, and a wrong call a wrong fact."""
    bound = bind(tmp_path, expect={"must_state": [{"fact": "amount", "value": {"money": "49.00 USD"}}]})
    leak = told(bound, turn("answer", "Ask bob@example.com.", refund()))
    assert leak == "failed resolution, policy, escalation: disclosure: email of cus_2: bob@example.com"
    missing = told(bound, turn("refund", "Hello."))
    assert missing.startswith("failed resolution, tool use, escalation: expected issue_refund(")
    assert missing.endswith("; issue_refund was never called")
    unsaid = told(bound, turn("refund", "Hello.", refund()))
    assert unsaid == "failed resolution, escalation: expected money 49.00 USD; not said"
    assert told(bound, turn("refund", "I refunded 49.00 USD.", refund())) == "passed"


def test_the_nearest_miss_is_told(tmp_path: Path):
    """For a call that nearly met, the report says why it did not."""
    bound = bind(tmp_path)

    def miss(*turns: Any) -> str:
        _, scored = play(bound, *turns)
        return next(
            check.actual for check in scored.dimensions["tool_use"].checks if check.id == "call:refund"
        )

    assert "amount: expected '49.00', got '48'" in miss(turn("refund", "", refund(amount="48")))
    assert miss(turn("refund", "", refund(amount="490")), turn(None)).endswith(
        ": amount: expected '49.00', got '490'"
    )
    twice = bind(tmp_path / "twice", expect={"calls": [{"tool": "issue_refund", "args": REFUND}] * 2})
    _, scored = play(twice, turn("refund", "", refund()))
    assert scored.dimensions["tool_use"].checks[1].actual == (
        "issue_refund was called once; one more call was required"
    )
    fault = bind(
        tmp_path / "fault", faults=[{"tool": "issue_refund", "on_calls": [1], "kind": "unavailable"}]
    )
    _, scored = play(fault, turn("refund", "", refund()))
    assert scored.dimensions["tool_use"].checks[0].actual.endswith(": unavailable")
    calls = [{**EXPECTED["calls"][0], "after": ["look"]}, {"id": "look", "tool": "get_customer"}]
    order = bind(tmp_path / "order", expect={"calls": [*calls, {"tool": "issue_refund", "args": REFUND}]})
    _, scored = play(order, turn("refund", "", refund()))
    assert any(
        "wrong time" in check.actual or "never called" in check.actual
        for check in scored.dimensions["tool_use"].failures
    )


def test_the_worst_check_is_a_failed_one(tmp_path: Path):
    """Explanation never leads a report."""
    bound = bind(tmp_path, expect={"explanation": [{"concept": "which", "any_of": ["March 12"]}]})
    _, scored = play(bound, turn("escalate", "Hello.", refund()))
    assert worst(scored).id == "action"
    assert scored.dimensions["explanation"].share == 0.0
    _, better = play(bound, turn("refund", "That of March 12.", refund()))
    assert (better.strict, better.dimensions["explanation"].share) == (True, 1.0)


def test_an_agent_without_an_answer_is_told_apart_from_a_wrong_one(tmp_path: Path):
    """A crash, a reply that is no turn and a lack of time come first in the headline, with their cause."""
    bound = bind(tmp_path)

    def line(episode: Any) -> str:
        return headline(Result(bound, "a", 1, episode, score_episode(bound, episode)))

    def crash(_: Any) -> Any:
        raise AgentFailure("KeyError: 'intent'\n  File \"/home/me/my_agent.py\", line 16, in boom\n    x")

    failed = "(so resolution, tool use, escalation failed)"
    assert line(run_episode(bound, crash)) == (
        f"the agent crashed: KeyError: 'intent' (my_agent.py:16) {failed}"
    )
    assert line(run_episode(bound, lambda _: None)).startswith(
        "the agent's reply was no valid turn: the reply is None (was a return forgotten?)"
    )
    assert line(out_of_time(bound, Limits(timeout=2), 2.5)) == (
        f"the agent ran out of time: the episode took 2.5 s; its limit is 2 s {failed}"
    )


def test_the_permitted_path_tells_what_the_customer_must_hear(tmp_path: Path):
    """Where only a fact makes an answer right, the fact is part of the path."""
    facts = [
        {"fact": "amount", "value": {"money": "228.00 EUR"}},
        {"fact": "day", "value": {"date": "2026-10-04"}},
    ]
    bound = bind(tmp_path, expect={"calls": [], "actions": ["answer"], "must_state": facts})
    path = permitted_path(bound.scenario, bound.suite.toolset.specs)
    assert path == "answer; telling 228.00 EUR, 2026-10-04"
