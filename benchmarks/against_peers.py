"""Rows against the peers: the whole process at 1,000 and at 10,000 cases, each with the very same toy work.

We score in full and write a results file; they check five booleans. The network is away, and telemetry is as their
documentation turns it off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.contest import Contestant, Heats, contest, ratios
from benchmarks.peers import PEERS, able, contestant
from benchmarks.projects import made
from benchmarks.rows import Finding, Row, samples

JUDGED: Final = 1_000
"""The size that has targets; at a larger one the ratios are only told."""

_NOTE: Final = (
    "The peers load a record, call a Python function and check five booleans; ours scores every dimension and writes "
    "a results file. No network. deepeval's telemetry is off by DEEPEVAL_TELEMETRY_OPT_OUT=1, and evaluate() keeps no "
    "cache on disk, which would write the whole run again after each case. All else is as it comes."
)


def rows(place: Path, folder: Path, count: int, rounds: int) -> list[Row]:
    """Measure ``count`` cases in so many rounds; ``folder`` has the peers' environments."""
    found = {peer.name: (version, why) for peer, version, why in able(folder)}
    small = made(place, 10)
    contest(_all(place, folder, small.count, found), 1)  # bytecode is written here, once
    return [_row(contest(_all(place, folder, count, found), rounds), count, rounds, found)]


def _all(place: Path, folder: Path, count: int, found: dict[str, tuple[str, str]]) -> list[Contestant]:
    projects = made(place, count)
    peers = [
        contestant(peer, folder, projects.root / "peers", projects.cases, count)
        for peer in PEERS
        if not found[peer.name][1]
    ]
    return [projects.cold(), *peers]


def _row(heats: Heats, count: int, rounds: int, found: dict[str, tuple[str, str]]) -> Row:
    findings = []
    ours = heats.seconds("ours")
    for peer in PEERS:
        version, missing = found[peer.name]
        why = missing or heats.failures.get(peer.name) or heats.failures.get("ours", "")
        values = () if why else tuple(ratios(ours, heats.seconds(peer.name)))
        limit = peer.limit if count <= JUDGED else None
        findings.append(Finding(f"to {peer.name} {version}".strip(), "×", values, limit, why=why))
    told = [Finding(name, "s", tuple(heats.seconds(name))) for name in heats.runs]
    limits = "at most " + ", ".join(f"{peer.limit} × {peer.name}" for peer in PEERS)
    return Row(
        f"peers-{count}",
        f"peers at {count:,}, whole process",
        limits if count <= JUDGED else "none at this size",
        (*findings, *told),
        rounds,
        _NOTE,
        commands=heats.commands,
        samples=samples(heats),
    )
