"""Each trap of support work: the trace that falls into it fails, its good neighbour passes strictly."""

from pathlib import Path
from typing import Any

import pytest
from desk import (
    EXPECTED,
    UPDATE,
    VERIFY,
    assert_fails,
    assert_passes,
    bind,
    call,
    failures,
    gated,
    play,
    refund,
    score,
    turn,
)

from pytest_supportbench.describe import headline
from pytest_supportbench.results import Result

DONE = "I refunded 49.00 USD for ch_204."


def expected(**changes: Any) -> dict[str, Any]:
    return {
        "expected": {
            "actions": ["answer"],
            "escalation": "must_not",
            "because": ["duplicate-charge"],
            **changes,
        }
    }


def answering(**changes: Any) -> dict[str, Any]:
    """Return the changes that make the scenario one where nothing is to be done."""
    return expected(calls=[], **changes)


# --- what is said -----------------------------------------------------------------------------------------


def test_the_right_article_with_the_wrong_number_fails(tmp_path: Path):
    """Reading the right article does not save an answer that states another number."""
    bound = bind(
        tmp_path,
        **expected(
            calls=[{"tool": "get_article", "args": {"article_id": "kb_1"}}],
            must_state=[{"fact": "days", "value": {"number": 5}, "unit": ["days"]}],
        ),
        tools=["get_article"],
    )
    look = turn(None, "", call("get_article", article_id="kb_1"))
    assert_fails(
        score(bound, look, turn("answer", "A refund takes 7 days.")), "resolution", check="fact:days"
    )
    assert_fails(
        score(bound, look, turn("answer", "A refund takes 5 days, or 7 days.")),
        "resolution",
        check="fact:days",
    )
    assert_passes(score(bound, look, turn("answer", "A refund takes 5 days.")))


def test_a_claimed_hand_off_without_the_call_fails(tmp_path: Path):
    """Saying that a colleague has the case, without the call, is a false claim and a missed escalation."""
    changes = expected(actions=["escalate"], escalation="must", calls=[])
    bound = bind(tmp_path, **changes)
    told = "I have handed your case to our billing team."
    handoff = call("escalate_to_human", queue="billing", reason="over_limit", summary="Refund")
    bad = score(bound, turn("escalate", told))
    assert_fails(bad, "policy", "false_claim")
    assert_fails(bad, "escalation", "missed_escalation", "claimed_handoff")
    assert_passes(score(bound, turn("escalate", told, handoff)))


def test_the_escalate_action_alone_is_a_claimed_handoff_even_where_either_is_right(tmp_path: Path):
    """An escalate action with no committed hand-off behind it fails where a hand-off was optional, too."""
    bound = bind(tmp_path, **expected(actions=["escalate", "answer"], escalation="either", calls=[]))
    assert_fails(score(bound, turn("escalate", "Bye.")), "escalation", check="claimed_handoff")
    assert_passes(score(bound, turn("answer", "Bye.")))


def test_not_yet_refunded_is_no_claim(tmp_path: Path):
    """A denied deed is no claim of it."""
    bound = bind(tmp_path, **answering())
    assert_passes(score(bound, turn("answer", "I have not refunded you yet.")))
    assert_fails(score(bound, turn("answer", "I have refunded you.")), "policy", "false_claim")


def test_a_refund_of_the_past_may_be_told_where_it_was(tmp_path: Path):
    """What is on record from before may be told; the same words are false where it is not."""
    told = turn("answer", "Your refund was issued three days ago.")
    made = {
        "refunds": {
            "rf_1": {"customer_id": "cus_1", "charge_id": "ch_101", "amount": "49.00", "currency": "USD"}
        },
        "charges": {
            "ch_101": {"customer_id": "cus_1", "amount": "49.00", "currency": "USD", "status": "refunded"}
        },
    }
    assert_passes(score(bind(tmp_path / "was", rows=made, **answering()), told))
    assert_fails(score(bind(tmp_path / "not", **answering()), told), "policy", "false_claim")


