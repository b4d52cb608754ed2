"""The shape of a baseline file, and what its numbers must agree on: a file that was edited badly is refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pytest_supportbench.counted import counted
from pytest_supportbench.scoring.model import EscalationClass
from pytest_supportbench.words import STRICT_DIMENSIONS, ZERO_TOLERANCE, Escalation, Slug, Text


def _sha256(value: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", value):
        msg = f"is {value[:80]!r}, which is no SHA-256 hash"
        raise ValueError(msg)
    return value


FAILING: Final = frozenset({"misrouted", "missed_escalation", "unnecessary_handoff", "abandoned"})
"""Escalation classes that fail escalation."""

Count = Annotated[int, Field(ge=0, le=10**6)]
Line = Annotated[str, Field(max_length=2_000)]
Sha256 = Annotated[str, AfterValidator(_sha256)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StoredSuite(_Strict):
    """A suite as it was: name, version, root hash, toolset."""

    name: Slug
    version: Line
    sha256: Sha256
    toolset: Line
    toolset_version: Line


class StoredConditions(_Strict):
    """What a later run must share; see `Conditions`."""

    suites: list[StoredSuite]
    scorer: Line
    trials: Annotated[int, Field(ge=1, le=10**6)]
    max_turns: Annotated[int, Field(ge=1, le=10**6)]
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    customer: dict[str, Any] | None


class StoredDimensions(_Strict):
    """How many trials passed each dimension."""

    resolution: Count
    policy: Count
    tool_use: Count
    escalation: Count


class StoredCase(_Strict):
    """One scenario's counts; see `CaseEvidence`. A baseline has no infrastructure errors."""

    suite: Slug
    scenario: Slug
    title: Text
    category: Line
    family: Slug
    expected_escalation: Escalation
    sha256: Sha256
    passed: Count
    scored: Count
    errors: Literal[0]
    repeats: bool
    dimensions: StoredDimensions
    zero_tolerance: dict[str, Annotated[Count, Field(ge=1)]]
    escalation: dict[EscalationClass, Annotated[Count, Field(ge=1)]]

    @model_validator(mode="after")
    def _agree(self) -> StoredCase:
        """Refuse counts that no run can have."""
        for text in self._contradictions():
            msg = f"{self.scenario}: {text}"
            raise ValueError(msg)
        return self

    def _contradictions(self) -> Iterator[str]:
        dimensions = [getattr(self.dimensions, name) for name in STRICT_DIMENSIONS]
        counts = (self.passed, *dimensions, *self.zero_tolerance.values(), sum(self.escalation.values()))
        if max(counts) > self.scored:
            yield f"a count is above scored, which is {self.scored}"
        least = self.scored - sum(self.scored - count for count in dimensions)
        if not least <= self.passed <= min(dimensions):
            yield f"passed is {self.passed}, which dimensions rule out"
        if self.repeats and (self.scored == 1 or not {self.passed, *dimensions} <= {0, self.scored}):
            yield "repeats is true, and its trials differ or are one"
        if unknown := self.zero_tolerance.keys() - ZERO_TOLERANCE - {"missed_escalation"}:
            yield f"zero_tolerance has no code {min(unknown)[:60]!r}"
        yield from self._unfailed()

    def _unfailed(self) -> Iterator[str]:
        """Yield what fails a dimension in more trials than that failed in.

        Each violation fails policy, but a missed escalation, which fails escalation; a rule of the suite's own may
        give that code to what fails policy.
        """
        failed = {name: self.scored - getattr(self.dimensions, name) for name in STRICT_DIMENSIONS}
        for code, count in sorted(self.zero_tolerance.items()):
            missed = code == "missed_escalation"
            most = failed["policy"] + (failed["escalation"] if missed else 0)
            if count > most:
                where = "escalation and policy" if missed else "policy"
                yield f"zero_tolerance has {code} in {counted(count, 'trial')}, and {where} failed in {most}"
        wrong = sum(count for kind, count in self.escalation.items() if kind in FAILING)
        if wrong > failed["escalation"]:
            yield f"escalation has {counted(wrong, 'trial')} that fail it, and it failed in {failed['escalation']}"


class StoredBaseline(_Strict):
    """The file's data."""

    supportbench_baseline: Literal[1]
    agent: Line
    fingerprint: dict[str, Any]
    conditions: StoredConditions
    scenarios: Annotated[list[StoredCase], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> StoredBaseline:
        """Refuse a scenario that stands there twice, of a suite that does not, or without all of its trials."""
        seen = Counter((case.suite, case.scenario) for case in self.scenarios)
        suites = {suite.name for suite in self.conditions.suites}
        trials = self.conditions.trials
        for case in self.scenarios:
            name = f"{case.suite}/{case.scenario}"
            if seen[case.suite, case.scenario] > 1:
                msg = f"scenarios has {name} twice"
            elif case.suite not in suites:
                msg = f"conditions.suites has no {case.suite!r}, and scenarios has {name}"
            elif case.scored != trials:
                msg = f"{name}: scored is {case.scored}, and conditions.trials {trials}"
            else:
                continue
            raise ValueError(msg)
        return self
