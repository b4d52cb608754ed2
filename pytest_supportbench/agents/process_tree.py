"""Ends a process with all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Final

import psutil

from pytest_supportbench.clock import now

MARK: Final = "SUPPORTBENCH_PROCESS"
"""The environment variable by which processes that left their parent are found again."""

_END_SECONDS: Final = 5.0
_GONE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.01
_SWEEPS: Final = 5


def killed(popen: subprocess.Popen[bytes], process: psutil.Process) -> int:
    """Kill a process that nobody waited for yet, its group and its descendants; return its exit status."""
    family: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        family = process.children(recursive=True)
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(popen.pid, signal.SIGKILL)
    popen.kill()
    for member in family:
        with contextlib.suppress(psutil.Error):
            member.kill()
    try:
        return popen.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        return -int(signal.SIGTERM)


def sweep(mark: str) -> None:
    """Kill every process whose mark begins so, such as one that left its parent and its session."""
    for _ in range(_SWEEPS):
        found = [process for process in psutil.process_iter() if _mark_of(process).startswith(mark)]
        if not found:
            return
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        end = now() + _GONE_SECONDS
        while now() < end and any(map(_runs, found)):
            time.sleep(_LOOK_SECONDS)


def _runs(process: psutil.Process) -> bool:
    """Tell whether a process still runs; one that only waits to be taken note of, by whoever it is, does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _mark_of(process: psutil.Process) -> str:
    try:
        return str(process.environ().get(MARK, ""))
    except (psutil.Error, OSError, ValueError):
        return ""
