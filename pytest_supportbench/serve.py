"""``supportbench serve``: one scenario's tools for any MCP client, to look at by hand."""

from __future__ import annotations

import json
import shlex
import signal
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final, get_args

from pytest_supportbench.agents.mcp_desk import McpDesk
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.counted import counted
from pytest_supportbench.errors import UsageError
from pytest_supportbench.live_tools import LiveTools
from pytest_supportbench.loading import BoundScenario, Loader
from pytest_supportbench.parts import Part
from pytest_supportbench.protocol import McpAddress, Observation
from pytest_supportbench.records import Episode, Limits
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.reporting.sections import call_lines
from pytest_supportbench.reporting.text import as_json, clean, wrapped
from pytest_supportbench.scoring.resolution import describe

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def serve(path: Path, say: Callable[[str], None], *, port: int = 0, without: Collection[str] = ()) -> None:
    """Serve a scenario until a signal ends it, then say what was called and what came of it.

    Raises `UsageError` for a path, a port or a part that is none, `FileError` for a scenario that cannot be loaded,
    and `ToolsetError`, after the report, where a call broke the toolset.
    """
    conversation = Conversation(_load(path, without), Limits(), "by-hand", without)
    tools = LiveTools(conversation)
    tools.clean = Redactor(()).reply  # tokens
    observation = conversation.observation()
    desk = McpDesk(port)
    handlers: dict[signal.Signals, Any] = {}
    try:
        for number in _SIGNALS:  # a shell has background jobs ignore Ctrl-C
            handlers[number] = signal.signal(number, signal.default_int_handler)
        say("\n".join(_opening(path, observation, desk.address(tools))))
        while True:
            time.sleep(60)
    except KeyboardInterrupt:
        pass
    finally:
        tools.close()
        desk.close()
        for number, handler in handlers.items():
            signal.signal(number, handler or signal.SIG_DFL)
    say("\n".join(_report(conversation.finish())))
    if tools.broken is not None:
        raise tools.broken


def _load(path: Path, without: Collection[str]) -> BoundScenario:
    unknown = sorted(set(without).difference(get_args(Part)))
    if unknown:
        raise UsageError(f"--without: {unknown[0]!r} is no part; write some of {', '.join(get_args(Part))}")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is no file" if path.exists() else "does not exist"
        raise UsageError(f"{path} {what}; name one scenario file")
    return Loader(Path.cwd()).load(path)


def _opening(path: Path, observation: Observation, address: McpAddress) -> Iterator[str]:
    """Yield what a person needs to connect a client and to know what to try."""
    header = f"Authorization: Bearer {address.token}"
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    words = ["curl", "-s", address.url, "-H", header, "-H", "Content-Type: application/json", "-d", body]
    server = {"type": "http", "url": address.url, "headers": dict([header.split(": ")])}
    yield clean(f"serving {path} over MCP (streamable HTTP)")
    yield f"address:  {address.url}"
    yield f"header:   {header}"
    yield from wrapped(", ".join(tool.name for tool in observation.tools) or "none", "tools:    ")
    yield ""
    yield from wrapped(observation.customer.message, "customer: ", "    ")
    for table, rows in observation.account.items():
        for row in rows:
            yield from wrapped(as_json(row), f"{table}: ", "    ")
    yield ""
    yield "try:"
    yield shlex.join(words)
    yield ""
    yield "in the configuration of an MCP client:"
    yield json.dumps({"mcpServers": {"supportbench": server}}, indent=2)
    yield ""
    yield "Ctrl-C ends it and says what was called."


def _report(episode: Episode) -> Iterator[str]:
    yield ""
    yield counted(len(episode.calls), "call")
    for call in episode.calls:
        yield from call_lines(call)
    yield counted(len(episode.changes), "change")
    for change in episode.changes:
        yield from wrapped(describe(change), "  ", "    ")
    if episode.faults:
        reached = sum(fault.reached for fault in episode.faults)
        yield f"{reached} of {counted(len(episode.faults), 'fault')} reached"
    for fault in episode.faults:
        numbers = ", ".join(map(str, fault.calls))
        yield f"  {fault.kind} of {fault.tool}: {f'by its call {numbers}' if numbers else 'not reached'}"
