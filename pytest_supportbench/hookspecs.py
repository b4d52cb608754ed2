"""Hooks that a ``conftest.py`` or a plugin can implement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest


@pytest.hookspec
def pytest_supportbench_agents(config: pytest.Config) -> Mapping[str, Any]:
    """Return agents by name, so that ``--supportbench-agent=NAME`` finds them.

    A value is a callable or an object with ``reply(observation)``, sync or async. It is called once a session,
    when the first scenario asks for an agent::

        def pytest_supportbench_agents(config):
            return {"desk": my_company.desk.reply}
    """
    raise NotImplementedError


@pytest.hookspec
def pytest_supportbench_toolsets(config: pytest.Config) -> Mapping[str, Any]:
    """Return toolset classes by name, so that a suite's ``toolset: NAME`` finds them.

    Called once a session, when the first suite is loaded::

        def pytest_supportbench_toolsets(config):
            return {"airline": AirlineToolset}
    """
    raise NotImplementedError
