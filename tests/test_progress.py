"""The line that tells now and then how far a long run is."""

from __future__ import annotations

from collections import Counter

import pytest
from projects import project

from pytest_supportbench import progress


@pytest.mark.parametrize(
    ("counts", "total", "seconds", "told"),
    [
        (
            {"passed": 80, "failed": 39, "error": 1},
            1000,
            30.0,
            "supportbench: 120 of 1000: 80 passed, 39 failed, 1 error; 4.0 a second, about 4 min left",
        ),
        ({"failed": 1}, 2, 40.0, "supportbench: 1 of 2: 1 failed; 1.5 a minute, about 40 s left"),
        ({"passed": 1}, 500, 60.0, "supportbench: 1 of 500: 1 passed; 1.0 a minute, about 8 h 19 min left"),
        ({"passed": 3}, 3, 1.0, "supportbench: 3 of 3: 3 passed; 3.0 a second, about 0 s left"),
    ],
)
def test_the_line_tells_counts_pace_and_time_left(counts, total, seconds, told):
    """The time left is what the mean pace so far makes of the items that are left."""
    assert progress.line(Counter(counts), total, seconds) == told


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["plain", "xdist"])
def test_a_long_run_tells_how_far_it_is(pytester, monkeypatch, options):
    """Every scenario of three is told where no time must pass between two lines, and no other test; with -q none."""
    project(pytester, range(1, 4))
    pytester.makepyfile(
        test_own="def test_one(): pass\n\n"
        "def test_two(supportbench): supportbench.run('desk/case001.scenario.yaml')\n"
    )
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    run = pytester.runpytest(
        "--supportbench-agent=python:desk_agents:odd", "-p", "no:cacheprovider", *options
    )
    run.stdout.no_re_match_line(r"supportbench: (4|\d of [^3])")
    run.stdout.re_match_lines([r"supportbench: 3 of 3: 2 passed, 1 failed; .* left"])
    quiet = pytester.runpytest("desk", "--supportbench-agent=python:desk_agents:odd", "-q", *options)
    quiet.stdout.no_re_match_line(r"supportbench: \d of 3")


def test_a_short_run_tells_nothing(pytester):
    """A run of less than half a minute needs no such line."""
    project(pytester, range(1, 4))
    run = pytester.runpytest("desk", "--supportbench-agent=python:desk_agents:odd")
    run.stdout.no_re_match_line(r"supportbench: \d of 3")


SLOW = """
import time

def slow(observation):
    time.sleep(0.15)
    return {"action": "answer", "message": "We are open from nine to five."}

async def asynchronous(observation):
    return slow(observation)
"""


@pytest.mark.parametrize(
    ("name", "options", "times"),
    [
        ("slow", (), 1),
        ("slow", ("--supportbench-concurrency=1",), 0),
        ("asynchronous", (), 0),
        ("slow", ("-q",), 0),
    ],
)
def test_who_waits_for_a_slow_function_is_told_once_how_to_wait_less(
    pytester, monkeypatch, name, options, times
):
    """Not who said how many may run at a time, and not of an agent that has more already."""
    project(pytester, range(1, 5))
    pytester.makepyfile(slow_agents=SLOW)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    run = pytester.runpytest("desk", f"--supportbench-agent=python:slow_agents:{name}", *options)
    run.assert_outcomes(passed=4)
    advice = f"supportbench: episodes of python-slow_agents-{name} run one at a time; "
    assert run.stdout.str().count(advice) == times


def test_a_quick_function_is_no_reason_for_advice(pytester, monkeypatch):
    """Where an episode takes less than a tenth of a second, waiting is not what takes the time."""
    project(pytester, range(1, 5))
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    monkeypatch.setattr(progress, "SLOW", 60.0)
    run = pytester.runpytest("desk", "--supportbench-agent=python:desk_agents:odd")
    run.stdout.no_re_match_line("supportbench: episodes of")
