"""What must fit together in the figures of a calibration, worked out anew from the counts in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final

from pytest_supportbench.agreement import Agreement
from pytest_supportbench.annotators import People
from pytest_supportbench.calibration import Figures
from pytest_supportbench.labels import MOST_ANNOTATORS
from pytest_supportbench.statistics import Interval

LEVEL: Final = 0.95


def misfits(people: People, raters: Iterable[Figures]) -> Iterator[str]:
    """Yield each figure, in words, that contradicts the counts beside it; needs neither scipy nor statsmodels."""
    yield from _people(people)
    for rater in raters:
        for field in (*_agreement(rater.against_people), *_rater(rater, people)):
            yield f"{field!r} of the {rater.name} does not fit the counts"


def _people(people: People) -> Iterator[str]:
    numbers = range(1, min(people.annotators, MOST_ANNOTATORS) + 1)
    pairs = [(first, second) for first, second, _ in people.pairs]
    if not pairs or pairs != list(combinations(numbers, 2)) or people.annotators != numbers[-1]:
        yield "'pairs' of people are not each two annotators"
        return
    for first, second, agreed in people.pairs:
        for field in _agreement(agreed):
            yield f"{field!r} of annotators {first} and {second} does not fit the counts"
    if any(agreed.items > people.items for _, _, agreed in people.pairs):
        yield "'items' of people are fewer than those that annotators were sure of"
    # An item is a disagreement where any two annotators differ or are unsure.
    apart = [people.items - agreed.both - agreed.neither for _, _, agreed in people.pairs]
    if not max(apart) <= people.disagreements <= min(sum(apart), people.items):
        yield "'disagreements' of people do not fit the counts"
    if min(people.open_items, people.unsure) < 0 or people.undecided > people.disagreements:
        yield "'unsure' of people does not fit the counts"


def _agreement(found: Agreement) -> Iterator[str]:
    """Yield which fields of an agreement contradict its counts."""
    counts = (found.both, found.first_only, found.second_only, found.neither)
    if min(counts) < 0 or not (0 < found.clusters <= found.items or found.clusters == found.items == 0):
        yield "clusters"
        return
    wanted = dict.fromkeys(("raw", "kappa", "ac1")) if not found.items else _coefficients(*counts)
    for field, value in wanted.items():
        if not _is(getattr(found, field), value, 0.0 if field == "raw" else -1.0):
            yield field


def _coefficients(both: int, first_only: int, second_only: int, neither: int) -> dict[str, float | None]:
    """Return raw agreement, Cohen's kappa and Gwet's AC1 of a table of two raters' yes and no."""
    items = both + first_only + second_only + neither
    raw = (both + neither) / items
    first, second = (both + first_only) / items, (both + second_only) / items
    by_chance = first * second + (1 - first) * (1 - second)
    usual = (first + second) / 2
    gwets = 2 * usual * (1 - usual)
    alike = items in {both, neither}
    return {
        "raw": raw,
        "kappa": None if alike else (raw - by_chance) / (1 - by_chance),
        "ac1": (raw - gwets) / (1 - gwets),
    }


def _rater(rater: Figures, people: People) -> Iterator[str]:
    against = rater.against_people
    for field, found, whole in (
        ("recall_on_passes", against.both, rater.passes),
        ("recall_on_fails", against.neither, rater.fails),
    ):
        if not _is(getattr(rater, field), found / whole if whole else None, 0.0):
            yield field
    if rater.unjudged < 0 or against.items + rater.unjudged + people.undecided != people.items:
        yield "unjudged"
    if not 0 <= rater.disputed <= min(against.second_only, people.disagreements - people.undecided):
        yield "disputed"
    # What people left undecided may be severe too, and is in no other figure.
    least = against.second_only - rater.disputed
    if not least <= rater.severe <= least + people.undecided:
        yield "severe"


def _is(found: Interval | None, estimate: float | None, lowest: float) -> bool:
    """Tell whether an interval is of an estimate, and its bounds are on either side and possible."""
    if found is None or estimate is None:
        return found is None and estimate is None
    ordered = lowest - 1e-9 <= found.low <= found.estimate <= found.high <= 1.0 + 1e-9
    return ordered and found.level == LEVEL and math.isclose(found.estimate, estimate, abs_tol=1e-9)
