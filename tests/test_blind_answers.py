"""Answers of agents that saw only what an agent sees; each did the right thing, so none of them may fail.

How they came about is told in scenarios/tinybench-50/REVIEW.md.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_tinybench import IDS, failed, suite

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.records import Limits
from pytest_supportbench.scoring import score_episode

FILE = Path(__file__).parent / "data" / "blind_answers.jsonl"
ANSWERS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()[1:]]


def test_every_scenario_was_solved_in_each_round() -> None:
    """Three rounds, each of them over all fifty."""
    assert Counter(answer["scenario"] for answer in ANSWERS) == dict.fromkeys(IDS, 3)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: f"{answer['scenario']}-{answer['round']}")
def test_a_right_answer_passes_in_its_own_words(answer: dict[str, Any]) -> None:
    """Another route, further reads, a note, other words: the verdict is a strict pass without a violation."""
    bound = suite()[answer["scenario"]]
    conversation = Conversation(bound, Limits(max_turns=8), "blind")
    for turn in answer["turns"]:
        conversation.take(turn)
    result = score_episode(bound, conversation.finish())
    assert failed(result) == []
    assert not result.violations
