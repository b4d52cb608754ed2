"""Which records of a scenario an agent can see or change at all; the others are dead weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.filling import choices, sample
from pytest_supportbench.calls import strings_in
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.environment import Environment
from pytest_supportbench.episode import replay
from pytest_supportbench.protocol import ToolCall
from pytest_supportbench.records import Limits
from pytest_supportbench.state import iter_records

if TYPE_CHECKING:
    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.tools import ToolSpec

_MOST_CALLS: Final = 400
"""Calls tried of one tool; more records than that in one scenario are no support case."""


def unreached(bound: BoundScenario) -> list[str]:
    """Return the places (``charges.ch_1``) of records that nothing shows and nothing touches.

    A record is reached if its id occurs in the first observation, in the result of a permitted read with any
    sensible arguments, in a call of a scripted trace, in what a trace changes, or in the expected outcome; and
    so are all records of a table from which a trace's permitted write proves something without naming it
    (means of proof behind ``verify_identity``).
    """
    found = set(strings_in([Conversation(bound, Limits(), "lint").observation().account]))
    environment = Environment(
        bound.suite.toolset,
        bound.state,
        as_of=bound.scenario.as_of,
        permitted=bound.scenario.tools,
        subject=bound.scenario.customer.subject,
        policies=bound.suite.suite.policies,
        knowledge=bound.suite.suite.knowledge,
    )
    for name in bound.scenario.tools:
        spec = bound.suite.toolset.specs[name]
        if spec.effect == "reads":
            for arguments in islice(_arguments(bound, spec), _MOST_CALLS):
                found.update(
                    strings_in([environment.call(ToolCall(tool=name, arguments=arguments), 1).result])
                )
    tables: set[str] = set()
    for turns in (bound.scenario.reference, *(example.turns for example in bound.scenario.counterexamples)):
        episode = replay(bound, turns)
        for call in episode.calls:
            found.update(strings_in([call.arguments, call.result]))
            found.update(change.id for change in call.changes)
            tables.update(change.table for change in call.changes)
    expected = "\n".join(outcome.model_dump_json() for outcome in bound.scenario.expected)
    subjects = {bound.scenario.customer.subject, *bound.scenario.customer.authorised}
    return [
        f"{table}.{record.id}"
        for table, record in iter_records(bound.state.tables)
        if record.id not in found | subjects and table not in tables and record.id not in expected
    ]


def _arguments(bound: BoundScenario, spec: ToolSpec) -> Iterator[dict[str, Any]]:
    """Yield arguments for a read: all combinations of what the records offer for its required parameters.

    Then each optional parameter with every value in turn.
    """
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    definitions = spec.parameters.get("$defs", {})
    offers = {
        name: choices(schema, definitions) or _offers(bound, name) or [sample(name, schema, definitions)]
        for name, schema in properties.items()
    }
    required = [name for name in spec.parameters.get("required", ()) if name in offers]
    for chosen in product(*(offers[name] for name in required)):
        yield dict(zip(required, chosen, strict=True))
    base = {name: offers[name][0] for name in required}
    for name, values in offers.items():
        if name not in required:
            for value in values:
                yield {**base, name: value}


def _offers(bound: BoundScenario, name: str) -> list[Any]:
    """Return the values that the scenario's records have for a parameter: ids for an id, else equal field names."""
    kind = name.removesuffix("_id")
    records = list(iter_records(bound.state.tables))
    if kind != name:
        own = [record.id for table, record in records if table.startswith(kind[:-1])]
        articles = [article.id for article in bound.suite.suite.knowledge] if kind == "article" else []
        return own + articles or [record.id for _, record in records]
    values = [getattr(record, name, None) for _, record in records]
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))
