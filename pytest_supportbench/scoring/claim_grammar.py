"""Where a sentence says that the agent did something: which deed, in which words, and whether it means it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.claim_cues import Cues
from pytest_supportbench.scoring.claim_voice import JOINS, Clauses, Voice
from pytest_supportbench.scoring.claim_words import AMOUNT, ANY, KINDS, LEADING, Lexicon
from pytest_supportbench.scoring.claim_words_de import GERMAN
from pytest_supportbench.scoring.claim_words_en import ENGLISH
from pytest_supportbench.scoring.claim_words_romance import FRENCH, SPANISH
from pytest_supportbench.scoring.dates import find_dates
from pytest_supportbench.scoring.phrases import negated
from pytest_supportbench.scoring.text import Sentence, listed, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_supportbench.state import Deed

LEXICONS: Final[dict[str, Lexicon]] = {"en": ENGLISH, "es": SPANISH, "de": GERMAN, "fr": FRENCH}

_FORMS: Final = {
    name: frozenset((*words.done, *words.doing, *words.past)) for name, words in LEXICONS.items()
}
VERBS: Final = {name: _FORMS[name].union(words.base) for name, words in LEXICONS.items()}
"""All forms of the verbs of deeds; those of ``base`` count only as infinitives."""
_INFINITIVE: Final = frozenset({"to", "de"})
_AN_AMOUNT: Final = later(rf"\s+(?:(?:you|back|the|your|full)\s+){{0,3}}{AMOUNT}")
_AMOUNT: Final = later(AMOUNT)
_TO_ADMIN: Final = later(
    r"\b(?:to|with|an|a|al|à|aux|au)\s+(?:(?:your|the|our|their|workspace|ihre[nm]?|die|den|los?|las?|sus?|les?|vos|votre|owner|"
    r"owners|and|und|y|et)\s+){0,4}(?:\w+'s\s+)?(?:admin\w*|owners?|inhaber\w*|propietari\w+|propriétaires?)\b"
)
"""Whoever runs the customer's own workspace, and is no team of ours."""
_TO_A_DAY: Final = later(r"\b(?:to|al?|au|auf(?:\s+den)?)\s+(?:the\s+)?\Z")
_MOVES: Final = frozenset({"pass", "move", "transfer", "send", "bring"})
_RELATIVE: Final = frozenset(listed("who which that whoever"))
_AUXILIARY: Final = frozenset(listed("been has have was were is are being"))
_LINKS: Final = frozenset(listed("that whether dass ob que qu'un qu'une"))
_NOTHING: Final = {("nothing",), ("no",), ("none",), ("nada",), ("rien",)}
_I: Final = frozenset(listed("i i've i'm ich he j'ai"))
_WE: Final = frozenset(listed("we we've we're wir hemos nous avons"))
_EARLIER: Final = frozenset(
    listed(
        "yesterday last ago recently earlier previously before already then when "
        "ayer ya gestern bereits schon hier déjà"
    )
    + listed("january february april june july august september october november december")
)
_BY_OTHERS: Final = later(
    r"\s*(?:\w+\s+){0,3}?(?:by|por|durch|von|par)\s+(?!(?:us|me|our|nosotros|uns|nous|notre|nuestro)\b)"
    r"(?:(?:your|the|another|a|an|su|tu|ihre[nm]?|votre|someone|el|la)\s+)?(?:\w+\s+)?"
    r"(?:admin\w*|banks?|owners?|colleagues?|someone|him|her|them|you|reseller|partner|banco|bank|banque)\b"
)
_PAID_TO_CUSTOMER: Final = later(r"\s*(?:\w+\s+){0,2}?(?:back|out|to\s+you|(?:in)?to\s+your)\b")


class Said(NamedTuple):
    """A deed that a sentence claims: the deed, and the span of its clause in the sentence.

    ``object_start`` and ``object_end`` bound the words that name what it was done to; ``first_person`` tells
    whether the agent names itself as the doer, ``just_now`` whether it says so of itself alone (``I``, not ``we``)
    and of no earlier time; ``earlier`` whether it names one.
    """

    deed: Deed
    start: int
    end: int
    object_start: int
    object_end: int
    first_person: bool
    just_now: bool = False
    earlier: bool = False


