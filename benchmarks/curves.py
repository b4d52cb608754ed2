"""The growth curves as one drawing: both axes logarithmic, so that a straight line at 45 degrees is linear growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

WIDTH, HEIGHT, EDGE = 320, 260, 48
PANELS: Final = (
    (
        "seconds",
        {
            "seconds": ("wall", "#1f5fbf"),
            "cpu": ("CPU", "#c05a00"),
            "floor_seconds": ("floor", "#6b6b6b"),
        },
    ),
    ("peak memory, MB", {"peak_mb": ("ours", "#1f5fbf"), "floor_mb": ("floor", "#6b6b6b")}),
    ("results file, MB", {"file_mb": ("", "#1f5fbf")}),
)


def drawing(points: Sequence[dict[str, Any]]) -> str:
    """Return an SVG with a panel each for time, memory and file size over the episodes of the points."""
    import drawsvg  # noqa: PLC0415 - of the extra html, and only needed here

    picture = drawsvg.Drawing(WIDTH * len(PANELS), HEIGHT, font_family="sans-serif")
    picture.append(drawsvg.Rectangle(0, 0, WIDTH * len(PANELS), HEIGHT, fill="white"))
    for number, (title, lines) in enumerate(PANELS):
        panel = drawsvg.Group(transform=f"translate({WIDTH * number} 0)")
        _panel(drawsvg, panel, title, lines, points)
        picture.append(panel)
    text: str = picture.as_svg()
    return text + "\n"


def _panel(
    drawsvg: Any, panel: Any, title: str, lines: dict[str, tuple[str, str]], points: Sequence[dict[str, Any]]
) -> None:
    values = [point[name] for point in points for name in lines if point[name] > 0]
    across = _Scale([point["episodes"] for point in points], EDGE, WIDTH - 32)
    up = _Scale(values, HEIGHT - EDGE, 34)
    panel.append(drawsvg.Text(title, 13, EDGE, 20, font_weight="bold"))
    for power in range(across.low, across.high + 1):
        x = across.at(10.0**power)
        panel.append(drawsvg.Line(x, 34, x, HEIGHT - EDGE, stroke="#dddddd"))
        panel.append(drawsvg.Text(_label(power), 10, x, HEIGHT - EDGE + 16, text_anchor="middle"))
    for power in range(up.low, up.high + 1):
        y = up.at(10.0**power)
        panel.append(drawsvg.Line(EDGE, y, WIDTH - 32, y, stroke="#dddddd"))
        panel.append(drawsvg.Text(_label(power), 10, EDGE - 6, y + 3, text_anchor="end"))
    panel.append(drawsvg.Text("episodes", 11, (EDGE + WIDTH) / 2, HEIGHT - 12, text_anchor="middle"))
    for place, (name, (label, colour)) in enumerate(lines.items()):
        found = [(across.at(point["episodes"]), up.at(point[name])) for point in points if point[name] > 0]
        flat = [part for pair in found for part in pair]
        panel.append(drawsvg.Lines(*flat, stroke=colour, stroke_width=2, fill="none"))
        for x, y in found:
            panel.append(drawsvg.Circle(x, y, 3, fill=colour))
        if label:
            panel.append(drawsvg.Text(label, 11, EDGE + 8, 48 + 14 * place, fill=colour))


class _Scale:
    """A logarithmic scale over whole powers of ten, from one pixel to another."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self._first, self._last = first, last

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self._first + share * (self._last - self._first), 1)


def _label(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
