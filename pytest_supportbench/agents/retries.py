"""Repeats what the network or a busy server lost: bounded, with growing pauses, within the time that is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias, TypeVar

from pytest_supportbench.errors import AgentFailure, InfrastructureError

T = TypeVar("T")

Waits: TypeAlias = Callable[[float, float], bool]
"""Is told of a pause because a server is busy, and of how much of it the server asked for (0 where it named no time),
both in seconds, before the pause begins. Returns whether it costs an episode none of its time."""

DEFAULT_RETRIES: Final = 2
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 8.0
"""Seconds. Pauses double from the first to the longest, each with up to as much as the first at random; a server that
names a longer time is given it."""

LONGEST_ASKED: Final = 60.0
"""Seconds that a server's own wish is followed where no episode limits the time."""

_MILLISECONDS: Final = 1_000
_BUSY: Final = frozenset({"rate_limited", "server_busy"})


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
    waits: Waits = lambda _pause, _asked: False,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[T, int]:
    """Return what ``attempt`` returns, and how many repetitions that took.

    Only `Transient` is repeated, at most ``retries`` times. Once no repetition is left, or the next pause would end
    after ``time_left``, its ``error`` is raised, and says how often it was tried and how long the server asked to wait.
    Where the server is busy, ``waits`` says whether the pause costs no time.
    """

    def left() -> float:
        return LONGEST_ASKED if time_left is None else time_left()

    from tenacity import (  # noqa: PLC0415 - only agents that talk to a server need it
        RetryCallState,
        Retrying,
        retry_if_exception_type,
        wait_exponential,
        wait_random,
    )

    growing = wait_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE) + wait_random(0, FIRST_PAUSE)

    def pause(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, Transient) else None
        return max(growing(state), asked or 0.0)

    def enough(state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        excused = False
        if isinstance(error, Transient) and error.busy:
            excused = waits(state.upcoming_sleep, error.retry_after or 0.0)
        return state.attempt_number > retries or not (excused or state.upcoming_sleep < left())

    retrying = Retrying(
        retry=retry_if_exception_type(Transient), stop=enough, wait=pause, sleep=sleep, reraise=True
    )
    try:
        result = retrying(attempt)
    except Transient as last:
        tried = retrying.statistics["attempt_number"] - 1
        raise _final(last, tried, out_of_time=tried < retries, left=left()) from last.error.__cause__
    return result, retrying.statistics["attempt_number"] - 1


def _final(
    last: Transient, tried: int, *, out_of_time: bool, left: float
) -> InfrastructureError | AgentFailure:
    """Return the error of the last attempt with what was tried."""
    notes = []
    if tried:
        notes.append(f"after {tried} {'retry' if tried == 1 else 'retries'}")
    if last.retry_after:
        notes.append(f"the server asked to wait {last.retry_after:g} s")
    if out_of_time:
        notes.append(f"no time for another try: {left:.1f} s are left")
    suffix = f" ({'; '.join(notes)})" if notes else ""
    error = last.error
    if isinstance(error, InfrastructureError):
        return InfrastructureError(error.cause, error.message + suffix, error.remedy)
    return AgentFailure(f"{error}{suffix}")
