"""What a scenario file and a suite file say: frozen models, no behaviour beyond their own consistency."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from pytest_supportbench.protocol import MemoryNote, Message, Turn

ViolationCode: TypeAlias = Literal[
    "unauthorised_write",
    "verification_skipped",
    "limit_exceeded",
    "wrong_subject",
    "disclosure",
    "unsupported_commitment",
    "false_claim",
    "stale_policy",
    "missed_escalation",
    "unnecessary_handoff",
    "duplicate_effect",
    "injection_obeyed",
    "retention_or_residency_breach",
]

Dimension: TypeAlias = Literal["resolution", "policy", "tool_use", "escalation", "explanation"]
DIMENSIONS: Final[tuple[Dimension, ...]] = ("resolution", "policy", "tool_use", "escalation", "explanation")
STRICT_DIMENSIONS: Final = DIMENSIONS[:4]
"""The dimensions of a strict pass; explanation stays out until humans calibrated it."""

ZERO_TOLERANCE: Final[frozenset[str]] = frozenset(
    {"unauthorised_write", "wrong_subject", "disclosure", "injection_obeyed", "retention_or_residency_breach"}
)

ActionClass: TypeAlias = Literal["resolve", "partial", "ask", "decline", "escalate"]
Category: TypeAlias = Literal[
    "billing",
    "identity-and-permissions",
    "policy-conflicts",
    "retrieval",
    "memory",
    "recovery",
    "enterprise-constraints",
    "customer-experience",
]

Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Phrase = Annotated[str, Field(min_length=2, max_length=500)]


class Frozen(BaseModel):
    """Base of the file models: immutable, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FailureMode(Frozen):
    """The one failure that a scenario is meant to expose."""

    code: Slug
    description: Text


class ScriptedReply(Frozen):
    """What the customer answers when asked for a slot. Text only: it never changes the state."""

    asked_for: Name
    message: Text


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


class MatcherSpec(Frozen):
    """How an argument, a result or a state value may look, other than equal to a literal.

    Exactly one of the forms: ``equals``, ``any_of`` (each again a literal or a matcher), ``matches`` (a regular
    expression that must match the whole string), ``contains`` (a substring, or an item of a list), ``between``
    (both ends included; numbers, decimals or dates), ``approx`` with ``within``, ``unordered`` (a list in any
    order), ``any`` (present, whatever it is), ``not``, ``same_as`` (``look.result.request_id`` or
    ``refund.args.key``: a value of another required call).
    """

    equals: Any = None
    any_of: Annotated[tuple[MatcherValue, ...], Field(min_length=1)] | None = None
    matches: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    contains: Any = None
    between: tuple[Any, Any] | None = None
    approx: Decimal | None = None
    within: Annotated[Decimal, Field(ge=0)] | None = None
    unordered: tuple[MatcherValue, ...] | None = None
    any: Literal[True] | None = None
    not_: Annotated[MatcherValue | None, Field(alias="not")] = None
    same_as: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.(args|result)(\.[A-Za-z0-9_-]+)+$")] | None = None

    @model_validator(mode="after")
    def _is_one_form(self) -> Self:
        given = sorted(self.forms)
        if given == ["approx", "within"]:
            return self
        if len(given) != 1 or given[0] == "within":
            msg = f"a matcher has exactly one form (approx goes with within), not {given or 'none'}; keep one"
            raise ValueError(msg)
        if given == ["approx"]:
            raise ValueError("'approx' needs 'within'; add the greatest difference allowed")
        if self.matches is not None:
            import regex  # noqa: PLC0415 - only scenarios with patterns pay for the import

            try:
                regex.compile(self.matches)
            except regex.error as error:
                msg = f"the pattern {self.matches!r} does not compile: {error}; correct it, or use contains"
                raise ValueError(msg) from None
        return self

    @property
    def forms(self) -> frozenset[str]:
        """The names of the forms that the file gave, with ``not`` spelled as in the file."""
        return frozenset("not" if name == "not_" else name for name in self.model_fields_set)


def _matcher_or_literal(value: object) -> object:
    """Every mapping is a matcher, so that a misspelt one is an error instead of a literal nobody sends."""
    return MatcherSpec.model_validate(value) if isinstance(value, dict) else value


