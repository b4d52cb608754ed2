"""The scenario files of a session: loaded once, told apart, and remembered for the next run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_supportbench.errors import FileError
from pytest_supportbench.loading import BoundScenario, BoundSuite, Loader, check_unique, equal_suites
from pytest_supportbench.parse_cache import ParseCache
from pytest_supportbench.source import plain_path


class SessionScenarios:
    """Loads scenarios below ``root``; ``toolsets`` gives the registered ones when the first scenario is loaded."""

    def __init__(self, root: Path, toolsets: Callable[[], Mapping[str, Any]]) -> None:
        self._root = root
        self._toolsets = toolsets
        self._parsed = ParseCache(root / ".supportbench" / "cache")
        self._loader: Loader | None = None
        self._first: dict[tuple[str, str], str] = {}

    def load(self, path: Path) -> BoundScenario:
        """Load a scenario file with its suite.

        Raises `FileError` with every problem in it, or where results could not tell it from another scenario.
        """
        if self._loader is None:
            self._loader = Loader(self._root, self._toolsets(), self._parsed)
        bound = self._loader.load(plain_path(path))
        first = self._first.setdefault((bound.suite.suite.name, bound.scenario.id), bound.path)
        if first != bound.path and not Path(first).samefile(bound.path):
            other = self._loader.load(Path(first))
            raise FileError(check_unique((other, bound)) or (equal_suites(other, bound),))
        return bound

    def suites(self) -> tuple[BoundSuite, ...]:
        """Return the suites of the scenarios that were loaded."""
        return self._loader.suites() if self._loader is not None else ()

    def keep(self) -> None:
        """Remember what the files hold for the next run."""
        self._parsed.flush()

    def close(self) -> None:
        """Remember it, and let go of the cache."""
        self._parsed.close()
