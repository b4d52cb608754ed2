"""pass@1 and pass^k of runs with several trials: recomputed by hand, and told with what they are of."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import scipy.stats
import statsmodels.stats.api
from gate_samples import case, side
from hypothesis import given, settings
from hypothesis import strategies as st
from projects import agent, last_run, project, summary_of
from test_summary import made

from pytest_supportbench.cli import main
from pytest_supportbench.evidence import CaseEvidence
from pytest_supportbench.gate import decide
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.reliability import Reliability, reliability
from pytest_supportbench.reporting.gate import decision_markdown, gate_lines
from pytest_supportbench.reporting.reliability import reliability_lines
from pytest_supportbench.reporting.terminal import lines
from pytest_supportbench.summary import summarise

PRELOADED = (scipy.stats, statsmodels.stats.api)
"""numpy cannot be loaded twice in one process, and pytester forgets what a run in this process loaded."""

UNSTEADY = """

def unsteady(observation):
    \"\"\"Answers every second question of the process well, but case 1 always.\"\"\"
    CALLS.append(1)
    return GOOD if case(observation) == 1 or len(CALLS) % 2 else BAD


CALLS = []
"""


TEXTS = dict.fromkeys(("title", "permitted", "observed", "headline"), "")


def told(cases: list[CaseEvidence], *, intervals: bool = False, k: int | None = None) -> Reliability:
    found = reliability(cases, intervals=intervals, k=k)
    assert found is not None
    return found


def chosen(passed: int, scored: int, k: int) -> Fraction:
    """Return the share of all ways to choose k trials in which every one passed, by listing them."""
    ways = list(itertools.combinations([True] * passed + [False] * (scored - passed), k))
    return Fraction(sum(map(all, ways)), len(ways))


COUNTS = st.integers(2, 6).flatmap(lambda scored: st.tuples(st.integers(0, scored), st.just(scored)))


@settings(max_examples=60, deadline=None)
@given(st.lists(COUNTS, min_size=1, max_size=8))
def test_both_are_means_over_scenarios_of_all_choices_of_trials(counts: list[tuple[int, int]]):
    """Each scenario counts once; k is the fewest scored trials of one, so that every scenario can tell of it."""
    found = told([case(number, *pair) for number, pair in enumerate(counts)])
    depth = min(scored for _, scored in counts)
    at_1 = sum(Fraction(passed, scored) for passed, scored in counts) / len(counts)
    hat_k = sum(chosen(passed, scored, depth) for passed, scored in counts) / len(counts)
    assert found.k == depth
    assert found.pass_at_1 == pytest.approx(float(at_1))
    assert found.pass_hat_k == pytest.approx(float(hat_k))
    assert found.pass_hat_k <= found.pass_at_1 + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_intervals_draw_whole_families(seed: int):
    """They are those of a plain bootstrap over twin families, to within half a point, and wider than over scenarios."""
    source = np.random.default_rng(seed)
    passed = [int(count) for count in source.permutation([0, 1, 2, 3, 4, 5] * 10)]
    cases = [
        case(number, passed[number // 2], 5, family=f"F-{number // 2}") for number in range(120)
    ]  # alike
    found = told(cases, intervals=True, k=2)
    picks = source.integers(0, 60, (40_000, 60))
    for interval, values in (
        (found.pass_at_1_interval, [count / 5 for count in passed]),
        (found.pass_hat_k_interval, [float(chosen(count, 5, 2)) for count in passed]),
    ):
        low, high = np.quantile(np.asarray(values)[picks].mean(axis=1), [0.025, 0.975])
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.005)
    alone = told([case(number, item.passed, 5) for number, item in enumerate(cases)], intervals=True, k=2)
    for one, other in (
        (alone.pass_at_1_interval, found.pass_at_1_interval),
        (alone.pass_hat_k_interval, found.pass_hat_k_interval),
    ):
        assert one is not None
        assert other is not None
        assert one.high - one.low < other.high - other.low


def test_an_agent_that_never_failed_is_as_unsure_as_its_families_are_few():
    """Ten scenarios of five families that all passed: Wilson's lower bound of five of five, n / (n + z²)."""
    found = told([case(number, 3, 3, family=f"F-{number // 2}") for number in range(10)], intervals=True)
    z = NormalDist().inv_cdf(0.975)
    for interval in (found.pass_at_1_interval, found.pass_hat_k_interval):
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx((5 / (5 + z * z), 1.0))


