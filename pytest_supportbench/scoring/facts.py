"""Whether messages state a fact that the customer must be told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from pytest_supportbench.scoring.language import detect_language
from pytest_supportbench.scoring.money import Found, find_dates, find_ids, find_money, find_numbers
from pytest_supportbench.scoring.phrases import Setting, affirmed, contains_phrase
from pytest_supportbench.scoring.text import listed, normalise

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_supportbench.expected import FactValue, MustState

_DENIALS: Final = frozenset(listed("not isn't wasn't nicht statt kein keine pas than"))
_DENIALS_OF_TWO: Final = frozenset({"instead of", "lugar de", "lieu de", "anstatt von"})
_ARTICLES: Final = frozenset(listed("the a an los las el les le la die der das den de by"))
_COPULAS: Final = frozenset(listed("is are es son ist sind est sont"))
_DENIAL_WINDOW: Final = 40
_UNIT_WINDOW: Final = 60
_BEHIND: Final = re.compile(r"[\s-]*([^\W\d_]+(?:[\s-]+[^\W\d_]+){0,2})")
_TEXT_DENIED_BY: Final[frozenset[Setting]] = frozenset({"negation", "question"})
_SEEN: Final = 8


@dataclass(frozen=True, slots=True)
class FactFinding:
    """Whether a fact is stated; ``contradicted_by`` names a stated value that speaks against it.

    ``seen`` lists the values of the same kind that were found, at most eight, in order, for the report.
    """

    stated: bool
    contradicted_by: str | None
    seen: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the fact is stated and nothing contradicts it."""
        return self.stated and self.contradicted_by is None


def check_fact(must: MustState, messages: str, language: str) -> FactFinding:
    """Look for a fact in the delivered ``messages`` (joined by blank lines).

    ``language`` says how numerals and dates are written. Money, numbers, dates and ids are stated where the
    value occurs and is not denied right before (``not $49``); a text where one of its phrases is affirmed. A
    value of ``contradicted_by`` that is stated contradicts, and so does another number with the same unit.
    """
    plain = normalise(messages)
    stated, seen = _STATED[must.value.kind](must.value, must.unit, plain, language)
    against = next(
        (
            _shown(value)
            for value in must.contradicted_by
            if _STATED[value.kind](value, must.unit, plain, language)[0]
        ),
        None,
    )
    if against is None and must.value.number is not None and must.unit:
        against = next((text for text in seen if Decimal(text) != must.value.number), None)
    return FactFinding(stated, against, tuple(seen[:_SEEN]))


def _shown(value: FactValue) -> str:
    shown = getattr(value, value.kind)
    return " / ".join(shown) if isinstance(shown, tuple) else str(shown)


def _is_denied(plain: str, start: int) -> bool:
    """Tell whether the value at ``start`` is denied right before (``not the $49``, ``instead of $49``)."""
    words = plain[max(0, start - _DENIAL_WINDOW) : start].lower().split()
    if words and words[-1] in _ARTICLES and " ".join(words[-2:]) not in _DENIALS_OF_TWO:
        words.pop()
    if not words:
        return False
    if words[-1] == "no" and len(words) > 1:
        return words[-2].endswith(",") or words[-2] in {"y", "and", "sino"}
    return words[-1] in _DENIALS or " ".join(words[-2:]) in _DENIALS_OF_TWO


def _money(value: FactValue, _unit: tuple[str, ...], plain: str, language: str) -> tuple[bool, list[str]]:
    assert value.money is not None
    number, currency = value.money.split()
    amount = Decimal(number)
    found = [money for money in find_money(plain, language) if not _is_denied(plain, money.start)]
    return any(money.is_amount(amount, currency) for money in found), list(map(str, found))


def _number(value: FactValue, unit: tuple[str, ...], plain: str, language: str) -> tuple[bool, list[str]]:
    found = [
        number
        for number in find_numbers(plain, language)
        if _has_unit(plain, number, unit) and not _is_denied(plain, number.start)
    ]
    return any(number.value == value.number for number in found), [str(number.value) for number in found]


def _has_unit(plain: str, number: Found, unit: tuple[str, ...]) -> bool:
    if not unit:
        return True
    behind = _BEHIND.match(plain, number.end, number.end + _UNIT_WINDOW)
    near = f" {' '.join(behind[1].lower().replace('-', ' ').split())} " if behind else ""
    before = plain[max(0, number.start - _UNIT_WINDOW) : number.start].lower().replace(":", " ").split()
    if before and before[-1] in _COPULAS:
        before.pop()
    if before and not (len(before) > 1 and before[-2][-1].isdigit()):
        near += f" {before[-1]} "
    return any(f" {word.lower()} " in near for word in unit)


def _date(value: FactValue, _unit: tuple[str, ...], plain: str, language: str) -> tuple[bool, list[str]]:
    wanted = value.date or ""
    found = [date for date in find_dates(plain, language) if not _is_denied(plain, date.start)]
    return any(date.is_date(wanted) for date in found), list(map(str, found))


def _id(value: FactValue, _unit: tuple[str, ...], plain: str, language: str) -> tuple[bool, list[str]]:
    return affirmed_id(plain, value.id or "", language), find_ids(plain)


def affirmed_id(plain: str, wanted: str, language: str) -> bool:
    """Tell whether an id occurs as a whole word and is not denied right before."""
    return contains_phrase(_DENIED_ID.sub(" ", plain), wanted, language) is not None


_DENIED_ID: Final = re.compile(
    r"\b(?:not|nicht|pas|instead\s+of|rather\s+than)\s+[\w-]*[0-9][\w-]*", re.IGNORECASE
)


def _language(value: FactValue, _unit: tuple[str, ...], plain: str, _language: str) -> tuple[bool, list[str]]:
    found = detect_language(plain)
    return found == value.language, [found] if found else []


def _text(value: FactValue, _unit: tuple[str, ...], plain: str, language: str) -> tuple[bool, list[str]]:
    found = [
        phrase for phrase in value.text or () if affirmed(plain, phrase, language, unless=_TEXT_DENIED_BY)
    ]
    return bool(found), found


_STATED: Final[dict[str, Callable[[FactValue, tuple[str, ...], str, str], tuple[bool, list[str]]]]] = {
    "money": _money,
    "number": _number,
    "date": _date,
    "id": _id,
    "language": _language,
    "text": _text,
}