def deeds_said(given: Sentence, language: str, cues: Cues) -> Iterator[Said]:
    """Yield the deeds that a lower-case sentence, no question, claims as done or under way.

    Offers, intentions, denials, conditions, policies and what others said or did are none.
    """
    lexicon, sentence = LEXICONS[language], given.text
    spoken = [
        (match, deed)
        for cue, pattern, deed in cues.says
        if cue in sentence and (match := pattern.search(sentence))
    ]
    promised = None
    if cues.promised and any(map(sentence.__contains__, lexicon.promise_cues)):
        promised = lexicon.promises.search(sentence)
    if not spoken and promised is None and VERBS[language].isdisjoint(given.words):
        return
    for compound, joined in cues.compounds:
        sentence = sentence.replace(compound, joined)
    parsed = given.parsed if sentence == given.text else read(sentence)
    clauses = Clauses(lexicon, language, parsed)
    words, forms = parsed.text, _FORMS[language]
    for match, deed in spoken:
        yield from _spoken(clauses, match, deed)
    if promised is not None and lexicon.conditions.isdisjoint(words):
        yield from _spoken(clauses, promised, "callback")
    verbs = [
        place
        for place, word in enumerate(words)
        if (word in forms and not clauses.describes(place))
        or (word in lexicon.base and words[place - 1] in _INFINITIVE)
    ]
    if verbs:
        yield from _Reader(clauses, sentence, verbs).claims()


def _spoken(clauses: Clauses, match: re.Match[str], deed: Deed) -> Iterator[Said]:
    """Yield the deed of a fixed way of speaking, unless its clause denies or doubts it."""
    words = clauses.words
    first = next((i for i, end in enumerate(words.end) if end > match.start()), 0)
    start = clauses.start_of(first)
    left = list(words.text[start:first])
    if negated(left, clauses.language) or not clauses.lexicon.conditions.isdisjoint(left):
        return
    if not clauses.lexicon.reported.search(match.string, 0, match.start()):
        begin = words.start[start]
        mine = words.text[first] in _I
        earlier = is_earlier(words.text)
        now = mine and not earlier
        yield Said(deed, begin, match.end(), begin, match.end(), mine, now, earlier)


