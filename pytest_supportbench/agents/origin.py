"""Where an object that Python code handed over comes from: its file, and its name in there."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Any


def source_of(value: Any) -> str | None:
    """Return the file in which a function is written, or the class of an object; ``None`` where there is none."""
    try:
        return inspect.getsourcefile(_definition(value))
    except (TypeError, OSError):
        return None


def origin_of(value: Any, root: Path) -> str:
    """Return ``file:name`` of what `source_of` means, relative to the root directory where it is below that.

    Without a file it is ``module:name``. Objects of one class, and functions made by one function, share it.
    """
    defined, source = _definition(value), source_of(value)
    name = str(getattr(defined, "__qualname__", type(value).__qualname__))
    bound = getattr(value, "__self__", None)
    if bound is not None and defined is not value:
        name = f"{name}.{getattr(value, '__name__', '')}"
    if source is None:
        return f"{getattr(defined, '__module__', '')}:{name}"
    path = Path(source).resolve()
    inside = path.is_relative_to(root.resolve())
    return f"{path.relative_to(root.resolve()).as_posix() if inside else path.name}:{name}"


def _definition(value: Any) -> Any:
    """Return the function or class that stands in a file for an object."""
    while isinstance(value, functools.partial):
        value = value.func
    if inspect.ismethod(value):
        bound = value.__self__
        return bound if inspect.isclass(bound) else type(bound)
    return value if inspect.isroutine(value) or inspect.isclass(value) else type(value)
