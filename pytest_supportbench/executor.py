"""A thread pool behind the standard executor interface whose threads never hold up the end of a run."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_Work = tuple[Future[Any], Callable[[], Any]]


class DaemonExecutor(Executor):
    """Like ``ThreadPoolExecutor``, with daemon threads: nobody waits for running calls at exit.

    ``abandon`` gives up on a call that hangs and starts another thread in the place of its own.
    """

    def __init__(self, max_workers: int, name: str = "supportbench") -> None:
        self._name = name
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._max = max_workers
        self._threads = 0
        self._pending = 0
        self._closed = False
        self._abandoned: set[Future[Any]] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call and return its future; raises `RuntimeError` after shutdown."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor is shut down and takes no more calls")
            self._pending += 1
            if self._threads < self._max and self._pending > self._threads:
                self._start()
            self._queue.put((future, lambda: fn(*args, **kwargs)))
        return future

    def _start(self) -> None:
        self._threads += 1
        threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            future, call = item
            if future.set_running_or_notify_cancel():
                try:
                    value = call()
                except BaseException as error:  # noqa: BLE001 - it belongs to whoever asks the future
                    future.set_exception(error)
                else:
                    future.set_result(value)
            with self._lock:
                if future in self._abandoned:
                    self._abandoned.discard(future)
                    return
                self._pending -= 1
            del future, call, item

    def abandon(self, future: Future[Any]) -> None:
        """Replace the thread that runs a call which hangs; the old one ends with its call, if it ever does."""
        with self._lock:
            if not self._closed and not future.done():
                self._abandoned.add(future)
                self._pending -= 1
                self._threads -= 1
                self._start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - never waits
        """Take no more calls and return at once; with ``cancel_futures`` drop those that have not begun."""
        with self._lock:
            self._closed = True
            threads = self._threads
        if cancel_futures:
            while True:
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
                if item is not None:
                    item[0].cancel()
        for _ in range(threads):
            self._queue.put(None)


LOOP_THREADS: Final = 32
"""Blocking calls that asynchronous agents may have running at a time in threads of the event loop."""


class _LoopExecutor(ThreadPoolExecutor):
    """What an event loop takes for its threads; they are daemons, since the standard ones hold up the exit."""

    def __init__(self) -> None:
        super().__init__(1)
        self._daemons = DaemonExecutor(LOOP_THREADS, "supportbench-loop-thread")

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._daemons.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._daemons.shutdown(wait, cancel_futures=cancel_futures)


class EventLoopThread:
    """One event loop in one daemon thread, shared by all asynchronous agents of a session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return its result to the calling thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_default_executor(_LoopExecutor())
                threading.Thread(
                    target=self._serve, args=(self._loop,), name="supportbench-loop", daemon=True
                ).start()
            return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            while True:
                try:
                    loop.run_forever()
                except (
                    SystemExit
                ):  # sys.exit in a task of an agent's: whoever awaits it gets it, others go on
                    continue
                break
        finally:
            loop.close()

    def close(self) -> None:
        """Stop the loop; what still runs on it is dropped."""
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None
