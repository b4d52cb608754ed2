"""What was run, as the results file says it: suites with hashes, fingerprints of agents, versions and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import dumps
from pathlib import Path
from typing import Any

from pytest_supportbench.results_file import lines_of


def setup_of(path: Path, root: Path) -> list[tuple[str, str]]:
    """Return names and values for the page's table of the setup, from a results file's run line."""
    line = next(lines_of(path), None) if path.exists() else None
    if line is None or line.get("type") != "run":
        return [("results file", "none was written")]
    return list(_facts(line, path, root))


def _facts(line: Mapping[str, Any], path: Path, root: Path) -> Iterator[tuple[str, str]]:
    for suite in line["suites"]:
        yield (
            "suite",
            f"{suite['name']} {suite['version']}, toolset {suite['toolset']} {suite['toolset_version']}",
        )
        yield f"root hash of {suite['name']}", str(suite["sha256"])
    for agent in line["agents"]:
        facts = {
            name: value for name, value in agent.items() if name != "id" and value not in (None, {}, [], "")
        }
        yield f"agent {agent['id']}", "; ".join(f"{name} {_text(value)}" for name, value in facts.items())
    if line.get("customer"):
        yield "simulated customer", _text(line["customer"])
    settings = line["settings"]
    shard = settings.get("shard")
    yield (
        "settings",
        f"trials {settings['trials']}, at most {settings['max_turns']} turns and {settings['timeout']:g} s an episode"
        + (f", shard {shard[0]} of {shard[1]}" if shard else ""),
    )
    yield "scorer", str(line["scorer"])
    yield "package", f"pytest-supportbench {line['package']}, Python {line['python']}, {line['platform']}"
    yield "git commit", line.get("git_commit") or "none"
    yield "started", line["started"]
    yield "results file", path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)
