"""A Dask cluster as a run sees it: connected within seconds, watched, and left at once."""

from __future__ import annotations

import contextlib
import itertools
import re
import socket
import threading
import time
import warnings
from asyncio import CancelledError
from collections.abc import Iterable
from concurrent.futures import CancelledError as FutureCancelled
from dataclasses import dataclass
from typing import Any, Final

from pytest_supportbench.clock import now
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.executor import DaemonExecutor
from pytest_supportbench.remote_orders import Answer, differences, facts
from pytest_supportbench.remote_work import stop, work

OPTION: Final = "--supportbench-executor"
CONNECT_SECONDS: Final = 5.0
LOST_SECONDS: Final = 10.0
"""How long a scheduler may be gone before episodes stop waiting for it."""

LEAVE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 1.0
_ARRIVAL_SECONDS: Final = 0.1
_ADDRESS: Final = re.compile(r"(?:tcp|tls)://(?P<host>\[[^\]]+\]|[^:/?\[\]]+):(?P<port>\d+)")
_EXAMPLE: Final = "dask:tcp://127.0.0.1:8786"


@dataclass(frozen=True, slots=True)
class ExecutorSpec:
    """Where episodes run: the address of a Dask scheduler, and for how many seconds there may be no worker."""

    address: str
    wait: float = 30.0

    @property
    def place(self) -> tuple[str, int]:
        """The host and the port of the address."""
        found = _ADDRESS.fullmatch(self.address)
        assert found is not None
        return found["host"].strip("[]"), int(found["port"])


def parse_executor(text: str) -> ExecutorSpec | None:
    """Return the cluster that an option names, ``None`` for this process. Raises `UsageError`."""
    if text in {"", "local"}:
        return None
    kind, _, rest = text.partition(":")
    address, mark, query = rest.partition("?")
    found = _ADDRESS.fullmatch(address)
    if kind != "dask" or found is None or not 0 < int(found["port"]) < 65536:  # noqa: PLR2004 - ports have 16 bits
        raise UsageError(f"{OPTION}: {text[:80]!r} is no executor; give local, or a scheduler as {_EXAMPLE}")
    if not mark:
        return ExecutorSpec(address)
    wait = re.fullmatch(r"wait=(\d+(?:\.\d+)?)", query)
    if wait is None:
        raise UsageError(
            f"{OPTION}: {query[:60]!r} is no option of an executor; give wait=SECONDS, or drop it"
        )
    return ExecutorSpec(address, float(wait[1]))


