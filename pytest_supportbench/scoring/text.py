"""Text in a comparable form, and its sentences, clauses and quotations.

All offsets that the scoring modules report count characters of ``normalise(text)``, which is the text itself
where it is plain ASCII without emphasis marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_APOSTROPHES: Final = re.compile("[\u2018\u2019\u02bc\u02b9\u00b4\u201b\u2032]")
_HYPHENS: Final = re.compile("[\u2010\u2011]")
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_WORD: Final = re.compile(r"\w+(?:'\w+)*")
_MONTHS_AFTER_ORDINAL: Final = (
    "januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember"
)
_SENTENCE_END: Final = re.compile(
    rf"""(?:(?<=\d)\.(?!\s(?:{_MONTHS_AFTER_ORDINAL}))|(?<!\d)\.|[!?…])[.!?…]*["'”»“)\]]{{0,3}}(?=\s|\Z)|\n+|;(?=\s)|[。！？]""",  # noqa: RUF001 - the full-width marks end Chinese and Japanese sentences
    re.IGNORECASE,
)
_PIECE: Final = re.compile(r"(\w+(?:'\w+)*)|[,:](?=\s)|[—–]|-(?=\s)|\(|\)")  # noqa: RUF001 - dashes part clauses
_QUOTED: Final = re.compile(
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


def normalise(text: str) -> str:
    """Return ``text`` in NFKC with plain apostrophes, without invisible characters and Markdown emphasis."""
    if not text.isascii():
        text = _APOSTROPHES.sub("'", text)
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        text = _HYPHENS.sub("-", text)
    if "*" in text:
        text = text.replace("*", "")
    if "`" in text:
        text = text.replace("`", "")
    return text


def fold(text: str) -> str:
    """Return ``normalise(text)`` casefolded, with every run of white space as one space."""
    return " ".join(normalise(text).casefold().split())


def tokens(text: str) -> list[str]:
    """Return the casefolded words of ``text``; a word keeps its inner apostrophes (``haven't``)."""
    return _WORD.findall(normalise(text).casefold())


def words(normalised: str) -> list[str]:
    """Return the words of text that is already in the form wanted."""
    return _WORD.findall(normalised)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text: its words stand at ``start`` (offset in that text); ``question`` if it asks."""

    text: str
    start: int
    question: bool

    @property
    def end(self) -> int:
        """The offset behind the sentence's last character."""
        return self.start + len(self.text)


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of ``text``, which is normalised; semicolons and line ends part them too."""
    start = 0
    for found in _SENTENCE_END.finditer(text):
        end = found.end()
        piece = text[start:end]
        if not piece.isspace():
            yield Sentence(piece, start, "?" in found.group() or "\uff1f" in found.group() or "¿" in piece)
        start = end
    rest = text[start:]
    if rest and not rest.isspace():
        yield Sentence(rest, start, "¿" in rest)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a sentence with their offsets in it, and the number of the clause that each stands in."""

    text: tuple[str, ...]
    start: tuple[int, ...]
    end: tuple[int, ...]
    clause: tuple[int, ...]


def read(sentence: str) -> Words:
    """Return the words of a lower-case sentence.

    A clause ends at a comma, a colon, a dash or a parenthesis, before a contrasting or causal conjunction
    (``but``, ``aber``), and before a new subject (``and I``).
    """
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    clauses: list[int] = []
    clause = 0
    previous = ""
    for found in _PIECE.finditer(sentence):
        if found.lastindex is None:
            clause += 1
            previous = ""
            continue
        word = found.group()
        if word in _BREAKS or (previous in _JOINS and word in _SUBJECTS):
            clause += 1
        texts.append(word)
        starts.append(found.start())
        ends.append(found.end())
        clauses.append(clause)
        previous = word
    return Words(tuple(texts), tuple(starts), tuple(ends), tuple(clauses))


def quotations(text: str) -> list[tuple[int, int]]:
    """Return the spans of what stands in quotation marks, at most a few lines long each."""
    return [found.span() for found in _QUOTED.finditer(text)]


def inside(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """Tell whether ``start`` to ``end`` lies wholly within one of the spans."""
    return any(left <= start and end <= right for left, right in spans)
