"""A turn's schema in the subset that OpenAI's strict mode takes, and the way back from it.

Strict mode enforces a schema only if every property is required and no length of a string is named; what may be left
out is written as ``null`` instead. Other servers enforce the bounded schema as it is, and need its bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.replies import InvalidReply, parse_turn

if TYPE_CHECKING:
    from pytest_supportbench.protocol import Observation, ToolCall

_DROPPED: Final = frozenset({"maxLength"})
_NAMES: Final = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that `turn_schema` made, rewritten for strict mode."""
    if "anyOf" in schema:
        return {"anyOf": [strict(option) for option in schema["anyOf"]]}
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        kinds = sorted({_NAMES.get(type(value), "string") for value in values})
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}
    if schema["type"] == "array":
        return {**schema, "items": strict(schema["items"])}
    if schema["type"] != "object":
        return {key: value for key, value in schema.items() if key not in _DROPPED}
    properties = {
        name: strict(item) if name in schema["required"] else _or_null(strict(item))
        for name, item in schema["properties"].items()
    }
    return {**schema, "properties": properties, "required": list(properties)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    options = schema.get("anyOf", [schema])
    null = {"type": "null"}
    return {"anyOf": options if null in options else [*options, null]}


def without_nulls(text: str, observation: Observation) -> Any:
    """Return a turn without the arguments that strict mode had the model write as ``null`` to leave them out.

    Text that is no turn is returned as it is: the episode says what is wrong with it.
    """
    required = {tool.name: tool.parameters.get("required", ()) for tool in observation.tools}

    def given(call: ToolCall) -> dict[str, Any]:
        kept = required.get(call.tool, ())
        return {key: value for key, value in call.arguments.items() if value is not None or key in kept}

    try:
        turn = parse_turn(text)
    except InvalidReply:
        return text
    calls = tuple(call.model_copy(update={"arguments": given(call)}) for call in turn.tool_calls)
    return turn.model_copy(update={"tool_calls": calls})
