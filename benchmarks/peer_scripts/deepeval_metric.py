"""deepeval: a metric of five booleans, without a model. The agent is called in it, so that it may be concurrent."""

import asyncio
import json
import os

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from toy import agent, checks

DELAY = float(os.environ.get("BENCH_DELAY", "0"))
RECORDS: dict[str, dict] = {}


class Checks(BaseMetric):
    """Five booleans about the reply to a test case's record."""

    threshold = 1.0

    def measure(self, test_case: LLMTestCase, *_args: object, **_kwargs: object) -> float:
        """Call the agent and check."""
        record = RECORDS[test_case.name]
        self.score = float(all(checks(record, agent(record))))
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_args: object, **_kwargs: object) -> float:
        """Do likewise, with others at the same time."""
        if DELAY:
            await asyncio.sleep(DELAY)
        return self.measure(test_case)

    def is_successful(self) -> bool:
        """Tell whether all five hold."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        """The name in its tables."""
        return "Checks"


def cases() -> list[LLMTestCase]:
    """Return the test cases; records stay outside, since the whole run is written again after each case."""
    with open("cases.jsonl", encoding="utf-8") as lines:  # noqa: PTH123 - as a user writes it
        RECORDS.update((record["id"], record) for record in map(json.loads, lines))
    return [
        LLMTestCase(
            name=record["id"],
            input=record["customer"]["message"],
            actual_output=record["reference"][-1]["message"],
        )
        for record in RECORDS.values()
    ]
