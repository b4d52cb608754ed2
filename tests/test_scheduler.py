"""Episodes that run ahead: order, bounds, crashes, hung calls, agents that are down, and caught output."""
# ruff: noqa: T201 - what agents print is under test

import asyncio
import contextlib
import contextvars
import gc
import logging
import sys
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
from crowd import Crowd
from desk import bind, refund, turn
from stubs import StubAgent

from pytest_supportbench import episode as episodes
from pytest_supportbench import scheduler as scheduling
from pytest_supportbench.agents.retries import Grace
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.environment import Environment
from pytest_supportbench.errors import AgentFailure, InfrastructureError, UsageError
from pytest_supportbench.event_loops import EventLoops
from pytest_supportbench.executor import DaemonExecutor
from pytest_supportbench.output import MAX_CHARS, ThreadOutput
from pytest_supportbench.protocol import Reply, Step, Turn, Usage
from pytest_supportbench.records import Limits
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner, opaque_id
from pytest_supportbench.scheduler import Scheduler, TooManyHung
from pytest_supportbench.windows import FAR, NEAR

DONE = turn("refund", "I refunded 49.00 USD.", refund())


@pytest.fixture
def bound(tmp_path: Path) -> Any:
    return bind(tmp_path)


DESKS: list[Any] = []
"""Those of the running test: none may leave its routing in the streams."""


class Desk:
    """A scheduler over stub agents that keeps what was recorded."""

    def __init__(self, bound: Any, timeout: float = 30.0, wait_for: Any = None, **options: Any) -> None:
        self.bound = bound
        self.recorded: list[Result] = []
        self.runner = Runner({}, Limits(timeout=timeout), wait_for)
        self.scheduler = Scheduler(self.runner, self.recorded.append, **options)
        DESKS.append(self)

    def add(self, reply: Any, name: str = "agent", **options: Any) -> StubAgent:
        agent = StubAgent(reply, **options)
        self.runner.add(name, agent)
        return agent

    def jobs(self, count: int, agent: str = "agent") -> list[Job]:
        return [Job(f"{agent}-{number}", self.bound, agent, number) for number in range(1, count + 1)]

    def trial_of(self, observation: Any) -> int:
        """Return which trial an observation belongs to; agents themselves cannot tell."""
        return {opaque_id(job): job.trial for job in self.jobs(20)}[observation.episode]

    def run(self, jobs: list[Job]) -> list[Result]:
        return [self.scheduler.result(job, jobs[place + 1 :]) for place, job in enumerate(jobs)]


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    while DESKS:
        DESKS.pop().scheduler.close()


@pytest.fixture
def desk(bound: Any) -> Any:
    return Desk(bound)


def test_results_come_in_the_order_that_items_ask(desk: Desk):
    """Whoever finishes first, each item gets its own result, and each is recorded once."""

    def reply(observation: Any) -> Any:
        time.sleep(0.02 if desk.trial_of(observation) in {1, 3} else 0)
        return DONE

    desk.add(reply, window=4)
    results = desk.run(desk.jobs(6))
    assert [result.trial for result in results] == [1, 2, 3, 4, 5, 6]
    assert {result.verdict for result in results} == {"passed"}
    assert sorted(result.trial for result in desk.recorded) == [1, 2, 3, 4, 5, 6]


def test_the_window_bounds_what_runs_and_what_is_queued(desk: Desk):
    """No more than the window run at once, and no more than a few windows are ahead."""
    crowd = Crowd()

    def reply(_: Any) -> Any:
        with crowd:
            time.sleep(0.005)
        return DONE

    agent = desk.add(reply, window=2)
    jobs = desk.jobs(40)
    desk.scheduler.result(jobs[0], jobs[1:])
    time.sleep(0.2)
    assert agent.asked <= 2 * NEAR
    desk.run(jobs[1:])
    assert crowd.most == 2
    assert agent.asked == 40


