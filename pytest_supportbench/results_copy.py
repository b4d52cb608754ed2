"""Results files as commands read and write them: damaged ones are refused with a remedy, new ones appear whole."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import QUESTIONS
from pytest_supportbench.gists import gist
from pytest_supportbench.recount import adds_up, line_row
from pytest_supportbench.results import SCHEMA_VERSION, Json, dump
from pytest_supportbench.results_file import Kept, RunFile, assembled
from pytest_supportbench.sound_scores import contradictions, score_problem
from pytest_supportbench.strict_json import refuse_deep, unique_keys

MAX_BYTES: Final = 2**33
"""Larger results files are refused; an episode takes about 10 kB."""

REMEDY: Final = "name a file that this version's pytest --supportbench-results wrote"


def read_results(path: Path, kept: Kept | None = None) -> RunFile:
    """Return a results file as read back; ``kept`` returns what to keep of an episode line, by default all of it.

    Raises `UsageError` where it cannot be read or is none.
    """
    try:
        lines = _Lines(path)
        numbered = iter(lines)
        first = next(numbered, None)
        if first is not None and first[1].get("type") == "pointer":
            path = Path(first[1]["path"])
            lines = _Lines(path)
            numbered = iter(lines)
        elif first is not None:
            numbered = chain([first], numbered)
        run = assembled(_of_one_run(path, numbered), path, kept)
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror or error}); {REMEDY}"
        raise UsageError(msg) from error
    except ValueError as error:
        msg = f"{path}: is no results file; {REMEDY}"
        raise UsageError(msg) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(str(path), error) from error
    if run.run.get("schema") != SCHEMA_VERSION:
        schema = str(run.run.get("schema"))[:60]
        msg = f"{path}: its schema is {schema}, and this version reads {SCHEMA_VERSION}; {REMEDY}"
        raise UsageError(msg)
    if lines.unread and run.complete:
        raise damaged(str(path), ValueError(lines.unread))
    return run


def read_whole(path: Path, *, scores: bool = True, kept: Kept | None = None) -> RunFile:
    """Return a results file whose lines are those that its closing line counted, if it has one. Raises `UsageError`.

    No line may contradict itself. Without ``scores``, which are to be made anew, it is enough that there are as many.
    """
    run = read_results(path, kept)
    try:
        whole = adds_up(run, scores=scores)
        wrong = next(contradictions(run), "") if scores else ""
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(str(path), error) from error
    if not whole:
        msg = f"{path}: its episodes do not add up to its summary: it was cut or changed; fetch it anew"
        raise UsageError(msg)
    if wrong:
        raise UsageError(f"{path}: {wrong}: it was changed; fetch it anew")
    return run


def read_gists(path: Path) -> RunFile:
    """Return what `read_whole` returns, with the same checks, of episodes that take a fraction of the memory.

    They are enough for `evidence`, and for nothing that reads what was said and done.
    """
    return read_whole(path, kept=partial(gist, questions=(score_problem, line_row, *QUESTIONS)))


def _of_one_run(path: Path, lines: Iterable[tuple[int, Json]]) -> Iterator[tuple[int, Json]]:
    """Yield the lines of a file that holds one run, which begins and ends it. Raises `UsageError`."""
    run: Json | None = None
    ended = 0
    for number, line in lines:
        kind = line.get("type")
        wrong = ""
        if kind == "run" and run is not None:
            wrong = f"line {number} begins another run"
        elif ended:
            wrong = f"line {ended} ends the run"
        elif kind == "summary" and run is not None and line.get("run") != run.get("run"):
            wrong = f"line {number} ends another run"
        if wrong:
            msg = f"{path}: holds more than one run, or lines behind its end ({wrong}); give each run a file of its own"
            raise UsageError(msg)
        if kind == "run":
            run = line
        elif kind == "summary":
            ended = number
        yield number, line


class _Lines:
    """The lines of a file that can be read, with their numbers; ``unread`` says what is wrong with the first other one.

    A run that was killed may have left a line of which a part is missing; then it has no closing line either.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.unread = ""

    def __iter__(self) -> Iterator[tuple[int, Json]]:
        """Read the file once. Raises `OSError`, and `UsageError` for what is no file or too large."""
        path = self._path
        if path.exists() and not path.is_file():
            msg = f"{path}: is no file; {REMEDY}"
            raise UsageError(msg)
        if path.stat().st_size > MAX_BYTES:
            msg = f"{path}: has more than {MAX_BYTES:,} bytes; {REMEDY}"
            raise UsageError(msg)
        with path.open("rb") as file:
            for number, text in enumerate(file, 1):
                try:
                    line = _parsed(text)
                except (ValueError, RecursionError) as error:
                    deep = isinstance(error, RecursionError)
                    why = "it is nested too deeply" if deep else str(error)[:200]
                    self.unread = self.unread or f"line {number} is no JSON object: {why}"
                    continue
                yield number, line


def _parsed(text: bytes) -> Json:
    """Return a line as JSON data. Raises `ValueError`, and `RecursionError` for what is nested too deeply."""
    line = json.loads(text.decode("utf-8"), object_pairs_hook=unique_keys)
    refuse_deep(line)
    if isinstance(line, dict):
        return line
    msg = f"it is {str(line)[:60]!r}"
    raise ValueError(msg)


def damaged(name: str, error: Exception) -> UsageError:
    """Return the error for a file whose lines lack what every line has, or have something else in its place."""
    what = f"a line has no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return UsageError(f"{name}: cannot be read as results: {what[:300]}; {REMEDY}")


def refuse_foreign(path: Path, inputs: Iterable[Path]) -> None:
    """Raise `UsageError` where writing to ``path`` would destroy what is read, or no results file."""
    if not path.exists():
        return
    if any(path.samefile(other) for other in inputs if other.exists()):
        msg = f"{path}: is one of the files to read; name another path with --out"
        raise UsageError(msg)
    start = b""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(16)
    if not path.is_file() or (start and not start.startswith(b'{"type":"run"')):
        msg = f"{path}: exists and is no results file; name another path with --out"
        raise UsageError(msg)


def write_results(path: Path, lines: Iterable[Json], closing: Callable[[Path], Json] | None) -> None:
    """Write a results file whole or not at all; ``closing`` makes its last line from the file of the others.

    Without ``closing`` the file says by that that it is incomplete. Raises `UsageError` where it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
                file.writelines(map(dump, lines))
            if closing is not None:
                last = closing(draft)
                with draft.open("a", encoding="utf-8", errors="replace", newline="\n") as file:
                    file.write(dump(last))
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"{path}: cannot be written ({why}); name another path with --out"
        raise UsageError(msg) from error
