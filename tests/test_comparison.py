"""Two agents in one run: the paired difference over what both have scored, and the table side by side."""

from __future__ import annotations

from typing import Any

import pytest
from projects import agent, last_run, project, summary_of
from test_summary import made

from pytest_supportbench.comparison import Paired, paired
from pytest_supportbench.reporting.side_by_side import compared, difference, side_by_side
from pytest_supportbench.summary import AgentSummary, Row, summarise


def rows(name: str, verdicts: str, *, trials: int = 1, suite: str = "desk 1.0") -> list[Row]:
    """Return rows of one agent: ``p``, ``f`` or ``e`` for each trial of each scenario, ``-`` for one never run."""
    words = {"p": "passed", "f": "failed", "e": "error"}
    return [
        made(index // trials + 1, words[letter], agent=name, trial=index % trials + 1, suite=suite)
        for index, letter in enumerate(verdicts.replace(" ", ""))
        if letter != "-"
    ]


def pair(first: str, second: str, **options: Any) -> Paired:
    (found,) = paired({"a": rows("a", first, **options), "b": rows("b", second, **options)})
    return found


def summaries(*names: str) -> list[AgentSummary]:
    return [summarise(name, rows(name, "ppf")) for name in names]


def test_one_agent_is_compared_with_nobody():
    """With one agent there is no comparison, and nothing is printed of it."""
    assert paired({"a": rows("a", "pf")}) == ()
    assert list(compared(summaries("a"), ())) == []


def test_each_scenario_is_fixed_broken_or_unchanged():
    """With one trial a scenario goes from failed to passed, from passed to failed, or stays as it was."""
    found = pair("ppfff", "pfpff")
    assert (found.fixed, found.broken) == (("S-3",), ("S-2",))
    assert (found.both_pass, found.both_fail, found.both_mixed) == (1, 2, 0)
    assert found.difference == 0
    assert pair("ff", "pf").difference == 0.5


def test_errors_and_what_was_not_run_are_left_out_and_counted():
    """A scenario that one of the two has not scored is in no rate, and is counted by why."""
    found = pair("pep-f", "ppep-")
    assert found.scenarios == 1
    assert (found.rate, found.baseline_rate) == (1.0, 1.0)
    assert (found.not_scored, found.not_run) == (2, 2)
    text = "\n".join(difference(found))
    assert "left out: 2 scenarios, since one of the two has infrastructure errors only" in text
    assert "left out: 2 scenarios, since one of the two did not run" in text


def test_trials_count_as_the_share_that_passed():
    """With trials each scenario counts once, by its pass rate, however many of its trials were scored."""
    found = pair("ppff pfpf eeee ppfe", "pppf fpfp pppp ppff", trials=4)
    assert (found.fixed, found.broken, found.both_mixed) == (("S-1",), ("S-4",), 1)
    assert (found.not_scored, found.errors) == (1, 1)
    assert found.baseline_rate == pytest.approx((1 / 2 + 1 / 2 + 2 / 3) / 3)
    assert found.rate == pytest.approx((3 / 4 + 1 / 2 + 1 / 2) / 3)
    text = "\n".join(difference(found))
    assert "mean pass rate of a scenario 58.3 % against 55.6 %: +2.8 points, +0.1 scenarios" in text
    assert "better in 1, worse in 1, both pass 0, both fail 0, equally mixed 1" in text
    assert "infrastructure errors in other trials, left out: 1 episode" in text
    assert "fixed" not in text


def test_equal_shares_of_trials_are_equal():
    """A third of three and two of six are the same rate: no rounding makes a difference of them."""
    first, second = rows("a", "pff", trials=3), rows("b", "ppffff", trials=6)
    (found,) = paired({"a": first, "b": second})
    assert (found.fixed, found.broken, found.both_mixed, found.difference) == ((), (), 1, 0)


def test_equal_means_by_another_route_differ_by_nothing():
    """Rates that sum to the same in another order leave no rounding behind, and no minus sign."""
    found = pair("pff ppp ppp", "ppf ppf ppp", trials=3)
    assert found.difference == 0
    assert "+0.0 points, +0 scenarios" in "\n".join(difference(found))


def test_scenarios_of_two_suites_are_told_apart():
    """The same id in two suites is two scenarios, named with their suites."""
    other = {"suite": "shop 2.0"}
    (found,) = paired(
        {"a": rows("a", "p") + rows("a", "f", **other), "b": rows("b", "p") + rows("b", "p", **other)}
    )
    assert (found.fixed, found.both_pass) == (("shop/S-1",), 1)


def test_agents_that_share_nothing_say_so():
    """Without a scenario that both have scored there is no rate and no division by zero."""
    found = pair("ee", "pp")
    assert "there is no scenario that both have scored" in "\n".join(difference(found))
    assert found.to_json()["difference"] is None


def test_every_further_agent_is_compared_with_the_first():
    """Three agents give two comparisons, both against the first."""
    found = paired({name: rows(name, "p") for name in "abc"})
    assert [(item.agent, item.baseline) for item in found] == [("b", "a"), ("c", "a")]


def test_long_lists_of_scenarios_are_cut_unless_asked_for():
    """Twenty ids of each kind are listed, and all of them with -v."""
    found = pair("f" * 30, "p" * 30)
    short = " ".join(" ".join(difference(found)).split())
    assert "… and 10 more; -v lists them all" in short
    assert short.count("S-") == 20
    assert " ".join(difference(found, verbose=True)).count("S-") == 30


@pytest.mark.parametrize("count", [2, 3, 4, 5, 9])
def test_the_table_fits_80_columns_and_shows_every_agent(count: int):
    """However many agents and however long their names: no line is wider than 80 columns, and no name is cut."""
    names = [f"agent-{number}-{'x' * 70}"[: 78 if number % 2 else 9] for number in range(count)]
    found = list(side_by_side(summaries(*names)))
    assert max(map(len, found)) <= 80
    joined = "".join(line.strip() for line in found)
    assert all(name in joined for name in names)
    tables = [line for line in found if line.split()[:2] == ["side", "by"]]
    assert len(tables) == -(-(count - 1) // 3)


def test_short_names_head_their_columns():
    """Names that fit stand over their columns; numbers stand under them."""
    found = list(side_by_side(summaries("old", "new")))
    assert found[0].split() == ["side", "by", "side", "old", "new"]
    assert found[1].split() == ["strict", "pass", "2/3", "(67", "%)", "2/3", "(67", "%)"]
    labels = [line[:18].strip() for line in found]
    assert labels[2:] == [
        "by effects alone",
        "resolution",
        "policy",
        "tool use",
        "escalation",
        "recall",
        "specificity",
        "routine solved",
        "zero tolerance",
        "tokens",
        "seconds, median",
    ]


def test_a_run_with_two_agents_ends_with_their_difference(run, pytester):
    """The summary and the results file tell how the second agent did against the first, with -n as without."""
    project(pytester, range(1, 5))
    result = run(agent("good"), agent("odd"), "--tb=no")
    text = summary_of(result.stdout.str())
    assert "  side by side           python-desk_agents-good        python-desk_agents-odd\n" in text
    assert "strict pass 50.0 % against 100.0 %: -50.0 points, -2 scenarios" in text
    assert "    broken: TB-002, TB-004" in text
    closing = last_run(pytester).summary
    assert closing is not None
    (comparison,) = closing["comparisons"]
    assert comparison["agent"] == "python-desk_agents-odd"
    assert comparison["broken"] == ["TB-002", "TB-004"]
    assert (comparison["pass_rate"], comparison["baseline_pass_rate"], comparison["both_pass"]) == (
        0.5,
        1.0,
        2,
    )


def test_the_first_agent_is_the_one_named_first(plain, pytester):
    """Whichever worker reports first: the agent that the command names first is the one compared with."""
    project(pytester, [1, 2], "def slow(observation):\n    time.sleep(0.5)\n    return GOOD\n")
    plain(agent("slow"), agent("odd"), agent("good"), "-n", "2", "--tb=no")
    closing = last_run(pytester).summary
    assert closing is not None
    order = [f"python-desk_agents-{name}" for name in ("slow", "odd", "good")]
    assert [item["agent"] for item in closing["agents"]] == order
    assert [item["baseline"] for item in closing["comparisons"]] == order[:1] * 2


def test_a_run_with_one_agent_compares_nothing(plain, pytester):
    """With one agent there is no table, and an empty list in the results file."""
    project(pytester)
    assert "side by side" not in plain(agent("good")).stdout.str()
    closing = last_run(pytester).summary
    assert closing is not None
    assert closing["comparisons"] == []
