"""Toolsets declared as a mapping, in YAML, without any Python.

```yaml
name: parcels
version: "1.0"
state:                                   # tables by name; every record has an id besides
  parcels:
    fields:                              # a type, or a mapping with the type and more
      customer_id: {type: string, owner: true}
      address: {type: string, identifying: true}
      pin: {type: string, hidden: true}
      status: {type: string, enum: [sent, lost, delivered]}
      fee: {type: decimal, minimum: 0, default: "0"}
      scans: {type: list, default: []}
  customers:
    owner: id                            # the id is itself the subject whom the record belongs to
    fields:
      name: string
  claims:
    proves: [request]                    # what a record here proves to have happened
    fields:
      parcel_id: string
      reason: {type: string, optional: true, free_text: true}
      at: {type: instant, volatile: true}
tools:
  - name: get_parcel
    description: Return a parcel.
    effect: reads
    parameters: {parcel_id: string}
    finds: {table: parcels, by: {id: $parcel_id}}
    returns: [status, fee]               # fields; without it, all that are not hidden
  - name: report_loss
    description: Report a parcel as lost.
    effect: writes
    does: request
    parameters:
      parcel_id: {type: string, description: Number on the label}
      reason: {type: string, required: false, free_text: true}
    finds: {table: parcels, by: {id: $parcel_id}}
    effects:
      - set: {status: lost}
      - add: {fee: "2.50"}
      - append: {scans: lost}
      - create: {table: claims, prefix: claim, fields: {parcel_id: $parcel_id, reason: $reason, at: $now}}
    returns: {accepted: true}            # values; without it, the records made, else those found
```

Types are ``string``, ``integer``, ``decimal``, ``boolean``, ``list`` (of strings) and ``instant`` (with a UTC
offset). Fields may be ``optional``, have a ``default``, an ``enum`` or a ``minimum``, and be ``hidden``,
``identifying``, ``owner``, ``free_text`` or ``volatile`` as in `pytest_supportbench.toolset.Record`.

``finds`` needs a record, or answers ``not_found``; with ``many: true`` it takes all there are. Effects run in
order on what was found. A value is a literal or a whole reference: ``$name`` is a parameter, ``$now`` the
virtual time, ``$$x`` the text ``$x``; there are no expressions. Where an optional parameter was not given,
whatever refers to it (a condition, a field) is left out.

A table with a ``part`` (``memory``, ``knowledge`` or ``policies``) is taken away by an ablation of that part, with the
tools that find their records in it and only read; a tool may have a ``part`` of its own.
"""

import inspect
import keyword
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model

from pytest_supportbench.findings import suggestion
from pytest_supportbench.parts import Part
from pytest_supportbench.state import Deed, Record, State
from pytest_supportbench.tools import tool
from pytest_supportbench.toolset import Toolset
from pytest_supportbench.toolsets.declaration_error import DeclarationError, declaration_error
from pytest_supportbench.toolsets.declared_check import Checker
from pytest_supportbench.toolsets.declared_models import (
    NOW,
    DeclaredTool,
    DeclaredToolset,
    FieldSpec,
    TableSpec,
    annotation,
)
from pytest_supportbench.validation import explain
from pytest_supportbench.yaml_positions import Place


class DeclaredRecord(Record):
    """Base of the records of declared tables."""

    proves: ClassVar[frozenset[Deed]] = frozenset()

    def evidence(self) -> frozenset[Deed]:
        """Return what the table says its records prove."""
        return self.proves


def declared(mapping: Mapping[str, Any]) -> type[Toolset[Any]]:
    """Return the toolset that a mapping declares; the module's docstring shows its shape.

    Raises `DeclarationError` that names the tool and field, what is wrong with it and what to write instead.
    """
    try:
        spec = DeclaredToolset.model_validate(mapping)
    except ValidationError as error:
        findings = tuple(explain(error, DeclaredToolset, mapping))
        raise DeclarationError(_explained(error, mapping), findings) from None
    records = {name: _record(spec.name, name, table) for name, table in spec.state.items()}
    members: dict[str, Any] = {
        "__doc__": f"The declared toolset {spec.name}.",
        "__module__": __name__,
        "name": spec.name,
        "version": spec.version,
        "state_type": _state(spec.name, records),
    }
    for number, declared_tool in enumerate(spec.tools):
        where, place = f"the tool {declared_tool.name!r}", ("tools", number, "name")
        _refuse_taken(declared_tool.name, Toolset, where, place)
        if declared_tool.name in members:
            message = "is declared twice, or named like a part of every toolset; rename one"
            raise declaration_error(where, place, message)
        members[declared_tool.name] = _method(declared_tool, number, spec, records)
        _refuse_batch(declared_tool, number)
    return type(f"{spec.name}_toolset", (Toolset,), members)


def _refuse_batch(spec: DeclaredTool, number: int) -> None:
    """Refuse a batch that is no list parameter of the tool."""
    if spec.batch is not None:
        lists = [name for name, parameter in spec.parameters.items() if parameter.type == "list"]
        if spec.batch not in lists:
            message = f"the marker names [{spec.batch!r}], which is no list parameter; " + suggestion(
                spec.batch, lists, "list parameters"
            )
            raise declaration_error(f"the tool {spec.name!r}", ("tools", number, "batch"), message)


