"""The words in which English, Spanish, German and French agents say that they did something.

A verb form belongs to a kind of act; the kind and the concept of the noun beside it give the deed. So
``issued`` with ``refund`` is a refund, with ``credit`` a credit, and alone nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pytest_supportbench.scoring.text import listed

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping

    from pytest_supportbench.state import Deed

ANY: Final = "*"
"""The concept of no noun in particular: the verb alone gives the deed."""

AMOUNT: Final = (
    r"(?:[$€£¥]\s?[0-9][0-9.,]*(?<![.,])(?![.,]?[0-9])|[0-9][0-9.,]*(?<![.,])\s?(?:[$€£¥]|(?:usd|eur|gbp|chf|jpy|euros?|dollars?|pounds?|yen|"
    r"franken|dólares|libras|livres)\b))"
)
"""The pattern of an amount of money in lower-case text."""

LEADING: Final = ("team", "admin", "callback", "back", "hold")
"""Concepts that decide wherever they stand beside the verb; among others the first one does."""

KINDS: Final[Mapping[str, Mapping[str, Deed]]] = {
    "refund": {ANY: "refund"},
    "reverse": {"cancellation": "reinstatement", ANY: "refund"},
    "bring": {"team": "handoff", "back": "reinstatement", "ours": "request"},
    "return": {"cash": "refund", "back": "refund", "money": "refund", "charge": "refund", "refund": "refund"},
    "pay": {"back": "refund", "cash": "refund", "money": "refund", "charge": "refund", "refund": "refund"},
    "credit": {"back": "refund", "card": "refund", ANY: "credit"},
    "issue": {
        "refund": "refund",
        "credit": "credit",
        "hold": "hold",
        "cancellation": "cancellation",
        "seat": "seat_change",
        "contact": "update",
        "email": "update",
        "payment_plan": "payment_plan",
        "callback": "callback",
        "ticket": "request",
        "export": "export",
    },
    "cancel": {ANY: "cancellation"},
    "stop": {
        "renewal": "cancellation",
        "subscription": "cancellation",
        "plan": "cancellation",
        "session": "revocation",
    },
    "reinstate": {ANY: "reinstatement"},
    "change": {
        "callback": "callback",
        "hold": "hold",
        "plan": "plan_change",
        "seat": "seat_change",
        "contact": "update",
        "email": "update",
        "account": "update",
        "profile": "update",
    },
    "take": {},
    "move": {
        "team": "handoff",
        "ours": "request",
        "contact": "update",
        "email": "update",
        "plan": "plan_change",
        "renewal": "cancellation",
        "time": "schedule",
    },
    "plan_change": {"seat": "seat_change", ANY: "plan_change"},
    "remove": {
        "seat": "seat_change",
        "user": "seat_change",
        "session": "revocation",
        "contact": "update",
        "data": "deletion",
        "account": "deletion",
        "profile": "deletion",
    },
    "delete": {"session": "revocation", "user": "seat_change", ANY: "deletion"},
    "revoke": {ANY: "revocation"},
    "sign_out": {"session": "revocation"},
    "transfer": {
        "cash": "refund",
        "team": "handoff",
        "ours": "request",
        "ownership": "transfer",
        "account": "transfer",
        "money": "refund",
    },
    "handoff": {ANY: "handoff"},
    "pass": {"team": "handoff", "admin": "request", "ours": "request"},
    "schedule": {"callback": "callback", "team": "callback", ANY: "schedule"},
    "book": {
        "callback": "callback",
        "team": "callback",
        "back": "refund",
        "refund": "refund",
        "card": "refund",
        "credit": "credit",
        ANY: "schedule",
    },
    "send": {
        "cash": "refund",
        "team": "handoff",
        "ours": "request",
        "admin": "request",
        "back": "refund",
        "refund": "refund",
        "ticket": "request",
        "email": "message",
        "mail": "message",
    },
    "message": {"team": "handoff", "admin": "request", ANY: "message"},
    "hold": {ANY: "hold"},
    "verify": {"identity": "verification", "contact": "verification", "email": "verification"},
    "export": {ANY: "export"},
    "set_up": {"payment_plan": "payment_plan", "callback": "callback", "hold": "hold", "refund": "refund"},
    "split": {"payment_plan": "payment_plan"},
    "save": {"contact": "update", "email": "update", "profile": "update"},
    "close": {"session": "revocation", "plan": "cancellation", "subscription": "cancellation"},
    "open": {"team": "handoff", "ticket": "request"},
}
"""What each kind of act does to each concept."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language: verb forms and nouns, and the small words that make a claim of a verb.

    ``done`` are participles and past forms, ``doing`` progressive and ``base`` infinitive forms, each with
    its kind of act; ``past`` are forms that need no pronoun. ``endings`` are of compound nouns. ``phrasal`` has
    kinds that a particle changes (``took … off``), ``before_noun`` words after which a participle only describes
    (``the signed agreement``), ``to_us`` words before whoever is ours, be it a team or not. ``says`` finds
    claims without such a verb, ``promises`` those that somebody will call, ``reported`` what others said.
    A pattern is only tried where its cue, a substring, is found.
    """

    done: Mapping[str, str]
    nouns: Mapping[str, str]
    endings: Mapping[str, str]
    doing: Mapping[str, str]
    base: Mapping[str, str]
    past: Mapping[str, str]
    adverbs: frozenset[str]
    definite: frozenset[str]
    conditions: frozenset[str]
    habits: frozenset[str]
    says: tuple[tuple[str, re.Pattern[str], Deed], ...]
    promise_cues: tuple[str, ...]
    promises: re.Pattern[str]
    reported: re.Pattern[str]
    to_us: re.Pattern[str]
    phrasal: Mapping[tuple[str, str], str] = field(default_factory=dict)
    before_noun: frozenset[str] = frozenset()

    def kind(self, verb: str) -> str:
        """Return the kind of act of a verb form; the word must be one."""
        for table in (self.done, self.doing, self.past):
            if verb in table:
                return table[verb]
        return self.base[verb]

    def concept(self, word: str) -> str | None:
        """Return the concept that a lower-case noun stands for; compounds go by their last part."""
        found = self.nouns.get(word)
        if found is None and word.endswith("'s"):
            found = self.nouns.get(word[:-2])
        if found is None and self.endings:
            return next((concept for ending, concept in self.endings.items() if word.endswith(ending)), None)
        return found


def forms(**kinds: str) -> dict[str, str]:
    """Return a mapping from each listed word to the name that it stands under."""
    return {word: name for name, text in kinds.items() for word in listed(text)}


def inflected(kinds: Mapping[str, str], endings: Iterable[str]) -> dict[str, str]:
    """Return participles in ``-o`` or without ending, with the other endings of gender and number too."""
    return {word.removesuffix("o") + ending: kind for word, kind in kinds.items() for ending in endings}
