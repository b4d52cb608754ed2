"""Amounts of money, numbers and ids in text."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.dates import FoundDate, find_dates
from pytest_supportbench.scoring.number_words import number_words
from pytest_supportbench.scoring.text import listed, normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Found",
    "FoundDate",
    "find_dates",
    "find_ids",
    "find_money",
    "find_numbers",
    "minor_digits",
    "parse_numeral",
    "spelt_numbers",
]

_MINOR_DIGITS: Final[dict[str, int]] = {
    **dict.fromkeys(listed("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"), 0),
    **dict.fromkeys(listed("BHD IQD JOD KWD LYD OMR TND"), 3),
    **dict.fromkeys(listed("CLF UYW"), 4),
}
"""Currencies that have other than two digits of minor unit.

Source: ISO 4217, table A.1 (column "minor unit"), as kept by the maintenance agency SIX.
"""

_CODES: Final = frozenset(
    listed(
        "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD "
        "CAD CDF CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS "
        "GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW "
        "KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD "
        "NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD "
        "SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYI UYU UYW "
        "UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG "
    )
)

_SYMBOLS: Final[dict[str, tuple[str, ...]]] = {
    "us$": ("USD",),
    "a$": ("AUD",),
    "au$": ("AUD",),
    "c$": ("CAD",),
    "ca$": ("CAD",),
    "nz$": ("NZD",),
    "hk$": ("HKD",),
    "s$": ("SGD",),
    "r$": ("BRL",),
    "mx$": ("MXN",),
    "nt$": ("TWD",),
    "$": ("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "ARS", "CLP", "COP", "TWD"),
    "€": ("EUR",),
    "£": ("GBP",),
    "¥": ("JPY", "CNY"),
    "円": ("JPY",),
    "元": ("CNY",),
    "₹": ("INR",),
    "₩": ("KRW",),
    "₽": ("RUB",),
    "₺": ("TRY",),
    "₫": ("VND",),
    "₴": ("UAH",),
    "₦": ("NGN",),
    "₱": ("PHP",),
    "฿": ("THB",),
    "₪": ("ILS",),
    "zł": ("PLN",),
    "kč": ("CZK",),
    "kr": ("SEK", "NOK", "DKK", "ISK"),
    "s/": ("PEN",),
    "yen": ("JPY",),
    "yenes": ("JPY",),
    "yuan": ("CNY",),
    "won": ("KRW",),
    **dict.fromkeys(("euro", "euros"), ("EUR",)),
    **dict.fromkeys(("pound", "pounds", "pfund", "libras", "livres"), ("GBP",)),
    **dict.fromkeys(("rupee", "rupees", "rupias", "rupien"), ("INR",)),
    **dict.fromkeys(("franc", "francs", "franken"), ("CHF", "XAF", "XOF")),
    **dict.fromkeys(("peso", "pesos"), ("MXN", "ARS", "CLP", "COP", "PHP")),
    **dict.fromkeys(("real", "reais", "reales"), ("BRL",)),
    **{
        code.lower(): (code,)
        for code in ("USD", "EUR", "GBP", "JPY", "CAD", "AUD", "CHF", "SEK", "INR", "CNY")
    },
}  # fmt: skip - a table
_DOLLARS: Final = frozenset({"dollar", "dollars", "dólar", "dólares"})

_NUMERAL: Final = later(r"[0-9]+(?:[.,'][0-9]+)*")
_GROUPED: Final = later(r"(?:\s[0-9]{3}(?![0-9]))+(?:,[0-9]{1,2}(?![0-9]))?")
_MONTH: Final = later(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s\Z", re.IGNORECASE)
_COUNTED: Final = later(r"\s+(?:each\b|[a-z]+s\b(?<!\bis)(?<!\bhas)(?<!\bwas)(?<!\bas)(?<!\bthis))")
_ENDS: Final = later(
    r"\s*(?:\Z|[.,;:!?()\u2013\u2014]|(?:is|are|has|have|was|were|to|on|for|as|in|of|and|will)\b)"
)
_BEFORE: Final = later(r"(?:(?<![A-Za-z])([A-Z]{3})|([A-Za-z]{0,2}\$|[€£¥₹₩₽₺₫₴₦₱฿₪]|(?<!\w)(?:kr|S/)))\s?\Z")
_AFTER: Final = later(
    r"[\s-]?(?:([A-Z]{3})(?!\w)|([A-Za-z]{2}\$|[$€£¥₹₩₽₺₫₴₦₱฿₪円元]|(?:US |us )?[^\W\d_]{2,8}(?!\w)))"
)
_MINUS: Final = later(r"(?<![\w)])[-\u2212]\s?\Z")
_LONGEST: Final = 30
_COMMA_LANGUAGES: Final = frozenset(listed("es de fr pt it nl ru pl sv da nb no fi cs tr id"))
_THREE: Final = 3

_SPELT_MONEY: Final = listed("dollar dólar euro pound pfund libra livre yen franc franken peso")
"""What a text holds that spells an amount out (``forty-nine dollars``)."""
_GLUED: Final = later(r"(?:h|hrs|hours|d|days|min|mins|GB|MB|TB|kB)(?!\w)")

_ID: Final = later(
    r"(?<![\w@./-])(?:[A-Za-z][A-Za-z0-9]{0,15}_(?=\w{0,40}[0-9])\w{1,40}"
    r"|[A-Z]{2,8}-(?=[\w-]{0,40}[0-9])\w[\w-]{0,40})(?![\w@])"
)
_NO_IDS: Final = ("UTC-", "UTF-", "GMT-", "ISO-", "COVID-", "GPT-", "SHA-", "AES-", "TLS-", "RFC-")


class Found(NamedTuple):
    """A number in text, exact; with its ISO 4217 ``currency`` where it is money.

    ``also`` holds the other currencies that the same sign may mean (``$``, ``¥``, ``kr``). ``start`` and
    ``end`` are offsets in ``normalise(text)``.
    """

    value: Decimal
    currency: str | None
    start: int
    end: int
    also: frozenset[str] = frozenset()

    def is_amount(self, value: Decimal, currency: str) -> bool:
        """Tell whether this may mean exactly that amount of money."""
        return self.value == value and self.in_currency(currency)

    def in_currency(self, currency: str) -> bool:
        """Tell whether this may be an amount of that currency."""
        return currency == self.currency or currency in self.also

    def __str__(self) -> str:
        return f"{self.value:f} {self.currency}" if self.currency else f"{self.value:f}"


def minor_digits(currency: str) -> int:
    """Return how many digits the currency's minor unit has, two for codes that ISO 4217 does not except."""
    return _MINOR_DIGITS.get(currency, 2)


