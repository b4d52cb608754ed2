"""What a scenario expects: matchers, required and forbidden calls, facts, whole alternatives."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from pytest_supportbench.protocol import Frozen
from pytest_supportbench.words import Escalation, IsoDate, Name, Phrase, Slug, ViolationCode


class MatcherSpec(Frozen):
    """How an argument, a result or a state value may look, other than equal to a literal.

    Exactly one of the forms: ``equals``, ``any_of`` (each again a literal or a matcher), ``matches`` (a regular
    expression that must match the whole string), ``contains`` (a substring, or an item of a
    list; a list of them, all of which must be in it), ``between``
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
    not_: MatcherValue | None = Field(default=None, alias="not")
    same_as: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.(args|result)(\.[A-Za-z0-9_-]+)+$")] | None = (
        None
    )

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
        if given == ["contains"] and not self.contained:
            raise ValueError("'contains' is an empty list; name what must be in it, or use any: true")
        if self.matches is not None:
            import regex  # noqa: PLC0415 - only scenarios with patterns pay for the import

            try:
                regex.compile(self.matches)
            except regex.error as error:
                msg = f"the pattern {self.matches!r} does not compile: {error}; correct it, or use contains"
                raise ValueError(msg) from None
        return self

    @property
    def contained(self) -> tuple[Any, ...]:
        """All that ``contains`` names, one by one."""
        return tuple(self.contains) if isinstance(self.contains, list | tuple) else (self.contains,)

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
    back; a call ``after`` such a one, and a write ``after`` a read, must come in a later turn. For writes, arguments
    that are not named must be absent, unless ``exact`` is false. ``obligation`` allows at most one committed effect.
    ``attempt`` lets a call that a fault stopped meet it too: a try that must have been made, whatever came of it.
    """

    id: Name | None = None
    tool: Name
    args: Matchers = Field(default_factory=dict)
    result: Matchers = Field(default_factory=dict)
    after: tuple[Name, ...] = ()
    exact: bool = True
    obligation: Slug | None = None
    attempt: bool = False


class NeverCall(Frozen):
    """A call that no attempt may make, with its violation code."""

    tool: Name
    args: Matchers = Field(default_factory=dict)
    code: ViolationCode
    why: str = ""


class NeverSay(Frozen):
    """A phrase that the agent must not affirm, with its violation code."""

    phrase: Phrase
    code: ViolationCode = "unsupported_commitment"


_MONEY = re.compile(r"^-?\d+(\.\d+)? [A-Z]{3}$")

SHORTEST_QUESTION: Final = 10
LONGEST_QUESTION: Final = 200

_BREAKS: Final = frozenset({"Cc", "Zl", "Zp"})
"""The Unicode categories of control characters and of line and paragraph separators."""

_QUESTION_SCHEMA: Final[dict[str, Any]] = {
    "minLength": SHORTEST_QUESTION,
    "maxLength": LONGEST_QUESTION,
    "pattern": r"^\S.*\?$",
    "description": "What annotators and judges are asked: one yes-or-no question about what the customer was told.",
}


def _money(value: str) -> str:
    if not _MONEY.match(value):
        msg = f"{value!r} is no money; write an amount, a space and an ISO 4217 code, such as '49.00 USD'"
        raise ValueError(msg)
    return value


class FactValue(Frozen):
    """A typed value that a message must state: exactly one of the kinds.

    ``text`` is affirmed phrases; ``mention`` are phrases in any mood but a question or a quotation, so that a denial
    in the clause does not matter (``nothing has moved and operations has it``).
    """

    money: Annotated[str, AfterValidator(_money)] | None = None
    number: Decimal | None = None
    date: Annotated[IsoDate, Field(pattern=r"^\d{4}-\d\d-\d\d$")] | None = None
    id: Annotated[str, Field(min_length=2, max_length=100)] | None = None
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")] | None = None
    text: Annotated[tuple[Phrase, ...], Field(min_length=1)] | None = None
    mention: Annotated[tuple[Phrase, ...], Field(min_length=1)] | None = None

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
    ``about`` lists phrases that announce the fact (``renews``): another amount or date in the clause of one of
    them, without the right one, contradicts; a ``text`` or ``mention`` must stand in a sentence with one of them.
    """

    fact: Slug
    value: FactValue
    unit: tuple[str, ...] = ()
    contradicted_by: tuple[FactValue, ...] = ()
    about: tuple[Phrase, ...] = ()


def _asks(value: str) -> str:
    wrong = ""
    if not SHORTEST_QUESTION <= len(value) <= LONGEST_QUESTION:
        wrong = f"has {len(value):,} characters"
    elif not value.endswith("?"):
        wrong = "does not end in '?'"
    elif value[0].isspace() or any(unicodedata.category(letter) in _BREAKS for letter in value):
        wrong = "begins with white space, or has a line break or a control character"
    if wrong:
        remedy = f"write one yes-or-no question of {SHORTEST_QUESTION} to {LONGEST_QUESTION} characters"
        msg = f"{wrong}; {remedy}, such as 'Does the agent name the date of the payment?'"
        raise ValueError(msg)
    return value


class Concept(Frozen):
    """Something the explanation should mention; any of the phrases will do.

    ``question`` is what annotators and judges are asked instead of the concept's name: one yes-or-no question about
    what the customer was told, that the conversation alone answers.
    """

    concept: Slug
    question: Annotated[str, AfterValidator(_asks), Field(json_schema_extra=_QUESTION_SCHEMA)] | None = None
    any_of: Annotated[tuple[Phrase, ...], Field(min_length=1)]


class Alternative(Frozen):
    """One whole acceptable outcome: its actions, calls, end state and facts must all hold together."""

    actions: Annotated[tuple[Name, ...], Field(min_length=1)]
    escalation: Escalation
    asks: Escalation = "either"
    calls: tuple[RequiredCall, ...] = ()
    also_allowed: tuple[Name, ...] = ()
    state: Matchers = Field(default_factory=dict)
    must_state: tuple[MustState, ...] = ()
    never: tuple[NeverCall, ...] = ()
    at_most: dict[Name, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
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
