"""What the `rules` agent finds in a text without understanding it: words, language, amounts, dates, codes."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

LONGEST: Final = 8_000
"""Characters of one text that are read; a customer who writes more is not heard to the end."""

LANGUAGES: Final = ("en", "es", "de", "fr")

_FUNCTION_WORDS: Final = {
    "en": "the and is are was my your you i it have has not please this that for of to with me can",
    "es": "el los las una que mi es por para con me se lo su del y ha han pero gracias hola puede",
    "de": "der das ein eine ich und ist nicht mir mein meine habe sie bitte auf wurde den mit zu wir",
    "fr": "les des une est je vous mon ma et pas pour sur avec de du nous merci bonjour ai que qui",
}
_INDEX: Final = {name: frozenset(words.split()) for name, words in _FUNCTION_WORDS.items()}
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_ACCENT: Final = re.compile("[\u0300-\u036f]+")
_MONTHS: Final = {
    name: number
    for text in (
        "january february march april may june july august september october november december",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "januar februar marz april mai juni juli august september oktober november dezember",
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "jan feb mar apr may jun jul aug sep oct nov dec",
    )
    for number, name in enumerate(text.split(), 1)
}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY_MONTH: Final = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?({_MONTH})\b(?:,?\s+(?:de\s+)?(\d{{4}}))?"
)
_MONTH_DAY: Final = re.compile(rf"\b({_MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}}))?")
_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_AMOUNT: Final = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:[.,']\d{3})+(?:[.,]\d{1,2})?|\d{1,9}(?:[.,]\d{1,3})?)(?![\w])"
)
_CODE: Final = re.compile(r"(?<![\w.,+-])(\d{6})(?![\w.,-]\w|\d)")
_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_PHONE: Final = re.compile(r"(?<![\w.])\+?\d[\d \t\xa0()/-]{7,18}\d(?!\w)")
_ONLY_CODES: Final = re.compile(r"\d{6}(?:[\s()/-]+\d{6})+")
"""What looks like a telephone number and is codes one after the other."""

_CLOCK: Final = re.compile(r"\b(\d{1,2})(?:[:.h](\d{2}))?\s*(a\.?m\.?|p\.?m\.?|uhr|h\b|o'clock)?")
_WEEKDAYS: Final = {
    name: number
    for text in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "lunes martes miercoles jueves viernes sabado domingo",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
    )
    for number, name in enumerate(text.split())
}
_TOMORROW: Final = re.compile(r"\b(?:tomorrow|manana|morgen|demain)\b")
_NOON: Final = 12
_DIGITS: Final = 20
_AHEAD: Final = 31


def plain(text: str) -> str:
    """Return casefolded text without accents and line breaks, cut to `LONGEST` characters."""
    text = text[:LONGEST].replace("\u2019", "'")
    folded = text.casefold()
    if not folded.isascii():
        folded = _ACCENT.sub("", unicodedata.normalize("NFKD", folded))
    return " ".join(folded.split())


def clean(text: str, longest: int = 200) -> str:
    """Return text that JSON can carry, on one line and cut."""
    return " ".join(text[: longest * 2].encode("utf-8", "replace").decode().split())[:longest]


def words(text: str) -> list[str]:
    """Return the words of `plain` text, in order."""
    return _WORD.findall(text)


def language_of(text: str, default: str) -> str:
    """Return the language of `LANGUAGES` whose function words `plain` text has most of, else ``default``."""
    found = words(text)
    score = {name: sum(word in known for word in found) for name, known in _INDEX.items()}
    best = max(LANGUAGES, key=score.__getitem__)
    rest = max(score[name] for name in LANGUAGES if name != best)
    return best if score[best] > 1 and score[best] > rest else default


def decimal(value: object) -> Decimal | None:
    """Return an exact finite number for a string or integer, ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int) or len(str(value)) > _DIGITS:
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < 15 else None  # noqa: PLR2004 - no such sum


