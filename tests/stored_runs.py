"""Results files made without pytest: episodes of the small desk with given messages, scored and stored as runs do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from projects import scenario, suite

from pytest_supportbench.episode import replay
from pytest_supportbench.loading import Loader
from pytest_supportbench.protocol import Turn
from pytest_supportbench.records import Limits
from pytest_supportbench.results import Result, dump, run_line
from pytest_supportbench.scoring import score_episode
from pytest_supportbench.suite_identity import suite_facts

OPEN = "We are open from nine to five."
SHUT = "I cannot tell you."


def desk(root: Path, numbers: Iterable[int] = (1,), concepts: str = "") -> Path:
    """Write the small desk, with other ``concepts`` than its own where they are given; return its folder."""
    folder = root / "scenarios"
    suite(folder)
    for number in numbers:
        path = scenario(folder, number)
        if concepts:
            text = path.read_text("utf-8").replace('[{concept: hours, any_of: ["nine"]}]', concepts)
            path.write_text(text, "utf-8")
    return folder


def stored(
    folder: Path, path: Path, episodes: Iterable[tuple[int, str, Any]], *, scorer: str | None = None
) -> Path:
    """Write the results of ``episodes``: case number, agent, and its message or its turns."""
    loader = Loader(folder.parent)
    lines = []
    agents: dict[str, Any] = {}
    for trial, (number, agent, said) in enumerate(episodes, 1):
        bound = loader.load(folder / f"case{number:03}.scenario.yaml")
        turns = said if isinstance(said, list) else [{"action": "answer", "message": said}]
        episode = replay(bound, tuple(map(Turn.model_validate, turns)))
        agents[agent] = {"id": agent, "kind": "python"}
        lines.append(Result(bound, agent, trial, episode, score_episode(bound, episode)).to_json())
    suites = suite_facts(loader.suites())
    asked = list(agents.values())
    trials = max(1, len(lines))
    head = run_line(suites, asked, run_id="r1", trials=trials, limits=Limits(), root=folder.parent)
    if scorer is not None:
        head["scorer"] = scorer
    path.write_text("".join(map(dump, (head, *lines))), encoding="utf-8")
    return path