def test_a_slow_head_does_not_starve_the_rest(desk: Desk):
    """While the first item waits, results of the others are kept for as long as memory is bounded, and then no more."""
    gate = threading.Event()

    def reply(observation: Any) -> Any:
        if observation.episode == head:
            gate.wait(20)
        return DONE

    agent = desk.add(reply, window=2)
    jobs = desk.jobs(200)
    head = opaque_id(jobs[0])

    def watch() -> None:
        while agent.asked < 2 * (FAR - 1) and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.05)
        asked.append(agent.asked)
        gate.set()

    asked: list[int] = []
    end = time.monotonic() + 10
    threading.Thread(target=watch).start()
    desk.scheduler.result(jobs[0], jobs[1:])
    assert 2 * (FAR - 1) <= asked[0] <= 2 * FAR
    desk.run(jobs[1:])
    assert agent.asked == 200


def test_a_window_is_refilled_in_batches(desk: Desk):
    """What may run ahead is asked for once a window, not once an episode."""
    desk.add(lambda _: DONE, window=8)
    jobs = desk.jobs(160)
    asked: list[int] = []

    class Rest:
        def __init__(self, place: int) -> None:
            self.place = place

        def __iter__(self) -> Any:
            asked.append(self.place)
            return iter(jobs[self.place :])

    for place, job in enumerate(jobs):
        desk.scheduler.result(job, Rest(place + 1))
        time.sleep(0.001)
    assert len(asked) < 160 / 2


def test_a_slow_agent_leaves_the_window_of_another_full(desk: Desk):
    """Items of two agents alternate; while one agent's item waits, the other's episodes run ahead."""
    gate = threading.Event()
    desk.add(lambda _: gate.wait(20) and DONE, "slow", window=2)
    quick = desk.add(lambda _: DONE, "quick", window=2)
    pairs = zip(desk.jobs(30, "slow"), desk.jobs(30, "quick"), strict=True)
    jobs = [job for pair in pairs for job in pair]
    waiting = threading.Thread(target=desk.scheduler.result, args=(jobs[0], jobs[1:]))
    waiting.start()
    for _ in range(500):
        if quick.asked == 30:
            break
        time.sleep(0.01)
    assert quick.asked == 30
    gate.set()
    waiting.join(10)


def test_agents_of_one_server_share_what_it_bears(desk: Desk):
    """Two agents of windows of three, at one server, are asked for three episodes at a time together."""
    crowd = Crowd()

    def reply(_: Any) -> Any:
        with crowd:
            time.sleep(0.01)
        return DONE

    for name in ("one", "two"):
        desk.add(reply, name, window=3).host = "server:80"
    pairs = zip(desk.jobs(12, "one"), desk.jobs(12, "two"), strict=True)
    desk.run([job for pair in pairs for job in pair])
    assert crowd.most == 3


def test_a_server_of_known_slots_is_given_no_more(bound: Any):
    """The option for all agents does not overrule what is known of one server."""
    desk = Desk(bound, concurrency=6)
    lock, running = threading.Lock(), [0, 0]

    def reply(_: Any) -> Any:
        with lock:
            running[0] += 1
            running[1] = max(running)
        time.sleep(0.01)
        with lock:
            running[0] -= 1
        return DONE

    agent = desk.add(reply)
    agent.host, agent.parallel, agent.queues = "localhost:11434", 2, True
    desk.run(desk.jobs(12))
    assert running[1] == 2


def test_a_hung_call_gives_its_place_at_the_server_back(bound: Any, monkeypatch: Any):
    """What is given up holds no place: the next episode begins though the call still hangs."""
    monkeypatch.setattr(scheduling, "GRACE", 0.05)
    desk, gate = Desk(bound, timeout=0.1), threading.Event()
    agent = desk.add(lambda seen: (desk.trial_of(seen) != 1 or gate.wait(20)) and DONE)
    agent.host = "server:80"
    begin = time.monotonic()
    assert [result.verdict for result in desk.run(desk.jobs(2))] == ["failed", "passed"]
    assert time.monotonic() - begin < 10
    gate.set()


