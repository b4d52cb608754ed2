"""Why results files cannot be one run: other settings, other agents, another division, or something there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

from pytest_supportbench.comparable import MAX_NAMED, named
from pytest_supportbench.counted import counted
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import shared_fingerprint
from pytest_supportbench.recount import agents_counted
from pytest_supportbench.results import Json
from pytest_supportbench.results_copy import damaged
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.shards import Plan
from pytest_supportbench.sound_scores import contradictions

Case: TypeAlias = tuple[str, str]

BY_FIXTURES: Final = frozenset({"fixture"})
"""Kinds of agents that only some scenarios may have, since a fixture near them supplies them."""


@dataclass(frozen=True, slots=True)
class ShardFile:
    """A results file of one shard, ``number`` (from 1) of ``of``; ``name`` is its path as the user gave it."""

    name: str
    run: RunFile
    number: int
    of: int

    @property
    def label(self) -> str:
        """Return what messages call it, such as ``part2.jsonl (shard 2/3)``."""
        return f"{self.name} (shard {self.number}/{self.of})"


def as_shard(name: str, run: RunFile) -> ShardFile:
    """Return a results file as a shard's. Raises `UsageError` where it is none."""
    try:
        shard = run.run["settings"].get("shard")
        number, of = (0, 0) if shard is None else map(int, shard)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(name, error) from error
    if shard is None:
        what = "is a merged run already" if "merged_from" in run.run else "is a whole run, and no shard"
        msg = f"{name}: {what}; merge takes the files of pytest --supportbench-shard=N/M"
        raise UsageError(msg)
    if not 1 <= number <= of:
        raise damaged(name, ValueError(f"its shard is {number}/{of}"))
    return ShardFile(name, run, number, of)


def clashes(shards: Sequence[ShardFile]) -> tuple[str, ...]:
    """Return what keeps shards, sorted by number, from being of one run, each with the remedy."""
    return (*_mixed(shards), *_overlaps(shards), *_contradicting(shards), *_unplanned(shards))


def _mixed(shards: Sequence[ShardFile]) -> Iterator[str]:
    """Yield each thing in which a shard differs from the first one, so that they are not of one run."""
    first = shards[0]
    for other in shards[1:]:
        ours, theirs = _conditions(first), _conditions(other)
        for what, (value, remedy) in theirs.items():
            if value != ours[what][0]:
                yield f"{other.label}: {what} {_short(value)}, and {first.label}: {_short(ours[what][0])}; {remedy}"
        commits = [item.run.run.get("git_commit") for item in (first, other)]
        if all(commits) and commits[0] != commits[1]:
            yield (
                f"{other.label}: git commit {_short(commits[1])}, and {first.label}: {_short(commits[0])}; "
                "run all shards on one commit"
            )
        yield from _other_agents(first, other)
        yield from _other_plan(first, other)


def _conditions(item: ShardFile) -> dict[str, tuple[Any, str]]:
    """Return what shards must share, by what it is called, each with the remedy where they do not."""
    run, settings = item.run.run, item.run.run["settings"]
    again = "run all shards with the same"
    customer = run["customer"]
    return {
        "number of shards": (item.of, "take the files of one run"),
        "scorer": (run["scorer"], "grade them with one scorer first: supportbench rescore RESULTS..."),
        "package": (run["package"], f"{again} version of pytest-supportbench"),
        "suites": (sorted(run["suites"], key=str), f"{again} files of the suite"),
        "trials": (settings["trials"], f"{again} --supportbench-trials"),
        "turn limit": (settings["max_turns"], f"{again} --supportbench-max-turns"),
        "timeout": (settings["timeout"], f"{again} --supportbench-timeout"),
        "simulated customer": (
            None if customer is None else shared_fingerprint(customer),
            f"{again} --supportbench-customer",
        ),
    }


def _other_agents(first: ShardFile, other: ShardFile) -> Iterator[str]:
    """Yield each agent that is another one in two shards, or that only one of them ran."""
    ours, theirs = (_agents(item) for item in (first, other))
    for name in sorted(ours.keys() | theirs.keys()):
        here, there = ours.get(name), theirs.get(name)
        if here is not None and there is not None:
            changed = [key for key in sorted(here.keys() | there.keys()) if here.get(key) != there.get(key)]
            if changed:
                what = "; ".join(
                    f"{key} {_short(there.get(key))}, not {_short(here.get(key))}" for key in changed
                )
                yield f"{other.label}: the agent {name} is another one than in {first.label}: {what}; run all with one"
            continue
        has, lacks = (first, other) if there is None else (other, first)
        if name in agents_counted(has.run) and (here or there or {}).get("kind") not in BY_FIXTURES:
            yield f"{lacks.label}: has no agent {name}, and {has.label} has; run all shards with the same agents"


