"""Agents that Python code hands over as objects: registered by a hook, returned by a fixture, given to a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_supportbench.agents.base import BaseAgent, file_digest
from pytest_supportbench.agents.origin import source_of
from pytest_supportbench.agents.python_callable import PythonAgent, reply_of

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_supportbench.agents.spec import AgentSpec


class CallableAgent(PythonAgent):
    """Calls the object like `PythonAgent` does; it cannot be made anew elsewhere, so it does not pickle."""

    def __init__(self, spec: AgentSpec, root: Path, value: Any) -> None:
        BaseAgent.__init__(self, spec, root)
        self._digest, self._code = file_digest(source_of(value)), None
        self._take(reply_of(spec, value))

    def __reduce__(self) -> tuple[Any, ...]:
        msg = (
            f"the agent {self.spec.target!r} is an object of this process; name it as python:module:callable"
        )
        raise TypeError(msg)
