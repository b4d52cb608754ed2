"""Where a sentence says that the agent did something: who is the subject, which verb, what is denied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pytest_supportbench.scoring.claim_words import ANY, KINDS, LEADING, Lexicon
from pytest_supportbench.scoring.claim_words_de import GERMAN
from pytest_supportbench.scoring.claim_words_en import ENGLISH
from pytest_supportbench.scoring.claim_words_romance import FRENCH, SPANISH
from pytest_supportbench.scoring.phrases import negated
from pytest_supportbench.scoring.text import Words, listed, read
from pytest_supportbench.toolset import Deed

LEXICONS: Final[dict[str, Lexicon]] = {"en": ENGLISH, "es": SPANISH, "de": GERMAN, "fr": FRENCH}

_JOINS: Final = frozenset(listed("and then y e und et ou o or"))
_FIRST: Final[dict[str, frozenset[str]]] = {
    "en": frozenset(listed("i we i've we've")),
    "es": frozenset(listed("yo nosotros he hemos acabo")),
    "de": frozenset(listed("ich wir")),
    "fr": frozenset(listed("je j'ai nous")),
}
_MODALS: Final = frozenset(
    listed(
        "can could will would may might should must shall do did don't didn't want wanted need plan tried try'll"
    )
)
_OTHERS: Final = frozenset(listed("you he she they it who someone somebody customers bank"))
_INFINITIVE: Final = frozenset({"to", "de"})
_JUST_NOW: Final = {("acabo", "de"), ("acabamos", "de"), ("viens", "de"), ("venons", "de")}
_COMPOUNDS: Final = ("as soon as", "in case", "una vez")
_RELATIVE: Final = frozenset(listed("who which that whoever que qui quien die der das"))
_LINKS: Final = frozenset(listed("that whether dass ob que qu'un qu'une"))
_BY_OTHERS: Final = re.compile(
    r"\s*(?:\w+\s+){0,3}?(?:by|por|durch|von|par)\s+(?!(?:us|me|our|nosotros|uns|nous|notre|nuestro)\b)"
    r"(?:(?:your|the|another|a|an|su|tu|ihre[nm]?|votre|someone|el|la)\s+)?"
    r"(?:\w+\s+){0,1}?(?:admin\w*|banks?|owners?|colleagues?|someone|him|her|them|you|reseller|partner|banco|bank|banque)\b"
)

_PASSIVE, _ACTIVE, _STATE = "passive", "active", "state"


@dataclass(frozen=True, slots=True)
class Said:
    """A deed that a sentence claims: the deed, and the span of its clause in the sentence.

    ``object_start`` and ``object_end`` bound the words that name what it was done to; ``first_person`` tells
    whether the agent names itself as the doer.
    """

    deed: Deed
    start: int
    end: int
    object_start: int
    object_end: int
    first_person: bool


def deeds_said(sentence: str, language: str) -> Iterator[Said]:
    """Yield the deeds that a lower-case sentence, no question, claims as done or under way.

    Offers, intentions, denials, conditions, policies and what others said or did are none.
    """
    lexicon = LEXICONS[language]
    for compound in _COMPOUNDS:
        sentence = sentence.replace(compound, compound.replace(" ", "_"))
    parsed: Words | None = None
    verbs = lexicon.done
    for found, deed in lexicon.says:
        match = found.search(sentence)
        if match:
            parsed = parsed or read(sentence)
            said = _spoken(lexicon, parsed, match, deed, language)
            if said:
                yield said
    match = lexicon.promises.search(sentence)
    if match:
        parsed = parsed or read(sentence)
        if lexicon.conditions.isdisjoint(parsed.text):
            said = _spoken(lexicon, parsed, match, "callback", language)
            if said:
                yield said
    parsed = parsed or read(sentence)
    places = [
        place
        for place, word in enumerate(parsed.text)
        if word in verbs
        or word in lexicon.doing
        or word in lexicon.past
        or (word in lexicon.base and parsed.text[place - 1] in _INFINITIVE)
    ]
    if places:
        yield from _Reader(lexicon, parsed, language, sentence, places).claims()


def _spoken(lexicon: Lexicon, parsed: Words, match: re.Match[str], deed: Deed, language: str) -> Said | None:
    first = next((i for i, end in enumerate(parsed.end) if end > match.start()), 0)
    clause = parsed.clause[first] if first < len(parsed.clause) else 0
    left = [word for i, word in enumerate(parsed.text[:first]) if parsed.clause[i] == clause]
    if negated(left, language) or not lexicon.conditions.isdisjoint(left):
        return None
    if lexicon.reported.search(match.string, 0, match.start()):
        return None
    begin = parsed.start[first - len(left)] if left else match.start()
    return Said(deed, begin, match.end(), begin, match.end(), first_person=False)


@dataclass(slots=True)
class _Reader:
    """Reads the verbs of one sentence from left to right."""

    lexicon: Lexicon
    parsed: Words
    language: str
    sentence: str
    places: list[int]

    def claims(self) -> Iterator[Said]:
        voice: str | None = None
        previous = -1
        for number, place in enumerate(self.places):
            start = self._clause_start(place)
            joined = self._joined(place, previous)
            found = voice if joined and voice else self._voice(place, start)
            if found in {_PASSIVE, _STATE} and not joined:
                start = self._subject_start(place, start)
            if found is None:
                if not joined:
                    voice = None
                continue
            if self._disqualified(place, start, found):
                voice = None
                continue
            following = self.places[number + 1] if number + 1 < len(self.places) else len(self.parsed.text)
            left = max(start, previous + 1) if self.language == "de" or joined else start
            said = self._said(place, left, following, found)
            voice, previous = found, place
            if said is not None:
                yield said

    def _clause_start(self, place: int) -> int:
        clause = self.parsed.clause[place]
        start = place
        while start and self.parsed.clause[start - 1] == clause:
            start -= 1
        return start

    def _subject_start(self, place: int, start: int) -> int:
        """Return where the subject begins: behind the last ``and the`` or ``and your`` of the clause."""
        words = self.parsed.text
        return next(
            (
                at
                for at in range(place, start, -1)
                if words[at] in self.lexicon.definite and words[at - 1] in _JOINS
            ),
            start,
        )

    def _clause_end(self, place: int) -> int:
        clause = self.parsed.clause
        end = place + 1
        while end < len(clause) and clause[end] == clause[place]:
            end += 1
        return end

    def _before(self, place: int) -> int:
        """Return the place of the word before, adverbs skipped; -1 for none."""
        at = place - 1
        while at >= 0 and self.parsed.text[at] in self.lexicon.adverbs and self.parsed.text[at] not in _JOINS:
            at -= 1
        return at

    def _joined(self, place: int, previous: int) -> bool:
        """Tell whether the verb goes on with the subject of the verb before (``cancelled it and refunded it``)."""
        if previous < 0:
            return False
        words, clause = self.parsed.text, self.parsed.clause
        at = self._before(place)
        if at < 0:
            return False
        if words[at] in _JOINS:
            return at > previous and clause[place] - clause[previous] <= 1
        return clause[at] != clause[place] and clause[place] - clause[previous] == 1 and self.language != "de"

    def _voice(self, place: int, start: int) -> str | None:
        words, lexicon = self.parsed.text, self.lexicon
        word = words[place]
        if self.language == "de":
            return self._german(place, start)
        at = self._before(place)
        if word in lexicon.past and (at < 0 or words[at] != "se"):
            return _ACTIVE
        if at < start:
            return None
        before = words[at]
        if self.language == "en":
            return self._english(place, start, at)
        if word in lexicon.base:
            return _ACTIVE if words[max(0, at - 1) : at + 1] in _JUST_NOW else None
        if word not in lexicon.done:
            return None
        if self.language == "es":
            return _spanish(words, at, place)
        return _french(words, before, at, place)

    def _english(self, place: int, start: int, at: int) -> str | None:  # noqa: PLR0911 - a table of auxiliaries
        words, lexicon = self.parsed.text, self.lexicon
        word, before = words[place], words[at]
        subject = words[at - 1] if at > start else ""
        if word in lexicon.doing:
            if before in {"i'm", "we're"} or (before in {"am", "are"} and subject in {"i", "we"}):
                return _ACTIVE
            return None
        if word in lexicon.base and before == "to":
            return (
                _ACTIVE
                if subject in {"able", "managed"} and {"was", "were", "been", "managed"} & {*words[start:at]}
                else None
            )
        if word not in lexicon.done:
            return None
        if before in {"i", "we", "i've", "we've"}:
            return _ACTIVE
        if before == "have" and words[self._before(at)] in {"i", "we"}:
            return _ACTIVE
        if before == "been":
            have = words[self._before(at)]
            return (
                _PASSIVE if have in {"has", "have", "was", "were"} or have.endswith(("'ve", "'s")) else None
            )
        if before in {"was", "were", "got", "being"}:
            return _PASSIVE
        if before in {"is", "are", "it's"}:
            return _STATE
        if before in _JOINS or self.parsed.clause[at] != self.parsed.clause[place]:
            return self._shared_subject(at, start)
        return self._headline(place, start)

    def _shared_subject(self, at: int, start: int) -> str | None:
        """Accept ``I checked it and refunded …``, where the first verb is no deed."""
        words = self.parsed.text[start:at]
        first = max((i for i, word in enumerate(words) if word in _FIRST["en"]), default=-1)
        if (
            first < 0
            or not _OTHERS.isdisjoint(words[first + 1 :])
            or not _MODALS.isdisjoint(words[first + 1 : first + 3])
        ):
            return None
        return _ACTIVE

    def _headline(self, place: int, start: int) -> str | None:
        """Accept ``Refund issued``: nothing but singular nouns before the verb."""
        nouns = self.parsed.text[start:place]
        if (
            start == 0
            and nouns
            and all(self.lexicon.concept(noun) and not noun.endswith("s") for noun in nouns)
        ):
            return _PASSIVE
        return None

    def _german(self, place: int, start: int) -> str | None:
        end = self._clause_end(place)
        clause = self.parsed.text[start:end]
        if {"ich", "wir"} & {*clause} and {"habe", "haben", "hab"} & {*clause}:
            return _ACTIVE
        if {"wurde", "wurden", "worden"} & {*clause}:
            return _PASSIVE
        return _STATE if {"ist", "sind"} & {*self.parsed.text[start:place]} else None

    def _disqualified(self, place: int, start: int, voice: str) -> bool:
        words, clause = self.parsed.text, self.parsed.clause
        end = self._clause_end(place)
        left = list(words[start : end if self.language == "de" else place])
        if self.language == "fr":
            left += [word for word in words[place : place + 2] if word == "pas"]
        first = start
        if words[start] in _LINKS and start:
            before = self._clause_start(start - 1)
            left = [*words[before:start], *left]
            start = before
        if negated(left, self.language) or not self.lexicon.conditions.isdisjoint(left):
            return True
        if self.lexicon.reported.search(self.sentence, self.parsed.start[start], self.parsed.end[place]):
            return True
        if voice == _ACTIVE:
            return False
        auxiliary = self._before(place)
        while auxiliary > start and words[auxiliary] in {
            "been",
            "has",
            "have",
            "was",
            "were",
            "is",
            "are",
            "being",
        }:
            auxiliary -= 1
        if self.language == "en" and words[auxiliary] in _RELATIVE and clause[auxiliary] == clause[place]:
            return True
        if _BY_OTHERS.match(self.sentence, self.parsed.end[place]):
            return True
        if voice == _STATE:
            definite = not self.lexicon.definite.isdisjoint(words[first : first + 2]) or any(
                "_" in word for word in words[first:place]
            )
            return not definite or not self.lexicon.habits.isdisjoint(words[place:])
        return False

    def _said(self, place: int, left: int, following: int, voice: str) -> Said | None:
        parsed, lexicon = self.parsed, self.lexicon
        end = min(self._clause_end(place), following)
        kind = next(
            table[parsed.text[place]]
            for table in (lexicon.done, lexicon.doing, lexicon.base, lexicon.past)
            if parsed.text[place] in table
        )
        before = [] if voice == _ACTIVE and self.language != "de" else parsed.text[left:place]
        concepts = [lexicon.concept(word) for word in (*before, *parsed.text[place + 1 : end])]
        if (
            kind in {"issue", "set_up"}
            and "payment" in parsed.text[left:end]
            and "plan" in parsed.text[left:end]
        ):
            concepts.insert(0, "payment_plan")
        deed = _deed(kind, [concept for concept in concepts if concept])
        if deed is None:
            return None
        first = place if voice == _ACTIVE and self.language != "de" else left
        last = len(self.sentence) if end == len(parsed.text) else parsed.start[end]
        return Said(
            deed,
            parsed.start[left],
            parsed.end[end - 1],
            parsed.start[first],
            last,
            first_person=voice == _ACTIVE,
        )


def _spanish(words: tuple[str, ...], at: int, place: int) -> str | None:
    before = words[at]
    if before in {"he", "hemos"}:
        return _PASSIVE if "sido" in words[at:place] else _ACTIVE
    if before in {"ha", "han"} and (words[at - 1] == "se" or "sido" in words[at:place]):
        return _PASSIVE
    if before in {"fue", "fueron"}:
        return _PASSIVE
    return _STATE if before in {"está", "están", "queda", "quedó"} else None


def _french(words: tuple[str, ...], before: str, at: int, place: int) -> str | None:
    was = "été" in words[at:place]
    if before in {"a", "ont", "avez", "as"}:
        return _PASSIVE if was else None
    if before in {"j'ai", "l'ai", "ai", "avons"}:
        return _PASSIVE if was else _ACTIVE
    return _STATE if before in {"est", "sont"} else None


def _deed(kind: str, concepts: list[str]) -> Deed | None:
    """Return what a kind of act did to the nouns beside it; ``None`` where that is no deed."""
    deeds = KINDS[kind]
    for concept in (*(leading for leading in LEADING if leading in concepts), *concepts):
        if concept in deeds:
            return deeds[concept]
    return deeds.get(ANY)
