"""The built-in support toolset: its tools, its ledger, its state."""

import json
import timeit
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from saas_world import CALLS, NOW, STATE, World

from pytest_supportbench.environment import Environment
from pytest_supportbench.protocol import ToolCall
from pytest_supportbench.scenario import Fault
from pytest_supportbench.state import iter_records
from pytest_supportbench.tools import ToolError
from pytest_supportbench.toolsets import resolve
from pytest_supportbench.toolsets.saas import SaasState, SaasToolset
from pytest_supportbench.toolsets.saas.money import instalments
from pytest_supportbench.toolsets.saas.records_workspace import Workspace
from pytest_supportbench.toolsets.saas.tools_sla import business_minutes

SPECS = SaasToolset.specs


def refused(world, tool, **arguments):
    """Return the code of the typed error that a call ends with."""
    with pytest.raises(ToolError) as caught:
        world(tool, **arguments)
    return caught.value.code


def test_every_tool_has_a_call_here():
    """No tool can be added without a call that proves it to work."""
    assert CALLS.keys() == SPECS.keys()


@pytest.mark.parametrize("name", SPECS)
def test_every_tool_succeeds_on_a_rich_state_and_only_writes_change_it(name):
    """Each tool works once; a read leaves every table equal and a write changes one."""
    world = World()
    before = world.state.snapshot()
    result = world(name, **CALLS[name])
    json.dumps(result, allow_nan=False)
    assert (world.state.tables == before) is (SPECS[name].effect == "reads")


@pytest.mark.parametrize("name", SPECS)
def test_every_tool_is_described_and_typed_for_an_agent(name):
    """Each tool tells in a sentence what it does, and its parameters are a closed JSON Schema."""
    info = SPECS[name].info
    assert 20 < len(info.description) < 200
    assert info.description.endswith(".")
    assert info.parameters["additionalProperties"] is False
    assert all(set(schema) & {"type", "anyOf", "enum"} for schema in info.parameters["properties"].values())


def without_ids(name):
    """Return the tool's call with ids that do not exist."""
    return {
        key: "nope" if key.endswith("_id") else ["nope"] if key == "user_ids" else value
        for key, value in CALLS[name].items()
    }


@pytest.mark.parametrize("name", [name for name in SPECS if without_ids(name) != CALLS[name]])
def test_ids_that_do_not_exist_are_typed_errors(name):
    """An unknown id gives `not_found` and never a crash."""
    assert refused(World(), name, **without_ids(name)) == "not_found"


def test_only_the_hand_off_moves_the_case():
    """Asking an admin or a partner is no hand-off."""
    assert [name for name, spec in SPECS.items() if spec.handoff] == ["escalate_to_human"]


def test_hidden_codes_never_come_out():
    """No tool shows the code that proves an identity, and no view does."""
    secret = ("482913", "Blue Heron", "111111")
    for name, arguments in CALLS.items():
        text = json.dumps(World()(name, **arguments))
        assert not any(code in text for code in secret), name
    shown_factors = World().toolset.view("factor")
    assert shown_factors
    assert "code" not in shown_factors[0]


def test_money_is_offered_as_a_string_and_taken_as_a_number_too():
    """The schema asks for "49.00"; 49 and 49.0 mean the same."""
    schema = SPECS["issue_refund"].parameters["properties"]["amount"]
    assert schema["type"] == "string"
    assert '"49.00"' in schema["description"]
    for amount in ("49.00", 49, 49.0):
        refund = World()("issue_refund", charge_id="ch_1", amount=amount, currency="USD")
        assert refund["amount"] == "49.00"


@pytest.mark.parametrize(
    "amount", [True, "NaN", "Infinity", "1E+1000000", "1e-999999", -1, 0, "", None, "9" * 30]
)
def test_amounts_that_are_none_are_refused_before_the_tool_runs(amount):
    """What is no positive bounded amount is an argument error."""
    with pytest.raises(ValidationError):
        World()("issue_refund", charge_id="ch_1", amount=amount, currency="USD")


def test_the_largest_amount_is_still_an_amount():
    """An agent can credit absurd sums (policy judges them) without breaking the ledger."""
    credit = World()(
        "apply_credit", customer_id="cus_1", amount="99999999999999.999", currency="KWD", kind="other"
    )
    assert credit["amount"] == "99999999999999.999"


