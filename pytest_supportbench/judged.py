"""What a gated run was judged to be, by its baseline, by thresholds, or by both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_supportbench.gate import Decision
from pytest_supportbench.gate_rules import EXIT
from pytest_supportbench.thresholds import Measured


@dataclass(frozen=True, slots=True)
class Judged:
    """What a run was judged to be: the gate's decision, the thresholds, or both. ``agent`` is whose."""

    agent: str
    decision: Decision | None
    measured: tuple[Measured, ...]
    complete: bool

    @property
    def exit_status(self) -> int:
        """1 for a regression or a threshold that is missed, 11 where the run cannot tell, else 0."""
        found = {self.decision.exit_status} if self.decision else set()
        if self.measured:
            found.add(0 if all(item.holds for item in self.measured) else 1)
            found |= set() if self.complete else {EXIT["INCONCLUSIVE"]}
        return next((status for status in (1, EXIT["INCONCLUSIVE"]) if status in found), 0)

    def to_json(self) -> dict[str, Any]:
        """Return the judgement as JSON data for the closing line."""
        return {
            "agent": self.agent,
            "decision": self.decision.to_json() if self.decision else None,
            "thresholds": [item.to_json() for item in self.measured],
            "exit_status": self.exit_status,
        }
