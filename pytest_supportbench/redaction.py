"""Keeps secrets out of everything that is stored or shown: their values become ``***`` where they come in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from pytest_supportbench.errors import AgentFailure, InfrastructureError
from pytest_supportbench.protocol import Reply, Turn, Unreadable

BLANK: Final = "***"

MCP_TOKEN_PREFIX: Final = "sb-mcp-"  # noqa: S105 - only where tokens begin
"""What the token of an episode's tools begins with, so that it is known wherever an agent repeats it."""

MIN_CHARS: Final = 8
"""Shorter values are no secrets worth the name, and blanking them would spoil ordinary text."""

MAX_DEPTH: Final = 40
"""Replies nested deeper are refused anyway."""

_MCP_TOKEN: Final = rf"{MCP_TOKEN_PREFIX}[\w-]{{20,}}"
_NAME: Final = re.compile(r"key|token|secret|passw|credential|authorization|cookie|dsn", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[a-z]+([ _-][a-z]+)*|[/~.].*", re.IGNORECASE)


class Redactor:
    """Replaces the values of known secrets in text, also where JSON or a URL escaped them, and tokens of episodes."""

    def __init__(self, values: Iterable[str]) -> None:
        forms = {
            form
            for value in values
            if len(value) >= MIN_CHARS
            for form in (value, json.dumps(value)[1:-1], quote(value, safe=""))
        }
        found = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join([*map(re.escape, found), _MCP_TOKEN]))

    def text(self, text: str) -> str:
        """Return the text with every secret blanked."""
        return self._pattern.sub(BLANK, text)

    def reply(self, raw: Any) -> Any:
        """Return a reply, whatever it is, with every secret blanked; a clean one is returned as it is."""
        if isinstance(raw, Reply):
            turn = self.reply(raw.turn)
            return raw if turn is raw.turn else raw.model_copy(update={"turn": turn})
        if isinstance(raw, Turn | Unreadable):
            data = raw.model_dump()
            clean = self._value(data)
            return raw if clean == data else type(raw).model_validate(clean)
        return self._value(raw)

    def _value(self, value: Any, known: dict[int, Any] | None = None, depth: int = 0) -> Any:
        """Return a value with its texts blanked. Each part is walked once, however often it is shared."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes | bytearray):
            return self.text(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if depth > MAX_DEPTH or not isinstance(value, dict | list | tuple):
            return value  # a reply as deep as that is refused, and no part of it is kept
        known = {} if known is None else known
        if id(value) not in known:
            known[id(value)] = BLANK  # what a part that contains itself comes to
            if isinstance(value, dict):
                clean: Any = {
                    self._value(key): self._value(item, known, depth + 1) for key, item in value.items()
                }
            else:
                clean = [self._value(item, known, depth + 1) for item in value]
            known[id(value)] = clean
        return known[id(value)]

    def error(self, error: Exception) -> Exception:
        """Return an exception whose text holds no secret; other kinds than ours become an `AgentFailure`."""
        if isinstance(error, InfrastructureError):
            return InfrastructureError(error.cause, self.text(error.message), self.text(error.remedy))
        said = str(error)
        clean = self.text(said)
        if clean == said:
            return error
        return AgentFailure(clean if isinstance(error, AgentFailure) else f"{type(error).__name__}: {clean}")


def environment_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of environment variables whose names say that they are secret.

    Plain words and paths are left out, such as ``TOKEN_MODE=strict`` or ``SSH_KEY_FILE=/home/…``.
    """
    return tuple(
        value
        for name, value in environment.items()
        if _NAME.search(name) and len(value) >= MIN_CHARS and not _PLAIN.fullmatch(value)
    )
