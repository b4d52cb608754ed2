"""What a run is judged to be, by its baseline, by thresholds, or by both: as it ends, and as it is stored."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, TypeAlias

from pytest_supportbench.beside import Beside, Doubt
from pytest_supportbench.comparable import broken, named, own_gaps, several_suites
from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case, Evidence
from pytest_supportbench.explained import Explained
from pytest_supportbench.gate import Decision, decide
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.quarantine import Entry, quarantined
from pytest_supportbench.thresholds import Measured, Thresholds, measure
from pytest_supportbench.zero_tolerance import rises

Verdict: TypeAlias = Literal["PASS", "REGRESSED", "FAILED", "INCONCLUSIVE"]

EXIT_FAILED = 1
EXIT_ERRORS_ONLY = 10
EXIT_INCONCLUSIVE = 11


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What runs are judged by: a baseline, thresholds, or both. ``today`` is the day for the quarantine's ends."""

    before: Evidence | None
    rules: Rules
    quarantine: Sequence[Entry]
    today: date
    thresholds: Thresholds | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a run was judged to be: the gate's decision, the thresholds, or both. ``agent`` is whose.

    ``part`` is which shard it is where that shard alone cannot be judged. ``errors_only`` tells that infrastructure
    errors alone may keep it from a verdict. ``failures`` and ``doubts`` are told in words: what failed beside the
    scenarios, and what else keeps the run from a PASS. ``notes`` are told and decide nothing. ``replayed`` tells that
    every scored reply was a stored one. ``alarms`` has what each scenario that may block showed, in words.
    ``no_answer`` says how many of how many scored episodes ended without a decision of the agent's own.
    """

    agent: str
    decision: Decision | None
    measured: tuple[Measured, ...]
    complete: bool
    part: tuple[int, int] | None = None
    errors_only: bool = False
    failures: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()
    replayed: bool = False
    alarms: tuple[tuple[Case, str], ...] = ()
    no_answer: tuple[int, int] = (0, 0)

    @property
    def verdict(self) -> Verdict:
        """The one verdict of baseline, thresholds and what is beside them: the worst of all, a failure before a doubt.

        A shard misses no threshold: its share is not that of the whole.
        """
        found: set[str] = {self.decision.verdict} if self.decision else set()
        found |= {"FAILED"} if self.failures else set()
        found |= {"INCONCLUSIVE"} if self.doubts or self.part is not None else set()
        found |= {self.of_thresholds} if self.measured else set()
        order: tuple[Verdict, ...] = ("REGRESSED", "FAILED", "INCONCLUSIVE")
        return next((word for word in order if word in found), "PASS")

    @property
    def of_thresholds(self) -> Verdict:
        """What thresholds alone make of the run: shares that are not those of the whole reach and miss nothing."""
        if self.part is not None or not self.complete or any(doubt.shares for doubt in self.doubts):
            return "INCONCLUSIVE"
        if any(item.missed for item in self.measured):
            return "FAILED"
        return "INCONCLUSIVE" if self.unknown else "PASS"

    @property
    def exit_status(self) -> int:
        """0 for PASS, 1 for REGRESSED and FAILED, 11 for INCONCLUSIVE, or 10 where errors alone are in the way."""
        if self.verdict == "INCONCLUSIVE":
            return EXIT_ERRORS_ONLY if self.errors_only else EXIT_INCONCLUSIVE
        return 0 if self.verdict == "PASS" else EXIT_FAILED

    @property
    def unknown(self) -> tuple[Measured, ...]:
        """The thresholds of which nothing can be told."""
        return tuple(item for item in self.measured if item.unknown)

    def to_json(self) -> dict[str, Any]:
        """Return the judgement as JSON data for the closing line."""
        return {
            "agent": self.agent,
            "verdict": self.verdict,
            "decision": self.decision.to_json() if self.decision else None,
            "thresholds": [item.to_json() for item in self.measured],
            "failures": list(self.failures),
            "doubts": [doubt.text for doubt in self.doubts],
            "replayed": self.replayed,
            "no_answer": list(self.no_answer),
            "exit_status": self.exit_status,
        }


def nothing_judged(why: str, around: Beside, agent: str = "", skipped: Collection[Case] = ()) -> Judged:
    """Return the judgement of a run of which no single agent can be judged; ``why`` says so."""
    doubts = (Doubt(why), *_skips(sorted(skipped), ()), *around.doubts)
    return Judged(agent, None, (), complete=False, failures=around.failures, doubts=doubts)


def judge(
    now: Evidence,
    by: Yardstick,
    notes: Sequence[str] = (),
    explained: Explained | None = None,
    around: Beside = Beside(),  # noqa: B008 - it is frozen
) -> Judged:
    """Judge a run with the fresh trials that it has; ``notes`` are told beside the reasons.

    ``explained`` is its explanation by a rater, where one is known; ``around`` is what stands beside its scenarios.
    """
    before = by.before
    there = {*now.cases, *now.skipped, *(before.cases if before else ())}
    held = quarantined(by.quarantine, there, by.today)
    decision = None
    told = (*held.notes, *held.unknown, *notes)
    if before is not None:
        decision = decide(
            before,
            now,
            by.rules,
            fresh=now.fresh,
            quarantine=held.cases,
            expired=held.expired,
            notes=told,
        )
    part = now.shard
    counting = now.without(held.cases)
    counting_before = before.without(held.cases) if before else None
    measured = measure(counting, by.thresholds, explained) if by.thresholds else ()
    own_doubts = tuple(_doubts(counting, by, decision, part, held.cases))
    doubts = (*own_doubts, *around.doubts)
    unknown = [item for item in measured if item.unknown]
    alone = part is None and now.complete and (decision is None or decision.exit_status == 0)
    curable = all(item.infrastructure for item in unknown) and all(doubt.infrastructure for doubt in doubts)
    errors = _errors_stand(counting_before, counting, by.rules, part) or (alone and bool(unknown))
    blocking = [reason for reason in decision.reasons if reason.blocks] if decision else []
    scenarios = (
        errors
        and all(reason.infrastructure for reason in blocking)
        and not _new_failures(counting_before, counting)
    )
    only_beside = bool(around.doubts) and not own_doubts and (part is not None or (alone and not unknown))
    return Judged(
        agent=now.agent,
        decision=decision,
        measured=measured,
        complete=now.complete,
        part=part,
        errors_only=curable and (scenarios or only_beside),
        failures=(*(held.expired if decision is None else ()), *around.failures),
        doubts=doubts,
        notes=() if decision else told,
        replayed=0 < counting.replayed == counting.trials - counting.errors,
        alarms=tuple(_alarms(before, now, decision, held.cases)) if before and decision else (),
        no_answer=(now.no_answer, now.trials - now.errors),
    )


def _doubts(
    now: Evidence,
    by: Yardstick,
    decision: Decision | None,
    part: tuple[int, int] | None,
    held: Collection[Case],
) -> Iterator[Doubt]:
    """Yield why the shares of a run are not those of the whole, but for what the decision's reasons say already."""
    skipped = [case for case in now.skipped if case not in held]
    yield from _skips(skipped, now.cases)
    if by.thresholds is None or part is not None:
        return
    said = {reason.text for reason in decision.reasons} if decision else set()
    for reason, infrastructure in own_gaps(now, by.rules):
        if reason.text not in said:
            yield Doubt(reason.text, infrastructure)
    if not now.cases and not skipped:
        yield Doubt("no scenario counts: all are in quarantine")


