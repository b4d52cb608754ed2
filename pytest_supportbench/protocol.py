"""What passes between the harness and an agent: observation, turn, tool call, tool result.

Nothing here knows of scenarios: an observation has no way back to the expected outcome.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_supportbench.words import IsoDate

__all__ = [
    "MAX_CALLS_PER_TURN",
    "ActionInfo",
    "Agent",
    "AgentEntry",
    "CustomerEntry",
    "CustomerView",
    "Entry",
    "InvalidReply",
    "MemoryNote",
    "Message",
    "Observation",
    "PolicyText",
    "Reply",
    "ToolCall",
    "ToolEntry",
    "ToolFailure",
    "ToolInfo",
    "Turn",
    "Usage",
    "parse_turn",
]

MAX_CALLS_PER_TURN: Final = 32
"""More calls than this in one turn are an invalid reply; the largest reference in our suites has four."""

MAX_DEPTH: Final = 32
"""Deeper nesting than this in a reply is refused before anything walks it."""


class Frozen(BaseModel):
    """Base of the boundary types: immutable, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolCall(Frozen):
    """One call that an agent proposes; ``arguments`` is a JSON object."""

    tool: Annotated[str, Field(max_length=200)]
    arguments: dict[str, Any] = {}


class Turn(Frozen):
    """An agent's reply. With an ``action`` it is final, provided that every call succeeds."""

    action: Annotated[str, Field(max_length=200)] | None = None
    message: str = ""
    tool_calls: Annotated[tuple[ToolCall, ...], Field(max_length=MAX_CALLS_PER_TURN)] = ()
    asks_for: Annotated[tuple[str, ...], Field(max_length=16)] = ()


class ToolFailure(Frozen):
    """A typed error of a tool.

    ``retry_after`` in seconds where the service named it; ``request_id`` where the request reached a service.
    """

    code: str
    message: str
    retryable: bool = False
    retry_after: int | None = None
    request_id: str | None = None


class Message(Frozen):
    """One earlier message of this conversation, before the episode began."""

    role: Literal["customer", "agent"]
    message: str


class CustomerView(Frozen):
    """What the customer wrote: the message at hand and what came before it, oldest first."""

    message: str
    history: tuple[Message, ...] = ()


class MemoryNote(Frozen):
    """A note from an earlier conversation: when it was taken (ISO 8601), about whom, and its text."""

    date: IsoDate
    subject: str
    text: str


class PolicyText(Frozen):
    """A policy as the agent may read it."""

    id: str
    text: str


class ToolInfo(Frozen):
    """A permitted tool; ``parameters`` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]
    handoff: bool = False


class ActionInfo(Frozen):
    """An outcome action that a final turn may name, with its class (resolve, ask, decline, escalate, …)."""

    name: str
    description: str
    kind: str = Field(alias="class", serialization_alias="class")

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class AgentEntry(Frozen):
    """In the transcript: what the agent replied. ``delivered`` tells whether the customer saw the message."""

    role: Literal["agent"] = "agent"
    action: str | None = None
    message: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    asks_for: tuple[str, ...] = ()
    delivered: bool = False


class ToolEntry(Frozen):
    """In the transcript: what came back from a call. A reply that did not parse comes back as tool ``reply``."""

    role: Literal["tool"] = "tool"
    tool: str
    arguments: dict[str, Any] = {}
    status: Literal["ok", "partial", "error"]
    result: Any = None
    error: ToolFailure | None = None


class CustomerEntry(Frozen):
    """In the transcript: what the customer answered when asked."""

    role: Literal["customer"] = "customer"
    message: str


Entry: TypeAlias = Annotated[AgentEntry | ToolEntry | CustomerEntry, Field(discriminator="role")]


class Observation(Frozen):
    """All that an agent sees at one turn. The transcript carries the whole episode, so agents keep no state."""

    as_of: str
    customer: CustomerView
    account: dict[str, Any]
    memory: tuple[MemoryNote, ...]
    policies: tuple[PolicyText, ...]
    tools: tuple[ToolInfo, ...]
    actions: tuple[ActionInfo, ...]
    slots: tuple[str, ...]
    transcript: tuple[Entry, ...]
    turns_left: int
    episode: str


class Usage(Frozen):
    """What one reply cost, as far as the server reports it; ``None`` where it does not."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None


