"""What stands between an episode and its agent, so that no secret of the agent's passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_supportbench.errors import AgentFailure, InfrastructureError, ReplayedFailure, is_interrupt
from pytest_supportbench.protocol import Reply, Step, Unreadable
from pytest_supportbench.redaction import Redactor, said_by

if TYPE_CHECKING:
    from pytest_supportbench.agents.base import JSON, LiveAgent
    from pytest_supportbench.episode import Ask
    from pytest_supportbench.protocol import Observation

AskAsync: TypeAlias = "Callable[[Observation], Awaitable[Any]]"


def redacted(ask: Ask, redactor: Redactor, shown: Redactor) -> Ask:
    """Return ``ask`` with secrets blanked in what it returns (by ``redactor``) and what it raises (by ``shown``)."""

    def clean(observation: Observation) -> Any:
        try:
            raw = ask(observation)
        except BaseException as error:  # noqa: BLE001 - whatever it is, its text may hold a secret
            raise _agents_own(error, shown) from None
        return _readable(raw, redactor)

    return clean


def redacted_async(ask: AskAsync, redactor: Redactor, shown: Redactor) -> AskAsync:
    """Return ``ask`` as `redacted` does, for an asynchronous agent."""
    import asyncio  # noqa: PLC0415 - only asynchronous agents pay for the import

    async def clean(observation: Observation) -> Any:
        try:
            raw = await ask(observation)
        except asyncio.CancelledError:
            raise  # whoever waits knows whether the episode's time is over
        except BaseException as error:  # whatever it is, its text may hold a secret
            if isinstance(error, GeneratorExit) and not error.args:
                raise  # the loop was closed under it
            raise _agents_own(error, shown) from None
        return _readable(raw, redactor)

    return clean


def _readable(raw: Any, redactor: Redactor) -> Any:
    """Return a reply without secrets; objects that are not what they seem become a reply that cannot be read."""
    try:
        if isinstance(raw, Reply):
            step = raw.step and Step(number=raw.step.number, draft=raw.step.draft)
            raw = Reply(turn=raw.turn, usage=raw.usage, replayed=raw.replayed, step=step)
        return redactor.reply(raw)
    except Exception as error:  # noqa: BLE001 - objects of an agent's own may do anything
        reason = f"the reply is no JSON value, nor a valid object of ours: reading it raised {type(error).__name__}"
        return Unreadable(reason=reason[:500], excerpt=type(raw).__name__[:500])


def _agents_own(error: BaseException, redactor: Redactor) -> BaseException:
    """Return what an agent raised without secrets, and with a text that can be told.

    What would end more than its episode becomes a failure of it.
    """
    if isinstance(error, InfrastructureError) and not _is_told(error):
        return AgentFailure(f"{type(error).__name__} whose cause, message and remedy are not all text")
    clean = redactor.error(error)
    if is_interrupt(clean) or isinstance(clean, InfrastructureError | ReplayedFailure):
        return clean
    if isinstance(clean, AgentFailure):
        remedy = redactor.text(clean.remedy) if type(clean.remedy) is str else ""
        return AgentFailure(said_by(clean) or type(clean).__name__, remedy)
    return (
        clean if isinstance(clean, Exception) else AgentFailure(f"{type(clean).__name__}: {said_by(clean)}")
    )


def _is_told(error: InfrastructureError) -> bool:
    try:
        return all(type(part) is str for part in (error.cause, error.message, error.remedy))
    except Exception:  # noqa: BLE001 - an agent's own exception may do anything
        return False


class Shown:
    """An agent as a recorder may store it: its fingerprint holds no secret."""

    def __init__(self, agent: LiveAgent, redactor: Redactor) -> None:
        self._agent = agent
        self._redactor = redactor

    def fingerprint(self) -> dict[str, JSON]:
        """Return what identifies the agent, without secrets that its server may have put into it."""
        said: dict[str, JSON] = self._redactor.reply(self._agent.fingerprint())
        return said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)