def _agents(item: ShardFile) -> dict[str, dict[str, Any]]:
    return {str(agent["id"]): shared_fingerprint(agent) for agent in item.run.run["agents"]}


def _other_plan(first: ShardFile, other: ShardFile) -> Iterator[str]:
    ours, theirs = (item.run.run["settings"]["plan"] for item in (first, other))
    if ours["sha256"] == theirs["sha256"] or first.of != other.of:
        return
    used = [plan["durations"] and plan["durations"]["sha256"] for plan in (ours, theirs)]
    if used[0] != used[1]:
        why = "their durations differ: give every shard the same file with --supportbench-durations, or none"
    elif ours["scenarios"] != theirs["scenarios"]:
        why = f"of {theirs['scenarios']} and of {ours['scenarios']} scenarios: select the same with -k, -m and paths"
    else:
        why = "run every shard with the same paths, options and files"
    yield f"{other.label} and {first.label} were divided by different plans; {why}"


def _overlaps(shards: Sequence[ShardFile]) -> Iterator[str]:
    """Yield what is there twice: a shard, or a scenario in two of them."""
    for one, other in pairwise(shards):
        if (one.number, one.of) == (other.number, other.of):
            yield f"{one.name} and {other.name} are both shard {one.number}/{one.of}; leave one of them out"
    seen: dict[Case, ShardFile] = {}
    both: dict[tuple[str, str], list[Case]] = {}
    for item in shards:
        for case in sorted(cases_of(item)):
            earlier = seen.setdefault(case, item)
            if earlier.number != item.number:
                both.setdefault((earlier.label, item.label), []).append(case)
    for (one_label, other_label), cases in both.items():
        yield f"{one_label} and {other_label} both have {named(cases)}; take the files of one run"
    for item in shards:
        twice = sorted(
            episode for episode, count in Counter(map(_episode, _of_items(item))).items() if count > 1
        )
        if twice:
            agent, suite, scenario, trial, _ = twice[0]
            more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
            yield f"{item.label}: has {suite}/{scenario} of {agent}, trial {trial}, twice{more}; run that shard again"


def _contradicting(shards: Sequence[ShardFile]) -> Iterator[str]:
    """Yield each file with lines that contradict themselves or each other, with the first of them."""
    for item in shards:
        found = list(contradictions(item.run))
        if found:
            more = f" (and {counted(len(found) - 1, 'more episode')})" if len(found) > 1 else ""
            yield f"{item.label}: {found[0]}{more}: it was changed; fetch it anew"


def _unplanned(shards: Sequence[ShardFile]) -> Iterator[str]:
    """Yield where whole shards have other scenarios than those that were divided, as where one was renamed.

    Where scenarios were never run, for which the closing lines need not say why, that cannot be told.
    """
    plans = {item.run.run["settings"]["plan"]["sha256"] for item in shards}
    planned = shards[0].run.run["settings"]["plan"]["scenarios"]
    if len(plans) > 1 or {item.number for item in shards} != set(range(1, shards[0].of + 1)):
        return
    shard_of = {case: item.number for item in shards for case in (*item.run.skipped, *cases_of(item))}
    if len(shard_of) > planned or (len(shard_of) == planned and {Plan(shard_of, (), None).sha256} != plans):
        names = ", ".join(item.name for item in shards[:MAX_NAMED])
        more = f" and {len(shards) - MAX_NAMED} more" if len(shards) > MAX_NAMED else ""
        yield f"{names}{more}: their scenarios are not those that the plan divided: one was changed; fetch them anew"


def cases_of(item: ShardFile) -> set[Case]:
    """Return the scenarios that a shard has episodes of, those of the user's own tests left out."""
    return {(str(line["suite"]), str(line["scenario"])) for line in _of_items(item)}


def _of_items(item: ShardFile) -> list[Json]:
    return [line for line in item.run.episodes if not line.get("own")]


def _episode(line: Json) -> tuple[str, str, str, int, int]:
    agent, suite, scenario = (str(line[name]) for name in ("agent", "suite", "scenario"))
    return agent, suite, scenario, int(line["trial"]), int(line["attempt"])


def _short(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:40]}…{text[-12:]}"  # noqa: PLR2004 - one line of a terminal
