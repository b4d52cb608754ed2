"""How a verb form is meant: as a deed of the agent, as one that was done, as a state, or as no deed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pytest_supportbench.scoring.text import Words, listed

if TYPE_CHECKING:
    from pytest_supportbench.scoring.claim_words import Lexicon

Voice: TypeAlias = Literal["active", "passive", "state"]
"""``I refunded it``, ``it has been refunded``, ``it is refunded``."""

JOINS: Final = frozenset(listed("and then y e und et ou o or"))

_FIRST: Final = frozenset(listed("i we i've we've"))
_MODALS: Final = frozenset(
    listed("can could will would may might should must shall do did don't didn't want wanted need plan tried")
)
_OTHERS: Final = frozenset(listed("you he she they it who someone somebody customers bank"))
_JUST_NOW: Final = {("acabo", "de"), ("acabamos", "de"), ("viens", "de"), ("venons", "de")}
_ABLE: Final = frozenset({"was", "were", "been", "managed"})


@dataclass(slots=True)
class Clauses:
    """The words of one sentence, read with the lexicon of its language."""

    lexicon: Lexicon
    language: str
    words: Words

    def start_of(self, place: int) -> int:
        """Return the place of the first word of the clause that holds ``place``."""
        clause = self.words.clause
        start = place
        while start and clause[start - 1] == clause[place]:
            start -= 1
        return start

    def end_of(self, place: int) -> int:
        """Return the place behind the last word of the clause that holds ``place``."""
        clause = self.words.clause
        end = place + 1
        while end < len(clause) and clause[end] == clause[place]:
            end += 1
        return end

    def before(self, place: int) -> int:
        """Return the place of the word before, adverbs skipped; -1 for none."""
        words, adverbs = self.words.text, self.lexicon.adverbs
        at = place - 1
        while at >= 0 and words[at] in adverbs and words[at] not in JOINS:
            at -= 1
        return at

    def describes(self, place: int) -> bool:
        """Tell whether a form only describes a noun (``the signed agreement``, ``data processing agreement``)."""
        words, lexicon = self.words.text, self.lexicon
        if not lexicon.before_noun or not place:
            return False
        before, behind = words[place - 1], words[place + 1 : place + 2]
        if before in JOINS and place > 1 and words[place - 2] in lexicon.done:
            return self.describes(place - 2)
        names = bool(behind) and self.words.clause[place + 1] == self.words.clause[place]
        if words[place] in lexicon.doing:
            return names and lexicon.concept(before) is not None and lexicon.concept(behind[0]) is not None
        return names and before in lexicon.before_noun

    def voice(self, place: int, start: int) -> Voice | None:  # noqa: PLR0911 - one return a language
        """Return how the verb at ``place`` is meant, by the words between ``start`` and it."""
        words = self.words.text
        if self.language == "de":
            return self._german(place, start)
        at = self.before(place)
        if words[place] in self.lexicon.past and (at < 0 or words[at] != "se"):
            return "active"
        if at < start:
            return None
        if self.language == "en":
            return self._english(place, start, at)
        if words[place] in self.lexicon.base:
            return "active" if words[max(0, at - 1) : at + 1] in _JUST_NOW else None
        if words[place] not in self.lexicon.done:
            return None
        return _spanish(words, at, place) if self.language == "es" else _french(words, at, place)

    def _english(self, place: int, start: int, at: int) -> Voice | None:
        words, lexicon = self.words.text, self.lexicon
        word, before = words[place], words[at]
        subject = words[at - 1] if at > start else ""
        if word in lexicon.done:
            return self._english_done(place, start, at)
        if word in lexicon.doing:
            is_mine = before in {"i'm", "we're"} or (before in {"am", "are"} and subject in {"i", "we"})
        else:
            is_mine = (
                before == "to" and subject in {"able", "managed"} and not _ABLE.isdisjoint(words[start:at])
            )
        return "active" if is_mine else None

    def _english_done(self, place: int, start: int, at: int) -> Voice | None:
        words = self.words.text
        before, earlier = words[at], words[self.before(at)]
        if before in _FIRST or (before == "have" and earlier in {"i", "we"}):
            return "active"
        if before in {"was", "were", "got", "being"}:
            return "passive"
        if before == "been":
            return "passive" if earlier in {"has", "have"} or earlier.endswith(("'ve", "'s")) else None
        if before in {"is", "are", "it's"}:
            return "state"
        if before in JOINS or self.words.clause[at] != self.words.clause[place]:
            return self._shared_subject(at, start)
        return self._headline(place, start)

    def _shared_subject(self, at: int, start: int) -> Voice | None:
        """Accept ``I checked it and refunded …``, where the first verb is no deed."""
        words = self.words.text[start:at]
        first = max((i for i, word in enumerate(words) if word in _FIRST), default=-1)
        behind = words[first + 1 :]
        if first < 0 or not _OTHERS.isdisjoint(behind) or not _MODALS.isdisjoint(behind[:2]):
            return None
        return "active"

    def _headline(self, place: int, start: int) -> Voice | None:
        """Accept ``Refund issued``: nothing but singular nouns before the verb."""
        nouns = self.words.text[start:place]
        if start == 0 and all(self.lexicon.concept(noun) and not noun.endswith("s") for noun in nouns):
            return "passive"
        return None

    def _german(self, place: int, start: int) -> Voice | None:
        clause = set(self.words.text[start : self.end_of(place)])
        if not clause.isdisjoint({"ich", "wir"}) and not clause.isdisjoint({"habe", "haben", "hab"}):
            return "active"
        if not clause.isdisjoint({"wurde", "wurden", "worden"}):
            return "passive"
        return "state" if {"ist", "sind"} & {*self.words.text[start:place]} else None


def _spanish(words: tuple[str, ...], at: int, place: int) -> Voice | None:
    before = words[at]
    was = "sido" in words[at:place]
    if before in {"he", "hemos"}:
        return "passive" if was else "active"
    if before in {"fue", "fueron"} or (before in {"ha", "han"} and (was or words[at - 1] == "se")):
        return "passive"
    return "state" if before in {"está", "están", "queda", "quedó"} else None


def _french(words: tuple[str, ...], at: int, place: int) -> Voice | None:
    before = words[at]
    was = "été" in words[at:place]
    if before in {"a", "ont", "avez", "as"}:
        return "passive" if was else None
    if before in {"j'ai", "l'ai", "ai", "avons"}:
        return "passive" if was else "active"
    return "state" if before in {"est", "sont"} else None
