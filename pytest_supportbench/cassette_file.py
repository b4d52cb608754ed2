"""One scenario's file in a cassette: how it is read, checked and written, by several processes at once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from json import dumps, loads
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from pytest_supportbench.errors import UsageError
from pytest_supportbench.protocol import Frozen, ToolEntry, Turn, Unreadable, Usage
from pytest_supportbench.strict_json import refuse_deep, unique_keys

MAX_BYTES: Final = 20_000_000
"""A file with hundreds of trials takes less; a larger one is no cassette and is not read."""

MAX_TURNS: Final = 1_000
MAX_FAILURE: Final = 2_000

REMEDY: Final = "restore the file, or delete it and record again"

_DEVICES: Final = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
"""What Windows takes for no file."""

M = TypeVar("M", bound=BaseModel)

_WRITING: Final = threading.Lock()


VERSION: Final = 2
"""2: calls say which message of a model they stood in."""


class StoredCall(ToolEntry):
    """A call on the way to a reply, with what came back; ``step`` numbers the messages of text ``draft``."""

    step: Annotated[int, Field(ge=1)] | None = None
    draft: str = ""


class StoredReply(Frozen):
    """One reply as the episode took it: a turn, an invalid reply, or the failure of the agent itself.

    ``seen`` holds what the transcript gained since the turn before, ``calls`` the tools that the agent called while
    it worked on the reply, with what came back. ``step`` and ``draft`` are those of the message that decides.
    """

    turns_left: int
    seen: tuple[dict[str, Any], ...] = ()
    calls: tuple[StoredCall, ...] = ()
    step: Annotated[int, Field(ge=1)] | None = None
    draft: str = ""
    turn: Turn | None = None
    invalid: Unreadable | None = None
    failed: Annotated[str, Field(max_length=MAX_FAILURE)] | None = None
    usage: Usage | None = None

    @model_validator(mode="after")
    def _one_of(self) -> StoredReply:
        if sum(value is not None for value in (self.turn, self.invalid, self.failed)) != 1:
            msg = "a reply has exactly one of turn, invalid and failed"
            raise ValueError(msg)
        return self


class StoredTrial(Frozen):
    """The replies of one trial, in order. ``opening`` names what the agent saw at first, ``digests`` who answered."""

    opening: str
    digests: dict[str, str]
    replies: Annotated[tuple[StoredReply, ...], Field(max_length=MAX_TURNS)]


class Tape(Frozen):
    """All that is stored of one agent's replies in one scenario.

    ``openings`` holds by a short name what trials saw at first, once where it is the same; ``trials`` is by number.
    """

    cassette: Literal[2] = VERSION
    suite: str
    scenario: str
    openings: dict[str, dict[str, Any]]
    trials: dict[Annotated[str, Field(pattern=r"^[1-9][0-9]{0,5}$")], StoredTrial]

    @model_validator(mode="after")
    def _known_openings(self) -> Tape:
        for number, trial in self.trials.items():
            if trial.opening not in self.openings:
                msg = f"trial {number} names an opening {trial.opening[:40]!r} that is not there"
                raise ValueError(msg)
        return self

    def with_trial(self, number: int, trial: StoredTrial, opened: Mapping[str, Any]) -> Tape:
        """Return the tape with one trial put in, in order, and without openings that no trial has any more."""
        trials = {**self.trials, str(number): trial}
        ordered = {name: trials[name] for name in sorted(trials, key=int)}
        openings = {**self.openings, trial.opening: dict(opened)}
        used = [item.opening for item in ordered.values()]
        return self.model_copy(
            update={"trials": ordered, "openings": {name: openings[name] for name in dict.fromkeys(used)}}
        )

    def to_json(self) -> dict[str, Any]:
        """Return the file as JSON data, without parts that are not set."""
        return {
            "cassette": self.cassette,
            "suite": self.suite,
            "scenario": self.scenario,
            "openings": self.openings,
            "trials": {
                number: {
                    "opening": trial.opening,
                    "digests": trial.digests,
                    "replies": [_reply(reply) for reply in trial.replies],
                }
                for number, trial in self.trials.items()
            },
        }


def _reply(reply: StoredReply) -> dict[str, Any]:
    data: dict[str, Any] = {"turns_left": reply.turns_left}
    if reply.seen:
        data["seen"] = list(reply.seen)
    if reply.calls:
        data["calls"] = [call.model_dump(mode="json", exclude_defaults=True) for call in reply.calls]
    if reply.turn is not None:
        data["turn"] = reply.turn.model_dump(mode="json", exclude_defaults=True)
    if reply.invalid is not None:
        data["invalid"] = reply.invalid.model_dump(mode="json")
    if reply.failed is not None:
        data["failed"] = reply.failed
    if reply.usage is not None:
        data["usage"] = reply.usage.model_dump(mode="json", exclude_defaults=True)
    if reply.step is not None:
        data["step"] = reply.step
    if reply.draft:
        data["draft"] = reply.draft
    return data


def read(path: Path, model: type[M]) -> M | None:
    """Return a file of a cassette; ``None`` where there is none.

    Raises `UsageError` that names the file and the line or field where it was damaged or edited into something else.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _broken(path, f"it has more than {MAX_BYTES:,} bytes")
        data = loads(path.read_bytes(), object_pairs_hook=unique_keys, parse_constant=_no_number)
        refuse_deep(data)
        return model.model_validate(data)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(
            f"cannot read the cassette {str(path)!r}: {error.strerror}; check the path"
        ) from None
    except json.JSONDecodeError as error:
        raise _broken(path, f"no JSON: {error.msg}", f":{error.lineno}:{error.colno}") from None
    except RecursionError:
        raise _broken(path, "it is nested too deeply") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:200]
        raise _broken(path, f"{where}: {first['msg']}" if where else first["msg"]) from None
    except ValueError as error:  # no UTF-8, a number of thousands of digits, or one of ours
        raise _broken(path, str(error)) from None


