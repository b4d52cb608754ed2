"""The paired permutation test of the gate, exact: all ways to swap before and now are counted, none is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

FINE: Final = 60
"""Parts of a pass rate that are always counted: all rates of up to six trials are whole numbers of them."""
STEPS: Final = 200_000_000
"""Additions that counting the sums of a permutation test may take, about a second."""
FEWEST: Final = 40
"""Of fewer clusters no more sums are counted than of so many, which bounds the memory to 40 MB."""


def sign_flip_worse(differences: Sequence[Fraction]) -> float:
    """Return the one-sided p-value of a paired permutation test that the mean difference is below 0 (Fisher 1935).

    ``differences`` are now minus before, summed by cluster. It is exact, so it is as small as the data make it.
    """
    return _sign_flips(differences, two_sided=False)


def sign_flip_differs(differences: Sequence[Fraction]) -> float:
    """Return the two-sided p-value of that test: the mean difference is not 0."""
    return _sign_flips(differences, two_sided=True)


def _sign_flips(differences: Sequence[Fraction], *, two_sided: bool) -> float:
    """Return the share of all ways to swap before and now in which as much, or more, goes down as did.

    Each way takes some changes for drops and the others for rises, so it is counted how many of these choices add up to
    what. Changes are counted in whole parts of a rate, all of them where that is not too long; else they are rounded,
    both ways alike, which keeps the test's level: whatever the sizes are, each sign is as likely.
    """
    import numpy as np  # noqa: PLC0415 - it takes a while to import, and only gates and comparisons pay for it

    changes = _whole(differences)
    down, up = (
        sum(-change for change in changes if change < 0),
        sum(change for change in changes if change > 0),
    )
    if not changes or (two_sided and down == up):
        return 1.0
    shares = np.zeros(down + up + 1)
    shares[0], end = 1.0, 1
    for size in sorted(map(abs, changes)):
        taken = shares[:end] / 2
        shares[:end] = taken
        shares[size : size + end] += taken
        end += size
    if two_sided:
        return min(1.0, 2 * float(shares[max(down, up) :].sum()))
    return min(1.0, float(shares[down:].sum()))


def _whole(differences: Sequence[Fraction]) -> list[int]:
    """Return the changes as whole numbers of one part of a rate; equal sums stay equal where none was rounded."""
    scale = math.lcm(*(value.denominator for value in differences))
    units = float(sum(map(abs, differences))) * max(FEWEST, len(differences))
    scale = min(scale, max(FINE, int(STEPS / units))) if units else scale
    return [whole for value in differences if (whole := round(value * scale))]
