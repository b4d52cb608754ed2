"""Makes a turn of whatever an agent replied, or says in words why it is none."""

from __future__ import annotations

import math
from json import detect_encoding, dumps, loads
from typing import Any, Final

from pydantic import ValidationError

from pytest_supportbench.protocol import Turn, Unreadable

MAX_DEPTH: Final = 32
"""Deeper nesting than this in a reply is refused before anything walks it."""

MAX_CHARS: Final = 64_000
"""The longest reply that is read, as JSON text."""


_UNCHANGING: Final = frozenset((str, int, float, bool, type(None)))
_THOUGHTS: Final = ("<think>", "</think>")
_FENCE: Final = "```"
_BLANK: Final = " \t\r\n"
_BYTE_ORDER_MARK: Final = "\ufeff"


class InvalidReply(Exception):  # noqa: N818 - named after the record it becomes
    """A reply that is no turn; its text tells the agent what to mend."""


def _bounded(value: object, left: int, depth: int = 0) -> int:  # noqa: C901 - one branch a kind of value
    """Refuse what JSON cannot say (NaN, surrogates, other types), what is nested too deeply, and too many values.

    ``left`` is how many values there may be; what remains of it is returned. Without it a small Python object whose
    parts are shared could be walked for ever.
    """
    left -= 1
    if left < 0:
        raise InvalidReply("the reply has too many values")
    if depth > MAX_DEPTH:
        raise InvalidReply(f"the reply is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidReply("the reply holds a lone surrogate, which is no Unicode text") from None
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidReply(f"the reply holds {value!r}, which is no JSON number")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidReply(f"the reply has a key that is no string: {key!r}"[:200])
            left = _bounded(item, _bounded(key, left, depth + 1), depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            left = _bounded(item, left, depth + 1)
    elif value is not None and not isinstance(value, bool | int):
        raise InvalidReply(f"the reply holds a {type(value).__name__}, which is no JSON value")
    return left


def without_thoughts(text: str) -> str:
    """Return a text without the block of thoughts before it, in which some models think aloud."""
    begun, ended = _THOUGHTS
    if text.lstrip(_BLANK).startswith(begun):
        _, closed, rest = text.partition(ended)
        return rest.lstrip(_BLANK) if closed else text
    return text


def _without_rest_of_thoughts(text: str) -> str:
    """Return a text without thoughts that were never opened: some models' templates write the beginning themselves.

    What is JSON from its start has no thoughts before it, whatever its strings say.
    """
    begun, ended = _THOUGHTS
    thoughts, closed, rest = text.partition(ended)
    unopened = closed and begun not in thoughts and not text.lstrip(_BLANK).startswith(("{", _FENCE))
    return rest if unopened else text


def unwrapped(text: str) -> str:
    """Return the JSON text of a reply: the one rule for what may stand around it, in all kinds of agents.

    That is a byte order mark at its start, a block of thoughts before it, perhaps without its beginning, and one
    Markdown code fence around it, each on lines of its own. Text with anything else around it is returned as it is, and
    is no JSON.
    """
    text = text.lstrip(_BYTE_ORDER_MARK)
    opened = text.lstrip(_BLANK).startswith(_THOUGHTS[0])
    bare = (without_thoughts(text) if opened else _without_rest_of_thoughts(text)).strip(_BLANK)
    opening, _, rest = bare.partition("\n")
    body, line, closing = rest.rpartition("\n")
    fenced = opening.strip(_BLANK).casefold() in {_FENCE, f"{_FENCE}json"} and closing.strip(_BLANK) == _FENCE
    return body if fenced and line else bare


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidReply("the reply has a duplicate key in one object")
    return result


def _from_json(text: str | bytes, max_chars: int) -> object:
    if len(text) > max_chars:
        raise InvalidReply(f"the reply has {len(text):,} characters; at most {max_chars:,} are read")
    try:
        if isinstance(text, bytes):
            text = text.decode(detect_encoding(text), "surrogatepass")
        return loads(unwrapped(text), object_pairs_hook=_unique)
    except ValueError as error:
        raise InvalidReply(f"the reply is no JSON: {error}"[:300]) from None
    except RecursionError:
        raise InvalidReply(f"the reply is nested deeper than {MAX_DEPTH} levels") from None


_KEYS: Final = "action, message, tool_calls and asks_for"
_WANTED: Final = {
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object with tool and arguments",
    "missing": "is missing",
}


def _reason(error: ValidationError) -> str:
    """Return the first mistake in a reply in words that an agent's author and a model both understand."""
    mistakes = error.errors(include_url=False)
    # A key that is missing often stands there under another name, which is then the better thing to tell.
    first = next((item for item in mistakes if item["type"] == "extra_forbidden"), mistakes[0])
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        keys = "tool and arguments" if "tool_calls" in first["loc"] else _KEYS
        owner = "a tool call" if "tool_calls" in first["loc"] else "a turn"
        return f"unknown key {where!r}; {owner} has {keys}"
    wanted = _WANTED.get(first["type"])
    if wanted is None:
        return f"{where}: {first['msg']}"
    return (
        f"{where} {wanted}"
        if wanted == "is missing"
        else f"{where} {wanted}, not a {type(first['input']).__name__}"
    )


def parse_turn(raw: object, *, max_chars: int = MAX_CHARS) -> Turn:
    """Return ``raw`` (a `Turn`, a mapping, or JSON text) as a turn that is safe to store and to show.

    ``max_chars`` bounds the whole reply as JSON text. Raises `InvalidReply` with a reason that the agent can
    act on; never anything else, whatever the agent returned.
    """
    try:
        turn, size = _turn(raw, max_chars)
    except InvalidReply:
        raise
    except ValidationError as error:
        raise InvalidReply(_reason(error)[:300]) from None
    except ValueError as error:  # Python writes no integer of more than 4,300 digits
        raise InvalidReply(f"the reply is no JSON: {error}"[:300]) from None
    except Exception as error:  # noqa: BLE001 - objects of an agent's own may do anything
        raise InvalidReply(f"the reply cannot be read: {type(error).__name__}"[:300]) from None
    if size > max_chars:
        raise InvalidReply(f"the reply has {size:,} characters; at most {max_chars:,} are read")
    return turn


def _turn(raw: object, max_chars: int) -> tuple[Turn, int]:
    """Return a reply as a turn of plain values, and its size in characters; may raise anything."""
    if isinstance(raw, Unreadable):
        raise InvalidReply(raw.reason)
    text = isinstance(raw, str | bytes | bytearray)
    if isinstance(raw, str | bytes | bytearray):
        raw = _from_json(bytes(raw) if isinstance(raw, bytearray) else raw, max_chars)
    if isinstance(raw, Turn):
        turn = raw
    elif isinstance(raw, dict):
        _bounded(raw, max_chars)
        turn = Turn.model_validate(raw)
    else:
        what = "None (was a return forgotten?)" if raw is None else f"a {type(raw).__name__}"
        raise InvalidReply(f"the reply is {what}; a turn is an object with {_KEYS}")
    parts = [turn.message, turn.action, list(turn.asks_for), [call.arguments for call in turn.tool_calls]]
    _bounded(parts, max_chars)
    size = len(turn.message) + sum(map(len, turn.asks_for))
    if turn.tool_calls:
        size += sum(len(dumps(call.arguments)) + len(call.tool) for call in turn.tool_calls)
    if not text:  # what a record would make of it counts: an enumeration is its plain value, a tuple a list
        turn = Turn.model_validate(_recorded(turn))
    return turn, size


def _recorded(turn: Turn) -> Any:
    """Return a turn as it would be read back from a record, sharing nothing that somebody could change later."""
    said: dict[str, Any] = {**turn.__dict__, "tool_calls": [call.__dict__ for call in turn.tool_calls]}
    try:
        return _plain_copy(said)
    except TypeError:
        return loads(dumps(turn.model_dump(mode="json")))


def _plain_copy(value: Any) -> Any:
    """Return a copy of JSON data. Raises `TypeError` for what is of a subclass of its types, or of another one."""
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if kind is dict:
        return {_plain_copy(key): _plain_copy(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_plain_copy(item) for item in value]
    msg = f"a {kind.__name__} is no plain JSON value"
    raise TypeError(msg)
