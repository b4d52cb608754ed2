"""One agent's sections of a result note: situations, scores, hand-offs, violations, trials, errors, explanation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_supportbench.counted import counted
from pytest_supportbench.escalation import RATIOS
from pytest_supportbench.note import AgentNote, Situation
from pytest_supportbench.reporting.document import Block, Bullets, Heading, Paragraph, Table
from pytest_supportbench.reporting.no_answer import of_them
from pytest_supportbench.reporting.note_finding import measured, share
from pytest_supportbench.statistics import Interval

_NONE: Final = "–"

_CLASSES: Final = (
    "correct_escalation",
    "misrouted",
    "missed_escalation",
    "correct_autonomy",
    "unnecessary_handoff",
    "abandoned",
)


def agent_blocks(found: AgentNote, level: int, *, shares: bool) -> Iterator[Block]:
    """Yield an agent's sections under headings of ``level``; without ``shares`` none that a reader could quote."""
    yield from _situations(found, level)
    yield from _no_answer(found, level)
    if shares and found.strict.whole:
        yield from _scores(found, level)
        yield from _escalations(found, level)
        yield from _trials(found, level)
    if found.strict.whole:
        yield from _violations(found, level)
    yield from _errors(found, level)
    if shares and found.strict.whole:
        yield from _explanation(found, level)


def words(name: str) -> str:
    """Return a class or a code as people write it."""
    return name.replace("_", " ").replace("handoff", "hand-off")


def _situations(found: AgentNote, level: int) -> Iterator[Block]:
    groups = (
        ("must", _must_title(found.situations)),
        ("must_not", "Routine cases: each has a permitted path, and must not be handed off"),
        ("either", "Other cases: with or without a hand-off"),
    )
    yield Heading("Situations", level)
    if not found.situations:
        yield Paragraph("There are none.")
    for expected, title in groups:
        rows = [item for item in found.situations if item.expected_escalation == expected]
        if rows:
            yield Heading(title, level + 1)
            yield Table(
                ("scenario", "situation", "permitted path", "observed behaviour", "outcome"),
                [
                    (item.scenario, item.title, item.permitted or _NONE, item.observed, _outcome(item))
                    for item in rows
                ],
            )


def _must_title(situations: Sequence[Situation]) -> str:
    must = [item for item in situations if item.expected_escalation == "must"]
    safety = sum(item.safety for item in must)
    which = (
        "Safety escalations" if safety == len(must) else f"Escalations, {safety} of {len(must)} for safety"
    )
    return f"{which}: must be handed off"


def _outcome(item: Situation) -> str:
    """Return the class, the trials where there are several, what a gate calls it, and what went wrong first."""
    parts = [words(item.escalation_class)] if item.escalation_class not in {None, "either"} else []
    if item.scored + item.errors > 1:
        errors = f", {counted(item.errors, 'infrastructure error')}" if item.errors else ""
        parts = [f"passed {item.passed} of {item.scored} trials{errors}", *parts]
    if item.gated:
        parts.insert(0, item.gated)
    return "; ".join((*parts, item.outcome))


def _no_answer(found: AgentNote, level: int) -> Iterator[Block]:
    ended = found.summary.no_answer.endings
    if not ended:
        return
    yield Heading("Episodes without an answer of the agent's own", level)
    yield Paragraph(
        "They are scored, and fail, but pass what only a deed can break: whoever does nothing keeps nearly every "
        "policy."
    )
    yield Table(
        ("ending", "episodes", "most frequent text", "remedy"),
        [(words(item.ending), str(item.count), item.told or _NONE, item.remedy or _NONE) for item in ended],
    )


def _scores(found: AgentNote, level: int) -> Iterator[Block]:
    summary, trials = found.summary, found.evidence.trials
    broken = summary.passed_of_all
    yield Heading("Scores", level)
    hollow = summary.no_answer.dimensions
    rows = [
        (name.replace("_", " "), "; ".join(filter(None, (measured(item), of_them(hollow.get(name, 0))))))
        for name, item in found.dimensions.items()
    ]
    rows += [
        ("strict pass: all four dimensions", measured(found.strict)),
        ("strict pass, errors counted as failures", f"{broken.part}/{broken.whole}"),
        ("strict pass by effects alone, without checks of wording", measured(found.effects)),
    ]
    yield Table(("dimension", "passed"), rows)
    yield Paragraph(
        f"{counted(found.scenarios, 'scenario')}, {counted(trials, 'trial')} of which {found.strict.whole} scored. "
        "There is no weighted average."
    )
    yield Heading("By area: described, not tested", level + 1)
    yield Table(("area", "strict pass"), [(name, measured(item)) for name, item in found.areas.items()])


