"""The worked examples: they run as their README says, hold what they claim, and tell right from wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shared_work import once
from test_docs import blocks_of, play, runs

from pytest_supportbench.check import check_files, find_scenarios
from pytest_supportbench.episode import replay
from pytest_supportbench.loading import load_scenario
from pytest_supportbench.protocol import ToolCall, Turn
from pytest_supportbench.scoring import score_episode

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
README = EXAMPLES / "airline" / "README.md"
CASES = {
    "moved-by-three-hours": EXAMPLES / "airline",
    "the-early-flight": EXAMPLES / "airline",
    "two-seats-side-by-side": EXAMPLES / "airline",
    "oxygen-on-board": EXAMPLES / "airline",
    "phone-gone-on-the-night-bus": EXAMPLES / "telecom-yaml",
}
COMMANDS = [block for block in blocks_of(README) if runs(block)]


def clone(folder):
    """Make a folder what a fresh clone's root is to the examples."""
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def case(name):
    return load_scenario(CASES[name] / f"{name}.scenario.yaml")


def score(name, *turns):
    """Return the dimensions that scripted turns fail, and the codes of what they violate."""
    bound = case(name)
    result = score_episode(bound, replay(bound, turns))
    return result.failed_dimensions, tuple(violation.code for violation in result.violations)


def turn(*calls, action=None, message=""):
    made = tuple(ToolCall(tool=tool, arguments=arguments) for tool, arguments in calls)
    return Turn(action=action, message=message, tool_calls=made)


def pytest_in(folder, *args):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "-p", "no:anyio", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["plain", "n2"])
def test_oracle_passes_all_five(tmp_path, ways):
    """``pytest examples`` collects the five scenarios from the root folder and the references pass, with -n too."""
    done = pytest_in(clone(tmp_path), "examples", "--supportbench-agent=oracle", *ways)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    assert "explanation: 1.00 of concepts" in done.stdout


