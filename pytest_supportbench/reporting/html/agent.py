"""An agent's part of the page: its shares with intervals, its hand-offs, violations, areas and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case, CaseEvidence
from pytest_supportbench.judged import Judged
from pytest_supportbench.reporting.html.broken import broken
from pytest_supportbench.reporting.html.charts import bar
from pytest_supportbench.reporting.html.episodes import cut
from pytest_supportbench.reporting.no_answer import of_them
from pytest_supportbench.row_evidence import row_cases
from pytest_supportbench.statistics import Interval, missing_packages
from pytest_supportbench.summary import AgentSummary, Row, Share
from pytest_supportbench.thresholds import share_interval
from pytest_supportbench.words import STRICT_DIMENSIONS, ZERO_TOLERANCE

MAX_REASON: Final = 600
"""Characters of an infrastructure error that are shown at its cause."""

_LEVELS: Final = (0.5, 0.8)
"""Shares from which on a cell of the heat map is middling, and good."""


def agent_part(summary: AgentSummary, rows: Sequence[Row], judged: Judged | None) -> dict[str, Any]:
    """Return what the page's template shows of an agent; ``rows`` are those of the whole run."""
    scored = _scored(summary, rows)
    cases = row_cases(scored)
    missing = missing_packages() if _several_trials(cases) else []
    note = (
        f"Intervals need {' and '.join(missing)}: pip install 'pytest-supportbench[gate]'"
        if missing
        else (
            "The line across a bar is its 95 % interval: Wilson's for one trial, by twin family for several."
        )
    )
    table = summary.escalation
    return {
        "name": summary.agent,
        "title": _title(summary),
        "broken": broken(summary, rows, judged),
        "no_answer": _no_answer(summary),
        "bars": list(_bars(summary, scored, cases)),
        "bars_note": note,
        "explanation": _explanation(summary),
        "calibrated": summary.calibrated,
        "hand_offs": list(_hand_offs(summary)),
        "recall": (
            f"Recall {_with_bounds(table.recall, scored, 'must', 'correct_escalation')}, specificity "
            f"{_with_bounds(table.specificity, scored, 'must_not', 'correct_autonomy')}, routine cases solved "
            f"{summary.routine_solved}. Specificity is of cases that were kept, and resolved."
        ),
        "constant": (
            f"A bot that hands everything to the general queue would have recall {summary.constant.recall} and "
            f"specificity {summary.constant.specificity} here: a hand-off to the wrong place is not a right one."
        ),
        "violations": sorted(_violations(summary), key=lambda item: (not item["severe"], item["code"])),
        "areas": list(_areas(summary, scored)),
        "areas_note": ", ".join(
            f"{name.replace('_', ' ')} {count}"
            for name, count in sorted(summary.no_answer.dimensions.items())
        ),
        "errors": [
            cut(
                f"{cause}, {counted(count, 'episode')}: {message}{f' – {remedy}' if remedy else ''}",
                MAX_REASON,
            )
            for cause, (count, message, remedy) in sorted(summary.errors.items())
        ],
    }


def _title(summary: AgentSummary) -> str:
    broken = summary.passed_of_all.whole - summary.passed.whole
    replayed = sum(count for name, count in summary.replayed.items() if name != "no")
    parts = [
        f"{summary.passed} of scored episodes passed all four dimensions"
        if summary.passed.whole
        else "Nothing was scored",
        f"with errors counted as failures {summary.passed_of_all}" if broken else "",
        f"by effects alone {summary.passed_effects}" if summary.passed.whole else "",
        *_trials(summary),
        *(
            f"without {part}, where {share} of scored episodes had any"
            for part, share in summary.without.items()
        ),
        f"{counted(replayed, 'episode')} replayed from a cassette" if replayed else "",
    ]
    return "; ".join(filter(None, parts)) + "."


def _no_answer(summary: AgentSummary) -> dict[str, Any] | None:
    """Return which scored episodes ended without a decision of the agent's own, with what was told of them."""
    found = summary.no_answer
    if not found.count:
        return None
    return {
        "headline": f"{found.headline}.",
        "items": [
            {
                "words": item.words,
                "remedy": item.remedy,
                "texts": [f"{text} ×{count}" for text, count in item.texts],
                "more": item.count - sum(count for _, count in item.texts) if item.texts else 0,
            }
            for item in found.endings
        ],
    }


def _trials(summary: AgentSummary) -> Iterator[str]:
    """Yield how reliable the agent is over several trials of a scenario."""
    if (known := summary.reliability) is None:
        return
    yield f"pass@1 {_mean(known.pass_at_1, known.pass_at_1_interval)}"
    if known.k > 1:
        often = f"all {known.k} trials of a scenario pass"
        yield f"pass^{known.k}, the chance that {often}, {_mean(known.pass_hat_k, known.pass_hat_k_interval)}"


def _mean(value: float, interval: Interval | None) -> str:
    bounds = f" (95 % interval {100 * interval.low:.1f} to {100 * interval.high:.1f} %)" if interval else ""
    return f"{100 * value:.1f} %{bounds}"


