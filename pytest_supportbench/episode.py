"""Runs one agent through one episode within its limits; whatever the agent does becomes a value."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.customer import CustomerBrief, Simulation
from pytest_supportbench.errors import AgentFailure, InfrastructureError, ReplayedFailure, ToolsetError
from pytest_supportbench.live_tools import LiveTools
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.protocol import Observation, Turn
from pytest_supportbench.records import EXCERPT, Episode, EpisodeError, Limits

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
    episode = conversation.finish(seconds=seconds, ending="agent_failed", failure=failure_text(error))
    return replace(episode, failure_replayed=isinstance(error, ReplayedFailure))


def failure_text(error: BaseException) -> str:
    """Return what an episode keeps of an exception that the agent raised: bounded, and safe to store."""
    text = str(error) if isinstance(error, AgentFailure) else f"{type(error).__name__}: {error}"
    return text[:EXCERPT].encode("utf-8", "replace").decode()


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
    return drive(Dialogue(Conversation(bound, limits, episode_id), limits, clock), ask)


async def run_episode_async(
    bound: BoundScenario,
    ask: AskAsync,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    episode_id: str = "episode",
    clock: Callable[[], float] = time.perf_counter,
) -> Episode:
    """Run one episode with an asynchronous agent, cancelling it at the time limit; otherwise like `run_episode`."""
    return await drive_async(Dialogue(Conversation(bound, limits, episode_id), limits, clock), ask)


class Dialogue:
    """One conversation on its way to an episode: its clock, its limits, and its tools for live calls.

    A ``simulation`` answers for the customer what the script has nothing for. The clock stands still meanwhile, and
    the answers of an episode together may take as long again as the agent.
    """

    def __init__(
        self,
        conversation: Conversation,
        limits: Limits,
        clock: Callable[[], float] = time.perf_counter,
        simulation: Simulation | None = None,
    ) -> None:
        self.conversation = conversation
        self.tools = LiveTools(conversation)
        self._limits = limits
        self._clock = clock
        self._start = clock()
        self._waited = 0.0
        self._simulation = simulation
        if simulation is not None:
            conversation.simulate = self._simulate

    def _simulate(self, brief: CustomerBrief) -> str:
        assert self._simulation is not None
        begin = self._clock()
        try:
            return self._simulation.answer(brief, max(self._limits.timeout - self._waited, 0.0))
        finally:
            self._waited += self._clock() - begin

    def seconds(self) -> float:
        """Return the seconds since the episode began, without those that a simulated customer took."""
        return self._clock() - self._start - self._waited

    def time_left(self) -> float:
        """Return the seconds until the episode's limit; not below 0."""
        return max(self._limits.timeout - self.seconds(), 0.0)

    @property
    def over(self) -> bool:
        """Whether nothing more is asked of the agent."""
        return self.conversation.ending is not None

    def observation(self) -> Observation:
        """Return what the agent sees now."""
        with self.tools.lock:
            return self.conversation.observation()

    def take(self, raw: object, seconds: float) -> None:
        """Take one reply. Raises `ToolsetError` where a live call broke the toolset."""
        with self.tools.lock:
            if self.tools.broken is not None:
                raise self.tools.broken
            self.conversation.take(raw, seconds)

    async def take_async(self, raw: object, seconds: float) -> None:
        """Take one reply like `take`, without holding up the event loop while a simulated customer answers."""
        if self._simulation is None:
            self.take(raw, seconds)
            return
        import asyncio  # noqa: PLC0415 - only asynchronous agents pay for the import

        from pytest_supportbench.executor import DaemonExecutor  # noqa: PLC0415 - likewise

        executor = DaemonExecutor(1, "supportbench-take")
        try:
            await asyncio.get_running_loop().run_in_executor(executor, self.take, raw, seconds)
        finally:
            executor.shutdown()

    def finish(self) -> Episode:
        """Return the finished episode; one that took too long has failed, whatever came of it."""
        self.tools.close()
        if self.seconds() > self._limits.timeout:
            return self.out_of_time()
        return self.conversation.finish(seconds=self.seconds())

    def failed(self, error: BaseException) -> Episode:
        """Return the episode that an exception ended; at the time limit that is what ended it."""
        self.tools.close()
        if isinstance(error, AgentFailure | TimeoutError) and self.time_left() == 0:
            return self.out_of_time(str(error) if isinstance(error, AgentFailure) else "")
        return _failed(self.conversation, self.tools.broken or error, self.seconds())

    def out_of_time(self, detail: str = "") -> Episode:
        """Return the episode as one that took too long; ``detail`` is what the adapter saw of it."""
        self.tools.close()
        return _out_of_time(self.conversation, self._limits, self.seconds(), detail)


def drive(dialogue: Dialogue, ask: Ask) -> Episode:
    """Lead a dialogue with a synchronous agent to its end and return the episode."""
    while not dialogue.over:
        asked = dialogue.seconds()
        if dialogue.time_left() == 0:
            return dialogue.out_of_time()
        try:
            raw = ask(dialogue.observation())
            dialogue.take(raw, dialogue.seconds() - asked)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an agent raises is a value here
            return dialogue.failed(error)
    return dialogue.finish()


async def drive_async(dialogue: Dialogue, ask: AskAsync) -> Episode:
    """Lead a dialogue with an asynchronous agent to its end, cancelling it at the time limit."""
    import asyncio  # noqa: PLC0415 - only asynchronous agents pay for the import

    while not dialogue.over:
        asked = dialogue.seconds()
        try:
            raw = await asyncio.wait_for(_asked(ask, dialogue.observation()), dialogue.time_left())
            await dialogue.take_async(raw, dialogue.seconds() - asked)
        except Exception as error:  # noqa: BLE001 - whatever an agent raises is a value here
            return dialogue.failed(error)
    return dialogue.finish()


async def _asked(ask: AskAsync, observation: Observation) -> Any:
    """Await one reply. ``sys.exit`` in the agent's code must not end the event loop that others share."""
    try:
        return await ask(observation)
    except SystemExit as error:
        msg = f"SystemExit: {error}"
        raise AgentFailure(msg) from error


def _out_of_time(conversation: Conversation, limits: Limits, seconds: float, detail: str = "") -> Episode:
    text = f"the episode took {seconds:.1f} s; its limit is {limits.timeout:g} s"
    if detail:
        text = f"{text}; {detail}"[:EXCERPT].encode("utf-8", "replace").decode()
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
