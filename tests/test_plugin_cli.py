"""What the ``supportbench`` command prints beside its checks."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import pytest
from projects import scenario, suite

from pytest_supportbench.catalogue import first_sentence, type_text
from pytest_supportbench.cli import main
from pytest_supportbench.counted import counted

ROOT = Path(__file__).parent.parent


def test_the_version_is_the_packages(capsys):
    """``supportbench --version`` prints the installed version and leaves with 0."""
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"pytest-supportbench {version('pytest-supportbench')}\n"


@pytest.mark.parametrize("name", ["a.scenario.yml", "a.Scenario.yaml", "a.scenarios.yaml"])
def test_a_file_that_is_nearly_a_scenario_is_told(tmp_path, capsys, name):
    """A misspelt ending would leave a scenario out of every run, and nobody would notice."""
    suite(tmp_path)
    scenario(tmp_path, 1).rename(tmp_path / name)
    path = scenario(tmp_path, 2)
    path.write_text(path.read_text().replace("fails: [resolution]", "fails: [escalation, resolution]"))
    assert main(["check", "-q", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert (
        told == f"{tmp_path / name}:1:1: is not read: a scenario's name ends in .scenario.yaml; rename it\n"
    )


@pytest.mark.parametrize(
    "command", [["schema", "turn"], ["tools"], ["doctor", "oracle"]], ids=lambda words: words[0]
)
def test_a_reader_that_has_seen_enough_is_no_error(command):
    """Behind ``| head`` a command ends in silence, whatever was still to be written."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "pytest_supportbench.cli", *command],
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_where_nothing_loads_no_tables_of_zeros_are_shown(tmp_path, capsys):
    """A check of broken files shows what is wrong with them and how many were loaded."""
    suite(tmp_path)
    (tmp_path / "a.scenario.yaml").write_text("id: 3\n", encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 1
    text = capsys.readouterr().out
    assert "mutation" not in text
    assert "constant agent" not in text
    assert "0 of 1 scenario loaded" in text


def test_counts_have_the_right_noun(tmp_path, capsys):
    """One counterexample is no counterexamples, and a share of nothing is a dash."""
    suite(tmp_path)
    path = scenario(tmp_path, 1)
    path.write_text(path.read_text().replace("fails: [resolution]", "fails: [escalation, resolution]"))
    assert main(["check", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "1 of 1 scenario loaded, references and 1 counterexample replayed: no problems\n" in text
    assert ["do-nothing", "0/1", "–", "0/1"] in [line.split() for line in text.splitlines()]
    assert [counted(number, "strict pass", "strict passes") for number in (0, 1, 2)] == [
        "no strict passes",
        "1 strict pass",
        "2 strict passes",
    ]


def test_tools_are_listed_with_effect_parameters_and_first_sentence(capsys):
    """``supportbench tools`` lists the built-in toolset, or one tool of it, without any suite."""
    assert main(["tools", "issue_refund"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "issue_refund (writes)",
        "    Send money of one charge back the way it was paid, wholly or in part.",
        "    charge_id: text, required",
    ]
    assert main(["tools"]) == 0
    text = capsys.readouterr().out
    assert "escalate_to_human (writes, hand-off)\n" in text
    assert "    reason: text | null, default null\n" in text


def test_tables_are_listed_with_types_defaults_and_owners(capsys):
    """``supportbench tables`` tells what may stand under ``state``, from a suite's folder or one above it."""
    assert main(["tables", str(ROOT / "scenarios"), "customers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "customers (owners: id, delegates)"
    assert "    segment: consumer | business | enterprise, default 'consumer'" in lines
    assert "    member_since: date | null, default null" in lines
    assert main(["tables", str(ROOT / "scenarios" / "tinybench-50" / "billing")]) == 0
    text = capsys.readouterr().out
    assert "    code: text | null, default null, hidden\n" in text
    assert "date and time with offset" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tools", "nowhere/here"], "there is no folder 'nowhere/here'"),
        (["tools", "issue_refnd"], "has no tool 'issue_refnd'; did you mean 'issue_refund'?"),
        (
            ["tables", str(ROOT / "scenarios"), "custmers"],
            "has no table 'custmers'; did you mean 'customers'?",
        ),
        (["tables", "/"], "there is no suite.yaml in or above '/'"),
    ],
)
def test_what_cannot_be_listed_is_wrong_usage(capsys, arguments, message):
    """A folder without a suite and an unknown name exit with 4 and say what exists."""
    assert main(arguments) == 4
    assert message in capsys.readouterr().err


def test_types_read_as_authors_write_values():
    """Types are told in words, not in Python's notation."""
    assert type_text(tuple[str, ...]) == "list of text"
    assert type_text(tuple[int | None, ...]) == "list of (integer | null)"
    assert type_text(dict[str, Decimal]) == "mapping of text to decimal"
    assert first_sentence("Do it. Then rest.") == "Do it."
