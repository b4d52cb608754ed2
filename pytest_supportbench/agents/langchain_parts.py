"""What the adapter needs of LangChain; imported only where such an agent is made."""

from __future__ import annotations

import json
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool
from pydantic import BaseModel, PrivateAttr

from pytest_supportbench.agents.framework import outcome
from pytest_supportbench.agents.langchain_answers import Answers
from pytest_supportbench.agents.langchain_messages import Heard
from pytest_supportbench.errors import AgentFailure
from pytest_supportbench.protocol import Turn, Unreadable, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.outputs import LLMResult

    from pytest_supportbench.agents.base import EpisodeTools
    from pytest_supportbench.agents.prompting import ChatMessage

__all__ = [
    "Answers",
    "Heard",
    "Runnable",
    "input_names",
    "invoke",
    "keys",
    "langchain_tools",
    "model_name",
    "said",
    "turn_of",
]

_ROLES: Final = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
_CALL_ID: ContextVar[str | None] = ContextVar("supportbench_call_id", default=None)


class EpisodeTool(BaseTool):
    """One tool of the episode. What it refuses goes back to the model as data."""

    _tools: EpisodeTools = PrivateAttr()
    _heard: Heard = PrivateAttr()

    def run(self, *given: Any, tool_call_id: str | None = None, **named: Any) -> Any:
        """Run the tool with the call's id at hand, which the framework keeps from tools that take any arguments."""
        token = _CALL_ID.set(tool_call_id)
        try:
            return super().run(*given, tool_call_id=tool_call_id, **named)
        finally:
            _CALL_ID.reset(token)

    async def arun(self, *given: Any, tool_call_id: str | None = None, **named: Any) -> Any:
        """Run the tool like `run`."""
        token = _CALL_ID.set(tool_call_id)
        try:
            return await super().arun(*given, tool_call_id=tool_call_id, **named)
        finally:
            _CALL_ID.reset(token)

    def _run(self, /, **arguments: Any) -> str:
        step = self._heard.calling(self.name, arguments, _CALL_ID.get())
        return json.dumps(outcome(self._tools.call(self.name, arguments, step)), ensure_ascii=False)

    async def _arun(self, /, **arguments: Any) -> str:
        return self._run(**arguments)


def langchain_tools(tools: EpisodeTools, heard: Heard) -> list[BaseTool]:
    """Return the episode's tools as LangChain takes them."""
    made: list[BaseTool] = []
    for info in tools.infos:
        tool = EpisodeTool(name=info.name, description=info.description, args_schema=dict(info.parameters))
        tool._tools, tool._heard = tools, heard  # noqa: SLF001 - pydantic sets private attributes only afterwards
        made.append(tool)
    return made


class _Spent(BaseCallbackHandler):
    """Adds up the tokens of every model call of one reply, wherever in a chain or a graph it happens."""

    run_inline = True

    def __init__(self) -> None:
        self.read: int | None = None
        self.written: int | None = None

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Take the tokens of one call, where the provider reports them."""
        del kwargs
        for generations in response.generations:
            for generation in generations:
                usage = getattr(getattr(generation, "message", None), "usage_metadata", None)
                if usage:
                    self.read = (self.read or 0) + usage["input_tokens"]
                    self.written = (self.written or 0) + usage["output_tokens"]


def input_names(runnable: Runnable[Any, Any]) -> list[str]:
    """Return the names of a runnable's input where that is an object with known names; else none.

    A sequence takes what its first step takes; asked itself, it does not know of a graph's names.
    """
    while isinstance(runnable, RunnableSequence | RunnableBindingBase):
        runnable = runnable.first if isinstance(runnable, RunnableSequence) else runnable.bound
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # noqa: BLE001 - types of the user's own may have no schema; then it is tried with a list
        return []
    return list(schema.get("properties", ()))


async def invoke(
    runnable: Runnable[Any, Any],
    messages: Sequence[ChatMessage],
    listening: Sequence[BaseCallbackHandler],
    *,
    mapping: bool,
) -> tuple[Any, Usage]:
    """Return what a runnable answers to chat messages, and the tokens that it took.

    A graph with a memory of its own gets a fresh thread each time: the messages carry the whole conversation.
    """
    chat = [_ROLES[message["role"]](message["content"]) for message in messages]
    spent = _Spent()
    output = await runnable.ainvoke(
        {"messages": chat} if mapping else chat,
        config={"callbacks": [spent, *listening], "configurable": {"thread_id": uuid.uuid4().hex}},
    )
    return output, Usage.reported(prompt_tokens=spent.read, completion_tokens=spent.written)


def said(output: Any) -> Any:
    """Return what a runnable said: ``structured_response``, else the last of ``messages``, else the output itself.

    Raises `AgentFailure` for a graph that waits for a person.
    """
    if not isinstance(output, dict):
        return output
    if output.get("__interrupt__"):
        raise AgentFailure(
            "the graph stopped at an interrupt, and waits for a person; compile it without one"
        )
    if output.get("structured_response") is not None:
        return output["structured_response"]
    if isinstance(output.get("messages"), list) and output["messages"]:
        return output["messages"][-1]
    return output


def turn_of(answer: Any) -> Any:
    """Return the turn in what a runnable said, for the episode to parse.

    Calls that a model made and nobody executed become the turn's calls, and text beside them its draft.
    """
    if isinstance(answer, AIMessage):
        return _written(answer)
    if isinstance(answer, BaseMessage):
        return Unreadable(reason=f"the last message is of type {answer.type}, and not the agent's answer")
    if isinstance(answer, BaseModel) and not isinstance(answer, Turn):
        return answer.model_dump(mode="json")
    return answer


def _written(message: AIMessage) -> Any:
    if message.invalid_tool_calls:
        call = message.invalid_tool_calls[0]
        reason = f"the arguments of {call['name']!r} are no JSON: {call['error']}"[:500]
        return Unreadable(reason=reason, excerpt=str(call["args"])[:2_000])
    if message.tool_calls:
        return {
            "message": str(message.text),
            "tool_calls": [{"tool": call["name"], "arguments": call["args"]} for call in message.tool_calls],
        }
    return str(message.text)


def _model(runnable: Any) -> Any:
    """Return the language model of a binding or a sequence, ``None`` where none is in sight."""
    if isinstance(runnable, BaseLanguageModel):
        return runnable
    parts = [getattr(runnable, "bound", None), *getattr(runnable, "steps", ())]
    return next((found for part in parts if part is not None and (found := _model(part)) is not None), None)


def model_name(runnable: Any) -> str | None:
    """Return the name of a runnable's model, where it is in sight."""
    model = _model(runnable)
    names = (getattr(model, "model_name", None), getattr(model, "model", None))
    return next((name for name in names if isinstance(name, str)), None)


def keys(runnable: Any) -> tuple[str, ...]:
    """Return the secret values that a runnable's model holds."""
    values = vars(_model(runnable)).values() if _model(runnable) is not None else ()
    secrets = [value.get_secret_value() for value in values if hasattr(value, "get_secret_value")]
    return tuple(secret for secret in secrets if isinstance(secret, str) and secret)
