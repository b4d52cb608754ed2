"""Rules of the `rules` agent about subscriptions and orders: renewals, cancellations, other plans, instalments."""

from __future__ import annotations

import re
from typing import Final

from pytest_supportbench.agents.rules_case import Case, Plan, Row, day, instant, money, text
from pytest_supportbench.agents.rules_text import words

_AT_ONCE: Final = re.compile(r"\b(?:at once|immediately)\b")
_COUNT: Final = re.compile(
    r"\b(\d{1,4})\s+(?:seats?|licen[cs]es?|users?|platze|lizenzen|sieges|licencias|asientos)\b"
)
_PARTS: Final = re.compile(
    r"\b(\d{1,2}|two|three|four|six)\s+(?:\w+\s+){0,2}?(?:instal|part|rate|plazo|mensual|month|fois)"
)
_NUMBERS: Final = {"two": 2, "three": 3, "four": 4, "six": 6}


def renewal_question(case: Case) -> Plan | None:
    """Answer when a plan renews and for how much, from the subscription's own record."""
    if not case.wants("when_renew"):
        return None
    reads = case.need("subscriptions")
    if reads:
        return Plan("", reads=reads)
    rows = _chosen(case, [row for row in _subscriptions(case) if text(row, "status") != "cancelled"])
    said = [sentence for row in rows[:3] if (sentence := _renewal(case, row))]
    return Plan("resolve", "answer", say=tuple(said)) if said else None


def _renewal(case: Case, row: Row) -> str:
    end, amount, plan = day(case, row, "cancel_at", "current_period_end"), money(row), text(row, "plan", 80)
    if end is None:
        return ""
    if row.get("auto_renew") is False or text(row, "cancel_at"):
        return case.tell("runs_out", what=plan, date=end)
    return case.tell("renews", what=plan, date=end, amount=amount) if amount else ""


def cancel(case: Case) -> Plan | None:
    """Cancel the order, the renewal or the subscription that the message names; ask which where it names none."""
    if not case.wants("cancel", "renewal_off") or case.wants("undo"):
        return None
    if case.wants("order") and "cancel_order" in case.tools:
        return _cancel_order(case)
    reads = case.need("subscriptions")
    if reads:
        return Plan("", reads=reads)
    live = _chosen(case, [row for row in _subscriptions(case) if text(row, "status") != "cancelled"])
    if not live:
        return _cancelled_before(case)
    if len(live) > 1:
        return _which(case, live)
    identity = text(live[0], "id")
    calls = case.call("cancel_renewal", subscription_id=identity) if not case.wants("now") else ()
    if not calls or ("cancel_subscription" in case.tools and not case.wants("renewal_off")):
        at_once = case.wants("now") and any(
            _AT_ONCE.search(part) and "cancel" in part for part in case.sentences
        )
        effective = "immediately" if at_once else "period_end"
        calls = case.call("cancel_subscription", subscription_id=identity, effective=effective) or calls
    return Plan("resolve", calls=calls) if calls else None


def _cancelled_before(case: Case) -> Plan | None:
    for row in _subscriptions(case):
        end = day(case, row, "cancel_at", "cancelled_at")
        if end:
            said = case.tell("runs_out", what=text(row, "plan", 80), date=end)
            return Plan("resolve", "answer", say=(said,))
    return None


def _cancel_order(case: Case) -> Plan | None:
    reads = case.need("orders")
    if reads:
        return Plan("", reads=reads)
    rows = case.rows("orders")
    open_ones = [row for row in rows if text(row, "status") == "placed"]
    best = sorted(open_ones, key=lambda row: case.overlap(str(row.get("items", ""))), reverse=True)
    if best:
        return Plan("resolve", calls=case.call("cancel_order", order_id=text(best[0], "id")))
    return Plan("decline", say=(case.tell("no"), *_states(case, rows[-1:], "items"))) if rows else None


def _states(case: Case, rows: list[Row], key: str) -> tuple[str, ...]:
    return tuple(
        case.tell("state", what=text(row, key) or text(row, "id"), state=text(row, "status", 20))
        for row in rows
    )


def undo(case: Case) -> Plan | None:
    """Reinstate the cancelled subscription while it can be undone."""
    if not case.wants("undo") or "reinstate_subscription" not in case.tools:
        return None
    rows = [
        row for row in _subscriptions(case) if text(row, "status") == "cancelled" or text(row, "cancel_at")
    ]
    for row in _chosen(case, rows)[:1]:
        until = instant(row, "undo_until")
        if until is not None and until < case.now:
            return Plan("decline", say=(case.tell("no"),))
        return Plan("resolve", calls=case.call("reinstate_subscription", subscription_id=text(row, "id")))
    return None


def change_plan(case: Case) -> Plan | None:
    """Move the subscription to the plan that the message names, or to the number of seats."""
    seats = _COUNT.search(case.text)
    live = [row for row in _subscriptions(case) if text(row, "status") in {"active", "trialing"}]
    if seats and "set_seat_count" in case.tools and len(live) == 1:
        calls = case.call("set_seat_count", subscription_id=text(live[0], "id"), quantity=int(seats[1]))
        return Plan("resolve", calls=calls)
    if not case.wants("plan") or "change_plan" not in case.tools:
        return None
    reads = case.need("subscriptions") + (() if case.has("plans") else case.read("list_plans"))
    if reads:
        return Plan("", reads=reads)
    current = {text(row, "plan") for row in live}
    others = [row for row in case.rows("plans") if text(row, "name") not in current]
    wanted = [row for row in others if _is_named(case, text(row, "name"))]
    if len(wanted) != 1 or not live:
        return None
    effective = "immediately" if case.wants("now") else "period_end"
    calls = case.call(
        "change_plan",
        subscription_id=text(live[0], "id"),
        plan_id=text(wanted[0], "id"),
        effective=effective,
    )
    return Plan("resolve", calls=calls)


def instalments(case: Case) -> Plan | None:
    """Split the unpaid invoice into the number of parts that the message names; three where it names none."""
    if not case.wants("instalments") or "set_payment_plan" not in case.tools:
        return None
    reads = case.need("invoices")
    if reads:
        return Plan("", reads=reads)
    unpaid = [row for row in case.rows("invoices") if text(row, "status") in {"open", "past_due"}]
    if len(unpaid) != 1:
        return None
    named = _PARTS.search(case.text)
    parts = (_NUMBERS.get(named[1]) or int(named[1])) if named else 3
    identity = text(unpaid[0], "id")
    calls = case.call(
        "set_payment_plan",
        invoice_id=identity,
        parts=parts,
        idempotency_key=f"plan-{identity}-{parts}"[:120],
    )
    return Plan("resolve", calls=calls)


def _subscriptions(case: Case) -> list[Row]:
    return [row for row in case.rows("subscriptions") if text(row, "id")]


def _is_named(case: Case, name: str) -> bool:
    return any(case.mentions(word) for word in words(name.casefold()) if len(word) > 2)  # noqa: PLR2004 - no "a", "of"


def _chosen(case: Case, rows: list[Row]) -> list[Row]:
    """Return the subscriptions whose plan the message names best, or all of them where it names none."""
    scores = [case.overlap(text(row, "plan")) + 2 * case.mentions(text(row, "plan")) for row in rows]
    best = max(scores, default=0)
    return [row for row, score in zip(rows, scores, strict=True) if score == best]


def _which(case: Case, rows: list[Row]) -> Plan:
    names = ", ".join(text(row, "plan", 60) for row in rows[:4])
    return Plan("ask", say=(case.tell("ask", what=names),), asks=case.seen.slots[-1:])
