"""What a run leaves behind: one JSON line for the run, one an episode as it finishes, and a closing summary."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from json import dumps
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic_core import PydanticSerializationError, to_json

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.records import Episode, Limits, TurnRecord
from pytest_supportbench.scoring import SCORER_VERSION, Score
from pytest_supportbench.usage import usage_json

SCHEMA_VERSION: Final = 1

Verdict: TypeAlias = Literal["passed", "failed", "error"]
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """One scored episode: ``score`` is ``None`` where the infrastructure broke, which says nothing of the agent.

    ``trial`` and ``attempt`` count from 1; a rerun of one item is a further attempt at the same trial.
    """

    bound: BoundScenario
    agent: str
    trial: int
    episode: Episode
    score: Score | None
    attempt: int = 1
    output: str = ""

    @property
    def verdict(self) -> Verdict:
        """``passed`` for a strict pass, ``failed`` otherwise, ``error`` where there is nothing to judge."""
        if self.score is None:
            return "error"
        return "passed" if self.score.strict else "failed"

    @property
    def key(self) -> str:
        """Which episode this is within its run: agent, suite, scenario and trial."""
        suite = self.bound.suite.suite.name
        return episode_key(
            {"agent": self.agent, "suite": suite, "scenario": self.bound.scenario.id, "trial": self.trial}
        )

    def to_json(self) -> Json:
        """Return the episode line as JSON data."""
        scenario, episode = self.bound.scenario, self.episode
        return {
            "type": "episode",
            "suite": self.bound.suite.suite.name,
            "scenario": scenario.id,
            "scenario_sha256": self.bound.sha256,
            "title": scenario.title,
            "twin": scenario.twin,
            "category": scenario.category,
            "tags": list(scenario.tags),
            "agent": self.agent,
            "trial": self.trial,
            "attempt": self.attempt,
            "verdict": self.verdict,
            "expected_escalation": scenario.escalation,
            **score_json(self.score),
            "replayed": episode.replayed,
            "ending": episode.ending,
            "action": episode.action,
            "customer_simulated": episode.customer_simulated,
            "turns": turns_json(episode),
            "calls": [_call(call) for call in episode.calls],
            "faults": [
                {"tool": fault.tool, "kind": fault.kind, "reached": fault.reached, "calls": list(fault.calls)}
                for fault in episode.faults
            ],
            "changes": [
                {"path": change.path, "before": change.before, "after": change.after}
                for change in episode.changes
            ],
            "usage": usage_json(episode),
            "timing": {
                "seconds": round(episode.seconds, 6),
                "agent_seconds": round(episode.agent_seconds, 6),
            },
            "failure": episode.failure,
            "error": None
            if episode.error is None
            else {
                "cause": episode.error.cause,
                "message": episode.error.message,
                "remedy": episode.error.remedy,
            },
            "output": self.output,
        }


def score_json(score: Score | None) -> Json:
    """Return the scoring part of an episode line; all its values are ``None`` or empty for an error."""
    if score is None:
        return {
            "dimensions": {},
            "strict": None,
            "strict_effects": None,
            "escalation_class": None,
            "violations": [],
            "explanation": None,
        }
    return {
        "dimensions": {
            name: {
                "passed": dimension.passed,
                "checks": [
                    {
                        "id": check.id,
                        "passed": check.passed,
                        "expected": check.expected,
                        "actual": check.actual,
                        "reason": check.reason,
                        "code": check.code,
                        "basis": check.basis,
                    }
                    for check in dimension.checks
                ],
            }
            for name, dimension in score.dimensions.items()
        },
        "strict": score.strict,
        "strict_effects": score.strict_effects,
        "escalation_class": score.escalation_class,
        "violations": [
            {"code": violation.code, "basis": violation.basis, "evidence": violation.evidence}
            for violation in score.violations
        ],
        "explanation": {"share": score.dimensions["explanation"].share, "calibrated": False},
    }


def turns_json(episode: Episode) -> list[Json]:
    """Return what the agent replied, turn by turn, as an episode line has it."""
    return [_turn(record) for record in episode.turns]


def _turn(record: TurnRecord) -> Json:
    turn = record.turn
    return {
        "action": turn.action if turn else None,
        "message": turn.message if turn else "",
        "tool_calls": [{"tool": call.tool, "arguments": call.arguments} for call in turn.tool_calls]
        if turn
        else [],
        "asks_for": list(turn.asks_for) if turn else [],
        "delivered": record.delivered,
        "live": record.live,
        "customer_reply": record.customer_reply,
        "invalid_reply": None
        if record.invalid is None
        else {"reason": record.invalid, "excerpt": record.excerpt},
    }


def _call(call: CallRecord) -> Json:
    return {
        "turn": call.turn,
        "tool": call.tool,
        "arguments": call.arguments,
        "status": call.status,
        "result": call.result,
        "error": None if call.error is None else call.error.model_dump(mode="json", exclude_none=True),
        "fault": call.fault,
        "effect": call.effect,
        "committed": call.committed,
        "replayed": call.replayed,
        "handoff": call.handoff,
        "at": call.at,
    }


def run_line(
    suites: Sequence[Mapping[str, Any]],
    agents: Sequence[Mapping[str, Any]],
    *,
    run_id: str,
    trials: int,
    limits: Limits,
    root: Path,
    customer: Mapping[str, Any] | None = None,
    shard: Mapping[str, Any] | None = None,
) -> Json:
    """Return the line that says what was run: suites with hashes, agent fingerprints, versions and settings.

    ``customer`` is the fingerprint of a simulated customer, ``shard`` says which part of a run this is.
    """
    return {
        "type": "run",
        "schema": SCHEMA_VERSION,
        "run": run_id,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "suites": list(suites),
        "agents": list(agents),
        "customer": None if customer is None else dict(customer),
        "package": version("pytest-supportbench"),
        "scorer": SCORER_VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "git_commit": git_commit(root),
        "settings": {
            "trials": trials,
            "max_turns": limits.max_turns,
            "timeout": limits.timeout,
            "shard": None if shard is None else shard["shard"],
            "plan": None if shard is None else shard["plan"],
        },
    }


def git_commit(root: Path) -> str | None:
    """Return the commit that ``root`` has checked out, with ``+dirty`` for changes; ``None`` outside git."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty=+dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def episode_key(line: Mapping[str, Any]) -> str:
    """Return which episode of its run a line is about: agent, suite, scenario and trial."""
    return f"{line['agent']}/{line['suite']}/{line['scenario']}/{line['trial']}"


def dump(line: Mapping[str, Any]) -> str:
    """Return a mapping as one JSON line; half a surrogate pair, which UTF-8 cannot hold, stays in it as it is."""
    return json_text(line) + "\n"


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON, compact without ``indent``; what JSON does not know becomes text."""
    try:
        return to_json(value, indent=indent, inf_nan_mode="constants", fallback=str).decode()
    except PydanticSerializationError:  # half a surrogate pair, or hundreds of levels
        separators = (",", ":" if indent is None else ": ")
        return dumps(value, ensure_ascii=False, indent=indent, separators=separators, default=str)
