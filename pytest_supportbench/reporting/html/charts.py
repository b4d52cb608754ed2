"""Bars of shares with their intervals, as inline SVG that follows the page's theme; drawn by drawsvg."""

from __future__ import annotations

from typing import Final

import drawsvg
from markupsafe import Markup

from pytest_supportbench.statistics import Interval

_WIDTH: Final = 100
_HEIGHT: Final = 10


def bar(share: float, interval: Interval | None, said: str) -> Markup:
    """Return a bar of a share (0 to 1) with a whisker for its interval; ``said`` is the text alternative.

    It is as wide as its place, so widths are percent; colours are the style sheet's.
    """
    drawing = drawsvg.Drawing(
        _WIDTH, _HEIGHT, role="img", aria_label=said, class_="sb-bar", preserveAspectRatio="none"
    )
    drawing.append(drawsvg.Rectangle(0, 1, _WIDTH, 8, class_="sb-bar-ground"))
    drawing.append(drawsvg.Rectangle(0, 1, round(_WIDTH * share, 2), 8, class_="sb-bar-share"))
    if interval is not None:
        low, high = (round(_WIDTH * bound, 2) for bound in (interval.low, interval.high))
        for ends in ((low, 5, high, 5), (low, 2.5, low, 7.5), (high, 2.5, high, 7.5)):
            drawing.append(drawsvg.Line(*ends, class_="sb-bar-interval", vector_effect="non-scaling-stroke"))
    return Markup(drawing.as_svg(header=""))  # noqa: S704 - drawsvg escapes the attributes, and there is no other text
