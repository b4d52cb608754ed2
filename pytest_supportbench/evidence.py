"""What one agent showed in one run, scenario by scenario: the counts that baselines, gates and comparisons work on."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

from pytest_supportbench.attempts import counting_attempts
from pytest_supportbench.errors import UsageError
from pytest_supportbench.gists import asked
from pytest_supportbench.results import Json
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.words import NO_ANSWER, STRICT_DIMENSIONS, ZERO_TOLERANCE

Case: TypeAlias = tuple[str, str]
"""A scenario by suite name and id."""

MAX_RUN: Final = 100
"""Characters of a run's id that are kept; a file may say anything."""

_SORTED: Final = json.JSONEncoder(sort_keys=True, default=str)

UNSHARED: Final = frozenset({"host", "cassette", "record", "replayed", "digest_checked", "prompt_path", "id"})
"""What a fingerprint says of the machine or of the way it was run, so that two machines write equal baselines."""


@dataclass(frozen=True, slots=True)
class CaseEvidence:
    """The trials of one scenario. ``scored`` excludes ``errors``, which say nothing of the agent.

    ``repeats`` is true where there were several scored trials and all were identical in what the agent replied: they
    then carry no more information than one. ``passed`` and the counts of ``dimensions`` (passed trials by dimension),
    ``zero_tolerance`` (trials with such a violation, by code), ``replayed`` (those with stored replies only) and
    ``no_answer`` (those that ended without a decision of the agent's own) are at most ``scored``; a baseline does not
    keep the latter two. Twins share a ``family``.
    """

    case: Case
    title: str
    category: str
    family: str
    expected_escalation: str
    sha256: str
    scored: int
    passed: int
    errors: int
    repeats: bool
    dimensions: Mapping[str, int]
    zero_tolerance: Mapping[str, int]
    escalation: Mapping[str, int]
    replayed: int = field(default=0, compare=False)
    no_answer: int = field(default=0, compare=False)

    @property
    def weight(self) -> int:
        """How many trials this counts as: identical ones count once."""
        return 1 if self.repeats else self.scored

    @property
    def rate(self) -> Fraction:
        """The share of scored trials that passed, exact. Raises `ZeroDivisionError` where none was scored."""
        return Fraction(self.passed, self.scored)

    @property
    def stable(self) -> bool:
        """Whether every scored trial passed, and there was one."""
        return self.scored > 0 and self.passed == self.scored

    def to_json(self) -> Json:
        """Return the counts as JSON data, as a baseline keeps them."""
        return {
            "suite": self.case[0],
            "scenario": self.case[1],
            "title": self.title,
            "category": self.category,
            "family": self.family,
            "expected_escalation": self.expected_escalation,
            "sha256": self.sha256,
            "passed": self.passed,
            "scored": self.scored,
            "errors": self.errors,
            "repeats": self.repeats,
            "dimensions": dict(sorted(self.dimensions.items())),
            "zero_tolerance": dict(sorted(self.zero_tolerance.items())),
            "escalation": dict(sorted(self.escalation.items())),
        }


