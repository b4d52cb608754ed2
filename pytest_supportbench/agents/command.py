"""``command:…``: an agent that is a program, one line of JSON in, one line of JSON out."""

from __future__ import annotations

import atexit
import secrets
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.base import JSON, BaseAgent, file_digest, portable
from pytest_supportbench.agents.process_tree import sweep
from pytest_supportbench.agents.processes import Ended, Flooded, LineProcess, Unasked
from pytest_supportbench.agents.spec_secrets import hidden, public
from pytest_supportbench.agents.wire import (
    DEFAULT_SECONDS,
    MAX_BYTES,
    McpOption,
    decode,
    encode,
    limited,
    unreadable,
)
from pytest_supportbench.errors import AgentFailure, InfrastructureError
from pytest_supportbench.uninterrupted import uninterrupted

if TYPE_CHECKING:
    from pytest_supportbench.agents.base import Case
    from pytest_supportbench.agents.spec import AgentSpec
    from pytest_supportbench.protocol import Observation

MAX_DIGEST_BYTES: Final = 10_000_000
"""Larger files that a command names are data, and are not hashed."""

_STDERR_CHARS: Final = 1_500
_SURPLUS_CHARS: Final = 120
_FLUSH: Final = "a reply is one line of JSON, ended and flushed, as print(json.dumps(turn), flush=True) does"
_WAIT: Final = "its input stays open, so read one line, and do not wait for the end of input"
_PIECES: Final = (
    "a request comes in two pieces, so read up to the end of the line, and not just what is there"
)
_ONE_LINE: Final = "write one line for each request, and everything else to standard error"