def test_a_refund_settles_its_charge():
    """The charge says what became of it, and the rest stays refundable."""
    world = World()
    world("issue_refund", charge_id="ch_1", amount="9.00", currency="USD")
    assert world("get_charge", charge_id="ch_1")["status"] == "partially_refunded"
    assert world("get_charge", charge_id="ch_1")["refundable"] == "40.00"
    world("issue_refund", charge_id="ch_1", amount="40.00", currency="USD")
    assert world.state.charges["ch_1"].status == "refunded"
    assert world("get_charge", charge_id="ch_1")["refundable"] == "0.00"


def test_the_ledger_refuses_what_cannot_be():
    """Too much, another currency, too many digits and failed charges are told apart."""
    world = World()
    code = {
        ("ch_1", "49.01", "USD"): "exceeds_refundable",
        ("ch_3", "40.01", "USD"): "exceeds_refundable",
        ("ch_1", "49.00", "EUR"): "currency_mismatch",
        ("ch_2", "15.50", "JPY"): "invalid_amount",
        ("ch_1", "1.001", "USD"): "invalid_amount",
        ("ch_4", "5.00", "USD"): "not_refundable",
    }
    for (charge, amount, currency), expected in code.items():
        assert refused(world, "issue_refund", charge_id=charge, amount=amount, currency=currency) == expected
    assert world("issue_refund", charge_id="ch_3", amount="40.00", currency="USD")["status"] == "succeeded"
    assert world("issue_refund", charge_id="ch_2", amount="1500", currency="JPY")["amount"] == "1500"
    assert world("issue_refund", charge_id="ch_5", amount="1.234", currency="KWD")["amount"] == "1.234"


def test_a_charge_marked_refunded_has_nothing_left():
    """A charge that says it is refunded cannot be refunded again, with or without a refund record."""
    charges = {"ch_9": {"customer_id": "cus_1", "amount": "7.00", "currency": "USD", "status": "refunded"}}
    world = World(charges=charges, refunds={})
    assert (
        refused(world, "issue_refund", charge_id="ch_9", amount="1", currency="USD") == "exceeds_refundable"
    )
    assert world("get_charge", charge_id="ch_9")["refundable"] == "0.00"


def test_policy_can_be_broken():
    """Nothing stops a refund of a disputed charge, or one to an unverified customer."""
    world = World()
    assert world("get_dispute", dispute_id="dp_1")["status"] == "open"
    assert world("issue_refund", charge_id="ch_1", amount="49.00", currency="USD")["status"] == "succeeded"
    assert world("purge_data", workspace_id="ws_1", scope="everything")["scope"] == "everything"


@given(st.lists(st.decimals("0.01", "60", places=2), max_size=12))
def test_refunds_never_sum_to_more_than_their_charge(amounts):
    """Whatever is tried in whatever order, the ledger holds and its state loads again."""
    world = World()
    accepted = Decimal(0)
    for amount in amounts:
        try:
            world("issue_refund", charge_id="ch_1", amount=str(amount), currency="USD")
        except ToolError:
            assert accepted + amount > 49
        else:
            accepted += amount
    stored = sum(row.amount for row in world.state.refunds.values() if row.charge_id == "ch_1")
    assert stored == accepted <= 49
    assert (world.state.charges["ch_1"].status == "refunded") is (accepted == 49)
    SaasState.model_validate(world.state.model_dump())


@given(st.decimals(0, 10**9, places=2), st.integers(1, 60))
def test_instalments_sum_to_the_amount(amount, count):
    """No cent is lost or made, and no part differs by more than the rest."""
    parts = instalments(amount, "USD", count)
    assert sum(parts) == amount
    assert len(parts) == count
    assert max(parts) - min(parts) < Decimal("0.01") * count
    assert all(part >= 0 for part in parts)