def test_waiting_for_a_busy_server_costs_no_time_of_the_episode(bound: Any, monkeypatch: Any):
    """Pauses that the server asked for are taken off as long as the limit; waiting for a place then always is."""
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    class Place:
        told: ClassVar[list[float]] = []

        def refused(self, asked: float) -> bool:
            self.told.append(asked)
            return True

        def again(self) -> None:
            passed[0] += 100.0

    monkeypatch.setattr(episodes, "sleep", sleep)
    conversation = Conversation(bound, Limits(timeout=10.0), "e")
    dialogue = episodes.Dialogue(conversation, Limits(timeout=10.0), lambda: passed[0])
    assert dialogue.refused(8.0, 5.0) == Grace(free=True)  # alone: no place, and nobody else who asks
    dialogue.place = place = Place()  # type: ignore[assignment]
    grace = dialogue.refused(8.0, 5.0)
    assert grace == Grace(free=True, ours=True)
    dialogue.wait(8.0, grace)
    assert (dialogue.seconds(), passed[0]) == (0, 108.0)
    passed[0] += 1.0
    grace = dialogue.refused(3.0, 0.0)
    assert grace == Grace()
    dialogue.wait(3.0, grace)
    assert (dialogue.seconds(), dialogue.time_left(), place.told) == (4.0, 6.0, [5.0, 0.0])


def test_nothing_of_an_episode_is_kept_once_it_was_reported(desk: Desk):
    """Results, conversations and bookkeeping are gone when items have them; memory does not grow with the run."""
    desk.add(lambda _: DONE, window=4)
    jobs = desk.jobs(60)
    desk.scheduler._record = lambda _: None
    for place, job in enumerate(jobs):
        desk.scheduler.result(job, jobs[place + 1 :])
    time.sleep(0.05)
    gc.collect()
    assert not [item for item in gc.get_objects() if type(item) is Result and item.bound is desk.bound]
    window = desk.scheduler._windows["agent"]
    left = (window.futures, window.jobs, window.running, window.places, window._settled, window._unfinished)
    assert [len(known) for known in left] == [0] * 6


def test_concurrency_overrides_the_agents_own_window(bound: Any):
    """The option decides for every agent."""
    desk = Desk(bound, concurrency=3)
    barrier = threading.Barrier(3)

    def reply(_: Any) -> Any:
        barrier.wait(10)
        return DONE

    desk.add(reply, window=1)
    assert [result.verdict for result in desk.run(desk.jobs(3))] == ["passed"] * 3
    desk.scheduler.close()


def test_two_agents_have_windows_of_their_own(desk: Desk):
    """Jobs of the other agent run ahead in its own window."""
    desk.add(lambda _: DONE, "one")
    second = desk.add(lambda _: DONE, "two")
    desk.scheduler.result(desk.jobs(1, "one")[0], desk.jobs(1, "two"))
    for _ in range(200):
        if second.asked:
            break
        time.sleep(0.01)
    assert second.asked == 1


def test_inline_agents_run_in_the_callers_thread(desk: Desk):
    """An agent that answers at once needs no thread, and is not run ahead."""
    names = []
    agent = desk.add(lambda _: names.append(threading.current_thread().name) or DONE)
    agent.inline = True
    desk.add(lambda _: DONE, "other")
    jobs = desk.jobs(2)
    desk.scheduler.result(jobs[0], jobs[1:])
    desk.scheduler.result(desk.jobs(1, "other")[0], jobs[1:])
    assert names == [threading.current_thread().name]
    assert len(desk.recorded) == 2


def test_inline_for_debuggers_runs_everything_here(bound: Any):
    """With inline on, no thread is started for any agent."""
    desk = Desk(bound, inline=True)
    names = []
    desk.add(lambda _: names.append(threading.current_thread().name) or DONE, window=8)
    desk.run(desk.jobs(2))
    assert set(names) == {threading.current_thread().name}


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("error", [SystemExit(3), ValueError("bad"), RecursionError("deep")], ids=repr)
def test_a_crash_in_the_agents_thread_is_a_failed_episode(bound: Any, error: BaseException, *, inline: bool):
    """Whatever an agent raises, SystemExit included, its episode failed and was recorded; the next one runs."""
    desk = Desk(bound, inline=inline)

    def reply(observation: Any) -> Any:
        if desk.trial_of(observation) == 1:
            raise error
        return DONE

    desk.add(reply)
    results = desk.run(desk.jobs(2))
    assert [result.verdict for result in results] == ["failed", "passed"]
    assert results[0].episode.ending == "agent_failed"
    assert type(error).__name__ in results[0].episode.failure
    assert len(desk.recorded) == 2
    desk.scheduler.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_what_would_end_a_thread_is_a_failed_episode_too(desk: Desk, error: BaseException):
    """An agent that raises what only interpreters raise loses its episode and nothing else."""

    def reply(_: Any) -> Any:
        raise error

    desk.add(reply)
    (result,) = desk.run(desk.jobs(1))
    assert (result.verdict, result.episode.failure) == ("failed", f"{type(error).__name__}: ")


