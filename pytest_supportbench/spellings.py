"""Finds texts however JSON, a URL, HTML or a ``repr`` spelt them: by what a text means, with where that stands."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final

_HEX: Final = "[0-9a-fA-F]"
_NEXT: Final = f"%[89abAB]{_HEX}"
_ESCAPE: Final = re.compile(
    rf"\\+(?:u(?P<unicode>{_HEX}{{4}})|x(?P<hex>{_HEX}{{2}})|(?P<char>[^\\])|$)"
    rf"|%(?:25)*(?P<url>[0-7]{_HEX}|[cdCD]{_HEX}{_NEXT}|[eE]{_HEX}(?:{_NEXT}){{2}}|[fF][0-4](?:{_NEXT}){{3}})"
    r"|&(?:amp;)*(?P<html>amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});",
    re.DOTALL,
)
_GAP: Final = re.compile(r"[\s+]+")
_BLANKS: Final = frozenset("nrtfvb")


def _meant(match: re.Match[str]) -> str:
    """Return the character that an escape stands for; a backslash itself stands for nothing, escaped or not."""
    if (code := match["unicode"] or match["hex"]) is not None:
        char = chr(int(code, 16))
    elif match["char"] is not None:
        char = " " if match["char"] in _BLANKS else match["char"]
    elif match["url"] is not None:
        char = bytes.fromhex(match["url"].replace("%", "")).decode("utf-8", "replace")
    elif match["html"] is not None:
        char = html.unescape(f"&{match['html']};")
    else:
        char = ""
    return "" if char == "\\" else char


def meaning(text: str) -> str:
    """Return what a text means: escapes undone, however often, and every gap, also a ``+``, one blank."""
    if "\\" in text or "%" in text or "&" in text:
        text = _ESCAPE.sub(_meant, text)
    return _GAP.sub(" ", text)


def _chars(text: str) -> Iterator[tuple[str, int, int]]:
    position = 0
    for match in _ESCAPE.finditer(text):
        for place in range(position, match.start()):
            yield text[place], place, place + 1
        position = match.end()
        for char in _meant(match):
            yield char, match.start(), position
    for place in range(position, len(text)):
        yield text[place], place, place + 1


def replaced(text: str, spans: Iterable[tuple[int, int]], by: str) -> str:
    """Return the text with each span of its meaning replaced; spans that overlap are one."""
    starts: list[int] = []
    ends: list[int] = []
    in_gap = False
    for char, start, end in _chars(text):
        is_gap = _GAP.fullmatch(char) is not None
        if is_gap and in_gap:
            ends[-1] = end
        else:
            starts.append(start)
            ends.append(end)
        in_gap = is_gap
    parts: list[str] = []
    done = 0
    for first, last in sorted(spans):
        start, end = starts[first], ends[last - 1]
        if start >= done:
            parts += [text[done:start], by]
        done = max(done, end)
    return "".join([*parts, text[done:]])
