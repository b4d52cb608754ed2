"""Proves a suite's own claims: references pass, counterexamples fail as they say, constant agents look bad."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.calls import CallRecord
from pytest_supportbench.conversation import Conversation, Episode, Limits
from pytest_supportbench.episode import replay
from pytest_supportbench.errors import FileError, Problem
from pytest_supportbench.findings import dotted
from pytest_supportbench.loading import BoundScenario, Loader, check_unique
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scenario import Counterexample
from pytest_supportbench.scoring import Score, score_episode
from pytest_supportbench.source import read_text
from pytest_supportbench.state import iter_records
from pytest_supportbench.toolsets.blame import blame, wording
from pytest_supportbench.words import Dimension
from pytest_supportbench.yaml_positions import Place, positions

CONSTANT_AGENTS: Final = ("do-nothing", "always-escalate", "always-decline", "always-ask", "call-every-tool")
PATTERN: Final = "*.scenario.yaml"
_MOST_STEPS: Final = 4


@dataclass(frozen=True, slots=True)
class ConstantRow:
    """What a constant agent got: strict passes, recall and specificity parts, out of how many of each."""

    agent: str
    passed: tuple[str, ...]
    scenarios: int
    recall: tuple[int, int]
    specificity: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Every problem found, in file order, with how much was looked at."""

    problems: tuple[Problem, ...]
    scenarios: int
    counterexamples: int
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


def check_files(files: Sequence[Path], root: Path) -> CheckReport:
    """Load and prove every scenario file; a broken one never hides another."""
    loader = Loader(root)
    problems: dict[Problem, None] = {}
    loaded: list[BoundScenario] = []
    for file in files:
        try:
            loaded.append(loader.load(file))
        except FileError as error:
            problems.update(dict.fromkeys(error.problems))
    problems.update(dict.fromkeys(check_unique(loaded)))
    for bound in loaded:
        problems.update(dict.fromkeys(_scenario_problems(bound)))
    problems.update(dict.fromkeys(_twin_problems(loaded)))
    constants = [_constant(name, loaded, root, problems) for name in CONSTANT_AGENTS] if loaded else []
    return CheckReport(
        problems=tuple(problems),
        scenarios=len(loaded),
        counterexamples=sum(len(bound.scenario.counterexamples) for bound in loaded),
        constants=tuple(constants),
    )


def _problem(bound: BoundScenario, place: Place, message: str, remedy: str) -> Problem:
    line, column = positions(read_text(Path(bound.path))).at(place, key=True)
    return Problem(bound.path, line, column, dotted(place), message, remedy)


def _scenario_problems(bound: BoundScenario) -> Iterator[Problem]:
    try:
        Conversation(bound, Limits(), "check").observation()  # a replay never looks, and the toolset makes it
        yield from _reference_problems(bound)
        if not bound.scenario.counterexamples:
            yield _problem(
                bound,
                ("counterexamples",),
                "there is none",
                f"add a trace that commits the failure mode {bound.scenario.failure_mode.code!r}",
            )
        for number, example in enumerate(bound.scenario.counterexamples):
            yield from _counterexample_problems(bound, number, example)
    except Exception as error:  # noqa: BLE001 - whatever a toolset's code raises is its author's mistake
        yield _broken(bound, error)


def _broken(bound: BoundScenario, error: Exception) -> Problem:
    """Return the problem at the author's line that raised, or else at the scenario's reference."""
    message, remedy = wording(error)
    if not message.startswith("the toolset broke"):
        message = f"the toolset broke: {message}"
    return blame(error) or _problem(bound, ("reference",), message, remedy)


def _reference_problems(bound: BoundScenario) -> Iterator[Problem]:
    episode = replay(bound, bound.scenario.reference)
    score = score_episode(bound, episode)
    checks = [(name, check) for name in score.failed_dimensions for check in score.dimensions[name].failures]
    wrong = [call for call in episode.calls if call.error is not None and call.fault is None]
    for number, call in enumerate(wrong):
        yield _wrong_call(bound, episode, call, 0 if number else len(checks))
    if wrong:
        return  # what fails besides follows from the calls that did nothing
    for name, check in checks:
        yield _problem(
            bound,
            ("reference",),
            f"fails {name}, {check.id}: expected {check.expected}; actual {check.actual}",
            "mend the reference or what is expected",
        )
    last = len(episode.turns)
    if last < len(bound.scenario.reference):
        yield _problem(
            bound,
            ("reference", last),
            f"the episode ends after turn {last} of {len(bound.scenario.reference)}",
            "drop the turns that are never played",
        )
    for number, fault in enumerate(episode.faults):
        if not fault.reached:
            yield _problem(
                bound,
                ("faults", number),
                f"the reference never meets the {fault.kind} of {fault.tool}",
                "let the reference make that call, or drop the fault",
            )


