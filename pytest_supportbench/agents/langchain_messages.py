"""Which message of a model a tool call stands in, as LangChain's callbacks tell it."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from pytest_supportbench.protocol import Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.messages import ToolCall
    from langchain_core.outputs import LLMResult

MAX_MESSAGES: Final = 1_000
"""So many messages of one episode are remembered."""

MAX_ITEMS: Final = 1_000
"""So many items of one list or state are looked at."""

_DEPTH: Final = 4
_STOPPED: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason")


class Heard(BaseCallbackHandler):
    """The messages with tool calls in one episode, whether a model made them or a node of a graph.

    ``stopped`` is why the newest answer of a model ended, in its provider's word. LangGraph gives a message an id only
    when it enters the state, so that one without is known as the object that it is.
    """

    run_inline = True

    def __init__(self) -> None:
        self.stopped: object = None
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._messages: deque[tuple[int, AIMessage]] = deque(maxlen=MAX_MESSAGES)

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Hear what a model answered."""
        messages = [getattr(item, "message", None) for made in response.generations for item in made]
        for message in messages:
            told = getattr(message, "response_metadata", {})
            self.stopped = next((told[name] for name in _STOPPED if told.get(name)), None)
        self._hear(messages)

    def on_chain_start(self, serialized: Any, inputs: Any, **_: Any) -> None:
        """Hear what goes into a chain or a node."""
        del serialized
        self._hear(_messages(inputs))

    def on_chain_end(self, outputs: Any, **_: Any) -> None:
        """Hear what comes out of a chain or a node."""
        self._hear(_messages(outputs))

    def _hear(self, messages: Iterable[Any]) -> None:
        with self._lock:
            for message in messages:
                if isinstance(message, AIMessage) and message.tool_calls and not self._knows(message):
                    self._messages.append((next(self._numbers), message))

    def _knows(self, message: AIMessage) -> bool:
        return any(
            known is message
            or (message.id and known.id == message.id and known.tool_calls == message.tool_calls)
            for _, known in self._messages
        )

    def calling(self, name: str, arguments: Mapping[str, Any], call_id: str | None) -> Step | None:
        """Return the step of a call: the newest message with it, ``None`` where the user's code made it by itself."""
        if call_id:
            return self._newest(lambda call: call["id"] == call_id and call["name"] == name)
        return self._newest(lambda call: call["name"] == name and call["args"] == arguments)

    def deciding(self, turn: Any) -> Step | None:
        """Return the step whose message has a turn as the arguments of a call, as structured answers of models do."""
        if not isinstance(turn, dict):
            return None
        return self._newest(
            lambda call: (
                not turn.keys().isdisjoint(call["args"])
                and all(turn.get(name) == value for name, value in call["args"].items())
            )
        )

    def _newest(self, fits: Callable[[ToolCall], bool]) -> Step | None:
        with self._lock:
            for number, message in reversed(self._messages):
                if any(map(fits, message.tool_calls)):
                    return Step(number=number, draft=str(message.text))
        return None


def _messages(value: Any, depth: int = 0) -> Iterator[AIMessage]:
    """Yield the models' messages in the input or output of a node: a message, a list, a state, or parts of one."""
    if isinstance(value, AIMessage):
        yield value
        return
    if depth > _DEPTH:
        return
    parts: Iterable[Any] = ()
    if isinstance(value, Mapping):
        parts = list(value.values())[:MAX_ITEMS]
    elif isinstance(value, list | tuple):
        parts = value[-MAX_ITEMS:]
    elif isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        parts = list(vars(value).values())
    for part in parts:
        yield from _messages(part, depth + 1)
