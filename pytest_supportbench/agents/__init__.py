"""Agents under test: one module per kind, each imported only when an agent of that kind is made."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from pytest_supportbench.agents.base import LiveAgent
from pytest_supportbench.agents.kinds import KINDS
from pytest_supportbench.agents.spec import AgentSpec, parse_spec
from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["AgentSpec", "LiveAgent", "make_agent", "parse_spec"]


def make_agent(spec: AgentSpec, root: Path) -> LiveAgent:
    """Return the agent that ``spec`` describes; relative paths and modules are looked up from ``root``.

    Raises `UsageError` where the spec cannot become an agent on this machine: a missing package, module or
    model file, or a registered name, which only the plugin can look up.
    """
    kind = KINDS.get(spec.kind)
    if kind is None:
        msg = f"agent {spec.raw!r}: no agent of that name is registered here; known kinds: {', '.join(KINDS)}"
        raise UsageError(msg)
    module, _, attribute = kind.factory.partition(":")
    factory = getattr(importlib.import_module(module), attribute)
    return cast("LiveAgent", factory(spec, root))
