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


class Heard(BaseCallbackHandler):
    """The messages with tool calls in one episode, whether a model made them or a node of a graph.

    LangGraph gives a message an id only when it enters the state, so that one without is known as the object that it
    is. One that comes again under its id with some of its calls, edited or not, is still the same step.
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._messages: deque[tuple[Step, AIMessage]] = deque(maxlen=MAX_MESSAGES)
        self._last: Step | None = None
        self._left: list[str] = []

    def begin(self) -> None:
        """Start a reply: calls that the one before it left out are not made any more."""
        with self._lock:
            self._left = []

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Hear what a model answered."""
        self._hear(getattr(item, "message", None) for made in response.generations for item in made)

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
                if not isinstance(message, AIMessage) or not message.tool_calls:
                    continue
                versions = [(step, known) for step, known in self._messages if _is_of(message, known)]
                if any(known.tool_calls == message.tool_calls for _, known in versions):
                    continue
                if versions:
                    step = versions[0][0]
                else:
                    self._last = step = Step(number=next(self._numbers), draft=str(message.text))
                    self._left = [call["name"] for call in message.tool_calls]
                self._messages.append((step, message))

    def calling(self, name: str, arguments: Mapping[str, Any], call_id: str | None) -> Step | None:
        """Return the step of a call: the newest message with it, ``None`` where the user's code made it by itself.

        Code that edits arguments makes another call of it; the newest message has it as long as it has one of that name
        which nobody made yet.
        """
        with self._lock:
            if call_id:
                step = self._newest(lambda call: call["id"] == call_id and call["name"] == name)
            else:
                step = self._newest(lambda call: call["name"] == name and call["args"] == arguments)
            if name in self._left and step in (None, self._last):
                step = self._last
                self._left.remove(name)
        return step

    def deciding(self, turn: Any) -> Step | None:
        """Return the step whose message has a turn as the arguments of a call, as structured answers of models do."""
        if not isinstance(turn, dict):
            return None
        with self._lock:
            return self._newest(
                lambda call: (
                    not turn.keys().isdisjoint(call["args"])
                    and all(turn.get(name) == value for name, value in call["args"].items())
                )
            )

    def _newest(self, fits: Callable[[ToolCall], bool]) -> Step | None:
        found = (step for step, message in reversed(self._messages) if any(map(fits, message.tool_calls)))
        return next(found, None)


def _is_of(message: AIMessage, known: AIMessage) -> bool:
    """Tell whether a message is one that is known, or what is left of it."""
    if known is message:
        return True
    names = [(call["id"], call["name"]) for call in known.tool_calls]
    return (
        bool(message.id)
        and known.id == message.id
        and all((call["id"], call["name"]) in names for call in message.tool_calls)
    )


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
