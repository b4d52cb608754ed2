"""Which folder of a cassette belongs to which agent of a run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pytest_supportbench.cassette_key import canonical, folder_name, is_recorded, reached, whole
from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_supportbench.agents.spec import AgentSpec


class Folders:
    """Where each agent's part of a cassette is: configured ones have theirs from the start, others when asked for.

    No two agents of a run share one, and none depends on the order in which they are named, but for an agent that is
    named twice, as in an A/A comparison: it is kept apart by number. Raises `UsageError` where that cannot be.
    """

    def __init__(self, root: Path, agents: Mapping[str, AgentSpec]) -> None:
        self._root = root
        self._known: dict[str, Path] = {}
        self._owners: dict[Path, AgentSpec] = {}
        self._lock = threading.Lock()
        variants: dict[str, set[str]] = {}
        times: dict[Path, int] = {}
        for spec in agents.values():
            variants.setdefault(folder_name(spec), set()).add(whole(spec))
        for name, spec in sorted(agents.items(), key=lambda item: canonical(item[1].options)):
            several = len(variants[folder_name(spec)]) > 1
            folder = root / f"{folder_name(spec)}{f'-{reached(spec)}' if several else ''}"
            self._take(folder, spec)
            times[folder] = times.get(folder, 0) + 1
            number = f"-{times[folder]}" if times[folder] > 1 else ""
            self._known[name] = folder.with_name(f"{folder.name}{number}")

    def of(self, name: str, spec: AgentSpec) -> Path:
        """Return the folder of an agent by its id in the session. Raises `UsageError` where another one has it."""
        known = self._known.get(name)
        return self._take(self._root / folder_name(spec), spec) if known is None else known

    def _take(self, folder: Path, spec: AgentSpec) -> Path:
        with self._lock:
            owner = self._owners.setdefault(folder, spec)
        if whole(owner) != whole(spec) and is_recorded(spec):
            raise UsageError(
                f"a cassette cannot tell the agents {owner.raw!r} and {spec.raw!r} apart: they differ only in how they "
                "are reached, or in a key or password; run them one after the other, each with a cassette of its own"
            )
        return folder
