"""Which details a claim of an update names (``your e-mail and phone``), and which ones an update changed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.dates import find_dates
from pytest_supportbench.scoring.text import fold
from pytest_supportbench.scoring.values import PHONE, has_phone, has_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CONTACT: Final = frozenset({"email", "phone", "payout", "postal", "name", "tax", "language"})
"""The details that claims name; an update of nothing else than these changes no plan and no seat."""

_FIELDS: Final = {
    "email": "email",
    "mail": "email",
    "phone": "phone",
    "mobile": "phone",
    "payout": "payout",
    "iban": "payout",
    "bank": "payout",
    "address": "postal",
    "street": "postal",
    "city": "postal",
    "postcode": "postal",
    "name": "name",
    "tax": "tax",
    "vat": "tax",
    "language": "language",
    "role": "role",
    "sso": "sign-in",
}
_ITEM: Final = (
    r"(?:(?:your|the|its|both|new|old|contact|login|sign-in|primary|main|registered|preferred|his|her|their|company|"
    r"also|now|just|su|sus|tu|el|la|los|las|nuevo|nueva|número\s+de|ihre[nr]?|ihr|die|den|das|deine[nr]?|neuen?|le|les|"
    r"votre|vos|nouveau|nouvelle|numéro\s+de)\s+)*(?:"
    r"(?P<postal>(?:postal|street|home|billing|shipping|mailing)\s+address|postcode|anschrift|postanschrift|"
    r"rechnungsadresse|dirección\s+postal|adresse\s+postale)"
    r"|(?P<email>(?:e-?mail|mail)(?:-?adresse)?|correo(?:\s+electrónico)?|dirección\s+de\s+correo|courriel|"
    r"adresse\s+(?:e-?mail|électronique))"
    r"|(?P<phone>(?:tele)?phone|mobile|telefon(?:nummer)?|handynummer|mobilnummer|rufnummer|teléfono|móvil|téléphone)"
    r"|(?P<payout>payout|bank|iban|auszahlungskonto|bankverbindung|bankkonto|cuenta\s+(?:bancaria|de\s+(?:pagos?|cobros?))|"
    r"compte\s+(?:bancaire|de\s+versement))"
    r"|(?P<tax>vat|tax|ust-id(?:nr)?|umsatzsteuer-id|steuernummer|nif|iva|tva)"
    r"|(?P<language>language|idioma|sprache|langue)"
    r"|(?P<name>names?|nombre|namen?|nom)"
    r")(?:\s+(?:numbers?|address(?:es)?|accounts?|details|id))?(?!\w|-\w)"
)
_FIRST: Final = {
    language: later(rf"(?:[\w'-]+\s+){{0,{most}}}?{_ITEM}")
    for language, most in {"en": 1, "de": 3, "es": 3, "fr": 3}.items()
}
_NEXT: Final = later(
    rf"\s*(?:,\s*(?:(?:and|y|und|et)\s+)?|(?:and|y|und|et|sowie|plus|as\s+well\s+as|&)\s+)(?:also\s+)?{_ITEM}"
)
_GOING_ON: Final = (",", "and", "y", "und", "et", "sowie", "plus", "as", "&")
"""What `_NEXT` begins with."""
_CLOSED: Final = later(
    r"\s*(?:\Z|[.,;:!()\u2013\u2014]|-\s|(?:and|as|to|on|in|for|from|at|with|too|now|today|accordingly|y|a|en|por|und|auf|"
    r"zu|sowie|et|à|sur|pour|geändert|aktualisiert|hinterlegt|korrigiert|angepasst)\b)"
)
_WITH_VERB: Final = later(
    r"\s*(?:has|have|was|were|is|are|been|ha|han|fue|fueron|está|están|wurden?|ist|sind|ont|est|sont)\b"
)
_MAIL: Final = later(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def fields_changed(names: Iterable[str]) -> frozenset[str]:
    """Return the details that the names of changed fields stand for (``payout_account``); empty where none is known."""
    return frozenset([detail for name in names for detail in _details(name)])


@lru_cache(maxsize=1024)
def _details(name: str) -> tuple[str, ...]:
    """Return the details that one field's name stands for; toolsets have few names."""
    return tuple([_FIELDS[part] for part in name.lower().split("_") if part in _FIELDS])


def fields_named(named: str, rest: str, language: str, *, subject: bool) -> frozenset[str]:
    """Return the details that an update claim lists, from the first of its own words ``named`` on into the ``rest``.

    ``subject`` tells whether they may stand before the verb. A list that runs into anything else names nothing, since
    the last item may belong to another clause (``your e-mail, and your phone stays``).
    """
    text = f"{named}{rest}".lower()
    found: set[str] = set()
    item = _FIRST[language].match(text) if language in _FIRST else None
    while item is not None:
        verb = subject and item.end() <= len(named) and _WITH_VERB.match(text, item.end())
        if not (_CLOSED.match(text, item.end()) or verb):
            return frozenset()
        found.add(item.lastgroup or "")
        goes_on = not verb and text[item.end() :].lstrip().startswith(_GOING_ON)
        item = _NEXT.match(text, item.end()) if goes_on else None
    return frozenset(found)


def values_named(named: str, fields: frozenset[str], language: str) -> frozenset[str]:
    """Return the e-mail addresses in the words of an update claim, and the phone numbers where it is of a phone."""
    found = set(_MAIL.findall(named))
    if "phone" in fields:
        found.update(_numbers(named, language))
    return frozenset(found)


def _numbers(named: str, language: str) -> Iterator[str]:
    dates = [(date.start, date.end) for date in find_dates(named, language)]
    for number in PHONE.finditer(named):
        if not any(start < number.end() and number.start() < end for start, end in dates):
            yield number.group()


def stands_in(value: str, strings: frozenset[str]) -> bool:
    """Tell whether an address or a number that was named is one of the strings, however it is written."""
    same = has_words if "@" in value else has_phone
    return any(same(value, fold(text)) for text in strings)
