"""One agent's part of a cassette: a folder with a file a scenario, played reply by reply."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.cassette_agent import AGENT_FILE, StoredAgent, read_agent, stored_agent
from pytest_supportbench.cassette_changes import changes_in_words
from pytest_supportbench.cassette_file import (
    REMEDY,
    StoredCall,
    StoredReply,
    StoredTrial,
    Tape,
    change,
    file_name,
    read,
)
from pytest_supportbench.cassette_key import as_seen, label, opening, said
from pytest_supportbench.errors import InfrastructureError, ReplayedFailure, UsageError
from pytest_supportbench.protocol import Observation, Reply, Step, ToolEntry

if TYPE_CHECKING:
    from pytest_supportbench.agents.base import Case, EpisodeTools
    from pytest_supportbench.agents.spec import AgentSpec

DIGEST_CHARS: Final = 19
"""So much of a digest tells two apart; files and results have it whole."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Miss:
    """Why there is no stored reply to play.

    ``changed`` tells that there is one, and that the agent saw something else then, or was another; ``stale`` that it
    was another.
    """

    why: str
    changed: bool = False
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """What became of a scenario's file in one episode, for the summary.

    ``known`` are the entries that the file had when it was opened, ``used`` those that were played or replaced, each
    as ``trial.turn``. ``why`` says what had changed where the agent was asked anew.
    """

    file: str
    known: tuple[str, ...] = ()
    used: frozenset[str] = field(default_factory=frozenset)
    played: int = 0
    recorded: int = 0
    why: str = ""

    def to_json(self) -> Json:
        """Return the note as plain JSON data, as it travels with a report."""
        return {
            "file": self.file,
            "known": list(self.known),
            "used": sorted(self.used),
            "played": self.played,
            "recorded": self.recorded,
            "why": self.why,
        }


class Tapes:
    """The folder of one agent. Safe for several threads and processes, which may record the same scenario."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._notes: dict[tuple[str, str, int], Note] = {}
        self._described = False

    def path(self, suite: str, scenario: str) -> Path:
        """Return where a scenario's replies are."""
        return self.folder / file_name(suite) / f"{file_name(scenario, any_case=True)}.json"

    def read(self, suite: str, scenario: str) -> Tape | None:
        """Return a scenario's tape, ``None`` where there is none. Raises `UsageError` where it is damaged."""
        path = self.path(suite, scenario)
        tape = read(path, Tape)
        if tape is not None and (tape.suite, tape.scenario) != (suite, scenario):
            msg = (
                f"{path}: this file holds the replies to {tape.suite}/{tape.scenario}, not to {suite}/{scenario}; "
                "give it its own name back, or rename one of two that only capitals tell apart"
            )
            raise UsageError(msg)
        return tape

    def agent(self) -> StoredAgent | None:
        """Return who was recorded here, ``None`` where nobody was. Raises `UsageError` where the file is damaged."""
        return read_agent(self.folder)

    def describe(self, spec: AgentSpec, fingerprint: Callable[[], Mapping[str, Any]]) -> None:
        """Write down whose replies these are, once a session. Raises `OSError` where it cannot be written."""
        with self._lock:
            if self._described:
                return
            self._described = True
        change(self.folder / AGENT_FILE, lambda: stored_agent(spec, fingerprint()))

    def store(
        self, case: Case, opened: Json, replies: tuple[StoredReply, ...], digests: Mapping[str, str]
    ) -> None:
        """Replace one trial, beside what others store. Raises `OSError` or `UsageError` where it cannot be done."""
        trial = StoredTrial(opening=label(opened), digests=dict(digests), replies=replies)

        def changed() -> Json:
            tape = self.read(case.suite, case.scenario)
            if tape is None:
                tape = Tape(suite=case.suite, scenario=case.scenario, openings={}, trials={})
            return tape.with_trial(case.trial, trial, opened).to_json()

        change(self.path(case.suite, case.scenario), changed)

    def note(self, case: Case, note: Note) -> None:
        """Keep what became of an episode."""
        with self._lock:
            self._notes[case.suite, case.scenario, case.trial] = note

    def noted(self, suite: str, scenario: str, trial: int) -> Note | None:
        """Return what became of an episode, ``None`` where this process ran none."""
        with self._lock:
            return self._notes.get((suite, scenario, trial))


