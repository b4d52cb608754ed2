"""The executor within pytest: the option, what does not go with it, and what is told of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_supportbench.access import SETTINGS, open_session, opened_session
from pytest_supportbench.collector import CASE
from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from pytest_supportbench.settings import Settings


def register_executor(config: pytest.Config) -> None:
    """Have scenarios run on a cluster where one is asked for. Raises `pytest.UsageError` for what cannot be there."""
    chosen = config.stash[SETTINGS]
    if chosen.executor is None:
        return
    try:
        _refuse(config, chosen)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(Executing(), "supportbench-executor")


def _refuse(config: pytest.Config, chosen: Settings) -> None:
    from pytest_supportbench.cluster import OPTION  # noqa: PLC0415 - only runs on a cluster pay for it
    from pytest_supportbench.remote_runner import refuse_to_travel  # noqa: PLC0415 - likewise

    if config.getoption("dist", "no") != "no" or hasattr(config, "workerinput"):
        msg = f"{OPTION} and pytest-xdist's -n do not go together: one process keeps a whole cluster busy"
        raise UsageError(f"{msg}. Leave -n out; --supportbench-shard divides a run over several processes")
    if chosen.cassette is not None:
        msg = f"{OPTION} and --supportbench-cassette do not go together: one process writes a cassette"
        raise UsageError(f"{msg}. Leave the executor out; stored replies need no cluster")
    for spec in chosen.agents.values():
        refuse_to_travel(spec)


class Executing:
    """Connects before the first item, and tells of workers that were left out."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Connect where scenarios are to run, so that a wrong address is one error and not one an item."""
        if session.config.option.collectonly or not any(CASE in item.stash for item in session.items):
            return
        if session.config.getoption("setupplan", False):
            return
        try:
            remote = open_session(session.config).remote
            assert remote is not None
            remote.connect()
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the workers that could not serve an agent: the run took longer for want of them."""
        opened = opened_session(terminalreporter.config)
        for text in opened.remote.left_out if opened is not None and opened.remote is not None else ():
            terminalreporter.write_line(f"left out: {text}")
