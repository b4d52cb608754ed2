"""Ranked search over knowledge articles.

BM25 with two weighted fields (title and text), after S. Robertson and H. Zaragoza, "The Probabilistic
Relevance Framework: BM25 and Beyond" (2009), section 3.6: term frequencies of the fields are weighted and
summed before they saturate. The inverse document frequency has 1 added under its logarithm, so that no score
is negative.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol, TypeAlias

K1: Final = 1.2
B: Final = 0.75
TITLE_WEIGHT: Final = 3
MAX_SNIPPET: Final = 240
"""Characters of a snippet at most."""

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019]s\b)?")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_VOWELS: Final = frozenset("aeiouy")


class Searchable(Protocol):
    """What can be searched: hashable, with an id, a title and a text."""

    @property
    def id(self) -> str:
        """The id, unique among what is searched."""

    @property
    def title(self) -> str:
        """The title."""

    @property
    def text(self) -> str:
        """The body."""


Articles: TypeAlias = tuple[Searchable, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A found article with its score (higher is better) and the sentence that fits the query best."""

    article: Searchable
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class _Index:
    """``postings``: by term, numbers of articles with weights; ``sentences``: by article, with terms."""

    postings: dict[str, tuple[tuple[int, float], ...]]
    sentences: tuple[tuple[tuple[str, frozenset[str]], ...], ...]


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a casefolded word without common English endings, so that "refunds" finds "refunded"."""
    word = word.removesuffix("'s").removesuffix("\u2019s")
    if not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:  # noqa: PLR2004 - "ties" and "dies" stay
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:  # noqa: PLR2004 - "gas" stays
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and not _VOWELS.isdisjoint(rest):  # noqa: PLR2004 - "need", "string" stay
            word = rest
            break
    if word.endswith("e") and len(word) > 3:  # noqa: PLR2004 - "fee" stays
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in _VOWELS:  # noqa: PLR2004 - "all" stays
        word = word[:-1]
    return word


def terms(text: str) -> list[str]:
    """Return the stemmed words of a text, in order; any script."""
    return [stem(word) for word in _WORD.findall(text.casefold())]


@lru_cache(maxsize=32)
def _index(articles: Articles) -> _Index:
    titles = [Counter(terms(article.title)) for article in articles]
    sentences = [
        [(sentence, terms(sentence)) for sentence in _sentences(article.text)] for article in articles
    ]
    texts = [Counter(term for _, found in parts for term in found) for parts in sentences]
    lengths = [TITLE_WEIGHT * a.total() + b.total() for a, b in zip(titles, texts, strict=True)]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    frequencies: dict[str, list[tuple[int, float]]] = {}
    for number, (title, text) in enumerate(zip(titles, texts, strict=True)):
        norm = K1 * ((1 - B) + B * lengths[number] / average)
        for term in title.keys() | text.keys():
            weighted = TITLE_WEIGHT * title[term] + text[term]
            frequencies.setdefault(term, []).append((number, weighted / (weighted + norm)))
    total = len(articles)
    postings: dict[str, tuple[tuple[int, float], ...]] = {}
    for term, found in frequencies.items():
        weight = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
        postings[term] = tuple((number, weight * value) for number, value in found)
    kept = tuple(tuple((sentence, frozenset(found)) for sentence, found in parts) for parts in sentences)
    return _Index(postings, kept)


def search(articles: Articles, query: str, limit: int) -> list[Hit]:
    """Return the ``limit`` best articles for a query, best first; equal scores in order of id.

    Articles without any of the query's words are not found. The indexes of the last tuples are kept.
    """
    if not articles:
        return []
    index = _index(articles)
    wanted = frozenset(terms(query))
    scores: dict[int, float] = {}
    for term in sorted(wanted):
        for number, value in index.postings.get(term, ()):
            scores[number] = scores.get(number, 0.0) + value
    best = sorted(scores, key=lambda number: (-round(scores[number], 9), articles[number].id))
    return [
        Hit(articles[number], round(scores[number], 3), _snippet(index.sentences[number], wanted))
        for number in best[:limit]
    ]


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in _SENTENCE.split(text) if sentence.strip()]


def _snippet(sentences: tuple[tuple[str, frozenset[str]], ...], wanted: frozenset[str]) -> str:
    """Return the first sentence with the most of the wanted terms, cut to `MAX_SNIPPET` characters."""
    best, _ = max(sentences, key=lambda part: len(wanted & part[1]), default=("", wanted))
    return best if len(best) <= MAX_SNIPPET else best[: MAX_SNIPPET - 1].rstrip() + "…"
