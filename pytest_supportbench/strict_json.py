"""Reading of files of our own that may be anybody's by now: bounded, and each mistake by file, field and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pytest_supportbench.errors import UsageError

MAX_DEPTH: Final = 100
"""Data nested deeper is refused; a reply of an agent may be nested 40 levels deep."""

_SHOWN: Final = 300


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises `ValueError` for a key that is there twice, of which one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"the key {twice[:60]!r} is there twice in one object"
        raise ValueError(msg)
    return found


def refuse_deep(value: Any) -> None:
    """Raise `RecursionError` where JSON data is nested beyond `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for parent in level
            if isinstance(parent, (dict, list))
            for item in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return
    raise RecursionError


@contextmanager
def reading(path: Path, what: str, remedy: str, *, most: int, whole: str = "the file") -> Iterator[None]:
    """Turn what goes wrong while a file is read as JSON of a model into a `UsageError` that names all there is to know.

    ``what`` is what it should be (``labels``), ``most`` how many bytes it may have, ``whole`` what a mistake is in that
    is in no field.
    """
    try:
        if path.stat().st_size > most:
            msg = f"{path}: has more than {most:,} bytes; {remedy}"
            raise UsageError(msg)
        yield
    except OSError as error:
        msg = f"{path}: cannot be read as {what} ({error.strerror}); {remedy}"
        raise UsageError(msg) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or whole
        msg = f"{path}: {field}: {first['msg'][:_SHOWN]}; {remedy}"
        raise UsageError(msg) from error
