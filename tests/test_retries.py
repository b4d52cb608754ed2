"""Behaviour of retries: what is repeated, how long the pauses are, and what an error says in the end."""

from __future__ import annotations

import pytest

from pytest_supportbench.agents.retries import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    Grace,
    Transient,
    retried,
    retry_after,
)
from pytest_supportbench.errors import AgentFailure, InfrastructureError

BUSY = InfrastructureError("server_busy", "its queue is full", "wait")


def failing(times, error=BUSY, after=None):
    """Return an attempt that fails so often, and then returns its number."""
    count = iter(range(1, 1_000))

    def attempt():
        number = next(count)
        if number <= times:
            raise Transient(error, after)
        return number

    return attempt


class Waits:
    """Grants what it is told to, one refusal after the other, and notes what it was told."""

    def __init__(self, *graces):
        self.graces = list(graces)
        self.refusals = []
        self.pauses = []

    def refused(self, pause, asked):
        self.refusals.append((pause, asked, len(self.pauses)))
        return self.graces.pop(0) if len(self.graces) > 1 else self.graces[0]

    def wait(self, pause, grace):
        self.pauses.append((pause, grace))


def test_an_attempt_that_succeeds_at_once_is_not_repeated():
    """A good answer costs no retry and no pause."""
    pauses = []
    assert retried(failing(0), sleep=pauses.append) == (1, 0)
    assert pauses == []


def test_a_lost_answer_is_asked_for_again_and_the_retries_are_counted():
    """Two losses and one answer make two retries, with a longer second pause."""
    pauses = []
    assert retried(failing(2), retries=2, sleep=pauses.append) == (3, 2)
    assert FIRST_PAUSE <= pauses[0] <= 2 * FIRST_PAUSE <= pauses[1] <= 3 * FIRST_PAUSE


def test_pauses_are_bounded():
    """However many retries are asked for, no pause is longer than the longest."""
    pauses = []
    retried(failing(12), retries=12, sleep=pauses.append)
    assert LONGEST_PAUSE <= max(pauses) <= LONGEST_PAUSE + FIRST_PAUSE


def test_the_last_error_says_how_often_it_was_tried():
    """When no retry is left, the error keeps cause and remedy and names the retries."""
    with pytest.raises(InfrastructureError) as caught:
        retried(failing(9), retries=2, sleep=lambda _seconds: None)
    assert caught.value.cause == "server_busy"
    assert caught.value.message == "its queue is full (after 2 retries)"
    assert caught.value.remedy == "wait"


def test_without_retries_the_error_is_what_it_was():
    """With retries=0 the first loss is the error, word for word."""
    with pytest.raises(InfrastructureError) as caught:
        retried(failing(1), retries=0, sleep=lambda _seconds: None)
    assert str(caught.value) == str(BUSY)


def test_a_failing_agent_stays_a_failure():
    """An agent's own failure is raised as one after its retries, and says so."""
    with pytest.raises(AgentFailure, match=r"^status 503 \(after 1 retry\)$"):
        retried(failing(9, AgentFailure("status 503")), retries=1, sleep=lambda _seconds: None)


def test_the_server_says_how_long_to_wait():
    """A Retry-After longer than the usual pause is waited for, and a moment that differs between requests."""
    pauses = []
    for _ in range(20):
        retried(failing(1, after=20.0), sleep=pauses.append)
    assert all(20 <= pause <= 20 + FIRST_PAUSE for pause in pauses)
    assert max(pauses) - min(pauses) > FIRST_PAUSE / 10


def test_no_pause_outlasts_the_time_that_is_left():
    """A server that wants a longer pause than the episode has left is not waited for, and the error says why."""
    pauses = []
    with pytest.raises(InfrastructureError) as caught:
        retried(failing(9, after=30.0), retries=5, time_left=lambda: 12.0, sleep=pauses.append)
    assert pauses == []
    assert "the server asked to wait 30 s; no time for another try: 12.0 s are left" in caught.value.message


def test_a_server_without_an_episode_is_waited_for_a_minute_at_most():
    """Outside an episode a server's wish for an hour is refused at once."""
    with pytest.raises(InfrastructureError, match="asked to wait 3600 s"):
        retried(failing(9, after=3600.0), sleep=lambda _seconds: pytest.fail("waited"))


@pytest.mark.parametrize("error", [ValueError("bad"), BUSY])
def test_other_errors_are_not_repeated(error):
    """What is not marked as transient is raised at once, unchanged."""
    calls = []

    def attempt():
        calls.append(1)
        raise error

    with pytest.raises(type(error)) as caught:
        retried(attempt, retries=3, sleep=lambda _seconds: None)
    assert caught.value is error
    assert calls == [1]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "2", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40"}, 90.0),
        ({}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Thu, 99 Jan 99999 00:00:00 GMT"}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(headers, seconds):
    """Both forms of the header count, and nonsense counts as none."""
    assert retry_after(headers, now=lambda: 10.0) == seconds


def test_a_busy_server_is_waited_for_beyond_the_time_that_is_left_where_that_costs_none():
    """A pause that is not the episode's is taken though it is longer than what is left, and told before it begins."""
    free = Grace(free=True)
    waits = Waits(free)
    attempt = failing(1, after=30.0)
    unused = lambda _: pytest.fail("slept")  # noqa: E731 - one line says it
    assert retried(attempt, time_left=lambda: 12.0, waits=waits, sleep=unused) == (2, 1)
    ((pause, asked, before),) = waits.refusals
    assert (asked, before, waits.pauses) == (30.0, 0, [(pause, free)])
    assert pause >= 30


def test_a_lost_connection_is_no_busy_server():
    """Only who refuses for want of room is waited for at no cost."""
    lost = InfrastructureError("connection_lost", "it went away")
    waits = Waits(Grace(free=True, ours=True))
    retried(failing(1, lost), waits=waits, sleep=lambda _seconds: None)
    assert waits.refusals == []
    answers = iter([Transient(AgentFailure("status 429"), busy=True), None])

    def attempt():
        if error := next(answers):
            raise error
        return "good"

    assert retried(attempt, waits=waits) == ("good", 1)
    assert len(waits.refusals) == 1


def test_the_last_refusal_is_told_too():
    """Who paces the others hears of a server that stays busy, though no further try follows."""
    waits = Waits(Grace())
    with pytest.raises(InfrastructureError):
        retried(failing(9), retries=1, waits=waits)
    assert (len(waits.refusals), len(waits.pauses)) == (2, 1)


def test_a_refusal_that_other_requests_of_the_run_brought_about_uses_up_no_retry():
    """Only those that the server is to blame for are counted against the retries; the error tells them apart."""
    ours, theirs = Grace(free=True, ours=True), Grace(free=True)
    assert retried(failing(7), retries=0, waits=Waits(ours)) == (8, 7)
    with pytest.raises(
        InfrastructureError, match="after 4 retries, 3 of them since other requests of the run"
    ):
        retried(failing(99), retries=1, waits=Waits(ours, ours, theirs, ours, theirs))
