"""The blessed result that later runs are gated against: a small sorted file that people review in a diff."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import CaseEvidence, Conditions, Evidence

VERSION: Final = 1
MAX_BYTES: Final = 20_000_000

Count = Annotated[int, Field(ge=0, le=10**9)]
Line = Annotated[str, Field(max_length=2_000)]

UNSHARED: Final = frozenset({"host", "cassette", "record", "replayed", "digest_checked", "prompt_path", "id"})
"""What a fingerprint says of the machine or of the way it was run, so that two machines write equal baselines."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StoredSuite(_Strict):
    """A suite as it was: name, version, root hash, toolset."""

    name: Line
    version: Line
    sha256: Line
    toolset: Line
    toolset_version: Line


class StoredConditions(_Strict):
    """What a later run must share; see `Conditions`."""

    suites: list[StoredSuite]
    scorer: Line
    trials: Annotated[int, Field(ge=1)]
    max_turns: Annotated[int, Field(ge=1)]
    timeout: Annotated[float, Field(gt=0)]
    customer: dict[str, Any] | None


class StoredCase(_Strict):
    """One scenario's counts; see `CaseEvidence`."""

    suite: Line
    scenario: Line
    title: Line
    category: Line
    family: Line
    expected_escalation: Literal["must", "must_not", "either"]
    sha256: Line
    passed: Count
    scored: Count
    errors: Count
    repeats: bool
    dimensions: dict[Line, Count]
    zero_tolerance: dict[Line, Count]
    escalation: dict[Line, Count]

    @model_validator(mode="after")
    def _counts(self) -> StoredCase:
        counts = (self.passed, *self.dimensions.values(), *self.zero_tolerance.values())
        if max(counts) > self.scored or sum(self.escalation.values()) > self.scored:
            msg = f"{self.scenario}: a count is above its scored trials ({self.scored})"
            raise ValueError(msg)
        return self


class StoredBaseline(_Strict):
    """The file's data."""

    supportbench_baseline: Literal[1]
    agent: Line
    fingerprint: dict[str, Any]
    conditions: StoredConditions
    scenarios: list[StoredCase]

    @model_validator(mode="after")
    def _unique(self) -> StoredBaseline:
        seen = [(case.suite, case.scenario) for case in self.scenarios]
        if len(set(seen)) != len(seen):
            twice = next(case for case in seen if seen.count(case) > 1)
            msg = f"the scenario {'/'.join(twice)} stands there twice"
            raise ValueError(msg)
        return self


def bless(found: Evidence, path: str = "the run") -> str:
    """Return the text of a baseline: header fields, then one line a scenario, sorted by suite and id.

    It depends on what the agent did and on nothing of the machine or of the time. Raises `UsageError` for a run that
    is incomplete, has infrastructure errors or lacks trials: a gap in a baseline would never be missed later.
    """
    problems = []
    if not found.complete:
        problems.append("it has no end (it was stopped, or killed)")
    if not found.cases:
        problems.append(f"the agent {found.agent!r} has no scenario in it")
    if found.missing:
        problems.append(f"{found.missing} trials are missing")
    if found.errors:
        names = ", ".join(case[1] for case, item in found.cases.items() if item.errors)[:200]
        problems.append(f"{found.errors} trials ended in infrastructure errors ({names})")
    if problems:
        msg = f"{path} cannot become a baseline: {'; '.join(problems)}; rerun it whole and bless that"
        raise UsageError(msg)
    head: dict[str, Any] = {
        "supportbench_baseline": VERSION,
        "agent": found.agent,
        "fingerprint": shared_fingerprint(found.fingerprint),
        "conditions": found.conditions.to_json(),
    }
    lines = [f"{json.dumps(name)}: {_dump(value, indent=1)}" for name, value in head.items()]
    cases = ",\n".join(f"  {_dump(case.to_json())}" for _, case in sorted(found.cases.items()))
    return "{\n" + ",\n".join(lines) + f',\n"scenarios": [\n{cases}\n]\n}}\n'


def shared_fingerprint(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a fingerprint without what differs between machines although the agent is the same."""
    return {name: value for name, value in sorted(fingerprint.items()) if name not in UNSHARED}


def _dump(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=indent, allow_nan=False)


def read_baseline(path: Path) -> Evidence:
    """Read a baseline file. Raises `UsageError` that names the file, the field and the remedy."""
    again = "write it anew with: supportbench baseline set RESULTS"
    try:
        if path.stat().st_size > MAX_BYTES:
            msg = f"{path}: a baseline of more than {MAX_BYTES:,} bytes; {again}"
            raise UsageError(msg)
        text = path.read_text(encoding="utf-8")
        stored = StoredBaseline.model_validate_json(text)
    except OSError as error:
        msg = f"{path}: cannot be read as a baseline ({error.strerror}); {again}"
        raise UsageError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path}: is no UTF-8 text; {again}"
        raise UsageError(msg) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        msg = f"{path}: {field}: {first['msg'][:300]}; restore the file, or {again}"
        raise UsageError(msg) from error
    return Evidence(
        agent=stored.agent,
        fingerprint=stored.fingerprint,
        conditions=_conditions(stored.conditions),
        cases={(case.suite, case.scenario): _case(case) for case in stored.scenarios},
        complete=True,
    )


def _conditions(stored: StoredConditions) -> Conditions:
    data = stored.model_dump()
    return Conditions(**{**data, "suites": tuple(data["suites"])})


def _case(stored: StoredCase) -> CaseEvidence:
    data = stored.model_dump(exclude={"suite", "scenario"})
    return CaseEvidence(case=(stored.suite, stored.scenario), **data)
