"""Commands around the gate: ``baseline set``, ``compare`` and ``aa``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_supportbench.cli_yardstick import add_yardstick, leave_summary, yardstick
from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from pytest_supportbench.evidence import Case, Evidence
    from pytest_supportbench.flips import Flip
    from pytest_supportbench.gate_rules import Rules
    from pytest_supportbench.traces import Traces

Parsers = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for what it returns

DEFAULT_BASELINE = "baseline.json"
MAX_NAME = 300


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
    compare.add_argument(
        "-v", "--all", dest="everything", action="store_true", help="list all scenarios that flipped"
    )
    _add_rules(compare)
    add_yardstick(compare)
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
    from pytest_supportbench.results_copy import read_gists  # noqa: PLC0415 - likewise

    try:
        start = ""
        if path.is_file():  # else reading results tells what it is
            with path.open(encoding="utf-8", errors="replace") as file:
                start = file.read(200)
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}); name a results file or a baseline"
        raise UsageError(msg) from error
    if '"supportbench_baseline"' in start:
        return (read_baseline(path),)
    found = evidence(read_gists(path), str(path))
    # The run line names agents that a fixture took the place of, or that only the user's own tests asked.
    return tuple(item for item in found if item.cases) or found


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
    from pytest_supportbench.reporting.text import bounded, clean  # noqa: PLC0415 - likewise

    found = _one(chosen.results, chosen.agent)
    text = bless(found, str(chosen.results))
    try:
        chosen.path.parent.mkdir(parents=True, exist_ok=True)
        chosen.path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        msg = f"{chosen.path}: cannot be written ({error.strerror}); name another path"
        raise UsageError(msg) from error
    passed = sum(item.stable for item in found.cases.values())
    agent = clean(bounded(found.agent, MAX_NAME))
    print(f"{chosen.path}: {agent}, {len(found.cases)} scenarios, {passed} of them passed in every trial")
    return 0


def _compare(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.flips import flipped, flips  # noqa: PLC0415 - likewise
    from pytest_supportbench.judged import judge  # noqa: PLC0415 - likewise
    from pytest_supportbench.reporting.ci import summary_markdown  # noqa: PLC0415 - likewise
    from pytest_supportbench.reporting.flips import flip_lines, flip_markdown  # noqa: PLC0415 - likewise
    from pytest_supportbench.reporting.gate import judged_lines  # noqa: PLC0415 - likewise
    from pytest_supportbench.reporting.text import clean  # noqa: PLC0415 - likewise

    rules = _rules(chosen)
    found = [(path, item) for path in chosen.runs for item in _read(path)]
    first, others = (found[0], found[1:]) if len(found) > 1 else (None, found)
    first_path, before = first or (None, None)
    by = yardstick(chosen, rules, before)
    judgements = [judge(now, by) for _, now in others]
    worst: Callable[[int], int] = (1, 11, 10, 0).index
    chosen.decided = min((judged.exit_status for judged in judgements), key=worst)  # whoever reads it or not
    found_flips: list[tuple[Flip, ...]] = [()] * len(others)
    name = ""
    if first_path is not None and before is not None:
        name = f"{before.agent} in {first_path}"
        changed = [flipped(before, now) for _, now in others]
        old_traces = _traces(first_path, before.agent, frozenset().union(*changed))
        sides = [
            (now, _traces(path, now.agent, cases)) for (path, now), cases in zip(others, changed, strict=True)
        ]
        found_flips = [flips(before, now, old_traces, new_traces) for now, new_traces in sides]
    markdown = [
        summary_markdown(judged, name, flip_markdown(these, everything=chosen.everything))
        for judged, these in zip(judgements, found_flips, strict=True)
    ]
    leave_summary(markdown, chosen.summary)
    if chosen.format == "markdown":
        print("\n".join(markdown))
    elif chosen.format == "json":
        data = [
            {
                "run": str(path),
                **(judged.decision.to_json() if judged.decision else {}),
                **judged.to_json(),
                "flips": [flip.to_json() for flip in these],
            }
            for (path, _), judged, these in zip(others, judgements, found_flips, strict=True)
        ]
        baseline = None if before is None else str(first_path)
        agent = None if before is None else before.agent
        print(json.dumps({"baseline": baseline, "agent": agent, "comparisons": data}, indent=2))
    else:
        for (path, now), judged, these in zip(others, judgements, found_flips, strict=True):
            against = f" against {before.agent} ({first_path})" if before else ""
            print(clean(f"{now.agent} ({path}){against}"))
            for line in judged_lines(judged, flip_lines(these, everything=chosen.everything)):
                print(line)
    return int(chosen.decided)


def _traces(path: Path, agent: str, cases: frozenset[Case]) -> Traces | None:
    """Return where an agent's episodes of ``cases`` stand in a file that was read before; ``None`` for a baseline."""
    from pytest_supportbench.results_copy import damaged  # noqa: PLC0415 - likewise
    from pytest_supportbench.results_file import read_run  # noqa: PLC0415 - likewise
    from pytest_supportbench.traces import kept_of, traces  # noqa: PLC0415 - likewise

    if not cases:
        return {}
    try:
        try:
            run = read_run(path, kept_of(agent, cases))
        except ValueError:  # it has no run line
            return None
        return traces(run, agent)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(str(path), error) from error


def _aa(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.flicker import unchanged  # noqa: PLC0415 - likewise
    from pytest_supportbench.reporting.flicker import unchanged_lines  # noqa: PLC0415 - likewise

    paths = [path.absolute().resolve() for path in chosen.runs]
    if twice := [str(path) for path, real in zip(chosen.runs, paths, strict=True) if paths.count(real) > 1]:
        msg = f"{twice[0]} is there twice, and a run agrees with itself; name files of runs of their own"
        raise UsageError(msg)
    found = unchanged([_one(path, None) for path in chosen.runs], _rules(chosen))
    if chosen.json:
        print(json.dumps(found.to_json(), indent=2))
        return 0
    for line in unchanged_lines(found):
        print(line)
    return 0
