"""What calibration says, as lines for a terminal: the people, each rater, and how far two raters are apart."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_supportbench.agreement import Agreement
from pytest_supportbench.annotators import People
from pytest_supportbench.calibration import Calibration
from pytest_supportbench.counted import counted
from pytest_supportbench.judgements import Judged
from pytest_supportbench.questions import MATCHER
from pytest_supportbench.reporting.text import clean, wrapped
from pytest_supportbench.statistics import Interval

_NONE = "–"


def people_lines(found: People) -> Iterator[str]:
    """Yield what the annotators did and how they agree."""
    yield f"people: {counted(found.items, 'item')}, {counted(found.annotators, 'annotator')}"
    decided = found.disagreements - found.open_items
    yield f"  disagreements         {found.disagreements}, {decided} of them adjudicated"
    yield f"  stay unsure           {found.unsure}, left out of all figures"
    for first, second, agreed in found.pairs:
        yield f"  annotators {first} and {second}, who were both sure of {counted(agreed.items, 'item')}"
        yield from _coefficients(agreed)


def rater_lines(calibration: Calibration) -> Iterator[str]:
    """Yield what one rater is worth, and why it is not calibrated where it is not."""
    found = calibration.figures
    against = found.against_people
    state = "calibrated" if calibration.calibrated else "UNCALIBRATED"
    yield clean(f"{found.name}: {state}")
    items, scenarios = counted(against.items, "item"), counted(against.clusters, "scenario")
    yield f"  against people        {items} of {scenarios}, twins counted as one"
    yield from _coefficients(against)
    yield f"  recall on passes      {_of(against.both, found.passes)}  {_interval(found.recall_on_passes)}"
    yield f"  recall on fails       {_of(against.neither, found.fails)}  {_interval(found.recall_on_fails)}"
    yield f"  severe false accepts  {found.severe}"
    yield f"  other false accepts   {found.disputed}, where annotators differed"
    for reason in calibration.reasons:
        yield from wrapped(reason, "  not calibrated: ", "    ")


def between_lines(first: str, second: str, found: Agreement) -> Iterator[str]:
    """Yield how often two raters answer differently, and who alone finds the concept."""
    apart = f"{found.differ} of {counted(found.items, 'item')}"
    percent = f" ({100 * found.differ / found.items:.0f} %)" if found.items else ""
    yield clean(f"{first} and {second} disagree on {apart}{percent}:")
    yield f"  {found.first_only} that only the first of them finds, {found.second_only} that only the second finds"


def judged_lines(found: Judged) -> Iterator[str]:
    """Yield what a judge answered, and how far it is from the phrase matcher."""
    lines = list(found.judgements.lines.values()) if found.judgements else []
    there = sum(line.present for line in lines)
    unfounded = sum(line.answer == "yes" and not line.found for line in lines)
    invalid = sum(line.answer == "invalid" for line in lines)
    yield f"{counted(len(lines), 'concept')} judged, {found.new} of them now: {there} there, {len(lines) - there} not"
    yield f"  counted as not there: {unfounded} yes without words of the agent's, {invalid} invalid replies"
    judge_only = sum(line.present and not line.matcher for line in lines)
    matcher_only = sum(line.matcher and not line.present for line in lines)
    yield from between_lines(
        MATCHER,
        "judge",
        Agreement(
            both=there - judge_only,
            first_only=matcher_only,
            second_only=judge_only,
            neither=len(lines) - there - matcher_only,
            clusters=0,
            raw=None,
            kappa=None,
            ac1=None,
        ),
    )
    if found.errors:
        yield f"  not judged, by infrastructure errors: {len(found.errors)}, the last one:"
        yield from wrapped(str(found.errors[-1]), "    ")
        yield "  the same command goes on with what is missing"


def _coefficients(found: Agreement) -> Iterator[str]:
    yield f"  raw agreement         {_interval(found.raw)}"
    yield f"  Cohen's kappa         {_interval(found.kappa)}"
    yield f"  Gwet's AC1            {_interval(found.ac1)}"


def _of(part: int, whole: int) -> str:
    return f"{part}/{whole}"


def _interval(found: Interval | None) -> str:
    if found is None:
        return _NONE
    return f"{found.estimate:.2f} [{found.low:.2f}, {found.high:.2f}]"
