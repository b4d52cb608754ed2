"""A long run keeps of an item what its end needs, and no garbage that nobody collects."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from projects import agent, last_run, project, verdicts

from pytest_supportbench.kept import KeptRow, keep

FOREIGN = ("-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:langsmith_plugin")

COUNTING = """
import gc
import json
from pathlib import Path

import pytest


def pytest_runtestloop(session):
    gc.disable()  # what is made from here on stays until it is counted


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    reports = [report for kind in ("passed", "failed", "") for report in reporter.stats.get(kind, ())]
    gc.unfreeze()
    found = {
        "garbage": gc.collect(),
        "items": len(session.items),
        "rows": sum("rows" in getattr(report, "supportbench", {}) for report in reports),
        "keywords": len({id(report.keywords) for report in reports}),
        "reports": len(reports),
    }
    Path("counted.json").write_text(json.dumps(found), encoding="utf-8")
    gc.enable()
    return (yield)
"""

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def counted(pytester, *options):
    """Return what a run in a process of its own left behind when its items were done."""
    pytester.makeconftest(COUNTING)
    chosen = [] if any("-agent=" in option for option in options) else ["--supportbench-agent=oracle"]
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *FOREIGN, *chosen, *options)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    return json.loads((pytester.path / "counted.json").read_text(encoding="utf-8"))


def test_items_leave_no_garbage_and_no_rows_in_reports(pytester):
    """Neither what pytest leaves while it collects, of which the rest is not looked at again, nor what episodes do.

    What does not depend on the number of items is everybody's, so two numbers are compared. Of what was in use when a
    collection came, some is left: three objects an item are allowed, of which a fault made eight and more.
    """
    area = Path(__file__).parents[1] / "scenarios" / "tinybench-50" / "customer-experience"
    shutil.copytree(area.parent, pytester.path / "suite")
    found = [counted(pytester, f"suite/{area.name}", f"--supportbench-trials={trials}") for trials in (1, 5)]
    few, many = (count["items"] for count in found)
    assert many == 5 * few
    assert [count["reports"] for count in found] == [3 * few, 3 * many]
    assert [count["rows"] for count in found] == [0, 0]
    assert [count["keywords"] for count in found] == [few, many]
    assert found[1]["garbage"] - found[0]["garbage"] < 3 * (many - few)


def test_failures_leave_no_rows_in_reports_either(pytester):
    """What is taken out of them is still counted: none is unreported."""
    project(pytester, [1, 2])
    assert counted(pytester, agent("bad"))["rows"] == 0
    assert verdicts(last_run(pytester)) == {"TB-001": "failed", "TB-002": "failed"}


@given(st.dictionaries(st.text(), PLAIN))
def test_a_kept_row_equals_what_was_kept(row):
    """In values, in order and in kinds: True is not 1."""
    kept = keep(row)
    assert kept == row
    assert list(kept) == list(row)
    assert repr(kept) == repr(row)
    assert [kept.get(name) for name in row] == [row.get(name) for name in row]


def test_a_kept_row_tells_what_it_does_not_have():
    """As a dictionary does."""
    kept = keep({"a": 1})
    assert isinstance(kept, KeptRow)
    assert kept.get("b") is None
    with pytest.raises(KeyError, match="b"):
        kept["b"]


def test_values_that_equal_each_other_stay_apart():
    """Rows share mappings in them, and 1 equals True."""
    rows = [{"in": {"a": value}} for value in (1, True, 1.0)]
    assert [repr(keep(row)["in"]["a"]) for row in rows] == ["1", "True", "1.0"]
