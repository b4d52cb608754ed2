"""pytest-supportbench: is the customer-support agent good, and did the change in front of you make it worse?

The names below are what agents and toolsets of your own need. They are imported when first used, so that having
the plugin installed costs a test run nothing.

PYTEST_DONT_REWRITE: ``supportbench run`` has imported this package when pytest starts, which pytest warns of else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_supportbench.protocol import Agent, Observation, Reply, ToolCall, Turn, Usage
    from pytest_supportbench.state import Record, State
    from pytest_supportbench.tools import Context, ToolError, tool
    from pytest_supportbench.toolset import Toolset

__all__ = [
    "Agent",
    "Context",
    "Observation",
    "Record",
    "Reply",
    "State",
    "ToolCall",
    "ToolError",
    "Toolset",
    "Turn",
    "Usage",
    "tool",
]

_HOME: Final = {
    "Record": "state",
    "State": "state",
    "Context": "tools",
    "ToolError": "tools",
    "tool": "tools",
    "Toolset": "toolset",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'protocol')}"), name)
