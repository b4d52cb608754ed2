"""The token budget: what counts, when a run stops, and what it says; and the usage of each agent."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from desk import bind, call, refund, turn
from fake_ollama import FakeOllama
from projects import agent, last_run, project

from pytest_supportbench.budget import BudgetSpent, TokenBudget
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.protocol import Reply, Usage
from pytest_supportbench.records import Episode, Limits
from pytest_supportbench.reporting.terminal import lines
from pytest_supportbench.summary import summarise
from pytest_supportbench.usage import totals, usage_json

PRICED = """
from pytest_supportbench import Reply, Usage


def priced(observation):
    usage = Usage(prompt_tokens=90, completion_tokens=10, cost="0.0125", retries=1)
    return Reply(turn=GOOD, usage=usage)


async def priced_async(observation):
    await asyncio.sleep(0.02)
    return priced(observation)


def silent(observation):
    return GOOD
"""


def budget_file(path: Path, *spent: int | None) -> Path:
    run = '{"type":"run","schema":1,"run":"r1"}\n'
    episodes = [json.dumps({"type": "episode", "usage": {"spent_tokens": tokens}}) for tokens in spent]
    path.write_text(run + "".join(f"{line}\n" for line in episodes).replace(": ", ":"), encoding="utf-8")
    return path


def played(bound: Any, *replies: Any) -> Episode:
    conversation = Conversation(bound, Limits(), "e")
    for reply in replies:
        conversation.take(reply)
    return conversation.finish(seconds=1.0)


def test_the_budget_counts_every_episode_of_the_file(tmp_path):
    """Tokens of all lines count, those that another process adds later too; a run line and unknowns count nothing."""
    path = budget_file(tmp_path / "r.jsonl", 40, None, 2)
    budget = TokenBudget(50, path, "r1")
    budget.admit()
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type":"episode","usage":{"spent_tokens":8}}')
        file.flush()
        assert budget.spent() == 42, "a line is not read before it is whole"
        file.write("\n")
    with pytest.raises(
        BudgetSpent, match=r"--supportbench-max-tokens=50 is used up: 50 tokens were counted when"
    ):
        budget.admit()


def test_an_earlier_run_in_the_same_file_costs_nothing(tmp_path):
    """Before this run wrote its first line, the tokens of an earlier run's file are none of its own."""
    path = budget_file(tmp_path / "r.jsonl", 1_000)
    assert TokenBudget(5, path, "r2").spent() == 0
    assert TokenBudget(5, tmp_path / "none.jsonl", "r2").spent() == 0


def test_without_a_limit_nothing_is_refused(tmp_path):
    """No option, no budget: nothing is read, and the closing line has none."""
    budget = TokenBudget(None, budget_file(tmp_path / "r.jsonl", 10**9), "r1")
    budget.admit()
    assert budget.to_json(()) is None


def test_replayed_replies_are_counted_and_cost_nothing(tmp_path):
    """The tokens of a stored reply stay in the counts and are not spent; where some were asked for, those are."""
    bound, usage = (
        bind(tmp_path),
        Usage(prompt_tokens=5, completion_tokens=2, cost=Decimal("0.10"), retries=2),
    )
    look = turn(None, "", call("list_charges", customer_id="cus_1"))
    done = turn("refund", "I refunded 49.00 USD.", refund())
    stored = usage_json(played(bound, Reply(turn=done, usage=usage, replayed=True)))
    assert (stored["prompt_tokens"], stored["completion_tokens"], stored["spent_tokens"]) == (5, 2, 0)
    both = usage_json(
        played(bound, Reply(turn=look, usage=usage, replayed=True), Reply(turn=done, usage=usage))
    )
    assert (both["prompt_tokens"], both["spent_tokens"], both["cost"], both["retries"]) == (10, 7, "0.20", 4)
    assert usage_json(played(bound, done))["spent_tokens"] is None


def test_money_is_added_exactly():
    """Prices are decimals: ten times ten cents is one dollar."""
    usage = {"prompt_tokens": 1, "completion_tokens": None, "spent_tokens": 1, "cost": "0.10", "retries": 0}
    rows = [{"usage": usage, "seconds": float(number)} for number in range(10)]
    found = totals(rows, rows)
    assert found.to_json() == {
        "episodes_with_tokens": 10,
        "prompt_tokens": 10,
        "completion_tokens": 0,
        "spent_tokens": 10,
        "cost": "1.00",
        "retries": 0,
        "median_seconds": 4.5,
    }


def test_a_run_says_what_it_cost(plain, pytester):
    """The summary and the closing line have tokens, cost, repeated requests and seconds of each agent."""
    project(pytester, range(1, 4), PRICED)
    text = " ".join(plain(agent("priced"), agent("silent")).stdout.str().split())
    assert "usage: 270 prompt and 30 completion tokens, 0.0375 USD, 3 requests repeated," in text
    assert "usage: no tokens reported," in text
    run = last_run(pytester)
    assert run.summary is not None
    usage = run.summary["agents"][0]["usage"]
    assert (usage["prompt_tokens"], usage["spent_tokens"], usage["cost"], usage["retries"]) == (
        270,
        300,
        "0.0375",
        3,
    )
    assert run.summary["budget"] is None
    assert run.episodes[0]["usage"]["cost"] == "0.0125"