def _escalations(found: AgentNote, level: int) -> Iterator[Block]:
    table = found.escalations
    yield Heading("Hand-offs", level)
    best = f"{table.always_escalate:.2f}"
    yield Table(
        (
            "",
            "recall",
            "specificity",
            "routine solved",
            "balanced accuracy",
            "Matthews",
            *(f"cost at {ratio}:1" for ratio in RATIOS),
        ),
        (
            (
                found.agent,
                share(*table.must, table.recall),
                share(*table.must_not, table.specificity),
                measured(found.solved),
                _number(table.balanced_accuracy),
                _number(table.matthews),
                *(_number(table.cost(ratio)) for ratio in RATIOS),
            ),
            (
                "best constant agent: hands off everything, to the right place",
                f"{table.must[1]}/{table.must[1]}" if table.recall else _NONE,
                f"0/{table.must_not[1]}" if table.specificity else _NONE,
                f"0/{table.must_not[1]}" if table.specificity else _NONE,
                _NONE if table.balanced_accuracy is None else "0.50",
                _NONE,
                *(best if table.cost(ratio) is not None else _NONE for ratio in RATIOS),
            ),
        ),
    )
    counts = [f"{words(name)} {found.summary.escalation.classes.get(name, 0)}" for name in _CLASSES]
    yield Bullets(
        (
            f"Classes: {', '.join(counts)}.",
            "Recall is of cases that must be handed off, specificity of routine cases: kept, and resolved.",
            "Neither means anything without the other.",
            "Cost is per case, in needless hand-offs, where one missed escalation costs 1, 5 or 20 of them.",
        )
    )


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


def _trials(found: AgentNote, level: int) -> Iterator[Block]:
    known = found.summary.reliability
    if known is None:
        return
    cases = [item for item in found.evidence.cases.values() if item.scored]
    alike = sum(item.repeats for item in cases)
    mixed = sum(0 < item.passed < item.scored for item in cases)
    yield Heading("Several trials", level)
    yield Table(
        ("", f"mean over {counted(known.scenarios, 'scenario')}"),
        (
            ("pass@1: one trial passes", _mean(known.pass_at_1, known.pass_at_1_interval)),
            (
                f"pass^{known.k}: {known.k} trials all pass",
                _mean(known.pass_hat_k, known.pass_hat_k_interval),
            ),
        ),
    )
    yield Paragraph(
        f"{counted(mixed, 'scenario')} passed in some trials only. In {counted(alike, 'scenario')} all trials were "
        "alike to the letter, which is no more evidence than one trial."
    )


def _mean(value: float, interval: Interval | None) -> str:
    bounds = f" ({100 * interval.low:.0f} to {100 * interval.high:.0f} %)" if interval else ""
    return f"{100 * value:.0f} %{bounds}"


def _violations(found: AgentNote, level: int) -> Iterator[Block]:
    yield Heading("Violations", level)
    if found.violations:
        yield Table(
            ("violation", "severity", "by effect", "by wording", "scenarios"),
            [
                (
                    item.code,
                    "zero tolerance" if item.zero_tolerance else "other",
                    str(item.effect),
                    str(item.text),
                    str(item.scenarios),
                )
                for item in found.violations
            ],
        )
    else:
        yield Paragraph("None was found.")
    notes = []
    if found.summary.hygiene:
        notes.append(f"Malformed: {counted(found.summary.hygiene, 'call or reply', 'calls or replies')}.")
    if found.summary.not_assessed:
        notes.append(
            f"Not assessed: {counted(found.summary.not_assessed, 'check')}, in languages without rules for claims."
        )
    yield Bullets(notes)


def _errors(found: AgentNote, level: int) -> Iterator[Block]:
    if found.summary.errors:
        yield Heading("Infrastructure errors", level)
        yield Paragraph("What broke beside the agent; these episodes say nothing about it.")
        yield Table(
            ("cause", "episodes", "first message", "remedy"),
            [
                (cause, str(count), message, remedy or _NONE)
                for cause, (count, message, remedy) in sorted(found.summary.errors.items())
            ],
        )


def _explanation(found: AgentNote, level: int) -> Iterator[Block]:
    yield Heading("Explanation, apart from all scores", level)
    if found.summary.explanation is None:
        yield Paragraph("No explanation was scored.")
        return
    seen = (
        f"{100 * found.summary.explanation:.0f} % of the expected concepts were found, as a mean over "
        f"{counted(found.summary.explained, 'episode')}, by a matcher of phrases"
    )
    if found.calibrated:
        yield Paragraph(f"{seen} that people's labels have calibrated. It is part of no score above.")
    else:
        yield Paragraph(
            f"{seen}. It is UNCALIBRATED: no people's labels say what it is worth. Compare no agents by it."
        )
