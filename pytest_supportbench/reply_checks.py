"""Whether a scenario's scripted replies name what exists, and whether each of them can ever be given."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_supportbench.expectations import check_arguments, tool_named
from pytest_supportbench.findings import Finding, entries, items, unknown_field
from pytest_supportbench.scenario import ScriptedReply

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_supportbench.vocabulary import Vocabulary

MAX_CONDITIONS: Final = 8
"""Where the replies for one slot have more different conditions, nobody looks whether one hides another."""


class _Condition(NamedTuple):
    """A call that a reply waits for, or ends with; each argument as canonical JSON."""

    tool: str
    args: frozenset[tuple[str, str]]

    def implies(self, other: _Condition) -> bool:
        """Tell whether every call that meets this condition meets ``other`` too."""
        return self.tool == other.tool and self.args >= other.args


def check_replies(data: dict[str, Any], known: Vocabulary, permitted: Collection[str]) -> Iterator[Finding]:
    """Yield what does not fit in the replies of a scenario's data; ``permitted`` are the scenario's tools."""
    replies = items(data.get("customer"), "replies")
    for index, reply in enumerate(replies):
        place = ("customer", "replies", index)
        yield from unknown_field(reply, "asked_for", place, known.slots, "slot")
        for field in ("after", "unless"):
            call = reply.get(field) if isinstance(reply, dict) else None
            if call is not None:
                yield from tool_named(call, (*place, field), known, permitted)
                yield from check_arguments(call, (*place, field), known, ())
    rows = [(index, reply) for index, reply in enumerate(replies) if isinstance(reply, dict)]
    for slot in dict.fromkeys(str(reply.get("asked_for")) for _, reply in rows):
        group = [(index, reply) for index, reply in rows if reply.get("asked_for") == slot]
        if not _is_always_given(group) and all(_is_sound(reply) for _, reply in group):
            yield from _reachable(group)


def _is_always_given(group: list[tuple[int, dict[str, Any]]]) -> bool:
    """Tell whether there is one reply for a slot and it waits for nothing, as most do."""
    return len(group) == 1 and all(group[0][1].get(name) is None for name in ("after", "unless"))


def _is_sound(reply: dict[str, Any]) -> bool:
    """Tell whether a reply has its conditions where they count; what else is wrong with it the models report."""
    calls = [reply[name] for name in ("after", "unless") if reply.get(name) is not None]
    named = all(isinstance(call, dict) and isinstance(call.get("tool"), str) for call in calls)
    return named and reply.keys() <= ScriptedReply.model_fields.keys()


def _reachable(rows: list[tuple[int, dict[str, Any]]]) -> Iterator[Finding]:
    """Yield the replies for one slot that no course of events leads to.

    A course of events is told by which conditions hold in the end; each reply without ``times`` answers for good in
    those that fit it, and leaves the others to the replies behind it.
    """
    conditions = list(
        dict.fromkeys(
            found for _, reply in rows for name in ("after", "unless") if (found := _condition(reply, name))
        )
    )
    if len(conditions) > MAX_CONDITIONS:
        return
    worlds = [
        held
        for chosen in product((False, True), repeat=len(conditions))
        if _consistent(held := dict(zip(conditions, chosen, strict=True)))
    ]
    left = worlds
    for index, reply in rows:
        place = ("customer", "replies", index)
        if not any(_fits(reply, held) for held in worlds):
            message = "can never be given: whatever meets its 'after' meets its 'unless' too"
            yield Finding(place, message, "drop one of the two, or name other arguments")
        elif not any(_fits(reply, held) for held in left):
            message = f"can never be given: the replies for {reply['asked_for'][:60]!r} before it always answer first"
            yield Finding(place, message, "move it up, or give one before it 'after', 'unless' or 'times'")
        if reply.get("times") is None:
            left = [held for held in left if not _fits(reply, held)]


def _condition(reply: dict[str, Any], field: str) -> _Condition | None:
    call = reply.get(field)
    if not isinstance(call, dict):
        return None
    args = {(str(name), json.dumps(value, sort_keys=True)) for name, value in entries(call, "args").items()}
    return _Condition(str(call.get("tool")), frozenset(args))


def _consistent(held: dict[_Condition, bool]) -> bool:
    return not any(held[one] and not held[other] for one in held for other in held if one.implies(other))


def _fits(reply: dict[str, Any], held: dict[_Condition, bool]) -> bool:
    after, unless = _condition(reply, "after"), _condition(reply, "unless")
    return (after is None or held[after]) and (unless is None or not held[unless])
