"""Runs a declared tool: finds its records, applies its effects, returns what it should."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from pytest_supportbench.state import Record
from pytest_supportbench.tools import ToolError, argument_problem
from pytest_supportbench.toolset import Toolset
from pytest_supportbench.toolsets.declared_models import NOW


@dataclass(frozen=True, slots=True)
class Given:
    """A reference to a parameter, or to the virtual time."""

    name: str


@dataclass(frozen=True, slots=True)
class Literally:
    """A literal, checked and converted to the type of what it is for."""

    value: Any


Values: TypeAlias = Mapping[str, Given | Literally]


@dataclass(frozen=True, slots=True)
class Change:
    """Changes the records found: sets fields, adds to numbers or appends to lists."""

    kind: Literal["set", "add", "append"]
    values: Values


@dataclass(frozen=True, slots=True)
class Create:
    """Makes a record with a generated id."""

    table: str
    record: type[Record]
    prefix: str
    values: Values


@dataclass(frozen=True, slots=True)
class Find:
    """Selects the records whose fields equal the values."""

    table: str
    by: Values
    many: bool


@dataclass(frozen=True, slots=True)
class Program:
    """A declared tool with all its references checked. ``returns`` are fields, values, or ``None`` (all)."""

    find: Find | None
    steps: tuple[Change | Create, ...]
    returns: tuple[str, ...] | Values | None

    def run(self, toolset: Toolset[Any], arguments: Mapping[str, Any]) -> Any:
        """Return the tool's result. Raises `ToolError` ``not_found`` or ``unprocessable``."""
        given = {**arguments, NOW: toolset.now}
        found = _found(self.find, toolset, given) if self.find else []
        made: list[Record] = []
        for step in self.steps:
            if isinstance(step, Create):
                made.append(_create(step, toolset, given))
            elif self.find is not None:
                table = toolset.state.tables[self.find.table]
                found = [_change(step, toolset, table, record, given) for record in found]
        return self._result(found, made, given)

    def _result(self, found: list[Record], made: list[Record], given: Mapping[str, Any]) -> Any:
        if isinstance(self.returns, Mapping):
            return _values(self.returns, given)
        rows = made or found
        many = len(made) > 1 or (not made and self.find is not None and self.find.many)
        if self.returns is None:
            return rows if many else rows[0]
        picked = [{name: row.shown().get(name) for name in self.returns} for row in rows]
        return picked if many else picked[0]


def _values(values: Values, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, without those of parameters that were not given."""
    resolved = {
        name: value.value if isinstance(value, Literally) else given[value.name]
        for name, value in values.items()
    }
    return {name: value for name, value in resolved.items() if value is not None}


def _found(find: Find, toolset: Toolset[Any], given: Mapping[str, Any]) -> list[Record]:
    table = toolset.state.tables[find.table]
    by = _values(find.by, given)
    if find.many:
        return toolset.where(table, **by)
    if by.keys() == {"id"}:
        return [toolset.get(table, by["id"], f"record in {find.table}")]
    for record in table.values():
        if all(getattr(record, name) == value for name, value in by.items()):
            return [toolset.touch(record)]
    wanted = ", ".join(f"{name} {value!r}" for name, value in by.items()) or "any values"
    raise ToolError("not_found", f"no record in {find.table} with {wanted}")


def _create(step: Create, toolset: Toolset[Any], given: Mapping[str, Any]) -> Record:
    table: dict[str, Record] = toolset.state.tables[step.table]
    values = _values(step.values, given)
    try:
        record = step.record.model_validate({**values, "id": toolset.new_id(step.prefix, table)})
    except ValidationError as error:
        raise ToolError("unprocessable", argument_problem(error)) from None
    return toolset.put(table, record)


def _change(
    step: Change, toolset: Toolset[Any], table: dict[str, Record], record: Record, given: Mapping[str, Any]
) -> Record:
    values = _values(step.values, given)
    if not values:
        return record
    if step.kind == "add":
        values = {name: (getattr(record, name) or 0) + value for name, value in values.items()}
    elif step.kind == "append":
        values = {name: (*(getattr(record, name) or ()), value) for name, value in values.items()}
    try:
        toolset.change(table, record, **values)
    except ValidationError as error:
        raise ToolError("unprocessable", argument_problem(error)) from None
    return table[record.id]
