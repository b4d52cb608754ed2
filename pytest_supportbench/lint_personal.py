"""Data in a text that could belong to somebody: addresses, phone numbers, cards and accounts that are not reserved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

_DOMAIN: Final = re.compile(r"(?:[\w.+-]+@|https?://|\bwww\.)((?:[\w-]+\.)+[a-z]{2,})\b", re.IGNORECASE)
_RESERVED_DOMAIN: Final = re.compile(
    r"(?:^|\.)(?:example\.(?:com|org|net)|example|test|invalid|localhost)$", re.IGNORECASE
)
"""RFC 2606 and RFC 6761."""

_PHONE: Final = re.compile(r"(?<![\w.])\+\d[\d ().\-/]{6,}\d")
_NATIONAL: Final = re.compile(
    r"(?<![\w.:-])(?<!\d )(?:\(0\d{2,4}\)|0\d{2,4})(?: ?/ ?|[ -])\d[\d -]{4,}\d(?![\w.])"
)

_RESERVED_PHONES: Final = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"1\d{3}55501\d\d",  # North America, 555-0100 to 555-0199
        r"44(?:7700900\d{3}|2079460\d{3}|(?:113|114|115|116|117|118|121|131|141|151|161)4960\d{3}|1632960\d{3}|8081570\d{3}|9098790\d{3}|3069990\d{3})",
        r"61(?:[2378](?:5550|7010)\d{4}|491570(?:006|156|157|158|159|110|313|737)|1800(?:160401|975707|975708|975709|975710|975711))",
        r"33(?:19900|26191|35301|46571|53649|63998|70000)\d{4,5}",
        r"49(?:3023125|6990009|4066969|2214710|89999980)\d{2,3}",
        r"353(?:20|1)55501\d\d",
    )
)
"""Ranges that telephone regulators set aside for drama: NANPA, Ofcom, ACMA, ARCEP, Bundesnetzagentur."""

_COUNTRIES: Final = ("44", "61", "33", "49", "353")
"""Where a number is dialled with a leading 0 in its own country."""

_CARD: Final = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w.-])")
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")


def personal_data(text: str) -> Iterator[tuple[str, str]]:
    """Yield what looks real in a text: its kind (``domain``, ``phone``, ``card``, ``iban``) and the value."""
    for found in _DOMAIN.finditer(text):
        if not _RESERVED_DOMAIN.search(found[1]):
            yield "domain", found[1]
    for kind, pattern, looks_real in _NUMBERS:
        for found in pattern.finditer(text):
            if looks_real(found.group()):
                yield kind, found.group()


def _is_card(text: str) -> bool:
    """Tell whether digits end in their check digit (ISO/IEC 7812-1, annex B)."""
    total = 0
    digits = re.sub(r"\D", "", text)
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value  # noqa: PLR2004 - the sum of two digits
    return total % 10 == 0


def _is_iban(text: str) -> bool:
    """Tell whether an account number has the right check digits (ISO 13616: 1 modulo 97)."""
    account = text.replace(" ", "")
    return int("".join(str(int(letter, 36)) for letter in account[4:] + account[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    written = (digits,) if text.startswith("+") else [country + digits[1:] for country in _COUNTRIES]
    return not any(pattern.fullmatch(number) for pattern in _RESERVED_PHONES for number in written)


_NUMBERS: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...]] = (
    ("phone", _PHONE, _is_phone),
    ("phone", _NATIONAL, _is_phone),
    ("card", _CARD, _is_card),
    ("iban", _IBAN, _is_iban),
)
