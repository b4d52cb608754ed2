"""A conversation as one text that annotators read: who wrote what, and no message can look like several."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from pytest_supportbench.protocol import Message
from pytest_supportbench.reporting.text import clean

AGENT: Final = "[agent] "
CUSTOMER: Final = "[customer] "

_INDENT: Final = "    "
_LIKE_OURS: Final = re.compile(r"\[(?=\s*(?:agent|customer)\s*\])", re.IGNORECASE)


def conversation(words: Iterable[Message]) -> str:
    """Return messages with who wrote each at the margin, their further lines indented.

    What steers a terminal, and a mark like ours in the middle of a line, is made visible.
    """
    return "\n\n".join(f"[{word.role}] {_shown(word.message)}" for word in words)


def agent_messages(text: str) -> tuple[str, ...]:
    """Return the agent's messages of a text that `conversation` made, as annotators read them."""
    found: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith((AGENT, CUSTOMER)):
            found.append([line])
        elif found:
            found[-1].append(line.removeprefix(_INDENT))
    turns = ("\n".join(lines).rstrip("\n") for lines in found)
    return tuple(turn.removeprefix(AGENT) for turn in turns if turn.startswith(AGENT))


def as_shown(text: str) -> str:
    """Return words of a message, such as a judge's evidence, as `conversation` shows them."""
    return "\n".join(_line(line) for line in text.splitlines())


def _shown(message: str) -> str:
    first, *rest = map(_line, message.splitlines() or [""])
    return "\n".join((first, *(f"{_INDENT}{line}" if line.strip() else "" for line in rest)))


def _line(line: str) -> str:
    return clean(_LIKE_OURS.sub(r"\\u005b", line))
