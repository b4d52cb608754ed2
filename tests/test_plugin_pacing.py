"""Servers that refuse, queue or are shared, asked by whole runs."""

from __future__ import annotations

import re
import threading
import time

import pytest
from fake_http import GOOD, Request, served
from projects import agent, last_run, project, start

GIVEN = r"it was given ([1-4]) at a time in the end; --supportbench-concurrency=\1 spares the waiting"


class Desk:
    """A server of two slots or others: it counts what runs at a time, and refuses more where it is told to."""

    def __init__(
        self,
        *,
        refuses: int = 0,
        slots: int = 2,
        seconds: float = 0.02,
        after: str = "0.05",
    ) -> None:
        self.refuses, self.slots, self.seconds, self.after = refuses, slots, seconds, after
        self.lock = threading.Lock()
        self.running = self.most = self.refused = 0

    def __call__(self, request: Request) -> None:
        with self.lock:
            full = bool(self.refuses) and self.running >= self.slots
            self.refused += full
            self.running += not full
            self.most = max(self.most, self.running)
        if full:
            request.send(self.refuses, {"error": "too many"}, Retry_After=self.after)
            return
        time.sleep(self.seconds)
        with self.lock:
            self.running -= 1
        request.send(200, GOOD)


def test_a_server_that_refuses_is_given_less_until_every_scenario_is_judged(plain, pytester):
    """With room for two of eight, nothing fails for want of room: the window shrinks instead of asking again."""
    project(pytester, range(1, 41))
    desk = Desk(refuses=429)
    with served(desk) as server:
        result = plain(f"--supportbench-agent={server.url}", "--supportbench-concurrency=8")
    result.assert_outcomes(passed=40)
    assert 0 < desk.refused < 40


@pytest.mark.parametrize(
    ("desk", "args", "advice"),
    [
        (Desk(refuses=429, slots=1, seconds=0.1, after="1"), (), GIVEN),
        (Desk(refuses=503, slots=3, seconds=0.3, after="1"), (), GIVEN),
        (
            Desk(refuses=503, slots=1, seconds=0.1, after="1"),
            ("-n", "2"),
            "without -n the run finds out how many",
        ),
    ],
    ids=["one at a time", "three", "two processes"],
)
def test_no_episode_is_lost_to_our_own_other_requests(plain, pytester, desk, args, advice):
    """Refused ones that all may come back after a second are let in as the server bears it; the summary says so."""
    project(pytester, range(1, 13))
    with served(desk) as server:
        result = plain(*args, f"--supportbench-agent={server.url}")
    result.assert_outcomes(passed=12)
    told = " ".join(result.stdout.str().split())
    assert 0 < desk.refused < 20
    times = "time" if desk.refused == 1 else "times"
    assert f"the server at localhost:{server.server_port} was busy {desk.refused} {times}: " in told
    assert re.search(advice, told)


def test_a_server_that_refuses_for_ever_fails_its_episodes(plain, pytester):
    """It is asked once more for each time that others might be why, and then as often as ``retries`` says."""
    project(pytester, [1, 2])
    with served(lambda request: request.send(429, "later", Retry_After="0.1")) as server:
        result = plain(f"--supportbench-agent={server.url}")
    result.assert_outcomes(failed=2)
    assert {line["failure"].partition(" (")[0] for line in last_run(pytester).episodes} == {
        f"POST {server.url}: status 429 Too Many Requests: later"
    }
    assert len(server.requests) == 8
    told = " ".join(result.stdout.str().split())
    assert (
        "was busy 8 times, 6 of them with one request of this run at a time: raise the server's limit" in told
    )


def test_a_model_server_that_refuses_for_ever_is_an_error(plain, pytester):
    """A model's server that stays busy says nothing about the agent, as before."""
    project(pytester, [1])
    with served(
        lambda request: request.send(429, {"error": {"message": "later"}}, Retry_After="0")
    ) as server:
        spec = f"openai:m?base_url={server.url}&retries=1"
        result = plain(f"--supportbench-agent={spec}")
    assert result.ret == 10
    (line,) = last_run(pytester).episodes
    assert (line["verdict"], line["error"]["cause"]) == ("error", "rate_limited")
    assert (
        "after 2 retries, 1 of them since other requests of the run kept it busy" in line["error"]["message"]
    )