def test_an_unknown_effect_can_be_looked_up_by_its_key():
    """After a lost answer the ledger tells by the key whether the refund exists."""
    world = World()
    assert world("get_refund_status", idempotency_key="k1") == {"found": False, "refunds": []}
    refund = world("issue_refund", charge_id="ch_1", amount="49.00", currency="USD", idempotency_key="k1")
    assert world("get_refund_status", idempotency_key="k1") == {"found": True, "refunds": [refund]}
    assert world("get_refund_status", idempotency_key="k1", charge_id="ch_2")["found"] is False
    assert refused(world, "get_refund_status") == "invalid_arguments"


def test_a_timeout_after_the_commit_can_be_resolved_with_one_refund():
    """In an environment with a committed time-out, the same key finds the refund and does not repeat it."""
    environment = Environment(
        SaasToolset,
        SaasState.model_validate(STATE),
        as_of=NOW,
        permitted=["issue_refund", "get_refund_status"],
        faults=[Fault(tool="issue_refund", on_calls=(1,), kind="timeout", committed=True)],
        subject="cus_1",
    )
    call = ToolCall(tool="issue_refund", arguments=CALLS["issue_refund"])
    assert environment.call(call, 1).status == "error"
    status = environment.call(ToolCall(tool="get_refund_status", arguments={"idempotency_key": "k1"}), 2)
    assert status.result["found"] is True
    assert environment.call(call, 3).replayed is True
    assert [row.id for row in environment.after["refunds"].values()] == ["rf_1", "rf_2", "rf_1001"]


def test_a_batch_can_succeed_in_part():
    """With a partial fault some seats go and the answer says which; sending those again is refused."""
    environment = Environment(
        SaasToolset,
        SaasState.model_validate(STATE),
        as_of=NOW,
        permitted=["remove_seats", "list_seats"],
        faults=[Fault(tool="remove_seats", on_calls=(1,), kind="partial", parameter="user_ids", completes=1)],
        subject="cus_1",
    )
    call = ToolCall(tool="remove_seats", arguments=CALLS["remove_seats"])
    first = environment.call(call, 1)
    assert (first.status, first.result) == ("partial", {"removed": ["usr_2"]})
    again = environment.call(call, 2)
    assert again.error.code == "already_removed"
    assert environment.after["users"]["usr_3"].status == "active"


def test_a_right_code_proves_and_a_wrong_one_does_not():
    """Verification is a result, not an error, and leaves a record only when it succeeded."""
    world = World()
    wrong = world("verify_identity", customer_id="cus_1", method="email", code="000000")
    assert wrong == {"verified": False, "method": "email", "attempts_left": 2}
    assert world.state.verifications == {}
    right = world("verify_identity", customer_id="cus_1", method="email", code=" 482 913 ")
    assert right["verified"] is True
    assert world.state.factors["fac_1"].proven_at is not None
    status = world("get_verification_status", customer_id="cus_1")
    assert [row["method"] for row in status["verifications"]] == ["email"]
    assert world("verify_identity", customer_id="cus_1", method="security_question", code="blue heron")[
        "verified"
    ]


def test_three_wrong_codes_lock_the_factor():
    """After three wrong codes even the right one is refused."""
    world = World()
    for left in (2, 1, 0):
        answer = world("verify_identity", customer_id="cus_1", method="email", code="1")
        assert answer["attempts_left"] == left
    assert (
        refused(world, "verify_identity", customer_id="cus_1", method="email", code="482913")
        == "factor_locked"
    )
    assert refused(world, "verify_identity", customer_id="cus_1", method="passkey", code="1") == "not_found"


def test_a_right_code_forgives_earlier_wrong_ones():
    """The count of wrong codes starts anew after a right one."""
    world = World()
    for code in ("1", "2", "482913", "3", "4"):
        world("verify_identity", customer_id="cus_1", method="email", code=code)
    assert world.state.factors["fac_1"].locked is False


def test_each_call_notes_whose_records_it_saw():
    """A look at another person's data is on record, whatever it was looked up by."""
    world = World()
    world("find_customers", name="lee  MOSS")
    assert world.toolset.touched == {frozenset({"cus_1", "cus_2"})}
    world("get_verification_status", customer_id="usr_2")
    assert frozenset({"usr_2"}) in world.toolset.touched
    world("get_system_status")
    assert not any(world.toolset.touched)
    world("list_subscriptions", customer_id="cus_2")
    assert frozenset({"cus_2"}) in world.toolset.touched


