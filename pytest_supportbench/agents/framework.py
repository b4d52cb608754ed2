"""What the adapters for agent frameworks share: the user's object, what it is told, and what its tools get back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_supportbench.agents.base import JSON, BaseAgent, file_digest
from pytest_supportbench.agents.framework_faults import cut_short, explain
from pytest_supportbench.agents.prompting import render
from pytest_supportbench.agents.python_callable import (
    attribute_of,
    broken,
    load_module,
    own_failure,
)
from pytest_supportbench.errors import AgentFailure, InfrastructureError, UsageError, is_interrupt
from pytest_supportbench.replies import InvalidReply, parse_turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from pytest_supportbench.agents.spec import AgentSpec
    from pytest_supportbench.protocol import Observation, Reply, ToolEntry


class FrameworkAgent(BaseAgent):
    """An object of an agent framework in a module of the user's; asynchronous, several episodes at a time.

    A subclass says in ``shapes`` what it takes, in ``model_code`` which folders have the framework's code for models,
    and makes an asker for each episode. The module is looked for as ``python:`` does.
    """

    window = 8
    is_async = True
    shapes: ClassVar[str]
    model_code: ClassVar[tuple[str, ...]]

    def __init__(self, spec: AgentSpec, root: Path) -> None:
        super().__init__(spec, root)
        name, _, path = spec.target.partition(":")
        module = load_module(spec, name, root)
        self._digest = file_digest(
            getattr(module, "__file__", None)
        )  # now: later the file may be another one
        self._found = attribute_of(spec, module, path, self.shapes)

    def call(self, factory: Callable[[], Any]) -> Any:
        """Return what a factory of the user's makes; raises `UsageError` where it raises."""
        try:
            return factory()
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise broken(self.spec, f"calling {self.spec.target} to make the agent failed", error) from error

    def unfit(self, value: Any, what: str = "") -> UsageError:
        """Return the error for an object that is none of ``shapes``."""
        kind = type(value).__name__
        return UsageError(f"agent {self.spec.raw!r}: {what or self.spec.target} is a {kind}; {self.shapes}")

    def model(self) -> str | None:
        """Return the name of the model, where it can be found."""
        return None

    def fingerprint(self) -> dict[str, JSON]:
        """Return kind, target, model, options and the SHA-256 of the module's file, ``None`` where there is none."""
        found: dict[str, JSON] = {"target": self.spec.target, "model": self.model()}
        return {**super().fingerprint(), **found, "module_sha256": self._digest}

    def _where(self, error: BaseException | None = None) -> str:
        model = getattr(error, "model_name", None) or self.model()
        return f"{self.spec.raw}, model {model!r}" if model else self.spec.raw

    async def guarded(
        self, answer: Awaitable[Reply], stopped: Callable[[BaseException | None], object]
    ) -> Reply:
        """Await an answer. Raises `InfrastructureError` or `AgentFailure` for whatever is raised.

        ``stopped`` returns why the model's message ended that the reply is, or that an exception is about. Nothing
        usable can be one that was cut short, and then that is the server's failure.
        """
        try:
            reply = await answer
        except (asyncio.CancelledError, GeneratorExit):
            raise  # whoever waits knows whether its time was over
        except BaseException as error:
            ours = isinstance(error, AgentFailure | InfrastructureError) or not isinstance(error, Exception)
            known = None if ours else self._explain(error) or cut_short(stopped(error), self._where(error))
            if known is not None:
                raise known from error
            raise own_failure(error, hidden=(__file__,)) from error
        cut = cut_short(stopped(None), self._where())
        if cut is not None and not _is_turn(reply.turn):
            raise cut
        return reply

    def _explain(self, error: BaseException) -> InfrastructureError | None:
        return explain(error, self._where(error), self.model_code)


def _is_turn(reply: Any) -> bool:
    try:
        parse_turn(reply)
    except InvalidReply:
        return False
    return True


def need_package(spec: AgentSpec, error: ImportError, extra: str) -> UsageError:
    """Return the error for a framework that is not installed."""
    msg = f"agent {spec.raw!r} needs the package {(error.name or extra).partition('.')[0]!r}"
    return UsageError(f'{msg}; run: pip install "pytest-supportbench[{extra}]"')


def briefing(observation: Observation, task: str) -> tuple[str, str]:
    """Return what an agent with tools of its own reads: what the company sets, and the case with all that happened.

    ``task`` says what is wanted. Everything else travels as JSON, one line each.
    """
    company, *rest = render(observation, task, tools=False)
    return company["content"], "\n".join(message["content"] for message in rest)


def outcome(entry: ToolEntry) -> Mapping[str, Any]:
    """Return what a tool call gives back to a model: its status, and its result or its error, as data."""
    shown: dict[str, Any] = {"status": entry.status}
    if entry.result is not None:
        shown["result"] = entry.result
    if entry.error is not None:
        shown["error"] = entry.error.model_dump(exclude_none=True)
    return shown
