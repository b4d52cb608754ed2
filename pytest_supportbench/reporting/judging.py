"""Explanation in the summary where a judge was asked: both raters' shares, their standing, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from pytest_supportbench.counted import counted
from pytest_supportbench.explained import AgentExplained, Standing
from pytest_supportbench.judging import Explanation
from pytest_supportbench.questions import MATCHER
from pytest_supportbench.reporting.text import clean, wrapped


class Writer(Protocol):
    """What is needed of pytest's terminal reporter."""

    def section(self, title: str, sep: str = "=", **markup: Any) -> None:
        """Write a title across the screen."""

    def write_line(self, line: str | bytes, **markup: Any) -> None:
        """Write one line."""


def print_explanation(reporter: Writer, found: Explanation, file: str) -> None:
    """Print what the raters say of each agent; ``file`` has the answers."""
    if found.judge is None:
        return
    reporter.section("supportbench explanation", sep="=", bold=True)
    for line in explanation_lines(found, found.judge, file):
        reporter.write_line(line)


def explanation_lines(found: Explanation, judge: Standing, file: str) -> Iterator[str]:
    """Yield each agent's shares, how far the raters are apart, why they are not calibrated, and what failed."""
    for agent in found.agents:
        yield from _agent(agent, found.matcher, judge)
    for standing in (found.matcher, judge):
        if not standing.calibrated and (standing is found.matcher or found.asked.fingerprint is not None):
            yield from wrapped(str(standing), "  ", "    ")
    for error in found.asked.errors:
        yield from wrapped(
            f"{error.cause} ×{error.count}: {error.message}", "  infrastructure error: ", "    "
        )
        if error.remedy:
            yield from wrapped(error.remedy, "    remedy: ", "    ")
    if found.asked.problem:
        yield from wrapped(found.asked.problem, "  judge: ", "    ")
    if found.asked.errors or found.asked.problem:
        yield "  ask for what is missing with:"
        yield clean(f"    supportbench judge RESULTS --judge SPEC --out {file}")
    if found.asked.answers:
        yield clean(f"judgements: {file}")


def _agent(found: AgentExplained, matcher: Standing, judge: Standing) -> Iterator[str]:
    yield from wrapped(
        f"{found.agent}: explanation in {counted(found.episodes, 'scored episode')} with concepts", "", "  "
    )
    if not found.episodes:
        return
    yield f"  by the {MATCHER:<14}  {_share(found.matcher, matcher)}"
    part = 0 < found.judged < found.episodes
    some = f", in {found.judged} of {found.episodes} episodes" if part else ""
    yield f"  by the {'judge':<14}  {_share(found.judge, judge)}{some}"
    yield from wrapped(_apart(found), "  ", "    ")
    if found.unanswered:
        yield f"  not judged: {counted(found.unanswered, 'item')}"


def _share(share: float | None, standing: Standing) -> str:
    state = "calibrated" if standing.calibrated else "UNCALIBRATED"
    return "nothing judged" if share is None else f"{share:.2f} of concepts, {state}"


def _apart(found: AgentExplained) -> str:
    """Return how often the raters answer differently, and who alone finds the concept."""
    if not found.items:
        return "how far phrase matcher and judge disagree is unknown: no item was answered by both"
    which = f"{found.matcher_only} that only the phrase matcher finds, {found.judge_only} that only the judge finds"
    return f"they disagree on {found.differ} of {counted(found.items, 'item')}: {which}"
