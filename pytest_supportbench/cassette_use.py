"""How one session uses its cassette: which agents are recorded, which are played, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_supportbench.cassette_key import is_recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_supportbench.agents.base import LiveAgent
    from pytest_supportbench.agents.replay import ReplayAgent
    from pytest_supportbench.agents.spec import AgentSpec
    from pytest_supportbench.cassette_folders import Folders
    from pytest_supportbench.cassette_record import CassetteRecorder
    from pytest_supportbench.results import Result


class CassetteUse:
    """The cassette of a session, in ``folder`` if it has one. Agents of the kind ``replay`` bring their own.

    ``agents`` are the configured ones by their ids; ``root`` is what folders are shown relative to.
    """

    def __init__(
        self,
        folder: Path | None,
        record: Literal["auto", "none", "all"],
        agents: Mapping[str, AgentSpec],
        root: Path,
    ) -> None:
        self._record = record
        self._root = root
        self._played: Folders | None = None
        self.recorder: CassetteRecorder | None = None
        if folder is not None:
            from pytest_supportbench.cassette_folders import Folders  # noqa: PLC0415 - only runs with a cassette
            from pytest_supportbench.cassette_record import CassetteRecorder  # noqa: PLC0415 - likewise

            if record == "none":
                self._played = Folders(folder, agents)
            else:
                self.recorder = CassetteRecorder(folder, record, agents)

    def stand_in(self, name: str, spec: AgentSpec, value: Any = None) -> ReplayAgent | None:
        """Return what plays in an agent's place where nothing may be asked; ``None`` where the agent itself is to be.

        ``value`` is the agent where Python code handed it over. Raises `UsageError` where its folder is damaged.
        """
        if self._played is None or not is_recorded(spec):
            return None
        from pytest_supportbench.agents.origin import source_of  # noqa: PLC0415 - likewise
        from pytest_supportbench.agents.replay import ReplayAgent  # noqa: PLC0415 - likewise

        source = None if value is None else source_of(value)
        return ReplayAgent(spec, self._root, folder=self._played.of(name, spec), source=source)

    def facts(self, name: str, agent: LiveAgent) -> dict[str, Any]:
        """Return what the run line says of an agent beside its fingerprint.

        ``replayed`` is ``None`` where each episode line tells.
        """
        if self.recorder is None or not is_recorded(agent.spec):
            return {}
        from pytest_supportbench.agents.replay import shown  # noqa: PLC0415 - likewise

        folder = shown(self.recorder.tapes(name, agent.spec).folder, self._root)
        replayed = None if self._record == "auto" else "no"
        return {"replayed": replayed, "cassette": folder, "record": self._record}

    def note(self, result: Result, agent: LiveAgent | None) -> dict[str, Any] | None:
        """Return what became of the cassette in an episode that this process ran, as a summary row carries it."""
        if agent is None or agent.wants_reference:
            return None
        tapes = getattr(agent, "tapes", None)
        if tapes is None and self.recorder is not None and is_recorded(agent.spec):
            tapes = self.recorder.tapes(result.agent, agent.spec)
        if tapes is None:
            return None
        note = tapes.noted(result.bound.suite.suite.name, result.bound.scenario.id, result.trial)
        return None if note is None else note.to_json()