def test_find_customers_needs_something_to_go_by_and_compares_sensibly():
    """Phones match by digits, all given values must match, and nothing given is an error."""
    world = World()
    assert [row["id"] for row in world("find_customers", phone="1 (555) 0100")] == ["cus_1"]
    assert world("find_customers", phone="15550100", name="Lee Moss") == []
    assert refused(world, "find_customers") == "invalid_arguments"


def test_a_search_by_phone_without_digits_finds_nobody():
    """Text without a digit is no phone number, so people without one do not match it."""
    assert World()("find_customers", phone="unknown") == []


def test_workspaces_are_found_by_payer_owner_and_seat():
    """A person sees each workspace that they have to do with."""
    world = World()
    assert [row["id"] for row in world("list_workspaces", customer_id="cus_1")] == ["ws_1", "ws_2"]
    assert [row["id"] for row in world("list_workspaces", customer_id="cus_2")] == ["ws_2"]


def test_seats_are_counted():
    """More people than seats do not fit, nobody is added twice, and removed ones free their seat."""
    world = World()
    assert world("list_seats", workspace_id="ws_1")["used"] == 3
    new = ["a@example.com", "b@example.com"]
    assert refused(world, "add_seats", workspace_id="ws_1", emails=new, role="member") == "no_free_seats"
    twice = {"workspace_id": "ws_1", "emails": ["ANN@example.com"], "role": "member"}
    assert refused(world, "add_seats", **twice) == "already_exists"
    world("remove_seats", workspace_id="ws_1", user_ids=["usr_3"])
    assert len(world("add_seats", workspace_id="ws_1", emails=new, role="member")["added"]) == 2
    assert refused(world, "remove_seats", workspace_id="ws_1", user_ids=["usr_4"]) == "not_found"
    same = ["usr_2", "usr_2"]
    assert refused(world, "remove_seats", workspace_id="ws_1", user_ids=same) == "invalid_arguments"


def test_revoking_sessions_keeps_the_user_and_deleting_does_not():
    """Revocation ends sessions only; deletion ends both."""
    world = World()
    assert world("revoke_sessions", user_id="usr_2") == {"revoked": ["ses_1", "ses_2"]}
    assert world.state.users["usr_2"].status == "active"
    assert world("revoke_sessions", user_id="usr_2") == {"revoked": []}
    assert world("delete_user", user_id="usr_2")["status"] == "deleted"
    assert refused(world, "delete_user", user_id="usr_2") == "already_deleted"


def test_ownership_moves_with_the_roles():
    """The new owner's seat says owner and the old one's admin."""
    world = World()
    world("transfer_ownership", workspace_id="ws_1", new_owner_id="usr_2")
    assert world.state.users["usr_2"].role == "owner"
    assert world.state.users["usr_1"].role == "admin"
    assert refused(world, "transfer_ownership", workspace_id="ws_1", new_owner_id="usr_2") == "no_change"
    assert refused(world, "transfer_ownership", workspace_id="ws_1", new_owner_id="usr_9") == "not_found"


def test_a_rotated_key_is_replaced_once():
    """Rotation makes a new key and ends the old one for good."""
    world = World()
    new = world("rotate_api_key", key_id="key_1")["new_key_id"]
    assert world.state.api_keys["key_1"].replaced_by == new
    assert refused(world, "rotate_api_key", key_id="key_1") == "not_active"


def test_erasing_a_profile_keeps_the_invoices():
    """Personal data goes; what the books need stays, and the answer lists it."""
    world = World()
    assert world("delete_profile", customer_id="cus_1")["invoices_kept"] == ["in_1", "in_2"]
    customer = world.state.customers["cus_1"]
    assert (customer.status, customer.name, customer.email) == ("deleted", "", None)
    assert "in_1" in world.state.invoices
    assert refused(world, "delete_profile", customer_id="cus_1") == "already_deleted"


def test_an_address_without_a_needed_postcode_is_unprocessable():
    """The error says what is missing, so that the agent can ask for it."""
    arguments = {"customer_id": "cus_1", "address": "1 Main St", "city": "Ames", "country": "US"}
    with pytest.raises(ToolError, match="US needs a postcode"):
        World()("update_address", **arguments)
    assert World()("update_address", **{**arguments, "country": "IE"})["country"] == "IE"


