"""Scenario files become items that every pytest option treats like any other test."""

from __future__ import annotations

import gc
import shutil

import pytest
from projects import DARK, agent, last_run, project, scenario, suite, verdicts


def names(result):
    """Return the names of the items that a verbose run reported, in order."""
    return [
        line.split(" ")[0].rpartition("::")[2]
        for line in result.outlines
        if ".yaml::" in line and "%]" in line
    ]


def listed(result):
    """Return the node ids that ``--collect-only -q`` printed."""
    return [line for line in result.outlines if "::" in line]


def test_every_way_of_running_gives_the_same_outcomes(run, pytester):
    """A scenario item is named like its scenario, and passes or fails the same plain, under xdist and without it."""
    project(pytester, [1, 2, 3])
    result = run("-v", agent("odd"))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines_random(
        ["*desk/case001.scenario.yaml::TB-001*", "*desk/case002.scenario.yaml::TB-002*"]
    )
    assert result.ret == 1
    assert verdicts(last_run(pytester)) == {"TB-001": "passed", "TB-002": "failed", "TB-003": "passed"}


def test_several_agents_get_an_item_each(plain, pytester):
    """With several agents an item's name carries the agent's id in brackets."""
    project(pytester)
    result = plain("-v", "--supportbench-agent=oracle", "--supportbench-agent=do-nothing")
    assert names(result) == ["TB-001[oracle]", "TB-001[do-nothing]"]
    result.assert_outcomes(passed=1, failed=1)


def test_one_agent_named_twice_gets_two_items(plain, pytester):
    """The same spec twice gives two items with ids of their own."""
    project(pytester)
    result = plain("-v", "--supportbench-agent=oracle", "--supportbench-agent=oracle")
    assert names(result) == ["TB-001[oracle]", "TB-001[oracle.2]"]
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("agents", "expected"),
    [
        (["oracle"], ["TB-001[1]", "TB-001[2]"]),
        (
            ["oracle", "do-nothing"],
            ["TB-001[oracle-1]", "TB-001[oracle-2]", "TB-001[do-nothing-1]", "TB-001[do-nothing-2]"],
        ),
    ],
)
def test_trials_are_items_of_their_own(plain, pytester, agents, expected):
    """Trials are numbered in brackets, after the agent's id where there are several agents."""
    project(pytester)
    result = plain("-v", "--supportbench-trials=2", *(f"--supportbench-agent={name}" for name in agents))
    assert names(result) == expected
    assert sorted(line["trial"] for line in last_run(pytester).episodes) == sorted([1, 2] * len(agents))


def test_a_node_id_selects_one_item(plain, pytester):
    """A node id with brackets runs that item only."""
    project(pytester, [1, 2])
    result = plain(
        "-v",
        "--supportbench-agent=oracle",
        "--supportbench-agent=do-nothing",
        "desk/case002.scenario.yaml::TB-002[oracle]",
    )
    assert names(result) == ["TB-002[oracle]"]
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("TB-002", ["TB-002"]),
        ("refund", ["TB-002"]),
        ("security", ["TB-003"]),
        ("ignores-proof", ["TB-003"]),
        ("oracle and not pilot", ["TB-002"]),
        ("always-escalate", []),
    ],
)
def test_k_selects_by_id_tag_category_failure_mode_and_agent(plain, pytester, expression, expected):
    """``-k`` finds scenarios by id, tag, category, failure mode and agent."""
    folder = project(pytester, [1])
    scenario(folder, 2, tags="refund")
    scenario(folder, 3, category="security", code="ignores-proof")
    result = plain("-v", "--supportbench-agent=oracle", "-k", expression)
    assert names(result) == expected


def test_m_selects_by_tag_and_category(plain, pytester):
    """``-m 'supportbench_tag(name=...)'`` selects by tag or category, also with strict markers."""
    folder = project(pytester, [1])
    scenario(folder, 2, tags="refund", category="security")
    for name, expected in (("pilot", "TB-001"), ("refund", "TB-002"), ("security", "TB-002")):
        result = plain("-v", "--supportbench-agent=oracle", "-m", f'supportbench_tag(name="{name}")')
        assert names(result) == [expected]


def test_lf_and_deselect(plain, pytester):
    """``--lf`` runs what failed before, ``--deselect`` leaves an item out."""
    project(pytester, [1, 2, 3])
    plain(agent("odd"))
    assert names(plain("-v", "--lf", agent("odd"))) == ["TB-002"]
    result = plain("-v", agent("odd"), "--deselect", "desk/case002.scenario.yaml::TB-002")
    result.assert_outcomes(passed=2, deselected=1)
    assert set(verdicts(last_run(pytester))) == {"TB-001", "TB-003"}


