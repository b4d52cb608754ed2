"""Rows of what happens inside an episode: a tool call in the environment, and a score."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.child import ROOT, run, surroundings
from benchmarks.projects import CLONE, made
from benchmarks.rows import Finding, Row

SCENARIOS = 500


def rows(place: Path, rounds: int) -> list[Row]:
    """Measure in so many fresh processes. Raises `RuntimeError` if one fails."""
    command = [sys.executable, "-m", "benchmarks.core", str(made(place, SCENARIOS).ours / "suite")]
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        done = run(command, ROOT, surroundings(**CLONE))
        if done.status:
            raise RuntimeError(done.last_line())
        for name, value in json.loads(done.last_line()).items():
            found.setdefault(name, []).append(value)

    def finding(
        what: str, name: str, unit: str, limit: float | None = None, *, least: bool = False
    ) -> Finding:
        return Finding(what, unit, tuple(found[name]), limit, least)

    shown = {"us": f"python -m benchmarks.core SUITE, with {SCENARIOS} scenarios"}
    return [
        Row(
            "tool-call",
            "one tool call in the environment, validation included",
            "at least 50,000 a second",
            (
                finding("a read and a write in turn", "both calls", "a second", 50_000, least=True),
                finding("list_charges or list_subscriptions", "read calls", "a second"),
                finding("add_note", "write calls", "a second"),
            ),
            rounds=rounds,
            commands=shown,
        ),
        Row(
            "scoring",
            "scoring one episode",
            "under 0.3 ms",
            (
                finding("mean over the measured scenarios", "bench mean", "ms", 0.3),
                finding("mean over TinyBench-50", "tinybench-50 mean", "ms", 0.3),
                finding("95th percentile, measured scenarios", "bench 95th percentile", "ms"),
                finding("95th percentile, TinyBench-50", "tinybench-50 95th percentile", "ms"),
            ),
            note="References and counterexamples, each once in a fresh process.",
            rounds=rounds,
            commands=shown,
        ),
    ]
