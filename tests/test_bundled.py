"""The suites that come with the package: run from any folder, copied for editing, never written to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_supportbench import bundled as bundled_module
from pytest_supportbench.bundled import bundled, bundled_suites, copy_suite, working_copy
from pytest_supportbench.cli import main
from pytest_supportbench.errors import UsageError
from pytest_supportbench.loading import load_suite
from pytest_supportbench.results_file import read_run
from pytest_supportbench.suite_identity import suite_facts

ROOT = Path(__file__).parent.parent
QUIET = ("-q", "-p", "no:hypothesispytest", "-p", "no:anyio")
CONFTEST = """
import pytest

def reply(observation):
    return {"action": "decline", "message": "No."}
"""


def run(folder, *arguments, **environment):
    """Run ``supportbench run`` in a folder; return its exit code and output."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest_supportbench.cli", "run", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["-x"], ["-q", "-o", "supportbench_files=*.scenario.yaml", "SUITE", "-x"]),
        (["desk", "-k", "q"], ["-q", "desk", "-k", "q"]),
        (["desk", "-vv"], ["desk", "-vv"]),
        (["desk", "--verbosity=1"], ["desk", "--verbosity=1"]),
        (["desk", "-q"], ["desk", "-q"]),
    ],
)
def test_it_is_quiet_unless_told_otherwise(tmp_path, monkeypatch, given, passed):
    """Every scenario is a file, so a line for each would hide what matters; verbosity that is given stays as it is."""
    (tmp_path / "desk").mkdir()
    monkeypatch.chdir(tmp_path)
    calls = []
    monkeypatch.setattr(pytest, "main", lambda arguments: calls.append(arguments) or 0)
    assert main(["run", *given]) == 0
    suite = ".supportbench/suites/tinybench-50"
    assert calls == [["-p", "supportbench", *(suite if word == "SUITE" else word for word in passed)]]


def test_the_suite_runs_in_an_empty_folder(tmp_path):
    """The default suite runs below the current folder, node ids are relative, and results stay there."""
    before = files(bundled("tinybench-50").folder)
    code, output = run(tmp_path, "--supportbench-agent=oracle", "-n", "2", *QUIET)
    assert code == 0, output
    assert files(bundled("tinybench-50").folder) == before
    assert {path.name for path in tmp_path.iterdir()} == {".supportbench", ".pytest_cache"}
    results = read_run(tmp_path / ".supportbench" / "last-run.jsonl")
    (facts,) = suite_facts([load_suite(bundled("tinybench-50").folder / "suite.yaml")])
    assert results.run["suites"] == [facts]
    code, output = run(tmp_path, "tinybench-50", "--supportbench-agent=do-nothing", "-k", "TB-003", *QUIET)
    node = ".supportbench/suites/tinybench-50/memory/second-double-payment.scenario.yaml::TB-003"
    assert code == 1
    assert f"FAILED {node}" in output
    code, output = run(tmp_path, node, "--supportbench-agent=oracle", *QUIET)
    assert (code, "1 passed" in output) == (0, True)


def test_the_project_around_it_counts(tmp_path):
    """Configuration, fixtures and hooks of the current folder apply; its file pattern and test paths do not."""
    ini = (
        '[pytest]\ntestpaths = ["tests"]\nfilterwarnings = ["error"]\nsupportbench_files = ["*.case.yaml"]\n'
    )
    (tmp_path / "pytest.toml").write_text(ini + 'supportbench_agent = ["desk"]\n')
    hook = "def pytest_supportbench_agents(config):\n    return {'desk': reply}\n"
    (tmp_path / "conftest.py").write_text(CONFTEST + hook)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_mine.py").write_text("def test_mine(): assert False\n")
    code, output = run(tmp_path, "-k", "TB-00", *QUIET)
    assert (code, "9 failed" in output) == (1, True)
    assert "test_mine" not in output
    assert {line["agent"] for line in read_run(tmp_path / ".supportbench/last-run.jsonl").episodes} == {
        "desk"
    }
    fixture = "@pytest.fixture\ndef supportbench_agent():\n    return reply\n"
    (tmp_path / "conftest.py").write_text(CONFTEST + fixture)
    (tmp_path / "pytest.toml").unlink()
    code, output = run(tmp_path, "-k", "TB-003", *QUIET, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert (code, "1 failed" in output) == (1, True)


def test_without_an_agent_the_plugin_says_how_to_name_one(tmp_path):
    """``supportbench run`` alone leaves with 4 and the plugin's own message."""
    code, output = run(tmp_path, *QUIET)
    assert code == 4
    assert "no agent is configured; name one with --supportbench-agent=SPEC" in output


def test_a_path_is_run_in_place(tmp_path):
    """A folder in the first place is run as it is, and nothing is copied."""
    assert main(["copy", str(tmp_path / "mine")]) == 0
    code, output = run(tmp_path, "mine", "--supportbench-agent=oracle", "-k", "TB-001", *QUIET)
    assert code == 0, output
    assert not (tmp_path / ".supportbench" / "suites").exists()


def test_a_name_that_is_neither_is_refused(tmp_path):
    """A misspelt suite is a usage error that says what was meant, for ``run`` and for ``copy``."""
    code, output = run(tmp_path, "tinybench50")
    assert code == 4
    assert "'tinybench50' is neither a file or folder here nor a suite" in output
    assert "did you mean 'tinybench-50'?" in output
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="did you mean 'tinybench-50'"):
        bundled("tinybench-5")


