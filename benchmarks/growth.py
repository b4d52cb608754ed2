"""How time, memory and the results file grow with the episodes, and what reading the largest file back takes."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.child import Run, run, surroundings
from benchmarks.contest import Contestant, attempt, say
from benchmarks.projects import CLONE, Projects, made
from benchmarks.rows import Finding, Row

SCENARIOS: Final = (10, 100, 1_000, 10_000)
TRIALS: Final = (4, 10)
"""The last points have all scenarios of the one before them, so often."""

_COMPARE: Final = "import sys; from pytest_supportbench.cli import main; sys.exit(main(sys.argv[1:]))"


def measure(place: Path, scenarios: tuple[int, ...] = SCENARIOS) -> tuple[list[Row], list[dict[str, Any]]]:
    """Measure each number of episodes once; return the rows and the curve's points. Raises `RuntimeError`."""
    made_of = [(count, 1) for count in scenarios] + [(scenarios[-1], trials) for trials in TRIALS]
    points = [_point(made(place, count), trials) for count, trials in made_of]
    return [_largest(points), _compared(made(place, scenarios[-1]), points[-1])], points


def _largest(points: list[dict[str, Any]]) -> Row:
    """Return what the largest run takes, against bare pytest with as many items and against smaller runs."""
    once, some, most = points[-3:]

    def further(name: str) -> float:
        return float(1000 * (most[name] - once[name]) / (most["episodes"] - once["episodes"]))

    ideal = (most["episodes"] - once["episodes"]) / (some["episodes"] - once["episodes"])
    counts = [f"t {point['episodes']:,}" for point in (once, some, most)]
    return Row(
        "largest",
        f"{most['episodes']:,} episodes in one process",
        f"linear: at most {1.1 * ideal:.1f}; memory at most 1.3 × the YAML floor with as many items",
        (
            Finding(
                f"({counts[2]} − {counts[0]}) / ({counts[1]} − {counts[0]}), {ideal:g} if linear",
                "",
                ((most["seconds"] - once["seconds"]) / (some["seconds"] - once["seconds"]),),
                1.1 * ideal,
            ),
            Finding("peak memory, to the YAML floor", "×", (most["peak_mb"] / most["floor_mb"],), 1.3),
            Finding("peak memory", "MB", (most["peak_mb"],)),
            Finding("of it for a further episode", "kB", (further("peak_mb"),)),
            Finding("YAML floor, for a further item", "kB", (further("floor_mb"),)),
        ),
        note="pytest itself keeps each item and its three reports to the end of a run, for us as for the floor. "
        f"They are {most['scenarios']:,} scenarios with {most['trials']} trials each.",
    )


def _compared(projects: Projects, point: dict[str, Any]) -> Row:
    """Return what reading the largest results file back takes."""
    command = [sys.executable, "-c", _COMPARE, "compare", "results.jsonl", "results.jsonl"]
    compared = run(command, projects.ours, surroundings(**CLONE))
    why = f"exit status {compared.status}: {compared.last_line()}" if compared.status else ""
    return Row(
        "compare",
        f"supportbench compare of {point['episodes']:,} episodes with themselves",
        "under 500 MB",
        (
            Finding("peak memory", "MB", () if why else (compared.peak_mb,), 500.0, why=why),
            Finding("time", "s", () if why else (compared.seconds,), why=why),
            Finding("results file", "MB", (point["file_mb"],)),
        ),
        note=f"They are {point['scenarios']:,} scenarios with {point['trials']} trials each.",
        commands={"compare": "supportbench compare results.jsonl results.jsonl"},
    )


def _point(projects: Projects, trials: int) -> dict[str, Any]:
    options = (f"--supportbench-trials={trials}",) if trials > 1 else ()
    episodes = projects.count * trials
    floor = _done(projects.yaml_floor(trials), f"the YAML floor of {episodes} items")
    # Ours comes second, since what it leaves behind is read after it.
    ours = replace(
        projects.cold(*options),
        proof=f"{episodes} passed",
        after=partial(_size, projects.ours / "results.jsonl"),
    )
    done = _done(ours, f"{episodes} episodes")
    say(f"{episodes} episodes: {done.seconds:.1f} s, {done.peak_mb:.0f} MB, results file {done.extra:.1f} MB")
    figures = {
        "seconds": done.seconds,
        "cpu": done.cpu,
        "peak_mb": done.peak_mb,
        "file_mb": done.extra,
        "floor_seconds": floor.seconds,
        "floor_mb": floor.peak_mb,
    }
    size = {"episodes": episodes, "scenarios": projects.count, "trials": trials}
    return {**size, **{name: round(value, 4) for name, value in figures.items()}}


def _done(contestant: Contestant, what: str) -> Run:
    done = attempt(contestant)
    if not isinstance(done, Run):
        msg = f"{what}: {done}"
        raise RuntimeError(msg)  # noqa: TRY004 - what it says is why the run failed
    return done


def _size(path: Path, _done: Run) -> float:
    return path.stat().st_size / 1e6