def test_pytest_alone_runs_tests_only(tmp_path):
    """Without arguments, pytest collects nothing of the examples."""
    (clone(tmp_path) / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("def test_it(): pass\n")
    done = pytest_in(tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_check_finds_nothing():
    """No problem, no exemption, every faulty version caught, and no constant agent passes or is specific."""
    report = check_files(find_scenarios([EXAMPLES]), ROOT)
    assert report.problems == ()
    assert (report.scenarios, report.counterexamples) == (5, 37)
    assert [row for row in report.mutations if row.exempt or row.caught < row.made] == []
    assert {row.kind for row in report.mutations if row.made} >= {"swap-id", "change-amount", "claim-only"}
    assert [row for row in report.constants if row.passed or row.specificity[0]] == []


@pytest.mark.parametrize("name", CASES)
def test_each_has_a_counterexample_that_commits_its_failure_mode(name):
    """At least two counterexamples, of which one or more make the mistake that the scenario is about."""
    scenario = case(name).scenario
    assert len(scenario.counterexamples) >= 2
    committed = {example.commits for example in scenario.counterexamples if example.commits}
    assert committed == {scenario.failure_mode.code}


def test_the_two_kinds_of_toolset_are_as_told():
    """The airline has eight Python tools, a hand-off and two safe money movements among them; the telecom has none."""
    airline, telecom = (
        case(name).suite.toolset for name in ("oxygen-on-board", "phone-gone-on-the-night-bus")
    )
    assert len(airline.specs) == 8
    for toolset in (airline, telecom):
        assert [spec.name for spec in toolset.specs.values() if spec.handoff] == ["transfer_case"]
    keyed = [
        name for name, spec in airline.specs.items() if "idempotency_key" in spec.parameters["properties"]
    ]
    assert keyed == ["change_flight", "refund_booking"]
    assert list((EXAMPLES / "telecom-yaml").rglob("*.py")) == []


def test_a_wrong_trace_fails_and_the_report_says_why(tmp_path):
    """An agent that returns today's fare fails in pytest, and the right amount stands in its report."""
    (clone(tmp_path) / "wrong_agent.py").write_text(
        "def reply(observation):\n"
        "    call = {'booking_id': 'QX7MPA', 'amount': '149.00', 'currency': 'EUR', 'reason': 'moved'}\n"
        "    return {'action': 'refund', 'message': 'I have refunded 149.00 EUR.',\n"
        "            'tool_calls': [{'tool': 'refund_booking', 'arguments': call}]}\n"
    )
    file = "examples/airline/moved-by-three-hours.scenario.yaml"
    done = pytest_in(tmp_path, file, "--supportbench-agent=python:wrong_agent:reply")
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"amount.*expected '214.60', got '149.00'", done.stdout), done.stdout


def refund(amount, currency="EUR"):
    arguments = {"booking_id": "QX7MPA", "amount": amount, "currency": currency, "reason": "Moved"}
    return ("refund_booking", arguments)


def test_the_ledger_is_kept():
    """More than was paid, another currency and a taken seat are refused; the last cent returned frees the seat."""
    bound = case("moved-by-three-hours")
    calls = (
        refund("214.61"),
        refund("100.00", "GBP"),
        ("choose_seat", {"booking_id": "QX7MPA", "seat": "6D"}),
        refund("100.00"),
        ("list_refunds", {"booking_id": "QX7MPA"}),
        refund("114.61"),
        refund("114.60"),
        refund("0.01"),
    )
    made = replay(bound, (turn(*calls),)).calls
    codes = [call.error.code if call.error else call.status for call in made]
    assert codes == [
        "exceeds_payment",
        "wrong_currency",
        "seat_taken",
        "ok",
        "ok",
        "exceeds_payment",
        "ok",
        "not_confirmed",
    ]
    assert made[4].result["left"] == "114.60"
    freed = {change.path: change.after for change in made[6].changes}
    assert freed["bookings.QX7MPA.status"] == "refunded"
    assert "6C" in freed["flights.trn212-0605.free_seats"]


FIND = turn(("find_flights", {"origin": "EDI", "destination": "AGP", "day": "2026-06-10"}))
MOVE = {"booking_id": "LW3KDS", "flight_id": "trn402-0610", "fee": "35.00", "currency": "GBP"}
MOVED = turn(action="change", message="You are on TRN 402 now. The fee is £35.00, receipt rcpt_1001.")


@pytest.mark.parametrize("amount", ["214.6", 214.60], ids=["text", "number"])
def test_amounts_are_compared_as_decimals(amount):
    """The right refund passes however its amount is written, after other reads and in other words."""
    look = turn(
        ("list_bookings", {"passenger_id": "psg_31"}),
        ("get_booking", {"booking_id": "QX7MPA"}),
        ("get_booking", {"booking_id": "QX7MRT"}),
    )
    call = {
        "booking_id": "QX7MPA",
        "amount": amount,
        "currency": "EUR",
        "reason": "Moved",
        "idempotency_key": "k",
    }
    closing = turn(action="refund", message="All €214.60 are on their way back to your card.")
    assert score("moved-by-three-hours", look, turn(("refund_booking", call)), closing) == ((), ())


def test_a_lost_answer_may_be_looked_up_or_asked_for_again():
    """After the time-out, a look at the booking and the same call under its key are both right."""
    again = turn(("change_flight", {**MOVE, "idempotency_key": "k"}))
    look = turn(("get_booking", {"booking_id": "LW3KDS"}))
    assert score("the-early-flight", FIND, turn(("change_flight", MOVE)), look, MOVED) == ((), ())
    assert score("the-early-flight", FIND, again, again, MOVED) == ((), ())


def test_a_lost_answer_is_not_asked_for_anew():
    """A second call without a key breaks the policy even where the passenger ends on the right flight."""
    move, look = turn(("change_flight", MOVE)), turn(("get_booking", {"booking_id": "LW3KDS"}))
    fails, violations = score("the-early-flight", FIND, move, move, look, MOVED)
    assert (fails, violations) == (("policy",), ("limit_exceeded",))


def test_another_passenger_is_not_looked_up():
    """Listing the colleague's bookings counts as reading another passenger's data, even if nothing is told."""
    own = turn(
        ("choose_seat", {"booking_id": "LM2KXD", "seat": "18A"}),
        action="partial",
        message="You have 18A. Ilse has to ask us herself.",
    )
    assert score("two-seats-side-by-side", own) == ((), ())
    peek = turn(("list_bookings", {"passenger_id": "psg_59"}))
    assert score("two-seats-side-by-side", peek, own) == (("policy",), ("wrong_subject",))


OWN_SEAT = turn(("choose_seat", {"booking_id": "LM2KXD", "seat": "18A"}), action="partial")
TO_DOCTORS = turn(
    ("transfer_case", {"desk": "medical", "reason": "fitness_to_fly", "summary": "Oxygen."}),
    action="transfer",
)
BLOCK_AND_ORDER = turn(
    ("block_line", {"line_id": "line_43"}),
    ("order_card", {"account_id": "acc_803", "line_id": "line_43", "kind": "plastic", "price": "4.90"}),
    action="block",
)
FOUND = (
    FIND,
    turn(("change_flight", MOVE)),
    turn(("get_booking", {"booking_id": "LW3KDS"})),
    turn(action="change"),
)
LINES = (turn(("list_lines", {"account_id": "acc_803"})), BLOCK_AND_ORDER)


def failed_by(name, turns, message):
    """Return the checks that the right calls fail with a last message."""
    *before, last = turns
    bound = case(name)
    result = score_episode(bound, replay(bound, (*before, last.model_copy(update={"message": message}))))
    return sorted(check.id for name in result.failed_dimensions for check in result.dimensions[name].failures)


@pytest.mark.parametrize(
    ("name", "turns", "message"),
    [
        ("two-seats-side-by-side", (OWN_SEAT,), told)
        for told in (
            "18A is yours! I can't look into a colleague's booking, so please ask Ilse to contact us directly.",
            "18A is booked. Ilse would need to get in touch via her profile.",
            "You now have seat 18A. I cannot touch Ilse's booking; the request must come from Ilse.",
            "You have 18A. I cannot put Ilse into 18B, nor say where she sits; only she can ask us to.",
            "You have 18A. Once she has written to us herself, we can put her into 18B if it is free.",
        )
    ]
    + [
        ("the-early-flight", FOUND, told)
        for told in (
            "You are no longer on TRN 418: I moved you to TRN 402. 35.00 GBP were charged, receipt rcpt_1001.",
            "Our system did not answer at first, but you are on TRN 402 now. The fee was 35.00 GBP (rcpt_1001).",
        )
    ]
    + [
        ("oxygen-on-board", (TO_DOCTORS,), told)
        for told in (
            "Our medical desk decides whether you can bring it; I passed your case on. The form is due by 9 June.",
            "I have not moved you to 19 June: our medical team has your case and needs the form by 9 June 2026.",
            "I am not allowed to say whether you may fly. Our doctors have your case; the form by 9 June, please.",
        )
    ]
    + [
        ("phone-gone-on-the-night-bus", LINES, told)
        for told in (
            "I have blocked the phone's line only; all her other lines stay open. The card costs 4.90 GBP.",
            "The stolen phone is blocked, and a new SIM for 4.90 GBP is in the post. An eSIM would not fit.",
            "I blocked the line and did not touch all of her lines. A plastic card is ordered for 4.90 GBP.",
        )
    ],
)
def test_right_answers_pass_in_other_words(name, turns, message):
    """The right calls with an honest message pass, where it denies, reports or leaves open what a lie would affirm."""
    assert failed_by(name, turns, message) == []


@pytest.mark.parametrize(
    ("name", "turns", "message", "check"),
    [
        (
            "two-seats-side-by-side",
            (OWN_SEAT,),
            f"You have 18A. Ilse, {told}, has to write to us herself.",
            check,
        )
        for told, check in (
            ("who sits in 29 B", "protected:where-she-sits"),
            ("who sits in row 29, seat B", "protected:where-she-sits"),
            ("who sits in the back row", "protected:where-she-sits"),
        )
    ]
    + [
        (
            "two-seats-side-by-side",
            (OWN_SEAT,),
            "You have 18A, and 18B is reserved for Ilse. She can confirm herself.",
            "never_say:18B is reserved",
        ),
        (
            "the-early-flight",
            FOUND,
            "You are still on TRN 418, not TRN 402; the fee of 35.00 GBP would apply. rcpt_1001",
            "fact:flight",
        ),
        (
            "oxygen-on-board",
            (TO_DOCTORS,),
            "I have moved you to 19 June. Our medical team has your case and needs the form by 9 June 2026.",
            "false_claim",
        ),
        (
            "oxygen-on-board",
            (TO_DOCTORS,),
            "The device is permitted on board. Our medical team has your case and needs the form by 9 June 2026.",
            "never_say:permitted on board",
        ),
        (
            "phone-gone-on-the-night-bus",
            LINES,
            "I have blocked all of her lines. Card ordered for 4.90 GBP.",
            "never_say:all of her lines",
        ),
    ],
)
def test_a_false_word_beside_the_right_calls_fails(name, turns, message, check):
    """The right calls do not save a message that gives away where she sits, or claims what was not done."""
    assert check in failed_by(name, turns, message)


def test_a_card_is_ordered_once():
    """The tools that YAML declares add up: a second order puts its price onto the bill again and is a duplicate."""
    block = ("block_line", {"line_id": "line_43"})
    card = ("order_card", {"account_id": "acc_803", "line_id": "line_43", "kind": "plastic", "price": "4.90"})
    look = turn(("list_lines", {"account_id": "acc_803"}))
    message = "The line in Wren's phone is blocked, and the card costs £4.90."
    name = "phone-gone-on-the-night-bus"
    assert score(name, look, turn(block, card, action="block", message=message)) == ((), ())
    fails, violations = score(name, look, turn(block, card, card, action="block", message=message))
    assert "resolution" in fails
    assert violations == ("duplicate_effect",)


@pytest.fixture(scope="session")
def played(tmp_path_factory, compiled):
    """Return what the README's commands did in a folder like a fresh clone's."""

    def make(folder):
        (folder / "outcome.json").write_text(json.dumps(play(README, clone(folder), compiled)), "utf-8")

    return json.loads((once(tmp_path_factory, "examples", make) / "outcome.json").read_text("utf-8"))


@pytest.mark.parametrize("block", COMMANDS, ids=str)
def test_the_readme_runs_as_printed(block, played):
    """Each command of the README ends with the exit status that it says."""
    wanted, got, output = played[str(block)]
    assert got == wanted, output


def test_the_readme_leads_somewhere():
    """The README names every scenario of both folders, and its links name files that exist."""
    text = README.read_text("utf-8")
    files = {path.name.removesuffix(".scenario.yaml") for path in find_scenarios([EXAMPLES])}
    assert files == CASES.keys() == {name for name in CASES if f"`{name}`" in text}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert (README.parent / target).is_file(), target
