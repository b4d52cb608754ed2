"""A thread pool behind the standard executor interface whose threads never hold up the end of a run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_Work = tuple[Future[Any], Callable[[], Any]]


class DaemonExecutor(Executor):
    """Like ``ThreadPoolExecutor``, with daemon threads: nobody waits for running calls at exit.

    ``abandon`` gives up on a call that hangs and starts another thread in the place of its own. Where the system gives
    no more threads, calls wait for those that there are.
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
        """Queue a call and return its future; raises `RuntimeError` after shutdown, or where no thread can be had."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor is shut down and takes no more calls")
            if self._threads < self._max and self._pending >= self._threads:
                self._start()
            self._pending += 1
            self._queue.put((future, lambda: fn(*args, **kwargs)))
        return future

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=f"{self._name}-{self._threads + 1}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if not self._threads:
                raise
            self._max = self._threads
        else:
            self._threads += 1

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
                    del value  # or it stays here until the next call ends
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
