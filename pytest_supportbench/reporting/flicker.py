"""An A/A check in words: how often the gate would have cried wolf, why, and which scenarios flicker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_supportbench.counted import counted
from pytest_supportbench.flicker import Unchanged
from pytest_supportbench.reporting.text import wrapped

STEPS: Final = {
    "comparable": "the step for what must be equal",
    "integrity": "gaps of a run",
    "quarantine": "the quarantine",
    "zero_tolerance": "zero tolerance",
    "scenarios": "the step for single scenarios",
    "aggregate": "the step for all scenarios",
    "dimensions": "the step for dimensions",
}


def unchanged_lines(found: Unchanged) -> Iterator[str]:
    """Yield what repeated runs of one agent showed, for a terminal of 80 columns."""
    total = sum(found.verdicts.values())
    of = f"of {counted(total, 'comparison')}"
    counts = ", ".join(f"{name} {count}" for name, count in found.verdicts.items())
    yield f"{found.runs} runs of one agent, each compared with each other: {counts}"
    wolf, unsure = (found.verdicts.get(name, 0) for name in ("REGRESSED", "INCONCLUSIVE"))
    text = f"the gate would have cried wolf in {wolf} {of} ({100 * wolf / total:.0f} %)"
    yield from wrapped(f"{text}, that is REGRESSED although the agent is the same", "", "  ")
    if unsure:
        text = f"it could not tell in {unsure} {of}"
        yield from wrapped(
            f"{text}; a gated run tries new failures again, which is no part of this", "", "  "
        )
    for step, count in found.reasons.items():
        text = f"{STEPS[step]}: in {count} {of} it kept the verdict from being a PASS"
        yield from wrapped(text, "  ", "    ")
    if not found.flickering:
        yield "no scenario flickers"
        return
    yield f"{len(found.flickering)} of {found.scenarios} scenarios flicker:"
    for item in found.flickering:
        runs = ", ".join(f"{passed}/{scored}" for passed, scored in item.runs)
        yield f"  {item.case[1]}: passed {item.passed} of {item.scored} trials ({runs})"