def test_errors_are_left_out_and_told():
    """An error makes a trial fewer, and k with it; a scenario with nothing else is in no number; both are said."""
    cases = [case(0, 3, 3), case(1, 1, 2, errors=1), case(2, 0, 0, errors=3)]
    found = told(cases)
    assert (found.k, found.scenarios, found.errors, found.unscored) == (2, 2, 4, 1)
    assert found.pass_at_1 == pytest.approx((1 + 1 / 2) / 2)
    assert found.pass_hat_k == pytest.approx((1 + 0) / 2)
    text = " ".join("\n".join(reliability_lines(found)).split())
    assert "pass@1 75.0 % pass^2 50.0 % of 2 scenarios" in text
    assert "k is 2, the fewest scored trials of a scenario; there are up to 3" in text
    assert "4 trials with infrastructure errors left out, in 1 scenario all of them" in text
    assert found.to_json() == {
        "k": 2,
        "scenarios": 2,
        "pass_at_1": 0.75,
        "pass_at_1_interval": None,
        "pass_hat_k": 0.5,
        "pass_hat_k_interval": None,
        "scored_trials": [2, 3],
        "left_out": {"errors": 4, "scenarios": 1},
    }


def test_one_scored_trial_tells_nothing_of_repetition():
    """Where a scenario has one scored trial there is no pass^k, and why is said; with one trial each nothing is."""
    text = " ".join(reliability_lines(told([case(0, 3, 3), case(1, 1, 1, errors=2)])))
    assert "pass^" not in text.replace("no pass^k, since a scenario has only one scored trial", "")
    assert "no pass^k" in text
    assert reliability([case(0, 1, 1), case(1, 0, 1)], intervals=False) is None
    assert reliability([case(0, 0, 0, errors=3)], intervals=False) is None


def test_before_and_now_have_one_k():
    """The gate tells both sides with the k that all scenarios of both have trials for, in words and in numbers."""
    before, now = side("20x5/5"), side("19x5/5 3/4", 5)
    decision = decide(before, now, Rules(max_errors=0.5))
    assert decision.reliability is not None
    assert [item.k for item in decision.reliability] == [4, 4]
    expected = (19 + math.comb(3, 4)) / 20
    assert decision.reliability[1].pass_hat_k == pytest.approx(expected)
    text = " ".join("\n".join(gate_lines(decision)).split())
    assert "pass^4: 100.0 % (" in text
    assert "trials now: 1 trial with infrastructure errors left out" in text
    assert max(map(len, gate_lines(decision))) <= 80
    assert "- pass^4: 100.0 %" in decision_markdown(decision, "a", "b")
    data = decision.to_json()["reliability"]
    assert data[1]["pass_hat_k_interval"][0] < data[1]["pass_hat_k"] < 1
    json.dumps(data)


def test_the_gate_says_nothing_of_it_with_one_trial():
    """One trial each has no repetition to tell of."""
    decision = decide(side("20x1/1"), side("20x1/1"), Rules())
    assert decision.reliability is None
    assert "pass@1" not in "\n".join(gate_lines(decision))


def test_a_summary_of_several_trials_has_both():
    """Rows give the same numbers, in 80 columns; twins are a family; intervals only where they are asked for."""
    rows = [
        made(number, "passed" if trial <= number else "failed", trial=trial, family="S-1", **TEXTS)
        for number in (1, 2, 3)
        for trial in (1, 2, 3)
    ]
    summary = summarise("a", rows)
    assert summary.reliability is not None
    assert summary.reliability.pass_at_1 == pytest.approx((1 / 3 + 2 / 3 + 1) / 3)
    assert summary.reliability.pass_hat_k == pytest.approx(1 / 3)
    found = list(lines(summary))
    assert any(line.split() == ["pass^3", "33.3", "%"] for line in found)
    assert summarise("a", rows[:1]).reliability is None
    sure = summarise("a", rows, intervals=True).reliability
    assert sure is not None
    assert sure.pass_hat_k_interval is not None
    assert (sure.pass_hat_k_interval.low, sure.pass_hat_k_interval.high) == (
        0.0,
        1.0,
    )  # one family tells nothing
    assert max(map(len, lines(summarise("a", rows, intervals=True)))) <= 80


