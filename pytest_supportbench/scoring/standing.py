"""How a value stands in its message: affirmed, denied, taken back, or one of several that are offered.

A value that only occurs in one of the other ways is not stated: ``I could not refund $24``, ``$24. No, it was
$240``, ``$24, $9 or $33``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, Protocol

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.claim_grammar import LEXICONS, VERBS
from pytest_supportbench.scoring.phrases import find_in_folded, may_deny, negated
from pytest_supportbench.scoring.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_supportbench.scoring.reading import Reading
    from pytest_supportbench.scoring.text import Sentence

_DENIALS: Final = frozenset(
    listed("not isn't wasn't nicht statt anstatt kein keine pas non neither nor than")
)
_DENIALS_OF_TWO: Final = frozenset({"instead of", "lugar de", "lieu de", "anstatt von"})
_AT_MOST: Final = frozenset(listed("more less later longer earlier sooner"))
_BEFORE_VALUES: Final = frozenset(
    listed("the a an los las el les le la die der das den dem de by at on of for am um von à au del")
    + listed("bisher bisherigen previous former old usual antes anteriores ancien anciens précédents")
)
_MOST_BEFORE: Final = 3
_DENIAL_WINDOW: Final = 40
_FAILURES: Final = frozenset(
    listed(
        "failed declined refused rejected denied impossible unsuccessful fehlgeschlagen abgelehnt rechazado"
    )
    + listed("rechazada fallado refusé échoué")
)
_BLAME: Final = frozenset({"should", "shouldn't"})
_DOUBTS: Final = frozenset(
    listed(
        "whether unsure probably perhaps maybe possibly vermutlich vielleicht wahrscheinlich womöglich quizás"
    )
    + listed("quizá probablemente peut-être probablement")
)
_DOUBT_WORDS: Final = 3
_AT_FIRST: Final = frozenset(listed("first initially initial once earlier before zuerst primero d'abord"))
_OFFERED: Final = later(
    r"\s*(?:(?:,\s*)?(?:(?:and/)?or|oder|o|ou)\s+|,\s*(?=maybe|perhaps|possibly))"
    r"(?:maybe\s+|perhaps\s+|possibly\s+|even\s+|else\s+)?"
    r"(?:(?:of|on|at|for|the|am|vom|zum|el|al|del|de|le|du|au)\s+){0,2}",
    re.IGNORECASE,
)
_BETWEEN: Final = later(r"\b(?:between|zwischen|entre)\s+(?:the\s+|dem\s+|el\s+|le\s+)?\Z", re.IGNORECASE)
_AND: Final = later(r"\s+(?:and|und|y|et)\s+(?:the\s+|dem\s+|el\s+|le\s+)?", re.IGNORECASE)
_MOVED: Final = later(
    r"\b(?:mov|chang|postpon|push|shift|reschedul|switch|rais|ris|reduc|lower|drop|go(?:es|ne)?\b|went\b|cambi|aplaz|"
    r"movid|pasa|sub|baja|verschob|verschieb|geänder|verleg|senk|erhöh|umgestell|déplac|report|décal|avanc|pass|baiss)",
    re.IGNORECASE,
)
_FROM: Final = later(r"\b(?:from|vom|von|del?|du)\s+(?:the\s+)?\Z", re.IGNORECASE)
_TO: Final = later(r"\s+(?:to|auf(?:\s+den)?|al?|au|à)\s+(?:the\s+)?", re.IGNORECASE)
_ASKS: Final = frozenset(
    listed(
        "was is are were did do does have has had can could would should shall will which what when how why who"
    )
    + listed(
        "ist sind war waren haben hat hatten können kann welche welcher wann est était avez aviez est-ce"
    )
)
_GIVING: Final = frozenset(
    listed(
        "give send pay return offer grant hand geben zahlen zurückgeben zurückzahlen überweisen anbieten dar pagar"
    )
    + listed("ofrecer rendre donner verser accorder payer offrir reverser")
)
_POSSIBLE: Final = frozenset(
    listed(
        "possible available allowed permitted due granted möglich zulässig vorgesehen posible procede permitido"
    )
    + listed("prévu autorisé")
)
_LISTED: Final = later(
    r"\s*(?:[,;/]\s*(?:(?:and|und|y|e|et)\s+)?|\n\s*|(?:and|und|y|e|et)\s+)(?:of\s+|on\s+|at\s+|for\s+|the\s+)?",
    re.IGNORECASE,
)
_TAKEN_BACK: Final = later(
    r"[\s,.;:()\u2013\u2014-]*(?:no,|no\s+wait\b|no\s+sorry\b|no\s+it\b|wait,|sorry,|oops\b|correction\b|or\s+rather\b|"
    r"i\s+mean\b|make\s+that\b|(?:strike|scratch)\s+that\b)[\s,:]*(?:[\w']+[\s,:]+){0,3}",
    re.IGNORECASE,
)
_LONGEST_JOIN: Final = 40
_LISTING: Final = 3
_MOST_LISTED: Final = 6


class Placed(Protocol):
    """A value with its offsets in ``normalise(text)``."""

    @property
    def start(self) -> int:
        """Where it begins."""

    @property
    def end(self) -> int:
        """Where it ends."""


def is_stated(heard: Reading, found: Sequence[Placed], right: Sequence[bool], language: str) -> bool:
    """Tell whether one of the ``right`` values among ``found`` is affirmed; ``found`` is in order of place."""
    plain = heard.plain
    for place, is_right in enumerate(right):
        value = found[place]
        if (
            is_right
            and not is_denied(plain, value.start)
            and not is_asked(heard, value)
            and not _is_left_behind(plain, found, place)
            and not _is_doubted(plain, value.start)
            and not _is_unsettled(plain, found, right, place)
            and not _is_undone(heard, value, language)
        ):
            return True
    return False


def is_denied(plain: str, start: int) -> bool:
    """Tell whether the value at ``start`` is denied right before (``not the $49``, ``instead of $49``)."""
    words = plain[max(0, start - _DENIAL_WINDOW) : start].lower().split()
    for _ in range(_MOST_BEFORE):
        if words and words[-1] in _BEFORE_VALUES and " ".join(words[-2:]) not in _DENIALS_OF_TWO:
            words.pop()
    if not words:
        return False
    if words[-1] == "than" and not _AT_MOST.isdisjoint(words[-2:-1]) and words[-3:-2] in (["no"], ["not"]):
        return False
    if words[-1] == "no" and len(words) > 1:
        return words[-2].endswith(",") or words[-2] in {"y", "and", "sino"}
    return words[-1] in _DENIALS or " ".join(words[-2:]) in _DENIALS_OF_TWO


def is_asked(heard: Reading, value: Placed) -> bool:
    """Tell whether the clause of a value is what a question asks (``Was it $49?``, ``¿Fueron 49 €?``)."""
    sentence = sentence_at(heard, value.start)
    if sentence is None or not sentence.question:
        return False
    parsed, here = sentence.parsed, clause_at(sentence, value.start - sentence.start)
    first = next(
        (word for word, clause in zip(parsed.text, parsed.clause, strict=True) if clause == here), ""
    )
    return first in _ASKS or "¿" in sentence.text[: value.start - sentence.start]


def _is_left_behind(plain: str, found: Sequence[Placed], place: int) -> bool:
    """Tell whether a value is the one that another replaces (``moved from 1 May to 1 June``)."""
    if place + 1 >= len(found) or not _TO.fullmatch(plain, found[place].end, found[place + 1].start):
        return False
    before = plain[max(0, found[place].start - _DENIAL_WINDOW) : found[place].start]
    return _FROM.search(before) is not None and _MOVED.search(before) is not None


def _is_doubted(plain: str, start: int) -> bool:
    """Tell whether a word right before makes the value a guess (``probably $49``, ``whether it is $49``)."""
    words = plain[max(0, start - _DENIAL_WINDOW) : start].lower().replace(",", " , ").split()
    return not _DOUBTS.isdisjoint(words[-_DOUBT_WORDS:])


def _is_unsettled(plain: str, found: Sequence[Placed], right: Sequence[bool], place: int) -> bool:
    """Tell whether a value is one of two that are offered, one in a list of three, or taken back for the next."""
    run = [place]
    for step in (-1, 1):
        at = place
        while 0 <= at + step < len(found) and len(run) <= _MOST_LISTED:
            first, at = min(at, at + step), at + step
            left, behind = found[first].end, found[first + 1].start
            if behind - left > _LONGEST_JOIN:
                break
            if right[first] != right[first + 1] and place in {first, first + 1}:
                if _AND.fullmatch(plain, left, behind) and _BETWEEN.search(
                    plain, max(0, found[first].start - _DENIAL_WINDOW), found[first].start
                ):
                    return True
                if _OFFERED.fullmatch(plain, left, behind) and not is_denied(plain, behind):
                    return True
                if first == place and _TAKEN_BACK.fullmatch(plain, left, behind):
                    return True
            if not (_LISTED.fullmatch(plain, left, behind) or _OFFERED.fullmatch(plain, left, behind)):
                break
            run.append(at)
    return len(run) >= _LISTING and not all(right[at] for at in run)


def _is_undone(heard: Reading, value: Placed, language: str) -> bool:
    """Tell whether the clause of a value says that the deed with it was not done (``could not refund $24``)."""
    lexicon = LEXICONS.get(language)
    sentence = sentence_at(heard, value.start)
    if lexicon is None or sentence is None or not _may_undo(sentence, language):
        return False
    parsed, words = sentence.parsed, sentence.parsed.text
    here = clause_at(sentence, value.start - sentence.start)
    clause = [place for place, number in enumerate(parsed.clause) if number == here]
    deeds = VERBS[language] | _GIVING
    verbs = [place for place in clause if words[place] in deeds]
    begin = value.start - sentence.start
    verb = max((place for place in verbs if parsed.start[place] < begin), default=verbs[0] if verbs else None)
    if verb is not None:
        since = max((place + 1 for place in verbs if place < verb), default=clause[0])
        left = list(words[since:verb])
        if negated(left, language) and _BLAME.isdisjoint(left):
            return True
    around = {words[place] for place in clause}
    if not any(lexicon.concept(word) in {"refund", "credit"} for word in around):
        return False
    if not _POSSIBLE.isdisjoint(around) and negated([words[place] for place in clause], language):
        return True
    return not _FAILURES.isdisjoint(around) and _AT_FIRST.isdisjoint(around)


def _may_undo(sentence: Sentence, language: str) -> bool:
    """Tell whether a sentence has any word that denies or tells a failure, without which nothing in it is undone."""
    return may_deny(sentence, language) or not _FAILURES.isdisjoint(sentence.words)


def sentence_at(heard: Reading, start: int) -> Sentence | None:
    """Return the lower-case sentence that holds an offset of ``plain``."""
    for sentence in heard.lower_sentences:
        if sentence.start <= start < sentence.end:
            return sentence
    return None


def clause_at(sentence: Sentence, offset: int) -> int:
    """Return the number of the clause that holds an offset of the sentence."""
    parsed = sentence.parsed
    place = bisect_right(parsed.end, offset)
    return parsed.clause[place] if place < len(parsed.clause) else -1


def contradicting(
    heard: Reading, found: Sequence[Placed], right: Sequence[bool], about: Sequence[str], language: str
) -> Placed | None:
    """Return a value that stands where the right one belongs.

    That is in a clause which holds a phrase of ``about``, affirms it, and has values of the kind but not the
    right one.
    """
    for sentence in heard.lower_sentences if about and found else ():
        if sentence.question:
            continue
        here = [
            (value, is_right)
            for value, is_right in zip(found, right, strict=True)
            if sentence.start <= value.start < sentence.end and not is_denied(heard.plain, value.start)
        ]
        if not here:
            continue
        for phrase in about:
            match = find_in_folded(sentence.folded, phrase, language)
            if match is None:
                continue
            clause = clause_at(sentence, match.start)
            words = [
                word for i, word in enumerate(sentence.parsed.text) if sentence.parsed.clause[i] == clause
            ]
            beside = [
                (value, is_right)
                for value, is_right in here
                if clause_at(sentence, value.start - sentence.start) == clause
            ]
            if beside and not any(is_right for _, is_right in beside) and not negated(words, language):
                return beside[0][0]
    return None
