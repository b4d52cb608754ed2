"""Whether messages state a fact that the customer must be told."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.money import Found, FoundDate, find_ids
from pytest_supportbench.scoring.phrases import Setting, contains_phrase, find_in_folded, those_affirmed
from pytest_supportbench.scoring.reading import Reading, reading
from pytest_supportbench.scoring.standing import contradicting, is_denied, is_stated
from pytest_supportbench.scoring.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_supportbench.expected import FactValue, MustState

_COPULAS: Final = frozenset(listed("is are es son ist sind est sont :"))
_UNIT_WINDOW: Final = 60
_BEHIND: Final = later(
    r"[ \t-]*(?:\([^()\n]{1,30}\)[ \t-]*)?(%|[^\W\d_]+(?:[ \t-]+[^\W\d_]+){0,2}|\w{1,5}\b)"
    r"(?:\s?\(([^()\n0-9]{1,30})\))?"
)
_AGO: Final = later(
    r"\s+(?:[^\W\d_]+\s+){1,2}?(?:ago|before|earlier|zuvor|vorher|antes|atrás|auparavant|plus\s+tôt)\b"
)
_AGO_BEFORE: Final = later(
    r"\b(?:vor|hace|il\s+y\s+a)\s+(?:(?:etwa|rund|unos|unas|environ)\s+)?\Z", re.IGNORECASE
)
_SPANS: Final = frozenset(
    listed(
        "day week month year hour tag woche monat jahr stunde día semana mes año hora jour semaine mois heure"
    )
)
"""Before a number, these make it an ordinal (``day 41``), which is no number of days."""
_TEXT_DENIED_BY: Final[frozenset[Setting]] = frozenset({"negation", "question"})
_NOT_MENTIONED: Final[frozenset[Setting]] = frozenset({"quotation", "question"})
_SEEN: Final = 8


class FactFinding(NamedTuple):
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
    stated, seen = _STATED[must.value.kind](must.value, must.unit, _of(must, heard, language), language)
    against = None
    for value in must.contradicted_by:
        if _STATED[value.kind](value, must.unit, heard, language)[0]:
            against = _shown(value)
            break
    if against is None and must.value.number is not None and must.unit:
        against = _other_number(must.value.number, must.unit, heard, language)
    if against is None and must.about:
        against = _beside(must, heard, language)
    return FactFinding(stated, against, tuple(seen[:_SEEN]))


def _of(must: MustState, heard: Reading, language: str) -> Reading:
    """Return what a fact in words is looked for in: the sentences with a phrase of ``about``, where it has any."""
    if not must.about or must.value.kind not in {"text", "mention"}:
        return heard
    texts = [
        sentence.text
        for sentence in heard.sentences
        if any(find_in_folded(sentence.folded, phrase, language) for phrase in must.about)
    ]
    return Reading("\n\n".join(texts))


def _other_number(right: Decimal, unit: tuple[str, ...], heard: Reading, language: str) -> str | None:
    """Return another number with the unit that is stated, unless it tells when something was or is, counted from then.

    ``2 days ago`` and ``24 hours before`` are points in time, and no length that could contradict another.
    """
    return next(
        (
            str(number.value)
            for number in _with_unit(unit, heard, language)
            if number.value != right and not _is_point_in_time(heard.plain, number)
        ),
        None,
    )


def _is_point_in_time(plain: str, number: Found) -> bool:
    return (
        _AGO.match(plain, number.end) is not None
        or _AGO_BEFORE.search(plain, max(0, number.start - _UNIT_WINDOW), number.start) is not None
    )


def _beside(must: MustState, heard: Reading, language: str) -> str | None:
    """Return a wrong value that stands where the message speaks of this fact."""
    found: list[Found] | list[FoundDate]
    if must.value.money is not None:
        number, currency = must.value.money.split()
        found = [money for money in heard.money(language) if money.in_currency(currency)]
        right = [money.is_amount(Decimal(number), currency) for money in found]
    elif must.value.date is not None:
        found = heard.dates(language)
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
    found = heard.money(language)
    right = [money.is_amount(amount, currency) for money in found]
    return is_stated(heard, found, right, language), _affirmed(heard, found)


def _affirmed(heard: Reading, found: Sequence[Found] | Sequence[FoundDate]) -> list[str]:
    return [str(value) for value in found if not is_denied(heard.plain, value.start)]


def _number(value: FactValue, unit: tuple[str, ...], heard: Reading, language: str) -> tuple[bool, list[str]]:
    found = _with_unit(unit, heard, language)
    return any(number.value == value.number for number in found), [str(number.value) for number in found]


def _with_unit(unit: tuple[str, ...], heard: Reading, language: str) -> list[Found]:
    plain = heard.plain
    return [
        number
        for number in heard.numbers(language)
        if _has_unit(plain, number, unit) and not is_denied(plain, number.start)
    ]


def _has_unit(plain: str, number: Found, unit: tuple[str, ...]) -> bool:
    if not unit:
        return True
    behind = _BEHIND.match(plain, number.end, number.end + _UNIT_WINDOW)
    near = ""
    if behind:
        near = f" {' '.join(f'{behind[1]} {behind[2] or str()}'.lower().replace('-', ' ').split())} "
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
    found = heard.dates(language)
    right = [date.is_date(value.date or "") for date in found]
    return is_stated(heard, found, right, language), _affirmed(heard, found)


def _id(value: FactValue, _unit: tuple[str, ...], heard: Reading, language: str) -> tuple[bool, list[str]]:
    return affirmed_id(heard.plain, value.id or "", language), find_ids(heard.plain)


def affirmed_id(plain: str, wanted: str, language: str) -> bool:
    """Tell whether an id occurs as a whole word and is not denied right before."""
    return contains_phrase(_DENIED_ID.sub(" ", plain), wanted, language) is not None


_DENIED_ID: Final = later(
    r"\b(?:not|nicht|pas|instead\s+of|rather\s+than)\s+[\w-]*[0-9][\w-]*", re.IGNORECASE
)


def _language(
    value: FactValue, _unit: tuple[str, ...], heard: Reading, _language: str
) -> tuple[bool, list[str]]:
    found = heard.language
    return found == value.language, [found] if found else []


def _text(value: FactValue, _unit: tuple[str, ...], heard: Reading, language: str) -> tuple[bool, list[str]]:
    found = [*those_affirmed(heard, value.text or (), language, unless=_TEXT_DENIED_BY)]
    return bool(found), found


def _mention(
    value: FactValue, _unit: tuple[str, ...], heard: Reading, language: str
) -> tuple[bool, list[str]]:
    found = [*those_affirmed(heard, value.mention or (), language, unless=_NOT_MENTIONED)]
    return bool(found), found


_STATED: Final[dict[str, Callable[[FactValue, tuple[str, ...], Reading, str], tuple[bool, list[str]]]]] = {
    "money": _money,
    "number": _number,
    "date": _date,
    "id": _id,
    "language": _language,
    "text": _text,
    "mention": _mention,
}
