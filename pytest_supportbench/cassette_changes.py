"""What changed between two pieces of JSON data, down to the words, for people to read."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

MAX_CHANGES: Final = 5
MAX_CHARS: Final = 240
"""So much of one change is shown."""

MAX_WORDS: Final = 1_000
"""Texts of more words are not compared word by word, since that takes quadratic time."""

CONTEXT: Final = 3
"""Words kept on either side of one that changed."""


def changes_in_words(old: Any, new: Any) -> str:
    """Return the first few differences in one line, such as ``policies.refunds.text: "14 [-days-] {+weeks+}"``.

    Items of a list are told apart by their ``id`` or ``name`` where each has one of its own.
    """
    found = list(islice(_changes("", old, new), MAX_CHANGES + 1))
    shown = "; ".join(found[:MAX_CHANGES])
    return f"{shown}; and more" if len(found) > MAX_CHANGES else shown


def _changes(path: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _of_mapping(path, old, new)
    elif isinstance(old, Sequence) and isinstance(new, Sequence) and not isinstance(old, str):
        if isinstance(new, str):
            yield _replaced(path, old, new)
            return
        keys = _keys(old, new)
        if keys is None:
            pairs = (dict(enumerate(old)), dict(enumerate(new)))
            yield from _of_mapping(path, *pairs, brackets=True)
            return
        by_key: tuple[dict[str, Any], dict[str, Any]] = (
            {item[keys]: item for item in old},
            {item[keys]: item for item in new},
        )
        yield from _of_mapping(path, *by_key)
        if list(by_key[0]) != list(by_key[1]) and set(by_key[0]) == set(by_key[1]):
            yield f"{path}: the order changed"
    elif isinstance(old, str) and isinstance(new, str):
        if old != new:
            yield _bounded(f'{path}: "{_words(old, new)}"')
    elif _json(old) != _json(new):
        yield _replaced(path, old, new)


def _of_mapping(
    path: str, old: Mapping[Any, Any], new: Mapping[Any, Any], *, brackets: bool = False
) -> Iterator[str]:
    for key in dict.fromkeys((*old, *new)):
        where = f"{path}[{key}]" if brackets else f"{path}.{key}" if path else str(key)
        if key not in new:
            yield _bounded(f"{where}: gone, it was {_json(old[key])}")
        elif key not in old:
            yield _bounded(f"{where}: new, {_json(new[key])}")
        else:
            yield from _changes(where, old[key], new[key])


def _keys(old: Sequence[Any], new: Sequence[Any]) -> str | None:
    """Return the field that names the items of both lists uniquely, where there is one."""
    for name in ("id", "name"):
        if all(
            all(isinstance(item, Mapping) and isinstance(item.get(name), str) for item in items)
            and len({item[name] for item in items}) == len(items)
            for items in (old, new)
        ):
            return name
    return None


def _replaced(path: str, old: Any, new: Any) -> str:
    return _bounded(f"{path}: {_cut(_json(old))} → {_cut(_json(new))}")


def _words(old: str, new: str) -> str:
    """Return a text with ``[-words that went-]`` and ``{+words that came+}``, and a few words around them."""
    before, after = old.split(), new.split()
    if max(len(before), len(after)) > MAX_WORDS:
        return f"[-{_cut(old)}-] {{+{_cut(new)}+}}"
    if before == after:
        return "only the white space changed"
    parts: list[str] = []
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for number, (kind, start, end, other, last) in enumerate(codes):
        if kind == "equal":
            kept = before[start:end]
            lead = CONTEXT if number else 0
            tail = CONTEXT if number < len(codes) - 1 else 0
            if len(kept) > lead + tail:
                kept = [*kept[:lead], "…", *(kept[-tail:] if tail else [])]
            parts += kept
            continue
        if end > start:
            parts.append(f"[-{' '.join(before[start:end])}-]")
        if last > other:
            parts.append(f"{{+{' '.join(after[other:last])}+}}")
    return " ".join(parts)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cut(text: str, limit: int = MAX_CHARS // 3) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _bounded(text: str) -> str:
    return _cut(text, MAX_CHARS)
