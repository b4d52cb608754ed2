"""Rules of the `rules` agent about who is asking: hand-offs for what is said, proof of identity, own data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from pytest_supportbench.agents.rules_case import Case, Plan, Row, instant, text
from pytest_supportbench.agents.rules_policy import (
    emergency_number,
    hand_over,
    proofs_wanted,
    tells_id,
    told,
    trigger,
    triggers,
    wants_proof,
)
from pytest_supportbench.agents.rules_text import codes, emails, phones, plain, words
from pytest_supportbench.protocol import ToolCall

SENSITIVE: Final = frozenset(
    {"update_contact", "transfer_ownership", "disable_sso", "delete_profile", "delete_user", "purge_data"}
)
"""Writes that decide who receives codes, money or access: never without proof, whatever policies say."""

_TOPICS: Final[Mapping[str, str]] = {
    "issue_refund": r"\brefund",
    "apply_credit": r"\bcredit",
    "cancel_subscription": r"\bcancel",
    "update_address": r"\baddress",
    "update_tax_id": r"\b(?:tax|vat)\b",
    "rotate_api_key": r"\bkeys?\b",
    "revoke_sessions": r"\bsessions?\b",
    "send_document": r"\bdocuments?\b",
    "export_audit_log": r"\b(?:export|audit)",
    "change_role": r"\broles?\b",
}
_NAMED: Final = re.compile(
    r"(?:[Tt]his is|[Mm]y name is|\bI am|\bI'm|[Ss]oy|[Mm]e llamo|[Ii]ch bin|[Mm]ein Name ist|[Jj]e suis|"
    r"[Jj]e m'appelle)\s+([A-Z]\w+\s[A-Z]\w+)"
    r"|\b([A-Z]\w+\s[A-Z]\w+)\s+(?:here|aqui|hier|ici)\b"
)
_NEAR: Final = 40
"""Characters before and after a code in which the means that it came by is looked for."""

_CHANNELS: Final = (
    ("totp", re.compile(r"\b(?:authenticator|app|autenticador)\b")),
    ("sms", re.compile(r"\b(?:sms|text|texted|phone|movil|handy)\b")),
    ("email", re.compile(r"\b(?:e-?mail|mail|correo|courriel)\b")),
)
_SENDABLE: Final = ("email", "sms")
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){3,7}(?:\s?[A-Z0-9]{1,3})?\b")


def hand(
    case: Case,
    reason: str,
    queue: str = "",
    *,
    urgent: bool = False,
    mark: str = "",
    about: Sequence[str] = (),
) -> Plan:
    """Return the plan that hands the case over, or declines where no tool can do so.

    ``mark`` (default: the reason) finds the policy whose words for the customer are passed on. ``about`` are
    the ids of the records that the case is about; the customer is told them where that policy says so.
    """
    calls = hand_over(case, reason, queue, urgent=urgent, about=about)
    if not calls:
        return Plan("decline", say=(case.tell("no"),))
    said = [case.tell("reference", id=name) for name in about if tells_id(case, reason)]
    number = emergency_number(case) if reason == "safety" else ""
    if number:
        said.append(case.tell("emergency", count=number))
    taker = str(calls[0].arguments.get("queue", ""))
    said += told(case, mark or reason) or told(case, f"`{taker}`")
    return Plan("escalate", calls=calls, say=tuple(said))


def spoken_trigger(case: Case) -> Plan | None:
    """Hand over for what is said: harm and death always, the rest where a policy names the reason."""
    if case.wants("safety"):
        return hand(case, "safety", urgent=True)
    if case.wants("bereavement"):
        return hand(case, "bereavement")
    for found in triggers(case):
        holds = _HOLDS.get(found.reason)
        if holds and holds(case):
            about = open_disputes(case) if found.reason == "open_dispute" else []
            return hand(case, found.reason, found.queue, about=about)
    if case.wants("human"):
        return hand(case, "customer_request")
    if case.wants("takeover") and not case.wants("twice"):
        return hand(case, "suspected_takeover")
    return None


def open_disputes(case: Case) -> list[str]:
    """Return the ids of the customer's disputes that a bank has not decided yet."""
    return [text(row, "id") for row in case.rows("disputes") if text(row, "status") == "open"]


def _has_open_dispute(case: Case) -> bool:
    return bool(open_disputes(case)) and case.wants("money_back", "dispute", "charged")