@dataclass(frozen=True, slots=True)
class Conditions:
    """What two runs must share for their difference to be the agent's: suites, scorer, trials, limits, customer.

    ``suites`` has name, version, root hash and toolset version of each; ``timeout`` is in seconds.
    """

    suites: tuple[Mapping[str, str], ...]
    scorer: str
    trials: int
    max_turns: int
    timeout: float
    customer: Mapping[str, Any] | None

    def to_json(self) -> Json:
        """Return the conditions as JSON data."""
        return {
            "suites": [dict(suite) for suite in self.suites],
            "scorer": self.scorer,
            "trials": self.trials,
            "max_turns": self.max_turns,
            "timeout": self.timeout,
            "customer": None if self.customer is None else dict(self.customer),
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one agent showed. ``missing`` counts trials of cases in the run that were declared and are not there.

    ``fresh`` has the trials beyond the declared ones, by which a gate tried new failures again: they are no part of
    ``cases``, and of no count. ``shard`` is the number (from 1) of the run's part and how many there are, ``None`` for
    a whole run. ``run`` is the run's id, empty where it is not known, as of a baseline; it is no part of what was
    shown, so runs may be equal without it. ``skipped`` has the scenarios of which pytest skipped an item.
    """

    agent: str
    fingerprint: Mapping[str, Any]
    conditions: Conditions
    cases: Mapping[Case, CaseEvidence]
    complete: bool
    missing: int = 0
    fresh: Mapping[Case, CaseEvidence] = field(default_factory=dict)
    shard: tuple[int, int] | None = None
    skipped: tuple[Case, ...] = ()
    run: str = field(default="", compare=False)

    @property
    def errors(self) -> int:
        """How many trials ended in an infrastructure error."""
        return sum(case.errors for case in self.cases.values())

    @property
    def trials(self) -> int:
        """How many trials there are, errors included."""
        return sum(case.errors + case.scored for case in self.cases.values())

    @property
    def replayed(self) -> int:
        """How many scored trials had stored replies only."""
        return sum(case.replayed for case in self.cases.values())

    @property
    def no_answer(self) -> int:
        """How many scored trials ended without a decision of the agent's own."""
        return sum(case.no_answer for case in self.cases.values())

    def without(self, cases: Collection[Case]) -> Evidence:
        """Return the same without some scenarios, and without what is missing of these."""
        kept = {case: item for case, item in self.cases.items() if case not in cases}
        left = [item for case, item in self.cases.items() if case in cases]
        missing = sum(max(0, self.conditions.trials - item.errors - item.scored) for item in left)
        return replace(self, cases=kept, missing=max(0, self.missing - missing))


def evidence(run: RunFile, path: str = "the results file") -> tuple[Evidence, ...]:
    """Return what each agent of a run showed, in the order of the run line; the order of its episodes is no matter.

    The first attempt of a trial that was scored counts, so that no rerun turns a failure into a pass. Episodes of the
    user's own tests and those that pytest never reported are left out. Raises `UsageError` where the file lacks what
    today's version writes, or has an attempt twice.
    """
    try:
        counting = counting_attempts(run.episodes)
        conditions = _conditions(run.run, {str(line["suite"]) for line in counting})
        fingerprints = {str(agent["id"]): agent for agent in run.run["agents"]}
        by_agent: dict[str, list[Json]] = {agent: [] for agent in fingerprints}
        for line in counting:
            by_agent.setdefault(str(line["agent"]), []).append(line)
        complete = run.summary is not None and not run.summary["stopped_early"]
        shard = _shard(run.run["settings"])
        return tuple(
            Evidence(
                agent=agent,
                fingerprint=fingerprints.get(agent, {"id": agent}),
                conditions=conditions,
                complete=complete,
                shard=shard,
                skipped=run.skipped,
                run=str(run.run["run"])[:MAX_RUN],
                **_tried(found, conditions.trials),
            )
            for agent, found in by_agent.items()
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        what = f"a line has no {error}" if isinstance(error, KeyError) else str(error)
        msg = (
            f"{path} cannot be read as results: {what[:300]}; "
            "name a file that this version's pytest --supportbench-results wrote, or rerun the agent"
        )
        raise UsageError(msg) from error


def _shard(settings: Json) -> tuple[int, int] | None:
    """Return which part of a run this is; ``None`` for a whole one, which one shard of one is too."""
    if settings.get("shard") is None:
        return None
    number, of = map(int, settings["shard"])
    return (number, of) if of > 1 else None


def _tried(lines: Sequence[Json], trials: int) -> dict[str, Any]:
    """Return what one agent's lines show, by field of `Evidence`; declared trials and fresh ones apart."""
    declared: dict[Case, list[Json]] = {}
    fresh: dict[Case, list[Json]] = {}
    for line in lines:
        side = fresh if int(line["trial"]) > trials else declared
        side.setdefault((str(line["suite"]), str(line["scenario"])), []).append(line)
    return {
        "cases": {case: case_evidence(case, found) for case, found in sorted(declared.items())},
        "fresh": {case: case_evidence(case, found) for case, found in sorted(fresh.items())},
        "missing": sum(max(0, trials - len(found)) for found in declared.values()),
    }


def case_evidence(case: Case, lines: Sequence[Json]) -> CaseEvidence:
    """Return what the episode lines of one scenario show, one for each trial."""
    scored = [line for line in lines if line["verdict"] != "error"]
    first = lines[0]
    dimensions = Counter(name for line in scored for name in asked(passed_dimensions, line))
    return CaseEvidence(
        case=case,
        title=str(first["title"]),
        category=str(first["category"]),
        family=family(case[1], first["twin"]),
        expected_escalation=str(first["expected_escalation"]),
        sha256=str(first["scenario_sha256"]),
        scored=len(scored),
        passed=sum(line["verdict"] == "passed" for line in scored),
        errors=len(lines) - len(scored),
        repeats=len(scored) > 1 and len({asked(trace, line) for line in scored}) == 1,
        dimensions={name: dimensions[name] for name in STRICT_DIMENSIONS},
        zero_tolerance=Counter(code for line in scored for code in asked(zero_tolerance, line)),
        escalation=Counter(str(line["escalation_class"]) for line in scored if line["escalation_class"]),
        replayed=sum(line.get("replayed") == "yes" for line in scored),
        no_answer=sum(str(line.get("ending")) in NO_ANSWER for line in scored),
    )


def passed_dimensions(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which of the dimensions of a strict pass a scored episode passed."""
    return tuple(name for name in STRICT_DIMENSIONS if line["dimensions"][name]["passed"])


def zero_tolerance(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the codes of an episode's zero-tolerance violations, each once, sorted.

    ``missed_escalation`` is one where the scenario is tagged ``safety``.
    """
    safety = "safety" in line["tags"]
    codes = {str(violation["code"]) for violation in line["violations"]}
    return tuple(
        sorted(code for code in codes if code in ZERO_TOLERANCE or (code == "missed_escalation" and safety))
    )


def family(scenario: str, twin: object) -> str:
    """Return what a scenario and its twin share: the lower of their ids."""
    return min(scenario, str(twin or scenario))


def trace(line: Mapping[str, Any]) -> str:
    """Return a hash of all that the agent replied in an episode."""
    said = [{key: value for key, value in turn.items() if key != "customer_reply"} for turn in line["turns"]]
    return hashlib.sha256(_SORTED.encode([said, line["failure"]]).encode()).hexdigest()


QUESTIONS: Final = (passed_dimensions, zero_tolerance, trace)
"""What `evidence` asks of an episode line: a run whose lines are gists must have been asked all of it."""


def shared_fingerprint(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a fingerprint without what differs between machines although the agent is the same."""
    return {name: value for name, value in sorted(fingerprint.items()) if name not in UNSHARED}


def _conditions(run: Json, judged: Collection[str]) -> Conditions:
    """Return the conditions of a run; suites that only tests of the user's own used are none of its ``judged`` ones."""
    settings = run["settings"]
    suites = sorted(
        (
            {name: str(suite[name]) for name in ("name", "version", "sha256", "toolset", "toolset_version")}
            for suite in run["suites"]
            if suite["name"] in judged
        ),
        key=lambda suite: sorted(suite.items()),
    )
    timeout, customer = float(settings["timeout"]), run.get("customer")
    if not math.isfinite(timeout):
        msg = f"its timeout is {timeout}"
        raise ValueError(msg)
    return Conditions(
        suites=tuple(suites),
        scorer=str(run["scorer"]),
        trials=int(settings["trials"]),
        max_turns=int(settings["max_turns"]),
        timeout=timeout,
        customer=None if customer is None else shared_fingerprint(customer),
    )
