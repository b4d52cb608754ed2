"""Catches what an episode prints and logs in its own thread; a runner's own capture does not follow threads."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TextIO

from pytest_supportbench.redaction import Redactor

MAX_CHARS: Final = 20_000
"""How much of an episode's output is kept; an agent that floods must not fill the memory."""


_KEPT: Final = ("close", "detach")
"""What would take a stream away from everybody."""


class Caught:
    """The output of one episode: bounded, and written by its own thread alone."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
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


class PassedOn:
    """The output of an episode in an item's own thread: shown as it comes, without secrets.

    A line is held back only while a secret may go on in it.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._lock = threading.RLock()
        self._held: dict[_Write, str] = {}

    def write(self, stream: _Write, text: str) -> None:
        """Show ``text``, or keep it until it is known what follows."""
        with self._lock:
            text = self._held.pop(stream, "") + text
            if len(text) <= MAX_CHARS and self.redactor.goes_on(text):
                self._held[stream] = text
            else:
                stream.original(self.redactor.text(text))

    def close(self) -> None:
        """Show what was held back."""
        with self._lock:
            held, self._held = self._held, {}
        for stream, text in held.items():
            with contextlib.suppress(OSError, ValueError):  # a stream that was closed meanwhile
                stream.original(self.redactor.text(text))


class _Write:
    """Stands for a stream's ``write``: sends an episode's thread to its own buffer and everybody else on."""

    def __init__(self, stream: TextIO, router: ThreadOutput) -> None:
        self.original = stream.write
        self._router = router

    def __call__(self, text: str, /) -> int:
        caught = self._router.current
        if caught is None:
            return self.original(text)
        if not isinstance(text, str):
            msg = f"write() argument must be str, not {type(text).__name__}"
            raise TypeError(msg)
        if isinstance(caught, PassedOn):
            caught.write(self, text)
        else:
            caught.write(text)
        return len(text)


class _Keep:
    """Stands for a stream's ``close`` or ``detach``: an episode cannot take away what all others write to."""

    def __init__(self, original: Callable[[], Any], router: ThreadOutput) -> None:
        self._original = original
        self._router = router

    def __call__(self) -> Any:
        return self._original() if self._router.current is None else None


def _blank(record: logging.LogRecord, redactor: Redactor) -> None:
    """Take the secrets out of a log record's text and traceback."""
    with contextlib.suppress(Exception):  # one that cannot be formatted is for its handlers to refuse
        said = record.getMessage()
        clean = redactor.text(said)
        if clean != said:
            record.msg, record.args = clean, None
    if record.exc_info:
        trace = logging.Formatter().formatException(record.exc_info)
        clean = redactor.text(trace)
        if clean != trace:
            record.exc_text, record.exc_info = clean, None


class _Handler(logging.Handler):
    def __init__(self, router: ThreadOutput) -> None:
        super().__init__()
        self._router = router
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        caught = self._router.current
        if isinstance(caught, Caught):
            try:
                caught.write(f"{self.format(record)}\n")
            except Exception:  # noqa: BLE001 - a log line that cannot be formatted must not break the episode
                self.handleError(record)


class ThreadOutput:
    """Routes standard output, standard error and logging by thread.

    pytest puts one stream or another into ``sys`` between the phases of an item, while episodes print. So it is
    not ``sys`` that is changed but the streams that are seen there, each once: whichever of them is in place when
    an episode prints, it knows whose text it is. `install` is repeated whenever others may have come; it costs
    little where nothing changed, and no stream is touched before the first thread ran. ``redactor`` gives what blanks
    the log records that no episode makes, such as those of an agent's own threads.
    """

    def __init__(self, redactor: Callable[[], Redactor] = lambda: Redactor(())) -> None:
        self._redactor = redactor
        self._current: ContextVar[Caught | PassedOn | None] = ContextVar("supportbench_output", default=None)
        self._active = self._watching = False
        self._starting = threading.Lock()
        self._make_record = logging.getLogRecordFactory()
        self._handler = _Handler(self)
        self._between: tuple[TextIO | None, ...] = ()
        self._streams: list[TextIO] = []
        self._handlers: list[logging.Handler] = []

    @property
    def current(self) -> Caught | PassedOn | None:
        """What takes the output of the calling context's episode, if it runs one; tasks inherit it."""
        return self._current.get()

    def _is_foreign(self, record: logging.LogRecord) -> bool:
        """Filter for other handlers: records of an episode's thread are not theirs."""
        del record
        return not isinstance(self.current, Caught)

    def note_streams(self) -> None:
        """Note the streams that are there between items, so that `install` takes them as well, and blank all logs."""
        self._watch()
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
        for name in _KEPT:
            with contextlib.suppress(AttributeError):  # likewise
                setattr(stream, name, _Keep(getattr(stream, name), self))

    def uninstall(self) -> None:
        """Take the routing away again."""
        self._active = False
        for stream in self._streams:
            for name in ("write", *_KEPT):
                with contextlib.suppress(AttributeError):  # the agent's code may have taken it away
                    delattr(stream, name)
        for handler in self._handlers:
            handler.removeFilter(self._is_foreign)
        self._streams.clear()
        self._handlers.clear()
        logging.getLogger().removeHandler(self._handler)
        self._watching = False
        if logging.getLogRecordFactory() == self._record:
            logging.setLogRecordFactory(self._make_record)

    @contextmanager
    def caught(self, redactor: Redactor) -> Iterator[Caught]:
        """Catch the calling thread's output while the block runs; log records lose their secrets as they are made."""
        caught = Caught(redactor)
        token = self._current.set(caught)
        if not self._active:
            self._start()
        try:
            yield caught
        finally:
            self._current.reset(token)

    @contextmanager
    def passed_on(self, redactor: Redactor) -> Iterator[None]:
        """Take secrets out of what the calling thread prints and logs while the block runs."""
        passed = PassedOn(redactor)
        token = self._current.set(passed)
        self._start()
        try:
            yield
        finally:
            self._current.reset(token)
            passed.close()

    def _start(self) -> None:
        self._active = True
        self._watch()
        self.install()

    def _watch(self) -> None:
        """Make log records without secrets from now on."""
        with self._starting:
            if not self._watching:
                self._watching = True
                self._make_record = logging.getLogRecordFactory()
                logging.setLogRecordFactory(self._record)

    def _record(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        """Make a log record without secrets, whoever logs it: its handlers are anybody's."""
        record = self._make_record(*args, **kwargs)
        current = self.current
        _blank(record, self._redactor() if current is None else current.redactor)
        return record
