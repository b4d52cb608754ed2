"""How many episodes a server is given: shared between agents, less where it refuses, found out where it queues."""

from __future__ import annotations

import heapq
import threading
from collections import Counter
from collections.abc import Callable
from itertools import count

import pytest

from pytest_supportbench.agents.servers import ollama_parallel, ollama_server, server_of
from pytest_supportbench.pacing import LONGEST_HOLD, SHORTEST_HOLD, Pace, Place, RunOver
from pytest_supportbench.seeking import Seeker


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


class World:
    """Workers that run episodes one after the other at a server with so many slots, on a clock of their own.

    A server that ``refuses`` asks to come back after a second; another keeps all in a queue.
    """

    def __init__(self, pace: Pace, clock: Clock, slots: int, *, refuses: bool = False) -> None:
        self.pace, self.clock, self.slots, self.refuses = pace, clock, slots, refuses
        self.busy = self.refusals = 0
        self.done: Counter[str] = Counter()
        self.limits: list[int] = []
        self._wishes: list[Place] = []
        self._queue: list[Place] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def run(self, workers: dict[str, int], episodes: int, seconds: Callable[[], float] = lambda: 1.0) -> None:
        """Let so many workers an agent go on until so many episodes have ended."""
        self.seconds = seconds
        self._wishes += [self.pace.wish(agent) for agent, number in workers.items() for _ in range(number)]
        while self.done.total() < episodes:
            for place in [wish for wish in self._wishes if wish.began is not None]:
                self._wishes.remove(place)
                self._ask(place)
            if not self._events:  # all are held back
                self.clock.time += 0.1
                self.pace.widen(0)
                continue
            self.clock.time, _, event = heapq.heappop(self._events)
            event()
            self.limits.append(self.pace.limit)

    def _later(self, seconds: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.clock.time + seconds, next(self._number), event))

    def _ask(self, place: Place) -> None:
        if self.busy < self.slots:
            self.busy += 1
            self._later(self.seconds(), lambda: self._answer(place))
        elif self.refuses:
            self.refusals += 1
            place.refused(1.0)
            self._later(1.0, lambda: self._join(place))
        else:
            self._queue.append(place)

    def _join(self, place: Place) -> None:
        self.pace.join(place)
        self._wishes.append(place)

    def _answer(self, place: Place) -> None:
        self.busy -= 1
        if self._queue:
            self._ask(self._queue.pop(0))
        self.done[place.agent] += 1
        place.leave()
        self._wishes.append(self.pace.wish(place.agent))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_no_more_than_the_bound_are_inside(clock: Clock):
    """Who comes when all places are taken enters when one is left, and leaving twice frees one place only."""
    pace = Pace(2, clock=clock)
    first, _, third, fourth = (pace.wish("agent") for _ in range(4))
    assert (third.began, fourth.began) == (None, None)
    first.leave()
    first.leave()
    assert third.began is not None
    assert fourth.began is None


def test_agents_of_one_server_share_the_widest_window_evenly(clock: Clock):
    """Eight workers of one agent and two of another share four places: neither is kept out."""
    pace = Pace(2, clock=clock)
    pace.widen(4)
    pace.widen(1)
    assert pace.limit == 4
    world = World(pace, clock, slots=4)
    world.run({"greedy": 8, "modest": 2}, 200)
    assert 70 <= world.done["modest"] <= 130  # by numbers of workers it would be 40


def test_a_server_that_refuses_is_given_half_and_then_slowly_more(clock: Clock):
    """Refusals of one round halve the limit once; each round without any adds one."""
    pace = Pace(16, clock=clock)
    places = [pace.wish("agent") for _ in range(16)]
    for place in places[:5]:
        assert place.refused(0)
    assert pace.limit == 8
    for place in places:
        place.leave()
    assert pace.limit == 8  # those that began before say nothing about the new limit
    clock.time = 1.0
    for _ in range(7):
        pace.wish("agent").leave()
    assert pace.limit == 8
    pace.wish("agent").leave()
    assert pace.limit == 9
    for _ in range(400):
        pace.wish("agent").leave()
    assert pace.limit == 16


