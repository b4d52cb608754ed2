"""How close a window of episodes comes to the ideal: N scenarios, an agent that takes S seconds, W at a time.

Run ``python -m benchmarks.window [N [S [W...]]]`` (400, 0.2 s, 16 and 64 unless told otherwise). Prints for each W the
wall time of the whole process and of the run phase (from the first call on) against the ideal N x S / W, CPU time and
peak memory; and how much longer than with one at a time ``-x`` and Ctrl-C take, the best of three each.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

REPEATS = 3

SUITE = """\
name: window
version: "1.0"
policies:
  - {id: duplicates, text: "A payment that was taken twice for one order is refunded once, in full."}
"""

SCENARIO = """\
id: W-%(number)05d
title: A payment taken twice, case %(number)d
category: billing
tags: [generated]
failure_mode: {code: refund-wrong-charge, description: Refunds the payment for the other order.}
as_of: 2026-03-14T10:30:00-05:00
customer:
  subject: cus_1
  message: I see two payments of %(amount)s on my statement for a single order, number %(number)d.
state:
  customers:
    cus_1: {name: Ann Example, email: ann@example.com}
    cus_2: {name: Bob Sample, email: bob@example.com}
  charges:
    ch_101: {customer_id: cus_1, amount: "98.00", currency: USD, charged_at: 2026-03-10T10:00:00-05:00}
    ch_203: {customer_id: cus_1, amount: "%(amount)s", currency: USD, charged_at: 2026-03-11T10:00:00-05:00}
    ch_204: {customer_id: cus_1, amount: "%(amount)s", currency: USD, charged_at: 2026-03-12T10:00:00-05:00}
visible: [customer, charges]
policies: [duplicates]
tools: [list_charges, get_refund_status, issue_refund, apply_credit, add_note, escalate_to_human]
expected:
  actions: [refund]
  escalation: must_not
  calls:
    - id: refund
      tool: issue_refund
      args: {charge_id: ch_204, amount: "%(amount)s", currency: USD}
      obligation: refund-ch_204
  also_allowed: [add_note]
  state: {charges.ch_204.status: refunded}
  must_state:
    - {fact: amount, value: {money: "%(amount)s USD"}}
  never:
    - {tool: issue_refund, args: {charge_id: ch_101}, code: unauthorised_write}
  at_most: {issue_refund: 2}
  explanation:
    - {concept: which, any_of: ["March 12", "ch_204"]}
  because: [duplicates]
reference:
  - action: refund
    message: I have refunded %(amount)s USD for the payment of March 12.
    tool_calls:
      - {tool: issue_refund, arguments: {charge_id: ch_204, amount: "%(amount)s", currency: USD}}
counterexamples:
  - name: the other payment
    turns:
      - action: refund
        message: I have refunded 98.00 USD.
        tool_calls:
          - {tool: issue_refund, arguments: {charge_id: ch_101, amount: "98.00", currency: USD}}
    fails: [resolution, policy, tool_use, escalation]
    violations: [unauthorised_write]
"""

AGENT = """\
import time

STARTED = []


def reply(observation):
    if not STARTED:
        STARTED.append(time.time())
        open("first-call", "w").write(str(STARTED[0]))
    time.sleep(%(seconds)s)
    amount = observation.account["charges"][-1]["amount"]
    call = {"tool": "issue_refund", "arguments": {"charge_id": "ch_204", "amount": amount, "currency": "USD"}}
    message = "I have refunded " + amount + " USD for the payment of March 12."
    return {"action": "refund", "message": message, "tool_calls": [call]}


def fails(observation):
    time.sleep(%(seconds)s)
    if not STARTED:
        STARTED.append(time.time())
        open("first-failure", "w").write(str(STARTED[0]))
    return {"action": "decline", "message": "No."}
