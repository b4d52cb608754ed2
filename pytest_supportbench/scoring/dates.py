"""Calendar dates in text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pytest_supportbench.scoring.text import normalise

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
_NAMES: Final = "|".join(sorted(_MONTH, key=len, reverse=True))
_DATE: Final = re.compile(
    rf"""(?<![\w.])(?:
      (?P<y1>[0-9]{{4}})-(?P<m1>[0-9]{{2}})-(?P<d1>[0-9]{{2}})(?![0-9])
    | (?P<a>[0-9]{{1,2}})(?P<sep>[./])(?P<b>[0-9]{{1,2}})(?P=sep)(?P<y2>[0-9]{{4}})(?![0-9])
    | (?P<d3>[0-9]{{1,2}})(?:st|nd|rd|th|er|o|a|\.)?\s(?:of\s|de\s|do\s)?(?:the\s)?(?P<n3>{_NAMES})\b\.?
      (?:,?\s(?:of\s|de\s|del\s)?(?P<y3>[0-9]{{4}})(?![0-9]))?
    | (?P<n4>{_NAMES})\.?\s(?:the\s)?(?P<d4>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![\w]|[.,][0-9])
      (?:,?\s(?P<y4>[0-9]{{4}})(?![0-9]))?
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_DIGIT: Final = re.compile("[0-9]")
_LAST_MONTH, _LAST_DAY = 12, 31


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date in text; ``year`` is ``None`` where the text names none. Offsets are in ``normalise(text)``."""

    year: int | None
    month: int
    day: int
    start: int
    end: int

    def is_date(self, iso: str) -> bool:
        """Tell whether this may mean the ISO date; one without a year may mean that day of any year."""
        year, month, day = map(int, iso.split("-"))
        return (self.month, self.day) == (month, day) and self.year in (None, year)

    def __str__(self) -> str:
        return f"{self.year or '????'}-{self.month:02}-{self.day:02}"


def find_dates(text: str, language: str = "en") -> list[FoundDate]:
    """Return the dates in ``text``, in order: ISO, ``March 14, 2026``, ``14th of March``, ``14.03.2026``.

    Month names may be in English, Spanish, German, French or Portuguese, whatever the language. With slashes
    the month comes first in English where it can, else the day.
    """
    plain = normalise(text)
    if not _DIGIT.search(plain):
        return []
    found = []
    for match in _DATE.finditer(plain):
        year, month, day = _parts(match, language)
        if 1 <= month <= _LAST_MONTH and 1 <= day <= _LAST_DAY:
            found.append(FoundDate(int(year) if year else None, month, day, match.start(), match.end()))
    return found


def _parts(match: re.Match[str], language: str) -> tuple[str | None, int, int]:
    if match["y1"]:
        return match["y1"], int(match["m1"]), int(match["d1"])
    if match["y2"]:
        first, second = int(match["a"]), int(match["b"])
        if language == "en" and match["sep"] == "/" and first <= _LAST_MONTH:
            return match["y2"], first, second
        return match["y2"], second, first
    if match["n3"]:
        return match["y3"], _MONTH[match["n3"].lower()], int(match["d3"])
    return match["y4"], _MONTH[match["n4"].lower()], int(match["d4"])
