"""Runs and scores one episode of a live agent, and stops asking an agent whose infrastructure is down."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_supportbench.agents.base import Case, LiveAgent, known_secrets
from pytest_supportbench.agents.kinds import MODEL_KINDS
from pytest_supportbench.agents.scripted import ScriptedAgent
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import (
    Dialogue,
    drive,
    failed_before_start,
    toolset_broke,
)
from pytest_supportbench.errors import (
    CASSETTE_MISS,
    START_AGAIN,
    InfrastructureError,
    ToolsetError,
    UsageError,
)
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.loops import Loops
from pytest_supportbench.protocol import Observation, ToolInfo
from pytest_supportbench.records import Episode, EpisodeError, Limits
from pytest_supportbench.redacted_asks import Shown, redacted, redacted_async
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.results import Result
from pytest_supportbench.scoring import score_episode
from pytest_supportbench.spellings import meaning

if TYPE_CHECKING:
    from pytest_supportbench.simulated_customer import SimulatedCustomer

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

    def __init__(self, agent: LiveAgent, redactor: Callable[[], Redactor]) -> None:
        self._agent = agent
        self._redactor = redactor
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
                except UsageError as error:
                    raise UsageError(self._redactor().text(str(error))) from None
                except InfrastructureError as error:
                    parts = map(self._redactor().text, (error.message, error.remedy))
                    self._stopped = EpisodeError(error.cause, *parts)
                self._checked = True
            return self._stopped

    def note(self, episode: Episode) -> None:
        """Count an episode's outcome; the last of too many equal errors stops the agent."""
        error = episode.error
        with self._lock:
            if error is None or error.cause == CASSETTE_MISS:  # another scenario may well be stored
                self._last, self._in_row = "", 0
                return
            self._in_row = self._in_row + 1 if error.cause == self._last else 1
            self._last = error.cause
            if self._in_row >= MAX_EQUAL_ERRORS and self._stopped is None:
                text = f"not asked any more after {self._in_row} equal errors in a row: {error.message}"
                self._stopped = EpisodeError(error.cause, text, error.remedy)


class WaitFor(Protocol):
    """How a coroutine of an asynchronous agent is run, as `EventLoops.wait_for` does."""

    def __call__(self, agent: str, coroutine: Coroutine[Any, Any, Any], clock: Dialogue, /) -> Any:
        """Return what it returns; raises `TimeoutError` at the limit. Who shares a lost loop is told by ``agent``."""


class Recorder(Protocol):
    """Stands between an episode and its agent, as a cassette does."""

    def wrap(self, case: Case, name: str, agent: LiveAgent, ask: Any) -> Any:
        """Return what replies in the place of ``ask``; a coroutine function where the agent is asynchronous.

        ``name`` is the agent's id in the session. What it returns may raise an infrastructure error of the cause
        `START_AGAIN`. Raises `UsageError` where stored replies cannot be read.
        """


def _refusing(agent: LiveAgent, problem: EpisodeError) -> Any:
    """Return what stands in for an agent that cannot be asked: stored replies may do without it."""

    def refuse(observation: Observation) -> Any:  # noqa: ARG001 - whatever the question
        raise InfrastructureError(problem.cause, problem.message, problem.remedy)

    async def refuse_async(observation: Observation) -> Any:
        return refuse(observation)

    return refuse_async if agent.is_async else refuse


