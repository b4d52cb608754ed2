"""Episodes of asynchronous agents without a runner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import Dialogue, drive
from pytest_supportbench.event_loops import EventLoops
from pytest_supportbench.protocol import Observation
from pytest_supportbench.records import Episode, Limits

AskAsync = Callable[[Observation], Awaitable[Any]]


def drive_async(dialogue: Dialogue, ask: AskAsync, loops: EventLoops | None = None) -> Episode:
    """Lead a dialogue with a coroutine function to its end, on an event loop of its own by default."""
    used = loops or EventLoops()
    try:
        return drive(dialogue, lambda seen: used.wait_for("agent", ask(seen), dialogue))  # type: ignore[arg-type]
    finally:
        if loops is None:
            used.close()


def run_async(bound: Any, ask: AskAsync, limits: Limits | None = None) -> Episode:
    """Run one episode with a coroutine function."""
    bounds = limits or Limits()
    return drive_async(Dialogue(Conversation(bound, bounds, "episode"), bounds), ask)
