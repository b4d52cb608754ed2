"""Agents that play turns written in advance: references, counterexamples, cassettes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_supportbench.agents.base import BaseAgent
from pytest_supportbench.errors import UsageError
from pytest_supportbench.protocol import Observation, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_supportbench.agents.spec import AgentSpec


class ScriptedAgent(BaseAgent):
    """Plays ``turns`` in order; past their end it does nothing.

    Which turn is next is read off the transcript, so that one instance can serve many episodes at once.
    """

    inline = True

    def __init__(self, turns: Sequence[Turn], spec: AgentSpec, root: Path = Path()) -> None:
        super().__init__(spec, root)
        self.turns = tuple(turns)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the turns, which the spec does not hold."""
        return type(self), (self.turns, self.spec, self.root)

    def reply(self, observation: Observation, /) -> Turn:
        """Return the turn whose number is the count of the agent's earlier ones."""
        number = sum(entry.role == "agent" for entry in observation.transcript)
        return self.turns[number] if number < len(self.turns) else Turn()


class OracleAgent(BaseAgent):
    """Stands for each scenario's reference; the episode runner asks `playing` for the agent to run."""

    inline = True
    wants_reference = True

    def playing(self, turns: Sequence[Turn]) -> ScriptedAgent:
        """Return the agent that plays one scenario's reference."""
        return ScriptedAgent(turns, self.spec, self.root)

    def reply(self, observation: Observation, /) -> Turn:
        """Raise `UsageError`: an observation holds no reference."""
        msg = f"the oracle cannot answer episode {observation.episode!r} by itself; run it on a scenario"
        raise UsageError(msg)
