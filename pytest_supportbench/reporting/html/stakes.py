"""What a scenario puts at stake, from its file."""

from __future__ import annotations

from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.reporting.html.episodes import Stake


def stake_of(bound: BoundScenario, path: str) -> Stake:
    """Return the failure mode that a scenario exposes, the policies that decide it, and what the customer wrote."""
    scenario = bound.scenario
    texts = {policy.id: policy.text for policy in bound.suite.suite.policies}
    wanted = dict.fromkeys(name for outcome in scenario.expected for name in outcome.because)
    return Stake(
        path=path,
        failure_mode=scenario.failure_mode.code,
        description=scenario.failure_mode.description,
        policies=tuple((name, texts[name]) for name in wanted if name in texts),
        customer=scenario.customer.subject,
        message=scenario.customer.message,
        history=tuple((entry.role, entry.message) for entry in scenario.customer.history),
    )
