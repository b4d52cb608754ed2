"""What the `rules` agent reads out of policy texts: limits, windows, hand-offs, demands for proof."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pytest_supportbench.agents.rules_case import Case
from pytest_supportbench.agents.rules_text import LONGEST, Money, clean, decimal
from pytest_supportbench.protocol import ToolCall, ToolInfo

_QUEUE: Final = re.compile(
    r"queue\s+[`'\"]([a-z][\w-]*)"
    r"|\b(?!(?:the|a|an|our|its|their|this|that|to|right|same|whole)\b)([a-z]\w*)[`'\"]?\s+(?:queue|team)\b"
)
_REASON: Final = re.compile(r"reason\s+[`'\"]?([a-z][\w-]*)")
_HANDS: Final = re.compile(r"\b(?:hand\w*|goes|go|escalat\w*|pass\w*|rout\w*|refer\w*|queue|transfer\w*)\b")
_NOT: Final = re.compile(r"\b(?:never|not|no longer)\s+(?:hand\w*|escalat\w*|pass\w*|rout\w*)\b")
_BOUND: Final = re.compile(r"\b(?:up to|over|above|more than|at most|exceed\w*|limit\w*|beyond|maximum)\b")
_SUM: Final = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s?([a-z]{3})\b|([$€£])\s?(\d[\d,]*(?:\.\d+)?)")
_SIGNS: Final = {"$": "USD", "€": "EUR", "£": "GBP"}
_WITHIN: Final = re.compile(r"\b(?:within|up to|for)\s+(\d{1,4})\s+(?:calendar\s+)?days\b")
_BAND: Final = re.compile(r"\bbetween\s+day\s+(\d{1,4})\s+and\s+day\s+(\d{1,4})\b")
_SHARE: Final = re.compile(r"\b(?:(half)|(\d{1,2}(?:\.\d+)?)\s?(?:percent|%))")
_PLANS: Final = {"year": re.compile(r"\b(?:yearly|annual)"), "month": re.compile(r"\bmonthly\b")}
_BANK_DAYS: Final = re.compile(r"\bbanks? take\w* up to (\d{1,2}) (?:working|business) days\b")
_TOLD: Final = re.compile(
    r"(?:\b(?:reply|customer|member)\b[^.;]{0,80}?\b(?:says|told)|\btells \w+ \w+)\s+"
    r"(?:the id[^.;]{0,40}? and\s+)?that\s+([^.;]{8,200})"
)
_TELLS_ID: Final = re.compile(r"\b(?:names|told|gives|says)\s+(?:that|the|its)\s+id\b")
_EMERGENCY: Final = re.compile(r"\bemergency (?:number|line|service)s?(?: is| on| at)?\s+(\d{2,5})\b")
_TELLS_TAIL: Final = re.compile(r",?\s+and\s+(?:names|says|gives)\b.*")
_PROOF: Final = re.compile(r"\b(?:verif\w+|proofs?|proven|one-time code|code sent)\b")
_DEMAND: Final = re.compile(r"\b(?:before|only after|must|requires?|needs?|only if|only when|first|until)\b")
_TWO: Final = re.compile(r"\btwo\s+(?:\w+\s+)?(?:proofs|factors|codes|means)\b")

QUEUE_OF: Final = {
    "over_limit": "billing",
    "unverified": "identity",
    "conflicting_policy": "policy_owner",
    "conflicting_evidence": "billing",
    "system_outage": "operations",
    "ownership_dispute": "ownership",
    "suspected_takeover": "fraud",
    "open_dispute": "disputes",
    "legal": "legal",
    "security": "security",
    "privacy": "privacy",
    "safety": "safety",
    "bereavement": "estates",
    "repeat_contact": "tier2",
    "customer_request": "general",
    "specialist_work": "tier2",
}
"""The queue that takes a reason where no policy names one."""

_REASON_OF: Final = {queue: reason for reason, queue in reversed(QUEUE_OF.items())} | {"general": "other"}


@dataclass(frozen=True, slots=True)
class Trigger:
    """A sentence of a policy that hands a case over: where to, why, and the sentence in plain text."""

    queue: str
    reason: str
    sentence: str


def triggers(case: Case) -> list[Trigger]:
    """Return the hand-offs that policies name, in order; a reason that is not named follows from the queue."""
    found = []
    for sentence in case.sentences:
        if not _HANDS.search(sentence) or _NOT.search(sentence):
            continue
        previous = 0
        for match in _QUEUE.finditer(sentence):
            queue = match[1] or match[2]
            reason = _REASON.search(sentence, match.start())
            if queue in _REASON_OF or reason:
                name = reason[1] if reason else _REASON_OF[queue]
                found.append(Trigger(queue, name, sentence[previous : match.end()]))
                previous = match.end()
    return found


def trigger(case: Case, reason: str) -> Trigger | None:
    """Return the first hand-off that policies name for a reason."""
    return next((found for found in triggers(case) if found.reason == reason), None)


def over_limit(case: Case, total: Money) -> bool:
    """Tell whether a sum is above the lowest bound that policies name in its currency."""
    bounds = [
        bound
        for sentence in case.sentences
        if _BOUND.search(sentence)
        for bound in _sums(sentence)
        if bound.currency == total.currency
    ]
    return bool(bounds) and total.amount > min(bound.amount for bound in bounds)


def _sums(sentence: str) -> list[Money]:
    found = []
    for number, code, sign, signed in _SUM.findall(sentence):
        amount = decimal((number or signed).replace(",", ""))
        if amount is not None:
            found.append(Money(amount, code.upper() if code else _SIGNS[sign]))
    return found


def _is_for_other(sentence: str, interval: str) -> bool:
    """Tell whether a sentence speaks of yearly plans where the payment is monthly, or the other way round."""
    spoken = {name for name, pattern in _PLANS.items() if pattern.search(sentence)}
    return bool(interval and spoken) and interval not in spoken


def window(case: Case, *topics: str, interval: str = "") -> int | None:
    """Return the days within which a sentence on all ``topics`` (patterns) allows something.

    ``interval`` is ``year`` or ``month`` where the payment is known to be for one; sentences on the other are not
    for it.
    """
    for sentence in case.sentences:
        match = _WITHIN.search(sentence)
        if (
            match
            and not _is_for_other(sentence, interval)
            and all(re.search(topic, sentence) for topic in topics)
        ):
            return int(match[1])
    return None


def credit_band(case: Case, interval: str = "") -> tuple[int, int, Decimal] | None:
    """Return first day, last day and share (0 to 1) of a rule that gives credit in place of a late refund."""
    for sentence in case.sentences:
        match = _BAND.search(sentence)
        if match and "credit" in sentence and not _is_for_other(sentence, interval):
            share = _SHARE.search(sentence)
            part = Decimal(1) if not share else Decimal("0.5") if share[1] else Decimal(share[2]) / 100
            return int(match[1]), int(match[2]), part
    return None


def bank_days(case: Case) -> int | None:
    """Return the working days that banks take, where policies want it said."""
    found = (_BANK_DAYS.search(sentence) for sentence in case.sentences)
    return next((int(match[1]) for match in found if match), None)


def told(case: Case, mark: str) -> tuple[str, ...]:
    """Return what the policy that contains ``mark`` wants the customer told; only English ones can be said."""
    if case.language != "en":
        return ()
    for policy in case.seen.policies:
        if mark in policy.text.casefold():
            found = _TOLD.search(clean(policy.text, LONGEST))
            if found:
                said = clean(_TELLS_TAIL.sub("", found[1])).replace(" and that ", " and ")
                return (f"{said[:1].upper()}{said[1:]}.",)
    return ()


def tells_id(case: Case, mark: str) -> bool:
    """Tell whether the policy that contains ``mark`` wants the customer told the id of what the case is about."""
    return any(mark in policy and _TELLS_ID.search(policy) for _, policy in case.policies)


def emergency_number(case: Case) -> str:
    """Return the emergency number that policies want named; empty where they name none."""
    return next((match[1] for sentence in case.sentences if (match := _EMERGENCY.search(sentence))), "")


def wants_proof(case: Case, topic: str) -> bool:
    """Tell whether a sentence demands a proof of identity before something on ``topic`` (a pattern) is done."""
    return any(
        _PROOF.search(sentence) and _DEMAND.search(sentence) and re.search(topic, sentence)
        for sentence in case.sentences
    )


def proofs_wanted(case: Case) -> int:
    """Return how many different proofs policies want: one, or two where they say so."""
    return 2 if any(_TWO.search(sentence) for sentence in case.sentences) else 1


def hand_over(
    case: Case, reason: str, queue: str = "", *, urgent: bool = False, about: Sequence[str] = ()
) -> tuple[ToolCall, ...]:
    """Return the call that hands the case over, with the ids of the records that it is ``about``.

    Empty where no such tool is permitted.

    The queue is the given one, else what a policy names for the reason, else the usual one. A choice that the
    tool does not offer becomes the one that it offers first.
    """
    tool = case.handoff
    if tool is None:
        return ()
    named = trigger(case, reason)
    queues = [queue, named.queue if named else "", QUEUE_OF.get(reason, "general")]
    wanted = {
        "queue": next(filter(None, queues)),
        "reason": reason,
        "summary": clean(case.message, 400) or "The customer wrote without words.",
        "customer_id": case.subject or None,
        "references": [name for name in about if name] or None,
        "priority": "urgent" if urgent else None,
    }
    properties = tool.parameters.get("properties")
    schemas = properties if isinstance(properties, dict) else {}
    required = tool.parameters.get("required")
    names = [name for name in (required if isinstance(required, list) else []) if isinstance(name, str)]
    arguments: dict[str, Any] = {
        name: value for name, value in wanted.items() if value is not None and name in schemas
    }
    for name in names:
        arguments.setdefault(name, wanted["summary"])
    offered = _choices(tool, schemas.get("queue"))
    if "queue" in arguments:
        arguments["queue"] = next((name for name in queues if name in offered), arguments["queue"])
    chosen = {
        name: value if name == "references" else _offered(value, _choices(tool, schemas.get(name)))
        for name, value in arguments.items()
    }
    return (ToolCall(tool=tool.name, arguments=chosen),)


def _choices(tool: ToolInfo, schema: Any) -> list[Any]:
    if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
        definitions = tool.parameters.get("$defs")
        name = schema["$ref"].rsplit("/", 1)[-1]
        schema = definitions.get(name) if isinstance(definitions, dict) else None
    found = schema.get("enum") if isinstance(schema, dict) else None
    return [choice for choice in found if isinstance(choice, str)] if isinstance(found, list) else []


def _offered(value: Any, choices: list[Any]) -> Any:
    if not choices or value in choices:
        return value
    return next((choice for choice in ("general", "other") if choice in choices), choices[0])
