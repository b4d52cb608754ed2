"""How much a claim claims: which amounts and ids it names, and whether it speaks of the whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.money import Found, find_ids, find_money, spelt_numbers
from pytest_supportbench.scoring.text import listed, tokens

_JOINED: Final = later(
    r"\s*(?:,|and|y|und|et|plus|\+|&|,\s*and)\s*(?:also\s+)?(?:for\s+|of\s+|the\s+|another\s+)?"
)
_APPOSED: Final = later(
    r"\s*(?:,|:|\s[-\u2013\u2014])\s*(?:(?:namely|exactly|in\s+all|nämlich|a\s+saber|soit)\s+)?"
)
_CLOSED: Final = later(
    r"\s*(?:\Z|[.,;:!)\u2013\u2014]|-\s|(?:in\s+(?:full|total|all)|to\s+your|on\s+your|a\s+su|en\s+su|auf\s+ihr|à\s+votre|sur\s+votre)\b)"
)
_IN_PART: Final = frozenset(
    listed(
        "half part portion share remainder rest difference percent per less minus except mitad parte resto diferencia"
    )
    + listed(
        "menos salvo hälfte teil anteil restbetrag differenz abzüglich moitié partie reste différence moins sauf"
    )
)
_TAIL: Final = " ,:$€£¥-\u2013\u2014"
_WORD: Final = later(r"[^\W\d_]+")
_WHOLE: Final = frozenset(
    listed(
        "all both every everyone everything entire todos todas ambos ambas todo toda alle beide sämtliche alles"
    )
    + listed("tous toutes tout toute")
)
_BUT: Final = frozenset(
    listed(
        "but except excluding apart save unless without could couldn't not salvo excepto menos sin pero no außer"
    )
    + listed("bis aber nicht ohne sauf hormis mais pas sans")
)
_THINGS: Final = later(
    r"\s+(?:of\s+(?:the|your|their)\s+)?(?:[^\W\d_]+\s+){0,2}?(?:seats|users|people|persons|members|colleagues|licen[cs]es|keys|"
    r"sessions|files|accounts|plazas|licencias|usuarios|personas|plätzen?|lizenzen|nutzer|personen|konten|sièges|"
    r"utilisateurs|personnes|comptes)\b"
)
_RUN: Final = 6
_DIGITS: Final = later(r"(?<![\w.,-])[0-9]{1,3}(?![\w.,])")


def amounts_named(named: str, rest: str, language: str) -> tuple[Found, ...]:
    """Return the amounts of money that a claim is about.

    Those are the first of its own words ``named`` and what is joined to it; where it has none, the one that stands
    in apposition at the beginning of the ``rest`` of the sentence (``your credit for this quarter, 9.00 EUR.``), unless
    the claim is of a part of something.
    """
    found = _leading(find_money(named, language), named)
    kept = named.rstrip(_TAIL)
    rest = named[len(kept) :] + rest
    if found or not (apposed := _APPOSED.match(rest)):
        return found
    if not _IN_PART.isdisjoint(_WORD.findall(f"{named} {rest}".lower())):
        return ()
    behind = find_money(rest, language)[:1]
    if behind and behind[0].start == apposed.end() and _CLOSED.match(rest, behind[0].end):
        return (*behind,)
    return ()


def _leading(found: list[Found], text: str) -> tuple[Found, ...]:
    """Return the first amount and those joined to it; later ones belong to what was paid for."""
    kept = found[:1]
    for before, after in pairwise(found):
        if not _JOINED.fullmatch(text, before.end, after.start):
            break
        kept.append(after)
    return tuple(kept)


def ids_named(text: str) -> frozenset[str]:
    """Return the first record id in a claim's words and those joined to it."""
    kept: list[str] = []
    end = 0
    for name in find_ids(text):
        start = text.index(name, end)
        if kept and not _JOINED.fullmatch(text, end, start):
            break
        kept.append(name)
        end = start + len(name)
    return frozenset(kept)


def is_whole(claimed: str, rest: str) -> bool:
    """Tell whether a claim is of the whole (``all five seats``), with nothing excepted in the rest of its sentence."""
    words = {*_WORD.findall(claimed.lower())}
    return not _WHOLE.isdisjoint(words) and _BUT.isdisjoint(words | {*_WORD.findall(rest.lower())})


def count_named(claimed: str, language: str) -> int | None:
    """Return how many seats, people or the like a claim counts (``three of the five seats``); ``None`` for none."""
    lower = claimed.lower()
    found = [(number.start, number.end, int(number.value)) for number in spelt_numbers(lower, language)]
    found += [(match.start(), match.end(), int(match.group())) for match in _DIGITS.finditer(lower)]
    return next((value for _, end, value in sorted(found) if _THINGS.match(lower, end)), None)


def is_from(source: str, text: str, start: int, end: int) -> bool:
    """Tell whether the words from ``start`` to ``end``, with those around them, are a run of six of the ``source``.

    ``source`` has words with single blanks. Who repeats a rule word for word reports it, and claims nothing.
    """
    before, behind = tokens(text[:start]), tokens(text[end:])
    said = tokens(text[start:end])
    more = max(0, _RUN - len(said))
    return any(
        len(run) >= _RUN and f" {' '.join(run)} " in f" {source} "
        for left in range(more + 1)
        for run in ([*before[len(before) - left :], *said, *behind[: more - left]],)
    )
