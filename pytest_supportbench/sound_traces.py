"""What an agent is said to have done, held against itself: replies, the calls made for them, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_DECIDED: Final = frozenset({"acted", "asked"})
"""Endings by the agent's own last turn."""


def trace_problem(line: Mapping[str, Any]) -> str:
    """Return where the trace of an episode line contradicts itself; empty where nothing does.

    Every call stands twice in it: in the turn that asked for it, and as it was executed. A call that stands once was
    taken away or put in later. An episode with an infrastructure error may have ended between the two, so it is not
    asked about. Raises `KeyError` and the like where the line lacks what every line has.
    """
    return next(_problems(line), "")


def _problems(line: Mapping[str, Any]) -> Iterator[str]:
    turns, calls = line["turns"], line["calls"]
    for number, turn in enumerate(turns, 1):
        made = [call for call in calls if call["turn"] == number]
        yield from _of_turn(number, turn["tool_calls"], made)
    strays = [call for call in calls if call["turn"] not in range(1, len(turns) + 1)]
    if strays:
        yield f"the call of {_short(strays[0]['tool'])} is of turn {_short(strays[0]['turn'])}, which is not there"
    decided = line["ending"] in _DECIDED
    last = turns[-1]["action"] if turns and decided else None
    if line["action"] != last:
        yield f"its action is {_short(line['action'])}, and that of the turn that ended it is {_short(last)}"
    for number, turn in enumerate(turns, 1):
        ends = number == len(turns)
        told = turn["customer_reply"] is not None or (ends and decided)
        unanswered = ends and not told  # a question whose answer never came is delivered all the same
        if turn["delivered"] != told and not unanswered:
            was = "was" if turn["delivered"] else "was not"
            yield f"the message of turn {number} {was} delivered, as it is stored, and what followed says otherwise"


def _of_turn(number: int, asked: Sequence[Any], made: Sequence[Any]) -> Iterator[str]:
    """Yield where the calls that a turn asked for are not those that were executed for it, in their order."""
    for place in range(max(len(asked), len(made))):
        want = _call(asked[place]) if place < len(asked) else None
        have = _call(made[place]) if place < len(made) else None
        if want == have:
            continue
        if have is None or want is None:
            tool = _short((want or have or ("",))[0])
            one, other = ("turns", "calls") if have is None else ("calls", "turns")
            yield f"the call of {tool} in turn {number} is among its {one} and not among its {other}"
            return
        what = f"{_short(want[0])} with {_short(want[1])}, and {_short(have[0])} with {_short(have[1])} was executed"
        yield f"call {place + 1} of turn {number} asked for {what}"
        return


def _call(call: Mapping[str, Any]) -> tuple[Any, Any]:
    return call["tool"], call["arguments"]


def _short(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - a part of one line of a terminal
