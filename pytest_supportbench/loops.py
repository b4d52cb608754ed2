"""The event loops of a session, made when the first asynchronous agent is asked: asyncio takes long to import."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from pytest_supportbench.episode import Dialogue
    from pytest_supportbench.event_loops import EventLoops


class Loops:
    """Does what `EventLoops` does, and makes them when they are first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loops: EventLoops | None = None

    def wait_for(self, agent: str, coroutine: Coroutine[Any, Any, Any], clock: Dialogue, /) -> Any:
        """Return what a coroutine returns, run on the agent's loop, as `EventLoops.wait_for` does."""
        from pytest_supportbench.event_loops import EventLoops  # noqa: PLC0415 - see above

        with self._lock:
            if self._loops is None:
                self._loops = EventLoops()
        return self._loops.wait_for(agent, coroutine, clock)

    def close(self) -> None:
        """Stop the loops that were made."""
        if self._loops is not None:
            self._loops.close()
