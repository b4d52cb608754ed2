"""Bounds of an answer over HTTP that a client of somebody else's reads: its size, and the time until its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pytest_supportbench.clock import now

MAX_BYTES: Final = 8_000_000
"""No answer of a model comes near; more than this is not read."""

HEADERS: Final = {"Accept-Encoding": "identity"}
"""What asks for an answer as it is, since a short one that is compressed may be without end."""


def bounded(parts: Iterable[bytes], deadline: float, too_long: Exception, late: Exception) -> Iterator[bytes]:
    """Pass a body on until it is too long or its time is over: a read time-out alone lets drops pass for ever."""
    size = 0
    for part in parts:
        size += len(part)
        if size > MAX_BYTES:
            raise too_long
        if now() > deadline:
            raise late
        yield part


def packed(headers: Mapping[str, str]) -> bool:
    """Tell whether an answer is compressed, although nobody asked for it."""
    return headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}
