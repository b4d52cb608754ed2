"""An episode without its agent: hands out observations, takes replies, executes calls, and keeps what happened."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from pytest_supportbench.customer import MAX_SIMULATED, CustomerBrief, ScriptedCustomer
from pytest_supportbench.environment import Environment
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.protocol import (
    AgentEntry,
    CustomerEntry,
    CustomerView,
    Entry,
    Message,
    Observation,
    Reply,
    Step,
    ToolCall,
    ToolEntry,
    ToolFailure,
    Turn,
    Unreadable,
)
from pytest_supportbench.records import EXCERPT, Ending, Episode, EpisodeError, Limits, TurnRecord
from pytest_supportbench.replies import InvalidReply, parse_turn
from pytest_supportbench.steps import Steps, with_calls

NEUTRAL_REPLY: Final = "I have nothing to add to that right now."
"""What the customer answers to a question that the scenario did not script; said once."""


def make_environment(bound: BoundScenario, without: Collection[str] = ()) -> Environment:
    """Return a fresh environment for one episode of a scenario.

    ``without`` names parts of the observation that an ablation takes away; their tools go with them.
    """
    scenario, specs = bound.scenario, bound.suite.toolset.specs
    return Environment(
        bound.suite.toolset,
        bound.state,
        as_of=scenario.as_of,
        permitted=[name for name in scenario.tools if specs[name].part not in without],
        faults=scenario.faults,
        subject=scenario.customer.subject,
        policies=bound.suite.suite.policies,
        knowledge=bound.suite.suite.knowledge,
    )


class Conversation:
    """The state machine of an episode without the agent: hands out observations and takes replies.

    Both the synchronous and the asynchronous runner drive it, and so does replaying a stored trace. ``without`` names
    the parts (``memory``, ``knowledge``, ``policies``) that the agent does not get to see. ``simulate``, if it is
    set, answers for the customer what the script has nothing for.
    """

    def __init__(
        self, bound: BoundScenario, limits: Limits, episode_id: str, without: Collection[str] = ()
    ) -> None:
        self._bound = bound
        self._limits = limits
        self._without = frozenset(without)
        self.environment = make_environment(bound, self._without)
        self.simulate: Callable[[CustomerBrief], str] | None = None
        self._script = ScriptedCustomer(bound.scenario.customer)
        self._simulated = 0
        self._replies = 0
        self._turns: list[TurnRecord] = []
        self._transcript: list[Entry] = []
        self._steps = Steps(self._turns, self.environment)
        self._neutral_used = False
        self._invalid_used = False
        self.ending: Ending | None = None
        self._action: str | None = None
        self._episode_id = episode_id
        self._fixed: dict[str, Any] | None = None

    @property
    def max_chars(self) -> int:
        """The longest reply or live call that is read, in characters of JSON text."""
        return self._limits.max_chars

    def observation(self) -> Observation:
        """Return what the agent sees now. The account is shown as it was when the first observation was asked for."""
        if self._fixed is None:
            self._fixed = self._opening()
        left = self._limits.max_turns - self._replies
        return Observation.model_construct(**self._fixed, transcript=tuple(self._transcript), turns_left=left)

    def _opening(self) -> dict[str, Any]:
        """Return the part of every observation that stays the same."""
        scenario, suite = self._bound.scenario, self._bound.suite
        shown = () if "policies" in self._without else sorted(scenario.policies)
        return {
            "as_of": scenario.as_of.isoformat(),
            "customer": CustomerView(message=scenario.customer.message, history=scenario.customer.history),
            "account": self.environment.account(scenario.visible, self._without),
            "memory": () if "memory" in self._without else scenario.memory,
            "policies": tuple(suite.policy_texts[name] for name in shown),
            "tools": self.environment.tools,
            "actions": suite.actions,
            "slots": suite.suite.slots,
            "episode": self._episode_id,
        }

    def live_call(self, call: ToolCall, step: Step | None = None, problem: str = "") -> ToolEntry:
        """Execute a call that the agent makes while it works on a reply; it uses up no turn of the limit.

        Calls of one step are one turn in the record and in the transcript; one without is a turn of its own. With a
        ``problem`` it is refused for that.
        """
        return self._steps.call(call, step, problem)

    def take(self, raw: object, seconds: float = 0.0) -> None:
        """Take one reply: parse it, execute its calls, and decide whether the episode is over."""
        usage, replayed, step = None, False, None
        if isinstance(raw, Reply):
            usage, replayed, step, raw = raw.usage, raw.replayed, raw.step, raw.turn
        self._replies += 1
        try:
            turn = parse_turn(raw, max_chars=self._limits.max_chars)
            refuse_unknown_action(turn.action, [spec.name for spec in self._bound.suite.actions])
            if step and step.draft:
                parse_turn({"message": step.draft}, max_chars=self._limits.max_chars)
        except InvalidReply as error:
            self._transcript += self._steps.end()
            number = len(self._turns) + 1
            record = TurnRecord(number, None, usage=usage, seconds=seconds, replayed=replayed)
            self._take_invalid(str(error), raw, record)
            return
        before, calls = self._steps.decided(step) if step else ((), [])
        self._transcript += self._steps.end()
        number = len(self._turns) + 1
        calls += [self.environment.call(call, number) for call in turn.tool_calls]
        if before:
            turn = with_calls(turn, *before, *turn.tool_calls)
        kind = self._bound.suite.suite.action_class(turn.action)
        over = bool(turn.action) and all(call.status == "ok" for call in calls)
        asks = kind == "ask" or (bool(turn.asks_for) and not turn.action)
        record = TurnRecord(number, turn, asks, usage=usage, seconds=seconds, replayed=replayed)
        # Before anybody answers, so that the turn is kept where a simulated customer fails.
        self._turns.append(record)
        answer, simulated = self._answer(turn) if asks else (None, False)
        if asks:
            over = answer is None
        delivered = asks or over
        self._turns[-1] = record._replace(delivered=delivered, customer_reply=answer, simulated=simulated)
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
        elif self._replies >= self._limits.max_turns:
            self.ending = "turn_limit"

    def _answer(self, turn: Turn) -> tuple[str | None, bool]:
        """Return the customer's answer to a question, and whether it was simulated; no answer ends the episode."""
        scripted = self._script.answer(turn.asks_for, self.environment.calls)
        if scripted is not None:
            return scripted, False
        if self.simulate is not None and self._simulated < MAX_SIMULATED:
            self._simulated += 1
            text = self.simulate(self._script.brief(self._told(turn), turn.asks_for, self.environment.calls))
            if text:
                return text, True
        if self._neutral_used:
            return None, False
        self._neutral_used = True
        return NEUTRAL_REPLY, False

    def _told(self, turn: Turn) -> list[Message]:
        """Return what the customer has read and answered so far, and the question at hand."""
        told = [
            Message(role=entry.role, message=entry.message)
            for entry in self._transcript
            if isinstance(entry, CustomerEntry) or (isinstance(entry, AgentEntry) and entry.delivered)
        ]
        return [*told, Message(role="agent", message=turn.message)]

    def _take_invalid(self, reason: str, raw: object, record: TurnRecord) -> None:
        self._turns.append(record._replace(invalid=reason, excerpt=excerpt(raw)))
        if self._invalid_used or self._replies >= self._limits.max_turns:
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


def refuse_unknown_action(action: str | None, known: Sequence[str]) -> None:
    """Raise `InvalidReply` where a turn names an action that the suite does not have."""
    if action and action not in known:
        close = difflib.get_close_matches(action, known, n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        raise InvalidReply(f"unknown action {action!r}; {guess}the actions are {', '.join(known)}"[:500])


def excerpt(raw: object) -> str:
    """Return the beginning of a reply that did not parse, whatever it is, as text that can be stored."""
    if isinstance(raw, str):
        text = raw
    elif isinstance(raw, Unreadable):
        text = raw.excerpt
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
