"""Event loops in daemon threads, one for each asynchronous agent, and who holds them up for how long."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
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

    def __init__(self) -> None:
        self.ended: Future[Any] = Future()
        self.held = 0.0
        self.task: asyncio.Task[Any] | None = None
        self.over = False


_CALL: Final[ContextVar[_Call | None]] = ContextVar("supportbench_call", default=None)


class _Meter:
    """Measures whose code holds a loop: what runs in the context of a call belongs to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = 0.0
        self._holder: tuple[_Call | None, float] | None = None

    def run(self, callback: Callable[..., object], *args: Any) -> None:
        """Run one step of a loop."""
        call, begin = _CALL.get(), now()
        before, self._holder = self._holder, (call, begin)
        try:
            callback(*args)
        finally:
            with self._lock:
                seconds = now() - begin
                self._holder = before
                self._total += seconds
                if call is not None:
                    call.held += seconds

    def of_others(self, call: _Call) -> float:
        """Return for how long others than ``call`` have held the loop, the running step included."""
        with self._lock:
            held = self._total - call.held
            holder = self._holder
            return held if holder is None or holder[0] is call else held + now() - holder[1]

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
        call_soon = self._loop.call_soon

        def metered(callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
            return call_soon(self.meter.run, callback, *args, context=context)

        self._loop.call_soon = metered  # type: ignore[assignment]  # every step of a task goes through it
        self._loop.time = now  # type: ignore[method-assign]  # it must not stand still where the agent stops time
        self._closing = threading.Event()
        threading.Thread(target=self._serve, name=f"supportbench-loop-{name}", daemon=True).start()

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


class EventLoops:
    """The event loops of a session's asynchronous agents, so that none of them can hold up another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loops: dict[str, _Loop] = {}

    def wait_for(self, agent: str, coroutine: Coroutine[Any, Any, T], clock: Clock) -> T:
        """Run a coroutine on the agent's loop and return its result to the calling thread.

        What other calls of the agent hold the loop up is excused. Raises `TimeoutError` at the limit, and an
        infrastructure error of the cause `START_AGAIN` where the loop is lost to another call. A call that blocks the
        loop itself past its limit returns when it ends, as any call that cannot be stopped.
        """
        loop, call = self._loop(agent), _Call()
        excused = loop.meter.of_others(call)
        try:
            loop.begin(call, coroutine)
        except RuntimeError:
            raise self._lost(agent, loop) from None
        while not call.ended.done():
            wait([call.ended], timeout=min(clock.time_left(), _LOOK_SECONDS))
            held = loop.meter.of_others(call)
            clock.excuse(held - excused)
            excused = held
            holder, seconds = loop.meter.holder()
            blocked = holder is not call and seconds > clock.limit + CANCEL_SECONDS
            if not call.ended.done() and (blocked or loop.gone):
                loop.cancel(call)
                raise self._lost(agent, loop)
            if clock.time_left() <= 0:
                self._cut(loop, call)
        return call.ended.result()  # type: ignore[no-any-return]

    def _loop(self, agent: str) -> _Loop:
        with self._lock:
            loop = self._loops.get(agent)
            if loop is None or loop.gone:
                loop = self._loops[agent] = _Loop(agent)
            return loop

    def _lost(self, agent: str, loop: _Loop) -> InfrastructureError:
        """Put a loop aside, and return what has the episode run again on another one."""
        with self._lock:
            if self._loops.get(agent) is loop:
                del self._loops[agent]
        loop.close()
        return InfrastructureError(START_AGAIN, "another episode of the agent blocked the event loop")

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
            for loop in self._loops.values():
                loop.close()
            self._loops.clear()