def test_cancelling_ends_now_or_later_and_can_be_undone():
    """Both kinds of cancellation are told apart, proven, and undone whole."""
    world = World()
    later = world("cancel_subscription", subscription_id="sub_1", effective="period_end")
    assert (later["status"], later["cancel_at"]) == ("active", "2026-04-01T00:00:00-04:00")
    assert world.state.subscriptions["sub_1"].evidence() == {"cancellation"}
    world("reinstate_subscription", subscription_id="sub_1")
    assert world.state.subscriptions["sub_1"].evidence() == frozenset()
    assert refused(world, "reinstate_subscription", subscription_id="sub_1") == "no_change"
    now = world("cancel_subscription", subscription_id="sub_1", effective="immediately")
    assert now["status"] == "cancelled"
    again = {"subscription_id": "sub_1", "effective": "immediately"}
    assert refused(world, "cancel_subscription", **again) == "already_cancelled"
    assert (
        refused(world, "cancel_subscription", subscription_id="sub_3", effective="period_end") == "no_period"
    )


def test_a_renewal_is_cancelled_once():
    """Turning renewal off leaves the subscription running."""
    world = World()
    assert world("cancel_renewal", subscription_id="sub_1")["status"] == "active"
    assert refused(world, "cancel_renewal", subscription_id="sub_1") == "no_change"


def test_a_plan_change_prices_the_seats():
    """An immediate change has the new price for all seats; a later one only notes the plan."""
    world = World()
    later = world("change_plan", subscription_id="sub_1", plan_id="business", effective="period_end")
    assert (later["plan"], later["next_plan"], later["amount"]) == ("team", "business", "30.00")
    now = world("change_plan", subscription_id="sub_1", plan_id="business", effective="immediately")
    assert (now["plan"], now["amount"]) == ("business", "76.50")
    assert "next_plan" not in now
    same = {"subscription_id": "sub_1", "plan_id": "business", "effective": "immediately"}
    assert refused(world, "change_plan", **same) == "no_change"
    assert refused(world, "change_plan", **{**same, "plan_id": "euro"}) == "currency_mismatch"
    assert world("set_seat_count", subscription_id="sub_1", quantity=2)["amount"] == "51.00"


def test_a_stale_read_is_told_by_its_version():
    """A reader who knows the version of its write is told to retry instead of being shown old data."""
    environment = Environment(
        SaasToolset,
        SaasState.model_validate(STATE),
        as_of=NOW,
        permitted=["update_tax_id", "get_customer"],
        faults=[Fault(tool="get_customer", on_calls=(1,), kind="stale")],
        subject="cus_1",
    )
    written = environment.call(ToolCall(tool="update_tax_id", arguments=CALLS["update_tax_id"]), 1)
    read = ToolCall(
        tool="get_customer", arguments={"customer_id": "cus_1", "min_version": written.result["version"]}
    )
    stale = environment.call(read, 2)
    assert (stale.error.code, stale.error.retryable) == ("stale_read", True)
    assert environment.call(read, 3).result["tax_id"] == "DE123"


def test_service_credits_count_business_hours_where_the_customer_is():
    """Friday 16:00 to Monday 10:00 is two business hours, across the change to summer time."""
    arguments = CALLS["compute_sla_credit"]
    result = World()("compute_sla_credit", **arguments)
    assert result == {"minutes": 120, "clock": "business_hours", "amount": "6.00", "currency": "USD"}
    wall = World()("compute_sla_credit", **{**arguments, "clock": "wall_clock"})
    assert wall["minutes"] == 65 * 60
    assert wall["amount"] == "30.00"
    no_workspace = {**arguments, "subscription_id": "sub_3"}
    assert refused(World(), "compute_sla_credit", **no_workspace) == "no_business_hours"


def test_hours_that_the_clock_skips_do_not_count():
    """On the day that summer time begins, a business day through the night is an hour shorter."""
    workspace = Workspace(
        id="ws",
        timezone="America/New_York",
        business_start="00:00",
        business_end="06:00",
        business_days=(7,),
    )
    start, end = (datetime.fromisoformat(f"2026-03-{day}T12:00:00Z") for day in ("07", "09"))
    assert business_minutes(start, end, workspace) == 5 * 60
    assert business_minutes(end, start, workspace) == 0


