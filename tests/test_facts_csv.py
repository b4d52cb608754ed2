"""The CSV of a suite loses nothing, and a spreadsheet program opens it without running anything in it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from projects import scenario, suite

from pytest_supportbench.errors import FileError
from pytest_supportbench.facts import ScenarioFacts, facts_of
from pytest_supportbench.facts_csv import COLUMNS, PLAIN, cells, csv_text, read_csv, unfit
from pytest_supportbench.loading import load_scenario
from pytest_supportbench.whole_suite import load_whole

TINYBENCH = Path(__file__).parent.parent / "scenarios" / "tinybench-50"

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
NASTY = st.builds(
    lambda start, rest: start + rest,
    st.sampled_from(
        ["", "=", "+", "-", "@", "'", "''=", "\t=", "\r", "\n", "\r\n", '"', ",", ";", "\ufeff", " "]
    ),
    ANY_TEXT,
)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NASTY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NASTY, inner, max_size=3),
    max_leaves=6,
)
RECORD = st.dictionaries(NASTY, DATA, max_size=3)
RECORDS = st.lists(RECORD, max_size=2).map(tuple)
WORDS = st.lists(NASTY, max_size=3).map(tuple)
FACTS = st.builds(
    ScenarioFacts,
    **dict.fromkeys(COLUMNS, NASTY)
    | dict.fromkeys(
        ("tags", "visible", "policies", "permitted_tools", "expected_actions", "because"),
        WORDS,
    )
    | dict.fromkeys(
        ("customer_history", "memory", "faults", "expected_outcome", "explanation_concepts"), RECORDS
    )
    | {
        "account_state": RECORD,
        "required_arguments": st.lists(RECORDS, max_size=2).map(tuple),
        "counterexamples": st.integers(min_value=0, max_value=99),
    },
)


@given(rows=st.lists(FACTS, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_nothing_is_lost(rows, tmp_path):
    """Whatever texts and data a suite holds, its CSV reads back as the same facts."""
    path = tmp_path / "suite.csv"
    path.write_bytes(csv_text(rows).encode())
    assert read_csv(path) == tuple(rows)


@given(row=FACTS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_cell_begins_a_formula(row):
    """No cell begins with what a spreadsheet takes for a formula, blanks before it included."""
    for cell in cells(row).values():
        assert not cell.strip().startswith(("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"))
        assert not cell.startswith(("\t", "\r", "\n"))


def test_the_real_suite_reads_back(tmp_path):
    """The facts of TinyBench-50 survive its CSV, and JSON cells keep letters of every language readable."""
    rows = [facts_of(bound, "guid") for bound in load_whole(TINYBENCH).scenarios]
    assert len(rows) >= 10
    path = tmp_path / "suite.csv"
    path.write_bytes(csv_text(rows).encode())
    assert read_csv(path) == tuple(rows)
    assert "\\u" not in csv_text(rows)


def test_facts_say_what_the_file_says(tmp_path):
    """A row has message, outcome, required arguments and concepts as the scenario file has them."""
    suite(tmp_path)
    path = scenario(tmp_path, 1)
    text = path.read_text("utf-8").replace(
        "  explanation:", "  calls: [{tool: add_note, args: {text: {contains: ñ}}}]\n  explanation:"
    )
    path.write_text(text, "utf-8")
    row = facts_of(load_scenario(path), "")
    assert row.customer_message == "When are you open? case 1"
    assert row.expected_outcome == ({"actions": ["answer"], "escalation": "must_not"},)
    assert row.required_arguments == (({"tool": "add_note", "args": {"text": {"contains": "ñ"}}},),)
    assert row.explanation_concepts == ({"concept": "hours", "any_of": ["nine"]},)
    assert (row.failure_mode_code, row.because, row.twin, row.counterexamples) == (
        "says-nothing",
        ("hours",),
        "",
        1,
    )


def one(**changes):
    row = facts_of(load_whole(TINYBENCH).scenarios[0], "")
    return row.model_copy(update=changes)


def test_spreadsheets_see_utf8_and_quoted_cells():
    """The file begins with a byte order mark, quotes every cell and ends its lines with LF only."""
    text = csv_text([one(customer_message="Grüß Gott,\nhere", title='a "b"')])
    assert text.encode().startswith(b'\xef\xbb\xbf"id","title",')
    assert '"a ""b"""' in text
    assert text.endswith('"\n')
    assert "\r" not in text


@pytest.mark.parametrize(
    ("message", "cell"),
    [
        ("=1+1", "'=1+1"),
        (" @cmd", "' @cmd"),
        ("'tis late", "''tis late"),
        ("- first", "'- first"),
        ("5 - 3", "5 - 3"),
    ],
)
def test_formulas_are_marked_as_text(message, cell):
    """A message that looks like a formula has an apostrophe before it, and so has one that has one already."""
    assert cells(one(customer_message=message))["customer_message"] == cell


@pytest.mark.parametrize(
    ("changes", "column", "reason"),
    [
        ({"customer_message": "x" * 32_768}, "customer_message", "has 32,768 characters"),
        ({"customer_message": "\U0001f600" * 16_384}, "customer_message", "has 32,768 characters"),
        ({"account_state": {"a": "x" * 40_000}}, "account_state", "has 40,008 characters"),
        ({"title": "a\0b"}, "title", "holds a NUL"),
        ({"tags": ("\ud800",)}, "tags", "half a surrogate pair"),
    ],
)
def test_cells_that_no_spreadsheet_holds_are_named(changes, column, reason):
    """A cell over the limit of spreadsheets, counted as they count, and an unprintable one are told by column."""
    ((name, message),) = unfit(one(**changes))
    assert name == column
    assert reason in message
    assert list(unfit(one(customer_message="x" * 32_767))) == []


def test_what_is_no_such_csv_is_refused_with_its_line(tmp_path):
    """Reading names file, line and remedy for other columns, broken JSON, missing cells, bytes and files."""
    path = tmp_path / "s.csv"
    good = csv_text([one()])
    row = next(csv.reader(io.StringIO(good.split("\n", 1)[1], newline="")))
    for data, line, reason in (
        (b"", 1, "of an empty file"),
        (b"a,b\n", 1, "has the columns a, b"),
        (good.replace('"[""', '"[', 1).encode(), 2, "tags is no JSON"),
        ((good + '"x"\n').encode(), None, "this row has 1 cells"),
        (b"\xff\xfe", 1, "is no UTF-8"),
        (good[:-3].encode(), None, "is no CSV"),
        (
            good.replace(f'"{row[COLUMNS.index("counterexamples")]}"', '"many"').encode(),
            None,
            "counterexamples",
        ),
    ):
        path.write_bytes(data)
        with pytest.raises(FileError) as caught:
            read_csv(path)
        (problem,) = caught.value.problems
        assert reason in problem.message
        assert line in {None, problem.line} or problem.line > line
        assert "supportbench artifacts" in problem.remedy
    with pytest.raises(FileError, match="cannot be read"):
        read_csv(tmp_path / "absent.csv")


def test_every_column_is_told():
    """The page about the CSV names each column, and each has a description for dataset tools."""
    page = (TINYBENCH.parent.parent / "docs" / "tinybench.md").read_text("utf-8")
    assert [name for name in COLUMNS if f"`{name}`" not in page] == []
    assert all(field.description for field in ScenarioFacts.model_fields.values())
    assert {"id", "customer_message", "counterexamples"} < PLAIN
