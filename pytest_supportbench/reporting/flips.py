"""Scenarios that flipped between two runs, with where their episodes can be read: for terminals, and as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pytest_supportbench.comparable import named, several_suites
from pytest_supportbench.flips import KINDS, Flip, Kind, Side
from pytest_supportbench.reporting.gate import markdown_text
from pytest_supportbench.reporting.text import bounded, clean, wrapped
from pytest_supportbench.traces import Trace

MAX_FLIPS: Final = 20
"""Scenarios of each kind that are listed unless all are asked for."""

MAX_TRACES: Final = 5
"""Episodes of one side that are named; the JSON has all."""

MAX_HEADLINE: Final = 300

NO_TRACES: Final = "a baseline has counts, and no traces"

LABELS: Final[dict[Kind, str]] = {
    "new_failure": "new failures",
    "fixed": "fixed",
    "worse": "worse in some trials",
    "better": "better in some trials",
}


def flip_lines(flips: Sequence[Flip], *, everything: bool = False) -> Iterator[str]:
    """Yield the flips for a terminal of 80 columns; ``path:line`` is never broken, so that it can be clicked."""
    if not flips:
        yield "  no scenario flipped"
    for label, shown, left in _by_kind(flips, everything=everything):
        yield f"  {label}"
        for name, flip in shown:
            yield from wrapped(f"{name} {flip.title}", "    ", "      ")
            if flip.headline:
                yield from wrapped(bounded(flip.headline, MAX_HEADLINE), "      ", "        ")
            for when, side in _sides(flip):
                yield f"      {when:<6} {side.passed}/{side.scored}  {_places(side, failing=when == flip.failing)}"
        if left:
            yield f"    … and {left} more; -v lists them all"


def flip_markdown(flips: Sequence[Flip], *, everything: bool = False) -> list[str]:
    """Return the flips as lines of Markdown, with links relative to the current folder."""
    lines = [] if flips else ["No scenario flipped.", ""]
    for label, shown, left in _by_kind(flips, everything=everything):
        lines += [f"{label.capitalize()}", ""]
        for name, flip in shown:
            sides = "; ".join(f"{when} {_linked(side, flip, when)}" for when, side in _sides(flip))
            headline = markdown_text(bounded(flip.headline, MAX_HEADLINE))
            lines.append(f"- {_head(name, flip)}: {sides}{f'. {headline}' if headline else ''}")
        lines += [f"- … and {left} more; `--all` lists them"] if left else []
        lines.append("")
    return lines


def _by_kind(flips: Sequence[Flip], *, everything: bool) -> Iterator[tuple[str, list[tuple[str, Flip]], int]]:
    """Yield for each kind its label with the count, the flips to show with their names, and how many are left."""
    several = several_suites([flip.case for flip in flips])
    for kind in KINDS:
        found = [flip for flip in flips if flip.kind == kind]
        shown = found if everything else found[:MAX_FLIPS]
        if found:
            names = [(named([flip.case], several=several), flip) for flip in shown]
            yield f"{LABELS[kind]}: {len(found)}", names, len(found) - len(shown)


def _sides(flip: Flip) -> tuple[tuple[str, Side], tuple[str, Side]]:
    """Return both sides by name, the one that fails more first."""
    sides = (("before", flip.before), ("now", flip.now))
    return sides if flip.failing == "before" else (sides[1], sides[0])


def _telling(side: Side, *, failing: bool) -> list[Trace]:
    """Return the episodes of a side, that which tells most first: a failed one of the side that fails more."""
    first = side.first("failed" if failing else "passed")
    return ([first] if first else []) + [item for item in side.episodes or () if item is not first]


def _places(side: Side, *, failing: bool) -> str:
    found = _telling(side, failing=failing)
    if not found:
        return NO_TRACES
    others = [str(item.line) for item in found[1:MAX_TRACES]]
    left = len(found) - MAX_TRACES
    more = f" and {left} more" if left > 0 else ""
    return f"{clean(str(found[0].file))}:{found[0].line}" + (
        f" (other trials: {', '.join(others)}{more})" if others else ""
    )


def _head(name: str, flip: Flip) -> str:
    """Return a scenario's name, linked to the episode that tells most, and its title."""
    side = flip.now if flip.failing == "now" else flip.before
    other = flip.before if flip.failing == "now" else flip.now
    found = _telling(side, failing=True) or _telling(other, failing=False)
    text = markdown_text(name)
    return f"{_link(text, found[0]) if found else text} {markdown_text(flip.title)}"


def _linked(side: Side, flip: Flip, when: str) -> str:
    found = _telling(side, failing=when == flip.failing)
    links = ", ".join(_link(f"trial {item.trial}", item) for item in found[:MAX_TRACES])
    left = len(found) - MAX_TRACES
    more = f" and {left} more" if left > 0 else ""
    return f"{side.passed}/{side.scored} ({links or NO_TRACES}{more})"


def _link(text: str, item: Trace) -> str:
    return f"[{text}]({_address(item.file)}#L{item.line})"


def _address(path: Path) -> str:
    """Return a path as a link from the current folder; from another drive it is absolute."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        relative = str(path.absolute())
    return quote(os.fsencode(Path(relative).as_posix()))