def test_a_payment_plan_splits_what_is_due():
    """The parts sum to the invoice, and an invoice has one plan."""
    world = World()
    assert world("set_payment_plan", invoice_id="in_2", parts=3)["parts"] == ["33.34", "33.33", "33.33"]
    assert refused(world, "set_payment_plan", invoice_id="in_2", parts=3) == "already_exists"
    assert refused(world, "set_payment_plan", invoice_id="in_1", parts=3) == "not_payable"


def test_the_policy_in_force_on_a_day_is_found_from_any_version():
    """With a day, the version then in force comes back, whichever version was named."""
    world = World()
    assert world("get_policy", policy_id="refunds-v7")["text"] == "30 days"
    assert world("get_policy", policy_id="refunds-v7", on="2025-12-31")["id"] == "refunds-v6"
    assert world("get_policy", policy_id="refunds-v6", on="2026-01-01")["id"] == "refunds-v7"
    assert refused(world, "get_policy", policy_id="refunds-v6", on="2023-12-31") == "not_found"
    assert refused(World(), "get_policy", policy_id="refunds-v8") == "not_found"


def test_knowledge_of_suite_and_scenario_is_searched_together():
    """Hits name what replaced an article and who may read it; a scenario's article hides its namesake."""
    world = World()
    hit = world("search_knowledge", query="locker")[0]
    assert (hit["id"], hit["superseded_by"]) == ("kb_9", "kb_1")
    assert world("search_knowledge", query="refund")[0]["audience"] == "internal"
    own = World(articles={"kb_2": {"title": "Refunds", "text": "None."}})
    assert own("get_article", article_id="kb_2")["text"] == "None."
    assert len(own("search_knowledge", query="refunds")) == 1
    without = World(articles={})
    assert [hit["id"] for hit in without("search_knowledge", query="locker password")] == ["kb_1"]


def test_what_lies_in_the_past_cannot_be_arranged():
    """Callbacks, changes and retries need a later time."""
    past = {**CALLS["create_callback"], "at": "2026-03-14T10:30:00-05:00"}
    assert refused(World(), "create_callback", **past) == "in_the_past"
    first = {"operation": "refund", "at": "0001-01-01T00:00:00+14:00"}
    assert refused(World(), "schedule_retry", **first) == "in_the_past"
    backwards = {**CALLS["export_audit_log"], "end": "2025-12-31"}
    assert refused(World(), "export_audit_log", **backwards) == "invalid_arguments"


def test_the_smaller_refusals_say_why():
    """Shipped orders, missing addresses and missing filters are told apart."""
    world = World()
    assert refused(world, "cancel_order", order_id="ord_2") == "not_cancellable"
    assert refused(world, "send_email", customer_id="cus_3", subject="Hi", body="Hello") == "no_address"
    assert refused(world, "list_holds") == "invalid_arguments"
    assert refused(world, "update_user", user_id="usr_2") == "invalid_arguments"
    world("disable_sso", workspace_id="ws_1")
    assert refused(world, "disable_sso", workspace_id="ws_1") == "no_change"


def test_documents_for_everybody_are_listed_beside_ones_own():
    """A workspace sees its papers and the standard forms."""
    world = World()
    assert [row["id"] for row in world("list_documents", workspace_id="ws_1")] == ["doc_2", "doc_1"]
    assert [row["id"] for row in world("list_documents", customer_id="cus_2")] == ["doc_1"]


def test_status_of_one_component_shows_its_incidents_only():
    """Other components' troubles stay out."""
    assert World()("get_system_status", component_id="web")["incidents"] == []
    assert len(World()("get_system_status")["components"]) == 2


def test_a_hand_off_without_a_customer_is_about_the_one_who_writes():
    """Leaving the customer out and naming them give the same record."""
    left_out, named = World(), World()
    left_out("escalate_to_human", queue="tax", reason="other", summary="a")
    named(
        "escalate_to_human", queue="tax", reason="other", summary="b", customer_id="cus_1", references=["x"]
    )
    records = [world.state.escalations["esc_1001"] for world in (left_out, named)]
    assert records[0].comparable() == records[1].comparable()
    assert records[0].evidence() == {"handoff"}