def _bars(
    summary: AgentSummary, scored: Sequence[Row], cases: Mapping[Case, CaseEvidence]
) -> Iterator[dict[str, Any]]:
    shares: dict[str, tuple[Share, Callable[[Row], bool]]] = {
        "strict pass": (summary.passed, lambda row: row["verdict"] == "passed")
    }
    for name, share in summary.dimensions.items():
        shares[name.replace("_", " ")] = (share, _dimension(name))
    hollow = summary.no_answer.dimensions
    for label, (share, good) in shares.items():
        if not share.whole:
            continue
        interval = _interval(scored, cases, good)
        bounds = f"{100 * interval.low:.0f} to {100 * interval.high:.0f} %" if interval else ""
        said = f"{label}: {share}" + (f", 95 % interval {bounds}" if bounds else "")
        yield {
            "label": label,
            "share": str(share),
            "bounds": bounds,
            "hollow": of_them(hollow.get(label.replace(" ", "_"), 0)),
            "svg": bar(share.part / share.whole, interval, said),
        }


def _dimension(name: str) -> Callable[[Row], bool]:
    return lambda row: bool(row["dimensions"][name])


def _interval(
    rows: Sequence[Row], cases: Mapping[Case, CaseEvidence], good: Callable[[Row], bool]
) -> Interval | None:
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        case = row["suite"], row["scenario"]
        counts[case] = counts.get(case, 0) + good(row)
    if _several_trials(cases) and missing_packages():
        return None
    return share_interval([(item, counts[case]) for case, item in cases.items()])


def _several_trials(cases: Mapping[Case, CaseEvidence]) -> bool:
    """Tell whether a scenario has several trials, so that intervals are clustered, which scipy does."""
    return any(item.scored != 1 for item in cases.values())


def _with_bounds(share: Share, scored: Sequence[Row], need: str, right: str) -> str:
    rows = [row for row in scored if row["expected_escalation"] == need]
    return _bounded(share, _interval(rows, row_cases(rows), lambda row: row["escalation_class"] == right))


def strict_share(summary: AgentSummary, rows: Sequence[Row]) -> str:
    """Return an agent's strict passes with their interval; ``rows`` are those of the whole run."""
    scored = _scored(summary, rows)
    return _bounded(
        summary.passed, _interval(scored, row_cases(scored), lambda row: row["verdict"] == "passed")
    )


def _bounded(share: Share, interval: Interval | None) -> str:
    if interval is None:
        return str(share)
    return f"{share}, 95 % interval {100 * interval.low:.0f} to {100 * interval.high:.0f} %"


def _scored(summary: AgentSummary, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["agent"] == summary.agent and row["verdict"] != "error"]


def _hand_offs(summary: AgentSummary) -> Iterator[dict[str, str]]:
    classes = summary.escalation.classes

    def told(*names: str) -> str:
        return ", ".join(
            f"{classes.get(name, 0)} {name.replace('_', ' ')}{f' ({hollow})' if hollow else ''}"
            for name in names
            for hollow in [of_them(summary.no_answer.classes.get(name, 0))]
        )

    yield {
        "need": "must be handed off",
        "right": told("correct_escalation"),
        "wrong": told("missed_escalation", "misrouted"),
    }
    yield {
        "need": "must not be handed off",
        "right": told("correct_autonomy"),
        "wrong": told("unnecessary_handoff", "abandoned"),
    }


def _violations(summary: AgentSummary) -> Iterator[dict[str, Any]]:
    of_codes = sum(sum(counts) for code, counts in summary.violations.items() if code in ZERO_TOLERANCE)
    safety = summary.zero_tolerance - of_codes
    for code, (effect, text) in summary.violations.items():
        severe = code in ZERO_TOLERANCE or (code == "missed_escalation" and safety > 0)
        severity = "zero tolerance" if severe else "violation"
        if severe and code not in ZERO_TOLERANCE:
            severity = f"zero tolerance in {counted(safety, 'episode')} of safety cases"
        yield {
            "code": code.replace("_", " "),
            "severe": severe,
            "severity": severity,
            "count": f"{effect + text} ({effect} by effect, {text} by text)",
        }


def _areas(summary: AgentSummary, scored: Sequence[Row]) -> Iterator[dict[str, Any]]:
    for name in summary.categories:
        rows = [row for row in scored if row["category"] == name]
        good = [sum(bool(row["dimensions"][part]) for row in rows) for part in STRICT_DIMENSIONS]
        good.append(sum(row["verdict"] == "passed" for row in rows))
        yield {"name": name.replace("-", " "), "shares": [_cell(count, len(rows)) for count in good]}


def _cell(count: int, whole: int) -> dict[str, Any]:
    return {"text": f"{count}/{whole}", "level": sum(count / whole >= level for level in _LEVELS)}


def _explanation(summary: AgentSummary) -> str:
    if summary.explanation is None:
        return ""
    return (
        f"Explanation, apart: {summary.explanation:.2f} of the concepts were found by the phrase matcher, in "
        f"{counted(summary.explained, 'episode')}. "
        + (
            "People have calibrated this rater; it is part of no score."
            if summary.calibrated
            else "UNCALIBRATED: no people have confirmed this rater, so it is part of no score."
        )
    )