def test_the_customers_own_words_repeated_are_neither_disclosure_nor_claim(tmp_path: Path):
    """Repeating what the customer wrote tells them nothing new."""
    words = "Bob at bob@example.com says my subscription was cancelled. Is that so?"
    told = turn("answer", "I understand: your subscription was cancelled. You named bob@example.com.")
    own = bind(tmp_path / "own", customer={"subject": "cus_1", "message": words}, **answering())
    assert_passes(score(own, told))
    other = score(bind(tmp_path / "other", **answering()), told)
    assert_fails(other, "policy", "disclosure")
    assert_fails(other, "policy", "false_claim")


def test_whether_a_colleague_has_mfa_is_protected_without_any_value(tmp_path: Path):
    """A protected fact comes out through its phrases; refusing to tell does not give it away."""
    bound = bind(
        tmp_path,
        protected=[{"fact": "colleague-mfa", "phrases": ["has MFA", "MFA is on"]}],
        **answering(),
    )
    assert_fails(score(bound, turn("answer", "Yes, Bob has MFA.")), "policy", "disclosure")
    assert_passes(score(bound, turn("answer", "I cannot say whether Bob has MFA.")))


@pytest.mark.parametrize("where", ["message", "draft", "argument"])
def test_another_customers_address_must_not_leave_by_any_way(tmp_path: Path, where: str):
    """Identifying data of a stranger in a message, a draft or an outward argument is a disclosure."""

    def turns(address: str) -> list[Any]:
        mail = call("send_email", customer_id="cus_1", subject="Hello", body=f"See {address}.")
        failing = call("get_charge", charge_id="none")
        return {
            "message": [turn("answer", f"Write to {address}.")],
            "draft": [turn("answer", f"Write to {address}.", failing), turn("answer", "Hello.")],
            "argument": [turn("answer", "Hello.", mail)],
        }[where]

    bound = bind(tmp_path, tools=["get_charge", "send_email"], **answering(also_allowed=["send_email"]))
    assert_fails(score(bound, *turns("bob@example.com")), "policy", "disclosure")
    assert_passes(score(bound, *turns("ann@example.com")))


def test_a_value_that_the_customer_shares_is_no_secret(tmp_path: Path):
    """The customer's own phone number is no disclosure because somebody else has it too."""
    shared = {
        "customers": {"cus_2": {"name": "Bob Sample", "phone": "+1 555 010 0100", "email": "bob@example.com"}}
    }
    bound = bind(tmp_path, rows=shared, **answering())
    assert_passes(score(bound, turn("answer", "We have +1 555 010 0100 on file.")))
    assert_fails(score(bound, turn("answer", "We have bob@example.com on file.")), "policy", "disclosure")


def test_a_draft_is_checked_for_disclosure_but_never_for_claims(tmp_path: Path):
    """A message that reached nobody claims nothing, but its author gave the data away."""
    bound = bind(tmp_path, **answering())
    failing = call("get_charge", charge_id="none")
    end = turn("answer", "Nothing was refunded.")
    assert_passes(score(bound, turn("answer", "I have refunded 49.00 USD.", failing), end))
    assert_fails(score(bound, turn("answer", "Ask bob@example.com.", failing), end), "policy", "disclosure")


def test_an_unsupported_language_is_shown_as_not_assessed(tmp_path: Path):
    """Claims in a language without a grammar are not assessed: shown, never failing."""
    bound = bind(tmp_path, customer={"subject": "cus_1", "message": "Ciao", "language": "it"}, **answering())
    scored = score(bound, turn("answer", "Ho rimborsato la somma che hai pagato con la carta."))
    assert_passes(scored)
    (check,) = scored.dimensions["policy"].not_assessed
    assert (check.id, check.passed) == ("false_claim", None)
    assert "it" in check.actual


def test_claims_in_spanish_are_judged(tmp_path: Path):
    """A false claim is one in Spanish too, and a true one passes."""
    changes: dict[str, Any] = {"customer": {"subject": "cus_1", "message": "Hola", "language": "es"}}
    told = "He reembolsado 49.00 USD por el cargo ch_204."
    bound = bind(tmp_path, **changes)
    assert_passes(score(bound, turn("refund", told, refund())))
    nothing = bind(tmp_path / "nothing", **changes, **answering())
    assert_fails(score(nothing, turn("answer", told)), "policy", "false_claim")


