"""pydantic-evals: a dataset with one evaluator of five booleans, and its table printed."""

import asyncio
import json
import os
from dataclasses import dataclass

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext
from toy import agent, checks

DELAY = float(os.environ.get("BENCH_DELAY", "0"))
WIDTH = int(os.environ["BENCH_WIDTH"]) if "BENCH_WIDTH" in os.environ else None


@dataclass
class Checks(Evaluator):
    """Five booleans."""

    def evaluate(self, ctx: EvaluatorContext) -> dict[str, bool]:
        """Return each by name."""
        names = ("action", "message", "tools", "escalation", "calls")
        return dict(zip(names, checks(ctx.inputs, ctx.output), strict=True))


async def task(record: dict) -> dict:
    """Call the agent."""
    if DELAY:
        await asyncio.sleep(DELAY)
    return agent(record)


def main() -> None:
    """Evaluate all cases."""
    with open("cases.jsonl", encoding="utf-8") as lines:  # noqa: PTH123 - as a user writes it
        records = [json.loads(line) for line in lines]
    cases = [Case(name=record["id"], inputs=record) for record in records]
    dataset = Dataset(name="bench", cases=cases, evaluators=[Checks()])
    report = dataset.evaluate_sync(task, max_concurrency=WIDTH)
    report.print()
    passed = sum(all(found.value for found in case.assertions.values()) for case in report.cases)
    print(f"{passed} passed")  # noqa: T201 - proves that it ran


if __name__ == "__main__":
    main()