def test_a_server_is_given_no_more_than_it_was_seen_to_work_on(clock: Clock):
    """Where all but three of eight are refused, three is what it takes."""
    pace = Pace(8, clock=clock)
    for place in [pace.wish("agent") for _ in range(8)][3:]:
        place.refused(1.0)
    assert pace.limit == 3


def test_one_more_that_is_refused_is_taken_back_and_tried_more_seldom(clock: Clock):
    """At a server of three, the fourth is tried after a round, then after four, then after sixteen."""
    pace = Pace(8, clock=clock)
    places = [pace.wish("agent") for _ in range(8)]
    for place in places[3:]:
        place.refused(0.1)
    for place in places[:3]:
        place.leave()
    served = []
    for _ in range(3):
        clock.time += 1.0
        rounds = 0
        while pace.limit == 3 and rounds < 20:
            places = [pace.wish("agent") for _ in range(3)]
            for place in places:
                place.leave()
            rounds += 1
        served.append(rounds)
        places = [pace.wish("agent") for _ in range(4)]
        assert pace.borne().given == 3
        places[3].refused(0.1)
        assert pace.limit == 3
        for place in places[:3]:
            place.leave()
    assert served == [1, 4, 16]


def test_the_limit_never_falls_below_one(clock: Clock):
    """However often a server refuses, one episode at a time may ask it."""
    pace = Pace(4, clock=clock)
    for _ in range(10):
        clock.time += 1.0
        place = pace.wish("agent")
        place.refused(0)
        place.leave()
    assert pace.limit == 1


def test_who_was_refused_comes_back_before_those_that_have_not_begun(clock: Clock):
    """A place that was given back is had again by the first that is free, and not beside the limit."""
    pace = Pace(2, clock=clock)
    first, second = pace.wish("agent"), pace.wish("agent")
    new = pace.wish("agent")
    second.refused(1.0)
    clock.time = 2.0
    pace.join(second)
    assert (second.began, new.began) == (None, None)  # one at a time now, and the first is still at it
    first.leave()
    assert (second.began, new.began) == (2.0, None)
    second.leave()
    assert new.began == 2.0


def test_only_a_refusal_of_one_request_at_a_time_is_not_our_own_doing(clock: Clock):
    """Other episodes of this process that may ask, and other processes for a minute without any answer, may be why."""
    for alone in (True, False):
        pace = Pace(2, clock=clock, alone=alone)
        place, other = pace.wish("agent"), pace.wish("agent")
        assert other.refused(0)
        place.leave()
        told = []
        for _ in range(4):
            clock.time += 25.0
            pace.join(other)
            told.append(other.refused(0))
        assert told == [not alone, not alone, not alone, False]
        assert pace.borne().alone == told.count(False)


def test_nobody_begins_while_the_server_asked_to_wait(clock: Clock):
    """Retry-After holds back new episodes of all agents, unless it is longer than anybody would wait."""
    pace = Pace(4, clock=clock)
    places = [pace.wish("one") for _ in range(4)]
    places[0].refused(5.0)
    held = pace.wish("two")
    clock.time = 4.9
    places[1].leave()
    places[2].leave()
    assert held.began is None
    clock.time = 5.1
    pace.join(places[0])
    places[3].leave()
    assert (places[0].began, held.began) == (5.1, 5.1)
    held.refused(LONGEST_HOLD + 1)
    places[0].leave()
    assert pace.wish("one").began == 5.1


def test_a_server_that_names_no_time_is_not_given_the_next_one_at_once(clock: Clock):
    """The room of who was refused is kept free for half a second: there was none just now."""
    pace = Pace(2, clock=clock)
    refused, _ = pace.wish("agent"), pace.wish("agent").leave()
    new = pace.wish("agent")
    refused.refused(0)
    new.refused(0)
    later = pace.wish("agent")
    assert later.began is None
    clock.time = SHORTEST_HOLD
    pace.widen(0)
    assert later.began == SHORTEST_HOLD


