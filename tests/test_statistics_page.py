"""The figures of ``docs/statistics.md`` agree with each other, and with another route to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scipy.stats import beta, binomtest

from benchmarks import gate

TEXT = (Path(__file__).parent.parent / "docs" / "statistics.md").read_text("utf-8")
RUNS = 1_000
A_A = re.compile(
    r"^\| (even|mixed) \| (\d) \| (\d+) % \| ([\d.]+) % \(([\d.]+) to ([\d.]+)\) \|", re.MULTILINE
)


def test_the_intervals_of_false_alarms_are_those_of_their_shares():
    """Each A/A cell is a share of 1,000 pairs with Wilson's bounds, by scipy where we use statsmodels."""
    cells = [tuple(map(float, found[3:])) for found in A_A.findall(TEXT)]
    assert len(cells) == 18
    for share, low, high in cells:
        bounds = binomtest(round(10 * share), RUNS).proportion_ci(method="wilson")
        assert (f"{100 * bounds.low:.1f}", f"{100 * bounds.high:.1f}") == (f"{low:.1f}", f"{high:.1f}")
    assert f"at most {max(cells)[0]} %, with an interval up to {max(cell[2] for cell in cells)} %" in TEXT
    assert max(cell[2] for cell in cells) < 5


@pytest.mark.parametrize(
    ("trials", "words"), [(3, "scenarios 23 % are\n  with three"), (5, "and 9 % with five")]
)
def test_how_many_scenarios_of_an_unsure_agent_are_stable(trials, words):
    """The chance that all trials pass is the moment of the distribution that the benchmark draws rates from."""
    total = gate.SPREAD["even"]
    share = beta(0.6 * total, 0.4 * total).moment(trials)
    assert f"{100 * share:.0f} %" in words
    assert words in TEXT


@pytest.mark.parametrize(
    ("passed", "whole", "words"),
    [
        (5, 6, "5 of 6 has an interval from 44 to 97 %"),
        (15, 15, "15 of 15, reach down\nto 80 %"),
    ],
)
def test_what_few_scenarios_can_show(passed, whole, words):
    """Wilson's bounds by scipy."""
    bounds = binomtest(passed, whole).proportion_ci(method="wilson")
    assert f"{100 * bounds.low:.0f}" in words
    assert passed == whole or f"to {100 * bounds.high:.0f} %" in words
    assert words in TEXT
