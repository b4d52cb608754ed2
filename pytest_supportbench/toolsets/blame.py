"""Which line of a toolset author's own code an exception comes from, as a problem that an editor can open."""

from __future__ import annotations

import os
import sysconfig
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pydantic

from pytest_supportbench.errors import Problem, ToolsetError

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS: Final = (
    "<",
    *(f"{folder}{os.sep}" for folder in (Path(__file__).parent.parent, Path(pydantic.__file__).parent)),
)
_STANDARD: Final = sysconfig.get_path("stdlib")
_LONGEST: Final = 500


def blame(error: BaseException) -> Problem | None:
    """Return the problem at the author's line that raised ``error``, or ``None`` where no code of theirs did.

    A `ToolsetError` speaks for itself; of any other exception the type and text are told.
    """
    found = _line(error)
    if found is None:
        return None
    message, remedy = wording(error)
    return Problem(found[0], found[1], 1, "", message, remedy)


def wording(error: BaseException) -> tuple[str, str]:
    """Return an exception's message and remedy, each in one line of bounded length."""
    text = " ".join(str(error).split())
    if isinstance(error, ToolsetError):
        message, _, remedy = text.partition("; ")
        return message[:_LONGEST], remedy[:_LONGEST] or "mend the toolset"
    return f"the toolset broke: {type(error).__name__}: {text}"[:_LONGEST], "mend the toolset"


def _line(error: BaseException) -> tuple[str, int] | None:
    """Return file and line, of the first cause if there are several."""
    for each in reversed(list(_causes(error))):
        if isinstance(each, SyntaxError) and each.filename and each.lineno:
            return each.filename, each.lineno
        for frame in reversed(traceback.extract_tb(each.__traceback__)):
            if frame.lineno and _is_theirs(frame.filename):
                return frame.filename, frame.lineno
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__


def _is_theirs(file: str) -> bool:
    if file.startswith(_OURS):
        return False
    return not file.startswith(_STANDARD) or "site-packages" in file
