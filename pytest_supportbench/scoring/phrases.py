"""Phrases in messages: where one occurs, and whether the message affirms it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pytest_supportbench.scoring.language import detect_language
from pytest_supportbench.scoring.reading import Reading, reading
from pytest_supportbench.scoring.text import Sentence, fold, inside, listed, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "SUPPORTED_CLAIM_LANGUAGES",
    "Match",
    "Setting",
    "affirmed",
    "contains_phrase",
    "detect_language",
    "negated",
    "tokens",
]

SUPPORTED_CLAIM_LANGUAGES: Final = frozenset({"en", "es", "de", "fr"})
"""Languages in which claims of deeds are looked for; in others they are not assessed."""

Setting: TypeAlias = Literal["negation", "quotation", "question", "condition"]
"""What can keep a phrase that occurs from being affirmed."""
SETTINGS: Final[frozenset[Setting]] = frozenset({"negation", "quotation", "question", "condition"})

_UNSPACED: Final = frozenset({"ja", "zh", "th", "ko"})

NEGATIONS: Final[dict[str, frozenset[str]]] = {
    "en": frozenset(
        listed(
            "not no never none nothing nobody neither nor without cannot unable haven't hasn't hadn't "
            "isn't aren't wasn't "
            "weren't don't doesn't didn't won't wouldn't can't couldn't shouldn't mustn't mightn't "
            "needn't ain't "
            "refuse refused decline declined"
        )
    ),
    "es": frozenset(listed("no nunca jamás sin tampoco ni ningún ninguna ninguno nada nadie")),
    "de": frozenset(
        listed("nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne weder")
    ),
    "fr": frozenset(listed("ne pas jamais aucun aucune sans ni rien personne non")),
    "pt": frozenset(listed("não nunca jamais sem tampouco nem nenhum nenhuma nada ninguém")),
    "it": frozenset(listed("non mai senza né nessun nessuna nessuno niente nulla neanche")),
    "nl": frozenset(listed("niet geen nooit zonder niemand niets noch")),
}
"""Words that deny what follows in their clause (in German and French also what came before)."""

CONDITIONS: Final[dict[str, frozenset[str]]] = {
    "en": frozenset(listed("if unless once whether until would i'd you'd we'd provided assuming")),
    "es": frozenset(listed("si cuando siempre salvo sería podría hasta")),
    "de": frozenset(listed("wenn falls sobald sofern ob würde würden bis")),
    "fr": frozenset(listed("si s'il s'ils dès lorsque quand serait pourrait")),
    "pt": frozenset(listed("se quando caso seria poderia assim até")),
    "it": frozenset(listed("se quando qualora sarebbe potrebbe")),
    "nl": frozenset(listed("als zodra indien of zou zouden tenzij")),
}
"""Words that make their clause hypothetical."""

_NEGATION_FOLLOWS: Final = frozenset({"de", "fr", "nl"})
_CANCELS: Final = frozenset(listed("only hesitate solo sólo nur zögern seulement hésitez"))
"""Words that undo a negation right before them (``not only``, ``do not hesitate``)."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a phrase stands in ``fold(text)``."""

    start: int
    end: int


def _occurrences(folded: str, phrase: str, language: str, start: int = 0) -> Iterator[Match]:
    start = folded.find(phrase, start)
    while start >= 0:
        end = start + len(phrase)
        if language in _UNSPACED or not (
            (start and _wordy(folded[start - 1]) and _wordy(phrase[0]))
            or (end < len(folded) and _wordy(folded[end]) and _wordy(phrase[-1]))
        ):
            yield Match(start, end)
        start = folded.find(phrase, end)


def _wordy(character: str) -> bool:
    return character.isalnum() or character == "_"


def contains_phrase(text: str, phrase: str, language: str, *, start: int = 0) -> Match | None:
    """Return the first place from ``start`` on where ``phrase`` stands in ``text`` as whole words.

    It may be meant in any way there; see `affirmed`.
    Case, Unicode form, kind of apostrophe and white space do not matter. In languages written without spaces
    any place will do.
    """
    wanted = fold(phrase)
    return next(_occurrences(fold(text), wanted, language, start), None) if wanted else None


def negated(around: list[str], language: str) -> bool:
    """Tell whether words of one clause deny it; ``not only`` and ``do not hesitate`` do not."""
    negations = NEGATIONS.get(language, NEGATIONS["en"])
    if negations.isdisjoint(around):
        return language == "fr" and any(word.startswith("n'") for word in around)
    return any(
        word in negations and not (place + 1 < len(around) and around[place + 1] in _CANCELS)
        for place, word in enumerate(around)
    )


def affirmed(
    text: str | Reading, phrase: str, language: str, *, unless: frozenset[Setting] = SETTINGS
) -> bool:
    """Tell whether ``text`` affirms ``phrase`` at some place.

    ``unless`` names what disqualifies a place: a ``negation`` in its clause, ``quotation`` marks around it, a
    ``question``, or a ``condition`` earlier in its sentence or in its clause.
    """
    wanted = fold(phrase)
    read = reading(text)
    if not wanted or wanted not in read.folded:
        return False
    places = list(_occurrences(read.folded, wanted, language))
    if "quotation" in unless and places:
        places = [place for place in places if not inside(read.quoted, place.start, place.end)]
    if not places:
        return False
    denials = NEGATIONS.get(language, NEGATIONS["en"]) | CONDITIONS.get(language, CONDITIONS["en"])
    remaining = iter(places)
    place = next(remaining, None)
    for sentence in read.sentences:
        while place is not None and place.start < sentence.end:
            if not ("question" in unless and sentence.question):
                if denials.isdisjoint(sentence.words) and "n'" not in sentence.text:
                    return True
                if _holds(sentence, place, language, unless):
                    return True
            place = next(remaining, None)
        if place is None:
            break
    return False


def _holds(sentence: Sentence, place: Match, language: str, unless: frozenset[Setting]) -> bool:
    parsed = sentence.parsed
    start, end = place.start - sentence.start, place.end - sentence.start
    first = next((i for i, stop in enumerate(parsed.end) if stop > start), len(parsed.text))
    last = next((i for i in range(first, len(parsed.text)) if parsed.start[i] >= end), len(parsed.text))
    here = parsed.clause[first] if first < len(parsed.clause) else -1
    left = [word for i, word in enumerate(parsed.text[:first]) if parsed.clause[i] == here]
    then = parsed.clause[last - 1] if last > first else here
    right = [word for i, word in enumerate(parsed.text[last:], last) if parsed.clause[i] == then]
    if "negation" in unless and (
        negated(left, language) or (language in _NEGATION_FOLLOWS and negated(right[:3], language))
    ):
        return False
    if "condition" in unless:
        conditions = CONDITIONS.get(language, CONDITIONS["en"])
        if not (conditions.isdisjoint(parsed.text[:first]) and conditions.isdisjoint(right)):
            return False
    return True
