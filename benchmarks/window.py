"""How close a window of episodes comes to the ideal: N scenarios, an agent that takes S seconds, W at a time.

Run ``python -m benchmarks.window [N [S [W]]]``. Prints the wall time of the whole process and of the run phase (from
the first item on) against the ideal N x S / W, and how long ``-x`` goes on after a first failure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def run(folder: Path, agent: str, width: int, *extra: str) -> tuple[float, float]:
    """Run the project and return when it began and how many seconds it took."""
    command = [
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
        f"--supportbench-agent=python:slow_agent:{agent}",
        f"--supportbench-concurrency={width}",
        *extra,
    ]
    # With cached bytecode, as on a machine where things run more than once.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    wall, start = time.time(), time.perf_counter()
    subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)  # noqa: S603 - our words
    return wall, time.perf_counter() - start


def main(arguments: list[str]) -> None:
    """Measure and print one JSON line a measurement."""
    count = int(arguments[0]) if arguments else 1000
    seconds = float(arguments[1]) if len(arguments) > 1 else 0.2
    width = int(arguments[2]) if len(arguments) > 2 else 32  # noqa: PLR2004 - the third argument
    ideal = count * seconds / width
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, count, seconds)
        run(folder, "reply", width, "-k", "W-00000")
        began, whole = run(folder, "reply", width)
        first = float((folder / "first-call").read_text(encoding="utf-8"))
        phase = began + whole - first
        line = {"ideal_s": ideal, "process_s": round(whole, 2), "run_phase_s": round(phase, 2)}
        line |= {"process_share": round(ideal / whole, 3), "run_phase_share": round(ideal / phase, 3)}
        print(json.dumps(line))  # noqa: T201 - a measurement prints
        _, collected = run(folder, "reply", width, "--collect-only")
        began, stopped = run(folder, "fails", width, "-x")
        after = began + stopped - float((folder / "first-failure").read_text(encoding="utf-8"))
        line = {"collect_only_s": round(collected, 2), "process_end_after_first_failure_s": round(after, 2)}
        print(json.dumps(line))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
