"""A model, or the user's own function, that is asked beside the agent under test: to judge, or to play the customer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pytest_supportbench.agents import make_agent
from pytest_supportbench.agents.base import LiveAgent
from pytest_supportbench.agents.spec import AgentSpec, parse_spec
from pytest_supportbench.errors import UsageError

KINDS: Final = ("python", "ollama", "openai", "local")
"""The kinds of agents that can be asked for something else than a support agent's turn."""


@dataclass(frozen=True, slots=True)
class Role:
    """What it is asked to be: the ``option`` that names it, its ``name`` in errors, and what it ``does``."""

    option: str
    name: str
    does: str


def parse_asked(text: str, root: Path, role: Role) -> AgentSpec:
    """Return the spec for a role: in the form of an agent spec, of a kind that can be asked. Raises `UsageError`."""
    try:
        spec = parse_spec(text, root)
    except UsageError as error:
        raise UsageError(f"{role.option}: {error}") from None
    if spec.kind not in KINDS:
        what = f"an agent of kind {spec.kind!r}" if spec.kind != "registered" else "a registered agent"
        raise UsageError(f"{role.option}: {what} cannot {role.does}; the kinds are {', '.join(KINDS)}")
    if spec.without:
        unseen = " and no ".join(sorted(spec.without))
        raise UsageError(f"{role.option}: {role.name} sees no {unseen}; drop 'without'")
    return spec


class AskedAgent:
    """Makes the agent of a role on first use, from any thread. A model without a prompt of its own gets ``prompt``."""

    def __init__(self, spec: AgentSpec, root: Path, role: Role, prompt: str) -> None:
        self.spec = spec if spec.kind == "python" else replace(spec, prompt=spec.prompt or prompt)
        self.made: LiveAgent | None = None
        self._root = root
        self._role = role
        self._lock = threading.Lock()

    def ready(self) -> LiveAgent:
        """Return what is asked. Raises `UsageError` where it cannot be made."""
        with self._lock:
            if self.made is None:
                option = self._role.option
                try:
                    agent = make_agent(self.spec, self._root)
                except UsageError as error:
                    raise UsageError(f"{option}: {error}") from None
                if agent.is_async:
                    what = f"{self.spec.target} is asynchronous; {self._role.name} is a plain function"
                    raise UsageError(f"{option}: {what}")
                self.made = agent
            return self.made

    def close(self) -> None:
        """Give back what it holds."""
        with self._lock:
            if self.made is not None:
                self.made.close()
