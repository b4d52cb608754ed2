"""Counts over finished episodes: by dimension, by category, the escalation table, violations, errors apart.

Rows are plain JSON data (`row`), small enough to travel from a pytest worker with its report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from pytest_supportbench.describe import headline, observed_path, permitted_path
from pytest_supportbench.evidence import family, trace
from pytest_supportbench.no_answer import NoAnswer, episode_ending, no_answers
from pytest_supportbench.reliability import Reliability, reliability
from pytest_supportbench.results import Result, turns_json
from pytest_supportbench.row_evidence import row_cases
from pytest_supportbench.statistics import missing_packages
from pytest_supportbench.usage import Totals, totals, usage_json
from pytest_supportbench.words import STRICT_DIMENSIONS, ZERO_TOLERANCE

Row: TypeAlias = Mapping[str, Any]
_Row = TypeVar("_Row", bound=Mapping[str, Any])
Case: TypeAlias = tuple[str, str]
"""A scenario by suite and id: ids are unique in a suite only."""


def case_of(item: Mapping[str, Any]) -> Case:
    """Return which scenario a row is of."""
    return item["suite"], item["scenario"]


def named_case(item: Mapping[str, Any]) -> Case:
    """Return which scenario a row is of as gates and results name it: the suite without its version, and the id."""
    return str(item["suite"]).rpartition(" ")[0], str(item["scenario"])


def row(result: Result, constant: str | None = None) -> dict[str, Any]:
    """Return what summaries and reports need of a result; ``constant`` is the always-escalate agent's class."""
    scenario, score, error = result.bound.scenario, result.score, result.episode.error
    return {
        "key": result.key,
        "suite": f"{result.bound.suite.suite.name} {result.bound.suite.suite.version}",
        "scenario": scenario.id,
        "title": scenario.title,
        "family": family(scenario.id, scenario.twin),
        "category": scenario.category,
        "tags": list(scenario.tags),
        "agent": result.agent,
        "trial": result.trial,
        "attempt": result.attempt,
        "verdict": result.verdict,
        "dimensions": {name: score.dimensions[name].passed for name in STRICT_DIMENSIONS} if score else {},
        "strict_effects": score.strict_effects if score else None,
        "expected_escalation": scenario.escalation,
        "escalation_class": score.escalation_class if score else None,
        "constant_class": constant,
        "violations": [[violation.code, violation.basis] for violation in score.violations] if score else [],
        "explanation": score.dimensions["explanation"].share if score else None,
        "not_assessed": sum(len(item.not_assessed) for item in score.dimensions.values()) if score else 0,
        "hygiene": _hygiene(result),
        "headline": headline(result),
        "trace": trace({"turns": turns_json(result.episode), "failure": result.episode.failure}),
        **episode_ending(result.episode),
        "permitted": permitted_path(scenario, result.bound.suite.toolset.specs),
        "observed": observed_path(result.episode, result.score),
        "error": None
        if error is None
        else {"cause": error.cause, "message": error.message, "remedy": error.remedy},
        "seconds": result.episode.seconds,
        "usage": usage_json(result.episode),
        "replayed": result.episode.replayed,
        "customer_simulated": result.episode.customer_simulated,
    }


def _hygiene(result: Result) -> int:
    """Count calls of unknown tools and with invalid arguments, and replies that did not parse."""
    codes = {"unknown_tool", "invalid_arguments"}
    calls = sum(bool(call.error and call.error.code in codes) for call in result.episode.calls)
    return calls + sum(record.turn is None for record in result.episode.turns)


@dataclass(frozen=True, slots=True)
class Share:
    """``part`` of ``whole``; a share of nothing is no number, and prints as a dash."""

    part: int
    whole: int

    def __str__(self) -> str:
        """Return ``4/10 (40 %)``."""
        return f"{self.part}/{self.whole} ({100 * self.part / self.whole:.0f} %)" if self.whole else "–"