def _skips(skipped: Sequence[Case], others: Collection[Case]) -> Iterator[Doubt]:
    if skipped:
        several = several_suites((*others, *skipped))
        verb = "was" if len(skipped) == 1 else "were"
        yield Doubt(f"{counted(len(skipped), 'scenario')} {verb} skipped: {named(skipped, several=several)}")


def _errors_stand(before: Evidence | None, now: Evidence, rules: Rules, part: tuple[int, int] | None) -> bool:
    """Tell whether infrastructure errors may stand against a verdict; of a shard, against that of the whole run."""
    if part is None:
        return now.errors > 0
    return broken(before, now, rules) if before else 0 < now.errors == now.trials


def _new_failures(before: Evidence | None, now: Evidence) -> bool:
    """Tell whether any trial failed that did not in the baseline, whatever that means for the verdict."""
    known = before.cases if before else {}
    return any(
        item.passed < item.scored and (case not in known or known[case].stable)
        for case, item in now.cases.items()
    )


def _alarms(
    before: Evidence, now: Evidence, decision: Decision, held: Collection[Case]
) -> Iterator[tuple[Case, str]]:
    """Yield each new failure and each rise of zero tolerance with its counts, before and now."""
    for case in decision.candidates:
        old, new, again = before.cases[case], now.cases[case], now.fresh.get(case)
        trials = counted(old.scored, "trial")
        counts = f"passed {old.passed} of {trials} in the baseline, {new.passed} of {new.scored} now"
        if again is not None and again.scored:
            ones = "one" if again.scored == 1 else "ones"
            counts += f", {again.passed} of {again.scored} fresh {ones}"
        state = "confirmed" if case in decision.confirmed else "not confirmed"
        yield case, f"{counts}: {state}"
    for case in sorted(before.cases.keys() & now.cases.keys()):
        tried = [(case, "trial", before.cases[case], now.cases[case])]
        if case in decision.candidates and case in now.fresh:
            tried.append((case, "fresh trial", before.cases[case], now.fresh[case]))
        scored = [item for item in tried if item[2].scored and item[3].scored]
        for reason in rises(scored, several=False):
            holds = "; no quarantine holds for zero tolerance" if case in held else ""
            yield case, f"zero tolerance: {reason.text}{holds}"
