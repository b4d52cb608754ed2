"""``python -m benchmarks``: measure the plugin against the floor and every peer, and write ``RESULTS.md``.

Rows are stored as they come, so what was measured before an interruption is kept; ``--only`` measures some groups of
rows again and leaves the others as they are.
"""

from __future__ import annotations

import argparse
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
from benchmarks.report import page
from benchmarks.rows import Row
from benchmarks.store import HERE, STORE, empty, load, merge, save

ROUNDS: Final = 5
QUICK: Final = Path(tempfile.gettempdir()) / "supportbench-benchmarks-quick"
"""Where the results of a trial go that says nothing, lest they take the place of real ones."""

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
    return against_peers.rows(setup.place, setup.peers, 40 if setup.quick else 1_000, setup.rounds)


def _peers_large(setup: Setup) -> list[Row]:
    """Give the slow peers fewer rounds at the large size, which the row tells."""
    rounds = 1 if setup.quick else setup.peer_rounds
    return against_peers.rows(setup.place, setup.peers, 60 if setup.quick else 10_000, rounds)


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
    "peers-large": _peers_large,
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
        "--rounds", type=_positive, default=ROUNDS, help="rounds of each contest (default: %(default)s)"
    )
    parser.add_argument(
        "--peer-rounds", type=_positive, default=1, help="rounds of peers at 10,000 (default: %(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, one round: only proves that it runs"
    )
    default = Path.home() / ".cache" / "supportbench-peers"
    parser.add_argument(
        "--peers", type=Path, default=default, help="where peers are installed (default: %(default)s)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help=f"folder for RESULTS.md, results.json and growth.svg (default: {HERE}; with --quick: {QUICK})",
    )
    parser.add_argument(
        "--report-only", action="store_true", help="measure nothing; write the page from results.json"
    )
    given = parser.parse_args(arguments)
    out: Path = given.out or (QUICK if given.quick else HERE)
    trial = given.quick and not given.report_only
    store = {**empty(), "trial": True} if trial else load(out / STORE.name)
    measured: tuple[str, ...] = () if given.report_only else tuple(given.only or GROUPS)
    out.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    try:
        with tempfile.TemporaryDirectory(prefix="supportbench-benchmarks-") as name:
            rounds = 1 if given.quick else given.rounds
            setup = Setup(Path(name), rounds, given.quick, given.peers, given.peer_rounds, store)
            failed = [group for group in measured if not _measured(group, setup, out)]
    except KeyboardInterrupt:
        say("interrupted; the groups that were measured are stored")
        failed = ["interrupted"]
    if given.report_only or "growth" in measured:
        _draw(store, out)
    _write(store, out)
    return int(bool(failed))


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        msg = f"{text!r} is no number of rounds; give one of at least 1"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _measured(group: str, setup: Setup, out: Path) -> bool:
    """Measure a group and store its rows; tell whether that went well, since a broken one does not stop the others."""
    say(f"== {group}")
    begin = time.perf_counter()
    try:
        rows = GROUPS[group](setup)
    except Exception as error:  # noqa: BLE001 - whatever it is, the next group is measured
        say(f"{group} could not be measured: {type(error).__name__}: {error}")
        return False
    merge(setup.store, rows, group, time.perf_counter() - begin)
    save(setup.store, out / STORE.name)
    _write(setup.store, out)
    return True


def _draw(store: dict[str, Any], out: Path) -> None:
    """Draw the curves, at the end: what draws makes this process larger, and so the peaks of its children."""
    points = store["curves"].get("points", [])
    if points:
        from benchmarks.curves import drawing  # noqa: PLC0415 - only where there is something to draw

        (out / "growth.svg").write_text(drawing(points), encoding="utf-8")


def _write(store: dict[str, Any], out: Path) -> None:
    (out / "RESULTS.md").write_text(page(store, ORDER), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