"""


def make(folder: Path, count: int, seconds: float) -> None:
    """Write a project of ``count`` scenario files and an agent that takes ``seconds``."""
    suite = folder / "suite"
    suite.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "slow_agent.py").write_text(AGENT % {"seconds": seconds}, encoding="utf-8")
    (suite / "suite.yaml").write_text(SUITE, encoding="utf-8")
    for number in range(count):
        text = SCENARIO % {"number": number, "amount": f"{20 + number % 70}.{number % 100:02}"}
        (suite / f"w{number:05}.scenario.yaml").write_text(text, encoding="utf-8")


def command(agent: str, width: int, *extra: str) -> list[str]:
    """Return the command that runs the project's suite with an agent, so many episodes at a time."""
    return [
        sys.executable,
        "-m",
        "pytest",
        "suite",
        "-q",
        "-p",
        "no:cacheprovider",
        # Other installed plugins (hypothesis imports itself for its report) cost time that is not ours.
        "--disable-plugin-autoload",
        "-p",
        "pytest_supportbench.plugin",
        f"--supportbench-agent={agent}",
        f"--supportbench-concurrency={width}",
        *extra,
    ]


def environment() -> dict[str, str]:
    """Return the environment with cached bytecode, as on a machine where things run more than once."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(folder: Path, agent: str, width: int, *extra: str) -> tuple[float, float]:
    """Run the project and return when it began and how many seconds it took."""
    words = command(f"python:slow_agent:{agent}", width, *extra)
    wall, start = time.time(), time.perf_counter()
    subprocess.run(words, cwd=folder, capture_output=True, check=False, env=environment())  # noqa: S603 - our words
    return wall, time.perf_counter() - start


def noted(folder: Path, name: str) -> float:
    """Return the moment that the agent wrote into a file."""
    return float((folder / name).read_text(encoding="utf-8"))


def measure(folder: Path, count: int, seconds: float, width: int) -> dict[str, float]:
    """Run once and return seconds against the ideal, of the process and from the first call on, and its peak memory."""
    ideal = count * seconds / width
    words = command("python:slow_agent:reply", width)
    began, start = time.time(), time.perf_counter()
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, env=environment())  # noqa: S603 - our words
    _, _, used = os.wait4(process.pid, 0)
    whole = time.perf_counter() - start
    process.returncode = 0  # it was waited for here, so that its use is known
    phase = began + whole - noted(folder, "first-call")
    return {
        "window": width,
        "ideal_s": ideal,
        "process_s": round(whole, 2),
        "run_phase_s": round(phase, 2),
        "process_ratio": round(whole / ideal, 3),
        "run_phase_ratio": round(phase / ideal, 3),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss / 1024, 1),
    }


def after_failure(folder: Path, width: int) -> float:
    """Return the seconds from the first failing answer to the end of a run with ``-x``."""
    began, whole = run(folder, "fails", width, "-x")
    return began + whole - noted(folder, "first-failure")


def after_interrupt(folder: Path, width: int) -> float:
    """Return the seconds from Ctrl-C, half a second after the first call, to the end of the run."""
    (folder / "first-call").unlink(missing_ok=True)
    words = command("python:slow_agent:reply", width)
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, env=environment())  # noqa: S603 - our words
    while not (folder / "first-call").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.5)
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    if (status := process.wait()) != pytest.ExitCode.INTERRUPTED:
        raise SystemExit(f"Ctrl-C did not stop the run: its exit status is {status}")
    return time.perf_counter() - begin


def main(arguments: list[str]) -> None:
    """Measure and print one JSON line a measurement."""
    count = int(arguments[0]) if arguments else 400
    seconds = float(arguments[1]) if len(arguments) > 1 else 0.2
    widths = [int(width) for width in arguments[2:]] or [16, 64]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, count, seconds)
        run(folder, "reply", 1, "-k", "W-00000")
        for width in widths:
            print(json.dumps(measure(folder, count, seconds, width)), flush=True)  # noqa: T201 - a measurement prints
        _, collected = run(folder, "reply", 1, "--collect-only")
        print(json.dumps({"collect_only_s": round(collected, 2)}))  # noqa: T201
        for what, once in (("x", after_failure), ("ctrl_c", after_interrupt)):
            serial = min(once(folder, 1) for _ in range(REPEATS))
            for width in widths:
                ahead = min(once(folder, width) for _ in range(REPEATS))
                line = {"window": width, f"{what}_serial_s": round(serial, 2), f"{what}_s": round(ahead, 2)}
                print(json.dumps(line | {f"{what}_extra_s": round(ahead - serial, 2)}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
