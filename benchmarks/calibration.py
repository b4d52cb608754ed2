"""How often a rater at the bound is taken for a better one: ``python -m benchmarks.calibration [--runs N]``.

A rater's recall is 0.80 exactly. Its skill differs from scenario to scenario (beta distribution), so that its errors
cluster; 0 is a rater as good everywhere. Both intervals of the recall are at a level of 95 %, so a lower bound of 0.80
or more may come up in 2.5 % of the studies. Below that is how often a rater of 0.95 is seen to be better.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np

from pytest_supportbench.agreement import share
from pytest_supportbench.calibration import MIN_RECALL
from pytest_supportbench.statistics import clustered


def study(seed: int, recall: float, scenarios: int, items: int, correlation: float) -> tuple[bool, bool]:
    """Return whether the bootstrap of gates, and the interval in use, bound a simulated rater's recall by 0.80."""
    source = np.random.default_rng((seed, scenarios, items, int(10 * correlation)))
    spread = (1 - correlation) / correlation if correlation else 0.0
    skills = (
        source.beta(recall * spread, (1 - recall) * spread, scenarios) if spread else [recall] * scenarios
    )
    found = [source.random(items) < skill for skill in skills]
    alone = clustered([int(answers.sum()) for answers in found], [items] * scenarios)
    used = share([(bool(answer), str(number)) for number, answers in enumerate(found) for answer in answers])
    assert used is not None
    return alone.low >= MIN_RECALL, used.low >= MIN_RECALL


def rates(runs: int, recall: float, scenarios: int, items: int, correlation: float) -> tuple[float, float]:
    """Return both shares of so many studies."""
    found = [study(seed, recall, scenarios, items, correlation) for seed in range(runs)]
    return sum(alone for alone, _ in found) / runs, sum(used for _, used in found) / runs


def lines(runs: int) -> Iterator[str]:
    """Yield the tables as Markdown."""
    cells = list(product((0.8, 0.95), (12, 25, 40, 80), (2, 4), (0.0, 0.3, 0.7)))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(rates, [runs] * len(cells), *zip(*cells, strict=True)))
    yield "| recall | scenarios | items each | correlation | bootstrap of gates | interval in use |"
    yield "|---" * 6 + "|"
    for (recall, scenarios, items, correlation), (alone, used) in zip(cells, found, strict=True):
        shares = f"{100 * alone:.1f} % | {100 * used:.1f} %"
        yield f"| {recall:.2f} | {scenarios} | {items} | {correlation} | {shares} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000, help="simulated studies for each figure")
    for line in lines(parser.parse_args().runs):
        print(line, flush=True)  # noqa: T201 - a program's output


if __name__ == "__main__":
    main()
