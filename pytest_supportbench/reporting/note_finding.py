"""The one sentence that a result note begins with; its wording follows what the run can show, and no further."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_supportbench.comparison import Paired
from pytest_supportbench.counted import counted
from pytest_supportbench.note import AgentNote, Measure, Note
from pytest_supportbench.reporting.text import bounded
from pytest_supportbench.statistics import Interval

FEW: Final = 30
"""Fewer scenarios than this are called few: a share's 95 % interval is wider than 30 points then, near the middle."""

NEAR: Final = 5.0
"""Agents whose difference is known to be within so many points are told to be alike, not the run to be underpowered."""

MAX_NAME: Final = 80


def share(part: int, whole: int, interval: Interval | None) -> str:
    """Return ``4/4 (51 to 100 %)``; a share of nothing is a dash."""
    if interval is None:
        return "– (no such case)"
    return f"{part}/{whole} ({100 * interval.low:.0f} to {100 * interval.high:.0f} %)"


def measured(found: Measure) -> str:
    """Return a measure with its interval."""
    return share(found.part, found.whole, found.interval)


def named(agent: str) -> str:
    """Return an agent's name, bounded."""
    return bounded(agent, MAX_NAME)


def finding(note: Note) -> str:
    """Return the finding in one sentence.

    What keeps a run from being judged is said first, and then there is no share. Errors, episodes without an
    answer, replayed replies and simulated customers are said before the shares. Recall stands beside specificity; an
    agent that cannot be told from a bot that always escalates, few scenarios and differences that may be chance are
    called so.
    """
    episodes = sum(item.evidence.trials for item in note.agents)
    if not episodes:
        who = f" of {_names(note)}" if note.agents else ""
        killed = f", and the run is incomplete ({'; '.join(note.unfinished)})" if note.unfinished else ""
        return f"There is no finding: the results file has no episode{who} that counts{killed}."
    if note.unfinished:
        why = "; ".join(note.unfinished)
        return (
            f"This run is incomplete ({why}), so there is no finding: {counted(episodes, 'episode')} of "
            f"{_names(note)} {'is' if episodes == 1 else 'are'} on record, and no share of them stands for the whole."
        )
    parts = [part for item in note.agents for part in _agent(item)]
    parts += [_difference(pair) for pair in note.pairs]
    text = "; ".join(parts)
    if note.proviso:
        return f"{note.proviso}, {text}."
    own = text.startswith(named(note.agents[0].agent))  # a name keeps its first letter as it is
    return f"{text if own else text[0].upper() + text[1:]}."


def _names(note: Note) -> str:
    return ", ".join(named(item.agent) for item in note.agents)


def _agent(found: AgentNote) -> Iterator[str]:
    name, trials = named(found.agent), found.evidence.trials
    if not found.strict.whole:
        if not trials:
            yield f"there is no episode of {name}"
            return
        causes = ", ".join(
            f"{cause} ×{count}" for cause, (count, _, _) in sorted(found.summary.errors.items())
        )
        whole = f"all {trials} episodes" if trials > 1 else "the one episode"
        yield (
            f"nothing of {name} could be scored: {whole} ended in infrastructure errors ({bounded(causes, 200)}), "
            "which say nothing about the agent"
        )
        return
    yield from caveats(found)
    what = "episodes" if found.strict.whole > found.scenarios else "scenarios"
    few = f", on few scenarios ({found.scenarios})" if found.scenarios < FEW else ""
    yield f"{name} passed all four dimensions in {measured(found.strict)} of its scored {what}{few}"
    yield escalation(found)


def caveats(found: AgentNote) -> Iterator[str]:
    """Yield what must be said before any share: errors, no answers, replayed replies, simulated customers."""
    name = named(found.agent)
    errors, trials = found.evidence.errors, found.evidence.trials
    if errors:
        yield (
            f"{errors} of {counted(trials, 'episode')} of {name} ended in infrastructure errors and are left out, "
            f"which makes {found.strict.part}/{trials} if they count as failures"
        )
    silent = found.summary.no_answer
    if silent.count:
        yield (
            f"{silent.count} of {counted(silent.whole, 'scored episode')} of {name} ended without an answer of its own "
            f"({silent.words})"
        )
    stored = {kind: found.summary.replayed.get(kind, 0) for kind in ("yes", "partly")}
    if any(stored.values()):
        whole = found.strict.whole
        partly = f" and partly in {stored['partly']}" if stored["partly"] else ""
        yield (
            f"the replies of {name} were replayed from an earlier run in {stored['yes']} of {whole} scored episodes"
            f"{partly}, so that the agent was not asked there"
        )
    if found.simulated:
        of = f"{found.simulated} of {counted(trials, 'episode')}"
        yield f"a simulated customer answered in {of}, which no rerun repeats"


def escalation(found: AgentNote) -> str:
    """Return recall beside specificity, with what the two together do not show."""
    table = found.escalations
    if table.recall is None and table.specificity is None:
        return "none of its cases had to be handed off, and none had to be kept"
    recall, specificity = share(*table.must, table.recall), share(*table.must_not, table.specificity)
    both = f"recall of escalations is {recall} beside a specificity of {specificity}"
    return f"{both}{_like(found)}"


def _like(found: AgentNote) -> str:
    table = found.escalations
    if table.like_always_escalate:
        return ", which cannot be told from a bot that always escalates"
    if table.specificity is None:
        return ", so nothing tells it from a bot that always escalates"
    if table.recall is None:
        return ", so nothing tells it from a bot that never escalates"
    if table.balanced_accuracy is not None and table.balanced_accuracy <= 0.5:  # noqa: PLR2004 - what any constant has
        found_out = f"a balanced accuracy of {table.balanced_accuracy:.2f}"
        return f", {found_out} that is no more than the 0.50 of an agent that always decides alike"
    return ""


def _difference(pair: Paired) -> str:
    agent, baseline = named(pair.agent), named(pair.baseline)
    if pair.test is None:
        return f"{agent} and {baseline} have no scenario that both have scored"
    low, high = 100 * pair.test.interval.low, 100 * pair.test.interval.high
    points = f"{float(100 * pair.difference):+.0f} points ({low:+.0f} to {high:+.0f})"
    where = f"on {counted(pair.scenarios, 'scenario')} that both have scored"
    of = f"the pass rate of {agent} differs from that of {baseline} by {points} {where}"
    chance = f"p = {pair.test.adjusted:.2g}"
    if pair.test.differs:
        return f"{of}, which chance alone hardly makes ({chance})"
    most = max(abs(low), abs(high))
    if most <= NEAR:
        return f"{of}, no evidence of a difference ({chance}), and one of more than {most:.0f} points is ruled out"
    unknown = f"it may be chance ({chance}), and one of {most:.0f} points is not ruled out"
    return f"{of}, an underpowered difference: {unknown}"
