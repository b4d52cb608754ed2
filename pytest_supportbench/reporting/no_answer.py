"""What a terminal and a page tell of episodes that ended without a decision of the agent's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_supportbench.counted import counted
from pytest_supportbench.reporting.text import wrapped

if TYPE_CHECKING:
    from pytest_supportbench.no_answer import Ended, NoAnswer


def no_answer_lines(found: NoAnswer) -> Iterator[str]:
    """Yield how many there are, then each ending with its most frequent text and what to do; nothing for none."""
    if not found.count:
        return
    yield f"  no answer of its own: {found.count} of {counted(found.whole, 'scored episode')}"
    for item in found.endings:
        yield from wrapped(_with_text(item), "    ", "      ")
        if item.remedy:
            yield from wrapped(item.remedy, "      remedy: ", "        ")


def _with_text(item: Ended) -> str:
    text = f"{item.words} ({item.ending})"
    return f"{text}: {item.told}" if item.told else text


def of_them(count: int) -> str:
    """Return how many of a share's passes have no answer, in words that stand beside it; empty for none."""
    return f"{count} of them without an answer" if count else ""