class Untellable(AgentFailure):
    """A failure whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Untellable("x"), "Untellable"),
        (type("Odd", (Exception,), {"__str__": lambda _: 5})(), "Odd: "),
        (
            InfrastructureError(None, None, None),
            "InfrastructureError whose cause, message and remedy are not all text",
        ),  # type: ignore[arg-type]
    ],
)
def test_an_exception_that_cannot_be_told_is_a_failed_episode(
    desk: Desk, error: Any, told: str, is_async: bool
):
    """An exception of ours with parts that are no text, or whose own code raises, leaves a row with its name."""

    def reply(_: Any) -> Any:
        raise error

    async def later(_: Any) -> Any:
        raise error

    desk.add(later if is_async else reply, is_async=is_async)
    (result,) = desk.run(desk.jobs(1))
    assert (result.episode.ending, result.episode.failure) == ("agent_failed", told)


@pytest.mark.parametrize(
    "raw",
    [
        {("a",): 1},
        Turn.model_construct(action=object(), message=object(), tool_calls=5, asks_for=None),
        Turn.model_construct(action="refund", message=5, tool_calls=(), asks_for=()),
        Reply.model_construct(turn=DONE, usage="x"),
        Reply.model_construct(turn=DONE, usage=Usage.model_construct(prompt_tokens="x")),
        Reply.model_construct(turn=DONE, usage=None, step="x"),
        Reply.model_construct(turn=DONE, usage=None, step=Step.model_construct(number="x", draft=5)),
        type("Broken", (Turn,), {"model_dump": lambda *_, **__: 1 / 0})(),
    ],
    ids=["key", "turn", "message", "usage", "tokens", "no step", "step", "subclass"],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_an_object_that_is_not_what_it_seems_is_an_invalid_reply(desk: Desk, raw: Any):
    """Objects that were made without validation break nothing of ours, and say so to the agent."""
    desk.add(lambda _: raw)
    (result,) = desk.run(desk.jobs(1))
    assert result.episode.ending == "invalid_reply"
    assert all(record.invalid for record in result.episode.turns)


def test_sys_exit_in_an_async_agent_leaves_its_loop_alive(bound: Any):
    """The event loop that all episodes of an agent share survives sys.exit in one of them."""
    loops = EventLoops()
    desk = Desk(bound, wait_for=loops.wait_for)

    async def reply(observation: Any) -> Any:
        await asyncio.sleep(0)
        if desk.trial_of(observation) == 1:
            sys.exit(2)
        return DONE

    desk.add(reply, window=2, is_async=True)
    assert [result.verdict for result in desk.run(desk.jobs(3))] == ["failed", "passed", "passed"]
    desk.scheduler.close()
    loops.close()


def test_a_hung_call_is_abandoned_counted_and_its_late_result_dropped(bound: Any, monkeypatch: Any):
    """The item fails at the limit, the next ones run, and what the hung call does later is not recorded."""
    monkeypatch.setattr(scheduling, "GRACE", 0.05)
    desk = Desk(bound, timeout=0.1)
    gate = threading.Event()
    finished = threading.Event()

    def reply(observation: Any) -> Any:
        if desk.trial_of(observation) == 1:
            gate.wait(20)
            finished.set()
        return DONE

    desk.add(reply)
    results = desk.run(desk.jobs(3))
    assert [result.verdict for result in results] == ["failed", "passed", "passed"]
    assert results[0].episode.ending == "time_limit"
    gate.set()
    assert finished.wait(5)
    time.sleep(0.1)
    assert sorted(result.trial for result in desk.recorded) == [1, 2, 3]
    desk.scheduler.close()


def test_a_hung_call_that_ran_ahead_does_not_hold_the_one_that_is_awaited(bound: Any, monkeypatch: Any):
    """An episode that nobody asked for yet may hang in the only thread; the awaited one still runs."""
    monkeypatch.setattr(scheduling, "GRACE", 0.05)
    desk = Desk(bound, timeout=0.1)
    gate = threading.Event()

    def reply(observation: Any) -> Any:
        if desk.trial_of(observation) == 2:
            gate.wait(20)
        return DONE

    desk.add(reply)
    first, ahead, last = desk.jobs(3)
    desk.scheduler.result(first, [ahead])
    assert desk.scheduler.result(last).verdict == "passed"
    assert desk.scheduler.result(ahead).episode.ending == "time_limit"
    gate.set()
    assert sorted(result.trial for result in desk.recorded) == [1, 2, 3]
    desk.scheduler.close()


@pytest.mark.parametrize("window", [1, 6])
def test_the_check_of_an_agent_takes_nothing_of_an_episode(bound: Any, monkeypatch: Any, window: int):
    """Imports, connecting and loading a model may take longer than an episode; the clock starts after them."""
    monkeypatch.setattr(scheduling, "GRACE", 0.05)
    desk = Desk(bound, timeout=0.2)
    agent = desk.add(lambda _: time.sleep(0.05) or DONE, window=window)
    monkeypatch.setattr(agent, "check", lambda: time.sleep(0.4))
    assert [result.verdict for result in desk.run(desk.jobs(6))] == ["passed"] * 6
    desk.scheduler.close()


class Hanging(StubAgent):
    """Calls a tool that the case does not permit while it works on a reply, and then hangs, or is slow."""

    def __init__(self, gate: threading.Event) -> None:
        super().__init__(lambda _: None)
        self.gate = gate

    def asker(self, case: Any) -> Any:
        def reply(_: Any) -> Any:
            case.tools.call("update_contact", {"customer_id": "cus_1", "email": "new@example.com"})
            self.gate.wait(20)
            return DONE

        return reply


def test_what_a_hung_agent_did_is_judged(bound: Any, monkeypatch: Any):
    """The calls and violations of an abandoned episode are kept; the reply that comes later changes nothing of it."""
    monkeypatch.setattr(scheduling, "GRACE", 0.05)
    desk, gate = Desk(bound, timeout=0.1), threading.Event()
    desk.runner.add("agent", Hanging(gate))
    (result,) = desk.run(desk.jobs(1))
    gate.set()
    time.sleep(0.1)
    assert (result.episode.ending, [call.tool for call in result.episode.calls]) == (
        "time_limit",
        ["update_contact"],
    )
    assert "policy" in result.score.failed_dimensions
    assert (len(desk.recorded), result.episode.changes) == (1, ())
    desk.scheduler.close()


def test_a_tool_that_hangs_is_no_failure_of_the_agent(bound: Any, monkeypatch: Any):
    """Where the toolset is what does not return, the episode is given up without a verdict on the agent."""
    monkeypatch.setattr(scheduling, "GRACE", 0.05)
    monkeypatch.setattr(episodes, "TOOL_SECONDS", 0.1)
    desk, gate = Desk(bound, timeout=0.1), threading.Event()
    monkeypatch.setattr(Environment, "call", lambda *_: gate.wait(20))
    desk.add(lambda _: DONE)
    (result,) = desk.run(desk.jobs(1))
    assert (result.verdict, result.episode.error.cause) == ("error", "toolset")
    assert result.episode.error.message == "a tool was called that does not return"
    gate.set()
    desk.scheduler.close()


def test_a_simulated_customer_may_take_its_time(bound: Any, monkeypatch: Any):
    """An agent whose customer thinks longer than the agent's own limit does not hang."""
    monkeypatch.setattr(scheduling, "GRACE", 0.05)

    class Slow:
        def ready(self) -> None:
            pass

        def secrets(self) -> tuple[str, ...]:
            return ()

        def answer(self, _brief: Any, _seconds: float) -> str:
            time.sleep(0.5)
            return "I see."

    desk = Desk(bound, timeout=0.2)
    turns = iter([{"asks_for": ["phone"], "message": "Your number?"}, DONE])
    runner = Runner({"agent": StubAgent(lambda _: next(turns))}, Limits(timeout=0.2), customer=Slow())
    scheduler = Scheduler(runner, desk.recorded.append)
    assert scheduler.result(desk.jobs(1)[0]).verdict == "passed"
    scheduler.close()


