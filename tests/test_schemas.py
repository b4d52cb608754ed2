"""The published JSON Schemas accept what loads and refuse what an editor should underline."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pytest_supportbench.replies import parse_turn
from pytest_supportbench.schemas import json_schema
from pytest_supportbench.yaml12 import parse

ROOT = Path(__file__).parent.parent
VALID = (ROOT / "tests" / "data" / "malformed" / "valid.scenario.yaml.good").read_text()
FILES = sorted((ROOT / "scenarios").rglob("*.scenario.yaml"))


def accepts(kind, data) -> bool:
    return Draft202012Validator(json_schema(kind)).is_valid(data)


@pytest.mark.parametrize("kind", ["scenario", "suite", "observation", "turn"])
def test_each_schema_is_a_valid_one(kind):
    """Every schema says that it is of the 2020-12 draft and is valid by it."""
    schema = json_schema(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


def test_the_scenario_schema_accepts_valid_files():
    """Every scenario of this repository satisfies the published schema."""
    validator = Draft202012Validator(json_schema("scenario"))
    for text in [VALID, *(path.read_text() for path in FILES)]:
        assert [error.message for error in validator.iter_errors(parse(text, ""))] == []


def test_the_scenario_schema_accepts_a_list_of_outcomes():
    """``expected`` may be one outcome or a list of alternatives."""
    data = parse(VALID, "")
    assert accepts("scenario", {**data, "expected": [data["expected"], data["expected"]]})
    assert not accepts("scenario", {**data, "expected": []})


@pytest.mark.parametrize(
    ("matcher", "valid"),
    [
        ("49.00", True),
        (49, True),
        ([1, {"x": 2}], True),
        ({"any_of": [1, {"not": {"contains": "a"}}]}, True),
        ({"anyof": [1]}, False),
        ({"any_of": []}, False),
        ({"not": {"mathces": "a"}}, False),
    ],
)
def test_arguments_are_literals_or_matchers(matcher, valid):
    """An editor underlines a misspelt matcher, at any depth, and takes every literal."""
    data = parse(VALID, "")
    data["expected"]["calls"][1]["args"]["amount"] = matcher
    assert accepts("scenario", data) is valid


@pytest.mark.parametrize(
    ("question", "valid"),
    [
        ("Does the agent name the date?", True),
        ("Is it so?", False),
        (f"Is it {'x' * 200}?", False),
        ("Name the date of the payment.", False),
        ("Is it\nthe second payment?", False),
    ],
)
def test_questions_are_underlined_as_the_loader_refuses_them(question, valid):
    """An editor knows how long the question of a concept may be and how it ends."""
    data = parse(VALID, "")
    data["expected"]["explanation"] = [{"concept": "which", "any_of": ["second"], "question": question}]
    assert accepts("scenario", data) is valid


def test_unknown_keys_are_underlined():
    """A key that a scenario does not have is refused by the schema too."""
    assert not accepts("scenario", {**parse(VALID, ""), "titel": "x"})


def test_the_suite_schema_accepts_files_for_lists():
    """A suite's policies may be a list or the name of a file."""
    suite = {"name": "s", "version": "1.0"}
    assert accepts("suite", {**suite, "policies": "policies.yaml"})
    assert accepts("suite", {**suite, "policies": [{"id": "p", "text": "Yes."}]})
    assert not accepts("suite", {**suite, "policies": [{"id": "p"}]})


def test_the_turn_schema_accepts_what_the_harness_reads():
    """A turn by the schema is a turn for the harness."""
    turn = {
        "action": "refund",
        "message": "Done.",
        "tool_calls": [{"tool": "x", "arguments": {}}],
        "asks_for": [],
    }
    assert accepts("turn", turn)
    assert parse_turn(turn).action == "refund"
    assert not accepts("turn", {**turn, "thoughts": "x"})


def test_properties_are_described():
    """Editors show what each key of a scenario means."""
    properties = json_schema("scenario")["properties"]
    assert [name for name, schema in properties.items() if "description" not in schema] == []
