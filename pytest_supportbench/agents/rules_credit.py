"""Rules of the `rules` agent about account credit: in place of a refund, and for an outage by contract."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from pytest_supportbench.agents.rules_case import Case, Plan, day, instant, money, text
from pytest_supportbench.agents.rules_people import hand
from pytest_supportbench.agents.rules_policy import over_limit, told
from pytest_supportbench.agents.rules_text import Money, decimal, plain

_WORDED: Final = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "twelve": 12}
_LONGER: Final = re.compile(r"more than (\w+) (hour|minute)s?")
_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d+)?)\s?(?:percent|%)")
_RANKS: Final = ("addendum", "contract", "sla")


def refuse(case: Case) -> Plan:
    """Return the plan that says that a payment cannot be refunded."""
    return Plan("decline", say=(case.tell("no_refund"),))


def _rounded(amount: Decimal, like: Decimal) -> Decimal:
    """Return an amount with as many decimals as another of its currency."""
    return amount.quantize(like, ROUND_HALF_UP)


def credit(
    case: Case, amount: Money, share: Decimal, reference: str, kind: str = "refund_alternative"
) -> Plan:
    """Put a share (0 to 1) of an amount on the account, unless it is above a limit or not permitted.

    ``reference`` is the record that the credit is for, ``kind`` the reason as the tool names it.
    """
    part = Money(_rounded(amount.amount * share, amount.amount), amount.currency)
    if over_limit(case, part):
        return hand(case, "over_limit")
    calls = case.call(
        "apply_credit",
        customer_id=case.subject,
        amount=str(part),
        currency=part.currency,
        kind=kind,
        reference=reference or None,
        idempotency_key=f"credit-{reference}-{part}"[:120],
    )
    if not calls or part.amount <= 0:
        return refuse(case)
    say = (case.tell("half"),) if kind == "refund_alternative" else ()
    return Plan("resolve", calls=calls, say=say)


def service_credit(case: Case) -> Plan | None:
    """Credit the contract's share of the monthly fee for an incident that lasted longer than it allows."""
    if not case.wants("outage") or "apply_credit" not in case.tools:
        return None
    reads = case.need("documents") + case.need("subscriptions")
    reads += () if case.has("incidents") else case.read("get_system_status")
    if reads:
        return Plan("", reads=reads)
    shares = _shares(case)
    if len({share for share, _ in shares}) > 1:
        return hand(case, "conflicting_policy", mark="conflicting_policy")
    if case.rows("credits") and not shares:
        return None
    fees = [
        found
        for row in case.rows("subscriptions")
        if text(row, "status") == "active"
        if (found := money(row))
    ]
    if not shares or not fees or not any(_lasted(case) > hours for _, hours in shares):
        return Plan("decline", say=(case.tell("no"), *told(case, "service")))
    incident = next((text(row, "id") for row in case.rows("incidents")), "")
    fee = max(fees, key=lambda found: found.amount)
    return credit(case, fee, shares[0][0] / 100, incident, "service_level")


def _shares(case: Case) -> list[tuple[Decimal, Decimal]]:
    """Return percent and hours of the documents in force that go before all others; several if they are equal."""
    found = []
    for row in case.rows("documents"):
        body = plain(text(row, "text", 2000))
        percent = _PERCENT.search(body)
        if percent and text(row, "status") in {"", "in_force"}:
            kind = text(row, "kind")
            rank = _RANKS.index(kind) if kind in _RANKS else len(_RANKS)
            longer = _LONGER.search(body)
            hours = _hours(longer[1], longer[2]) if longer else Decimal(0)
            start = day(case, row, "effective_on") or date.min
            found.append(((-rank, start), (Decimal(percent[1]), hours)))
    best = max((key for key, _ in found), default=None)
    return [value for key, value in found if key == best]


def _hours(count: str, unit: str) -> Decimal:
    """Return hours from a number in figures or words, and ``hour`` or ``minute``; 0 for other words."""
    number = Decimal(_WORDED.get(count, 0)) if not count.isdecimal() else decimal(count) or Decimal(0)
    return number / 60 if unit == "minute" else number


def _lasted(case: Case) -> Decimal:
    """Return the hours of the longest incident."""
    spans = [
        (instant(row, "resolved_at") or case.now) - start
        for row in case.rows("incidents")
        if (start := instant(row, "started_at"))
    ]
    return Decimal(int(max(spans, default=timedelta(0)).total_seconds())) / 3600
