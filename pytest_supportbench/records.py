"""What an episode leaves behind, as it is scored and stored: its turns, its ending, and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_supportbench.calls import CallRecord, Change
from pytest_supportbench.faults import FaultReached
from pytest_supportbench.protocol import Turn, Usage
from pytest_supportbench.replies import MAX_CHARS

Ending: TypeAlias = Literal[
    "acted", "asked", "turn_limit", "time_limit", "invalid_reply", "agent_failed", "error"
]

EXCERPT: Final = 2_000
"""How many characters of a reply that did not parse are kept."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one episode: turns, seconds from dispatch, characters of one reply."""

    max_turns: int = 6
    timeout: float = 120.0
    max_chars: int = MAX_CHARS


class TurnRecord(NamedTuple):
    """One reply of the agent.

    ``turn`` is ``None`` where the reply did not parse; then ``invalid`` says why and ``excerpt`` has its
    beginning. ``delivered`` tells whether the customer got the message, ``customer_reply`` what they answered.
    ``live`` marks what the agent did while it worked on a reply: the calls of one message of its model with the text
    beside them, or one call of which no message is known. ``replayed`` marks a reply that was stored in an earlier run,
    ``simulated`` an answer that a simulated customer gave.
    """

    number: int
    turn: Turn | None
    delivered: bool = False
    customer_reply: str | None = None
    invalid: str | None = None
    excerpt: str = ""
    usage: Usage | None = None
    seconds: float = 0.0
    live: bool = False
    replayed: bool = False
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeError:
    """Why an episode has no verdict on the agent: a cause that groups equal ones, a message and a remedy."""

    cause: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """One run of one agent on one scenario, ready to be scored.

    ``ending`` says why it ended; ``action`` is the last turn's action where that turn ended the episode.
    ``seconds`` is the wall time from dispatch without the time that a simulated customer took, ``agent_seconds`` the
    part spent waiting for the agent. ``failure_replayed`` says that the agent's failure was stored in an earlier run,
    ``failure_remedy`` what to do about one that it is not for the agent to mend.
    """

    scenario_id: str
    turns: tuple[TurnRecord, ...]
    calls: tuple[CallRecord, ...]
    changes: tuple[Change, ...]
    faults: tuple[FaultReached, ...]
    ending: Ending
    action: str | None = None
    error: EpisodeError | None = None
    failure: str = ""
    failure_replayed: bool = False
    failure_remedy: str = ""
    seconds: float = 0.0
    agent_seconds: float = 0.0

    @property
    def replayed(self) -> Literal["no", "partly", "yes"]:
        """Whether its replies were stored in an earlier run, so that no agent was asked."""
        stored = [record.replayed for record in self.turns if not record.live]
        if self.ending == "agent_failed":
            stored.append(self.failure_replayed)
        if not any(stored):
            return "no"
        return "yes" if all(stored) else "partly"

    @property
    def customer_simulated(self) -> bool:
        """Whether a simulated customer answered, so that another run may go otherwise."""
        return any(record.simulated for record in self.turns)

    @property
    def delivered(self) -> tuple[str, ...]:
        """The messages that the customer got, oldest first."""
        return tuple(record.turn.message for record in self.turns if record.turn and record.delivered)