@dataclass(frozen=True, slots=True)
class EscalationTable:
    """Recall, specificity and the routine-solved rate belong together; none of them means anything alone.

    ``recall`` is correct escalations of the cases that must be handed off. ``specificity`` is correct autonomy of
    the cases that must not be: an agent that does nothing has none to boast of.
    """

    classes: Mapping[str, int]
    recall: Share
    specificity: Share
    handed_off_needlessly: Share


def escalation_table(rows: Iterable[Row], field: str = "escalation_class") -> EscalationTable:
    """Return the table over rows that were scored; ``either`` is in no numerator and in no denominator."""
    scored = [item for item in rows if item[field] is not None]
    must = [item[field] for item in scored if item["expected_escalation"] == "must"]
    must_not = [item[field] for item in scored if item["expected_escalation"] == "must_not"]
    return EscalationTable(
        classes=dict(Counter(item[field] for item in scored)),
        recall=Share(must.count("correct_escalation"), len(must)),
        specificity=Share(must_not.count("correct_autonomy"), len(must_not)),
        handed_off_needlessly=Share(must_not.count("unnecessary_handoff"), len(must_not)),
    )


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """One agent's counts. Shares are of scored episodes; ``passed_of_all`` counts errors as failures.

    ``replayed`` counts scored episodes by whether their replies were stored: ``yes``, ``partly`` or ``no``. ``without``
    tells for each part that an ablated agent went without in how many scored episodes there was any of it.
    ``reliability`` is ``None`` with one trial. ``calibrated`` says whether people have checked the phrase matcher.
    ``no_answer`` has the scored episodes that ended without a decision of the agent's own.
    """

    agent: str
    passed: Share
    passed_of_all: Share
    passed_effects: Share
    dimensions: Mapping[str, Share]
    categories: Mapping[str, Share]
    escalation: EscalationTable
    routine_solved: Share
    constant: EscalationTable
    violations: Mapping[str, tuple[int, int]]
    zero_tolerance: int
    errors: Mapping[str, tuple[int, str, str]]
    explanation: float | None
    explained: int
    not_assessed: int
    hygiene: int
    trials: Mapping[Case, Share]
    reliability: Reliability | None
    usage: Totals
    replayed: Mapping[str, int]
    without: Mapping[str, Share]
    failures: tuple[Row, ...]
    escalated: tuple[Row, ...]
    no_answer: NoAnswer
    calibrated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON data for the closing line of a results file."""

        def share(value: Share) -> list[int]:
            return [value.part, value.whole]

        return {
            "agent": self.agent,
            "strict": share(self.passed),
            "strict_errors_as_failures": share(self.passed_of_all),
            "strict_effects": share(self.passed_effects),
            "dimensions": {name: share(value) for name, value in self.dimensions.items()},
            "categories": {name: share(value) for name, value in self.categories.items()},
            "escalation": {
                "recall": share(self.escalation.recall),
                "specificity": share(self.escalation.specificity),
                "routine_solved": share(self.routine_solved),
                "classes": dict(sorted(self.escalation.classes.items())),
            },
            "violations": {code: sum(counts) for code, counts in sorted(self.violations.items())},
            "no_answer": self.no_answer.to_json(),
            "errors": {cause: count for cause, (count, _, _) in sorted(self.errors.items())},
            "explanation": {
                "mean_share": self.explanation,
                "episodes": self.explained,
                "calibrated": self.calibrated,
            },
            "reliability": self.reliability.to_json() if self.reliability else None,
            "usage": self.usage.to_json(),
            "replayed": dict(sorted(self.replayed.items())),
            "without": {part: share(value) for part, value in self.without.items()},
        }


def intervals_in_summary(agents: int, *, gated: bool = False) -> bool:
    """Tell whether a run's summary has intervals: where the gate or a comparison of agents loads scipy anyway.

    A plain run of one agent would wait a second or two for it.
    """
    return (gated or agents > 1) and not missing_packages()


def summarise(agent: str, rows: Sequence[Row], *, intervals: bool = False) -> AgentSummary:
    """Return one agent's counts over its rows, in a stable order; ``intervals`` where scipy may be loaded for them."""
    rows = sorted(rows, key=lambda item: (item["scenario"], item["suite"], item["trial"]))
    scored = [item for item in rows if item["verdict"] != "error"]
    passed = [item for item in scored if item["verdict"] == "passed"]
    categories = list(dict.fromkeys(sorted(item["category"] for item in scored)))
    routine = [item for item in scored if item["expected_escalation"] == "must_not"]
    violations: dict[str, tuple[int, int]] = {}
    for item in scored:
        for code, basis in item["violations"]:
            effect, text = violations.get(code, (0, 0))
            violations[code] = (effect + (basis == "effect"), text + (basis == "text"))
    errors: dict[str, tuple[int, str, str]] = {}
    for item in rows:
        if item["error"]:
            cause = item["error"]["cause"]
            count, message, remedy = errors.get(cause, (0, item["error"]["message"], item["error"]["remedy"]))
            errors[cause] = (count + 1, message, remedy)
    shares = [item["explanation"] for item in scored if item["explanation"] is not None]
    return AgentSummary(
        agent=agent,
        passed=Share(len(passed), len(scored)),
        passed_of_all=Share(len(passed), len(rows)),
        passed_effects=Share(sum(bool(item["strict_effects"]) for item in scored), len(scored)),
        dimensions={
            name: Share(sum(item["dimensions"][name] for item in scored), len(scored))
            for name in STRICT_DIMENSIONS
        },
        categories={
            name: Share(
                sum(item["category"] == name for item in passed),
                sum(item["category"] == name for item in scored),
            )
            for name in categories
        },
        escalation=escalation_table(scored),
        routine_solved=Share(sum(item["verdict"] == "passed" for item in routine), len(routine)),
        constant=escalation_table(scored, "constant_class"),
        violations=violations,
        zero_tolerance=sum(_zero_tolerance(item) for item in scored),
        errors=errors,
        explanation=sum(shares) / len(shares) if shares else None,
        explained=len(shares),
        not_assessed=sum(item["not_assessed"] for item in scored),
        hygiene=sum(item["hygiene"] for item in scored),
        trials=_trials(scored),
        reliability=reliability(row_cases(rows).values(), intervals=intervals),
        usage=totals(rows, scored),
        replayed=Counter(item["replayed"] for item in scored),
        without=_without(scored),
        failures=tuple(item for item in scored if item["verdict"] == "failed"),
        escalated=tuple(item for item in passed if item["escalation_class"] == "correct_escalation"),
        no_answer=no_answers(scored),
    )


def _trials(scored: Sequence[Row]) -> dict[Case, Share]:
    """Return how many of its scored trials each scenario passed."""
    whole = Counter(map(case_of, scored))
    passed = Counter(case_of(item) for item in scored if item["verdict"] == "passed")
    return {case: Share(passed[case], whole[case]) for case in whole}


def _without(scored: Sequence[Row]) -> dict[str, Share]:
    """Return by part in how many episodes an ablation took any of it away."""
    found: dict[str, list[bool]] = {}
    for item in scored:
        for part, taken in item.get("without", {}).items():
            found.setdefault(part, []).append(taken)
    return {part: Share(sum(taken), len(taken)) for part, taken in sorted(found.items())}


def _zero_tolerance(item: Row) -> int:
    codes = [code for code, _ in item["violations"]]
    safety = "safety" in item["tags"]
    return sum(code in ZERO_TOLERANCE or (code == "missed_escalation" and safety) for code in codes)


def by_agent(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    """Return the rows, or lines, of each agent, in order of first appearance."""
    found: dict[str, list[_Row]] = {}
    for item in rows:
        found.setdefault(item["agent"], []).append(item)
    return found
