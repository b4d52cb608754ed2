"""MCP over streamable HTTP on one listening socket; imports the optional packages, so it is imported only on use."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import h11
import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from pytest_supportbench.executor import DaemonExecutor

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from mcp.server import ServerRequestContext
    from starlette.types import Receive, Scope, Send

    from pytest_supportbench.agents.base import EpisodeTools
    from pytest_supportbench.protocol import ToolEntry

PATH: Final = "/mcp"

MAX_BODY: Final = 1_000_000
"""Bytes of one request; a call's arguments are bounded far below."""

MAX_CONNECTIONS: Final = 256
"""Connections that are served at a time, over all episodes; more are answered 503."""

REQUEST_SECONDS: Final = 10.0
"""How long a request may take to arrive whole; half of one would hold its connection for ever."""

_TOOLS: Final = "supportbench.tools"
_LOGGERS: Final = ("uvicorn", "mcp", "sse_starlette")


class ToolServer:
    """Serves the episodes that ``find`` knows by their token, until it is told to stop.

    Requests carry their episode's token and stand alone: there are no sessions, and no streams that stay open.
    """

    def __init__(self, listener: socket.socket, find: Callable[[str], EpisodeTools | None]) -> None:
        self._listener = listener
        self._find = find
        # An episode has one thread at most, so that one whose tools are slow holds up no other.
        self._executor = DaemonExecutor(MAX_CONNECTIONS, name="supportbench-tool")
        self._queues: WeakKeyDictionary[EpisodeTools, asyncio.Lock] = WeakKeyDictionary()
        self._calls: set[asyncio.Task[ToolEntry]] = set()
        port = listener.getsockname()[1]
        hosts = [f"{host}:{port}" for host in ("127.0.0.1", "localhost")]
        server = Server(
            "supportbench",
            on_list_tools=_list_tools,
            on_call_tool=self._call_tool,
            get_tool_input_schema=lambda _: None,  # else every call would list the tools first
        )
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            max_request_body_size=MAX_BODY,
            security_settings=TransportSecuritySettings(
                allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
            ),
        )
        self._http = uvicorn.Server(
            uvicorn.Config(
                self._answer,
                interface="asgi3",
                lifespan="off",
                http=_Connection,
                ws="none",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=0,
            )
        )

    def run(self) -> None:
        """Serve in the calling thread until `stop`; then close every connection and the listening socket."""
        with _silent(threading.get_ident()):
            asyncio.run(self._serve())

    def stop(self) -> None:
        """Have `run` return soon, whatever clients still wait for; from any thread."""
        self._http.should_exit = True

    async def _serve(self) -> None:
        try:
            async with self._manager.run():
                await self._http.serve(sockets=[self._listener])
        finally:
            self._listener.close()
            self._executor.shutdown(wait=False, cancel_futures=True)
            for connection in list(self._http.server_state.connections):
                connection.transport.abort()  # a client that reads nothing would keep it open
            await asyncio.sleep(0)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal, tools = None, None
        if scope["path"] != PATH:
            refusal = PlainTextResponse(f"nothing is here; MCP is at {PATH}\n", 404)
        elif scope["method"] != "POST":
            refusal = PlainTextResponse("POST only: nothing is streamed\n", 405, {"Allow": "POST"})
        else:
            scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
            tools = self._find(token.strip()) if scheme.lower() == "bearer" else None
        if tools is None:
            unknown = "no episode has this token, or it is over\n"
            refusal = refusal or PlainTextResponse(unknown, 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self._manager.handle_request({**scope, _TOOLS: tools}, receive, send)

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Execute one call, unknown tools and bad arguments included: refusing them is the episode's business."""
        assert context.request is not None
        tools: EpisodeTools = context.request.scope[_TOOLS]
        call = partial(tools.call, params.name, params.arguments or {})
        if _has_duplicate_key(await context.request.body()):
            call = partial(tools.refuse, params.name, "the call has a duplicate key in one object")
        running = asyncio.create_task(self._in_turn(tools, call))
        self._calls.add(running)
        running.add_done_callback(self._calls.discard)
        entry = await asyncio.shield(
            running
        )  # a client that does not wait leaves its place in the queue taken
        data = entry.model_dump(mode="json", include={"status", "result", "error"})
        text = types.TextContent(type="text", text=json.dumps(data, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=data, is_error=entry.status == "error")

    async def _in_turn(self, tools: EpisodeTools, call: Callable[[], ToolEntry]) -> ToolEntry:
        """Execute a call after those of the same episode that came before it."""
        async with self._queues.setdefault(tools, asyncio.Lock()):
            return await asyncio.get_running_loop().run_in_executor(self._executor, call)


class _Connection(H11Protocol):
    """A connection that is cut where a request does not arrive whole in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base has it
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()

    def _watch(self) -> None:
        """Keep the deadline of a request that is not whole; more of it does not put it off."""
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._unwatch()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _has_duplicate_key(body: bytes) -> bool:
    """Tell whether a request that was parsed says something twice, of which only the last is left."""
    found = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len(dict(pairs)) != len(pairs)

    with contextlib.suppress(ValueError, RecursionError):  # no bounded JSON: its call is refused for that
        json.loads(body, object_pairs_hook=look)
    return found


async def _list_tools(
    context: ServerRequestContext[Any], _: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    assert context.request is not None
    return types.ListToolsResult(
        tools=[
            types.Tool(name=info.name, description=info.description, input_schema=info.parameters)
            for info in context.request.scope[_TOOLS].infos
        ]
    )


@contextlib.contextmanager
def _silent(thread: int) -> Iterator[None]:
    """Drop what the packages log in a thread: clients get the same as answers, and reports are about agents."""

    def elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != thread

    names = [name for name in list(logging.root.manager.loggerDict) if name.partition(".")[0] in _LOGGERS]
    loggers = [logging.getLogger(name) for name in names]
    for logger in loggers:
        logger.addFilter(elsewhere)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(elsewhere)
