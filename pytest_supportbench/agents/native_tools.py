"""``mode=tools``: the observation's tools as a chat server's own tools, and the model's calls as a turn.

The model is asked with its tools first. Calls that it makes are the turn, and what it says beside them a draft. Makes
it none, then it is asked once more, without tools and constrained to the schema of a turn without calls, for
the outcome action and the message: text alone names no action, and servers refuse a schema beside tools.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from pytest_supportbench.agents.prompting import as_json, default_prompt, opening, result
from pytest_supportbench.agents.turn_schema import turn_schema
from pytest_supportbench.protocol import AgentEntry, CustomerEntry, Reply, ToolEntry, Unreadable, Usage
from pytest_supportbench.replies import MAX_CHARS, without_thoughts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_supportbench.protocol import Observation, ToolCall

Message: TypeAlias = dict[str, Any]
Dialect: TypeAlias = Literal["openai", "ollama"]

MAX_DEPTH: Final = 6
"""A parameter type nested deeper than this (one that contains itself) is sent as anything."""

CLOSING: Final = (
    "You called no tool, so this is your final turn. Give it as JSON: action, asks_for, and the message that the "
    "customer will read."
)

_INTRODUCTION: Final = """You are a customer-support agent. You get one case as JSON.

Call tools to look up and to act; their results come back to you. When no call is left to make, answer without one. \
Your final turn is then taken as JSON:

- `action`: how the case ends, one of the names under `actions`.
- `asks_for`: the slots you ask the customer for, when the action is to ask; otherwise empty.
- `message`: what the customer will read.

How to work:"""


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A call as the server returned it, unchecked; OpenAI's have their arguments as text, Ollama's as an object."""

    name: Any
    arguments: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request brought. ``unreadable`` takes the place of text that the model refused to write."""

    text: str
    usage: Usage
    calls: tuple[NativeCall, ...] = ()
    unreadable: Unreadable | None = None

    @property
    def turn(self) -> str | Unreadable:
        """The answer as a turn that was written as JSON text."""
        return self.unreadable or self.text


@dataclass(frozen=True, slots=True)
class Question:
    """One request: what is said, and either the native tools or the schema that the answer must fit."""

    messages: list[Message]
    schema: dict[str, Any] | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)


class Ask(Protocol):
    """Sends one question to the server and returns the answer; raises `InfrastructureError` where it failed."""

    def __call__(self, question: Question, /) -> Answer:
        """Ask."""


def tools_prompt() -> str:
    """Return the system prompt for native tools: how to answer is its own, how to work is the package's."""
    return _INTRODUCTION + default_prompt().partition("How to work:")[2]


def reply_with_tools(observation: Observation, prompt: str, ask: Ask, dialect: Dialect) -> Reply:
    """Return the turn that a model with native tools makes of an observation, with the usage of all requests."""
    messages = render_native(observation, prompt, dialect)
    spent = Usage()
    if observation.tools:
        answer = ask(Question(messages, tools=native_tools(observation, flat=dialect == "ollama")))
        if answer.calls or answer.unreadable:
            return Reply(turn=answer.unreadable or _turn(answer), usage=answer.usage)
        text = without_thoughts(answer.text)
        if text.strip():
            messages += [{"role": "assistant", "content": text}, {"role": "user", "content": CLOSING}]
        spent = answer.usage
    final = ask(Question(messages, final_schema(observation)))
    return Reply(turn=final.turn, usage=total(spent, final.usage))


def final_schema(observation: Observation) -> dict[str, Any]:
    """Return the schema of a turn without calls. It must name an action, unless a question is one without."""
    schema = turn_schema(observation.model_copy(update={"tools": ()}))
    asks = any(action.kind == "ask" for action in observation.actions)
    if observation.actions and (asks or not observation.slots):
        schema["properties"]["action"]["enum"].remove(None)
    return schema


def total(first: Usage, second: Usage) -> Usage:
    """Return the usage of two requests together; what only one reports is taken from it."""

    def both(name: str) -> Any:
        values = [value for value in (getattr(first, name), getattr(second, name)) if value is not None]
        return sum(values[1:], values[0]) if values else None

    return Usage.reported(**{name: both(name) for name in Usage.model_fields})


def _turn(answer: Answer) -> dict[str, Any] | Unreadable:
    """Return the calls as a turn. Text that is no JSON object of arguments makes the whole reply invalid."""
    calls = []
    for call in answer.calls:
        arguments = call.arguments
        if isinstance(arguments, str):
            try:
                arguments = _object(arguments)
            except (ValueError, RecursionError) as error:
                why = str(error) if isinstance(error, ValueError) else "they are nested too deeply"
                reason = f"the arguments of the call of {str(call.name)[:100]} are no JSON object: {why}"
                return Unreadable(reason=_safe(reason, 500), excerpt=_safe(call.arguments, 2_000))
        calls.append({"tool": call.name, "arguments": arguments})
    return {"message": without_thoughts(answer.text), "tool_calls": calls}


def _safe(text: str, limit: int) -> str:
    return text[:limit].encode("utf-8", "replace").decode()


