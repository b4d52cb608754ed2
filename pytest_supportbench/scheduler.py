"""Runs episodes ahead of the items that will ask for them, within a bounded window per agent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Final, Protocol

from pytest_supportbench.agents.base import LiveAgent
from pytest_supportbench.conversation import Limits
from pytest_supportbench.episode import agent_crashed, out_of_time
from pytest_supportbench.executor import DaemonExecutor
from pytest_supportbench.output import ThreadOutput
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner

LOOK_AHEAD: Final = 4
"""So many times the window may be queued or finished and unread: enough that a slow head starves nobody."""

MAX_ABANDONED: Final = 5
"""So many hung calls are given up before the run stops: each holds a thread that cannot be killed."""

GRACE: Final = 1.0
"""Seconds that a call may outlast its episode's limit before it counts as hung."""


class TooManyHung(Exception):  # noqa: N818 - named after the condition
    """So many calls of the agent hang that going on would only pile up threads."""


class MakeExecutor(Protocol):
    """How a window's executor is made: any `concurrent.futures.Executor` with that many workers will do."""

    def __call__(self, max_workers: int, name: str) -> Executor: ...


class Window:
    """The episodes of one agent that are queued, running, or finished and not yet asked for."""

    def __init__(self, width: int, executor: Executor) -> None:
        self.width = width
        self.executor = executor
        self.futures: dict[str, Future[Result]] = {}
        self.started: dict[str, float] = {}
        self.abandoned: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether no further episode may be queued."""
        return len(self.futures) >= self.width * LOOK_AHEAD


class Scheduler:
    """Hands out results in the order in which items ask, while further episodes run ahead.

    ``record`` is called once for each finished episode, in the thread that ran it. ``concurrency`` overrides every
    agent's own window; ``inline`` runs everything in the caller's thread, as debuggers need it.
    """

    def __init__(
        self,
        runner: Runner,
        record: Callable[[Result], None],
        *,
        concurrency: int | None = None,
        inline: bool = False,
        make_executor: MakeExecutor = DaemonExecutor,
    ) -> None:
        self._runner = runner
        self._record = record
        self._concurrency = concurrency
        self._inline = inline
        self._make_executor = make_executor
        self._windows: dict[str, Window] = {}
        self._hung = 0
        self.output = ThreadOutput()

    def runs_inline(self, agent: LiveAgent) -> bool:
        """Tell whether an agent's episodes run in the caller's thread."""
        return self._inline or agent.inline

    @property
    def limits(self) -> Limits:
        """The limits of every episode."""
        return self._runner.limits

    def result(self, job: Job, upcoming: Iterable[Job] = ()) -> Result:
        """Return the result of ``job``, waiting for it if need be, and keep the window filled with ``upcoming``.

        Raises `TooManyHung` where the agent's calls hang again and again.
        """
        if self.runs_inline(self._runner.agents[job.agent]):
            result = self._runner.run(job)
            self._record(result)
            return result
        window = self._window(job.agent)
        self._submit(window, job)
        self._fill(upcoming)
        return self._wait(window, job)

    def _fill(self, upcoming: Iterable[Job]) -> None:
        for job in upcoming:
            if self.runs_inline(self._runner.agents[job.agent]):
                continue
            window = self._window(job.agent)
            if window.full:
                return
            self._submit(window, job)

    def _window(self, agent: str) -> Window:
        window = self._windows.get(agent)
        if window is None:
            width = self._concurrency or self._runner.agents[agent].window
            executor = self._make_executor(max_workers=width, name=f"supportbench-{agent}")
            window = self._windows[agent] = Window(width, executor)
        return window

    def _submit(self, window: Window, job: Job) -> None:
        if job.key not in window.futures:
            window.futures[job.key] = window.executor.submit(self._run, window, job)

    def _run(self, window: Window, job: Job) -> Result:
        window.started[job.key] = time.perf_counter()
        with self.output.caught() as caught:
            try:
                result = self._runner.run(job)
            except BaseException as error:  # noqa: BLE001 - such as SystemExit from the agent's own code
                result = self._runner.result(job, agent_crashed(job.bound, error))
        text = caught.text()
        if text:
            result = self._runner.result(job, result.episode, text)
        if job.key not in window.abandoned:
            self._record(result)
        return result

    def _wait(self, window: Window, job: Job) -> Result:
        future = window.futures[job.key]
        limit = self.limits.timeout + GRACE
        while True:
            started = window.started.get(job.key)
            left = limit if started is None else started + limit - time.perf_counter()
            try:
                result = future.result(timeout=max(min(left, 1.0), 0.01))
            except FutureTimeoutError:
                if future.done() or started is None or left > 0:
                    continue
                return self._abandon(window, job, time.perf_counter() - started)
            del window.futures[job.key]
            window.started.pop(job.key, None)
            return result

    def _abandon(self, window: Window, job: Job, seconds: float) -> Result:
        """Give up a call that cannot be killed: its episode failed, and whatever it still does is dropped."""
        window.abandoned.add(job.key)
        del window.futures[job.key]
        result = self._runner.result(job, out_of_time(job.bound, self.limits, seconds))
        self._record(result)
        self._hung += 1
        if isinstance(window.executor, DaemonExecutor):
            window.executor.abandon()
        if self._hung >= MAX_ABANDONED:
            msg = (
                f"{self._hung} calls of the agent {job.agent!r} hang past the limit of {self.limits.timeout:g} s; "
                "the run stops here. Give the agent a time-out of its own, or raise --supportbench-timeout"
            )
            raise TooManyHung(msg)
        return result

    def close(self) -> None:
        """Drop what has not begun and return at once; running calls are left to their daemon threads."""
        for window in self._windows.values():
            window.executor.shutdown(wait=False, cancel_futures=True)
        self.output.uninstall()
