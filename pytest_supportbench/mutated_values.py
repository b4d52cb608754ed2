"""Wrong values in the place of right ones: for the arguments of a call, and for the facts of a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pytest_supportbench.agents.filling import choices, sample
from pytest_supportbench.expected import MatcherSpec

if TYPE_CHECKING:
    from pytest_supportbench.expected import FactValue
    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.protocol import ToolCall
    from pytest_supportbench.tools import ToolSpec

ValueKind: TypeAlias = Literal["swap-id", "change-amount", "change-choice", "change-list", "extra-argument"]

Altered: TypeAlias = tuple[ValueKind, str, str, dict[str, Any]]

_NUMBER: Final = re.compile(r"\d+(\.\d+)?", re.ASCII)
_LATER: Final = timedelta(days=40)
"""Longer than any window that a matcher for a date is likely to leave open."""


def altered_arguments(bound: BoundScenario, call: ToolCall) -> Iterator[Altered]:
    """Yield a call's arguments with one of them wrong: the kind, the argument's name, what was done, all arguments.

    Free text and idempotency keys are the agent's own, unless the scenario requires them; so are arguments of
    reads that no required call names, and the choices that a required call lists in an ``any_of``.
    """
    spec = bound.suite.toolset.specs[call.tool]
    named = _named(bound, call.tool)
    own = spec.free_text | {"idempotency_key"}
    for name, value in call.arguments.items():
        if name not in named and (name in own or spec.effect == "reads"):
            continue
        for kind, what, wrong in _wrong(bound, spec, name, value, named.get(name, [])):
            if kind != "change-choice" or wrong not in _accepted(named.get(name, ())):
                yield kind, name, f"{name}: {what}", {**call.arguments, name: wrong}
    if spec.effect == "writes":
        for name, schema in spec.parameters.get("properties", {}).items():
            if name in call.arguments or name in own or name in named:
                continue
            value = sample(name, schema, spec.parameters.get("$defs", {}))
            if value not in (None, [], {}, False, schema.get("default")):
                yield "extra-argument", name, f"with {name} as well", {**call.arguments, name: value}


def _named(bound: BoundScenario, tool: str) -> dict[str, list[Any]]:
    """Return what the scenario's required calls of a tool say of each argument."""
    named: dict[str, list[Any]] = {}
    for outcome in bound.scenario.expected:
        for required in outcome.calls:
            if required.tool == tool:
                for name, matcher in required.args.items():
                    named.setdefault(name, []).append(matcher)
    return named


def _accepted(matchers: Any) -> list[Any]:
    """Return the values that matchers list one by one."""
    return [
        value
        for matcher in matchers
        if isinstance(matcher, MatcherSpec) and matcher.any_of
        for value in matcher.any_of
    ]


def _wrong(
    bound: BoundScenario, spec: ToolSpec, name: str, value: Any, matchers: list[Any]
) -> Iterator[tuple[ValueKind, str, Any]]:
    listed = choices(spec.parameters.get("properties", {}).get(name, {}), spec.parameters.get("$defs", {}))
    if listed:
        for choice in listed:
            yield "change-choice", f"{choice} for {value}", choice
    elif isinstance(value, str):
        others = _others(bound, value)
        for other in others:
            yield "swap-id", f"{other} for {value}", other
        if not others:
            for wrong in _other_values(value):
                yield "change-amount", f"{wrong} for {value}", wrong
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield "change-amount", f"{value + 1} for {value}", value + 1
    elif isinstance(value, list):
        wanted = [item for matcher in matchers if _is_contains(matcher) for item in matcher.contained]
        yield from (("change-list", what, wrong) for what, wrong in _other_lists(bound, value, wanted))


def _is_contains(matcher: Any) -> bool:
    return isinstance(matcher, MatcherSpec) and "contains" in matcher.forms


def _other_lists(
    bound: BoundScenario, value: list[Any], wanted: list[Any]
) -> Iterator[tuple[str, list[Any]]]:
    """Yield wrong lists; where the scenario names only what a list has to contain, the rest of it is free."""
    for index, item in enumerate(value):
        if wanted and item not in wanted:
            continue
        before, behind = value[:index], value[index + 1 :]
        yield f"without {item}", [*before, *behind]
        for other in _others(bound, item) if isinstance(item, str) else []:
            if other not in value:
                yield f"{other} for {item}", [*before, other, *behind]
                if not wanted:
                    yield f"{other} as well", [*value, other]


def _others(bound: BoundScenario, value: str) -> list[str]:
    """Return the ids of the other records of the table that has ``value`` as an id, articles included."""
    tables = [list(rows) for rows in bound.state.tables.values()]
    tables.append([article.id for article in bound.suite.suite.knowledge])
    table = next((keys for keys in tables if value in keys), [])
    return [key for key in table if key != value]


def _other_values(value: str) -> Iterator[str]:
    """Yield amounts that a ledger may well accept, and a slip of the decimal point; or days far from a date."""
    if _NUMBER.fullmatch(value):
        number = Decimal(value)
        step = Decimal(1).scaleb(-2 if "." in value else 0)
        less, half, slip = number - step, (number / 2).quantize(step), number * 100
        yield from (f"{wrong:f}" for wrong in (less, half, slip) if wrong != number)
        return
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return
    for other in (moment + _LATER, moment - _LATER):
        yield other.date().isoformat() if len(value) == len("2026-01-01") else other.isoformat()


def misstated(message: str, value: FactValue) -> str:
    """Return a message with a typed fact made wrong; unchanged where it is not written in digits."""
    if value.money is not None:
        return _misstated_number(message, Decimal(value.money.split()[0]))
    if value.number is not None:
        return _misstated_number(message, value.number)
    if value.date is not None:
        day = date.fromisoformat(value.date)
        wrong = day + timedelta(days=1 if day.day < 28 else -1)  # noqa: PLR2004 - the last day of every month
        text = message.replace(day.isoformat(), wrong.isoformat())
        return re.sub(rf"(?<![\d.,:])0?{day.day}(?![\d,:])", str(wrong.day), text)
    return message.replace(value.id, f"{value.id}9") if value.id is not None else message


def _misstated_number(message: str, number: Decimal) -> str:
    def other(found: re.Match[str]) -> str:
        digits = re.sub(r"[^\d]", "", found.group())
        plain = re.sub(r"[^\d]", "", str(number))
        short = re.sub(r"[^\d]", "", f"{number.normalize():f}")
        if digits not in {plain, short}:
            return found.group()
        first = "2" if digits[0] == "1" else "1"
        return re.sub(r"\d", first, found.group(), count=1)

    return re.sub(r"\d+(?:[.,' \u00a0\u202f\u2019]\d+)*", other, message)