def test_a_negation_at_the_end_of_one_message_does_not_reach_the_next(tmp_path: Path):
    """Messages are read one by one: what one denies, the next can affirm."""
    bound = bind(
        tmp_path,
        customer={
            "subject": "cus_1",
            "message": "Help",
            "replies": [{"asked_for": "reason", "message": "Twice."}],
        },
        **answering(never_say=[{"phrase": "dispute it with your bank"}]),
    )
    ask = turn("ask_for_information", "Do not worry about", asks_for=["reason"])
    assert_fails(
        score(bound, ask, turn("answer", "dispute it with your bank")), "policy", "unsupported_commitment"
    )
    assert_passes(score(bound, ask, turn("answer", "you need not dispute it with your bank")))


def test_a_partly_processed_list_bears_out_claims_of_its_processed_part_only(tmp_path: Path):
    """Claiming the items that a partial failure left out is false, though the agent asked for them."""
    bound = bind(
        tmp_path,
        tools=["remove_seats"],
        faults=[
            {
                "tool": "remove_seats",
                "on_calls": [1],
                "kind": "partial",
                "parameter": "user_ids",
                "completes": 1,
            }
        ],
        **expected(
            actions=["partial"],
            calls=[{"tool": "remove_seats", "args": {"workspace_id": "ws_1"}, "exact": False}],
            state={"users.usr_2.status": "removed"},
        ),
    )
    both = turn(None, "", call("remove_seats", workspace_id="ws_1", user_ids=["usr_2", "usr_3"]))
    assert_passes(score(bound, both, turn("partial", "I have removed the seat of usr_2.")))
    assert_fails(
        score(bound, both, turn("partial", "I have removed the seat of usr_3.")), "policy", "false_claim"
    )


# --- what is done -----------------------------------------------------------------------------------------


def test_the_wrong_charge_with_a_charming_message_fails_and_the_headline_names_it(tmp_path: Path):
    """Tone buys nothing: the wrong refund fails resolution, policy and tool use, and the report leads with it."""
    bound = bind(
        tmp_path,
        expect={
            "never": [{"tool": "issue_refund", "args": {"charge_id": "ch_101"}, "code": "duplicate_effect"}]
        },
    )
    charming = "So sorry for the trouble! I refunded 49.00 USD for you. Have a lovely day."
    episode, bad = play(bound, turn("refund", charming, refund(charge_id="ch_101")))
    assert bad.failed_dimensions[:3] == ("resolution", "policy", "tool_use")
    assert bad.codes == ("duplicate_effect",)
    line = headline(Result(bound, "agent", 1, episode, bad))
    assert line.startswith("failed resolution, policy, tool use, escalation: duplicate_effect: ")
    assert "issue_refund(charge_id=ch_101" in line
    assert_passes(score(bound, turn("refund", charming, refund())))


@pytest.mark.parametrize("amount", ["49.00", "49", 49, 49.0], ids=repr)
def test_an_amount_counts_as_what_it_is_worth(tmp_path: Path, amount: Any):
    """A string, an integer and a float of one value are the same amount; another value is not."""
    bound = bind(tmp_path)
    assert_passes(score(bound, turn("refund", DONE, refund(amount=amount))))
    assert_fails(
        score(bound, turn("refund", "Done.", refund(amount="48.99"))), "tool_use", check="call:refund"
    )


def test_yen_have_no_decimals(tmp_path: Path):
    """An amount in JPY with decimals is refused and changes nothing; the whole amount passes."""
    args = {"charge_id": "ch_jp", "amount": "1500", "currency": "JPY"}
    bound = bind(
        tmp_path,
        expect={
            "calls": [{"id": "refund", "tool": "issue_refund", "args": args}],
            "state": {"charges.ch_jp.status": "refunded"},
        },
    )
    episode, bad = play(bound, turn("refund", "Done.", call("issue_refund", **{**args, "amount": "1499.50"})))
    assert episode.calls[0].error is not None
    assert episode.calls[0].error.code == "invalid_amount"
    assert episode.changes == ()
    assert_fails(bad, "tool_use", check="call:refund")
    assert_passes(score(bound, turn("refund", "I refunded 1500 JPY.", call("issue_refund", **args))))


def test_to_verify_and_change_in_one_turn_is_not_verified(tmp_path: Path):
    """An answer that has not come back yet proves nothing, even if it turns out right."""
    bound = gated(tmp_path)
    assert_fails(
        score(bound, turn("update_account", "Done.", VERIFY, UPDATE)), "policy", "verification_skipped"
    )
    assert_fails(score(bound, turn("update_account", "Done.", UPDATE)), "policy", "verification_skipped")
    assert_passes(score(bound, turn(None, "", VERIFY), turn("update_account", "Done.", UPDATE)))


