"""How many episodes one server is given at a time: shared by all who ask it, less while it refuses, slowly more after.

The rule is that of TCP's congestion avoidance (Chiu and Jain, 1989): halve at a refusal, add one a round without any.
Who was refused gives its place back and waits in line for another one, before those that have not begun.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pytest_supportbench.clock import now
from pytest_supportbench.seeking import Seeker

LONGEST_HOLD: Final = 60.0
"""Seconds that a server's wish keeps new episodes back. One that asks for more is for the episodes themselves to tell:
their errors stop the agent."""

SHORTEST_HOLD: Final = 0.5
"""Seconds that new episodes are kept back where the server named no time: room that it has just now would be gone."""

OTHERS_SECONDS: Final = 60.0
"""So long without any answer may be the doing of other processes, which this one does not see."""

MORE_SELDOM: Final = 4
MOST_ROUNDS: Final = 16
"""One more than the server took is tried that many times more seldom, up to so many rounds."""


class RunOver(Exception):  # noqa: N818 - named after the condition
    """The run has ended, so that no further episode starts."""


@dataclass(frozen=True, slots=True)
class Borne:
    """What one server bore of one process: so many refusals, ``alone`` of them of one request at a time.

    ``given`` is how many episodes it was given at a time in the end, ``most`` how many it might have been given.
    """

    refusals: int
    alone: int
    given: int
    most: int


class Place:
    """One episode's place at a server, or its wish for one."""

    __slots__ = ("_pace", "agent", "began", "generation", "level", "refused_once", "stir")

    def __init__(self, pace: Pace, agent: str) -> None:
        self._pace = pace
        self.agent = agent
        self.stir = threading.Event()
        self.began: float | None = None
        self.generation = 0
        self.level = 0
        self.refused_once = False

    def refused(self, seconds: float) -> bool:
        """Give the place back to a server that was busy and asked to wait so many seconds, 0 where it named none.

        Returns whether that may be our own doing, since others might ask it too. From any thread.
        """
        return self._pace.refused(self, seconds)

    def again(self) -> None:
        """Wait for another place. Raises `RunOver`."""
        self._pace.again(self)

    def leave(self) -> None:
        """Give the place to another episode; once is enough."""
        self._pace.leave(self)


class Pace:
    """Lets at most so many episodes at a time ask one server.

    ``most`` is the bound, in episodes. ``seeker`` finds out by itself how many the server works on, where nobody says
    it. ``clock`` returns seconds. ``alone`` says that no other process of the run asks the server. Of several agents
    the one that has the fewest places goes first.
    """

    def __init__(
        self,
        most: int,
        seeker: Seeker | None = None,
        clock: Callable[[], float] = now,
        *,
        alone: bool = True,
    ) -> None:
        self._most = most
        self._limit = most
        self._seeker = seeker
        self._clock = clock
        self._alone = alone
        self._lock = threading.Lock()
        self._waiting: list[Place] = []
        self._inside: Counter[str] = Counter()
        self._generation = 0
        self._good = 0
        self._rounds = 1
        self._raised = False
        self._held_until = 0.0
        self._unanswered: float | None = None
        self._refusals = self._refusals_alone = 0
        self._closed = False

    @property
    def limit(self) -> int:
        """How many episodes may ask the server now."""
        return self._limit if self._seeker is None else min(self._limit, self._seeker.limit)

    def borne(self) -> Borne:
        """Return what the server bore so far; a last step up that was not tried out does not count."""
        given = self._limit - self._raised
        return Borne(self._refusals, self._refusals_alone, given, self._most)

    def widen(self, most: int) -> None:
        """Bear with an agent of a wider window: the widest of those that share a server is the bound."""
        with self._lock:
            if most > self._most:
                if self._limit == self._most:
                    self._limit = most
                self._most = most
            self._let_in()

    def wish(self, agent: str) -> Place:
        """Return a place, entered at once if there is room, else as soon as there is."""
        place = Place(self, agent)
        self.join(place)
        return place

    def join(self, place: Place) -> None:
        """Put a place into the line, where those that were refused stand before those that have not begun."""
        with self._lock:
            self._waiting.append(place)
            self._let_in()

    def enter(self, agent: str) -> Place:
        """Return an entered place, waiting for it if need be. Raises `RunOver` where the run ends before that."""
        place = Place(self, agent)
        self.again(place)
        return place

    def again(self, place: Place) -> None:
        """Enter with a place, waiting for it if need be. Raises `RunOver` where the run ends before that."""
        self.join(place)
        while True:
            with self._lock:
                if place.began is not None:
                    return
                if self._closed or place not in self._waiting:
                    raise RunOver("the run is over; the server is not asked any more")
                self._let_in()
                held = self._held_until - self._clock()
            if place.began is None:
                place.stir.wait(held if held > 0 else None)
                place.stir.clear()

    def _let_in(self) -> None:
        while self._waiting and self._inside.total() < self.limit and self._clock() >= self._held_until:
            place = min(self._waiting, key=lambda one: (not one.refused_once, self._inside[one.agent]))
            self._waiting.remove(place)
            self._inside[place.agent] += 1
            place.generation = self._generation
            place.level = self.limit
            place.began = self._clock()
            place.stir.set()

    def refused(self, place: Place, seconds: float) -> bool:
        """Lower the limit, hold back new ones for so many seconds, and tell whether others may be why.

        The limit is halved once for all episodes that began before, and is never more than the server works on now. One
        that was raised on trial is only taken back.
        """
        with self._lock:
            at = self._clock()
            if place.began is not None:
                place.began = None
                self._inside[place.agent] -= 1
            place.refused_once = True
            if place.generation == self._generation:
                self._generation += 1
                self._rounds = min(self._rounds * MORE_SELDOM, MOST_ROUNDS) if self._raised else 1
                self._limit = self._limit - 1 if self._raised else self._limit // 2
                self._raised, self._good = False, 0
            self._limit = max(1, min(self._limit, self._inside.total()))
            if seconds <= LONGEST_HOLD:
                self._held_until = max(self._held_until, at + (seconds or SHORTEST_HOLD))
            if self._unanswered is None:
                self._unanswered = at
            for waiting in self._waiting:  # they look again until when they are held
                waiting.stir.set()
            others = not self._alone and at - self._unanswered < OTHERS_SECONDS
            ours = place.level > 1 or others
            self._refusals += 1
            self._refusals_alone += not ours
            return ours

    def leave(self, place: Place) -> None:
        """Free a place; an episode whose last requests were not refused earns its share of one more."""
        with self._lock:
            if place in self._waiting:
                self._waiting.remove(place)
                place.stir.set()
            if place.began is None:
                return
            if self._seeker is not None and not place.refused_once:
                saturated = self._inside.total() >= self.limit
                self._seeker.ended(place.began, self._clock(), saturated=saturated)
            place.began = None
            self._inside[place.agent] -= 1
            self._unanswered = None
            if place.generation == self._generation and place.level == self._limit:
                self._earn()
            self._let_in()

    def _earn(self) -> None:
        """Count an episode that was served at this limit; a round of them confirms it, and so many rounds raise it."""
        self._good += 1
        if self._raised and self._good >= self._limit:
            self._raised, self._rounds = False, 1
        if self._limit < self._most and self._good >= self._limit * self._rounds:
            self._limit, self._raised, self._good = self._limit + 1, True, 0

    def close(self) -> None:
        """Let nobody in any more; who waits is told so."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, []
        for place in waiting:
            place.stir.set()
