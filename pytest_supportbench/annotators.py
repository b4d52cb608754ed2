"""How the people agree among themselves, before anybody decides: without that, what they say is no measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from pytest_supportbench.agreement import Agreement, Pair, agreement, below
from pytest_supportbench.errors import UsageError
from pytest_supportbench.labels import Labels

MIN_KAPPA: Final = 0.6
"""Cohen's kappa that each two annotators must reach: "substantial" to Landis and Koch (1977), The measurement of
observer agreement for categorical data, Biometrics 33, 159-174."""
MIN_SURE: Final = 80
"""Of so many per cent of the items each two annotators must both have been sure: kappa is over these alone."""
MAX_UNDECIDED: Final = 10
"""Of so many per cent of the items people may in the end not say whether the concept is there."""


@dataclass(frozen=True, slots=True)
class People:
    """How the annotators agree, two by two, over the items on which both decided.

    ``disagreements`` counts items on which they differed or were unsure, ``open_items`` those that nobody decided,
    ``unsure`` those that stay unsure although somebody looked: these two are left out of every figure.
    """

    items: int
    annotators: int
    disagreements: int
    open_items: int
    unsure: int
    pairs: tuple[tuple[int, int, Agreement], ...]

    @property
    def undecided(self) -> int:
        """How many items are in no figure."""
        return self.open_items + self.unsure

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why no rater is calibrated by these people, in words; empty where they may be."""
        return tuple(_reasons(self))


def people(labels: Labels) -> People:
    """Return how the annotators agree. Raises `UsageError` where there are no answers yet."""
    if not labels.answered:
        msg = "these labels have no answers yet; fill in the sheets, then: supportbench labels import"
        raise UsageError(msg)
    pairs = []
    for first, second in combinations(range(labels.annotators), 2):
        answers = ((item.answers[first], item.answers[second], item.family) for item in labels.items)
        decided = [Pair(a == "yes", b == "yes", family) for a, b, family in answers if "unsure" not in {a, b}]
        pairs.append((first + 1, second + 1, agreement(decided)))
    open_items = sum(item.is_open for item in labels.items)
    return People(
        items=len(labels.items),
        annotators=labels.annotators,
        disagreements=len(labels.disagreements),
        open_items=open_items,
        unsure=sum(item.truth is None for item in labels.items) - open_items,
        pairs=tuple(pairs),
    )


def _reasons(found: People) -> Iterator[str]:
    for first, second, agreed in found.pairs:
        who = f"annotators {first} and {second}"
        if 100 * agreed.items < MIN_SURE * found.items:
            least = f"and must be of at least {MIN_SURE} %"
            yield f"{who} were both sure of {agreed.items} of {found.items} items, {least}"
        if agreed.kappa is None:
            yield f"{who}: their agreement beyond chance is unknown, since only one answer was ever given"
        elif not agreed.kappa.estimate >= MIN_KAPPA:
            short = below(agreed.kappa.estimate, MIN_KAPPA)
            yield f"{who} agree too little: Cohen's kappa is {short} before anybody decides"
    if 100 * found.undecided > MAX_UNDECIDED * found.items:
        most = f"and at most {MAX_UNDECIDED} % may"
        yield f"{found.undecided} of {found.items} items stay undecided or unsure, {most}"
    if found.open_items:
        yield f"{found.open_items} disagreements of the annotators are undecided; see supportbench labels adjudicate"
