"""The names that a suite's scenarios may use, gathered once a suite so that checking a scenario is cheap."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_supportbench.state import Record
from pytest_supportbench.tools import Context, ToolSpec
from pytest_supportbench.toolset import Toolset
from pytest_supportbench.validation import field_names, models_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_supportbench.suite import Suite


@dataclass(frozen=True, slots=True)
class ToolNames:
    """What a scenario may say about one tool: its parameters, and which of them are lists."""

    spec: ToolSpec
    parameters: frozenset[str]
    writes: bool
    handoff: bool

    @property
    def lists(self) -> frozenset[str]:
        """The parameters that take a list; asked for a fault only, since it needs the tool's schema."""
        properties: dict[str, Any] = self.spec.parameters["properties"]
        return frozenset(name for name, schema in properties.items() if _is_list(schema))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tools, actions, policies, slots and tables of a suite; ``table_of`` resolves a ``visible`` name."""

    tools: Mapping[str, ToolNames]
    actions: frozenset[str]
    policies: frozenset[str]
    slots: frozenset[str]
    tables: Mapping[str, type[Record] | None]
    table_of: Callable[[str], str]

    def tool(self, call: Any) -> ToolNames | None:
        """Return the tool that a mapping names under ``tool``, or ``None`` where it names none."""
        name = call.get("tool") if isinstance(call, dict) else None
        return self.tools.get(name) if isinstance(name, str) else None


def vocabulary(suite: Suite, toolset: type[Toolset[Any]]) -> Vocabulary:
    """Return the names that a suite and its toolset define."""
    probe = toolset(toolset.state_type.model_construct(), Context(now=datetime(2000, 1, 1, tzinfo=UTC)))
    return Vocabulary(
        tools={name: _names(spec) for name, spec in toolset.specs.items()},
        actions=frozenset(action.name for action in suite.actions),
        policies=frozenset(policy.id for policy in suite.policies),
        slots=frozenset(suite.slots),
        tables={name: _record(annotation) for name, annotation in field_names(toolset.state_type).items()},
        table_of=probe.table_of,
    )


def _names(spec: ToolSpec) -> ToolNames:
    return ToolNames(spec, frozenset(spec.names), spec.effect == "writes", spec.handoff)


def _is_list(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "array" or any(map(_is_list, schema.get("anyOf", ())))


def _record(annotation: Any) -> type[Record] | None:
    return next((model for model in models_in(annotation) if issubclass(model, Record)), None)
