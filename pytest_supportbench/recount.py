"""The counts of a run, taken anew from its stored episode lines: for files that are merged or graded again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_supportbench.comparison import paired
from pytest_supportbench.results import Json, episode_key
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.summary import Row, by_agent, summarise

HYGIENE = frozenset({"unknown_tool", "invalid_arguments"})


def stored_row(line: Mapping[str, Any], versions: Mapping[str, str]) -> Row:
    """Return the summary row of an episode line; ``versions`` has each suite's by its name.

    A line does not have all that a running session knows: always-escalate's class, what an ablation took away and
    what became of cassettes are left out, and so are the texts that only a terminal shows.
    """
    score = line["verdict"] != "error"
    dimensions = line["dimensions"]
    checks = [check for item in dimensions.values() for check in item["checks"]]
    return {
        "key": episode_key(line),
        "suite": f"{line['suite']} {versions.get(line['suite'], '')}",
        "scenario": line["scenario"],
        "title": line["title"],
        "category": line["category"],
        "tags": line["tags"],
        "agent": line["agent"],
        "trial": line["trial"],
        "verdict": line["verdict"],
        "dimensions": {name: item["passed"] for name, item in dimensions.items()},
        "strict_effects": line["strict_effects"],
        "expected_escalation": line["expected_escalation"],
        "escalation_class": line["escalation_class"],
        "constant_class": None,
        "violations": [[item["code"], item["basis"]] for item in line["violations"]],
        "explanation": line["explanation"]["share"] if score else None,
        "not_assessed": sum(check["passed"] is None for check in checks),
        "hygiene": sum((call["error"] or {}).get("code") in HYGIENE for call in line["calls"])
        + sum(turn["invalid_reply"] is not None for turn in line["turns"]),
        "error": line["error"],
        "seconds": line["timing"]["seconds"],
        "usage": line["usage"],
        "replayed": line["replayed"],
        "customer_simulated": line["customer_simulated"],
    }


def counting_lines(run: RunFile) -> list[Json]:
    """Return the lines that a run's counts are of: the last attempt of each episode that pytest reported.

    Fresh trials of a gate are no part of the run, and episodes of the user's own tests are told apart by ``own``.
    """
    trials = int(run.run["settings"]["trials"])
    last: dict[tuple[bool, str], Json] = {}
    for line in run.episodes:
        own = bool(line.get("own"))
        if line.get("unreported") or (int(line["trial"]) > trials and not own):
            continue
        known = last.get((own, episode_key(line)))
        if known is None or int(line["attempt"]) >= int(known["attempt"]):
            last[own, episode_key(line)] = line
    return list(last.values())


def agents_counted(run: RunFile) -> dict[str, list[Row]]:
    """Return the rows of a run's scenario items by agent, in the order of the run line."""
    versions: dict[str, str] = {}
    for suite in run.run["suites"]:
        versions.setdefault(suite["name"], suite["version"])
    rows = [stored_row(line, versions) for line in counting_lines(run) if not line.get("own")]
    found = by_agent(rows)
    order = dict.fromkeys((*(str(agent["id"]) for agent in run.run["agents"]), *found))
    return {name: found[name] for name in order if name in found}


def recounted(run: RunFile, summaries: Sequence[Json]) -> Json:
    """Return the parts of a closing line that the lines of a run alone tell.

    ``summaries`` are the closing lines that were written before; from them come the counts of what ablations took
    away, added up.
    """
    by_name = agents_counted(run)
    agents = []
    for name, rows in by_name.items():
        before = [item for summary in summaries for item in summary["agents"] if item["agent"] == name]
        taken = [item["without"] for item in before]
        agents.append({**summarise(name, rows).to_json(), "without": _added(taken)})
    return {
        "verdicts": [line["verdict"] for line in counting_lines(run)],
        "agents": agents,
        "comparisons": [pair.to_json() for pair in paired(by_name)],
    }


def _added(shares: Iterable[Mapping[str, Sequence[int]]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for item in shares:
        for part, (taken, whole) in item.items():
            before = found.get(part, [0, 0])
            found[part] = [before[0] + taken, before[1] + whole]
    return dict(sorted(found.items()))


def status_of(verdicts: Iterable[str]) -> int:
    """Return pytest's exit status for a run with these verdicts: 1 for a failure, else 10 for an error, else 0."""
    found = set(verdicts)
    return 1 if "failed" in found else 10 if "error" in found else 0
