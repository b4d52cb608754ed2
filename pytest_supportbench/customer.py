"""What the customer knows and answers: a script that depends on what the agent did, and what a simulation is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.matchers import args_mismatch
from pytest_supportbench.protocol import Frozen, Message
from pytest_supportbench.scenario import Customer, EarlierCall, ScriptedReply

MAX_SIMULATED: Final = 3
"""How often a simulated customer is asked in one episode; after that a question is answered as without one."""

MAX_ANSWER_CHARS: Final = 1_000
"""A simulated customer's longer answers are cut."""


class CustomerBrief(Frozen):
    """All that a simulated customer is told: nothing of the expected outcome, the tools, the policies or the records.

    ``message`` and ``history`` are what the scenario's customer wrote and read before the episode. ``conversation`` is
    what the agent has told and the customer has answered since, the question at hand last; ``asked_for`` names the
    slots of that question. ``facts`` has, by slot, the scripted answers that the customer could give at this moment.
    """

    message: str
    history: tuple[Message, ...]
    conversation: tuple[Message, ...]
    asked_for: tuple[str, ...]
    facts: dict[str, str]


class Simulation(Protocol):
    """Stands in for the customer where the script has nothing for a question."""

    def answer(self, brief: CustomerBrief, seconds: float) -> str:
        """Return an answer within so many seconds; a blank one says nothing. Raises `InfrastructureError`."""


class ScriptedCustomer:
    """Gives a scenario's scripted replies in one episode, and counts them."""

    def __init__(self, customer: Customer) -> None:
        self._customer = customer
        self._given: Counter[int] = Counter()

    def answer(self, slots: Iterable[str], calls: Sequence[CallRecord]) -> str | None:
        """Return what the script answers to a question about ``slots`` after ``calls``, or ``None``."""
        found = [self._next(slot, calls) for slot in dict.fromkeys(slots)]
        given = [index for index in found if index is not None]
        self._given.update(given)
        return " ".join(self._customer.replies[index].message for index in given) if given else None

    def brief(
        self, conversation: Iterable[Message], slots: Iterable[str], calls: Sequence[CallRecord]
    ) -> CustomerBrief:
        """Return what a simulated customer is told before it answers a question about ``slots``."""
        replies = self._customer.replies
        known = {slot: self._next(slot, calls) for slot in sorted({reply.asked_for for reply in replies})}
        return CustomerBrief(
            message=self._customer.message,
            history=self._customer.history,
            conversation=tuple(conversation),
            asked_for=tuple(dict.fromkeys(slots)),
            facts={slot: replies[index].message for slot, index in known.items() if index is not None},
        )

    def _next(self, slot: str, calls: Sequence[CallRecord]) -> int | None:
        """Return the place in the script of the reply that a question about ``slot`` would get now."""
        for index, reply in enumerate(self._customer.replies):
            left = reply.times is None or self._given[index] < reply.times
            if reply.asked_for == slot and left and _fits(reply, calls):
                return index
        return None


def _fits(reply: ScriptedReply, calls: Sequence[CallRecord]) -> bool:
    if reply.after is not None and not _took_effect(reply.after, calls):
        return False
    return reply.unless is None or not _took_effect(reply.unless, calls)


def _took_effect(wanted: EarlierCall, calls: Sequence[CallRecord]) -> bool:
    return any(
        call.tool == wanted.tool
        and call.done
        and args_mismatch(wanted.args, call.arguments, exact=False, free=frozenset()) is None
        for call in calls
    )
