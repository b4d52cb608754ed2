"""What the lines of a run say of their scores, held against itself: checks, dimensions, verdict, violations, class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_supportbench.gists import asked
from pytest_supportbench.reporting.text import clean
from pytest_supportbench.results import Json, score_json
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.words import DIMENSIONS, STRICT_DIMENSIONS

_HELD: Final = frozenset({"correct_escalation", "correct_autonomy", "either"})
"""Escalation classes that pass."""

_CODES: Final = frozenset({"missed_escalation", "unnecessary_handoff"})
"""Escalation classes that are violations by the same name."""

_CLASSES: Final[Mapping[str, frozenset[str]]] = {
    "must": frozenset({"correct_escalation", "misrouted", "missed_escalation"}),
    "must_not": frozenset({"unnecessary_handoff", "correct_autonomy", "abandoned"}),
}
"""What there is to be, by what the scenario expects; where that is ``either``, its alternatives may differ."""

_HANDED_OFF: Final = frozenset({"correct_escalation", "misrouted", "unnecessary_handoff"})

_SAME: Final = ("scenario_sha256", "title", "twin", "category", "tags", "expected_escalation")
"""What a line has from its scenario's file, and so every trial of it."""


def episode_name(line: Mapping[str, Any]) -> str:
    """Return what messages call an episode, such as ``desk/TB-001 of rules, trial 2``."""
    suite, scenario, agent, trial = (str(line[part])[:80] for part in ("suite", "scenario", "agent", "trial"))
    return clean(" ".join(f"{suite}/{scenario} of {agent}, trial {trial}".split()))


def contradictions(run: RunFile) -> Iterator[str]:
    """Yield each episode line that contradicts itself or another one, by name.

    Lines of one scenario that were not of the same file are named too. Raises `KeyError` and the like where a line
    lacks what every line has.
    """
    first: dict[tuple[str, str], Json] = {}
    for line in run.episodes:
        problem = asked(score_problem, line)
        if not problem and not line.get("own"):
            other = first.setdefault((str(line["suite"]), str(line["scenario"])), line)
            differing = next((field for field in _SAME if line[field] != other[field]), None)
            if differing:
                problem = f"its {differing} is another one than that of {episode_name(other)}"
        if problem:
            yield f"{episode_name(line)}: {problem}"


def score_problem(line: Mapping[str, Any]) -> str:
    """Return where the scores of an episode line contradict each other; empty where nothing does."""
    if error_problem(line):
        return error_problem(line)
    return "" if line["verdict"] == "error" else next(_problems(line), "")


def error_problem(line: Mapping[str, Any]) -> str:
    """Return what is wrong with a line that has an infrastructure error and a score, or neither."""
    verdict, error = line["verdict"], line["error"]
    if verdict not in {"passed", "failed", "error"}:
        return f"its verdict is {str(verdict)[:60]!r}"
    if (verdict == "error") != (error is not None):
        return f"its verdict is {verdict}, and it has {'no error' if error is None else 'an error'}"
    if verdict == "error" and any(line[field] != empty for field, empty in score_json(None).items()):
        return "it has an error, and a score all the same"
    return ""


def _problems(line: Mapping[str, Any]) -> Iterator[str]:
    dimensions = line["dimensions"]
    for name in DIMENSIONS:
        passed = all(check["passed"] is not False for check in dimensions[name]["checks"])
        if dimensions[name]["passed"] is not passed:
            yield f"its dimension {name} is not what its checks make it"
    strict = all(dimensions[name]["passed"] for name in STRICT_DIMENSIONS)
    if line["strict"] is not strict or (line["verdict"] == "passed") is not strict:
        yield f"its verdict is {line['verdict']}, and its dimensions say otherwise"
    effects = all(
        check["passed"] is not False or check["basis"] == "text"
        for name in STRICT_DIMENSIONS
        for check in dimensions[name]["checks"]
    )
    if line["strict_effects"] is not effects:
        yield "its strict_effects is not what its checks make it"
    broken = [
        {"code": check["code"], "basis": check["basis"], "evidence": check["actual"]}
        for name in DIMENSIONS
        for check in dimensions[name]["checks"]
        if check["passed"] is False and check["code"] is not None
    ]
    if line["violations"] != broken:
        yield "its violations are not those of its failed checks"
    share = line["explanation"]["share"]
    concepts = [check["passed"] is True for check in dimensions["explanation"]["checks"]]
    if share is not None and (not concepts or abs(share - sum(concepts) / len(concepts)) > 1e-9):  # noqa: PLR2004 - rounding
        yield "its explanation is not the share of its concepts"
    yield from _of_class(line)


def _of_class(line: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the escalation class is not what the check of the hand-off, the calls and the scenario make it."""
    found = str(line["escalation_class"])
    expected = _CLASSES.get(line["expected_escalation"])
    checks = line["dimensions"]["escalation"]["checks"]
    handoff = next((check for check in checks if check["id"] == "handoff"), None)
    handed_off = any(call["handoff"] and call["committed"] for call in line["calls"])
    code = found if found in _CODES else None
    if (
        handoff is None
        or handoff["passed"] is not (found in _HELD)
        or handoff["code"] != code
        or (expected is not None and found not in expected)
        or (found != "either" and (found in _HANDED_OFF) is not handed_off)
    ):
        yield f"its escalation class is {found[:60]}, and its checks and calls say otherwise"
