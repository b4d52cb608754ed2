"""The blessed result that later runs are gated against: a small sorted file that people review in a diff."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic import ValidationError

from pytest_supportbench.baseline_file import StoredBaseline, StoredCase, StoredConditions
from pytest_supportbench.counted import counted
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import CaseEvidence, Conditions, Evidence, shared_fingerprint
from pytest_supportbench.findings import dotted
from pytest_supportbench.strict_json import unique_keys
from pytest_supportbench.validation import explain

VERSION: Final = 1
MAX_BYTES: Final = 20_000_000
AGAIN: Final = "restore the file, or write it anew with: supportbench baseline set RESULTS"


def bless(found: Evidence, path: str = "the run") -> str:
    """Return the text of a baseline: header fields, then one line a scenario, sorted by suite and id.

    It depends on what the agent did and on nothing of the machine or of the time. Raises `UsageError` for a shard, and
    for a run that is incomplete, has infrastructure errors or lacks trials: a gap would never be missed later.
    """
    problems = []
    if not found.complete:
        problems.append("it has no end (it was stopped, or killed)")
    if not found.cases:
        problems.append(f"the agent {found.agent!r} has no scenario in it")
    if found.missing:
        problems.append(f"{counted(found.missing, 'trial')} missing")
    if found.errors:
        names = ", ".join(case[1] for case, item in sorted(found.cases.items()) if item.errors)[:200]
        problems.append(f"{counted(found.errors, 'infrastructure error')} ({names})")
    if found.shard is not None:
        number, of = found.shard
        msg = f"{path} cannot become a baseline: it is shard {number}/{of}, and lacks the scenarios of the others"
        raise UsageError(f"{msg}; put them together with supportbench merge, and bless that run")
    if problems:
        msg = f"{path} cannot become a baseline: {'; '.join(problems)}; rerun it whole and bless that"
        raise UsageError(msg)
    head: dict[str, Any] = {
        "supportbench_baseline": VERSION,
        "agent": found.agent,
        "fingerprint": shared_fingerprint(found.fingerprint),
        "conditions": found.conditions.to_json(),
    }
    try:
        lines = [f"{json.dumps(name)}: {_dump(value, indent=1)}" for name, value in head.items()]
    except ValueError as error:
        msg = f"{path} cannot become a baseline: {error}; mend the agent's options, and rerun it"
        raise UsageError(msg) from error
    cases = ",\n".join(f"  {_dump(case.to_json())}" for _, case in sorted(found.cases.items()))
    text = "{\n" + ",\n".join(lines) + f',\n"scenarios": [\n{cases}\n]\n}}\n'
    return text.encode("utf-8", "replace").decode()


def _dump(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=indent, allow_nan=False)


def read_baseline(path: Path) -> Evidence:
    """Read a baseline file. Raises `UsageError` that names the file, the field and the remedy."""
    try:
        with path.open("rb", buffering=0) as file:
            raw = file.read(min(os.fstat(file.fileno()).st_size, MAX_BYTES) + 1)
        if len(raw) > MAX_BYTES:
            raise UsageError(f"{path}: has more than {MAX_BYTES:,} bytes, which no baseline has; {AGAIN}")
        data = json.loads(raw.decode(), object_pairs_hook=unique_keys, parse_constant=_refuse)
        stored = StoredBaseline.model_validate(data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read as a baseline ({error.strerror}); {AGAIN}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no UTF-8 text; {AGAIN}") from error
    except ValidationError as error:
        first = explain(error, StoredBaseline, data)[0]
        field = dotted(first.place)[:100] or "the file"
        what = f"{field}: {first.message[:200]}; {f'{first.remedy[:200]}, or ' if first.remedy else ''}"
        shown = "".join(letter if letter.isprintable() else "?" for letter in what)
        raise UsageError(f"{path}: {shown}{AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no JSON of a baseline ({str(error)[:300]}); {AGAIN}") from error
    return Evidence(
        agent=stored.agent,
        fingerprint=stored.fingerprint,
        conditions=_conditions(stored.conditions),
        cases={(case.suite, case.scenario): _case(case) for case in stored.scenarios},
        complete=True,
    )


def _refuse(number: str) -> NoReturn:
    msg = f"{number} is no number of JSON"
    raise ValueError(msg)


def _conditions(stored: StoredConditions) -> Conditions:
    data = stored.model_dump()
    return Conditions(**{**data, "suites": tuple(data["suites"])})


def _case(stored: StoredCase) -> CaseEvidence:
    data = stored.model_dump(exclude={"suite", "scenario"})
    return CaseEvidence(case=(stored.suite, stored.scenario), **data)
