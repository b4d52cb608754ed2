"""Text in a comparable form, and its sentences, clauses and quotations.

All offsets that the scoring modules report count characters of ``normalise(text)``, which is the text itself
where it is plain ASCII without emphasis marks.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.once import once

if TYPE_CHECKING:
    from collections.abc import Iterator

_APOSTROPHES: Final = later("[\u2018\u2019\u02bc\u02b9\u00b4\u201b\u2032]")
_HYPHENS: Final = later("[\u2010\u2011]")
_INVISIBLE: Final = later("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_WORD: Final = later(r"\w+(?:'\w+)*")
_GERMAN_MONTH: Final = later(
    r"\s(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)",
    re.IGNORECASE,
)
_STOP: Final = later("[.!?…;\n\u3002\uff01\uff1f]+")
_LONGEST_SENTENCE: Final = 1_000
_MOST_TRAILING: Final = 3
_TRAILING: Final = frozenset("\"'”»“)]")
_ALWAYS_STOPS: Final = frozenset("\n\u3002\uff01\uff1f")
_PARAGRAPH: Final = later(r"\n\s*\n|\n(?=\s*(?:[-•#]|[0-9]+[.)]\s))")
_MARK: Final = later(r"[,:\-—\u2013()](?:(?=\s)|(?<=[—\u2013()]))")
"""What parts clauses: a comma, a colon or a hyphen before white space, and any dash or parenthesis."""
_OPENING: Final = later("[\"'“„«]")
_QUOTED: Final = later(
    r'"[^"\n]{1,400}"|“[^“”\n]{1,400}”|„[^„“”\n]{1,400}[“”]|«[^«»\n]{1,400}»'
    r"|(?<![\w'])'(?=\w)(?:[^'\n]|'(?=\w)){1,300}'(?!\w)"
)


def listed(words: str) -> tuple[str, ...]:
    """Return the words of a list that is written as one text."""
    return tuple(words.split())


_BREAKS: Final = frozenset(
    listed(
        "but however because although though while whereas so since therefore "
        "pero aunque porque sino aber sondern weil denn obwohl mais car puisque parce cependant mas porém"
    )
)
_JOINS: Final = frozenset(listed("and or y e o und oder et ou then"))
_SUBJECTS: Final = frozenset(
    listed(
        "i i've i'm i'll i'd we we've we're we'll you you've you're you'll he she it they they'll it's there "
        "yo usted ustedes nosotros ich wir sie er es je j'ai nous vous il elle tu"
    )
)
_TURNS: Final = _BREAKS | _SUBJECTS


def normalise(text: str) -> str:
    """Return ``text`` in NFKC with plain apostrophes, without invisible characters and Markdown emphasis.

    A mask of asterisks (``**** 4242``) becomes one of bullets.
    """
    if not text.isascii():
        text = _APOSTROPHES.sub("'", text)
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        text = _HYPHENS.sub("-", text)
    if "*" in text:
        text = text.replace("****", "••••").replace("*", "")
    if "`" in text:
        text = text.replace("`", "")
    return text


def fold(text: str) -> str:
    """Return ``normalise(text)`` casefolded, with every run of white space as one space.

    Between paragraphs and list items stays a line end, since no sentence goes across.
    """
    plain = normalise(text).casefold()
    if "\n" not in plain:
        return " ".join(plain.split())
    return "\n".join(" ".join(part.split()) for part in _PARAGRAPH.split(plain))


@lru_cache(maxsize=4096)
def fold_phrase(phrase: str) -> str:
    """Return ``fold(phrase)`` of a phrase in a scenario, which is looked for in many texts and sentences."""
    return fold(phrase)


def tokens(text: str) -> list[str]:
    """Return the casefolded words of ``text``; a word keeps its inner apostrophes (``haven't``)."""
    return _WORD.findall(normalise(text).casefold())


def words(normalised: str) -> list[str]:
    """Return the words of text that is already in the form wanted."""
    return _WORD.findall(normalised)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text: its words stand at ``start`` (offset in that text); ``question`` if it asks.

    ``words``, ``folded`` and ``parsed`` are worked out when first asked for, so that several readers share the work.
    """

    text: str
    start: int
    question: bool

    @property
    def end(self) -> int:
        """The offset behind the sentence's last character."""
        return self.start + len(self.text)

    @once
    def words(self) -> tuple[str, ...]:
        """The words as they stand."""
        return tuple(_WORD.findall(self.text))

    @once
    def folded(self) -> str:
        """``fold(text)``, in which phrases are looked for."""
        return fold(self.text)

    @once
    def parsed(self) -> Words:
        """The words with their places and clauses; the sentence is lower-case."""
        return read(self.text, self.words)


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of ``text``, which is normalised; semicolons and line ends part them too.

    One of more than 1,000 characters comes in pieces, so that work on a sentence stays bounded.
    """
    start = 0
    for found in _STOP.finditer(text):
        end = _sentence_end(text, found)
        if end:
            stop = found.group()
            yield from _pieces(text, start, end, asks="?" in stop or "\uff1f" in stop)
            start = end
    if start < len(text):
        yield from _pieces(text, start, len(text), asks=False)


def _pieces(text: str, start: int, end: int, *, asks: bool) -> Iterator[Sentence]:
    for begin in range(start, end, _LONGEST_SENTENCE):
        piece = text[begin : min(end, begin + _LONGEST_SENTENCE)]
        if not piece.isspace():
            yield Sentence(piece, begin, asks or "¿" in piece)


def _sentence_end(text: str, stop: re.Match[str]) -> int:
    """Return where a sentence ends whose stop this is; 0 where it is none (``49.00``, ``12. März``)."""
    (start, stopped), size = stop.span(), len(text)
    end = stopped
    while end < size and end - stopped < _MOST_TRAILING and text[end] in _TRAILING:
        end += 1
    marks = stop.group()
    if not _ALWAYS_STOPS.isdisjoint(marks):
        return end
    if end < size and not text[end].isspace():
        return 0
    if marks == "." and text[start - 1 : start].isdigit() and _GERMAN_MONTH.match(text, end):
        return 0
    return end


class Words(NamedTuple):
    """The words of a sentence with their offsets in it, and the number of the clause that each stands in."""

    text: tuple[str, ...]
    start: tuple[int, ...]
    end: tuple[int, ...]
    clause: tuple[int, ...]


def read(sentence: str, texts: tuple[str, ...] | None = None) -> Words:
    """Return the words of a lower-case sentence, whose ``texts`` may be known already.

    A clause ends at a comma, a colon, a dash or a parenthesis, before a contrasting or causal conjunction
    (``but``, ``aber``), and before a new subject (``and I``).
    """
    if texts is None:
        texts = tuple(_WORD.findall(sentence))
    marks = [match.start() for match in _MARK.finditer(sentence)]
    marks.append(len(sentence))
    starts: list[int] = []
    ends: list[int] = []
    clauses: list[int] = []
    clause = passed = end = 0
    mark, before = marks[0], ""
    for word in texts:
        start = sentence.index(word, end)  # nothing of a word stands between two of them
        end = start + len(word)
        while mark < start:
            passed += 1
            mark = marks[passed]
            clause += 1
        if word in _TURNS and (word in _BREAKS or before in _JOINS):
            clause += 1
        starts.append(start)
        ends.append(end)
        clauses.append(clause)
        before = word
    return Words(texts, tuple(starts), tuple(ends), tuple(clauses))


def quotations(text: str) -> list[tuple[int, int]]:
    """Return the spans of what stands in quotation marks, at most a few lines long each."""
    spans: list[tuple[int, int]] = []
    done = 0
    for opening in _OPENING.finditer(text):
        if opening.start() >= done and (found := _QUOTED.match(text, opening.start())):
            spans.append(found.span())
            done = found.end()
    return spans


def inside(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """Tell whether ``start`` to ``end`` lies wholly within one of the spans."""
    return any(left <= start and end <= right for left, right in spans)
