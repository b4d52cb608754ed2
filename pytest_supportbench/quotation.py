"""When words count as quoted from a message: letter by letter, whole words, and enough of them to show something."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

MIN_WORDS: Final = 2
MIN_LETTERS: Final = 8
"""So many letters and digits are enough in one word."""
MIN_UNSPACED: Final = 4
"""So many characters are enough of a script that puts no spaces between words."""

_UNSPACED: Final = (
    "CJK ",
    "HALFWIDTH KATAKANA",
    "HIRAGANA",
    "IDEOGRAPHIC",
    "KATAKANA",
    "KHMER",
    "LAO",
    "MYANMAR",
    "THAI",
)
"""How the Unicode names of characters begin that scripts without spaces between words write."""

_EDGES: Final = re.compile(r"^[\W_]+|[\W_]+$")


def quoted(evidence: str, messages: Iterable[str]) -> bool:
    """Tell whether one of the messages has the evidence letter by letter; only white space may differ.

    It must begin and end where words do, and have `MIN_WORDS` words, `MIN_LETTERS` letters and digits or
    `MIN_UNSPACED` characters of a script without spaces, unless it is the whole message: less stands in any text.
    """
    wanted = _plain(evidence)
    if not any(map(str.isalnum, wanted)):
        return False
    enough = _enough(wanted)
    for message in map(_plain, messages):
        whole = _EDGES.sub("", wanted) == _EDGES.sub("", message)
        if (enough or whole) and _stands(wanted, message):
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(text.split())


def _enough(text: str) -> bool:
    words = sum(any(map(str.isalnum, word)) for word in text.split())
    letters = sum(map(str.isalnum, text))
    return words >= MIN_WORDS or letters >= MIN_LETTERS or sum(map(_unspaced, text)) >= MIN_UNSPACED


def _stands(wanted: str, message: str) -> bool:
    last = len(message) - len(wanted)
    return any(
        message.startswith(wanted, start)
        and not (start and _within(message[start - 1], wanted[0]))
        and not (start < last and _within(wanted[-1], message[start + len(wanted)]))
        for start in range(last + 1)
    )


def _within(before: str, after: str) -> bool:
    """Tell whether the place between two characters is within a word."""
    sides = (before, after)
    return all(map(_wordy, sides)) and not any(map(_unspaced, sides))


def _wordy(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def _unspaced(character: str) -> bool:
    return unicodedata.name(character, "").startswith(_UNSPACED)
