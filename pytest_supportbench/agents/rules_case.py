"""One observation as the `rules` agent reads it: the records, the customer's words, what was tried so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pytest_supportbench.agents.rules_phrases import phrase
from pytest_supportbench.agents.rules_text import LANGUAGES, Money, clean, decimal, language_of, plain, words
from pytest_supportbench.agents.rules_words import INTENTS
from pytest_supportbench.protocol import CustomerEntry, Observation, ToolCall, ToolEntry, ToolInfo

Row: TypeAlias = Mapping[str, Any]

MAX_ROWS: Final = 500
"""Rows of one table that are read."""

PROOF_TOOLS: Final = frozenset({"send_verification_code", "verify_identity"})
_READS: Final = ("get_", "list_", "find_", "search_", "compute_", "reply")
_TABLES: Final[Mapping[str, str]] = {
    "search_knowledge": "articles",
    "get_system_status": "components",
    "list_seats": "users",
}
_SENTENCE: Final = re.compile(r"(?<=[.;!?])\s+")
_SPARED: Final = re.compile(
    r"\b(?:leave\s(?:\S+\s){1,4}(?:alone|in peace|as)|leave\s(?:it|that|this|them)\b|(?:can|may|should)\sstay|"
    r"not\sth(?:at|e other)\sone|don'?t\stouch|do\snot\stouch|deja\s|dejen\s|lassen\ssie|soll\sbleiben|"
    r"nicht\santasten|ne\stouchez\spas|laissez\s)"
)
"""In the customer's words: what this sentence names is to be left alone."""

