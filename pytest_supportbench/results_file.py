"""The file of a run: appended to as episodes finish, closed with a summary, read back whole or cut."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from json import loads
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic_core import from_json

from pytest_supportbench.errors import UsageError
from pytest_supportbench.gists import with_field
from pytest_supportbench.results import Json, dump, episode_key

Kept: TypeAlias = Callable[[Json], Json | None]
"""What a reader keeps of an episode line."""

_HEAD: Final = 4096
"""So many bytes of a file's first line tell whose it is: the run's id is among the first of them."""


class ResultsFile:
    """Appends lines to one file from any thread and any process of a run.

    Every line is one appending ``write`` that reaches the kernel before the call returns, so lines of several
    processes never mix and a killed run keeps all that finished. Whoever comes first, under a file lock, replaces
    an earlier run's lines by this run's own run line; nothing is created before.
    """

    def __init__(self, path: Path, run_id: str, header: Callable[[], Json]) -> None:
        self.path = path
        self._run_id = run_id
        self._header = header
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._head = b""
        self._closed = False

    def append(self, line: Json) -> None:
        """Append one line; ignored after `close`, when abandoned threads may still finish.

        Raises `UsageError` where the file cannot be written.
        """
        data = dump(line).encode("utf-8", "replace")
        try:
            with self._lock:
                if self._closed:
                    return
                if self._descriptor is None:
                    self._descriptor = self._open()
                self._add(self._descriptor, data)
        except OSError as error:
            msg = (
                f"cannot write the results file {str(self.path)!r}: {error.strerror}; name another path with "
            )
            raise UsageError(msg + "--supportbench-results") from error

    def _add(self, descriptor: int, data: bytes) -> None:
        """Write a line, unless the file was taken away: what nobody will find is not to be taken for kept."""
        with _lock(descriptor):
            os.lseek(
                descriptor, 0, os.SEEK_SET
            )  # for the look at its head: what is written goes to its end anyway
            if _same_file(descriptor, self.path) and os.read(descriptor, len(self._head)) == self._head:
                _write(descriptor, data)
                return
            gone = not self.path.exists()
        what = "is gone: it was deleted" if gone else "is another run's now: it was replaced"
        msg = f"the results file {str(self.path)!r} {what} while this run wrote it, so the run cannot go on"
        raise UsageError(f"{msg}; give each run a path of its own with --supportbench-results")

    def _open(self) -> int:
        """Return a descriptor of the file, which begins with this run's line from here on."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path) as descriptor:
            assert descriptor is not None
            if not belongs_to(self.path, self._run_id):
                os.ftruncate(descriptor, 0)
                _write(descriptor, dump(self._header()).encode("utf-8", "replace"))
            with self.path.open("rb") as file:
                self._head = file.readline(_HEAD)
            return os.dup(descriptor)

    def close(self) -> None:
        """Take no more lines."""
        with self._lock:
            self._closed = True
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None


def belongs_to(path: Path, run_id: str) -> bool:
    """Tell whether a results file holds that run, not an earlier one."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return f'"run":"{run_id}"' in file.readline()


def closing_line(
    path: Path,
    run_id: str,
    *,
    reported: Collection[str],
    verdicts: Sequence[str],
    agents: Sequence[Json],
    exit_status: int,
    stopped_early: bool,
    comparisons: Sequence[Json] = (),
    budget: Json | None = None,
    cassettes: Sequence[Json] = (),
    gate: Json | None = None,
    explanation: Json | None = None,
    skipped: Collection[str] = (),
) -> Json:
    """Return the summary line; episodes in the file that no item reported are listed as unreported.

    ``skipped`` has the scenarios of which an item was skipped, as suite and id with a slash between them.
    """
    counts = {verdict: verdicts.count(verdict) for verdict in ("passed", "failed", "error")}
    return {
        "type": "summary",
        "run": run_id,
        "exit_status": exit_status,
        "stopped_early": stopped_early,
        "episodes": len(verdicts),
        "verdicts": counts,
        "agents": list(agents),
        "comparisons": list(comparisons),
        "budget": budget,
        "cassettes": list(cassettes),
        "gate": gate,
        "explanation": explanation,
        "skipped": sorted(set(skipped)),
        "unreported": sorted(
            episode_key(line)
            for line in lines_of(path)
            if line.get("type") == "episode" and episode_key(line) not in reported
        ),
    }


def write_closing(path: Path, line: Json) -> None:
    """Append the summary line to a finished run's file."""
    with _locked(path) as descriptor:
        assert descriptor is not None
        _write(descriptor, dump(line).encode("utf-8", "replace"))


