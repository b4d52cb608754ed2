"""Calendar dates in text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.text import listed, normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTHS: Final = (
    "january jan enero ene januar jänner janvier janeiro",
    "february feb febrero februar février fevereiro fev",
    "march mar marzo märz mrz mars março",
    "april apr abril abr avril",
    "may mayo mai maio",
    "june jun junio juni juin junho",
    "july jul julio juli juillet julho",
    "august aug agosto ago août",
    "september sep sept septiembre septembre setembro set",
    "october oct octubre oktober okt octobre outubro out",
    "november nov noviembre novembre novembro",
    "december dec diciembre dic dezember dez décembre déc dezembro",
)
_MONTH: Final = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_RUN: Final = later("[0-9]+")
_ISO: Final = later(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
_NUMERIC: Final = later(r"([0-9]{1,2})([./])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})(?![0-9])")
_DASHED: Final = later(r"([0-9]{1,2})(-)([0-9]{1,2})-([0-9]{4})(?![0-9-])")
_NO_YEAR: Final = later(r"([0-9]{2})/([0-9]{2})(?![0-9/])")
_DATED: Final = later(
    r"\b(?:on|by|until|am|vom|bis|el|del|le|du|[a-z]+day|\w+tag|lunes|martes|miércoles|jueves|viernes|sábado|domingo|"
    r"lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche),?\s\Z",
    re.IGNORECASE,
)
"""Before two numbers with a slash, these make a day of them (``on Saturday 16/05``)."""
_DAY_FIRST: Final = later(
    r"([0-9]{1,2})(?:st|nd|rd|th|er|o|a|\.)?\s(?:of\s|de\s|do\s)?(?:the\s)?([^\W\d_]{3,10})\b\.?"
    r"(?:,?\s(?:of\s|de\s|del\s)?([0-9]{4})(?![0-9]))?",
    re.IGNORECASE,
)
_NAME_BEFORE: Final = later(r"(?<!\w)([^\W\d_]{3,10})\.?\s(?:the\s)?\Z", re.IGNORECASE)
_DAY_SECOND: Final = later(
    r"([0-9]{1,2})(?:st|nd|rd|th)?(?!\w|[.,][0-9])(?:,?\s([0-9]{4})(?![0-9]))?", re.IGNORECASE
)
_RANGE: Final = later(
    r"(?<![\w.,/-])([0-9]{1,2})(?:st|nd|rd|th|er|\.)?\s?(?:[-\u2013]|(?:to|until|and|or|bis(?:\szum)?|und|oder|al?|y|o|au|et|ou)\s)"
    r"\s?(?:the\s|el\s|le\s|am\s)?\Z"
)
"""A day right before a date with its month, which it shares (``from 1 to 14 April``)."""
_RANGE_WINDOW: Final = 20
_NAME_WINDOW: Final = 17
_LAST_MONTH, _LAST_DAY = 12, 31
_CENTURY: Final = 2000
_ORDINALS: Final = {
    name: day
    for day, name in enumerate(
        listed(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
            "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first "
            "twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh "
            "twenty-eighth twenty-ninth thirtieth thirty-first"
        ),
        1,
    )
}
_SPELT: Final = later(
    r"(?<![\w-])((?:twenty-|thirty-)?[a-z]{3,8}(?:st|nd|rd|th))\s(?:day\s)?of\s([a-z]{3,10})(?!\w)"
    r"(?:,?\s([0-9]{4})(?![0-9]))?",
    re.IGNORECASE,
)


class FoundDate(NamedTuple):
    """A date in text; ``year`` is ``None`` where the text names none. Offsets are in ``normalise(text)``.

    ``swapped`` tells that day and month may be meant the other way round (``04/10/2026``).
    """

    year: int | None
    month: int
    day: int
    start: int
    end: int
    swapped: bool = False

    def is_date(self, iso: str) -> bool:
        """Tell whether this may mean the ISO date; one without a year may mean that day of any year."""
        year, month, day = map(int, iso.split("-"))
        days = {(self.month, self.day)} | ({(self.day, self.month)} if self.swapped else set())
        return (month, day) in days and self.year in (None, year)

    def __str__(self) -> str:
        return f"{self.year or '????'}-{self.month:02}-{self.day:02}"


def find_dates(text: str, language: str = "en") -> list[FoundDate]:
    """Return the dates in ``text``, in order: ISO, ``March 14, 2026``, ``14th of March``, ``14.03.2026``.

    English days may be spelt out (``the fourteenth of March``), and two days may share a month (``1 to 14 April``).
    Month names may be in English, Spanish, German, French or Portuguese, whatever the language. With slashes
    the month comes first in English where it can, else the day.
    """
    plain = normalise(text)
    found: list[FoundDate] = []
    done = 0
    for run in _RUN.finditer(plain):
        start = run.start()
        if start < done or (start and (plain[start - 1].isalnum() or plain[start - 1] in "_.")):
            continue
        date = _date_at(plain, start, done, language)
        if date is not None and 1 <= date.month <= _LAST_MONTH and 1 <= date.day <= _LAST_DAY:
            shared = _RANGE.search(plain, max(done, date.start - _RANGE_WINDOW), date.start)
            if shared and 1 <= int(shared[1]) <= _LAST_DAY and plain[date.start].isdigit():
                found.append(FoundDate(date.year, date.month, int(shared[1]), shared.start(), shared.end(1)))
            found.append(date)
            done = date.end
    spelt = list(_spelt(plain)) if " of " in plain else []
    return sorted([*found, *spelt], key=lambda date: date.start) if spelt else found


def _spelt(plain: str) -> Iterator[FoundDate]:
    """Yield English dates whose day is written as a word: ``the fourth of October 2026``."""
    for match in _SPELT.finditer(plain):
        day, month = _ORDINALS.get(match[1].lower()), _MONTH.get(match[2].lower())
        if day and month:
            yield FoundDate(_year(match[3]), month, day, match.start(), match.end())


def _date_at(plain: str, start: int, done: int, language: str) -> FoundDate | None:
    """Return the date whose first digit stands at ``start``; a month's name before must begin behind ``done``."""
    if match := _ISO.match(plain, start):
        return FoundDate(int(match[1]), int(match[2]), int(match[3]), start, match.end())
    dashed = None if plain[start - 1 : start] == "-" else _DASHED.match(plain, start)
    if match := _NUMERIC.match(plain, start) or dashed:
        first, second = int(match[1]), int(match[3])
        if language == "en" and match[2] != "." and first <= _LAST_MONTH:
            first, second = second, first
        year = int(match[4]) + (_CENTURY if len(match[4]) == 2 else 0)  # noqa: PLR2004 - two digits of a year
        either = language == "en" and match[2] != "." and second <= _LAST_MONTH and first <= _LAST_MONTH
        return FoundDate(year, second, first, start, match.end(), either)
    if (match := _NO_YEAR.match(plain, start)) and _DATED.search(
        plain, max(done, start - _NAME_WINDOW), start
    ):
        low, high = sorted((int(match[1]), int(match[2])))
        return FoundDate(None, low, high, start, match.end()) if low <= _LAST_MONTH < high else None
    name = _NAME_BEFORE.search(plain, max(done, start - _NAME_WINDOW), start)
    if name and (month := _MONTH.get(name[1].lower())) and (match := _DAY_SECOND.match(plain, start)):
        return FoundDate(_year(match[2]), month, int(match[1]), name.start(), match.end())
    match = _DAY_FIRST.match(plain, start)
    if match and (month := _MONTH.get(match[2].lower())):
        return FoundDate(_year(match[3]), month, int(match[1]), start, match.end())
    return None


def _year(digits: str | None) -> int | None:
    return int(digits) if digits else None