def amounts(text: str) -> frozenset[Decimal]:
    """Return the numbers that may be sums of money, read with a point or a comma as decimal mark."""
    found = set()
    for numeral in _AMOUNT.findall(text):
        mark = numeral[-3] if len(numeral) > 3 and numeral[-3] in ".," else ""  # noqa: PLR2004 - as in 1,50
        whole, _, cents = numeral.rpartition(mark) if mark else (numeral, "", "")
        number = decimal(re.sub(r"[.,']", "", whole) + (f".{cents}" if mark else ""))
        if number is not None:
            found.add(number)
    return frozenset(found)


def dates(text: str, today: date) -> list[date]:
    """Return the dates named in `plain` text, in order; without a year the last such day up to a month ahead."""
    found: list[tuple[int, date]] = []
    for pattern, day, month in ((_DAY_MONTH, 1, 2), (_MONTH_DAY, 2, 1)):
        for match in pattern.finditer(text):
            year = int(match[3]) if match[3] else None
            value = _day(year or today.year, _MONTHS[match[month]], int(match[day]))
            if value and year is None and (value - today).days > _AHEAD:
                value = _day(today.year - 1, value.month, value.day)
            if value:
                found.append((match.start(), value))
    for match in _ISO.finditer(text):
        value = _day(int(match[1]), int(match[2]), int(match[3]))
        if value:
            found.append((match.start(), value))
    return [value for _, value in sorted(found)]


def months(text: str) -> frozenset[int]:
    """Return the months (1 to 12) that `plain` text names; ``may`` counts only where a number is beside it."""
    names = set(words(text)) & _MONTHS.keys()
    return frozenset(_MONTHS[name] for name in names - {"may", "mar", "mai"})


def codes(text: str) -> list[str]:
    """Return what may be one-time codes: whole numbers of six digits, the last groups of telephone numbers aside."""
    spans = [found.span() for found in _PHONE.finditer(text) if _is_phone(found[0])]
    return list(
        dict.fromkeys(
            found[0]
            for found in _CODE.finditer(text)
            if not any(start <= found.start() < end for start, end in spans)
        )
    )


def emails(text: str) -> list[str]:
    """Return the e-mail addresses in a text, in order."""
    return list(dict.fromkeys(found.rstrip(".") for found in _EMAIL.findall(text)))


def phones(text: str) -> list[str]:
    """Return the phone numbers in a text, in order, as written."""
    return [found.strip() for found in dict.fromkeys(_PHONE.findall(text)) if _is_phone(found)]


def _is_phone(found: str) -> bool:
    """Tell a telephone number from a date and from codes one after the other, which have the same signs."""
    return not _ISO.search(found) and not _ONLY_CODES.fullmatch(found.strip())


def moment(text: str, now: datetime) -> datetime | None:
    """Return the future time of day that `plain` text asks for, in the zone of ``now``; ``None`` without one."""
    clock = next((m for m in _CLOCK.finditer(text) if (m[2] or m[3]) and int(m[1]) < 24), None)  # noqa: PLR2004
    if clock is None or int(clock[2] or 0) > 59:  # noqa: PLR2004 - minutes of an hour
        return None
    hour, half = int(clock[1]), (clock[3] or "").replace(".", "")
    if half == "pm" and hour < _NOON:
        hour += _NOON
    elif half == "am" and hour == _NOON:
        hour = 0
    day = _named_day(text, now.date())
    try:
        value = datetime.combine(day, time(hour, int(clock[2] or 0)), now.tzinfo)
        return value if value > now else value + timedelta(days=1)
    except (OverflowError, ValueError):
        return None


def _named_day(text: str, today: date) -> date:
    try:
        named = [day for day in dates(text, today) if day >= today]
        if named:
            return named[0]
        if _TOMORROW.search(text):
            return today + timedelta(days=1)
        weekday = next((_WEEKDAYS[word] for word in words(text) if word in _WEEKDAYS), None)
        return today if weekday is None else today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    except OverflowError:
        return today


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount in an ISO 4217 currency."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        """Return the amount as records write it, such as ``24.00``."""
        return f"{self.amount:f}"
