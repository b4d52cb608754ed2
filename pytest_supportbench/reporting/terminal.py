"""The summary at the end of a run, for 80 columns: what passed, how it escalated, what it broke, what failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_supportbench.counted import counted
from pytest_supportbench.reporting.busy import busy_lines
from pytest_supportbench.reporting.cassettes import cassette_lines, replayed
from pytest_supportbench.reporting.no_answer import no_answer_lines, of_them
from pytest_supportbench.reporting.reliability import reliability_lines
from pytest_supportbench.reporting.side_by_side import compared
from pytest_supportbench.reporting.text import clean, wrapped
from pytest_supportbench.summary import AgentSummary, EscalationTable, Row, Share, case_of
from pytest_supportbench.usage import Totals
from pytest_supportbench.words import ZERO_TOLERANCE

if TYPE_CHECKING:
    from pytest_supportbench.comparison import Paired

MAX_FAILURES: Final = 20
_CLASSES: Final = (
    ("correct_escalation", "correct escalation"),
    ("misrouted", "misrouted"),
    ("missed_escalation", "missed escalation"),
    ("correct_autonomy", "correct autonomy"),
    ("unnecessary_handoff", "unnecessary hand-off"),
    ("abandoned", "abandoned"),
)


class Writer(Protocol):
    """What is needed of pytest's terminal reporter."""

    @property
    def verbosity(self) -> int:
        """How much the user wants to read: 0, more with -v, less with -q."""

    def section(self, title: str, sep: str = "=", **markup: Any) -> None:
        """Write a title across the screen."""

    def write_line(self, line: str | bytes, **markup: Any) -> None:
        """Write one line."""


def print_summary(
    reporter: Writer,
    rows: Sequence[Row],
    summaries: Sequence[AgentSummary],
    path: str,
    *,
    early: int | None = None,
    comparisons: Sequence[Paired] = (),
    budget: Mapping[str, Any] | None = None,
    cassettes: Sequence[Mapping[str, Any]] = (),
    alike: Mapping[str, str] = MappingProxyType({}),
    busy: Mapping[str, Mapping[str, Mapping[str, int]]] = MappingProxyType({}),
) -> None:
    """Print each agent's counts, the agents side by side, and the results file's path.

    ``early`` is ``None`` for a run that reached its end, else how many finished episodes it did not report.
    ``budget`` and ``cassettes`` are what the closing line of the results file says of them. ``alike`` has the specs of
    agents whose names tell too little of them. ``busy`` has by process and server what a server that refused bore.
    """
    suites = ", ".join(sorted({row["suite"] for row in rows})) or "nothing reported"
    reporter.section(f"supportbench: {suites}", sep="=", bold=True)
    if early is not None:
        reporter.write_line(
            f"STOPPED EARLY: {counted(len(rows), 'episode')} reported; these counts are not of the whole run",
            bold=True,
            yellow=True,
        )
        if early:
            reporter.write_line(f"  {early} more had finished; the results file has them, marked unreported")
    for line in _budget(budget) if budget is not None else ():
        reporter.write_line(line)
    for summary in summaries:
        good = summary.passed.whole and summary.passed.part == summary.passed_of_all.whole
        reporter.write_line(
            title(summary, alike.get(summary.agent, "")), bold=True, green=bool(good), red=not good
        )
        for line in lines(summary, verbose=reporter.verbosity > 0):
            reporter.write_line(line)
    for line in compared(summaries, comparisons, verbose=reporter.verbosity > 0):
        reporter.write_line(line)
    for line in (*cassette_lines(cassettes, verbose=reporter.verbosity > 0), *busy_lines(busy)):
        reporter.write_line(line)
    simulated = sum(row["customer_simulated"] for row in rows)
    if simulated:
        reporter.write_line(
            f"simulated customer: not deterministic; it answered in {simulated} of {counted(len(rows), 'episode')}"
        )
    own = [row["verdict"] for row in rows if row.get("own")]
    if own:
        broken = own.count("error")
        reporter.write_line(
            f"run by your own tests: {counted(len(own), 'episode')}, "
            f"{counted(own.count('passed'), 'strict pass', 'strict passes')}"
            + (f", {counted(broken, 'infrastructure error')}" if broken else "")
        )
    reporter.write_line("")
    reporter.write_line(f"results: {path}")


