"""Runs one agent through one episode within its limits; whatever the agent does becomes a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import sleep
from typing import Any, Final, TypeAlias

from pytest_supportbench.agents.retries import Grace
from pytest_supportbench.clock import now
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.customer import CustomerBrief, Simulation
from pytest_supportbench.errors import (
    AgentFailure,
    InfrastructureError,
    ReplayedFailure,
    ToolsetError,
    is_interrupt,
)
from pytest_supportbench.live_tools import LiveTools
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.pacing import Place, RunOver
from pytest_supportbench.protocol import Observation, Turn
from pytest_supportbench.records import EXCERPT, Episode, EpisodeError, Limits
from pytest_supportbench.redaction import said_by

TOOL_SECONDS: Final = 1.0
"""Seconds that a tool may still run in an episode that is given up before it counts as what hangs."""

Ask: TypeAlias = Callable[[Observation], Any]


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
    remedy = error.remedy if isinstance(error, AgentFailure) else ""
    return replace(episode, failure_replayed=isinstance(error, ReplayedFailure), failure_remedy=remedy)


def failure_text(error: BaseException) -> str:
    """Return what an episode keeps of an exception that the agent raised: bounded, and safe to store."""
    said = said_by(error)
    text = said if isinstance(error, AgentFailure) else f"{type(error).__name__}: {said}"
    return text[:EXCERPT].encode("utf-8", "replace").decode()


def run_episode(
    bound: BoundScenario,
    ask: Ask,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    episode_id: str = "episode",
    clock: Callable[[], float] = now,
) -> Episode:
    """Run one episode with an agent and return it; never raises for what the agent does.

    The time limit is checked between turns; a reply that hangs is the caller's to abandon.
    """
    return drive(Dialogue(Conversation(bound, limits, episode_id), limits, clock), ask)


class Dialogue:
    """One conversation on its way to an episode: its clock, its limits, and its tools for live calls.

    ``place`` is the episode's place at the agent's server, where others ask that too. A ``simulation`` answers for the
    customer what the script has nothing for. The clock stands still meanwhile, as it does while a busy server is waited
    for, and the answers of an episode together may take as long again as the agent.
    """

    def __init__(
        self,
        conversation: Conversation,
        limits: Limits,
        clock: Callable[[], float] = now,
        simulation: Simulation | None = None,
    ) -> None:
        self.conversation = conversation
        self.tools = LiveTools(conversation)
        self._limits = limits
        self._clock = clock
        self._start = clock()
        self._off = 0.0
        self._answering = 0.0
        self._excused = 0.0
        self._pauses = 0.0
        self.place: Place | None = None
        self._stands: float | None = None
        self._simulation = simulation
        if simulation is not None:
            conversation.simulate = self._simulate

    def _simulate(self, brief: CustomerBrief) -> str:
        assert self._simulation is not None
        left = max(self._limits.timeout - self._answering, 0.0)
        with self._standing_still(customer=True):
            return self._simulation.answer(brief, left)

    @contextmanager
    def _standing_still(self, *, customer: bool = False) -> Iterator[None]:
        self._stands = begin = self._clock()
        try:
            yield
        finally:
            spent = self._clock() - begin
            self._off += spent
            self._answering += spent if customer else 0.0
            self._stands = None

    def seconds(self) -> float:
        """Return the seconds since the episode began, without those that are not the agent's; from any thread."""
        stands = self._stands
        spent = (self._clock() if stands is None else stands) - self._start
        return max(spent - self._off - self._excused, 0.0)

    @property
    def limit(self) -> float:
        """The seconds that the episode may take."""
        return self._limits.timeout

    def excuse(self, seconds: float) -> None:
        """Take off seconds in which other episodes kept this one waiting, together at most as many as the limit."""
        self._excused = min(self._excused + seconds, self._limits.timeout)

    def refused(self, pause: float, asked: float) -> Grace:
        """Give the place back to a busy server, which asked for so much of the pause that follows; both in seconds.

        All pauses together cost no time as long as they are within the limit; after that no retry is spared either.
        """
        ours = self.place is not None and self.place.refused(asked)
        free = self._pauses + pause <= self._limits.timeout
        return Grace(free=free, ours=ours and free)

    def wait(self, pause: float, grace: Grace) -> None:
        """Wait so many seconds, and then for a place: that is never charged, as waiting for the first one is not.

        Raises `InfrastructureError` where the run ends meanwhile.
        """
        if not grace.free:
            sleep(pause)
        with self._standing_still():
            if grace.free:
                self._pauses += pause
                sleep(pause)
            if self.place is not None:
                try:
                    self.place.again()
                except RunOver as error:
                    raise InfrastructureError("run_over", str(error)) from None

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
            if self.tools.closed:
                raise AgentFailure("the reply came after the episode was given up")
            self.conversation.take(raw, seconds)

    def finish(self) -> Episode:
        """Return the finished episode; one that took too long has failed, whatever came of it."""
        if self.seconds() > self._limits.timeout:
            return self.out_of_time()
        return self._broken() or self.conversation.finish(seconds=self.seconds())

    def failed(self, error: BaseException) -> Episode:
        """Return the episode that an exception ended; at the time limit that is what ended it."""
        if isinstance(error, AgentFailure | TimeoutError) and self.time_left() == 0:
            return self.out_of_time(str(error) if isinstance(error, AgentFailure) else "")
        return self._broken() or _failed(self.conversation, error, self.seconds())

    def out_of_time(self, detail: str = "") -> Episode:
        """Return the episode as one that took too long; ``detail`` is what the adapter saw of it."""
        if self._excused == self._limits.timeout:
            waited = (
                f"for {self._excused:g} s more others blocked its event loop; a lower concurrency may help"
            )
            detail = f"{waited}; {detail}" if detail else waited
        return self._broken() or _out_of_time(self.conversation, self._limits, self.seconds(), detail)

    def _broken(self) -> Episode | None:
        """Close the tools; where they broke, return the episode, which then says nothing about the agent."""
        self.tools.close()
        broken = self.tools.broken
        return None if broken is None else _failed(self.conversation, broken, self.seconds())

    def abandoned(self, bound: BoundScenario) -> Episode:
        """Return the episode of an agent that hangs, as it stands; nothing that the agent does later counts.

        Where a tool is what hangs, that says nothing about the agent, and what was done before is left out: nobody can
        tell how far the tool has come.
        """
        if not self.tools.close(TOOL_SECONDS):
            hung = ToolsetError("a tool was called that does not return")
            return failed_before_start(bound, toolset_broke(hung))
        with self.tools.lock:
            return self.out_of_time()


def drive(dialogue: Dialogue, ask: Ask) -> Episode:
    """Lead a dialogue to its end and return the episode."""
    while not dialogue.over:
        asked = dialogue.seconds()
        if dialogue.time_left() == 0:
            return dialogue.out_of_time()
        try:
            raw = ask(dialogue.observation())
            dialogue.take(raw, dialogue.seconds() - asked)
        except BaseException as error:
            if is_interrupt(error):
                raise
            return dialogue.failed(error)
    return dialogue.finish()


def _out_of_time(conversation: Conversation, limits: Limits, seconds: float, detail: str = "") -> Episode:
    text = f"the episode took {seconds:.1f} s; its limit is {limits.timeout:g} s"
    if detail:
        text = f"{text}; {detail}"[:EXCERPT].encode("utf-8", "replace").decode()
    return conversation.finish(seconds=seconds, ending="time_limit", failure=text)


def agent_crashed(bound: BoundScenario, error: BaseException) -> Episode:
    """Return the episode of an agent whose code ended its thread, as ``sys.exit`` does."""
    failed = Conversation(bound, Limits(), "crashed")
    return failed.finish(ending="agent_failed", failure=failure_text(error))


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
