"""The session object of a pytest config, made when the first scenario needs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pluggy
import pytest

from pytest_supportbench.errors import UsageError
from pytest_supportbench.settings import Settings

if TYPE_CHECKING:
    from pytest_supportbench.session import BenchSession

SETTINGS: Final = pytest.StashKey[Settings]()
RUN: Final = pytest.StashKey[tuple[str, str]]()
MAX_REPEATED: Final = 100
"""So much of a message is repeated after it was told whole."""

BROKEN_HOOK: Final = pytest.StashKey[str]()
"""What is wrong with a hook of the user's that scenario files needed: one error, however many files there are."""

_HIDDEN: Final = (__file__, str(Path(pluggy.__file__).parent))
_TOLD: Final = pytest.StashKey[set[str]]()
_SESSION: Final = pytest.StashKey["BenchSession"]()


def open_session(config: pytest.Config) -> BenchSession:
    """Return the session object, making it on first use, since that imports the whole core."""
    session = config.stash.get(_SESSION, None)
    if session is None:
        from pytest_supportbench.session import BenchSession  # noqa: PLC0415 - not before a scenario is collected

        run_id, path = config.stash[RUN]
        workers = getattr(config, "workerinput", {}).get("workercount", 1)
        session = BenchSession(
            config.stash[SETTINGS], Path(path), run_id, lambda: _registered(config), alone=workers == 1
        )
        config.stash[_SESSION] = session
    return session


def opened_session(config: pytest.Config) -> BenchSession | None:
    """Return the session object if anything needed it."""
    return config.stash.get(_SESSION, None)


def told_once(config: pytest.Config, message: str) -> str:
    """Return a message of set-up whole the first time in a session, then only what it begins with."""
    told = config.stash.setdefault(_TOLD, set())
    if message not in told:
        told.add(message)
        return message
    first = message.partition("\n")[0]
    return f"as above: {first if len(first) <= MAX_REPEATED else first[: MAX_REPEATED - 1] + '…'}"


def _registered(config: pytest.Config) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return agents and toolsets by name. Raises `UsageError` where a hook breaks or returns no mapping."""
    agents = _named(config, "pytest_supportbench_agents", "agents")
    return agents, _named(config, "pytest_supportbench_toolsets", "toolset classes")


def _named(config: pytest.Config, hook: str, what: str) -> dict[str, Any]:
    try:
        answers = getattr(config.hook, hook)(config=config)
    except Exception as error:
        from pytest_supportbench.agents.python_callable import traceback_text  # noqa: PLC0415 - only where it breaks

        raise UsageError(
            f"the hook {hook} failed; mend this first:\n{traceback_text(error, _HIDDEN)}"
        ) from error
    found: dict[str, Any] = {}
    for answer in answers:
        if not isinstance(answer, Mapping):
            msg = f"the hook {hook} returned a {type(answer).__name__}; it must return a mapping of names to {what}"
            raise UsageError(msg)
        for name in answer:
            if not isinstance(name, str):
                msg = (
                    f"the hook {hook} returned the name {name!r}, a {type(name).__name__}; names must be text"
                )
                raise UsageError(msg)
        found.update(answer)
    return found