def _object(text: str) -> dict[str, Any]:
    """Return the arguments that a model wrote as text; none at all stand for an empty object."""
    if len(text) > MAX_CHARS:
        msg = f"{len(text):,} characters; at most {MAX_CHARS:,} are read"
        raise ValueError(msg)
    value = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
    if not isinstance(value, dict):
        msg = f"it is a {type(value).__name__}"
        raise ValueError(msg)  # noqa: TRY004 - a value that a model wrote, not a type that a caller got wrong
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        msg = "a key is there twice"
        raise ValueError(msg)
    return value


def render_native(observation: Observation, prompt: str, dialect: Dialect) -> list[Message]:
    """Return the conversation as a server with native tools takes it.

    The case is rendered as in schema mode. Calls and their results follow as such, and how many turns are left stands
    in the last message, since many chat templates refuse a user's message after a tool's.
    """
    messages: list[Message] = [{**message} for message in opening(observation, prompt, tools=False)]
    open_calls: list[tuple[str, str]] = []
    made = 0
    for entry in observation.transcript:
        if isinstance(entry, AgentEntry):
            ids = [f"call{made + n:05d}" for n in range(len(entry.tool_calls))]
            made += len(ids)
            open_calls = [(number, call.tool) for number, call in zip(ids, entry.tool_calls, strict=True)]
            _append_agent(messages, entry, ids, dialect)
        elif isinstance(entry, ToolEntry) and open_calls:
            number, name = open_calls.pop(0)
            messages.append({"role": "tool", **_which(number, name, dialect), "content": _result(entry)})
        else:
            said = {"customer": entry.message} if isinstance(entry, CustomerEntry) else result(entry)
            _append_user(messages, said)
    if messages[-1]["role"] == "tool":
        content = {**json.loads(messages[-1]["content"]), "turns_left": observation.turns_left}
        messages[-1]["content"] = as_json(content)
    else:
        _append_user(messages, {"turns_left": observation.turns_left})
    return messages


def _append_agent(messages: list[Message], entry: AgentEntry, ids: list[str], dialect: Dialect) -> None:
    text = entry.message
    if entry.action or entry.asks_for:
        text = as_json({"action": entry.action, "asks_for": entry.asks_for, "message": entry.message})
    if ids:
        calls = [_call(number, call, dialect) for number, call in zip(ids, entry.tool_calls, strict=True)]
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
    elif text:
        messages.append({"role": "assistant", "content": text})


def _append_user(messages: list[Message], value: dict[str, Any]) -> None:
    if messages[-1]["role"] == "user":
        messages[-1]["content"] += f"\n{as_json(value)}"
    else:
        messages.append({"role": "user", "content": as_json(value)})


def _call(number: str, call: ToolCall, dialect: Dialect) -> dict[str, Any]:
    if dialect == "ollama":
        return {"function": {"name": call.tool, "arguments": call.arguments}}
    # Nine letters and digits: Mistral's template refuses other ids.
    return {
        "id": number,
        "type": "function",
        "function": {"name": call.tool, "arguments": as_json(call.arguments)},
    }


def _which(number: str, name: str, dialect: Dialect) -> dict[str, str]:
    return {"tool_name": name} if dialect == "ollama" else {"tool_call_id": number}


def _result(entry: ToolEntry) -> str:
    shown = result(entry)
    return as_json({key: shown[key] for key in ("status", "result", "error") if key in shown})


def native_tools(observation: Observation, *, flat: bool) -> list[dict[str, Any]]:
    """Return the permitted tools as function definitions, references resolved.

    ``flat`` replaces a parameter's alternatives by a list of their types: Ollama's client knows no ``anyOf``, and would
    send such a parameter without any type.
    """
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": f"{tool.description} (hands the case off)"
                if tool.handoff
                else tool.description,
                "parameters": _parameters(tool.parameters, flat=flat),
            },
        }
        for tool in observation.tools
    ]


def _parameters(schema: Mapping[str, Any], *, flat: bool) -> dict[str, Any]:
    definitions = schema.get("$defs", {})
    inlined = _inlined({key: value for key, value in schema.items() if key != "$defs"}, definitions, 0)
    properties = inlined.get("properties", {})
    if flat:
        properties = {name: _flat(item) for name, item in properties.items()}
    return {**inlined, "type": "object", "properties": properties}


def _inlined(value: Any, definitions: Mapping[str, Any], depth: int) -> Any:
    """Return a schema without references, for servers whose templates read properties as they stand."""
    if isinstance(value, dict):
        if "$ref" in value:
            if depth > MAX_DEPTH:
                return {}
            target = definitions.get(str(value["$ref"]).rsplit("/", 1)[-1], {})
            beside = {key: item for key, item in value.items() if key != "$ref"}
            return _inlined({**target, **beside}, definitions, depth + 1)
        return {key: _inlined(item, definitions, depth) for key, item in value.items()}
    return [_inlined(item, definitions, depth) for item in value] if isinstance(value, list) else value


def _flat(schema: dict[str, Any]) -> dict[str, Any]:
    options = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if not options:
        return schema
    beside = {key: item for key, item in schema.items() if key not in {"anyOf", "oneOf", "allOf"}}
    real = [option for option in options if option.get("type") != "null"]
    if len(real) == 1:
        return {**real[0], **beside}
    types = dict.fromkeys(kind for option in options for kind in _types(option))
    return {**beside, "type": list(types)}


def _types(schema: dict[str, Any]) -> Iterable[str]:
    kind = schema.get("type", "string")
    return kind if isinstance(kind, list) else [kind]
