"""The episodes that a result note counts, read back from a results file, with what each permitted and what was done.

A line of the file is all that is needed: no scenario is looked up, so that a note is of its file and of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_supportbench.attempts import counting_attempts
from pytest_supportbench.calls import CallRecord
from pytest_supportbench.describe import headline, observed_path
from pytest_supportbench.protocol import ToolFailure, Turn
from pytest_supportbench.records import Episode, EpisodeError, TurnRecord
from pytest_supportbench.recount import stored_row
from pytest_supportbench.results import Json, Result
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.scoring import Check, Score
from pytest_supportbench.scoring.model import DimensionScore
from pytest_supportbench.summary import Row
from pytest_supportbench.words import STRICT_DIMENSIONS

if TYPE_CHECKING:
    from pytest_supportbench.loading import BoundScenario

MAX_FIELD: Final = 400
"""How many characters of a permitted path, an observed one or an outcome a note shows."""

_IN_WORDS: Final = frozenset({"mention", "text"})
"""Facts that may be worded in many ways: their wordings are no value to show."""


@dataclass(frozen=True, slots=True)
class Counting:
    """A run with the episodes that count, and how many others the file has.

    ``reruns`` are further attempts at a trial, of which the first scored one counts; ``fresh`` further trials that a
    gate asked for; ``unreported`` episodes that pytest never got to; ``own`` those of the user's own tests.
    """

    run: RunFile
    reruns: int
    fresh: int
    unreported: int
    own: int


def counting(run: RunFile) -> Counting:
    """Return the episodes that count, sorted by agent, suite, scenario and trial: one for each declared trial.

    A trial that was run again counts by its first attempt that was scored, so that no rerun turns a failure into a
    pass; `evidence` counts the same ones.
    """
    trials = int(run.run["settings"]["trials"])
    left = [line for line in run.episodes if not line.get("own")]
    reported = [line for line in left if not line.get("unreported")]
    declared = [line for line in reported if int(line["trial"]) <= trials]
    chosen = counting_attempts(declared)
    return Counting(
        run=RunFile(run.run, tuple(chosen), run.summary),
        reruns=len(declared) - len(chosen),
        fresh=len(reported) - len(declared),
        unreported=len(left) - len(reported),
        own=len(run.episodes) - len(left),
    )


def note_row(line: Json, versions: Mapping[str, str]) -> Row:
    """Return the summary row of an episode line, with the texts that a running session knows."""
    episode = _episode(line)
    result = _result(line, episode)
    return {
        **stored_row(line, versions),
        "permitted": permitted(line),
        "observed": _short(observed_path(episode, result.score)),
        "headline": _short(headline(result)),
    }


def permitted(line: Mapping[str, Any]) -> str:
    """Return the expected outcome with its required calls and facts, as the checks of the episode name them.

    Of several alternatives it is the one that came closest, by which the episode was judged. Empty for an episode
    that was not scored.
    """
    if not line["dimensions"]:
        return ""
    checks = [check for name in ("resolution", "tool_use") for check in line["dimensions"][name]["checks"]]
    actions = [str(check["expected"]) for check in checks if check["id"] == "action"]
    calls = [str(check["expected"]) for check in checks if str(check["id"]).startswith("call:")]
    facts = [_fact(check) for check in checks if str(check["id"]).startswith("fact:")]
    path = ": ".join(part for part in (" or ".join(actions), ", then ".join(calls)) if part)
    return _short("; ".join(part for part in (path, f"telling {', '.join(facts)}" if facts else "") if part))


def _fact(check: Mapping[str, Any]) -> str:
    name = str(check["id"]).partition(":")[2].replace("-", " ")
    kind, _, value = str(check["expected"]).partition(" ")
    if kind == "language":
        return f"language {value}"
    return name if kind in _IN_WORDS else f"{name} {value}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_FIELD else f"{text[: MAX_FIELD - 1]}…"


def _episode(line: Json) -> Episode:
    """Return what a line tells of its episode; what its calls returned and changed is not looked at here."""
    error = line["error"]
    return Episode(
        scenario_id=line["scenario"],
        turns=tuple(_turn(number, turn) for number, turn in enumerate(line["turns"], 1)),
        calls=tuple(_call(number, call) for number, call in enumerate(line["calls"], 1)),
        changes=(),
        faults=(),
        ending=line["ending"],
        action=line["action"],
        error=None if error is None else EpisodeError(error["cause"], error["message"], error["remedy"]),
        failure=line["failure"],
    )


def _turn(number: int, stored: Json) -> TurnRecord:
    invalid = stored["invalid_reply"]
    if invalid is not None:
        return TurnRecord(number, None, invalid=str(invalid["reason"]))
    return TurnRecord(
        number,
        Turn(action=stored["action"], message=stored["message"], asks_for=tuple(stored["asks_for"])),
        delivered=stored["delivered"],
        customer_reply=stored["customer_reply"],
    )


def _call(number: int, stored: Json) -> CallRecord:
    error = stored["error"]
    return CallRecord(
        number=number,
        turn=stored["turn"],
        tool=stored["tool"],
        arguments=stored["arguments"],
        status=stored["status"],
        error=None if error is None else ToolFailure.model_validate(error),
        fault=stored["fault"],
        effect=stored["effect"],
        committed=stored["committed"],
        handoff=stored["handoff"],
    )


def _result(line: Json, episode: Episode) -> Result:
    nobody = cast("BoundScenario", None)  # what went wrong first is told by score and episode alone
    return Result(nobody, line["agent"], line["trial"], episode, _score(line))


def _score(line: Json) -> Score | None:
    if line["verdict"] == "error":
        return None
    dimensions = {
        name: DimensionScore(name, tuple(_checks(line["dimensions"][name]["checks"])))
        for name in STRICT_DIMENSIONS
    }
    return Score(dimensions, line["escalation_class"], ())


def _checks(stored: Sequence[Json]) -> Iterator[Check]:
    for check in stored:
        yield Check(**{name: check[name] for name in Check._fields})
