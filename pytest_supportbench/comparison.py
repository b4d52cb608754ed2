"""Two agents on the same scenarios: what the second one won and lost against the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

from pytest_supportbench.gate_aggregate import either_way
from pytest_supportbench.row_evidence import row_cases
from pytest_supportbench.statistics import Interval, holm, missing_packages
from pytest_supportbench.summary import Case, case_of

Row: TypeAlias = Mapping[str, Any]

LEVEL: Final = 0.05
"""Where a p-value, adjusted for the number of comparisons, is called evidence."""


@dataclass(frozen=True, slots=True)
class PairTest:
    """How sure a paired difference is: its 95 % interval, and the two-sided p-value of the gate's test.

    ``adjusted`` is the p-value after Holm's correction for all comparisons of the run, of which there are
    ``comparisons``. The interval is not adjusted. ``name`` is the test's.
    """

    interval: Interval
    p_value: float
    adjusted: float
    comparisons: int
    name: str

    @property
    def differs(self) -> bool:
        """Whether there is evidence of a difference, at a level of 5 % over all comparisons."""
        return self.adjusted <= LEVEL


@dataclass(frozen=True, slots=True)
class Paired:
    """The paired difference of ``agent`` against ``baseline``, over the scenarios that both have scored.

    Each scenario counts once, by its pass rate: the share of its scored trials that passed. ``rate`` and
    ``baseline_rate`` are the means of these. ``fixed`` are scenarios with a higher rate than the baseline's, ``broken``
    those with a lower one; with one trial each that is failed to passed, and passed to failed. ``both_pass`` passed
    every trial of both, ``both_fail`` none of either, and ``both_mixed`` some, at the same rate.

    ``not_scored`` scenarios are left out since one of the two has only infrastructure errors there, ``not_run`` since
    one of the two did not get there. ``errors`` counts the episodes with infrastructure errors, of both agents, in the
    scenarios that are compared all the same. ``test`` is ``None`` where nothing was compared, or where scipy or
    statsmodels is not installed.
    """

    agent: str
    baseline: str
    rate: Fraction
    baseline_rate: Fraction
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    both_pass: int
    both_fail: int
    both_mixed: int
    not_scored: int
    not_run: int
    errors: int
    trials: int
    test: PairTest | None = None

    @property
    def scenarios(self) -> int:
        """How many scenarios were compared."""
        return len(self.fixed) + len(self.broken) + self.both_pass + self.both_fail + self.both_mixed

    @property
    def difference(self) -> Fraction:
        """The difference of the mean pass rates, from -1 to 1; exact, so that equal rates differ by nothing."""
        return self.rate - self.baseline_rate

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON data; rates are ``None`` where nothing could be compared."""
        known = self.scenarios > 0
        return {
            "agent": self.agent,
            "baseline": self.baseline,
            "scenarios": self.scenarios,
            "pass_rate": round(float(self.rate), 6) if known else None,
            "baseline_pass_rate": round(float(self.baseline_rate), 6) if known else None,
            "difference": round(float(self.difference), 6) if known else None,
            "fixed": list(self.fixed),
            "broken": list(self.broken),
            "both_pass": self.both_pass,
            "both_fail": self.both_fail,
            "both_mixed": self.both_mixed,
            "left_out": {"not_scored": self.not_scored, "not_run": self.not_run},
            "errors": self.errors,
            **self._test_json(),
        }

    def _test_json(self) -> dict[str, Any]:
        found = self.test
        return {
            "interval": [round(found.interval.low, 6), round(found.interval.high, 6)] if found else None,
            "level": found.interval.level if found else None,
            "p_value": float(f"{found.p_value:.6g}") if found else None,  # six digits: a tiny one is not 0
            "p_value_holm": float(f"{found.adjusted:.6g}") if found else None,
            "test": f"{found.name}, two-sided" if found else None,
        }


def paired(agents: Mapping[str, Sequence[Row]], *, tested: bool = True) -> tuple[Paired, ...]:
    """Return every further agent beside the first one; ``agents`` has their summary rows by name, in order.

    With scipy and statsmodels, which take a second or two to load, it says how sure each difference is, if ``tested``.
    """
    if len(agents) < 2:  # noqa: PLR2004 - a comparison is of two
        return ()
    (baseline, first), *others = agents.items()
    several = len({row["suite"] for rows in agents.values() for row in rows}) > 1
    pairs = [_pair(name, rows, baseline, first, several=several) for name, rows in others]
    if tested and not missing_packages():
        pairs = _judged(pairs, first, [rows for _, rows in others])
    return tuple(pairs)


def _judged(pairs: Sequence[Paired], first: Sequence[Row], others: Sequence[Sequence[Row]]) -> list[Paired]:
    """Return the pairs with how sure their differences are, as the gate tells it of two runs."""
    before = {case: item for case, item in row_cases(first).items() if item.scored}
    found = {}
    for number, rows in enumerate(others):
        now = {case: item for case, item in row_cases(rows).items() if item.scored and case in before}
        if now:
            found[number] = either_way({case: before[case] for case in now}, now)
    adjusted = dict(zip(found, holm([item.p_value for item in found.values()]), strict=True))
    return [
        replace(
            pair,
            test=PairTest(item.difference, item.p_value, adjusted[number], len(found), item.test),
        )
        if (item := found.get(number)) is not None
        else pair
        for number, pair in enumerate(pairs)
    ]


def _pair(agent: str, rows: Sequence[Row], baseline: str, first: Sequence[Row], *, several: bool) -> Paired:
    ours, theirs = _rates(rows), _rates(first)
    seen = _cases(rows) | _cases(first)
    compared = sorted(ours.keys() & theirs.keys())
    both_ran = _cases(rows) & _cases(first)
    named = {case: f"{case[0].rpartition(' ')[0]}/{case[1]}" if several else case[1] for case in compared}
    equal = [ours[case] for case in compared if ours[case] == theirs[case]]
    size = max(1, len(compared))
    return Paired(
        agent=agent,
        baseline=baseline,
        rate=sum((ours[case] for case in compared), Fraction()) / size,
        baseline_rate=sum((theirs[case] for case in compared), Fraction()) / size,
        fixed=tuple(named[case] for case in compared if ours[case] > theirs[case]),
        broken=tuple(named[case] for case in compared if ours[case] < theirs[case]),
        both_pass=equal.count(Fraction(1)),
        both_fail=equal.count(Fraction(0)),
        both_mixed=sum(0 < rate < 1 for rate in equal),
        not_scored=len(both_ran) - len(compared),
        not_run=len(seen - both_ran),
        errors=sum(row["verdict"] == "error" and case_of(row) in named for row in (*rows, *first)),
        trials=max((row["trial"] for row in (*rows, *first)), default=1),
    )


def _cases(rows: Iterable[Row]) -> set[Case]:
    return set(map(case_of, rows))


def _rates(rows: Iterable[Row]) -> dict[Case, Fraction]:
    """Return the share of scored trials that passed, by scenario; exact, so that equal shares are equal."""
    verdicts: dict[Case, list[bool]] = {}
    for row in rows:
        if row["verdict"] != "error":
            verdicts.setdefault(case_of(row), []).append(row["verdict"] == "passed")
    return {case: Fraction(sum(passed), len(passed)) for case, passed in verdicts.items()}
