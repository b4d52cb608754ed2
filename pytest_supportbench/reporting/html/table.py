"""The rows of the HTML report's table: few columns of each episode, in the order in which they were reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_supportbench.gate import called
from pytest_supportbench.judged import Judged
from pytest_supportbench.reporting.html.episodes import COLUMNS, MAX_SHORT, MAX_TITLE, cut
from pytest_supportbench.summary import Row, named_case
from pytest_supportbench.words import STRICT_DIMENSIONS

Json: TypeAlias = dict[str, Any]


def table(rows: Mapping[str, Sequence[Row]], judged: Judged | None, blocks: Mapping[str, int]) -> Json:
    """Return the table as JSON data. ``rows`` are by node id; ``blocks`` has the block of each story."""
    decision = judged.decision if judged else None
    groups = called(decision)
    if (
        judged is not None and decision is not None
    ):  # a graver failure than before is nothing that was so before
        worse = {case for case, _ in judged.alarms} - set(decision.candidates)
        groups |= dict.fromkeys(worse, "got worse")
    return {
        "columns": COLUMNS,
        "rows": [
            list(_values(nodeid, row, groups, blocks)) for nodeid, found in rows.items() for row in found
        ],
    }


def _values(
    nodeid: str, row: Row, groups: Mapping[tuple[str, str], str], blocks: Mapping[str, int]
) -> Iterator[Any]:
    case = named_case(row)
    usage = row["usage"] or {}
    tokens = [usage[name] for name in ("prompt_tokens", "completion_tokens") if usage.get(name) is not None]
    yield from (row["key"], nodeid.rpartition("::")[2], nodeid, row["suite"], row["scenario"])
    yield from (cut(row["title"], MAX_TITLE), row["category"], row["agent"], row["trial"])
    yield _outcome(row["verdict"], groups.get(case, ""))
    yield [int(row["dimensions"][name]) for name in STRICT_DIMENSIONS] if row["dimensions"] else None
    yield row["escalation_class"]
    yield row.get("ending", "")
    yield sorted({code for code, _ in row["violations"]})
    yield from (usage.get("turns"), round(row["seconds"], 3), sum(tokens) if tokens else None)
    yield cut(row["headline"], MAX_SHORT)
    yield blocks.get(row["key"])


def _outcome(verdict: str, group: str) -> str:
    if verdict == "error" or not group:
        return verdict
    if verdict == "passed":
        return group if group in {"fixed", "quarantine"} else verdict
    return group if group != "fixed" else verdict
