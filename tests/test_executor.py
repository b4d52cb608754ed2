"""The thread pool that never holds up the end of a run."""

import subprocess
import sys
import threading
import time

import pytest
from crowd import Crowd

from pytest_supportbench.executor import DaemonExecutor


def test_values_and_errors_belong_to_the_future():
    """Whatever a call returns or raises, SystemExit included, its future has; the thread goes on."""
    executor = DaemonExecutor(1)

    def leave() -> None:
        sys.exit(3)

    assert executor.submit(pow, 2, 3).result(5) == 8
    with pytest.raises(SystemExit):
        executor.submit(leave).result(5)
    with pytest.raises(ZeroDivisionError):
        executor.submit(divmod, 1, 0).result(5)
    assert executor.submit(lambda *, x: x, x=1).result(5) == 1
    executor.shutdown()


def test_calls_wait_where_the_system_gives_no_more_threads(monkeypatch):
    """Nothing is lost, and nothing raised, but where there is no thread at all."""
    start, left = threading.Thread.start, [2]

    def scarce(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", scarce)
    executor = DaemonExecutor(50)
    futures = [executor.submit(time.sleep, 0.01) for _ in range(20)]
    assert [future.result(5) for future in futures] == [None] * 20
    executor.shutdown()

    with pytest.raises(RuntimeError, match="thread"):
        DaemonExecutor(2).submit(print)


def test_no_more_threads_run_than_allowed():
    """The bound holds however much is queued, and threads are made only when needed."""
    executor = DaemonExecutor(3, name="bound")
    crowd = Crowd()

    def work() -> str:
        with crowd:
            time.sleep(0.01)
        return threading.current_thread().name

    names = {future.result(5) for future in [executor.submit(work) for _ in range(12)]}
    assert crowd.most == 3
    assert len(names) == 3
    assert all(name.startswith("bound-") for name in names)
    executor.shutdown()


def test_one_thread_serves_calls_that_come_one_by_one():
    """A pool of eight does not start eight threads for one call at a time."""
    executor = DaemonExecutor(8)
    names = set()
    for _ in range(5):
        names.add(executor.submit(lambda: threading.current_thread().name).result(5))
        time.sleep(0.01)
    assert len(names) == 1
    executor.shutdown()


def test_shutdown_returns_at_once_and_drops_what_has_not_begun():
    """A running call is left alone, a queued one is cancelled, and no more are taken."""
    executor = DaemonExecutor(1)
    gate = threading.Event()
    entered = threading.Event()
    running = executor.submit(lambda: entered.set() or gate.wait(10))
    assert entered.wait(5)
    queued = executor.submit(pow, 1, 1)
    began = time.perf_counter()
    executor.shutdown(wait=False, cancel_futures=True)
    assert time.perf_counter() - began < 1
    assert queued.cancelled()
    with pytest.raises(RuntimeError, match="takes no more calls"):
        executor.submit(pow, 1, 1)
    gate.set()
    assert running.result(5) is True


def test_shutdown_alone_finishes_what_is_queued():
    """Without cancelling, queued calls still run."""
    executor = DaemonExecutor(1)
    futures = [executor.submit(pow, number, 2) for number in range(4)]
    executor.shutdown()
    assert [future.result(5) for future in futures] == [0, 1, 4, 9]


def test_a_cancelled_call_is_skipped():
    """A future that was cancelled before its turn never runs."""
    executor = DaemonExecutor(1)
    gate = threading.Event()
    executor.submit(gate.wait, 10)
    ran: list[int] = []
    cancelled = executor.submit(ran.append, 1)
    assert cancelled.cancel()
    gate.set()
    executor.submit(ran.append, 2).result(5)
    assert ran == [2]
    executor.shutdown()


def test_an_abandoned_call_gives_its_place_to_another_thread_and_ends_with_it():
    """Others go on beside the hung call; when it returns, its thread does not serve as one too many."""
    executor = DaemonExecutor(1)
    gate = threading.Event()
    hung = executor.submit(lambda: (gate.wait(10), threading.current_thread())[1])
    time.sleep(0.02)
    executor.abandon(hung)
    assert executor.submit(pow, 2, 2).result(5) == 4
    gate.set()
    thread = hung.result(5)
    thread.join(5)
    assert not thread.is_alive()
    assert executor.submit(pow, 3, 2).result(5) == 9
    executor.abandon(hung)  # what is done needs no abandoning
    executor.shutdown()
    executor.abandon(hung)


def test_a_hung_thread_does_not_keep_the_process(tmp_path):
    """The interpreter ends though a call is still running."""
    code = (
        "import time; from pytest_supportbench.executor import DaemonExecutor as D\n"
        "D(1).submit(time.sleep, 60)\n"
        "time.sleep(0.2); print('end')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "end\n"
