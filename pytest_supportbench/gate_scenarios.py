"""The gate's step for single scenarios: stable before, failing now, confirmed by fresh trials that were declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_supportbench.comparable import named, several_suites
from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case, CaseEvidence
from pytest_supportbench.gate_rules import (
    DETERMINISTIC_FAILED,
    DETERMINISTIC_FRESH,
    MAX_FRESH,
    Reason,
    Rules,
    failing_trials,
)
from pytest_supportbench.statistics import fisher_worse

Cases = Mapping[Case, CaseEvidence]


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """What the step found. ``fresh`` is how many fresh trials each candidate needs; ``None`` where none would do.

    ``deterministic`` tells that the baseline's agent never varied. ``confirmed`` candidates block.
    """

    candidates: tuple[Case, ...]
    confirmed: tuple[Case, ...]
    fresh: int | None
    deterministic: bool
    reasons: tuple[Reason, ...]


def candidates(old: Cases, new: Cases) -> tuple[Case, ...]:
    """Return the cases that passed every trial before and fail more than half of them now, sorted."""
    return tuple(
        case
        for case in sorted(old)
        if old[case].stable and new[case].scored - new[case].passed >= failing_trials(new[case].scored)
    )


def is_deterministic(cases: Cases) -> bool:
    """Tell whether an agent never varied: each scenario tried more than once, all its trials alike."""
    return bool(cases) and all(item.repeats for item in cases.values())


def level(cases: Cases, rules: Rules) -> float:
    """Return the level of Fisher's test of one scenario: the step's over half the number of scenarios.

    A false alarm needs that all trials passed before and that today's fail, and that happens at most half as often as
    Fisher's p-value says, whatever the scenario's true pass rate is. So the sum over all scenarios, by Bonferroni, is
    at most the step's level. Nothing here depends on what a run showed.
    """
    return 2 * rules.alpha_scenarios / len(cases)


def fresh_needed(old: Cases, new: Cases, rules: Rules) -> int | None:
    """Return how many fresh trials make a candidate of ``new`` that fails them all block; ``None`` where twenty do not.

    It depends on numbers of scenarios and trials only, never on what they showed now, so that it is fixed before. Of
    today's it needs no other scenario than the candidate, so a part of a run asks for as many as the whole.
    """
    if not old:
        return None
    now = min(item.scored for item in new.values())
    if is_deterministic(old):
        return max(DETERMINISTIC_FRESH, DETERMINISTIC_FAILED - now)
    before, each = max(_trials(old).values()), level(old, rules)
    return next(
        (count for count in range(1, MAX_FRESH + 1) if fisher_worse((before, 0), (0, now + count)) <= each),
        None,
    )


def _trials(cases: Cases) -> dict[Case, int]:
    """Return how many trials of each scenario count.

    Trials that repeat each other count once, for they may be the same trial; but not those of an agent that varied in
    some other scenario, since its trials are independent.
    """
    varied = any(map(_varied, cases.values()))
    return {case: item.scored if varied else item.weight for case, item in cases.items()}


def _varied(item: CaseEvidence) -> bool:
    return item.scored > 1 and not item.repeats


def scenario_step(old: Cases, new: Cases, rules: Rules, fresh: Cases) -> ScenarioStep:
    """Judge the candidates by their fresh trials.

    A candidate blocks where Fisher's exact test of the baseline's trials against all of today's is at most `level`.
    That only candidates get fresh trials does not raise the false-alarm rate: the test would hold its level if every
    case got them, and blocks on a part of these cases. A deterministic agent's candidate blocks where all trials fail,
    of which at least three are fresh.
    """
    found = candidates(old, new)
    needed = {case: fresh_needed(old, {case: new[case]}, rules) for case in found}
    trials, each = _trials(old), level(old, rules) if old else 0.0
    deterministic, several = is_deterministic(old), several_suites(old)
    groups: dict[str, list[Case]] = {"confirmed": [], "not confirmed": [], "waiting": [], "hopeless": []}
    for case in found:
        before = None if deterministic else trials[case]
        groups[_outcome(before, new[case], fresh.get(case), needed[case], each)].append(case)
    reasons = [
        Reason(
            "scenarios",
            f"{named([case], several=several)} passed {old[case].passed}/{old[case].scored} before, "
            f"{new[case].passed}/{new[case].scored} now, {fresh[case].passed}/{fresh[case].scored} fresh: {group}",
            "REGRESSED" if group == "confirmed" else None,
        )
        for group in ("confirmed", "not confirmed")
        for case in groups[group]
    ]
    if waiting := groups["waiting"]:
        most = max(needed[case] or 0 for case in waiting)
        text = (
            f"{counted(len(waiting), 'new failure')} to be confirmed by {counted(most, 'fresh trial')} each: "
            f"{named(waiting, several=several)}"
        )
        reasons.append(Reason("scenarios", text, "INCONCLUSIVE"))
    if hopeless := groups["hopeless"]:
        text = (
            f"too few trials to tell {counted(len(hopeless), 'new failure')} from chance: "
            f"{named(hopeless, several=several)}; bless a baseline of more, such as 5"
        )
        reasons.append(Reason("scenarios", text))
    if deterministic and (varied := [case for case, item in sorted(new.items()) if _varied(item)]):
        text = (
            f"the agent never varied in the baseline, and does now in {len(varied)} of "
            f"{counted(len(new), 'scenario')}: {named(varied, several=several)}; "
            "bless a baseline of more trials, such as 5"
        )
        reasons.append(Reason("scenarios", text))
    declared = fresh_needed(old, old, rules)
    return ScenarioStep(found, tuple(groups["confirmed"]), declared, deterministic, tuple(reasons))


def _outcome(
    before: int | None, new: CaseEvidence, fresh: CaseEvidence | None, needed: int | None, each: float
) -> Literal["confirmed", "not confirmed", "waiting", "hopeless"]:
    """Judge one candidate. ``before`` is how many trials count, all passed; ``None`` for a deterministic agent."""
    if needed is None or not _blocks(before, 0, new.scored + needed, each):
        return "hopeless"  # or one that has fewer trials before than others
    if fresh is None or fresh.scored < needed:
        return "waiting"
    passed, scored = new.passed + fresh.passed, new.scored + fresh.scored
    return "confirmed" if _blocks(before, passed, scored - passed, each) else "not confirmed"


def _blocks(before: int | None, passed: int, failed: int, each: float) -> bool:
    if before is None:
        return not passed
    return fisher_worse((before, 0), (passed, failed)) <= each
