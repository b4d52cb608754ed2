"""What the gate's options come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from pytest_supportbench.evidence import Evidence
    from pytest_supportbench.gate_rules import Rules
    from pytest_supportbench.quarantine import Entry
    from pytest_supportbench.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What a run is judged by: ``baseline``, ``thresholds`` or both. ``today`` is the day for the quarantine's ends."""

    baseline: Evidence | None
    baseline_path: Path | None
    rules: Rules
    quarantine: tuple[Entry, ...]
    thresholds: Thresholds | None
    summary: Path | None
    today: date
