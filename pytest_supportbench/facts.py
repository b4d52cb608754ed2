"""What is published of a scenario: one flat record whose fields are the columns of the suite's CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import Field

from pytest_supportbench.protocol import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel

    from pytest_supportbench.loading import BoundScenario

Record: TypeAlias = dict[str, Any]


class ScenarioFacts(Frozen):
    """One scenario as published. Texts and numbers are plain cells of the CSV, all else is JSON there.

    What differs between alternative outcomes has one entry for each of them, in the order of the file.
    """

    id: Annotated[str, Field(description="The scenario's id, unique in the suite")]
    title: Annotated[str, Field(description="What the case is about, in one line")]
    category: Annotated[str, Field(description="The area of customer support")]
    tags: Annotated[tuple[str, ...], Field(description="Words to select scenarios by")]
    language: Annotated[str, Field(description="The language in which the customer writes (ISO 639)")]
    as_of: Annotated[str, Field(description="The virtual now of the case (ISO 8601, with offset)")]
    customer_message: Annotated[str, Field(description="The message that the agent must deal with")]
    customer_history: Annotated[
        tuple[Record, ...], Field(description="Earlier messages of the same conversation")
    ]
    account_state: Annotated[
        Record, Field(description="The synthetic records before the case begins, by table and id")
    ]
    visible: Annotated[
        tuple[str, ...], Field(description="The tables that the agent sees at once; the rest through tools")
    ]
    memory: Annotated[
        tuple[Record, ...], Field(description="Notes from earlier conversations that the agent is shown")
    ]
    policies: Annotated[tuple[str, ...], Field(description="The ids of the policies that the agent is shown")]
    permitted_tools: Annotated[tuple[str, ...], Field(description="The tools that the agent may use")]
    faults: Annotated[tuple[Record, ...], Field(description="The failures that calls of a tool meet")]
    expected_actions: Annotated[
        tuple[str, ...], Field(description="The outcome actions of which any is right, over all alternatives")
    ]
    expected_escalation: Annotated[
        str, Field(description="Whether the case must, must_not or may (either) be handed to people")
    ]
    expected_outcome: Annotated[
        tuple[Record, ...],
        Field(
            description="For each alternative: its actions, escalation, the facts that the customer must be told "
            "(must_state) and the end state that is required (state)"
        ),
    ]
    required_arguments: Annotated[
        tuple[tuple[Record, ...], ...],
        Field(description="For each alternative: the required calls with the arguments that they must have"),
    ]
    explanation_concepts: Annotated[
        tuple[Record, ...],
        Field(description="What an explanation should mention, each with its question and phrases"),
    ]
    because: Annotated[
        tuple[str, ...], Field(description="The ids of the policies that make this the right outcome")
    ]
    failure_mode_code: Annotated[str, Field(description="The name of the failure that the case exposes")]
    failure_mode_description: Annotated[str, Field(description="That failure in words")]
    twin: Annotated[str, Field(description="The id of the minimal pair with one fact flipped, or empty")]
    counterexamples: Annotated[
        int, Field(description="How many scripted wrong traces the scenario file holds", ge=0)
    ]
    canary: Annotated[str, Field(description="The GUID that marks the file's text, or empty")]
    suite: Annotated[str, Field(description="The suite's name")]
    suite_version: Annotated[str, Field(description="The suite's version")]


def facts_of(bound: BoundScenario, canary: str) -> ScenarioFacts:
    """Return what is published of a scenario; ``canary`` is the GUID in its file, or empty."""
    scenario, outcomes = bound.scenario, bound.scenario.expected
    return ScenarioFacts(
        id=scenario.id,
        title=scenario.title,
        category=scenario.category,
        tags=scenario.tags,
        language=scenario.customer.language,
        as_of=scenario.as_of.isoformat(),
        customer_message=scenario.customer.message,
        customer_history=_records(scenario.customer.history),
        account_state=scenario.state,
        visible=scenario.visible,
        memory=_records(scenario.memory),
        policies=scenario.policies,
        permitted_tools=scenario.tools,
        faults=_records(scenario.faults),
        expected_actions=_distinct(action for outcome in outcomes for action in outcome.actions),
        expected_escalation=scenario.escalation,
        expected_outcome=tuple(
            _record(outcome, include={"actions", "escalation", "must_state", "state"}) for outcome in outcomes
        ),
        required_arguments=tuple(_records(outcome.calls) for outcome in outcomes),
        explanation_concepts=_distinct_records(
            record for outcome in outcomes for record in _records(outcome.explanation)
        ),
        because=_distinct(policy for outcome in outcomes for policy in outcome.because),
        failure_mode_code=scenario.failure_mode.code,
        failure_mode_description=scenario.failure_mode.description,
        twin=scenario.twin or "",
        counterexamples=len(scenario.counterexamples),
        canary=canary,
        suite=bound.suite.suite.name,
        suite_version=bound.suite.suite.version,
    )


def _record(model: BaseModel, include: set[str] | None = None) -> Record:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True, include=include)


def _records(models: Iterable[BaseModel]) -> tuple[Record, ...]:
    return tuple(_record(model) for model in models)


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _distinct_records(records: Iterable[Record]) -> tuple[Record, ...]:
    kept: list[Record] = []
    for record in records:
        if record not in kept:
            kept.append(record)
    return tuple(kept)
