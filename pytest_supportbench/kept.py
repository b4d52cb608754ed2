"""Rows as a long run keeps them: their values only, since the names are those of all other rows.

A row of 40 names took 1.2 kB as a dictionary with two more in it where it was measured, and takes 0.5 kB so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

_PLAIN = (bool, int, float, str, type(None))


class KeptRow(Mapping[str, Any]):
    """A mapping that cannot be changed, of text to values."""

    __slots__ = ("_places", "_values")

    def __init__(self, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
        self._places = _places(names)
        self._values = values

    def __getitem__(self, name: str) -> Any:
        """Return a value. Raises `KeyError`."""
        return self._values[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        """Yield the names in their order."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._values)

    def __repr__(self) -> str:
        """Return it as a dictionary is shown."""
        return repr(dict(self))


def keep(row: Mapping[str, Any]) -> KeptRow:
    """Return what equals ``row`` and the mappings in it, and takes less room."""
    values = (_kept(value) if isinstance(value, Mapping) else value for value in row.values())
    return KeptRow(tuple(row), tuple(values))


def _kept(value: Mapping[str, Any]) -> KeptRow:
    """Return a mapping in a row; few different ones are in thousands of rows where all that they have is plain."""
    values = tuple(value.values())
    types = tuple(map(type, values))
    return _shared(tuple(value), values, types) if all(kind in _PLAIN for kind in types) else keep(value)


@lru_cache(maxsize=1024)
def _shared(names: tuple[str, ...], values: tuple[Any, ...], _types: tuple[type, ...]) -> KeptRow:
    """Return the one for these values; ``_types`` keep 1, 1.0 and True apart, which equal each other."""
    return KeptRow(names, values)


@lru_cache(maxsize=1024)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    return {name: place for place, name in enumerate(names)}
