"""What a run leaves behind: one JSON line for the run, one an episode as it finishes, and a closing summary."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pytest_supportbench.conversation import Episode, Limits, TurnRecord
from pytest_supportbench.environment import CallRecord
from pytest_supportbench.errors import UsageError
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.scoring import SCORER_VERSION, Score

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
            "category": scenario.category,
            "tags": list(scenario.tags),
            "agent": self.agent,
            "trial": self.trial,
            "attempt": self.attempt,
            "verdict": self.verdict,
            "expected_escalation": scenario.escalation,
            **score_json(self.score),
            "ending": episode.ending,
            "action": episode.action,
            "turns": [_turn(record) for record in episode.turns],
            "calls": [_call(call) for call in episode.calls],
            "faults": [
                {"tool": fault.tool, "kind": fault.kind, "reached": fault.reached, "calls": list(fault.calls)}
                for fault in episode.faults
            ],
            "changes": [
                {"path": change.path, "before": change.before, "after": change.after}
                for change in episode.changes
            ],
            "usage": _usage(episode),
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


def _usage(episode: Episode) -> Json:
    known = [record.usage for record in episode.turns if record.usage is not None]
    return {
        "turns": len(episode.turns),
        "tool_calls": len(episode.calls),
        "prompt_tokens": _total([usage.prompt_tokens for usage in known]),
        "completion_tokens": _total([usage.completion_tokens for usage in known]),
    }


def _total(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def run_line(
    suites: Sequence[Mapping[str, Any]],
    agents: Sequence[Mapping[str, Any]],
    *,
    run_id: str,
    trials: int,
    limits: Limits,
    root: Path,
) -> Json:
    """Return the line that says what was run: suites with hashes, agent fingerprints, versions and settings."""
    return {
        "type": "run",
        "schema": SCHEMA_VERSION,
        "run": run_id,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "suites": list(suites),
        "agents": list(agents),
        "package": version("pytest-supportbench"),
        "scorer": SCORER_VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "git_commit": git_commit(root),
        "settings": {"trials": trials, "max_turns": limits.max_turns, "timeout": limits.timeout},
    }


def git_commit(root: Path) -> str | None:
    """Return the commit that ``root`` has checked out, with ``+dirty`` for changes; ``None`` outside git."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty=+dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


class ResultsFile:
    """Appends lines to one file from any thread and any process of a run.

    Every line is one ``write`` under a file lock and reaches the kernel before the call returns, so a killed run
    keeps all that finished. Whoever comes first replaces an earlier run's lines by this run's own run line;
    nothing is created before.
    """

    def __init__(self, path: Path, run_id: str, header: Callable[[], Json]) -> None:
        self.path = path
        self._run_id = run_id
        self._header = header
        self._begun = False
        self._closed = False

    def append(self, line: Json) -> None:
        """Append one line; ignored after `close`, when abandoned threads may still finish.

        Raises `UsageError` where the file cannot be written.
        """
        if self._closed:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(self.path) as descriptor:
                text = "" if self._begun or belongs_to(self.path, self._run_id) else self._begin(descriptor)
                self._begun = True
                _write(descriptor, (text + dump(line)).encode("utf-8", "replace"))
        except OSError as error:
            msg = (
                f"cannot write the results file {str(self.path)!r}: {error.strerror}; name another path with "
            )
            raise UsageError(msg + "--supportbench-results") from error

    def _begin(self, descriptor: int) -> str:
        os.ftruncate(descriptor, 0)
        return dump(self._header())

    def close(self) -> None:
        """Take no more lines."""
        self._closed = True


def belongs_to(path: Path, run_id: str) -> bool:
    """Tell whether a results file holds that run, not an earlier one."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return f'"run":"{run_id}"' in file.readline()


def closing_line(
    path: Path,
    run_id: str,
    *,
    reported: Collection[str],
    verdicts: Sequence[str],
    agents: Sequence[Json],
    exit_status: int,
    stopped_early: bool,
) -> Json:
    """Return the summary line; episodes in the file that no item reported are listed as unreported."""
    counts = {verdict: verdicts.count(verdict) for verdict in ("passed", "failed", "error")}
    return {
        "type": "summary",
        "run": run_id,
        "exit_status": exit_status,
        "stopped_early": stopped_early,
        "episodes": len(verdicts),
        "verdicts": counts,
        "agents": list(agents),
        "unreported": sorted(
            episode_key(line)
            for line in _lines(path)
            if line.get("type") == "episode" and episode_key(line) not in reported
        ),
    }


def write_closing(path: Path, line: Json) -> None:
    """Append the summary line to a finished run's file."""
    with _locked(path) as descriptor:
        _write(descriptor, dump(line).encode("utf-8", "replace"))


def episode_key(line: Mapping[str, Any]) -> str:
    """Return which episode of its run a line is about: agent, suite, scenario and trial."""
    return f"{line['agent']}/{line['suite']}/{line['scenario']}/{line['trial']}"


def _lines(path: Path) -> Iterator[Json]:
    """Yield the lines of a results file; one that was cut by a kill is left out."""
    with path.open(encoding="utf-8", errors="replace") as texts:
        for text in texts:
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        try:
            import fcntl  # noqa: PLC0415 - not on Windows, where appending is atomic enough for one process
        except ImportError:
            yield descriptor
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def dump(line: Mapping[str, Any]) -> str:
    """Return a mapping as one JSON line."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str) + "\n"


def point_at(path: Path, folder: Path) -> None:
    """Make ``last-run.jsonl`` in ``folder`` name the newest run, and let git ignore the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    pointer = folder / "last-run.jsonl"
    pointer.unlink(missing_ok=True)
    try:
        pointer.symlink_to(os.path.relpath(path, folder))
    except OSError:
        pointer.write_text(dump({"type": "pointer", "path": str(path.absolute())}), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class RunFile:
    """A results file as read back. ``complete`` is false where the closing summary is missing."""

    run: Json
    episodes: tuple[Json, ...]
    summary: Json | None

    @property
    def complete(self) -> bool:
        """Whether the run reached its end."""
        return self.summary is not None


def read_run(path: Path) -> RunFile:
    """Read a results file; a line that was cut by a kill is left out.

    Episodes that the summary lists as unreported are marked ``"unreported": true``; a pointer that `point_at` wrote
    is followed. Raises `ValueError` where the file is no results file.
    """
    run: Json | None = None
    episodes: list[Json] = []
    summary: Json | None = None
    for line in _lines(path):
        if line.get("type") == "pointer":
            return read_run(Path(line["path"]))
        if line.get("type") == "run":
            run = line
        elif line.get("type") == "episode":
            episodes.append(line)
        elif line.get("type") == "summary":
            summary = line
    if run is None:
        msg = f"{path} has no run line; name a file that pytest --supportbench-results wrote"
        raise ValueError(msg)
    unreported = set(summary["unreported"]) if summary else set()
    marked = ({**line, "unreported": True} if episode_key(line) in unreported else line for line in episodes)
    return RunFile(run, tuple(marked), summary)
