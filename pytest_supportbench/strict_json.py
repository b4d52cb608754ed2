"""Reading of files of our own that may be anybody's by now: bounded, and each mistake by file, field and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from pytest_supportbench.errors import UsageError

_SHOWN = 300


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
