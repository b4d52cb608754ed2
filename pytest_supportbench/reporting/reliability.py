"""pass@1 and pass^k in words: estimates, their intervals where there are any, and what k and the errors were."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_supportbench.counted import counted
from pytest_supportbench.reliability import Reliability
from pytest_supportbench.reporting.text import wrapped
from pytest_supportbench.statistics import Interval


def reliability_lines(found: Reliability) -> Iterator[str]:
    """Yield the rows for the table of an agent's shares, and the remarks below them, for 80 columns."""
    for name, estimate, interval in _named(found):
        bounds = f"   95 % interval {_bounds(interval)} %" if interval else ""
        yield f"  {name:<28}{f'{100 * estimate:.1f} %':>16}{bounds}"
    remarks = [f"of {counted(found.scenarios, 'scenario')}", *_remarks(found)]
    if found.pass_at_1_interval is None:
        remarks.append("intervals come with a gate, and with supportbench compare")
    yield from wrapped("; ".join(remarks), "    ", "    ")


def before_and_now(before: Reliability, now: Reliability) -> Iterator[tuple[str, str]]:
    """Yield each measure with its values before and now."""
    for (name, old, old_interval), (_, new, new_interval) in zip(_named(before), _named(now), strict=True):
        level = "; 95 % intervals" if old_interval and new_interval else ""
        yield name, f"{_value(old, old_interval)} before, {_value(new, new_interval)} now{level}"
    for when, side in (("before", before), ("now", now)):
        for text in _remarks(side):
            yield f"trials {when}", text


def _named(found: Reliability) -> Iterator[tuple[str, float, Interval | None]]:
    yield "pass@1", found.pass_at_1, found.pass_at_1_interval
    if found.k > 1:
        yield f"pass^{found.k}", found.pass_hat_k, found.pass_hat_k_interval


def _remarks(found: Reliability) -> Iterator[str]:
    if found.k == 1:
        yield "no pass^k, since a scenario has only one scored trial"
    elif found.k < found.most:
        yield f"k is {found.k}, the fewest scored trials of a scenario; there are up to {found.most}"
    if found.errors:
        alone = f", in {counted(found.unscored, 'scenario')} all of them" if found.unscored else ""
        yield f"{counted(found.errors, 'trial')} with infrastructure errors left out{alone}"


def _value(estimate: float, interval: Interval | None) -> str:
    return f"{100 * estimate:.1f} %{f' ({_bounds(interval)})' if interval else ''}"


def _bounds(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
