"""Faulty versions of a scenario's reference, made by machine; a scenario that lets one pass proves too little.

The idea is that of mutation testing: a check that no change of the input can turn red checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from pytest_supportbench.agents.filling import arguments_for
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import replay
from pytest_supportbench.expected import MatcherSpec, RequiredCall
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.mutated_values import altered_arguments, misstated
from pytest_supportbench.protocol import ToolCall, Turn
from pytest_supportbench.records import Limits

MutationKind: TypeAlias = Literal[
    "drop-call",
    "swap-id",
    "change-amount",
    "change-choice",
    "change-list",
    "extra-argument",
    "swap-order",
    "repeat-write",
    "claim-only",
    "hand-off",
    "misstate",
]

MUTATION_KINDS: Final[tuple[MutationKind, ...]] = get_args(MutationKind)

AGAIN: Final = "sent-again"
"""The idempotency key of a repeated write: under its first key the repeat would be a replay, and harmless."""

Turns: TypeAlias = tuple[Turn, ...]

Located: TypeAlias = tuple[int, int, ToolCall]
"""A call with the index of its turn and its own therein."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One faulty trace: its kind, where the reference was changed (``issue_refund.amount``), and how."""

    kind: MutationKind
    at: str
    what: str
    turns: Turns


def mutants(bound: BoundScenario) -> Iterator[Mutant]:
    """Yield the faulty versions of a scenario's reference, each trace once and none equal to the reference.

    A change that the tools refuse to make a second time has no effect and is none of them.
    """
    seen = {_key(bound.scenario.reference)}
    for maker in _MAKERS:
        for mutant in maker(bound):
            key = _key(mutant.turns)
            if key not in seen:
                seen.add(key)
                yield mutant


def _key(turns: Turns) -> str:
    return "\n".join(turn.model_dump_json() for turn in turns)


def _places(turns: Sequence[Turn]) -> list[Located]:
    """Return every call with the indices of its turn and of itself therein, in order."""
    return [
        (row, column, call) for row, turn in enumerate(turns) for column, call in enumerate(turn.tool_calls)
    ]


def _with_calls(turns: Turns, row: int, calls: Sequence[ToolCall]) -> Turns:
    """Return the turns with other calls in one of them; a turn that would hold nothing is left out."""
    turn = turns[row].model_copy(update={"tool_calls": tuple(calls)})
    kept = (turn,) if turn.tool_calls or turn.action else ()
    return (*turns[:row], *kept, *turns[row + 1 :])


def _replaced(turns: Turns, row: int, column: int, *calls: ToolCall) -> Turns:
    old = turns[row].tool_calls
    return _with_calls(turns, row, (*old[:column], *calls, *old[column + 1 :]))


def _drop_call(bound: BoundScenario) -> Iterator[Mutant]:
    turns = bound.scenario.reference
    for row, column, call in _places(turns):
        yield Mutant(
            "drop-call", call.tool, f"without the call of {call.tool}", _replaced(turns, row, column)
        )


def _effective(bound: BoundScenario) -> list[Located]:
    """Return the places of the calls that took effect, and of tries that the scenario requires.

    What else was in a call that a fault stopped makes no difference to anybody.
    """
    places = _places(bound.scenario.reference)
    tried = {call.tool for outcome in bound.scenario.expected for call in outcome.calls if call.attempt}
    calls = replay(bound, bound.scenario.reference).calls
    return [place for place, call in zip(places, calls, strict=False) if call.done or call.tool in tried]


def _alter_arguments(bound: BoundScenario) -> Iterator[Mutant]:
    turns = bound.scenario.reference
    for row, column, call in _effective(bound):
        for kind, name, what, arguments in altered_arguments(bound, call):
            changed = call.model_copy(update={"arguments": arguments})
            yield Mutant(kind, f"{call.tool}.{name}", what, _replaced(turns, row, column, changed))


def _swap_order(bound: BoundScenario) -> Iterator[Mutant]:
    """Put what comes ``after`` a required call before it; where that one has a ``result``, into its turn too."""
    turns = bound.scenario.reference
    places = _effective(bound)
    for outcome in bound.scenario.expected:
        for need in outcome.calls:
            for before in (other for other in outcome.calls if other.id in need.after):
                first = next((place for place in places if _meets(place[2], before)), None)
                late = [place for place in _places(turns) if _meets(place[2], need)]
                if first is None or not late or (first[0], first[1]) >= (late[0][0], late[0][1]):
                    continue
                what = f"{need.tool} before {before.tool}"
                yield Mutant("swap-order", need.tool, what, _moved(turns, late, first, ahead=True))
                if before.result and first[0] != late[0][0]:
                    what = f"{need.tool} in one turn with {before.tool}"
                    yield Mutant("swap-order", need.tool, what, _moved(turns, late, first, ahead=False))


