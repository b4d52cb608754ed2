"""What the generated blocks of a suite's pages say: counts, scenarios, constant agents, hashes."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Final

from pytest_supportbench.constants import CONSTANT_AGENTS, constant_row
from pytest_supportbench.errors import FileError, Problem
from pytest_supportbench.suite_counts import counts_by_kind, totals
from pytest_supportbench.suite_identity import suite_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_supportbench.whole_suite import WholeSuite

_MEASURED: Final = (*CONSTANT_AGENTS, "rules", "oracle")
_KINDS: Final = {
    "category": "area",
    "tag": "tag",
    "outcome": "class of a right action",
    "escalation": "escalation",
    "language": "language",
    "currency": "currency",
    "fault": "kind of fault",
}
_TOTALS: Final = {
    "scenarios": "scenarios",
    "twin_pairs": "pairs of twins",
    "counterexamples": "counterexamples",
    "policies": "policies",
    "articles": "knowledge articles",
}


def block_writers(whole: WholeSuite, artifacts: Mapping[str, str]) -> dict[str, Callable[[], str]]:
    """Return the writer of each block's Markdown by the block's name; ``artifacts`` are file texts by name."""
    return {
        "counts": lambda: _counts(whole),
        "scenarios": lambda: _scenarios(whole),
        "constants": lambda: _constants(whole),
        "hashes": lambda: _hashes(whole, artifacts),
    }


def _counts(whole: WholeSuite) -> str:
    rows = [(_TOTALS[name], str(number)) for name, number in totals(whole).items()]
    for kind, numbers in counts_by_kind(whole).items():
        rows.append((_KINDS[kind], ", ".join(f"`{name}` {number}" for name, number in numbers.items())))
    return _table(("what", "number"), rows)


def _scenarios(whole: WholeSuite) -> str:
    scenarios = [bound.scenario for bound in whole.scenarios]
    rows = [(one.id, one.category, one.title, one.twin or "") for one in scenarios]
    return _table(("id", "area", "situation", "twin"), rows)


def _constants(whole: WholeSuite) -> str:
    """Return two tables: what each agent got, and its passes by area. Raises `FileError` for a broken toolset."""
    problems: dict[Problem, None] = {}
    rows = [constant_row(name, whole.scenarios, whole.folder, problems) for name in _MEASURED]
    if problems:
        raise FileError(tuple(problems))
    areas = {bound.scenario.id: bound.scenario.category for bound in whole.scenarios}
    in_area = Counter(areas.values())
    passes = {row.agent: Counter(areas[passed] for passed in row.passed) for row in rows}
    got = _table(
        ("agent", "passes", "recall", "specificity"),
        [
            (
                f"`{row.agent}`",
                f"{len(row.passed)}/{row.scenarios}",
                _share(row.recall),
                _share(row.specificity),
            )
            for row in rows
        ],
    )
    by_area = _table(
        ("area", *(f"`{row.agent}`" for row in rows)),
        [
            (area, *(f"{passes[row.agent][area]}/{number}" for row in rows))
            for area, number in sorted(in_area.items())
        ],
    )
    return f"{got}\n\n{by_area}"


def _hashes(whole: WholeSuite, artifacts: Mapping[str, str]) -> str:
    (facts,) = suite_facts([whole.bound])
    rows = [("the whole suite, as in a results file", f"`{facts['sha256']}`")]
    rows += [
        (f"`{name}`", f"`{hashlib.sha256(text.encode()).hexdigest()}`")
        for name, text in sorted(artifacts.items())
    ]
    return _table(("what", "SHA-256"), rows)


def _share(parts: tuple[int, int]) -> str:
    return f"{parts[0]}/{parts[1]}" if parts[1] else "–"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", r"\|").replace("<", "&lt;").split())
