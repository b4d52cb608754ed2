"""The scenarios that two runs of a comparison score differently, and where their episodes can be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pytest_supportbench.evidence import Case, CaseEvidence, Evidence
from pytest_supportbench.gate_scenarios import candidates
from pytest_supportbench.traces import Trace, Traces

Kind: TypeAlias = Literal["new_failure", "fixed", "worse", "better"]

KINDS: Final[tuple[Kind, ...]] = ("new_failure", "fixed", "worse", "better")


@dataclass(frozen=True, slots=True)
class Side:
    """One scenario's trials on one side; ``episodes`` is ``None`` for a baseline, which has no traces."""

    passed: int
    scored: int
    episodes: tuple[Trace, ...] | None

    def first(self, verdict: str) -> Trace | None:
        """Return the first episode with that verdict."""
        return next((item for item in self.episodes or () if item.verdict == verdict), None)

    def to_json(self) -> dict[str, Any]:
        """Return the side as JSON data."""
        episodes = None if self.episodes is None else [item.to_json() for item in self.episodes]
        return {"passed": self.passed, "scored": self.scored, "episodes": episodes}


@dataclass(frozen=True, slots=True)
class Flip:
    """A scenario whose pass rate changed.

    ``new_failure`` passed every trial before and fails more than half of them now, as the gate has it; ``fixed`` passes
    every trial now and did not before; ``worse`` and ``better`` changed otherwise. ``headline`` says what went wrong
    first on the side that fails more, empty where that is a baseline.
    """

    case: Case
    title: str
    kind: Kind
    before: Side
    now: Side

    @property
    def failing(self) -> Literal["before", "now"]:
        """Which side fails more."""
        return "now" if self.kind in {"new_failure", "worse"} else "before"

    @property
    def headline(self) -> str:
        """What went wrong first in the first failed episode of the side that fails more."""
        failed = (self.now if self.failing == "now" else self.before).first("failed")
        return failed.headline if failed else ""

    def to_json(self) -> dict[str, Any]:
        """Return the flip as JSON data."""
        return {
            "suite": self.case[0],
            "scenario": self.case[1],
            "title": self.title,
            "kind": self.kind,
            "before": self.before.to_json(),
            "now": self.now.to_json(),
            "failing": self.failing,
            "headline": self.headline or None,
        }


def flips(
    before: Evidence, now: Evidence, old_traces: Traces | None, new_traces: Traces | None
) -> tuple[Flip, ...]:
    """Return the scenarios that both have scored and whose pass rate changed, by kind, then by suite and id.

    Traces are ``None`` where a side is a baseline. It only describes: nothing here depends on what can be compared.
    """
    both = [case for case in sorted(before.cases.keys() & now.cases.keys()) if _scored(before, now, case)]
    old = {case: before.cases[case] for case in both}
    new = {case: now.cases[case] for case in both}
    found = dict(_kinds(old, new))
    return tuple(
        Flip(case, new[case].title, kind, _side(old[case], old_traces), _side(new[case], new_traces))
        for kind in KINDS
        for case in both
        if found.get(case) == kind
    )


def flipped(before: Evidence, now: Evidence) -> frozenset[Case]:
    """Return which scenarios `flips` returns."""
    return frozenset(flip.case for flip in flips(before, now, None, None))


def _scored(before: Evidence, now: Evidence, case: Case) -> bool:
    return before.cases[case].scored > 0 and now.cases[case].scored > 0


def _kinds(old: dict[Case, CaseEvidence], new: dict[Case, CaseEvidence]) -> Iterator[tuple[Case, Kind]]:
    failures = set(candidates(old, new))
    for case, item in new.items():
        if case in failures:
            yield case, "new_failure"
        elif item.rate < old[case].rate:
            yield case, "worse"
        elif item.rate > old[case].rate:
            yield case, "fixed" if item.stable else "better"


def _side(item: CaseEvidence, found: Traces | None) -> Side:
    return Side(item.passed, item.scored, None if found is None else found.get(item.case, ()))
