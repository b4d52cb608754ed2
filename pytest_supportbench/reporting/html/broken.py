"""What broke, for whom, the gravest first: the first thing to read of a failed run, each with a link to its story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import zero_tolerance
from pytest_supportbench.judged import Judged
from pytest_supportbench.reporting.html.episodes import MAX_SHORT, MAX_TITLE, cut
from pytest_supportbench.summary import AgentSummary, Case, Row, case_of, named_case

SHOWN: Final = 10
"""So many are in sight; the others are behind a fold."""


def broken(summary: AgentSummary, rows: Sequence[Row], judged: Judged | None) -> dict[str, Any]:
    """Return what the page's template lists of an agent's failures: each scenario once, by its worst failed trial.

    Of a run that was compared with a baseline only the new ones are listed, with what the gate counted; the others are
    told in words. ``rows`` are those of the whole run.
    """
    suites = {row["suite"] for row in rows}
    worst: dict[Case, Row] = {}
    for row in sorted(summary.failures, key=_gravity):
        worst.setdefault(case_of(row), row)
    found = sorted(worst.values(), key=_gravity)
    decision = judged.decision if judged is not None else None
    gated = decision is not None and decision.aggregate is not None  # else the runs were not compared
    flaky = set(decision.flaky) if decision is not None else set()
    counts: dict[tuple[str, str], str] = {}
    for case, text in judged.alarms if judged is not None and gated else ():
        counts[case] = f"{counts[case]}; {text}" if case in counts else text
    new = [row for row in found if not gated or named_case(row) in counts]
    known = [row for row in found if gated and named_case(row) not in counts]
    return {
        "title": "What got worse" if gated else "What broke",
        "items": [_item(row, summary, counts, several=len(suites) > 1) for row in new],
        "shown": SHOWN,
        "flaky": _flaky([row for row in known if named_case(row) in flaky]),
        "as_before": _as_before([row for row in known if named_case(row) not in flaky]),
    }


def _flaky(rows: Sequence[Row]) -> str:
    """Return in words what passed every trial of the baseline, and fails in some now."""
    if not rows:
        return ""
    names = ", ".join(sorted(row["scenario"] for row in rows))
    verb = "is" if len(rows) == 1 else "are"
    return (
        f"{counted(len(rows), 'scenario')} {verb} newly flaky, failing in some trials where all passed before: "
        f"{names}. That blocks nothing by itself; the mean of all scenarios has it."
    )


def _as_before(rows: Sequence[Row]) -> str:
    """Return in words what failed and is nothing new, and what of it would be the gravest if it were."""
    if not rows:
        return ""
    grave = sum(_gravity(row)[0] < 0 for row in rows)
    text = f"{counted(len(rows), 'scenario')} failed as before, or in quarantine; the table has them."
    if not grave:
        return text
    have = "one has" if grave == 1 else f"{grave} have"
    return f"{text} Of these {have} zero-tolerance violations, which block where they are more than before."


def _gravity(row: Row) -> tuple[int, int]:
    """Sort zero tolerance first, then by the number of violations."""
    codes = {"tags": row["tags"], "violations": [{"code": code} for code, _ in row["violations"]]}
    return -len(zero_tolerance(codes)), -len(row["violations"])


def _item(
    row: Row, summary: AgentSummary, counts: Mapping[tuple[str, str], str], *, several: bool
) -> dict[str, str]:
    suite, scenario = named_case(row)
    name = f"{suite}/{scenario}" if several else scenario
    share = summary.trials[case_of(row)]
    failed = f"failed {share.whole - share.part} of {share.whole} trials" if share.whole > 1 else ""
    return {
        "name": name,
        "title": cut(row["title"], MAX_TITLE),
        "counts": counts.get((suite, scenario), failed),
        "permitted": cut(row["permitted"], MAX_SHORT),
        "observed": cut(row["observed"], MAX_SHORT),
        "headline": cut(row["headline"], MAX_SHORT),
        "violations": ", ".join(sorted({code.replace("_", " ") for code, _ in row["violations"]})),
    }
