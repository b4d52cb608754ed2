"""The counts of a run, taken anew from its stored episode lines: for files that are merged or graded again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pytest_supportbench.comparison import paired
from pytest_supportbench.evidence import family, trace
from pytest_supportbench.gists import asked
from pytest_supportbench.no_answer import line_ending
from pytest_supportbench.results import Json, episode_key
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.summary import Row, by_agent, intervals_in_summary, summarise

HYGIENE = frozenset({"unknown_tool", "invalid_arguments"})

_TEST: Final = frozenset({"interval", "level", "p_value", "p_value_holm", "test"})
"""What a comparison of two agents says of chance."""


def stored_row(line: Json, versions: Mapping[str, str]) -> Row:
    """Return the summary row of an episode line; ``versions`` has each suite's by its name.

    A line does not have all that a running session knows: always-escalate's class, what an ablation took away and
    what became of cassettes are left out, and so are the texts that only a terminal shows.
    """
    row = asked(line_row, line)
    row["suite"] = f"{line['suite']} {versions.get(line['suite'], '')}"
    row["trace"] = asked(trace, line)
    return row


def line_row(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line alone says of its summary row; the suite's version and the trace are to be put in."""
    score = line["verdict"] != "error"
    dimensions = line["dimensions"]
    checks = [check for item in dimensions.values() for check in item["checks"]]
    return {
        "key": episode_key(line),
        "suite": line["suite"],
        "scenario": line["scenario"],
        "title": line["title"],
        "family": family(line["scenario"], line["twin"]),
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
        "trace": "",
        **line_ending(line),
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
        counts = summarise(name, rows, intervals=intervals_in_summary(len(by_name))).to_json()
        agents.append({**counts, "without": _added(taken)})
    return {
        "verdicts": [line["verdict"] for line in counting_lines(run)],
        "agents": agents,
        "comparisons": [pair.to_json() for pair in paired(by_name)],
    }


def adds_up(run: RunFile, *, scores: bool = True) -> bool:
    """Tell whether a run's lines are those that its closing line counted; true where there is none.

    All that the closing line states of them is compared, but for intervals and p-values, which follow from the rest
    and would load scipy. Without ``scores`` only the number of lines counts. Raises `KeyError` and the like where a
    line lacks what every line has.
    """
    summary = run.summary
    if summary is None:
        return True
    rows = agents_counted(run)
    if not scores:
        then = [(item["agent"], item["strict_errors_as_failures"][1]) for item in summary["agents"]]
        return sorted(then) == sorted((name, len(found)) for name, found in rows.items())
    names = [item["agent"] for item in summary["agents"]]
    if sorted(names) != sorted(rows):
        return False
    # In the order of the closing line, since lines of agents that fixtures gave may stand in another one.
    rows = {name: rows[name] for name in names}
    counted = [summarise(name, found).to_json() for name, found in rows.items()]
    pairs = [pair.to_json() for pair in paired(rows, tested=False)]
    return (
        _close(
            [_stated(item, then) for item, then in zip(counted, summary["agents"], strict=True)],
            [_stated(item, item) for item in summary["agents"]],
        )
        and _close([_compared(item) for item in pairs], [_compared(item) for item in summary["comparisons"]])
        and _totals_hold(run, summary)
    )


def _stated(agent: Json, then: Json) -> Json:
    """Return what a closing line states of an agent that its lines alone tell, without intervals.

    What the closing line ``then`` does not state, since it is older, is left out.
    """
    trials = agent["reliability"]
    if trials is not None:
        trials = {name: value for name, value in trials.items() if not name.endswith("_interval")}
    told = {name: value for name, value in agent["explanation"].items() if name != "calibrated"}
    untold = {"without"} if "no_answer" in then else {"without", "no_answer"}
    stated = {name: value for name, value in agent.items() if name not in untold}
    return {**stated, "reliability": trials, "explanation": told}


def _compared(pair: Json) -> Json:
    """Return what a closing line states of two agents, without the test; scenarios by id alone."""
    stated = {name: value for name, value in pair.items() if name not in _TEST}
    for name in ("fixed", "broken"):
        stated[name] = [str(case).rpartition("/")[2] for case in pair[name]]
    return stated


def _totals_hold(run: RunFile, summary: Json) -> bool:
    """Tell whether the totals are those of the lines; how often the user's own tests ran a scenario no line tells."""
    verdicts = summary["verdicts"]
    if sum(verdicts.values()) != summary["episodes"]:
        return False
    if not set(summary["unreported"]) <= set(map(episode_key, run.episodes)):
        return False
    if any(line.get("own") for line in run.episodes):
        return True
    found = [line["verdict"] for line in counting_lines(run)]
    return bool(verdicts == {verdict: found.count(verdict) for verdict in ("passed", "failed", "error")})


def _close(one: Any, other: Any) -> bool:
    """Tell whether JSON data is equal, numbers up to what rounding to six digits twice may change."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=0, abs_tol=2e-6)
    return bool(one == other)


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
