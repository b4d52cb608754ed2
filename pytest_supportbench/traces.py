"""Where the episodes of a results file stand in it, so that a report can lead to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from pytest_supportbench.evidence import Case
from pytest_supportbench.gists import asked, gist
from pytest_supportbench.note_rows import counting, note_row
from pytest_supportbench.results import Json, episode_key
from pytest_supportbench.results_file import Kept, RunFile

UNREADABLE: Final = "what went wrong first cannot be read from this line"


@dataclass(frozen=True, slots=True)
class Trace:
    """One episode that counts: its ``line`` in ``file``, from 1, and what went wrong first, ``passed`` if nothing did.

    ``headline`` is in one bounded line, as its author wrote it: it may quote a model.
    """

    file: Path
    line: int
    key: str
    trial: int
    verdict: str
    headline: str

    def to_json(self) -> dict[str, Any]:
        """Return where the episode stands as JSON data."""
        return {
            "file": self.file.as_posix(),
            "line": self.line,
            "key": self.key,
            "trial": self.trial,
            "verdict": self.verdict,
        }


Traces: TypeAlias = Mapping[Case, tuple[Trace, ...]]
"""The counting episodes of each scenario of one agent, by trial."""


def kept_of(agent: str, cases: Collection[Case]) -> Kept:
    """Return what `traces` needs of an episode line: the gist of those of some scenarios of one agent."""

    def kept(line: Json) -> Json | None:
        wanted = line["agent"] == agent and (line["suite"], line["scenario"]) in cases
        return gist(line, (_headline,)) if wanted else None

    return kept


def traces(run: RunFile, agent: str) -> Traces:
    """Return where the episodes of one agent stand that count: the first scored attempt of each declared trial.

    ``run`` was read from a file, and `evidence` took it.
    """
    path = run.path or Path()
    places = {
        (episode_key(line), line["attempt"]): place
        for place, line in zip(run.places, run.episodes, strict=True)
        if not line.get("own")
    }
    found: dict[Case, list[Trace]] = {}
    for line in counting(run).run.episodes:
        if line["agent"] == agent:
            trace = _trace(path, places[episode_key(line), line["attempt"]], line)
            found.setdefault((line["suite"], line["scenario"]), []).append(trace)
    return {case: tuple(trials) for case, trials in found.items()}


def _trace(path: Path, place: int, line: Json) -> Trace:
    return Trace(path, place, episode_key(line), line["trial"], line["verdict"], asked(_headline, line))


def _headline(line: Json) -> str:
    try:
        headline: str = note_row(line, {})["headline"]
    except (KeyError, TypeError, ValueError, AttributeError):
        # It only describes: a file of another version is compared all the same, or refused with its remedy.
        return UNREADABLE
    return headline
