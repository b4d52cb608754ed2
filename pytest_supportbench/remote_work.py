"""What a worker of a cluster does with an order.

Nothing here needs Dask: a worker's process calls `work`, whatever brought the order there.
"""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import socket
import sys
import threading
from collections import OrderedDict, deque
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_supportbench.agents import make_agent
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.event_loops import EventLoops
from pytest_supportbench.loading import BoundSuite
from pytest_supportbench.output import ThreadOutput
from pytest_supportbench.records import EpisodeError
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.remote_orders import (
    INSTALLED,
    Answer,
    Assignment,
    Done,
    NoSuite,
    Order,
    Unfit,
    differences,
    facts,
    fingerprint_id,
    unpack_case,
)
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scheduler import Scheduler, TooManyHung
from pytest_supportbench.secret_values import environment_secrets, option_secrets
from pytest_supportbench.simulated_customer import SimulatedCustomer

MAX_RUNS: Final = 16
"""So many runs' agents are kept in a worker; those of a run that was killed are never given back by it."""

MAX_TEXT: Final = 2_000
"""How many characters are kept of what kept a worker from its work."""


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

    def __init__(self, assignment: Assignment, output: ThreadOutput) -> None:
        self.output = output
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
        self.scheduler = Scheduler(
            self.runner, lambda _: None, concurrency=width, output=bench.output, alone=False
        )
        self._lock = threading.Lock()
        self._fingerprint: dict[str, Any] | None = None

    def fingerprint(self) -> dict[str, Any]:
        """Return what the agent is here, its server asked once. Raises `InfrastructureError` and `UsageError`."""
        with self._lock:
            if self._fingerprint is None:
                problem = self.runner.problem(self.name)
                if problem is not None:
                    raise InfrastructureError(problem.cause, problem.message, problem.remedy)
                self._fingerprint = self.runner.redactor(self.name).reply(self.agent.fingerprint())
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
        self._output = ThreadOutput(lambda: Redactor(environment_secrets(os.environ)))
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
                bench = self._runs[assignment.run] = _Bench(assignment, self._output)
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
        sys.path[:] = [path for path in sys.path if not path or not self._is_of_a_project(Path(path))]
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