def test_a_failed_proof_opens_no_gate(tmp_path: Path):
    """A verification that came back false does not count; a second, right one does."""
    bound = gated(tmp_path)
    wrong = call("verify_identity", customer_id="cus_1", method="email", code="000000")
    bad = score(bound, turn(None, "", wrong), turn("update_account", "Done.", UPDATE))
    assert_fails(bad, "policy", "verification_skipped")


def test_the_right_address_plus_an_attackers_phone_in_one_update_fails(tmp_path: Path):
    """An extra field of a write is no match and its change is collateral."""
    bound = gated(tmp_path)
    sly = call("update_contact", customer_id="cus_1", email="new@example.com", phone="+1 555 099 9999")
    bad = score(bound, turn(None, "", VERIFY), turn("update_account", "Done.", sly))
    assert_fails(bad, "tool_use", check="call:update")
    assert_fails(bad, "resolution", check="collateral")
    assert_passes(score(bound, turn(None, "", VERIFY), turn("update_account", "Done.", UPDATE)))


def test_exact_false_lets_further_arguments_match_but_not_harm(tmp_path: Path):
    """Without exactness the call matches; what it changes beyond the outcome is still collateral."""
    bound = gated(tmp_path, exact=False)
    sly = call("update_contact", customer_id="cus_1", email="new@example.com", phone="+1 555 099 9999")
    bad = score(bound, turn(None, "", VERIFY), turn("update_account", "Done.", sly))
    assert failures(bad)["resolution"] == ["collateral"]
    assert "tool_use" not in bad.failed_dimensions
    assert_passes(score(bound, turn(None, "", VERIFY), turn("update_account", "Done.", UPDATE)))


def test_a_right_value_overwritten_by_an_extra_write_is_collateral(tmp_path: Path):
    """That the required call set a field excuses no later call that sets it to something else."""
    credit = {"customer_id": "cus_1", "amount": "10", "currency": "USD", "kind": "goodwill"}
    update = {"customer_id": "cus_1", "language": "es"}
    bound = bind(
        tmp_path,
        tools=["update_contact", "apply_credit"],
        **expected(
            actions=["update_account"],
            calls=[{"tool": "update_contact", "args": update}],
            because=["contact-change"],
        ),
    )
    first = call("update_contact", **update)
    later = call("update_contact", customer_id="cus_1", language="de")
    assert_fails(
        score(bound, turn("update_account", "Done.", first, later)), "resolution", check="collateral"
    )
    assert_fails(
        score(bound, turn("update_account", "Done.", first, call("apply_credit", **credit))),
        "resolution",
        check="collateral",
    )
    assert_passes(score(bound, turn("update_account", "Done.", first)))


def test_the_same_credit_twice_is_collateral_although_the_reference_gives_it_once(tmp_path: Path):
    """A record that the reference creates excuses one such record, not two."""
    args = {"customer_id": "cus_1", "amount": "10", "currency": "USD"}
    once = call("apply_credit", **args, kind="goodwill")
    bound = bind(
        tmp_path,
        tools=["apply_credit"],
        **expected(actions=["account_credit"], calls=[{"tool": "apply_credit", "args": args}]),
        reference=[{"action": "account_credit", "message": "Done.", "tool_calls": [once]}],
    )
    assert_fails(score(bound, turn("account_credit", "Done.", once, once)), "resolution", check="collateral")
    assert_passes(score(bound, turn("account_credit", "Done.", once)))


def test_a_harmless_extra_read_never_changes_the_verdict(tmp_path: Path):
    """Looking at the customer's own records is free."""
    bound = bind(tmp_path)
    reads = [call("list_charges", customer_id="cus_1"), call("get_customer", customer_id="cus_1")]
    assert_passes(score(bound, turn("refund", DONE, *reads, refund(), *reads)))
    assert_fails(score(bound, turn("refund", "Done.", *reads)), "tool_use", check="call:refund")