def print_mistakes(reporter: Writer, mistakes: Mapping[str, int]) -> None:
    """Print what kept items from running at all, which no traceback style hides; ``mistakes`` counts items by text."""
    if not mistakes:
        return
    reporter.section("supportbench: NOT RUN", sep="=", bold=True, red=True)
    for message, count in mistakes.items():
        for line in wrapped(f"{counted(count, 'test')}: {message}", "", "  "):
            reporter.write_line(line)


def _budget(budget: Mapping[str, Any]) -> Iterator[str]:
    spent = f"{budget['spent_tokens']:,} of {budget['max_tokens']:,} tokens spent (--supportbench-max-tokens)"
    yield f"token budget: {spent}{', so no further episode started' if budget['used_up'] else ''}"
    if budget["agents_without_tokens"]:
        names = ", ".join(budget["agents_without_tokens"])
        yield from wrapped(f"not counted, since they report no tokens: {names}", "  ", "    ")


def title(summary: AgentSummary, spec: str = "") -> str:
    """Return the headline of an agent: its strict passes, with errors apart and counted as failures.

    ``spec`` is what the agent was named by, where its name alone does not say which one it is.
    """
    name = f"{_short(summary.agent)}{replayed(summary.replayed)}"
    text = f"{name}: {summary.passed} passed all four dimensions"
    broken = summary.passed_of_all.whole - summary.passed.whole
    if broken:
        judged = f"{summary.passed} of scored episodes passed all four dimensions"
        text = (
            f"{name}: {judged if summary.passed.whole else 'nothing could be scored'}\n"
            f"{broken} not scored for infrastructure errors; "
            f"with errors as failures {summary.passed_of_all}"
        )
    return "\n".join(wrapped(f"{text}\n{spec}" if spec else text, "", "  "))


def _short(name: str, width: int = 28) -> str:
    """Return a name cut to the width of a table's first column; the results file has it whole."""
    return name if len(name) <= width else f"{name[: width - 1]}…"


def lines(summary: AgentSummary, *, verbose: bool = False) -> Iterator[str]:
    """Yield an agent's counts in words and tables of at most 80 columns."""
    if summary.passed.whole:
        yield from no_answer_lines(summary.no_answer)
        yield ""
        yield from _shares("dimension", summary.dimensions, summary.no_answer.dimensions)
        yield f"  {'strict pass':<28}{summary.passed!s:>16}   by effects alone {summary.passed_effects}"
        if any(share.whole > 1 for share in summary.trials.values()):
            stable = Share(
                sum(share.part == share.whole for share in summary.trials.values()), len(summary.trials)
            )
            yield f"  {'scenarios, in every trial':<28}{stable!s:>16}"
        if summary.reliability is not None:
            yield from reliability_lines(summary.reliability)
        yield ""
        yield from _shares("category", summary.categories)
        yield ""
        yield from _escalation(summary)
        yield ""
        yield from _violations(summary)
    for part, share in summary.without.items():
        nothing = "" if share.part else ", so nothing was taken away"
        yield from wrapped(f"without {part}: {share} of scored episodes had any{nothing}", "  ", "    ")
    yield from _errors(summary)
    yield from wrapped(_usage(summary.usage), "  usage: ", "    ")
    if summary.passed.whole:
        yield from _explanation(summary)
        yield from _handed_off(summary, verbose=verbose)
        yield from _failures(summary, verbose=verbose)


def _shares(
    head: str, shares: Mapping[str, Share], hollow: Mapping[str, int] = MappingProxyType({})
) -> Iterator[str]:
    """Yield a table of shares; ``hollow`` counts those of their passes that have no answer."""
    yield f"  {head:<28}{'passed':>16}"
    for name, share in shares.items():
        line = f"  {_short(clean(name.replace('_', ' '))):<28}{share!s:>16}   {of_them(hollow.get(name, 0))}"
        yield line.rstrip()


def _escalation(summary: AgentSummary) -> Iterator[str]:
    yield f"  {'escalation':<24} {'recall':>17} {'specificity':>17} {'routine solved':>17}"
    yield _rates(summary.agent, summary.escalation, summary.routine_solved)
    constant = summary.constant
    # A constant agent solves at most what it leaves alone rightly, so its specificity stands for both.
    yield _rates("always-escalate constant", constant, constant.specificity)
    counts = ", ".join(f"{label} {summary.escalation.classes.get(name, 0)}" for name, label in _CLASSES)
    yield from wrapped(counts, "    ")
    hollow = summary.no_answer.classes
    if counts := ", ".join(f"{label} {hollow[name]}" for name, label in _CLASSES if hollow.get(name)):
        yield from wrapped(f"of these without an answer: {counts}", "    ", "      ")


