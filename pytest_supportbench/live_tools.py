"""The tools of a running episode, for agents that run their own tool loop while they work on one reply."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.protocol import ToolEntry, ToolFailure, ToolInfo
from pytest_supportbench.replies import InvalidReply, parse_turn

MAX_LIVE_CALLS: Final = 200
"""Calls that one episode executes; an agent that makes more of them goes in circles, and hears so."""


class LiveTools:
    """Executes calls in any thread, in order of arrival, with the episode's recording, faults and limits.

    ``lock`` is held by whoever touches the conversation. ``clean`` takes secrets out of what is called, as out of
    replies. After `close` every call is refused and changes nothing.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.lock = threading.RLock()
        self.broken: ToolsetError | None = None
        self.clean: Callable[[Any], Any] = lambda raw: raw
        self._conversation = conversation
        self._calls = 0
        self._made: list[ToolEntry] = []
        self._closed = False
        self._closing: list[Callable[[], None]] = []

    @property
    def infos(self) -> tuple[ToolInfo, ...]:
        """The permitted tools with their JSON Schemas."""
        return self._conversation.environment.tools

    @property
    def closed(self) -> bool:
        """Whether the episode is over."""
        return self._closed

    @property
    def made(self) -> tuple[ToolEntry, ...]:
        """What came back from the calls that were executed so far, in their order."""
        return tuple(self._made)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolEntry:
        """Execute one call and return what came back; whatever was sent, nothing is raised for it.

        Arguments that are no bounded JSON are refused like those that do not fit the tool's schema.
        """
        try:
            turn = parse_turn(
                self.clean({"tool_calls": [{"tool": tool, "arguments": dict(arguments)}]}),
                max_chars=self._conversation.max_chars,
            )
        except InvalidReply as error:
            return _refused(str(self.clean(tool))[:200], "invalid_arguments", str(error))
        (call,) = turn.tool_calls
        with self.lock:
            if self._closed:
                return _refused(call.tool, "episode_over", "the episode is over; nothing was changed")
            if self._calls >= MAX_LIVE_CALLS:
                text = f"{MAX_LIVE_CALLS} calls were made in this episode; no more are executed"
                return _refused(call.tool, "too_many_calls", text)
            self._calls += 1
            try:
                entry = self._conversation.live_call(call)
            except ToolsetError as error:
                self.broken = error
                self._closed = True
                return _refused(call.tool, "toolset", "the tool itself is broken; this case cannot go on")
            self._made.append(entry)
            return entry

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called when the episode is over; at once if it already is."""
        with self.lock:
            if not self._closed:
                self._closing.append(callback)
                return
        callback()

    def close(self) -> None:
        """Refuse all further calls."""
        with self.lock:
            self._closed = True
            closing, self._closing = self._closing, []
        for callback in closing:
            callback()


def _refused(tool: str, code: str, message: str) -> ToolEntry:
    return ToolEntry(tool=tool, status="error", error=ToolFailure(code=code, message=message))
