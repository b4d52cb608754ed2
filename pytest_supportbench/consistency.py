"""Whether the parts of a scenario fit each other and its suite: names, turns, faults, state.

Works on the file's data and not on the models, so that a file with another mistake is still checked in full.
What has the wrong shape is passed over here; the models report it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.expectations import check_alternative, known_arguments, tool_named
from pytest_supportbench.findings import (
    Finding,
    items,
    shown,
    suggestion,
    unknown,
    unknown_field,
    unknown_items,
)
from pytest_supportbench.reply_checks import check_replies
from pytest_supportbench.state import State, iter_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_supportbench.vocabulary import ToolNames, Vocabulary
    from pytest_supportbench.yaml_positions import Place


_ASKED: Final = ("concept", "question")


def check_scenario(data: dict[str, Any], known: Vocabulary, state: State | None) -> list[Finding]:
    """Return what does not fit in a scenario's data; ``state`` is the typed one, if it is valid."""
    permitted = frozenset(name for name in items(data, "tools") if isinstance(name, str))
    policies = frozenset(name for name in items(data, "policies") if isinstance(name, str))
    found = [
        *_as_of(data),
        *unknown_items(data, "tools", (), known.tools, "tool"),
        *unknown_items(data, "policies", (), known.policies, "policy"),
        *_visible(data, known),
        *_faults(data, known, permitted),
        *_turns(data, known, permitted),
        *check_replies(data, known, permitted),
    ]
    customer = data.get("customer")
    if state is not None and isinstance(customer, dict) and isinstance(customer.get("subject"), str):
        found += _subject(customer["subject"], state)
    outcomes: list[tuple[Place, dict[str, Any]]] = [
        (("expected", index), outcome)
        for index, outcome in enumerate(items(data, "expected"))
        if isinstance(outcome, dict)
    ]
    if isinstance(data.get("expected"), dict):
        outcomes.append((("expected",), data["expected"]))
    for place, outcome in outcomes:
        found += check_alternative(outcome, place, policies, known, permitted)
    found += _two_questions(outcomes)
    return found


def _two_questions(outcomes: list[tuple[Place, dict[str, Any]]]) -> Iterator[Finding]:
    """Yield each question that asks for a concept otherwise than an earlier one of its name, in any alternative."""
    first: dict[str, str] = {}
    for base, outcome in outcomes:
        for index, concept in enumerate(items(outcome, "explanation")):
            name, asked = (concept.get(key) if isinstance(concept, dict) else None for key in _ASKED)
            if isinstance(name, str) and isinstance(asked, str) and first.setdefault(name, asked) != asked:
                place = (*base, "explanation", index, "question")
                message = f"asks for the concept {name[:60]!r} otherwise than an earlier question"
                yield Finding(place, message, "give both the same question, or the concepts two names")


def check_suite(data: dict[str, Any]) -> list[Finding]:
    """Return names that a suite defines twice, and policies and articles that name an unknown one."""
    found: list[Finding] = []
    for field, name, refers in (
        ("actions", "name", ""),
        ("policies", "id", "supersedes"),
        ("knowledge", "id", "superseded_by"),
    ):
        seen: set[str] = set()
        rows = [row if isinstance(row, dict) else {} for row in items(data, field)]
        for index, row in enumerate(rows):
            value = row.get(name)
            if isinstance(value, str) and value in seen:
                message = f"{value[:60]!r} is there already"
                found.append(Finding((field, index, name), message, "give each its own name"))
            seen.add(str(value))
        for index, row in enumerate(rows):
            found += unknown_field(row, refers, (field, index), seen, "id")
    return found


def _as_of(data: dict[str, Any]) -> Iterator[Finding]:
    # pydantic would read a number as seconds since 1970.
    if isinstance(data.get("as_of"), int | float):
        example = "write an ISO 8601 time, such as 2026-03-14T10:30:00-05:00"
        yield Finding(("as_of",), f"is {shown(data['as_of'])}", example)


def _visible(data: dict[str, Any], known: Vocabulary) -> Iterator[Finding]:
    for index, name in enumerate(items(data, "visible")):
        if not isinstance(name, str):
            continue
        try:
            known.table_of(name)
        except KeyError:
            yield unknown(("visible", index), name, known.tables, "table")


def _turns(data: dict[str, Any], known: Vocabulary, permitted: Collection[str]) -> Iterator[Finding]:
    """Check the scripted turns; a counterexample may call a tool that does not exist, since agents do."""
    for number, turn in enumerate(items(data, "reference")):
        base = ("reference", number)
        yield from unknown_field(turn, "action", base, known.actions, "action")
        yield from unknown_items(turn, "asks_for", base, known.slots, "slot")
        for index, call in enumerate(items(turn, "tool_calls")):
            place = (*base, "tool_calls", index)
            yield from tool_named(call, place, known, permitted)
            yield from known_arguments(call, "arguments", place, known)
    for number, counterexample in enumerate(items(data, "counterexamples")):
        for index, turn in enumerate(items(counterexample, "turns")):
            place = ("counterexamples", number, "turns", index)
            yield from unknown_field(turn, "action", place, known.actions, "action")


def _faults(data: dict[str, Any], known: Vocabulary, permitted: Collection[str]) -> Iterator[Finding]:
    for index, fault in enumerate(items(data, "faults")):
        place = ("faults", index)
        yield from tool_named(fault, place, known, permitted)
        tool = known.tool(fault)
        if tool is not None:
            yield from _fault(fault, place, tool)


def _fault(fault: dict[str, Any], place: Place, tool: ToolNames) -> Iterator[Finding]:
    name, kind = fault["tool"], str(fault.get("kind"))
    if kind in {"stale", "wrong_record"} and tool.writes:
        yield Finding((*place, "kind"), f"is {kind!r}, but {name} writes", "use it on a read")
    if kind == "timeout" and fault.get("committed") is True and not tool.writes:
        yield Finding((*place, "committed"), f"is true, but {name} only reads", "write false")
    parameter = fault.get("parameter")
    if kind == "partial" and isinstance(parameter, str) and parameter not in tool.lists:
        message = f"{parameter[:60]!r} is no list parameter of {name}"
        yield Finding((*place, "parameter"), message, suggestion(parameter, tool.lists, "list parameters"))
    arguments = fault.get("arguments")
    if kind == "wrong_record" and isinstance(arguments, dict):
        for argument in arguments:
            if argument not in tool.parameters:
                remedy = suggestion(argument, tool.parameters, "parameters")
                at = (*place, "arguments", argument)
                yield Finding(at, f"{argument[:60]!r} is no parameter of {name}", remedy, key=True)


def _subject(subject: str, state: State) -> Iterator[Finding]:
    subjects: set[str] = set()
    for _, record in iter_records(state.tables):
        owners = record.subjects()
        if subject in owners:
            return
        subjects |= owners
    message = f"no record of the state belongs to {subject[:60]!r}"
    yield Finding(("customer", "subject"), message, suggestion(subject, subjects, "subjects"))
