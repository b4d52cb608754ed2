"""``replay:PATH``: an agent's part of a cassette, played without the agent; a reply that is not there is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.base import JSON, BaseAgent, Case
from pytest_supportbench.agents.today import digests_today
from pytest_supportbench.cassette import Miss, Playback, Tapes, miss_error
from pytest_supportbench.cassette_agent import AGENT_FILE, read_agent
from pytest_supportbench.cassette_changes import changes_in_words
from pytest_supportbench.cassette_key import identity
from pytest_supportbench.errors import UsageError
from pytest_supportbench.protocol import Observation, Reply

if TYPE_CHECKING:
    from pytest_supportbench.agents.spec import AgentSpec

MAX_SHOWN: Final = 8


class ReplayAgent(BaseAgent):
    """Plays stored replies and asks nobody, whatever happens.

    With ``folder`` it stands in for the agent of ``spec``, which is not made: no package, key or server is needed.
    ``source`` is the file of an object that Python code handed over, by which it can be told to be another one now.
    Otherwise the spec is ``replay:PATH``. Raises `UsageError` where PATH holds no agent, or several, and where the
    file that says who was recorded is damaged.
    """

    inline = True

    def __init__(
        self, spec: AgentSpec, root: Path, *, folder: Path | None = None, source: str | None = None
    ) -> None:
        self._stands_in = folder is not None
        self.tapes = Tapes(folder or agent_folder(spec, root))
        self._stored = self.tapes.agent()
        self._today: Mapping[str, str] = {}
        self._checked = "the cassette alone was named"
        self._source = source
        without = self._stored.without if self._stored else ""
        if without and not self._stands_in and not spec.without:
            # The recorded agent did not see everything, so what plays it must not either.
            spec = replace(spec, options=(*spec.options, ("without", without)))
        super().__init__(spec, root)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the folder, which the spec does not hold."""
        folder = self.tapes.folder if self._stands_in else None
        return partial(ReplayAgent, folder=folder, source=self._source), (self.spec, self.root)

    def check(self) -> None:
        """Find out which model or code would answer today, where that can be had; its absence is no error."""
        if self._stands_in:
            self._today, self._checked = digests_today(self.spec, self.root, self._source)

    def fingerprint(self) -> dict[str, JSON]:
        """Return the fingerprint of who was recorded, marked as replayed."""
        stored = self._stored.fingerprint if self._stored else identity(self.spec)
        return {
            **stored,
            "replayed": "yes",
            "cassette": shown(self.tapes.folder, self.root),
            "record": "none",
            "digest_checked": self._checked,
        }

    def asker(self, case: Case) -> Callable[[Observation], Any]:
        """Return what plays one episode. Raises `UsageError` where its file is damaged."""
        playback, hint = Playback(self.tapes, case, self._today), self._hint()

        def reply(observation: Observation) -> Reply:
            found = playback.next(observation)
            played = found if isinstance(found, Miss) else playback.play(found, case.tools)
            if isinstance(played, Miss):
                raise miss_error(played, hint)
            return played

        return reply

    def reply(self, observation: Observation, /) -> Any:
        """Raise `UsageError`: an observation does not say which scenario and trial it is of."""
        msg = f"a cassette cannot answer episode {observation.episode!r} by itself; run it on a scenario"
        raise UsageError(msg)

    def _hint(self) -> str:
        """Return how the agent differs from one of the same name that was recorded, where it was not itself."""
        if self._stored is not None:
            return ""
        for path in sorted(self.tapes.folder.parent.glob(f"{self.spec.id}-*/{AGENT_FILE}"))[:MAX_SHOWN]:
            other = read_agent(path.parent)
            if other is not None:
                words = changes_in_words(other.identity.model_dump(exclude_unset=True), identity(self.spec))
                if not words:
                    return (
                        f"; the same agent was recorded as {path.parent.name}, "
                        f"and here it is {self.tapes.folder.name}, since it is named more than once"
                    )
                return f"; recorded was {path.parent.name}, and since then: {words}"
        place = self.tapes.folder.parent
        if not place.is_dir():
            return f"; there is no folder {shown(place, self.root)!r} with cassettes"
        return f"; this agent was never recorded in {shown(place, self.root)!r}"


def shown(folder: Path, root: Path) -> str:
    """Return a folder as results name it: relative to the root directory where it is below that."""
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)


def agent_folder(spec: AgentSpec, root: Path) -> Path:
    """Return the folder that a spec ``replay:PATH`` means: PATH, or the only agent's in it. Raises `UsageError`."""
    path = root / spec.target
    if (path / AGENT_FILE).is_file():
        return path
    found = sorted(file.parent for file in path.glob(f"*/{AGENT_FILE}"))
    if len(found) == 1:
        return found[0]
    if not found:
        msg = f"agent {spec.raw!r}: {str(path)!r} holds no recorded agent; record one with --supportbench-cassette=DIR"
        raise UsageError(msg)
    names = ", ".join(folder.name for folder in found[:MAX_SHOWN])
    raise UsageError(
        f"agent {spec.raw!r}: {str(path)!r} holds {len(found)} agents; name one of them: {names}"
    )
