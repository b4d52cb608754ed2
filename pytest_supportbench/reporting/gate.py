"""A gate's decision in words: for terminals of 80 columns, and as Markdown whose first line is the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_supportbench.comparable import named, part_text
from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case
from pytest_supportbench.gate import Decision
from pytest_supportbench.no_answer import no_answer_of
from pytest_supportbench.reporting.reliability import before_and_now
from pytest_supportbench.reporting.text import clean, wrapped

if TYPE_CHECKING:
    from pytest_supportbench.judged import Judged

HEADLINES: Final = {
    "PASS": "no evidence that the agent got worse",
    "REGRESSED": "the agent got worse",
    "INCONCLUSIVE": "this run cannot tell whether the agent got worse",
}

THRESHOLDS: Final = {
    "PASS": "every share reaches its threshold",
    "FAILED": "a share is below its threshold",
    "INCONCLUSIVE": "this run cannot tell whether its shares reach their thresholds",
}

ALWAYS: Final = "; this cannot be told from a bot that always escalates"

BESIDE: Final = {
    "FAILED": "something failed beside the scenarios' verdicts",
    "INCONCLUSIVE": "this run cannot be judged",
}

REPLAYED: Final = "of stored replies (REPLAYED, no agent was asked)"
"""What a verdict is marked with where the replies were stored ones: of the agent as it is now they tell nothing."""

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
    mark = " (REPLAYED)" if judged.replayed else ""
    reporter.section(
        f"supportbench gate: {judged.verdict}{mark}", sep="=", bold=True, green=good, red=not good
    )
    lines = [*wrapped(f"{REPLAYED}: {meaning(judged)}" if judged.replayed else meaning(judged), "", "")]
    lines += beside_lines(judged)
    if judged.decision is not None:
        lines += gate_lines(judged.decision)
    for line in (*lines, *threshold_lines(judged)):
        reporter.write_line(line)


def judged_lines(judged: Judged, flips: Iterable[str]) -> Iterator[str]:
    """Yield the judgement of a stored run for a terminal; ``flips`` are the lines that tell flipped scenarios."""
    yield whole_headline(judged)
    yield from beside_lines(judged)
    decision = judged.decision
    if decision is not None:
        if decision.verdict != judged.verdict:
            yield f"the baseline alone: {headline(decision)}"
        yield from flips
        yield from gate_lines(decision, flips_told=True)
        if judged.measured:
            yield f"the thresholds alone: {judged.of_thresholds}: {THRESHOLDS[judged.of_thresholds]}"
    yield from threshold_lines(judged)


def whole_headline(judged: Judged) -> str:
    """Return the one verdict with what it means; a replayed run is marked as one."""
    mark = f" {REPLAYED}" if judged.replayed else ""
    return f"{judged.verdict}{mark}: {meaning(judged)}"


def meaning(judged: Judged) -> str:
    """Return what the verdict means: by the baseline where that alone explains it, else by what made it worse."""
    verdict, decision = judged.verdict, judged.decision
    if decision is not None and decision.verdict == verdict:
        return HEADLINES[verdict]
    if judged.measured and judged.of_thresholds == verdict:
        return THRESHOLDS[verdict]
    return BESIDE[verdict]


def beside_lines(judged: Judged) -> Iterator[str]:
    """Yield what failed beside the scenarios, what keeps the run from a PASS, and what else is to be told."""
    for text in (*judged.failures, *(doubt.text for doubt in judged.doubts)):
        yield from wrapped(text, "  ! ", "    ")
    for text in (*silence(judged), *judged.notes):
        yield from wrapped(text, "  ", "    ")


def silence(judged: Judged) -> Iterator[str]:
    """Yield how many episodes have no answer, which shares and dimensions do not show; nothing for none."""
    count, whole = judged.no_answer
    if count:
        yield f"{no_answer_of(count, whole)}: a crash, a refusal, a limit, or no valid turn"


def threshold_lines(judged: Judged) -> Iterator[str]:
    """Yield the thresholds of a run for a terminal, with why they may not be those of the whole."""
    for item in judged.measured:
        yield from wrapped(str(item), "  " if item.holds else "  ! ", "    ")
    if judged.measured and not judged.complete:
        yield "  ! the run has no end, so its shares are not those of the whole"
    if judged.part is not None and judged.decision is None:
        yield from wrapped(part_text(judged.part), "  ! ", "    ")


def headline(decision: Decision) -> str:
    """Return the verdict with what it means."""
    return f"{decision.verdict}: {HEADLINES[decision.verdict]}"


def gate_lines(decision: Decision, *, flips_told: bool = False) -> Iterator[str]:
    """Yield the decision for a terminal: what blocks first, then each step, then what could not be seen.

    New failures and fixed scenarios are not named again where flips were told one by one.
    """
    blocking = [reason for reason in decision.reasons if reason.blocks]
    for reason in blocking:
        yield from wrapped(f"{STEPS[reason.step]}: {reason.text}", "  ! ", "    ")
    if decision.caution:
        yield from wrapped(decision.caution, "    ", "    ")
    for label, text in _facts(decision, flips_told=flips_told):
        yield from wrapped(text, f"  {label}: ", "    ")
    step = ""
    for reason in decision.reasons:
        if reason.blocks:
            continue
        if reason.step != step:
            step = reason.step
            yield f"  {STEPS[step]}"
        yield from wrapped(reason.text, "    ", "      ")


def _facts(decision: Decision, *, flips_told: bool) -> Iterator[tuple[str, str]]:
    yield "agent", "; ".join(decision.changed) or "no difference in what is known of it"
    groups: tuple[tuple[str, Sequence[Case]], ...] = (
        ("new failures", () if flips_told else decision.candidates),
        ("newly flaky", () if flips_told else decision.flaky),
        ("fixed", () if flips_told else decision.fixed),
        ("failing or flaky as before", decision.still),
        ("in quarantine, not counted", decision.quarantined),
    )
    for label, cases in groups:
        if cases:
            yield label, f"{len(cases)} ({named(cases)})"
    if decision.reliability is not None:
        yield from before_and_now(*decision.reliability)
    if decision.escalation is not None:
        for label, side in zip(("escalation before", "escalation now"), decision.escalation, strict=True):
            yield label, f"{side}{ALWAYS if side.like_always_escalate else ''}"
    if decision.zero_tolerance is not None and (text := str(decision.zero_tolerance)):
        yield "zero tolerance", text


def decision_markdown(
    decision: Decision, agent: str, baseline: str, *, flips: Sequence[str] | None = None
) -> str:
    """Return the decision as Markdown without its headline. Text of files and models is escaped.

    ``flips`` are lines of Markdown that tell new failures and fixed scenarios one by one.
    """
    lines = [
        f"Agent {markdown_text(agent)} against the baseline {markdown_text(baseline)}.",
        "",
        *(flips or ()),
    ]
    blocking = [reason for reason in decision.reasons if reason.blocks]
    lines += [f"- **{STEPS[reason.step]}**: {markdown_text(reason.text)}" for reason in blocking]
    lines += [f"- {markdown_text(decision.caution)}"] if decision.caution else []
    facts = _facts(decision, flips_told=flips is not None)
    lines += [f"- {label}: {markdown_text(text)}" for label, text in facts]
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
    for step in ("quarantine", "scenarios", "aggregate", "dimensions", "areas"):
        texts = [reason.text for reason in decision.reasons if reason.step == step and not reason.blocks]
        if texts:
            lines += ["", f"{STEPS[step].capitalize()}:", "", *(f"- {markdown_text(text)}" for text in texts)]
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """Return text that Markdown takes as it is, in one line."""
    plain = " ".join(clean(text).split())
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#|!~" else letter for letter in plain)
