"""The fields of what users and agents write, as Markdown tables made from the models' own schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pytest_supportbench.schemas import SchemaKind, json_schema

Schema: TypeAlias = Mapping[str, Any]

_NAMES: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "nothing",
    "array": "list",
}


def field_tables(kind: SchemaKind) -> str:
    """Return a Markdown table of the top level and one of each part, in the order in which they are first named."""
    schema = json_schema(kind)
    parts = [part for name in _named(schema, schema) for part in _part(name, schema["$defs"][name])]
    return "\n".join([*_table(schema), *parts])


def _named(node: Any, schema: Schema, seen: dict[str, None] | None = None) -> list[str]:
    """Return the names of all parts that are reached from a place, each once."""
    seen = {} if seen is None else seen
    if isinstance(node, dict):
        name = _referred(node)
        if name and name not in seen:
            seen[name] = None
            _named(schema["$defs"][name], schema, seen)
        for key, value in node.items():
            if key != "$defs":
                _named(value, schema, seen)
    elif isinstance(node, list):
        for value in node:
            _named(value, schema, seen)
    return list(seen)


def _referred(node: Schema) -> str:
    return str(node.get("$ref", "")).rpartition("/")[2]


def _part(name: str, part: Schema) -> Iterator[str]:
    yield from ("", f"### {name}", "", *_prose(part.get("description", "")))
    if "properties" in part:
        yield from ("", *_table(part))
    elif "anyOf" in part:
        yield from ("", f"Is one of: {_kind(part)}.")


def _prose(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.replace("``", "`").split("\n\n")):
        if number:
            yield ""
        yield " ".join(paragraph.split())


def _table(part: Schema) -> Iterator[str]:
    required = set(part.get("required", ()))
    rows = [
        (
            f"`{name}`",
            _kind(field),
            "required" if name in required else _default(field),
            " ".join(_prose(field.get("description", ""))),
        )
        for name, field in part.get("properties", {}).items()
    ]
    width = 4 if any(meaning for *_, meaning in rows) else 3  # most parts are told above their tables
    yield _line(("field", "value", "default", "meaning")[:width])
    yield f"|{'---|' * width}"
    yield from (_line(row[:width]) for row in rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(field: Schema) -> str:
    value = field.get("default")
    return "none" if value in (None, [], {}, "") else f"`{json.dumps(value, ensure_ascii=False)}`"


def _kind(field: Schema) -> str:
    """Return in a few words what a field may be."""
    if name := _referred(field):
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        kinds = [_kind(item) for item in field["anyOf"] if item.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    return _plain(field)


def _plain(field: Schema) -> str:
    kind = field.get("type")
    if isinstance(kind, list):
        return ", ".join(_NAMES.get(name, str(name)) for name in kind)
    if kind == "array" and "prefixItems" in field:
        return f"list of {len(field['prefixItems'])}"
    if kind == "array":
        return f"list of {_kind(field['items'])}" if field.get("items") else "list"
    if kind == "object":
        return _mapping(field)
    name = _NAMES.get(str(kind), "any value")
    if field.get("format") == "date-time":
        name = "time with UTC offset"
    least = field.get("minimum")
    return name if least is None else f"{name} from {least:g}"


def _mapping(field: Schema) -> str:
    of = field.get("additionalProperties")
    if field.get("patternProperties"):
        of = next(iter(field["patternProperties"].values()))
    return f"mapping to {_kind(of)}" if isinstance(of, Mapping) else "mapping"
