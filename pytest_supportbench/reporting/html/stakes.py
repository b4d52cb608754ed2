"""What a scenario puts at stake, which the HTML report tells beside its episodes."""

from __future__ import annotations

from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.reporting.html.episodes import MAX_MESSAGE, MAX_SHORT, Json, cut


def stake_of(bound: BoundScenario) -> Json:
    """Return the failure mode that a scenario exposes, the policies that decide it, and what the customer wrote.

    It is JSON data, since it travels with a report; its texts are bounded.
    """
    scenario = bound.scenario
    texts = {policy.id: policy.text for policy in bound.suite.suite.policies}
    wanted = dict.fromkeys(name for outcome in scenario.expected for name in outcome.because)
    return {
        "failure_mode": scenario.failure_mode.code,
        "description": cut(scenario.failure_mode.description, MAX_SHORT),
        "policies": [[name, cut(texts[name], MAX_SHORT)] for name in wanted if name in texts],
        "customer": cut(scenario.customer.subject, MAX_SHORT),
        "message": cut(scenario.customer.message, MAX_MESSAGE),
        "history": [[entry.role, cut(entry.message, MAX_MESSAGE)] for entry in scenario.customer.history],
    }
