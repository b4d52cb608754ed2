"""The row of interruptions: Ctrl-C at a random moment, again and again, and what is left behind each time."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import psutil

from benchmarks import window
from benchmarks.child import surroundings
from benchmarks.contest import say
from benchmarks.data import SEED
from benchmarks.projects import CLONE, OURS, forget
from benchmarks.rows import Finding, Row

DELAY: Final = 0.2
WIDTH: Final = 16
SCENARIOS: Final = 400
MOMENTS: Final = (0.1, 5.0)
"""Seconds after the start between which the signal comes; the episodes alone take the upper one."""

_LIMIT: Final = 30.0
"""Seconds after which a run that does not end is killed."""

PROGRAM: Final = """\
import json
import sys
import time

for line in sys.stdin:
    observation = json.loads(line)
    time.sleep(0.2)
    amount = observation["account"]["charges"][-1]["amount"]
    call = {"tool": "issue_refund", "arguments": {"charge_id": "ch_204", "amount": amount, "currency": "USD"}}
    message = "I have refunded " + amount + " USD for the payment of March 12."
    print(json.dumps({"action": "refund", "message": message, "tool_calls": [call]}), flush=True)
"""


def rows(place: Path, times: int) -> list[Row]:
    """Interrupt so many runs, a Python agent and a program in turn, at moments from a fixed seed."""
    project = place / "interrupts"
    project.mkdir(parents=True)
    window.make(project, SCENARIOS, DELAY)
    (project / "program.py").write_text(PROGRAM, encoding="utf-8")
    agents = ("python:slow_agent:reply", f"command:{sys.executable} program.py")
    source = random.Random(SEED)  # noqa: S311 - no secret depends on it
    seconds, broken, left, written = [], 0, 0, 0
    for number in range(times):
        took, whole, lines, children = _one(project, agents[number % 2], source.uniform(*MOMENTS))
        say(f"Ctrl-C {number + 1} of {times}: {took:.2f} s, {lines} lines, {children} children left")
        seconds.append(took)
        broken += not whole
        left += children
        written += lines > 0
    return [
        Row(
            "interrupts",
            f"Ctrl-C at a random moment, {times} times, window of {WIDTH}",
            "results file valid, process gone within 2 s, no child left",
            (
                Finding("slowest end after the signal", "s", (max(seconds),), 2.0),
                Finding("broken results files", "", (float(broken),), 0.0),
                Finding("children left", "", (float(left),), 0.0),
                Finding("end after the signal", "s", tuple(seconds)),
                Finding("runs that had results by then", "", (float(written),)),
            ),
            rounds=times,
            note="The signal goes to the whole group, as from a terminal. In half of the runs the agent is a program.",
            commands={"us": " ".join(_command(agents[0]))},
        )
    ]


def _command(agent: str) -> tuple[str, ...]:
    window_of = f"--supportbench-concurrency={WIDTH}"
    return (
        *OURS,
        "suite",
        f"--supportbench-agent={agent}",
        window_of,
        "--supportbench-results=results.jsonl",
    )


def _one(project: Path, agent: str, moment: float) -> tuple[float, bool, int, int]:
    """Return how long the end took, whether the results file is whole, its lines, and how many children were left."""
    forget(project)
    child = subprocess.Popen(  # noqa: S603 - our own command
        _command(agent),
        cwd=project,
        env=surroundings(**CLONE),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(moment)
    children = psutil.Process(child.pid).children(recursive=True)
    begin = time.perf_counter()
    os.killpg(child.pid, signal.SIGINT)
    try:
        child.wait(_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    took = time.perf_counter() - begin
    alive = [each for each in children if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
    for each in alive:
        each.kill()
    whole, lines = _checked(project / "results.jsonl")
    return took, whole, lines, len(alive)


def _checked(results: Path) -> tuple[bool, int]:
    """Return whether each line of a results file is an object, and how many there are; no file is a whole one."""
    if not results.exists():
        return True, 0
    text = results.read_text(encoding="utf-8")
    lines = text.splitlines()
    try:
        objects = [json.loads(line) for line in lines]
    except ValueError:
        return False, len(lines)
    return all(isinstance(each, dict) for each in objects) and (not text or text.endswith("\n")), len(lines)