def test_five_hung_calls_stop_the_run(bound: Any, monkeypatch: Any):
    """Each hung call holds a thread for good, so that the fifth ends the run with a remedy."""
    monkeypatch.setattr(scheduling, "GRACE", 0.02)
    desk = Desk(bound, timeout=0.05)
    gate = threading.Event()
    desk.add(lambda _: gate.wait(20) and DONE)
    jobs = desk.jobs(6)
    for job in jobs[:4]:
        assert desk.scheduler.result(job).episode.ending == "time_limit"
    with pytest.raises(TooManyHung, match=r"5 calls of the agent 'agent' hang .* a time-out of its own"):
        desk.scheduler.result(jobs[4])
    assert len(desk.recorded) == 5
    gate.set()
    desk.scheduler.close()


def test_calls_that_end_after_all_do_not_stop_the_run(bound: Any, monkeypatch: Any):
    """Only calls that still hang hold threads; late ones cost their episodes, and the run goes on."""
    monkeypatch.setattr(scheduling, "GRACE", 0.02)
    desk = Desk(bound, timeout=0.05)
    ended = threading.Semaphore(0)

    def reply(_: Any) -> Any:
        time.sleep(0.2)
        ended.release()
        return DONE

    desk.add(reply)
    for job in desk.jobs(7):
        assert desk.scheduler.result(job).episode.ending == "time_limit"
        assert ended.acquire(timeout=5)
        time.sleep(0.05)


