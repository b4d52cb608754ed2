"""The tools of a domain and the state that they work on; a company writes its own the same way.

A `State` holds tables of frozen `Record`s, so that a snapshot is a shallow copy, a write replaces whole
records, and a change is found by identity. A `Toolset` has one method per tool, marked `@tool`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from pytest_supportbench.parts import Part
from pytest_supportbench.state import Record, State
from pytest_supportbench.state_check import check_state
from pytest_supportbench.tools import MARK, Context, ToolError, ToolSpec, make_spec
from pytest_supportbench.validation import models_in

R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=State)


class Toolset(Generic[S]):
    """The tools of one domain, bound to one scenario's state and virtual clock.

    Subclasses set ``name``, ``version``, ``state_type`` and write methods marked `@tool`. Tools enforce schema,
    existence and ledger arithmetic, and never policy: breaking policy must be possible, or nothing is measured.
    With ``schemas_when_used`` a tool's JSON Schema is made when it is first needed, which saves a large toolset most of
    its import; mistakes in annotations are then found later, so tests of one's own should ask for every schema.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    state_type: ClassVar[type[State]]
    schemas_when_used: ClassVar[bool] = False
    specs: ClassVar[Mapping[str, ToolSpec]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the marked methods and check the state's records once, when the class is made.

        Raises `ToolsetError` for a tool or a record that is declared wrongly.
        """
        super().__init_subclass__(**kwargs)
        state = vars(cls).get("state_type")
        if isinstance(state, type) and issubclass(state, State):
            check_state(state)
        found: dict[str, ToolSpec] = {}
        for base in cls.__bases__:
            found = {**found, **getattr(base, "specs", {}), **found}
        for name, value in vars(cls).items():
            marker = getattr(value, MARK, None)
            if marker is not None:
                found[name] = spec = make_spec(name, value, marker)
                if not cls.schemas_when_used:
                    spec.parameters  # noqa: B018 - a mistake in its annotations shows now
        cls.specs = found

    def __init__(self, state: S, context: Context) -> None:
        self.state = state
        self.context = context
        self.touched: set[frozenset[str]] = set()

    @property
    def now(self) -> datetime:
        """The virtual time."""
        return self.context.now

    def get(self, table: Mapping[str, R], key: str, kind: str = "record") -> R:
        """Return a record and note whose it is; raises `ToolError` ``not_found``."""
        record = table.get(key)
        if record is None:
            raise ToolError("not_found", f"no {kind} {key!r}")
        return self.touch(record)

    def touch(self, record: R) -> R:
        """Note that the call saw or changed this record, so that ``wrong_subject`` can be judged."""
        self.touched.add(record.subjects())
        return record

    def where(self, table: Mapping[str, R], **values: Any) -> list[R]:
        """Return the records whose fields equal ``values``, in table order, noting whose they are."""
        return [self.touch(record) for record in table.values() if _has(record, values)]

    def put(self, table: dict[str, R], record: R) -> R:
        """Insert or replace a record, noting whose it is."""
        table[record.id] = record
        return self.touch(record)

    def change(self, table: dict[str, R], record: R, **values: Any) -> R:
        """Replace a record by one with other ``values``; they are validated like a file's."""
        return self.put(table, type(record).model_validate({**record.__dict__, **values}))

    def new_id(self, prefix: str, table: Mapping[str, object]) -> str:
        """Return the next free id of a table, deterministic within a trace."""
        return self.context.new_id(prefix, table)

    def view(self, name: str) -> list[dict[str, Any]]:
        """Return what ``visible: [name]`` shows: the customer's own records of that table.

        ``name`` is a table of the state, in the plural or the singular. Raises `KeyError` where there is none.
        """
        table = self.state.tables[self.table_of(name)]
        return [
            row.shown() for row in table.values() if not row.owners or self.context.subject in row.subjects()
        ]

    def part_of(self, name: str) -> Part | None:
        """Return the part of an observation that ``visible: [name]`` shows a piece of; most tables are of none.

        Raises `KeyError` where there is no such table.
        """
        field = type(self.state).model_fields[self.table_of(name)]
        records = [model for model in models_in(field.annotation) if issubclass(model, Record)]
        return next((record.observation_part for record in records if record.observation_part), None)

    def table_of(self, name: str) -> str:
        """Return the table that a ``visible`` name means; raises `KeyError`."""
        tables = type(self.state).model_fields
        for candidate in (name, f"{name}s", f"{name}es", f"{name[:-1]}ies"):
            if candidate in tables:
                return candidate
        raise KeyError(name)


def _has(record: Record, values: Mapping[str, Any]) -> bool:
    for name, value in values.items():  # noqa: SIM110 - half as long as with all(), and every list of records asks
        if getattr(record, name) != value:
            return False
    return True
