"""One process that answers lines with lines, bounded in time and size, and ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import psutil

from pytest_supportbench.agents.pipes import CHUNK, read_by_anybody, readiness, there, unread
from pytest_supportbench.agents.process_tree import MARK, killed, sweep
from pytest_supportbench.clock import now

STDERR_CHARS: Final = 20_000
"""How much of the end of a process's standard error is kept."""

SETTLE_SECONDS: Final = 0.01
"""After a line a process is watched this long for another one, which belongs to the same reply."""

_FIRST_LOOK_SECONDS: Final = 0.0001
_POLL_SECONDS: Final = 0.1
_ORPHAN_SECONDS: Final = 0.5
_EXIT_SECONDS: Final = 1.0


class Ended(Exception):  # noqa: N818 - a value for whoever explains it
    """The process ended, or closed a stream, before it answered.

    ``status`` is ``None`` where it had ``closed`` its input or output and ran on. ``untouched`` tells that it had not
    begun to read the request.
    """

    def __init__(self, status: int | None, *, untouched: bool, closed: str = "output") -> None:
        super().__init__(status)
        self.status = status
        self.untouched = untouched
        self.closed = closed


class Flooded(Exception):  # noqa: N818 - a value for whoever explains it
    """The process wrote more than one line may have, or more lines than one; ``data`` is the beginning."""

    def __init__(self, data: bytes, *, lines: bool) -> None:
        super().__init__()
        self.data = data
        self.lines = lines


class Unasked(Exception):  # noqa: N818 - a value for whoever explains it
    """The process wrote ``data`` before it could know what it is asked."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data


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

    ``max_bytes`` bounds a line. ``mark`` goes into the environment of the process and of all that it starts.
    ``episode`` is for whoever asks: the one that was served last. ``cut`` tells that when it answered or ended, it had
    read all of the request but the last character. Raises `OSError` where the program cannot be started.
    """

    def __init__(self, words: Sequence[str], folder: Path, mark: str, max_bytes: int) -> None:
        self.stderr = Tail()
        self.answered = 0
        self.episode: str | None = None
        self.cut = False
        self._mark = mark
        self._max = max_bytes
        self._changed = threading.Condition()
        self._buffer = bytearray()
        self._eof = False
        self._sent = 0
        self._unwritable = False
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
        stream = there(self._popen.stdin)
        with contextlib.suppress(OSError, ValueError):
            while (data := self._outbox.get()) is not None:
                view = memoryview(data)
                while view:
                    written = stream.write(view) or 0
                    self._sent += written
                    view = view[written:]
            return
        self._unwritable = True

    def _read(self) -> None:
        stream = there(self._popen.stdout)
        wait_until_readable = readiness(stream)
        with contextlib.suppress(OSError, ValueError), stream:
            while True:
                early = wait_until_readable()
                with self._changed:
                    # Read under the lock, so that whoever finds the pipe empty has everything in the buffer.
                    data = stream.read(CHUNK) if early is None else early
                    if not data:
                        break
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
        stream = there(self._popen.stderr)
        with contextlib.suppress(OSError, ValueError), stream:
            while data := stream.read(CHUNK):
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

        The last line of a process that ends with status 0 needs no line end. Raises `TimeoutError`, `Ended`, `Flooded`
        and `Unasked`; after each of them the process is good for nothing but `end`.
        """
        self._sent = 0
        size = len(line) - 1
        self._outbox.put(line[:-1])
        try:
            self._wait_until_read(size, time_left)
        except Unasked:
            self.cut = self._taken() == size
            raise
        self._outbox.put(line[-1:] + b"\n")
        with self._changed:
            answer = self._awaited(time_left)
            self.cut = self._taken() == size
            if answer is not None:
                self._changed.wait_for(lambda: self._eof or self._buffer.strip(), SETTLE_SECONDS)
                if self._buffer.strip():
                    raise Flooded(answer + b"\n" + bytes(self._buffer), lines=True)
        if answer is None:
            answer = self._last_line()
        self.answered += 1
        return answer

    def _wait_until_read(self, size: int, time_left: Callable[[], float]) -> None:
        """Wait until the process has read a request without its last character.

        It cannot have answered yet, and before it read on it wrote whatever it had to say to the request before. So no
        line that comes late is taken for the answer to this request. Raises `Unasked` for it, and `Ended` where it has
        closed its input.
        """
        pause = _FIRST_LOOK_SECONDS
        deaf: float | None = None
        while True:
            with self._changed:
                taken = self._sent == size and unread(self._popen.stdin) <= 0
                if taken and unread(self._popen.stdout) > 0:
                    taken = False  # the reader has not come to it yet
                if self._buffer.strip():
                    raise Unasked(self.surplus())
                if taken or self._eof or self.gone:
                    return
            if self._unwritable or not read_by_anybody(self._popen.stdin):
                deaf = deaf or now()  # one that is about to end has its input closed too
                if now() - deaf > _ORPHAN_SECONDS:
                    untouched = self._taken() <= 0
                    self.end()
                    raise Ended(None, untouched=untouched, closed="input")
            if time_left() <= 0:
                raise TimeoutError
            time.sleep(pause)
            pause = min(2 * pause, SETTLE_SECONDS)

    def _taken(self) -> int:
        """Return how many bytes of the request the process has read, as far as the system tells."""
        return self._sent - max(unread(self._popen.stdin), 0)

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
                orphaned = orphaned or now()
                self._eof |= now() - orphaned > _ORPHAN_SECONDS

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
        end = now() + _EXIT_SECONDS
        while not self.gone and now() < end:
            time.sleep(SETTLE_SECONDS)
        ran_on = not self.gone
        untouched = unread(self._popen.stdin) == self._sent
        status = self.end()
        line = self.surplus()
        if ran_on or status != 0 or not line:
            raise Ended(None if ran_on else status, untouched=untouched)
        return line

    def end(self) -> int:
        """Kill the process with all that it started, and return its exit status: its own if it was gone before."""
        with self._ending:
            if self._status is None:
                self._status = killed(self._popen, self._process)
                sweep(self._mark)
                self._outbox.put(None)
                self._stop_reading()
                for thread in self._threads:
                    thread.join(_EXIT_SECONDS)
                with contextlib.suppress(OSError):
                    there(self._popen.stdin).close()
            return self._status
