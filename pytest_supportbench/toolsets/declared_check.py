"""Checks a declared tool against its parameters and tables, and turns it into a program.

All that can be wrong with a declaration is found here, before any scenario runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pytest_supportbench.findings import placed
from pytest_supportbench.state import Record
from pytest_supportbench.toolsets.declaration_error import DeclarationError, declaration_error
from pytest_supportbench.toolsets.declared_models import (
    NOW,
    CreateSpec,
    DeclaredTool,
    EffectSpec,
    FieldSpec,
    FindSpec,
    TableSpec,
    Typed,
    annotation,
    literal,
    reference,
)
from pytest_supportbench.toolsets.declared_run import Change, Create, Find, Given, Literally, Program, Values

_ID = FieldSpec(type="string")
_NOW = Typed(type="instant")
_TEXT = Typed(type="string")


@dataclass(frozen=True, slots=True)
class Checker:
    """Compiles one tool, the ``number``-th of its toolset (from 0).

    ``tables`` and ``records`` are those of its toolset, by table name.
    """

    tool: DeclaredTool
    number: int
    tables: Mapping[str, TableSpec]
    records: Mapping[str, type[Record]]

    def program(self) -> Program:
        """Return the tool as a program; raises `DeclarationError` that names the tool and the field."""
        find = self._find(self.tool.finds) if self.tool.finds else None
        steps = tuple(
            self._step(effect, f"effects[{number}]") for number, effect in enumerate(self.tool.effects)
        )
        return Program(find, steps, self._returns(steps))

    def _find(self, spec: FindSpec) -> Find:
        fields = self._fields(spec.table, "finds.table")
        by = {
            name: self._value(value, self._field(fields, name, f"finds.by.{name}"), f"finds.by.{name}")
            for name, value in spec.by.items()
        }
        return Find(spec.table, by, spec.many)

    def _step(self, effect: EffectSpec, where: str) -> Change | Create:
        if effect.create is not None:
            return self._create(effect.create, f"{where}.create")
        assert self.tool.finds is not None  # the model refuses changes of nothing
        fields = self._fields(self.tool.finds.table, "finds.table")
        if effect.add is not None:
            return Change("add", self._changes(fields, effect.add, f"{where}.add", ("integer", "decimal")))
        if effect.append is not None:
            return Change("append", self._changes(fields, effect.append, f"{where}.append", ("list",)))
        return Change("set", self._changes(fields, effect.set or {}, f"{where}.set", ()))

    def _changes(
        self, fields: Mapping[str, FieldSpec], given: Mapping[str, Any], where: str, types: tuple[str, ...]
    ) -> Values:
        values: dict[str, Given | Literally] = {}
        for name, value in given.items():
            place = f"{where}.{name}"
            if name == "id":
                raise self._error(place, "an id never changes; create another record")
            target: Typed = self._field(fields, name, place)
            if types and target.type not in types:
                raise self._error(
                    place, f"the field is of type {target.type}; this needs {' or '.join(types)}"
                )
            if types == ("list",):
                target = _TEXT
            elif types:
                target = Typed(type=target.type)  # a minimum holds for the sum, not for what is added
            values[name] = self._value(value, target, place)
        return values

    def _create(self, spec: CreateSpec, where: str) -> Create:
        fields = self._fields(spec.table, f"{where}.table")
        values: dict[str, Given | Literally] = {}
        for name, value in spec.fields.items():
            place = f"{where}.fields.{name}"
            if name == "id":
                raise self._error(place, "ids are generated from the prefix; drop it")
            values[name] = self._value(value, self._field(fields, name, place), place)
        for name, field in fields.items():
            if field.required and name not in values:
                raise self._error(f"{where}.fields", f"a record in {spec.table!r} needs {name!r}; add it")
            value = values.get(name)
            if field.required and isinstance(value, Given) and self._may_lack(value.name):
                message = (
                    f"${value.name} may be missing, but the field is required; make either like the other"
                )
                raise self._error(f"{where}.fields.{name}", message)
        return Create(spec.table, self.records[spec.table], spec.prefix, values)

    def _returns(self, steps: tuple[Change | Create, ...]) -> tuple[str, ...] | Values | None:
        returns = self.tool.returns
        created = [step.table for step in steps if isinstance(step, Create)]
        if isinstance(returns, dict):
            return {name: self._free_value(value, f"returns.{name}") for name, value in returns.items()}
        if not created and self.tool.finds is None:
            raise self._error(
                "returns", "the tool finds and creates nothing; return values, as in {accepted: true}"
            )
        if len(set(created)) > 1 and returns is not None:
            raise self._error(
                "returns", "records of several tables are created; return values instead of fields"
            )
        if returns is not None:
            table = created[0] if created else self.tool.finds.table if self.tool.finds else ""
            fields = self._fields(table, "returns")
            for name in returns:
                if self._field(fields, name, "returns").hidden:
                    raise self._error("returns", f"the field {name!r} is hidden; return another")
        return returns

    def _value(self, value: Any, target: Typed, where: str) -> Given | Literally:
        """Return a value for something of the target's type."""
        name = self._reference(value, where)
        if name is None:
            try:
                return Literally(TypeAdapter(annotation(target)).validate_python(literal(value)))
            except ValidationError as error:
                reason = error.errors(include_url=False)[0]["msg"]
                raise self._error(where, f"{value!r} is no {target.type} as declared: {reason}") from None
        source = _NOW if name == NOW else self.tool.parameters[name]
        if source.type != target.type and (source.type, target.type) != ("integer", "decimal"):
            message = (
                f"${name} is of type {source.type}, but {target.type} is needed; give both the same type"
            )
            raise self._error(where, message)
        if target.enum is not None and not set(source.enum or ("",)) <= set(target.enum):
            message = f"${name} may be something else than {list(target.enum)}; give the parameter that enum"
            raise self._error(where, message)
        return Given(name)

    def _free_value(self, value: Any, where: str) -> Given | Literally:
        name = self._reference(value, where)
        if name is not None:
            return Given(name)
        if not isinstance(value, str | int | bool) or (isinstance(value, str) and not value):
            raise self._error(
                where, f"{value!r} is no text, whole number, true or false, or reference; quote it"
            )
        return Literally(literal(value))

    def _reference(self, value: Any, where: str) -> str | None:
        try:
            name = reference(value)
        except ValueError as error:
            raise self._error(where, str(error)) from None
        if name is not None and name != NOW and name not in self.tool.parameters:
            known = ", ".join(f"${parameter}" for parameter in (*self.tool.parameters, NOW))
            raise self._error(where, f"${name} is unknown; there are {known}")
        return name

    def _may_lack(self, name: str) -> bool:
        return name != NOW and not self.tool.parameters[name].required

    def _fields(self, table: str, where: str) -> Mapping[str, FieldSpec]:
        if table not in self.tables:
            raise self._error(where, f"there is no table {table!r}; the tables are {', '.join(self.tables)}")
        return self.tables[table].fields

    def _field(self, fields: Mapping[str, FieldSpec], name: str, where: str) -> FieldSpec:
        if name == "id":
            return _ID
        if name not in fields:
            raise self._error(where, f"there is no field {name!r}; the fields are id, {', '.join(fields)}")
        return fields[name]

    def _error(self, where: str, message: str) -> DeclarationError:
        place = ("tools", self.number, *placed(where))
        return declaration_error(f"the tool {self.tool.name!r}: {where}", place, message)
