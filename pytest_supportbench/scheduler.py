"""Runs episodes ahead of the items that will ask for them, within a bounded window per agent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Final, Protocol

from pytest_supportbench.agents.base import LiveAgent
from pytest_supportbench.episode import Dialogue, agent_crashed
from pytest_supportbench.executor import DaemonExecutor
from pytest_supportbench.output import ThreadOutput
from pytest_supportbench.pacing import Borne, Pace
from pytest_supportbench.records import Limits
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.seeking import Seeker
from pytest_supportbench.windows import FAR, NEAR, Window

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


class Scheduler:
    """Hands out results in the order in which items ask, while further episodes run ahead.

    ``record`` is called once for each finished episode, in the thread that ran it. ``concurrency`` overrides every
    agent's own window; ``inline`` runs everything in the caller's thread, as debuggers need it. ``admit`` is called
    before each episode, in the thread that would run it; where it raises, the episode does not start. ``output`` is
    where several schedulers of one process share the routing of streams, which is never taken away then. ``alone`` says
    that no other process of the run asks the agents' servers.
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
        alone: bool = True,
    ) -> None:
        self._runner = runner
        self._record = record
        self._concurrency = concurrency
        self._inline = inline
        self._make_executor = make_executor
        self._admit = admit
        self._alone = alone
        self._windows: dict[str, Window] = {}
        self._opening = threading.Lock()
        self._paces: dict[str, Pace] = {}
        self._stirred = threading.Event()
        self._reach = NEAR
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
        """Return the result of ``job``, waiting for it if need be, and keep the windows filled with ``upcoming``.

        ``upcoming`` may be asked more than once, and gives each time what may run ahead then; jobs of agents that are
        `full` are passed over. Raises `TooManyHung` where the agent's calls hang again and again, and what ``admit``
        raised.
        """
        if self.runs_inline(self._runner.agents[job.agent]):
            self._admit()
            result = self.run_here(job)
            self._record(result)
            return result
        window = self._window(job.agent)
        self._submit(window, job)
        return self._wait(window, job, upcoming)

    def run_here(self, job: Job) -> Result:
        """Run a job in the caller's thread; what it prints and logs is shown at once, without secrets."""
        if self._runner.agents[job.agent].inline:  # one of ours, which prints nothing
            return self._runner.run(job)
        with self.output.passed_on(self._runner.redactor(job.agent)):
            return self._runner.run(job)

    def full(self, agent: str) -> bool:
        """Tell whether no further episode of an agent may run ahead now."""
        if self.runs_inline(self._runner.agents[agent]):
            return True
        return self._window(agent).full(self._reach)

    def _fill(self, upcoming: Iterable[Job], reach: int) -> None:
        """Queue what may run ahead, once a window is low: one at a time would cost a thread switch each."""
        if not any(window.low(reach) for window in self._windows.values()):
            return
        self._reach = reach
        for job in upcoming:
            if not self.full(job.agent):
                self._submit(self._window(job.agent), job)

    def _window(self, agent: str) -> Window:
        with self._opening:
            window = self._windows.get(agent)
            if window is None:
                width = self._concurrency or self._runner.agents[agent].window
                executor = self._make_executor(max_workers=width, name=f"supportbench-{agent}")
                pace = self._pace(self._runner.agents[agent], width)
                window = self._windows[agent] = Window(width, executor, self._stirred, pace)
            return window

    def _pace(self, agent: LiveAgent, width: int) -> Pace | None:
        """Return the pace of an agent's server, which all agents of that server share; the widest window bounds it."""
        if not agent.host:
            return None
        most = min(width, agent.parallel or width)
        pace = self._paces.get(agent.host)
        if pace is None:
            unknown = agent.queues and agent.parallel is None
            pace = Pace(most, Seeker(most) if unknown else None, alone=self._alone)
            self._paces[agent.host] = pace
        pace.widen(most)
        return pace

    def _submit(self, window: Window, job: Job) -> None:
        if job.key not in window.futures:
            window.add(job, window.executor.submit(self._run, window, job))

    def _run(self, window: Window, job: Job) -> Result:
        if window.pace is not None:
            window.places[job.key] = window.pace.enter(job.agent)
        try:
            self._admit()
            return self._run_now(window, job)
        finally:
            window.stop(job.key)

    def _run_now(self, window: Window, job: Job) -> Result:
        def begun(dialogue: Dialogue) -> None:
            window.running[job.key] = dialogue
            dialogue.place = window.places.get(job.key)

        redactor = self._runner.redactor(job.agent)
        with self.output.caught(redactor) as caught:
            try:
                result = self._runner.run(job, begun)
            except Exception:
                raise
            except BaseException as error:  # noqa: BLE001 - it would end the thread
                episode = agent_crashed(job.bound, error)
                result = self._runner.result(job, replace(episode, failure=redactor.text(episode.failure)))
        result = replace(result, output=redactor.text(result.output + caught.text()))
        if window.settle(job.key):
            self._record(result)
        return result

    def _wait(self, window: Window, job: Job, upcoming: Iterable[Job]) -> Result:
        limit = self.limits.timeout + GRACE
        window.awaited = job.key
        try:
            while True:
                self._stirred.clear()
                future = window.futures[job.key]
                done = future.done()
                self._fill(upcoming, NEAR if done else FAR)
                if done:
                    return future.result()
                dialogue = window.running.get(job.key)  # none while it is queued, or its agent is checked
                left = limit if dialogue is None else limit - dialogue.seconds()
                self._stirred.wait(max(min(left, 1.0), 0.01))
                if not future.done():
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
        window.give_up(job, result)
        hanging = len(window.given_up)
        if isinstance(window.executor, DaemonExecutor):
            window.executor.abandon(hung)
        if hanging >= MAX_ABANDONED:
            msg = (
                f"{hanging} calls of the agent {job.agent!r} hang past the limit of {self.limits.timeout:g} s; "
                "the run stops here. Give the agent a time-out of its own, or raise --supportbench-timeout"
            )
            raise TooManyHung(msg)

    def widths(self) -> dict[str, int]:
        """Return how many episodes at a time each agent gets that had any in a window."""
        with self._opening:
            return {agent: window.width for agent, window in self._windows.items()}

    def busy(self) -> dict[str, Borne]:
        """Return what each server bore that refused requests for being busy."""
        with self._opening:
            found = {host: pace.borne() for host, pace in self._paces.items()}
        return {host: borne for host, borne in found.items() if borne.refusals}

    def end_episodes(self) -> None:
        """Let running episodes end at their next reply or call, for where the process goes on without them."""
        for window in self._windows.values():
            for dialogue in list(window.running.values()):
                dialogue.tools.close(0)

    def close(self) -> None:
        """Drop what has not begun and return at once; running calls are left to their daemon threads."""
        for window in self._windows.values():
            window.executor.shutdown(wait=False, cancel_futures=True)
        for pace in self._paces.values():
            pace.close()
        if not self._shares_output:
            self.output.uninstall()
