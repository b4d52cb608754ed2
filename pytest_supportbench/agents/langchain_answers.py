"""Whether what came of a reply is a model's answer that did not come to its end, as LangChain's callbacks tell it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from langchain_core.outputs import LLMResult

MAX_ANSWERS: Final = 100
"""So many answers, and what parsers made of them, are remembered of one reply."""

MAX_CAUSES: Final = 20
"""How many causes of an exception are looked at."""

_REASONS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason")


class Answers(BaseCallbackHandler):
    """The models' answers of one reply, each with why it ended, and what output parsers made of them.

    ``output`` is what the runnable returned. Code of the user's may do with an answer what it likes; what comes of that
    is its own.
    """

    run_inline = True

    def __init__(self) -> None:
        self.output: Any = None
        self._known: deque[tuple[Any, object]] = deque(maxlen=MAX_ANSWERS)
        self._parsing: dict[UUID, object] = {}

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Hear what a model answered."""
        for made in response.generations:
            for item in made:
                message = getattr(item, "message", None)
                told = getattr(message, "response_metadata", None) or {}
                reason = next((told[name] for name in _REASONS if told.get(name)), None)
                self._known.append((message or item.text, reason))

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Hear what an output parser reads."""
        del serialized
        if kwargs.get("run_type") == "parser":
            self._parsing[run_id] = self._reason(inputs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """Hear what an output parser made of it."""
        if run_id in self._parsing:
            self._known.append((outputs, self._parsing.pop(run_id)))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Hear that an output parser could not read it."""
        if run_id in self._parsing:
            self._known.append((error, self._parsing.pop(run_id)))

    def stopped(self, error: BaseException | None) -> object:
        """Return why the answer ended that the output is, or that ``error`` is about; ``None`` where it is none."""
        tried = [self.output] if error is None else _about(error)
        return next((reason for made in tried if (reason := self._reason(made)) is not None), None)

    def _reason(self, made: Any) -> object:
        return next((reason for known, reason in reversed(self._known) if _same(known, made)), None)


def _same(known: Any, made: Any) -> bool:
    text = _text(known)
    return known is made or (text is not None and text == _text(made))


def _text(value: Any) -> str | None:
    if isinstance(value, AIMessage):
        return str(value.text).strip()
    return value.strip() if isinstance(value, str) else None


def _about(error: BaseException) -> Iterator[Any]:
    """Yield an exception and what it was raised from, each with the text that it says it could not read."""
    link: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if link is None:
            return
        yield link
        read = [getattr(link, name, None) for name in ("doc", "llm_output")]
        if isinstance(link, ValidationError):
            read += [item["input"] for item in link.errors() if item["type"] == "json_invalid"]
        yield from (text for text in read if isinstance(text, str))
        link = link.__cause__
