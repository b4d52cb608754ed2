"""Two or more agents in one table, and what each further one won and lost against the first; for 80 columns."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pytest_supportbench.counted import counted
from pytest_supportbench.reporting.cassettes import replayed
from pytest_supportbench.reporting.text import clean, wrapped
from pytest_supportbench.statistics import INSTALL, missing_packages
from pytest_supportbench.summary import AgentSummary, Share

if TYPE_CHECKING:
    from pytest_supportbench.comparison import Paired

MAX_COLUMNS: Final = 4
"""Agents side by side; further ones go into blocks of their own, each with the first agent again."""

MAX_IDS: Final = 20
"""Scenario ids that are listed of each kind without ``-v``."""

_LABEL: Final = 18
_WIDTH: Final = 78 - _LABEL


def compared(
    summaries: Sequence[AgentSummary], pairs: Sequence[Paired], *, verbose: bool = False
) -> Iterator[str]:
    """Yield the agents side by side, then each further one's difference from the first; nothing for one agent."""
    if pairs:
        yield ""
        yield from side_by_side(summaries)
    for pair in pairs:
        yield ""
        yield from difference(pair, verbose=verbose)


def side_by_side(summaries: Sequence[AgentSummary]) -> Iterator[str]:
    """Yield one table for up to four agents, else several that begin with the first agent."""
    first, *others = summaries
    step = MAX_COLUMNS - 1
    for start in range(0, len(others), step):
        if start:
            yield ""
        yield from _table((first, *others[start : start + step]))


def _table(summaries: Sequence[AgentSummary]) -> Iterator[str]:
    width = _WIDTH // len(summaries)
    names = [clean(summary.agent) for summary in summaries]
    names = [f"{name}{replayed(item.replayed)}" for name, item in zip(names, summaries, strict=True)]
    if any(len(name) >= width for name in names):
        letters = string.ascii_uppercase[: len(names)]
        for letter, name in zip(letters, names, strict=True):
            yield from wrapped(name, f"  {letter} = ")
        names = list(letters)
    yield _line("side by side", names, width)
    for label, cells in _rows(summaries, width):
        yield _line(label, cells, width)


def _line(label: str, cells: Sequence[str], width: int) -> str:
    return f"  {label:<{_LABEL - 2}}" + "".join(f"{cell:>{width}}" for cell in cells)


def _rows(summaries: Sequence[AgentSummary], width: int) -> Iterator[tuple[str, list[str]]]:
    def shares(values: Iterator[Share]) -> list[str]:
        return [
            text if len(text := str(share)) < width else f"{share.part}/{share.whole}" for share in values
        ]

    yield "strict pass", shares(summary.passed for summary in summaries)
    yield "by effects alone", shares(summary.passed_effects for summary in summaries)
    for name in summaries[0].dimensions:
        yield name.replace("_", " "), shares(summary.dimensions[name] for summary in summaries)
    yield "recall", shares(summary.escalation.recall for summary in summaries)
    yield "specificity", shares(summary.escalation.specificity for summary in summaries)
    yield "routine solved", shares(summary.routine_solved for summary in summaries)
    yield "zero tolerance", [str(summary.zero_tolerance) for summary in summaries]
    if any(summary.errors for summary in summaries):
        unscored = [summary.passed_of_all.whole - summary.passed.whole for summary in summaries]
        yield "not scored", [str(count) for count in unscored]
    if any(summary.no_answer.count for summary in summaries):
        yield "no answer", [str(summary.no_answer.count) for summary in summaries]
    usages = [summary.usage for summary in summaries]
    yield "tokens", [f"{usage.tokens:,}" if usage.counted else "–" for usage in usages]
    yield "seconds, median", ["–" if usage.seconds is None else f"{usage.seconds:.3g}" for usage in usages]


def difference(pair: Paired, *, verbose: bool = False) -> Iterator[str]:
    """Yield the paired difference of one agent against the first, with the scenarios that changed."""
    head = f"{clean(pair.agent)} against {clean(pair.baseline)}"
    if not pair.scenarios:
        yield from wrapped(f"{head}: there is no scenario that both have scored", "  ", "    ")
    else:
        yield from wrapped(
            f"{head}, {counted(pair.scenarios, 'scenario')} that both have scored:", "  ", "    "
        )
        yield from _changes(pair, verbose=verbose)
    for count, why in (
        (pair.not_scored, "since one of the two has infrastructure errors only"),
        (pair.not_run, "since one of the two did not run"),
    ):
        if count:
            yield f"    left out: {counted(count, 'scenario')}, {why}"
    if pair.errors:
        yield f"    infrastructure errors in other trials, left out: {counted(pair.errors, 'episode')}"


def _changes(pair: Paired, *, verbose: bool) -> Iterator[str]:
    what = "mean pass rate of a scenario" if pair.trials > 1 else "strict pass"
    net = pair.difference * pair.scenarios
    yield (
        f"    {what} {float(100 * pair.rate):.1f} % against {float(100 * pair.baseline_rate):.1f} %: "
        f"{float(100 * pair.difference):+.1f} points, {round(float(net), 1):+g} scenarios"
    )
    better, worse = ("better in", "worse in") if pair.trials > 1 else ("fixed", "broken")
    counts = f"{better} {len(pair.fixed)}, {worse} {len(pair.broken)}, both pass {pair.both_pass}, "
    mixed = f", equally mixed {pair.both_mixed}" if pair.both_mixed else ""
    yield f"    {counts}both fail {pair.both_fail}{mixed}"
    yield from _sureness(pair)
    for label, names in ((better, pair.fixed), (worse, pair.broken)):
        shown = names if verbose else names[:MAX_IDS]
        left = len(names) - len(shown)
        more = f" … and {left} more; -v lists them all" if left else ""
        if names:
            yield from wrapped(f"{', '.join(shown)}{more}", f"    {label}: ", "      ")


def _sureness(pair: Paired) -> Iterator[str]:
    """Yield how sure the difference is, in numbers and then in words that say no more than these."""
    test = pair.test
    if test is None:
        missing = " and ".join(missing_packages())
        yield from wrapped(f"no interval and no test: these need {missing}; run: {INSTALL}", "    ", "      ")
        return
    low, high = 100 * test.interval.low, 100 * test.interval.high
    holm = f", {test.adjusted:.2g} by Holm for {test.comparisons} comparisons" if test.comparisons > 1 else ""
    text = f"95 % interval {low:+.1f} to {high:+.1f} points; p = {test.p_value:.2g}{holm} ({test.name}, two-sided)"
    yield from wrapped(text, "    ", "      ")
    if not test.differs:
        yield "    this may be chance: no evidence of a difference"
        return
    word = "better" if pair.difference > 0 else "worse"
    yield from wrapped(
        f"evidence that {clean(pair.agent)} is {word} than {clean(pair.baseline)}", "    ", "      "
    )
