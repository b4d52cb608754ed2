"""Scores an episode: five dimensions, all computed always, and the violations that their checks found."""

from __future__ import annotations

from pytest_supportbench.expected import Alternative
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.records import Episode
from pytest_supportbench.scoring.assignment import Assignment, assign, informing
from pytest_supportbench.scoring.context import Judgement
from pytest_supportbench.scoring.escalation import classify, score_escalation
from pytest_supportbench.scoring.explanation import score_explanation
from pytest_supportbench.scoring.model import (
    Basis,
    Check,
    DimensionScore,
    EscalationClass,
    Score,
    Violation,
    brief,
)
from pytest_supportbench.scoring.policy import score_policy
from pytest_supportbench.scoring.reading import Reading
from pytest_supportbench.scoring.resolution import score_resolution
from pytest_supportbench.scoring.tool_use import score_tool_use
from pytest_supportbench.words import DIMENSIONS, Dimension

__all__ = [
    "Basis",
    "Check",
    "DimensionScore",
    "EscalationClass",
    "Score",
    "Violation",
    "brief",
    "escalation_class",
    "score_episode",
]

SCORER_VERSION = "5"
"""Grows whenever the same trace could score differently; results name it, and a gate refuses to mix."""


def score_episode(bound: BoundScenario, episode: Episode) -> Score:
    """Return the score of a finished episode that has no infrastructure error.

    Where a scenario has several alternatives, one must hold entirely: the first that gives a strict pass counts,
    otherwise the one with the most dimensions passed, the earlier one on ties.
    """
    best: Score | None = None
    told = Reading("\n\n".join(episode.delivered))
    for alternative in bound.scenario.expected:
        score = _score(bound, episode, alternative, told)
        if score.strict:
            return score
        if best is None or len(score.failed_dimensions) < len(best.failed_dimensions):
            best = score
    assert best is not None
    return best


def escalation_class(bound: BoundScenario, episode: Episode) -> EscalationClass:
    """Return an episode's escalation class alone, without the cost of the other dimensions where they do not matter.

    Whether the case was resolved matters only where nobody handed it off.
    """
    if len(bound.scenario.expected) > 1 or not any(call.handoff and call.committed for call in episode.calls):
        return score_episode(bound, episode).escalation_class
    alternative = bound.scenario.expected[0]
    routed = alternative.escalation == "must"
    assignment = _assigned(bound, episode, alternative) if routed else Assignment((), (), ())
    return classify(Judgement(bound, episode, alternative, assignment, Reading("")), resolved=False)


def _score(bound: BoundScenario, episode: Episode, alternative: Alternative, told: Reading) -> Score:
    assignment = _assigned(bound, episode, alternative)
    judged = Judgement(bound, episode, alternative, assignment, told)
    resolution = score_resolution(judged)
    escalation, kind = score_escalation(judged, resolved=resolution.passed)
    scores = (resolution, score_policy(judged), score_tool_use(judged), escalation, score_explanation(judged))
    dimensions: dict[Dimension, DimensionScore] = dict(zip(DIMENSIONS, scores, strict=True))
    return Score(dimensions, kind, _violations(scores))


def _assigned(bound: BoundScenario, episode: Episode, alternative: Alternative) -> Assignment:
    calls = informing(episode.calls, episode.turns[-1].number if episode.turns else 0)
    return assign(alternative.calls, calls, bound.suite.toolset.specs)


def _violations(scores: tuple[DimensionScore, ...]) -> tuple[Violation, ...]:
    return tuple(
        Violation(check.code, check.basis, check.actual)
        for score in scores
        for check in score.failures
        if check.code is not None
    )
