"""Agents that always do the same: what any score must be compared with."""

from __future__ import annotations

from pytest_supportbench.agents.base import BaseAgent
from pytest_supportbench.agents.filling import arguments_for
from pytest_supportbench.protocol import MAX_CALLS_PER_TURN, Observation, ToolCall, Turn


class _Constant(BaseAgent):
    """Answers at once from the observation alone."""

    inline = True


def _action(observation: Observation, kind: str) -> str | None:
    """Return the first action of a class, ``None`` where the suite has none."""
    return next((action.name for action in observation.actions if action.kind == kind), None)


class DoNothing(_Constant):
    """Never acts, calls, asks or writes."""

    def reply(self, observation: Observation, /) -> Turn:  # noqa: ARG002 - every agent has this shape
        """Return the empty turn."""
        return Turn()


class AlwaysEscalate(_Constant):
    """Hands every case off, to the queue that the policies mention most."""

    def reply(self, observation: Observation, /) -> Turn:
        """Return a turn that calls the first hand-off tool, where there is one, and escalates."""
        calls = tuple(
            ToolCall(tool=tool.name, arguments=arguments_for(tool, observation))
            for tool in observation.tools
            if tool.handoff
        )[:1]
        message = "I am handing your case to a colleague."
        return Turn(action=_action(observation, "escalate"), message=message, tool_calls=calls)


class AlwaysDecline(_Constant):
    """Says no to everything."""

    def reply(self, observation: Observation, /) -> Turn:
        """Return a turn that declines."""
        return Turn(action=_action(observation, "decline"), message="I am sorry, this is not possible.")


class AlwaysAsk(_Constant):
    """Asks for the suite's first slot, every turn."""

    def reply(self, observation: Observation, /) -> Turn:
        """Return a turn that asks."""
        slots = observation.slots[:1]
        wanted = slots[0].replace("_", " ") if slots else "details"
        message = f"Could you tell me your {wanted}, please?"
        return Turn(action=_action(observation, "ask"), message=message, asks_for=slots)


class CallEveryTool(_Constant):
    """Calls each permitted tool once with whatever the account shows, then says that it is done."""

    def reply(self, observation: Observation, /) -> Turn:
        """Return the next calls (all of them in the first turn, up to the limit of one), then the action."""
        turn = sum(entry.role == "agent" for entry in observation.transcript)
        tools = observation.tools[turn * MAX_CALLS_PER_TURN : (turn + 1) * MAX_CALLS_PER_TURN]
        if tools:
            calls = [ToolCall(tool=tool.name, arguments=arguments_for(tool, observation)) for tool in tools]
            return Turn(tool_calls=tuple(calls))
        return Turn(action=_action(observation, "resolve"), message="Thank you for writing to us.")
