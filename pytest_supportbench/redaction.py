"""Keeps secrets out of everything that is stored or shown: their values become ``***`` where they come in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from json import dumps, loads
from typing import Any, Final
from urllib.parse import quote

from pytest_supportbench.errors import AgentFailure, InfrastructureError
from pytest_supportbench.patterns import later
from pytest_supportbench.protocol import Reply, Step, Turn, Unreadable
from pytest_supportbench.secret_values import MIN_CHARS
from pytest_supportbench.spellings import meaning, replaced, spellings

BLANK: Final = "***"

MCP_TOKEN_PREFIX: Final = "sb-mcp-"  # noqa: S105 - only where tokens begin
"""What the token of an episode's tools begins with, so that it is known wherever an agent repeats it."""

MIN_LINE: Final = 16
"""A line of a secret of several lines, such as a PEM key, is a secret by itself from so many characters on."""

MIN_PIECE: Final = 6
"""So many characters of a secret that was cut are still blanked; fewer tell nothing."""

MAX_DEPTH: Final = 40
"""Replies nested deeper are refused anyway."""

_MCP_TOKEN: Final = rf"{MCP_TOKEN_PREFIX}[\w-]{{20,}}"
_WORDS: Final = later(r"[a-z]+([ _-][a-z]+)*[ _-]?", re.IGNORECASE)
_AFTER: Final = later(r"\.{0,3}($|[^\w/=%.-])")
_BEFORE: Final = later(r"(^|[^\w/=%.-]|\.\.\.)\Z")


class Redactor:
    """Replaces the values of known secrets in text, however JSON, a URL or HTML spelt them, and tokens of episodes."""

    def __init__(self, values: Iterable[str]) -> None:
        parts = (part for value in values for part in (value, *_long_lines(value)))
        self._values = tuple(dict.fromkeys(part for part in parts if len(part) >= MIN_CHARS))
        forms = {form for value in self._values for form in _forms(value)}
        found = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = later("|".join([*map(re.escape, found), _MCP_TOKEN]))
        meant = {
            meaning(form).strip()
            for value in self._values
            for form in (value, quote(value, safe="", errors="replace"))
        }
        self._meant = tuple(sorted(form for form in meant if len(form) >= MIN_PIECE))

    def text(self, text: str) -> str:
        """Return a text to be shown with every secret blanked, also one of which a cut left a piece at its edge."""
        return self._blanked(text, pieces=True)

    def beside(self, texts: Iterable[str]) -> Redactor:
        """Return one that leaves alone what these texts have as a word of their own, given by their `meaning`."""
        known = tuple(texts)
        kept = [value for value in self._values if not _has_word(known, meaning(value).strip())]
        return self if len(kept) == len(self._values) else Redactor(kept)

    @property
    def has_values(self) -> bool:
        """Whether any secret is known."""
        return bool(self._values)

    def goes_on(self, text: str) -> bool:
        """Tell whether a secret may have begun at the end of the text, so that what follows belongs to it."""
        plain = meaning(text)
        return any(
            plain.endswith(secret[:size])
            for secret in self._meant
            for size in range(1, min(len(secret), len(plain) + 1))
        )

    def reply(self, raw: Any) -> Any:
        """Return a reply, whatever it is, with every secret blanked; a clean one is returned as it is."""
        if isinstance(raw, Reply):
            turn, step = self.reply(raw.turn), self.reply(raw.step)
            same = turn is raw.turn and step is raw.step
            return raw if same else raw.model_copy(update={"turn": turn, "step": step})
        if isinstance(raw, Unreadable):
            reason, excerpt = self.text(raw.reason), self.text(raw.excerpt)  # both may have been cut
            same = (reason, excerpt) == (raw.reason, raw.excerpt)
            return raw if same else raw.model_copy(update={"reason": reason, "excerpt": excerpt})
        if isinstance(raw, Turn | Step):
            data = raw.model_dump()
            clean = self._value(data)
            return raw if clean == data else type(raw).model_validate(clean)
        return self._value(raw)

    def _value(self, value: Any, known: dict[int, Any] | None = None, depth: int = 0) -> Any:
        """Return a value with its texts blanked. Each part is walked once, however often it is shared."""
        if isinstance(value, str):
            return self._whole_text(value, depth)
        if isinstance(value, bytes | bytearray):
            text = self._whole_text(value.decode("utf-8", "surrogateescape"), depth)
            return text.encode("utf-8", "surrogateescape")
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

    def _whole_text(self, text: str, depth: int) -> str:
        """Return a text that was not cut, blanked: JSON stays JSON, and what it means is blanked too."""
        clean = self._blanked(text, pieces=False)
        said = None if depth > MAX_DEPTH else _parsed(text)
        if said is None:
            return clean
        shown = said if clean == text else _parsed(clean)
        meant = self._value(said if shown is None else shown, depth=depth + 1)
        return clean if meant == shown else dumps(meant)

    def error(self, error: BaseException) -> BaseException:
        """Return an exception whose text holds no secret; other kinds than ours become an `AgentFailure`."""
        if isinstance(error, InfrastructureError):
            return InfrastructureError(error.cause, self.text(error.message), self.text(error.remedy))
        said = said_by(error)
        clean = self.text(said)
        if clean == said:
            return error
        if isinstance(error, AgentFailure):
            return AgentFailure(clean, error.remedy)
        return AgentFailure(f"{type(error).__name__}: {clean}")

    def _blanked(self, text: str, *, pieces: bool) -> str:
        if self._meant:
            plain = meaning(text)
            spans = [span for secret in self._meant for span in _whole(plain, secret)]
            if pieces:
                spans += [span for secret in self._meant for span in _pieces(plain, secret)]
            if spans:
                text = replaced(text, spans, BLANK)
        return self._pattern.sub(BLANK, text)


