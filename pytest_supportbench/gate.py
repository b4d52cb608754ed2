"""The gate: did this change make the agent worse? PASS, REGRESSED or INCONCLUSIVE, with the reasons in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_supportbench.comparable import differences, gaps, named, several_suites, what_changed
from pytest_supportbench.counted import counted
from pytest_supportbench.escalation import Escalations, escalations
from pytest_supportbench.evidence import Case, CaseEvidence, Evidence
from pytest_supportbench.gate_aggregate import Aggregate, aggregate, dimension_reasons
from pytest_supportbench.gate_rules import EXIT, GateVerdict, Reason, Rules
from pytest_supportbench.gate_scenarios import ScenarioStep, candidates, scenario_step
from pytest_supportbench.reliability import Reliability, fewest, reliability
from pytest_supportbench.statistics import require_statistics
from pytest_supportbench.zero_tolerance import Alarm, Tried, alarm, rises


@dataclass(frozen=True, slots=True)
class Decision:
    """A gate's verdict with all that led to it.

    ``reasons`` come in the order of the steps. ``changed`` says in words how the agents differ. ``candidates`` were
    stable and fail now, ``confirmed`` ones do so in fresh trials too, ``fixed`` are stable now and were not, ``still``
    are neither. ``flaky`` were stable, and not more than half of their trials fail now. ``zero_tolerance`` tells how
    often that rule would block an unchanged agent, ``None`` where the runs cannot be compared.
    ``escalation`` has the hand-off decisions before and now, ``reliability`` pass@1 and pass^k with one k for both.
    """

    verdict: GateVerdict
    reasons: tuple[Reason, ...]
    changed: tuple[str, ...]
    candidates: tuple[Case, ...] = ()
    confirmed: tuple[Case, ...] = ()
    fixed: tuple[Case, ...] = ()
    still: tuple[Case, ...] = ()
    flaky: tuple[Case, ...] = ()
    quarantined: tuple[Case, ...] = ()
    aggregate: Aggregate | None = None
    scenarios: ScenarioStep | None = None
    zero_tolerance: Alarm | None = None
    escalation: tuple[Escalations, Escalations] | None = None
    reliability: tuple[Reliability, Reliability] | None = None
    rules: Rules = field(default_factory=Rules)

    @property
    def exit_status(self) -> int:
        """0 for PASS, 1 for REGRESSED, 11 for INCONCLUSIVE."""
        return EXIT[self.verdict]

    @property
    def caution(self) -> str:
        """What must be known of a verdict by zero tolerance: how often it befalls an unchanged agent.

        Empty where the rule did not block, or would block an unchanged one no more often than the declared level.
        """
        blocked = any(reason.step == "zero_tolerance" and reason.blocks for reason in self.reasons)
        share = self.zero_tolerance.share if self.zero_tolerance else None
        if not blocked or share is None or share <= self.rules.alpha:
            return ""
        often = f"{100 * share:.0f} % of runs (simulated)"
        return (
            f"the baseline varies in such violations: zero tolerance would block an unchanged agent in {often}; "
            "more trials in the baseline, or an agent without them, make that rarer"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the decision as JSON data."""
        ids = {
            name: ["/".join(case) for case in getattr(self, name)]
            for name in ("candidates", "confirmed", "flaky", "fixed", "still", "quarantined")
        }
        return {
            "verdict": self.verdict,
            "reasons": [
                {"step": item.step, "text": item.text, "blocks": item.blocks} for item in self.reasons
            ],
            "changed": list(self.changed),
            **ids,
            "aggregate": self.aggregate.to_json() if self.aggregate else None,
            "fresh_trials": self.scenarios.fresh if self.scenarios else None,
            "escalation": [side.to_json() for side in self.escalation] if self.escalation else None,
            "reliability": [side.to_json() for side in self.reliability] if self.reliability else None,
            **(self.zero_tolerance or Alarm(None, 0, alike=False)).to_json(),
            "rules": {
                "alpha": self.rules.alpha,
                "margin": self.rules.margin,
                "max_errors": self.rules.max_errors,
            },
        }


def called(decision: Decision | None) -> dict[Case, str]:
    """Return what the gate calls a scenario; nothing for those that passed before and pass now, or without a gate."""
    if decision is None:
        return {}
    names = (
        ("fixed", decision.fixed),
        ("failed as before", decision.still),
        ("newly flaky", decision.flaky),
        ("new failure", decision.candidates),
        ("quarantine", decision.quarantined),
    )
    return {case: name for name, cases in names for case in cases}


