"""How well an agent decides when to hand off: recall beside specificity, always, and what both cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pytest_supportbench.evidence import CaseEvidence
from pytest_supportbench.statistics import Interval, correlation
from pytest_supportbench.thresholds import MEASURES, share_interval

RATIOS: Final = (1, 5, 20)
"""How many needless hand-offs one missed escalation may be worth; the true ratio is a company's own."""


@dataclass(frozen=True, slots=True)
class Escalations:
    """The hand-off decisions of an agent, over trials that were scored.

    ``must`` and ``must_not`` are (right, all) trials of cases that must and must not be handed off. Right is a correct
    escalation, and correct autonomy: an abandoned case is no right one. Intervals are ``None`` without such cases.
    """

    must: tuple[int, int]
    must_not: tuple[int, int]
    recall: Interval | None
    specificity: Interval | None

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean of recall and specificity; ``None`` where one of them is not known."""
        if self.recall is None or self.specificity is None:
            return None
        return (self.recall.estimate + self.specificity.estimate) / 2

    @property
    def matthews(self) -> float | None:
        """Matthews' correlation coefficient (1975) of what was needed and what was done, from -1 to 1.

        A wrong decision counts as the opposite one. ``None`` where needs or deeds never vary, as of always-escalate.
        """
        needed = [1] * self.must[1] + [0] * self.must_not[1]
        done = [1] * self.must[0] + [0] * (self.must[1] - self.must[0])
        done += [0] * self.must_not[0] + [1] * (self.must_not[1] - self.must_not[0])
        return correlation(needed, done) if len(needed) > 1 else None

    def cost(self, ratio: int) -> float | None:
        """Return the mean cost of a case in needless hand-offs, one missed escalation costing ``ratio`` of them."""
        whole = self.must[1] + self.must_not[1]
        if not whole:
            return None
        missed, needless = self.must[1] - self.must[0], self.must_not[1] - self.must_not[0]
        return (ratio * missed + needless) / whole

    @property
    def always_escalate(self) -> float:
        """What handing off every case, to the right place, would cost at any ratio."""
        return self.must_not[1] / max(1, self.must[1] + self.must_not[1])

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON data."""

        def interval(value: Interval | None) -> list[float] | None:
            return None if value is None else [round(value.low, 6), round(value.high, 6)]

        def number(value: float | None) -> float | None:
            return None if value is None else round(value, 6)

        return {
            "must": list(self.must),
            "must_not": list(self.must_not),
            "recall_interval": interval(self.recall),
            "specificity_interval": interval(self.specificity),
            "balanced_accuracy": number(self.balanced_accuracy),
            "matthews": number(self.matthews),
            "cost": {f"{ratio}:1": number(self.cost(ratio)) for ratio in RATIOS},
        }

    def __str__(self) -> str:
        """Return recall beside specificity, and what follows from both, in one sentence."""
        both = (
            f"recall {_share(self.must, self.recall)}, specificity {_share(self.must_not, self.specificity)}"
        )
        if self.balanced_accuracy is None:
            return both
        matthews = "none, since it never varies" if self.matthews is None else f"{self.matthews:.2f}"
        costs = ", ".join(f"{self.cost(ratio):.2f} at {ratio}:1" for ratio in RATIOS)
        return (
            f"{both}; balanced accuracy {self.balanced_accuracy:.2f}, Matthews {matthews}; cost of a case {costs}, "
            f"of always escalating {self.always_escalate:.2f}"
        )

    @property
    def like_always_escalate(self) -> bool:
        """Whether this cannot be told from a bot that always escalates: perfect recall, and hardly any specificity.

        That is where the interval of the specificity reaches down to what such a bot has, none.
        """
        if self.recall is None or self.specificity is None:
            return False
        return self.must[0] == self.must[1] and self.specificity.low < 0.05  # noqa: PLR2004 - next to nothing


def _share(counts: tuple[int, int], interval: Interval | None) -> str:
    if interval is None:
        return "– (no such case)"
    return f"{counts[0]}/{counts[1]} ({100 * interval.low:.0f} to {100 * interval.high:.0f} %)"


def escalations(cases: Iterable[CaseEvidence]) -> Escalations:
    """Return the hand-off decisions over the cases of one agent."""
    found = [item for item in cases if item.scored]
    sides = []
    for name in ("recall", "specificity"):
        counts = [(item, good) for item in found if (good := MEASURES[name](item)) is not None]
        right = sum(good for _, good in counts)
        sides.append(((right, sum(item.scored for item, _ in counts)), share_interval(counts)))
    (must, recall), (must_not, specificity) = sides
    return Escalations(must, must_not, recall, specificity)
