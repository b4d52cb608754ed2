"""The environment as an MCP server: one loopback address for a session, and a token for each episode."""

from __future__ import annotations

import secrets
import socket
import threading
from typing import TYPE_CHECKING, Final

from pytest_supportbench.errors import UsageError
from pytest_supportbench.protocol import McpAddress
from pytest_supportbench.redaction import MCP_TOKEN_PREFIX

if TYPE_CHECKING:
    from pytest_supportbench.agents.base import EpisodeTools
    from pytest_supportbench.agents.mcp_server import ToolServer

HOST: Final = "127.0.0.1"
MAX_PORT: Final = 65_535

CLOSE_SECONDS: Final = 5.0
"""The longest wait for the server's thread at the end; it is a daemon, so it holds up nothing after that."""


class McpDesk:
    """Hands out the tools of running episodes over MCP, from one server in one daemon thread.

    The server is opened for the first episode, on ``port`` or one that the system chooses. Raises `UsageError` where
    the package ``mcp`` is missing.
    """

    def __init__(self, port: int = 0) -> None:
        try:
            from pytest_supportbench.agents import mcp_server  # noqa: PLC0415 - imports the optional packages
        except ImportError as error:
            msg = f"tools over MCP need the package {error.name or 'mcp'!r}"
            raise UsageError(f'{msg}; run: pip install "pytest-supportbench[mcp]"') from None
        self._make_server = mcp_server.ToolServer
        self._url = f"http://{HOST}:{{port}}{mcp_server.PATH}"
        self._port = port
        self._lock = threading.Lock()
        self._episodes: dict[str, EpisodeTools] = {}
        self._running: tuple[ToolServer, threading.Thread] | None = None
        self._closed = False

    def address(self, tools: EpisodeTools) -> McpAddress:
        """Return where an episode's tools are served: the same for the same tools, and only until they are closed.

        Raises `UsageError` where the port is taken, and `RuntimeError` after `close`.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("the MCP server is closed and serves no more episodes")
            self._open()
            known = next((token for token, served in self._episodes.items() if served is tools), None)
            token = known or MCP_TOKEN_PREFIX + secrets.token_urlsafe(32)
            self._episodes[token] = tools
        if known is None:
            tools.on_close(lambda: self._forget(token))
        return McpAddress(url=self._url.format(port=self._port), token=token)

    def _open(self) -> None:
        if self._running is not None:
            return
        try:
            if not 0 <= self._port <= MAX_PORT:
                raise OSError(f"ports end at {MAX_PORT}")  # noqa: TRY301 - told like a port that is taken
            listener = socket.create_server((HOST, self._port))
        except OSError as error:
            msg = f"port {self._port} of {HOST} cannot be used: {error.strerror or error}"
            raise UsageError(f"{msg}; name another one, or none to have one chosen") from None
        # Connections inherit it; without it every answer waits 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = listener.getsockname()[1]
        server = self._make_server(listener, self._episodes.get)
        thread = threading.Thread(target=server.run, name="supportbench-mcp", daemon=True)
        self._running = server, thread
        thread.start()

    def _forget(self, token: str) -> None:
        with self._lock:
            self._episodes.pop(token, None)

    def close(self) -> None:
        """Stop the server and give back its port, whatever clients still hold open."""
        with self._lock:
            running, self._running = self._running, None
            self._closed = True
            self._episodes.clear()
        if running is not None:
            server, thread = running
            server.stop()
            thread.join(CLOSE_SECONDS)
