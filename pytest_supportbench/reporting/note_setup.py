"""What a result note says of the setup: what ran, under which conditions, and the command that does it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import shared_fingerprint
from pytest_supportbench.note import AgentNote, Note
from pytest_supportbench.reporting.document import Block, Bullets, Code, Heading, Paragraph, Table

MAX_SELECTED: Final = 20
"""So many scenarios are selected by id in the command; of more, the table names them."""

_LABELS: Final = {
    "model_digest": "model digest",
    "prompt_sha256": "prompt hash (SHA-256)",
    "module_sha256": "module hash (SHA-256)",
    "files_sha256": "hashes of files (SHA-256)",
}
_SPEC_TARGETS: Final = ("model", "target", "address", "command")
_VERBATIM: Final = frozenset({"http", "https", "command", "replay"})
_WITH_TARGET: Final = frozenset({"ollama", "openai", "python", "pydantic-ai", "langchain", *_VERBATIM})


def setup_blocks(note: Note) -> Iterator[Block]:
    """Yield the table of what ran, and of each agent."""
    run, settings = note.run, note.run["settings"]
    rows = [("date", _text(run.get("started"))), ("run", _text(run.get("run")))]
    for suite in run["suites"]:
        rows += [
            (
                "suite",
                f"{suite['name']} {suite['version']}, toolset {suite['toolset']} {suite['toolset_version']}",
            ),
            ("suite's root hash (SHA-256)", _text(suite["sha256"])),
        ]
    rows += [
        ("scenarios", str(max((len(item.evidence.cases) for item in note.agents), default=0))),
        ("trials of each", _text(settings["trials"])),
        ("limits of an episode", f"{settings['max_turns']} turns, {float(settings['timeout']):g} s"),
        ("scorer", f"version {run['scorer']}"),
        ("harness", f"pytest-supportbench {run.get('package')}, Python {run.get('python')}"),
        ("platform", _text(run.get("platform"))),
        ("git commit", _text(run.get("git_commit"))),
    ]
    if run.get("customer") is not None:
        rows.append(("simulated customer", _json(shared_fingerprint(run["customer"]))))
    rows += [
        (name.replace("_", " "), _json(run[name]))
        for name in ("merged_from", "rescored_from")
        if run.get(name)
    ]
    yield Heading("Setup")
    yield Table(("what", "value"), rows)
    for item in note.agents:
        yield Heading(f"Agent {item.agent}", 3)
        yield Table(("what", "value"), list(_agent_rows(item)))
    yield Bullets(tuple(_left_out(note)))


def _agent_rows(found: AgentNote) -> Iterator[tuple[str, str]]:
    for name, value in shared_fingerprint(found.evidence.fingerprint).items():
        yield _LABELS.get(name, name.replace("_", " ")), _text(value) if value not in ({}, []) else "none"


def _left_out(note: Note) -> Iterator[str]:
    counts = note.counting
    if counts.reruns:
        yield (
            f"{counted(counts.reruns, 'episode')} of reruns {_are(counts.reruns)} left out: a trial counts by its "
            "first attempt that was scored."
        )
    if counts.fresh:
        yield f"{counted(counts.fresh, 'further trial')} of a gate {_are(counts.fresh)} left out."
    if counts.unreported:
        yield f"{counted(counts.unreported, 'episode')} that pytest did not get to {_are(counts.unreported)} left out."
    if counts.own:
        yield f"{counted(counts.own, 'episode')} of tests that are no scenario files {_are(counts.own)} left out."


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _text(value: Any) -> str:
    if value is None:
        return "not recorded"
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def fingerprint_blocks(note: Note) -> Iterator[Block]:
    """Yield what identifies the run, for machines: equal blocks mean equal setups."""
    run = note.run
    data: Mapping[str, Any] = {
        "results_sha256": note.sha256,
        "run": run.get("run"),
        "suites": run["suites"],
        "scorer": run["scorer"],
        "settings": run["settings"],
        "customer": None if run.get("customer") is None else shared_fingerprint(run["customer"]),
        "package": run.get("package"),
        "agents": {item.agent: shared_fingerprint(item.evidence.fingerprint) for item in note.agents},
    }
    yield Heading("Fingerprint")
    yield Code(json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True, default=str), "json")


def reproduce_blocks(note: Note) -> Iterator[Block]:
    """Yield the command line that the run line amounts to, with what it cannot say in words."""
    yield Heading("How to reproduce")
    if not note.agents:
        yield Paragraph("There is nothing to do again.")
        return
    settings = note.run["settings"]
    words = ["pytest", "scenarios"]
    ids = sorted({case[1] for item in note.agents for case in item.evidence.cases})
    if ids and len(ids) <= MAX_SELECTED:
        words += ["-k", " or ".join(ids)]
    words += [f"--supportbench-agent={spec_of(item.evidence.fingerprint)}" for item in note.agents]
    words += [
        f"--supportbench-trials={settings['trials']}",
        f"--supportbench-max-turns={settings['max_turns']}",
        f"--supportbench-timeout={float(settings['timeout']):g}",
        "--supportbench-results=results.jsonl",
    ]
    suites = ", ".join(f"{suite['name']} {suite['version']}" for suite in note.run["suites"])
    shown = ["supportbench", "note", "results.jsonl"]
    shown += ["--agent", note.agents[0].agent] if len(note.agents) < len(note.run["agents"]) else []
    shown += ["--baseline", "BASELINE"] if note.baseline else []
    yield Paragraph(
        f"The file does not store the words that were typed. These amount to the same, where the folder scenarios "
        f"holds {suites or 'the suite'} with the root hash above:"
    )
    yield Code(f"{_line(words)}\n{_line(shown)}", "sh")
    yield Bullets(tuple(_hints(note, len(ids))))


def _line(words: list[str]) -> str:
    return shlex.join(" ".join(word.split()) for word in words)


def _hints(note: Note, scenarios: int) -> Iterator[str]:
    if scenarios > MAX_SELECTED:
        yield f"If the suite has more than these {scenarios} scenarios, select those of the tables with -k or by path."
    else:
        yield "-k finds parts of ids too: leave out what else it selects."
    for item in note.agents:
        known = item.evidence.fingerprint
        if known.get("prompt_path"):
            yield f"The prompt of {item.agent} is in an agent file; its hash is above."
        if known.get("kind") in _VERBATIM and known.get("options"):
            yield f"The options of {item.agent} are in an agent file; they are above."
        if known.get("kind") == "local":
            yield f"Where the model of {item.agent} is not the packaged one, name its file: local:PATH."
        if "***" in _json(known):
            yield f"*** stands for what {item.agent} keeps secret."
    if any(item.summary.replayed.get("yes") or item.summary.replayed.get("partly") for item in note.agents):
        yield "The replies were replayed from a cassette: with it, --supportbench-cassette plays them again."


def spec_of(fingerprint: Mapping[str, Any]) -> str:
    """Return the agent as ``--supportbench-agent`` takes it, with the options in force."""
    kind = str(fingerprint.get("kind") or fingerprint["id"])
    target = next((str(fingerprint[name]) for name in _SPEC_TARGETS if fingerprint.get(name)), "")
    if kind in {"http", "https"}:
        return target or kind
    spec = f"{kind}:{target}" if kind in _WITH_TARGET and target else kind
    if kind == "registered":
        spec = target or str(fingerprint["id"])
    options = fingerprint.get("options")
    if kind in _VERBATIM or not isinstance(options, Mapping):
        return spec
    pairs = {
        **{str(name): value for name, value in options.items() if value not in (None, "")},
        **({"without": fingerprint["without"]} if fingerprint.get("without") else {}),
    }
    query = "&".join(f"{name}={_value(value)}" for name, value in sorted(pairs.items()))
    return f"{spec}?{query}" if query else spec


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe=",:/@ ")
