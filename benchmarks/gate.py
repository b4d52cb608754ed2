"""How often the gate cries wolf, and what it sees: ``python -m benchmarks.gate [--runs N] [--aa-runs M]``.

The table has for each cell the share of N runs that are REGRESSED after a drop, and of M runs without any (A/A), the
latter with its 95 % interval by Wilson: a share above the declared level is noise as long as its interval reaches down
to it. ``python -m benchmarks.gate --runs 300 --aa-runs 2000`` takes about an hour on two cores.

Agents are simulated as pass rates by scenario, drawn from a beta distribution with the mean that is asked for: ``even``
agents are as unsure everywhere, ``mixed`` ones pass some scenarios nearly always and others nearly never, as models do.
"""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

from pytest_supportbench.evidence import Case, CaseEvidence, Conditions, Evidence
from pytest_supportbench.gate import decide
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.gate_scenarios import candidates, fresh_needed
from pytest_supportbench.statistics import wilson
from pytest_supportbench.words import STRICT_DIMENSIONS

SCENARIOS = 50
SPREAD = {"even": 30.0, "mixed": 0.6}
"""The sum of the beta distribution's two parameters; the smaller, the more scenarios are sure."""


def rates(source: np.random.Generator, mean: float, shape: str) -> np.ndarray:
    """Return a pass rate for each scenario."""
    total = SPREAD[shape]
    return source.beta(mean * total, (1 - mean) * total, SCENARIOS)


def tried(source: np.random.Generator, passes: np.ndarray, trials: int) -> dict[Case, CaseEvidence]:
    """Return each scenario tried so often."""
    found = {}
    for number, rate in enumerate(passes):
        passed = int(source.binomial(trials, rate))
        case = ("simulated", f"S-{number:02}")
        found[case] = CaseEvidence(
            case=case,
            title="",
            category="billing",
            family=case[1],
            expected_escalation="must_not",
            sha256="",
            scored=trials,
            passed=passed,
            errors=0,
            repeats=False,
            # One dimension fails wherever the trial does, the others never: the hardest case for Holm's step.
            dimensions={name: passed if name == "resolution" else trials for name in STRICT_DIMENSIONS},
            zero_tolerance={},
            escalation={},
        )
    return found


@dataclass(frozen=True, slots=True)
class Cell:
    """What is simulated: agents of a ``mean`` pass rate and a ``shape``, with ``trials``, that fall by ``drop``.

    A drop of 0 is an A/A run. The ``change`` has ``broken`` some scenarios outright, or is ``spread`` over all of them
    in proportion.
    """

    shape: str
    trials: int
    mean: float
    drop: float
    change: str

    def seed(self) -> list[int]:
        """Return numbers of the cell's own: with equal ones an unlucky seed would be unlucky in every cell."""
        spread = [1] if self.change == "spread" else []
        shape = list(SPREAD).index(self.shape)
        return [shape, self.trials, round(1000 * self.mean), round(1000 * self.drop), *spread]


def verdict(seed: int, cell: Cell) -> str:
    """Return what the gate says of one pair of runs."""
    source = np.random.default_rng([seed, *cell.seed()])
    before = rates(source, cell.mean, cell.shape)
    now = before.copy()
    if cell.drop and cell.change == "spread":
        now *= 1 - cell.drop / cell.mean
    elif cell.drop:
        broken = source.permutation(SCENARIOS)[: round(cell.drop * SCENARIOS / cell.mean)]
        now[broken] = 0.0
    old, new = tried(source, before, cell.trials), tried(source, now, cell.trials)
    conditions = Conditions((), "1", cell.trials, 6, 120.0, None)
    rules = Rules()
    needed = fresh_needed(old, new, rules)
    again = tried(source, now, needed) if needed else {}
    fresh = {case: again[case] for case in candidates(old, new)} if needed else {}
    sides = (Evidence("agent", {}, conditions, cases, complete=True) for cases in (old, new))
    return decide(*sides, rules, fresh=fresh).verdict


def share(runs: int, cell: Cell) -> dict[str, float]:
    """Return the share of each verdict over so many simulated pairs of runs."""
    verdict(0, cell)
    gc.freeze()  # statsmodels collects garbage at each correction, which costs more than the rest
    found = [verdict(seed, cell) for seed in range(runs)]
    return {name: found.count(name) / runs for name in ("PASS", "REGRESSED", "INCONCLUSIVE")}


def shown(found: float, runs: int, drop: float) -> str:
    """Return a share in percent, that of A/A runs with its interval."""
    if drop:
        return f"{100 * found:.1f} %"
    interval = wilson(round(found * runs), runs)
    return f"{100 * found:.1f} % ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def lines(runs: int, aa_runs: int, change: str) -> Iterator[str]:
    """Yield the table as Markdown; ``aa_runs`` of 0 leave A/A runs out."""
    drops = (*(0.0,)[: aa_runs > 0], 0.05, 0.1, 0.2)
    table = list(product(("even", "mixed"), (1, 3, 5), (0.6, 0.8, 0.95)))
    cells = [Cell(*row, drop, change) for row in table for drop in drops]
    of = [runs if cell.drop else aa_runs for cell in cells]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(cells, pool.map(share, of, cells), strict=True))
    yield (
        "| agent | trials | pass rate | "
        + " | ".join(
            f"drop of {100 * drop:.0f} points" if drop else "A/A: REGRESSED (95 % interval)" for drop in drops
        )
        + " |"
    )
    yield "|---" * (3 + len(drops)) + "|"
    for shape, trials, mean in table:
        shares = (
            shown(
                found[Cell(shape, trials, mean, drop, change)]["REGRESSED"], runs if drop else aa_runs, drop
            )
            for drop in drops
        )
        yield f"| {shape} | {trials} | {100 * mean:.0f} % | {' | '.join(shares)} |"


def positive(text: str) -> int:
    """Return a number of runs. Raises `argparse.ArgumentTypeError` for less than one, of which there is no share."""
    if not text.isdecimal() or not int(text):
        msg = f"{text!r} is no number of runs; give one of at least 1"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs", type=positive, default=1_000, help="simulated pairs of runs for each figure"
    )
    parser.add_argument("--aa-runs", type=positive, help="as many for those without a drop (default: --runs)")
    parser.add_argument(
        "--change",
        choices=("broken", "spread"),
        default="broken",
        help="what a drop is: some scenarios broken outright (default), or all a little worse, without A/A runs",
    )
    chosen = parser.parse_args()
    aa_runs = 0 if chosen.change == "spread" else chosen.aa_runs or chosen.runs
    for line in lines(chosen.runs, aa_runs, chosen.change):
        print(line, flush=True)  # noqa: T201 - a program's output


if __name__ == "__main__":
    main()
