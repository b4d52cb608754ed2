"""What passes between the harness and an agent in another process: an observation out, a turn back, both as JSON."""

from __future__ import annotations

import threading
from collections.abc import Callable
from json import dumps, loads
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from pytest_supportbench.clock import now
from pytest_supportbench.errors import AgentFailure
from pytest_supportbench.protocol import Observation, Reply, Unreadable, Usage
from pytest_supportbench.replies import MAX_CHARS, unwrapped

if TYPE_CHECKING:
    from pytest_supportbench.agents.base import Case
    from pytest_supportbench.agents.mcp_desk import McpDesk
    from pytest_supportbench.agents.spec import AgentSpec

MAX_BYTES: Final = 1_000_000
"""More than this of one answer is not read."""

DEFAULT_SECONDS: Final = 120.0
"""The limit of a reply outside of any episode."""

EXCERPT_BYTES: Final = 2_000
"""How much of an unreadable answer is kept."""


def encode(observation: Observation) -> bytes:
    """Return an observation as one line of JSON in ASCII, so that no program's own encoding can spoil it.

    ``mcp`` is there only where it is set.
    """
    left_out = None if observation.mcp else {"mcp"}
    return dumps(observation.model_dump(mode="json", by_alias=True, exclude=left_out)).encode()


def decode(data: bytes, retries: int = 0) -> Any:
    """Return an answer as the episode takes it: its text, or a `Reply` where it came as ``{"turn", "usage"}``.

    ``retries`` is how often the request was repeated. Whatever came, nothing is raised: what is no text becomes
    `Unreadable`, and text that is no turn is for the episode to refuse.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return unreadable(f"the reply is not UTF-8 (byte {error.start:,})", data)
    if not text.strip():
        return unreadable("the reply is empty", b"")
    turn, usage = _opened(text)
    if isinstance(turn, Unreadable):
        return turn
    if retries:
        usage = (usage or Usage()).model_copy(update={"retries": retries})
    return Reply(turn=turn, usage=usage) if usage else turn


def unreadable(reason: str, data: bytes) -> Unreadable:
    """Return what stands in the place of a turn, with the beginning of what came."""
    return Unreadable(reason=reason[:500], excerpt=data[:EXCERPT_BYTES].decode("utf-8", "replace"))


def limited(seconds: float) -> Callable[[], float]:
    """Return what tells how much is left of so many seconds from now; not below 0."""
    end = now() + seconds
    return lambda: max(end - now(), 0.0)


class _DuplicateKeyError(ValueError):
    """An object says one thing twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _DuplicateKeyError
    return result


def _opened(text: str) -> tuple[Any, Usage | None]:
    """Take a turn out of its envelope; text without one is returned as it is."""
    if '"turn"' not in text or len(text) > 2 * MAX_CHARS:
        return text, None
    try:
        data = loads(unwrapped(text), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return text, None  # the episode says what is wrong with it
    if not isinstance(data, dict) or data.keys() | {"usage"} != {"turn", "usage"}:
        return text, None
    usage = _usage(data.get("usage"))
    return (
        (unreadable(usage, text.encode("utf-8", "replace")), None)
        if isinstance(usage, str)
        else (data["turn"], usage)
    )


def _usage(value: object) -> Usage | str | None:
    """Return what the agent says that the reply cost, or why that cannot be."""
    if value is None:
        return None
    try:
        usage = Usage.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(("usage", *map(str, first["loc"])))
        if first["type"] == "extra_forbidden":
            return f"unknown key {where!r}; usage has prompt_tokens, completion_tokens, seconds and cost"
        return f"{where}: {first['msg']}"
    return usage.model_copy(update={"retries": 0})


class McpOption:
    """Puts the address of an episode's tools into its observations, where the agent file says ``mcp: true``."""

    def __init__(self, spec: AgentSpec) -> None:
        self.wanted = bool(spec.option("mcp", False))
        self._lock = threading.Lock()
        self._desk: McpDesk | None = None
        self._closed = False

    def open(self) -> McpDesk:
        """Return the desk, made on first use.

        Raises `UsageError` where the package for it is missing, and `AgentFailure` after `close`.
        """
        with self._lock:
            if self._closed:
                raise AgentFailure("the run is over; the agent is not asked any more")
            if self._desk is None:
                from pytest_supportbench.agents.mcp_desk import McpDesk  # noqa: PLC0415 - an extra

                self._desk = McpDesk()
            return self._desk

    def added(self, observation: Observation, case: Case | None) -> Observation:
        """Return the observation with the address of the case's tools, if that is wanted and there is a case."""
        if not self.wanted or case is None:
            return observation
        return observation.model_copy(update={"mcp": self.open().address(case.tools)})

    def close(self) -> None:
        """Close the desk."""
        with self._lock:
            self._closed = True
            desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()
