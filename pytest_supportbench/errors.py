"""Exceptions; every message names what is wrong, where, and what to do about it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

START_AGAIN: Final = "start_again"
"""The cause of the error by which an episode is run once more from its beginning."""

CASSETTE_MISS: Final = "cassette_miss"
RESERVED_CAUSES: Final = frozenset({START_AGAIN, CASSETTE_MISS})
"""Causes that mean something to the runner; no agent may raise them."""


class SupportBenchError(Exception):
    """Base of everything this package raises on purpose."""


class UsageError(SupportBenchError):
    """An option, agent spec or command was used wrongly; exit code 4."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake in one file, at a position that an editor can open.

    ``line`` and ``column`` count from 1. ``field`` is a dotted path (``expected.calls[0].tool``), empty for
    the file as a whole.
    """

    path: str
    line: int
    column: int
    field: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return ``file:line:column: field: message; remedy``."""
        where = f"{self.path}:{self.line}:{self.column}"
        what = f"{self.field}: {self.message}" if self.field else self.message
        return f"{where}: {what}; {self.remedy}" if self.remedy else f"{where}: {what}"


class FileError(SupportBenchError):
    """A scenario, suite or agent file cannot be used; carries every problem found in it, not just the first."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems

    def __reduce__(self) -> tuple[type[FileError], tuple[tuple[Problem, ...]]]:
        """Pickle by problems, since the default would pass the joined message."""
        return type(self), (self.problems,)


class ToolsetError(SupportBenchError):
    """A toolset broke its own contract (a read that writes, a result that is no JSON); never the agent's fault."""


class InfrastructureError(SupportBenchError):
    """Something beside the agent under test broke: its model server, its network, a toolset.

    ``cause`` is a short stable word (``connection_refused``, ``model_missing``, ``time_out``, …) that groups
    equal failures; ``remedy`` says what to do, such as a command to run.
    """

    def __init__(self, cause: str, message: str, remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.cause = cause
        self.message = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[InfrastructureError], tuple[str, str, str]]:
        """Pickle by parts, since the default would pass the joined message."""
        return type(self), (self.cause, self.message, self.remedy)


class AgentFailure(SupportBenchError):  # noqa: N818 - "failure" against "error" is the design's own distinction
    """The system under test itself failed (crashed, answered 5xx, ran out of time); scored as failed.

    ``remedy`` says what to do about it where that is not to mend the agent.
    """

    remedy: str = ""

    def __init__(self, message: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class ReplayedFailure(AgentFailure):
    """A failure of the system under test that was stored in an earlier run; nobody was asked."""


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an exception may be Ctrl-C at the terminal, which reaches the main thread alone."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