def test_stepwise_resumes_at_the_failure(plain, pytester):
    """``--sw`` stops at a failure and starts there the next time."""
    project(pytester, [1, 2, 3])
    plain("--sw", agent("odd")).assert_outcomes(passed=1, failed=1)
    assert names(plain("-v", "--sw", agent("good"))) == ["TB-002", "TB-003"]


def test_no_cache_is_needed(plain, pytester):
    """Everything works with the cache plugin off."""
    project(pytester, [1, 2])
    plain("-p", "no:cacheprovider", agent("odd")).assert_outcomes(passed=1, failed=1)


def test_collecting_needs_no_agent_and_writes_nothing(plain, pytester):
    """``--collect-only`` lists items without any agent, makes no folder and leaves an earlier run's file alone."""
    project(pytester, [1, 2])
    plain(agent("good"), "--supportbench-results=run.jsonl")
    before = (pytester.path / "run.jsonl").read_bytes()
    shutil.rmtree(pytester.path / ".supportbench")
    result = plain("--collect-only", "-q", "--supportbench-results=run.jsonl")
    assert listed(result) == ["desk/case001.scenario.yaml::TB-001", "desk/case002.scenario.yaml::TB-002"]
    assert result.ret == 0
    assert not (pytester.path / ".supportbench").exists()
    assert (pytester.path / "run.jsonl").read_bytes() == before


def test_setup_plan_runs_no_episode(plain, pytester):
    """``--setup-plan`` shows the fixtures and runs nothing."""
    project(pytester)
    result = plain("--setup-plan", agent("good"))
    result.stdout.fnmatch_lines(["*supportbench_run*"])
    assert not (pytester.path / ".supportbench").exists()


def test_only_named_files_are_collected(plain, pytester):
    """Plain YAML files are no scenarios; ``supportbench_files`` names what is."""
    folder = project(pytester, [1])
    (folder / "values.yaml").write_text("id: [unclosed", encoding="utf-8")
    scenario(folder, 2, file="second.case.yml")
    assert listed(plain("--collect-only", "-q")) == ["desk/case001.scenario.yaml::TB-001"]
    assert listed(plain("--collect-only", "-q", "-o", "supportbench_files=*.case.yml")) == [
        "desk/second.case.yml::TB-002"
    ]


def test_editors_can_discover_items(plain, pytester):
    """Items name their file and are plain functions without a callspec, as editors' test explorers expect."""
    project(pytester, [1])
    pytester.makeconftest(
        """
        def pytest_collection_modifyitems(items):
            for item in items:
                assert not hasattr(item, "callspec")
                assert item.path.name == "case001.scenario.yaml"
                assert item.location[0].endswith("case001.scenario.yaml")
                assert callable(item.function) and item.originalname == item.name
                print("seen", item.nodeid)
        """
    )
    result = plain("--collect-only", "-q", "-s", "--supportbench-trials=2")
    result.stdout.fnmatch_lines(["seen desk/case001.scenario.yaml::TB-001[[]1]", "seen *::TB-001[[]2]"])
    assert result.ret == 0


def test_autouse_fixtures_of_a_nested_conftest_apply(plain, pytester):
    """Autouse fixtures of function, module and session scope in a nested conftest surround the items of its folder."""
    folder = project(pytester, [1])
    suite(pytester.path / "other", "other")
    scenario(pytester.path / "other", 2)
    (folder / "conftest.py").write_text(
        "import pytest\n"
        "@pytest.fixture(autouse=True, scope='session')\n"
        "def for_session():\n    print('session begins')\n"
        "@pytest.fixture(autouse=True, scope='module')\n"
        "def for_module(request):\n    print('module', request.path.name)\n"
        "@pytest.fixture(autouse=True)\n"
        "def for_item(request):\n    print('item', request.node.name)\n",
        encoding="utf-8",
    )
    result = plain("-s", agent("good"))
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*session begins", "module case001.scenario.yaml", "item TB-001"])
    result.stdout.no_fnmatch_line("*item TB-002*")


def test_x_stops_at_the_first_failure(plain, pytester):
    """``-x`` ends the run at the first failed scenario."""
    project(pytester, [1, 2, 3])
    result = plain("-x", agent("odd"))
    result.assert_outcomes(passed=1, failed=1)


def test_marks_from_a_conftest_apply(plain, pytester):
    """A skipped item is never run, also not ahead; an expected failure is no failure."""
    folder = project(pytester, [1, 2, 3, 4, 5])
    (folder / "conftest.py").write_text(
        "import pytest\n"
        "MARKS = {'TB-002': pytest.mark.xfail(strict=True), 'TB-003': pytest.mark.skip(reason='later'),\n"
        "         'TB-004': pytest.mark.skipif('True', reason='never'), 'TB-005': pytest.mark.xfail(run=False)}\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        if item.name in MARKS:\n"
        "            item.add_marker(MARKS[item.name])\n",
        encoding="utf-8",
    )
    result = plain(agent("odd"), "--supportbench-concurrency=4")
    result.assert_outcomes(passed=1, xfailed=2, skipped=2)
    assert result.ret == 0
    assert set(verdicts(last_run(pytester))) == {"TB-001", "TB-002"}