def _broken(path: Path, what: str, where: str = "") -> UsageError:
    return UsageError(f"{path}{where}: this file of a cassette cannot be used: {what}; {REMEDY}")


def _no_number(text: str) -> Any:
    msg = f"{text} is no JSON number"
    raise ValueError(msg)


def file_name(name: str, *, any_case: bool = False) -> str:
    """Return a name that every file system takes, and that two names share on none.

    With ``any_case`` capitals stay as they are, as in the ids of one suite.
    """
    folded = name.lower()
    plain = any_case or name == folded
    if plain and not name.endswith(".") and folded.partition(".")[0] not in _DEVICES:
        return name
    return f"_{name.rstrip('.')}-{hashlib.sha256(name.encode()).hexdigest()[:4]}"


def change(path: Path, changed: Callable[[], Mapping[str, Any]]) -> None:
    """Replace a file by what ``changed`` returns, which may read it: nobody else writes meanwhile.

    Readers find the old file or the new one, never a part. Raises `OSError` where it cannot be written, and
    `UsageError`, with the old file left as it was, where nobody could read it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _WRITING, _locked(path.parent):
        data = _encoded(path, changed())
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_bytes(data)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def _encoded(path: Path, value: Mapping[str, Any]) -> bytes:
    """Return what stands in a file. Raises `UsageError` for what `read` would refuse."""
    try:
        refuse_deep(value)
        text = dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    except (RecursionError, ValueError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageError(f"{path}: this reply cannot be stored: {why}") from None
    data = text.encode(
        "utf-8", "backslashreplace"
    )  # a lone surrogate becomes the escape that JSON has for it
    if len(data) > MAX_BYTES:
        msg = f"{path}: too large: with this reply it would have more than {MAX_BYTES:,} bytes"
        raise UsageError(f"{msg}; record fewer trials into one cassette")
    return data


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder itself, so that no lock file is left for users to wonder about."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where the threads of one process are kept apart all the same
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
