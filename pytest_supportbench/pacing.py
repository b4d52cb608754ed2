"""How many episodes one server is given at a time: shared by all who ask it, less while it refuses, slowly more after.

The rule is that of TCP's congestion avoidance (Chiu and Jain, 1989): halve at a refusal, add one a round without any.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

from pytest_supportbench.clock import now
from pytest_supportbench.seeking import Seeker

LONGEST_HOLD: Final = 60.0
"""Seconds that a server's wish keeps new episodes back. One that asks for more is for the episodes themselves to tell:
their errors stop the agent."""


class RunOver(Exception):  # noqa: N818 - named after the condition
    """The run has ended, so that no further episode starts."""


class Place:
    """One episode's place at a server, or its wish for one."""

    __slots__ = ("_pace", "agent", "began", "generation", "refused_once", "stir")

    def __init__(self, pace: Pace, agent: str) -> None:
        self._pace = pace
        self.agent = agent
        self.stir = threading.Event()
        self.began: float | None = None
        self.generation = 0
        self.refused_once = False

    def refused(self, seconds: float) -> None:
        """Say that the server was busy and asked to wait so many seconds, 0 where it named none; from any thread."""
        self._pace.refused(self, seconds)

    def leave(self) -> None:
        """Give the place to another episode; once is enough."""
        self._pace.leave(self)


class Pace:
    """Lets at most so many episodes at a time ask one server.

    ``most`` is the bound, in episodes. ``seeker`` finds out by itself how many the server works on, where nobody says
    it. ``clock`` returns seconds. Of several agents the one that has the fewest places goes first.
    """

    def __init__(self, most: int, seeker: Seeker | None = None, clock: Callable[[], float] = now) -> None:
        self._most = most
        self._limit = float(most)
        self._seeker = seeker
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: list[Place] = []
        self._inside: Counter[str] = Counter()
        self._generation = 0
        self._held_until = 0.0
        self._closed = False

    @property
    def limit(self) -> int:
        """How many episodes may ask the server now."""
        found = int(self._limit)
        return found if self._seeker is None else min(found, self._seeker.limit)

    def widen(self, most: int) -> None:
        """Bear with an agent of a wider window: the widest of those that share a server is the bound."""
        with self._lock:
            if most > self._most:
                if self._limit == self._most:
                    self._limit = float(most)
                self._most = most
                self._let_in()

    def wish(self, agent: str) -> Place:
        """Return a place, entered at once if there is room, else as soon as there is."""
        place = Place(self, agent)
        with self._lock:
            self._waiting.append(place)
            self._let_in()
        return place

    def enter(self, agent: str) -> Place:
        """Return an entered place, waiting for it if need be. Raises `RunOver` where the run ends before that."""
        place = self.wish(agent)
        while True:
            with self._lock:
                if place.began is not None:
                    return place
                if self._closed:
                    raise RunOver("the run is over; the server is not asked any more")
                self._let_in()
                held = self._held_until - self._clock()
            if place.began is None:
                place.stir.wait(held if held > 0 else None)
                place.stir.clear()

    def _let_in(self) -> None:
        while self._waiting and self._inside.total() < self.limit and self._clock() >= self._held_until:
            place = min(self._waiting, key=lambda waiting: self._inside[waiting.agent])
            self._waiting.remove(place)
            self._inside[place.agent] += 1
            place.generation = self._generation
            place.began = self._clock()
            place.stir.set()

    def refused(self, place: Place, seconds: float) -> None:
        """Halve the limit, once for all episodes that began before, and hold back new ones for so many seconds."""
        with self._lock:
            place.refused_once = True
            if place.generation == self._generation:
                self._generation += 1
                self._limit = max(1.0, self._limit / 2)
            if seconds <= LONGEST_HOLD:
                self._held_until = max(self._held_until, self._clock() + seconds)
            for waiting in self._waiting:  # they look again until when they are held
                waiting.stir.set()

    def leave(self, place: Place) -> None:
        """Free a place; an episode that was not refused earns its share of one more."""
        with self._lock:
            if place.began is None:
                return
            if self._seeker is not None and not place.refused_once:
                saturated = self._inside.total() >= self.limit
                self._seeker.ended(place.began, self._clock(), saturated=saturated)
            place.began = None
            self._inside[place.agent] -= 1
            if not place.refused_once and place.generation == self._generation:
                self._limit = min(float(self._most), self._limit + 1 / self._limit)
            self._let_in()

    def close(self) -> None:
        """Let nobody in any more; who waits is told so."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, []
        for place in waiting:
            place.stir.set()
