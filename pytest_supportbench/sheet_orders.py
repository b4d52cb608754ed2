"""The order of rows in sheets: each annotator's is shuffled its own way, so a copied sheet gives itself away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

FEWEST: Final = 8
"""Two orders of fewer items are alike by chance too often: one in 40,320 of eight."""

Order = Sequence[str]


def copied_from(orders: Mapping[int, Order], exported: Mapping[int, Order]) -> tuple[int, int, bool] | None:
    """Return a sheet whose order tells of a copy, the one it was copied from, and whether in its exported order.

    Both by the annotator's number. ``orders`` are those of the filled sheets, ``exported`` those that were given out.
    A sheet in the exported order of another annotator is a copy, and so are two in one order, unless they are sorted
    by the ids of the items. ``None`` where nothing tells of a copy.
    """
    for number, order in sorted(orders.items()):
        if len(order) < FEWEST or list(order) == list(exported[number]):
            continue
        for other in sorted(exported):
            if other != number and list(order) == list(exported[other]):
                return number, other, True
    for number, order in sorted(orders.items(), reverse=True):
        for other in sorted(orders):
            if other < number and len(order) >= FEWEST and _alike(order, orders[other]):
                return number, other, False
    return None


def _alike(order: Order, other: Order) -> bool:
    plain = sorted(order)
    return list(order) == list(other) and list(order) not in (plain, plain[::-1])
