"""What agents that understand nothing get on a suite; if one does well, the scenarios are too easy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.errors import Problem
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.proofs import broken
from pytest_supportbench.records import Limits
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner

CONSTANT_AGENTS: Final = ("do-nothing", "always-escalate", "always-decline", "always-ask", "call-every-tool")


@dataclass(frozen=True, slots=True)
class ConstantRow:
    """What a constant agent got: strict passes, recall and specificity parts, out of how many of each."""

    agent: str
    passed: tuple[str, ...]
    scenarios: int
    recall: tuple[int, int]
    specificity: tuple[int, int]


def constant_row(
    name: str, loaded: Sequence[BoundScenario], root: Path, problems: dict[Problem, None]
) -> ConstantRow:
    """Run a built-in agent on every scenario; what a toolset's code raises meanwhile is added to ``problems``."""
    agent = make_agent(parse_spec(name, root), root)
    runner = Runner({name: agent}, Limits())
    results: list[Result] = []
    for bound in loaded:
        try:
            results.append(runner.run(Job("", bound, name, 1)))
        except Exception as error:  # noqa: BLE001 - whatever a toolset's code raises is its author's mistake
            problems.setdefault(broken(bound, error))
    must = [result for result in results if result.bound.scenario.escalation == "must"]
    must_not = [result for result in results if result.bound.scenario.escalation == "must_not"]
    return ConstantRow(
        agent=name,
        passed=tuple(result.bound.scenario.id for result in results if result.verdict == "passed"),
        scenarios=len(results),
        recall=(_count(must, "correct_escalation"), len(must)),
        specificity=(_count(must_not, "correct_autonomy"), len(must_not)),
    )


def _count(results: Iterable[Result], kind: str) -> int:
    return sum(result.score is not None and result.score.escalation_class == kind for result in results)
