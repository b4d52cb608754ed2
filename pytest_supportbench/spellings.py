"""Finds texts however JSON, a URL, HTML or a ``repr`` spelt them: by what a text means, with where that stands."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from html.entities import html5
from typing import Final
from urllib.parse import quote, quote_plus

from pytest_supportbench.patterns import later

_HEX: Final = "[0-9a-fA-F]"
_NEXT: Final = f"%(?:25)*[89abAB]{_HEX}"
_NEXT_BYTE: Final = rf"\\++x[89abAB]{_HEX}"
_NAMES: Final = sorted(
    {name[:-1] for name, char in html5.items() if name[-1] == ";" and len(char) == 1 and char < "\u0180"},
    key=lambda name: (-len(name), name),
)
_ESCAPE: Final = later(
    rf"(?P<pair>\\++u[dD][89abAB]{_HEX}{{2}}\\++u[dD][c-fC-F]{_HEX}{{2}})"
    rf"|\\++x(?P<bytes>[cdCD]{_HEX}{_NEXT_BYTE}|[eE]{_HEX}(?:{_NEXT_BYTE}){{2}}|[fF][0-4](?:{_NEXT_BYTE}){{3}})"
    rf"|\\++(?:u(?P<unicode>{_HEX}{{4}})|x(?P<hex>{_HEX}{{2}})|U(?P<long>00{_HEX}{{6}})|(?P<char>[^\\])|$)"
    rf"|%(?:25)*(?P<url>[0-7]{_HEX}|[cdCD]{_HEX}{_NEXT}|[eE]{_HEX}(?:{_NEXT}){{2}}|[fF][0-4](?:{_NEXT}){{3}})"
    rf"|&(?:amp;)*(?P<html>{'|'.join(_NAMES)}|#\d{{1,7}}|#[xX]{_HEX}{{1,6}});",
    re.DOTALL,
)
_GAP: Final = later(r"[\s+]+")
_BETWEEN: Final = later(r"\\++x|%(?:25)*")
_BLANKS: Final = frozenset("nrtfvb")


def _meant(match: re.Match[str]) -> str:
    """Return the character that an escape stands for; a backslash itself stands for nothing, escaped or not."""
    if match["pair"] is not None:
        high, low = (int(code, 16) for code in match["pair"].replace("\\", "").split("u")[1:])
        char = chr(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF))
    elif match["bytes"] is not None:
        char = bytes.fromhex(_BETWEEN.sub("", match["bytes"])).decode("utf-8", "replace")
    elif (code := match["unicode"] or match["hex"] or match["long"]) is not None:
        char = chr(min(int(code, 16), sys.maxunicode))
    elif match["char"] is not None:
        char = " " if match["char"] in _BLANKS else match["char"]
    elif match["url"] is not None:
        char = bytes.fromhex(_BETWEEN.sub("", match["url"])).decode("utf-8", "replace")
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


_WAYS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text).replace("/", "\\/")[1:-1],
    lambda text: repr(text)[1:-1],
    lambda text: quote(text, safe="", errors="replace"),
    lambda text: quote_plus(text, errors="replace"),
    html.escape,
)


def spellings(text: str) -> set[str]:
    """Return a text as escapes usually spell it, also those of one kind within another."""
    once = {text, *(way(text) for way in _WAYS)}
    return once | {way(spelt) for spelt in once for way in _WAYS}


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
