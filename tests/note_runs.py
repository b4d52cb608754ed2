"""Results files for notes, made without pytest: episodes of TinyBench-50 as somebody plays them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pilot_note import HAND_OFF, ROOT

from pytest_supportbench.episode import replay
from pytest_supportbench.loading import BoundScenario, Loader, scenario_files
from pytest_supportbench.protocol import Turn
from pytest_supportbench.records import Limits
from pytest_supportbench.recount import recounted
from pytest_supportbench.results import Result, dump, episode_key, run_line
from pytest_supportbench.results_file import closed, closing_line, read_run
from pytest_supportbench.scoring import score_episode
from pytest_supportbench.suite_identity import suite_facts

Line = dict[str, Any]
Player = Callable[[BoundScenario], Sequence[Turn]]


def right(bound: BoundScenario) -> Sequence[Turn]:
    """Play the reference."""
    return bound.scenario.reference


def hand_off(_: BoundScenario) -> Sequence[Turn]:
    """Hand everything off, to one team."""
    return (Turn.model_validate(HAND_OFF),)


def silent(_: BoundScenario) -> Sequence[Turn]:
    """Decline everything."""
    return (Turn.model_validate({"action": "decline", "message": "No."}),)


def mostly(bound: BoundScenario) -> Sequence[Turn]:
    """Play the reference, but for every fourth scenario."""
    return silent(bound) if int(bound.scenario.id[-3:]) % 4 == 0 else right(bound)


@cache
def tinybench() -> tuple[tuple[BoundScenario, ...], str]:
    """Return all fifty scenarios by id, and what a run line says of their suite, as JSON."""
    loader = Loader(ROOT)
    bounds = [loader.load(path) for path in scenario_files(ROOT / "scenarios" / "tinybench-50").values()]
    return tuple(sorted(bounds, key=lambda bound: bound.scenario.id)), json.dumps(
        suite_facts(loader.suites())
    )


@cache
def _played(player: Player, count: int) -> str:
    lines = []
    for bound in tinybench()[0][:count]:
        episode = replay(bound, tuple(player(bound)))
        lines.append(Result(bound, "one", 1, episode, score_episode(bound, episode)).to_json())
    return json.dumps(lines, default=str)


def played(player: Player, count: int = 10, *, agent: str = "one", trial: int = 1) -> list[Line]:
    """Return the episode lines of the first scenarios: ten are the pilot's, fifty the whole suite."""
    return [{**line, "agent": agent, "trial": trial} for line in json.loads(_played(player, count))]


def broken(line: Line, cause: str = "connection_refused") -> Line:
    """Return an episode line whose infrastructure broke."""
    error = {"cause": cause, "message": "nothing listens there", "remedy": "start the server"}
    nothing: Line = {"dimensions": {}, "strict": None, "strict_effects": None, "escalation_class": None}
    nothing |= {"violations": [], "explanation": None, "turns": [], "calls": [], "faults": [], "changes": []}
    return {**line, **nothing, "verdict": "error", "ending": "error", "action": None, "error": error}


def stored(
    path: Path,
    lines: Iterable[Line],
    *,
    trials: int = 1,
    agents: Sequence[Line] = ({"id": "one", "kind": "rules", "options": {}},),
    killed: bool = False,
    unreported: Sequence[str] = (),
    calibrated: bool = False,
    stopped_early: bool = False,
    **changes: Any,
) -> Path:
    """Write a results file; ``killed`` leaves its closing line out, ``changes`` are of its run line."""
    suites = json.loads(tinybench()[1])
    head = run_line(suites, agents, run_id="r1", trials=trials, limits=Limits(), root=path.parent)
    head |= {"started": "2026-11-30T10:00:00+00:00", **changes}
    path.write_text("".join(map(dump, (head, *lines))), encoding="utf-8")
    if not killed:
        with path.open("a", encoding="utf-8") as file:
            file.write(dump(closing(path, unreported, calibrated=calibrated, stopped_early=stopped_early)))
    return path


def closing(
    path: Path, unreported: Sequence[str] = (), *, calibrated: bool = False, stopped_early: bool = False
) -> Line:
    """Return the closing line of the run whose lines a file has."""
    run = read_run(path)
    try:
        counts = recounted(closed(run, {"unreported": list(unreported)}), ())
    except (KeyError, TypeError, AttributeError):  # a test's damaged line
        counts = {"verdicts": [], "agents": [], "comparisons": []}
    for item in counts["agents"]:
        item["explanation"]["calibrated"] = calibrated
    reported = {episode_key(line) for line in run.episodes} - set(unreported)
    return closing_line(
        path, str(run.run["run"]), reported=reported, exit_status=1, stopped_early=stopped_early, **counts
    )


def spoilt(value: Any, text: str, names: frozenset[str]) -> Any:
    """Return JSON data with ``text`` in place of every string, but for those of the fields ``names`` and of ids."""
    if isinstance(value, dict):
        return {
            key: copy.deepcopy(item) if key in names else spoilt(item, text, names)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [spoilt(item, text, names) for item in value]
    return text if isinstance(value, str) else value
