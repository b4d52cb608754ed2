"""What stands between an episode and its agent, so that no secret of the agent's passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_supportbench.errors import AgentFailure, is_interrupt
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
            return redactor.reply(ask(observation))
        except BaseException as error:  # noqa: BLE001 - whatever it is, its text may hold a secret
            raise _agents_own(error, shown) from None

    return clean


def redacted_async(ask: AskAsync, redactor: Redactor, shown: Redactor) -> AskAsync:
    """Return ``ask`` as `redacted` does, for an asynchronous agent."""
    import asyncio  # noqa: PLC0415 - only asynchronous agents pay for the import

    async def clean(observation: Observation) -> Any:
        try:
            return redactor.reply(await ask(observation))
        except asyncio.CancelledError:
            raise  # whoever waits knows whether the episode's time is over
        except BaseException as error:  # whatever it is, its text may hold a secret
            if isinstance(error, GeneratorExit) and not error.args:
                raise  # the loop was closed under it
            raise _agents_own(error, shown) from None

    return clean


def _agents_own(error: BaseException, redactor: Redactor) -> BaseException:
    """Return what an agent raised without secrets; what would end more than its episode becomes a failure of it."""
    clean = redactor.error(error)
    if isinstance(clean, Exception) or is_interrupt(clean):
        return clean
    return AgentFailure(f"{type(clean).__name__}: {said_by(clean)}")


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