def parse_numeral(numeral: str, language: str, currency: str | None = None) -> Decimal:
    """Return the value of digits with separators (``1.234,50``, ``1,500``, ``1 500``).

    The last of two kinds of separator is the decimal one. A single one before exactly three digits is read by
    the currency's minor unit, else by the language's custom.
    """
    plain = numeral.replace("'", "").replace(" ", "")
    last = max(plain.rfind("."), plain.rfind(","))
    if last < 0:
        return Decimal(plain)
    mark = plain[last]
    other = "," if mark == "." else "."
    head, tail = plain[:last].replace(other, ""), plain[last + 1 :]
    if mark in head:
        return Decimal(head.replace(mark, "") + tail)
    grouping = False
    if len(tail) == _THREE and other not in plain and 0 < len(head) <= _THREE and head != "0":
        if currency is not None and minor_digits(currency) != _THREE:
            grouping = True
        else:
            grouping = (mark == ".") == (language in _COMMA_LANGUAGES)
    return Decimal(head + tail) if grouping else Decimal(f"{head}.{tail}")


def _currencies(code: str | None, sign: str | None) -> tuple[str, ...]:
    if code:
        return (code,) if code in _CODES else ()
    sign = (sign or "").lower().removeprefix("us ")
    return _SYMBOLS["$"] if sign in _DOLLARS else _SYMBOLS.get(sign, ())


