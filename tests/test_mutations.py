"""Faulty versions of a reference are made, and `supportbench check` names those that a scenario lets pass."""

from pathlib import Path
from typing import Any

import pytest
from desk import BASE, REFUND, bind, call, data, refund, write

from pytest_supportbench.check import CheckReport, check_files, find_scenarios
from pytest_supportbench.expected import FactValue
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.mutated_values import misstated
from pytest_supportbench.mutations import mutants

WRONG = {
    "name": "does nothing",
    "turns": [{"action": "answer"}],
    "fails": ["resolution", "tool_use", "escalation"],
}

VERIFY = call("verify_identity", customer_id="cus_1", method="email", code="482913")
CHANGE = call("update_contact", customer_id="cus_1", phone="+1 202 555 0142")


def verified(**changes: Any) -> dict[str, Any]:
    """Return a scenario in which a proof must be seen before contact data changes."""
    return data(
        tools=["verify_identity", "get_customer", "update_contact", "escalate_to_human"],
        expected={
            "actions": ["update_account"],
            "escalation": "must_not",
            "calls": [
                {
                    "id": "proof",
                    "tool": VERIFY["tool"],
                    "args": VERIFY["arguments"],
                    "result": {"verified": True},
                },
                {"tool": CHANGE["tool"], "args": CHANGE["arguments"], "after": ["proof"]},
            ],
            "must_state": [{"fact": "day", "value": {"date": "2026-03-14"}}],
            "because": ["contact-change"],
        },
        reference=[
            {"tool_calls": [VERIFY]},
            {"action": "update_account", "message": "Changed on 14 March.", "tool_calls": [CHANGE]},
        ],
        counterexamples=[WRONG],
        **changes,
    )


def made(bound: BoundScenario) -> list[str]:
    return [f"{mutant.kind} {mutant.at}: {mutant.what}" for mutant in mutants(bound)]


def looked_up(**changes: Any) -> dict[str, Any]:
    """Return a scenario that demands a search, with any limit."""
    search = {"id": "look", "tool": "search_knowledge", "args": {"limit": {"any": True}}}
    return data(
        tools=[*BASE["tools"], "search_knowledge"],
        expect={"calls": [search, {"tool": "issue_refund", "args": REFUND, "after": ["look"]}]},
        reference=[
            {"tool_calls": [call("search_knowledge", query="refund", limit=3)]},
            {"action": "refund", "message": "I refunded 49.00 USD.", "tool_calls": [refund()]},
        ],
        counterexamples=[WRONG],
        **changes,
    )


def checked(folder: Path, scenario: dict[str, Any]) -> CheckReport:
    write(folder, scenario)
    return check_files(find_scenarios([folder]), folder)


def test_a_refund_is_spoilt_in_every_way_that_its_arguments_allow(tmp_path: Path):
    """Each other charge, three other amounts, no call, two calls, a claim, and two kinds of hand-off."""
    bound = bind(tmp_path, expect={"must_state": [{"fact": "amount", "value": {"money": "49.00 USD"}}]})
    assert made(bound) == [
        "drop-call issue_refund: without the call of issue_refund",
        "swap-id issue_refund.charge_id: charge_id: ch_101 for ch_204",
        "swap-id issue_refund.charge_id: charge_id: ch_jp for ch_204",
        "swap-id issue_refund.charge_id: charge_id: ch_bob for ch_204",
        "change-amount issue_refund.amount: amount: 48.99 for 49.00",
        "change-amount issue_refund.amount: amount: 24.50 for 49.00",
        "change-amount issue_refund.amount: amount: 4900.00 for 49.00",
        "hand-off escalate_to_human: hands off on top",
        "hand-off escalate_to_human: hands off instead",
        "misstate message: says nothing",
        "misstate amount: states another amount",
    ]


def test_order_proofs_and_further_fields_are_spoilt_too(tmp_path: Path):
    """The change comes before its proof, in one turn with it, and with fields that nobody asked for."""
    scenario = verified()
    write(tmp_path, scenario)
    found = made(bind(tmp_path, **scenario))
    assert "swap-order update_contact: update_contact before verify_identity" in found
    assert "swap-order update_contact: update_contact in one turn with verify_identity" in found
    assert "extra-argument update_contact.email: with email as well" in found
    assert "change-choice verify_identity.method: method: sms for email" in found
    assert "claim-only message: the same messages without any write" in found
    assert "misstate day: states another day" in found
    report = checked(tmp_path / "whole", scenario)
    assert report.problems == ()
    assert [row for row in report.mutations if row.caught < row.made or row.exempt] == []


def test_a_list_is_spoilt_item_by_item(tmp_path: Path):
    """One user fewer, another one instead, and one more."""
    seats = call("remove_seats", workspace_id="ws_1", user_ids=["usr_2"])
    bound = bind(
        tmp_path,
        tools=["remove_seats", "escalate_to_human"],
        expected={
            "actions": ["update_account"],
            "escalation": "must_not",
            "calls": [{"tool": "remove_seats", "args": seats["arguments"]}],
            "because": ["duplicate-charge"],
        },
        reference=[{"action": "update_account", "tool_calls": [seats]}],
    )
    lists = [text for text in made(bound) if text.startswith("change-list")]
    assert lists == [
        "change-list remove_seats.user_ids: user_ids: without usr_2",
        "change-list remove_seats.user_ids: user_ids: usr_1 for usr_2",
        "change-list remove_seats.user_ids: user_ids: usr_1 as well",
        "change-list remove_seats.user_ids: user_ids: usr_3 for usr_2",
        "change-list remove_seats.user_ids: user_ids: usr_3 as well",
    ]


