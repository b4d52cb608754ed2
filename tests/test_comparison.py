"""Two agents in one run: the paired difference over what both have scored, and the table side by side."""

from __future__ import annotations

import importlib.machinery
import itertools
import json
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from projects import agent, last_run, project, summary_of
from test_summary import made

from pytest_supportbench.cli import main
from pytest_supportbench.comparison import Paired, PairTest, paired
from pytest_supportbench.reporting.side_by_side import compared, difference, side_by_side
from pytest_supportbench.results_file import read_run
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


def sureness(found: Paired) -> PairTest:
    assert found.test is not None
    return found.test


@pytest.mark.parametrize("seed", range(4))
def test_one_trial_each_is_tested_by_counting_the_ways_of_flips(seed: int):
    """The p-value is the share of all ways that the flips could have gone as far from even, to either side."""
    source = random.Random(seed)
    first, second = ("".join(source.choices("pf", k=24)) for _ in range(2))
    found = pair(first, second)
    broken, fixed = len(found.broken), len(found.fixed)
    flips = broken + fixed
    far = sum(
        math.comb(flips, count) for count in range(flips + 1) if abs(2 * count - flips) >= abs(broken - fixed)
    )
    assert sureness(found).p_value == pytest.approx(far / 2**flips)
    assert sureness(found).name == f"exact McNemar, {broken} broken and {fixed} fixed"
    assert sureness(found).adjusted == sureness(found).p_value