def test_who_waits_behind_a_blocking_coroutine_begins_again(bound: Any, monkeypatch: Any):
    """Of four episodes on a loop that one blocks for long, that one alone is out of time and counts as hanging."""
    monkeypatch.setattr(scheduling, "GRACE", 0.1)
    desk = Desk(bound, timeout=0.3)
    gate = threading.Event()

    async def reply(observation: Any) -> Any:
        await asyncio.sleep(0)
        if desk.trial_of(observation) == 2:
            gate.wait(20)
        return DONE

    desk.add(reply, window=4, is_async=True)
    results = desk.run(desk.jobs(4))
    gate.set()
    assert [result.episode.ending for result in results] == ["acted", "time_limit", "acted", "acted"]


@pytest.mark.parametrize("how", ["waits for ever", "blocks without a context", "closes its loop"])
def test_an_episode_ends_whatever_holds_its_loop(bound: Any, how: str):
    """Excused time and new beginnings are bounded: one episode is out of time, and the others pass."""
    desk = Desk(bound, timeout=0.4)
    over = threading.Event()

    async def busy() -> None:
        while not over.is_set():
            time.sleep(0.01)  # noqa: ASYNC251 - that is the mistake under test
            await asyncio.sleep(0)

    def close(loop: Any) -> None:
        while not loop.is_closed():
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)
                loop.close()

    async def reply(observation: Any) -> Any:
        loop = asyncio.get_running_loop()
        if desk.trial_of(observation) != 2:
            return DONE
        if how == "waits for ever":
            threading.Thread(target=lambda: asyncio.run_coroutine_threadsafe(busy(), loop)).start()
        elif how == "blocks without a context":
            loop.call_soon(over.wait, 3, context=contextvars.Context())
        else:
            threading.Thread(target=close, args=(loop,)).start()
        return await asyncio.sleep(60)

    desk.add(reply, window=4, is_async=True)
    began = time.monotonic()
    results = desk.run(desk.jobs(4))
    over.set()
    assert [result.episode.ending for result in results] == ["acted", "time_limit", "acted", "acted"]
    assert time.monotonic() - began < 10
    if how == "blocks without a context":
        assert "in each of 3 attempts" in results[1].episode.failure
    desk.scheduler.close()


