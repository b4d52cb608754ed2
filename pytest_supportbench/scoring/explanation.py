"""Explanation: the share of concepts that the delivered messages mention. Part of no strict pass."""

from __future__ import annotations

from pytest_supportbench.scoring.context import Judgement
from pytest_supportbench.scoring.model import Check, DimensionScore
from pytest_supportbench.scoring.phrases import those_affirmed


def score_explanation(judged: Judgement) -> DimensionScore:
    """Look for each concept's phrases, un-negated, in what the customer got."""
    language = judged.scenario.customer.language
    checks = []
    for concept in judged.alternative.explanation:
        found = next(those_affirmed(judged.told, concept.any_of, language), None)
        checks.append(
            Check(
                f"concept:{concept.concept}",
                found is not None,
                f"any of: {', '.join(concept.any_of)}",
                f"{found!r}" if found else "not mentioned",
                "the customer should understand what was done and why",
                basis="text",
            )
        )
    share = sum(check.passed is True for check in checks) / len(checks) if checks else None
    return DimensionScore("explanation", tuple(checks), share)
