"""Finds out how many episodes a server works on at a time, where more of them would only queue there.

By Little's law (1961) the work in progress is throughput times the time that one piece takes alone.
"""

from __future__ import annotations

from typing import Final

SAMPLE: Final = 4
"""So many episodes at least are measured before the limit changes, and twice as many as run at a time."""

KEPT_UP: Final = 0.75
"""A server that works on this share of what it is given keeps up, and is given twice as many."""


class Seeker:
    """Begins with one episode at a time and doubles until the server does not keep up; there it stays.

    ``most`` is the highest limit, in episodes. Times are seconds of one clock.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = 1
        self.settled = most == 1
        self._alone = 0.0
        self._since: float | None = None
        self._ended = 0

    def ended(self, began: float, at: float, *, saturated: bool) -> None:
        """Take note of an episode; ``saturated`` says that as many ran as were allowed."""
        if self.settled:
            return
        if not saturated:  # what nobody wanted says nothing about the server
            self._since, self._ended = None, 0
            return
        if self._since is None:
            self._since = began
        self._ended += 1
        if self._ended >= max(SAMPLE, 2 * self.limit):
            self._decide(self._ended / max(at - self._since, 1e-9))
            self._since, self._ended = at, 0

    def _decide(self, a_second: float) -> None:
        if self.limit == 1:
            self._alone = 1 / a_second
        working = a_second * self._alone
        if working < KEPT_UP * self.limit:
            self.limit = max(1, round(working))
            self.settled = True
        elif self.limit < self._most:
            self.limit = min(2 * self.limit, self._most)
        else:
            self.settled = True
