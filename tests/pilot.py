"""Runs the ten pilot scenarios of this repository in a process of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def command(agent: str, results: Path, *extra: str) -> list[str]:
    """Return the command that evaluates ``agent`` on the pilot; run it in `ROOT`."""
    return [
        sys.executable,
        "-m",
        "pytest",
        "scenarios",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        'supportbench_tag(name="pilot")',
        f"--supportbench-agent={agent}",
        f"--supportbench-results={results}",
        *extra,
    ]


def episodes(results: Path) -> list[dict[str, Any]]:
    """Return the episode lines of a results file."""
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["type"] == "episode"]