@pytest.mark.parametrize("seed", range(4))
def test_several_trials_are_tested_by_swapping_whole_families(seed: int):
    """The p-value is the share of all ways to swap the two agents, family by family, with as large a difference."""
    source = random.Random(seed)
    sides = {
        name: [
            made(
                number,
                source.choice(["passed", "failed"]),
                agent=name,
                trial=trial,
                family=f"F-{number // 2}",
            )
            for number in range(16)
            for trial in (1, 2, 3)
        ]
        for name in "ab"
    }
    (found,) = paired(sides)
    sums = [0] * 8
    for name, sign in (("a", -1), ("b", 1)):
        for row in sides[name]:
            sums[int(row["scenario"][2:]) // 2] += sign * (row["verdict"] == "passed")
    ways = [
        sum(value * sign for value, sign in zip(sums, signs, strict=True))
        for signs in itertools.product((1, -1), repeat=8)
    ]
    far = sum(abs(total) >= abs(sum(sums)) for total in ways) / len(ways)
    assert sureness(found).p_value == pytest.approx(far)
    assert sureness(found).name == "paired permutation test"
    assert found.difference == Fraction(sum(sums), 48)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_the_difference_draws_whole_families(seed: int):
    """It is that of a plain bootstrap over twin families, to within half a point."""
    source = np.random.default_rng(seed)
    rates = source.integers(0, 5, (2, 60))
    sides = {
        name: [
            made(
                number,
                "passed" if trial <= rates[side, number // 2] else "failed",
                agent=name,
                trial=trial,
                family=f"F-{number // 2}",
            )
            for number in range(120)
            for trial in (1, 2, 3, 4)
        ]
        for side, name in enumerate("ab")
    }
    (found,) = paired(sides)
    changes = (rates[1] - rates[0]) / 4
    drawn = changes[source.integers(0, 60, (40_000, 60))].mean(axis=1)
    bounds = sureness(found).interval
    assert bounds.estimate == pytest.approx(changes.mean())
    assert (bounds.low, bounds.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.005)


def test_trials_that_repeat_each_other_count_once():
    """Identical replies carry no more information than one: the test is the one for one trial each, as in the gate."""
    sides = {"a": rows("a", "pp pp ff", trials=2), "b": rows("b", "ff pp ff", trials=2)}
    assert sureness(paired(sides)[0]).name == "paired permutation test"
    for row in (*sides["a"], *sides["b"]):
        row["trace"] = row["scenario"]
    assert sureness(paired(sides)[0]).name == "exact McNemar, 1 broken and 0 fixed"


def test_several_comparisons_are_adjusted_for_their_number():
    """Of three p-values the least is multiplied by three, the next by two, never below an earlier one; it is told."""
    sides = {
        "first": rows("first", "f" * 10),
        "better": rows("better", "p" * 6 + "f" * 4),  # 2 of 2^6
        "best": rows("best", "p" * 10),  # 2 of 2^10
        "same": rows("same", "f" * 10),
    }
    better, best, same = map(sureness, paired(sides))
    assert [item.p_value for item in (better, best, same)] == pytest.approx([2 / 64, 2 / 1024, 1.0])
    assert [item.adjusted for item in (better, best, same)] == pytest.approx([4 / 64, 6 / 1024, 1.0])
    told = [" ".join(" ".join(difference(item)).split()) for item in paired(sides)]
    assert "p = 0.031, 0.062 by Holm for 3 comparisons" in told[0]
    assert "this may be chance: no evidence of a difference" in told[0]
    assert "evidence that best is better than first" in told[1]
    assert "this may be chance" in told[2]


def test_the_words_follow_the_evidence():
    """Five flips to one side of five may be chance (2 of 32), six are evidence (2 of 64), in either direction."""
    five, six = pair("p" * 5 + "f" * 20, "f" * 25), pair("p" * 6 + "f" * 20, "f" * 26)
    assert "this may be chance: no evidence of a difference" in "\n".join(difference(five))
    assert "evidence that b is worse than a" in "\n".join(difference(six))
    assert "evidence that b is better than a" in "\n".join(difference(pair("f" * 6, "p" * 6)))
    assert all(len(line) <= 80 for line in difference(six))


def test_numbers_of_the_comparison_are_in_the_closing_line():
    """JSON data has the bounds, both p-values and the test; a tiny p-value is not rounded to nothing."""
    data = pair("f" * 40, "p" * 40).to_json()
    assert data["p_value"] == data["p_value_holm"] == pytest.approx(2 / 2**40, rel=1e-5)
    assert data["interval"][0] < data["difference"] == 1.0 == data["interval"][1]
    assert (data["level"], data["test"]) == (0.95, "exact McNemar, 0 broken and 40 fixed, two-sided")
    nothing = pair("ee", "pp").to_json()
    assert [nothing[name] for name in ("interval", "level", "p_value", "p_value_holm", "test")] == [None] * 5


def test_a_pair_that_shares_nothing_takes_no_part_in_the_adjustment():
    """A further agent with nothing scored has no test, and the other is the only comparison."""
    dark, good = paired(
        {"a": rows("a", "f" * 6), "dark": rows("dark", "e" * 6), "good": rows("good", "p" * 6)}
    )
    assert dark.test is None
    assert sureness(good).adjusted == sureness(good).p_value == pytest.approx(2 / 64)


def test_without_the_extra_a_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    """Where statsmodels is missing there is the difference, and what to install for the rest."""
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "statsmodels" else importlib.machinery
    )
    text = " ".join(" ".join(difference(pair("pf", "ff"))).split())
    assert "-50.0 points" in text
    assert (
        'no interval and no test: these need statsmodels; run: pip install "pytest-supportbench[gate]"'
        in text
    )


def test_the_summary_and_compare_have_the_same_interval(plain, pytester, capsys):
    """Two agents of one run: the closing line and ``supportbench compare`` of its file agree in what both tell."""
    project(pytester, range(1, 9))
    plain(agent("good"), agent("odd"), "--supportbench-results=both.jsonl", "--tb=no")
    (inside,) = read_run(pytester.path / "both.jsonl").summary["comparisons"]
    capsys.readouterr()
    main(["compare", "both.jsonl", "--format", "json"])
    outside = json.loads(capsys.readouterr().out)["comparisons"][0]["aggregate"]
    assert inside["interval"] == outside["interval"]
    assert inside["difference"] == outside["difference"] == -0.5
    assert inside["p_value"] == pytest.approx(2 * outside["p_value"])


def test_a_run_with_two_agents_ends_with_their_difference(run, pytester):
    """The summary and the results file tell how the second agent did against the first, with -n as without."""
    project(pytester, range(1, 5))
    result = run(agent("good"), agent("odd"), "--tb=no")
    text = summary_of(result.stdout.str())
    assert "  side by side           python-desk_agents-good        python-desk_agents-odd\n" in text
    assert "strict pass 50.0 % against 100.0 %: -50.0 points, -2 scenarios" in text
    assert "this may be chance: no evidence of a difference" in text
    assert "p = 0.5 (exact McNemar, 2 broken and 0 fixed, two-sided)" in " ".join(text.split())
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