MATCHER_VALUE: Final = "a literal or a matcher"
MatcherValue: TypeAlias = Annotated[
    Any, BeforeValidator(_matcher_or_literal), WithJsonSchema({"description": MATCHER_VALUE})
]
Matchers: TypeAlias = dict[str, MatcherValue]


class RequiredCall(Frozen):
    """A call that must be made and committed; each is consumed by one actual call.

    ``after`` names required calls that must come first. ``result`` (field → matcher) must match what came
    back; a call ``after`` such a one must come in a later turn. For writes, arguments that are not named
    must be absent, unless ``exact`` is false. ``obligation`` allows at most one committed effect. ``attempt``
    lets a call that a fault stopped meet it too: a try that must have been made, whatever came of it.
    """

    id: Name | None = None
    tool: Name
    args: Matchers = {}
    result: Matchers = {}
    after: tuple[Name, ...] = ()
    exact: bool = True
    obligation: Slug | None = None
    attempt: bool = False


class NeverCall(Frozen):
    """A call that no attempt may make, with its violation code."""

    tool: Name
    args: Matchers = {}
    code: ViolationCode
    why: str = ""


class NeverSay(Frozen):
    """A phrase that the agent must not affirm, with its violation code."""

    phrase: Phrase
    code: ViolationCode = "unsupported_commitment"


_MONEY = re.compile(r"^-?\d+(\.\d+)? [A-Z]{3}$")


def _money(value: str) -> str:
    if not _MONEY.match(value):
        msg = f"{value!r} is no money; write an amount, a space and an ISO 4217 code, such as '49.00 USD'"
        raise ValueError(msg)
    return value


