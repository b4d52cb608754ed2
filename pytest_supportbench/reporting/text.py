"""Plain text for terminals: bounded, free of control characters, wrapped at a width."""

from __future__ import annotations

import json
import textwrap
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

WIDTH: Final = 78
MAX_LINES: Final = 60
MAX_TEXT: Final = 4_000


def clean(text: str) -> str:
    """Return text that cannot steer a terminal: control and format characters become visible marks."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
        else f"\\u{ord(character):04x}"
        for character in text
    )


def bounded(text: str, limit: int = MAX_TEXT) -> str:
    """Return text of at most ``limit`` characters, saying how much was left out."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit:,} more characters]"


def wrapped(text: str, first: str = "", rest: str | None = None, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of a text wrapped at ``width``, after a prefix for the first and for the other lines."""
    indent = " " * len(first) if rest is None else rest
    prefix = first
    for paragraph in clean(bounded(text)).splitlines() or [""]:
        lines = textwrap.wrap(
            paragraph, width, initial_indent=prefix, subsequent_indent=indent, break_on_hyphens=False
        ) or [prefix.rstrip()]
        yield from lines
        prefix = indent


def as_json(value: Any, limit: int = 600) -> str:
    """Return a value as bounded JSON in one line."""
    return bounded(json.dumps(value, ensure_ascii=False, default=str), limit)
