"""One text, read once for every scorer that judges its wording."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.language import (
    BOUND,
    Shares,
    clear_of,
    detect_script,
    evident_of,
    shares_of,
)
from pytest_supportbench.scoring.money import Found, FoundDate, find_dates, find_money, find_numbers
from pytest_supportbench.scoring.once import once
from pytest_supportbench.scoring.text import Sentence, fold, normalise, quotations, sentences

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """A text in the forms that the scorers need, each worked out when first asked for.

    ``plain`` is ``normalise(text)``, ``folded`` is ``fold(text)``, and ``sentences`` and ``quoted`` (spans in
    quotation marks) are those of ``folded``.
    """

    text: str

    @once
    def plain(self) -> str:
        """The text with its case and white space, otherwise normalised."""
        return normalise(self.text)

    @once
    def folded(self) -> str:
        """The text casefolded, with white space as single spaces; paragraphs stay apart."""
        return fold(self.text)

    @once
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of ``folded``."""
        return tuple(sentences(self.folded))

    @once
    def lower(self) -> str:
        """``plain`` in lower case, so that offsets in it are offsets in ``plain``."""
        return self.plain.lower()

    @once
    def lower_sentences(self) -> tuple[Sentence, ...]:
        """The sentences of ``lower``; those of ``folded`` where the two forms are the same."""
        return self.sentences if self.lower == self.folded else tuple(sentences(self.lower))

    @once
    def quoted(self) -> list[tuple[int, int]]:
        """The spans of ``folded`` that stand in quotation marks."""
        return quotations(self.folded)

    @property
    def written_out(self) -> Reading:
        """The reading of ``folded`` with its contractions written out; itself where there are none."""
        return self._another or self

    @once
    def _another(self) -> Reading | None:
        """That reading if it is another one; to keep itself would make garbage of it that only a collection finds."""
        text = write_out(self.folded)
        return None if text == self.folded else Reading(text)

    @once
    def language(self) -> str | None:
        """What `detect_language` says of the text, from the words that its sentences share."""
        return self._script or clear_of(self._shares)

    @once
    def evident_language(self) -> str | None:
        """The language of the text where it has words enough to leave no doubt."""
        return self._script or evident_of(self._shares)

    def money(self, language: str) -> list[Found]:
        """Return the amounts of money in ``plain``, as `find_money` reads them in a language."""
        return self._found(find_money, language)

    def numbers(self, language: str) -> list[Found]:
        """Return the numbers in ``plain``, as `find_numbers` reads them in a language."""
        return self._found(find_numbers, language)

    def dates(self, language: str) -> list[FoundDate]:
        """Return the dates in ``plain``, as `find_dates` reads them in a language."""
        return self._found(find_dates, language)

    def _found(self, find: Callable[[str, str], list[T]], language: str) -> list[T]:
        key = (find, language)
        if key not in self._values:
            self._values[key] = find(self.plain, language)
        return self._values[key]

    @once
    def _values(self) -> dict[Any, list[Any]]:
        return {}

    @once
    def _script(self) -> str | None:
        return detect_script(self.plain)

    @once
    def _shares(self) -> Shares:
        found: list[str] = []
        for sentence in self.lower_sentences:
            if sentence.start < BOUND:
                found += sentence.words
        return shares_of(found)


_CONTRACTED: Final = later(r"(?<=\w)'(ll|ve|re|m)\b")
_WRITTEN_OUT: Final = {"ll": " will", "ve": " have", "re": " are", "m": " am"}
_GOING_TO: Final = later(r"\b(?:am|are|is)\s+(?:now\s+|also\s+)?going\s+to\b")


@lru_cache(maxsize=4096)
def written_out_phrase(phrase: str) -> str:
    """Return a phrase of a scenario in the form of `Reading.written_out`."""
    return write_out(fold(phrase))


def write_out(folded: str) -> str:
    """Return folded English with its contractions and ``going to`` written out (``we'll`` is ``we will``)."""
    if "'" in folded:
        folded = _CONTRACTED.sub(lambda found: _WRITTEN_OUT[found[1]], folded)
    return _GOING_TO.sub("will", folded) if "going to" in folded else folded


def reading(text: str | Reading) -> Reading:
    """Return the reading of a text; one that was read already comes back as it is."""
    return text if isinstance(text, Reading) else Reading(text)
