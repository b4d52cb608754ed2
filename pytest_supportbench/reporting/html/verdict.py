"""The first line of the HTML report: may this agent ship, and what should make a reader doubt the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pytest_supportbench.comparable import part_text
from pytest_supportbench.counted import counted
from pytest_supportbench.judged import Judged
from pytest_supportbench.no_answer import no_answers
from pytest_supportbench.reporting.gate import meaning
from pytest_supportbench.summary import Row, case_of

Tone: TypeAlias = Literal["good", "bad", "unsure"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word, a sentence that says what it means, its tone, and what else must be known to trust it."""

    word: str
    sentence: str
    tone: Tone
    warnings: tuple[str, ...] = ()


def verdict(
    rows: Sequence[Row],
    judged: Judged | None,
    *,
    stopped: bool,
    planned: int,
    failed_otherwise: int,
    mistakes: Mapping[str, int],
    crashes: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on a run by its scenario rows and the gate's judgement.

    ``stopped`` says that it did not reach the end of its ``planned`` tests; ``failed_otherwise`` counts failed tests
    and files that are no episode. ``mistakes`` counts items by what kept them from running, ``crashes`` says which
    workers died.
    """
    warnings = (
        *_doubts(rows, stopped=stopped, planned=planned, failed_otherwise=0 if judged else failed_otherwise),
        *(f"Not run, {counted(count, 'test')}: {text}" for text, count in mistakes.items()),
        *crashes,
        *(_beside(judged) if judged is not None else ()),
    )
    word, sentence, tone = _gated(judged) if judged is not None else _plain(rows)
    if {row["verdict"] for row in rows} in ({"failed"}, {"failed", "passed"}):
        warnings = (*warnings, _whose(rows))
    if stopped and tone == "good":
        word, sentence, tone = (
            "INCOMPLETE",
            "The run stopped early; what it did not reach may fail.",
            "unsure",
        )
    if mistakes and tone == "good":
        word, sentence, tone = "INCOMPLETE", "Some scenarios could not be run, and may fail.", "unsure"
    if failed_otherwise and judged is None and tone != "bad":
        word, sentence, tone = "FAILED", f"This run has {_others(failed_otherwise)}.", "bad"
    return Verdict(word, sentence, tone, warnings)


def _whose(rows: Sequence[Row]) -> str:
    """Return whose doing the failures are, in a run that no infrastructure error took an episode from."""
    if {row.get("ending") for row in rows} & {"agent_failed", "time_limit"}:
        return (
            "No infrastructure error was seen. A crash, a refusal or too long a wait counts as the agent's failure, "
            "and may be its server's: what it said stands below."
        )
    return "None of these episodes was lost to infrastructure errors: what failed in them is the agent's own doing."


def _gated(judged: Judged) -> tuple[str, str, Tone]:
    tones: dict[str, Tone] = {"PASS": "good", "INCONCLUSIVE": "unsure"}
    sentence = f"The gate says: {meaning(judged)}.{_change(judged)}"
    mark = " (REPLAYED)" if judged.replayed else ""
    return f"{judged.verdict}{mark}", sentence, tones.get(judged.verdict, "bad")


def _change(judged: Judged) -> str:
    """Return the mean pass rate before and now, and how many scenarios changed."""
    decision = judged.decision
    if decision is None or decision.aggregate is None or not decision.aggregate.scenarios:
        return ""
    before, now = (f"{100 * rate:.1f} %" for rate in (decision.aggregate.before, decision.aggregate.now))
    new, fixed = len(decision.candidates), len(decision.fixed)
    return f" Pass rate {before} before, {now} now: {counted(new, 'new failure')}, {fixed} fixed."


def _beside(judged: Judged) -> Iterator[str]:
    """Yield what the gate tells beside its reasons."""
    if judged.part is not None and judged.decision is None:
        yield f"No verdict: {part_text(judged.part)}."
    caution = (judged.decision.caution,) if judged.decision is not None else ()
    for text in (
        *filter(None, caution),
        *judged.failures,
        *(doubt.text for doubt in judged.doubts),
        *judged.notes,
    ):
        yield f"{text[:1].upper()}{text[1:]}."


def _plain(rows: Sequence[Row]) -> tuple[str, str, Tone]:
    counts = {name: sum(row["verdict"] == name for row in rows) for name in ("passed", "failed", "error")}
    scored = counts["passed"] + counts["failed"]
    if not rows:
        return "NOTHING WAS RUN", "No scenario was run, so this report says nothing of any agent.", "unsure"
    if not scored:
        return (
            "NO VERDICT",
            f"All {counted(len(rows), 'episode')} ended in infrastructure errors, which say nothing of the agent.",
            "unsure",
        )
    share = f"{counts['failed']} of {counted(scored, 'scored episode')} failed"
    if counts["failed"]:
        return "FAILED", f"{share}. Without a baseline every scenario must pass.", "bad"
    if counts["error"]:
        return "NO VERDICT", f"All {scored} scored episodes passed, and others were not scored.", "unsure"
    return "PASSED", f"All {counted(scored, 'episode')} passed all four dimensions.", "good"


def _alike(rows: Sequence[Row]) -> bool:
    """Tell whether scenarios had several scored trials, and never two that differ in what the agent replied."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row["verdict"] != "error":
            found.setdefault((row["agent"], *case_of(row)), []).append(row["trace"])
    again = any(row["attempt"] > 1 for row in rows)  # what the earlier attempts were is not in sight here
    several = [traces for traces in found.values() if len(traces) > 1]
    return bool(several) and not again and all(len(set(traces)) == 1 for traces in several)


def _others(count: int) -> str:
    return f"{counted(count, 'failure')} beside the scenarios' verdicts"


def _doubts(rows: Sequence[Row], *, stopped: bool, planned: int, failed_otherwise: int) -> Iterator[str]:
    def some(name: str, wanted: Any) -> int:
        return sum(row[name] == wanted for row in rows)

    if stopped:
        yield (
            f"The run stopped early: {counted(len(rows), 'episode')} reported, of {counted(planned, 'test')} to run; "
            "these counts are not of the whole."
        )
    if broken := some("verdict", "error"):
        yield f"{counted(broken, 'episode')} not scored: the infrastructure broke, which says nothing of the agent."
    if (silent := no_answers([row for row in rows if row["verdict"] != "error"])).count:
        yield (
            f"{silent.headline}: {silent.words}. Whoever does nothing breaks hardly any policy: the shares below say "
            "how many of their passes are of this kind."
        )
    if again := sum(row["attempt"] > 1 for row in rows):
        yield f"{counted(again, 'episode')} tried more than once, and shown as of the last time."
    if replayed := len(rows) - some("replayed", "no"):
        yield f"{counted(replayed, 'episode')} replayed: the agent was not asked now, its stored replies were scored."
    if _alike(rows):
        yield "All trials of each scenario were alike to the letter, so they count as one."
    if simulated := some("customer_simulated", True):
        yield f"A simulated customer answered in {counted(simulated, 'episode')}, so another run may go otherwise."
    if failed_otherwise:
        yield f"{_others(failed_otherwise)}: tests of your own, files, or workers; the list of all tests is at the end."
