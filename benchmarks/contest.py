"""Contestants in alternation: A B C A B C, so that a busy minute of the machine meets all of them alike."""

from __future__ import annotations

import shlex
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.child import Run, run, surroundings


@dataclass(frozen=True, slots=True)
class Contestant:
    """A command to measure in a folder. A run counts if it ends as expected and its output has the ``proof``.

    ``after`` takes one more figure from what a run left behind.
    """

    name: str
    command: tuple[str, ...]
    folder: Path
    proof: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], None] | None = None
    after: Callable[[Run], float] | None = None
    status: int = 0


@dataclass(slots=True)
class Heats:
    """The runs of each contestant, one a round, and why one left the contest."""

    runs: dict[str, list[Run]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)

    def seconds(self, name: str) -> list[float]:
        """Return the wall seconds of each round."""
        return [done.seconds for done in self.runs.get(name, [])]

    def peaks(self, name: str) -> list[float]:
        """Return the peak megabytes of each round."""
        return [done.peak_mb for done in self.runs.get(name, [])]

    def extras(self, name: str) -> list[float]:
        """Return the one more figure of each round."""
        return [done.extra for done in self.runs.get(name, [])]


def attempt(contestant: Contestant) -> Run | str:
    """Run a contestant once; return what was measured, or why that does not count."""
    if contestant.before is not None:
        contestant.before()
    try:
        done = run(contestant.command, contestant.folder, surroundings(**contestant.environment))
    except OSError as error:
        return f"{contestant.command[0]}: {error.strerror}"
    if done.status != contestant.status:
        return f"exit status {done.status}: {done.last_line()}"
    if contestant.proof not in done.tail:
        return f"{contestant.proof!r} is not in its output, which ends: {done.last_line()}"
    return done if contestant.after is None else replace(done, extra=contestant.after(done))


def contest(contestants: Sequence[Contestant], rounds: int) -> Heats:
    """Run all contestants in each of so many rounds; who fails once is left out from then on."""
    heats = Heats(commands={each.name: shlex.join(each.command) for each in contestants})
    for number in range(1, rounds + 1):
        for each in contestants:
            if each.name in heats.failures:
                continue
            found = attempt(each)
            if isinstance(found, str):
                heats.failures[each.name] = found
                heats.runs.pop(each.name, None)
                say(f"{each.name}: {found}")
            else:
                heats.runs.setdefault(each.name, []).append(found)
                say(f"round {number}: {each.name} {found.seconds:.2f} s, {found.peak_mb:.0f} MB")
    return heats


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return the ratio within each round."""
    return [ours / theirs for ours, theirs in zip(ours, theirs, strict=False) if theirs]


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def say(text: str) -> None:
    """Tell on stderr what goes on."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a long program tells where it is