def test_the_limit_settles_around_what_a_refusing_server_takes(clock: Clock):
    """With five slots and sixteen workers the limit stays at five, or six for a trial, and refusals are rare."""
    pace = Pace(16, clock=clock)
    world = World(pace, clock, slots=5, refuses=True)
    world.run({"agent": 16}, 50)
    before, world.limits = world.refusals, []
    world.run({}, 450)
    assert 4 <= sum(world.limits) / len(world.limits) <= 6
    assert max(world.limits) <= 6
    assert world.refusals - before < 20
    assert clock.time < 450 / 5 * 1.2


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 6, 16, 40])
def test_the_slots_of_a_server_that_queues_are_found(clock: Clock, slots: int):
    """Where nobody says how many the server works on, the window settles there, or one beside; never above."""
    pace = Pace(16, Seeker(16), clock)
    world = World(pace, clock, slots)
    assert pace.limit == 1
    world.run({"agent": 16}, 200)
    assert abs(pace.limit - min(slots, 16)) <= (slots > 4)


@pytest.mark.parametrize("slots", [1, 4])
def test_episodes_of_different_lengths_mislead_little(clock: Clock, slots: int):
    """Lengths that differ threefold leave the window within a half of the server's slots."""
    lengths = (0.5 + (number * 0.618) % 1 for number in count())
    pace = Pace(16, Seeker(16), clock)
    World(pace, clock, slots).run({"agent": 16}, 300, lambda: next(lengths))
    assert slots / 2 <= pace.limit <= slots * 1.5


def test_what_nobody_wanted_says_nothing_about_the_server():
    """An agent that is asked now and then only does not end the search."""
    seeker = Seeker(8)
    for number in range(100):
        seeker.ended(number, number + 0.1, saturated=False)
    assert (seeker.limit, seeker.settled) == (1, False)


def test_threads_wait_for_their_place_and_are_told_of_the_end():
    """A waiting thread enters when it may, also after a pause, and ends with the run."""
    pace = Pace(1)
    first = pace.enter("agent")
    entered: list[str] = []

    def wait() -> None:
        try:
            pace.enter("agent")
            entered.append("in")
        except RunOver:
            entered.append("over")

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    first.refused(0.05)
    threads[0].join(0.5)
    threads[1].join(0.5)
    assert entered == ["in"]
    pace.close()
    for thread in threads:
        thread.join(5)
    assert entered == ["in", "over"]


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("https://api.example.com/v1", "api.example.com:443"),
        ("http://user:pw@API.example.com/x", "api.example.com:80"),
        ("http://127.0.0.1:8080/v1", "localhost:8080"),
        ("http://[::1]:8080", "localhost:8080"),
        ("http://localhost:8080/reply", "localhost:8080"),
        ("http://[bad", ""),
        ("http://host:nan", ""),
    ],
)
def test_one_server_has_one_name(address: str, server: str):
    """However its address is written, a server is the same; another port is another server."""
    assert server_of(address) == server


@pytest.mark.parametrize(
    ("host", "variable", "server"),
    [
        (None, "", "localhost:11434"),
        (None, "0.0.0.0", "localhost:11434"),
        (None, "gpu.example.com", "gpu.example.com:11434"),
        ("http://gpu.example.com", "127.0.0.1", "gpu.example.com:80"),
        ("127.0.0.1:9", "", "localhost:9"),
    ],
)
def test_the_server_of_ollama_is_what_its_client_asks(monkeypatch, host, variable, server):
    """Option before variable before the usual port, with the client's rules for what is left out."""
    monkeypatch.setenv("OLLAMA_HOST", variable)
    assert ollama_server(host) == server


@pytest.mark.parametrize(
    ("server", "given", "variable", "parallel"),
    [
        ("localhost:11434", None, "4", 4),
        ("localhost:11434", 2, "4", 2),
        ("gpu.example.com:11434", None, "4", None),
        ("localhost:11434", None, "0", None),
        ("localhost:11434", None, "many", None),
        ("localhost:11434", None, "", None),
    ],
)
def test_how_many_ollama_works_on_is_said_by_option_or_environment(
    monkeypatch, server, given, variable, parallel
):
    """The environment speaks for a server on this machine only, and an option goes before it."""
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", variable)
    assert ollama_parallel(server, given) == parallel
