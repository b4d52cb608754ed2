"""What passes between the harness and an agent: observation, turn, tool call, tool result.

Nothing here knows of scenarios: an observation has no way back to the expected outcome.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pytest_supportbench.words import IsoDate

__all__ = [
    "MAX_CALLS_PER_TURN",
    "ActionInfo",
    "Agent",
    "AgentEntry",
    "CustomerEntry",
    "CustomerView",
    "Entry",
    "McpAddress",
    "MemoryNote",
    "Message",
    "Observation",
    "PolicyText",
    "Reply",
    "Step",
    "ToolCall",
    "ToolEntry",
    "ToolFailure",
    "ToolInfo",
    "Turn",
    "Unreadable",
    "Usage",
]

MAX_CALLS_PER_TURN: Final = 32
"""More calls than this in one turn are an invalid reply; the largest reference in our suites has four."""


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


class McpAddress(Frozen):
    """Where an agent that runs its own tool loop finds the episode's tools: MCP over streamable HTTP.

    ``token`` goes into the header ``Authorization: Bearer``; it is random, and good for this episode only.
    """

    url: str
    token: str


class Observation(Frozen):
    """All that an agent sees at one turn. The transcript carries the whole episode, so agents keep no state.

    ``mcp`` is set for agents that asked for it. Like ``episode`` it differs from run to run, and is no part of what
    is compared or stored.
    """

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
    mcp: McpAddress | None = None


MAX_USAGE: Final = 10**12
"""Tokens, seconds or dollars beyond this are nonsense."""

_COST_DIGITS: Final = 9


def _rounded(cost: Decimal) -> Decimal:
    """Return a cost with as many digits as a price has; an exponent may stand for millions of them."""
    exponent = cost.as_tuple().exponent
    return cost if isinstance(exponent, int) and -_COST_DIGITS <= exponent <= 0 else round(cost, _COST_DIGITS)


_Count: TypeAlias = Annotated[int, Field(ge=0, le=MAX_USAGE)]
_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=MAX_USAGE, allow_inf_nan=False)]
_Dollars: TypeAlias = Annotated[Decimal, Field(ge=0, le=MAX_USAGE), AfterValidator(_rounded)]


class Usage(Frozen):
    """What one reply cost, as far as the server reports it; ``None`` where it does not.

    ``seconds`` is the server's own time, ``cost`` in US dollars, ``retries`` how often the request was repeated after
    a failure of the transport. No number is below 0 or above a million millions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", revalidate_instances="always")

    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    seconds: _Seconds | None = None
    cost: _Dollars | None = None
    retries: _Count = 0

    @classmethod
    def reported(cls, **numbers: Any) -> Usage:
        """Return what a server or a framework reported, without numbers that cannot be."""
        try:
            return cls(**numbers)
        except ValidationError as error:
            wrong = {
                str(problem["loc"][0]) for problem in error.errors(include_input=False, include_url=False)
            }
            return cls(**{name: number for name, number in numbers.items() if name not in wrong})


class Step(Frozen):
    """One message of a model in an agent's own tool loop: its calls are one turn, none of which saw another's result.

    ``number`` grows in the order in which the messages of one reply were written; ``draft`` is the text that stands
    beside its calls.
    """

    number: Annotated[int, Field(ge=1)]
    draft: str = ""


class Reply(Frozen):
    """A turn with what the adapter knows beside it; agents may return it instead of a bare turn.

    ``turn`` may be a `Turn`, a mapping or the model's own JSON text: the episode parses, bounds and records it, so
    that a bad reply is the agent's invalid reply and no crash of the adapter. ``replayed`` says that it was stored
    in an earlier run and nobody was asked. ``step`` is the message that the decision stands in, whose calls
    become the turn's.
    """

    turn: Any
    usage: Usage | None = None
    replayed: bool = False
    step: Step | None = None


class Unreadable(Frozen):
    """In the place of a turn: what came from the agent could not even be taken as text, and why; an invalid reply."""

    reason: Annotated[str, Field(max_length=500)]
    excerpt: Annotated[str, Field(max_length=2_000)] = ""


@runtime_checkable
class Agent(Protocol):
    """Anything that replies to an observation; may also be a coroutine function."""

    def reply(self, observation: Observation, /) -> Any:
        """Return a turn: a `Turn`, a mapping or JSON text of that shape, or a `Reply` around one."""