def _rates(name: str, table: EscalationTable, routine: Share) -> str:
    shares = " ".join(f"{share!s:>17}" for share in (table.recall, table.specificity, routine))
    return f"  {_short(clean(name), 24):<24} {shares}"


def _violations(summary: AgentSummary) -> Iterator[str]:
    if not summary.violations:
        yield "  violations: none"
    else:
        parts = []
        for code, (effect, text) in sorted(summary.violations.items()):
            basis = " and ".join(
                f"{count} by {name}" for count, name in ((effect, "effect"), (text, "text")) if count
            )
            parts.append(f"{code} {effect + text} ({basis})")
        yield from wrapped("; ".join(parts), "  violations: ", "    ")
        yield from wrapped(f"of zero tolerance: {_zero_tolerance(summary)}", "    ", "      ")
    if summary.not_assessed:
        yield f"  not assessed: {summary.not_assessed} check(s), in languages that have no claim rules"
    if summary.hygiene:
        yield f"  tool hygiene: {summary.hygiene} call(s) or replies that were malformed"


def _zero_tolerance(summary: AgentSummary) -> str:
    """Return how many violations are of zero tolerance, and of which codes they are."""
    counts = {code: sum(both) for code, both in sorted(summary.violations.items()) if code in ZERO_TOLERANCE}
    parts = [f"{code} {count}" for code, count in counts.items()]
    if missed := summary.zero_tolerance - sum(counts.values()):
        parts.append(f"missed_escalation {missed} in scenarios with the tag safety")
    which = f" ({', '.join(parts)})" if parts else ""
    return f"{summary.zero_tolerance}{which}"


def _errors(summary: AgentSummary) -> Iterator[str]:
    if not summary.errors:
        yield "  infrastructure errors: none"
    for cause, (count, message, remedy) in sorted(summary.errors.items()):
        yield from wrapped(f"{cause} ×{count}: {message}", "  infrastructure error: ", "    ")
        if remedy:
            yield from wrapped(remedy, "    remedy: ", "    ")


def _usage(usage: Totals) -> str:
    """Return tokens, cost, repeated requests and time in words, as far as they are known."""
    parts = ["no tokens reported"]
    if usage.counted:
        parts = [f"{usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} completion tokens"]
        if usage.counted < usage.episodes:
            parts.append(f"reported by {usage.counted} of {counted(usage.episodes, 'episode')}")
        if usage.spent_tokens < usage.tokens:
            parts.append(f"{usage.spent_tokens:,} of them spent now, the others replayed")
    if usage.cost is not None:
        parts.append(f"{usage.cost:,.4f} USD")
    if usage.retries:
        parts.append(f"{counted(usage.retries, 'request')} repeated")
    if usage.seconds is not None:
        parts.append(f"{usage.seconds:.3g} s an episode (median)")
    return ", ".join(parts)


def _explanation(summary: AgentSummary) -> Iterator[str]:
    if summary.explanation is not None:
        state = "calibrated" if summary.calibrated else "UNCALIBRATED"
        yield f"  explanation: {summary.explanation:.2f} of concepts, {state} phrase matcher; part of no score"


def _handed_off(summary: AgentSummary, *, verbose: bool) -> Iterator[str]:
    """Show the tool call behind each correct escalation, so that nobody has to take the word for it."""
    if not summary.escalated or (len(summary.escalated) > MAX_FAILURES and not verbose):
        return
    yield ""
    yield "  handed off rightly"
    for row in summary.escalated:
        yield from wrapped(f"{row['scenario']} {row['title']}", "  ", "    ")
        yield from wrapped(row["observed"], "    observed   ")


def _failures(summary: AgentSummary, *, verbose: bool) -> Iterator[str]:
    """Show each scenario that failed once, by its first failed trial."""
    first = list({case_of(row): row for row in reversed(summary.failures)}.values())[::-1]
    shown = first if verbose else first[:MAX_FAILURES]
    if shown:
        yield ""
        yield "  what failed"
    for row in shown:
        share = summary.trials[case_of(row)]
        trials = f" (failed {share.whole - share.part} of {share.whole} trials)" if share.whole > 1 else ""
        yield from wrapped(f"{row['scenario']} {row['title']}{trials}", "  ", "    ")
        yield from wrapped(row["permitted"], "    permitted  ")
        yield from wrapped(row["observed"], "    observed   ")
        yield from wrapped(row["headline"], "    verdict    ")
    left = len(first) - len(shown)
    if left > 0:
        yield f"  … and {left} more; -v lists them all"
