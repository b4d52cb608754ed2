"""Event loops in daemon threads for asynchronous agents, and who holds them up for how long."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from pytest_supportbench.clock import now
from pytest_supportbench.errors import START_AGAIN, AgentFailure, InfrastructureError
from pytest_supportbench.executor import DaemonExecutor

P = ParamSpec("P")
T = TypeVar("T")

LOOP_THREADS: Final = 32
"""Blocking calls that an asynchronous agent may have running at a time in threads of its event loop."""

CANCEL_SECONDS: Final = 0.5
"""How long a call that was cancelled at its limit may take to clean up, or hold the loop."""

_LOOK_SECONDS: Final = 0.1
_BREATH_SECONDS: Final = 0.001
_STEPS: Final = {
    **dict.fromkeys(("call_soon", "call_soon_threadsafe"), 0),
    **dict.fromkeys(("call_later", "call_at"), 1),
    **dict.fromkeys(("add_reader", "add_writer", "_add_reader", "_add_writer"), 1),
}
"""What a loop takes its steps by, each with how many arguments stand before the callback."""

_CANCELLED: Final = (
    "CancelledError: the agent's own code cancelled the reply; it must not cancel its own task, nor tasks that it "
    "did not start"
)


class Clock(Protocol):
    """The time of one episode."""

    @property
    def limit(self) -> float:
        """How many seconds it may take."""

    def time_left(self) -> float:
        """Return the seconds until its limit."""

    def excuse(self, seconds: float) -> None:
        """Take off seconds in which others kept it waiting."""


class _LoopExecutor(ThreadPoolExecutor):
    """What an event loop takes for its threads; they are daemons, since the standard ones hold up the exit."""

    def __init__(self) -> None:
        super().__init__(1)
        self._daemons = DaemonExecutor(LOOP_THREADS, "supportbench-loop-thread")

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._daemons.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._daemons.shutdown(wait, cancel_futures=cancel_futures)


class _Call:
    """One coroutine that a thread waits for; ``held`` is how long its code held the loop, tasks of its own included."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.ended: Future[Any] = Future()
        self.held = 0.0
        self.task: asyncio.Task[Any] | None = None
        self.over = False


_CALL: Final[ContextVar[_Call | None]] = ContextVar("supportbench_call", default=None)


class _Meter:
    """Measures whose code holds a loop: what runs in the context of a call belongs to it.

    What a call left behind when it ended belongs to its agent: its other calls wait for their own agent there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = 0.0
        self._left_behind: dict[str, float] = {}
        self._holder: tuple[_Call | None, float] | None = None

    def run(self, callback: Callable[..., object], *args: Any) -> None:
        """Run one step of a loop; a step within a step is a part of it."""
        if self._holder is not None:
            callback(*args)
            return
        call, begin = _CALL.get(), now()
        self._holder = call, begin
        try:
            callback(*args)
        finally:
            with self._lock:
                seconds = now() - begin
                self._holder = None
                self._total += seconds
                if call is not None and call.ended.done():
                    self._left_behind[call.agent] = self._left_behind.get(call.agent, 0.0) + seconds
                elif call is not None:
                    call.held += seconds

    def of_others(self, call: _Call) -> float:
        """Return for how long others than ``call`` and its agent have held the loop, the running step included."""
        with self._lock:
            held = self._total - call.held - self._left_behind.get(call.agent, 0.0)
            by, seconds = self.holder()
            own = by is call or (by is not None and by.agent == call.agent and by.ended.done())
            return held if own else held + seconds

    def holder(self) -> tuple[_Call | None, float]:
        """Return whose step runs now, and for how long it has."""
        holder = self._holder
        return (None, 0.0) if holder is None else (holder[0], now() - holder[1])


class _Loop:
    """One event loop in one daemon thread, which goes on whatever the code on it does."""

    def __init__(self, name: str) -> None:
        self.meter = _Meter()
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_LoopExecutor())
        for step, before in _STEPS.items():
            self._measure(step, before)
        self._loop.time = now  # type: ignore[method-assign]  # it must not stand still where the agent stops time
        self._closing = threading.Event()
        threading.Thread(target=self._serve, name=f"supportbench-loop-{name}", daemon=True).start()

    def _measure(self, step: str, before: int) -> None:
        """Have the callbacks run by the meter that come to the loop by this method, if it has it."""
        original = getattr(self._loop, step, None)
        if original is None:
            return

        def metered(*args: Any, **named: Any) -> Any:
            if "callback" in named:
                named["callback"] = partial(self.meter.run, named["callback"])
                return original(*args, **named)
            return original(*args[:before], self.meter.run, *args[before:], **named)

        setattr(self._loop, step, metered)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._closing.is_set() and not self._loop.is_closed():
            # sys.exit or an interrupt in a task comes out here, after whoever waits for it got it; others go on.
            with contextlib.suppress(BaseException):
                self._loop.run_forever()
            self._closing.wait(_BREATH_SECONDS)
        with contextlib.suppress(BaseException):
            self._loop.set_exception_handler(lambda *_: None)  # what is dropped here needs no complaint
            self._loop.close()

    @property
    def gone(self) -> bool:
        """Whether nothing more runs on it."""
        return self._loop.is_closed()

    @property
    def lost(self) -> bool:
        """Whether nothing more may begin on it."""
        return self._closing.is_set() or self.gone

    def begin(self, call: _Call, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Start a call; raises `RuntimeError` where the loop is closed."""

        def start() -> None:
            if call.over:
                coroutine.close()
                return
            try:
                call.task = self._loop.create_task(coroutine)
                call.task.add_done_callback(lambda task: _end(call, task))
            except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
                call.ended.set_exception(error)

        token = _CALL.set(call)
        try:
            self._loop.call_soon_threadsafe(start)
        except RuntimeError:
            coroutine.close()
            raise
        finally:
            _CALL.reset(token)

    def cancel(self, call: _Call) -> None:
        """End a call, as soon as the loop comes to it."""

        def cancel() -> None:
            if call.task is not None:
                call.task.cancel()

        call.over = True
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(cancel)

    def close(self) -> None:
        """Stop it; what still runs on it is dropped."""
        self._closing.set()
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)


