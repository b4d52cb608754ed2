"""The benchmark of the gate: A/A cells have runs and intervals of their own, and each cell draws its own numbers."""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from benchmarks import gate
from pytest_supportbench.statistics import wilson


def test_cells_without_a_drop_have_runs_and_intervals_of_their_own(monkeypatch: pytest.MonkeyPatch):
    """Of 18 rows each has one share over 200 runs with Wilson's bounds, and three over 7."""
    asked: Counter[tuple[int, bool]] = Counter()

    def share(runs: int, cell: gate.Cell) -> dict[str, float]:
        asked[runs, bool(cell.drop)] += 1
        return {"REGRESSED": 0.05}

    monkeypatch.setattr(gate, "share", share)
    monkeypatch.setattr(gate, "ProcessPoolExecutor", ThreadPoolExecutor)
    found = list(gate.lines(7, 200, "broken"))
    assert asked == {(200, False): 18, (7, True): 54}
    bounds = wilson(10, 200)
    assert f"| 5.0 % ({100 * bounds.low:.1f} to {100 * bounds.high:.1f}) | 5.0 % |" in found[2]
    assert "A/A: REGRESSED (95 % interval)" in found[0]
    assert {line.count("|") for line in found} == {8}
    spread = list(gate.lines(7, 0, "spread"))
    assert "A/A" not in spread[0]
    assert {line.count("|") for line in spread} == {7}


def test_cells_draw_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch):
    """The same seed is another run in another cell, and the same run in the same one."""
    drawn = []

    def tried(source, passes, trials):
        drawn.append(float(source.random()))
        raise StopIteration

    monkeypatch.setattr(gate, "tried", tried)
    for trials in (1, 5, 1):
        with pytest.raises(StopIteration):
            gate.verdict(3, gate.Cell("even", trials, 0.6, 0.0, "broken"))
    assert drawn[0] == drawn[2] != drawn[1]


@pytest.mark.parametrize(("change", "rates"), [("broken", {0.0, 0.8}), ("spread", {0.6})])
def test_a_drop_breaks_some_scenarios_or_is_spread(
    monkeypatch: pytest.MonkeyPatch, change: str, rates: set[float]
):
    """A drop of 20 points from 80 % leaves a mean of 60 % either way."""
    seen = []

    def tried(source, passes, trials):
        seen.append(passes)
        if len(seen) == 2:
            raise StopIteration
        return {}

    monkeypatch.setattr(gate, "tried", tried)
    monkeypatch.setattr(gate, "rates", lambda *_: np.full(gate.SCENARIOS, 0.8))
    with pytest.raises(StopIteration):
        gate.verdict(1, gate.Cell("even", 3, 0.8, 0.2, change))
    before, now = seen
    assert set(before) == {0.8}
    assert {round(float(rate), 9) for rate in now} == rates
    assert abs(now.mean() - 0.6) < 0.011  # whole scenarios: 12 or 13 of 50


@pytest.mark.parametrize("text", ["0", "-3", "many", "1.5"])
def test_no_number_of_runs_is_refused(text: str):
    """A share of nothing is none."""
    with pytest.raises(argparse.ArgumentTypeError, match="give one of at least 1"):
        gate.positive(text)
