"""Repeats what the network or a busy server lost: bounded, with growing pauses, within the time that is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from pytest_supportbench.errors import AgentFailure, InfrastructureError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

DEFAULT_RETRIES: Final = 2
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 8.0
"""Seconds. Pauses double from the first to the longest; a server that names a longer time is given it. Each has up to
as much as the first more at random, so that those who were refused together do not come back together."""

LONGEST_ASKED: Final = 60.0
"""Seconds that a server's own wish is followed where no episode limits the time."""

_MILLISECONDS: Final = 1_000
_BUSY: Final = frozenset({"rate_limited", "server_busy"})


@dataclass(frozen=True, slots=True)
class Grace:
    """What a refusal costs.

    ``free`` tells that the pause after it takes none of the episode's time, ``ours`` that other requests of the run may
    be why, so that it uses up no retry.
    """

    free: bool = False
    ours: bool = False


class Waits(Protocol):
    """Who knows what else of the run asks a server that is busy."""

    def refused(self, pause: float, asked: float) -> Grace:
        """Take note of a refusal, after which the request would pause.

        The server asked for so much of it, 0 where it named no time; both are seconds.
        """

    def wait(self, pause: float, grace: Grace) -> None:
        """Wait so many seconds, and until the request may be made again."""


class Transient(Exception):  # noqa: N818 - it is no error yet, only a reason to try again
    """What an attempt raises when another one may succeed.

    ``error`` is what becomes of it if none does. ``retry_after`` has the seconds that the server asked to wait.
    ``busy`` tells that the server refused for want of room, and was not lost; its own words tell it otherwise.
    """

    def __init__(
        self,
        error: InfrastructureError | AgentFailure,
        retry_after: float | None = None,
        *,
        busy: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after
        self.busy = busy or retry_after is not None or getattr(error, "cause", "") in _BUSY


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a response asks to wait (``Retry-After`` as seconds or date), if it names any.

    The header of milliseconds that OpenAI sends beside it is more exact, and goes first.
    """
    exact = _number(headers.get("retry-after-ms", ""))
    if exact is not None:
        return exact / _MILLISECONDS
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return seconds
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now(), 0.0)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def retried(
    attempt: Callable[[], T],
    *,
    retries: int = DEFAULT_RETRIES,
    time_left: Callable[[], float] | None = None,
    waits: Waits | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[T, int]:
    """Return what ``attempt`` returns, and how many repetitions that took.

    Only `Transient` is repeated, at most ``retries`` times beside those after refusals that ``waits`` knows to be the
    run's own doing. Once no repetition is left, or the next pause would end after ``time_left``, its ``error`` is
    raised, and says how often it was tried and how long the server asked to wait. Without ``waits`` nothing else is
    known to ask the server.
    """
    used, spared, grace, busy = 0, 0, Grace(), False

    def left() -> float:
        return LONGEST_ASKED if time_left is None else time_left()

    from tenacity import (  # noqa: PLC0415 - only agents that talk to a server need it
        Retrying,
        retry_if_exception_type,
        wait_random,
    )

    apart = wait_random(0, FIRST_PAUSE)

    def pause(state: RetryCallState) -> float:
        growing = min(FIRST_PAUSE * 2.0**used, LONGEST_PAUSE)  # not with what is our own doing
        return max(growing, _of(state).retry_after or 0.0) + apart(state)

    def enough(state: RetryCallState) -> bool:
        nonlocal used, spared, grace, busy
        last, grace = _of(state), Grace()
        if last.busy and waits is not None:
            grace = waits.refused(state.upcoming_sleep, last.retry_after or 0.0)
        busy = last.busy
        spared += grace.ours
        used += not grace.ours
        return used > retries or not (grace.free or state.upcoming_sleep < left())

    def rest(seconds: float) -> None:
        if busy and waits is not None:
            waits.wait(seconds, grace)
        else:
            sleep(seconds)

    retrying = Retrying(
        retry=retry_if_exception_type(Transient), stop=enough, wait=pause, sleep=rest, reraise=True
    )
    try:
        result = retrying(attempt)
    except Transient as last:
        tried = retrying.statistics["attempt_number"] - 1
        raise _final(last, tried, spared, out_of_time=used <= retries, left=left()) from last.error.__cause__
    return result, retrying.statistics["attempt_number"] - 1


def _of(state: RetryCallState) -> Transient:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, Transient)
    return error


def _final(
    last: Transient, tried: int, spared: int, *, out_of_time: bool, left: float
) -> InfrastructureError | AgentFailure:
    """Return the error of the last attempt with what was tried."""
    notes = []
    if tried:
        others = f", {spared} of them since other requests of the run kept it busy" if spared else ""
        notes.append(f"after {tried} {'retry' if tried == 1 else 'retries'}{others}")
    if last.retry_after:
        notes.append(f"the server asked to wait {last.retry_after:g} s")
    if out_of_time:
        notes.append(f"no time for another try: {left:.1f} s are left")
    suffix = f" ({'; '.join(notes)})" if notes else ""
    error = last.error
    if isinstance(error, InfrastructureError):
        return InfrastructureError(error.cause, error.message + suffix, error.remedy)
    return AgentFailure(f"{error}{suffix}", error.remedy)
