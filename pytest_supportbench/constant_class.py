"""What an agent that escalates whatever it is asked would have got: recall means nothing without it beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pytest_supportbench.agents.builtin import AlwaysEscalate
from pytest_supportbench.agents.filling import filled
from pytest_supportbench.agents.spec import AgentSpec
from pytest_supportbench.conversation import make_environment
from pytest_supportbench.episode import run_episode
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.protocol import ToolCall, Turn
from pytest_supportbench.records import Episode, Limits, TurnRecord
from pytest_supportbench.scoring import EscalationClass, escalation_class

_AGENT: Final = AlwaysEscalate(AgentSpec(raw="always-escalate", kind="always-escalate"), Path())


def constant_class(bound: BoundScenario) -> EscalationClass | None:
    """Return the escalation class of always-escalate on a scenario; ``None`` where the toolset breaks.

    Its one call is made without the conversation around it, which every scenario of every run would pay for; where
    that does not hand the case off, or the outcome depends on more, its whole episode is run.
    """
    try:
        episode = _handed_off(bound) if len(bound.scenario.expected) == 1 else None
        if episode is None:
            episode = run_episode(bound, _AGENT.reply, limits=Limits())
        return escalation_class(bound, episode) if episode.error is None else None
    except ToolsetError:
        return None


def _handed_off(bound: BoundScenario) -> Episode | None:
    """Return what counts of the episode for its class; ``None`` where the call does not hand the case off."""
    environment, scenario = make_environment(bound), bound.scenario
    tool = next((tool for tool in environment.tools if tool.handoff), None)
    if tool is None:
        return None
    policies = [bound.suite.policy_texts[name].text for name in scenario.policies]
    account = environment.account(scenario.visible)
    call = ToolCall(tool=tool.name, arguments=filled(tool, account, policies, scenario.as_of.isoformat()))
    record = environment.call(call, 1)
    if not record.committed or record.status != "ok":
        return None
    return Episode(
        scenario_id=scenario.id,
        turns=(TurnRecord(1, Turn(tool_calls=(call,)), delivered=True),),
        calls=(record,),
        changes=(),
        faults=(),
        ending="acted",
    )
