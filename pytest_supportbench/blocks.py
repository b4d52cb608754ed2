"""Generated blocks in a suite's Markdown pages, so that no number in them is written by hand.

A block stands between the lines ``<!-- generated: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pytest_supportbench.errors import FileError, Problem
from pytest_supportbench.findings import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

BEGIN: Final = "<!-- generated:"
END: Final = "<!-- end -->"
_START: Final = re.compile(rf"{BEGIN} *(\S.*?) *-->\s*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


def refreshed(text: str, path: str, writers: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with its blocks written anew by their names' writers, each called only if it is needed.

    Marks inside fenced code are examples and stay. Raises `FileError`, naming ``path`` and line, for an unknown
    name and for a block that does not end or begin.
    """
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    out: list[str] = []
    done = 0
    problems: list[Problem] = []
    begun: tuple[int, str] | None = None
    for at, name in _marks(lines):
        if begun is not None and name:
            problems.append(_no_end(path, *begun))
        if name:
            begun = at, name
            if name not in writers:
                message = f"there is no generated block {name!r}"
                problems.append(Problem(path, at + 1, 1, "", message, suggestion(name, writers, "blocks")))
        elif begun is None:
            remedy = f"remove it, or write {BEGIN} NAME --> above it"
            problems.append(Problem(path, at + 1, 1, "", f"{END} ends no block", remedy))
        else:
            start, written = begun
            if not problems:
                out += [*lines[done : start + 1], "", *writers[written]().strip("\n").split("\n"), ""]
                done = at
            begun = None
    if begun is not None:
        problems.append(_no_end(path, *begun))
    if problems:
        raise FileError(tuple(problems))
    return "\n".join([*out, *lines[done:]]) + "\n"


def _no_end(path: str, at: int, name: str) -> Problem:
    return Problem(path, at + 1, 1, "", f"the block {name!r} has no end", f"write {END} in a line below it")


def _marks(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines, counted from 0, in which a block begins, with its name, or ends, with an empty one."""
    fence = ""
    for at, line in enumerate(lines):
        found = _FENCE.match(line)
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1]
        elif not fence and line.rstrip() == END:
            yield at, ""
        elif not fence and (start := _START.fullmatch(line)):
            yield at, start[1]
