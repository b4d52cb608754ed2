"""The one frozen argument of every scorer: the scenario, the episode, and one alternative to judge it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_supportbench.calls import CallRecord, Change
from pytest_supportbench.episode import replay
from pytest_supportbench.expected import Alternative
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.records import Episode
from pytest_supportbench.scenario import Scenario
from pytest_supportbench.scoring.assignment import Assignment
from pytest_supportbench.scoring.once import once
from pytest_supportbench.scoring.reading import Reading
from pytest_supportbench.scoring.text import tokens
from pytest_supportbench.tools import ToolSpec


@dataclass(frozen=True)
class Judgement:
    """What a dimension's scorer looks at; ``told`` is all that was delivered, joined by blank lines."""

    bound: BoundScenario
    episode: Episode
    alternative: Alternative
    assignment: Assignment
    told: Reading

    @once
    def scenario(self) -> Scenario:
        """The scenario as its file says."""
        return self.bound.scenario

    @once
    def specs(self) -> Mapping[str, ToolSpec]:
        """Every tool of the toolset, permitted or not."""
        return self.bound.suite.toolset.specs

    @once
    def authorised(self) -> frozenset[str]:
        """The subjects whom this customer may act for or ask about."""
        return self.bound.derived(authorised)

    def customer_words(self, turn: int) -> str:
        """Return what the customer had written before the agent's reply of that number, oldest first.

        Their answer to that reply is no part of it: what the agent says first, no echo excuses.
        """
        if turn in self._customer_words:
            return self._customer_words[turn]
        customer = self.bound.scenario.customer
        words = [entry.message for entry in customer.history if entry.role == "customer"]
        words.append(customer.message)
        words += [
            record.customer_reply
            for record in self.episode.turns
            if record.customer_reply and record.number < turn
        ]
        said = self._customer_words[turn] = "\n".join(words)
        return said

    @once
    def _customer_words(self) -> dict[int, str]:
        return {}

    def reading_of(self, message: str) -> Reading:
        """Return the reading of a message, shared by all scorers where it is the only one."""
        return self.told if message == self.told.text else Reading(message)

    @property
    def policy_words(self) -> str:
        """The words of the policies that the agent was shown, casefolded, policy by policy."""
        shown = self.bound.scenario.policies
        texts = [policy.text for policy in self.bound.suite.suite.policies if policy.id in shown]
        return " | ".join(" ".join(tokens(text)) for text in texts)

    @once
    def handoffs(self) -> tuple[CallRecord, ...]:
        """The committed calls of hand-off tools."""
        return tuple([call for call in self.episode.calls if call.handoff and call.committed])

    def lookup(self, reference: str) -> Any:
        """Return the value that a ``same_as`` means, such as ``look.result.request_id``; raises `KeyError`."""
        return self.assignment.lookup(reference)

    def reference_changes(self) -> tuple[Change, ...]:
        """Return the changes that the reference makes, from a replay of its own."""
        return self.bound.derived(_reference_changes)


def authorised(bound: BoundScenario) -> frozenset[str]:
    """Return the subjects whom a scenario's customer may act for or ask about."""
    customer = bound.scenario.customer
    return frozenset({customer.subject, *customer.authorised})


def _reference_changes(bound: BoundScenario) -> tuple[Change, ...]:
    return replay(bound, bound.scenario.reference).changes


def call_text(call: CallRecord) -> str:
    """Return a call in one line, such as ``issue_refund(charge_id=ch_204, amount=49.00)``."""
    return f"{call.tool}({', '.join(f'{name}={_short(value)}' for name, value in call.arguments.items())})"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - one line of a report


def outcome_text(call: CallRecord) -> str:
    """Return what became of a call, in a few words."""
    if call.error is not None and call.committed:
        return f"committed, seen as {call.error.code}"
    if call.error is not None:
        return f"{call.error.code}"
    return "replayed" if call.replayed else "committed" if call.committed else "ok"