def find_money(text: str, language: str) -> list[Found]:
    """Return the amounts of money in ``text``, in order: ``$49``, ``49.00 USD``, ``1.234,50 €``, ``9 yen``.

    An amount has a sign or word of a major currency, or any ISO 4217 code, before or behind it.
    """
    plain = normalise(text)
    found: list[Found] = []
    done = 0
    for numeral in _NUMERAL.finditer(plain):
        start, end = numeral.span()
        if start < done or end - start > _LONGEST or _is_in_word(plain, start, signs=True):
            continue
        if (
            end - start <= _THREE
            and (grouped := _GROUPED.match(plain, end))
            and (language in _COMMA_LANGUAGES or _is_one_amount(plain, start, grouped.end()))
        ):
            end = grouped.end()
        sign = _BEFORE.search(plain, max(done, start - 5), start)
        currencies = _currencies(*sign.groups()) if sign else ()
        if sign and currencies and not (end < len(plain) and (plain[end].isalnum() or plain[end] == "_")):
            begin, stop = sign.start(), end
        elif (sign := _AFTER.match(plain, end)) and (currencies := _currencies(*sign.groups())):
            begin, stop = start, sign.end()
        else:
            continue
        value = parse_numeral(plain[start:end], language, currencies[0])
        if _MINUS.search(plain, max(done, begin - 2), begin):
            value = -value
        found.append(Found(value, currencies[0], begin, stop, frozenset(currencies[1:])))
        done = stop
    lower = plain.lower()
    if any(map(lower.__contains__, _SPELT_MONEY)):
        found = sorted((*found, *_spelt_money(plain, language)), key=lambda money: money.start)
    return found


def _is_one_amount(plain: str, start: int, end: int) -> bool:
    """Tell whether groups of digits are one amount beside a currency (``14 880 JPY``) and not two numbers.

    Not so behind a month (``on May 12 300 USD``) and before things that are counted (``refunded 3 100 USD charges``).
    """
    if plain[start] == "0" or _MONTH.search(plain, max(0, start - _LONGEST), start):
        return False
    if (sign := _AFTER.match(plain, end)) and _currencies(*sign.groups()):
        return _COUNTED.match(plain, sign.end()) is None
    sign = _BEFORE.search(plain, max(0, start - 5), start)
    return bool(sign and _currencies(*sign.groups())) and _ENDS.match(plain, end) is not None


def _spelt_money(plain: str, language: str) -> Iterator[Found]:
    for number in spelt_numbers(plain, language):
        sign = _AFTER.match(plain, number.end)
        currencies = _currencies(*sign.groups()) if sign else ()
        if sign and currencies:
            yield Found(number.value, currencies[0], number.start, sign.end(), frozenset(currencies[1:]))


def _is_in_word(plain: str, start: int, *, signs: bool = False) -> bool:
    """Tell whether digits belong to a word or an id before them (``ch_204``, ``INV-7``, ``v2.1``).

    With ``signs``, letters that may be a currency (``USD49``, ``kr49``) do not count.
    """
    before = plain[max(0, start - 2) : start]
    if not before:
        return False
    if before[-1] == "-":
        return before[0].isalpha()
    if before[-1].isalpha():
        return not (signs and _BEFORE.search(plain, max(0, start - 5), start))
    return before[-1] in "_."


def find_numbers(text: str, language: str) -> list[Found]:
    """Return the numbers in ``text``, in order, spelt out ones (up to ninety-nine) among them.

    Digits within dates and ids are none; an amount's digits are.
    """
    plain = normalise(text)
    found = sorted(
        (*_numerals(plain, language), *spelt_numbers(plain, language)), key=lambda number: number.start
    )
    if not found:
        return found
    dates = [(date.start, date.end) for date in find_dates(plain, language)]
    return [number for number in found if not any(left <= number.start < right for left, right in dates)]


def _numerals(plain: str, language: str) -> Iterator[Found]:
    for numeral in _NUMERAL.finditer(plain):
        start, end = numeral.span()
        if end - start > _LONGEST or _is_in_word(plain, start):
            continue
        if not (end < len(plain) and (plain[end].isalnum() or plain[end] == "_")) or _GLUED.match(plain, end):
            yield Found(parse_numeral(numeral.group(), language), None, start, end)


def spelt_numbers(plain: str, language: str) -> Iterator[Found]:
    """Yield the numbers of a normalised text that are written as words."""
    for value, start, end in number_words(plain.lower(), language):
        yield Found(Decimal(value), None, start, end)


def find_ids(text: str) -> list[str]:
    """Return what looks like record ids (``ch_204``, ``INV-2026-7``), in order."""
    return [found for found in _ID.findall(normalise(text)) if not found.startswith(_NO_IDS)]
