"""An episode without its agent: hands out observations, takes replies, executes calls, and keeps what happened."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pytest_supportbench.calls import CallRecord, Change
from pytest_supportbench.environment import Environment
from pytest_supportbench.faults import FaultReached
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.protocol import (
    AgentEntry,
    CustomerEntry,
    CustomerView,
    Entry,
    InvalidReply,
    Observation,
    PolicyText,
    Reply,
    ToolEntry,
    ToolFailure,
    Turn,
    Usage,
    parse_turn,
)

Ending: TypeAlias = Literal[
    "acted", "asked", "turn_limit", "time_limit", "invalid_reply", "agent_failed", "error"
]

NEUTRAL_REPLY: Final = "I have nothing to add to that right now."
"""What the customer answers to a question that the scenario did not script; said once."""

EXCERPT: Final = 2_000
"""How many characters of a reply that did not parse are kept."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one episode: turns, seconds from dispatch, characters of one reply."""

    max_turns: int = 6
    timeout: float = 120.0
    max_chars: int = 64_000


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One reply of the agent.

    ``turn`` is ``None`` where the reply did not parse; then ``invalid`` says why and ``excerpt`` has its
    beginning. ``delivered`` tells whether the customer got the message, ``customer_reply`` what they answered.
    """

    number: int
    turn: Turn | None
    delivered: bool = False
    customer_reply: str | None = None
    invalid: str | None = None
    excerpt: str = ""
    usage: Usage | None = None
    seconds: float = 0.0


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
    ``seconds`` is the wall time from dispatch, ``agent_seconds`` the part spent waiting for the agent.
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
    seconds: float = 0.0
    agent_seconds: float = 0.0

    @property
    def delivered(self) -> tuple[str, ...]:
        """The messages that the customer got, oldest first."""
        return tuple(record.turn.message for record in self.turns if record.turn and record.delivered)

    @property
    def drafts(self) -> tuple[str, ...]:
        """The messages that were written and not delivered."""
        return tuple(
            record.turn.message
            for record in self.turns
            if record.turn and record.turn.message and not record.delivered
        )


def make_environment(bound: BoundScenario) -> Environment:
    """Return a fresh environment for one episode of a scenario."""
    scenario = bound.scenario
    return Environment(
        bound.suite.toolset,
        bound.state,
        as_of=scenario.as_of,
        permitted=scenario.tools,
        faults=scenario.faults,
        subject=scenario.customer.subject,
        policies=bound.suite.suite.policies,
        knowledge=bound.suite.suite.knowledge,
    )


class Conversation:
    """The state machine of an episode without the agent: hands out observations and takes replies.

    Both the synchronous and the asynchronous runner drive it, and so does replaying a stored trace.
    """

    def __init__(self, bound: BoundScenario, limits: Limits, episode_id: str) -> None:
        self._bound = bound
        self._limits = limits
        self.environment = make_environment(bound)
        self._turns: list[TurnRecord] = []
        self._transcript: list[Entry] = []
        self._neutral_used = False
        self._invalid_used = False
        self.ending: Ending | None = None
        self._action: str | None = None
        self._episode_id = episode_id
        self._fixed: dict[str, Any] | None = None

    def observation(self) -> Observation:
        """Return what the agent sees now. The account is shown as it was when the first observation was asked for."""
        if self._fixed is None:
            self._fixed = self._opening()
        left = self._limits.max_turns - len(self._turns)
        return Observation.model_construct(**self._fixed, transcript=tuple(self._transcript), turns_left=left)

    def _opening(self) -> dict[str, Any]:
        """Return the part of every observation that stays the same."""
        scenario, suite = self._bound.scenario, self._bound.suite
        texts = {policy.id: policy.text for policy in suite.suite.policies}
        return {
            "as_of": scenario.as_of.isoformat(),
            "customer": CustomerView(message=scenario.customer.message, history=scenario.customer.history),
            "account": self.environment.account(scenario.visible),
            "memory": scenario.memory,
            "policies": tuple(PolicyText(id=name, text=texts[name]) for name in sorted(scenario.policies)),
            "tools": self.environment.tools,
            "actions": suite.actions,
            "slots": suite.suite.slots,
            "episode": self._episode_id,
        }

    def take(self, raw: object, seconds: float = 0.0) -> None:
        """Take one reply: parse it, execute its calls, and decide whether the episode is over."""
        usage = None
        if isinstance(raw, Reply):
            usage, raw = raw.usage, raw.turn
        number = len(self._turns) + 1
        try:
            turn = parse_turn(raw, max_chars=self._limits.max_chars)
            self._refuse_unknown_action(turn.action)
        except InvalidReply as error:
            self._take_invalid(str(error), raw, TurnRecord(number, None, usage=usage, seconds=seconds))
            return
        calls = [self.environment.call(call, number) for call in turn.tool_calls]
        kind = self._bound.suite.suite.action_class(turn.action)
        over = bool(turn.action) and all(call.status == "ok" for call in calls)
        asks = kind == "ask" or (bool(turn.asks_for) and not turn.action)
        answer = self._answer(turn) if asks else None
        if asks:
            over = answer is None
        delivered = asks or over
        self._turns.append(TurnRecord(number, turn, delivered, answer, usage=usage, seconds=seconds))
        self._transcript.append(
            AgentEntry(
                action=turn.action,
                message=turn.message,
                tool_calls=turn.tool_calls,
                asks_for=turn.asks_for,
                delivered=delivered,
            )
        )
        self._transcript.extend(call.entry() for call in calls)
        if answer is not None:
            self._transcript.append(CustomerEntry(message=answer))
        if over:
            self._action = turn.action
            self.ending = "asked" if asks else "acted"
        elif number >= self._limits.max_turns:
            self.ending = "turn_limit"

    def _refuse_unknown_action(self, action: str | None) -> None:
        known = [spec.name for spec in self._bound.suite.actions]
        if action and action not in known:
            close = difflib.get_close_matches(action, known, n=1)
            guess = f"did you mean {close[0]!r}? " if close else ""
            raise InvalidReply(f"unknown action {action!r}; {guess}the actions are {', '.join(known)}"[:500])

    def _answer(self, turn: Turn) -> str | None:
        """Return the customer's answer to a question; ``None`` ends the episode."""
        scripted = {reply.asked_for: reply.message for reply in self._bound.scenario.customer.replies}
        found = [scripted[slot] for slot in dict.fromkeys(turn.asks_for) if slot in scripted]
        if found:
            return " ".join(found)
        if self._neutral_used:
            return None
        self._neutral_used = True
        return NEUTRAL_REPLY

    def _take_invalid(self, reason: str, raw: object, record: TurnRecord) -> None:
        excerpt = _excerpt(raw)
        self._turns.append(
            TurnRecord(
                record.number,
                None,
                invalid=reason,
                excerpt=excerpt,
                usage=record.usage,
                seconds=record.seconds,
            )
        )
        if self._invalid_used or record.number >= self._limits.max_turns:
            self.ending = "invalid_reply"
            return
        self._invalid_used = True
        self._transcript.append(AgentEntry())
        error = ToolFailure(code="invalid_reply", message=reason, retryable=True)
        self._transcript.append(ToolEntry(tool="reply", status="error", error=error))

    def finish(
        self,
        *,
        seconds: float = 0.0,
        ending: Ending | None = None,
        error: EpisodeError | None = None,
        failure: str = "",
    ) -> Episode:
        """Return the episode as it stands, ended by ``ending`` where the conversation itself has not ended."""
        return Episode(
            scenario_id=self._bound.scenario.id,
            turns=tuple(self._turns),
            calls=tuple(self.environment.calls),
            changes=self.environment.changes(),
            faults=self.environment.faults(),
            ending=ending or self.ending or "turn_limit",
            action=self._action if ending is None else None,
            error=error,
            failure=failure,
            seconds=seconds,
            agent_seconds=sum(record.seconds for record in self._turns),
        )


def _excerpt(raw: object) -> str:
    """Return the beginning of a reply that did not parse, whatever it is, as text that can be stored."""
    if isinstance(raw, str):
        text = raw
    elif isinstance(raw, bytes | bytearray):
        text = raw[:EXCERPT].decode("utf-8", "replace")
    elif isinstance(raw, dict):
        import reprlib  # noqa: PLC0415 - only such replies need it

        shortened = reprlib.Repr()
        shortened.maxstring = shortened.maxother = 200
        try:
            text = shortened.repr(raw)
        except Exception:  # noqa: BLE001 - the repr of an agent's own object may do anything
            text = type(raw).__name__
    else:
        text = type(raw).__name__
    return text[:EXCERPT].encode("utf-8", "replace").decode()
