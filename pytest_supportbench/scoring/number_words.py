"""Numbers from zero to 999 that are written as words, in English, Spanish, German and French."""

from __future__ import annotations

import re
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


NUMBER_WORDS: Final = {language: _table(language) for language in _LOW}
"""The value of each number word, by language."""

_FIRST: Final = {
    language: frozenset(part for word in table for part in re.split("[ -]", word))
    for language, table in NUMBER_WORDS.items()
}
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
_ON: Final = {"en": "(?: and |-and-| |-)", "es": " ", "de": "(?:und)?", "fr": "[ -]"}
"""What stands between the hundreds and the rest."""
_MORE: Final = (
    r"[ -](?:hundred|thousand|million|cientos|mil\b|millones|hundert|tausend|cents?\b|mille|millions)"
)
_BEFORE: Final = (
    r"(?<![\w-])(?<!thousand )(?<!thousand and )(?<!hundred )(?<!hundred and )(?<!mille )(?<!\bmil )"
    r"(?<!pour )"
)
"""Where a number may begin: neither within a larger one nor in a percentage."""


def _pattern(language: str) -> re.Pattern[str]:
    def any_of(table: dict[str, int]) -> str:
        return "|".join(sorted(table, key=len, reverse=True))

    rest, on = any_of(NUMBER_WORDS[language]), _ON[language]
    hundreds = rf"(?P<hundreds>{any_of(_HUNDREDS[language])})(?:{on}(?P<rest>{rest})|(?!{on}(?:{rest})))"
    return later(rf"{_BEFORE}(?:{hundreds}|(?P<low>{rest}))(?!\w|-\w|{_MORE})")


_PATTERNS: Final = {language: _pattern(language) for language in NUMBER_WORDS}
_LETTERS: Final = later(r"[^\W\d_]+")


def number_words(lower: str, language: str) -> Iterator[tuple[int, int, int]]:
    """Yield value, start and end of each number in lower-case text that is written as words, read as far as it goes."""
    words = _FIRST.get(language)
    hundreds = any(cue in lower for cue in ("hund", "cien", "quinien", "cent"))
    if words is not None and (hundreds or not words.isdisjoint(_LETTERS.findall(lower))):
        low, high = NUMBER_WORDS[language], _HUNDREDS[language]
        for match in _PATTERNS[language].finditer(lower):
            value = high.get(match["hundreds"] or "", 0) + low.get(match["rest"] or match["low"] or "", 0)
            yield value, match.start(), match.end()