class CommandAgent(BaseAgent):
    """Keeps the program running and asks it line by line; each episode that runs at a time has a process of its own.

    A process that fails is ended with all that it started, and the next request starts another one.
    """

    window = 1

    def __init__(self, spec: AgentSpec, root: Path) -> None:
        super().__init__(spec, root)
        self._words = shlex.split(spec.target)
        self._shown = public(spec.target)
        self._files = self._digests()  # before a process starts, which may run for long after an edit
        self._mcp = McpOption(spec)
        self._mark = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._started = 0
        self._idle: list[LineProcess] = []
        self._all: set[LineProcess] = set()
        self._closed = False

    def check(self) -> None:
        """Find the program; whether it works shows with the first reply. Raises `InfrastructureError`."""
        if self._mcp.wanted:
            self._mcp.open()
        self._program()

    def fingerprint(self) -> dict[str, JSON]:
        """Return kind, command, options, and the SHA-256 of each file that the command names.

        Paths below the root directory are relative to it, so that another checkout gives the same.
        """
        command = portable(self._shown, self.root)
        return {**super().fingerprint(), "command": command, "files_sha256": self._files}

    def _digests(self) -> dict[str, JSON]:
        files: dict[str, JSON] = {}
        for word in self._words:
            path = self.root / word
            if path.is_file() and path.stat().st_size <= MAX_DIGEST_BYTES:
                files[portable(public(word), self.root)] = file_digest(path)
        return files

    def secrets(self) -> tuple[str, ...]:
        """Return the values in the command that are named like secrets."""
        return hidden(self.spec.target)

    def asker(self, case: Case) -> Callable[[Observation], Any]:
        """Return what replies in one episode, within its time and with its tools over MCP where that is wanted."""
        return lambda observation: self._ask(observation, case.time_left, case)

    def reply(self, observation: Observation, /) -> Any:
        """Return the line that the program answers, unparsed.

        Raises `AgentFailure` where it failed, and `InfrastructureError` where it could not even be started.
        """
        return self._ask(observation, limited(DEFAULT_SECONDS))

    def _ask(self, observation: Observation, time_left: Callable[[], float], case: Case | None = None) -> Any:
        line, episode = encode(self._mcp.added(observation, case)), observation.episode
        process = self._taken()
        try:
            return self._answer(process, line, episode, time_left)
        except Ended as ended:
            if not (ended.untouched and process.answered):
                raise self._explained(process, ended) from None
        except Unasked as late:
            sys.stderr.write(
                f"{_surplus(late)}. It belongs to an earlier episode; a new process was started\n"
            )
        finally:
            self._give_back(process)
        # It ended between two requests, as one that answers a single request does, or what it answers is uncertain.
        process = self._start()
        try:
            return self._answer(process, line, episode, time_left)
        except Ended as ended:
            raise self._explained(process, ended) from None
        finally:
            self._give_back(process)

    def _answer(self, process: LineProcess, line: bytes, episode: str, time_left: Callable[[], float]) -> Any:
        """Return one reply. A process of which it is not certain what its next line answers is ended.

        Raises `Ended`, and `Unasked` where an earlier episode is to blame.
        """
        left = time_left()
        before, process.episode = process.episode, episode
        try:
            answer = process.ask(line, time_left)
        except TimeoutError:
            process.end()
            text = f"{self._shown!r} wrote no line within {left:.1f} s; {_FLUSH}; {_WAIT}"
            raise AgentFailure(text + _errors(process)) from None
        except Unasked as late:
            process.end()
            if before not in {None, episode}:
                raise
            return unreadable(f"{_surplus(late)}{_hint(process)}", late.data)
        except Flooded as flood:
            process.end()
            if flood.lines:
                first, _, rest = flood.data.partition(b"\n")
                said = f"{_quoted(first)} and {_quoted(rest)}"
                return unreadable(
                    f"the program wrote more than one line: {said}; {_ONE_LINE}{_hint(process)}", flood.data
                )
            return unreadable(f"the reply has more than {MAX_BYTES:,} bytes in one line", flood.data)
        if process.cut and not _is_json(answer):
            return unreadable(
                f"the reply is no JSON, and came before the request was read; {_PIECES}", answer
            )
        return decode(answer)

    def _explained(self, process: LineProcess, ended: Ended) -> AgentFailure | InfrastructureError:
        """Return the error that the end of a process amounts to."""
        if ended.status is None:
            how = f"closed its standard {ended.closed}"
        elif ended.status < 0:
            how = f"was ended by {_signal(-ended.status)}"
        else:
            how = f"ended with status {ended.status}"
        if ended.untouched:
            text = f"{self._shown!r} {how} before it read anything{_errors(process)}"
            remedy = f"run it by hand in {self.root}: it must read a line, and answer it"
            return InfrastructureError("died_at_start", text, remedy)
        hint = _PIECES if process.cut else _FLUSH
        return AgentFailure(f"{self._shown!r} {how} before it answered; {hint}{_errors(process)}")

    def _program(self) -> str:
        """Return the program's path, looked up as the system would from the root directory."""
        name = self._words[0]
        place = self.root / name
        has_folder = len(Path(name).parts) > 1 or name.startswith(".")
        found = shutil.which(str(place) if has_folder else name)
        if found is not None:
            return str(Path(found).absolute())  # links stay: a virtual environment's Python is one
        if not place.is_file():
            msg = f"there is no program {name!r} {f'in {self.root}' if has_folder else 'on PATH'}"
            remedy = "correct the name, or install the program"
            raise InfrastructureError("command_not_found", msg, remedy)
        if has_folder:
            msg, remedy = f"{name!r} is not executable", f"run: chmod +x {name}; or name what runs it"
            raise InfrastructureError("not_executable", msg, f"{remedy}, as in command:python my_agent.py")
        msg = f"there is no program {name!r} on PATH, but a file of that name"
        raise InfrastructureError("command_not_found", msg, f"write ./{name}, or what runs it before it")

    def _taken(self) -> LineProcess:
        """Return a process that waits for a request, started if there is none."""
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None:
                return self._start()
            if not process.gone:
                return process
            self._drop(process)

    def _start(self) -> LineProcess:
        words = [self._program(), *self._words[1:]]
        with self._lock:
            if self._closed:
                raise AgentFailure("the run is over; the agent is not asked any more")
            self._started += 1
            if self._started == 1:
                atexit.register(self.close)
            try:
                process = LineProcess(words, self.root, f"{self._mark}.{self._started}.", MAX_BYTES)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                msg = f"{self._shown!r} cannot be started ({reason})"
                remedy = "a script needs a first line such as #!/usr/bin/env python3, or name what runs it"
                raise InfrastructureError("not_executable", msg, remedy) from None
            self._all.add(process)
        return process

    def _give_back(self, process: LineProcess) -> None:
        """Show what the process wrote to standard error, and keep it for the next request if it is well."""
        if process.answered and not process.gone:
            with self._lock:
                self._idle.append(process)
        else:
            self._drop(process)
        sys.stderr.write(process.stderr.take())

    def _drop(self, process: LineProcess) -> None:
        process.end()
        with self._lock:
            self._all.discard(process)

    def close(self) -> None:
        """End every process with all that it started."""
        with uninterrupted():
            with self._lock:
                self._closed = True
                processes, self._idle = list(self._all), []
            for process in processes:
                process.end()
            if self._started:
                sweep(self._mark)
                atexit.unregister(self.close)
        self._mcp.close()


def _errors(process: LineProcess) -> str:
    """Return the end of what a process, ended by now, wrote to standard error."""
    text = process.stderr.end(_STDERR_CHARS).strip()
    return f"\nstandard error:\n{text}" if text else ""


def _hint(process: LineProcess) -> str:
    return f"; {_PIECES}" if process.cut else ""


def _is_json(answer: bytes) -> bool:
    try:
        loads(answer)
    except (RecursionError, ValueError):
        return False
    return True


def _surplus(late: Unasked) -> str:
    return f"the program wrote a line that nobody asked for: {_quoted(late.data)}; {_ONE_LINE}"


def _quoted(data: bytes) -> str:
    text = " ".join(data[: 4 * _SURPLUS_CHARS].decode("utf-8", "replace").split())
    return repr(text if len(text) <= _SURPLUS_CHARS else f"{text[:_SURPLUS_CHARS]}…")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
