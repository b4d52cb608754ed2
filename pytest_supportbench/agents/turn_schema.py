"""The JSON Schema that constrains a model's reply to a turn of one observation, with every part bounded.

Grammar-constrained sampling loops inside anything unbounded until its token limit cuts the JSON, so each
string has ``maxLength``, each array ``maxItems`` and no object is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_supportbench.protocol import Observation, ToolInfo

MAX_DEPTH: Final = 6
_BOUNDED_FORMATS: Final = frozenset({"date", "date-time", "time", "uuid"})
"""Formats that llama.cpp has a finite grammar for; it drops others, and patterns with them the length."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one reply may say: characters of the message and of any other string, items, calls."""

    message: int = 1_000
    string: int = 300
    items: int = 16
    calls: int = 8
    slots: int = 3


SMALL: Final = Bounds(message=160, string=40, items=3, calls=2, slots=1)
"""For models that generate tens of tokens a second."""


def turn_schema(observation: Observation, bounds: Bounds = Bounds()) -> dict[str, Any]:
    """Return the schema: the observation's own tools with their parameters, its actions and its slots.

    Parts that the observation gives no choice for (no tools, no slots) are left out. Every property is
    required, in a fixed order, calls first, as grammars emit them.
    """
    properties: dict[str, Any] = {}
    if observation.tools:
        calls = [_call(tool, bounds) for tool in observation.tools]
        properties["tool_calls"] = {"type": "array", "items": {"anyOf": calls}, "maxItems": bounds.calls}
    properties["action"] = {"enum": [*(action.name for action in observation.actions), None]}
    if observation.slots:
        slot = {"type": "string", "enum": list(observation.slots)}
        properties["asks_for"] = {"type": "array", "items": slot, "maxItems": bounds.slots}
    properties["message"] = {"type": "string", "maxLength": bounds.message}
    return _closed(properties, list(properties))


def _call(tool: ToolInfo, bounds: Bounds) -> dict[str, Any]:
    arguments = _Bounding(bounds, tool.parameters.get("$defs", {})).object(tool.parameters, 0)
    return _closed({"tool": {"const": tool.name}, "arguments": arguments}, ["tool", "arguments"])


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class _Bounding:
    """Rewrites one tool's parameter schema: references inlined, everything bounded."""

    bounds: Bounds
    definitions: Mapping[str, Any]

    def object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Return a closed object; one that names no properties can only be empty."""
        properties = {
            name: self.value(item, depth + 1) for name, item in schema.get("properties", {}).items()
        }
        return _closed(properties, [name for name in schema.get("required", ()) if name in properties])

    def value(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:  # noqa: PLR0911 - one a type
        """Return a bounded schema that accepts nothing that ``schema`` refuses, patterns aside."""
        if "$ref" in schema and depth <= MAX_DEPTH:
            return self.value(self.definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {}), depth + 1)
        if "const" in schema or schema.get("enum"):
            return {"enum": list(schema.get("enum") or [schema["const"]])}
        if depth > MAX_DEPTH:
            return {"type": "null"}
        options = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if options:
            return _any_of([self.value(option, depth + 1) for option in options])
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            return _any_of([self.value({**schema, "type": single}, depth + 1) for single in kind])
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            limit = min(schema.get("maxItems", self.bounds.items), self.bounds.items)
            return {
                "type": "array",
                "items": self.value(schema.get("items", {}), depth + 1),
                "maxItems": limit,
            }
        if kind == "string":
            return self._string(schema)
        kept = ("minimum", "maximum") if kind == "integer" else ()
        return {"type": kind, **{key: schema[key] for key in kept if key in schema}}

    def _string(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        limit = min(schema.get("maxLength", self.bounds.string), self.bounds.string)
        bounded: dict[str, Any] = {"type": "string", "maxLength": limit}
        if schema.get("format") in _BOUNDED_FORMATS:
            bounded["format"] = schema["format"]
        return bounded


def _any_of(options: list[dict[str, Any]]) -> dict[str, Any]:
    return options[0] if len(options) == 1 else {"anyOf": options}
