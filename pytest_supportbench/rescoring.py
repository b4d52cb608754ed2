"""Grades stored episodes with today's scorer: their calls are executed anew, and no agent is asked."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.conversation import make_environment
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.protocol import ToolCall, Turn
from pytest_supportbench.records import Episode, TurnRecord
from pytest_supportbench.recount import recounted, status_of
from pytest_supportbench.results import Json, Result, dump, episode_key
from pytest_supportbench.results_copy import damaged
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.scoring import SCORER_VERSION, score_episode
from pytest_supportbench.sound_scores import episode_name, error_problem
from pytest_supportbench.sound_traces import trace_problem
from pytest_supportbench.steps import with_calls
from pytest_supportbench.stored_scenarios import Found, Scenarios

_TRACE: Final = ("turns", "calls", "faults", "changes", "ending", "action", "failure")
"""What happened in an episode: it must come out again as it is stored."""

_GRADED: Final = frozenset(
    {
        "title",
        "twin",
        "category",
        "tags",
        "expected_escalation",
        "verdict",
        "dimensions",
        "strict",
        "strict_effects",
        "escalation_class",
        "violations",
        "explanation",
    }
)
"""What an episode line has from the scenario's file and from scoring; all else is kept as it is stored."""


@dataclass(frozen=True, slots=True)
class Rescored:
    """A run graded anew. ``lines`` are its run line and its episode lines; ``closing`` has the arguments of the last.

    ``refused`` names each episode that cannot be graded, with the reason; with any of them there are no lines.
    ``changed`` tells whose verdict is another one, ``notes`` what else is worth a look. ``closing`` is ``None`` where
    the run has no end either.
    """

    lines: tuple[Json, ...]
    closing: Json | None
    refused: tuple[str, ...]
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def rescore(name: str, run: RunFile, scenarios: Scenarios) -> Rescored:
    """Return a run with each episode graded by today's scorer; ``name`` is the file's.

    Infrastructure errors stay what they are, and so do the ways in which the agent failed. Raises `UsageError` where
    a line lacks what every results file has.
    """
    try:
        return _rescored(run, scenarios)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(name, error) from error


def _rescored(run: RunFile, scenarios: Scenarios) -> Rescored:
    without = {str(agent["id"]): tuple(agent.get("without", ())) for agent in run.run["agents"]}
    suites = {str(suite["name"]): suite for suite in run.run["suites"]}
    lines, refused, changed = [], [], []
    for line in run.episodes:
        found = scenarios.find(line, suites.get(line["suite"]))
        graded = _graded(line, found, without.get(line["agent"], ()))
        if isinstance(graded, str):
            refused.append(f"{episode_name(line)}: {graded}")
            continue
        lines.append(graded)
        if graded["verdict"] != line["verdict"]:
            changed.append(f"{episode_name(line)}: {line['verdict']} before, {graded['verdict']} now")
    if refused:
        return Rescored((), None, tuple(refused))
    head = {
        **run.run,
        "run": f"{run.run['run']}-scorer-{SCORER_VERSION}",
        "scorer": SCORER_VERSION,
        "rescored_from": {"run": run.run["run"], "scorer": run.run["scorer"]},
    }
    again = RunFile(head, tuple(lines), None)
    closing = None if run.summary is None else _closing(again, run.summary)
    marked = tuple(lines) if closing is None else tuple(map(_unmarked, lines))
    return Rescored((head, *marked), closing, (), tuple(changed), scenarios.notes())


def _unmarked(line: Json) -> Json:
    return {key: value for key, value in line.items() if key != "unreported"}


def _closing(run: RunFile, summary: Json) -> Json:
    """Return the arguments of the closing line: counts anew, and of the stored one what scores do not touch."""
    counts = recounted(run, (summary,))
    unreported = set(summary["unreported"])
    same = counts["verdicts"].count("failed") == summary["verdicts"]["failed"]
    keep = same and not summary.get("gate")
    return {
        **counts,
        "run_id": run.run["run"],
        "reported": {episode_key(line) for line in run.episodes} - unreported,
        "exit_status": summary["exit_status"] if keep else status_of(counts["verdicts"]),
        "stopped_early": summary["stopped_early"],
        "skipped": summary.get("skipped", ()),
        "budget": summary["budget"],
        "cassettes": summary["cassettes"],
    }


def _graded(line: Json, found: Found, without: Collection[str]) -> Json | str:
    """Return an episode line graded anew, or why it cannot be."""
    wrong = error_problem(line) or ("" if line["verdict"] == "error" else trace_problem(line))
    if wrong:
        return f"{wrong}: the file was changed; fetch it anew"
    if line["verdict"] == "error":
        return line
    if found.bound is None:
        return found.problem
    try:
        episode = rebuilt(line, found.bound, without)
        score = score_episode(found.bound, episode)
    except ToolsetError as error:
        return f"its toolset is broken: {error}"
    result = Result(found.bound, line["agent"], line["trial"], episode, score, line["attempt"])
    fresh: Json = json.loads(dump(result.to_json()))
    for part in _TRACE:
        if fresh[part] != line[part]:
            return _differs(part, line[part], fresh[part])
    kept = {key: value if key in _GRADED else line.get(key, value) for key, value in fresh.items()}
    return {**kept, **{key: value for key, value in line.items() if key not in kept}}


def _differs(part: str, stored: Any, fresh: Any) -> str:
    """Return which part of a trace comes out otherwise than it is stored."""
    if part == "calls":
        for number, (then, now) in enumerate(zip(stored, fresh, strict=False), 1):
            fields = [field for field in now if now[field] != then.get(field)]
            if fields:
                tool = str(then.get("tool"))[:60]
                what = f"call {number}, {tool}, has another {' and '.join(fields)} with today's toolset"
                return f"{what}; run the agent anew"
    return f"its {part} come out otherwise with today's version; run the agent anew"


def rebuilt(line: Json, bound: BoundScenario, without: Collection[str] = ()) -> Episode:
    """Return the episode that a line is of, its calls executed in their order in a fresh environment.

    What agent and customer wrote is taken as it is stored. ``without`` names the parts that the agent did not get to
    see. Raises `ToolsetError` where the toolset breaks.
    """
    environment = make_environment(bound, without)
    for call in line["calls"]:
        environment.call(_call(call), int(call["turn"]), _problem(call))
    return Episode(
        scenario_id=bound.scenario.id,
        turns=tuple(_turn(number, turn) for number, turn in enumerate(line["turns"], 1)),
        calls=tuple[CallRecord, ...](environment.calls),
        changes=environment.changes(),
        faults=environment.faults(),
        ending=line["ending"],
        action=line["action"],
        failure=line["failure"],
    )


def _call(call: Json) -> ToolCall:
    return ToolCall(tool=call["tool"], arguments=call["arguments"])


def _problem(call: Json) -> str:
    """Return why a call's arguments could not be read, where they could not: it is stored without any."""
    unfit = call["status"] == "refused" and call["error"]["code"] == "invalid_arguments"
    return str(call["error"]["message"]) if unfit and not call["arguments"] else ""


def _turn(number: int, stored: Json) -> TurnRecord:
    invalid = stored["invalid_reply"]
    if invalid is not None:
        return TurnRecord(number, None, invalid=invalid["reason"], excerpt=invalid["excerpt"])
    turn = Turn(action=stored["action"], message=stored["message"], asks_for=tuple(stored["asks_for"]))
    return TurnRecord(
        number,
        with_calls(turn, *map(_call, stored["tool_calls"])),
        delivered=stored["delivered"],
        customer_reply=stored["customer_reply"],
        live=stored["live"],
    )