def _end(call: _Call, task: asyncio.Task[Any]) -> None:
    if task.cancelled():
        call.ended.set_exception(AgentFailure(_CANCELLED))
    elif (error := task.exception()) is not None:
        call.ended.set_exception(error)
    else:
        call.ended.set_result(task.result())


def _lost(loop: _Loop, clock: Clock) -> InfrastructureError:
    """Put a loop aside, and return what has the episode run again on another one."""
    loop.close()
    return InfrastructureError(
        START_AGAIN, f"the event loop was closed, or blocked for longer than {clock.limit:g} s"
    )


class EventLoops:
    """The event loop that all asynchronous agents of a session share, as clients that they share need it.

    When it is lost, because one call blocks it for good or somebody closed it, each agent goes on with one of its own,
    so that it meets nobody's blocking but its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: _Loop | None = None
        self._own: dict[str, _Loop] = {}

    def wait_for(self, agent: str, coroutine: Coroutine[Any, Any, T], clock: Clock) -> T:
        """Run a coroutine on the agent's loop and return its result to the calling thread.

        What calls that have not ended hold the loop up, or nobody knows who, is excused. Raises `TimeoutError` at the
        limit, and an infrastructure error of the cause `START_AGAIN` where the loop is lost. A call that blocks the
        loop itself past its limit returns when it ends, as any call that cannot be stopped.
        """
        loop, call = self._loop(agent), _Call(agent)
        excused = loop.meter.of_others(call)
        try:
            loop.begin(call, coroutine)
        except RuntimeError:
            raise _lost(loop, clock) from None
        try:
            self._until_ended(loop, call, clock, excused)
        finally:
            if loop.gone and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                coroutine.close()  # it has not begun, and never will
        return call.ended.result()  # type: ignore[no-any-return]

    def _until_ended(self, loop: _Loop, call: _Call, clock: Clock, excused: float) -> None:
        """Wait for a call; ``excused`` is what others had held the loop before."""
        while not call.ended.done():
            wait([call.ended], timeout=min(clock.time_left(), _LOOK_SECONDS))
            held = max(loop.meter.of_others(call), excused)
            clock.excuse(held - excused)
            excused = held
            holder, seconds = loop.meter.holder()
            patience = CANCEL_SECONDS if clock.time_left() > 0 else 0.0
            blocked = holder is not call and seconds > clock.limit + patience
            if not call.ended.done() and (blocked or loop.gone):
                loop.cancel(call)
                raise _lost(loop, clock)
            if clock.time_left() <= 0:
                self._cut(loop, call)

    def _loop(self, agent: str) -> _Loop:
        with self._lock:
            loop = self._own.get(agent, self._shared)
            if loop is None:
                loop = self._shared = _Loop("shared")
            elif loop.lost:
                loop = self._own[agent] = _Loop(agent)
            return loop

    @staticmethod
    def _cut(loop: _Loop, call: _Call) -> None:
        """End a call at its limit. Raises `TimeoutError`, or the `AgentFailure` that says where it was."""
        loop.cancel(call)
        wait([call.ended], timeout=CANCEL_SECONDS)
        while not call.ended.done() and not loop.gone and loop.meter.holder()[0] is call:
            wait([call.ended], timeout=_LOOK_SECONDS)
        if call.ended.done() and call.task is not None and not call.task.cancelled():
            error = call.ended.exception()
            if isinstance(error, AgentFailure):
                raise error
        raise TimeoutError

    def close(self) -> None:
        """Stop all loops; what still runs on them is dropped."""
        with self._lock:
            for loop in (*self._own.values(), *([self._shared] if self._shared else [])):
                loop.close()
            self._own.clear()
