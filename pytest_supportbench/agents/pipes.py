"""What the system tells of a pipe to a process."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from typing import IO, Final

CHUNK: Final = 65_536


def there(stream: IO[bytes] | None) -> IO[bytes]:
    """Return a pipe that was asked for when the process was started."""
    assert stream is not None
    return stream


def unread(pipe: IO[bytes] | None) -> int:
    """Return how many bytes in a pipe nobody has read yet; -1 where the system does not tell."""
    try:
        import fcntl  # noqa: PLC0415 - Windows has none
        import termios  # noqa: PLC0415 - likewise

        found = fcntl.ioctl(there(pipe), termios.FIONREAD, bytes(4))
    except (ImportError, OSError, ValueError):
        return -1
    return int.from_bytes(found, sys.byteorder)


def read_by_anybody(pipe: IO[bytes] | None) -> bool:
    """Tell whether somebody may still read what is written into a pipe; also where the system does not tell."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(there(pipe), 0)
    return not poll.poll(0)


def readiness(pipe: IO[bytes]) -> Callable[[], bytes | None]:
    """Return what waits until a pipe can be read; where the system cannot wait, it reads and returns what came."""
    if not hasattr(select, "poll"):
        return lambda: pipe.read(CHUNK)
    poll = select.poll()
    poll.register(pipe, select.POLLIN)

    def wait() -> None:
        poll.poll()

    return wait
