"""Rules of the `rules` agent about money: which payment, how much of it, by whose leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from itertools import combinations
from typing import Final

from pytest_supportbench.agents.rules_case import Case, Plan, Row, day, instant, money, text
from pytest_supportbench.agents.rules_credit import credit, refuse
from pytest_supportbench.agents.rules_people import hand, open_disputes
from pytest_supportbench.agents.rules_policy import (
    bank_days,
    credit_band,
    over_limit,
    trigger,
    window,
)
from pytest_supportbench.agents.rules_text import Money, amounts, dates, months, plain, words
from pytest_supportbench.protocol import ToolCall

_PAID: Final = frozenset({"succeeded", "partially_refunded", "paid"})
_INTERVALS: Final[Mapping[str, frozenset[str]]] = {
    "year": frozenset({"year", "yearly", "annual", "annually"}),
    "month": frozenset({"month", "monthly"}),
}
_CLOSE: Final = timedelta(days=3)
_DOUBLE: Final = r"\b(?:duplicate|two payments|twice|second payment)"
_TAKEN_LATER: Final = r"\bcancel"


def refund_status(case: Case) -> Plan | None:
    """Answer where a refund is, from the latest refund on record."""
    if not case.wants("refund_status"):
        return None
    reads = case.need("refunds")
    if reads:
        return Plan("", reads=reads)
    rows = sorted(case.rows("refunds"), key=lambda row: str(row.get("requested_at", "")))
    return Plan("resolve", "answer", say=_refund_facts(case, rows[-1])) if rows else None


def _refund_facts(case: Case, row: Row) -> tuple[str, ...]:
    said = []
    amount = money(row)
    if amount:
        said.append(
            case.tell("refund_state", id=text(row, "id"), amount=amount, state=text(row, "status", 20))
        )
    for name, key in (("asked_on", "requested_at"), ("expected", "expected_by")):
        when = day(case, row, key)
        if when:
            said.append(case.tell(name, date=when))
    return tuple(said) or (case.tell("no_answer"),)


def refund(case: Case) -> Plan | None:
    """Find the payment in question by the account, and refund, credit or refuse it as policies say."""
    asks = case.wants("money_back", "twice") or (case.wants("charged") and case.wants("stopped", "dispute"))
    if not asks:
        return None
    disputed = trigger(case, "open_dispute")
    reads = case.need("disputes") if disputed else ()
    reads += case.need("charges") + (case.need("refunds") if "issue_refund" in case.tools else ())
    if reads:
        return Plan("", reads=reads)
    opened = open_disputes(case)
    if disputed and opened:
        return hand(case, "open_dispute", disputed.queue, about=opened)
    if case.wants("twice") or (case.wants("charged") and not case.wants("stopped") and list(_doubles(case))):
        found = _duplicates(case)
        if found:
            return found
    for choose in (_after_end, _cancelled_order):
        rows = choose(case)
        if rows:
            return _pay_back(case, rows, window(case, r"\b(?:pay|refund|return)", _TAKEN_LATER))
    return _regret(case)


def _duplicates(case: Case) -> Plan | None:
    later = [row for _, row in _doubles(case)]
    open_ones = [row for row in later if text(row, "status") in _PAID and not _refunds_of(case, row)]
    if open_ones:
        if trigger(case, "conflicting_evidence") and any(
            not text(row, "invoice_id") and "invoice" in "".join(text for _, text in case.policies)
            for row in open_ones
        ):
            return hand(case, "conflicting_evidence")
        return _pay_back(case, open_ones, window(case, r"\brefund|\breturn", _DOUBLE))
    waiting = [row for row in later if text(row, "status") == "pending"]
    amount = money(waiting[-1]) if waiting else None
    if amount:
        return Plan("resolve", "answer", say=(case.tell("pending", amount=amount),))
    refunds = [row for charge in later for row in _refunds_of(case, charge)]
    if refunds:
        return Plan("resolve", "answer", say=_refund_facts(case, refunds[-1]))
    if case.rows("charges") and not case.wants("money_back"):
        return Plan("resolve", "answer", say=(case.tell("no_second"),))
    return None


def _doubles(case: Case) -> Iterator[tuple[Row, Row]]:
    """Yield pairs of payments for one thing: same sum, same invoice, subscription or order, days apart at most."""
    for first, second in combinations(_charges(case), 2):
        one, two = money(first), money(second)
        at, then = instant(first, "charged_at"), instant(second, "charged_at")
        if one is None or one != two or at is None or then is None or then - at > _CLOSE:
            continue
        keys = [key for key in ("invoice_id", "order_id", "subscription_id") if text(first, key)]
        if all(text(first, key) == text(second, key) for key in keys if text(second, key)):
            yield first, second


def _charges(case: Case) -> list[Row]:
    """Return the payments with an instant, oldest first; 60 at most, the latest ones."""
    dated = [(at, row) for row in case.rows("charges") if (at := instant(row, "charged_at")) is not None]
    return [row for _, row in sorted(dated, key=lambda pair: pair[0])][-60:]


def _refunds_of(case: Case, charge: Row) -> list[Row]:
    identity = text(charge, "id")
    rows = case.rows("refunds")
    return [row for row in rows if text(row, "charge_id") == identity and text(row, "status") != "failed"]


def _left(case: Case, charge: Row) -> Money | None:
    """Return what of a payment is not refunded yet and was not paid with credit."""
    paid = money(charge)
    if paid is None or text(charge, "status") not in _PAID:
        return None
    gone = [found.amount for row in _refunds_of(case, charge) if (found := money(row))]
    share = money({"amount": charge.get("credit_share"), "currency": paid.currency})
    rest = paid.amount - sum(gone, Decimal(0)) - (share.amount if share else 0)
    return Money(rest, paid.currency) if rest > 0 else None


def _after_end(case: Case) -> list[Row]:
    """Return the payments taken for a subscription at its end or later."""
    found = []
    for plan in case.rows("subscriptions"):
        end = instant(plan, "cancel_at") or instant(plan, "cancelled_at")
        if end is None or text(plan, "status") != "cancelled":
            continue
        found += [
            row
            for row in _charges(case)
            if text(row, "subscription_id") == text(plan, "id")
            and (at := instant(row, "charged_at")) is not None
            and at >= end
            and _left(case, row)
        ]
    return found


def _cancelled_order(case: Case) -> list[Row]:
    """Return the open payment of the cancelled order that the customer's words fit best."""
    orders = [row for row in case.rows("orders") if text(row, "status") == "cancelled"]
    orders.sort(key=lambda row: case.overlap(str(row.get("items", ""))), reverse=True)
    for order in orders:
        paid = [row for row in _charges(case) if text(row, "order_id") == text(order, "id")]
        if text(order, "id") and any(_left(case, row) for row in paid):
            return [row for row in paid if _left(case, row)]
    return []


