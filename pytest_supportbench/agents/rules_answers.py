"""Rules of the `rules` agent that only answer: where something is, what is down, what the help pages say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_supportbench.agents.rules_case import Case, Plan, Row, day, text
from pytest_supportbench.agents.rules_text import clean, words

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_QUERY_WORDS: Final = 12
_SUCCESSORS: Final = 5
_ADMITTED: Final = 3
"""Words that a found article must share with the customer's."""


def whereabouts(case: Case) -> Plan | None:
    """Tell the state of the order or support case that the customer asks about, with its dates."""
    if not case.wants("where"):
        return None
    table = "orders" if case.wants("order") else "tickets" if case.wants("ticket") else ""
    if not table:
        return None
    reads = case.need(table)
    if reads:
        return Plan("", reads=reads)
    rows = sorted(
        case.rows(table), key=lambda row: case.overlap(f"{row.get('items', '')} {row.get('title', '')}")
    )
    if not rows:
        return None
    row = rows[-1]
    what = text(row, "title") or text(row, "id")
    said = [case.tell("state", what=what, state=text(row, "status", 20))]
    when = day(case, row, "delivered_on", "closed_at", "expected_on")
    if when:
        said.append(case.tell("by", date=when))
    return Plan("resolve", "answer", say=tuple(said))


def status(case: Case) -> Plan | None:
    """Tell which incidents are open where something does not work."""
    if not case.wants("down", "outage"):
        return None
    reads = () if case.has("incidents") else case.read("get_system_status")
    if reads:
        return Plan("", reads=reads)
    rows = [row for row in case.rows("incidents") if text(row, "status") != "resolved"]
    if not case.has("incidents"):
        return None
    said = [case.tell("incident", what=text(row, "title")) for row in rows[:2]] or [case.tell("healthy")]
    return Plan("resolve", "answer", say=tuple(said))


def knowledge(case: Case) -> Plan | None:
    """Answer from the best public article; report a gap where there is none."""
    found = [entry for entry in case.entries if entry.tool == "search_knowledge"]
    query = " ".join(dict.fromkeys(word for word in words(case.text) if len(word) > 3))  # noqa: PLR2004 - no small words
    terms = query.split()[:_QUERY_WORDS]
    reads = case.read("search_knowledge", query=" ".join(terms)) if terms and not found else ()
    if reads:
        return Plan("", reads=reads)
    if not found:
        return None
    hits = [row for row in _hits(found[-1].result) if text(row, "audience") != "internal"]
    hits = [row for row in hits if case.overlap(f"{text(row, 'title')} {text(row, 'snippet')}") >= _ADMITTED]
    if hits:
        identity = _latest(case, hits[0])
        reads = case.read("get_article", article_id=identity)
        if reads:
            return Plan("", reads=reads)
        row = case.row("articles", identity)
        body = text(row, "text", 4000) or text(row, "snippet", 400)
        if not body:
            return Plan("decline", say=(case.tell("no_answer"),))
        return Plan("resolve", "answer", say=(case.tell("article", what=_best(case, body)),))
    calls = case.call("report_doc_gap", topic=clean(case.message, 80), question=clean(case.message, 300))
    return Plan("decline", "decline", say=(case.tell("no_answer"),), calls=calls)


def _latest(case: Case, hit: Row) -> str:
    """Return the id of the article that holds in place of a found one, as far as its successors are known."""
    identity = text(hit, "id")
    for _ in range(_SUCCESSORS):
        identity = text(case.row("articles", identity), "superseded_by") or identity
    return identity


def _hits(result: Any) -> list[Row]:
    return [row for row in result[:20] if isinstance(row, Mapping)] if isinstance(result, list) else []


def _best(case: Case, body: str) -> str:
    """Return the two sentences of an article that fit the customer's words best, in their order."""
    parts = _SENTENCE.split(body)[:60]
    ranked = sorted(range(len(parts)), key=lambda number: -case.overlap(parts[number]))[:2]
    return clean(" ".join(parts[number] for number in sorted(ranked)), 500)


def last_resort(case: Case) -> Plan:
    """Ask once for more, then decline."""
    if not case.replied and case.seen.slots:
        slot = "other" if "other" in case.seen.slots else case.seen.slots[0]
        return Plan("ask", say=(case.tell("ask", what=slot.replace("_", " ")),), asks=(slot,))
    return Plan("decline", say=(case.tell("no_answer"),))
