"""Shows how two texts differ, word by word, with a little of what is around, for people to read."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

MAX_WORDS: Final = 1_000
"""Texts that differ over more words are not compared word by word, since that takes quadratic time."""

CONTEXT: Final = 3
"""Words kept on either side of one that changed."""

MAX_CHANGED: Final = 60
"""So much of what went and of what came is shown."""

MAX_KEPT: Final = 24
"""A longer word that stayed, such as an address, is cut in its middle."""

_BLANKS: Final = re.compile(r"[ \t\r\n\f\v]+")
_UNSEEN: Final = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"}


def word_changes(old: str, new: str) -> str:
    """Return a text with ``[-words that went-]`` and ``{+words that came+}``, and a few words around them.

    What differs but looks the same is written in escapes.
    """
    before, after = _BLANKS.split(old.strip()), _BLANKS.split(new.strip())
    if before == after:
        return "only the white space changed"
    first = common(before, after)
    last = common(before[first:][::-1], after[first:][::-1])
    ends = len(before) - last, len(after) - last
    middle = before[first : ends[0]], after[first : ends[1]]
    parts = _kept(before[:first], tail=CONTEXT)
    if max(map(len, middle)) > MAX_WORDS:
        parts += _changed(*middle)
    else:
        for kind, *place in difflib.SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
            gone, came = middle[0][place[0] : place[1]], middle[1][place[2] : place[3]]
            parts += _kept(gone, lead=CONTEXT, tail=CONTEXT) if kind == "equal" else _changed(gone, came)
    return " ".join((*parts, *_kept(before[ends[0] :], lead=CONTEXT)))


def common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many items two sequences have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _kept(words: list[str], lead: int = 0, tail: int = 0) -> list[str]:
    """Return the first and last few of words that stayed."""
    few = words
    if len(words) > lead + tail:
        few = [*words[:lead], "…", *words[len(words) - tail :]]
    half = MAX_KEPT // 2
    return [_seen(word if len(word) <= MAX_KEPT else f"{word[:half]}…{word[-half:]}") for word in few]


def _changed(gone: list[str], came: list[str]) -> list[str]:
    """Return what went and what came, each cut around the first place where they differ."""
    old, new = " ".join(gone), " ".join(came)
    if old and new and max(len(old), len(new)) > MAX_CHANGED:
        start = max(common(old, new) - MAX_KEPT, 0)
        end = max(common(old[start:][::-1], new[start:][::-1]) - MAX_KEPT, 0)
        old, new = (
            f"{'…' if start else ''}{text[start : len(text) - end]}{'…' if end else ''}"
            for text in (old, new)
        )
    same = bool(old and new) and _looks(old) == _looks(new)
    shown = (_seen(_cut(text), same) for text in (old, new))
    return [form.format(text) for form, text in zip(("[-{}-]", "{{+{}+}}"), shown, strict=True) if text]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHANGED else f"{text[: MAX_CHANGED - 1]}…"


def _looks(text: str) -> str:
    """Return what a reader sees of a text."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(char for char in plain if char == " " or unicodedata.category(char) not in _UNSEEN)


def _seen(text: str, every: bool = False) -> str:
    """Return a text with what nobody sees in escapes; with ``every``, all that is not ASCII."""
    return "".join(
        ascii(char)[1:-1]
        if char not in " …" and (unicodedata.category(char) in _UNSEEN or (every and not char.isascii()))
        else char
        for char in text
    )
