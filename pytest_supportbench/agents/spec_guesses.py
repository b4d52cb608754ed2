"""What somebody may have meant: the nearest known word, and specs that miss their kind or an address's scheme."""

from __future__ import annotations

import difflib
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_supportbench.patterns import later

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ADDRESS: Final = later(
    r"(localhost|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:]+\]|[\w-]+(\.[\w-]+)*(?=:\d+/))(:\d{1,5}(/.*)?|/.*)",
    re.IGNORECASE,
)
_CALLABLE: Final = later(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*)(:[^\W\d]\w*)+")
_PYTHON: Final = later(r"(?:\./)?(?P<module>[^\W\d]\w*(/[^\W\d]\w*)*)\.py(:(?P<name>[^\W\d]\w*))?")
_RUNNERS: Final = {
    ".js": "node ",
    ".mjs": "node ",
    ".py": "python ",
    ".rb": "ruby ",
    ".sh": "sh ",
    ".ts": "npx tsx ",
}
_OPERATORS: Final = later(r"\|\|?|&&?|;|[12&]?>>?|<|[12]>&[12]")
_OPTION: Final = later(r"(?<![^\s'\"])[^\s?:]+\?(\w+)=")


def guess(text: str, root: Path) -> str | None:
    """Return the spec that ``text`` looks like without its kind or scheme; ``None`` where it looks like none."""
    path = root / text
    if path.is_file():
        if path.suffix == ".gguf":
            return f"local:{text}"
    elif _ADDRESS.fullmatch(text):
        return f"http://{text}"
    if found := _PYTHON.fullmatch(text):
        return f"python:{found['module'].replace('/', '.')}:{found['name'] or 'reply'}"
    if called := _CALLABLE.fullmatch(text):
        module = root / called["module"].replace(".", "/")
        return f"python:{text}" if module.with_suffix(".py").is_file() or module.is_dir() else None
    if path.suffix in _RUNNERS and path.is_file():
        return f"command:{_RUNNERS[path.suffix]}{shlex.quote(text)}"
    return f"replay:{text}" if "/" in text and path.is_dir() else None


def shell_operator(command: str) -> str | None:
    """Return the first word of a command that means something to a shell only, and stands in no quotation marks."""
    try:
        words = shlex.split(command, posix=False)
    except ValueError:
        return None
    return next((word for word in words if _OPERATORS.fullmatch(word)), None)


def has_option(target: str, known: Iterable[str]) -> bool:
    """Tell whether one of the ``known`` options stands behind a question mark, as it does in specs of other kinds."""
    return any(name in known for name in _OPTION.findall(target))


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean …?`` with the nearest known word, or nothing where none is near."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def hint(word: str, known: Mapping[str, object]) -> str:
    """Return a remedy for an unknown word: the nearest known one where there is one, and all of them."""
    close = difflib.get_close_matches(word, known, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}known: {', '.join(sorted(known)) or 'none'}"
