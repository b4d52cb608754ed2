"""Stores what agents reply, and plays what is stored already: the recorder between an episode and its agent."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_supportbench.cassette import Miss, Playback, Tapes
from pytest_supportbench.cassette_file import StoredCall, StoredReply
from pytest_supportbench.cassette_folders import Folders
from pytest_supportbench.cassette_key import digests, opening, said
from pytest_supportbench.conversation import excerpt, refuse_unknown_action
from pytest_supportbench.episode import failure_text
from pytest_supportbench.errors import START_AGAIN, InfrastructureError, SupportBenchError, ToolsetError
from pytest_supportbench.protocol import Observation, Reply, Step, Turn, Unreadable, Usage
from pytest_supportbench.replies import InvalidReply, parse_turn

if TYPE_CHECKING:
    from pytest_supportbench.agents.base import Case, LiveAgent
    from pytest_supportbench.agents.spec import AgentSpec


class CassetteRecorder:
    """Plays what is there and asks for the rest (``auto``), or asks for everything anew (``all``).

    ``agents`` are the configured ones; others get a folder when they are first asked.
    """

    def __init__(self, root: Path, mode: Literal["auto", "all"], agents: Mapping[str, AgentSpec]) -> None:
        self.mode = mode
        self._folders = Folders(root, agents)
        self._tapes: dict[tuple[str, AgentSpec], Tapes] = {}
        self._again: dict[tuple[Path, str, str, int], tuple[int, str]] = {}
        self._lock = threading.Lock()

    def tapes(self, name: str, spec: AgentSpec) -> Tapes:
        """Return the folder of an agent."""
        with self._lock:
            if (name, spec) not in self._tapes:
                self._tapes[name, spec] = Tapes(self._folders.of(name, spec))
            return self._tapes[name, spec]

    def wrap(self, case: Case, name: str, agent: LiveAgent, ask: Any) -> Any:
        """Return what plays or asks and stores; a coroutine function where the agent is asynchronous.

        Raises `UsageError` where the scenario's file is damaged.
        """
        tapes = self.tapes(name, agent.spec)
        key = (tapes.folder, case.suite, case.scenario, case.trial)
        ask_from, why = (1, "") if self.mode == "all" else self._again.get(key, (0, ""))
        episode = _Episode(tapes, case, agent, ask_from, why)

        def played(observation: Observation) -> Reply | None:
            reply = episode.played(observation)
            if isinstance(reply, Miss):
                # The calls that were made cannot be taken back: the episode starts anew, and asks from this turn on.
                self._again[key] = episode.turn, reply.why
                raise InfrastructureError(START_AGAIN, reply.why)
            return reply

        def reply(observation: Observation) -> Any:
            stored = played(observation)
            if stored is not None:
                return stored
            with episode.asking(observation):
                raw = ask(observation)
            return episode.taken(observation, raw)

        async def reply_async(observation: Observation) -> Any:
            stored = played(observation)
            if stored is not None:
                return stored
            with episode.asking(observation):
                raw = await ask(observation)
            return episode.taken(observation, raw)

        return reply_async if agent.is_async else reply


class _Episode:
    """One episode on its way into a cassette: what was played so far, and what was asked.

    From turn ``ask_from`` on nothing is played; 0 plays as long as there is something.
    """

    def __init__(self, tapes: Tapes, case: Case, agent: LiveAgent, ask_from: int, why: str) -> None:
        self._tapes = tapes
        self._case = case
        self._agent = agent
        self._ask_from = ask_from
        self._playback = Playback(tapes, case, digests(agent.fingerprint()), why)
        self._replies: list[StoredReply] = []
        self._asks = False
        self._seen = 0
        self._gained: tuple[dict[str, Any], ...] = ()
        self._made = 0

    @property
    def turn(self) -> int:
        """The number of the turn at hand, from 1."""
        return self._playback.turn

    def played(self, observation: Observation) -> Reply | Miss | None:
        """Return the stored reply, ``None`` where the agent must be asked, a `Miss` where the episode went astray.

        Raises `ReplayedFailure` where the stored reply is a failure of the agent.
        """
        self._gained = tuple(said(entry) for entry in observation.transcript[self._seen :])
        self._seen = len(observation.transcript)
        found = self._playback.next(observation)
        self._asks = self._asks or isinstance(found, Miss) or 0 < self._ask_from <= self.turn
        if self._asks or isinstance(found, Miss):
            return None
        self._replies.append(found)
        self._made = len(self._case.tools.made) + len(found.calls)
        return self._playback.play(found, self._case.tools)

    @contextmanager
    def asking(self, observation: Observation) -> Iterator[None]:
        """Store the agent's own failure where asking raises one; what says nothing about it is not stored."""
        try:
            yield
        except (InfrastructureError, ToolsetError):
            raise
        except (Exception, SystemExit) as error:
            self._store(observation, failed=failure_text(error))
            raise

    def taken(self, observation: Observation, raw: Any) -> Reply:
        """Store a reply as the episode will take it, and return it so."""
        usage, step = (raw.usage, raw.step) if isinstance(raw, Reply) else (None, None)
        raw = raw.turn if isinstance(raw, Reply) else raw
        try:
            turn = parse_turn(raw)
            refuse_unknown_action(turn.action, [action.name for action in observation.actions])
            if step and step.draft:
                parse_turn({"message": step.draft})
        except InvalidReply as error:
            invalid = Unreadable(reason=str(error), excerpt=excerpt(raw))
            self._store(observation, invalid=invalid, usage=usage)
            return Reply(turn=invalid, usage=usage)
        self._store(observation, turn=turn, usage=usage, step=step)
        return Reply(turn=turn, usage=usage, step=step)

    def _store(
        self,
        observation: Observation,
        *,
        turn: Turn | None = None,
        invalid: Unreadable | None = None,
        failed: str | None = None,
        usage: Usage | None = None,
        step: Step | None = None,
    ) -> None:
        """Write the trial as it stands. At the time limit nothing is: how far a reply got depends on the machine."""
        made = self._case.tools.made
        calls, self._made = made[self._made :], len(made)
        if self._case.time_left() <= 0:
            return
        self._replies.append(
            StoredReply(
                turns_left=observation.turns_left,
                seen=self._gained,
                calls=tuple(
                    StoredCall(**dict(entry), step=of.number if of else None, draft=of.draft if of else "")
                    for entry, of in calls
                ),
                step=step.number if step else None,
                draft=step.draft if step else "",
                turn=turn,
                invalid=invalid,
                failed=failed,
                usage=usage,
            )
        )
        opened = opening(observation)
        try:
            self._tapes.describe(self._agent.spec, self._agent.fingerprint)
            self._tapes.store(self._case, opened, tuple(self._replies), self._playback.digests)
        except OSError as error:
            message = f"cannot write the cassette {str(self._tapes.folder)!r}: {error.strerror}"
            raise InfrastructureError(
                "cassette_unwritable", message, "name another folder with --supportbench-cassette"
            ) from error
        except SupportBenchError as error:
            raise InfrastructureError("cassette_unwritable", str(error)) from error
        self._playback.recorded()
