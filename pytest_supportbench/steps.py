"""What an agent does on the way to one reply: live calls, those of one message of its model as one turn."""

from __future__ import annotations

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.environment import Environment
from pytest_supportbench.protocol import AgentEntry, Entry, Step, ToolCall, ToolEntry, Turn
from pytest_supportbench.records import TurnRecord


class Steps:
    """Keeps the record of live calls among an episode's ``turns``, which it shares with the conversation.

    Calls of one step are one turn, since none of them was made with another's result in sight. A call without a step
    is a turn of its own.
    """

    def __init__(self, turns: list[TurnRecord], environment: Environment) -> None:
        self._turns = turns
        self._environment = environment
        self._places: dict[int, int] = {}
        self._shown = 0

    def call(self, call: ToolCall, step: Step | None, problem: str) -> ToolEntry:
        """Execute a call; with a ``problem`` it is refused for that."""
        place = self._place(step)
        entry = self._environment.call(call, place, problem).entry()
        record = self._turns[place - 1]
        assert record.turn is not None
        turn = with_calls(record.turn, *record.turn.tool_calls, call)
        self._turns[place - 1] = record._replace(turn=turn)
        return entry

    def _place(self, step: Step | None) -> int:
        """Return the number of a step's turn, made before those of messages that were written later.

        The message around an agent that another one calls like a tool was written without sight of what that one did.
        """
        if step is not None and step.number in self._places:
            return self._places[step.number]
        later = [place for number, place in self._places.items() if step is not None and number > step.number]
        place = min(later, default=len(self._turns) + 1)
        self._turns[place - 1 :] = [
            TurnRecord(place, Turn(message=step.draft if step else ""), live=True),
            *(record._replace(number=record.number + 1) for record in self._turns[place - 1 :]),
        ]
        self._environment.renumber(lambda turn: turn + (turn >= place))
        self._places = {number: turn + (turn >= place) for number, turn in self._places.items()}
        if step is not None:
            self._places[step.number] = place
        return place

    def decided(self, step: Step) -> tuple[tuple[ToolCall, ...], list[CallRecord]]:
        """Move the calls of a step into the turn to come, whose decision stands in the same message, and return them.

        The text beside them stays a draft of its own, since the turn has the decision's message.
        """
        if step.number not in self._places and not step.draft:
            return (), []
        place = self._place(step)
        record = self._turns[place - 1]
        assert record.turn is not None
        if record.turn.message or place < len(self._turns):
            self._turns[place - 1] = record._replace(turn=Turn(message=record.turn.message))
        else:
            self._turns.pop()
        last = len(self._turns) + 1
        self._environment.renumber(lambda turn: last if turn == place else turn)
        return record.turn.tool_calls, [call for call in self._environment.calls if call.turn == last]

    def end(self) -> list[Entry]:
        """Return what the transcript has of it, where a reply is about to be taken; what comes then is another one."""
        entries: list[Entry] = []
        for record in self._turns[self._shown :]:
            if record.turn is not None and record.turn != Turn():
                entries.append(AgentEntry(message=record.turn.message, tool_calls=record.turn.tool_calls))
                made = (call for call in self._environment.calls if call.turn == record.number)
                entries.extend(call.entry() for call in made)
        self._shown = len(self._turns) + 1
        self._places = {}
        return entries


def with_calls(turn: Turn, *calls: ToolCall) -> Turn:
    """Return a turn with other calls; those of a loop are bounded by episode, and not by turn."""
    return turn.model_copy(update={"tool_calls": calls})
