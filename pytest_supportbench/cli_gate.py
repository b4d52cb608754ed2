"""Commands around the gate: ``baseline set``, ``compare`` and ``aa``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from pytest_supportbench.evidence import Evidence
    from pytest_supportbench.gate_rules import Rules

Parsers = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for what it returns

DEFAULT_BASELINE = "baseline.json"


def add_gate_commands(commands: Parsers[Any]) -> None:
    """Add the commands to the parser of ``supportbench``."""
    baseline = commands.add_parser("baseline", help="bless a run, so that later ones are gated against it")
    actions = baseline.add_subparsers(required=True, metavar="ACTION")
    bless = actions.add_parser("set", help="write a baseline from a results file")
    bless.add_argument("results", type=Path, help="a results file")
    bless.add_argument(
        "path", type=Path, nargs="?", default=Path(DEFAULT_BASELINE), help=f"default: {DEFAULT_BASELINE}"
    )
    bless.add_argument("--agent", help="which agent, where the run had several")
    bless.set_defaults(run=_set)

    compare = commands.add_parser("compare", help="judge runs against the first one, as the gate does")
    compare.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="a results file, or a baseline")
    compare.add_argument("--format", choices=["text", "markdown", "json"], default="text")
    _add_rules(compare)
    compare.set_defaults(run=_compare)

    repeated = commands.add_parser(
        "aa", help="tell from repeated runs of one agent how often the gate cries wolf"
    )
    repeated.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="results files of one unchanged agent"
    )
    repeated.add_argument("--json", action="store_true", help="print JSON")
    _add_rules(repeated)
    repeated.set_defaults(run=_aa)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--alpha", type=_share, default=0.05, help="false-alarm level of the gate (default: 0.05)"
    )
    parser.add_argument(
        "--margin",
        type=_share,
        default=0.0,
        help="drop of the pass rate that is tolerated, 0 to 1 (default: 0)",
    )
    parser.add_argument(
        "--max-errors",
        type=_share,
        default=0.02,
        help="share of infrastructure errors that may be (default: 0.02)",
    )


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        msg = f"{text} is not between 0 and 1"
        raise argparse.ArgumentTypeError(msg)
    return value


def _rules(chosen: argparse.Namespace) -> Rules:
    from pytest_supportbench.gate_rules import Rules  # noqa: PLC0415 - only these commands need it

    if not chosen.alpha:
        msg = "--alpha: 0 would let every regression pass; give a level such as 0.05"
        raise UsageError(msg)
    return Rules(alpha=chosen.alpha, margin=chosen.margin, max_errors=chosen.max_errors)


def _read(path: Path) -> tuple[Evidence, ...]:
    """Return what each agent of a results file showed, or a baseline's one. Raises `UsageError`."""
    from pytest_supportbench.baseline import read_baseline  # noqa: PLC0415 - likewise
    from pytest_supportbench.evidence import evidence  # noqa: PLC0415 - likewise
    from pytest_supportbench.results_file import read_run  # noqa: PLC0415 - likewise

    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            start = file.read(200)
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}); name a results file or a baseline"
        raise UsageError(msg) from error
    if '"supportbench_baseline"' in start:
        return (read_baseline(path),)
    try:
        return evidence(read_run(path), str(path))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _one(path: Path, agent: str | None) -> Evidence:
    found = _read(path)
    names = ", ".join(item.agent for item in found)
    if agent is not None:
        found = tuple(item for item in found if item.agent == agent)
        if not found:
            msg = f"{path}: there is no agent {agent!r}; there is {names}"
            raise UsageError(msg)
    if len(found) != 1:
        msg = f"{path}: there are {len(found)} agents; name one with --agent: {names}"
        raise UsageError(msg)
    return found[0]


def _set(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.baseline import bless  # noqa: PLC0415 - likewise

    found = _one(chosen.results, chosen.agent)
    text = bless(found, str(chosen.results))
    try:
        chosen.path.parent.mkdir(parents=True, exist_ok=True)
        chosen.path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        msg = f"{chosen.path}: cannot be written ({error.strerror}); name another path"
        raise UsageError(msg) from error
    passed = sum(item.stable for item in found.cases.values())
    print(
        f"{chosen.path}: {found.agent}, {len(found.cases)} scenarios, {passed} of them passed in every trial"
    )
    return 0


def _compare(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.gate import decide  # noqa: PLC0415 - likewise
    from pytest_supportbench.reporting.gate import gate_lines, gate_markdown, headline  # noqa: PLC0415 - likewise

    rules = _rules(chosen)
    found = [(path, item) for path in chosen.runs for item in _read(path)]
    if len(found) < 2:  # noqa: PLR2004 - a comparison is of two
        msg = "there is one agent only; name two runs, or one run of two agents"
        raise UsageError(msg)
    (first_path, before), *others = found
    decisions = [(path, now, decide(before, now, rules)) for path, now in others]
    worst: Callable[[int], int] = (1, 11, 0).index
    chosen.decided = min(
        (decision.exit_status for _, _, decision in decisions), key=worst
    )  # whoever reads it or not
    if chosen.format == "json":
        data = [
            {"run": str(path), "agent": now.agent, **decision.to_json()} for path, now, decision in decisions
        ]
        print(json.dumps({"baseline": str(first_path), "agent": before.agent, "comparisons": data}, indent=2))
    for path, now, decision in decisions:
        if chosen.format == "markdown":
            print(gate_markdown(decision, now.agent, f"{before.agent} in {first_path}"))
        elif chosen.format == "text":
            print(f"{now.agent} ({path}) against {before.agent} ({first_path})")
            print(headline(decision))
            for line in gate_lines(decision):
                print(line)
    return int(chosen.decided)


def _aa(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.flicker import unchanged  # noqa: PLC0415 - likewise

    found = unchanged([_one(path, None) for path in chosen.runs], _rules(chosen))
    if chosen.json:
        print(json.dumps(found.to_json(), indent=2))
        return 0
    total = sum(found.verdicts.values())
    counts = ", ".join(f"{name} {count}" for name, count in found.verdicts.items())
    print(f"{found.runs} runs of one agent, each compared with each other: {total} comparisons: {counts}")
    for step, count in found.reasons.items():
        print(f"  {step.replace('_', ' ')} stood against a PASS in {count} of {total}")
    print(
        f"{len(found.flickering)} of {found.scenarios} scenarios flicker:"
        if found.flickering
        else "no scenario flickers"
    )
    for item in found.flickering:
        runs = ", ".join(f"{passed}/{scored}" for passed, scored in item.runs)
        print(f"  {item.case[1]}: passed {item.passed} of {item.scored} trials ({runs})")
    return 0
