"""What travels between a run and the workers of a cluster, and what a worker does with it.

Nothing here needs Dask: a worker's process calls `work`, whatever brought the order there.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import pickle
import platform
import socket
import sys
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

from pytest_supportbench.agents import make_agent
from pytest_supportbench.agents.spec import AgentSpec
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.event_loops import EventLoops
from pytest_supportbench.loading import BoundScenario, BoundSuite
from pytest_supportbench.records import Episode, EpisodeError, Limits
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scheduler import Scheduler, TooManyHung
from pytest_supportbench.scoring import Score
from pytest_supportbench.secret_values import environment_secrets, option_secrets
from pytest_supportbench.simulated_customer import SimulatedCustomer

MAX_RUNS: Final = 16
"""So many runs' agents are kept in a worker; those of a run that was killed are never given back by it."""

MAX_TEXT: Final = 2_000
"""How many characters are kept of what kept a worker from its work."""

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Folders whose packages are nobody's project, though they may be below one."""

Facts = dict[str, str]


@dataclass(frozen=True, slots=True)
class Assignment:
    """What all orders for one agent of a run have in common.

    ``paths`` are the folders below the root that the run searches for modules. ``alone`` says that a process serves
    no more episodes at a time than the agent can by itself, whatever threads it has. ``facts`` are of the run's side.
    """

    run: str
    name: str
    spec: AgentSpec
    customer: AgentSpec | None
    root: Path
    paths: tuple[str, ...]
    limits: Limits
    alone: bool
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """One episode to run, or with an empty ``case`` an agent to make ready.

    ``case`` is a pickled scenario without its suite, which travels in ``suite`` only where it is not there yet.
    ``fingerprint`` is what the agent must be, empty where any will do.
    """

    assignment: Assignment
    fingerprint: str = ""
    suite_id: str = ""
    suite: bytes = b""
    case: bytes = b""
    key: str = ""
    trial: int = 1
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an order; ``episode`` is ``None`` where only the agent was made ready."""

    worker: str
    fingerprint: dict[str, Any]
    episode: Episode | None = None
    score: Score | None = None
    output: str = ""


@dataclass(frozen=True, slots=True)
class NoSuite:
    """The suite is not in this process yet, so that it must be sent along."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a worker cannot serve an agent. No episode began, so that another worker may take it.

    ``usage`` tells a mistake of the user's from what broke; ``hung`` tells that too many calls hang there.
    """

    worker: str
    problem: EpisodeError
    kind: Literal["usage", "broken", "hung"] = "broken"


Answer = Done | NoSuite | Unfit


def facts() -> Facts:
    """Return what must be the same on both sides, by what it is called in an error."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "python": python,
        "pytest-supportbench": version("pytest-supportbench"),
        "pytest-supportbench's code": _code(),
    }


