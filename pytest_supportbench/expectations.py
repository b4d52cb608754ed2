"""Whether one expected outcome fits its scenario and suite: calls, arguments, order, state paths, facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.findings import (
    Finding,
    entries,
    items,
    suggestion,
    unknown,
    unknown_field,
    unknown_items,
)
from pytest_supportbench.validation import field_names, models_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pydantic import BaseModel

    from pytest_supportbench.vocabulary import Vocabulary
    from pytest_supportbench.yaml_positions import Place

_MONEY: Final = re.compile(r"-?\d+(?:\.(\d+))? ([A-Z]{3})", re.ASCII)
# ISO 4217: the minor digits of currencies that have other than 2.
_MINOR_DIGITS: Final = {
    code: digits
    for digits, codes in {
        0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
        3: "BHD IQD JOD KWD LYD OMR TND",
        4: "CLF UYW",
    }.items()
    for code in codes.split()
}


def check_alternative(
    outcome: dict[str, Any],
    base: Place,
    policies: Collection[str],
    known: Vocabulary,
    permitted: Collection[str],
) -> Iterator[Finding]:
    """Yield what does not fit in the outcome at ``base``.

    ``policies`` and ``permitted`` are the scenario's policies and tools.
    """
    ids = [
        call["id"] for call in items(outcome, "calls") if isinstance(call, dict) and _is_text(call.get("id"))
    ]
    yield from unknown_items(outcome, "actions", base, known.actions, "action")
    for index, call in enumerate(items(outcome, "calls")):
        place = (*base, "calls", index)
        yield from tool_named(call, place, known, permitted)
        yield from check_arguments(call, place, known, ids)
        yield from _references(entries(call, "result"), (*place, "result"), ids)
    for index, call in enumerate(items(outcome, "never")):
        place = (*base, "never", index)
        yield from unknown_field(call, "tool", place, known.tools, "tool")
        yield from check_arguments(call, place, known, ids)
    yield from _limits(outcome, base, known)
    yield from _handoff(outcome, base, known, permitted)
    yield from _because(outcome, base, policies, known)
    yield from _order(items(outcome, "calls"), (*base, "calls"), ids)
    yield from _state(entries(outcome, "state"), (*base, "state"), known, ids)
    yield from _money(outcome, base)


def tool_named(call: Any, place: Place, known: Vocabulary, permitted: Collection[str]) -> Iterator[Finding]:
    """Yield the finding for a mapping whose ``tool`` is unknown or is not permitted in the scenario."""
    name = call.get("tool") if isinstance(call, dict) else None
    if isinstance(name, str) and name not in permitted:
        if name in known.tools:
            yield Finding((*place, "tool"), f"the tool {name!r} is not permitted here", "add it to 'tools'")
        else:
            yield unknown((*place, "tool"), name, known.tools, "tool")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _limits(outcome: dict[str, Any], base: Place, known: Vocabulary) -> Iterator[Finding]:
    for index, name in enumerate(items(outcome, "also_allowed")):
        place = (*base, "also_allowed", index)
        tool = known.tools.get(name) if isinstance(name, str) else None
        if tool is not None and not tool.writes:
            yield Finding(place, f"the tool {name!r} only reads", "remove it; reads are allowed anyway")
    yield from unknown_items(outcome, "also_allowed", base, known.tools, "tool")
    for name in entries(outcome, "at_most"):
        if name not in known.tools:
            yield unknown((*base, "at_most", name), name, known.tools, "tool", key=True)


def _handoff(
    outcome: dict[str, Any], base: Place, known: Vocabulary, permitted: Collection[str]
) -> Iterator[Finding]:
    if outcome.get("escalation") != "must":
        return
    if not any(name in known.tools and known.tools[name].handoff for name in permitted):
        handoffs = {name for name, tool in known.tools.items() if tool.handoff}
        message = "is 'must', but no permitted tool hands off"
        remedy = f"add {' or '.join(sorted(handoffs)) or 'one to the toolset, and'} to 'tools'"
        yield Finding((*base, "escalation"), message, remedy)


def _because(
    outcome: dict[str, Any], base: Place, policies: Collection[str], known: Vocabulary
) -> Iterator[Finding]:
    for index, name in enumerate(items(outcome, "because")):
        if isinstance(name, str) and name not in policies:
            place = (*base, "because", index)
            if name in known.policies:
                message = f"the policy {name!r} is not shown to the agent"
                yield Finding(place, message, "add it to 'policies'")
            else:
                yield unknown(place, name, known.policies, "policy")


def known_arguments(call: Any, field: str, place: Place, known: Vocabulary) -> Iterator[Finding]:
    """Yield the findings for the names in a call's mapping ``field`` that are no parameters of its tool."""
    tool = known.tool(call)
    if tool is not None:
        for name in entries(call, field):
            if name not in tool.parameters:
                message = f"{name[:60]!r} is no parameter of {call['tool']}"
                remedy = suggestion(name, tool.parameters, "parameters")
                yield Finding((*place, field, name), message, remedy, key=True)


