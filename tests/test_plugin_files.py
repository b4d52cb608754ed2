"""Broken, odd and oddly placed scenario files."""

from __future__ import annotations

import json

import pytest
import yaml
from projects import SCENARIO, agent, last_run, project, scenario, start, suite, verdicts


def test_all_problems_of_all_files_are_shown(plain, pytester):
    """Every broken file names each problem by file, line and column, without a traceback, and hides no other file."""
    folder = project(pytester, [1, 2, 3])
    text = (folder / "case001.scenario.yaml").read_text(encoding="utf-8")
    text = text.replace("category: billing", "category: 7\nbogus: 1").replace(
        "escalation: must_not", "escalation: perhaps"
    )
    (folder / "case001.scenario.yaml").write_text(text, encoding="utf-8")
    (folder / "case003.scenario.yaml").write_text("id: [unclosed", encoding="utf-8")
    result = plain("--supportbench-agent=oracle", "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=2)
    assert result.ret == 1
    shown = result.stdout.str()
    numbers = [
        text.splitlines().index(line) + 1 for line in ("category: 7", "bogus: 1", "  escalation: perhaps")
    ]
    for number in numbers:
        assert f"case001.scenario.yaml:{number}:" in shown
    assert "case003.scenario.yaml:" in shown
    assert "Traceback" not in shown
    assert "collector.py" not in shown
    assert verdicts(last_run(pytester)) == {"TB-002": "passed"}


def test_a_broken_suite_is_reported_by_each_of_its_files(plain, pytester):
    """A suite file that cannot be used fails its scenarios with its own position; other suites still run."""
    folder = project(pytester, [1])
    suite(pytester.path / "other", "other")
    scenario(pytester.path / "other", 2)
    (folder / "suite.yaml").write_text("name: [", encoding="utf-8")
    result = plain("--supportbench-agent=oracle", "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*suite.yaml:*:*: this is no YAML*"])


def test_a_file_without_a_suite_says_so(plain, pytester):
    """A scenario that no suite file stands above is told where to add one."""
    project(pytester, [])
    scenario(pytester.path / "lost", 1)
    result = plain("--collect-only")
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["*lost/case001.scenario.yaml:1:1: there is no suite.yaml beside this file or above it*"]
    )


def test_equal_ids_in_two_suites_are_apart(plain, pytester):
    """Two suites may use the same scenario ids; results and summary keep both."""
    project(pytester, [1])
    suite(pytester.path / "other", "other")
    scenario(pytester.path / "other", 1)
    result = plain("--supportbench-agent=oracle")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["oracle: 2/2 (100 %) passed*"])
    assert sorted(line["suite"] for line in last_run(pytester).episodes) == ["desk", "other"]


def test_equal_ids_in_one_suite_are_an_error(plain, pytester):
    """A second file with an id that its suite has already is refused at its position, naming the first."""
    folder = project(pytester, [1])
    scenario(folder, 1, file="copy.scenario.yaml")
    result = plain("--collect-only")
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["*copy.scenario.yaml:2:*: id: 'TB-001' is the id of *case001.scenario.yaml too*"]
    )


def test_equal_suite_names_with_equal_ids_are_an_error(plain, pytester):
    """Two suites of one name cannot have a scenario id in common, since results could not tell them apart."""
    project(pytester, [1])
    suite(pytester.path / "other", "desk")
    scenario(pytester.path / "other", 1)
    scenario(pytester.path / "other", 2)
    result = plain("--collect-only", "-q")
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        [
            "*::TB-002",
            "*other/suite.yaml:1:1: name: a suite of the same name, *desk/suite.yaml, has a scenario 'TB-001'*",
        ]
    )


