"""Tables of fields come from the models, and the page with them is up to date."""

from __future__ import annotations

import re

import pytest
from fields_page import PAGE, fields_page

from pytest_supportbench.cli import main
from pytest_supportbench.field_tables import field_tables
from pytest_supportbench.schemas import json_schema


def test_the_page_is_what_the_models_say():
    """Rewrite it with: python tests/fields_page.py."""
    assert fields_page() == PAGE.read_text("utf-8")


@pytest.mark.parametrize("kind", ["scenario", "suite", "observation", "turn"])
def test_every_field_and_part_is_told_and_links_lead_somewhere(kind, capsys):
    """Each property of the schema has a row, each part a heading, and each link a part."""
    assert main(["schema", kind, "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert text.strip() == field_tables(kind).strip()
    schema = json_schema(kind)
    parts = re.split(r"^### (\w+)$", text, flags=re.MULTILINE)
    tables = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    assert set(tables) == {"", *schema.get("$defs", {})}
    for name, table in tables.items():
        part = schema["$defs"][name] if name else schema
        rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE)
        assert [field for field, _ in rows] == list(part.get("properties", {}))
        assert {field for field, rest in rows if " | required" in rest} == set(part.get("required", ()))
    assert {link.lower() for link in re.findall(r"\]\(#(\w+)\)", text)} <= {name.lower() for name in tables}


def test_values_are_told_in_words():
    """What may stand in a field is said without the schema's own words."""
    text = field_tables("scenario")
    for row in (
        "| `as_of` | time with UTC offset | required |",
        '| `on_calls` | `"always"` or list of whole number from 1 | required |',
        "| `escalation` | `must`, `must_not`, `either` | required |",
        "| `attempt` | true or false | `false` |",
    ):
        assert row in text
    assert "Is one of: [MatcherSpec](#matcherspec) or text, number, true or false, nothing, list." in text
