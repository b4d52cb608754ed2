"""What makes a scenario worth little: it demands nothing, cannot be solved from what is seen, or repeats itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pytest_supportbench.calls import strings_in
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.lint_rules import Weakness
from pytest_supportbench.records import Limits
from pytest_supportbench.state import iter_records

if TYPE_CHECKING:
    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.yaml_positions import Place

_HARNESS: Final = (
    "answer key",
    "correct answer",
    "correct outcome",
    "decoy",
    "distractor",
    "expected action",
    "expected answer",
    "expected outcome",
    "ground truth",
    "must_not",
    "right answer",
    "supportbench",
    "the agent should",
    "the agent must",
)
"""Words of whoever tests; no customer, colleague or policy says them."""


def worth(bound: BoundScenario) -> Iterator[Weakness]:
    """Yield what keeps a scenario that loads and passes from proving anything."""
    yield from _demands(bound)
    yield from _solvable(bound)
    yield from _repeated(bound)
    yield from _harness_words(bound)


def _demands(bound: BoundScenario) -> Iterator[Weakness]:
    actions = bound.suite.suite.actions
    for number, outcome in enumerate(bound.scenario.expected):
        place: Place = ("expected", number) if len(bound.scenario.expected) > 1 else ("expected",)
        if not (outcome.calls or outcome.state or outcome.must_state):
            yield Weakness(
                "proves-nothing",
                "expected",
                place,
                "demands no call, no state and no fact, so that any message passes",
                "add what a right answer does or tells",
            )
        if len(outcome.actions) * 2 > len(actions):
            yield Weakness(
                "any-action",
                "actions",
                (*place, "actions"),
                f"accepts {len(outcome.actions)} of {len(actions)} actions",
                "keep those that truthfully name what is done",
            )


def _solvable(bound: BoundScenario) -> Iterator[Weakness]:
    """Play the reference as agents play: within the default turns, with no id that was not seen before."""
    reference, limits = bound.scenario.reference, Limits()
    if len(reference) > limits.max_turns:
        yield Weakness(
            "too-many-turns",
            "reference",
            ("reference",),
            f"takes {len(reference)} turns; agents have {limits.max_turns} unless the limit is raised",
            "do more in one turn, or ask less of the agent",
        )
    ids = {record.id for _, record in iter_records(bound.state.tables)}
    conversation = Conversation(bound, Limits(max_turns=len(reference)), "lint")
    for row, turn in enumerate(reference):
        if conversation.ending is not None:
            return
        seen = json.dumps(conversation.observation().model_dump(mode="json"), ensure_ascii=False)
        for column, call in enumerate(turn.tool_calls):
            for name in sorted(ids.intersection(strings_in([call.arguments]))):
                if name not in seen:
                    yield Weakness(
                        "unseen-id",
                        name,
                        ("reference", row, "tool_calls", column),
                        f"{name!r} stands nowhere that an agent has looked so far",
                        "show its record, or let the reference read it first",
                    )
        conversation.take(turn)


def _repeated(bound: BoundScenario) -> Iterator[Weakness]:
    first: dict[str, str] = {}
    for number, example in enumerate(bound.scenario.counterexamples):
        trace = "\n".join(turn.model_dump_json() for turn in example.turns)
        earlier = first.setdefault(trace, example.name)
        if earlier != example.name:
            yield Weakness(
                "repeated-counterexample",
                example.name,
                ("counterexamples", number),
                f"does the same as {earlier!r}",
                "write another mistake",
            )


def _harness_words(bound: BoundScenario) -> Iterator[Weakness]:
    scenario = bound.scenario
    shown = {policy.id: policy.text for policy in bound.suite.suite.policies}
    texts: list[tuple[Place, str]] = [
        (("customer", "message"), scenario.customer.message),
        *((("customer", "history", i), entry.message) for i, entry in enumerate(scenario.customer.history)),
        *((("memory", i), note.text) for i, note in enumerate(scenario.memory)),
        *((("policies", i), shown.get(name, "")) for i, name in enumerate(scenario.policies)),
        *(
            (("state", table, record.id), text)
            for table, record in iter_records(bound.state.tables)
            for text in strings_in([record.shown()])
        ),
    ]
    for place, text in texts:
        folded = text.casefold()
        for words in _HARNESS:
            if words in folded:
                yield Weakness(
                    "harness-word",
                    words,
                    place,
                    f"says {words!r}, which only a test says",
                    "tell it as the people of the case would",
                )
