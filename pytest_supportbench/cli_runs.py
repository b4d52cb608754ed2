"""Commands on results files: ``merge`` makes one of shards, ``rescore`` grades stored episodes anew."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.counted import counted
from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from pytest_supportbench.rescoring import Rescored
    from pytest_supportbench.results import Json
    from pytest_supportbench.results_file import RunFile
    from pytest_supportbench.stored_scenarios import Scenarios

EXIT_INCONCLUSIVE: Final = 11
MAX_LISTED: Final = 20


def add_run_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands to those of ``supportbench``."""
    codes = "exit codes: 0 written; 4 wrong usage, or a file that is no results file; 11 {why}, nothing is written"
    merge = commands.add_parser(
        "merge",
        help="make one results file of the shards of a run",
        epilog=codes.format(why="gaps, overlaps or mixed settings"),
    )
    merge.add_argument("shards", nargs="+", type=Path, metavar="SHARD", help="the results file of each shard")
    merge.add_argument("--out", type=Path, required=True, metavar="PATH", help="the results file to write")
    merge.add_argument(
        "--allow-incomplete",
        action="store_true",
        help="write what there is although some is missing, as a run without end: no gate passes it",
    )
    merge.set_defaults(run=_merge)

    rescore = commands.add_parser(
        "rescore",
        help="grade the episodes of results files with today's scorer; no agent is asked",
        epilog=codes.format(
            why="episodes that cannot be graded, since their scenario or toolset has changed"
        ),
    )
    rescore.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="results files")
    rescore.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="file to write, or folder for several (default: NAME.rescored.jsonl beside each)",
    )
    rescore.add_argument(
        "--scenarios",
        action="append",
        type=Path,
        metavar="DIR",
        help="where the scenarios are; repeatable (default: the folder scenarios, and the package's own suites)",
    )
    rescore.set_defaults(run=_rescore)


def _merge(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.merging import merge  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.results_copy import read_results, refuse_foreign  # noqa: PLC0415 - likewise
    from pytest_supportbench.shard_clashes import as_shard  # noqa: PLC0415 - likewise

    refuse_foreign(chosen.out, chosen.shards)
    merged = merge([as_shard(str(path), read_results(path)) for path in chosen.shards])
    stopping = (*merged.clashes, *(() if chosen.allow_incomplete else merged.gaps))
    if stopping:
        _say("these are not the shards of one whole run:", (*merged.clashes, *merged.gaps))
        if not merged.clashes:
            _print("with --allow-incomplete what there is would be written, as a run that no gate passes")
        return EXIT_INCONCLUSIVE
    _write(chosen.out, merged.lines, merged.closing or None)
    episodes = counted(len(merged.lines) - 1 - merged.fresh, "episode")
    fresh = f", and {counted(merged.fresh, 'fresh trial')} of new failures" if merged.fresh else ""
    _print(f"{chosen.out}: {episodes} of {counted(len(chosen.shards), 'shard')}{fresh}")
    _say("incomplete, so that no gate passes it:", merged.gaps)
    _say("note:", merged.notes)
    return 0


def _rescore(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.rescoring import rescore  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.results_copy import read_whole, refuse_foreign  # noqa: PLC0415 - likewise

    targets = _targets(chosen.results, chosen.out)
    for target in targets:
        refuse_foreign(target, chosen.results)
    runs = [read_whole(path, scores=False) for path in chosen.results]
    scenarios = _scenarios(chosen.scenarios, runs)
    graded = [
        (path, rescore(str(path), run, scenarios)) for path, run in zip(chosen.results, runs, strict=True)
    ]
    refused = [f"{path}: {text}" for path, item in graded for text in item.refused]
    if refused:
        _say(f"{counted(len(refused), 'episode')} cannot be graded anew, and nothing is written:", refused)
        return EXIT_INCONCLUSIVE
    for target, (path, item) in zip(targets, graded, strict=True):
        _write(target, item.lines, item.closing)
        _tell(target, path, item)
    return 0


def _scenarios(folders: list[Path] | None, runs: Iterable[RunFile]) -> Scenarios:
    from pytest_supportbench.stored_scenarios import Scenarios  # noqa: PLC0415 - one command needs it

    default = [Path("scenarios")] if Path("scenarios").is_dir() else []
    return Scenarios(folders or default, {str(line.get("suite")) for run in runs for line in run.episodes})


def _targets(results: list[Path], out: Path | None) -> list[Path]:
    """Return the file to write for each results file. Raises `UsageError` where two would be one."""
    if out is not None and len(results) == 1 and not out.is_dir():
        return [out]
    if out is not None and out.exists() and not out.is_dir():
        msg = f"{out}: is a file; name a folder for {len(results)} results files"
        raise UsageError(msg)
    names = [f"{path.name.removesuffix('.jsonl')}.rescored.jsonl" for path in results]
    folders = [path.parent if out is None else out for path in results]
    targets = [folder / name for folder, name in zip(folders, names, strict=True)]
    if len(set(targets)) < len(targets):
        msg = "two of the results files would be written to one; rescore them one by one with --out"
        raise UsageError(msg)
    return targets


def _tell(target: Path, path: Path, item: Rescored) -> None:
    head = item.lines[0]
    then = head["rescored_from"]["scorer"]
    changed = counted(len(item.changed), "verdict")
    _print(
        f"{path} → {target}: {counted(len(item.lines) - 1, 'episode')} graded by scorer {head['scorer']}, before {then}"
    )
    _say(f"{changed} changed{':' if item.changed else ''}", item.changed, always=True)
    _say("note:", item.notes)


def _write(path: Path, lines: Iterable[Json], closing: Json | None) -> None:
    from pytest_supportbench.results_copy import write_results  # noqa: PLC0415 - two commands need it
    from pytest_supportbench.results_file import closing_line  # noqa: PLC0415 - likewise

    last: Callable[[Path], Json] | None = None
    if closing is not None:
        arguments = closing

        def last(draft: Path) -> Json:
            return closing_line(draft, **arguments)

    write_results(path, lines, last)


def _say(title: str, texts: Iterable[str], *, always: bool = False) -> None:
    """Print a title with a list below it, the first twenty; nothing where there is none, unless ``always``."""
    found = list(texts)
    if found or always:
        _print(title)
    for text in found[:MAX_LISTED]:
        _print(f"  {text}")
    if len(found) > MAX_LISTED:
        _print(f"  and {len(found) - MAX_LISTED} more")


def _print(text: str) -> None:
    from pytest_supportbench.reporting.text import bounded, clean  # noqa: PLC0415 - only commands that print files' words

    print(clean(bounded(text)))