def test_help_of_run_is_ours(capsys):
    """``supportbench run --help`` explains the command, not pytest."""
    with pytest.raises(SystemExit) as left:
        main(["run", "--help"])
    assert left.value.code == 0
    assert "supportbench run [SUITE_OR_PATH] [PYTEST_ARGUMENT ...]" in capsys.readouterr().out


def test_the_working_copy_is_restored(tmp_path):
    """What was changed, added or removed in the working copy is as in the package at the next run; git ignores it."""
    suite = bundled("tinybench-50")
    folder = working_copy(suite, tmp_path)
    wanted = {path.relative_to(folder): data for path, data in files(folder).items()}
    assert wanted == {path.relative_to(suite.folder): data for path, data in files(suite.folder).items()}
    (folder / "suite.yaml").write_text("name: x\n")
    (folder / "README.md").unlink()
    (folder / "mine.scenario.yaml").write_text("id: x\n")
    same = (folder / "policies.yaml").stat().st_mtime_ns
    assert working_copy(suite, tmp_path) == folder
    assert {path.relative_to(folder): data for path, data in files(folder).items()} == wanted
    assert (folder / "policies.yaml").stat().st_mtime_ns == same
    assert (tmp_path / ".supportbench" / ".gitignore").read_text() == "*\n"


def test_a_copy_is_whole_and_says_what_to_do_next(tmp_path, monkeypatch, capsys):
    """``supportbench copy`` copies every file, artifacts included, and prints the next commands."""
    monkeypatch.chdir(tmp_path)
    assert main(["copy", "tinybench-50", "my suite"]) == 0
    assert capsys.readouterr().out == (
        f"copied tinybench-50 {bundled('tinybench-50').version} to my suite\n"
        "next: edit it, then run: supportbench check 'my suite'\n"
        "and see it pass: supportbench run 'my suite' --supportbench-agent=oracle\n"
    )
    source = bundled("tinybench-50").folder
    assert {path.relative_to("my suite"): data for path, data in files(Path("my suite")).items()} == {
        path.relative_to(source): data for path, data in files(source).items()
    }


def test_a_copy_overwrites_nothing(tmp_path, capsys):
    """A folder that holds anything, a file and a folder that cannot be made are refused with a remedy."""
    (tmp_path / "empty").mkdir()
    assert main(["copy", str(tmp_path / "empty")]) == 0
    assert main(["copy", str(tmp_path / "empty")]) == 4
    assert (
        "empty exists and is no empty folder; name a new one, or remove it first" in capsys.readouterr().err
    )
    (tmp_path / "file").write_text("x")
    for name in ("file", "file/below"):
        with pytest.raises(UsageError, match="name a"):
            copy_suite(bundled("tinybench-50"), tmp_path / name)
    assert (tmp_path / "file").read_text() == "x"
    with pytest.raises(UsageError, match="run it from a folder that you may write to"):
        working_copy(bundled("tinybench-50"), tmp_path / "file")


def test_suites_are_listed(capsys):
    """``supportbench suites`` prints name, version and folder of each suite."""
    assert main(["suites"]) == 0
    (suite,) = bundled_suites()
    assert capsys.readouterr().out == f"{suite.name} {suite.version} {suite.folder}\n"


def test_an_installed_package_has_its_suites_inside(tmp_path, monkeypatch):
    """Where the package holds a folder of suites, that one is meant, not what lies beside the package."""
    package = tmp_path / "pytest_supportbench"
    (package / "suites" / "s").mkdir(parents=True)
    (package / "suites" / "s" / "suite.yaml").write_text('name: s\nversion: "2.0"\n')
    monkeypatch.setattr(bundled_module, "files", lambda _: package)
    assert [(suite.name, suite.version) for suite in bundled_suites()] == [("s", "2.0")]
    (package / "suites").rename(tmp_path / "scenarios")
    assert bundled_suites() == ()
