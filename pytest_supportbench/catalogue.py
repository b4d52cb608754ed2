"""What a suite's toolset offers, as text: its tools with their parameters, its tables with their fields."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from pytest_supportbench.errors import UsageError
from pytest_supportbench.loading import SUITE_FILE, find_suite, load_suite
from pytest_supportbench.state import Record
from pytest_supportbench.tools import ToolSpec
from pytest_supportbench.toolset import Toolset
from pytest_supportbench.toolsets import resolve

_WORDS: Final[Mapping[Any, str]] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    Decimal: "decimal",
    datetime: "date and time",
    AwareDatetime: "date and time with offset",
    time: "time of day",
    date: "date",
    Any: "anything",
    type(None): "null",
}


def toolset_of(folder: Path | None) -> type[Toolset[Any]]:
    """Return the toolset of the suite in, above or right below a folder, ``saas`` for ``None``.

    Raises `UsageError` where there is no suite or more than one, and `FileError` where it cannot be loaded.
    """
    if folder is None:
        return resolve("saas", Path())
    if not folder.exists():
        raise UsageError(f"there is no folder {str(folder)!r}; name a suite's folder")
    found = find_suite(folder if folder.is_dir() else folder.parent)
    if found is None:
        below = sorted(folder.glob(f"*/{SUITE_FILE}"))
        if len(below) != 1:
            names = ", ".join(str(path.parent) for path in below) or "none there"
            raise UsageError(f"there is no {SUITE_FILE} in or above {str(folder)!r}; name one of: {names}")
        found = below[0]
    return load_suite(found).toolset


def tool_lines(toolset: type[Toolset[Any]], name: str = "") -> Iterator[str]:
    """Yield each tool, or the named one: its effect, its parameters and what it does.

    Raises `UsageError` for a name that the toolset does not have.
    """
    for tool in _chosen(toolset, toolset.specs, name, "tool"):
        yield f"{tool.name} ({tool.effect}{', hand-off' if tool.handoff else ''})"
        yield f"    {first_sentence(tool.description)}"
        yield from _parameters(tool)


def table_lines(toolset: type[Toolset[Any]], name: str = "") -> Iterator[str]:
    """Yield each table of the state, or the named one: its fields with type, default and what is special.

    Raises `UsageError` for a name that the toolset does not have.
    """
    tables = {key: (key, _record(field)) for key, field in toolset.state_type.model_fields.items()}
    for key, record in _chosen(toolset, tables, name, "table"):
        owners = f" (owners: {', '.join(record.owners)})" if record.owners else ""
        yield f"{key}{owners}"
        for label, field in record.model_fields.items():
            if label != "id":
                hidden = ", hidden" if label in record.hidden else ""
                yield f"    {label}: {type_text(field.annotation)}, {_default(field)}{hidden}"


def first_sentence(text: str) -> str:
    """Return a description's first sentence."""
    return re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]


def type_text(annotation: Any) -> str:  # noqa: PLR0911 - one for each form of a type
    """Return a type as scenario authors write its values: ``text``, ``decimal``, ``list of text``, ``a | b``."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_text(inner[0])
    if origin is Literal:
        return " | ".join(str(value) for value in inner)
    if origin in {Union, types.UnionType}:
        return " | ".join(type_text(part) for part in inner)
    if origin in {tuple, list, set, frozenset}:
        part = type_text(inner[0])
        return f"list of ({part})" if " | " in part else f"list of {part}"
    if origin in {dict, Mapping}:
        return f"mapping of {type_text(inner[0])} to {type_text(inner[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = annotation.model_fields.items()
        return f"{{{', '.join(f'{name}: {type_text(field.annotation)}' for name, field in fields)}}}"
    return _WORDS.get(annotation) or str(getattr(annotation, "__name__", annotation))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    return f"default {_literal(value)}"


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list | set | frozenset):
        return f"[{', '.join(_literal(item) for item in value)}]"
    return repr(value) if isinstance(value, str) else str(value)


def _parameters(tool: ToolSpec) -> Iterator[str]:
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    for name, schema in properties.items():
        default = "required" if name in required else f"default {_literal(schema.get('default'))}"
        yield f"    {name}: {_schema_text(schema, tool.parameters)}, {default}"


def _schema_text(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:  # noqa: PLR0911 - likewise
    """Return what a JSON Schema accepts in a few words; references lead into the ``$defs`` of ``root``."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _schema_text(root.get("$defs", {}).get(reference.rpartition("/")[2], {}), root)
    if "enum" in schema or "const" in schema:
        return " | ".join(str(value) for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        parts = schema["anyOf"]
        if {part.get("type") for part in parts} >= {"number", "string"}:
            rest = ["null"] if {"type": "null"} in parts else []
            return " | ".join(["decimal", *rest])
        return " | ".join(_schema_text(part, root) for part in parts)
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_schema_text(schema.get('items', {}), root)}"
    if kind == "object" and "properties" in schema:
        fields = schema["properties"].items()
        return f"{{{', '.join(f'{name}: {_schema_text(part, root)}' for name, part in fields)}}}"
    text = {"string": "text", "boolean": "true or false"}.get(kind, str(kind))
    return f"{text} like {schema['pattern']}" if "pattern" in schema else text


def _record(field: FieldInfo) -> type[Record]:
    found: type[Record] = get_args(field.annotation)[1]
    return found


def _chosen(toolset: type[Toolset[Any]], known: Mapping[str, Any], name: str, what: str) -> list[Any]:
    if not name:
        return list(known.values())
    if name not in known:
        from pytest_supportbench.agents.spec_guesses import hint  # noqa: PLC0415 - only an error needs it

        raise UsageError(f"the toolset {toolset.name!r} has no {what} {name!r}; {hint(name, known)}")
    return [known[name]]
