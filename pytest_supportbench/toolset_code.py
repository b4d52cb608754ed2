"""The files that decide what a toolset does, by hash: with other tools results are not of the same suite."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.canonical import bytes_sha256
from pytest_supportbench.validation import models_in

if TYPE_CHECKING:
    from pytest_supportbench.toolset import Toolset

YAML_FILES: Final = (".yaml", ".yml")
_VERSIONED: Final = {"pytest_supportbench", "pydantic", *sys.stdlib_module_names}
"""Packages for which a version stands: a run records it, or it is the run's Python."""


def toolset_sha256(named: str | dict[str, Any], toolset: type[Toolset[Any]], folder: Path) -> str:
    """Return a hash of the files of a toolset that a suite in ``folder`` names; empty where none is its own.

    That is the YAML file which declares it, or else the modules of its class, of its state and of its records, with
    those that they inherit from. What such a module imports beyond that is not followed.
    """
    if isinstance(named, dict):
        return ""  # the suite has all of it
    if named.endswith(YAML_FILES):
        return bytes_sha256(folder / named)
    files = sorted({file for model in _classes(toolset) for file in _file(model)})
    return hashlib.sha256("\n".join(map(bytes_sha256, files)).encode()).hexdigest() if files else ""


def _classes(toolset: type[Toolset[Any]]) -> Iterator[type]:
    state = toolset.state_type
    yield from (*toolset.__mro__, *state.__mro__)
    for field in state.model_fields.values():
        for model in models_in(field.annotation):
            yield from model.__mro__


def _file(cls: type) -> Iterator[Path]:
    """Yield the file of a class's module, unless a version stands for it."""
    if cls.__module__.partition(".")[0] in _VERSIONED:
        return
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file and Path(file).is_file():
        yield Path(file)
