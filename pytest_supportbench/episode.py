"""Runs one agent through one episode within its limits; whatever the agent does becomes a value."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from pytest_supportbench.conversation import EXCERPT, Conversation, Episode, EpisodeError, Limits
from pytest_supportbench.errors import AgentFailure, InfrastructureError, ToolsetError
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.protocol import Observation, Turn

Ask: TypeAlias = Callable[[Observation], Any]
AskAsync: TypeAlias = Callable[[Observation], Awaitable[Any]]


def toolset_broke(error: ToolsetError) -> EpisodeError:
    """Return why an episode whose toolset broke has no verdict."""
    return EpisodeError("toolset", str(error), "mend the toolset; this says nothing about the agent")


def _failed(conversation: Conversation, error: BaseException, seconds: float) -> Episode:
    """Return the episode that an exception ended, keeping the agent's failures and others' apart."""
    if isinstance(error, InfrastructureError):
        cause = EpisodeError(error.cause, error.message, error.remedy)
        return conversation.finish(seconds=seconds, ending="error", error=cause)
    if isinstance(error, ToolsetError):
        return conversation.finish(seconds=seconds, ending="error", error=toolset_broke(error))
    text = str(error) if isinstance(error, AgentFailure) else f"{type(error).__name__}: {error}"
    text = text[:EXCERPT].encode("utf-8", "replace").decode()
    return conversation.finish(seconds=seconds, ending="agent_failed", failure=text)


def run_episode(
    bound: BoundScenario,
    ask: Ask,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    episode_id: str = "episode",
    clock: Callable[[], float] = time.perf_counter,
) -> Episode:
    """Run one episode with a synchronous agent and return it; never raises for what the agent does.

    The time limit is checked between turns; a reply that hangs is the caller's to abandon.
    """
    conversation = Conversation(bound, limits, episode_id)
    start = clock()
    while conversation.ending is None:
        asked = clock()
        if asked - start > limits.timeout:
            return _out_of_time(conversation, limits, asked - start)
        try:
            raw = ask(conversation.observation())
            conversation.take(raw, clock() - asked)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an agent raises is a value here
            return _failed(conversation, error, clock() - start)
    seconds = clock() - start
    if seconds > limits.timeout:
        return _out_of_time(conversation, limits, seconds)
    return conversation.finish(seconds=seconds)


async def run_episode_async(
    bound: BoundScenario,
    ask: AskAsync,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    episode_id: str = "episode",
    clock: Callable[[], float] = time.perf_counter,
) -> Episode:
    """Run one episode with an asynchronous agent, cancelling it at the time limit; otherwise like `run_episode`."""
    import asyncio  # noqa: PLC0415 - only asynchronous agents pay for the import

    conversation = Conversation(bound, limits, episode_id)
    start = clock()
    while conversation.ending is None:
        asked = clock()
        left = limits.timeout - (asked - start)
        try:
            raw = await asyncio.wait_for(_asked(ask, conversation.observation()), max(left, 0.0))
            conversation.take(raw, clock() - asked)
        except TimeoutError as error:
            if clock() - start >= limits.timeout:
                return _out_of_time(conversation, limits, clock() - start)
            return _failed(conversation, error, clock() - start)
        except Exception as error:  # noqa: BLE001 - whatever an agent raises is a value here
            return _failed(conversation, error, clock() - start)
    seconds = clock() - start
    if seconds > limits.timeout:
        return _out_of_time(conversation, limits, seconds)
    return conversation.finish(seconds=seconds)


async def _asked(ask: AskAsync, observation: Observation) -> Any:
    """Await one reply. ``sys.exit`` in the agent's code must not end the event loop that others share."""
    try:
        return await ask(observation)
    except SystemExit as error:
        msg = f"SystemExit: {error}"
        raise AgentFailure(msg) from error


def _out_of_time(conversation: Conversation, limits: Limits, seconds: float) -> Episode:
    text = f"the episode took {seconds:.1f} s; its limit is {limits.timeout:g} s"
    return conversation.finish(seconds=seconds, ending="time_limit", failure=text)


def out_of_time(bound: BoundScenario, limits: Limits, seconds: float) -> Episode:
    """Return the episode of an agent that hung and was abandoned: nothing it did later counts."""
    return _out_of_time(Conversation(bound, limits, "abandoned"), limits, seconds)


def agent_crashed(bound: BoundScenario, error: BaseException) -> Episode:
    """Return the episode of an agent whose code ended its thread, as ``sys.exit`` does."""
    text = f"{type(error).__name__}: {error}"[:EXCERPT]
    return Conversation(bound, Limits(), "crashed").finish(ending="agent_failed", failure=text)


def failed_before_start(bound: BoundScenario, error: EpisodeError) -> Episode:
    """Return the episode of an agent that could not be asked at all."""
    return Conversation(bound, Limits(), "not started").finish(ending="error", error=error)


def replay(bound: BoundScenario, turns: tuple[Turn, ...]) -> Episode:
    """Play scripted turns through a fresh environment, as references and counterexamples are.

    Where the turns end before the episode does, it counts as cut by its turn limit.
    """
    conversation = Conversation(bound, Limits(max_turns=max(len(turns), 1)), "replay")
    for turn in turns:
        if conversation.ending is not None:
            break
        conversation.take(turn)
    return conversation.finish()