def test_five_equal_infrastructure_errors_in_a_row_stop_an_agent(desk: Desk):
    """A server that is down is not asked forever; another cause or a success starts the count anew."""
    causes = ["refused"] * 4 + ["time_out"] + ["refused"] * 4 + [None] + ["refused"] * 5 + [None]

    def reply(observation: Any) -> Any:
        cause = causes[desk.trial_of(observation) - 1]
        if cause:
            raise InfrastructureError(cause, "no server", "start it")
        return DONE

    agent = desk.add(reply)
    results = desk.run(desk.jobs(17))
    assert [result.verdict for result in results] == ["error"] * 9 + ["passed"] + ["error"] * 7
    assert agent.asked == 15
    error = results[-1].episode.error
    assert error is not None
    assert (error.cause, error.remedy) == ("refused", "start it")
    assert error.message == "not asked any more after 5 equal errors in a row: no server"
    assert len(desk.recorded) == 17


def test_a_failed_check_gives_every_job_the_error_without_asking(desk: Desk):
    """What a preflight check finds is each job's error, found once."""
    agent = desk.add(lambda _: DONE)
    agent.problem = InfrastructureError("model_missing", "no model", "pull it")
    results = desk.run(desk.jobs(3))
    assert [result.episode.error.cause for result in results if result.episode.error] == ["model_missing"] * 3
    assert (agent.asked, agent.checks, len(desk.recorded)) == (0, 1, 3)


def test_a_users_mistake_found_by_the_check_reaches_every_item(desk: Desk):
    """A usage error is no verdict: it is raised for each item, and nothing is recorded."""
    agent = desk.add(lambda _: DONE)
    agent.problem = UsageError("no such model file")
    for job in desk.jobs(2):
        with pytest.raises(UsageError, match="no such model file"):
            desk.scheduler.result(job)
    assert (agent.asked, desk.recorded) == (0, [])


def test_a_failure_to_record_reaches_the_item(bound: Any):
    """Results that cannot be written are no silent loss, whatever the error's type."""

    def refuse(_: Result) -> None:
        raise TimeoutError("disk")

    runner = Runner({"agent": StubAgent(lambda _: DONE)}, Limits())
    scheduler = Scheduler(runner, refuse)
    with pytest.raises(TimeoutError, match="disk"):
        scheduler.result(Job("1", bound, "agent", 1))
    scheduler.close()


def test_close_returns_at_once_and_drops_what_has_not_begun(bound: Any):
    """Neither a running call nor a full queue holds up the end of a run."""
    desk = Desk(bound)
    gate = threading.Event()
    entered = threading.Event()

    def reply(observation: Any) -> Any:
        if desk.trial_of(observation) != 1:
            entered.set()
            gate.wait(20)
        return DONE

    agent = desk.add(reply)
    jobs = desk.jobs(4)
    desk.scheduler.result(jobs[0], jobs[1:])
    assert entered.wait(5)
    began = time.perf_counter()
    desk.scheduler.close()
    assert time.perf_counter() - began < 1
    gate.set()
    time.sleep(0.1)
    assert agent.asked == 2


def test_any_executor_will_do(bound: Any):
    """The seam takes whatever has the standard interface."""
    made = []

    def make(max_workers: int, name: str) -> DaemonExecutor:
        made.append((max_workers, name))
        return DaemonExecutor(max_workers, name)

    desk = Desk(bound, make_executor=make)
    desk.add(lambda _: DONE, window=3)
    desk.run(desk.jobs(1))
    assert made == [(3, "supportbench-agent")]
    desk.scheduler.close()


