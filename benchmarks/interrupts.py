"""Ctrl-C at random moments: ``python -m benchmarks.interrupts [RUNS [SEED]]`` (50 and 7 unless told otherwise).

Half of the runs ask a Python function that sleeps, sixteen at a time, the others a program of which four run. One run
in four gets SIGINT while it starts or collects, the others at a moment drawn from the time that their episodes take,
end included. Asserted is that the process is gone within two seconds, that no process of the run is left, and that the
results file, where there is one, has whole lines and its closing line. Prints one JSON line a kind; the exit status is
1 where any of it does not hold.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.rows import Finding, Row
from benchmarks.window import command, environment, make

SCENARIOS = 120
SECONDS = 0.1
LONGEST = 2.0
"""Seconds from the signal to the end of the process."""

MARK = "SUPPORTBENCH_INTERRUPTS"
STARTING = 0.25
"""The share of runs that are interrupted before their first episode."""

PROGRAM = f"""\
import json, sys, time

for line in sys.stdin:
    seen = json.loads(line)
    open("first-call", "a").close()
    time.sleep({SECONDS})
    print(json.dumps({{"action": "decline", "message": "No."}}), flush=True)
"""


@dataclass
class Count:
    """What became of the runs of one kind: seconds from signal to end, files by how far they came, and violations."""

    seconds: list[float] = field(default_factory=list)
    without_file: int = 0
    closed: int = 0
    ended_before: int = 0
    wrong: list[str] = field(default_factory=list)


def agents(folder: Path) -> dict[str, tuple[str, int]]:
    """Return for each kind its spec and how many episodes run at a time."""
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    return {
        "python": ("python:slow_agent:reply", 16),
        "command": (f"command:{sys.executable} program.py", 4),
    }


def left(mark: str) -> list[int]:
    """Return the processes of a run that still go on."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


@dataclass(frozen=True)
class End:
    """How one run ended: seconds from the signal, whether it was running then, its results file and its output."""

    mark: str
    seconds: float
    running: bool
    results: Path
    out: str


def interrupt(folder: Path, spec: str, width: int, moment: float, mark: str) -> End:
    """Run, and send SIGINT at a moment: seconds after the first call, or before it where they are negative."""
    results, first = folder / f"{mark}.jsonl", folder / "first-call"
    first.unlink(missing_ok=True)
    process = subprocess.Popen(  # noqa: S603 - our words
        command(spec, width, f"--supportbench-results={results}"),
        cwd=folder,
        env={**environment(), MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while moment >= 0 and not first.exists() and process.poll() is None:
        time.sleep(0.005)
    time.sleep(abs(moment))
    running = process.poll() is None
    process.send_signal(signal.SIGINT)
    begin = time.perf_counter()
    try:
        out, _ = process.communicate(timeout=5 * LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
    return End(mark, time.perf_counter() - begin, running, results, out)


def phases(folder: Path, spec: str, width: int) -> tuple[float, float]:
    """Return how many seconds a run takes before its first call, and from there to its end."""
    first = folder / "first-call"
    first.unlink(missing_ok=True)
    began = time.time()
    subprocess.run(  # noqa: S603 - our words
        command(spec, width), cwd=folder, env=environment(), capture_output=True, check=False
    )
    called = first.stat().st_mtime if first.exists() else began
    return called - began, time.time() - called


def judge(count: Count, end: End) -> None:
    """Note what held and what did not."""
    count.ended_before += not end.running
    count.seconds.append(end.seconds)
    if end.seconds > LONGEST:
        count.wrong.append(f"{end.mark}: {end.seconds:.2f} s")
    if pids := left(end.mark):
        count.wrong.append(f"{end.mark}: processes {pids} are left")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    if not end.results.exists():
        count.without_file += 1
        return
    if problem := checked(end.results):
        count.wrong.append(f"{end.mark}: {problem}; the run said: {end.out[-300:]!r}")
        return
    count.closed += 1


def checked(results: Path) -> str:
    """Return what is wrong with a results file; empty where it has whole lines of JSON and its closing line."""
    text = results.read_text(encoding="utf-8")
    try:
        lines = [json.loads(line) for line in text.splitlines()]
        closed = text.endswith("\n") and lines[-1]["type"] == "summary"
    except (ValueError, IndexError, KeyError, TypeError) as error:
        return f"the results file is not valid ({error})"
    return "" if closed else "no closing line"


def measured(folder: Path, runs: int, seed: int) -> Iterator[tuple[str, Count, float, float]]:
    """Yield for each kind of agent what became of its half of the runs, and how long its start and episodes take."""
    source = random.Random(seed)  # noqa: S311 - moments, no secrets
    make(folder, SCENARIOS, SECONDS)
    for kind, (spec, width) in agents(folder).items():
        starts, takes = phases(folder, spec, width)
        count = Count()
        for number in range(runs // 2):
            early = source.random() < STARTING
            moment = -source.uniform(0, starts) if early else source.uniform(0, takes)
            judge(count, interrupt(folder, spec, width, moment, f"{kind}-{number}"))
        yield kind, count, starts, takes


def rows(place: Path, times: int) -> list[Row]:
    """Return the row of the results page."""
    folder = place / "interrupts"
    folder.mkdir(parents=True)
    found = {kind: count for kind, count, _, _ in measured(folder, times, 7)}
    seconds = tuple(second for count in found.values() for second in count.seconds)
    wrong = [text for count in found.values() for text in count.wrong]
    return [
        Row(
            "interrupts",
            f"Ctrl-C at a random moment, {times} times",
            "results file valid and closed, process gone within 2 s, no child left",
            (
                Finding("slowest end after the signal", "s", (max(seconds),), LONGEST),
                Finding("runs where something did not hold", "", (float(len(wrong)),), 0.0),
                Finding("end after the signal", "s", seconds),
            ),
            rounds=times,
            note="Half of the runs ask a Python function, sixteen at a time, half a program of which four run; one in "
            "four is interrupted before its first episode." + "".join(f" {text[:200]}" for text in wrong[:3]),
            commands={"us": "python -m benchmarks.interrupts"},
        )
    ]


def main(arguments: list[str]) -> int:
    """Run and print one JSON line a kind; return the exit status."""
    runs = int(arguments[0]) if arguments else 50
    seed = int(arguments[1]) if len(arguments) > 1 else 7
    status = 0
    with tempfile.TemporaryDirectory() as name:
        for kind, count, starts, takes in measured(Path(name), runs, seed):
            line = {
                "kind": kind,
                "runs": len(count.seconds),
                "start_s": round(starts, 2),
                "episodes_s": round(takes, 2),
                "median_s": round(sorted(count.seconds)[len(count.seconds) // 2], 2),
                "worst_s": round(max(count.seconds), 2),
                "closed": count.closed,
                "without_file": count.without_file,
                "ended_before": count.ended_before,
                "wrong": count.wrong,
            }
            print(json.dumps(line), flush=True)  # noqa: T201 - a measurement prints
            status |= bool(count.wrong)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
