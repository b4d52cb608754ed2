"""Runs episodes on the workers of a cluster in the place of this process."""

from __future__ import annotations

import hashlib
import pickle
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_supportbench.agents.base import JSON, BaseAgent, LiveAgent
from pytest_supportbench.agents.spec import AgentSpec
from pytest_supportbench.cluster import OPTION, Cluster, ExecutorSpec
from pytest_supportbench.episode import Dialogue, failed_before_start
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.loading import BoundSuite
from pytest_supportbench.protocol import Observation
from pytest_supportbench.records import EpisodeError, Limits
from pytest_supportbench.remote_orders import (
    INSTALLED,
    Answer,
    Assignment,
    Done,
    NoSuite,
    Order,
    Unfit,
    facts,
    fingerprint_id,
    pack,
    pack_case,
)
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scheduler import TooManyHung

MAX_SENT: Final = 3
"""So often an order is sent for want of its suite; a worker that has it may die in between."""


class RemoteAgent(BaseAgent):
    """Stands in this process for an agent that workers ask: what it is, is what they say it is.

    Workers that cannot serve it are left out, whatever there is of them, and ``left_out`` tells why.
    """

    def __init__(self, local: LiveAgent, assignment: Assignment, cluster: Cluster) -> None:
        super().__init__(local.spec, assignment.root)
        self._local = local
        self._assignment = assignment
        self._cluster = cluster
        self._fingerprint: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self._suites: dict[Path, tuple[str, bytes]] = {}
        self._unfit: dict[str, Unfit] = {}
        threads = cluster.threads.values()
        self.window = max(sum(min(count, local.window) for count in threads), 1)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Why workers were left out, in words."""
        return tuple(unfit.problem.message for unfit in self._unfit.values())

    def check(self) -> None:
        """Have a worker make the agent and ask its server. Raises `InfrastructureError` and `UsageError`."""
        done = self._done(Order(self._assignment))
        ours = self._local.fingerprint()
        for name, theirs in done.fingerprint.items():
            if name.endswith("_sha256") and None not in {theirs, ours.get(name)} and theirs != ours[name]:
                msg = f"the worker {done.worker} has another {name.removesuffix('_sha256')} of the agent than is here"
                raise UsageError(f"{OPTION}: {msg}; give it the same files, under the same path")
        self._fingerprint = done.fingerprint

    def fingerprint(self) -> dict[str, JSON]:
        """Return what the agent is on the workers; without any, what is known of it here."""
        return self._local.fingerprint() if self._fingerprint is None else self._fingerprint

    def secrets(self) -> tuple[str, ...]:
        """Return what must not come out of this process; workers blank their own."""
        return self._local.secrets()

    def reply(self, observation: Observation, /) -> Any:
        """Ask the agent here, as a test of the user's own may."""
        return self._local.reply(observation)

    def close(self) -> None:
        """Give back what the agent holds here."""
        self._local.close()

    def episode(self, job: Job) -> Done:
        """Return a finished episode. Raises `InfrastructureError`, `UsageError` and `TooManyHung`."""
        suite_id, _ = self._suite(job.bound.suite)
        order = Order(
            self._assignment,
            fingerprint=fingerprint_id(self._fingerprint or {}),
            suite_id=suite_id,
            case=pack_case(job.bound),
            key=job.key,
            trial=job.trial,
            attempt=job.attempt,
        )
        return self._done(order, job.bound.suite)

    def _suite(self, suite: BoundSuite) -> tuple[str, bytes]:
        """Return a suite as it travels, and what it is called there."""
        with self._lock:
            if suite.path not in self._suites:
                try:
                    data = pickle.dumps(suite)
                except Exception as error:  # noqa: BLE001 - pickling raises what it likes
                    msg = f"{OPTION}: the toolset of the suite {suite.suite.name!r} cannot travel ({error})"
                    raise UsageError(f"{msg}; name it in suite.yaml as module:Class") from None
                self._suites[suite.path] = hashlib.sha256(data).hexdigest(), data
            return self._suites[suite.path]

    def _done(self, order: Order, suite: BoundSuite | None = None) -> Done:
        """Have an order done by a worker that can; each that cannot is asked once."""
        sent = 0
        while True:
            answer: Answer = self._cluster.ask(pack(order), [*self._unfit])
            if isinstance(answer, Done):
                return answer
            if isinstance(answer, NoSuite) and suite is not None and sent < MAX_SENT:
                sent += 1
                order = replace(order, suite=self._suite(suite)[1])
                continue
            assert isinstance(answer, Unfit)
            self._leave_out(answer)

    def _leave_out(self, unfit: Unfit) -> None:
        """Send nothing more to a worker. Raises what it said where no other is left."""
        if unfit.kind == "hung":
            raise TooManyHung(unfit.problem.message)
        with self._lock:
            self._unfit[unfit.worker.partition(" ")[0]] = unfit
            left = [worker for worker in self._cluster.threads if worker not in self._unfit]
        if left:
            return
        problem = unfit.problem
        if unfit.kind == "usage":
            raise UsageError(problem.message)
        raise InfrastructureError(problem.cause, problem.message, problem.remedy)


