"""The session object of a pytest config, made when the first scenario needs it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_supportbench.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_supportbench.session import BenchSession

SETTINGS: Final = pytest.StashKey[Settings]()
RUN: Final = pytest.StashKey[tuple[str, str]]()
_SESSION: Final = pytest.StashKey["BenchSession"]()


def open_session(config: pytest.Config) -> BenchSession:
    """Return the session object, making it on first use, since that imports the whole core."""
    session = config.stash.get(_SESSION, None)
    if session is None:
        from pytest_supportbench.session import BenchSession  # noqa: PLC0415 - not before a scenario is collected

        run_id, path = config.stash[RUN]
        session = BenchSession(config.stash[SETTINGS], Path(path), run_id, lambda: _registered(config))
        config.stash[_SESSION] = session
    return session


def opened_session(config: pytest.Config) -> BenchSession | None:
    """Return the session object if anything needed it."""
    return config.stash.get(_SESSION, None)


def _registered(config: pytest.Config) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    agents: dict[str, Any] = {}
    toolsets: dict[str, Any] = {}
    for found in config.hook.pytest_supportbench_agents(config=config):
        agents.update(found)
    for found in config.hook.pytest_supportbench_toolsets(config=config):
        toolsets.update(found)
    return agents, toolsets
