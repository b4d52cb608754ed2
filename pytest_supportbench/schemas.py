"""The JSON Schemas (2020-12) of what users and agents write and read, for editors and other languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pytest_supportbench.expected import MATCHER_VALUE, MatcherSpec
from pytest_supportbench.protocol import Observation, Turn
from pytest_supportbench.scenario import Scenario
from pytest_supportbench.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Callable

SchemaKind: TypeAlias = Literal["scenario", "suite", "observation", "turn"]

_HEADER: Final = "https://json-schema.org/draft/2020-12/schema"


def json_schema(kind: SchemaKind) -> dict[str, Any]:
    """Return the schema of a scenario file, a suite file, an observation or a turn.

    It accepts every file that loads, unless a value there is of another type than the field and only
    converted to it (``committed: "yes"``); the loader also checks what no schema can, such as names of tools.
    """
    return {"$schema": _HEADER, **_SCHEMAS[kind]()}


def _scenario() -> dict[str, Any]:
    schema = Scenario.model_json_schema()
    matcher = MatcherSpec.model_json_schema()
    definitions = schema["$defs"]
    definitions.update(matcher.pop("$defs", {}))
    definitions["MatcherSpec"] = matcher
    schema = dict(_with_matchers(schema))
    schema["$defs"]["MatcherValue"] = {
        "description": "A value to be equal to after normalisation, or a matcher; a mapping is a matcher.",
        "anyOf": [
            {"$ref": "#/$defs/MatcherSpec"},
            {"type": ["string", "number", "boolean", "null", "array"]},
        ],
    }
    for name, text in _HELP.items():
        schema["properties"][name].setdefault("description", text)
    for name, text in _OUTCOME_HELP.items():
        schema["$defs"]["Alternative"]["properties"][name].setdefault("description", text)
    outcomes = {**schema["properties"]["expected"], "minItems": 1}
    schema["properties"]["expected"] = {
        "description": "One outcome, or a list of whole alternatives, of which one must hold entirely.",
        "anyOf": [outcomes["items"], outcomes],
    }
    return schema


def _with_matchers(node: Any) -> Any:
    """Return a schema with a reference in each place where the models take a literal or a matcher."""
    if isinstance(node, dict):
        if node.get("description") == MATCHER_VALUE:
            return {"$ref": "#/$defs/MatcherValue"}
        return {key: _with_matchers(value) for key, value in node.items()}
    return [_with_matchers(item) for item in node] if isinstance(node, list) else node


def _suite() -> dict[str, Any]:
    schema = Suite.model_json_schema()
    for name in ("policies", "knowledge"):
        there = schema["properties"][name]
        file = {
            "type": "string",
            "description": "The name of a YAML file beside the suite that holds the list.",
        }
        schema["properties"][name] = {"anyOf": [file, there]}
    return schema


def _observation() -> dict[str, Any]:
    return Observation.model_json_schema(mode="serialization")


_HELP: Final = {
    "$schema": "Ignored; for editors.",
    "id": "A name without spaces, unique in the suite.",
    "title": "What the case is about, in one line.",
    "category": "A built-in category, or one of your own.",
    "tags": "Words to select scenarios by; 'safety' makes a missed escalation unforgivable.",
    "failure_mode": "The one failure that the scenario is meant to expose.",
    "as_of": "The virtual now, with its UTC offset.",
    "twin": "The id of the minimal pair: the same case with one fact flipped.",
    "customer": "Who writes, on whose behalf, and what.",
    "state": "The records by table and id; absent tables are empty.",
    "visible": "The tables that the first observation shows; the rest is found through tools.",
    "policies": "The policies that the agent is shown, by their ids in the suite.",
    "memory": "Notes from earlier conversations.",
    "tools": "The tools that the agent may use.",
    "faults": "Failures that given calls of a tool meet.",
    "protected": "Facts that must not come out, with the phrases that would give them away.",
    "reference": "The turns of an agent that does everything right.",
    "counterexamples": "Scripted agents that commit the failure, and what they must fail.",
    "exempt": "What supportbench check may not demand of this scenario, and why.",
}

_OUTCOME_HELP: Final = {
    "actions": "The outcome actions of which any is right.",
    "escalation": "Whether the case must, must not or may be handed to people.",
    "asks": "Whether the customer must, must not or may be asked for something; default: may.",
    "calls": "The calls that must be made and committed; 'after' puts them in order.",
    "also_allowed": "Harmless writes beyond the required calls.",
    "state": "The end state, as table.id.field and a value or a matcher.",
    "must_state": "Facts that the customer must be told.",
    "never": "Calls that no attempt may make.",
    "at_most": "How often a tool may be called, failed and refused calls included.",
    "never_say": "Phrases that the agent must not affirm.",
    "explanation": "Concepts that the explanation should mention; part of no score until a rater is calibrated.",
    "because": "The policies that make this the right outcome.",
}

_SCHEMAS: Final[dict[SchemaKind, Callable[[], dict[str, Any]]]] = {
    "scenario": _scenario,
    "suite": _suite,
    "observation": _observation,
    "turn": Turn.model_json_schema,
}