class RemoteRunner(Runner):
    """Turns the jobs of agents that stand for remote ones into results; all others run here."""

    def run(self, job: Job, begun: Callable[[Dialogue], None] = lambda _: None) -> Result:
        """Run and score one job where its agent is. Raises `UsageError` and `TooManyHung`.

        The clock of an episode is its worker's, which also gives up calls that hang.
        """
        agent = self.agents[job.agent]
        if not isinstance(agent, RemoteAgent):
            return super().run(job, begun)
        problem = self.problem(job.agent)
        if problem is not None:
            return self.result(job, failed_before_start(job.bound, problem))
        try:
            done = agent.episode(job)
        except InfrastructureError as error:
            redactor = self.redactor(job.agent)
            parts = map(redactor.text, (error.message, error.remedy))
            episode = failed_before_start(job.bound, EpisodeError(error.cause, *parts))
            self._health[job.agent].note(episode)
            return self.result(job, episode)
        assert done.episode is not None
        self._health[job.agent].note(done.episode)
        return Result(job.bound, job.agent, job.trial, done.episode, done.score, job.attempt, done.output)


class Remote:
    """Makes the agents of one run that live on a cluster, which is connected when the first one is made."""

    runner = RemoteRunner

    def __init__(
        self,
        executor: ExecutorSpec,
        run: str,
        root: Path,
        limits: Limits,
        customer: AgentSpec | None,
        *,
        alone: bool,
    ) -> None:
        self.cluster = Cluster(executor, run)
        self._common = (run, root, limits, customer, alone)
        self._lock = threading.Lock()
        self._connected = False
        self._problem: UsageError | None = None
        self._agents: dict[str, RemoteAgent] = {}

    def connect(self) -> None:
        """Connect once. Raises `UsageError`, the same one every time."""
        with self._lock:
            if self._problem is not None:
                raise self._problem
            if not self._connected:
                try:
                    self.cluster.connect()
                except UsageError as error:
                    self._problem = error
                    raise
                self._connected = True

    def agent(self, name: str, local: LiveAgent) -> LiveAgent:
        """Return what stands for an agent; one that plays stored replies stays. Raises `UsageError`."""
        if local.spec.kind == "replay":
            return local
        self.connect()
        run, root, limits, customer, alone = self._common
        assignment = Assignment(
            run=run,
            name=name,
            spec=local.spec,
            customer=customer,
            root=root,
            paths=_folders(root),
            limits=limits,
            alone=alone,
            facts=tuple(facts().items()),
        )
        made = self._agents[name] = RemoteAgent(local, assignment, self.cluster)
        return made

    @property
    def left_out(self) -> tuple[str, ...]:
        """Why workers were left out, in words, each reason once."""
        return tuple(dict.fromkeys(text for agent in self._agents.values() for text in agent.left_out))

    def refuse(self, spec: AgentSpec) -> None:
        """Raise `UsageError` for an agent that cannot be on a cluster."""
        refuse_to_travel(spec)

    def close(self) -> None:
        """Leave the cluster at once."""
        self.cluster.close()


def refuse_to_travel(spec: AgentSpec) -> None:
    """Raise `UsageError` for an agent that is an object of this process."""
    if spec.kind in {"registered", "fixture"}:
        what = "a hook registers" if spec.kind == "registered" else "a fixture returns"
        msg = f"{OPTION}: the agent {spec.raw!r} is an object of this process, which {what}; it cannot travel"
        raise UsageError(f"{msg}. Name it as python:module:callable, or leave the executor out")


def _folders(root: Path) -> tuple[str, ...]:
    """Return the folders of the project that are searched for modules, such as those of the ini option pythonpath."""
    return tuple(
        path
        for path in sys.path
        if path and Path(path).is_relative_to(root) and not INSTALLED & {*Path(path).parts}
    )
