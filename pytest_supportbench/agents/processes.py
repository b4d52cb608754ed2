"""One process that answers lines with lines, bounded in time and size, and ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final

import psutil

MARK: Final = "SUPPORTBENCH_PROCESS"
"""The environment variable by which processes that left their parent are found again."""

STDERR_CHARS: Final = 20_000
"""How much of the end of a process's standard error is kept."""

SETTLE_SECONDS: Final = 0.01
"""After a line a process is watched this long for another one, which would be taken for the next answer."""

_CHUNK: Final = 65_536
_POLL_SECONDS: Final = 0.1
_ORPHAN_SECONDS: Final = 0.5
_EXIT_SECONDS: Final = 1.0
_END_SECONDS: Final = 5.0
_SWEEPS: Final = 5


class Ended(Exception):  # noqa: N818 - a value for whoever explains it
    """The process ended, or closed its output, before it answered.

    ``status`` is ``None`` where it had closed its output and ran on. ``untouched`` tells that it had not begun to
    read the request.
    """

    def __init__(self, status: int | None, *, untouched: bool) -> None:
        super().__init__(status)
        self.status = status
        self.untouched = untouched


class Flooded(Exception):  # noqa: N818 - a value for whoever explains it
    """The process wrote more than one line may have, or more lines than one; ``data`` is the beginning."""

    def __init__(self, data: bytes, *, lines: bool) -> None:
        super().__init__()
        self.data = data
        self.lines = lines


