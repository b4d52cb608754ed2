"""The gate's step for single scenarios: stable before, failing now, confirmed by fresh trials that were declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_supportbench.comparable import named
from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case, CaseEvidence
from pytest_supportbench.gate_rules import (
    DETERMINISTIC_CASES,
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
    """Tell whether an agent never varied: at least twenty scenarios, each tried more than once, all trials alike."""
    return len(cases) >= DETERMINISTIC_CASES and all(
        item.scored > 1 and item.repeats for item in cases.values()
    )


def fresh_needed(old: Cases, new: Cases, rules: Rules) -> int | None:
    """Return how many fresh trials make a candidate that fails them all block; ``None`` where twenty do not.

    It depends on numbers of trials only, never on what they showed now, so that it is fixed before the run.
    """
    if is_deterministic(old):
        return DETERMINISTIC_FRESH
    stable = [case for case, item in old.items() if item.stable]
    if not stable:
        return None
    before = min(old[case].weight for case in stable)
    now = min(new[case].scored for case in stable)
    level = rules.alpha_scenarios / len(stable)
    return next(
        (count for count in range(1, MAX_FRESH + 1) if fisher_worse((before, 0), (0, now + count)) <= level),
        None,
    )


def scenario_step(old: Cases, new: Cases, rules: Rules, fresh: Cases) -> ScenarioStep:
    """Judge the candidates by their fresh trials.

    A candidate blocks where Fisher's exact test of the baseline's trials against all of today's is at most the step's
    level over the number of stable cases (Bonferroni). That only candidates get fresh trials does not raise the
    false-alarm rate: the test would hold its level if every case got them, and blocks on a part of these cases. A
    deterministic agent's candidate blocks where all of at least three fresh trials fail alike.
    """
    found = candidates(old, new)
    needed = fresh_needed(old, new, rules)
    deterministic = is_deterministic(old)
    stable = sum(item.stable for item in old.values())
    confirmed, cleared, waiting = [], [], []
    for case in found:
        trials = fresh.get(case)
        if needed is None:
            continue
        if trials is None or trials.scored < needed:
            waiting.append(case)
        elif _holds(
            old[case], new[case], trials, rules.alpha_scenarios / stable, deterministic=deterministic
        ):
            confirmed.append(case)
        else:
            cleared.append(case)
    reasons = (
        *(
            Reason("scenarios", f"{_counts(old, new, fresh, case)}: confirmed", "REGRESSED")
            for case in confirmed
        ),
        *(Reason("scenarios", f"{_counts(old, new, fresh, case)}: not confirmed") for case in cleared),
        *_unjudged(found, waiting, needed),
    )
    return ScenarioStep(found, tuple(confirmed), needed, deterministic, reasons)


def _holds(
    old: CaseEvidence, new: CaseEvidence, fresh: CaseEvidence, level: float, *, deterministic: bool
) -> bool:
    if deterministic and not new.passed and not fresh.passed and fresh.repeats:
        return True
    passed, scored = new.passed + fresh.passed, new.scored + fresh.scored
    return fisher_worse((old.weight, 0), (passed, scored - passed)) <= level


def _unjudged(found: Sequence[Case], waiting: Sequence[Case], needed: int | None) -> Iterator[Reason]:
    """Yield what could not be told: candidates without fresh trials, or with too few trials to ever tell."""
    if waiting:
        text = (
            f"{counted(len(waiting), 'new failure')} neither confirmed nor cleared, for want of "
            f"{counted(needed or 0, 'fresh trial')} each: {named(waiting)}"
        )
        yield Reason("scenarios", text, "INCONCLUSIVE")
    if found and needed is None:
        text = (
            f"{counted(len(found), 'new failure')} that a baseline of so few trials cannot tell from chance: "
            f"{named(found)}; bless a baseline of 5 trials, or of 2 for an agent that never varies"
        )
        yield Reason("scenarios", text)


def _counts(old: Cases, new: Cases, fresh: Cases, case: Case) -> str:
    counts = [f"{side[case].passed}/{side[case].scored}" for side in (old, new, fresh)]
    return f"{case[1]}: passed {counts[0]} before, {counts[1]} now, {counts[2]} in fresh trials"