@functools.cache
def _code() -> str:
    """Return a hash of this package's code, as it was when it was first asked for."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:12]


def differences(ours: Facts, theirs: Facts) -> str:
    """Return in words what differs on a worker, empty where nothing does."""
    return ", ".join(
        f"{name} is {theirs.get(name, 'unknown')} there and {value} here"
        for name, value in ours.items()
        if theirs.get(name) != value
    )


def fingerprint_id(fingerprint: dict[str, Any]) -> str:
    """Return what tells one fingerprint from another."""
    return hashlib.sha256(repr(sorted(fingerprint.items())).encode()).hexdigest()


def pack(order: Order) -> bytes:
    """Return an order as it travels."""
    return pickle.dumps(order)


def work(order: bytes, worker: str, threads: int) -> Answer:
    """Do one order in this process, which has so many threads for it; never raises.

    ``worker`` is what this process is called in messages.
    """
    place = f"{worker} on {socket.gethostname()}"
    try:
        return _site().answer(pickle.loads(order), place, threads)  # noqa: S301 - Dask itself trusts who sends it
    except BaseException as error:  # noqa: BLE001 - whatever it is, the run must hear of it
        text = Redactor(environment_secrets(os.environ)).text(f"{type(error).__name__}: {error}")[:MAX_TEXT]
        remedy = "give every worker the same packages and the project's folder under the same path"
        return Unfit(place, EpisodeError("worker", f"the worker {place} could not begin: {text}", remedy))


def stop(run: str) -> None:
    """Let nothing more of a run be asked here, and give back what its agents hold; returns at once."""
    threading.Thread(target=_site().stop, args=(run,), name="supportbench-stop", daemon=True).start()


class _Bench:
    """The agents of one run in this process; the scheduler gives up calls that hang, as it does in a run's own."""

    def __init__(self, assignment: Assignment) -> None:
        self.hidden = environment_secrets(os.environ)
        self.loops = EventLoops()
        customer = assignment.customer
        self.customer = SimulatedCustomer(customer, assignment.root, self.hidden) if customer else None
        self.limits = assignment.limits
        self.lock = threading.Lock()
        self.seats: dict[str, _Seat] = {}
        self.suites: dict[str, BoundSuite] = {}

    def seat(self, assignment: Assignment, threads: int) -> _Seat:
        """Return where an agent is served, made on first use. Raises `UsageError` without secrets."""
        with self.lock:
            seat = self.seats.get(assignment.name)
            if seat is None:
                try:
                    seat = self.seats[assignment.name] = _Seat(self, assignment, threads)
                except UsageError as error:
                    secrets = (*self.hidden, *option_secrets(assignment.spec.options))
                    raise UsageError(Redactor(secrets).text(str(error))) from None
            return seat

    def close(self) -> None:
        for seat in list(self.seats.values()):
            seat.close()
        self.loops.close()
        if self.customer is not None:
            self.customer.close()


class _Seat:
    """One agent of one run in this process."""

    def __init__(self, bench: _Bench, assignment: Assignment, threads: int) -> None:
        self.name = assignment.name
        self.agent = make_agent(assignment.spec, assignment.root)
        self.runner = Runner(
            {self.name: self.agent},
            bench.limits,
            bench.loops.wait_for,
            secrets=bench.hidden,
            customer=bench.customer,
        )
        width = min(threads, self.agent.window) if assignment.alone else threads
        self.scheduler = Scheduler(self.runner, lambda _: None, concurrency=width)
        self._lock = threading.Lock()
        self._fingerprint: dict[str, Any] | None = None

    def fingerprint(self) -> dict[str, Any]:
        """Return what the agent is here, its server asked once. Raises `InfrastructureError` and `UsageError`."""
        with self._lock:
            if self._fingerprint is None:
                redactor = self.runner.redactor(self.name)
                try:
                    self.agent.check()
                except UsageError as error:
                    raise UsageError(redactor.text(str(error))) from None
                except InfrastructureError as error:
                    parts = map(redactor.text, (error.message, error.remedy))
                    raise InfrastructureError(error.cause, *parts) from None
                self._fingerprint = redactor.reply(self.agent.fingerprint())
            return self._fingerprint

    def close(self) -> None:
        self.scheduler.end_episodes()
        self.scheduler.close()
        self.agent.close()


