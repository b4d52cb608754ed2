"""How time, memory and the results file grow with the episodes, and what reading the largest file back takes."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.child import Run, run, surroundings
from benchmarks.contest import attempt, say
from benchmarks.projects import CLONE, Projects, made
from benchmarks.rows import Finding, Row

SCENARIOS: Final = (10, 100, 1_000, 10_000)
TRIALS: Final = 10
"""The last point has all scenarios of the one before it, so often."""

_COMPARE: Final = "import sys; from pytest_supportbench.cli import main; sys.exit(main(sys.argv[1:]))"


def measure(place: Path, scenarios: tuple[int, ...] = SCENARIOS) -> tuple[list[Row], list[dict[str, Any]]]:
    """Measure each number of episodes once; return the row and the curve's points. Raises `RuntimeError`."""
    made_of = [(count, 1) for count in scenarios] + [(scenarios[-1], TRIALS)]
    points = [_point(made(place, count), trials) for count, trials in made_of]
    folder = made(place, scenarios[-1]).ours
    episodes = points[-1]["episodes"]
    command = [sys.executable, "-c", _COMPARE, "compare", "results.jsonl", "results.jsonl"]
    compared = run(command, folder, surroundings(**CLONE))
    why = f"exit status {compared.status}: {compared.last_line()}" if compared.status else ""
    row = Row(
        "compare",
        f"supportbench compare of {episodes:,} episodes with themselves",
        "under 500 MB",
        (
            Finding("peak memory", "MB", () if why else (compared.peak_mb,), 500.0, why=why),
            Finding("time", "s", () if why else (compared.seconds,), why=why),
            Finding("results file", "MB", (points[-1]["file_mb"],)),
        ),
        note=f"They are {scenarios[-1]:,} scenarios with {TRIALS} trials each.",
        commands={"compare": "supportbench compare results.jsonl results.jsonl"},
    )
    return [row], points


def _point(projects: Projects, trials: int) -> dict[str, Any]:
    options = (f"--supportbench-trials={trials}",) if trials > 1 else ()
    episodes = projects.count * trials
    contestant = projects.cold(*options)
    entrant = type(contestant)(
        f"{episodes} episodes",
        contestant.command,
        contestant.folder,
        "passed",
        contestant.environment,
        contestant.before,
        partial(_size, projects.ours / "results.jsonl"),
    )
    done = attempt(entrant)
    if not isinstance(done, Run):
        msg = f"{episodes} episodes: {done}"
        raise RuntimeError(msg)  # noqa: TRY004 - what it says is why the run failed
    say(f"{episodes} episodes: {done.seconds:.1f} s, {done.peak_mb:.0f} MB, results file {done.extra:.1f} MB")
    figures = {"seconds": done.seconds, "cpu": done.cpu, "peak_mb": done.peak_mb, "file_mb": done.extra}
    size = {"episodes": episodes, "scenarios": projects.count, "trials": trials}
    return {**size, **{name: round(value, 4) for name, value in figures.items()}}


def _size(path: Path, _done: Run) -> float:
    return path.stat().st_size / 1e6