def _state(toolset: str, records: Mapping[str, type[Record]]) -> type[State]:
    tables: dict[str, Any] = {}
    for name, record in records.items():
        _refuse_taken(name, State, f"the table {name!r}", ("state", name))
        tables[name] = (dict[str, record], Field(default_factory=dict))  # type: ignore[valid-type]
    return create_model(f"{toolset}_state", __base__=State, **tables)


def _record(toolset: str, name: str, table: TableSpec) -> type[Record]:
    fields: dict[str, Any] = {}
    for field_name, field in table.fields.items():
        where, place = f"the table {name!r}: the field {field_name!r}", ("state", name, "fields", field_name)
        _refuse_taken(field_name, DeclaredRecord, where, place)
        if field_name == "id":
            message = "every record has an id already; drop it (if ids are subjects, write 'owner: id' in the table)"
            raise declaration_error(where, place, message, key=True)
        kind = annotation(field)
        _check_default(field, kind, where, place)
        if field.required:
            fields[field_name] = (kind, ...)
        elif field.default is None:
            fields[field_name] = (kind | None, None)
        else:
            fields[field_name] = (kind, Field(default=field.default, validate_default=True))
    record = create_model(f"{toolset}_{name}", __base__=DeclaredRecord, **fields)

    def having(mark: str) -> tuple[str, ...]:
        return tuple(key for key, field in table.fields.items() if getattr(field, mark))

    record.owners = (*(("id",) if table.owner else ()), *having("owner"))
    record.identifying = having("identifying")
    record.hidden = frozenset(having("hidden"))
    record.free_text = frozenset(having("free_text"))
    record.volatile = frozenset(having("volatile"))
    record.proves = frozenset(table.proves)
    record.observation_part = table.part
    return record


def _check_default(field: FieldSpec, kind: Any, where: str, place: Place) -> None:
    if field.default is not None:
        try:
            TypeAdapter(kind).validate_python(field.default)
        except ValidationError:
            message = f"the default {field.default!r} is no {field.type} as declared; give one that is"
            raise declaration_error(where, (*place, "default"), message) from None


def _method(
    spec: DeclaredTool, number: int, whole: DeclaredToolset, records: Mapping[str, type[Record]]
) -> Any:
    """Return a method that looks to `Toolset` like one that somebody wrote."""
    program = Checker(spec, number, whole.state, records).program()
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for name, parameter in spec.parameters.items():
        where, place = (
            f"the tool {spec.name!r}: the parameter {name!r}",
            ("tools", number, "parameters", name),
        )
        _refuse_taken(name, BaseModel, where, place)
        if name in {NOW, "self"} or keyword.iskeyword(name):
            raise declaration_error(where, place, f"{name!r} has a reserved name; rename it", key=True)
        kind = annotation(parameter) if parameter.required else annotation(parameter) | None
        described = (
            Annotated[kind, Field(description=parameter.description)] if parameter.description else kind
        )
        default = inspect.Parameter.empty if parameter.required else None
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=described)
        )

    def run(toolset: Toolset[Any], **arguments: Any) -> Any:
        return program.run(toolset, arguments)

    run.__doc__ = spec.description
    run.__name__ = spec.name
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return tool(
        spec.effect,
        handoff=spec.handoff,
        free_text=[name for name, parameter in spec.parameters.items() if parameter.free_text],
        outward=[name for name, parameter in spec.parameters.items() if parameter.outward],
        batch=spec.batch,
        does=spec.does,
        part=spec.part or _part_read(spec, whole),
    )(run)


def _part_read(spec: DeclaredTool, whole: DeclaredToolset) -> Part | None:
    """Return the part of an observation that a tool reads by finding its records in it."""
    if spec.effect == "reads" and spec.finds is not None:
        return whole.state[spec.finds.table].part
    return None


def _refuse_taken(name: str, base: type, where: str, place: Place) -> None:
    if hasattr(base, name):
        message = f"{name!r} has the name of a part of {base.__name__}; rename it, for example to {name}_"
        raise declaration_error(where, place, message, key=True)


def _explained(error: ValidationError, mapping: Any) -> str:
    """Return a validation error with tools by name; one line for each problem."""
    lines = []
    for item in error.errors(include_url=False, include_input=False):
        path = [str(part) for part in item["loc"]]
        if path[:1] == ["tools"] and len(path) > 1:
            path = [f"the tool {_tool_name(mapping, item['loc'][1])!r}", *path[2:]]
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = "there is no such key; remove it or mend its spelling"
        elif item["type"] == "missing":
            message = "is missing; add it"
        lines.append(f"{'.'.join(path) or 'the toolset'}: {message}")
    return "the declared toolset cannot be used:\n" + "\n".join(lines)


def _tool_name(mapping: Any, index: Any) -> str:
    try:
        return str(mapping["tools"][index]["name"])
    except (KeyError, IndexError, TypeError):
        return f"number {index}"
