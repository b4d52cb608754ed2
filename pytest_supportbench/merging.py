"""Makes one run of its shards, and says what keeps them from being one: gaps, overlaps, mixed settings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_supportbench.comparable import MAX_NAMED
from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import UNSHARED, evidence
from pytest_supportbench.recount import adds_up, recounted, status_of
from pytest_supportbench.results import Json, episode_key
from pytest_supportbench.results_copy import damaged
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.shard_clashes import Case, ShardFile, cases_of, clashes

_STATUSES: Final = (1, 4, 10, 0)
"""Exit statuses of pytest, the one that wins first."""


@dataclass(frozen=True, slots=True)
class Merged:
    """One run of several shards; ``lines`` are its run line and its episode lines.

    ``clashes`` say what cannot be in one run at all, ``gaps`` what is missing of it, ``notes`` what is worth a look.
    With any clash there is nothing to write. ``closing`` has the arguments of the closing line, which only a run
    without gaps gets. ``fresh`` counts the episode lines that are a gate's fresh trials of new failures.
    """

    lines: tuple[Json, ...]
    closing: Json
    clashes: tuple[str, ...]
    gaps: tuple[str, ...]
    notes: tuple[str, ...] = ()
    fresh: int = 0


def merge(files: Sequence[ShardFile]) -> Merged:
    """Return the run that shards make together; their order is no matter.

    Raises `UsageError` where a file lacks what every results file has.
    """
    shards = sorted(files, key=lambda item: (item.number, str(item.run.run.get("run")), item.name))
    for item in shards:
        _probe(item)
    found = clashes(shards)
    gaps = tuple(_gaps(shards))
    if found:
        return Merged((), {}, found, gaps)
    for item in shards:
        evidence(item.run, item.name)
    head = _head(shards)
    order = {str(agent["id"]): place for place, agent in enumerate(head["agents"])}
    episodes = sorted(
        (line for item in shards for line in item.run.episodes), key=lambda line: _place(line, order)
    )
    run = RunFile(head, tuple(episodes), None)
    lines = (head, *(episodes if gaps else map(_unmarked, episodes)))
    trials = int(head["settings"]["trials"])
    fresh = sum(int(line["trial"]) > trials and not line.get("own") for line in episodes)
    return Merged(lines, {} if gaps else _closing(run, shards), (), gaps, tuple(_notes(shards)), fresh)


def _probe(item: ShardFile) -> None:
    """Raise `UsageError` where a file lacks anything that merging reads, so that the message names the file."""
    try:
        clashes((item, item))
        list(_gaps((item,)))
        list(_notes((item,)))
        _head((item,))
        sorted(_place(line, {}) for line in item.run.episodes)
        if item.run.summary is not None:
            _closing(item.run, (item,))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise damaged(item.name, error) from error


def _place(line: Json, order: Mapping[str, int]) -> tuple[Any, ...]:
    agent = str(line["agent"])
    case = (str(line["suite"]), str(line["scenario"]))
    return (
        order.get(agent, len(order)),
        agent,
        *case,
        int(line["trial"]),
        int(line["attempt"]),
        bool(line.get("own")),
    )


def _unmarked(line: Json) -> Json:
    """Return an episode line without the mark that reading adds; the closing line has it."""
    return {name: value for name, value in line.items() if name != "unreported"}


def _gaps(shards: Sequence[ShardFile]) -> Iterator[str]:
    """Yield what is missing: a shard, the end of one, or lines that its counts speak of."""
    of = shards[0].of
    if absent := sorted(set(range(1, of + 1)) - {item.number for item in shards}):
        names = ", ".join(f"{number}/{of}" for number in absent[:MAX_NAMED])
        more = f" and {len(absent) - MAX_NAMED} more" if len(absent) > MAX_NAMED else ""
        one = len(absent) == 1
        missing = f"shard {names} is missing" if one else f"shards {names}{more} are missing"
        yield f"{missing}; run {'it' if one else 'them'}, and give {'its file' if one else 'their files'} too"
    for item in shards:
        summary = item.run.summary
        if summary is None:
            yield f"{item.label}: has no end: it was killed, or is still under way; run it again"
        elif summary["stopped_early"]:
            yield f"{item.label}: was stopped before its end; run it again"
        elif summary["exit_status"] == 4:  # noqa: PLR2004 - wrong usage, as everywhere
            yield f"{item.label}: wrong usage kept scenarios from running (exit status 4); mend it and run it again"
        elif not adds_up(item.run):
            yield f"{item.label}: its episodes do not add up to its summary: it was cut or changed; fetch it anew"


def _notes(shards: Sequence[ShardFile]) -> Iterator[str]:
    planned = shards[0].run.run["settings"]["plan"]["scenarios"]
    there = len(set[Case]().union(*map(cases_of, shards)))
    if there < planned and len(shards) == shards[0].of:
        missing = counted(planned - there, "scenario")
        yield f"{missing} of {planned} have no episode: they were skipped, or could not be set up"


def _head(shards: Sequence[ShardFile]) -> Json:
    """Return the run line of the whole: its id is made of those of its shards, so that merging again gives it again."""
    runs = [item.run.run for item in shards]
    ids = [str(run["run"]) for run in runs]
    started = min(runs, key=lambda run: str(run["started"]))
    number = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:6]
    agents: dict[str, Json] = {}
    for run in runs:
        for agent in run["agents"]:
            known = agents.setdefault(str(agent["id"]), agent)
            agents[str(agent["id"])] = _common(known, agent)
    return {
        **runs[0],
        "run": f"{str(started['run']).partition('-')[0]}-merged-{number}",
        "started": started["started"],
        "agents": list(agents.values()),
        "customer": None if runs[0]["customer"] is None else _shared_by([run["customer"] for run in runs]),
        **{name: ", ".join(sorted({str(run[name]) for run in runs})) for name in ("python", "platform")},
        "git_commit": next((run["git_commit"] for run in runs if run["git_commit"]), None),
        "settings": {**runs[0]["settings"], "shard": None, "plan": None},
        "merged_from": ids,
    }


def _shared_by(fingerprints: Sequence[Json]) -> Json:
    found = fingerprints[0]
    for other in fingerprints[1:]:
        found = _common(found, other)
    return found


def _common(one: Json, other: Json) -> Json:
    """Return a fingerprint without what differs between machines although the agent is the same."""
    return {name: value for name, value in one.items() if name not in UNSHARED or other.get(name) == value}


def _closing(run: RunFile, shards: Sequence[ShardFile]) -> Json:
    """Return the arguments of the closing line; what lines do not tell is added up from those of the shards."""
    summaries = [item.run.summary for item in shards if item.run.summary is not None]
    counts = recounted(run, summaries)
    found = {summary["exit_status"] for summary in summaries}
    gated = any(summary.get("gate") for summary in summaries)  # of a part, which says nothing of the whole
    status = next(
        (status for status in _STATUSES if status in found and not gated), status_of(counts["verdicts"])
    )
    unreported = {key for summary in summaries for key in summary["unreported"]}
    reported = {episode_key(line) for line in run.episodes} - unreported
    return {
        **counts,
        "run_id": run.run["run"],
        "reported": reported,
        "exit_status": status,
        "stopped_early": False,
        "skipped": {name for summary in summaries for name in summary.get("skipped", ())},
        "budget": _budget([summary["budget"] for summary in summaries], counts["agents"]),
        "cassettes": _cassettes([item for summary in summaries for item in summary["cassettes"]]),
    }


def _budget(budgets: Sequence[Json | None], agents: Sequence[Json]) -> Json | None:
    """Return the account of all shards together, each of which had a budget of its own."""
    known = [budget for budget in budgets if budget is not None]
    if not known:
        return None
    return {
        "max_tokens": sum(budget["max_tokens"] for budget in known),
        "spent_tokens": sum(budget["spent_tokens"] for budget in known),
        "used_up": any(budget["used_up"] for budget in known),
        "agents_without_tokens": [
            item["agent"] for item in agents if not item["usage"]["episodes_with_tokens"]
        ],
    }


def _cassettes(found: Sequence[Json]) -> list[Json]:
    folders: dict[str, Json] = {}
    for item in found:
        known = folders.get(item["folder"])
        if known is None:
            folders[item["folder"]] = dict(item)
            continue
        for name in ("played", "recorded", "asked_anew", "unused"):
            known[name] = known[name] + item[name]
    return list(folders.values())