_INNER: Final = {"seats": "users"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rule decides.

    ``reads`` are wanted before the rule can decide: if there are any, nothing else counts. ``calls`` are the
    writes in their order; where they have all succeeded, ``say`` follows what they did. ``action`` is the name
    of the wanted outcome; empty, it follows from the calls. ``kind`` is its class.
    """

    kind: str
    action: str = ""
    say: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    asks: tuple[str, ...] = ()
    reads: tuple[ToolCall, ...] = ()


class Case:
    """A view of one observation. Every accessor tolerates records of any shape; none raises."""

    def __init__(self, observation: Observation) -> None:
        self.seen = observation
        self.tools: dict[str, ToolInfo] = {tool.name: tool for tool in observation.tools}
        self.entries = [entry for entry in observation.transcript if isinstance(entry, ToolEntry)]
        replies = [entry.message for entry in observation.transcript if isinstance(entry, CustomerEntry)]
        self.message = observation.customer.message
        self.messages = [self.message, *replies]
        self.said = "\n".join(self.messages)
        self.text = plain(self.said)
        earlier = [entry.message for entry in observation.customer.history if entry.role == "customer"]
        self.context = plain("\n".join([*earlier[-3:], self.said]))
        self.replied = bool(replies)
        self.policies = [(policy.id, plain(policy.text)) for policy in observation.policies]

    # -- the customer

    @cached_property
    def customer(self) -> Row:
        """The record of the customer whose case this is; empty where the account shows none."""
        return next(iter(self._visible("customers") or self._visible("customer")), {})

    @cached_property
    def subject(self) -> str:
        """The customer's id; empty where the account does not tell."""
        found = text(self.customer, "id")
        if found:
            return found
        rows = (row for name in self.seen.account for row in self._visible(name))
        return next((text(row, "customer_id") for row in rows if text(row, "customer_id")), "")

    @cached_property
    def language(self) -> str:
        """The language to answer in: that of the customer's words, else of the profile, else English."""
        profile = text(self.customer, "language")[:2].lower()
        return language_of(plain(self.message), profile if profile in LANGUAGES else "en")

    @cached_property
    def now(self) -> datetime:
        """The time of the case: on the customer's own clock where policies count days in the account's time zone."""
        now = _instant(self.seen.as_of) or datetime(2000, 1, 1, tzinfo=UTC)
        own = any("time zone" in sentence and "account" in sentence for sentence in self.sentences)
        return self.local(now) if own else now

    def local(self, moment: datetime) -> datetime:
        """Return a moment on the clock of the customer's profile; unchanged where that cannot be done."""
        try:
            return moment.astimezone(ZoneInfo(text(self.customer, "timezone", 60) or "UTC"))
        except (ZoneInfoNotFoundError, ValueError, OSError, OverflowError):
            return moment

    def wants(self, *intents: str) -> bool:
        """Tell whether the customer's words match one of the named sets of keywords."""
        return any(INTENTS[name].search(self.text) for name in intents)

    def mentions(self, value: str) -> bool:
        """Tell whether the customer's words contain a name or id as whole words."""
        wanted = " ".join(words(plain(value)))
        return bool(wanted) and f" {wanted} " in self._joined

    def overlap(self, value: str) -> int:
        """Return how many different words of four letters or more a text shares with the customer's.

        Sentences that ask to leave something alone do not count.
        """
        return len({word for word in words(plain(value)) if len(word) > 3} & self._vocabulary)  # noqa: PLR2004

    @cached_property
    def _joined(self) -> str:
        return f" {' '.join(words(self.context))} "

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        kept = [part for part in _SENTENCE.split(self.context) if not _SPARED.search(part)]
        return frozenset(words(" ".join(kept) or self.context))

    # -- the policies

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of all policies, in plain text."""
        return [part for _, policy in self.policies for part in _SENTENCE.split(policy)]

    # -- the records

    def rows(self, table: str) -> list[Row]:
        """Return a table's rows: those that the account shows, overlaid by what was read before any write."""
        return self._tables.get(table, [])

    def has(self, table: str) -> bool:
        """Tell whether a table is known, if only to be empty."""
        return table in self._tables

    def row(self, table: str, identity: str) -> Row:
        """Return the row of that id, or an empty one."""
        return next((row for row in self.rows(table) if text(row, "id") == identity), {})

    def _visible(self, table: str) -> list[Row]:
        value = self.seen.account.get(table)
        values = value if isinstance(value, list) else [value]
        return [row for row in values[:MAX_ROWS] if isinstance(row, Mapping)]

    @cached_property
    def _tables(self) -> dict[str, list[Row]]:
        merged: dict[str, dict[str, Row]] = {}
        for name in self.seen.account:
            _merge(merged, name, self._visible(name))
        for entry in self.entries:
            if not entry.tool.startswith(_READS):
                if entry.tool in PROOF_TOOLS:
                    continue
                break
            if entry.status == "ok":
                table = _TABLES.get(entry.tool, "") or _table(entry.tool)
                self._take(merged, table, entry.result)
        return {name: list(rows.values()) for name, rows in merged.items()}

    def _take(self, merged: dict[str, dict[str, Row]], table: str, result: Any) -> None:
        if isinstance(result, list):
            _merge(merged, table, [row for row in result[:MAX_ROWS] if self._is_own(row)])
        elif isinstance(result, Mapping):
            for name, value in result.items():
                if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
                    self._take(merged, _INNER.get(str(name), str(name)), value)
            if isinstance(result.get("id"), str) and self._is_own(result):
                _merge(merged, table, [result])

    def _is_own(self, row: object) -> bool:
        """Refuse what belongs to another customer: a service may hand out a wrong record."""
        owner = row.get("customer_id", self.subject) if isinstance(row, Mapping) else None
        return isinstance(row, Mapping) and owner in {None, "", self.subject} if _hashable(owner) else False

    # -- the calls

    def call(self, tool: str, **arguments: object) -> tuple[ToolCall, ...]:
        """Return a call of a permitted tool as a tuple of one; empty where it is not permitted.

        Arguments that are ``None`` or that the tool does not take are left out.
        """
        info = self.tools.get(tool)
        if info is None:
            return ()
        known = info.parameters.get("properties")
        known = known if isinstance(known, Mapping) else {}
        kept = {name: value for name, value in arguments.items() if value is not None and name in known}
        return (ToolCall(tool=tool, arguments=kept),)

    def read(self, tool: str, **arguments: object) -> tuple[ToolCall, ...]:
        """Return a read that has not been tried, or whose only try may be repeated, while turns last."""
        calls = self.call(tool, **arguments)
        return calls if calls and self.seen.turns_left > 2 and self.may_try(calls[0]) else ()  # noqa: PLR2004

    def need(self, table: str) -> tuple[ToolCall, ...]:
        """Return the read that lists a table of the customer, where it is not known and can be read."""
        if self.has(table) or not self.subject:
            return ()
        return self.read(f"list_{table}", customer_id=self.subject)

    def tries(self, call: ToolCall) -> list[ToolEntry]:
        """Return what came back from equal calls, in order."""
        return [e for e in self.entries if e.tool == call.tool and e.arguments == call.arguments]

    def may_try(self, call: ToolCall) -> bool:
        """Tell whether a call is new, or failed once with an error that may pass."""
        tries = self.tries(call)
        return not tries or (len(tries) == 1 and tries[0].error is not None and tries[0].error.retryable)

    def writes(self, *tools: str) -> list[ToolEntry]:
        """Return the writes that succeeded, wholly or in part, in order; of the named tools only, if any."""
        return [
            entry
            for entry in self.entries
            if entry.status != "error"
            and not entry.tool.startswith(_READS)
            and (not tools or entry.tool in tools)
        ]

    @property
    def handoff(self) -> ToolInfo | None:
        """The first permitted tool that hands the case to people."""
        return next((tool for tool in self.seen.tools if tool.handoff), None)

    # -- the words of the reply

    def tell(self, name: str, **values: object) -> str:
        """Return a fixed sentence in the customer's language."""
        return phrase(self.language, name, **values)


def text(row: Row, key: str, longest: int = 200) -> str:
    """Return a field as clean text, empty where it is none."""
    value = row.get(key)
    return clean(value, longest) if isinstance(value, str) else ""


def money(row: Row, key: str = "amount") -> Money | None:
    """Return a positive amount with the row's currency, ``None`` where either is missing."""
    amount, currency = decimal(row.get(key)), text(row, "currency", 3)
    if amount is None or amount <= 0 or not re.fullmatch("[A-Z]{3}", currency):
        return None
    return Money(amount, currency)


def instant(row: Row, key: str) -> datetime | None:
    """Return a field as an instant with its offset; a plain date is its midnight in UTC."""
    value = row.get(key)
    return _instant(value) if isinstance(value, str) else None


def day(case: Case, row: Row, *keys: str) -> date | None:
    """Return the calendar day of the first field that has one, on the clock of the case."""
    for key in keys:
        value = instant(row, key)
        if value is not None:
            return value.date() if len(str(row[key])) <= 10 else on_clock(case, value).date()  # noqa: PLR2004
    return None


def on_clock(case: Case, value: datetime) -> datetime:
    """Return an instant in the time zone of the case's own time."""
    try:
        return value.astimezone(case.now.tzinfo)
    except (OverflowError, ValueError):
        return value


def _instant(value: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(value[:40])
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _table(tool: str) -> str:
    verb, _, name = tool.partition("_")
    return name if verb == "list" else f"{name}s"


def _merge(merged: dict[str, dict[str, Row]], table: str, rows: list[Row]) -> None:
    known = merged.setdefault(table, {})
    for row in rows:
        key = text(row, "id") or f"#{len(known)}"
        known[key] = {**known.get(key, {}), **row}


def _hashable(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