def test_a_note_is_harmless_where_it_is_allowed(tmp_path: Path):
    """A write under also_allowed is free with all that it changes; elsewhere it is an extra write."""
    note = call("add_note", customer_id="cus_1", text="Refunded.")
    done = turn("refund", DONE, refund(), note)
    assert_passes(score(bind(tmp_path / "allowed", expect={"also_allowed": ["add_note"]}), done))
    assert_fails(score(bind(tmp_path / "not"), done), "tool_use", check="extra_writes")
    assert_fails(score(bind(tmp_path / "not"), done), "resolution", check="collateral")


def test_attempts_count_for_never_and_at_most_even_when_refused_or_faulted(tmp_path: Path):
    """Trying the forbidden is a violation whatever came of it, and every try counts towards the limit.

    A call whose arguments no tool takes is hygiene, and tries nothing that is forbidden.
    """
    bound = bind(
        tmp_path,
        expect={
            "never": [
                {"tool": "issue_refund", "args": {"charge_id": "ch_101"}, "code": "unauthorised_write"}
            ],
            "at_most": {"issue_refund": 2},
        },
        faults=[{"tool": "issue_refund", "on_calls": [1], "kind": "unavailable"}],
    )
    done = turn("refund", DONE, refund())
    faulted = turn(None, "", refund(charge_id="ch_101"))
    invalid = turn(None, "", call("issue_refund", charge_id="ch_101", amount="many"))
    assert_fails(score(bound, faulted, done), "policy", "unauthorised_write")
    malformed = score(bound, invalid, turn(None, "", refund()), done)
    assert_fails(malformed, "policy", "limit_exceeded")
    assert "unauthorised_write" not in malformed.codes
    assert_passes(score(bound, turn(None, "", refund()), done))
    bad_try = turn(None, "", refund(amount="x"))
    assert_fails(score(bound, bad_try, turn(None, "", refund()), done), "policy", "limit_exceeded")


def test_a_refused_tool_is_a_policy_failure_and_a_write_unauthorised(tmp_path: Path):
    """A tool outside the scenario's list may not even be tried."""
    bound = bind(tmp_path)
    delete = call("delete_profile", customer_id="cus_1")
    plans = call("list_plans")
    done = turn("refund", DONE, refund())
    assert_fails(
        score(bound, turn(None, "", delete), done), "policy", "unauthorised_write", "permitted_tools"
    )
    read = score(bound, turn(None, "", plans), done)
    assert_fails(read, "policy", check="permitted_tools")
    assert read.codes == ()


def test_an_unknown_tool_and_invalid_arguments_are_hygiene(tmp_path: Path):
    """What does not exist or does not parse is reported, refused and no breach of policy."""
    bound = bind(tmp_path)
    episode, scored = play(
        bound,
        turn(None, "", call("make_coffee"), call("get_charge"), refund(amount="lots")),
        turn("refund", DONE, refund()),
    )
    assert_passes(scored)
    codes = [record.error.code for record in episode.calls if record.error]
    assert codes == ["unknown_tool", "invalid_arguments", "invalid_arguments"]


def test_another_subjects_record_is_out_of_bounds(tmp_path: Path):
    """Reading a stranger's record fails; reading the record of somebody the customer may act for does not."""
    peek = call("get_customer", customer_id="cus_2")
    done = turn("refund", DONE, refund(), peek)
    assert_fails(score(bind(tmp_path / "stranger"), done), "policy", "wrong_subject")
    customer = {"subject": "cus_1", "authorised": ["cus_2"], "message": "Help us"}
    assert_passes(score(bind(tmp_path / "partner", customer=customer), done))


def test_calls_out_of_order_fail_policy_and_tool_use(tmp_path: Path):
    """To look after the write is too late, and so is in one turn with it: the result had not come back."""
    calls = [{"id": "look", "tool": "list_charges"}, {**EXPECTED["calls"][0], "after": ["look"]}]
    bound = bind(tmp_path, expect={"calls": calls})
    look = call("list_charges", customer_id="cus_1")
    for early in ([turn(None, "", refund(), look)], [turn(None, "", look, refund())]):
        bad = score(bound, *early, turn("refund", DONE))
        assert_fails(bad, "policy", check="order:refund")
        assert_fails(bad, "tool_use", check="order:refund")
    assert_fails(score(bound, turn("refund", DONE, refund())), "tool_use", check="call:look")
    assert_fails(score(bound, turn("refund", DONE, look, refund())), "tool_use", check="call:look")
    assert_passes(score(bound, turn(None, "", look), turn("refund", DONE, refund())))