class Cluster:
    """The connection of one run to a Dask scheduler. ``connect`` comes first; any thread may ask then."""

    def __init__(self, spec: ExecutorSpec, run: str) -> None:
        self.spec = spec
        self._run = run
        self._client: Any = None
        self._numbers = itertools.count(1)
        self._threads: dict[str, int] = {}
        self._without_workers: float | None = None
        self._without_scheduler: float | None = None
        self._closing = threading.Event()

    def connect(self) -> None:
        """Connect, and refuse workers that are not like this process. Raises `UsageError` within seconds."""
        address = self.spec.address
        try:
            import distributed  # noqa: F401, PLC0415 - heavy, and only such runs have it
        except ImportError as error:
            msg = f"{OPTION}=dask:… needs packages that are not here ({error})"
            raise UsageError(f"{msg}; install them: pip install 'pytest-supportbench[dask]'") from None
        remedy = (
            f"start one (dask scheduler --port {self.spec.place[1]}), or name another address with {OPTION}"
        )
        try:
            with socket.create_connection(self.spec.place, timeout=CONNECT_SECONDS):
                pass
            reaching = DaemonExecutor(1, "supportbench-connect").submit(self._reach)
            self._client, self._threads = reaching.result(timeout=CONNECT_SECONDS + 2)
        except Exception as error:  # noqa: BLE001 - whatever else may answer there
            said = str(error) or type(error).__name__
            raise UsageError(f"{OPTION}: no Dask scheduler answers at {address} ({said}); {remedy}") from None
        self._look()
        while not self._threads and self._without_workers and now() - self._without_workers < self.spec.wait:
            time.sleep(_ARRIVAL_SECONDS)  # a cluster that grows with its work has none to begin with
            self._look()
        self._compare()
        threading.Thread(target=self._watch, name="supportbench-cluster", daemon=True).start()

    def _reach(self) -> tuple[Any, dict[str, int]]:
        """Return a client and what workers there are; what speaks no Dask may hold this up for ever."""
        import distributed  # noqa: PLC0415 - as above

        connect: Any = distributed.Client
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions, among others, which are compared
            client = connect(
                self.spec.address, timeout=CONNECT_SECONDS, set_as_default=False, name="pytest-supportbench"
            )
            return client, client.nthreads()

    def _compare(self) -> None:
        """Raise `UsageError` where workers have other versions than this process, naming both."""
        found: dict[str, Any] = self._client.run(facts, on_error="return")
        wrong = []
        for worker, theirs in sorted(found.items()):
            failed = isinstance(theirs, BaseException)
            other = f"{type(theirs).__name__}: {theirs}" if failed else differences(facts(), theirs)
            if other:
                wrong.append(f"  {worker}: {other}")
        if wrong:
            self.close()
            lines = "\n".join(wrong[:5])
            msg = f"{OPTION}: workers at {self.spec.address} are not like this process\n{lines}"
            raise UsageError(f"{msg}\ninstall the same versions there and start the workers anew")

    def _watch(self) -> None:
        while not self._closing.wait(_LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        """Note what there is, and since when it is not."""
        running = self._client.status == "running"
        if running:
            with contextlib.suppress(Exception):  # the connection may be lost meanwhile; the next look tells
                self._threads = self._client.nthreads()
        self._without_scheduler = None if running else self._without_scheduler or now()
        self._without_workers = None if self._threads else self._without_workers or now()

    @property
    def threads(self) -> dict[str, int]:
        """How many threads each worker has, by its address."""
        return dict(self._threads)

    def _refuse(self) -> None:
        """Raise `InfrastructureError` where waiting has become pointless."""
        address = self.spec.address
        gone, empty = self._without_scheduler, self._without_workers
        if gone is not None and now() - gone >= LOST_SECONDS:
            msg = f"the Dask scheduler at {address} is gone"
            raise InfrastructureError("scheduler_lost", msg, "look at its log, start it anew and run again")
        if empty is not None and now() - empty >= self.spec.wait:
            msg = f"the Dask scheduler at {address} has had no worker for {self.spec.wait:g} s"
            raise InfrastructureError("no_workers", msg, f"start some: dask worker {address}")

    def ask(self, order: bytes, without: Iterable[str] = ()) -> Answer:
        """Have an order done by any worker but some, and return its answer.

        Dask gives it to another worker where one dies over it. Raises `InfrastructureError` where none can do it.
        """
        kept_out = {*without}
        try:
            while True:
                only = self._fit(kept_out)
                key = f"supportbench-{self._run}-{next(self._numbers)}"
                future = self._client.submit(do, order, key=key, pure=False, workers=only or None)
                answer = self._answer(future, only)
                if answer is not None:
                    return answer
        except InfrastructureError:
            raise
        except (CancelledError, FutureCancelled) as error:
            msg = f"the Dask scheduler at {self.spec.address} dropped the episode ({error})"
            raise InfrastructureError("scheduler_lost", msg, "look at its log, and run again") from None
        except Exception as error:  # noqa: BLE001 - Dask raises what a worker's loading raised
            raise _unanswered(error) from None

    def _fit(self, kept_out: set[str]) -> list[str]:
        """Return the workers that may take an order, none where any may; waits for one where only others are left."""
        begin = now()
        while True:
            self._refuse()
            if not kept_out:
                return []
            if only := [worker for worker in self._threads if worker not in kept_out]:
                return only
            if now() - begin >= self.spec.wait:
                address, wait = self.spec.address, self.spec.wait
                msg = f"the Dask scheduler at {address} has had no worker for {wait:g} s that can do this"
                raise InfrastructureError("no_workers", msg, f"start some: dask worker {address}")
            time.sleep(_ARRIVAL_SECONDS)

    def _answer(self, future: Any, only: list[str]) -> Answer | None:
        """Return the answer; ``None`` where the workers that alone may give it are gone, and others may do it anew."""
        while True:
            try:
                answer: Answer = future.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                self._refuse()
                if only and not self._threads.keys() & {*only}:
                    future.cancel()
                    return None
            else:
                return answer

    def close(self) -> None:
        """Drop all that waits, have the workers stop, and return within two seconds whatever they do."""
        self._closing.set()
        client, self._client = self._client, _Left()
        if client is None or isinstance(client, _Left):
            return
        leaving = threading.Thread(target=self._leave, args=(client,), daemon=True)
        leaving.start()
        leaving.join(2 * LEAVE_SECONDS)

    def _leave(self, client: Any) -> None:
        with contextlib.suppress(Exception):
            client.cancel(list(client.futures.values()), force=True)
        if client.status == "running":
            telling = threading.Thread(target=_tell, args=(client, self._run), daemon=True)
            telling.start()
            telling.join(LEAVE_SECONDS / 2)
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            client.close(timeout=LEAVE_SECONDS)


class _Left:
    """Stands for the connection of a run that has ended."""

    status = "closed"

    def submit(self, *_: Any, **__: Any) -> Any:
        raise InfrastructureError("stopped", "the run has ended")


def _tell(client: Any, run: str) -> None:
    with contextlib.suppress(Exception):
        client.run(stop, run, on_error="ignore")


def _unanswered(error: Exception) -> InfrastructureError:
    if type(error).__name__ == "KilledWorker":
        msg = "worker after worker died while it ran this episode, or one beside it"
        remedy = (
            "look at the workers' logs: memory, or an agent that ends its process; "
            "start workers with --nthreads 1 to see which episode it is"
        )
        return InfrastructureError("killed_worker", msg, remedy)
    text = f"a worker could not answer: {type(error).__name__}: {error}"[:500]
    return InfrastructureError("worker", text, "look at the workers' logs")


def do(order: bytes) -> Answer:
    """Do an order in a Dask worker's process."""
    from distributed import get_worker  # noqa: PLC0415 - a worker has it

    worker = get_worker()
    return work(order, worker.address, worker.state.nthreads)
