"""The event loop of asynchronous agents: nothing on it ends it, and nobody is charged for another's blocking."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_supportbench.clock import now
from pytest_supportbench.errors import START_AGAIN, AgentFailure, InfrastructureError
from pytest_supportbench.event_loops import EventLoops


@dataclass
class Time:
    """The time of one episode, as a dialogue keeps it."""

    limit: float = 30.0
    excused: float = 0.0
    began: float = field(default_factory=now)

    def time_left(self) -> float:
        return max(self.began + self.excused + self.limit - now(), 0.0)

    def excuse(self, seconds: float) -> None:
        self.excused += seconds


@pytest.fixture
def loops() -> Any:
    made = EventLoops()
    yield made
    made.close()
    made.close()


async def name_of_loop() -> int:
    await asyncio.sleep(0)
    return id(asyncio.get_running_loop())


def test_all_agents_share_a_loop(loops: EventLoops):
    """All calls run on the same loop at the same time, so that agents may share a client."""
    together = asyncio.Event()
    started: list[int] = []

    async def work(number: int) -> tuple[int, int]:
        started.append(number)
        if len(started) == 4:
            together.set()
        await asyncio.wait_for(together.wait(), 5)
        return number, id(asyncio.get_running_loop())

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number: loops.wait_for("a", work(number), Time()), range(4)))
    assert [number for number, _ in results] == [0, 1, 2, 3]
    assert len({name for _, name in results}) == 1
    assert loops.wait_for("b", name_of_loop(), Time()) in {name for _, name in results}


async def stop() -> None:
    asyncio.get_running_loop().stop()


async def interrupt() -> None:
    raise KeyboardInterrupt


async def leave() -> None:
    sys.exit(2)


async def interrupt_a_task() -> None:
    task = asyncio.create_task(interrupt())
    await asyncio.wait([task], timeout=1)


async def exit_in_a_callback() -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 1)
    await asyncio.sleep(0.05)


@pytest.mark.parametrize("harm", [stop, interrupt, leave, interrupt_a_task, exit_in_a_callback])
def test_a_loop_survives_what_runs_on_it(loops: EventLoops, harm: Any):
    """Stopping the loop, an interrupt and sys.exit end neither the loop nor a call that runs beside."""

    async def beside() -> str:
        await asyncio.sleep(0.2)
        return "done"

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(loops.wait_for, "a", beside(), Time())
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            loops.wait_for("a", harm(), Time())
        assert other.result(5) == "done"
    assert loops.wait_for("a", name_of_loop(), Time())


def test_a_closed_loop_is_replaced(loops: EventLoops):
    """A loop that somebody closed is told by an error that has the episode run again, on another loop."""
    found: list[Any] = []

    async def close() -> None:
        loop = asyncio.get_running_loop()
        found.append(loop)
        loop.stop()
        threading.Thread(target=close_when_stopped, args=(loop,)).start()
        await asyncio.sleep(60)

    def close_when_stopped(loop: Any) -> None:
        while not loop.is_closed():
            try:
                loop.call_soon_threadsafe(loop.stop)
                loop.close()
            except RuntimeError:
                continue

    with pytest.raises(InfrastructureError) as caught:
        loops.wait_for("a", close(), Time())
    assert caught.value.cause == START_AGAIN
    assert loops.wait_for("a", name_of_loop(), Time()) != id(found[0])


@pytest.mark.parametrize("how", ["itself", "all", "raised"])
def test_a_call_that_is_cancelled_from_within_has_failed(loops: EventLoops, how: str):
    """Cancelling the reply's own task, or raising CancelledError, is the agent's failure and says so."""

    async def work() -> None:
        if how == "raised":
            raise asyncio.CancelledError
        tasks = asyncio.all_tasks() if how == "all" else {asyncio.current_task()}
        for task in tasks:
            task.cancel()  # type: ignore[union-attr]

    with pytest.raises(AgentFailure, match="own code cancelled"):
        loops.wait_for("a", work(), Time())


def test_a_call_is_cancelled_at_its_limit_and_may_clean_up(loops: EventLoops):
    """The limit is kept, what the adapter says of it is told, and one that ignores it holds up nobody."""
    cleaned: list[int] = []

    async def tidy() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(1)

    async def telling() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise AgentFailure("it was at the second step") from None

    async def deaf() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    began = now()
    with pytest.raises(TimeoutError):
        loops.wait_for("a", tidy(), Time(0.05))
    assert cleaned == [1]
    with pytest.raises(AgentFailure, match="second step"):
        loops.wait_for("a", telling(), Time(0.05))
    with pytest.raises(TimeoutError):
        loops.wait_for("a", deaf(), Time(0.05))
    assert now() - began < 5


def test_nobody_is_charged_for_another_calls_blocking(loops: EventLoops):
    """Four calls that block their loop for 0.2 s each end in a limit of 0.5 s: each is charged with its own only."""

    async def block() -> str:
        time.sleep(0.2)  # noqa: ASYNC251 - that is the mistake under test
        return "done"

    times = [Time(0.5) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda clock: loops.wait_for("a", block(), clock), times))
    assert done == ["done"] * 4
    assert max(clock.excused for clock in times) > 0.3


def call_soon() -> None:
    asyncio.get_running_loop().call_soon(time.sleep, 0.4)


def call_later() -> None:
    asyncio.get_running_loop().call_later(0.01, time.sleep, 0.4)


def call_at() -> None:
    asyncio.get_running_loop().call_at(now() + 0.01, time.sleep, 0.4)


def call_from_a_thread() -> None:
    loop = asyncio.get_running_loop()
    threading.Thread(target=lambda: loop.call_soon_threadsafe(time.sleep, 0.4)).start()


def call_by_name() -> None:
    asyncio.get_running_loop().call_soon_threadsafe(callback=lambda: time.sleep(0.4))


def call_when_readable() -> None:
    one, other = socket.socketpair()
    loop = asyncio.get_running_loop()

    def read() -> None:
        loop.remove_reader(one)
        one.close()
        other.close()
        time.sleep(0.4)

    loop.add_reader(one, read)
    other.send(b"x")


@pytest.mark.parametrize(
    "block", [call_soon, call_later, call_at, call_from_a_thread, call_by_name, call_when_readable]
)
def test_every_step_of_a_loop_is_measured(loops: EventLoops, block: Callable[[], None]):
    """Who waits is excused for what blocks the loop however the loop came to it, whether or not a call is known."""
    beside = threading.Event()

    async def work() -> None:
        beside.wait(5)
        await asyncio.sleep(0)
        block()
        await asyncio.sleep(0.1)

    async def other() -> None:
        await asyncio.sleep(0.2)

    clock = Time(5)
    with ThreadPoolExecutor(1) as pool:
        blocking = pool.submit(loops.wait_for, "a", work(), Time(5))
        beside.set()
        loops.wait_for("b", other(), clock)
        blocking.result(5)
    assert clock.excused > 0.3


def test_what_an_agents_calls_left_behind_is_its_own(loops: EventLoops):
    """A task that outlives its call and holds the loop is excused for other agents, not for its own."""
    over = threading.Event()
    kept: list[Any] = []

    async def busy() -> None:
        while not over.is_set():
            time.sleep(0.02)  # noqa: ASYNC251 - that is the mistake under test
            await asyncio.sleep(0)

    async def leave_it() -> None:
        kept.append(asyncio.create_task(busy()))

    loops.wait_for("a", leave_it(), Time())
    excused = {}
    for agent in ("a", "b"):
        clock = Time()
        loops.wait_for(agent, asyncio.sleep(0.3), clock)
        excused[agent] = clock.excused
    over.set()
    assert excused["a"] < 0.1 < excused["b"]


def test_a_lost_loop_is_replaced_by_one_for_each_agent(loops: EventLoops):
    """After a call that blocks for good nobody meets the blocking of another agent again."""
    gate, blocks = threading.Event(), threading.Event()

    async def block() -> None:
        blocks.set()
        gate.wait(20)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(loops.wait_for, "a", block(), Time(0.05))
        assert blocks.wait(5)
        with pytest.raises(InfrastructureError):
            loops.wait_for("b", name_of_loop(), Time(0.05))
        names = [loops.wait_for(agent, name_of_loop(), Time()) for agent in ("a", "b", "a", "b")]
        gate.set()
    assert (names[0], names[1]) == (names[2], names[3])
    assert names[0] != names[1]


def test_a_task_that_a_call_started_blocks_in_its_name(loops: EventLoops):
    """What blocks in a task of its own is charged to the call that started it."""

    async def block() -> None:
        time.sleep(0.3)  # noqa: ASYNC251 - that is the mistake under test

    async def work() -> None:
        await asyncio.gather(block(), asyncio.sleep(0))

    clock = Time(5)
    loops.wait_for("a", work(), clock)
    assert clock.excused < 0.1


def test_who_waits_behind_a_call_that_blocks_for_good_begins_again(loops: EventLoops):
    """The blocking call alone goes on, as one that cannot be stopped; the other is told to start on a new loop."""
    gate = threading.Event()
    blocks = threading.Event()

    async def block() -> None:
        blocks.set()
        gate.wait(20)

    with ThreadPoolExecutor(1) as pool:
        blocking = pool.submit(loops.wait_for, "a", block(), Time(0.1))
        assert blocks.wait(5)
        with pytest.raises(InfrastructureError) as caught:
            loops.wait_for("a", name_of_loop(), Time(0.1))
        assert caught.value.cause == START_AGAIN
        assert loops.wait_for("a", name_of_loop(), Time(5))
        assert not blocking.done()
        gate.set()
        with pytest.raises(TimeoutError):
            blocking.result(5)


def test_a_loop_that_hangs_does_not_keep_the_process():
    """The interpreter ends though a call is still running."""
    code = (
        "import asyncio, threading, time\n"
        "from pytest_supportbench.event_loops import EventLoops as E\n"
        "class Time:\n"
        "    limit = 60\n"
        "    def time_left(self): return 60\n"
        "    def excuse(self, seconds): pass\n"
        "threading.Thread(target=lambda: E().wait_for('a', asyncio.sleep(60), Time()), daemon=True).start()\n"
        "time.sleep(0.3); print('end')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "end\n"


def test_what_threads_need_is_imported_before_they_run():
    """An import in a thread could be parsed while another thread's traceback is, which breaks Python 3.11."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pytest_supportbench.agents.callables import CallableAgent\n"
        "from pytest_supportbench.agents.spec import AgentSpec\n"
        "from pytest_supportbench.records import Limits\n"
        "from pytest_supportbench.runner import Runner\n"
        "async def later(observation): pass\n"
        "def plain(observation): pass\n"
        "runner = Runner({'p': CallableAgent(AgentSpec('p', 'fixture'), Path(), plain)}, Limits())\n"
        "assert 'pytest_supportbench.event_loops' not in sys.modules\n"
        "runner.add('a', CallableAgent(AgentSpec('a', 'fixture'), Path(), later))\n"
        "assert 'pytest_supportbench.event_loops' in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
