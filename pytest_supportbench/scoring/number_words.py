"""Numbers from zero to 999 that are written as words, in English, Spanish, German and French."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOW: Final[dict[str, tuple[str, ...]]] = {
    "en": listed(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    ),
    "es": listed(
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
        "diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis "
        "veintisiete veintiocho veintinueve"
    ),
    "de": listed(
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn"
    ),
    "fr": listed(
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
        "dix-huit dix-neuf"
    ),
}
_TENS: Final[dict[str, dict[str, int]]] = {
    "en": dict(
        zip(listed("twenty thirty forty fifty sixty seventy eighty ninety"), range(20, 100, 10), strict=True)
    ),
    "es": dict(
        zip(
            listed("treinta cuarenta cincuenta sesenta setenta ochenta noventa"),
            range(30, 100, 10),
            strict=True,
        )
    ),
    "de": dict(
        zip(
            listed("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"),
            range(20, 100, 10),
            strict=True,
        )
    ),
    "fr": {"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60, "quatre-vingt": 80},
}
_SEVENTY, _EIGHTY, _NINETY = 70, 80, 90
"""French counts on by ten to nineteen from sixty and from eighty (``soixante-dix`` is seventy)."""


def _compound(language: str, name: str, unit: int) -> tuple[str, ...]:
    """Return the ways to write a multiple of ten with a unit from 1 on."""
    low = _LOW[language]
    if language == "en":
        return (f"{name}-{low[unit]}", f"{name} {low[unit]}")
    if language == "es":
        return (f"{name} y {low[unit]}",)
    if language == "de":
        return (f"{low[unit].removesuffix('s') if unit == 1 else low[unit]}und{name}",)
    return (f"{name}-{low[unit]}", f"{name} et {low[unit]}", f"{name}-et-{low[unit]}")


def _table(language: str) -> dict[str, int]:
    found = {word: value for value, word in enumerate(_LOW[language])}
    for name, ten in _TENS[language].items():
        found[name] = ten
        most = 20 if language == "fr" and ten + 10 in {_SEVENTY, _NINETY} else 10
        for unit in range(1, most):
            found |= dict.fromkeys(_compound(language, name, unit), ten + unit)
    return found | ({"quatre-vingts": _EIGHTY} if language == "fr" else {})


_DIGITS: Final = {language: low[2:10] for language, low in _LOW.items()}
_HUNDREDS: Final[dict[str, dict[str, int]]] = {
    "en": {
        f"{word}{mark}hundred": 100 * value
        for mark in " -"
        for value, word in ((1, "a"), (1, "one"), *enumerate(_DIGITS["en"], 2))
    },
    "es": {
        "cien": 100,
        "ciento": 100,
        **{
            f"{stem}{end}": 100 * value
            for end in ("os", "as")
            for value, stem in enumerate(
                listed("doscient trescient cuatrocient quinient seiscient setecient ochocient novecient"),
                2,
            )
        },
    },
    "de": {
        f"{word}hundert": 100 * value for value, word in ((1, ""), (1, "ein"), *enumerate(_DIGITS["de"], 2))
    },
    "fr": {
        "cent": 100,
        **{
            f"{word}{mark}cent{end}": 100 * value
            for mark in " -"
            for end in ("", "s")
            for value, word in enumerate(_DIGITS["fr"], 2)
        },
    },
}
_ON: Final = {"en": (" and ", "-and-", " ", "-"), "es": (" ",), "de": ("und", ""), "fr": (" ", "-")}
"""What stands between the hundreds and the rest."""
_NOT_BEHIND: Final = ("thousand ", "thousand and ", "hundred ", "hundred and ", "mille ", "pour ")
"""Behind these a number is part of a larger one or of a percentage; so it is behind the word ``mil``."""
_MORE: Final = later(
    r"\w|-\w|[ -](?:hundred|thousand|million|cientos|mil\b|millones|hundert|tausend|cents?\b|mille|millions)"
)
"""What must not follow, since the number goes on."""
_LETTERS: Final = later(r"[^\W\d_]+")
_HUNDRED_CUES: Final = ("hund", "cien", "quinien", "cent")


class _Table:
    """The words and phrases that stand for one range of numbers, found by length, the longest first."""

    def __init__(self, values: dict[str, int]) -> None:
        self.values = values
        self.first = frozenset(part for word in values for part in re.split("[ -]", word))
        self._lengths = sorted({len(word) for word in values}, reverse=True)

    def at(self, text: str, start: int) -> list[tuple[int, int]]:
        """Return value and end of each number at a place, the longest first."""
        words = (text[start : start + length] for length in self._lengths)
        return [(self.values[word], start + len(word)) for word in words if word in self.values]


@cache
def _tables(language: str) -> tuple[_Table, _Table] | None:
    """Return the numbers below a hundred and the hundreds of a language; ``None`` where it is not known."""
    return (_Table(_table(language)), _Table(_HUNDREDS[language])) if language in _LOW else None


def number_words(lower: str, language: str) -> Iterator[tuple[int, int, int]]:
    """Yield value, start and end of each number in lower-case text that is written as words, read as far as it goes."""
    tables = _tables(language)
    if tables is None:
        return
    low, high = tables
    hundreds = any(map(lower.__contains__, _HUNDRED_CUES))
    if not hundreds and low.first.isdisjoint(_LETTERS.findall(lower)):
        return
    done = 0
    for letters in _LETTERS.finditer(lower):
        start, word = letters.start(), letters.group()
        if start < done or not _may_begin(lower, start):
            continue
        found = None
        if hundreds and (word in high.first or "hundert" in word):
            found = _hundreds_at(lower, start, low, high, _ON[language])
        if found is None and word in low.first:
            found = next(((value, end) for value, end in low.at(lower, start) if _may_end(lower, end)), None)
        if found is not None:
            yield found[0], start, found[1]
            done = found[1]


def _hundreds_at(
    lower: str, start: int, low: _Table, high: _Table, joins: tuple[str, ...]
) -> tuple[int, int] | None:
    """Return value and end of the number from a hundred on at a place; what is joined to the hundreds is part of it."""
    for value, end in high.at(lower, start):
        rests = [rest for on in joins if lower.startswith(on, end) for rest in low.at(lower, end + len(on))]
        for rest, rest_end in rests:
            if _may_end(lower, rest_end):
                return value + rest, rest_end
        if not rests and _may_end(lower, end):
            return value, end
    return None


def _may_begin(lower: str, start: int) -> bool:
    """Tell whether a number may begin at a letter: neither within a word or a larger number nor in a percentage."""
    if not start:
        return True
    before = lower[start - 1]
    if before == "-" or _wordy(before) or lower.endswith(_NOT_BEHIND, 0, start):
        return False
    return not lower.endswith("mil ", 0, start) or _wordy(lower[max(0, start - 5) : start - 4])


def _wordy(character: str) -> bool:
    return character.isalnum() or character == "_"


def _may_end(lower: str, end: int) -> bool:
    return _MORE.match(lower, end) is None
