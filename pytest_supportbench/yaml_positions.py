"""Where in a YAML file each key and value stands; only asked for when something is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from yaml._yaml import CParser
from yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    MappingStartEvent,
    StreamEndEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Place: TypeAlias = tuple[str | int, ...]
"""A value's place in a file's data: keys and, for lists, indices from 0."""
_Found: TypeAlias = dict[Place, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Positions:
    """Line and column, from 1, of every key and every value by place; values behind an alias stand at it."""

    keys: Mapping[Place, tuple[int, int]]
    values: Mapping[Place, tuple[int, int]]

    def at(self, place: Place, *, key: bool = False) -> tuple[int, int]:
        """Return where a value (with ``key``, its key) stands, or the nearest parent of a missing one."""
        if key and place in self.keys:
            return self.keys[place]
        for length in range(len(place), -1, -1):
            if place[:length] in self.values:
                return self.values[place[:length]]
        return 1, 1


def positions(text: str) -> Positions:
    """Return the positions in a text that `yaml12.scan` can read."""
    keys: _Found = {}
    values: _Found = {}
    next_event: Callable[[], Any] = CParser(text.removeprefix("\ufeff")).get_event
    next_event()
    if not isinstance(next_event(), StreamEndEvent):
        _walk(next_event(), (), next_event, keys, values)
    return Positions(keys, values)


def _walk(event: Any, place: Place, next_event: Callable[[], Any], keys: _Found, values: _Found) -> None:
    values.setdefault(place, _mark(event))
    if not isinstance(event, CollectionStartEvent):
        return
    index = 0
    mapping = isinstance(event, MappingStartEvent)
    while not isinstance(event := next_event(), CollectionEndEvent):
        step: str | int = index
        if mapping:
            step = getattr(event, "value", "")
            keys.setdefault((*place, step), _mark(event))
            if isinstance(event, CollectionStartEvent):
                _walk(event, (*place, step, ""), next_event, keys, values)
            event = next_event()
        _walk(event, (*place, step), next_event, keys, values)
        index += 1


def _mark(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1
