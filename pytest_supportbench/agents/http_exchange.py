"""One request and its answer over HTTP, bounded in time and size whatever the server does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import httpx

from pytest_supportbench.agents.wire import MAX_BYTES
from pytest_supportbench.errors import AgentFailure

T = TypeVar("T")

CONNECT_SECONDS: Final = 5.0
"""The longest wait for a connection: a server that needs more is not there."""

CLOSE_SECONDS: Final = 2.0

_IDLE_CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered. ``flooded`` tells that more than `MAX_BYTES` came, and that reading stopped there."""

    status: int
    headers: httpx.Headers
    body: bytes
    flooded: bool


class CutAnswer(Exception):  # noqa: N818 - a value for whoever explains it
    """The connection broke in the middle of an answer; what came of it is kept."""

    def __init__(self, answer: Answer, detail: str) -> None:
        super().__init__(detail)
        self.answer = answer


class Exchange:
    """Posts to one server from any thread, over connections that all threads share.

    One event loop in one daemon thread does the work: only there can a whole exchange, name look-up and headers
    included, be broken off at a given moment. ``make_client`` returns the client, without time-outs of its own
    but `CONNECT_SECONDS`.
    """

    def __init__(self, make_client: Callable[[httpx.Limits, httpx.Timeout], httpx.AsyncClient]) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_IDLE_CONNECTIONS)
        self._client = make_client(limits, httpx.Timeout(None, connect=CONNECT_SECONDS))
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def post(self, url: str, body: bytes, seconds: float) -> Answer:
        """Return the answer to one POST of JSON.

        Raises `TimeoutError` after so many seconds, `CutAnswer` where the answer broke off, and httpx's exceptions
        where there was none.
        """
        return self._run(self._post(url, body), seconds)

    def reach(self, host: str, port: int) -> None:
        """Open a connection and close it again. Raises `OSError`, which `TimeoutError` is one of."""
        self._run(self._reach(host, port), CONNECT_SECONDS)

    async def _post(self, url: str, body: bytes) -> Answer:
        async with self._client.stream("POST", url, content=body) as response:
            data = bytearray()
            try:
                async for chunk in response.aiter_raw():
                    data += chunk
                    if len(data) > MAX_BYTES:
                        break
            except httpx.TransportError as error:
                raise CutAnswer(_answer(response, data), str(error) or type(error).__name__) from error
            return _answer(response, data)

    @staticmethod
    async def _reach(host: str, port: int) -> None:
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def _run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Run a coroutine on the loop for so many seconds at most."""

        async def limited() -> T:
            async with asyncio.timeout(seconds):
                return await work

        with self._lock:
            if self._closed:
                work.close()
                raise AgentFailure("the run is over; the agent is not asked any more")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name="supportbench-http", daemon=True
                )
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(limited(), self._loop)
        return future.result()

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()

    def close(self) -> None:
        """Break off what is under way and close all connections, within seconds."""
        with self._lock:
            self._closed = True
            loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        done = asyncio.run_coroutine_threadsafe(self._end(), loop)
        with contextlib.suppress(TimeoutError):
            done.result(CLOSE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(CLOSE_SECONDS)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=CLOSE_SECONDS / 2)
        await self._client.aclose()


def _answer(response: httpx.Response, data: bytearray) -> Answer:
    return Answer(
        response.status_code, response.headers, bytes(data[:MAX_BYTES]), flooded=len(data) > MAX_BYTES
    )
