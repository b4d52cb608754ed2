"""The episodes of one agent that are queued, running, or finished and not yet asked for."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future
from functools import partial
from typing import Final

from pytest_supportbench.episode import Dialogue
from pytest_supportbench.pacing import Pace, Place
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job

AHEAD: Final = 2
"""So many times the window are queued or running, so that it can be refilled in batches before a worker is idle."""

NEAR: Final = 4
"""So many times the window are ahead at most, finished ones included, while items find their results ready: then
reporting is what takes the time, and more results would only lie there."""

FAR: Final = 16
"""So many while an item waits: the results behind a slow head are what memory is spent on, and a head that takes ten
times as long as the others leaves nobody idle."""


class Window:
    """One agent's episodes and the executor that runs them.

    ``width`` is how many run at a time. ``pace`` is what its server bears, shared with others that ask the same one.
    ``stirred`` is set when the awaited episode has ended, and when the window should be refilled.
    """

    def __init__(
        self, width: int, executor: Executor, stirred: threading.Event, pace: Pace | None = None
    ) -> None:
        self.width = width
        self.executor = executor
        self.pace = pace
        self.futures: dict[str, Future[Result]] = {}
        self.jobs: dict[str, Job] = {}
        self.running: dict[str, Dialogue] = {}
        self.places: dict[str, Place] = {}
        self.given_up: list[Future[Result]] = []
        self.awaited = ""
        self._stirred = stirred
        self._unfinished: set[str] = set()
        self._settled: set[str] = set()
        self._lost: set[str] = set()
        self._lock = threading.Lock()

    def low(self, reach: int = FAR) -> bool:
        """Whether it is time for a further batch: there is work for every worker but not much more, and room for it."""
        return len(self._unfinished) <= self.width and len(self.futures) <= self.width * (reach - 1)

    def full(self, reach: int) -> bool:
        """Whether no further episode may be queued; ``reach`` is how many windows may be ahead."""
        return len(self._unfinished) >= self.width * AHEAD or len(self.futures) >= self.width * reach

    def add(self, job: Job, future: Future[Result]) -> None:
        """Take in a job that was given to the executor."""
        self.jobs[job.key] = job
        self.futures[job.key] = future
        self._unfinished.add(job.key)
        future.add_done_callback(partial(self._ended, job.key))

    def _ended(self, key: str, _future: Future[Result]) -> None:
        self._unfinished.discard(key)
        if key == self.awaited or self.low():
            self._stirred.set()

    def settle(self, key: str) -> bool:
        """Tell whether the caller is the first to say how a job ended: its thread, or who gave it up."""
        with self._lock:
            first = key not in self._settled
            self._settled.add(key)
            return first

    def give_up(self, job: Job, result: Result) -> None:
        """Put a result in the place of a call that hangs."""
        hung, given = self.futures[job.key], Future[Result]()
        given.set_result(result)
        self.futures[job.key] = given
        self._lost.add(job.key)
        self._unfinished.discard(job.key)
        # One that ended after all holds no thread, and what came of it nobody wants.
        self.given_up = [*(call for call in self.given_up if not call.done()), hung]
        self.stop(job.key)

    def stop(self, key: str) -> None:
        """Note that an episode runs no more: its conversation and its place at the server are free."""
        self.running.pop(key, None)
        place = self.places.pop(key, None)
        if place is not None:
            place.leave()

    def forget(self, key: str) -> None:
        """Drop a job whose result was fetched."""
        for known in (self.futures, self.jobs, self.running):
            known.pop(key, None)
        with self._lock:
            if key not in self._lost:  # the thread of a call that was given up may still come
                self._settled.discard(key)