def test_a_run_stops_when_its_tokens_are_spent(run, pytester):
    """No further episode starts, what was finished is kept and counted, and the message names option, sum and limit."""
    project(pytester, range(1, 31), PRICED)
    result = run(agent("priced"), "--supportbench-max-tokens=450")
    found = last_run(pytester)
    assert found.summary is not None
    assert 5 <= len(found.episodes) <= 7, "each of two workers may have had one running"
    assert found.summary["stopped_early"] is True
    assert found.summary["budget"]["max_tokens"] == 450
    assert found.summary["budget"]["spent_tokens"] == 100 * len(found.episodes)
    assert found.summary["budget"]["used_up"] is True
    assert {line["verdict"] for line in found.episodes} == {"passed"}
    assert result.ret == 2
    text = result.stdout.str()
    assert re.search(r"--supportbench-max-tokens=450 is used up: [5-7]00 tokens were counted", text)
    assert "STOPPED EARLY" in text
    assert "of 450 tokens spent (--supportbench-max-tokens), so no further episode started" in text


def test_episodes_that_run_ahead_stop_as_well(plain, pytester):
    """A window of eight is not refilled: what was running is finished, kept and still reported."""
    project(pytester, range(1, 61), PRICED)
    plain(agent("priced_async"), "--supportbench-max-tokens=1000")
    found = last_run(pytester)
    assert found.summary is not None
    assert 10 <= len(found.episodes) <= 18
    assert found.summary["episodes"] + len(found.summary["unreported"]) == len(found.episodes)
    assert found.summary["episodes"] >= 10


def test_trials_and_further_attempts_count(plain, pytester):
    """Each trial, and each rerun of a failed item, spends of the same budget."""
    project(
        pytester,
        [1],
        PRICED + "\n\ndef wrong(observation):\n    return Reply(turn=BAD, usage=Usage(prompt_tokens=100))\n",
    )
    plain(agent("priced"), "--supportbench-trials=9", "--supportbench-max-tokens=400")
    assert len(last_run(pytester).episodes) == 4
    plain(agent("wrong"), "--reruns=5", "--supportbench-max-tokens=300")
    assert [line["attempt"] for line in last_run(pytester).episodes] == [1, 2, 3]


def test_a_budget_that_lasts_stops_nothing(plain, pytester):
    """A run that ends within its budget, even with its last token, is complete."""
    project(pytester, range(1, 4), PRICED)
    result = plain(agent("priced"), "--supportbench-max-tokens=300")
    assert result.ret == 0
    found = last_run(pytester)
    assert found.summary is not None
    assert found.summary["stopped_early"] is False
    assert len(found.episodes) == 3


def test_agents_that_report_no_tokens_are_named(plain, pytester):
    """A budget that cannot be kept says so, and for whom."""
    project(pytester, [1, 2], PRICED)
    result = plain(agent("silent"), agent("priced"), "--supportbench-max-tokens=1000")
    assert result.ret == 0
    text = " ".join(result.stdout.str().split())
    assert "token budget: 200 of 1,000 tokens spent (--supportbench-max-tokens)" in text
    assert "not counted, since they report no tokens: python-desk_agents-silent python-desk_agents-" in text


def test_a_test_of_the_users_own_does_not_start_an_episode_either(plain, pytester):
    """supportbench.run() is skipped once the budget is used up, and the run stops."""
    project(pytester, [1, 2], PRICED)
    pytester.makepyfile(
        test_own="""
        import desk_agents

        def test_one(supportbench):
            supportbench.run("desk/case001.scenario.yaml", agent=desk_agents.priced)

        def test_two(supportbench):
            supportbench.run("desk/case002.scenario.yaml", agent=desk_agents.priced)

        def test_three():
            raise AssertionError
        """
    )
    result = plain("test_own.py", "--supportbench-max-tokens=100")
    result.assert_outcomes(passed=1, skipped=1)


def test_a_real_server_reports_its_tokens(plain, pytester):
    """Tokens that a server reports stop the run."""
    project(pytester, range(1, 9))
    reply = json.dumps({"action": "answer", "message": "We are open from nine to five.", "tool_calls": []})
    with FakeOllama(lambda _body: reply) as server:
        plain(f"--supportbench-agent=ollama:m?host={server.host}", "--supportbench-max-tokens=1500")
        asked = len(server.requests)
    found = last_run(pytester)
    assert 1 < asked < 8
    assert asked == len(found.episodes)
    assert found.summary is not None
    assert found.summary["budget"]["spent_tokens"] >= 1500


def test_tokens_of_some_episodes_only_are_said_to_be_so():
    """Where not every episode reported tokens, the line says how many did."""
    from test_summary import made  # noqa: PLC0415 - one test needs it

    row = made(1)
    counted = {**row["usage"], "prompt_tokens": 7, "completion_tokens": 1, "spent_tokens": 0}
    text = "\n".join(lines(summarise("a", [{**row, "usage": counted}, made(2)])))
    assert "usage: 7 prompt and 1 completion tokens, reported by 1 of 2 episodes," in text
    assert "0 of them spent now, the others replayed" in " ".join(text.split())