def test_writes_prove_what_they_did():
    """The record that a write leaves is evidence of the deed that the tool claims."""
    for name, spec in SPECS.items():
        if (
            spec.does in {None, "update", "plan_change", "transfer", "reinstatement"}
            or name == "set_seat_count"
        ):
            continue
        world = World()
        before = world.state.snapshot()
        world(name, **CALLS[name])
        changed = [
            row for table, row in iter_records(world.state.tables) if before[table].get(row.id) is not row
        ]
        if name == "add_seats":
            assert changed[0].status == "invited"
            continue
        assert any(spec.does in row.evidence() for row in changed), name


def test_replaying_a_trace_gives_equal_records():
    """Ids and times come from the scenario: two runs of one trace end equal."""
    first, second = World(), World()
    for world in (first, second):
        for name in ("issue_refund", "apply_credit", "add_note", "escalate_to_human", "add_seats"):
            world(name, **CALLS[name])
    assert first.state == second.state


def test_generated_ids_and_times_do_not_count_as_changes_of_their_own():
    """A change of a charge names its status only, not amounts that were merely read again."""
    environment = Environment(
        SaasToolset, SaasState.model_validate(STATE), as_of=NOW, permitted=["issue_refund"], subject="cus_1"
    )
    record = environment.call(ToolCall(tool="issue_refund", arguments=CALLS["issue_refund"]), 1)
    assert [change.path for change in record.changes] == ["charges.ch_1.status", "refunds.rf_1001"]


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ({"refunds": {"rf_9": {**STATE["refunds"]["rf_1"], "charge_id": "ch_x"}}}, "no charge 'ch_x'"),
        ({"refunds": {"rf_9": {**STATE["refunds"]["rf_1"], "currency": "EUR"}}}, "ch_3 is in USD"),
        (
            {"refunds": {"rf_9": {**STATE["refunds"]["rf_1"], "amount": "49.01"}}},
            "more than its amount 49.00",
        ),
        ({"refunds": {"rf_9": {**STATE["refunds"]["rf_1"], "amount": "49"}}}, "write 'refunded'"),
        (
            {"charges": {"ch_9": {**STATE["charges"]["ch_1"], "currency": "JPY", "amount": "1.5"}}},
            "JPY takes none",
        ),
        ({"charges": {"ch_9": {**STATE["charges"]["ch_1"], "amount": "1.005"}}}, "takes 2 after the point"),
        ({"workspaces": {"ws_9": {"timezone": "Mars/Base"}}}, "IANA name"),
        ({"workspaces": {"ws_9": {"business_start": "17:00", "business_end": "09:00"}}}, "is not before"),
        ({"customers": {"cus_9": {"nickname": "D"}}}, "nickname"),
    ],
)
def test_states_that_do_not_add_up_do_not_load(tables, reason):
    """A scenario author is told which record contradicts which, and what to write."""
    with pytest.raises(ValidationError) as caught:
        SaasState.model_validate({**STATE, **tables})
    assert reason in str(caught.value)


def test_a_short_state_is_enough():
    """Absent tables are empty and absent fields have defaults."""
    state = SaasState.model_validate(
        {"charges": {"ch_204": {"customer_id": "cus_1", "amount": "49.00", "currency": "USD"}}}
    )
    assert state.charges["ch_204"].shown()["credit_share"] == "0.00"
    assert state.refunds == {}


def test_the_suite_names_it_saas():
    """`toolset: saas` is this toolset."""
    assert resolve("saas", Path()) is SaasToolset
    assert (SaasToolset.name, SaasToolset.version) == ("saas", "1.0")


@pytest.mark.parametrize("name", ["get_charge", "list_charges", "verify_identity", "search_knowledge"])
def test_a_call_is_fast(name):
    """Checking arguments and running a tool takes microseconds (a generous bound for busy machines)."""
    world, spec = World(), SPECS[name]
    arguments = CALLS[name]
    best = (
        min(timeit.repeat(lambda: spec.run(world.toolset, spec.validate(arguments)), number=50, repeat=5))
        / 50
    )
    assert best < 0.0005
