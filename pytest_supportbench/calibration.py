"""Whether a rater of explanations may join a gate: what people say against what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_supportbench.agreement import Agreement, Pair, agreement, below, share
from pytest_supportbench.annotators import People, people
from pytest_supportbench.labels import Labels
from pytest_supportbench.questions import MATCHER, Fingerprint
from pytest_supportbench.statistics import Interval

MIN_RECALL: Final = 0.8
"""What the lower bounds of both recalls must reach."""
MIN_KAPPA: Final = 0.7
MIN_LABELS: Final = 50
"""So many items people must have passed, and so many failed."""


@dataclass(frozen=True, slots=True)
class Rater:
    """Who says whether concepts are there, and what it said by the key of the question."""

    fingerprint: Fingerprint
    said: Mapping[str, bool]

    @property
    def name(self) -> str:
        """What reports call it."""
        return rater_name(self.fingerprint)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one rater is worth, measured against people; ``recall_*`` are of the items that people passed or failed.

    ``against_people`` has people first, the rater second. ``severe`` counts severe false accepts: the rater says that
    the concept is there, somebody said no, and nobody, the person who decided included, said yes. ``disputed`` counts
    the other accepts of what people failed: an annotator said yes there. ``unjudged`` counts items of which people
    said something, and the rater nothing.
    """

    fingerprint: Fingerprint
    against_people: Agreement
    recall_on_passes: Interval | None
    recall_on_fails: Interval | None
    severe: int
    disputed: int
    unjudged: int

    @property
    def name(self) -> str:
        """What reports call the rater."""
        return rater_name(self.fingerprint)

    @property
    def passes(self) -> int:
        """How many of the items that it judged people passed."""
        return self.against_people.both + self.against_people.first_only

    @property
    def fails(self) -> int:
        """How many of the items that it judged people failed."""
        return self.against_people.second_only + self.against_people.neither


@dataclass(frozen=True, slots=True)
class Calibration:
    """A rater's figures, and how the people agreed who are its measure."""

    figures: Figures
    people: People

    @property
    def name(self) -> str:
        """What reports call the rater."""
        return self.figures.name

    @property
    def calibrated(self) -> bool:
        """Whether explanation, judged by this rater, may join a gate."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not calibrated, in words; empty where it is."""
        return (*_reasons(self.figures), *self.people.reasons)


def rater_name(fingerprint: Mapping[str, Any]) -> str:
    """Return what reports call a rater: the phrase matcher, or the judge with its model."""
    if fingerprint["rater"] == MATCHER:
        return MATCHER
    return f"judge {fingerprint.get('judge', '')}".strip()


def matcher_of(labels: Labels) -> Rater:
    """Return the phrase matcher with what it found when the labels were exported."""
    return Rater(labels.matcher, {item.key: item.matcher for item in labels.items})


def calibrate(labels: Labels, rater: Rater, who: People | None = None) -> Calibration:
    """Return what a rater is worth against people who have answered; ``who`` saves working out how they agree.

    Raises `UsageError` where there are no answers yet.
    """
    who = who or people(labels)
    known = [(item, item.truth) for item in labels.items]
    judged = [
        (item, truth, rater.said[item.key])
        for item, truth in known
        if truth is not None and item.key in rater.said
    ]
    figures = Figures(
        fingerprint=rater.fingerprint,
        against_people=agreement([Pair(truth, said, item.family) for item, truth, said in judged]),
        recall_on_passes=share([(said, item.family) for item, truth, said in judged if truth]),
        recall_on_fails=share([(not said, item.family) for item, truth, said in judged if not truth]),
        severe=sum(rater.said.get(item.key, False) and item.refused for item in labels.items),
        disputed=sum(said and not truth and "yes" in item.answers for item, truth, said in judged),
        unjudged=sum(truth is not None and item.key not in rater.said for item, truth in known),
    )
    return Calibration(figures, who)


def between(labels: Labels, first: Rater, second: Rater) -> Agreement:
    """Return how two raters agree over the items that both judged, whatever people say."""
    return agreement(
        [
            Pair(first.said[item.key], second.said[item.key], item.family)
            for item in labels.items
            if item.key in first.said and item.key in second.said
        ]
    )


def _reasons(found: Figures) -> Iterator[str]:
    yield from _recall("passes", found.recall_on_passes)
    yield from _recall("fails", found.recall_on_fails)
    kappa = found.against_people.kappa
    if kappa is None:
        yield "its agreement beyond chance is unknown, since only one answer was ever given"
    elif not kappa.estimate >= MIN_KAPPA:
        yield f"Cohen's kappa with people is {below(kappa.estimate, MIN_KAPPA)}"
    for name, number in (("passes", found.passes), ("fails", found.fails)):
        if number < MIN_LABELS:
            yield f"people's {name}: {number}, and at least {MIN_LABELS} are needed"
    if found.severe:
        yield f"severe false accepts: {found.severe}, and none is allowed"
    if found.unjudged:
        yield f"it did not judge {found.unjudged} of the labelled items"


def _recall(name: str, recall: Interval | None) -> Iterator[str]:
    if recall is None:
        yield f"its recall on {name} is unknown, since people found none"
    elif not recall.low >= MIN_RECALL:
        yield f"the lower bound of its recall on {name} is {below(recall.low, MIN_RECALL)}"