def test_a_pause_that_the_server_asks_for_costs_an_episode_no_time(plain, pytester):
    """A wait longer than half of the limit leaves an episode all of its time."""
    project(pytester, [1])
    answers = iter([429, 200])

    def answer(request: Request) -> None:
        status = next(answers)
        request.send(status, GOOD, **({"Retry_After": "0.6"} if status == 429 else {}))

    with served(answer) as server:
        result = plain(f"--supportbench-agent={server.url}", "--supportbench-timeout=1.1")
    result.assert_outcomes(passed=1)
    (line,) = last_run(pytester).episodes
    assert line["timing"]["seconds"] < 0.6
    assert line["usage"]["retries"] == 1


def test_two_agents_of_one_server_are_asked_as_one(plain, pytester):
    """Two addresses on one server, four at a time each, are four at a time together."""
    project(pytester, range(1, 11))
    desk = Desk()
    with served(desk) as server:
        other = server.url.replace("127.0.0.1", "localhost") + "-b"
        agents = (f"--supportbench-agent={server.url}", f"--supportbench-agent={other}")
        plain(*agents, "--supportbench-concurrency=4").assert_outcomes(passed=20)
    assert desk.most == 4


@pytest.mark.parametrize("names", [("quick", "slow"), ("slow", "quick")])
def test_one_slow_agent_does_not_keep_the_other_waiting(plain, pytester, names):
    """Of two agents whose items alternate, the quick one's episodes run ahead while the slow one's item waits."""
    project(
        pytester,
        range(1, 13),
        agents="""
        DONE = []

        async def slow(observation):
            for _ in range(500 if case(observation) == 2 else 0):
                if len(DONE) == 12:
                    return GOOD
                await asyncio.sleep(0.01)
            return BAD if case(observation) == 2 else GOOD

        async def quick(observation):
            DONE.append(1)
            return GOOD
        """,
    )
    agents = [f"--supportbench-agent=python:desk_agents:{name}" for name in names]
    plain(*agents, "--supportbench-concurrency=2").assert_outcomes(passed=24)


def test_no_transcript_is_kept_once_it_was_reported(pytester):
    """When the last item was reported, no episode is left in memory, passed or failed: they are in the results file."""
    project(pytester, range(1, 31))
    pytester.makeconftest(
        """
        import gc, pathlib, pytest

        def count():
            gc.collect()
            return sum(type(item).__name__ == "Episode" for item in gc.get_objects())

        def pytest_collection_finish(session):
            session.before = count()

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(session):
            pathlib.Path("left").write_text(str(count() - session.before))
        """
    )
    # pytest-rerunfailures keeps the exception of each failed item, and with it the frames that hold the run.
    # In a process of its own, since pytester keeps every report.
    start(pytester, "-p", "no:rerunfailures", agent("odd"), "--supportbench-concurrency=8").communicate(
        timeout=60
    )
    assert int((pytester.path / "left").read_text(encoding="utf-8")) <= 1


def test_ctrl_c_at_the_very_end_leaves_a_closed_file(pytester):
    """An interrupt while the closing line is being written waits for it."""
    project(pytester, [1])
    pytester.makeconftest(
        """
        import signal
        from pytest_supportbench import results_file

        made = results_file.closing_line

        def interrupted(*args, **options):
            signal.raise_signal(signal.SIGINT)
            return made(*args, **options)

        results_file.closing_line = interrupted
        """
    )
    process = start(pytester, "--supportbench-agent=python:desk_agents:good")
    out, _ = process.communicate(timeout=30)
    assert "1 passed" in out
    assert last_run(pytester).summary["episodes"] == 1
