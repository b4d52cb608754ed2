"""Small projects for the integration tests: a suite, scenarios that differ by a case number, and agents."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreign import FOREIGN

from pytest_supportbench.results_file import RunFile, read_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

for _name in (
    "session",
    "toolsets.saas",
    "reporting.sections",
    "reporting.terminal",
    "agents.ollama",
    "agents.ollama_faults",
    "agents.scripted",
    "agents.python_callable",
):
    # pytester forgets what a run in this process imported; what is there before stays, and costs its time once.
    importlib.import_module(f"pytest_supportbench.{_name}")
for _name in ("ollama", "scipy.stats", "statsmodels.stats.api"):  # the latter two for runs of several agents
    importlib.import_module(_name)

SUITE = """
name: {name}
version: "1.0"
policies:
  - {{id: hours, text: "Answer questions about opening hours. Everything else goes to the billing queue."}}
exempt:
  - {{rule: proves-nothing, why: Most tests are about the machinery and not about what is right.}}
"""

SCENARIO = """
id: {id}
title: {title}
category: {category}
tags: [{tags}]
failure_mode: {{code: {code}, description: Does not answer the question.}}
as_of: 2026-03-14T10:30:00-05:00
customer: {{subject: cus_1, message: "When are you open? case {number}"}}
state:
  customers:
    cus_1: {{name: Ann Example, email: ann@example.com}}
visible: [customer]
policies: [hours]
tools: [add_note, escalate_to_human]
expected:
  actions: [answer]
  escalation: must_not
  explanation: [{{concept: hours, any_of: ["nine"]}}]
  because: [hours]
reference:
  - {{action: answer, message: "We are open from nine to five."}}
counterexamples:
  - name: declines
    turns: [{{action: decline, message: "No."}}]
    fails: [resolution]
"""

AGENTS = '''
"""Agents that find their case's number in the customer's message."""

import asyncio
import logging
import os
import re
import sys
import time

GOOD = {"action": "answer", "message": "We are open from nine to five."}
BAD = {"action": "decline", "message": "No."}


def case(observation):
    return int(re.search(r"case (\\d+)", observation.customer.message)[1])


def good(observation):
    return GOOD


def bad(observation):
    return BAD


def odd(observation):
    return GOOD if case(observation) % 2 else BAD


async def good_async(observation):
    await asyncio.sleep(0)
    return GOOD
'''

DARK = "ollama:m?host=http://127.0.0.1:9"
"""An agent whose server refuses connections: every episode is an infrastructure error."""


def suite(folder: Path, name: str = "desk") -> None:
    """Write a suite file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.yaml").write_text(SUITE.format(name=name), encoding="utf-8")


def scenario(folder: Path, number: int, file: str | None = None, **changes: str) -> Path:
    """Write the scenario ``TB-00n`` and return its path."""
    values = {
        "id": f"TB-{number:03}",
        "title": f"Asks for the opening hours, case {number}",
        "category": "billing",
        "tags": "pilot",
        "code": "says-nothing",
        "number": str(number),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (file or f"case{number:03}.scenario.yaml")
    path.write_text(SCENARIO.format(**{**values, **changes}), encoding="utf-8")
    return path


def project(pytester: pytest.Pytester, numbers: Iterable[int] = (1,), agents: str = "") -> Path:
    """Write a suite in ``desk/`` with one scenario a number, and ``desk_agents.py`` with further agents."""
    folder = pytester.path / "desk"
    suite(folder)
    (pytester.path / "pytest.toml").write_text("[pytest]\nstrict = true\n", encoding="utf-8")
    for number in numbers:
        scenario(folder, number)
    (pytester.path / "desk_agents.py").write_text(AGENTS + textwrap.dedent(agents), encoding="utf-8")
    return folder


def agent(name: str) -> str:
    """Return the option that names one of the project's agents."""
    return f"--supportbench-agent=python:desk_agents:{name}"


def last_run(pytester: pytest.Pytester) -> RunFile:
    """Return what the newest run left behind."""
    return read_run(pytester.path / ".supportbench" / "last-run.jsonl")


def verdicts(run: RunFile) -> dict[str, str]:
    """Return the verdict of each scenario's last attempt."""
    return {line["scenario"]: line["verdict"] for line in run.episodes}


def normalised(run: RunFile) -> list[dict[str, Any]]:
    """Return a run's lines without what depends on time, order or place."""
    head = {key: value for key, value in run.run.items() if key not in {"run", "started", "git_commit"}}
    episodes = [{**line, "timing": None} for line in run.episodes]
    episodes.sort(key=lambda line: (line["agent"], line["scenario"], line["trial"], line["attempt"]))
    closing = {key: value for key, value in (run.summary or {}).items() if key != "run"}
    for item in closing.get("agents", ()):
        item["usage"] = {**item["usage"], "median_seconds": None}
    return [head, *episodes, closing]


def start(pytester: pytest.Pytester, *args: str, folder: Path | None = None) -> subprocess.Popen[str]:
    """Start pytest in the project's folder or another, for tests that kill, signal or time it."""
    command = [sys.executable, "-m", "pytest", *FOREIGN, *args]
    return subprocess.Popen(
        command,
        cwd=folder or pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def summary_of(text: str) -> str:
    """Return the part of a terminal's output that this plugin wrote last, with run-dependent values blanked."""
    found = re.search(r"^=+ supportbench: .*?^results: \S+$", text, re.MULTILINE | re.DOTALL)
    assert found is not None, text
    text = re.sub(r"(?<=runs/)\S+", "RUN.jsonl", found[0])
    text = re.sub(r"(?<=seconds, median)[ \d.e-]+", "  SECONDS", text)
    return re.sub(r"\S+ s(?= an episode)", "SECONDS s", text)