@dataclass(slots=True)
class _Reader:
    """Reads the verbs of one sentence (by their places) from left to right."""

    clauses: Clauses
    sentence: str
    verbs: list[int]

    def claims(self) -> Iterator[Said]:
        voice: Voice | None = None
        previous = -1
        ends = [*self.verbs[1:], len(self.clauses.words.text)]
        for place, following in zip(self.verbs, ends, strict=True):
            start = self.clauses.start_of(place)
            joined = self._is_joined(place, previous)
            found = voice if joined and voice else self.clauses.voice(place, start)
            if found is None:
                voice = voice if joined else None
                continue
            if found != "active" and not joined:
                start = self._subject_start(place, start)
            if self._is_disqualified(place, start, found):
                voice = None
                continue
            shares = joined or self.clauses.language == "de"
            left = max(start, previous + 1) if shares else start
            voice, previous = found, place
            yield from self._said(place, left, following, found)

    def _subject_start(self, place: int, start: int) -> int:
        """Return where the subject begins: behind the last ``and the`` or ``and your`` of the clause."""
        words, definite = self.clauses.words.text, self.clauses.lexicon.definite
        return next(
            (i for i in range(place, start, -1) if words[i] in definite and words[i - 1] in JOINS), start
        )

    def _is_joined(self, place: int, previous: int) -> bool:
        """Tell whether the verb shares the subject of the one before (``cancelled it and refunded you``)."""
        words, clause = self.clauses.words.text, self.clauses.words.clause
        at = self.clauses.before(place)
        if previous < 0 or at < 0:
            return False
        if words[at] in JOINS:
            return at > previous and clause[place] - clause[previous] <= 1
        follows = clause[at] != clause[place] and clause[place] - clause[previous] == 1
        return follows and self.clauses.language != "de"

    def _is_disqualified(self, place: int, start: int, voice: Voice) -> bool:
        words, lexicon, language = self.clauses.words, self.clauses.lexicon, self.clauses.language
        left = list(words.text[start : self.clauses.end_of(place) if language == "de" else place])
        context = start
        if start and words.text[start] in _LINKS:
            context = self.clauses.start_of(start - 1)
            left = [*words.text[context:start], *left]
        return (
            negated(left, language)
            or self._object(place) in _NOTHING
            or not lexicon.conditions.isdisjoint(left)
            or lexicon.reported.search(self.sentence, words.start[context], words.end[place]) is not None
            or (voice != "active" and self._is_of_others(place))
            or (voice == "state" and not self._is_definite(place, start))
        )

    def _object(self, place: int) -> tuple[str, ...]:
        """Return the first word of a verb's object, which verbs may share (``cancelled and changed nothing``)."""
        words = self.clauses.words.text
        at = place + 1
        while words[at : at + 1] and words[at] in JOINS and at + 1 in self.verbs:
            at += 2
        return words[at : at + 1]

    def _is_of_others(self, place: int) -> bool:
        """Tell whether a passive verb names another doer, or only describes (``customers who were …``)."""
        words = self.clauses.words.text
        start = self.clauses.start_of(place)
        subject = self.clauses.before(place)
        while subject > start and words[subject] in _AUXILIARY:
            subject = self.clauses.before(subject)
        behind = self.clauses.words.end[place]
        return (
            (subject >= start and words[subject] in _RELATIVE)
            or _BY_OTHERS.match(self.sentence, behind) is not None
            or (words[place] == "paid" and _PAID_TO_CUSTOMER.match(self.sentence, behind) is None)
        )

    def _is_definite(self, place: int, start: int) -> bool:
        """Tell ``your refund is issued`` from ``refunds are issued within five days``."""
        words, lexicon = self.clauses.words.text, self.clauses.lexicon
        named = not lexicon.definite.isdisjoint(words[start : start + 2])
        named = named or any("_" in word for word in words[start:place])
        return named and lexicon.habits.isdisjoint(words[place:])

    def _said(self, place: int, left: int, following: int, voice: Voice) -> Iterator[Said]:
        words, lexicon = self.clauses.words, self.clauses.lexicon
        end = min(self.clauses.end_of(place), following)
        object_first = voice != "active" or self.clauses.language == "de"
        nouns = (*(words.text[left:place] if object_first else ()), *words.text[place + 1 : end])
        kind, nouns = self._phrasal(lexicon.kind(words.text[place]), words.text[place + 1 : end], nouns)
        concepts = [concept for concept in map(lexicon.concept, nouns) if concept]
        if {"payment", "plan"} <= {*nouns}:
            concepts.insert(0, "payment_plan")
        begin = words.start[left if object_first else place]
        stop = len(self.sentence) if end == len(words.text) else words.start[end]
        if kind in _MOVES and lexicon.to_us.search(self.sentence, begin, stop):
            concepts.insert(0, "ours")
        if kind in _MOVES and _TO_ADMIN.search(self.sentence, begin, stop):
            concepts = [concept for concept in concepts if concept != "team"]
        if kind == "move" and not concepts and voice == "active" and self._is_to_a_day(place, stop):
            concepts.append("time")
        deed = _deed(kind, concepts)
        if kind == "book" and deed == "schedule" and _AMOUNT.search(self.sentence, begin, stop):
            deed = None  # money that is booked may be a credit, a refund or a payment
        if (
            deed is None
            and kind in {"return", "pay", "send"}
            and _AN_AMOUNT.match(self.sentence, words.end[place])
        ):
            deed = "refund"
        if deed is not None:
            yield Said(
                deed,
                words.start[left],
                words.end[end - 1],
                begin,
                stop,
                first_person=voice == "active",
                just_now=voice == "active" and self._is_mine_now(place),
                earlier=is_earlier(words.text),
            )

    def _phrasal(
        self, kind: str, behind: tuple[str, ...], nouns: tuple[str, ...]
    ) -> tuple[str, tuple[str, ...]]:
        """Return the kind that a particle makes of a verb, and the words of its object.

        That stands between the two (``taken Ann off the list``), or behind where nothing does.
        """
        for at, word in enumerate(behind):
            found = self.clauses.lexicon.phrasal.get((kind, word))
            if found is not None:
                return found, behind[:at] or behind[at + 1 :]
        return kind, nouns

    def _is_to_a_day(self, place: int, stop: int) -> bool:
        """Tell ``I have moved you to 19 June`` from ``we moved the flight of 19 June``, which its timetable may say."""
        behind = self.sentence[self.clauses.words.end[place] : stop]
        before = (behind[: day.start][-12:] for day in find_dates(behind, self.clauses.language))
        return any(map(_TO_A_DAY.search, before)) and self._doer(place) in _I

    def _is_mine_now(self, place: int) -> bool:
        return self._doer(place) in _I and not is_earlier(self.clauses.words.text)

    def _doer(self, place: int) -> str | None:
        left = reversed(self.clauses.words.text[:place])
        return next((word for word in left if word in _I or word in _WE), None)


def is_earlier(words: tuple[str, ...]) -> bool:
    """Tell whether words of a sentence name an earlier time (``last week``, ``in June``, ``three days ago``)."""
    return not _EARLIER.isdisjoint(words)


def _deed(kind: str, concepts: list[str]) -> Deed | None:
    """Return what a kind of act did to the nouns beside it; ``None`` where that is no deed."""
    deeds = KINDS[kind]
    for concept in (*(leading for leading in LEADING if leading in concepts), *concepts):
        if concept in deeds:
            return deeds[concept]
    return deeds.get(ANY)
