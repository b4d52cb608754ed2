"""A/A checks: how often the gate cries wolf, in words, of runs that are really several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from gate_samples import (
    changed,
    little_to_collect,  # noqa: F401 - a fixture that all tests here use
    side,
)
from test_flips import write

from pytest_supportbench.cli import main
from pytest_supportbench.errors import UsageError
from pytest_supportbench.flicker import unchanged
from pytest_supportbench.gate_rules import Rules


def test_one_run_named_twice_is_refused():
    """A run agrees with itself, which tells nothing; the error names it and the remedy."""
    run = replace(side("5x5/5"), run="20261130-abc")
    with pytest.raises(UsageError, match=r"20261130-abc.* is there twice.*runs of their own"):
        unchanged([run, replace(run)], Rules())
    assert unchanged([run, replace(run, run="20261130-def")], Rules()).runs == 2
    assert unchanged([side("5/5"), side("5/5")], Rules()).runs == 2  # baselines do not know their runs


def test_one_file_named_twice_is_refused(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    """So is a copy of it, and a baseline that is named twice."""
    path = write(tmp_path / "one.jsonl", "pp pp")
    (tmp_path / "copy.jsonl").write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["baseline", "set", "one.jsonl"]) == 0
    assert main(["aa", "one.jsonl", "copy.jsonl"]) == 4
    assert "the run 'r1' is there twice" in capsys.readouterr().err
    assert main(["aa", "one.jsonl", "one.jsonl"]) == 4
    assert "one.jsonl is there twice" in capsys.readouterr().err
    assert main(["aa", "baseline.json", "./baseline.json"]) == 4
    assert "baseline.json is there twice" in capsys.readouterr().err


def test_how_often_the_gate_cried_wolf_is_said_in_words(
    tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]
):
    """Of six comparisons of three runs, of which one is bad, two are false alarms; the steps are named."""
    for name, verdicts in (("a", "p " * 9), ("b", "p " * 9), ("c", "f " * 9)):
        path = write(tmp_path / f"{name}.jsonl", verdicts)
        path.write_text(path.read_text("utf-8").replace('"run":"r1"', f'"run":"{name}"'), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["aa", "a.jsonl", "b.jsonl", "c.jsonl"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "the gate would have cried wolf in 2 of 6 comparisons (33 %)" in out
    assert "REGRESSED although the agent is the same" in out
    assert "the step for all scenarios: in 2 of 6 comparisons it kept the verdict from being a PASS" in out


def test_a_gate_that_never_cried_wolf_is_said_to(
    tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]
):
    """No false alarm in two comparisons is told as that."""
    for name in "ab":
        path = write(tmp_path / f"{name}.jsonl", "p p")
        path.write_text(path.read_text("utf-8").replace('"run":"r1"', f'"run":"{name}"'), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["aa", "a.jsonl", "b.jsonl"]) == 0
    assert "the gate would have cried wolf in 0 of 2 comparisons (0 %)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_scenarios_that_flicker_are_counted_over_all_runs():
    """Some trials passed and some failed, within a run or between runs."""
    runs = [replace(made, run=name) for name, made in (("a", side("5/5 5/5")), ("b", side("5/5 4/5")))]
    found = unchanged(runs, Rules())
    assert [(item.case[1], item.passed, item.scored) for item in found.flickering] == [("S-01", 9, 10)]
    assert changed(side("5/5"), 0).run == ""
