"""Runs and scores one episode of a live agent, and stops asking an agent whose infrastructure is down."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_supportbench.agents.base import LiveAgent
from pytest_supportbench.agents.scripted import ScriptedAgent
from pytest_supportbench.agents.spec import MODEL_KINDS
from pytest_supportbench.conversation import Episode, EpisodeError, Limits
from pytest_supportbench.episode import failed_before_start, run_episode, run_episode_async, toolset_broke
from pytest_supportbench.errors import InfrastructureError, ToolsetError
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.results import Result
from pytest_supportbench.scoring import score_episode

MAX_EQUAL_ERRORS: Final = 5
"""So many equal infrastructure errors in a row stop an agent; more of them would tell nothing new."""


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to run. ``key`` tells attempts at it apart within a session."""

    key: str
    bound: BoundScenario
    agent: str
    trial: int
    attempt: int = 1


def opaque_id(job: Job) -> str:
    """Return what an observation calls its episode: good for correlation, and telling an agent nothing."""
    name = f"{job.agent}/{job.bound.scenario.id}/{job.trial}/{job.attempt}"
    return hashlib.sha256(name.encode()).hexdigest()[:16]


class Health:
    """Whether one agent is worth asking: its check before the first episode, and its errors in a row."""

    def __init__(self, agent: LiveAgent) -> None:
        self._agent = agent
        self._lock = threading.Lock()
        self._checked = False
        self._stopped: EpisodeError | None = None
        self._last = ""
        self._in_row = 0

    def problem(self) -> EpisodeError | None:
        """Return why the agent cannot be asked now; the first call checks its server.

        Raises `UsageError` where the check finds a mistake of the user's, for every job again.
        """
        with self._lock:
            if not self._checked:
                try:
                    self._agent.check()
                except InfrastructureError as error:
                    self._stopped = EpisodeError(error.cause, error.message, error.remedy)
                self._checked = True
            return self._stopped

    def note(self, episode: Episode) -> None:
        """Count an episode's outcome; the last of too many equal errors stops the agent."""
        error = episode.error
        with self._lock:
            if error is None:
                self._last, self._in_row = "", 0
                return
            self._in_row = self._in_row + 1 if error.cause == self._last else 1
            self._last = error.cause
            if self._in_row >= MAX_EQUAL_ERRORS and self._stopped is None:
                text = f"not asked any more after {self._in_row} equal errors in a row: {error.message}"
                self._stopped = EpisodeError(error.cause, text, error.remedy)


def asyncio_run(coroutine: Coroutine[Any, Any, Episode]) -> Episode:
    """Run a coroutine on an event loop of its own."""
    import asyncio  # noqa: PLC0415 - only asynchronous agents pay for the import

    return asyncio.run(coroutine)


class Runner:
    """Turns jobs into results for a fixed set of agents.

    ``wait_for`` runs a coroutine, for asynchronous agents, and returns what it returns: on the session's shared
    event loop, or on one of its own by default.
    """

    def __init__(
        self,
        agents: Mapping[str, LiveAgent],
        limits: Limits,
        wait_for: Callable[[Coroutine[Any, Any, Episode]], Episode] = asyncio_run,
    ) -> None:
        self.agents = dict(agents)
        self.limits = limits
        self._wait_for = wait_for
        self._health = {name: Health(agent) for name, agent in agents.items()}

    def add(self, name: str, agent: LiveAgent) -> None:
        """Take one more agent, such as one that a fixture returned."""
        self.agents[name] = agent
        self._health[name] = Health(agent)

    def problem(self, agent: str) -> EpisodeError | None:
        """Return why an agent cannot be asked now; the first call checks its server. Raises `UsageError`."""
        return self._health[agent].problem()

    def run(self, job: Job) -> Result:
        """Run and score one job; infrastructure errors and the agent's failures are values of the result."""
        health = self._health[job.agent]
        problem = self.problem(job.agent)
        if problem is not None:
            return self.result(job, failed_before_start(job.bound, problem))
        episode = self._episode(job, self.agents[job.agent])
        health.note(episode)
        return self.result(job, episode)

    def _episode(self, job: Job, agent: LiveAgent) -> Episode:
        name = opaque_id(job)
        if agent.wants_reference:
            return run_episode(
                job.bound,
                ScriptedAgent(job.bound.scenario.reference, agent.spec).reply,
                limits=self.limits,
                episode_id=name,
            )
        if agent.is_async:
            return self._wait_for(
                run_episode_async(job.bound, agent.reply, limits=self.limits, episode_id=name)
            )
        return run_episode(job.bound, agent.reply, limits=self.limits, episode_id=name)

    def result(self, job: Job, episode: Episode, output: str = "") -> Result:
        """Return a finished episode scored; one with an error has no score.

        Scoring replays the reference, so that a toolset which breaks there is an error as well.
        """
        score = None
        if episode.ending == "time_limit" and self.agents[job.agent].spec.kind in MODEL_KINDS:
            episode = replace(episode, failure=f"{episode.failure}; raise --supportbench-timeout")
        if episode.error is None:
            try:
                score = score_episode(job.bound, episode)
            except ToolsetError as error:
                episode = replace(episode, ending="error", action=None, error=toolset_broke(error))
        return Result(job.bound, job.agent, job.trial, episode, score, job.attempt, output)
