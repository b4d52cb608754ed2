"""What a gated run leaves for continuous integration: a Markdown summary, and annotations where a system shows them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_supportbench.evidence import Case
from pytest_supportbench.reporting.gate import gate_markdown, markdown_text
from pytest_supportbench.reporting.text import clean

if TYPE_CHECKING:
    from pytest_supportbench.judged import Judged

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"
MAX_ANNOTATIONS: Final = 10
"""GitHub shows ten annotations of a step and drops the rest without a word."""


def summary_markdown(judged: Judged, baseline: str) -> str:
    """Return the summary; its first line is the verdict."""
    parts = []
    if judged.decision is not None:
        parts.append(gate_markdown(judged.decision, judged.agent, baseline))
    if judged.measured:
        missed = [item for item in judged.measured if not item.holds]
        verdict = "FAILED" if missed else "PASS" if judged.complete else "INCONCLUSIVE"
        lines = [] if parts else [f"**{verdict}**: {markdown_text(judged.agent)}", ""]
        lines += [
            f"- {'holds' if item.holds else '**missed**'}: {markdown_text(str(item))}"
            for item in judged.measured
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def write_summary(text: str, chosen: Path | None, root: Path) -> Path:
    """Write the summary where CI looks for it, or to the path that was chosen, and return where.

    GitHub's file is appended to, as other steps write there too. Raises `OSError`.
    """
    github = os.environ.get(STEP_SUMMARY)
    if chosen is None and github:
        with Path(github).open("a", encoding="utf-8") as file:
            file.write(text)
        return Path(github)
    path = chosen or root / ".supportbench" / "summary.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def workflow_commands(judged: Judged, paths: Mapping[Case, str]) -> Iterator[str]:
    """Yield GitHub's workflow commands for new failures, if this is one of its runners; ``paths`` are the files."""
    if os.environ.get("GITHUB_ACTIONS") != "true" or judged.decision is None:
        return
    verdict = judged.decision.verdict
    level = "error" if verdict == "REGRESSED" else "warning"
    for case in judged.decision.candidates[:MAX_ANNOTATIONS]:
        state = "confirmed" if case in judged.decision.confirmed else "new failure"
        file = _property(paths.get(case, ""))
        yield f"::{level} file={file},title={_property(f'{verdict}: {case[1]}')}::{_data(f'{case[1]}: {state}')}"


def _data(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