class Runner:
    """Turns jobs into results for a fixed set of agents.

    ``wait_for`` runs the coroutines of asynchronous agents. ``secrets`` are values that must not come out, beside those
    that agents know of. ``recorder`` stores replies and plays stored ones. ``customer`` answers every agent but the one
    that plays the reference, where a script has nothing.
    """

    def __init__(
        self,
        agents: Mapping[str, LiveAgent],
        limits: Limits,
        wait_for: WaitFor | None = None,
        *,
        secrets: tuple[str, ...] = (),
        recorder: Recorder | None = None,
        customer: SimulatedCustomer | None = None,
    ) -> None:
        self.agents: dict[str, LiveAgent] = {}
        self.limits = limits
        self._wait_for = wait_for or Loops().wait_for
        self._secrets = secrets
        self._recorder = recorder
        self._customer = customer
        self._health: dict[str, Health] = {}
        self._redactors: dict[tuple[str, ...], Redactor] = {}
        self._suites: dict[Path, str] = {}
        for name, agent in agents.items():
            self.add(name, agent)

    def add(self, name: str, agent: LiveAgent) -> None:
        """Take one more agent, such as one that a fixture returned.

        What its threads will need is imported here: pytest parses what it imports, and parsing in several threads at
        once breaks Python 3.11.
        """
        if agent.is_async:  # asyncio is slow to import, and few agents need it
            importlib.import_module("pytest_supportbench.event_loops")
        self.agents[name] = agent
        self._health[name] = Health(agent, lambda: self.redactor(name))

    def redactor(self, *agents: str) -> Redactor:
        """Return what blanks the secrets that these agents, or the simulated customer of episodes, could let out."""
        found = self._secrets
        for agent in agents:
            found += known_secrets(self.agents[agent])
        if self._customer is not None:
            found += self._customer.secrets()
        known = self._redactors.get(found)
        if known is None:
            known = self._redactors[found] = Redactor(found)
        return known

    def _replies(self, job: Job, tools: tuple[ToolInfo, ...]) -> Redactor:
        """Return what blanks secrets in replies: not those that the scenario and its suite have in their own texts.

        A header with a team's name, or a key that is an amount, would otherwise change what the agent did.
        """
        redactor = self.redactor(job.agent)
        if not redactor.has_values:
            return redactor
        suite = job.bound.suite
        if suite.path not in self._suites:
            self._suites[suite.path] = meaning(suite.suite.model_dump_json())
        own = meaning(job.bound.scenario.model_dump_json())
        named = meaning(" ".join(tool.model_dump_json() for tool in tools))
        return redactor.beside((self._suites[suite.path], own, named))

    def problem(self, agent: str) -> EpisodeError | None:
        """Return why an agent cannot be asked now; the first call checks its server. Raises `UsageError`."""
        return self._health[agent].problem()

    def run(self, job: Job, begun: Callable[[Dialogue], None] = lambda _: None) -> Result:
        """Run and score one job; infrastructure errors and the agent's failures are values of the result.

        ``begun`` is called where an episode's clock starts, which is after the check of its agent. Raises `UsageError`
        where the agent or the simulated customer is a mistake of the user's.
        """
        health = self._health[job.agent]
        problem = self.problem(job.agent)
        if problem is not None and self._recorder is None:
            return self.result(job, failed_before_start(job.bound, problem))
        episode = self._with_its_loop(job, problem, begun)
        health.note(episode)
        return self.result(job, episode)

    def _with_its_loop(
        self, job: Job, problem: EpisodeError | None, begun: Callable[[Dialogue], None]
    ) -> Episode:
        """Return a finished episode, begun again where its event loop was lost.

        The last attempt is alone on a loop, so that what becomes of that one is the episode's own doing.
        """
        for loop in (job.agent, job.agent, f"{job.agent} {job.key}"):
            episode = self._episode(job, loop, problem, begun)
            if episode.error is None or episode.error.cause != START_AGAIN:
                return episode
            why = episode.error.message
        text = f"{why}, in each of 3 attempts, the last of them alone on its event loop"
        return replace(episode, ending="time_limit", error=None, failure=text)

    def _episode(
        self, job: Job, loop: str, problem: EpisodeError | None, begun: Callable[[Dialogue], None]
    ) -> Episode:
        agent = self.agents[job.agent]
        conversation = Conversation(job.bound, self.limits, opaque_id(job), agent.spec.without)
        customer = None if agent.wants_reference else self._customer
        if customer is not None:
            customer.ready()
        dialogue = Dialogue(conversation, self.limits, simulation=customer)
        replies = self._replies(job, dialogue.tools.infos)
        dialogue.tools.clean = replies.reply
        begun(dialogue)
        if agent.wants_reference:
            return drive(dialogue, ScriptedAgent(job.bound.scenario.reference, agent.spec).reply)
        suite, scenario = job.bound.suite.suite.name, job.bound.scenario.id
        case = Case(suite, scenario, job.trial, dialogue.tools, dialogue.time_left, dialogue)
        ask: Any = agent.asker(case) if problem is None else _refusing(agent, problem)
        if agent.inline:
            return drive(dialogue, ask)
        if agent.is_async:
            ask = redacted_async(ask, replies, self.redactor(job.agent))
        else:
            ask = redacted(ask, replies, self.redactor(job.agent))
        if self._recorder is not None:
            ask = self._recorder.wrap(case, job.agent, Shown(agent, self.redactor(job.agent)), ask)
        if agent.is_async:
            return drive(dialogue, lambda seen: self._wait_for(loop, ask(seen), dialogue))
        return drive(dialogue, ask)

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