def test_a_run_of_several_trials_ends_with_both(run, pytester):
    """The summary and the closing line have pass@1 and pass^k, in every way of running, and no interval."""
    project(pytester, range(1, 5))
    result = run(agent("odd"), "--supportbench-trials=3", "--tb=no")
    text = " ".join(summary_of(result.stdout.str()).split())
    assert "pass@1 50.0 % pass^3 50.0 % of 4 scenarios; intervals come with a gate" in text
    (counts,) = last_run(pytester).summary["agents"]
    assert (counts["reliability"]["pass_at_1"], counts["reliability"]["k"]) == (0.5, 3)
    assert counts["reliability"]["pass_hat_k_interval"] is None


def test_a_gated_run_has_intervals(plain, pytester, monkeypatch):
    """Where the gate loads scipy anyway, the summary, the gate and the closing line have intervals."""
    project(pytester, range(1, 7))
    plain(agent("odd"), "--supportbench-trials=2", "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", str(pytester.path / "before.jsonl"), "baseline.json"]) == 0
    result = plain(agent("odd"), "--supportbench-trials=2", "--supportbench-baseline=baseline.json")
    result.stdout.fnmatch_lines(
        ["*pass^2*50.0 %   95 % interval *", "*pass^2: 50.0 % (* before, 50.0 % (* now*"]
    )
    closing = last_run(pytester).summary
    (counts,) = closing["agents"]
    low, high = counts["reliability"]["pass_hat_k_interval"]
    assert 0 < low < 0.5 < high < 1
    assert closing["gate"]["decision"]["reliability"][1] == counts["reliability"]


def subprocess_run(pytester: pytest.Pytester, code: str, *arguments: str) -> str:
    """Run pytest in a new process whose conftest has ``code``; return its output."""
    (pytester.path / "conftest.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=pytester.path, env=dict(os.environ)
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout


LOADED = """
import sys


def pytest_unconfigure(config):
    print("loaded:", sorted({"numpy", "scipy", "statsmodels"} & sys.modules.keys()))
"""

MISSING = """
import importlib.util
import sys

real = importlib.util.find_spec


def find_spec(name, package=None):
    return None if name in {"scipy", "statsmodels"} else real(name, package)


importlib.util.find_spec = find_spec
for name in ("numpy", "scipy", "statsmodels"):
    sys.modules[name] = None  # importing it is an ImportError
"""


def test_a_plain_run_loads_no_scipy(pytester):
    """Several trials of one agent without a gate cost no import of scipy, numpy or statsmodels."""
    project(pytester, [1, 2], UNSTEADY)
    out = subprocess_run(pytester, LOADED, agent("unsteady"), "--supportbench-trials=2")
    assert "pass^2" in out
    assert "loaded: []" in out


def test_without_the_extra_everything_but_intervals_is_told(pytester):
    """Where scipy is not installed two agents are compared all the same, and a line says how to get the rest."""
    project(pytester, [1, 2])
    out = subprocess_run(pytester, MISSING, agent("good"), agent("odd"), "--supportbench-trials=2")
    text = " ".join(out.split())
    assert "pass@1 50.0 % pass^2 50.0 % of 2 scenarios" in text
    assert "-50.0 points, -1 scenarios" in text
    assert (
        "no interval and no test: these need scipy and statsmodels; run: "
        'pip install "pytest-supportbench[gate]"' in text
    )
    closing: Any = last_run(pytester).summary
    assert closing["comparisons"][0]["interval"] is None
    assert closing["comparisons"][0]["p_value"] is None