def _meets(call: ToolCall, need: RequiredCall) -> bool:
    """Tell whether a call may be the one that is required, as far as literal arguments go."""
    return call.tool == need.tool and all(
        isinstance(value, MatcherSpec) or str(call.arguments.get(name)) == str(value)
        for name, value in need.args.items()
    )


def _moved(turns: Turns, calls: list[Located], to: Located, *, ahead: bool) -> Turns:
    """Return the turns with some calls moved to just before or just behind another one."""
    gone = {(row, column) for row, column, _ in calls}
    moved: Turns = ()
    for row, turn in enumerate(turns):
        kept: list[ToolCall] = []
        for column, call in enumerate(turn.tool_calls):
            own = [] if (row, column) in gone else [call]
            here = [late for _, _, late in calls] if (row, column) == (to[0], to[1]) else []
            kept += [*here, *own] if ahead else [*own, *here]
        if kept or turn.action:
            moved = (*moved, turn.model_copy(update={"tool_calls": tuple(kept)}))
    return moved


def _repeat_write(bound: BoundScenario) -> Iterator[Mutant]:
    turns = bound.scenario.reference
    specs = bound.suite.toolset.specs
    for row, column, call in _places(turns):
        if specs[call.tool].effect != "writes":
            continue
        again = call
        if "idempotency_key" in call.arguments:
            again = call.model_copy(update={"arguments": {**call.arguments, "idempotency_key": AGAIN}})
        repeated = _replaced(turns, row, column, call, again)
        calls = replay(bound, repeated).calls
        number = sum(len(turn.tool_calls) for turn in turns[:row]) + column + 1
        if len(calls) > number and calls[number].committed:
            yield Mutant("repeat-write", call.tool, f"{call.tool} twice", repeated)


def _claim_only(bound: BoundScenario) -> Iterator[Mutant]:
    turns = bound.scenario.reference
    specs = bound.suite.toolset.specs
    kept: Turns = ()
    for turn in turns:
        reads = tuple(call for call in turn.tool_calls if specs[call.tool].effect == "reads")
        if reads or turn.action:
            kept = (*kept, turn.model_copy(update={"tool_calls": reads}))
    yield Mutant("claim-only", "message", "the same messages without any write", kept)


def _hand_off(bound: BoundScenario) -> Iterator[Mutant]:
    if bound.scenario.escalation != "must_not":
        return
    turns = bound.scenario.reference
    observation = Conversation(bound, Limits(), "mutation").observation()
    actions = [action.name for action in bound.suite.suite.actions if action.kind == "escalate"]
    for tool in observation.tools:
        if not tool.handoff:
            continue
        call = ToolCall(tool=tool.name, arguments=arguments_for(tool, observation))
        last = turns[-1].model_copy(update={"tool_calls": (*turns[-1].tool_calls, call)})
        yield Mutant("hand-off", tool.name, "hands off on top", (*turns[:-1], last))
        for action in actions:
            instead = Turn(action=action, message=turns[-1].message, tool_calls=(call,))
            yield Mutant("hand-off", tool.name, "hands off instead", (instead,))


def _misstate(bound: BoundScenario) -> Iterator[Mutant]:
    turns = bound.scenario.reference
    facts = {fact.fact: fact for outcome in bound.scenario.expected for fact in outcome.must_state}
    if facts:
        silent = tuple(turn.model_copy(update={"message": ""}) for turn in turns)
        yield Mutant("misstate", "message", "says nothing", silent)
    for fact in facts.values():
        changed = tuple(
            turn.model_copy(update={"message": misstated(turn.message, fact.value)}) for turn in turns
        )
        yield Mutant("misstate", fact.fact, f"states another {fact.fact}", changed)


_MAKERS: Final[tuple[Callable[[BoundScenario], Iterator[Mutant]], ...]] = (
    _drop_call,
    _alter_arguments,
    _swap_order,
    _repeat_write,
    _claim_only,
    _hand_off,
    _misstate,
)
