"""Phrases in messages: where one occurs, and whether the message affirms it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pytest_supportbench.scoring.language import detect_language
from pytest_supportbench.scoring.reading import Reading, reading
from pytest_supportbench.scoring.settings import (
    is_hedged,
    is_open,
    is_polite,
    is_refused,
    is_undecided,
    is_wish,
)
from pytest_supportbench.scoring.text import Sentence, Words, fold, fold_phrase, inside, listed, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "SUPPORTED_CLAIM_LANGUAGES",
    "Match",
    "Setting",
    "affirmed",
    "contains_phrase",
    "detect_language",
    "find_in_folded",
    "negated",
    "those_affirmed",
    "tokens",
]

SUPPORTED_CLAIM_LANGUAGES: Final = frozenset({"en", "es", "de", "fr"})
"""Languages in which claims of deeds are looked for; in others they are not assessed."""

Setting: TypeAlias = Literal[
    "negation", "quotation", "question", "condition", "late_negation", "open", "wish"
]
"""What can keep a phrase that occurs from being affirmed."""
SETTINGS: Final[frozenset[Setting]] = frozenset({"negation", "quotation", "question", "condition"})
"""What keeps a phrase from being said."""
PROMISE_SETTINGS: Final[frozenset[Setting]] = SETTINGS | {"late_negation", "open", "wish"}
"""What keeps a phrase from being promised: beside the rest, a negation late in its clause, a time that is yet to come
(``when the dispute is closed``), and a clause on what the customer wants or said."""

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
_UNDOING: Final = {language: NEGATIONS[language] | CONDITIONS[language] for language in NEGATIONS}
"""Words without which nothing in a sentence is denied or hypothetical."""

_NEGATION_FOLLOWS: Final = frozenset({"de", "fr", "nl"})
_EXCEPTS: Final = frozenset(
    listed("except excepting besides außer ausgenommen salvo excepto sauf hormis excepté")
)
"""Words behind which a negation no longer holds (``nowhere except the card``)."""
_LINKS: Final = frozenset(listed("that whether dass ob que qu'il qu'elle"))
"""Words that begin a clause on which the one before bears (``kann nicht zusagen, dass``)."""
_DOUBLED: Final = {
    "es": frozenset({"no"}),
    "fr": frozenset({"ne"}),
    "pt": frozenset({"não"}),
    "it": frozenset({"non"}),
}
"""Particles that a language adds to a word of negation (``je n'ai rien``)."""
_JOINS: Final = frozenset(listed("and or und oder y o et ou en of"))
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
    return find_in_folded(fold(text), phrase, language, start=start)


def find_in_folded(folded: str, phrase: str, language: str, *, start: int = 0) -> Match | None:
    """Return what `contains_phrase` does for a text that is folded already."""
    wanted = fold_phrase(phrase)
    if not wanted or wanted not in folded:
        return None
    return next(_occurrences(folded, wanted, language, start), None)


def negated(around: list[str], language: str) -> bool:
    """Tell whether words of one clause deny it; ``not only`` and ``do not hesitate`` do not."""
    if not _EXCEPTS.isdisjoint(around):
        around = around[max(at for at, word in enumerate(around) if word in _EXCEPTS) + 1 :]
    negations = NEGATIONS.get(language, NEGATIONS["en"])
    if language == "fr" and _is_restrictive(around):
        return False
    if negations.isdisjoint(around):
        return language == "fr" and any(word.startswith("n'") for word in around)
    return any(
        word in negations and not (place + 1 < len(around) and around[place + 1] in _CANCELS)
        for place, word in enumerate(around)
    )


def may_deny(sentence: Sentence, language: str) -> bool:
    """Tell whether a sentence has a word by which `negated` could say that any words of it are denied."""
    negations = NEGATIONS.get(language, NEGATIONS["en"])
    return not negations.isdisjoint(sentence.words) or (language == "fr" and "n'" in sentence.text)


def _is_restrictive(words: list[str]) -> bool:
    """Tell whether French words only restrict (``il ne peut aller que sur la carte``)."""
    start = next((at for at, word in enumerate(words) if word == "ne" or word.startswith("n'")), None)
    if start is None or not any(word == "que" or word.startswith("qu'") for word in words[start + 1 :]):
        return False
    return NEGATIONS["fr"].isdisjoint([word for word in words if word != "ne"])


def affirmed(
    text: str | Reading, phrase: str, language: str, *, unless: frozenset[Setting] = SETTINGS
) -> bool:
    """Tell whether ``text`` affirms ``phrase`` at some place.

    ``unless`` names what disqualifies a place: a ``negation`` in its clause, ``quotation`` marks around it, a
    ``question``, or a ``condition`` earlier in its sentence or in its clause; `PROMISE_SETTINGS` has more. A phrase
    with a negation of its own (``rien trouvé``) is not denied by the particle that goes with it (``n'``).
    """
    wanted = fold_phrase(phrase)
    read = reading(text)
    if not wanted or wanted not in read.folded:
        return False
    places = list(_occurrences(read.folded, wanted, language))
    if "quotation" in unless and places and read.quoted:
        places = [place for place in places if not inside(read.quoted, place.start, place.end)]
    if not places:
        return False
    denials = _UNDOING.get(language, _UNDOING["en"])
    simple = unless <= SETTINGS
    manner: _Manner | None = None
    remaining = iter(places)
    place = next(remaining, None)
    for sentence in read.sentences:
        while place is not None and place.start < sentence.end:
            if not ("question" in unless and sentence.question):
                if simple and denials.isdisjoint(sentence.words) and "n'" not in sentence.text:
                    return True
                manner = manner or _manner(phrase, language, unless)
                if _holds(sentence, place, manner):
                    return True
            place = next(remaining, None)
        if place is None:
            break
    return False


def those_affirmed(
    heard: Reading, phrases: Iterable[str], language: str, *, unless: frozenset[Setting] = SETTINGS
) -> Iterator[str]:
    """Yield the phrases that a text affirms; most do not stand in it at all, which is seen first."""
    folded = heard.folded
    for phrase in phrases:
        if fold_phrase(phrase) in folded and affirmed(heard, phrase, language, unless=unless):
            yield phrase


@dataclass(frozen=True, slots=True)
class _Manner:
    """How a phrase is looked for: what disqualifies a place, and the particles of the phrase's own negation."""

    language: str
    unless: frozenset[Setting]
    own: frozenset[str]


def _manner(phrase: str, language: str, unless: frozenset[Setting]) -> _Manner:
    negates = not NEGATIONS.get(language, NEGATIONS["en"]).isdisjoint(tokens(phrase))
    return _Manner(language, unless, _DOUBLED.get(language, frozenset()) if negates else frozenset())


def _holds(sentence: Sentence, place: Match, manner: _Manner) -> bool:
    """Tell whether a sentence means the phrase at a place."""
    parsed, language, unless = sentence.parsed, manner.language, manner.unless
    start, end = place.start - sentence.start, place.end - sentence.start
    first = bisect_right(parsed.end, start)
    last = bisect_left(parsed.start, end, first)
    here = parsed.clause[first] if first < len(parsed.clause) else -1
    begin = first if here < 0 else bisect_left(parsed.clause, here, 0, first)
    then = parsed.clause[last - 1] if last > first else here
    right = list(parsed.text[last : bisect_right(parsed.clause, then, last)])
    if "negation" in unless and (
        _is_denied_before(parsed, begin, first, manner) or _is_denied_behind(right, manner)
    ):
        return False
    if "condition" in unless and _is_conditional(parsed, first, last, right, language):
        return False
    if "open" in unless and (
        any(is_open(words, language) for words in (*_clauses(parsed, first), tuple(right)))
        or is_undecided(
            parsed.text[max(0, begin - 1) : first], language, opens=not begin, told=sentence.text[end:]
        )
    ):
        return False
    if "wish" in unless and is_hedged(parsed.text[begin:first]):
        return False
    left = sentence.text[parsed.start[begin] : start] if begin < first else ""
    return not ("wish" in unless and is_wish(left, language))


def _is_denied_before(parsed: Words, begin: int, first: int, manner: _Manner) -> bool:
    left = list(parsed.text[begin:first])
    if begin and left and left[0] in _LINKS:
        main = parsed.clause[begin - 1]
        if negated(
            [word for i, word in enumerate(parsed.text[:begin]) if parsed.clause[i] == main], manner.language
        ):
            return True
    if manner.own:
        left = [word for word in left if word not in manner.own and not word.startswith("n'")]
    return negated(left, manner.language)


def _is_denied_behind(right: list[str], manner: _Manner) -> bool:
    if "late_negation" in manner.unless and not manner.own and is_refused(right, manner.language):
        return True
    if manner.own or manner.language not in _NEGATION_FOLLOWS:
        return False
    near = right[:3]
    if "late_negation" in manner.unless and manner.language != "fr":
        near = right[: next((i for i, word in enumerate(right) if word in _JOINS), len(right))]
    return negated(near, manner.language)


def _is_conditional(parsed: Words, first: int, last: int, right: list[str], language: str) -> bool:
    conditions = CONDITIONS.get(language, CONDITIONS["en"])
    places = [
        *(i for i in range(first) if parsed.text[i] in conditions),
        *(i for i in range(last, last + len(right)) if parsed.text[i] in conditions),
    ]
    return any(not is_polite(parsed.text, i) for i in places)


def _clauses(parsed: Words, first: int) -> Iterator[tuple[str, ...]]:
    """Yield the words of each clause up to the word at ``first``."""
    for number in dict.fromkeys(parsed.clause[:first]):
        yield tuple(
            word for word, clause in zip(parsed.text[:first], parsed.clause, strict=False) if clause == number
        )
