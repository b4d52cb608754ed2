"""What the adapter needs of Pydantic AI; imported only where such an agent is made."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field, create_model
from pydantic_ai import capture_run_messages
from pydantic_ai.agent import AbstractAgent, WrapperAgent
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from pytest_supportbench.agents.framework import outcome
from pytest_supportbench.protocol import Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.run import AgentRunResult

    from pytest_supportbench.agents.base import EpisodeTools
    from pytest_supportbench.protocol import Observation

__all__ = [
    "AbstractAgent",
    "EpisodeToolset",
    "decision_type",
    "has_validators",
    "keys",
    "model_name",
    "run",
    "stop_reason",
]

_OBJECT: Final = SchemaValidator(core_schema.dict_schema(keys_schema=core_schema.str_schema()))
"""The environment judges arguments itself, so that a bad call is recorded; they only must be an object."""


class EpisodeToolset(AbstractToolset[Any]):
    """The episode's tools. What they refuse goes back to the model as data."""

    def __init__(self, tools: EpisodeTools | None) -> None:
        self._tools = tools
        self._infos = tools.infos if tools is not None else ()
        self._numbers: dict[tuple[str | None, int], int] = {}

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
        self._numbers.setdefault((ctx.run_id, ctx.run_step), len(self._numbers) + 1)
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
        del tool
        assert self._tools is not None
        return outcome(self._tools.call(name, tool_args, self._step(ctx.run_id, ctx.messages)))

    def deciding(self, made: AgentRunResult[Any]) -> Step:
        """Return the step whose message a run's decision stands in, which is its last."""
        return self._step(made.run_id, made.all_messages())

    def _step(self, run: str | None, messages: Sequence[ModelMessage]) -> Step:
        """Return the step that a run is at: its newest message of the model. Only text beside calls is a draft."""
        newest = _newest(messages)
        parts = (
            newest.parts if newest and any(isinstance(part, ToolCallPart) for part in newest.parts) else ()
        )
        text = "\n".join(part.content for part in parts if isinstance(part, TextPart) and part.content)
        number = max((number for (of, _), number in self._numbers.items() if of == run), default=1)
        return Step(number=number, draft=text)


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
    said: list[ModelMessage],
    *,
    instructions: str,
    prompt: str,
    deps: Any,
) -> tuple[AgentRunResult[Any], Step]:
    """Run the user's agent with the episode's tools in the place of its own of the same name.

    Return what came of it, and the step in which it decided; ``said`` gets its messages, also where it raises.

    The model is entered, so that the connections that it opened are closed in the event loop that they belong to.
    """
    episode = EpisodeToolset(tools)
    own = [toolset.filtered(lambda _ctx, tool: tool.name not in episode.names) for toolset in agent.toolsets]
    async with AsyncExitStack() as stack:
        stack.enter_context(agent.override(toolsets=[*own, episode], tools=[]))
        model = getattr(_innermost(agent), "model", None)
        if isinstance(model, Model):
            await stack.enter_async_context(model)
        stack.callback(said.extend, stack.enter_context(capture_run_messages()))
        made = await agent.run(
            prompt,
            output_type=decision_type(observation),
            instructions=instructions,
            deps=deps,
            infer_name=False,
        )
    return made, episode.deciding(made)


def stop_reason(messages: Sequence[ModelMessage], error: BaseException | None) -> object:
    """Return why the newest message of the model ended, in the provider's word where that is known.

    ``None`` where an ``error`` is another one than the framework's about that message, such as one of a tool.
    """
    newest = _newest(messages)
    if newest is None or not isinstance(error, UnexpectedModelBehavior | None):
        return None
    details = newest.provider_details or {}
    return details.get("finish_reason") or (None if "refusal" in details else newest.finish_reason)


def _newest(messages: Sequence[ModelMessage]) -> ModelResponse | None:
    return next((item for item in reversed(messages) if isinstance(item, ModelResponse)), None)


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
