"""What a gate is told beforehand: its level, its margin and its bounds. Nothing here depends on what a run shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pytest_supportbench.errors import UsageError

GateVerdict: TypeAlias = Literal["PASS", "REGRESSED", "INCONCLUSIVE"]

EXIT: Final[dict[GateVerdict, int]] = {"PASS": 0, "REGRESSED": 1, "INCONCLUSIVE": 11}

MAX_FRESH: Final = 20
"""The most fresh trials of a candidate; a rule that needed more would cost more than it tells."""

DETERMINISTIC_FRESH: Final = 3
DETERMINISTIC_FAILED: Final = 5
"""Of a deterministic agent's candidate at least three fresh trials, and five of today's in all, must fail.

However unsure the scenarios of an agent are that has shown no variation in two trials each, that happens in less than
2 % of runs: the most is 1.9 %, with two scenarios that fail three times of four.
"""


LEAST_WITH_MARGIN: Final = 0.001
"""The lowest level beside a margin, which is judged by resampling: lower ones would need millions of resamples."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The declared decision rule.

    ``alpha`` is the false-alarm level of the whole gate but for zero tolerance, which prints its own; it is split 40 to
    40 to 20 over the steps for scenarios, the aggregate and the dimensions. ``margin`` is the drop of the pass rate (0
    to 1) that is tolerated. ``max_errors`` is the share of trials that may end in infrastructure errors. Raises
    `UsageError` for a number that would switch the gate off.
    """

    alpha: float = 0.05
    margin: float = 0.0
    max_errors: float = 0.02

    def __post_init__(self) -> None:
        """Refuse what is no level, no margin or no share."""
        for name, value, inside in (
            ("alpha", self.alpha, 0 < self.alpha < 1),
            ("margin", self.margin, 0 <= self.margin < 1),
            ("max_errors", self.max_errors, 0 <= self.max_errors < 1),
        ):
            if not inside:
                zero = "above 0" if name == "alpha" else "at least 0"
                raise UsageError(f"{name} is {value}; give a number {zero} and below 1, such as 0.05")
        if self.margin and self.alpha < LEAST_WITH_MARGIN:
            msg = (
                f"alpha is {self.alpha}, and with a margin no interval can tell less than {LEAST_WITH_MARGIN}"
            )
            raise UsageError(f"{msg}; give a level of at least {LEAST_WITH_MARGIN}, or drop the margin")

    @property
    def alpha_scenarios(self) -> float:
        """The level of the step that looks at single scenarios."""
        return 0.4 * self.alpha

    @property
    def alpha_aggregate(self) -> float:
        """The level of the step that looks at all scenarios together."""
        return 0.4 * self.alpha

    @property
    def alpha_dimensions(self) -> float:
        """The level of the step that looks at the four dimensions."""
        return 0.2 * self.alpha


@dataclass(frozen=True, slots=True)
class Reason:
    """What one step of a gate found. ``blocks`` is the verdict that it forces, ``None`` where it only tells.

    ``infrastructure`` tells that another try may cure it: errors of the run, or that it is a mere part of one.
    """

    step: Literal[
        "comparable",
        "integrity",
        "quarantine",
        "zero_tolerance",
        "scenarios",
        "aggregate",
        "dimensions",
        "areas",
    ]
    text: str
    blocks: GateVerdict | None = None
    infrastructure: bool = False


def failing_trials(trials: int) -> int:
    """Return how many of ``trials`` must fail for a candidate: more than half."""
    return trials // 2 + 1