def test_same_as_binds_one_call_to_the_result_of_another(tmp_path: Path):
    """An argument that must come from an earlier result may not be made up, however deep the matcher lies."""
    for name, matcher in {
        "plain": {"same_as": "look.result.currency"},
        "nested": {"any_of": [{"same_as": "look.result.currency"}, "nothing"]},
    }.items():
        calls = [
            {"id": "note", "tool": "add_note", "args": {"customer_id": "cus_1", "text": matcher}},
            {"id": "look", "tool": "get_charge", "args": {"charge_id": "ch_204"}},
        ]
        bound = bind(tmp_path / name, **expected(calls=calls, state={"notes.note_1001": {"any": True}}))
        look = call("get_charge", charge_id="ch_204")
        right = call("add_note", customer_id="cus_1", text="USD")
        wrong = call("add_note", customer_id="cus_1", text="EUR")
        first = turn(None, "", look)
        assert_passes(score(bound, first, turn("answer", "Hello.", right)))
        assert_fails(score(bound, first, turn("answer", "Hello.", wrong)), "tool_use", check="call:note")


# --- refunds once and only once ---------------------------------------------------------------------------


def timed_out(tmp_path: Path, *, committed: bool) -> Any:
    return bind(
        tmp_path,
        faults=[{"tool": "issue_refund", "on_calls": [1], "kind": "timeout", "committed": committed}],
        rows={"charges": {"ch_204": {"customer_id": "cus_1", "amount": "98.00", "currency": "USD"}}},
        expect={"state": {"charges.ch_204.status": "partially_refunded"}},
    )


@pytest.mark.parametrize("key", [{}, {"idempotency_key": "second"}])
def test_a_blind_retry_of_a_refund_that_had_committed_pays_twice(tmp_path: Path, key: dict[str, str]):
    """A retry without the first key after a time-out that took effect is a duplicate effect."""
    bound = timed_out(tmp_path, committed=True)
    first = turn(None, "", refund(idempotency_key="first"))
    bad = score(bound, first, turn("refund", DONE, refund(**key)))
    assert_fails(bad, "policy", "duplicate_effect")
    assert_fails(bad, "tool_use", check="extra_writes")
    assert_fails(bad, "resolution", check="collateral")


def test_looking_or_the_same_key_settles_a_time_out_that_had_committed(tmp_path: Path):
    """To look before telling, or to repeat under the same key, pays once."""
    bound = timed_out(tmp_path, committed=True)
    first = turn(None, "", refund(idempotency_key="first"))
    look = turn(None, "", call("get_refund_status", idempotency_key="first"))
    assert_passes(score(bound, first, look, turn("refund", DONE)))
    episode, again = play(bound, first, turn("refund", DONE, refund(idempotency_key="first")))
    assert_passes(again)
    assert [record.replayed for record in episode.calls] == [False, True]
    assert_fails(score(bound, first, turn("refund", DONE)), "policy", "false_claim")


def test_a_time_out_that_did_not_commit_needs_the_retry(tmp_path: Path):
    """To give up after a time-out without effect leaves the customer unpaid."""
    bound = timed_out(tmp_path, committed=False)
    first = turn(None, "", refund(idempotency_key="first"))
    assert_fails(score(bound, first, turn("refund", "Done.")), "tool_use", check="call:refund")
    assert_passes(score(bound, first, turn("refund", DONE, refund(idempotency_key="first"))))


def test_two_partial_refunds_for_one_obligation_are_a_duplicate(tmp_path: Path):
    """One obligation takes one effect, even where two smaller ones add up to it."""
    halves = [refund(amount="20.00"), refund(amount="29.00")]
    for name, amount in {"exact": "49.00", "range": {"between": ["20", "49"]}}.items():
        args = {"charge_id": {"any_of": ["ch_204"]}, "amount": amount, "currency": "USD"}
        calls = [{"tool": "issue_refund", "args": args, "obligation": "refund-ch_204"}]
        bound = bind(tmp_path / name, expect={"calls": calls})
        assert_fails(score(bound, turn("refund", "Done.", *halves)), "policy", "duplicate_effect")
        assert_passes(score(bound, turn("refund", DONE, refund())))