class Reply(Frozen):
    """A turn with what the adapter knows beside it; agents may return it instead of a bare turn.

    ``turn`` may be a `Turn`, a mapping or the model's own JSON text: the episode parses, bounds and records it, so
    that a bad reply is the agent's invalid reply and no crash of the adapter.
    """

    turn: Any
    usage: Usage | None = None


@runtime_checkable
class Agent(Protocol):
    """Anything that replies to an observation; may also be a coroutine function."""

    def reply(self, observation: Observation, /) -> Any:
        """Return a turn: a `Turn`, a mapping or JSON text of that shape, or a `Reply` around one."""


class InvalidReply(Exception):  # noqa: N818 - named after the record it becomes
    """A reply that is no turn; its text tells the agent what to mend."""


def _bounded(value: object, depth: int = 0) -> None:  # noqa: C901 - one branch a kind of value
    """Refuse what JSON cannot say (NaN, surrogates, other types) and what is nested too deeply."""
    if depth > MAX_DEPTH:
        raise InvalidReply(f"the reply is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidReply("the reply holds a lone surrogate, which is no Unicode text") from None
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidReply(f"the reply holds {value!r}, which is no JSON number")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidReply(f"the reply has a key that is no string: {key!r}"[:200])
            _bounded(key, depth + 1)
            _bounded(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _bounded(item, depth + 1)
    elif value is not None and not isinstance(value, bool | int):
        raise InvalidReply(f"the reply holds a {type(value).__name__}, which is no JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidReply("the reply has a duplicate key in one object")
    return result


def _from_json(text: str | bytes, max_chars: int) -> object:
    if len(text) > max_chars:
        raise InvalidReply(f"the reply has {len(text):,} characters; at most {max_chars:,} are read")
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        raise InvalidReply(f"the reply is no JSON: {error}"[:300]) from None
    except RecursionError:
        raise InvalidReply(f"the reply is nested deeper than {MAX_DEPTH} levels") from None


_KEYS: Final = "action, message, tool_calls and asks_for"
_WANTED: Final = {
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object with tool and arguments",
    "missing": "is missing",
}


def _reason(error: ValidationError) -> str:
    """Return the first mistake in a reply in words that an agent's author and a model both understand."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        keys = "tool and arguments" if "tool_calls" in first["loc"] else _KEYS
        owner = "a tool call" if "tool_calls" in first["loc"] else "a turn"
        return f"unknown key {where!r}; {owner} has {keys}"
    wanted = _WANTED.get(first["type"])
    if wanted is None:
        return f"{where}: {first['msg']}"
    return (
        f"{where} {wanted}"
        if wanted == "is missing"
        else f"{where} {wanted}, not a {type(first['input']).__name__}"
    )


def parse_turn(raw: object, *, max_chars: int = 64_000) -> Turn:
    """Return ``raw`` (a `Turn`, a mapping, or JSON text) as a turn that is safe to store and to show.

    ``max_chars`` bounds the whole reply as JSON text. Raises `InvalidReply` with a reason that the agent can
    act on; never anything else, whatever the agent returned.
    """
    if isinstance(raw, str | bytes | bytearray):
        raw = _from_json(bytes(raw) if isinstance(raw, bytearray) else raw, max_chars)
    try:
        if isinstance(raw, Turn):
            turn = raw
        elif isinstance(raw, dict):
            _bounded(raw)
            turn = Turn.model_validate(raw)
        else:
            what = "None (was a return forgotten?)" if raw is None else f"a {type(raw).__name__}"
            raise InvalidReply(f"the reply is {what}; a turn is an object with {_KEYS}")
        _bounded(turn.message)
        _bounded([turn.action, list(turn.asks_for), [call.arguments for call in turn.tool_calls]])
        size = len(turn.message) + sum(map(len, turn.asks_for))
        if turn.tool_calls:
            size += sum(len(json.dumps(call.arguments)) + len(call.tool) for call in turn.tool_calls)
    except ValidationError as error:
        raise InvalidReply(_reason(error)[:300]) from None
    except ValueError as error:  # Python writes no integer of more than 4,300 digits
        raise InvalidReply(f"the reply is no JSON: {error}"[:300]) from None
    if size > max_chars:
        raise InvalidReply(f"the reply has {size:,} characters; at most {max_chars:,} are read")
    return turn
