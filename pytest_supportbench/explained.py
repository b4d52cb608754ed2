"""Explanation as the phrase matcher and a model judge saw it in one run: shares, and where the two disagree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pytest_supportbench.attempts import counting_attempts
from pytest_supportbench.protocol import Message
from pytest_supportbench.questions import Item, items_of
from pytest_supportbench.recount import counting_lines
from pytest_supportbench.results import Json
from pytest_supportbench.results_file import RunFile

Place: TypeAlias = tuple[str, str, str, tuple[Message, ...]]
"""A concept of a scenario in one text: suite, scenario, concept, and what was told."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a rater is worth by people: ``reasons`` say why it is not calibrated, and are empty where it is."""

    rater: str
    reasons: tuple[str, ...]

    @property
    def calibrated(self) -> bool:
        """Whether explanation, judged by this rater, may join a gate."""
        return not self.reasons

    def __str__(self) -> str:
        """Return it in words, with the reasons."""
        return f"the {self.rater} is " + (
            "calibrated" if self.calibrated else f"uncalibrated because {'; '.join(self.reasons)}"
        )


@dataclass(frozen=True, slots=True)
class EpisodeShares:
    """The shares (0 to 1) of one scored episode's concepts that each rater finds.

    ``judge`` is ``None`` where it did not answer every question of the episode. Twins share a ``family``.
    """

    family: str
    matcher: float
    judge: float | None


@dataclass(frozen=True, slots=True)
class Explained:
    """Explanation by one rater for a gate: ``shares`` has each scored episode with concepts, its family and share.

    ``unknown`` says why it cannot be told; ``infrastructure`` that nothing but infrastructure errors is the cause.
    """

    rater: str
    shares: tuple[tuple[str, float], ...]
    unknown: str = ""
    infrastructure: bool = False


@dataclass(frozen=True, slots=True)
class AgentExplained:
    """One agent's explanation by both raters: means over its ``episodes`` that were scored and have concepts.

    The judge's is over the ``judged`` ones of them. ``items`` are the questions that both answered, equal texts of a
    scenario once; of them one rater alone finds ``matcher_only`` and ``judge_only``. ``unanswered`` has no judge's
    answer.
    """

    agent: str
    episodes: int
    matcher: float | None
    judged: int
    judge: float | None
    items: int
    matcher_only: int
    judge_only: int
    unanswered: int

    @property
    def differ(self) -> int:
        """On how many items the raters disagree."""
        return self.matcher_only + self.judge_only

    def to_json(self) -> Json:
        """Return the counts as JSON data."""
        return {
            "agent": self.agent,
            "episodes": self.episodes,
            "matcher": self.matcher,
            "judged": self.judged,
            "judge": self.judge,
            "disagreement": {
                "items": self.items,
                "differ": self.differ,
                "matcher_only": self.matcher_only,
                "judge_only": self.judge_only,
            },
            "unanswered": self.unanswered,
        }


def place_of(item: Item) -> Place:
    """Return where an item's question is asked; the words that came before the episode are the scenario's own."""
    return item.suite, item.scenario, item.concept, item.asked.told


def summary_lines(run: RunFile) -> list[Json]:
    """Return the episodes that a summary's explanation is of: scored, of scenario items, the last attempt of each."""
    return [line for line in counting_lines(run) if line["verdict"] != "error" and not line.get("own")]


def gate_lines(run: RunFile) -> list[Json]:
    """Return the episodes that a gate's is of: the first scored attempt of each trial, so that no rerun helps."""
    trials = int(run.run["settings"]["trials"])
    declared = (line for line in run.episodes if int(line["trial"]) <= trials)
    return [line for line in counting_attempts(declared) if line["verdict"] != "error"]


def places(lines: Iterable[Json]) -> set[Place]:
    """Return what can be asked about episodes; those that told the customer nothing have nothing to read."""
    return {place_of(item) for line in lines for item in items_of(line, ()) if item.asked.told}


def episode_shares(lines: Iterable[Json], answers: Mapping[Place, bool]) -> Iterator[EpisodeShares]:
    """Yield the shares of the episodes that have concepts; one that told the customer nothing conveys none."""
    for line in lines:
        items = list(items_of(line, ()))
        if not items:
            continue
        said = [answers.get(place_of(item)) if item.asked.told else False for item in items]
        yield EpisodeShares(
            family=items[0].family,
            matcher=sum(item.matcher for item in items) / len(items),
            judge=None if None in said else sum(map(bool, said)) / len(items),
        )


def agent_explained(agent: str, lines: Sequence[Json], answers: Mapping[Place, bool]) -> AgentExplained:
    """Return one agent's explanation by both raters, over its own ``lines``."""
    shares = list(episode_shares(lines, answers))
    judged = [share.judge for share in shares if share.judge is not None]
    asked = {place_of(item): item.matcher for line in lines for item in items_of(line, ()) if item.asked.told}
    pairs = [(matcher, answers[place]) for place, matcher in asked.items() if place in answers]
    return AgentExplained(
        agent=agent,
        episodes=len(shares),
        matcher=_mean([share.matcher for share in shares]),
        judged=len(judged),
        judge=_mean(judged),
        items=len(pairs),
        matcher_only=sum(matcher and not judge for matcher, judge in pairs),
        judge_only=sum(judge and not matcher for matcher, judge in pairs),
        unanswered=len(asked) - len(pairs),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
