"""Tool use: was each required call made and committed, with matching arguments, in the required order?"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_supportbench.expected import RequiredCall
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.matchers import describe
from pytest_supportbench.scoring.assignment import why_not
from pytest_supportbench.scoring.context import Judgement, call_text, outcome_text
from pytest_supportbench.scoring.model import Check, DimensionScore, brief


def score_tool_use(judged: Judgement) -> DimensionScore:
    """Judge required calls, their order, and writes beyond them; extra permitted reads are free."""
    checks = [*_required(judged), *order_checks(judged), _extra(judged)]
    return DimensionScore("tool_use", tuple(checks))


def required_text(call: RequiredCall) -> str:
    """Return a required call in one line."""
    args = ", ".join(f"{name}={describe(value)}" for name, value in call.args.items())
    return f"{call.tool}({args}){' tried' if call.attempt else ''}"


def _required(judged: Judgement) -> Iterator[Check]:
    wanted = judged.bound.derived(_required_texts)
    for need, call in zip(judged.assignment.required, judged.assignment.met, strict=True):
        yield Check(
            f"call:{need.id or need.tool}",
            call is not None,
            wanted[id(need)],
            brief(call_text(call)) if call else brief(_nearest(judged, need)),
            "the outcome counts only if the system really did it",
        )


def _required_texts(bound: BoundScenario) -> dict[int, str]:
    """Return each required call in one line, by its identity: the scenario holds it as long as this."""
    return {id(need): brief(required_text(need)) for other in bound.scenario.expected for need in other.calls}


def _nearest(judged: Judgement, need: RequiredCall) -> str:
    """Return the most telling reason why no call met ``need``."""
    same = [call for call in judged.episode.calls if call.tool == need.tool]
    if not same:
        return f"{need.tool} was never called"
    free = [call for call in same if call.number not in judged.assignment.consumed]
    last = judged.episode.turns[-1].number
    if all(call.effect == "reads" and call.turn == last for call in free) and free:
        return f"{call_text(free[0])}: read in the last turn, where its result came too late"
    if not free:
        times = {1: "once", 2: "twice"}.get(len(same), f"{len(same)} times")
        return f"{need.tool} was called {times}; one more call was required"
    call = next((call for call in free if call.done), free[-1])
    reason = why_not(need, call, judged.specs)
    if reason is None:
        reason = outcome_text(call) if not call.done else "it came at the wrong time or for another object"
    return f"{call_text(call)}: {reason}"


def order_checks(judged: Judgement) -> Iterator[Check]:
    """Yield a check for each required call with ``after``: plain constraints are the order of commits."""
    assignment = judged.assignment
    for number, (need, call) in enumerate(zip(assignment.required, assignment.met, strict=True)):
        if not need.after or call is None:
            continue
        late = number in assignment.out_of_order
        yield Check(
            f"order:{need.id or need.tool}",
            not late,
            f"{need.tool} after {', '.join(need.after)}",
            f"call {call.number} came too early" if late else "in order",
            "what comes first decides whether the later call is right",
        )


def _extra(judged: Judgement) -> Check:
    alternative = judged.alternative
    consumed = judged.assignment.consumed
    routed = any(judged.specs[need.tool].handoff for need in alternative.calls)
    extra = [
        call
        for call in judged.episode.calls
        if call.committed
        and call.number not in consumed
        and call.tool not in alternative.also_allowed
        and not (call.handoff and _handoff_is_free(judged, routed=routed))
    ]
    return Check(
        "extra_writes",
        not extra,
        "no write beyond the required ones",
        brief("; ".join(call_text(call) for call in extra[:4])) if extra else "none",
        "every write changes something for the customer",
    )


def _handoff_is_free(judged: Judgement, *, routed: bool) -> bool:
    """Tell whether one hand-off may come without being a required call: where none is described."""
    return judged.alternative.escalation != "must_not" and not routed and len(judged.handoffs) == 1