def test_a_repeat_that_the_tool_makes_again_is_a_second_effect(tmp_path: Path):
    """Half a refund can be sent twice; under its own key that would be a replay, so the key changes."""
    half = refund(amount="10.00", idempotency_key="k-1")
    reference = [{"action": "refund", "message": "Done.", "tool_calls": [half]}]
    repeats = [
        mutant for mutant in mutants(bind(tmp_path, reference=reference)) if mutant.kind == "repeat-write"
    ]
    (repeat,) = repeats
    first, second = repeat.turns[0].tool_calls
    assert first.arguments["idempotency_key"] != second.arguments["idempotency_key"]


def test_a_repeat_that_the_tool_refuses_is_none(tmp_path: Path):
    """The ledger does not pay a charge back twice, so nothing wrong would come of it."""
    assert [text for text in made(bind(tmp_path)) if text.startswith("repeat-write")] == []


def test_calls_that_a_fault_stopped_are_not_altered(tmp_path: Path):
    """A try without effect may have had any amount, unless the scenario demands the try itself."""
    fault = {"tool": "issue_refund", "on_calls": [1], "kind": "unavailable"}
    turns = [
        {"tool_calls": [refund()]},
        {"action": "refund", "message": "Done.", "tool_calls": [refund()]},
    ]
    free = made(bind(tmp_path / "a", faults=[fault], reference=turns))
    assert sum("4900.00" in text for text in free) == 1
    tries = [{"id": "one", "tool": "issue_refund", "args": REFUND, "attempt": True}]
    asked = bind(tmp_path / "b", faults=[fault], reference=turns, expect={"calls": tries})
    assert sum("4900.00" in text for text in made(asked)) == 2


def test_a_scenario_that_lets_a_faulty_version_pass_is_named(tmp_path: Path):
    """Where a number is required and left open, another one is a survivor, told with place and remedy."""
    report = checked(tmp_path, looked_up())
    assert [problem.message for problem in report.problems] == [
        "passes although it is wrong: change-amount at search_knowledge.limit (limit: 4 for 3)"
    ]
    assert report.problems[0].field == "reference"
    row = next(row for row in report.mutations if row.kind == "change-amount")
    assert (row.made - row.caught, row.exempt) == (1, 0)


@pytest.mark.parametrize("at", ["", "search_knowledge.limit"])
def test_an_exemption_with_its_reason_lets_it_pass_and_is_counted(tmp_path: Path, at: str):
    """The table says how many were exempt, so that nobody takes them for caught."""
    exempt = [{"rule": "change-amount", "at": at, "why": "Any limit will do."}]
    report = checked(tmp_path, looked_up(exempt=exempt))
    assert report.problems == ()
    row = next(row for row in report.mutations if row.kind == "change-amount")
    assert (row.made - row.caught, row.exempt) == (1, 1)


@pytest.mark.parametrize(
    ("exemption", "message", "remedy"),
    [
        ({"rule": "change-amounts"}, "unknown rule 'change-amounts'", "did you mean 'change-amount'?"),
        ({"rule": "change-amount"}, "nothing here is exempt from change-amount", "remove it"),
        (
            {"rule": "change-amount", "at": "add_note.text"},
            "nothing here is exempt from change-amount at 'add_note.text'",
            "remove it",
        ),
    ],
)
def test_an_exemption_that_exempts_nothing_is_a_problem(
    tmp_path: Path, exemption: dict[str, str], message: str, remedy: str
):
    """A misspelt or outdated exemption would hide the next finding."""
    scenario = data(counterexamples=[{**WRONG}], exempt=[{**exemption, "why": "No reason."}])
    (problem,) = checked(tmp_path, scenario).problems
    assert (problem.message, problem.remedy) == (message, remedy)


def test_what_a_broken_scenario_exempts_is_not_judged(tmp_path: Path):
    """No faulty versions are made of a reference that fails itself, so none of them needs the exemption yet."""
    exempt = [{"rule": "change-amount", "why": "Any part of it may go back."}]
    (problem,) = checked(tmp_path, data(counterexamples=[], exempt=exempt)).problems
    assert problem.message == "there is none"


@pytest.mark.parametrize(
    ("message", "value", "wrong"),
    [
        ("I refunded 49.00 USD.", {"money": "49.00 USD"}, "I refunded 19.00 USD."),
        ("I refunded $49.", {"money": "49.00 USD"}, "I refunded $19."),
        ("Son 1.234,50 EUR.", {"money": "1234.50 EUR"}, "Son 2.234,50 EUR."),
        ("¥1,500 on card 4915", {"money": "1500 JPY"}, "¥2,500 on card 4915"),
        ("It takes 5 days, at most 15.", {"number": "5"}, "It takes 1 days, at most 15."),
        ("On 14 March 2026, at 14:30.", {"date": "2026-03-14"}, "On 15 March 2026, at 14:30."),
        ("On 2026-03-28.", {"date": "2026-03-28"}, "On 2026-03-27."),
        ("Your case is tk_12.", {"id": "tk_12"}, "Your case is tk_129."),
        ("Nothing was paid.", {"text": ["nothing was paid"]}, "Nothing was paid."),
    ],
)
def test_facts_are_misstated_as_people_write_them(message: str, value: dict[str, Any], wrong: str):
    """Only the digits of the fact change."""
    assert misstated(message, FactValue.model_validate(value)) == wrong
