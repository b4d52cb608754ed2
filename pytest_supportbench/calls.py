"""What a tool call leaves behind: its record, and how it changed the state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_supportbench.protocol import ToolEntry, ToolFailure
from pytest_supportbench.scenario import FaultKind
from pytest_supportbench.state import Deed, Record, Tables
from pytest_supportbench.tools import Effect

Status: TypeAlias = Literal["ok", "partial", "error", "refused"]


class Change(NamedTuple):
    """One difference between two states.

    ``field`` is ``None`` where a whole record was created (``before`` is ``None``) or removed (``after`` is).
    ``counts`` is false for free text, times and generated ids.
    """

    table: str
    id: str
    field: str | None
    before: Any
    after: Any
    counts: bool = True

    @property
    def path(self) -> str:
        """The change's place as scenario files write it, such as ``charges.ch_204.status``."""
        return f"{self.table}.{self.id}" + (f".{self.field}" if self.field else "")


class CallRecord(NamedTuple):
    """One executed or refused tool call, as it is scored and stored.

    ``number`` and ``turn`` count from 1. ``committed`` says that a write's effect is in the state, whether or not
    the agent saw it succeed; ``replayed`` that an idempotency key returned an earlier result. ``owners`` has, for
    each record touched, the subjects whom it belongs to. (A tuple, since a frozen dataclass of so many fields takes
    seven times as long to make.)
    """

    number: int
    turn: int
    tool: str
    arguments: dict[str, Any]
    status: Status
    result: Any = None
    error: ToolFailure | None = None
    fault: FaultKind | None = None
    effect: Effect | None = None
    committed: bool = False
    replayed: bool = False
    handoff: bool = False
    does: Deed | None = None
    owners: tuple[tuple[str, ...], ...] = ()
    changes: tuple[Change, ...] = ()
    at: str = ""

    @property
    def seen_ok(self) -> bool:
        """Whether the agent saw the call succeed, wholly or in part."""
        return self.status in {"ok", "partial"}

    @property
    def done(self) -> bool:
        """Whether a required call can be met by this one: a committed write, or a read that came back."""
        return self.committed if self.effect == "writes" else self.seen_ok

    def came_back_before(self, other: CallRecord) -> bool:
        """Whether its result was there when another call was made; of two agents at once, turns alone do not tell."""
        return self.turn < other.turn and self.number < other.number

    def entry(self) -> ToolEntry:
        """Return the call as the transcript shows it to the agent."""
        return ToolEntry(
            tool=self.tool,
            arguments=self.arguments,
            status="error" if self.status == "refused" else self.status,
            result=self.result,
            error=self.error,
        )


def differences(before: Tables, after: Tables) -> tuple[Change, ...]:
    """Return what differs between two snapshots, field by field, in table order.

    Records are frozen, so equal objects are skipped by identity.
    """
    found: list[Change] = []
    for name, table in after.items():
        old_table = before[name]
        if not table and not old_table:  # most tables of a large toolset, at every call
            continue
        for key, record in table.items():
            old = old_table.get(key)
            if old is record:
                continue
            if old is None:
                found.append(Change(name, key, None, None, record.comparable()))
            else:
                found.extend(_altered(name, key, old, record))
        if not old_table.keys() <= table.keys():
            gone = (key for key in old_table if key not in table)
            found.extend(Change(name, key, None, old_table[key].comparable(), None) for key in gone)
    return tuple(found)


def _altered(table: str, key: str, old: Record, new: Record) -> Iterator[Change]:
    """Yield the fields that differ between two versions of a record, as JSON data."""
    before = old.__dict__
    fields = {name for name, value in new.__dict__.items() if value != before.get(name)}
    if not fields:
        return
    was, now = old.model_dump(mode="json", include=fields), new.model_dump(mode="json", include=fields)
    for field, value in now.items():
        counts = field not in new.free_text and field not in new.volatile
        yield Change(table, key, field, was.get(field), value, counts)


def strings_in(values: Iterable[Any]) -> Iterator[str]:
    """Yield every string in JSON data, at any depth; keys of objects are none of it."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif value is None or isinstance(value, int | float):  # quicker told than that it is no mapping
            continue
        elif isinstance(value, Mapping):
            yield from strings_in(value.values())
        elif isinstance(value, list | tuple):
            yield from strings_in(value)
