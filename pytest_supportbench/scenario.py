"""What a scenario file says: frozen models, no behaviour beyond their own consistency."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AwareDatetime, BeforeValidator, Field, model_validator

from pytest_supportbench.expected import Alternative, Matchers
from pytest_supportbench.protocol import Frozen, MemoryNote, Message, Turn
from pytest_supportbench.suite import Exemption
from pytest_supportbench.words import (
    Category,
    Escalation,
    Name,
    Phrase,
    Slug,
    Text,
    ViolationCode,
    Violations,
)


class FailureMode(Frozen):
    """The one failure that a scenario is meant to expose."""

    code: Slug
    description: Text


class EarlierCall(Frozen):
    """A call of the agent that took effect: a committed write, or a read that came back.

    Arguments that are not named are free.
    """

    tool: Name
    args: Matchers = Field(default_factory=dict)


class ScriptedReply(Frozen):
    """What the customer answers when asked for a slot. Text only: it never changes the state.

    Of several replies for one slot the first that fits answers. ``after`` is a call that must have taken effect before,
    ``unless`` one that must not have; ``times`` is how often the reply can be given.
    """

    asked_for: Name
    message: Text
    after: EarlierCall | None = None
    unless: EarlierCall | None = None
    times: Annotated[int, Field(ge=1)] | None = None


class Customer(Frozen):
    """Who writes, on whose behalf, and what.

    ``subject`` is the id of the person or account whose case this is; ``authorised`` are further subjects that
    this customer may act for or ask about.
    """

    subject: str
    authorised: tuple[str, ...] = ()
    message: Text
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")] = "en"
    history: tuple[Message, ...] = ()
    replies: tuple[ScriptedReply, ...] = ()


FaultKind: TypeAlias = Literal[
    "timeout", "unavailable", "rate_limited", "error", "stale", "wrong_record", "partial"
]

_FAULT_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "timeout": ("committed",),
    "unavailable": (),
    "rate_limited": ("retry_after",),
    "error": ("code",),
    "stale": (),
    "wrong_record": ("arguments",),
    "partial": ("parameter", "completes"),
}


class Fault(Frozen):
    """A fault that the environment injects into given calls of one tool.

    ``on_calls`` counts, from 1, the calls of that tool which reached it (refused calls do not). ``timeout``
    says whether the effect was ``committed``; ``rate_limited`` names ``retry_after`` in seconds; ``error`` has
    its own ``code`` (and may be ``retryable``); ``stale`` answers a read from the state before the episode;
    ``wrong_record`` runs the read with other ``arguments``; ``partial`` lets only the first ``completes``
    items of the list ``parameter`` through.
    """

    tool: Name
    on_calls: Literal["always"] | Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]
    kind: FaultKind
    committed: bool | None = None
    retry_after: Annotated[int, Field(ge=1)] | None = None
    code: Name | None = None
    message: str | None = None
    retryable: bool = False
    arguments: dict[str, Any] | None = None
    parameter: Name | None = None
    completes: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        needed = _FAULT_FIELDS[self.kind]
        for name in ("committed", "retry_after", "code", "arguments", "parameter", "completes"):
            given = getattr(self, name) is not None
            if given and name not in needed:
                msg = f"a fault of kind {self.kind!r} takes no {name!r}; remove it"
                raise ValueError(msg)
            if not given and name in needed:
                msg = f"a fault of kind {self.kind!r} needs {name!r}; add it"
                raise ValueError(msg)
        return self

    def hits(self, call_number: int) -> bool:
        """Tell whether the ``call_number``-th call (from 1) of the tool meets this fault."""
        return self.on_calls == "always" or call_number in self.on_calls


class Protected(Frozen):
    """A fact that must not come out, with the phrases that would give it away."""

    fact: Slug
    phrases: Annotated[tuple[Phrase, ...], Field(min_length=1)]
    code: ViolationCode = "disclosure"


def _alternatives(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


class Counterexample(Frozen):
    """A scripted trace that must fail exactly these dimensions and violations.

    ``commits`` names the scenario's failure mode if this is the trace that commits it.
    """

    name: Text
    commits: Slug | None = None
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]
    fails: Annotated[
        tuple[Literal["resolution", "policy", "tool_use", "escalation"], ...], Field(min_length=1)
    ]
    violations: Violations = ()


class Scenario(Frozen):
    """One scenario file, as written. ``state`` is checked against the suite's toolset when it is loaded."""

    schema_: Annotated[str | None, Field(alias="$schema")] = None
    id: Slug
    title: Text
    category: Category | Slug
    tags: tuple[Slug, ...] = ()
    failure_mode: FailureMode
    as_of: AwareDatetime
    twin: Slug | None = None
    customer: Customer
    state: dict[str, Any]
    visible: tuple[Name, ...] = ()
    policies: tuple[Slug, ...] = ()
    memory: tuple[MemoryNote, ...] = ()
    tools: Annotated[tuple[Name, ...], Field(min_length=1)]
    faults: tuple[Fault, ...] = ()
    protected: tuple[Protected, ...] = ()
    expected: Annotated[tuple[Alternative, ...], BeforeValidator(_alternatives), Field(min_length=1)]
    reference: Annotated[tuple[Turn, ...], Field(min_length=1)]
    counterexamples: tuple[Counterexample, ...] = ()
    exempt: tuple[Exemption, ...] = ()

    @property
    def escalation(self) -> Escalation:
        """What the scenario asks for; ``either`` where its alternatives differ."""
        kinds = {alternative.escalation for alternative in self.expected}
        return kinds.pop() if len(kinds) == 1 else "either"
