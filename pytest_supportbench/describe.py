"""Says in one line what a scenario permits, what an agent did, and what went wrong first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.expected import MatcherSpec, MatcherValue, MustState, RequiredCall
from pytest_supportbench.matchers import describe
from pytest_supportbench.records import Episode
from pytest_supportbench.results import Result
from pytest_supportbench.scenario import Scenario
from pytest_supportbench.scoring import Check, Score, brief
from pytest_supportbench.tools import ToolSpec
from pytest_supportbench.words import ZERO_TOLERANCE

_PLACE: Final = re.compile(r'File "([^"]+)", line (\d+)')
MAX_VALUE: Final = 32
"""Longer argument values than this are prose, which a one-line description leaves out."""


def permitted_path(scenario: Scenario, specs: Mapping[str, ToolSpec]) -> str:
    """Return how the expected outcome is reached, such as ``refund: issue_refund(charge_id=c1); telling 49.00 USD``.

    Only writes are named: reads are the agent's own way to find out.
    """
    first = scenario.expected[0]
    calls = [call for call in first.calls if specs[call.tool].effect == "writes"]
    names = " or ".join(first.actions)
    told = [_fact(must) for must in first.must_state]
    path = f"{names}: {', then '.join(map(_required, calls))}" if calls else names
    return f"{path}; telling {', '.join(told)}" if told else path


def _fact(must: MustState) -> str:
    """Return a fact's value; one that may be worded in many ways goes by its name."""
    if must.value.text is not None or must.value.mention is not None:
        return must.fact.replace("-", " ")
    value = getattr(must.value, must.value.kind)
    return f"{value} {must.unit[0]}" if must.unit else str(value)


def _required(call: RequiredCall) -> str:
    arguments = ", ".join(f"{name}={_plain(value)}" for name, value in call.args.items())
    return f"{call.tool}({arguments}){' (an attempt is enough)' if call.attempt else ''}"


def _plain(value: MatcherValue) -> str:
    """Return a literal or a matcher as a reader needs it, without the quotation marks of a check."""
    if not isinstance(value, MatcherSpec):
        return str(value)
    if value.any_of is not None:
        return " or ".join(map(_plain, value.any_of))
    if value.same_as is not None:
        return f"that of {value.same_as.split('.')[0]}"
    return describe(value)


def observed_path(episode: Episode, score: Score | None = None) -> str:
    """Return what the agent did, in the order that it did it, such as ``asked for confirmation, then stopped``.

    With its ``score`` it says of an outcome that should have changed the account, and was a mere word, that it was one.
    """
    steps: list[str] = []
    for record in episode.turns:
        if record.turn is None:
            steps.append("sent an invalid reply")
            continue
        for call in episode.calls:
            if call.turn != record.number or call.effect == "reads":
                continue
            outcome = "" if call.error is None else f" ({call.fault or call.error.code})"
            step = f"{'handed off with ' if call.committed and call.handoff else ''}{_short(call)}{outcome}"
            steps.append(f"{step} again" if call.committed and step in steps else step)
        if record.customer_reply is not None or (record.delivered and record.turn.asks_for):
            steps.append(f"asked for {', '.join(record.turn.asks_for) or 'information'}")
    steps.append(f"{_end(episode)}{_mere_word(episode, score)}")
    return brief(", then ".join(step for step in dict.fromkeys(steps) if step))


def _short(call: CallRecord) -> str:
    """Return a call with those of its arguments that are ids, amounts or choices, and not prose."""
    told = {
        name: str(value) for name, value in call.arguments.items() if isinstance(value, str | int | float)
    }
    arguments = [
        f"{name}={value}" for name, value in told.items() if len(value) <= MAX_VALUE and " " not in value
    ]
    return f"{call.tool}({', '.join(arguments)})"


def _end(episode: Episode) -> str:
    if episode.error is not None:
        return f"infrastructure error ({episode.error.cause})"
    if episode.ending == "acted":
        tried = [call for call in episode.calls if call.effect == "writes"]
        if tried and tried[-1].fault and not (tried[-1].committed or tried[-1].seen_ok):
            return f"stopped after the simulated {tried[-1].fault} with action {episode.action}"
        return f"action {episode.action}"
    failed = [call.fault or "a fault" for call in episode.calls if call.fault and not call.seen_ok]
    after = f" after the simulated {failed[-1]}" if failed else ""
    return {
        "asked": f"stopped{after}",
        "turn_limit": f"reached no outcome within its turns{after}",
        "time_limit": "ran out of time",
        "invalid_reply": "stopped on invalid replies",
        "agent_failed": f"crashed: {crash_text(episode.failure)}",
        "error": "",
    }[episode.ending]


def _mere_word(episode: Episode, score: Score | None) -> str:
    """Return that nothing was changed, where an agent gave an outcome, tried no change, and should have."""
    if score is None or episode.ending != "acted" or any(call.effect != "reads" for call in episode.calls):
        return ""
    due = any(check.id.startswith("state:") for check in score.dimensions["resolution"].failures)
    return " without changing anything" if due or score.escalation_class == "missed_escalation" else ""


def crash_text(failure: str) -> str:
    """Return an agent's failure in one line: the exception, and where it was raised if the text has a traceback."""
    first = failure.strip().partition("\n")[0]
    places = _PLACE.findall(failure)
    return f"{first} ({PurePath(places[-1][0]).name}:{places[-1][1]})" if places else first


def _no_answer(episode: Episode) -> str:
    """Return why the agent gave no answer that could be judged; empty where it gave one."""
    if episode.ending == "agent_failed":
        return f"the agent crashed: {crash_text(episode.failure)}"
    if episode.ending == "time_limit":
        return f"the agent ran out of time: {episode.failure}"
    if episode.ending == "invalid_reply":
        reasons = [record.invalid for record in episode.turns if record.invalid]
        return f"the agent's reply was no valid turn: {reasons[-1]}"
    return ""


def headline(result: Result) -> str:
    """Return the one line that a failure report begins with: what went wrong first, and which dimensions failed."""
    score = result.score
    if score is None:
        error = result.episode.error
        assert error is not None
        return f"infrastructure error ({error.cause}): {brief(error.message)}"
    if score.strict:
        return "passed"
    dimensions = ", ".join(name.replace("_", " ") for name in score.failed_dimensions)
    cause = _no_answer(result.episode)
    if cause:
        return f"{brief(cause)} (so {dimensions} failed)"
    check = worst(score)
    named = not check.code or check.actual.startswith(check.code.replace("_", " "))
    code = "" if named else f"{check.code}: "
    return f"failed {dimensions}: {code}{_what(check)}"


def _what(check: Check) -> str:
    if check.id.startswith(("call:", "action", "state:", "fact:")):
        return f"expected {brief(check.expected)}; {brief(check.actual)}"
    return brief(check.actual)


def worst(score: Score) -> Check:
    """Return the failed check to name first: zero tolerance, other violations, wrong calls, wrong outcome, rest."""

    def rank(check: Check) -> int:
        if check.code in ZERO_TOLERANCE:
            return 0
        if check.code is not None and check.code not in {"missed_escalation", "unnecessary_handoff"}:
            return 1
        if check.code is not None:
            return 2
        for number, prefix in enumerate(("call:", "extra_writes", "action", "state:", "fact:"), start=3):
            if check.id.startswith(prefix):
                return number
        return 9

    failed: list[Check] = [
        check
        for name, dimension in score.dimensions.items()
        if name != "explanation"
        for check in dimension.failures
    ]
    return min(failed, key=rank)
