"""Runs episodes ahead of the items that will ask for them, within a bounded window per agent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, wait
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from pytest_supportbench.agents.base import LiveAgent
from pytest_supportbench.episode import Dialogue, agent_crashed
from pytest_supportbench.executor import DaemonExecutor
from pytest_supportbench.output import ThreadOutput
from pytest_supportbench.records import Limits
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

    def __call__(self, max_workers: int, name: str) -> Executor:
        """Return an executor with ``max_workers`` workers; ``name`` is for its threads or jobs."""


class Window:
    """The episodes of one agent that are queued, running, or finished and not yet asked for."""

    def __init__(self, width: int, executor: Executor) -> None:
        self.width = width
        self.executor = executor
        self.futures: dict[str, Future[Result]] = {}
        self.jobs: dict[str, Job] = {}
        self.running: dict[str, Dialogue] = {}
        self.given_up: list[Future[Result]] = []
        self._settled: set[str] = set()
        self._lock = threading.Lock()

    @property
    def full(self) -> bool:
        """Whether no further episode may be queued."""
        return len(self.futures) >= self.width * LOOK_AHEAD

    def settle(self, key: str) -> bool:
        """Tell whether the caller is the first to say how a job ended: its thread, or who gave it up."""
        with self._lock:
            first = key not in self._settled
            self._settled.add(key)
            return first

    def forget(self, key: str) -> None:
        """Drop a job whose result was fetched."""
        for known in (self.futures, self.jobs, self.running):
            known.pop(key, None)


class Scheduler:
    """Hands out results in the order in which items ask, while further episodes run ahead.

    ``record`` is called once for each finished episode, in the thread that ran it. ``concurrency`` overrides every
    agent's own window; ``inline`` runs everything in the caller's thread, as debuggers need it. ``admit`` is called
    before each episode, in the thread that would run it; where it raises, the episode does not start. ``output`` is
    where several schedulers of one process share the routing of streams, which is never taken away then.
    """

    def __init__(
        self,
        runner: Runner,
        record: Callable[[Result], None],
        *,
        concurrency: int | None = None,
        inline: bool = False,
        make_executor: MakeExecutor = DaemonExecutor,
        admit: Callable[[], None] = lambda: None,
        output: ThreadOutput | None = None,
    ) -> None:
        self._runner = runner
        self._record = record
        self._concurrency = concurrency
        self._inline = inline
        self._make_executor = make_executor
        self._admit = admit
        self._windows: dict[str, Window] = {}
        self._opening = threading.Lock()
        self._shares_output = output is not None
        self.output = output or ThreadOutput(lambda: runner.redactor(*runner.agents))

    def runs_inline(self, agent: LiveAgent) -> bool:
        """Tell whether an agent's episodes run in the caller's thread."""
        return self._inline or agent.inline

    @property
    def limits(self) -> Limits:
        """The limits of every episode."""
        return self._runner.limits

    def result(self, job: Job, upcoming: Iterable[Job] = ()) -> Result:
        """Return the result of ``job``, waiting for it if need be, and keep the window filled with ``upcoming``.

        Raises `TooManyHung` where the agent's calls hang again and again, and what ``admit`` raised.
        """
        if self.runs_inline(self._runner.agents[job.agent]):
            self._admit()
            result = self.run_here(job)
            self._record(result)
            return result
        window = self._window(job.agent)
        self._submit(window, job)
        self._fill(upcoming)
        return self._wait(window, job)

    def run_here(self, job: Job) -> Result:
        """Run a job in the caller's thread; what it prints and logs is shown at once, without secrets."""
        if self._runner.agents[job.agent].inline:  # one of ours, which prints nothing
            return self._runner.run(job)
        with self.output.passed_on(self._runner.redactor(job.agent)):
            return self._runner.run(job)

    def _fill(self, upcoming: Iterable[Job]) -> None:
        for job in upcoming:
            if self.runs_inline(self._runner.agents[job.agent]):
                continue
            window = self._window(job.agent)
            if window.full:
                return
            self._submit(window, job)

    def _window(self, agent: str) -> Window:
        with self._opening:
            window = self._windows.get(agent)
            if window is None:
                width = self._concurrency or self._runner.agents[agent].window
                executor = self._make_executor(max_workers=width, name=f"supportbench-{agent}")
                window = self._windows[agent] = Window(width, executor)
            return window

    def _submit(self, window: Window, job: Job) -> None:
        if job.key not in window.futures:
            window.jobs[job.key] = job
            window.futures[job.key] = window.executor.submit(self._run, window, job)

    def _run(self, window: Window, job: Job) -> Result:
        self._admit()
        redactor = self._runner.redactor(job.agent)
        with self.output.caught(redactor) as caught:
            try:
                result = self._runner.run(job, partial(window.running.__setitem__, job.key))
            except Exception:
                raise
            except BaseException as error:  # noqa: BLE001 - it would end the thread
                episode = agent_crashed(job.bound, error)
                result = self._runner.result(job, replace(episode, failure=redactor.text(episode.failure)))
        result = replace(result, output=redactor.text(result.output + caught.text()))
        if window.settle(job.key):
            self._record(result)
        return result

    def _wait(self, window: Window, job: Job) -> Result:
        limit = self.limits.timeout + GRACE
        try:
            while True:
                future = window.futures[job.key]
                dialogue = window.running.get(job.key)  # none while it is queued, or its agent is checked
                left = limit if dialogue is None else limit - dialogue.seconds()
                wait([future], timeout=max(min(left, 1.0), 0.01))
                if future.done():
                    return future.result()
                self._abandon_hung(window, limit)
        finally:
            window.forget(job.key)

    def _abandon_hung(self, window: Window, limit: float) -> None:
        """Give up every call that is past its limit: one that ran ahead may hold the thread that another awaits."""
        for key, dialogue in list(window.running.items()):
            hung = window.futures.get(key)
            if hung is not None and not hung.done() and dialogue.seconds() >= limit and window.settle(key):
                self._abandon(window, window.jobs[key], hung, dialogue)

    def _abandon(self, window: Window, job: Job, hung: Future[Result], dialogue: Dialogue) -> None:
        """Give up a call that cannot be killed: its episode ends as it stands, and what it still does is dropped."""
        result = self._runner.result(job, dialogue.abandoned(job.bound))
        self._record(result)
        given_up: Future[Result] = Future()
        given_up.set_result(result)
        window.futures[job.key] = given_up
        window.given_up.append(hung)
        hanging = sum(not call.done() for call in window.given_up)  # one that ended after all holds no thread
        if isinstance(window.executor, DaemonExecutor):
            window.executor.abandon(hung)
        if hanging >= MAX_ABANDONED:
            msg = (
                f"{hanging} calls of the agent {job.agent!r} hang past the limit of {self.limits.timeout:g} s; "
                "the run stops here. Give the agent a time-out of its own, or raise --supportbench-timeout"
            )
            raise TooManyHung(msg)

    def end_episodes(self) -> None:
        """Let running episodes end at their next reply or call, for where the process goes on without them."""
        for window in self._windows.values():
            for dialogue in list(window.running.values()):
                dialogue.tools.close(0)

    def close(self) -> None:
        """Drop what has not begun and return at once; running calls are left to their daemon threads."""
        for window in self._windows.values():
            window.executor.shutdown(wait=False, cancel_futures=True)
        if not self._shares_output:
            self.output.uninstall()
