"""A real HTTP server on loopback whose answers a test writes itself.

``with served(answer) as server:`` calls ``answer(request)`` for each POST, in a thread of its own; it answers with
``request.send(…)``, or writes to ``request.wfile`` whatever it likes. ``server.url`` is the address and
``server.requests`` has what came: path, headers and body of each.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GOOD = {"action": "answer", "message": "We are open from nine to five."}


class Request(BaseHTTPRequestHandler):
    """One connection; ``body`` is what was posted."""

    protocol_version = "HTTP/1.1"
    server: Server
    body: Any

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), self.body))
        self.server.answer(self)

    def send(self, status: int = 200, body: Any = GOOD, length: int | None = None, **headers: str) -> None:
        """Send an answer; text and bytes go as they are, other data as JSON."""
        data = body.encode() if isinstance(body, str) else body
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Keep the test output clean."""


class Server(ThreadingHTTPServer):
    """The server with what it was asked. ``released`` is set when the test is over."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer: Callable[[Request], None]) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.answer = answer
        self.lock = threading.Lock()
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.released = threading.Event()
        self.scheme = "http"

    @property
    def url(self) -> str:
        """The address, with a path."""
        return f"{self.scheme}://127.0.0.1:{self.server_port}/reply"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


@contextmanager
def served(
    answer: Callable[[Request], None] = Request.send, tls: ssl.SSLContext | None = None
) -> Iterator[Server]:
    """Serve until the block ends."""
    server = Server(answer)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.scheme = "https"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
