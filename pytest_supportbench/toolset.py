"""The tools of a domain and the state that they work on; a company writes its own the same way.

A `State` holds tables of frozen `Record`s, so that a snapshot is a shallow copy, a write replaces whole
records, and a change is found by identity. A `Toolset` has one method per tool, marked `@tool`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator

from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.protocol import ToolInfo
from pytest_supportbench.scenario import Article, Policy

Effect: TypeAlias = Literal["reads", "writes"]
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


class ToolError(Exception):
    """A tool's typed refusal; the agent sees ``code``, ``message`` and ``retryable``, and nothing has changed."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable


class Record(BaseModel):
    """One row of a table. Frozen: a tool changes it with `Toolset.put` and ``record.model_copy(update=…)``.

    ``owners`` names the fields that hold the subjects whom the record belongs to; ``hidden`` fields never leave
    the environment; ``identifying`` fields would disclose their subject; ``free_text`` and ``volatile`` fields
    (times, generated ids) do not count when end states are compared.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    owners: ClassVar[tuple[str, ...]] = ()
    hidden: ClassVar[frozenset[str]] = frozenset()
    identifying: ClassVar[tuple[str, ...]] = ()
    free_text: ClassVar[frozenset[str]] = frozenset()
    volatile: ClassVar[frozenset[str]] = frozenset()

    id: str

    def subjects(self) -> frozenset[str]:
        """Return the ids of the subjects whom this record belongs to; empty for what belongs to nobody."""
        found: set[str] = set()
        for name in self.owners:
            value = getattr(self, name)
            found.update(value if isinstance(value, tuple | list | frozenset) else [value] if value else [])
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
            name: {
                key: {"id": key, **row} if isinstance(row, dict) else row for key, row in table.items()
            }
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
        return {name: dict(table) for name, table in self.tables.items()}

    def restore(self, snapshot: Tables) -> None:
        """Put the tables back to a snapshot."""
        for name, table in snapshot.items():
            self.__dict__[name] = dict(table)

    def copy_state(self) -> State:
        """Return an independent state with the same records."""
        copy = self.model_copy()
        copy.restore(self.tables)
        return copy


S = TypeVar("S", bound=State)


@dataclass(slots=True)
class Context:
    """What tools may use beside the state: the virtual clock, id counters, the suite's policies and knowledge."""

    now: datetime
    policies: tuple[Policy, ...] = ()
    knowledge: tuple[Article, ...] = ()
    subject: str = ""
    counters: dict[str, int] = field(default_factory=dict)

    def advance(self, seconds: int) -> None:
        """Move the virtual clock; nothing ever sleeps."""
        self.now += timedelta(seconds=seconds)

    def new_id(self, prefix: str, taken: Mapping[str, object]) -> str:
        """Return the next free ``prefix_n`` (from 1001), the same in every run of one trace."""
        number = self.counters.get(prefix, 1000) + 1
        while f"{prefix}_{number}" in taken:
            number += 1
        self.counters[prefix] = number
        return f"{prefix}_{number}"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the harness knows it. ``run(toolset, arguments)`` gets validated arguments."""

    name: str
    description: str
    effect: Effect
    parameters: dict[str, Any]
    validate: Callable[[dict[str, Any]], dict[str, Any]]
    run: Callable[[Toolset[Any], dict[str, Any]], Any]
    handoff: bool = False
    free_text: frozenset[str] = frozenset()
    outward: frozenset[str] = frozenset()
    batch: str | None = None
    does: Deed | None = None

    @property
    def info(self) -> ToolInfo:
        """The tool as an agent sees it."""
        return ToolInfo(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            handoff=self.handoff,
        )

    @property
    def idempotent(self) -> bool:
        """Whether the tool takes an ``idempotency_key``."""
        return "idempotency_key" in self.parameters["properties"]


@dataclass(frozen=True, slots=True)
class _Marker:
    effect: Effect
    handoff: bool
    free_text: frozenset[str]
    outward: frozenset[str]
    batch: str | None
    does: Deed | None


_MARK: Final = "__supportbench_tool__"
F = TypeVar("F", bound=Callable[..., Any])


def tool(
    effect: Effect,
    *,
    handoff: bool = False,
    free_text: Iterable[str] = (),
    outward: Iterable[str] = (),
    batch: str | None = None,
    does: Deed | None = None,
) -> Callable[[F], F]:
    """Mark a method of a `Toolset` as a tool that ``reads`` or ``writes``.

    ``handoff`` says that it moves the case to a person or team; ``free_text`` names parameters whose wording is
    the agent's own; ``outward`` those whose text leaves the company; ``batch`` the list parameter that can
    succeed in part; ``does`` is the deed that an agent may claim after it succeeded. The method's docstring is
    what the agent reads; its annotations become the JSON Schema.
    """
    marker = _Marker(effect, handoff, frozenset(free_text), frozenset(outward), batch, does)

    def mark(function: F) -> F:
        setattr(function, _MARK, marker)
        return function

    return mark


MAX_TEXT: Final = 100_000
"""Characters that a text argument may have; longer ones are invalid arguments."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=MAX_TEXT, str_strip_whitespace=True)


