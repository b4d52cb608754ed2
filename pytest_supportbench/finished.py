"""What a report at the end of a run tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_supportbench.comparison import Paired
    from pytest_supportbench.judged import Judged
    from pytest_supportbench.summary import AgentSummary, Row


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run was: ``rows`` of scenario items by node id, counts, the gate's judgement, and what went wrong beside.

    ``failed`` counts failed tests and files that are no scenario's verdict; ``mistakes`` counts items by what kept them
    from running. ``baseline`` is its path as the user can type it, empty without one.
    """

    rows: Mapping[str, list[Row]]
    summaries: tuple[AgentSummary, ...]
    comparisons: tuple[Paired, ...]
    judged: Judged | None
    stopped: bool
    failed: int
    mistakes: Mapping[str, int]
    baseline: str
    path: Path
