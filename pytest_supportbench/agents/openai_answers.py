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
from pytest_supportbench.agents.native_tools import Answer, NativeCall
from pytest_supportbench.agents.openai_faults import Place, fault, said_in, said_to_raise
from pytest_supportbench.protocol import Unreadable, Usage

MAX_COUNT: Final = 10**12
"""Tokens or dollars beyond this are nonsense."""

_MILLION: Final = 1_000_000
_COST_DIGITS: Final = 9
_SERVER_ERROR: Final = 500


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
        begun = data[:80].decode("utf-8", "replace")
        raise fault("not_json", f"it begins with {begun!r}" if data else "it is empty", place) from error
    if not isinstance(body, dict):
        raise fault("invalid_response", f"a {type(body).__name__}", place)
    if body.get("error"):
        raise _refused(body, place)
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise fault("invalid_response", "no choice with a message", place)
    if choice.get("error"):
        raise _refused(choice, place)
    usage = _usage(body.get("usage"), prices)
    reason = choice.get("finish_reason")
    if reason == "length":
        raise fault("reply_truncated", _cut(usage, place), place)
    if reason == "content_filter":
        raise fault("content_filter", "", place)
    answer = Answer(_text(message.get("content")), usage, _calls(message, place), _refusal(message))
    return Completion(answer, _word(body.get("model")), _word(body.get("system_fingerprint")))


def _refused(body: dict[str, Any], place: Place) -> Exception:
    """Return what to raise for an error that came with the status 200, as gateways send it."""
    inner = body["error"]
    code = inner.get("code") if isinstance(inner, dict) else None
    status = code if isinstance(code, int) and code >= _SERVER_ERROR - 100 else _SERVER_ERROR
    return said_to_raise(said_in(body, status), place)


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
