"""The worked examples: they run as their README says, hold what they claim, and tell right from wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
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
    assert (report.scenarios, report.counterexamples) == (5, 25)
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


@pytest.fixture(scope="module")
def played(tmp_path_factory, compiled):
    """Return what the README's commands did in a folder like a fresh clone's."""
    return play(README, clone(tmp_path_factory.mktemp("readme")), compiled)


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
