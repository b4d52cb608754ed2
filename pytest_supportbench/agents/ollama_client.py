"""The official Ollama client, with bounds for what comes from the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import httpx
import ollama

from pytest_supportbench.agents.bounded_body import HEADERS, MAX_BYTES, bounded, packed
from pytest_supportbench.clock import now

CONNECT_SECONDS: Final = 5.0


class _Bounded(httpx.SyncByteStream):
    """A body that is bounded in size and in time."""

    def __init__(self, stream: httpx.SyncByteStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        too_long = httpx.DecodingError(f"it sent more than {MAX_BYTES:,} bytes")
        late = httpx.ReadTimeout("the answer did not end in time")
        return bounded(self._stream, self._deadline, too_long, late)

    def close(self) -> None:
        self._stream.close()


def connect(host: str | None, timeout: float, transport: httpx.BaseTransport | None) -> ollama.Client:
    """Return a client whose answers end within the time-out; raises `ValueError` or ``httpx.InvalidURL``."""

    def start(request: httpx.Request) -> None:
        request.extensions["supportbench_deadline"] = now() + timeout

    def bound(response: httpx.Response) -> None:
        if packed(response.headers):
            raise httpx.DecodingError("a compressed answer, which nobody asked for")
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _Bounded(response.stream, response.request.extensions["supportbench_deadline"])

    return ollama.Client(
        host=host,
        follow_redirects=False,  # headers would go along to whoever it names
        timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        transport=transport,
        headers=HEADERS,
        event_hooks={"request": [start], "response": [bound]},
    )
