"""What a gate is told beforehand: its level, its margin and its bounds. Nothing here depends on what a run shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

GateVerdict: TypeAlias = Literal["PASS", "REGRESSED", "INCONCLUSIVE"]

EXIT: Final[dict[GateVerdict, int]] = {"PASS": 0, "REGRESSED": 1, "INCONCLUSIVE": 11}

MAX_FRESH: Final = 20
"""The most fresh trials of a candidate; a rule that needed more would cost more than it tells."""

DETERMINISTIC_CASES: Final = 20
"""So many scenarios must have shown no variation at all before an agent counts as deterministic."""

DETERMINISTIC_FRESH: Final = 3
"""Fresh trials of a deterministic agent's candidate: all must fail alike. The false-alarm rate is then below 0.02."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The declared decision rule.

    ``alpha`` is the false-alarm level of the whole gate but for zero tolerance, which prints its own; it is split 40 to
    40 to 20 over the steps for scenarios, the aggregate and the dimensions. ``margin`` is the drop of the pass rate (0
    to 1) that is tolerated. ``max_errors`` is the share of trials that may end in infrastructure errors.
    """

    alpha: float = 0.05
    margin: float = 0.0
    max_errors: float = 0.02

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
    """What one step of a gate found. ``blocks`` is the verdict that it forces, ``None`` where it only tells."""

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


def failing_trials(trials: int) -> int:
    """Return how many of ``trials`` must fail for a candidate: more than half."""
    return trials // 2 + 1
