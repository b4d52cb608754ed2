"""Proves a suite's own claims: references pass, faulty versions of them fail, constant agents look bad."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_supportbench.artifacts import artifact_problems
from pytest_supportbench.constants import CONSTANT_AGENTS, ConstantRow, constant_row
from pytest_supportbench.episode import replay
from pytest_supportbench.errors import FileError, Problem
from pytest_supportbench.exemptions import RULES, Exemptions, is_exempt
from pytest_supportbench.findings import suggestion
from pytest_supportbench.lint import (
    lint_scenario,
    similar_messages,
    suite_personal_data,
    unasked_concepts,
    uncited_policies,
    unlike_twin,
)
from pytest_supportbench.lint_rules import Weakness
from pytest_supportbench.loading import BoundScenario, BoundSuite, Loader, scenario_files
from pytest_supportbench.mutations import MUTATION_KINDS, MutationKind, mutants
from pytest_supportbench.proofs import broken, problem_at, scenario_problems
from pytest_supportbench.scoring import score_episode
from pytest_supportbench.unique import check_unique

PATTERN: Final = "*.scenario.yaml"
_NEARLY: Final = re.compile(r"\.scenarios?\.ya?ml$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MutationRow:
    """How many faulty versions of one kind were made of all references, were caught, and are exempt."""

    kind: MutationKind
    made: int
    caught: int
    exempt: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Every problem found, in file order, with how much was looked at."""

    problems: tuple[Problem, ...]
    scenarios: int
    counterexamples: int
    mutations: tuple[MutationRow, ...]
    constants: tuple[ConstantRow, ...]


