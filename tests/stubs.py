"""Agents for tests of the machinery: they reply by a function, in whatever way a test wants."""

from collections.abc import Callable
from typing import Any

from pytest_supportbench.agents.base import BaseAgent
from pytest_supportbench.agents.spec import AgentSpec


class StubAgent(BaseAgent):
    """Replies with what ``reply`` returns, and counts how often it was asked."""

    def __init__(self, reply: Callable[[Any], Any], *, window: int = 1, is_async: bool = False) -> None:
        self.spec = AgentSpec(raw="stub", kind="stub")
        self.window = window
        self.is_async = is_async
        self.asked = 0
        self.checks = 0
        self.problem: Exception | None = None
        self._reply = reply

    def check(self) -> None:
        """Raise the problem that the test set."""
        self.checks += 1
        if self.problem is not None:
            raise self.problem

    def reply(self, observation: Any, /) -> Any:
        """Reply by the test's function."""
        self.asked += 1
        return self._reply(observation)