class _Site:
    """What this process keeps between orders."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Bench] = OrderedDict()
        self._roots: set[Path] = set()
        self._stopped: deque[str] = deque(maxlen=4 * MAX_RUNS)

    def answer(self, order: Order, place: str, threads: int) -> Answer:
        """Do one order."""
        assignment = order.assignment
        if other := differences(dict(assignment.facts), facts()):
            text = f"the worker {place} is not like this run: {other}"
            remedy = "install the same versions there and start the worker anew"
            return Unfit(place, EpisodeError("worker_versions", text, remedy), "usage")
        try:
            bench = self._bench(assignment)
            seat = bench.seat(assignment, threads)
            fingerprint = seat.fingerprint()
        except UsageError as error:
            text = f"the worker {place} cannot have the agent {assignment.name!r}: {error}"
            return Unfit(place, EpisodeError("worker_agent", text), "usage")
        except InfrastructureError as error:
            return Unfit(
                place, EpisodeError(error.cause, f"on the worker {place}: {error.message}", error.remedy)
            )
        if order.fingerprint and fingerprint_id(fingerprint) != order.fingerprint:
            text = f"the agent {assignment.name!r} on the worker {place} is another one than elsewhere: {fingerprint}"
            remedy = "give every worker the same files, models and versions of servers"
            return Unfit(place, EpisodeError("worker_agent", text[:MAX_TEXT], remedy))
        return self._episode(order, bench, seat, Done(place, fingerprint))

    def _episode(self, order: Order, bench: _Bench, seat: _Seat, ready: Done) -> Answer:
        if not order.case:
            return ready
        suite = bench.suites.get(order.suite_id)
        if suite is None:
            if not order.suite:
                return NoSuite()
            suite = bench.suites[order.suite_id] = pickle.loads(order.suite)  # noqa: S301 - as above
        job = Job(order.key, unpack_case(order.case, suite), seat.name, order.trial, order.attempt)
        try:
            result = seat.scheduler.result(job)
        except TooManyHung as error:
            return Unfit(ready.worker, EpisodeError("hung", f"on the worker {ready.worker}: {error}"), "hung")
        return replace(ready, episode=result.episode, score=result.score, output=result.output)

    def _bench(self, assignment: Assignment) -> _Bench:
        with self._lock:
            if assignment.run in self._stopped:
                raise InfrastructureError("stopped", "the run has ended")
            bench = self._runs.get(assignment.run)
            if bench is None:
                self._move_to(assignment.root, assignment.paths)
                bench = self._runs[assignment.run] = _Bench(assignment)
            self._runs.move_to_end(assignment.run)
            old = self._runs.popitem(last=False)[1] if len(self._runs) > MAX_RUNS else None
        if old is not None:
            old.close()
        return bench

    def _move_to(self, root: Path, paths: tuple[str, ...]) -> None:
        """Have modules imported anew from one project: this process outlives changes of it, and may know others."""
        self._roots.add(root)
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and name != "__main__" and self._is_of_a_project(Path(file)):
                del sys.modules[name]
        sys.path[:] = [path for path in sys.path if path and not self._is_of_a_project(Path(path))]
        sys.path.extend(path for path in paths if path not in sys.path and Path(path).is_dir())
        importlib.invalidate_caches()

    def _is_of_a_project(self, path: Path) -> bool:
        """Tell whether a file or folder belongs to a project that was run here, and is not installed."""
        own = Path(__file__).parent
        return (
            any(path.is_relative_to(root) for root in self._roots)
            and not INSTALLED & {*path.parts}
            and not path.is_relative_to(own)
            and not own.is_relative_to(path)
        )

    def stop(self, run: str) -> None:
        """Close a run's agents; orders of it that are still on their way are refused."""
        with self._lock:
            self._stopped.append(run)
            bench = self._runs.pop(run, None)
        if bench is not None:
            bench.close()


@functools.cache
def _site() -> _Site:
    """Return the one of this process, which outlives the orders and the runs."""
    return _Site()


def pack_case(bound: BoundScenario) -> bytes:
    """Return a scenario as it travels: without its suite, which is five times as large."""
    return pickle.dumps((bound.scenario, bound.path, bound.sha256))


def unpack_case(case: bytes, suite: BoundSuite) -> BoundScenario:
    """Return a scenario bound to its suite again."""
    scenario, path, sha256 = pickle.loads(case)  # noqa: S301 - as above
    state = suite.toolset.state_type.model_validate(scenario.state)
    return BoundScenario(scenario, suite, state, path, sha256)
