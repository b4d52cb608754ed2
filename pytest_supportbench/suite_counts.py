"""How many scenarios of a suite there are of each kind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.whole_suite import WholeSuite


def counts_by_kind(whole: WholeSuite) -> dict[str, dict[str, int]]:
    """Return the number of scenarios by ``category``, ``tag``, ``outcome`` and so on, names in order.

    ``outcome`` is the class of an action that is right; a scenario counts once under each class, tag, currency and
    kind of fault that it has.
    """
    by_kind: dict[str, Counter[str]] = {
        name: Counter()
        for name in ("category", "tag", "outcome", "escalation", "language", "currency", "fault")
    }
    for bound in whole.scenarios:
        scenario = bound.scenario
        by_kind["category"][scenario.category] += 1
        by_kind["tag"].update(set(scenario.tags))
        by_kind["outcome"].update(set(_outcomes(bound)))
        by_kind["escalation"][scenario.escalation] += 1
        by_kind["language"][scenario.customer.language] += 1
        by_kind["currency"].update(set(_currencies(scenario.state)))
        by_kind["fault"].update({fault.kind for fault in scenario.faults})
    return {name: dict(sorted(counter.items())) for name, counter in by_kind.items()}


def totals(whole: WholeSuite) -> dict[str, int]:
    """Return how many scenarios, pairs of twins, counterexamples, policies and articles a suite has."""
    scenarios = [bound.scenario for bound in whole.scenarios]
    suite = whole.bound.suite
    return {
        "scenarios": len(scenarios),
        "twin_pairs": len({frozenset((one.id, one.twin)) for one in scenarios if one.twin}),
        "counterexamples": sum(len(one.counterexamples) for one in scenarios),
        "policies": len(suite.policies),
        "articles": len(suite.knowledge),
    }


def _outcomes(bound: BoundScenario) -> Iterable[str]:
    for alternative in bound.scenario.expected:
        for action in alternative.actions:
            kind = bound.suite.suite.action_class(action)
            if kind is not None:
                yield kind


def _currencies(value: Any) -> Iterator[str]:
    """Yield the values of all fields that are called ``currency``."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "currency" and isinstance(inner, str):
                yield inner
            else:
                yield from _currencies(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _currencies(inner)
