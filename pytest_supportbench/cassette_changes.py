"""What changed between two pieces of JSON data, down to the words, for people to read."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from pytest_supportbench.cassette_words import common, word_changes

MAX_CHANGES: Final = 5
MAX_CHARS: Final = 240
"""So much of one change is shown."""

MAX_PATH: Final = 120

MAX_ITEMS: Final = 1_000
"""Lists that differ over more are compared item by item, since to align them takes quadratic time."""


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
            yield from _of_list(path, old, new)
            return
        by_key: tuple[dict[str, Any], dict[str, Any]] = (
            {item[keys]: item for item in old},
            {item[keys]: item for item in new},
        )
        yield from _of_mapping(path, *by_key)
    elif isinstance(old, str) and isinstance(new, str):
        if old != new:
            yield f'{_cut(path, MAX_PATH)}: "{_cut(word_changes(old, new), MAX_CHARS)}"'
    elif _json(old) != _json(new):
        yield _replaced(path, old, new)


def _of_mapping(path: str, old: Mapping[Any, Any], new: Mapping[Any, Any]) -> Iterator[str]:
    for key in dict.fromkeys((*old, *new)):
        where = f"{path}.{key}" if path else str(key)
        if key not in new:
            yield _gone(where, old[key])
        elif key not in old:
            yield _new(where, new[key])
        else:
            yield from _changes(where, old[key], new[key])
    if [key for key in old if key in new] != [key for key in new if key in old]:
        yield f"{_cut(path, MAX_PATH)}: the order changed"


def _of_list(path: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[str]:
    """Align the items of two lists, so that one that came or went does not make all that follow look changed."""
    before, after = ([json.dumps(item) for item in items] for items in (old, new))
    first = common(before, after)
    rest = common(before[first:][::-1], after[first:][::-1])
    before, after = before[first : len(before) - rest], after[first : len(after) - rest]
    codes: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(before), 0, len(after))]
    if max(len(before), len(after)) <= MAX_ITEMS:
        codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, *place in codes:
        start, end, other, last = (first + number for number in place)
        if kind == "equal":
            continue
        both = min(end - start, last - other)
        for step in range(both):
            yield from _changes(f"{path}[{start + step}]", old[start + step], new[other + step])
        yield from (_gone(f"{path}[{number}]", old[number]) for number in range(start + both, end))
        yield from (_new(f"{path}[{number}]", new[number]) for number in range(other + both, last))


def _gone(where: str, value: Any) -> str:
    return _bounded(f"{where}: gone, it was {_json(value)}")


def _new(where: str, value: Any) -> str:
    return _bounded(f"{where}: new, {_json(value)}")


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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cut(text: str, limit: int = MAX_CHARS // 3) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _bounded(text: str) -> str:
    return _cut(text, MAX_CHARS)
