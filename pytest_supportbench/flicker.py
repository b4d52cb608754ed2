"""Repeated runs of one unchanged agent (A/A): how often the gate would cry wolf, and which scenarios flicker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from pytest_supportbench.comparable import what_changed
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import Case, Evidence
from pytest_supportbench.gate import decide
from pytest_supportbench.gate_rules import Rules


@dataclass(frozen=True, slots=True)
class Flicker:
    """A scenario of which some trials passed and some failed, over all runs; ``runs`` has the counts by run."""

    case: Case
    passed: int
    scored: int
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """What runs of one agent show. Each ordered pair of runs is one comparison; ``verdicts`` counts their verdicts.

    ``reasons`` counts what stood against a PASS, by step. Pairs share runs, so they are no independent sample.
    """

    runs: int
    verdicts: dict[str, int]
    reasons: dict[str, int]
    flickering: tuple[Flicker, ...]
    scenarios: int

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON data."""
        return {
            "runs": self.runs,
            "comparisons": sum(self.verdicts.values()),
            "verdicts": self.verdicts,
            "reasons": self.reasons,
            "scenarios": self.scenarios,
            "flickering": [
                {
                    "scenario": "/".join(item.case),
                    "passed": item.passed,
                    "scored": item.scored,
                    "runs": [list(counts) for counts in item.runs],
                }
                for item in self.flickering
            ],
        }


def unchanged(runs: Sequence[Evidence], rules: Rules) -> Unchanged:
    """Compare each run with each other one. Raises `UsageError` for fewer than two, for one twice, or other agents."""
    if len(runs) < 2:  # noqa: PLR2004 - a comparison is of two
        msg = "an A/A check needs at least two runs of one agent; name their results files"
        raise UsageError(msg)
    seen = Counter(run.run for run in runs if run.run)
    if twice := [name for name, times in seen.items() if times > 1]:
        msg = f"the run {twice[0]!r} is there twice, and agrees with itself; name files of runs of their own"
        raise UsageError(msg)
    for other in runs[1:]:
        if changed := what_changed(runs[0], other):
            msg = (
                f"these are runs of different agents ({'; '.join(changed)[:300]}); repeat one agent unchanged"
            )
            raise UsageError(msg)
    verdicts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for before, now in permutations(runs, 2):
        decision = decide(before, now, rules)
        verdicts[decision.verdict] += 1
        reasons.update({reason.step for reason in decision.reasons if reason.blocks})
    return Unchanged(
        len(runs),
        dict(sorted(verdicts.items())),
        dict(sorted(reasons.items())),
        tuple(_flickering(runs)),
        len(set().union(*(run.cases for run in runs))),
    )


def _flickering(runs: Sequence[Evidence]) -> Iterator[Flicker]:
    for case in sorted(set().union(*(run.cases for run in runs))):
        counts = tuple((run.cases[case].passed, run.cases[case].scored) for run in runs if case in run.cases)
        passed, scored = (sum(column) for column in zip(*counts, strict=True))
        if 0 < passed < scored:
            yield Flicker(case, passed, scored, counts)
