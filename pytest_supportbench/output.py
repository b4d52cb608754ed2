"""Catches what an episode prints and logs in its own thread; a runner's own capture does not follow threads."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TextIO

MAX_CHARS: Final = 20_000
"""How much of an episode's output is kept; an agent that floods must not fill the memory."""


class Caught:
    """The output of one episode: bounded, and written by its own thread alone."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._left = MAX_CHARS

    def write(self, text: str) -> None:
        """Keep as much of ``text`` as still fits."""
        if self._left > 0:
            self._parts.append(text[: self._left])
            self._left -= len(text)

    def text(self) -> str:
        """Return what was kept, saying so where something was cut."""
        cut = f"\n[{-self._left:,} more characters were dropped]" if self._left < 0 else ""
        return "".join(self._parts).encode("utf-8", "replace").decode() + cut


class _Write:
    """Stands for a stream's ``write``: sends an episode's thread to its own buffer and everybody else on."""

    def __init__(self, stream: TextIO, router: ThreadOutput) -> None:
        self._write = stream.write
        self._router = router

    def __call__(self, text: str, /) -> int:
        caught = self._router.current
        if caught is None:
            return self._write(text)
        if not isinstance(text, str):
            msg = f"write() argument must be str, not {type(text).__name__}"
            raise TypeError(msg)
        caught.write(text)
        return len(text)


class _Handler(logging.Handler):
    def __init__(self, router: ThreadOutput) -> None:
        super().__init__()
        self._router = router
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        caught = self._router.current
        if caught is not None:
            try:
                caught.write(f"{self.format(record)}\n")
            except Exception:  # noqa: BLE001 - a log line that cannot be formatted must not break the episode
                self.handleError(record)


class ThreadOutput:
    """Routes standard output, standard error and logging by thread.

    pytest puts one stream or another into ``sys`` between the phases of an item, while episodes print. So it is
    not ``sys`` that is changed but the streams that are seen there, each once: whichever of them is in place when
    an episode prints, it knows whose text it is. `install` is repeated whenever others may have come; it costs
    little where nothing changed, and nothing is touched before the first thread ran.
    """

    def __init__(self) -> None:
        self._current: ContextVar[Caught | None] = ContextVar("supportbench_output", default=None)
        self._active = False
        self._handler = _Handler(self)
        self._between: tuple[TextIO | None, ...] = ()
        self._streams: list[TextIO] = []
        self._handlers: list[logging.Handler] = []

    @property
    def current(self) -> Caught | None:
        """The buffer of the calling context's episode, if it runs one; tasks on the event loop inherit it."""
        return self._current.get()

    def _is_foreign(self, record: logging.LogRecord) -> bool:
        """Filter for other handlers: records of an episode's thread are not theirs."""
        del record
        return self.current is None

    def note_streams(self) -> None:
        """Note the streams that are there between items, so that `install` takes them as well."""
        self._between = (sys.stdout, sys.stderr)

    def install(self) -> None:
        """Put the routing in front of the streams and handlers that are there now."""
        if not self._active:
            return
        for stream in {sys.stdout, sys.stderr, *self._between}:
            if stream is not None and not isinstance(getattr(stream, "write", None), _Write):
                self._take(stream)
        root = logging.getLogger()
        if self._handler not in root.handlers:
            root.addHandler(self._handler)
        for handler in root.handlers:
            if handler is not self._handler and self._is_foreign not in handler.filters:
                handler.addFilter(self._is_foreign)
                self._handlers.append(handler)

    def _take(self, stream: TextIO) -> None:
        try:
            stream.write = _Write(stream, self)  # type: ignore[method-assign]
        except AttributeError:
            return  # a stream of somebody's own that cannot be changed shows all text as it comes
        self._streams.append(stream)

    def uninstall(self) -> None:
        """Take the routing away again."""
        self._active = False
        for stream in self._streams:
            del stream.write
        for handler in self._handlers:
            handler.removeFilter(self._is_foreign)
        self._streams.clear()
        self._handlers.clear()
        logging.getLogger().removeHandler(self._handler)

    @contextmanager
    def caught(self) -> Iterator[Caught]:
        """Catch the calling thread's output while the block runs."""
        caught = Caught()
        token = self._current.set(caught)
        if not self._active:
            self._active = True
            self.install()
        try:
            yield caught
        finally:
            self._current.reset(token)
