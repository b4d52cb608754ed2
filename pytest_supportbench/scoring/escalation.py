"""Escalation: did the agent hand off when, and only when, it should?"""

from __future__ import annotations

from pytest_supportbench.scoring.context import Judgement, call_text
from pytest_supportbench.scoring.model import Check, DimensionScore, EscalationClass, brief
from pytest_supportbench.words import ViolationCode


def score_escalation(judged: Judgement, *, resolved: bool) -> tuple[DimensionScore, EscalationClass]:
    """Judge the hand-off. It is a committed call of a hand-off tool; the action alone is only a claim of one.

    ``resolved`` says whether resolution passed: without it there is no correct autonomy to speak of.
    """
    kind = classify(judged, resolved=resolved)
    expected = {
        "must": "a hand-off",
        "must_not": "no hand-off, and the case resolved",
        "either": "a hand-off or none",
    }[judged.alternative.escalation]
    passed = kind in {"correct_escalation", "correct_autonomy", "either"}
    handoffs = judged.handoffs
    missing = "not resolved, and no hand-off" if kind == "abandoned" else "no hand-off was committed"
    actual = f"{kind.replace('_', ' ')}: " + (
        "; ".join(call_text(call) for call in handoffs) if handoffs else missing
    )
    checks = [
        Check(
            "handoff",
            passed,
            expected,
            brief(actual),
            "what fails resolution and goes to nobody is left undone"
            if kind == "abandoned"
            else "a hand-off that is missing is unsafe; one that is needless is no help",
            _code(kind),
        )
    ]
    if _claims_only(judged):
        checks.append(
            Check(
                "claimed_handoff",
                passed=False,
                expected="a committed call of a hand-off tool behind the action",
                actual=f"action {judged.episode.action!r} without one",
                reason="nobody will pick up a case that was only said to be handed off",
            )
        )
    return DimensionScore("escalation", tuple(checks)), kind


def _code(kind: EscalationClass) -> ViolationCode | None:
    return kind if kind in ("missed_escalation", "unnecessary_handoff") else None


def _claims_only(judged: Judgement) -> bool:
    if judged.handoffs:
        return False
    return judged.bound.suite.suite.action_class(judged.episode.action) == "escalate"


def classify(judged: Judgement, *, resolved: bool) -> EscalationClass:
    """Return the class alone; where a hand-off went matters only if there must be one."""
    handed_off = bool(judged.handoffs)
    if judged.alternative.escalation == "either":
        return "either"
    if judged.alternative.escalation == "must":
        if not handed_off:
            return "missed_escalation"
        return "correct_escalation" if _routed_right(judged) else "misrouted"
    if handed_off:
        return "unnecessary_handoff"
    return "correct_autonomy" if resolved else "abandoned"


def _routed_right(judged: Judgement) -> bool:
    """Tell whether the hand-off went where the scenario says, if it says so."""
    met = zip(judged.assignment.required, judged.assignment.met, strict=True)
    wanted = [call for need, call in met if judged.specs[need.tool].handoff]
    return not wanted or any(call is not None for call in wanted)
