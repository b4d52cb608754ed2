"""A result note, as Markdown or HTML: the finding, the setup, each agent, what it does not show, how to do it again."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_supportbench.comparison import Paired
from pytest_supportbench.counted import counted
from pytest_supportbench.gate import Decision
from pytest_supportbench.note import AgentNote, Note
from pytest_supportbench.reporting.document import (
    Block,
    Bullets,
    Heading,
    Paragraph,
    Table,
    to_html,
    to_markdown,
)
from pytest_supportbench.reporting.gate import REPLAYED, STEPS, headline
from pytest_supportbench.reporting.note_agent import agent_blocks
from pytest_supportbench.reporting.note_finding import finding
from pytest_supportbench.reporting.note_setup import fingerprint_blocks, reproduce_blocks, setup_blocks


def note_markdown(note: Note) -> str:
    """Return the note as Markdown; equal notes give equal bytes."""
    return to_markdown(tuple(note_blocks(note)))


def note_html(note: Note) -> str:
    """Return the note as one HTML file. Raises `UsageError` where markupsafe is not installed."""
    return to_html(tuple(note_blocks(note)), note.title)


def note_blocks(note: Note) -> Iterator[Block]:
    """Yield the note in its order, the finding first. An unfinished run has no share in it."""
    shares = not note.unfinished
    yield Heading(note.title, 1)
    yield Paragraph(finding(note), finding=True)
    for text in note.preface:
        yield Paragraph(text)
    if shares:
        yield Paragraph(
            "Numbers in brackets are 95 % intervals over scenarios: Wilson's where each has one scored trial, else by "
            "a bootstrap that draws scenarios whole, twins together."
        )
    else:
        yield Paragraph(
            "Shares are left out below, since these episodes are not all that the run should have had."
        )
    for item in note.agents:
        if item.gate is not None and shares:
            yield from _gate(item, item.gate, note.baseline)
    yield from setup_blocks(note)
    several = len(note.agents) > 1
    for item in note.agents:
        if several:
            yield Heading(f"Results of {item.agent}")
        yield from agent_blocks(item, 3 if several else 2, shares=shares)
    if shares and note.pairs:
        yield Heading("Differences")
        for pair in note.pairs:
            yield from _pair(pair)
    yield Heading("What this does not show")
    yield Bullets(tuple(_limitations(note)))
    yield from fingerprint_blocks(note)
    yield from reproduce_blocks(note)


def _pair(pair: Paired) -> Iterator[Block]:
    yield Heading(f"{pair.agent} against {pair.baseline}", 3)
    if pair.test is None:
        yield Paragraph("There is no scenario that both have scored.")
        return
    interval, better, worse = (
        pair.test.interval,
        *(("better in", "worse in") if pair.trials > 1 else ("fixed", "broken")),
    )
    p_value = f"{pair.test.p_value:.3g}"
    if pair.test.comparisons > 1:
        p_value += f", {pair.test.adjusted:.3g} by Holm for {pair.test.comparisons} comparisons"
    yield Table(
        ("what", "value"),
        (
            ("scenarios that both have scored", str(pair.scenarios)),
            (f"pass rate of {pair.agent}", f"{float(100 * pair.rate):.1f} %"),
            (f"pass rate of {pair.baseline}", f"{float(100 * pair.baseline_rate):.1f} %"),
            (
                "difference in points",
                f"{100 * interval.estimate:+.1f} ({100 * interval.low:+.1f} to {100 * interval.high:+.1f})",
            ),
            (f"p, two-sided: {pair.test.name}", p_value),
            (better, f"{len(pair.fixed)}: {', '.join(pair.fixed)}" if pair.fixed else "0"),
            (worse, f"{len(pair.broken)}: {', '.join(pair.broken)}" if pair.broken else "0"),
            ("both pass, both fail, equally mixed", f"{pair.both_pass}, {pair.both_fail}, {pair.both_mixed}"),
            ("left out: not scored, not run", f"{pair.not_scored}, {pair.not_run}"),
        ),
    )


def _gate(found: AgentNote, decision: Decision, baseline: str) -> Iterator[Block]:
    yield Heading(f"{found.agent} against the baseline {baseline}")
    replayed = f" {REPLAYED}" if found.evidence.replayed == found.strict.whole > 0 else ""
    yield Paragraph(f"{headline(decision)}{replayed}", finding=True)
    yield Paragraph(
        "By the scenarios alone and the gate's default options: what else a gated run was judged by (thresholds, a "
        "quarantine, tests of one's own) is not in a note."
    )
    if decision.changed:
        yield Paragraph(f"What is known to differ of the agent: {'; '.join(decision.changed)}.")
    deciding = [reason for reason in decision.reasons if reason.blocks == decision.verdict]
    others = [reason for reason in decision.reasons if reason not in deciding]
    if decision.verdict != "PASS" and deciding:
        yield Paragraph("Each of these is enough for that verdict:")
        yield Bullets([f"{STEPS[reason.step]}: {reason.text}" for reason in deciding])
        if decision.caution:
            yield Paragraph(f"{decision.caution[0].upper()}{decision.caution[1:]}.")
        if others:
            yield Paragraph("What else was looked at:")
    yield Bullets([f"{STEPS[reason.step]}: {reason.text}" for reason in others])


def _limitations(note: Note) -> Iterator[str]:
    yield (
        "How an agent serves real customers: customers, accounts, policies and faults are synthetic, and few of what "
        "there is."
    )
    yield (
        "Anything of another setup: this is evidence about one model or program with one prompt, these tools and these "
        "limits. It is no leaderboard and no certificate of readiness for production."
    )
    for item in note.agents:
        if item.strict.whole and not note.unfinished:
            yield from _of_agent(item)
    if note.run["settings"]["trials"] == 1:
        yield "How much an agent varies: each scenario was tried once."
    if len(note.agents) > 1:
        yield "Which agent is better elsewhere: differences are of these scenarios, and by area and dimension untested."
    if not any(item.calibrated for item in note.agents):
        yield "How well an agent explains: explanation is not calibrated by people, and part of no score."
    yield (
        "That no wrong word was said: checks of wording miss free wording and idiom, and sometimes misread. Their "
        "error rates on labelled messages stand in docs/scoring.md of the package, and those on TinyBench-50 in its "
        "METHODOLOGY.md."
    )
    yield "That a scenario was new to a model: a suite that is public may be among what the model learnt from."


def _of_agent(found: AgentNote) -> Iterator[str]:
    interval = found.strict.interval
    if interval is not None:
        wide = 100 * (interval.high - interval.low)
        twins = f", {found.families} if twins count as one" if found.families < found.scenarios else ""
        yield (
            f"A precise pass rate of {found.agent}: {counted(found.scenarios, 'scenario')}{twins}, so the 95 % "
            f"interval of its strict pass is {wide:.0f} points wide."
        )
    by_words = found.effects.part - found.strict.part
    if by_words:
        yield (
            f"How {found.agent} fares by effects: {counted(by_words, 'failure')} of it "
            f"{'rests' if by_words == 1 else 'rest'} on wording alone."
        )
