"""Reads a chat completion: what the model said or called, why it stopped, and what it cost.

The client passes on whatever came, unchecked, so each part is looked at before it is used.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pytest_supportbench.agents.fault_text import MAX_DETAIL_CHARS
from pytest_supportbench.agents.model_servers import is_stream, not_understood
from pytest_supportbench.agents.native_tools import Answer, NativeCall
from pytest_supportbench.agents.openai_causes import Place
from pytest_supportbench.agents.openai_faults import fault, malformed_in, said_in, said_to_raise
from pytest_supportbench.protocol import Unreadable, Usage

MAX_COUNT: Final = 10**12
"""Tokens or dollars beyond this are nonsense."""

_MILLION: Final = 1_000_000
_COST_DIGITS: Final = 9
_SERVER_ERROR: Final = 500
_COMPLETE: Final = frozenset(
    {
        "end_turn",
        "eos",
        "eos_token",
        "function_call",
        "refusal",
        "stop",
        "stop_sequence",
        "tool_calls",
        "tool_use",
    }
)
"""Why a model stops by itself, in the words of OpenAI, TGI and gateways to Anthropic and Google, in any case."""

_CUT: Final = {
    "content_filter": "content_filter",
    "length": "reply_truncated",
    "max_tokens": "reply_truncated",
    "model_context_window_exceeded": "context_overflow",
}
_MALFORMED: Final = ("malformed_function_call", "unexpected_tool_call")
"""Google's words for a model that wrote a call amiss, perhaps behind others."""


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens, where they are known."""

    prompt: Decimal | None = None
    completion: Decimal | None = None

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> Decimal | None:
        """Return what the tokens cost; ``None`` where a price or a count is missing."""
        if None in (self.prompt, self.completion, prompt_tokens, completion_tokens):
            return None
        spent = Decimal(prompt_tokens or 0) * (self.prompt or 0)
        return (spent + Decimal(completion_tokens or 0) * (self.completion or 0)) / _MILLION


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer with what the server says served it."""

    answer: Answer
    model: str | None
    system_fingerprint: str | None


def read(data: bytes, place: Place, prices: Prices) -> Completion:
    """Return a completion. Raises `InfrastructureError`, or `Transient`, where it is none or was cut short."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        text = data.decode("utf-8", "replace")
        cause = "streamed" if is_stream(text) else "not_json"
        raise fault(cause, f"it begins with {text[:80]!r}" if data else "it is empty", place) from error
    if not isinstance(body, dict):
        raise fault("invalid_response", f"a {type(body).__name__}", place)
    if body.get("error"):
        return _refused(body, place)
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise fault("invalid_response", "no choice with a message", place)
    if choice.get("error"):
        return _refused(choice, place)
    usage = _usage(body.get("usage"), prices)
    own = _refuse_incomplete(choice.get("finish_reason"), usage, place) or _refusal(message)
    answer = Answer(_text(message.get("content")), usage, _calls(message, place), own)
    return Completion(answer, _word(body.get("model")), _word(body.get("system_fingerprint")))


def unread(own: Unreadable) -> Completion:
    """Return what stands in the place of a completion where the server could not read what the model wrote."""
    return Completion(Answer("", Usage(), unreadable=own), None, None)


def _refuse_incomplete(reason: Any, usage: Usage, place: Place) -> Unreadable | None:
    """Raise `InfrastructureError` unless the model stopped by itself; servers that give no reason are believed.

    Returned is what the model itself wrote amiss.
    """
    word = "stop" if reason is None else str(reason)[:MAX_DETAIL_CHARS].casefold()
    if word in _COMPLETE:
        return None
    if any(known in word for known in _MALFORMED):
        return not_understood(f"finish_reason: {word}", "")
    cause = _CUT.get(word, "reply_incomplete")
    detail = {"reply_truncated": _cut(usage, place), "reply_incomplete": f"finish_reason: {word}"}
    raise fault(cause, detail.get(cause, ""), place)


def _refused(body: dict[str, Any], place: Place) -> Completion:
    """Raise what an error amounts to that came with the status 200, as gateways send it.

    Returned is only what the model itself wrote amiss.
    """
    inner = body["error"]
    code = inner.get("code") if isinstance(inner, dict) else None
    status = code if isinstance(code, int) and code >= _SERVER_ERROR - 100 else _SERVER_ERROR
    said = said_in(body, status)
    own = malformed_in(said)
    if own is None:
        raise said_to_raise(said, place)
    return unread(own)


def _text(content: Any) -> str:
    """Return the text of a message; some servers send it in parts."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _calls(message: dict[str, Any], place: Place) -> tuple[NativeCall, ...]:
    found = message.get("tool_calls") or []
    functions = [call.get("function") if isinstance(call, dict) else None for call in found]
    if not isinstance(found, list) or not all(isinstance(function, dict) for function in functions):
        raise fault("invalid_response", "a tool call without a function", place)
    return tuple(NativeCall(call.get("name"), call.get("arguments") or "") for call in functions if call)


def _refusal(message: dict[str, Any]) -> Unreadable | None:
    said = message.get("refusal")
    if not isinstance(said, str) or not said:
        return None
    text = said.encode("utf-8", "replace").decode()
    return Unreadable(reason=f"the model refused to answer: {text[:300]}", excerpt=text[:2_000])


def _usage(value: Any, prices: Prices) -> Usage:
    counts = value if isinstance(value, dict) else {}
    prompt, completion = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    cost = _dollars(counts.get("cost"))
    if cost is None:
        cost = prices.cost(prompt, completion)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=None if cost is None else round(cost, _COST_DIGITS),
    )


def _count(value: Any) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return value if good else None


def _dollars(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return Decimal(str(value)) if 0 <= value <= MAX_COUNT else None


def _cut(usage: Usage, place: Place) -> str:
    written = f"after {usage.completion_tokens} tokens; " if usage.completion_tokens is not None else ""
    return f"{written}max_tokens is {place.max_tokens}"


def _word(value: Any) -> str | None:
    """Return a name that the server gave, bounded."""
    if not isinstance(value, str) or not value:
        return None
    return value[:MAX_DETAIL_CHARS].encode("utf-8", "replace").decode()
