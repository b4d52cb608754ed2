"""What a gated run leaves for continuous integration: a Markdown summary, and annotations where a system shows them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_supportbench.comparable import part_text
from pytest_supportbench.evidence import Case
from pytest_supportbench.reporting.gate import (
    decision_markdown,
    headline,
    markdown_text,
    silence,
    whole_headline,
)
from pytest_supportbench.reporting.text import clean

if TYPE_CHECKING:
    from pytest_supportbench.judged import Judged

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"
MAX_ANNOTATIONS: Final = 10
"""GitHub shows ten annotations of a step and drops the rest without a word."""


def summary_markdown(judged: Judged, baseline: str, flips: Sequence[str] | None = None) -> str:
    """Return the summary; its first line is the verdict. ``flips`` are lines that tell flipped scenarios one by one."""
    decision = judged.decision
    lines = [f"**{markdown_text(whole_headline(judged))}**", ""]
    lines += [f"- {markdown_text(text)}" for text in judged.failures]
    lines += [f"- {markdown_text(doubt.text)}" for doubt in judged.doubts]
    lines += [f"- {markdown_text(text)}" for text in (*silence(judged), *judged.notes)]
    if judged.part is not None and decision is None:
        lines.append(f"- {markdown_text(part_text(judged.part))}")
    if len(lines) > 2:  # noqa: PLR2004 - the headline and its blank line
        lines.append("")
    if decision is not None:
        if decision.verdict != judged.verdict:
            lines += [f"The baseline alone: {headline(decision)}.", ""]
        lines.append(decision_markdown(decision, judged.agent, baseline, flips=flips))
    elif judged.agent:
        lines += [f"Agent {markdown_text(judged.agent)}.", ""]
    lines += [
        f"- {'holds' if item.holds else '**missed**' if item.missed else '**unknown**'}: {markdown_text(str(item))}"
        for item in judged.measured
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def write_summary(text: str, chosen: Path | None, root: Path) -> Path:
    """Write the summary where CI looks for it, or to the path that was chosen, and return where.

    GitHub's file is appended to, as other steps write there too. Raises `OSError`.
    """
    path = _place(chosen, root)
    if path is None:
        github = Path(os.environ[STEP_SUMMARY])
        with github.open("a", encoding="utf-8") as file:
            file.write(text)
        return github
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def forget_summary(chosen: Path | None, root: Path) -> None:
    """Take away what an earlier run left where this one will write; never from GitHub's file, which others share."""
    path = _place(chosen, root)
    if path is not None and path.is_file():
        with contextlib.suppress(OSError):  # writing tells what is wrong with it
            path.unlink()


def _place(chosen: Path | None, root: Path) -> Path | None:
    """Return the file that is a run's own; ``None`` where it goes to GitHub's."""
    if chosen is None and os.environ.get(STEP_SUMMARY):
        return None
    return chosen or root / ".supportbench" / "summary.md"


def workflow_commands(judged: Judged, paths: Mapping[Case, str], wrong: Mapping[Case, str]) -> Iterator[str]:
    """Yield GitHub's workflow commands, if this is one of its runners.

    There is one for each scenario that may block, at its file (``paths``) with what went ``wrong`` in it, and one for
    the run where it is no PASS and no such scenario is why.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    level = "error" if judged.exit_status == 1 else "warning"
    for case, text in judged.alarms[:MAX_ANNOTATIONS]:
        title = _property(f"{judged.verdict}: {case[1]}")
        what = f"{text}; {wrong[case]}" if case in wrong else text
        yield f"::{level} file={_property(paths.get(case, ''))},title={title}::{_data(f'{case[1]}: {what}')}"
    if judged.exit_status and not _by_scenarios(judged):
        told = [doubt.text for doubt in judged.doubts]
        told += [
            reason.text for reason in (judged.decision.reasons if judged.decision else ()) if reason.blocks
        ]
        told += [str(item) for item in judged.measured if not item.holds]
        text = "; ".join((whole_headline(judged), *judged.failures, *told))
        yield f"::{level} title={_property(f'supportbench gate: {judged.verdict}')}::{_data(text)}"


def _by_scenarios(judged: Judged) -> bool:
    """Tell whether single scenarios are why: by the gate's rule for them, or by zero tolerance."""
    decision = judged.decision
    if decision is None or not judged.alarms or decision.verdict != judged.verdict:
        return False
    steps = {reason.step for reason in decision.reasons if reason.blocks == decision.verdict}
    return bool(steps & {"scenarios", "zero_tolerance"})


def _data(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
