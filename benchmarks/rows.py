"""What a row of the results is: a target, what was measured, and how far the one is from the other."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from benchmarks.contest import Heats


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure: the median of ``values``, one a round, in ``unit``; ``limit`` is at most, or with ``least`` at least.

    Without a limit it is only told. ``why`` says in place of values that there is nothing to measure.
    """

    what: str
    unit: str
    values: tuple[float, ...] = ()
    limit: float | None = None
    least: bool = False
    why: str = ""

    def figure(self) -> float | None:
        """Return the median, or None without values."""
        return statistics.median(self.values) if self.values else None

    def met(self) -> bool | None:
        """Tell whether the median keeps to the limit; None if there is no limit or no value."""
        figure = self.figure()
        if figure is None or self.limit is None:
            return None
        return figure >= self.limit if self.least else figure <= self.limit


@dataclass(frozen=True, slots=True)
class Row:
    """Findings about one target, with the samples behind them: seconds, CPU seconds and MB by contestant and round.

    ``rounds`` is how often each figure was taken.
    """

    name: str
    title: str
    target: str
    findings: tuple[Finding, ...]
    rounds: int = 1
    note: str = ""
    commands: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)

    def stored(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return asdict(self)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored row; keys of its surroundings, such as the date, are left out."""
        findings = tuple(
            Finding(**{**found, "values": tuple(found["values"])}) for found in stored["findings"]
        )
        own = {name: stored[name] for name in cls.__dataclass_fields__ if name in stored}
        return cls(**{**own, "findings": findings})


def samples(heats: Heats, *names: str) -> dict[str, dict[str, list[float]]]:
    """Return what was measured of the named contestants, or of all."""
    return {
        name: {
            "seconds": [round(done.seconds, 4) for done in runs],
            "cpu": [round(done.cpu, 4) for done in runs],
            "peak_mb": [round(done.peak_mb, 2) for done in runs],
        }
        for name, runs in heats.runs.items()
        if not names or name in names
    }
