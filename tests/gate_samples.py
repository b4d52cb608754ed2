"""Evidence in a few letters: ``side("48x5/5 3/5 0/5")`` is fifty scenarios of five trials each."""

from __future__ import annotations

import gc
import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_supportbench.evidence import Case, CaseEvidence, Conditions, Evidence
from pytest_supportbench.statistics import holm
from pytest_supportbench.words import STRICT_DIMENSIONS

SUITE = {
    "name": "desk",
    "version": "1.0",
    "sha256": "a" * 64,
    "toolset": "saas",
    "toolset_version": "1.1",
}


def case(number: int, passed: int, scored: int, *, suite: str = "desk", **changes: Any) -> CaseEvidence:
    """Return one scenario's counts; where ``passed`` is all that was done wrong, it failed its resolution."""
    name = f"S-{number:02}"
    fields: dict[str, Any] = {
        "case": (suite, name),
        "title": f"Scenario {number}",
        "category": "billing",
        "family": name,
        "expected_escalation": "must_not",
        "sha256": "b" * 64,
        "scored": scored,
        "passed": passed,
        "errors": 0,
        "repeats": False,
        "dimensions": {name: passed if name == "resolution" else scored for name in STRICT_DIMENSIONS},
        "zero_tolerance": {},
        "escalation": {"correct_autonomy": scored} if scored else {},
    }
    return CaseEvidence(**{**fields, **changes})


def conditions(trials: int = 5, **changes: Any) -> Conditions:
    """Return the conditions of a run of one suite."""
    return replace(Conditions((SUITE,), "5", trials, 6, 120.0, None), **changes)


def side(text: str, trials: int | None = None, *, suite: str = "desk", **changes: Any) -> Evidence:
    """Return what an agent showed: ``passed/scored`` for each scenario in turn, ``7x`` before what seven did alike.

    An ``=`` behind the counts says that the trials repeat each other; without ``trials`` there are as many declared
    as the first scenario has.
    """
    counts: list[tuple[int, int, bool]] = []
    for word in text.split():
        found = re.fullmatch(r"(?:(\d+)x)?(\d+)/(\d+)(=?)", word)
        assert found, word
        times, passed, scored, repeats = found.groups()
        counts += [(int(passed), int(scored), bool(repeats))] * int(times or 1)
    declared = trials or (counts[0][1] if counts else 5)
    cases = [
        case(number, passed, scored, suite=suite, errors=max(0, declared - scored), repeats=repeats)
        for number, (passed, scored, repeats) in enumerate(counts)
    ]
    made = Evidence(
        "agent",
        {"id": "agent", "kind": "python"},
        conditions(declared),
        {item.case: item for item in cases},
        complete=True,
    )
    return replace(made, **changes)


def changed(evidence: Evidence, *numbers: int, **changes: Any) -> Evidence:
    """Return evidence with other counts for the scenarios of these numbers, in whichever suite."""
    names = {f"S-{number:02}" for number in numbers}
    cases = {
        name: replace(item, **changes) if name[1] in names else item for name, item in evidence.cases.items()
    }
    return replace(evidence, cases=cases)


def without(evidence: Evidence, *numbers: int) -> Evidence:
    """Return evidence that lacks the scenarios of these numbers."""
    names = {f"S-{number:02}" for number in numbers}
    return replace(
        evidence, cases={name: item for name, item in evidence.cases.items() if name[1] not in names}
    )


def under(evidence: Evidence, **changes: Any) -> Evidence:
    """Return evidence under other conditions."""
    return replace(evidence, conditions=replace(evidence.conditions, **changes))


def with_suite(evidence: Evidence, **changes: str) -> Evidence:
    """Return evidence whose suite was another one in some respect."""
    return under(evidence, suites=({**SUITE, **changes},))


def both(first: Evidence, second: Evidence, name: str = "shop") -> Evidence:
    """Return what an agent showed in two suites; the second one's scenarios have the ids of the first one's."""
    cases = {
        (name, case_id): replace(item, case=(name, case_id)) for (_, case_id), item in second.cases.items()
    }
    made = replace(first, cases={**first.cases, **cases})
    return under(made, suites=(SUITE, {**SUITE, "name": name}))


def fresh(**counts: str) -> dict[Case, CaseEvidence]:
    """Return fresh trials: ``fresh(S_03="0/3")`` for three of S-03 that all failed, ``0/3=`` where all were alike."""
    found = {}
    for name, text in counts.items():
        number = int(name.removeprefix("S_"))
        passed, scored = map(int, text.rstrip("=").split("/"))
        item = case(number, passed, scored, repeats=text.endswith("="))
        found[item.case] = item
    return found


@pytest.fixture(autouse=True, scope="module")
def little_to_collect():
    """Leave what is there already out of the garbage collections that statsmodels asks for at each call."""
    holm([0.5])
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
