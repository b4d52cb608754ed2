"""The rows of a summary as evidence, so that its statistics are the gate's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_supportbench.evidence import Case, CaseEvidence
from pytest_supportbench.words import STRICT_DIMENSIONS


def row_cases(rows: Iterable[Mapping[str, Any]]) -> dict[Case, CaseEvidence]:
    """Return the cases of one agent's rows, sorted; a suite's name has its version here.

    What no statistic reads (title, hash, violations, hand-offs) is left empty.
    """
    by_case: dict[Case, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_case.setdefault((row["suite"], row["scenario"]), []).append(row)
    return {case: _case(case, found) for case, found in sorted(by_case.items())}


def _case(case: Case, rows: list[Mapping[str, Any]]) -> CaseEvidence:
    scored = [row for row in rows if row["verdict"] != "error"]
    dimensions = Counter(name for row in scored for name in STRICT_DIMENSIONS if row["dimensions"][name])
    return CaseEvidence(
        case=case,
        title="",
        category=rows[0]["category"],
        family=rows[0]["family"],
        expected_escalation=rows[0]["expected_escalation"],
        sha256="",
        scored=len(scored),
        passed=sum(row["verdict"] == "passed" for row in scored),
        errors=len(rows) - len(scored),
        repeats=len(scored) > 1 and len({row["trace"] for row in scored}) == 1,
        dimensions={name: dimensions[name] for name in STRICT_DIMENSIONS},
        zero_tolerance={},
        escalation={},
    )
