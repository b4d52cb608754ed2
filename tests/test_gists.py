"""Runs that are compared are read in little memory, however long their files are."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from stored_runs import OPEN, SHUT, desk, stored

from pytest_supportbench.cli import main
from pytest_supportbench.gists import asked, gist
from pytest_supportbench.recount import recounted
from pytest_supportbench.results import Json, dump, episode_key
from pytest_supportbench.results_file import closing_line, read_run
from pytest_supportbench.traces import Traces, kept_of, traces

EPISODES = 300
PADDING = "x" * 40_000
DECLINED = [{"action": "decline", "message": SHUT}]


def long_run(folder: Path, name: str, failed: int) -> Path:
    """Write a run of many episodes with much to say, of which the first ones failed."""
    path = stored(desk(folder), folder / name, [(1, "bot", OPEN), (1, "bot", DECLINED)])
    head, good, bad = map(json.loads, path.read_text("utf-8").splitlines())
    head["settings"]["trials"] = 1
    lines = [
        {**(bad if number < failed else good), "scenario": f"TB-{number:05}", "trial": 1}
        for number in range(EPISODES)
    ]
    path.write_text("".join(map(dump, (head, *lines))), encoding="utf-8")
    counts = recounted(read_run(path), ())
    keys = set(map(episode_key, lines))
    last = closing_line(path, "r1", reported=keys, exit_status=1, stopped_early=False, **counts)
    padded = ({**line, "output": PADDING} for line in lines)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(map(dump, (head, *padded, last)))
    return path


def peak_of(work: Callable[[], object]) -> int:
    """Return the most bytes of memory that were in use at once, of those that the work asked for."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_reading_takes_a_fraction_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A file of 12 MB is checked and counted in less than a fifth of that, and what flipped is found in it."""
    path = long_run(tmp_path, "a.jsonl", 40)
    words = ["baseline", "set", str(path), str(tmp_path / "base.json")]
    assert main(words) == 0  # so that what is loaded once is not measured
    assert peak_of(lambda: main(words)) < path.stat().st_size / 5
    assert "300 scenarios, 260 of them passed in every trial" in capsys.readouterr().out
    flipped = {("desk", "TB-00003"), ("desk", "TB-00007")}
    found: list[Traces] = []
    peak = peak_of(lambda: found.append(traces(read_run(path, kept_of("bot", flipped)), "bot")))
    assert peak < path.stat().st_size / 5
    assert {case: [(item.line, item.verdict) for item in trials] for case, trials in found[0].items()} == {
        ("desk", "TB-00003"): [(5, "failed")],
        ("desk", "TB-00007"): [(9, "failed")],
    }
    assert all(
        item.headline.startswith("failed resolution") for trials in found[0].values() for item in trials
    )


def test_what_was_not_asked_of_a_line_is_not_known_of_its_gist():
    """What a question raised is raised where its answer is wanted; one that was not asked is told."""

    def turns(line: Json) -> int:
        return len(line["turns"])

    def ending(line: Json) -> str:
        return str(line["ending"])

    kept = gist({"agent": "bot", "trial": 1, "turns": [1, 2]}, (turns, ending))
    assert kept == {"agent": "bot", "trial": 1}
    assert asked(turns, kept) == asked(turns, {"turns": [3, 4]}) == 2
    for _ in range(2):
        with pytest.raises(KeyError, match="ending"):
            asked(ending, kept)
    with pytest.raises(ValueError, match="not in"):
        asked(len, kept)
