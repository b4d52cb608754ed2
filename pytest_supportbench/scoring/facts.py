"""Whether messages state a fact that the customer must be told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from pytest_supportbench.scoring.money import Found, FoundDate, find_dates, find_ids, find_money, find_numbers
from pytest_supportbench.scoring.phrases import Setting, affirmed, contains_phrase
from pytest_supportbench.scoring.reading import Reading, reading
from pytest_supportbench.scoring.standing import contradicting, is_denied, is_stated
from pytest_supportbench.scoring.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_supportbench.expected import FactValue, MustState

_COPULAS: Final = frozenset(listed("is are es son ist sind est sont :"))
_UNIT_WINDOW: Final = 60
_BEHIND: Final = re.compile(
    r"[\s-]*(?:\([^()\n]{1,30}\)[\s-]*)?(%|[^\W\d_]+(?:[\s-]+[^\W\d_]+){0,2}|\w{1,5}\b)"
)
_SPANS: Final = frozenset(
    listed(
        "day week month year hour tag woche monat jahr stunde día semana mes año hora jour semaine mois heure"
    )
)
"""Before a number, these make it an ordinal (``day 41``), which is no number of days."""
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


def check_fact(must: MustState, messages: str | Reading, language: str) -> FactFinding:
    """Look for a fact in the delivered ``messages`` (joined by blank lines).

    ``language`` says how numerals and dates are written. Money, numbers, dates and ids are stated where the
    value occurs and is affirmed (not in ``not $49``, ``$49 or $94``, ``I could not refund $49``); a text where
    one of its phrases is affirmed. A value of ``contradicted_by`` that is stated contradicts, and so does another
    number with the same unit, or another value beside a phrase of ``about``.
    """
    heard = reading(messages)
    stated, seen = _STATED[must.value.kind](must.value, must.unit, heard, language)
    against = next(
        (
            _shown(value)
            for value in must.contradicted_by
            if _STATED[value.kind](value, must.unit, heard, language)[0]
        ),
        None,
    )
    if against is None and must.value.number is not None and must.unit:
        against = next((text for text in seen if Decimal(text) != must.value.number), None)
    if against is None and must.about:
        against = _beside(must, heard, language)
    return FactFinding(stated, against, tuple(seen[:_SEEN]))


def _beside(must: MustState, heard: Reading, language: str) -> str | None:
    """Return a wrong value that stands where the message speaks of this fact."""
    found: list[Found] | list[FoundDate]
    if must.value.money is not None:
        number, currency = must.value.money.split()
        found = [money for money in find_money(heard.plain, language) if money.in_currency(currency)]
        right = [money.is_amount(Decimal(number), currency) for money in found]
    elif must.value.date is not None:
        found = find_dates(heard.plain, language)
        right = [date.is_date(must.value.date) for date in found]
    else:
        return None
    wrong = contradicting(heard, found, right, must.about, language)
    return str(wrong) if wrong is not None else None


def _shown(value: FactValue) -> str:
    shown = getattr(value, value.kind)
    return " / ".join(shown) if isinstance(shown, tuple) else str(shown)


def _money(value: FactValue, _unit: tuple[str, ...], heard: Reading, language: str) -> tuple[bool, list[str]]:
    assert value.money is not None
    number, currency = value.money.split()
    amount = Decimal(number)
    found = find_money(heard.plain, language)
    right = [money.is_amount(amount, currency) for money in found]
    return is_stated(heard, found, right, language), _affirmed(heard, found)


def _affirmed(heard: Reading, found: Sequence[Found] | Sequence[FoundDate]) -> list[str]:
    return [str(value) for value in found if not is_denied(heard.plain, value.start)]


def _number(value: FactValue, unit: tuple[str, ...], heard: Reading, language: str) -> tuple[bool, list[str]]:
    plain = heard.plain
    found = [
        number
        for number in find_numbers(plain, language)
        if _has_unit(plain, number, unit) and not is_denied(plain, number.start)
    ]
    return any(number.value == value.number for number in found), [str(number.value) for number in found]


def _has_unit(plain: str, number: Found, unit: tuple[str, ...]) -> bool:
    if not unit:
        return True
    behind = _BEHIND.match(plain, number.end, number.end + _UNIT_WINDOW)
    near = f" {' '.join(behind[1].lower().replace('-', ' ').split())} " if behind else ""
    before = plain[max(0, number.start - _UNIT_WINDOW) : number.start].lower().replace(":", " : ").split()
    announced = bool(before) and before[-1] in _COPULAS
    if announced:
        before.pop()
    if (
        before
        and not (not announced and before[-1] in _SPANS)
        and not (len(before) > 1 and before[-2][-1].isdigit())
    ):
        near += f" {before[-1]} "
    return any(f" {word.lower()} " in near for word in unit)


def _date(value: FactValue, _unit: tuple[str, ...], heard: Reading, language: str) -> tuple[bool, list[str]]:
    found = find_dates(heard.plain, language)
    right = [date.is_date(value.date or "") for date in found]
    return is_stated(heard, found, right, language), _affirmed(heard, found)


def _id(value: FactValue, _unit: tuple[str, ...], heard: Reading, language: str) -> tuple[bool, list[str]]:
    return affirmed_id(heard.plain, value.id or "", language), find_ids(heard.plain)


def affirmed_id(plain: str, wanted: str, language: str) -> bool:
    """Tell whether an id occurs as a whole word and is not denied right before."""
    return contains_phrase(_DENIED_ID.sub(" ", plain), wanted, language) is not None


_DENIED_ID: Final = re.compile(
    r"\b(?:not|nicht|pas|instead\s+of|rather\s+than)\s+[\w-]*[0-9][\w-]*", re.IGNORECASE
)


def _language(
    value: FactValue, _unit: tuple[str, ...], heard: Reading, _language: str
) -> tuple[bool, list[str]]:
    found = heard.language
    return found == value.language, [found] if found else []


def _text(value: FactValue, _unit: tuple[str, ...], heard: Reading, language: str) -> tuple[bool, list[str]]:
    found = [
        phrase for phrase in value.text or () if affirmed(heard, phrase, language, unless=_TEXT_DENIED_BY)
    ]
    return bool(found), found


_STATED: Final[dict[str, Callable[[FactValue, tuple[str, ...], Reading, str], tuple[bool, list[str]]]]] = {
    "money": _money,
    "number": _number,
    "date": _date,
    "id": _id,
    "language": _language,
    "text": _text,
}