@pytest.mark.parametrize("name", ["with space", "ünïcödé-日本", "[x] & (y)", "semi;colon'quote"])
def test_odd_paths_work(plain, pytester, name):
    """Folders and files with spaces, brackets and letters of any script are collected, selected and reported."""
    project(pytester, [])
    folder = pytester.path / name
    suite(folder)
    scenario(folder, 1, file=f"{name}.scenario.yaml")
    result = plain("--supportbench-agent=oracle", "--junitxml=out.xml")
    result.assert_outcomes(passed=1)
    assert name in (pytester.path / "out.xml").read_text(encoding="utf-8").replace("&amp;", "&")


def test_a_file_or_an_item_may_be_named_from_another_folder(pytester):
    """Running from elsewhere, by absolute path, keeps results at the root and a relative results path at the caller."""
    folder = project(pytester, [1, 2])
    elsewhere = pytester.path / "elsewhere"
    elsewhere.mkdir()
    path = str(folder / "case002.scenario.yaml")
    config = str(pytester.path / "pytest.toml")
    options = ("--supportbench-agent=oracle", "--supportbench-results=here.jsonl")
    process = start(pytester, "-c", config, path, *options, folder=elsewhere)
    out, _ = process.communicate(timeout=30)
    assert "1 passed" in out
    assert (elsewhere / "here.jsonl").is_file()
    assert verdicts(last_run(pytester)) == {"TB-002": "passed"}


def test_a_single_file_or_item_runs(plain, pytester):
    """A file and an item can be named directly."""
    project(pytester, [1, 2])
    plain("--supportbench-agent=oracle", "desk/case002.scenario.yaml").assert_outcomes(passed=1)
    plain("--supportbench-agent=oracle", "desk/case002.scenario.yaml::TB-002").assert_outcomes(passed=1)
    assert plain("--supportbench-agent=oracle", "desk/case002.scenario.yaml::TB-001").ret == 4


def test_a_linked_folder_runs_like_its_target(plain, pytester):
    """Scenarios reached through a link run, beside their target or alone."""
    folder = project(pytester, [1])
    (pytester.path / "linked").symlink_to(folder)
    plain("--supportbench-agent=oracle", "linked").assert_outcomes(passed=1)
    plain("--supportbench-agent=oracle").assert_outcomes(passed=2)


@pytest.mark.parametrize("mode", ["importlib", "append"])
def test_import_modes_do_not_matter(plain, pytester, mode):
    """Scenario files are no imports, so every import mode works."""
    project(pytester, [1])
    plain("--supportbench-agent=oracle", f"--import-mode={mode}").assert_outcomes(passed=1)


def test_json_is_yaml(plain, pytester):
    """A scenario in JSON loads like any YAML."""
    folder = project(pytester, [])
    values = {"id": "TB-009", "title": "t", "category": "billing", "tags": "a", "code": "c", "number": "9"}
    data = yaml.safe_load(SCENARIO.format(**values))
    data["as_of"] = "2026-03-14T10:30:00-05:00"
    (folder / "json.scenario.yaml").write_text(json.dumps(data), encoding="utf-8")
    plain("--supportbench-agent=oracle").assert_outcomes(passed=1)


def test_huge_and_odd_agent_targets_make_short_plain_ids(plain, pytester):
    """Ids of agents have letters, digits, dots, dashes and underscores only, and at most 80 characters."""
    project(pytester, [1])
    result = plain(
        "--collect-only",
        "-q",
        "--supportbench-agent=ollama:" + "m/é:" * 100,
        "--supportbench-agent=ollama:a b::[c]?seed=1",
    )
    assert result.ret == 0
    ids = [line.rpartition("[")[2].rstrip("]") for line in result.outlines if "::" in line]
    assert len(ids) == 2
    assert ids[1] == "ollama-a-b-c"
    assert len(ids[0]) <= 80
    assert set(ids[0]) <= set("ollama-m")


def test_the_loader_ignores_its_own_results(plain, pytester):
    """A second run collects what the first did; what the first left behind is not in the way."""
    project(pytester, [1])
    for _ in range(2):
        plain(agent("good")).assert_outcomes(passed=1)