class Tail:
    """The end of a stream of bytes, for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept = bytearray()
        self._new = 0

    def write(self, data: bytes) -> None:
        """Take more, and drop the beginning of what is too much."""
        with self._lock:
            self._kept += data
            self._new += len(data)
            del self._kept[: max(len(self._kept) - 4 * STDERR_CHARS, 0)]

    def take(self) -> str:
        """Return what came since this was last asked for."""
        with self._lock:
            new, self._new = self._new, 0
            text = self._kept[max(len(self._kept) - new, 0) :].decode("utf-8", "replace")
        return text[-STDERR_CHARS:]

    def end(self, chars: int) -> str:
        """Return the last characters of all that came."""
        with self._lock:
            return self._kept[-4 * chars :].decode("utf-8", "replace")[-chars:]


class LineProcess:
    """A running process with its three streams, each served by a daemon thread of its own.

    ``max_bytes`` bounds a line. ``mark`` goes into the environment of the process and of all that it starts. Raises
    `OSError` where the program cannot be started.
    """

    def __init__(self, words: Sequence[str], folder: Path, mark: str, max_bytes: int) -> None:
        self.stderr = Tail()
        self.answered = 0
        self._mark = mark
        self._max = max_bytes
        self._changed = threading.Condition()
        self._buffer = bytearray()
        self._eof = False
        self._sent = 0
        self._status: int | None = None
        self._ending = threading.Lock()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._popen = subprocess.Popen(  # noqa: S603 - the user's own command, split by us and given to no shell
            words,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, MARK: mark},
            start_new_session=True,
        )
        self._process = psutil.Process(self._popen.pid)
        self._threads = [
            threading.Thread(target=serve, name=f"supportbench-{serve.__name__}", daemon=True)
            for serve in (self._write, self._read, self._drain)
        ]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        stream = _there(self._popen.stdin)
        with contextlib.suppress(OSError, ValueError):
            while (data := self._outbox.get()) is not None:
                view = memoryview(data)
                while view:
                    written = stream.write(view) or 0
                    self._sent += written
                    view = view[written:]

    def _read(self) -> None:
        stream = _there(self._popen.stdout)
        with contextlib.suppress(OSError, ValueError), stream:
            while data := stream.read(_CHUNK):
                with self._changed:
                    self._buffer += data
                    self._changed.notify_all()
                    # Whoever floods has to wait until somebody reads, or ends the process.
                    self._changed.wait_for(lambda: len(self._buffer) <= self._max or self._eof)
                    if self._eof:
                        break
        self._stop_reading()

    def _stop_reading(self) -> None:
        with self._changed:
            self._eof = True
            self._changed.notify_all()

    def _drain(self) -> None:
        stream = _there(self._popen.stderr)
        with contextlib.suppress(OSError, ValueError), stream:
            while data := stream.read(_CHUNK):
                self.stderr.write(data)

    @property
    def gone(self) -> bool:
        """Whether it ended; unlike ``poll`` this leaves its id taken, so that `end` cannot hit another process."""
        if self._status is not None:
            return True
        if not hasattr(os, "killpg"):
            return self._popen.poll() is not None
        try:
            return bool(self._process.status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True

    def surplus(self) -> bytes:
        """Return what the process wrote although nothing was asked."""
        with self._changed:
            return bytes(self._buffer.strip())

    def ask(self, line: bytes, time_left: Callable[[], float]) -> bytes:
        """Send a line and return the line that comes back; blank ones do not count.

        The last line of a process that ends with status 0 needs no line end. Raises `TimeoutError`, `Ended` and
        `Flooded`; after each of them the process is good for nothing but `end`.
        """
        self._sent = 0
        self._outbox.put(line + b"\n")
        with self._changed:
            answer = self._awaited(time_left)
            if answer is not None:
                self._changed.wait_for(lambda: self._eof or self._buffer.strip(), SETTLE_SECONDS)
                if self._buffer.strip():
                    raise Flooded(answer + b"\n" + bytes(self._buffer), lines=True)
        if answer is None:
            answer = self._last_line()
        self.answered += 1
        return answer

    def _awaited(self, time_left: Callable[[], float]) -> bytes | None:
        """Return the next line, or ``None`` at the end of the output."""
        orphaned: float | None = None
        while True:
            line = self._line()
            if line is not None or self._eof:
                return line
            if len(self._buffer) > self._max:
                raise Flooded(bytes(self._buffer), lines=False)
            left = time_left()
            if left <= 0:
                raise TimeoutError
            self._changed.wait(min(left, _POLL_SECONDS))
            if self.gone:
                # Something that it started may hold its output open, and then no end of it ever comes.
                orphaned = orphaned or time.monotonic()
                self._eof |= time.monotonic() - orphaned > _ORPHAN_SECONDS

    def _line(self) -> bytes | None:
        """Take the next line that is not blank out of the buffer."""
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end]).strip()
            del self._buffer[: end + 1]
            self._changed.notify_all()
            if line:
                return line
        return None

    def _last_line(self) -> bytes:
        """Return the line without a line end of a process that ended well."""
        end = time.monotonic() + _EXIT_SECONDS
        while not self.gone and time.monotonic() < end:
            time.sleep(SETTLE_SECONDS)
        ran_on = not self.gone
        untouched = self._unread() == self._sent
        status = self.end()
        line = self.surplus()
        if ran_on or status != 0 or not line:
            raise Ended(None if ran_on else status, untouched=untouched)
        return line

    def _unread(self) -> int:
        """Return how many bytes of the request wait to be read; -1 where the system does not tell."""
        try:
            import fcntl  # noqa: PLC0415 - Windows has none
            import termios  # noqa: PLC0415 - likewise

            found = fcntl.ioctl(_there(self._popen.stdin), termios.FIONREAD, bytes(4))
        except (ImportError, OSError, ValueError):
            return -1
        return int.from_bytes(found, sys.byteorder)

    def end(self) -> int:
        """Kill the process with all that it started, and return its exit status: its own if it was gone before."""
        with self._ending:
            if self._status is None:
                self._status = _killed(self._popen, self._process)
                sweep(self._mark)
                self._outbox.put(None)
                self._stop_reading()
                for thread in self._threads:
                    thread.join(_EXIT_SECONDS)
                with contextlib.suppress(OSError):
                    _there(self._popen.stdin).close()
            return self._status


def _there(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _killed(popen: subprocess.Popen[bytes], process: psutil.Process) -> int:
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
        psutil.wait_procs(found, timeout=_EXIT_SECONDS)


def _mark_of(process: psutil.Process) -> str:
    try:
        return str(process.environ().get(MARK, ""))
    except (psutil.Error, OSError, ValueError):
        return ""
