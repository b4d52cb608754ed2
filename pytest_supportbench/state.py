"""The state that tools work on: tables of frozen records, cheap to copy and to compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, model_validator

from pytest_supportbench.parts import Part

Deed: TypeAlias = Literal[
    "refund",
    "credit",
    "cancellation",
    "reinstatement",
    "update",
    "plan_change",
    "seat_change",
    "revocation",
    "deletion",
    "transfer",
    "handoff",
    "callback",
    "schedule",
    "message",
    "hold",
    "verification",
    "export",
    "payment_plan",
    "request",
]

"""What an agent can claim to have done; tools say what they do, records what they prove (`Record.evidence`)."""

Tables: TypeAlias = dict[str, dict[str, "Record"]]


class Record(BaseModel):
    """One row of a table. Frozen: a tool changes it with `Toolset.put` and ``record.model_copy(update=…)``.

    ``owners`` names the fields that hold the subjects whom the record belongs to; ``hidden`` fields never leave
    the environment; ``identifying`` fields would disclose their subject; ``free_text`` and ``volatile`` fields
    (times, generated ids) do not count when end states are compared. ``observation_part`` says that the whole table is
    what an ablation can take away (``memory``, ``knowledge`` or ``policies``), so that an account then lacks it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    owners: ClassVar[tuple[str, ...]] = ()
    hidden: ClassVar[frozenset[str]] = frozenset()
    identifying: ClassVar[tuple[str, ...]] = ()
    free_text: ClassVar[frozenset[str]] = frozenset()
    volatile: ClassVar[frozenset[str]] = frozenset()
    observation_part: ClassVar[Part | None] = None

    id: str

    def subjects(self) -> frozenset[str]:
        """Return the ids of the subjects whom this record belongs to; empty for what belongs to nobody."""
        found: list[str] = []
        values = self.__dict__
        for name in self.owners:
            value = values[name]
            if not value:
                continue
            if not isinstance(value, str) and isinstance(value, tuple | list | frozenset):
                found.extend(value)
            else:
                found.append(value)
        return frozenset(found)

    def evidence(self) -> frozenset[Deed]:
        """Return the deeds that this record proves to have happened (a refund record proves a refund)."""
        return frozenset()

    def shown(self) -> dict[str, Any]:
        """Return the record as JSON data, without hidden fields and without unset (``None``) ones."""
        return self.model_dump(mode="json", exclude=set(self.hidden) or None, exclude_none=True)

    def comparable(self) -> dict[str, Any]:
        """Return the record as JSON data, without what does not count when end states are compared."""
        return self.model_dump(mode="json", exclude=set(self.free_text | self.volatile) or None)


R = TypeVar("R", bound=Record)


class State(BaseModel):
    """The tables of one scenario: each field is ``dict[str, SomeRecord]``, keyed by record id."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _give_each_record_its_key(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        return {
            name: {key: {"id": key, **row} if isinstance(row, dict) else row for key, row in table.items()}
            if isinstance(table, dict)
            else table
            for name, table in data.items()
        }

    @property
    def tables(self) -> Tables:
        """The tables by name; the dictionaries are the live ones."""
        return cast("Tables", self.__dict__)

    def snapshot(self) -> Tables:
        """Return a copy of the tables that later writes do not reach (records themselves are frozen)."""
        return {name: table.copy() for name, table in self.tables.items()}

    def restore(self, snapshot: Tables) -> None:
        """Put the tables back to a snapshot."""
        for name, table in snapshot.items():
            self.__dict__[name] = dict(table)

    def copy_state(self) -> State:
        """Return an independent state with the same records."""
        copy = self.model_copy()
        copy.__dict__.update(self.snapshot())
        return copy


S = TypeVar("S", bound=State)


def iter_records(tables: Tables) -> Iterator[tuple[str, Record]]:
    """Yield every record with its table's name."""
    for name, table in tables.items():
        for record in table.values():
            yield name, record