def _is_repeat(case: Case) -> bool:
    seen = len(case.rows("tickets")) + len(case.rows("interactions")) + len(case.seen.memory)
    return seen > 1 and case.wants("again")


def is_exposed(case: Case) -> bool:
    """Tell whether the customer says that a key got into other hands, and a tool can replace it."""
    return case.wants("exposed") and case.wants("keys") and "rotate_api_key" in case.tools


_HOLDS: Final[Mapping[str, Callable[[Case], bool]]] = {
    "customer_request": lambda case: case.wants("human"),
    "legal": lambda case: case.wants("legal"),
    "security": lambda case: case.wants("security") and not is_exposed(case),
    "privacy": lambda case: case.wants("privacy"),
    "suspected_takeover": lambda case: case.wants("takeover"),
    "ownership_dispute": lambda case: case.wants("ownership"),
    "open_dispute": _has_open_dispute,
    "repeat_contact": _is_repeat,
}


def third_party(case: Case) -> Plan | None:
    """Hand over, and tell nothing, where somebody other than the holder or a delegate writes."""
    if not case.customer or trigger(case, "unverified") is None:
        return None
    named = [found[0] or found[1] for found in _NAMED.findall(case.message[:2000])]
    if not named and not case.wants("third_party"):
        return None
    reads = _delegates(case)
    if reads:
        return Plan("", reads=reads)
    known = [plain(text(row, "name")) for row in _acting(case)]
    is_known = any(plain(name) in known for name in named)
    is_stranger = bool(named) and not any(_shares_name(name, known) for name in named)
    if is_known or not (is_stranger or case.wants("third_party")):
        return None
    return hand(case, "unverified")


def _delegate_ids(case: Case) -> list[str]:
    listed = case.customer.get("delegates")
    return [name for name in listed[:5] if isinstance(name, str)] if isinstance(listed, list) else []


def _delegates(case: Case) -> tuple[ToolCall, ...]:
    """Return the reads of the profiles of those who may act for the holder, as far as they are not known."""
    unknown = [name for name in _delegate_ids(case) if not case.row("customers", name)]
    return tuple(call for name in unknown for call in case.read("get_customer", customer_id=name))


def _acting(case: Case) -> list[Row]:
    return [case.customer, *(row for name in _delegate_ids(case) if (row := case.row("customers", name)))]


def _shares_name(name: str, known: list[str]) -> bool:
    return any(set(words(plain(name))) & set(words(other)) for other in known)


def needs_proof(case: Case, calls: tuple[ToolCall, ...]) -> bool:
    """Tell whether the writes of a plan wait for a proof of identity."""
    return any(
        call.tool in SENSITIVE or (call.tool in _TOPICS and wants_proof(case, _TOPICS[call.tool]))
        for call in calls
    )


def prove(case: Case) -> Plan | None:
    """Return the next step of proving who the customer is; ``None`` where enough is proven.

    Codes that the customer gave are checked; else as many as policies want are sent and asked for, once;
    without means, or after a code that was wrong, the identity team takes over.
    """
    proven = _proven(case)
    missing = proofs_wanted(case) - len(proven)
    if missing <= 0:
        return None
    if case.wants("no_proof"):
        return hand(case, "unverified")
    reads = () if case.has("factors") else case.read("get_verification_status", customer_id=case.subject)
    if reads:
        return Plan("", reads=reads)
    checks = _checks(case, proven) if case.subject else ()
    if checks:
        return Plan("", calls=checks)
    return _ask_for_code(case, proven, missing) or hand(case, "unverified")


def _checks(case: Case, proven: frozenset[str]) -> tuple[ToolCall, ...]:
    """Return a check for each code that the customer gave and that is not checked yet."""
    checked = {str(entry.arguments.get("code")) for entry in case.entries if entry.tool == "verify_identity"}
    used = set(proven)
    calls: list[ToolCall] = []
    for code in [code for code in codes(case.said) if code not in checked][:3]:
        method = _method(case, code, used)
        used.add(method)
        calls += case.call("verify_identity", customer_id=case.subject, method=method, code=code)
    return tuple(call for call in calls if case.may_try(call))


