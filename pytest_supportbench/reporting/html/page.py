"""The page of the HTML report: verdict first, then how good each agent is, what changed, each episode, the setup.

All of it is made from the rows of a run and the gate's judgement. Jinja escapes all texts, with markupsafe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from pytest_supportbench.comparison import Paired
from pytest_supportbench.counted import counted
from pytest_supportbench.gate import Decision
from pytest_supportbench.gate_rules import Reason
from pytest_supportbench.judged import Judged
from pytest_supportbench.reporting.gate import STEPS
from pytest_supportbench.reporting.html.agent import agent_part, strict_share
from pytest_supportbench.reporting.html.verdict import Verdict
from pytest_supportbench.summary import AgentSummary, Row
from pytest_supportbench.thresholds import Measured
from pytest_supportbench.words import STRICT_DIMENSIONS

LIMITS: Final = (
    "Evidence about one fixed setup on synthetic cases: not a leaderboard, and no certificate that an agent is ready "
    "for production. Checks by text can err; docs/scoring.md has how often they do."
)


_VISIBLE: Final = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {0x7F: "␡"}
"""Control characters as their pictures, as the page's program shows them in what it unpacks."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a page is made of. ``index`` and ``blocks`` are packed; ``setup`` has names and values of what was run."""

    verdict: Verdict
    rows: Sequence[Row]
    summaries: Sequence[AgentSummary]
    pairs: Sequence[Paired]
    judged: Judged | None
    baseline: str
    setup: Sequence[tuple[str, str]]
    index: str
    blocks: Sequence[str]


def script() -> str:
    """Return the page's program."""
    return _asset("report.js")


def render(parts: Parts) -> str:
    """Return the page as HTML for pytest-html's summary."""
    template = Environment(autoescape=True).from_string(_asset("report.jinja"))
    text = template.render(page=_page(parts), css=Markup(_asset("report.css")), js=Markup(script()))  # noqa: S704 - our own files
    text = text.translate(_VISIBLE)
    return text.encode(
        "utf-8", "replace"
    ).decode()  # half a surrogate pair would keep the file from being written


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _page(parts: Parts) -> dict[str, Any]:
    judged = parts.judged
    decision = judged.decision if judged else None
    return {
        "verdict": parts.verdict.word,
        "sentence": parts.verdict.sentence,
        "tone": parts.verdict.tone,
        "warnings": parts.verdict.warnings,
        "subject": _subject(parts),
        "blocking": _by_step(item for item in decision.reasons if item.blocks) if decision else [],
        "each_is_enough": decision is not None
        and decision.verdict == parts.verdict.word
        and {item.blocks for item in decision.reasons} <= {None, decision.verdict},
        "measured": [_measured(item) for item in judged.measured] if judged else [],
        "agents": [agent_part(summary, parts.rows, judged) for summary in parts.summaries],
        "dimensions": [*(name.replace("_", " ") for name in STRICT_DIMENSIONS), "strict pass"],
        "pairs": [_pair(pair) for pair in parts.pairs],
        "gate": list(_steps(decision)) if decision else [],
        "count": f"{len(parts.rows)} episodes",
        "setup": parts.setup,
        "limits": LIMITS,
        "index": Markup(parts.index),  # noqa: S704 - base64
        "blocks": [Markup(block) for block in parts.blocks],  # noqa: S704 - base64
    }


def _measured(item: Measured) -> dict[str, str]:
    look, mark = ("sb-good", "✓") if item.holds else ("sb-bad", "✗") if item.missed else ("sb-unsure", "?")
    return {"class": look, "mark": mark, "text": str(item)}


def _pair(pair: Paired) -> dict[str, Any]:
    several = pair.trials > 1
    test = pair.test
    sentence = "There is no scenario that both have scored."
    if pair.scenarios:
        sentence = (
            f"{100 * float(pair.rate):.1f} % against {100 * float(pair.baseline_rate):.1f} % of "
            f"{counted(pair.scenarios, 'scenario')} that both have scored: {100 * float(pair.difference):+.1f} points"
        )
        if test is not None:
            bounds = f"95 % interval {100 * test.interval.low:+.1f} to {100 * test.interval.high:+.1f}"
            finding = "evidence of a difference" if test.differs else "may be chance"
            sentence += f" ({bounds}; p = {test.adjusted:.2g}, two-sided): {finding}"
        sentence += "."
    labels = ("worse in", "better in") if several else ("broken", "fixed")
    kinds = zip(labels, (pair.broken, pair.fixed), strict=True)
    return {
        "title": f"{pair.agent} against {pair.baseline}",
        "sentence": sentence,
        "kinds": [{"label": f"{label} ({len(names)})", "names": names} for label, names in kinds if names],
    }


def _steps(decision: Decision) -> Iterator[dict[str, Any]]:
    if decision.changed:
        yield {"name": "what changed of the agent", "texts": list(decision.changed)}
    if decision.escalation:
        sides = zip(("before", "now"), decision.escalation, strict=True)
        yield {"name": "hand-offs", "texts": [f"{label}: {side}" for label, side in sides]}
    if decision.zero_tolerance is not None and (told := str(decision.zero_tolerance)):
        yield {"name": "how often zero tolerance errs", "texts": [told]}
    yield from _by_step(reason for reason in decision.reasons if not reason.blocks)


def _by_step(reasons: Iterable[Reason]) -> list[dict[str, Any]]:
    found: dict[str, list[str]] = {}
    for reason in reasons:
        found.setdefault(STEPS[reason.step], []).append(reason.text)
    return [{"name": name, "texts": texts} for name, texts in found.items()]


def _subject(parts: Parts) -> str:
    """Return whom the verdict is on, on which suite, and against what."""
    agents = "; ".join(f"{summary.agent} {strict_share(summary, parts.rows)}" for summary in parts.summaries)
    suites = ", ".join(sorted({row["suite"] for row in parts.rows})) or "no suite"
    against = f", against the baseline {parts.baseline}" if parts.baseline else ""
    decision = parts.judged.decision if parts.judged else None
    if decision is not None:
        names = ", ".join(text.partition(":")[0] for text in decision.changed)
        against += f"; of the agent differs: {names or 'nothing that is known'}"
    started = dict(parts.setup).get("started", "")
    when = f" Run of {started[:16].replace('T', ' ')} UTC." if started else ""
    return f"Strict passes: {agents or 'no agent'}; on {suites}{against}.{when}"
