"""Whether one scenario holds what it claims: its reference passes, its counterexamples fail as they say."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import replay
from pytest_supportbench.errors import Problem
from pytest_supportbench.findings import dotted
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.records import Episode, Limits
from pytest_supportbench.scenario import Counterexample
from pytest_supportbench.scoring import Score, score_episode
from pytest_supportbench.source import read_text
from pytest_supportbench.state import iter_records
from pytest_supportbench.toolsets.blame import blame, wording
from pytest_supportbench.words import Dimension
from pytest_supportbench.yaml_positions import Place, positions

_MOST_STEPS: Final = 4


def problem_at(bound: BoundScenario, place: Place, message: str, remedy: str) -> Problem:
    """Return a problem at the key of a place in a scenario's file, or at its nearest parent."""
    line, column = positions(read_text(Path(bound.path))).at(place, key=True)
    return Problem(bound.path, line, column, dotted(place), message, remedy)


def scenario_problems(bound: BoundScenario) -> Iterator[Problem]:
    """Yield what does not hold; what code of the toolset raises is a problem too."""
    try:
        Conversation(bound, Limits(), "check").observation()  # a replay never looks, and the toolset makes it
        yield from _reference_problems(bound)
        if not bound.scenario.counterexamples:
            yield problem_at(
                bound,
                ("counterexamples",),
                "there is none",
                f"add a trace that commits the failure mode {bound.scenario.failure_mode.code!r}",
            )
        for number, example in enumerate(bound.scenario.counterexamples):
            yield from _counterexample_problems(bound, number, example)
    except Exception as error:  # noqa: BLE001 - whatever a toolset's code raises is its author's mistake
        yield broken(bound, error)


def broken(bound: BoundScenario, error: Exception) -> Problem:
    """Return the problem at the author's line that raised, or else at the scenario's reference."""
    message, remedy = wording(error)
    if not message.startswith("the toolset broke"):
        message = f"the toolset broke: {message}"
    return blame(error) or problem_at(bound, ("reference",), message, remedy)


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
        yield problem_at(
            bound,
            ("reference",),
            f"fails {name}, {check.id}: expected {check.expected}; actual {check.actual}",
            "mend the reference or what is expected",
        )
    last = len(episode.turns)
    if last < len(bound.scenario.reference):
        yield problem_at(
            bound,
            ("reference", last),
            f"the episode ends after turn {last} of {len(bound.scenario.reference)}",
            "drop the turns that are never played",
        )
    for number, fault in enumerate(episode.faults):
        if not fault.reached:
            yield problem_at(
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
    return problem_at(
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
        yield problem_at(
            bound,
            (*place, "fails"),
            f"{example.name!r} fails {sorted(failed) or 'nothing'}, not {sorted(named)}{_why(score)}",
            "name exactly the dimensions that fail, or mend the trace",
        )
    if set(score.codes) != set(example.violations):
        yield problem_at(
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
