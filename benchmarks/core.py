"""Tool calls and scores in one process: ``python -m benchmarks.core SUITE`` prints seconds as one JSON object.

Each run is a fresh process, and times each trace once: a cache of texts that a second pass over the same ones would
find warm cannot help. What warms the code up is another part of the suite.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.child import ROOT
from pytest_supportbench.conversation import make_environment
from pytest_supportbench.episode import replay
from pytest_supportbench.loading import BoundScenario, Loader
from pytest_supportbench.protocol import ToolCall
from pytest_supportbench.scoring import score_episode

WARM: Final = 100
CALLS_EACH: Final = 20
"""Calls in one environment, as many as a long episode has."""


def calls_a_second(scenarios: Sequence[BoundScenario], kinds: str) -> float:
    """Return how many calls an environment executes in a second: ``read``, ``write``, or ``both`` in turn."""
    spent, count = 0.0, 0
    for bound in scenarios:
        environment = make_environment(bound)
        customer = bound.scenario.customer.subject
        table = "charges" if bound.state.tables.get("charges") else "subscriptions"
        read = ToolCall(tool=f"list_{table}", arguments={"customer_id": customer})
        write = ToolCall(tool="add_note", arguments={"customer_id": customer, "text": "Looked at the case."})
        calls = {"read": [read], "write": [write], "both": [read, write]}[kinds] * CALLS_EACH
        begin = perf_counter()
        for call in calls[:CALLS_EACH]:
            environment.call(call, 1)
        spent += perf_counter() - begin
        count += CALLS_EACH
        refused = [record for record in environment.calls if record.status != "ok"]
        if refused:
            msg = f"{refused[0].tool} was refused: {refused[0]}"
            raise RuntimeError(msg)
    return count / spent


def milliseconds(scenarios: Iterable[BoundScenario]) -> list[float]:
    """Return how long the score of each reference and counterexample takes."""
    found = []
    for bound in scenarios:
        traces = [bound.scenario.reference, *(example.turns for example in bound.scenario.counterexamples)]
        for turns in traces:
            episode = replay(bound, turns)
            begin = perf_counter()
            score_episode(bound, episode)
            found.append(1e3 * (perf_counter() - begin))
    return found


def main(suite: Path) -> dict[str, float]:
    """Measure everything once."""
    load = Loader().load
    files = sorted(suite.rglob("*.scenario.yaml"))
    scenarios = [load(path) for path in files]
    warm, measured = scenarios[:WARM], scenarios[WARM:]
    calls_a_second(warm, "both")
    found = {f"{kinds} calls": calls_a_second(measured, kinds) for kinds in ("both", "read", "write")}
    milliseconds(warm)
    tiny = [load(path) for path in sorted((ROOT / "scenarios").rglob("*.scenario.yaml"))]
    for name, times in (("bench", milliseconds(measured)), ("tinybench-50", milliseconds(tiny))):
        found[f"{name} mean"] = sum(times) / len(times)
        found[f"{name} 95th percentile"] = sorted(times)[int(0.95 * len(times))]
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))  # noqa: T201 - a program's output