def check_arguments(call: Any, place: Place, known: Vocabulary, ids: Collection[str]) -> Iterator[Finding]:
    """Yield what does not fit in the matchers of a call's ``args``; ``ids`` are what ``same_as`` may refer to."""
    yield from known_arguments(call, "args", place, known)
    yield from _references(entries(call, "args"), (*place, "args"), ids)


def _references(matchers: dict[str, Any], place: Place, ids: Collection[str]) -> Iterator[Finding]:
    """Check what the ``same_as`` in a mapping of matchers refer to."""
    for name, value in matchers.items():
        if isinstance(value, dict):
            yield from _reference(value, (*place, name), ids)


def _reference(matcher: dict[str, Any], place: Place, ids: Collection[str]) -> Iterator[Finding]:
    target = matcher.get("same_as")
    if isinstance(target, str) and target.partition(".")[0] not in ids:
        yield unknown((*place, "same_as"), target.partition(".")[0], ids, "call id")
    yield from _references({"not": matcher.get("not")}, place, ids)
    for form in ("any_of", "unordered"):
        for index, value in enumerate(items(matcher, form)):
            if isinstance(value, dict):
                yield from _reference(value, (*place, form, index), ids)


def _order(calls: list[Any], place: Place, ids: list[str]) -> Iterator[Finding]:
    """Check that call ids are unique and that ``after`` names them without a circle."""
    waits: dict[str, set[str]] = {}
    where: dict[str, int] = {}
    for index, call in enumerate(calls):
        before = {name for name in items(call, "after") if isinstance(name, str)}
        yield from unknown_items(call, "after", (*place, index), ids, "call id")
        name = call.get("id") if isinstance(call, dict) else None
        if isinstance(name, str):
            if name in where:
                yield Finding(
                    (*place, index, "id"), f"two calls have the id {name[:60]!r}", "give each its own"
                )
                return
            where[name] = index
            waits[name] = before
    while free := [name for name, before in waits.items() if not before & waits.keys()]:
        for name in free:
            del waits[name]
    if waits:
        message = f"'after' runs in a circle through {', '.join(sorted(waits))}"
        yield Finding((*place, where[min(waits)], "after"), message, "remove one of the steps")


def _state(paths: dict[str, Any], place: Place, known: Vocabulary, ids: list[str]) -> Iterator[Finding]:
    for path in paths:
        message, remedy = _path_problem(path, known)
        if message:
            yield Finding((*place, path), message, remedy, key=True)
    yield from _references(paths, place, ids)


def _path_problem(path: str, known: Vocabulary) -> tuple[str, str]:
    table, *rest = path.split(".")
    if table not in known.tables:
        return f"unknown table {table[:60]!r}", suggestion(table, known.tables, "tables")
    if not all(rest) or not rest:
        return f"{path[:60]!r} names no record", f"write {table}.id or {table}.id.field"
    record = known.tables[table]
    models: list[type[BaseModel]] = [record] if record else []
    for depth, field in enumerate(rest[1:], 2):
        fields = {name: annotation for model in models for name, annotation in field_names(model).items()}
        if models and field not in fields:
            return f"unknown field {field[:60]!r} of {table}", suggestion(field, fields, "fields")
        if depth < len(rest):
            models = list(models_in(fields.get(field)))
    return "", ""


def _money(outcome: dict[str, Any], base: Place) -> Iterator[Finding]:
    for number, fact in enumerate(items(outcome, "must_state")):
        place = (*base, "must_state", number)
        stated = [((*place, "value"), entries(fact, "value"))]
        for index, value in enumerate(items(fact, "contradicted_by")):
            stated.append(((*place, "contradicted_by", index), value if isinstance(value, dict) else {}))
        for at, value in stated:
            yield from _decimals(value.get("money"), (*at, "money"))


def _decimals(value: Any, place: Place) -> Iterator[Finding]:
    match = _MONEY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return
    digits, currency = len(match[1] or ""), match[2]
    allowed = _MINOR_DIGITS.get(currency, 2)
    if digits > allowed:
        message = f"{value[:60]!r} has {digits} decimals, but {currency} has {allowed or 'none'}"
        yield Finding(place, message, "write the exact amount")