def _forms(value: str) -> Iterable[str]:
    """Return how a value may be spelt where its `meaning` does not find it; of some that is too short to look for."""
    if len(meaning(value).strip()) < MIN_PIECE:
        return spellings(value)
    return value, dumps(value)[1:-1], quote(value, safe="", errors="replace")


def _has_word(texts: tuple[str, ...], word: str) -> bool:
    """Tell whether a text has a word that is no part of a longer one."""
    pattern = later(rf"(?<!\w){re.escape(word)}(?!\w)")
    return any(pattern.search(text) for text in texts)


def _parsed(text: str) -> dict[str, Any] | list[Any] | None:
    """Return the object or list that a text is as JSON, if it is one."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        value: dict[str, Any] | list[Any] = loads(text)
    except (RecursionError, ValueError):
        return None
    return value


def said_by(error: BaseException) -> str:
    """Return the text of an exception, whose own code may fail to tell it."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an agent's own exception may do anything
        return ""


def _long_lines(value: str) -> list[str]:
    """Return the lines of a secret that has several, but for those that only frame it."""
    lines = [line.strip() for line in value.splitlines()]
    return [line for line in lines if len(line) >= MIN_LINE and not line.startswith("-----")]


def _places(text: str, part: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


def _whole(text: str, secret: str) -> Iterator[tuple[int, int]]:
    for start in _places(text, secret):
        yield start, start + len(secret)


def _pieces(text: str, secret: str) -> Iterator[tuple[int, int]]:
    """Yield where a text has the beginning of a secret before a cut, or its end behind one. Words tell nothing."""
    if len(secret) <= MIN_PIECE:
        return
    for start in _places(text, secret[:MIN_PIECE]):
        end = start + _alike(text[start : start + len(secret)], secret)
        if _AFTER.match(text, end) and not _WORDS.fullmatch(text[start:end]):
            yield start, end
    backwards = secret[::-1]
    for place in _places(text, secret[-MIN_PIECE:]):
        end = place + MIN_PIECE
        start = end - _alike(text[max(end - len(secret), 0) : end][::-1], backwards)
        before = text[max(start - 3, 0) : start]
        if _BEFORE.search(before) and not _WORDS.fullmatch(text[start:end]):
            yield start, end


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts have in common from their beginning."""
    size, most = 0, min(len(one), len(other))
    while size < most:  # by halves: a long secret that repeats itself is alike at each of its characters
        middle = (size + most + 1) // 2
        if one[size:middle] == other[size:middle]:
            size = middle
        else:
            most = middle - 1
    return size
