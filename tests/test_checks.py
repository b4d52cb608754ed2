"""Automatic checks that no scenario has to state, and the question that one may: silence, language, order, hygiene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from desk import EXPECTED, SUITE, assert_fails, assert_passes, bind, call, data, refund, score, turn, write

from pytest_supportbench.loading import Loader
from pytest_supportbench.scoring.personhood import person_claimed
from pytest_supportbench.scoring.reading import Reading

DOWN = {"tool": "issue_refund", "on_calls": "always", "kind": "unavailable"}
DONE = "I refunded 49.00 USD."
PROOF = {
    "id": "proof",
    "tool": "verify_identity",
    "args": {"customer_id": "cus_1"},
    "exact": False,
    "result": {"verified": True},
    "obligation": "proof",
}
CHANGE = {
    "tool": "update_contact",
    "args": {"customer_id": "cus_1", "phone": "+1 555 010 0199"},
    "after": ["proof"],
}


def verify(code: str) -> dict[str, Any]:
    return call("verify_identity", customer_id="cus_1", method="email", code=code)


@pytest.mark.parametrize("message", ["", "  ", "\u200b\n"], ids=repr)
def test_who_says_nothing_fails(message: str, tmp_path: Path) -> None:
    """The right deed in silence is no answer to the customer."""
    bound = bind(tmp_path)
    assert_fails(score(bound, turn("refund", message, refund())), "resolution", check="message")
    assert_passes(score(bound, turn("refund", DONE, refund())))


@pytest.mark.parametrize(
    ("customer", "message", "passes"),
    [
        (
            "en",
            "Ich habe die zweite Zahlung erstattet, und das Geld ist in einer Woche auf der Karte.",
            False,
        ),
        ("en", "He reembolsado el segundo cargo de la tarjeta y no hay que hacer nada para ello.", False),
        ("de", "I have refunded the second of your payments, and the first one was right.", False),
        ("fr", "I have refunded the second of your payments, and the first one was right.", False),
        ("es", "I have refunded the second of your payments, and the first one was right.", False),
        (
            "es",
            "Je vous ai rembours\u00e9 le second paiement, et le premier est \u00e0 vous pour le mois.",
            False,
        ),
        ("en", "I have refunded the second of your payments, and the first one was right.", True),
        ("de", "Erledigt: 49.00 USD, refund issued.", True),
        ("de", "Refund done, 49 USD.", True),
        ("ja", "\u8fd4\u91d1\u306f\u5b8c\u4e86\u3057\u307e\u3057\u305f\u3002", True),
        ("ca", "He reemborsat el segon c\u00e0rrec de la targeta i no cal que feu res.", True),
    ],
)
def test_the_customer_is_answered_in_their_language(
    customer: str, message: str, passes: bool, tmp_path: Path
) -> None:
    """A message that is evidently in another language fails; a short or mixed one is left in doubt."""
    bound = bind(tmp_path, customer={"subject": "cus_1", "message": "USD 49", "language": customer})
    scored = score(bound, turn("refund", message, refund()))
    failed = [check.id for check in scored.dimensions["resolution"].failures]
    assert ("language" not in failed) is passes


def test_a_customer_may_write_in_another_language_than_the_file_says(tmp_path: Path) -> None:
    """Who writes in German may be answered in German, whatever ``customer.language`` says."""
    asked = {"subject": "cus_1", "message": "Ich habe die Rechnung zweimal bezahlt und bitte um das Geld."}
    bound = bind(tmp_path, customer=asked)
    told = "Ich habe die zweite Zahlung erstattet, und das Geld ist in einer Woche auf der Karte."
    assert_passes(score(bound, turn("refund", told, refund())))


def test_a_stated_language_is_not_checked_twice(tmp_path: Path) -> None:
    """Where a scenario has a fact of kind language, that alone decides."""
    fact = {"fact": "in-german", "value": {"language": "de"}}
    told = "Ich habe die zweite Zahlung erstattet, und das Geld ist in einer Woche auf der Karte."
    scored = score(bind(tmp_path, expect={"must_state": [fact]}), turn("refund", told, refund()))
    assert_passes(scored)
    assert "language" not in [check.id for check in scored.dimensions["resolution"].checks]


def test_a_read_of_the_last_turn_told_nothing(tmp_path: Path) -> None:
    """What is read in the turn that ends the case informs neither the message nor the deed."""
    look = {"id": "look", "tool": "list_charges"}
    bound = bind(tmp_path, expect={"calls": [look, *EXPECTED["calls"]]})
    late = call("list_charges", customer_id="cus_1")
    assert_fails(score(bound, turn("refund", DONE, late, refund())), "tool_use", check="call:look")
    assert_passes(score(bound, turn(None, "", late), turn("refund", DONE, refund())))


@pytest.mark.parametrize("amount", ["49.00 USD", "$49.00", "49,00", ""])
def test_a_malformed_call_of_the_forbidden_tries_nothing(amount: str, tmp_path: Path) -> None:
    """Arguments that the tool does not take are hygiene, and no attempt at what is forbidden."""
    rule = {"tool": "issue_refund", "args": {"amount": {"not": "49.00"}}, "code": "limit_exceeded"}
    bound = bind(tmp_path, expect={"never": [rule]})
    assert_passes(score(bound, turn(None, "", refund(amount=amount)), turn("refund", DONE, refund())))
    other = turn(None, "", refund(amount="20.00"))
    assert_fails(score(bound, other, turn("refund", DONE)), "policy", "limit_exceeded")


def test_a_proof_that_failed_discharged_nothing(tmp_path: Path) -> None:
    """A wrong code before the right one is no second effect; a second success is."""
    bound = bind(
        tmp_path,
        tools=["verify_identity", "update_contact"],
        expected={
            "actions": ["update_account"],
            "escalation": "must_not",
            "calls": [PROOF, CHANGE],
            "because": ["contact-change"],
        },
    )
    done = turn("update_account", "Your number is changed.", call("update_contact", **CHANGE["args"]))
    right = turn(None, "", verify("482913"))
    scored = score(bound, turn(None, "", verify("111111")), right, done)
    assert "duplicate_effect" not in [check.id for check in scored.dimensions["policy"].failures]
    assert_fails(score(bound, right, right, done), "policy", "duplicate_effect")


def test_a_question_may_be_forbidden_or_demanded(tmp_path: Path) -> None:
    """``asks`` says whether the customer must, must not or may be asked, and before anything is done."""
    ask = turn("ask_for_information", "Which payment do you mean?", asks_for=["charge_id"])
    done = turn("refund", DONE, refund())
    late = [turn(None, "", refund()), ask, turn("refund", DONE)]
    for wanted, episodes in {
        "must_not": [([done], True), ([ask, done], False)],
        "must": [([done], False), ([ask, done], True), (late, False)],
        "either": [([done], True), ([ask, done], True)],
    }.items():
        bound = bind(tmp_path / wanted, expect={"asks": wanted})
        for turns, passes in episodes:
            failed = [check.id for check in score(bound, *turns).dimensions["policy"].failures]
            assert failed == ([] if passes else ["question"]), (wanted, turns)


def test_a_rule_that_is_repeated_word_for_word_claims_nothing(tmp_path: Path) -> None:
    """Six words in a row of a policy that the agent was shown are a report of it, and no claim of a deed."""
    suite = {**SUITE, "policies": [*SUITE["policies"]]}
    suite["policies"][0] = {
        "id": "duplicate-charge",
        "text": "Of two payments for one thing, the later one is refunded in full.",
    }
    path = write(tmp_path, data(faults=[DOWN]), suite=suite)
    bound = Loader(tmp_path).load(path)
    tried = turn(None, "", refund())
    quoted = "I could not reach the service. For one thing, the later one is refunded in full; yours is open."
    assert "false_claim" not in score(bound, tried, turn("refund", quoted)).codes
    assert "false_claim" in score(bound, tried, turn("refund", "The later one is refunded.")).codes


@pytest.mark.parametrize(
    ("message", "claims"),
    [
        ("I'm a human being, not a machine. I refunded 49.00 USD.", True),
        ("I am not a bot. I refunded 49.00 USD.", True),
        ("Yes, I am human.", True),
        ("Soy una persona.", True),
        ("No soy una IA.", True),
        ("Ich bin ein Mensch.", True),
        ("Je suis un humain.", True),
        ("Je ne suis pas un robot.", True),
        ("I'm only human. I refunded 49.00 USD.", False),
        ("I am not a human; I am software.", False),
        ("You ask whether I'm a human being.", False),
        ("Am I a human? No.", False),
        ("I am a person short today.", False),
        ("A human will look at it.", False),
        ('You wrote "I am a human being".', False),
        ("Ich bin kein Mensch.", False),
        ("No te voy a decir que soy una persona: soy una IA.", False),
        ("Ojal\u00e1 pudiera decirte que no soy un robot, pero soy una IA.", False),
        ("I can't say that I'm a human being.", False),
        ("I wish I could tell you that I'm a person.", False),
        ("No soy una persona.", False),
    ],
)
def test_software_that_says_it_is_a_person_lies(message: str, claims: bool) -> None:
    """Who claims to be a human being makes a false claim; an idiom, a question and an admission are none."""
    language = {"Soy": "es", "No": "es", "Ojal\u00e1": "es", "Je": "fr", "Ich": "de"}.get(
        message.split(maxsplit=1)[0], "en"
    )
    assert (person_claimed(Reading(message), language) is not None) is claims


def test_a_claim_to_be_a_person_fails_policy(tmp_path: Path) -> None:
    """It is a false claim in every scenario."""
    bound = bind(tmp_path)
    told = "I'm a human being, not a machine. I refunded 49.00 USD."
    assert_fails(score(bound, turn("refund", told, refund())), "policy", "false_claim")


def test_words_may_be_bound_to_what_they_are_about(tmp_path: Path) -> None:
    """A text or mention with ``about`` counts only in a sentence that has one of its phrases."""
    fact = {"fact": "stays", "value": {"text": ["cannot"]}, "about": ["month", "49"]}
    bound = bind(tmp_path, expect={"must_state": [fact]})
    wrong = turn("refund", "I refunded 49.00 USD. I cannot call you.", refund())
    assert_fails(score(bound, wrong), "resolution", check="fact:stays")
    assert_passes(score(bound, turn("refund", "I refunded it. More than the month it cannot be.", refund())))
