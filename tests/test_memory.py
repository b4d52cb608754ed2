"""A long run keeps of an item what its end needs, and no garbage that nobody collects."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from foreign import FOREIGN
from hypothesis import given
from hypothesis import strategies as st
from projects import agent, last_run, project, verdicts

from pytest_supportbench.kept import KeptRow, keep

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
    run = last_run(pytester)
    assert verdicts(run) == {"TB-001": "failed", "TB-002": "failed"}
    assert not run.summary["unreported"]


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


def test_a_mark_on_one_trial_is_on_no_other(plain, pytester):
    """Trials have functions of their own, which hooks may mark: a warm-up that may fail excuses no other trial."""
    project(pytester, [1])
    pytester.makeconftest(
        "import pytest\n"
        "def pytest_generate_tests(metafunc):\n"
        "    if metafunc.definition.name.endswith('[1]'):\n"
        "        pytest.mark.xfail(metafunc.function)\n"
    )
    plain(agent("bad"), "--supportbench-trials=3").assert_outcomes(failed=2, xfailed=1)


def test_what_a_hook_puts_into_one_report_is_in_no_other(plain, pytester):
    """An item's three reports have equal keywords, until somebody changes those of one."""
    project(pytester, [1])
    pytester.makeconftest(
        "import pytest\n"
        "@pytest.hookimpl(wrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    report = yield\n"
        "    if report.when == 'call':\n"
        "        report.keywords['seen'] = 1\n"
        "    return report\n"
        "def pytest_terminal_summary(terminalreporter):\n"
        "    found = [report for kind in ('', 'passed') for report in terminalreporter.stats[kind]]\n"
        "    print('SEEN', sorted(report.when for report in found if 'seen' in report.keywords))\n"
    )
    plain("--supportbench-agent=oracle").stdout.fnmatch_lines(["SEEN ['call']"])


def test_a_report_that_is_logged_again_is_judged_as_before(plain, pytester):
    """Some plugins do; what a gate knows of a failure is not lost the first time."""
    project(pytester, [1, 2, 3])
    pytester.makeconftest(
        "import pytest\n"
        "from _pytest.runner import runtestprotocol\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    for report in runtestprotocol(item, nextitem=nextitem, log=True):\n"
        "        if report.failed:\n"
        "            item.ihook.pytest_runtest_logreport(report=report)\n"
        "    return True\n"
    )
    result = plain(agent("odd"), "--supportbench-fail-under=strict=0.5")
    result.stdout.fnmatch_lines(["*gate: PASS*"])
    assert result.ret == 0


@pytest.mark.parametrize("hook", ["pytest_itemcollected(item)", "pytest_collection_modifyitems(items)"])
def test_thresholds_of_the_collector_that_a_hook_sets_stay(pytester, hook):
    """Ours are taken back where nobody set others in between."""
    project(pytester, [1])
    pytester.makeconftest(
        f"import gc\ndef {hook}:\n    gc.set_threshold(50000, 20, 20)\n"
        "def pytest_sessionfinish():\n    print('FOUND', gc.get_threshold())\n"
    )
    result = pytester.runpytest_subprocess(*FOREIGN, "--supportbench-agent=oracle", "-s")
    result.stdout.fnmatch_lines(["*FOUND (50000, 20, 20)*"])
