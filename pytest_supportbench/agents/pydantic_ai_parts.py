"""What the adapter needs of Pydantic AI; imported only where such an agent is made."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field, create_model
from pydantic_ai.agent import AbstractAgent, WrapperAgent
from pydantic_ai.models import Model
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from pytest_supportbench.agents.framework import outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.run import AgentRunResult

    from pytest_supportbench.agents.base import EpisodeTools
    from pytest_supportbench.protocol import Observation

__all__ = ["AbstractAgent", "EpisodeToolset", "decision_type", "has_validators", "keys", "model_name", "run"]

_OBJECT: Final = SchemaValidator(core_schema.dict_schema(keys_schema=core_schema.str_schema()))
"""The environment judges arguments itself, so that a bad call is recorded; they only must be an object."""


class EpisodeToolset(AbstractToolset[Any]):
    """The episode's tools. What they refuse goes back to the model as data."""

    def __init__(self, tools: EpisodeTools | None) -> None:
        self._tools = tools
        self._infos = tools.infos if tools is not None else ()

    @property
    def id(self) -> str:
        """The name that the framework calls it by."""
        return "supportbench"

    @property
    def names(self) -> frozenset[str]:
        """The names of the episode's tools."""
        return frozenset(info.name for info in self._infos)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools; each runs alone, so that calls happen in the order in which the model made them."""
        return {
            info.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=info.name,
                    description=info.description,
                    parameters_json_schema=dict(info.parameters),
                    sequential=True,
                ),
                max_retries=ctx.max_retries,
                args_validator=_OBJECT,
            )
            for info in self._infos
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Mapping[str, Any]:
        """Execute a call in the environment and return what came of it."""
        del ctx, tool
        assert self._tools is not None
        return outcome(self._tools.call(name, tool_args))


def decision_type(observation: Observation) -> type[BaseModel]:
    """Return the output type: action, message and slots, with the names that this observation offers.

    Without an action of class ``ask`` a question is a decision without an action.
    """
    action: Any = Literal[tuple(item.name for item in observation.actions)]
    if observation.slots and not any(item.kind == "ask" for item in observation.actions):
        action = action | None
    fields: dict[str, Any] = {
        "action": (action, Field(description="How the case ends.")),
        "message": (str, Field(description="What the customer will read.")),
    }
    if observation.slots:
        slots: Any = list[Literal[tuple(observation.slots)]]  # type: ignore[misc]
        about = "What you ask the customer for, where the action is to ask; otherwise empty."
        fields["asks_for"] = (slots, Field(default=[], description=about))
    return create_model("Decision", __doc__="The decision that ends your work on the case.", **fields)


async def run(
    agent: AbstractAgent[Any, Any],
    observation: Observation,
    tools: EpisodeTools | None,
    *,
    instructions: str,
    prompt: str,
    deps: Any,
) -> AgentRunResult[Any]:
    """Run the user's agent with the episode's tools in the place of its own of the same name.

    The model is entered, so that the connections that it opened are closed in the event loop that they belong to.
    """
    episode = EpisodeToolset(tools)
    own = [toolset.filtered(lambda _ctx, tool: tool.name not in episode.names) for toolset in agent.toolsets]
    async with AsyncExitStack() as stack:
        stack.enter_context(agent.override(toolsets=[*own, episode], tools=[]))
        model = getattr(_innermost(agent), "model", None)
        if isinstance(model, Model):
            await stack.enter_async_context(model)
        return await agent.run(
            prompt,
            output_type=decision_type(observation),
            instructions=instructions,
            deps=deps,
            infer_name=False,
        )


def _innermost(agent: AbstractAgent[Any, Any]) -> AbstractAgent[Any, Any]:
    while isinstance(agent, WrapperAgent):
        agent = agent.wrapped
    return agent


def has_validators(agent: AbstractAgent[Any, Any]) -> bool:
    """Tell whether output validators forbid another output type; the framework has no public way to ask."""
    return bool(getattr(_innermost(agent), "_output_validators", ()))


def model_name(agent: AbstractAgent[Any, Any]) -> str | None:
    """Return the name of the agent's model, where it is set already."""
    model = getattr(_innermost(agent), "model", None)
    name = model if isinstance(model, str) else getattr(model, "model_name", None)
    return name if isinstance(name, str) else None


def keys(agent: AbstractAgent[Any, Any]) -> tuple[str, ...]:
    """Return the key that the client of the agent's model holds."""
    client = getattr(getattr(_innermost(agent), "model", None), "client", None)
    key = getattr(client, "api_key", None)
    return (key,) if isinstance(key, str) and key else ()