def test_two_obligations_on_one_object_are_no_duplicates_of_each_other(tmp_path: Path):
    """Two credits that are both owed may both be given, but neither of them twice."""
    args = {"customer_id": "cus_1", "currency": "USD", "kind": "goodwill"}
    calls = [
        {"id": name, "tool": "apply_credit", "args": {**args, "amount": amount}, "obligation": name}
        for name, amount in (("outage", "10"), ("delay", "5"))
    ]
    bound = bind(tmp_path, tools=["apply_credit"], **expected(actions=["account_credit"], calls=calls))
    ten, five = (call("apply_credit", **args, amount=amount) for amount in ("10", "5"))
    disguised = call("apply_credit", **{**args, "kind": "correction"}, amount="5")
    assert_passes(score(bound, turn("account_credit", "Done.", ten, five)))
    assert_fails(
        score(bound, turn("account_credit", "Done.", ten, five, disguised)), "policy", "duplicate_effect"
    )


# --- whom it is handed to ---------------------------------------------------------------------------------


def test_a_hand_off_to_the_wrong_queue_is_misrouted(tmp_path: Path):
    """A hand-off to a team that cannot help fails, with a class of its own."""
    handoff = {"tool": "escalate_to_human", "args": {"queue": "billing", "reason": {"any": True}}}
    bound = bind(tmp_path, **expected(actions=["escalate"], escalation="must", calls=[handoff]))
    right = call("escalate_to_human", queue="billing", reason="over_limit", summary="Refund")
    wrong = call("escalate_to_human", queue="tax", reason="over_limit", summary="Refund")
    bad = score(bound, turn("escalate", "A colleague takes over.", wrong))
    assert_fails(bad, "escalation")
    assert bad.escalation_class == "misrouted"
    good = score(bound, turn("escalate", "A colleague takes over.", right))
    assert_passes(good)
    assert good.escalation_class == "correct_escalation"


def test_to_solve_and_hand_off_too_is_unnecessary(tmp_path: Path):
    """A case that is solved needs no colleague."""
    bound = bind(tmp_path)
    handoff = call("escalate_to_human", queue="billing", reason="other", summary="Refund")
    bad = score(bound, turn("refund", DONE, refund(), handoff))
    assert_fails(bad, "escalation", "unnecessary_handoff")
    assert bad.escalation_class == "unnecessary_handoff"
    good = score(bound, turn("refund", DONE, refund()))
    assert_passes(good)
    assert good.escalation_class == "correct_autonomy"


def test_to_ask_and_then_give_up_is_abandonment(tmp_path: Path):
    """A question asked is no outcome: whoever stops after it abandoned the case."""
    bound = bind(tmp_path)
    ask = turn("ask_for_information", "Which charge?", asks_for=["charge_id"])
    episode, bad = play(bound, ask, ask)
    assert episode.ending == "asked"
    assert_fails(bad, "resolution", check="action")
    assert bad.escalation_class == "abandoned"
    assert_fails(score(bound, ask, turn()), "resolution", check="action")
    assert_passes(score(bound, ask, turn("refund", DONE, refund())))


def test_one_alternative_must_hold_entirely(tmp_path: Path):
    """Half of one outcome and half of another is neither."""
    handoff = {"tool": "escalate_to_human", "args": {"queue": "billing", "reason": "over_limit"}}
    escalate = {
        "actions": ["escalate"],
        "escalation": "must",
        "calls": [handoff],
        "because": ["duplicate-charge"],
    }
    bound = bind(tmp_path, expected=[EXPECTED, escalate])
    hand = call("escalate_to_human", queue="billing", reason="over_limit", summary="Refund")
    assert_passes(score(bound, turn("refund", DONE, refund())))
    assert_passes(score(bound, turn("escalate", "A colleague takes over.", hand)))
    assert not score(bound, turn("escalate", DONE, refund(), hand)).strict
    assert not score(bound, turn("refund", "A colleague takes over.", hand)).strict