def _named(case: Case) -> list[Row]:
    """Return the payments that the message names by id, sum, day, month or product; the surest kind only."""
    charges = [row for row in _charges(case) if _left(case, row)]
    sums, days, names = amounts(case.text), dates(case.text, case.now.date()), months(case.text)
    tests: tuple[Callable[[Row], bool], ...] = (
        lambda row: case.mentions(text(row, "id")),
        lambda row: (found := money(row)) is not None and found.amount in sums,
        lambda row: day(case, row, "charged_at") in days,
        lambda row: (when := day(case, row, "charged_at")) is not None and when.month in names,
        lambda row: case.overlap(_about(case, row)) > 0,
    )
    for test in tests:
        found = [row for row in charges if test(row)]
        if found:
            return found
    return charges


def _about(case: Case, charge: Row) -> str:
    """Return what a payment was for, without the months of its period: these are no name of a thing."""
    plan = text(case.row("subscriptions", text(charge, "subscription_id")), "plan")
    spoken = words(plain(f"{text(charge, 'description')} {plan}"))
    return " ".join(word for word in spoken if not months(word))


def _interval(case: Case, charge: Row) -> str:
    """Return ``year`` or ``month`` where the records tell how often such a payment is due, else nothing."""
    plan = case.row("subscriptions", text(charge, "subscription_id"))
    spoken = words(plain(f"{text(plan, 'interval')} {text(plan, 'plan')} {text(charge, 'description')}"))
    return next((name for name, forms in _INTERVALS.items() if forms & set(spoken)), "")


def _regret(case: Case) -> Plan | None:
    """Refund the named payment within the window, credit it in a late band, refuse it after that."""
    rows = _named(case)
    things = {(text(row, "subscription_id"), text(row, "order_id")) for row in rows}
    if len(things) > 1:
        slots = tuple(slot for slot in case.seen.slots if slot == "charge_id")
        return Plan("ask", say=(case.tell("ask", what="charge_id, amount, date"),), asks=slots)
    return _judged_by_age(case, rows[-1]) if rows else _nothing_left(case)


def _nothing_left(case: Case) -> Plan | None:
    """Tell the last refund where everything went back, refuse where nothing can; ``None`` without payments."""
    charges = _charges(case)
    done = [row for charge in charges for row in _refunds_of(case, charge)]
    if done:
        return Plan("resolve", "answer", say=_refund_facts(case, done[-1]))
    return refuse(case) if charges else None


def _judged_by_age(case: Case, row: Row) -> Plan | None:
    amount, paid = _left(case, row), day(case, row, "charged_at")
    if amount is None or paid is None:
        return None
    age = (case.now.date() - paid).days
    interval = _interval(case, row)
    limit = window(case, r"\brefund|\breturn|money back", interval=interval)
    if limit is None:
        return refuse(case)
    if age <= limit:
        return _pay_back(case, [row], limit)
    band = credit_band(case, interval)
    if band and band[0] <= age <= band[1]:
        return credit(case, amount, band[2], text(row, "id"))
    said = case.tell("too_late", amount=amount, date=paid, days=age, count=limit)
    return Plan("decline", say=(said, case.tell("half")))


def _pay_back(case: Case, rows: list[Row], days: int | None) -> Plan:
    """Refund what is left of the payments, unless too old, above a limit or not permitted."""
    sums = [(row, left) for row in rows if (left := _left(case, row))]
    today = case.now.date()
    young = [(row, left) for row, left in sums if days is None or _age(case, row, today) <= days]
    if not young:
        return refuse(case)
    total = Money(sum((left.amount for _, left in young), Decimal(0)), young[0][1].currency)
    if over_limit(case, total):
        return hand(case, "over_limit")
    calls: list[ToolCall] = []
    for row, left in young[:8]:
        calls += case.call(
            "issue_refund",
            charge_id=text(row, "id"),
            amount=str(left),
            currency=left.currency,
            idempotency_key=f"refund-{text(row, 'id')}-{left}"[:120],
        )
    if not calls:
        return hand(case, "other", "billing")
    say = [
        case.tell("which", id=text(row, "id"), date=when)
        for row, _ in young[:8]
        if (when := day(case, row, "charged_at"))
    ]
    banks = bank_days(case)
    if banks:
        say.append(case.tell("working_days", count=banks))
    return Plan("resolve", say=tuple(say), calls=tuple(calls))


def _age(case: Case, row: Row, today: date) -> int:
    paid = day(case, row, "charged_at")
    return (today - paid).days if paid else 0
