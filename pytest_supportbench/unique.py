"""Scenarios that results could not tell apart."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_supportbench.errors import Problem
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.source import read_text
from pytest_supportbench.yaml_positions import positions


def check_unique(scenarios: Iterable[BoundScenario]) -> tuple[Problem, ...]:
    """Return a problem for every scenario whose id another one of the same suite has already."""
    first: dict[tuple[Path, str], str] = {}
    problems = []
    for bound in scenarios:
        name = bound.scenario.id
        other = first.setdefault((bound.suite.path, name), bound.path)
        if other != bound.path:
            line, column = positions(read_text(Path(bound.path))).at(("id",))
            message = f"{name!r} is the id of {other} too"
            problems.append(Problem(bound.path, line, column, "id", message, "give each scenario its own"))
    return tuple(problems)


def equal_suites(first: BoundScenario, second: BoundScenario) -> Problem:
    """Return the problem of two suites of one name that have scenarios of one id."""
    message = f"a suite of the same name, {first.suite.path}, has a scenario {first.scenario.id!r} too"
    remedy = "rename one of the suites, since results tell scenarios apart by suite and id"
    return Problem(str(second.suite.path), 1, 1, "name", message, remedy)