def find_scenarios(paths: Iterable[Path]) -> list[Path]:
    """Return the scenario files that the paths name, folders searched, each once and sorted within a path.

    Raises `FileNotFoundError` for a path that does not exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update(dict.fromkeys(sorted(path.rglob(PATTERN))))
        elif path.exists():
            found[path] = None
        else:
            raise FileNotFoundError(path)
    return list(found)


def overlooked(paths: Iterable[Path]) -> list[Problem]:
    """Return files below the paths that are nearly named as scenarios are, and so are no scenarios."""
    found = {file for path in paths if path.is_dir() for file in path.rglob("*") if _NEARLY.search(file.name)}
    message, remedy = "is not read: a scenario's name ends in .scenario.yaml", "rename it"
    return [
        Problem(str(path), 1, 1, "", message, remedy)
        for path in sorted(found)
        if not path.name.endswith(".scenario.yaml")
    ]


def check_files(files: Sequence[Path], root: Path) -> CheckReport:
    """Load and prove every scenario file; a broken one never hides another.

    ``root`` is where names in agent specs are looked up; a suite file is searched for all the way up.
    """
    loader = Loader()
    problems: dict[Problem, None] = {}
    loaded: list[BoundScenario] = []
    for file in files:
        try:
            loaded.append(loader.load(file))
        except FileError as error:
            problems.update(dict.fromkeys(error.problems))
    problems.update(dict.fromkeys(check_unique(loaded)))
    exemptions = {bound.path: Exemptions(bound) for bound in loaded}
    made, caught, exempt = Counter[MutationKind](), Counter[MutationKind](), Counter[MutationKind]()
    proven: list[Exemptions] = []
    for bound in loaded:
        found = list(scenario_problems(bound))
        problems.update(dict.fromkeys(found))
        if not found:  # what a broken scenario lets pass says nothing
            ours = exemptions[bound.path]
            proven.append(ours)
            problems.update(dict.fromkeys(_weak(bound, ours, lint_scenario(bound))))
            problems.update(dict.fromkeys(_survivors(bound, ours, made, caught, exempt)))
    problems.update(dict.fromkeys(_across(loaded, exemptions)))
    for suite in {bound.suite.path: bound.suite for bound in loaded}.values():
        problems.update(dict.fromkeys(_suite_problems(suite)))
        problems.update(dict.fromkeys(artifact_problems(suite, loaded)))
    constants = [constant_row(name, loaded, root, problems) for name in CONSTANT_AGENTS] if loaded else []
    for row in constants:
        problems.update(dict.fromkeys(_too_easy(row, loaded, exemptions)))
    for ours in proven:
        problems.update(dict.fromkeys(ours.problems()))
    return CheckReport(
        problems=tuple(problems),
        scenarios=len(loaded),
        counterexamples=sum(len(bound.scenario.counterexamples) for bound in loaded),
        mutations=tuple(
            MutationRow(kind, made[kind], caught[kind], exempt[kind]) for kind in MUTATION_KINDS if made[kind]
        ),
        constants=tuple(constants),
    )


def _weak(bound: BoundScenario, exemptions: Exemptions, weaknesses: Iterable[Weakness]) -> Iterator[Problem]:
    for weakness in weaknesses:
        if not exemptions.cover(weakness.rule, weakness.at):
            yield problem_at(bound, weakness.place, f"{weakness.rule}: {weakness.message}", weakness.remedy)


def _survivors(
    bound: BoundScenario,
    exemptions: Exemptions,
    made: Counter[MutationKind],
    caught: Counter[MutationKind],
    exempt: Counter[MutationKind],
) -> Iterator[Problem]:
    """Yield the faulty versions of the reference that pass; count all of them."""
    try:
        for mutant in mutants(bound):
            made[mutant.kind] += 1
            if score_episode(bound, replay(bound, mutant.turns)).failed_dimensions:
                caught[mutant.kind] += 1
            elif exemptions.cover(mutant.kind, mutant.at):
                exempt[mutant.kind] += 1
            else:
                yield problem_at(
                    bound,
                    ("reference",),
                    f"passes although it is wrong: {mutant.kind} at {mutant.at} ({mutant.what})",
                    "demand under 'expected' what makes it wrong, or name it under 'exempt' with the reason",
                )
    except Exception as error:  # noqa: BLE001 - whatever a toolset's code raises is its author's mistake
        yield broken(bound, error)


def _too_easy(
    row: ConstantRow, loaded: Sequence[BoundScenario], exemptions: dict[str, Exemptions]
) -> Iterator[Problem]:
    """Yield the scenarios that an agent passes which understands nothing; handing off may be all that is asked."""
    for bound in loaded:
        if bound.scenario.id not in row.passed:
            continue
        if row.agent == "always-escalate" and bound.scenario.escalation == "must":
            continue
        weakness = Weakness(
            "constant-passes",
            row.agent,
            ("expected",),
            f"the constant agent {row.agent} passes",
            "demand what only somebody who understood the case does or tells",
        )
        yield from _weak(bound, exemptions[bound.path], [weakness])


def _across(loaded: Sequence[BoundScenario], exemptions: dict[str, Exemptions]) -> Iterator[Problem]:
    """Yield what shows only between the scenarios of a suite."""
    for bound, weakness in similar_messages(loaded):
        yield from _weak(bound, exemptions[bound.path], [weakness])
    by_suite: dict[Path, dict[str, BoundScenario]] = {}
    for bound in loaded:
        by_suite.setdefault(bound.suite.path, {})[bound.scenario.id] = bound
    for path, scenarios in by_suite.items():
        for bound, weakness in unasked_concepts(scenarios.values()):
            yield from _weak(bound, exemptions[bound.path], [weakness])
        whole = len(scenarios) == len(scenario_files(path.parent))
        for bound in scenarios.values():
            if bound.scenario.twin in scenarios or (whole and bound.scenario.twin):
                other = scenarios.get(bound.scenario.twin)
                yield from _twin_problems(bound, other)
                if other is not None:
                    yield from _weak(bound, exemptions[bound.path], unlike_twin(bound, other))
        if whole:
            yield from _uncited(next(iter(scenarios.values())).suite, scenarios.values())


def _twin_problems(bound: BoundScenario, other: BoundScenario | None) -> Iterator[Problem]:
    twin = bound.scenario.twin
    if other is None or other.scenario.twin != bound.scenario.id:
        what = "is not there" if other is None else f"names {other.scenario.twin!r} as its twin"
        yield problem_at(bound, ("twin",), f"the scenario {twin!r} {what}", "let the two name each other")
        return
    try:
        score = score_episode(bound, replay(bound, other.scenario.reference))
    except Exception as error:  # noqa: BLE001 - whatever a toolset's code raises is its author's mistake
        yield broken(bound, error)
        return
    if not score.failed_dimensions:
        message = f"the reference of {twin!r} passes here too"
        yield problem_at(bound, ("twin",), message, "flip a fact that changes what is right")


def _uncited(suite: BoundSuite, scenarios: Iterable[BoundScenario]) -> Iterator[Problem]:
    for policy in uncited_policies(suite, scenarios):
        if not is_exempt(suite.suite.exempt, "uncited-policy", policy):
            message = f"uncited-policy: {policy!r} makes no outcome right in any scenario"
            remedy = "cite it under 'because', drop it, or name it under 'exempt' with the reason"
            yield Problem(str(suite.path), 1, 1, "policies", message, remedy)


def _suite_problems(suite: BoundSuite) -> Iterator[Problem]:
    """Yield what is wrong with the suite itself: data that may be somebody's, exemptions from no rule."""
    for kind, value in suite_personal_data(suite):
        if not is_exempt(suite.suite.exempt, "real-looking-data", value):
            message = f"real-looking-data: {value!r} in a policy or an article may be a real {kind}"
            remedy = "use example.com, a phone range reserved for fiction, or an invalid number"
            yield Problem(str(suite.path), 1, 1, "", message, remedy)
    for item in suite.suite.exempt:
        if item.rule not in RULES:
            message, remedy = f"unknown rule {item.rule!r}", suggestion(item.rule, RULES, "rules")
            yield Problem(str(suite.path), 1, 1, "exempt", message, remedy)