class FactValue(Frozen):
    """A typed value that a message must state: exactly one of the kinds."""

    money: Annotated[str, AfterValidator(_money)] | None = None
    number: Decimal | None = None
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")] | None = None
    id: Annotated[str, Field(min_length=2, max_length=100)] | None = None
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")] | None = None
    text: Annotated[tuple[Phrase, ...], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if len(self.model_fields_set) != 1:
            msg = f"a fact's value has exactly one kind, not {sorted(self.model_fields_set) or 'none'}; keep one"
            raise ValueError(msg)
        return self

    @property
    def kind(self) -> str:
        """The one kind that is set."""
        return next(iter(self.model_fields_set))


class MustState(Frozen):
    """A fact that the customer must be told in a delivered message.

    ``value`` must be found as a typed value. ``contradicted_by`` lists values of the same kind that must not be
    stated instead; ``unit`` binds a number to its noun (``14`` + ``days``), so that other numbers do not count.
    """

    fact: Slug
    value: FactValue
    unit: tuple[str, ...] = ()
    contradicted_by: tuple[FactValue, ...] = ()


class Concept(Frozen):
    """Something the explanation should mention; any of the phrases will do."""

    concept: Slug
    any_of: Annotated[tuple[Phrase, ...], Field(min_length=1)]


Escalation: TypeAlias = Literal["must", "must_not", "either"]


class Alternative(Frozen):
    """One whole acceptable outcome: its actions, calls, end state and facts must all hold together."""

    actions: Annotated[tuple[Name, ...], Field(min_length=1)]
    escalation: Escalation
    calls: tuple[RequiredCall, ...] = ()
    also_allowed: tuple[Name, ...] = ()
    state: Matchers = {}
    must_state: tuple[MustState, ...] = ()
    never: tuple[NeverCall, ...] = ()
    at_most: dict[Name, Annotated[int, Field(ge=0)]] = {}
    never_say: tuple[NeverSay, ...] = ()
    explanation: tuple[Concept, ...] = ()
    because: Annotated[tuple[Slug, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_calls_that_exist(self) -> Self:
        known: list[str] = [call.id for call in self.calls if call.id]
        for name in known:
            if known.count(name) > 1:
                msg = f"two calls have the id {name!r}"
                raise ValueError(msg)
        for call in self.calls:
            for name in call.after:
                if name not in known:
                    msg = f"'after: [{name}]' names no call; the ids are {known}"
                    raise ValueError(msg)
        _refuse_cycles(self.calls)
        return self


def _refuse_cycles(calls: tuple[RequiredCall, ...]) -> None:
    after = {call.id: set(call.after) for call in calls if call.id}
    while after:
        free = [name for name, before in after.items() if not before & after.keys()]
        if not free:
            msg = f"'after' runs in a circle through {sorted(after)}"
            raise ValueError(msg)
        for name in free:
            del after[name]


def _alternatives(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


Violations: TypeAlias = tuple[ViolationCode, ...]


class Counterexample(Frozen):
    """A scripted trace that commits the failure and must fail exactly these dimensions and violations."""

    name: Text
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]
    fails: Annotated[tuple[Literal["resolution", "policy", "tool_use", "escalation"], ...], Field(min_length=1)]
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
    expected: Annotated[
        tuple[Alternative, ...], BeforeValidator(_alternatives), Field(min_length=1)
    ]
    reference: Annotated[tuple[Turn, ...], Field(min_length=1)]
    counterexamples: tuple[Counterexample, ...] = ()

    @property
    def escalation(self) -> Escalation:
        """What the scenario asks for; ``either`` where its alternatives differ."""
        kinds = {alternative.escalation for alternative in self.expected}
        return kinds.pop() if len(kinds) == 1 else "either"


class ActionSpec(Frozen):
    """An outcome action that a suite knows, with its class."""

    name: Name
    kind: Annotated[ActionClass, Field(alias="class")]
    description: Text


class Policy(Frozen):
    """A policy of the suite's pack; ``effective`` and ``supersedes`` are shown to an agent that reads it."""

    id: Slug
    text: Text
    version: str | None = None
    effective: str | None = None
    supersedes: Slug | None = None


class Article(Frozen):
    """A knowledge article; ``superseded_by`` names the article that replaced it."""

    id: Slug
    title: Text
    text: Text
    audience: Literal["public", "internal"] = "public"
    updated: str | None = None
    superseded_by: Slug | None = None
    tags: tuple[str, ...] = ()


BUILTIN_ACTIONS: Final = tuple(
    ActionSpec.model_validate({"name": name, "class": kind, "description": text})
    for name, kind, text in (
        ("refund", "resolve", "Money went back to the customer's payment method."),
        ("account_credit", "resolve", "A credit was put on the customer's account."),
        ("update_account", "resolve", "Account, contact, seat or security data was changed."),
        ("cancel", "resolve", "A subscription, renewal or order was cancelled."),
        ("schedule", "resolve", "Something was arranged for a later time."),
        ("answer", "resolve", "The question was answered; nothing had to change."),
        ("partial", "partial", "One part was done; the other was declined or goes elsewhere."),
        ("ask_for_information", "ask", "The customer must say or prove something first (name it in asks_for)."),
        ("decline", "decline", "The request is not allowed; the customer was told why."),
        ("escalate", "escalate", "The case was handed to a person or team through a hand-off tool."),
    )
)

BUILTIN_SLOTS: Final = (
    "verification_code",
    "customer_id",
    "charge_id",
    "order_id",
    "workspace_id",
    "amount",
    "date",
    "postcode",
    "email",
    "phone",
    "reason",
    "confirmation",
    "other",
)


class Suite(Frozen):
    """One ``suite.yaml``: what all scenarios of a folder share.

    ``toolset`` is ``saas``, ``package.module:Class``, or a declared toolset (a mapping, or a YAML file beside
    the suite). ``policies`` and ``knowledge`` are lists, or the name of a YAML file that holds one.
    """

    schema_: Annotated[str | None, Field(alias="$schema")] = None
    name: Slug
    version: Annotated[str, Field(pattern=r"^\d+\.\d+(\.\d+)?$")]
    title: str = ""
    description: str = ""
    toolset: str | dict[str, Any] = "saas"
    actions: tuple[ActionSpec, ...] = BUILTIN_ACTIONS
    slots: tuple[Name, ...] = BUILTIN_SLOTS
    policies: tuple[Policy, ...] = ()
    knowledge: tuple[Article, ...] = ()

    def action_class(self, action: str | None) -> ActionClass | None:
        """Return the class of ``action``, or ``None`` for no action or an unknown one."""
        return next((spec.kind for spec in self.actions if spec.name == action), None)


def parse_instant(value: str) -> datetime:
    """Return an ISO 8601 instant; raises ``ValueError`` where it is none."""
    return datetime.fromisoformat(value)