def _tidy(schema: Any) -> Any:
    """Return a JSON Schema without pydantic's titles and our general bound, which only cost an agent tokens."""
    if isinstance(schema, dict):
        return {
            key: {name: _tidy(item) for name, item in value.items()} if key == "properties" else _tidy(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str)) and (key, value) != ("maxLength", MAX_TEXT)
        }
    return [_tidy(item) for item in schema] if isinstance(schema, list) else schema


def _spec(name: str, function: Callable[..., Any], marker: _Marker) -> ToolSpec:
    signature = inspect.signature(function, eval_str=True)
    fields: dict[str, Any] = {}
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.annotation is parameter.empty:
            msg = f"tool {name!r}: parameter {parameter.name!r} has no annotation; add one, it becomes the JSON Schema"
            raise ToolsetError(msg)
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (parameter.annotation, default)
    model = create_model(f"{name}_arguments", __base__=_Arguments, **fields)
    names = tuple(fields)

    def validate(arguments: dict[str, Any]) -> dict[str, Any]:
        values = model.__pydantic_validator__.validate_python(arguments)
        return {key: getattr(values, key) for key in names}

    def run(toolset: Toolset[Any], arguments: dict[str, Any]) -> Any:
        return function(toolset, **arguments)

    unknown = (marker.free_text | marker.outward | ({marker.batch} if marker.batch else set())) - fields.keys()
    if unknown:
        msg = f"tool {name!r}: the marker names {sorted(unknown)}, which are no parameters of it"
        raise ToolsetError(msg)
    schema = _tidy(model.model_json_schema())
    schema.setdefault("properties", {})
    return ToolSpec(
        name=name,
        description=re.sub(r"\s+", " ", inspect.getdoc(function) or "").strip(),
        effect=marker.effect,
        parameters=schema,
        validate=validate,
        run=run,
        handoff=marker.handoff,
        free_text=marker.free_text,
        outward=marker.outward,
        batch=marker.batch,
        does=marker.does or ("handoff" if marker.handoff else None),
    )


class Toolset(Generic[S]):
    """The tools of one domain, bound to one scenario's state and virtual clock.

    Subclasses set ``name``, ``version``, ``state_type`` and write methods marked `@tool`. Tools enforce schema,
    existence and ledger arithmetic, and never policy: breaking policy must be possible, or nothing is measured.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    state_type: ClassVar[type[State]]
    specs: ClassVar[Mapping[str, ToolSpec]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the marked methods once, when the class is made."""
        super().__init_subclass__(**kwargs)
        found: dict[str, ToolSpec] = {}
        for base in cls.__bases__:
            found = {**found, **getattr(base, "specs", {}), **found}
        for name, value in vars(cls).items():
            marker = getattr(value, _MARK, None)
            if marker is not None:
                found[name] = _spec(name, value, marker)
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
        return [
            self.touch(record)
            for record in table.values()
            if all(getattr(record, name) == value for name, value in values.items())
        ]

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
        return [row.shown() for row in table.values() if not row.owners or self.context.subject in row.subjects()]

    def table_of(self, name: str) -> str:
        """Return the table that a ``visible`` name means; raises `KeyError`."""
        tables = type(self.state).model_fields
        for candidate in (name, f"{name}s", f"{name}es", f"{name[:-1]}ies"):
            if candidate in tables:
                return candidate
        raise KeyError(name)


def shown(value: Any) -> Any:  # noqa: PLR0911 - one return a kind of value
    """Return a tool's return value as JSON data. Raises `ToolsetError` for what is none."""
    if isinstance(value, Record):
        return value.shown()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping):
        return {str(key): shown(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [shown(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | str):
        return value
    from decimal import Decimal  # noqa: PLC0415 - keeps the common path free of the check

    if isinstance(value, Decimal):
        return format(value, "f")
    msg = f"a tool returned a {type(value).__name__}, which is no JSON value; return records, mappings or lists"
    raise ToolsetError(msg)


def argument_problem(error: ValidationError) -> str:
    """Return a validation error of arguments in one line that an agent can act on."""
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)[:5]
    )


def iter_records(tables: Tables) -> Iterator[tuple[str, Record]]:
    """Yield every record with its table's name."""
    for name, table in tables.items():
        for record in table.values():
            yield name, record
