"""What libyaml says of broken YAML, in words that say what to do."""

from __future__ import annotations

from typing import Any, Final

from pytest_supportbench.errors import Problem
from pytest_supportbench.patterns import later

_UNREADABLE: Final = later("[^\\t\\n\\r\\x20-\\x7e\\x85\\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_INDENT: Final = (
    "this line does not fit the ones above",
    "check its indentation, and quote a value that holds quotes",
)
_BRACKET: Final = ("this bracket is not closed", "close it, or quote a value that holds commas or brackets")
_DEEPER: Final = (
    "this line is indented deeper than the key above it",
    "indent it like that key, or quote the text above if it goes on here",
)
_COLON: Final = ("a ': ' stands where no key can", "quote the text, or check the indentation")

# Some mistakes are seen only far behind the place where they were made: there the start is what helps.
_AT_START: Final = {
    "did not find expected ',' or ']'": _BRACKET,
    "did not find expected ',' or '}'": _BRACKET,
    "found unexpected end of stream": ("this quote is not closed", "close it"),
    "found unexpected document indicator": ("this quote is not closed", "close it"),
    "could not find expected ':'": ("this line is no 'key: value'", "add ': ', or indent it as text"),
}
_AT_PROBLEM: Final = {
    "did not find expected key": _INDENT,
    "did not find expected '-' indicator": _INDENT,
    "mapping values are not allowed in this context": _COLON,
    "block sequence entries are not allowed in this context": (
        "a '- ' stands where no list can start",
        "put the list on its own lines, or quote the text",
    ),
    "found a tab character where an indentation space is expected": (
        "a tab indents this line",
        "use spaces",
    ),
    "found unknown escape character": (
        "the backslash starts no known escape",
        "write two backslashes, or use single quotes",
    ),
    "did not find expected <document start>": ("text follows the end of the document", "remove it"),
    "found incompatible YAML document": (
        "the %YAML line names a version that is not read",
        "remove the line",
    ),
}

_NO_VALUE: Final = "#&!|>"
"""What may stand between a key and a value on the lines below."""
_MISFITS: Final = frozenset({"mapping values are not allowed in this context", "did not find expected key"})


def syntax_problem(error: Any, text: str, path: str) -> Problem:
    """Return the problem that a ``yaml.MarkedYAMLError`` of ``text`` means."""
    problem, mark = error.problem, error.problem_mark
    if problem in _MISFITS and (column := _deeper(text.splitlines(), mark.line, mark.column)):
        return Problem(path, mark.line + 1, column, "", *_DEEPER)
    if problem in _AT_START:
        message, remedy = _AT_START[problem]
        mark = error.context_mark or mark
    elif problem in _AT_PROBLEM:
        message, remedy = _AT_PROBLEM[problem]
    elif problem == "found character that cannot start any token":
        message, remedy = _bad_start(text.splitlines()[mark.line][mark.column])
    else:
        message, remedy = f"this is no YAML ({problem})", "check the quotes, brackets and indentation here"
    return Problem(path, mark.line + 1, mark.column + 1, "", message, remedy)


def _deeper(lines: list[str], number: int, colon: int) -> int:
    """Return the column, from 1, of a line that begins with a key deeper than the one above; 0 for other lines."""
    line = lines[number]
    indent = len(line) - len(line.lstrip(" "))
    above = next(
        (each for each in reversed(lines[:number]) if each.strip(" -") and each.strip()[0] != "#"), ""
    )
    key = above.lstrip(" -")
    value = key.partition(": ")[2]
    if ": " in line[:colon] or value[:1] in {"", *_NO_VALUE} or indent <= len(above) - len(key):
        return 0
    return indent + 1


def _bad_start(character: str) -> tuple[str, str]:
    if character == "\t":
        return "a tab indents this line", "use spaces"
    return f"a plain text cannot start with {character!r}", "quote it"


def reader_problem(text: str, path: str) -> Problem:
    """Return the problem that the first character is which no YAML file may hold."""
    found = _UNREADABLE.search(text)
    at = found.start() if found else 0
    name = f"U+{ord(text[at]):04X}" if found else "a character"
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    message = f"the character {name} is not allowed in a file"
    return Problem(path, line, column, "", message, "remove it, or write it as an escape in double quotes")
