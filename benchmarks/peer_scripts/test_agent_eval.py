"""pytest-agent-eval by its Python API over JSONL, which is faster than a YAML file a case in its pure-Python loader."""

import asyncio
import json

import pytest
from pytest_agent_eval.evaluators import EvalResult
from pytest_agent_eval.models import Expect, Turn
from toy import agent, checks

with open("cases.jsonl", encoding="utf-8") as lines:  # noqa: PTH123 - as a user writes it
    CASES = [json.loads(line) for line in lines]
LOOP = asyncio.new_event_loop()


class Checks:
    """Five booleans about the reply to a record."""

    def __init__(self, record):  # noqa: ANN001, ANN204
        self.record = record

    async def evaluate(self, ctx):  # noqa: ANN001, ANN201, ARG002, D102
        return EvalResult(passed=all(checks(self.record, agent(self.record))))


@pytest.mark.agent_eval(threshold=1.0, runs=1)
@pytest.mark.parametrize("record", CASES, ids=[record["id"] for record in CASES])
def test_case(record, agent_eval):  # noqa: ANN001, ANN201, D103
    async def asked(history):  # noqa: ANN001, ANN202, ARG001
        reply = agent(record)
        return reply["message"], [call["tool"] for call in reply["calls"]]

    turn = Turn(user=record["customer"]["message"], expect=Expect(evaluators=[Checks(record)]))
    LOOP.run_until_complete(agent_eval.run(asked, [turn])).assert_threshold()
