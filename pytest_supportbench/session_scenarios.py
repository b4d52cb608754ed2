"""The scenario files of a session: loaded once, told apart, and remembered for the next run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_supportbench.errors import FileError
from pytest_supportbench.loading import BoundScenario, BoundSuite, Loader
from pytest_supportbench.packed import PackedScenario
from pytest_supportbench.parse_cache import ParseCache
from pytest_supportbench.source import plain_path
from pytest_supportbench.unique import check_unique, equal_suites


class SessionScenarios:
    """Loads scenarios below ``root``; ``toolsets`` gives the registered ones when the first scenario is loaded."""

    def __init__(self, root: Path, toolsets: Callable[[], Mapping[str, Any]]) -> None:
        self._root = root
        self._toolsets = toolsets
        self._parsed = ParseCache(root / ".supportbench" / "cache")
        self._loader: Loader | None = None
        self._first: dict[tuple[str, str], str] = {}
        self._last: tuple[PackedScenario, BoundScenario] | None = None

    def packed(self, path: Path) -> PackedScenario:
        """Load a scenario file with its suite, and return it packed.

        Raises `FileError` with every problem in it, or where results could not tell it from another scenario.
        """
        if self._loader is None:
            self._loader = Loader(self._root, self._toolsets(), self._parsed)
        packed = self._loader.packed(plain_path(path))
        first = self._first.setdefault(packed.name, packed.path)
        if first != packed.path and not Path(first).samefile(packed.path):
            other, bound = self._loader.load(Path(first)), packed.unpack()
            raise FileError(check_unique((other, bound)) or (equal_suites(other, bound),))
        return packed

    def unpacked(self, packed: PackedScenario) -> BoundScenario:
        """Return the scenario, the same as the last time for the trials and agents that follow each other."""
        last = self._last
        if last is None or last[0] is not packed:
            last = self._last = packed, packed.unpack()
        return last[1]

    def load(self, path: Path) -> BoundScenario:
        """Return the scenario in a file. Raises what `packed` raises."""
        return self.unpacked(self.packed(path))

    def suites(self) -> tuple[BoundSuite, ...]:
        """Return the suites of the scenarios that were loaded."""
        return self._loader.suites() if self._loader is not None else ()

    def keep(self) -> None:
        """Remember what the files hold for the next run."""
        self._parsed.flush()

    def close(self) -> None:
        """Remember it, and let go of the cache."""
        self._parsed.close()