class Playback:
    """One episode from a cassette: the reply to each observation, or what stands against playing it.

    ``now`` has the digests that the agent has today, as far as they are known. After a miss nothing more is found,
    since what follows was an answer to something else. ``why`` is what an earlier attempt at the episode found to have
    changed. Raises `UsageError` where the file is damaged.
    """

    def __init__(self, tapes: Tapes, case: Case, now: Mapping[str, str], why: str = "") -> None:
        self._tapes = tapes
        self._case = case
        self._now = now
        self._tape = tapes.read(case.suite, case.scenario)
        self._trial = self._tape.trials.get(str(case.trial)) if self._tape else None
        self.digests = {**(self._trial.digests if self._trial else {}), **now}
        self._seen = 0
        self.turn = 0
        self.note = Note(
            "/".join(tapes.path(case.suite, case.scenario).parts[-3:]),
            known=tuple(
                f"{number}.{turn}"
                for number, trial in (self._tape.trials.items() if self._tape else ())
                for turn in range(1, len(trial.replies) + 1)
            ),
            why=why,
        )
        self._tell()

    def _tell(self) -> None:
        self._tapes.note(self._case, self.note)

    def next(self, observation: Observation) -> StoredReply | Miss:
        """Return the stored reply to the next observation of the episode."""
        self.turn += 1
        with self._usable():
            found = self._find(observation)
        self._seen = len(observation.transcript)
        if isinstance(found, Miss):
            self._trial = None
            self.note = replace(self.note, why=found.why if found.changed else self.note.why)
            self._tell()
        return found

    def _find(self, observation: Observation) -> StoredReply | Miss:
        if self._trial is None or self._tape is None:
            return Miss(self._never())
        if self.turn == 1:
            for name, before in self._trial.digests.items():
                today = self._now.get(name, before)
                if today != before:
                    why = f"{name} was {_short(before)} when it was recorded and is {_short(today)} now"
                    return Miss(why, changed=True, stale=True)
        if self.turn > len(self._trial.replies):
            return Miss(f"the recording of trial {self._case.trial} ends before turn {self.turn}")
        reply = self._trial.replies[self.turn - 1]
        gained = [said(entry) for entry in observation.transcript[self._seen :]]
        then = {**self._tape.openings[self._trial.opening], "turns_left": reply.turns_left}
        now = {**opening(observation), "turns_left": observation.turns_left}
        if as_seen(then) != as_seen(now):
            where = "" if self.turn == 1 else f"at turn {self.turn}, "
            return Miss(f"{where}{changes_in_words(then, now)}", changed=True)
        if as_seen(list(reply.seen)) != as_seen(gained):
            words = changes_in_words({"transcript": list(reply.seen)}, {"transcript": gained})
            return Miss(f"since turn {self.turn - 1}, {words}", changed=True)
        return reply

    def _never(self) -> str:
        case = self._case
        if self._tape is None:
            return f"{case.suite}/{case.scenario} was never recorded; there is no {self.note.file}"
        trials = ", ".join(self._tape.trials)
        return (
            f"trial {case.trial} of {case.scenario} was never recorded; {self.note.file} has trial {trials}"
        )

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Whatever goes wrong with what is stored says nothing about the agent."""
        try:
            yield
        except Exception as error:
            what = f"{self.note.file} cannot be played: {type(error).__name__}: {error}"[:500]
            raise InfrastructureError("cassette_unusable", what, REMEDY) from error

    def play(self, reply: StoredReply, tools: EpisodeTools) -> Reply | Miss:
        """Return a stored reply, its tool calls made again; a `Miss` where a tool answers otherwise than then.

        Raises `ReplayedFailure` where it was a failure of the agent.
        """
        with self._usable():
            words = _other_answer(reply, tools)
        if words is not None:
            self._trial = None
            self.note = replace(self.note, why=f"a tool answered otherwise: {words}")
            self._tell()
            return Miss(self.note.why, changed=True)
        used = self.note.used | {f"{self._case.trial}.{self.turn}"}
        self.note = replace(self.note, used=used, played=self.note.played + 1)
        self._tell()
        if reply.failed is not None:
            raise ReplayedFailure(reply.failed)
        step = _step(reply.step, reply.draft)
        return Reply(turn=reply.turn or reply.invalid, usage=reply.usage, replayed=True, step=step)

    def recorded(self) -> None:
        """Note that the reply to the last observation was stored, in the place of it and all that came after."""
        trial = str(self._case.trial)
        replaced = {
            entry
            for entry in self.note.known
            if entry.split(".")[0] == trial and int(entry.split(".")[1]) >= self.turn
        }
        used = self.note.used | replaced | {f"{trial}.{self.turn}"}
        self.note = replace(self.note, used=used, recorded=self.note.recorded + 1)
        self._tell()


def _other_answer(reply: StoredReply, tools: EpisodeTools) -> str | None:
    """Make the calls of a reply again; return in words what a tool answered otherwise, ``None`` where none did."""
    for call in reply.calls:
        then = call.model_dump(mode="json", include=set(ToolEntry.model_fields))
        now = _made_again(call, tools).model_dump(mode="json")
        if as_seen(then) != as_seen(now):
            return changes_in_words({call.tool: then}, {call.tool: now})
    return None


def _made_again(call: StoredCall, tools: EpisodeTools) -> ToolEntry:
    """Make a stored call again; one whose arguments could not be read was stored without any, and is refused again."""
    step = _step(call.step, call.draft)
    if not call.arguments and call.error is not None and call.error.code == "invalid_arguments":
        return tools.refuse(call.tool, call.error.message, step)
    return tools.call(call.tool, call.arguments, step)


def _step(number: int | None, draft: str) -> Step | None:
    return None if number is None else Step(number=number, draft=draft)


def _short(digest: str) -> str:
    return digest if len(digest) <= DIGEST_CHARS else f"{digest[:DIGEST_CHARS]}…"


def miss_error(miss: Miss, hint: str = "") -> InfrastructureError:
    """Return why an episode cannot go on from a cassette alone; ``hint`` says more of the agent."""
    if miss.stale:
        remedy = "ask it anew with --supportbench-record=auto, or bring back the one that was recorded"
        return InfrastructureError("cassette_stale", f"the agent is another one: {miss.why}", remedy)
    what = "the agent sees something else than when it was recorded: " if miss.changed else ""
    remedy = "record it with --supportbench-record=auto, or everything anew with all"
    return InfrastructureError("cassette_miss", f"{what}{miss.why}{hint}", remedy)