def test_garbage_collection_goes_on_after_collecting(plain, pytester):
    """Old objects are left alone while scenarios are collected and not in tests, also where a file was broken."""
    gc.enable()  # whatever an earlier test of this process left
    before = gc.get_threshold()
    project(pytester, [1])
    pytester.makepyfile(
        "import gc\n\ndef test_on():\n    assert gc.isenabled()\n    assert gc.get_freeze_count()\n"
        f"    assert gc.get_threshold() == {before}\n"
    )
    plain(
        "--supportbench-agent=oracle", "desk", "test_garbage_collection_goes_on_after_collecting.py"
    ).assert_outcomes(passed=2)
    (pytester.path / "desk" / "broken.scenario.yaml").write_text("id: [", encoding="utf-8")
    plain("desk").assert_outcomes(errors=1)
    assert gc.get_threshold() == before


def test_an_expected_failure_does_not_hide_an_infrastructure_error(plain, pytester):
    """xfail expects the agent to fail; a server that is down says nothing about that, so it stays an error."""
    folder = project(pytester, [1, 2])
    (folder / "conftest.py").write_text(
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item, strict in zip(items, (False, True)):\n"
        "        item.add_marker(pytest.mark.xfail(strict=strict))\n",
        encoding="utf-8",
    )
    result = plain(f"--supportbench-agent={DARK}")
    result.assert_outcomes(errors=2)
    assert result.ret == 10
    summary = last_run(pytester).summary
    assert summary["verdicts"] == {"passed": 0, "failed": 0, "error": 2}
    assert summary["unreported"] == []


def test_a_test_of_ones_own_that_fails_is_a_failure_whatever_broke_in_it(plain, pytester):
    """Who catches the infrastructure error and then fails has failed; who lets it through has not been judged."""
    project(pytester, [1])
    pytester.makepyfile(
        test_own=f"""
        import pytest

        def test_catches(supportbench):
            with pytest.raises(pytest.fail.Exception):
                supportbench.run("desk/case001.scenario.yaml", agent={DARK!r})
            assert False

        def test_lets_through(supportbench):
            supportbench.run("desk/case001.scenario.yaml", agent={DARK!r})
        """
    )
    assert plain("test_own.py", "-k", "catches").ret == 1
    lets = plain("test_own.py", "-k", "through")
    assert lets.ret == 10
    lets.stdout.fnmatch_lines(["run by your own tests: 1 episode, no strict passes, 1 infrastructure error"])


def test_a_mistake_is_told_in_the_summary_whatever_the_traceback_style(plain, pytester):
    """``--tb=no`` hides no reason, an agent that never ran is told, and the exit status is that of a mistake."""
    project(pytester, [1, 2])
    missing = "--supportbench-agent=python:no_such_module:reply"
    alone = plain("--tb=no", missing)
    assert alone.ret == 4
    alone.stdout.fnmatch_lines(["*supportbench: NOT RUN*", "2 tests: *no_such_module*"])
    beside = plain("--tb=no", missing, f"--supportbench-agent={DARK}")
    assert beside.ret == 4
    beside.stdout.fnmatch_lines(["2 tests: *no_such_module*", "*infrastructure error: connection_refused*"])
    failing = plain("--tb=no", missing, agent("bad"))
    assert failing.ret == 1
    failing.stdout.fnmatch_lines(["2 tests: *no_such_module*"])


def test_episodes_of_subtests_count_as_their_tests_own(plain, pytester):
    """Each run of a scenario in a subtest is counted, and errors of the infrastructure alone are no failure."""
    project(pytester, [1, 2, 3])
    pytester.makepyfile(
        test_own=f"""
        def test_all(supportbench, subtests):
            for number in (1, 2, 3):
                with subtests.test(number):
                    supportbench.run(f"desk/case00{{number}}.scenario.yaml").assert_passed()

        def test_down(supportbench, subtests):
            for number in (1, 2):
                with subtests.test(number):
                    supportbench.run(f"desk/case00{{number}}.scenario.yaml", agent={DARK!r})
        """
    )
    found = plain("test_own.py", "-k", "all", agent("odd"))
    found.stdout.fnmatch_lines(["run by your own tests: 3 episodes, 2 strict passes"])
    assert found.ret == 1
    summary = last_run(pytester).summary
    assert summary["verdicts"] == {"passed": 2, "failed": 1, "error": 0}
    assert summary["unreported"] == []
    assert plain("test_own.py", "-k", "down").ret == 10
