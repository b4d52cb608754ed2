"""A gate's decision in words: for terminals of 80 columns, and as Markdown whose first line is the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_supportbench.comparable import named
from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case
from pytest_supportbench.gate import Decision
from pytest_supportbench.reporting.text import clean, wrapped

if TYPE_CHECKING:
    from pytest_supportbench.judged import Judged

HEADLINES: Final = {
    "PASS": "no evidence that the agent got worse",
    "REGRESSED": "the agent got worse",
    "INCONCLUSIVE": "this run cannot tell whether the agent got worse",
}

ALWAYS: Final = "; this cannot be told from a bot that always escalates"

STEPS: Final = {
    "comparable": "not comparable",
    "integrity": "incomplete",
    "quarantine": "quarantine",
    "zero_tolerance": "zero tolerance",
    "scenarios": "scenarios",
    "aggregate": "all scenarios",
    "dimensions": "dimensions",
    "areas": "areas (described, not tested)",
}


class Writer(Protocol):
    """What is needed of pytest's terminal reporter."""

    def section(self, title: str, sep: str = "=", **markup: Any) -> None:
        """Write a title across the screen."""

    def write_line(self, line: str | bytes, **markup: Any) -> None:
        """Write one line."""


def print_judged(reporter: Writer, judged: Judged) -> None:
    """Print the gate's decision and the thresholds of a run; its verdict stands in the title."""
    good = judged.exit_status == 0
    verdict = judged.decision.verdict if judged.decision else "PASS" if good else "FAILED"
    reporter.section(f"supportbench gate: {verdict}", sep="=", bold=True, green=good, red=not good)
    if judged.decision is not None:
        reporter.write_line(HEADLINES[judged.decision.verdict])
        for line in gate_lines(judged.decision):
            reporter.write_line(line)
    for item in judged.measured:
        for line in wrapped(str(item), "  " if item.holds else "  ! ", "    "):
            reporter.write_line(line)
    if judged.measured and not judged.complete:
        reporter.write_line("  ! the run has no end, so its shares are not those of the whole")


def headline(decision: Decision) -> str:
    """Return the verdict with what it means."""
    return f"{decision.verdict}: {HEADLINES[decision.verdict]}"


def gate_lines(decision: Decision) -> Iterator[str]:
    """Yield the decision for a terminal: what blocks first, then each step, then what could not be seen."""
    blocking = [reason for reason in decision.reasons if reason.blocks]
    for reason in blocking:
        yield from wrapped(f"{STEPS[reason.step]}: {reason.text}", "  ! ", "    ")
    for label, text in _facts(decision):
        yield from wrapped(text, f"  {label}: ", "    ")
    step = ""
    for reason in decision.reasons:
        if reason.blocks:
            continue
        if reason.step != step:
            step = reason.step
            yield f"  {STEPS[step]}"
        yield from wrapped(reason.text, "    ", "      ")


def _facts(decision: Decision) -> Iterator[tuple[str, str]]:
    yield "agent", "; ".join(decision.changed) or "no difference in what is known of it"
    groups: tuple[tuple[str, Sequence[Case]], ...] = (
        ("new failures", decision.candidates),
        ("fixed", decision.fixed),
        ("failing or flaky as before", decision.still),
        ("in quarantine, not counted", decision.quarantined),
    )
    for label, cases in groups:
        if cases:
            yield label, f"{len(cases)} ({named(cases)})"
    if decision.escalation is not None:
        for label, side in zip(("escalation before", "escalation now"), decision.escalation, strict=True):
            yield label, f"{side}{ALWAYS if side.like_always_escalate else ''}"
    if decision.zero_tolerance_alarm:
        share = f"{100 * decision.zero_tolerance_alarm:.1f} %"
        yield "zero tolerance", f"would block an unchanged agent in {share} of runs, by simulation"


def gate_markdown(decision: Decision, agent: str, baseline: str) -> str:
    """Return the decision as Markdown; its first line is the verdict. Text of files and models is escaped."""
    lines = [
        f"**{headline(decision)}**",
        "",
        f"Agent {markdown_text(agent)} against the baseline {markdown_text(baseline)}.",
        "",
    ]
    blocking = [reason for reason in decision.reasons if reason.blocks]
    lines += [f"- **{STEPS[reason.step]}**: {markdown_text(reason.text)}" for reason in blocking]
    lines += [f"- {label}: {markdown_text(text)}" for label, text in _facts(decision)]
    if decision.aggregate is not None and decision.aggregate.scenarios:
        whole = decision.aggregate
        bounds = f"{100 * whole.difference.low:+.1f} to {100 * whole.difference.high:+.1f}"
        cells = (
            counted(whole.scenarios, "scenario"),
            f"{100 * whole.before:.1f} %",
            f"{100 * whole.now:.1f} %",
            f"{100 * whole.difference.estimate:+.1f}",
            bounds,
            f"{whole.p_value:.3g}",
        )
        lines += [
            "",
            "| | before | now | difference | 95 % interval | p (drop) |",
            "|---|---|---|---|---|---|",
            f"| {' | '.join(cells)} |",
        ]
    for step in ("scenarios", "aggregate", "dimensions", "areas"):
        texts = [reason.text for reason in decision.reasons if reason.step == step and not reason.blocks]
        if texts:
            lines += ["", f"{STEPS[step].capitalize()}:", "", *(f"- {markdown_text(text)}" for text in texts)]
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """Return text that Markdown takes as it is, in one line."""
    plain = " ".join(clean(text).split())
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#|!~" else letter for letter in plain)
