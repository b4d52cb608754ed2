"""Behaviour of retries: what is repeated, how long the pauses are, and what an error says in the end."""

from __future__ import annotations

import pytest

from pytest_supportbench.agents.retries import FIRST_PAUSE, LONGEST_PAUSE, Transient, retried, retry_after
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
    """A Retry-After longer than the usual pause is waited for."""
    pauses = []
    retried(failing(1, after=20.0), sleep=pauses.append)
    assert pauses == [20.0]


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
    pauses, told = [], []

    def waits(pause, asked):
        told.append((pause, asked, len(pauses)))
        return True

    attempt = failing(1, after=30.0)
    assert retried(attempt, time_left=lambda: 12.0, waits=waits, sleep=pauses.append) == (2, 1)
    assert (told, pauses) == ([(30.0, 30.0, 0)], [30.0])


def test_a_lost_connection_is_no_busy_server():
    """Only who refuses for want of room is waited for at no cost."""
    lost = InfrastructureError("connection_lost", "it went away")
    retried(failing(1, lost), waits=lambda *_: pytest.fail("told"), sleep=lambda _seconds: None)
    told = []
    failure = Transient(AgentFailure("status 429"), busy=True)

    def attempt():
        if not told:
            raise failure
        return "good"

    assert retried(attempt, waits=lambda *pause: told.append(pause) or True, sleep=lambda _: None)[1] == 1


def test_the_last_refusal_is_told_too():
    """Who paces the others hears of a server that stays busy, though no further try follows."""
    told = []
    with pytest.raises(InfrastructureError):
        retried(failing(9), retries=1, waits=lambda *pause: told.append(pause) or True, sleep=lambda _: None)
    assert len(told) == 2