def test_output_is_caught_for_each_episode_across_threads(desk: Desk, capsys: Any):
    """What agents print and log at the same time lands in their own results and nowhere else."""
    barrier = threading.Barrier(3)

    def reply(observation: Any) -> Any:
        name = desk.trial_of(observation)
        barrier.wait(10)
        print(f"out {name}")
        print(f"err {name}", file=sys.stderr)
        logging.getLogger("agent").warning("log %s", name)
        barrier.wait(10)
        return DONE

    desk.add(reply, window=3)
    results = desk.run(desk.jobs(3))
    for result in results:
        name = result.trial
        assert result.output == f"out {name}\nerr {name}\nWARNING agent: log {name}\n"
    print("mine")
    assert capsys.readouterr() == ("mine\n", "")
    assert sorted(result.output for result in desk.recorded) == sorted(result.output for result in results)


def test_an_async_agent_needs_no_shared_loop(desk: Desk):
    """Outside a session a runner has event loops of its own."""

    async def reply(_: Any) -> Any:
        await asyncio.sleep(0)
        return DONE

    desk.add(reply, is_async=True)
    assert [result.verdict for result in desk.run(desk.jobs(2))] == ["passed", "passed"]


def test_the_oracle_plays_the_reference(desk: Desk):
    """An agent that stands for the reference is never asked itself."""
    agent = desk.add(lambda _: None)
    agent.wants_reference = True
    assert [result.verdict for result in desk.run(desk.jobs(1))] == ["passed"]
    assert agent.asked == 0


def test_output_of_async_agents_is_caught_too(bound: Any):
    """Tasks on the shared loop keep to the buffer of their episode."""
    loops = EventLoops()
    desk = Desk(bound, wait_for=loops.wait_for)

    async def reply(observation: Any) -> Any:
        await asyncio.sleep(0.01)
        print(desk.trial_of(observation))
        return DONE

    desk.add(reply, window=2, is_async=True)
    assert [result.output for result in desk.run(desk.jobs(2))] == ["1\n", "2\n"]
    desk.scheduler.close()
    loops.close()


def test_output_is_bounded_and_says_so(desk: Desk):
    """An agent that floods does not fill the memory."""

    def reply(_: Any) -> Any:
        for _ in range(3):
            print("x" * (MAX_CHARS // 2 - 1) + "\ud800")
        return DONE

    desk.add(reply)
    (result,) = desk.run(desk.jobs(1))
    assert result.output.endswith("more characters were dropped]")
    assert len(result.output) < MAX_CHARS + 100
    result.output.encode()


def test_streams_behave_like_the_ones_they_stand_for(desk: Desk):
    """Agents ask standard output for its encoding, whether it is a terminal, and its buffer."""
    seen: list[Any] = []

    def reply(_: Any) -> Any:
        stream = sys.stdout
        seen.append((stream.encoding, stream.errors, stream.isatty(), stream.writable(), stream.closed))
        stream.writelines(["a", "b"])
        stream.flush()
        try:
            stream.write(b"bytes")  # type: ignore[arg-type]
        except TypeError as error:
            seen.append(str(error))
        seen.append(stream.name)
        return DONE

    encoding, name = sys.stdout.encoding, sys.stdout.name
    desk.add(reply)
    (result,) = desk.run(desk.jobs(1))
    assert (result.verdict, result.output) == ("passed", "ab")
    assert seen[0][0] == encoding
    assert seen[0][2:] == (False, True, False)
    assert seen[1:] == ["write() argument must be str, not bytes", name]


def test_other_threads_still_reach_the_real_streams(capsys: Any, caplog: Any):
    """Only episodes are caught; everybody else's output and log records go where they went before."""
    output = ThreadOutput()
    output.install()
    plain = sys.stdout.write
    with output.caught(Redactor([])) as caught:
        print("inside")
        logging.getLogger("x").error("inside")
        logging.getLogger("x").error("%d", "no number")
    sys.stdout.write("outside\n")
    sys.stdout.flush()
    logging.getLogger("x").error("outside")
    output.install()
    output.uninstall()
    assert sys.stdout.write == plain
    assert caught.text().startswith("inside\nERROR x: inside\n")
    assert [record.getMessage() for record in caplog.records] == ["outside"]
    assert capsys.readouterr().out == "outside\n"
