"""One child process, measured by the kernel: wall and CPU seconds, and peak memory, those of its own children included.

On Linux a child's peak is at least what its parent held when it began, so the measuring process keeps itself small:
it loads no package under test and makes its data in children as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
INSTALL: Final = ("-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check")
"""What a Python is given before the names of packages that it should install."""
_DROPPED: Final = {
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTEST_ADDOPTS",
    "PYTHONPATH",
    "VIRTUAL_ENV",
}
_TAIL: Final = 4_000


@dataclass(frozen=True, slots=True)
class Run:
    """How a child did: ``seconds`` of wall time, ``cpu`` seconds, ``peak_mb`` (of 10^6 bytes), and its output's end.

    ``began`` is the wall clock, as `time.time` has it; ``extra`` is one more figure where somebody took one.
    """

    seconds: float
    cpu: float
    peak_mb: float
    status: int
    tail: str
    began: float = 0.0
    extra: float = 0.0

    def last_line(self) -> str:
        """Return the last line that it wrote, which of a traceback is the error."""
        lines = [line.strip() for line in self.tail.splitlines() if line.strip()]
        return lines[-1][:300] if lines else f"exit status {self.status}"


def surroundings(**more: str) -> dict[str, str]:
    """Return the environment of children: bytecode is cached, no options come from outside."""
    return {name: value for name, value in os.environ.items() if name not in _DROPPED} | more


def run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None, limit: float = 1_800.0
) -> Run:
    """Run a command in a folder to its end, and kill it with its children after ``limit`` seconds.

    Raises `OSError` if it cannot be started.
    """
    with tempfile.TemporaryFile() as output:
        began, begin = time.time(), time.perf_counter()
        child = subprocess.Popen(  # noqa: S603 - our own commands
            command,
            cwd=folder,
            env=surroundings() if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        watch = threading.Timer(limit, _kill, [child.pid])
        watch.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:  # Ctrl-C reaches the child's own session only through us
            _kill(child.pid)
            raise
        finally:
            watch.cancel()
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL))
        tail = output.read().decode("utf-8", "replace")
    unit = 1 if sys.platform == "darwin" else 1024
    peak = used.ru_maxrss * unit / 1e6
    return Run(seconds, used.ru_utime + used.ru_stime, peak, child.returncode, tail, began)


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:  # it ended just now
        return
