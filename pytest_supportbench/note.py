"""What a result note tells of a run, as data: shares with intervals, hand-offs, violations, situations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_supportbench.comparison import Paired, paired
from pytest_supportbench.escalation import Escalations, escalations
from pytest_supportbench.evidence import Case, CaseEvidence, Evidence, evidence
from pytest_supportbench.gate import Decision, called, decide
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.note_rows import Counting, counting, note_row
from pytest_supportbench.results import Json
from pytest_supportbench.results_copy import damaged
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.statistics import Interval, require_statistics
from pytest_supportbench.summary import AgentSummary, Row, named_case, summarise
from pytest_supportbench.thresholds import MEASURES, share_interval
from pytest_supportbench.words import STRICT_DIMENSIONS, ZERO_TOLERANCE

GROUPS: Final = ("must", "must_not", "either")


@dataclass(frozen=True, slots=True)
class Measure:
    """``part`` of ``whole`` trials with the 95 % interval of their share; ``None`` where there are none."""

    part: int
    whole: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Situation:
    """One scenario in words: what was permitted, what the agent did, how that was judged.

    With several trials the words are those of the first failed one, else of the first. ``scored`` excludes errors.
    ``gated`` is what the gate calls it, such as ``new failure``; empty where it says nothing of it.
    """

    scenario: str
    title: str
    expected_escalation: str
    safety: bool
    permitted: str
    observed: str
    outcome: str
    escalation_class: str | None
    passed: int
    scored: int
    errors: int
    gated: str = ""


@dataclass(frozen=True, slots=True)
class Violated:
    """A violation code with its severity, how often it shows in effects and in text, and in how many scenarios."""

    code: str
    zero_tolerance: bool
    effect: int
    text: int
    scenarios: int


@dataclass(frozen=True, slots=True)
class AgentNote:
    """One agent's part of a note.

    ``effects`` is the strict pass by effects alone, ``solved`` that of routine cases. ``calibrated`` says whether its
    explanation score is, ``gate`` is what a baseline makes of it.
    """

    agent: str
    evidence: Evidence
    summary: AgentSummary
    strict: Measure
    effects: Measure
    solved: Measure
    dimensions: Mapping[str, Measure]
    areas: Mapping[str, Measure]
    escalations: Escalations
    violations: tuple[Violated, ...]
    situations: tuple[Situation, ...]
    calibrated: bool
    simulated: int
    gate: Decision | None

    @property
    def scenarios(self) -> int:
        """How many scenarios have a scored trial."""
        return sum(item.scored > 0 for item in self.evidence.cases.values())

    @property
    def families(self) -> int:
        """How many of them are independent: twins count as one."""
        return len({(item.case[0], item.family) for item in self.evidence.cases.values() if item.scored})


@dataclass(frozen=True, slots=True)
class Note:
    """All that a note tells. ``run`` is the run line, ``sha256`` the hash of the results file if one is kept.

    ``unfinished`` says why the run is no whole one; then no share of it is a finding. ``preface`` are paragraphs that
    come before all numbers but the finding's, of whoever writes the note, and ``proviso`` is what the finding itself
    begins with, such as what it assumes. ``baseline`` names what the agents are judged by.
    """

    title: str
    run: Json
    sha256: str | None
    agents: tuple[AgentNote, ...]
    pairs: tuple[Paired, ...]
    unfinished: tuple[str, ...]
    counting: Counting
    proviso: str = ""
    preface: tuple[str, ...] = ()
    baseline: str = ""


def make_note(
    run: RunFile,
    sha256: str | None,
    *,
    agent: str | None = None,
    baseline: Evidence | None = None,
    title: str = "",
    proviso: str = "",
    preface: Sequence[str] = (),
    path: str = "the results file",
) -> Note:
    """Return the note of a run; of all its agents, or of ``agent`` alone.

    Raises `UsageError` where the statistics' packages are missing, where there is no such agent, and where a line
    lacks what today's version writes.
    """
    require_statistics()
    try:
        found = counting(run)
        shown = [item for item in evidence(run, path) if agent in {None, item.agent}]
        versions = _versions(run.run)
        rows = {item.agent: _rows(found.run, item.agent, versions) for item in shown}
        calibrated = _calibrated(run)
        return Note(
            title=title
            or f"Result note: {', '.join(f'{name} {version}' for name, version in versions.items())}",
            run=run.run,
            sha256=sha256,
            agents=tuple(
                _agent(item, rows[item.agent], baseline, calibrated=item.agent in calibrated)
                for item in shown
            ),
            pairs=paired(rows),
            unfinished=tuple(_unfinished(run, shown)),
            counting=found,
            proviso=proviso,
            preface=tuple(preface),
            baseline=baseline.agent if baseline else "",
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(path, error) from error


def _versions(run: Json) -> dict[str, str]:
    """Return the version of each suite by its name, sorted."""
    found: dict[str, str] = {}
    for suite in run["suites"]:
        found.setdefault(str(suite["name"]), str(suite["version"]))
    return dict(sorted(found.items()))


def _rows(run: RunFile, agent: str, versions: Mapping[str, str]) -> list[Row]:
    return [note_row(line, versions) for line in run.episodes if line["agent"] == agent]


def _calibrated(run: RunFile) -> set[str]:
    """Return the agents whose explanation score the closing line calls calibrated."""
    agents = run.summary["agents"] if run.summary else ()
    return {str(item["agent"]) for item in agents if item["explanation"]["calibrated"] is True}


def _unfinished(run: RunFile, shown: Sequence[Evidence]) -> list[str]:
    """Return why the episodes are not all that the run should have had."""
    found = []
    if run.summary is None:
        found.append("it has no end: it was killed, or is still going on")
    elif run.summary["stopped_early"]:
        found.append("it was stopped before its end")
    shards = {item.shard for item in shown if item.shard}
    found += [f"it is part {number} of {whole} of a run" for number, whole in sorted(shards)]
    missing = sum(item.missing for item in shown)
    if missing:
        found.append(f"{missing} of its trials {'is' if missing == 1 else 'are'} missing")
    counts = {len(item.cases) for item in shown}
    if len(counts) > 1:
        found.append("its agents have not met the same scenarios")
    return found


def _agent(found: Evidence, rows: Sequence[Row], baseline: Evidence | None, *, calibrated: bool) -> AgentNote:
    summary = summarise(found.agent, rows, intervals=True)
    cases = found.cases
    by_effects = Counter(
        named_case(row) for row in rows if row["verdict"] != "error" and row["strict_effects"]
    )
    areas = sorted({item.category for item in cases.values() if item.scored})
    gate = decide(baseline, found, Rules(), fresh=found.fresh) if baseline else None
    return AgentNote(
        agent=found.agent,
        evidence=found,
        summary=summary,
        strict=_measure(cases, MEASURES["strict"]),
        effects=_measure(cases, lambda item: by_effects[item.case]),
        solved=_measure(cases, MEASURES["routine_solved"]),
        dimensions={name: _measure(cases, MEASURES[name]) for name in STRICT_DIMENSIONS},
        areas={name: _measure(cases, _within(name)) for name in areas},
        escalations=escalations(item for _, item in sorted(cases.items())),
        violations=_violations(rows),
        situations=tuple(
            _situations(rows, called(gate), several=len({row["suite"] for row in rows}) > 1),
        ),
        calibrated=calibrated,
        simulated=sum(bool(row["customer_simulated"]) for row in rows),
        gate=gate,
    )


def _within(area: str) -> Callable[[CaseEvidence], int | None]:
    return lambda item: item.passed if item.category == area else None


def _measure(cases: Mapping[Case, CaseEvidence], good: Callable[[CaseEvidence], int | None]) -> Measure:
    counts = [
        (item, number)
        for _, item in sorted(cases.items())
        if item.scored and (number := good(item)) is not None
    ]
    whole = sum(item.scored for item, _ in counts)
    return Measure(sum(number for _, number in counts), whole, share_interval(counts))


def _violations(rows: Sequence[Row]) -> tuple[Violated, ...]:
    """Return the violations of scored episodes, those of zero tolerance first."""
    bases: dict[tuple[bool, str], Counter[str]] = {}
    places: dict[tuple[bool, str], set[Case]] = {}
    for row in rows:
        for code, basis in row["violations"]:
            zero = code in ZERO_TOLERANCE or (code == "missed_escalation" and "safety" in row["tags"])
            bases.setdefault((not zero, code), Counter())[basis] += 1
            places.setdefault((not zero, code), set()).add(named_case(row))
    return tuple(
        Violated(code, not mild, counts["effect"], counts["text"], len(places[mild, code]))
        for (mild, code), counts in sorted(bases.items())
    )


def _situations(rows: Sequence[Row], gated: Mapping[Case, str], *, several: bool) -> list[Situation]:
    """Return the scenarios that must be handed off first, and of each kind those that fail anew."""
    by_case: dict[Case, list[Row]] = {}
    for row in sorted(rows, key=lambda item: (*named_case(item), item["trial"])):
        by_case.setdefault(named_case(row), []).append(row)
    found = [
        _situation(case, trials, gated.get(case, ""), several=several) for case, trials in by_case.items()
    ]
    return sorted(
        found, key=lambda item: (GROUPS.index(item.expected_escalation), item.gated != "new failure")
    )


def _situation(case: Case, trials: Sequence[Row], gated: str, *, several: bool) -> Situation:
    scored = [row for row in trials if row["verdict"] != "error"]
    told: Row = next((row for row in trials if row["verdict"] == "failed"), (scored or trials)[0])
    return Situation(
        scenario=f"{case[0]}/{case[1]}" if several else case[1],
        title=str(told["title"]),
        expected_escalation=str(told["expected_escalation"]),
        safety="safety" in told["tags"],
        permitted=told["permitted"],
        observed=told["observed"],
        outcome=told["headline"],
        escalation_class=told["escalation_class"],
        passed=sum(row["verdict"] == "passed" for row in trials),
        scored=len(scored),
        errors=len(trials) - len(scored),
        gated=gated,
    )
