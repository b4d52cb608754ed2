"""The official MCP client, as agents with a tool loop of their own use it."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from quiet_server import QuietServer

from pytest_supportbench.loading import Loader
from pytest_supportbench.protocol import McpAddress, Turn


def talk(address: McpAddress, work: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    """Connect to an episode's tools, do some work there, and return what it returns."""

    async def main() -> Any:
        headers = {"Authorization": f"Bearer {address.token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address.url, http_client=http), mode=mode) as client,
        ):
            return await work(client)

    return asyncio.run(main())


async def play(client: Client, turns: list[Turn]) -> dict[str, Any]:
    """Make the calls of scripted turns, taking them off the list, and return the first turn that ends or asks.

    A turn's message is sent only if its calls succeeded, as a person would do it.
    """
    while turns:
        turn = turns.pop(0)
        results = [await client.call_tool(call.tool, call.arguments) for call in turn.tool_calls]
        succeeded = all(result.structured_content["status"] == "ok" for result in results)
        if (turn.action and succeeded) or turn.asks_for:
            return {"action": turn.action, "message": turn.message, "asks_for": list(turn.asks_for)}
    return {}


class Player:
    """Takes the decisions of the references in a folder, which it tells apart by the customer's message."""

    def __init__(self, folder: Path) -> None:
        loader = Loader(folder)
        scenarios = [loader.load(path).scenario for path in sorted(folder.rglob("*.scenario.yaml"))]
        self._references = {scenario.customer.message: scenario.reference for scenario in scenarios}
        assert len(self._references) == len(scenarios)
        self._left: dict[str, list[Turn]] = {}

    def reply(self, seen: dict[str, Any]) -> dict[str, Any]:
        """Return the turn for an observation, after making its calls over MCP."""
        reference = self._references[seen["customer"]["message"]]
        turns = self._left.setdefault(seen["episode"], list(reference))
        address = McpAddress.model_validate(seen["mcp"])
        return talk(address, lambda client: play(client, turns))


@contextlib.contextmanager
def serving(reply: Callable[[dict[str, Any]], Any]) -> Iterator[str]:
    """Answer observations over HTTP by a function, and give the address; what it raises is a 500 with the text."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, body = 200, json.dumps(reply(seen)).encode()
            except Exception as error:  # noqa: BLE001 - a server of its own goes on
                status, body = 500, str(error).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/reply"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
