"""A Dask scheduler and its workers as processes of their own, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SETTINGS = {
    "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False",
    "DASK_LOGGING__DISTRIBUTED": "warning",
}


def wait_for(condition, what: str, seconds: float = 20) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} did not come within {seconds} s"
        time.sleep(0.05)


class DaskProcesses:
    """One scheduler, and as many workers as are started; ``before`` stands in front of every command."""

    def __init__(self, folder: Path, host: str = "127.0.0.1", before: Sequence[str] = (), **settings: str):
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self._environment = {**os.environ, **SETTINGS, **settings}
        file = folder / "scheduler.json"
        self._start("dask_scheduler", before, "--host", host, "--port", "0", "--scheduler-file", str(file))
        wait_for(lambda: file.exists() and file.read_text().endswith("}"), "the scheduler")
        self.address: str = json.loads(file.read_text())["address"]
        self.option = f"--supportbench-executor=dask:{self.address}"

    def worker(self, host: str = "127.0.0.1", before: Sequence[str] = (), threads: int = 2, **settings: str):
        """Start a worker without a nanny, so that a process that is killed stays dead; return the process."""
        args = ("--host", host, "--no-nanny", "--nthreads", str(threads), "--death-timeout", "30")
        return self._start("dask_worker", before, self.address, *args, **settings)

    def _start(self, module: str, before: Sequence[str], *args: str, **settings: str):
        command = [*before, sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", *args]
        with (self.folder / f"{module}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env={**self._environment, **settings}, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many workers are there."""
        from distributed import Client  # noqa: PLC0415 - not before the tests that need it

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=30)

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def cluster(folder: Path, *workers: dict[str, str], **settings: str) -> Iterator[DaskProcesses]:
    """Yield a cluster with a worker for each of the given environments, and end it."""
    made = DaskProcesses(folder, **settings)
    try:
        for environment in workers:
            made.worker(**environment)
        if workers:
            made.wait_for_workers(len(workers))
        yield made
    finally:
        made.close()