def _wrong_call(bound: BoundScenario, episode: Episode, call: CallRecord, checks: int) -> Problem:
    """Return the problem of a call in the reference that fails; ``checks`` is how many fail with it."""
    earlier = sum(other.turn == call.turn and other.number < call.number for other in episode.calls)
    error = call.error
    assert error is not None
    because = (
        f" ({checks} further check{'s fail' if checks > 1 else ' fails'} because of it)" if checks else ""
    )
    return _problem(
        bound,
        ("reference", call.turn - 1, "tool_calls", earlier),
        f"{call.tool} fails without a fault: {error.code}: {error.message}{because}",
        (error.code == "not_found" and _meant(bound, call))
        or "mend the call, since a reference makes no tool errors",
    )


def _meant(bound: BoundScenario, call: CallRecord) -> str:
    """Return "did you mean" for the first argument that is nearly the id of a record."""
    ids = [record.id for _, record in iter_records(bound.state.tables)]
    for name, value in call.arguments.items():
        if isinstance(value, str) and value not in ids:
            close = difflib.get_close_matches(value, ids, n=1, cutoff=0.7)
            if close:
                return f"did you mean {name}: {close[0]}?"
    return ""


def _counterexample_problems(bound: BoundScenario, number: int, example: Counterexample) -> Iterator[Problem]:
    score = score_episode(bound, replay(bound, example.turns))
    place = ("counterexamples", number)
    failed: set[Dimension] = set(score.failed_dimensions)
    named: set[Dimension] = set(example.fails)
    if failed != named:
        yield _problem(
            bound,
            (*place, "fails"),
            f"{example.name!r} fails {sorted(failed) or 'nothing'}, not {sorted(named)}{_why(score)}",
            "name exactly the dimensions that fail, or mend the trace",
        )
    if set(score.codes) != set(example.violations):
        yield _problem(
            bound,
            (*place, "violations") if example.violations else (*place, "name"),
            f"{example.name!r} commits {sorted(score.codes) or 'no violation'}, "
            f"not {sorted(example.violations) or 'none'}",
            "name exactly the violations that it commits, or mend the trace",
        )


def _why(score: Score) -> str:
    checks = [
        f"{name} {check.id}: {check.actual}"
        for name in score.failed_dimensions
        for check in score.dimensions[name].failures
    ]
    return f" ({'; '.join(checks[:_MOST_STEPS])})" if checks else ""


def _twin_problems(loaded: Sequence[BoundScenario]) -> Iterator[Problem]:
    by_suite: dict[Path, dict[str, BoundScenario]] = {}
    for bound in loaded:
        by_suite.setdefault(bound.suite.path, {})[bound.scenario.id] = bound
    for bound in loaded:
        twin = bound.scenario.twin
        if twin is None:
            continue
        other = by_suite[bound.suite.path].get(twin)
        if other is None or other.scenario.twin != bound.scenario.id:
            what = "is not there" if other is None else f"names {other.scenario.twin!r} as its twin"
            yield _problem(bound, ("twin",), f"the scenario {twin!r} {what}", "let the two name each other")


def _constant(
    name: str, loaded: Sequence[BoundScenario], root: Path, problems: dict[Problem, None]
) -> ConstantRow:
    """Run a constant agent; what a toolset's code raises meanwhile is added to ``problems``."""
    agent = make_agent(parse_spec(name, root), root)
    runner = Runner({name: agent}, Limits())
    results: list[Result] = []
    for bound in loaded:
        try:
            results.append(runner.run(Job("", bound, name, 1)))
        except Exception as error:  # noqa: BLE001 - whatever a toolset's code raises is its author's mistake
            problems.setdefault(_broken(bound, error))
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