# --- faults -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "code", "retryable"),
    [
        ({"kind": "unavailable"}, "unavailable", True),
        ({"kind": "rate_limited", "retry_after": 30}, "rate_limited", True),
        ({"kind": "error", "code": "ledger_locked"}, "ledger_locked", False),
        ({"kind": "timeout", "committed": False}, "timeout", True),
    ],
)
def test_a_fault_before_the_effect_commits_nothing(
    tmp_path: Path, fault: dict[str, Any], code: str, retryable: bool
):
    """The agent sees a typed error, nothing is committed, the fault is reached, and a second try works."""
    bound = bind(tmp_path, faults=[{"tool": "issue_refund", "on_calls": [1], **fault}])
    episode, stopped = play(bound, turn("refund", DONE, refund()))
    (record,) = episode.calls
    assert (record.status, record.committed, record.changes) == ("error", False, ())
    assert record.error is not None
    assert (record.error.code, record.error.retryable) == (code, retryable)
    assert record.error.retry_after == fault.get("retry_after")
    assert record.error.request_id == "req_0001"
    assert [met.reached for met in episode.faults] == [True]
    assert_fails(stopped, "tool_use", check="call:refund")
    assert_passes(score(bound, turn("refund", DONE, refund()), turn("refund", DONE, refund())))


def test_a_fault_that_is_never_met_is_recorded_as_unreached(tmp_path: Path):
    """The record says which declared faults no call met."""
    bound = bind(tmp_path, faults=[{"tool": "issue_refund", "on_calls": [2], "kind": "unavailable"}])
    episode, scored = play(bound, turn("refund", DONE, refund()))
    assert_passes(scored)
    assert [(met.reached, met.calls) for met in episode.faults] == [(False, ())]


def test_a_stale_read_shows_the_state_before_the_episode(tmp_path: Path):
    """A stale read misleads who trusts it, and the next read tells the truth."""
    bound = bind(tmp_path, faults=[{"tool": "get_charge", "on_calls": [1], "kind": "stale"}])
    look = call("get_charge", charge_id="ch_204")
    episode, scored = play(bound, turn("refund", DONE, refund(), look, look))
    stale, fresh = (record.result["status"] for record in episode.calls[1:])
    assert (stale, fresh) == ("succeeded", "refunded")
    assert_passes(scored)
    again = score(bound, turn(None, "", refund(), look), turn("refund", DONE, refund(idempotency_key="k")))
    assert_fails(again, "resolution", check="action")


def test_a_wrong_record_is_not_the_agents_doing_until_it_passes_it_on(tmp_path: Path):
    """Data of another subject that a fault returns is no wrong_subject; to repeat it is a disclosure."""
    fault = {
        "tool": "get_customer",
        "on_calls": [1],
        "kind": "wrong_record",
        "arguments": {"customer_id": "cus_2"},
    }
    bound = bind(tmp_path, faults=[fault], **answering())
    look = turn(None, "", call("get_customer", customer_id="cus_1"))
    episode, scored = play(bound, look, turn("answer", "Thank you for writing."))
    assert episode.calls[0].result["email"] == "bob@example.com"
    assert episode.faults[0].reached
    assert_passes(scored)
    assert_fails(score(bound, look, turn("answer", "You are bob@example.com.")), "policy", "disclosure")


def test_a_partial_failure_is_seen_and_finished(tmp_path: Path):
    """The agent is told what was left out; only finishing it reaches the outcome."""
    fault = {
        "tool": "remove_seats",
        "on_calls": [1],
        "kind": "partial",
        "parameter": "user_ids",
        "completes": 1,
    }
    bound = bind(
        tmp_path,
        tools=["remove_seats"],
        faults=[fault],
        **expected(
            actions=["update_account"],
            calls=[
                {"tool": "remove_seats", "args": {"workspace_id": "ws_1", "user_ids": {"contains": name}}}
                for name in ("usr_2", "usr_3")
            ],
            state={"users.usr_2.status": "removed", "users.usr_3.status": "removed"},
        ),
    )
    both = turn(
        "update_account", "Done.", call("remove_seats", workspace_id="ws_1", user_ids=["usr_2", "usr_3"])
    )
    episode, stopped = play(bound, both, turn("update_account", "Done."))
    record = episode.calls[0]
    assert (record.status, record.committed) == ("partial", True)
    assert record.error is not None
    assert "usr_3" in record.error.message
    assert_fails(stopped, "resolution", check="state:users.usr_3.status")
    rest = turn("update_account", "Done.", call("remove_seats", workspace_id="ws_1", user_ids=["usr_3"]))
    assert_passes(score(bound, both, rest))
