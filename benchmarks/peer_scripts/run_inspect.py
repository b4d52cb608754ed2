"""inspect-ai: a task whose solver calls the agent, and a scorer of five booleans; its log is written, as always."""

import asyncio
import json
import os

from inspect_ai import Task, eval  # noqa: A004 - its own name
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Target, accuracy, scorer
from inspect_ai.solver import Generate, TaskState, solver
from toy import agent, checks

DELAY = float(os.environ.get("BENCH_DELAY", "0"))
RECORDS: dict[str, dict] = {}
"""By id, outside the samples, so that the log is no longer than it must be."""


@solver
def call_agent():  # noqa: ANN201 - typed by what it returns
    """Call the agent."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - its protocol
        if DELAY:
            await asyncio.sleep(DELAY)
        reply = agent(RECORDS[state.sample_id])
        state.store.set("reply", reply)
        state.output.completion = reply["message"]
        return state

    return solve


@scorer(metrics=[accuracy()])
def five():  # noqa: ANN201 - typed by what it returns
    """Check five booleans."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - its protocol
        return Score(value=int(all(checks(RECORDS[state.sample_id], state.store.get("reply")))))

    return score


def main() -> None:
    """Evaluate all cases."""
    with open("cases.jsonl", encoding="utf-8") as lines:  # noqa: PTH123 - as a user writes it
        RECORDS.update((record["id"], record) for record in map(json.loads, lines))
    samples = [
        Sample(
            id=record["id"],
            input=record["customer"]["message"],
            target=record["reference"][-1]["message"],
        )
        for record in RECORDS.values()
    ]
    task = Task(dataset=MemoryDataset(samples), solver=call_agent(), scorer=five())
    width = os.environ.get("BENCH_WIDTH")
    settings = {"max_samples": int(width)} if width else {}
    log = eval(task, model="mockllm/model", log_dir="logs", **settings)[0]
    right = log.results.scores[0].metrics["accuracy"].value * len(samples)
    print(f"{round(right)} passed")  # noqa: T201 - proves that it ran


if __name__ == "__main__":
    main()