def lines_of(path: Path) -> Iterator[Json]:
    """Yield the lines of a results file; one that was cut by a kill is left out."""
    return (line for _, line in _numbered(path))


def _numbered(path: Path) -> Iterator[tuple[int, Json]]:
    """Yield the lines with their numbers in the file, from 1."""
    with path.open("rb") as texts:
        for number, text in enumerate(texts, 1):
            line = _parsed(text)
            if isinstance(line, dict):
                yield number, line


def _parsed(text: bytes) -> Any:
    """Return what a line holds, ``None`` where it is no JSON; pydantic's parser takes half the time of Python's.

    Python's takes what that one does not: half a surrogate pair, hundreds of levels, and bytes that are no UTF-8.
    """
    try:
        return from_json(text)
    except ValueError:
        try:
            return loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _locked(path: Path, *, make: bool = True) -> Iterator[int | None]:
    """Yield a descriptor of a file that no other process locks; ``None`` where there is none and ``make`` is false."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | (os.O_CREAT if make else 0), 0o644)
    except FileNotFoundError:
        if make:
            raise
        yield None
        return
    try:
        with _lock(descriptor):
            yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _lock(descriptor: int) -> Iterator[None]:
    """Keep other processes that lock the file out while the block runs."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where appending is atomic enough for one process
    except ImportError:
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        # Said outright, since a duplicate of the descriptor that lives on would hold the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _same_file(descriptor: int, path: Path) -> bool:
    """Tell whether a descriptor is of the file that has that name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@dataclass(frozen=True, slots=True)
class RunFile:
    """A results file as read back. ``complete`` is false where the closing summary is missing.

    ``path`` is the file that was read, to which a pointer led, and ``places`` has the line of each episode in it, from
    1; a run that was put together has neither. The ``episodes`` are whole lines, or what was kept of each.
    """

    run: Json
    episodes: tuple[Json, ...]
    summary: Json | None
    path: Path | None = None
    places: tuple[int, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the run reached its end."""
        return self.summary is not None

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """The scenarios of which an item was skipped, by suite and id, sorted."""
        names = self.summary.get("skipped", ()) if self.summary else ()
        found = (str(name).partition("/") for name in names)
        return tuple(sorted((suite, scenario) for suite, _, scenario in found))


def read_run(path: Path, kept: Kept | None = None) -> RunFile:
    """Read a results file; a line that was cut by a kill is left out.

    Episodes that the summary lists as unreported are marked ``"unreported": true``; a pointer that `point_at` wrote
    is followed. ``kept`` returns what to keep of an episode line, ``None`` for nothing; without it lines are kept
    whole. Raises `ValueError` where the file is no results file.
    """
    lines = _numbered(path)
    first = next(lines, None)
    if first is not None and first[1].get("type") == "pointer":
        return read_run(Path(first[1]["path"]), kept)
    return assembled(lines if first is None else chain([first], lines), path, kept)


def assembled(lines: Iterable[tuple[int, Json]], path: Path, kept: Kept | None = None) -> RunFile:
    """Return the run that the numbered lines of a results file make, of each episode what is ``kept``.

    Raises `ValueError` where none is a run line.
    """
    run: Json | None = None
    episodes: list[Json] = []
    places: list[int] = []
    summary: Json | None = None
    for number, line in lines:
        if line.get("type") == "run":
            run = line
        elif line.get("type") == "episode":
            left = line if kept is None else kept(line)
            if left is not None:
                episodes.append(left)
                places.append(number)
        elif line.get("type") == "summary":
            summary = line
    if run is None:
        msg = f"{path} has no run line; name a file that pytest --supportbench-results wrote"
        raise ValueError(msg)
    return closed(RunFile(run, tuple(episodes), summary, path, tuple(places)), summary)


def closed(run: RunFile, summary: Json | None) -> RunFile:
    """Return a run with that closing line, its unreported episodes marked."""
    unreported = set(summary["unreported"]) if summary else set()
    marked = (
        with_field(line, "unreported", value=True) if episode_key(line) in unreported else line
        for line in run.episodes
    )
    return replace(run, episodes=tuple(marked), summary=summary)
