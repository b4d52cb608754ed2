"""Whether an ablation took anything away: a part that a scenario never shows makes no experiment."""

from __future__ import annotations

from collections.abc import Collection

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.records import Limits


def taken_away(bound: BoundScenario, without: Collection[str]) -> list[str]:
    """Return those parts, sorted, without which an agent's first observation of the scenario is another one."""
    limits = Limits()
    whole = Conversation(bound, limits, "").observation()
    return [
        part for part in sorted(without) if Conversation(bound, limits, "", [part]).observation() != whole
    ]
