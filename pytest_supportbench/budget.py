"""The token budget of a run: what all its processes spent, read from the results file that they share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from json import loads
from pathlib import Path
from typing import Any, Final

from pytest_supportbench.results_file import belongs_to

OPTION: Final = "--supportbench-max-tokens"


class BudgetSpent(Exception):  # noqa: N818 - named after the condition
    """The run has spent its tokens, so that no further episode starts; its text says so to the user."""


class TokenBudget:
    """Adds up prompt and completion tokens of a run's finished episodes, whichever process ran them.

    Every finished episode is a line of the results file before anybody hears of it, further trials, attempts and
    episodes that ran ahead included, so the file is the account. Replayed replies cost nothing. ``limit`` of ``None``
    never ends, and reads nothing.
    """

    def __init__(self, limit: int | None, path: Path, run_id: str) -> None:
        self.limit = limit
        self._path = path
        self._run_id = run_id
        self._lock = threading.Lock()
        self._read = 0
        self._spent = 0

    def spent(self) -> int:
        """Return the tokens of all episodes in the file."""
        with self._lock:
            if self._path.is_file() and (self._read or belongs_to(self._path, self._run_id)):
                with self._path.open("rb") as file:
                    file.seek(self._read)
                    new = file.read()
                # A line that another process is about to finish is read the next time.
                whole = new[: new.rfind(b"\n") + 1]
                self._read += len(whole)
                self._spent += sum(map(_tokens, whole.splitlines()))
            return self._spent

    def to_json(self, silent: Sequence[str]) -> dict[str, Any] | None:
        """Return the account as JSON data, ``None`` without a limit; ``silent`` agents reported no tokens."""
        if self.limit is None:
            return None
        spent = self.spent()
        return {
            "max_tokens": self.limit,
            "spent_tokens": spent,
            "used_up": spent >= self.limit,
            "agents_without_tokens": list(silent),
        }

    def admit(self) -> None:
        """Let an episode start. Raises `BudgetSpent` where the budget is used up."""
        if self.limit is not None and (spent := self.spent()) >= self.limit:
            raise BudgetSpent(
                f"{OPTION}={self.limit} is used up: {spent:,} tokens were counted when this was to start"
            )


def _tokens(line: bytes) -> int:
    """Return what one line of a results file says was spent."""
    if not line.startswith(b'{"type":"episode"'):
        return 0
    return int(loads(line)["usage"]["spent_tokens"] or 0)