def _ask_for_code(case: Case, proven: frozenset[str], missing: int) -> Plan | None:
    """Send codes by the means on file and ask for them in one turn; ``None`` where that was tried before."""
    on_file = {text(row, "method") for row in case.rows("factors") if row.get("locked") is not True} - proven
    if case.replied or not case.tools.keys() >= {"verify_identity"}:
        return None
    ready = [method for method in _SENDABLE if method in on_file]
    calls: list[ToolCall] = []
    for method in ready[:missing]:
        calls += case.call("send_verification_code", customer_id=case.subject, method=method)
    if len(calls) < missing and "totp" not in on_file:
        return None
    slots = tuple(slot for slot in case.seen.slots if slot == "verification_code")
    return Plan("ask", say=(case.tell("ask_code"),), calls=tuple(calls), asks=slots)


def _proven(case: Case) -> frozenset[str]:
    """Return the methods that succeeded in this conversation or were recorded within the last hour."""
    found = {
        str(entry.arguments.get("method"))
        for entry in case.writes("verify_identity")
        if isinstance(entry.result, Mapping) and entry.result.get("verified") is True
    }
    for row in case.rows("verifications"):
        at = instant(row, "at")
        if at is not None and timedelta(0) <= case.now - at <= timedelta(hours=1):
            found.add(text(row, "method"))
    return frozenset(found)


def _method(case: Case, code: str, used: set[str]) -> str:
    """Return the means that a code came by: as said before it, or else after it, as sent, else as on file."""
    message = next((message for message in case.messages if code in message), "")
    at = message.find(code)
    before, after = plain(message[max(0, at - _NEAR) : at]), plain(message[at : at + _NEAR])
    last = {method: found[-1].start() for method, one in _CHANNELS if (found := [*one.finditer(before)])}
    said = sorted(last, key=last.__getitem__, reverse=True)
    said += [method for method, pattern in _CHANNELS if pattern.search(after)]
    sent = [str(entry.arguments.get("method")) for entry in case.writes("send_verification_code")]
    on_file = [text(row, "method") for row in case.rows("factors")]
    usual = [method for method in ("totp", "email", "sms") if method in on_file]
    return next((method for method in (*said, *sent, *usual) if method not in used), "email")


def own_data(case: Case) -> Plan | None:
    """Change the customer's own contact, address or tax data to what the message gives; ask where it does not."""
    if not case.subject or not case.wants("change"):
        return None
    if case.wants("tax_id"):
        found = re.findall(r"\b[A-Z]{2,3}[A-Z0-9]{6,12}\b", case.said)
        calls = case.call("update_tax_id", customer_id=case.subject, tax_id=found[-1]) if found else ()
        return Plan("resolve", calls=calls) if calls else None
    given = _given(case)
    if given:
        calls = case.call("update_contact", customer_id=case.subject, **given)
        return Plan("resolve", calls=calls) if calls else None
    if case.wants("email", "phone", "payout") and case.tools.keys() & {"update_contact"}:
        if case.wants("no_proof"):
            return hand(case, "unverified")
        slots: list[str] = [
            slot for slot in ("email", "phone") if case.wants(slot) and slot in case.seen.slots
        ]
        return Plan("ask", say=(case.tell("ask", what=(slots or ["details"])[0]),), asks=tuple(slots[:1]))
    return _address(case) if case.wants("address") else None


def _given(case: Case) -> dict[str, str]:
    """Return the new contact values that the customer's words hold, those on file aside."""
    on_file = {plain(text(case.customer, key)) for key in ("email", "phone", "payout_account")}
    found: dict[str, str] = {}
    for key, values in (
        ("email", emails(case.said[:4000])),
        ("phone", phones(case.said[:4000])),
        ("payout_account", _IBAN.findall(case.said[:4000])),
    ):
        new = [value for value in values if plain(value) not in on_file]
        if new and case.wants(key.partition("_")[0]) | (key != "payout_account"):
            found[key] = new[-1]
    return found


_STREET: Final = re.compile(
    r"(?:address is|address to|moved to|direccion es|adresse ist|adresse est|to:|is:)\s+"
    r"([^,\n]{3,80}),\s*(?:([A-Z0-9][A-Z0-9 -]{2,9})\s+)?([^,\n\d]{2,40}),\s*([^,.\n\d]{2,40})",
    re.IGNORECASE,
)


def _address(case: Case) -> Plan | None:
    match = _STREET.search(" ".join(case.said[:4000].split()))
    country = text(case.customer, "country") or (match[4].strip() if match else "")
    calls = (
        case.call(
            "update_address",
            customer_id=case.subject,
            address=match[1].strip(),
            city=match[3].strip(),
            country=country,
            postcode=match[2],
        )
        if match
        else ()
    )
    return Plan("resolve", calls=calls) if calls else None
