"""The tools of a running episode, for agents that run their own tool loop while they work on one reply."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.protocol import Step, ToolCall, ToolEntry, ToolFailure, ToolInfo
from pytest_supportbench.replies import InvalidReply, parse_turn

MAX_LIVE_CALLS: Final = 200
"""Calls that one episode executes; an agent that makes more of them goes in circles, and hears so."""


MAX_NAME: Final = 200
"""Characters of a tool's name that are kept of a call which cannot be read."""


class LiveTools:
    """Executes calls in any thread, in order of arrival, with the episode's recording, faults and limits.

    ``lock`` is held by whoever touches the conversation. ``clean`` takes secrets out of what is called, as out of
    replies. After the final reply, and after `close`, every call is refused and changes nothing.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.lock = threading.RLock()
        self.broken: ToolsetError | None = None
        self.clean: Callable[[Any], Any] = lambda raw: raw
        self._conversation = conversation
        self._calls = 0
        self._made: list[tuple[ToolEntry, Step | None]] = []
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
    def made(self) -> tuple[tuple[ToolEntry, Step | None], ...]:
        """What came back from the calls that were executed so far, in their order, each with its step."""
        return tuple(self._made)

    def call(self, tool: str, arguments: Mapping[str, Any], step: Step | None = None) -> ToolEntry:
        """Execute one call and return what came back; whatever was sent, nothing is raised for it.

        Calls of one ``step`` are one turn with its text as a draft; a call without one is a turn of its own. What is
        no bounded JSON is refused like arguments that do not fit the tool's schema.
        """
        said = {
            "message": step.draft if step else "",
            "tool_calls": [{"tool": tool, "arguments": dict(arguments)}],
        }
        try:
            turn = parse_turn(self.clean(said), max_chars=self._conversation.max_chars)
        except InvalidReply as error:
            return self.refuse(tool, _about_arguments(str(error)), step)
        (call,) = turn.tool_calls
        return self._execute(call, Step(number=step.number, draft=turn.message) if step else None)

    def refuse(self, tool: str, reason: str, step: Step | None = None) -> ToolEntry:
        """Put a call on record whose arguments cannot be read, without them; it counts like every other one."""
        call = ToolCall(tool=self._text(tool, MAX_NAME))
        if step is not None:
            step = Step(number=step.number, draft=self._text(step.draft, self._conversation.max_chars))
        return self._execute(call, step, reason)

    def _text(self, text: str, chars: int) -> str:
        return str(self.clean(text)).encode("utf-8", "replace").decode()[:chars]

    def _execute(self, call: ToolCall, step: Step | None, problem: str = "") -> ToolEntry:
        if self.closed:  # at once, since the lock may be held by a tool that does not return
            return _over(call.tool)
        with self.lock:
            if self._closed or self._conversation.ending is not None:
                return _over(call.tool)
            if self._calls >= MAX_LIVE_CALLS:
                text = f"{MAX_LIVE_CALLS} calls were made in this episode; no more are executed"
                return _refused(call.tool, "too_many_calls", text)
            self._calls += 1
            try:
                entry = self._conversation.live_call(call, step, problem)
            except ToolsetError as error:
                self.broken = error
                self._closed = True
                return _refused(call.tool, "toolset", "the tool itself is broken; this case cannot go on")
            self._made.append((entry, step))
            return entry

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called when the episode is over; at once if it already is."""
        with self.lock:
            if not self._closed:
                self._closing.append(callback)
                return
        callback()

    def close(self, timeout: float = -1) -> bool:
        """Refuse all further calls and wait for one that is under way, which counts. Tell whether it returned."""
        self._closed = True  # before the lock, so that calls which wait for it do not go first
        if not self.lock.acquire(timeout=timeout):
            return False
        try:
            closing, self._closing = self._closing, []
        finally:
            self.lock.release()
        for callback in closing:
            callback()
        return True


def _about_arguments(reason: str) -> str:
    """Return why a turn with one call cannot be read as something that is said of a call."""
    return reason.replace("tool_calls.0.", "").replace("the reply", "the call")


def _over(tool: str) -> ToolEntry:
    return _refused(tool, "episode_over", "the episode is over; nothing was changed")


def _refused(tool: str, code: str, message: str) -> ToolEntry:
    return ToolEntry(tool=tool, status="error", error=ToolFailure(code=code, message=message))