def decide(
    before: Evidence,
    now: Evidence,
    rules: Rules,
    *,
    fresh: Mapping[Case, CaseEvidence] | None = None,
    quarantine: Collection[Case] = (),
    expired: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Decision:
    """Judge a run against a baseline.

    ``fresh`` has confirming trials by case, of which those of candidates count. ``quarantine`` names cases that are run
    and shown and do not count, but for zero tolerance; ``expired`` says in words which entries of the quarantine are
    over, and ``notes`` what else there is to tell of it. Raises `UsageError` where scipy or statsmodels is missing.
    """
    require_statistics()
    changed = tuple(what_changed(before, now))
    refused = (*differences(before, now), *gaps(before, now, rules, quarantine))
    both = sorted(
        case
        for case in before.cases.keys() & now.cases.keys()
        if before.cases[case].scored and now.cases[case].scored
    )
    counted_cases = [case for case in both if case not in quarantine]
    old = {case: before.cases[case] for case in counted_cases}
    new = {case: now.cases[case] for case in counted_cases}
    again = {case: fresh[case] for case in candidates(old, new) if case in fresh} if fresh else {}
    tried = tuple(_tried(before, now, again, both))
    early = (
        *(Reason("quarantine", text, "REGRESSED") for text in expired),
        *(Reason("quarantine", text) for text in notes),
        *rises(tried, several=several_suites(both)),
    )
    if refused:
        return Decision("INCONCLUSIVE", (*refused, *early), changed, rules=rules)
    scenarios = scenario_step(old, new, rules, again)
    whole = aggregate(old, new, rules, scenarios_can_block=scenarios.fresh is not None)
    reasons = (
        *early,
        *scenarios.reasons,
        *whole.reasons,
        *dimension_reasons(old, new, rules),
        *_areas(old, new),
    )
    blocking = [item.blocks for item in reasons if item.blocks]
    verdict: GateVerdict = "PASS"
    if blocking:
        verdict = "REGRESSED" if "REGRESSED" in blocking else "INCONCLUSIVE"
    return Decision(
        verdict=verdict,
        reasons=reasons,
        changed=changed,
        candidates=scenarios.candidates,
        confirmed=scenarios.confirmed,
        flaky=tuple(
            case
            for case in counted_cases
            if old[case].stable and not new[case].stable and case not in scenarios.candidates
        ),
        fixed=tuple(case for case in counted_cases if new[case].stable and not old[case].stable),
        still=tuple(case for case in counted_cases if not new[case].stable and not old[case].stable),
        quarantined=tuple(case for case in both if case in quarantine),
        aggregate=whole,
        scenarios=scenarios,
        zero_tolerance=alarm(tried),
        escalation=(escalations(old.values()), escalations(new.values())),
        reliability=_reliability(old, new),
        rules=rules,
    )


def _tried(
    before: Evidence, now: Evidence, fresh: Mapping[Case, CaseEvidence], cases: Sequence[Case]
) -> Iterator[Tried]:
    """Yield each case with what its trials are called, before and now: those of the run, and its fresh ones apart."""
    for case in cases:
        yield case, "trial", before.cases[case], now.cases[case]
        if case in fresh and fresh[case].scored:
            yield case, "fresh trial", before.cases[case], fresh[case]


def _reliability(
    old: Mapping[Case, CaseEvidence], new: Mapping[Case, CaseEvidence]
) -> tuple[Reliability, Reliability] | None:
    """Return pass@1 and pass^k of both sides, with a k that every scenario of both has trials for."""
    k = fewest([*old.values(), *new.values()])
    before, now = (reliability(side.values(), intervals=True, k=k) for side in (old, new))
    return None if before is None or now is None else (before, now)


def _areas(old: Mapping[Case, CaseEvidence], new: Mapping[Case, CaseEvidence]) -> Iterator[Reason]:
    """Yield each area's mean pass rates: described, never tested, since six scenarios cannot show a difference."""
    several = several_suites(old)
    for area in sorted({item.category for item in old.values()}):
        cases = sorted(case for case, item in old.items() if item.category == area)
        rates = [float(sum(side[case].rate for case in cases) / len(cases)) for side in (old, new)]
        worse = [case for case in cases if new[case].rate < old[case].rate]
        names = f"; worse: {named(worse, several=several)}" if worse else ""
        scenarios = counted(len(cases), "scenario")
        yield Reason(
            "areas", f"{area}: {100 * rates[0]:.0f} % → {100 * rates[1]:.0f} % of {scenarios}{names}"
        )
