"""YAML to plain Python values: 1.2 core scalars, no tags, bounded aliases, every mistake with its position.

Built on libyaml's events, so that nothing but strings, numbers, booleans, ``None``, lists and dictionaries
can come out of a file. ``no``, ``on``, ``12:30``, ``0123`` and ``2026-03-14`` stay strings.
"""

from __future__ import annotations

import math
import re
from sys import intern
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from yaml import YAMLError
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from pytest_supportbench.errors import FileError, Problem
from pytest_supportbench.yaml_errors import reader_problem, syntax_problem

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES: Final = 2_000_000
MAX_NODES: Final = 50_000
MAX_DEPTH: Final = 64

SHORT: Final = 24
"""Shorter strings are kept once for all files: names of tools, fields and currencies are the same in thousands."""

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS: Final = frozenset("0123456789+-.")
# Leading zeros make no number here, unlike in the core schema: they are postcodes and order numbers.
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_PREFIXED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAX_DIGITS: Final = 400


def scalar(text: str) -> str | int | float | bool | None:
    """Return what a plain (unquoted) scalar means under the 1.2 core schema.

    Raises `ValueError` for infinities, NaN and numbers of more than 400 digits, which no JSON file can hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INTEGER.fullmatch(text):
        _bounded(text)
        return int(text)
    if _FLOAT.fullmatch(text):
        _bounded(text)
        number = float(text)
        if math.isinf(number):
            msg = f"{text} is larger than any number that a file can hold"
            raise ValueError(msg)
        return number
    if _PREFIXED.fullmatch(text):
        _bounded(text)
        return int(text, 0)
    if _NOT_FINITE.fullmatch(text):
        msg = f"{text} is no finite number"
        raise ValueError(msg)
    return text


def _bounded(text: str) -> None:
    if len(text) > _MAX_DIGITS:
        msg = f"a number of {len(text):,} digits ({text[:12]}…) is no number that a file can hold"
        raise ValueError(msg)


def decode(raw: bytes, path: str) -> str:
    """Return the text of a file; raises `FileError` where it is too large or no UTF-8; a BOM is accepted."""
    if len(raw) > MAX_BYTES:
        raise FileError((_too_large(len(raw), path),))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = f"the byte 0x{raw[error.start]:02x} is no UTF-8"
        raise FileError((Problem(path, line, column, "", message, "save the file as UTF-8"),)) from None


def parse(text: str, path: str) -> Any:
    """Return the one document in ``text`` as plain values (``None`` for an empty file).

    ``path`` only names the file in errors. Raises `FileError` with every mistake up to the first one that the
    parser cannot step over.
    """
    data, problems = scan(text, path)
    if problems:
        raise FileError(problems)
    return data


def scan(text: str, path: str) -> tuple[Any, tuple[Problem, ...]]:
    """Return the document and the mistakes that leave it readable (tags, duplicate or odd keys, NaN).

    Duplicate and non-string keys are left out of the data, so that what is there can still be checked. Raises
    `FileError` for what cannot be read at all.
    """
    if len(text) > MAX_BYTES:
        raise FileError((_too_large(len(text), path),))
    text = text.removeprefix("\ufeff")
    try:
        builder = _Builder(text, path)
        return builder.document(), tuple(builder.problems)
    except YAMLError as error:
        if getattr(error, "problem_mark", None) is None:
            problem = reader_problem(text, path)
        else:
            problem = syntax_problem(error, text, path)
        raise FileError((problem,)) from None
    except UnicodeEncodeError:
        raise FileError((reader_problem(text, path),)) from None


def _too_large(size: int, path: str) -> Problem:
    message = f"the file has {size:,} bytes; at most {MAX_BYTES:,} are read"
    return Problem(path, 1, 1, "", message, "split it into several files")


class _Anchor(NamedTuple):
    """An anchored value with what each alias to it costs: nodes below it, levels, and characters."""

    value: Any
    nodes: int
    height: int
    chars: int


class _Builder:
    """Turns one stream of events into values. Every node is counted once, by the collection it is in."""

    __slots__ = ("anchors", "chars", "deepest", "end", "next", "nodes", "open", "path", "problems")

    def __init__(self, text: str, path: str) -> None:
        self.next: Callable[[], Any] = CParser(text).get_event
        self.path = path
        self.problems: list[Problem] = []
        self.anchors: dict[str, _Anchor] = {}
        self.open: list[str] = []
        self.nodes = 0
        self.chars = 0
        self.deepest = 0
        self.end: Any = None

    def document(self) -> Any:
        self.next()
        if self.next().__class__ is StreamEndEvent:
            return None
        value = self.value(self.next(), 1)
        self.next()
        event = self.next()
        if event.__class__ is DocumentStartEvent:
            self.report(event, "a second document starts here", "keep one document in a file")
        return value

    def report(self, event: Any, message: str, remedy: str) -> None:
        mark = event.start_mark
        self.problems.append(Problem(self.path, mark.line + 1, mark.column + 1, "", message, remedy))

    def refuse(self, event: Any, message: str, remedy: str) -> FileError:
        self.report(event, message, remedy)
        return FileError(tuple(self.problems))

    def value(self, event: Any, depth: int) -> Any:
        kind = event.__class__
        if kind is AliasEvent:
            return self.alias(event, depth)
        if event.tag is not None and event.tag != "!":
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.report(event, f"the tag {tag[:60]!r} is not allowed", "remove it; quotes make a string")
        if event.anchor is None:
            return self.scalar(event) if kind is ScalarEvent else self.collection(event, depth)
        if kind is ScalarEvent:
            value, nodes, height, last = self.scalar(event), 0, 0, event
            chars = 0
        else:
            before, chars, outer = self.nodes, self.chars, self.deepest
            self.deepest = depth
            self.open.append(event.anchor)
            value = self.collection(event, depth)
            self.open.pop()
            nodes, height, last = self.nodes - before, self.deepest - depth + 1, self.end
            chars = self.chars - chars
            self.deepest = max(outer, self.deepest)
        chars += last.end_mark.index - event.start_mark.index
        self.anchors[event.anchor] = _Anchor(value, nodes, height, chars)
        return value

    def collection(self, event: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self.refuse(event, f"the file is nested deeper than {MAX_DEPTH} levels", "flatten it")
        self.deepest = max(self.deepest, depth)
        value = self.mapping(depth + 1) if event.__class__ is MappingStartEvent else self.sequence(depth + 1)
        self.nodes += len(value)
        if self.nodes > MAX_NODES:
            self.bound(event)
        return value

    def bound(self, event: Any) -> None:
        if self.nodes > MAX_NODES:
            message = f"the file has more than {MAX_NODES:,} values, aliases counted in full"
            raise self.refuse(event, message, "split it, or use fewer aliases")
        if self.chars > MAX_BYTES:
            message = f"the aliases stand for more than {MAX_BYTES:,} characters"
            raise self.refuse(event, message, "use fewer aliases")

    def alias(self, event: Any, depth: int) -> Any:
        name = event.anchor
        anchor = self.anchors.get(name)
        if anchor is None:
            if name in self.open:
                message, remedy = f"the alias *{name} lies inside its own anchor", "write the value out"
            else:
                message, remedy = (
                    f"the alias *{name} has no anchor before it",
                    f"add &{name}, or quote the text",
                )
            raise self.refuse(event, message, remedy)
        self.nodes += anchor.nodes
        self.chars += anchor.chars
        self.bound(event)
        self.deepest = max(self.deepest, depth + anchor.height - 1)
        if self.deepest > MAX_DEPTH:
            message = f"the alias *{name} nests deeper than {MAX_DEPTH} levels"
            raise self.refuse(event, message, "write the value out, or flatten it")
        return anchor.value

    def scalar(self, event: Any) -> Any:
        if event.style or event.tag is not None:
            return event.value
        try:
            return scalar(event.value)
        except ValueError as error:
            self.report(event, str(error), "quote it for a string, or write a finite number")
            return None

    def key(self, event: Any, depth: int, taken: dict[str, Any]) -> str | None:
        """Return a key, or ``None`` with a report where it is no string or is taken."""
        key = self.value(event, depth)
        if not isinstance(key, str):
            shown = event.value if isinstance(event, ScalarEvent) else f"a {type(key).__name__}"
            remedy = (
                f'quote it: "{shown[:60]}"' if shown and isinstance(event, ScalarEvent) else "use a string"
            )
            self.report(event, f"the key {shown[:60]} is no string", remedy)
            return None
        if key in taken:
            self.report(event, f"the key {key[:60]!r} is given twice in one mapping", "remove one of them")
            return None
        return key

    def mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        next_event = self.next
        key: str | None
        value: Any
        while (event := next_event()).__class__ is not MappingEndEvent:
            if event.__class__ is ScalarEvent and event.anchor is None and event.tag is None:
                key = event.value
                if key in result or (not event.style and (key in _WORDS or key[0] in _NUMBER_STARTS)):
                    key = self.key(event, depth, result)
                else:
                    key = intern(key)  # thousands of files have the same keys
            else:
                key = self.key(event, depth, result)
            event = next_event()
            if event.__class__ is ScalarEvent and event.anchor is None and event.tag is None:
                value = event.value
                if not event.style and (value in _WORDS or value[0] in _NUMBER_STARTS):
                    value = self.scalar(event)
                elif len(value) < SHORT:
                    value = intern(value)
            else:
                value = self.value(event, depth)
            if key is not None:
                result[key] = value
        self.end = event
        return result

    def sequence(self, depth: int) -> list[Any]:
        result: list[Any] = []
        next_event = self.next
        value: Any
        while (event := next_event()).__class__ is not SequenceEndEvent:
            if event.__class__ is ScalarEvent and event.anchor is None and event.tag is None:
                value = event.value
                if not event.style and (value in _WORDS or value[0] in _NUMBER_STARTS):
                    value = self.scalar(event)
                elif len(value) < SHORT:
                    value = intern(value)
            else:
                value = self.value(event, depth)
            result.append(value)
        self.end = event
        return result
