"""``python -m benchmarks``: measure the plugin against the floor and every peer, and write ``RESULTS.md``.

Rows are stored as they come, so what was measured before an interruption is kept; ``--only`` measures some groups of
rows again and leaves the others as they are.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import (
    against_floor,
    against_peers,
    growth,
    html_page,
    in_process,
    installed,
    interrupts,
    latency,
)
from benchmarks.contest import say
from benchmarks.curves import drawing
from benchmarks.report import page
from benchmarks.rows import Row
from benchmarks.store import HERE, STORE, load, merge, save

ROUNDS: Final = 5
HTML_ROUNDS: Final = 3
"""The most for the HTML report, whose four contestants run 10,000 cases each."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a group of rows is given: a folder to work in, how many rounds, and where peers are installed.

    ``quick`` proves in minutes that the program works: small sizes and one round; its figures say nothing.
    """

    place: Path
    rounds: int
    quick: bool
    peers: Path
    peer_rounds: int
    store: dict[str, Any]


def _floor(setup: Setup) -> list[Row]:
    sizes = (200, 100) if setup.quick else (against_floor.LARGE, against_floor.MEDIUM)
    return against_floor.rows(setup.place, setup.rounds, *sizes)


def _peers(setup: Setup) -> list[Row]:
    sizes = {40: 1} if setup.quick else {1_000: setup.rounds, 10_000: setup.peer_rounds}
    return against_peers.rows(setup.place, setup.peers, sizes)


def _window(setup: Setup) -> list[Row]:
    return latency.window_rows(setup.place, setup.peers, setup.rounds, 64 if setup.quick else 400)


def _growth(setup: Setup) -> list[Row]:
    rows, points = growth.measure(setup.place, (10, 40) if setup.quick else growth.SCENARIOS)
    setup.store["curves"] = {"points": points}
    return rows


GROUPS: Final[dict[str, Callable[[Setup], list[Row]]]] = {
    "idle": lambda setup: installed.idle_rows(setup.place, setup.rounds),
    "floor": _floor,
    "peers": _peers,
    "core": lambda setup: in_process.rows(setup.place, setup.rounds),
    "window": _window,
    "stop": lambda setup: latency.stop_rows(setup.place, setup.rounds),
    "html": lambda setup: html_page.rows(
        setup.place, min(setup.rounds, HTML_ROUNDS), 100 if setup.quick else 10_000
    ),
    "interrupts": lambda setup: interrupts.rows(setup.place, 4 if setup.quick else 50),
    "growth": _growth,
    "install": lambda setup: installed.weight_rows(setup.place),
}


ORDER: Final = (
    *("idle", "cold-50", "cold-1000", "cold-10000", "linear", "second-run", "collect-only", "memory"),
    *("peers-1000", "peers-10000", "tool-call", "scoring", "window", "stop", "interrupts", "html", "install"),
    "compare",
)
"""The rows as the page has them."""


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for and write the page; the exit status is 1 if a group could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=tuple(GROUPS), metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="rounds of each contest (default: %(default)s)"
    )
    parser.add_argument(
        "--peer-rounds", type=int, default=1, help="rounds of peers at 10,000 (default: %(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, one round: only proves that it runs"
    )
    default = Path.home() / ".cache" / "supportbench-peers"
    parser.add_argument(
        "--peers", type=Path, default=default, help="where peers are installed (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=HERE, help="folder for RESULTS.md, results.json and growth.svg"
    )
    parser.add_argument(
        "--report-only", action="store_true", help="measure nothing; write the page from results.json"
    )
    given = parser.parse_args(arguments)
    store_path = given.out / STORE.name
    store = load(store_path)
    failed = False
    if not given.report_only:
        place = Path(tempfile.mkdtemp(prefix="supportbench-benchmarks-"))
        rounds = 1 if given.quick else given.rounds
        setup = Setup(place, rounds, given.quick, given.peers, given.peer_rounds, store)
        try:
            for name in given.only or GROUPS:
                say(f"== {name}")
                begin = time.perf_counter()
                try:
                    rows = GROUPS[name](setup)
                except Exception as error:  # noqa: BLE001 - one group that breaks does not stop the others
                    say(f"{name} could not be measured: {type(error).__name__}: {error}")
                    failed = True
                    continue
                merge(store, rows, name, time.perf_counter() - begin, rounds)
                save(store, store_path)
                _write(store, given.out)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    _write(store, given.out)
    return int(failed)


def _write(store: dict[str, Any], out: Path) -> None:
    points = store["curves"].get("points", [])
    if points:
        (out / "growth.svg").write_text(drawing(points), encoding="utf-8")
    (out / "RESULTS.md").write_text(page(store, ORDER), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
