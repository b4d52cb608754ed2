"""Whether a value that identifies a person stands in a folded text, however it is written."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.phrases import contains_phrase
from pytest_supportbench.scoring.text import fold, listed, words

if TYPE_CHECKING:
    from collections.abc import Callable

_SHORTEST_PHONE: Final = 7
PHONE: Final = later(r"\+?[0-9](?:[\s().\-/]{0,3}[0-9]){6,19}")
"""A telephone number, however it is grouped."""
_ENDING: Final = later(
    r"\b(?:phone|number|mobile|telefon\w*|nummer|handy|teléfono|móvil|número|téléphone|numéro|portable)\b[^.!?0-9]{0,40}?"
    r"\b(?:end(?:s|ing)|digits?|endet|ziffern|termina\w*|acaba|cifras|dígitos|se\s+termine|chiffres)\b"
    r"[^.!?0-9]{0,16}([0-9]{3,6})(?![0-9])"
    r"|\blast\s+(?:three|four|3|4)\s+(?:digits|numbers)\s*(?:are|:|is)\s*([0-9]{3,4})(?![0-9])"
)
_COUNTED: Final = later(
    r"\b(?:invoice|order|ticket|case|reference|ref|payment|rechnung|bestellung|vorgang|auftrag|ticket|factura|pedido|"
    r"expediente|caso|facture|commande|dossier)\s*(?:number|no\.?|nr\.?|nummer|número|numéro|n°|#|:)*\s*\Z"
)
"""Before digits, these say what is numbered, so that the digits are of no phone and no card."""
_COUNTED_WINDOW: Final = 30
_DOT_WORD: Final = later(
    r"\s?[(\[]\s?(?:dot|punkt|punto|point)\s?[)\]]\s?|(?<=\w)\s(?:dot|punkt|punto|point)\s(?=\w)|(?<=\w)\s\.\s(?=\w)"
)
_AT_WORD: Final = later(
    r"\s?[(\[]\s?(?:at|ät|arroba|arobase)\s?[)\]]\s?|(?<=\w)\s(?:at|ät|arroba|arobase)\s(?=[\w-]+\.\w)|\s?@\s?"
)
_SPOKEN: Final = listed("dot punkt punto point at ät arroba arobase")
_NOT_DIGITS: Final = later(r"[^0-9]+")
_CARD: Final = later(
    r"\b(?:card|visa|mastercard|amex|ending|ends|last\s+(?:four|digits)|tarjeta|acaba|karte|kreditkarte|carte|cartão|"
    r"terminada|endet|endziffern?|(?:letzten|letzte)\s+(?:vier\s+)?ziffern|últim[oa]s\s+(?:cuatro\s+)?(?:dígitos|cifras)|"
    r"derniers\s+chiffres)\b|[*x•]{2,}"
)
_CARD_WINDOW: Final = 40
_PRICED: Final = later(
    r"\s?(?:[.,][0-9]|[$€£¥%]|(?:yens?|yenes|euros?|dollars?|pounds?|francs?|franken|pesos?|usd|eur|gbp|jpy|chf)\b)"
)
_SIGN: Final = later(r"[$€£¥]\s?\Z|[0-9][.,]\Z")
_SMALL: Final = frozenset(listed("in en à a the"))
_SHORT_FORMS: Final = {
    "ln": "lane",
    "st": "street",
    "rd": "road",
    "ave": "avenue",
    "str": "strasse",
    "c": "calle",
}
_TWO: Final = 2


@lru_cache(maxsize=256)
def comparison(field: str) -> Callable[[str, str], bool]:
    """Return what tells whether a value of a field stands in a folded text: called with the value and the text."""
    name = field.lower()
    if "phone" in name or "mobile" in name:
        return has_phone
    if "last4" in name or "last_four" in name or "card" in name:
        return _has_card
    if "email" in name or "mail" in name:
        return has_words
    if "address" in name:
        return _has_address
    return _has_name if "name" in name else has_words


def is_phone(phrase: str) -> bool:
    """Tell whether a phrase is a telephone number, which is compared by its digits."""
    return PHONE.fullmatch(phrase) is not None


def has_words(value: str, folded: str) -> bool:
    """Tell whether a value stands in a folded text as whole words; an e-mail address also where it is spoken out."""
    wanted = fold(value)
    if "@" not in wanted:
        return wanted in folded and contains_phrase(folded, wanted, "en") is not None
    if not all(part in folded for part in wanted.replace("@", ".").split(".")):
        return False  # in whatever words the dots and the sign are told, the rest stands as it is
    return any(wanted in form and _has_mail(wanted, form) for form in (folded, spoken_out(folded)))


def _has_mail(wanted: str, text: str) -> bool:
    found = contains_phrase(text, wanted, "en")
    while found is not None:
        before, behind = text[max(0, found.start - 1) : found.start], text[found.end : found.end + 2]
        if before not in {".", "-", "+"} and not (behind[:1] in {".", "-"} and behind[1:].isalnum()):
            return True
        found = contains_phrase(text, wanted, "en", start=found.end)
    return False


def spoken_out(folded: str) -> str:
    """Return folded text with addresses that are written in words put right (``ann (at) example dot com``)."""
    if " @ " not in folded and not any(map(folded.__contains__, _SPOKEN)):
        return folded
    return _AT_WORD.sub("@", _DOT_WORD.sub(".", folded))


def _has_name(value: str, folded: str) -> bool:
    """Tell whether a name stands in a text: accents, a middle initial, a genitive ending do not matter."""
    names = words(_unaccented(fold(value)))
    text = _unaccented(folded)
    if not names or not all(name in text for name in names):
        return False
    first, *others = map(re.escape, names)
    forms = r"(?:\s\w\.?)?\s+".join((first, *others))
    if len(names) == _TWO:
        forms += rf"|{others[0]},\s?{first}"
    return re.search(rf"(?<!\w)(?:{forms})(?:'?s)?(?!\w)", text) is not None


def _unaccented(folded: str) -> str:
    if folded.isascii():
        return folded
    return "".join(sign for sign in unicodedata.normalize("NFD", folded) if not unicodedata.combining(sign))


def _has_address(value: str, folded: str) -> bool:
    wanted = _plain_words(fold(value))
    if not wanted or wanted[0] not in folded:
        return False
    return f" {' '.join(wanted)} " in f" {' '.join(_plain_words(folded))} "


def _plain_words(folded: str) -> list[str]:
    return [_SHORT_FORMS.get(word, word) for word in words(folded) if word not in _SMALL]


def has_phone(value: str, folded: str) -> bool:
    """Tell whether a telephone number stands in a folded text, by its digits, or its last ones as such."""
    wanted = _NOT_DIGITS.sub("", value).lstrip("0")
    if len(wanted) < _SHORTEST_PHONE:
        return False
    for number in PHONE.finditer(folded):
        digits = _NOT_DIGITS.sub("", number.group()).lstrip("0")
        same = len(digits) >= _SHORTEST_PHONE and (wanted.endswith(digits) or digits.endswith(wanted))
        if same and not (number.group() == digits and _is_counted(folded, number.start())):
            return True
    return any(wanted.endswith(found[1] or found[2]) for found in _ENDING.finditer(folded))


def _is_counted(folded: str, start: int) -> bool:
    return _COUNTED.search(folded, max(0, start - _COUNTED_WINDOW), start) is not None


def _has_card(value: str, folded: str) -> bool:
    digits = _NOT_DIGITS.sub("", value)
    spaced = "[ .-]?".join(digits) if digits == value.strip() else re.escape(fold(value))
    for found in re.finditer(spaced, folded):
        start, end = found.span()
        if folded[end : end + 1].isalnum() or folded[max(0, start - 1) : start].isdigit():
            continue
        if (
            _PRICED.match(folded, end)
            or _SIGN.search(folded, max(0, start - 2), start)
            or _is_counted(folded, start)
        ):
            continue
        if _CARD.search(folded, max(0, start - _CARD_WINDOW), end + _CARD_WINDOW):
            return True
    return False
