"""``supportbench note``: a results file as a result note that can be published as it is."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from pytest_supportbench.evidence import Evidence
    from pytest_supportbench.results_file import RunFile

_HTML: Final = frozenset({".html", ".htm"})


def add_note_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to those of ``supportbench``."""
    note = commands.add_parser(
        "note",
        help="write a results file's result note: finding, setup, scores, limitations",
        epilog="exit codes: 0 written, whatever the run scored; 4 wrong usage, or a file that is no results file",
    )
    note.add_argument("results", type=Path, metavar="RESULTS", help="a results file")
    note.add_argument("--agent", metavar="NAME", help="only this agent (default: all, compared)")
    note.add_argument("--out", type=Path, metavar="PATH", help="file to write (default: print it)")
    note.add_argument(
        "--format",
        choices=["markdown", "html"],
        help="default: html for an --out that ends in .html, else markdown",
    )
    note.add_argument(
        "--baseline", type=Path, metavar="PATH", help="a baseline to judge the run by, as the gate does"
    )
    note.set_defaults(run=_note)


def _note(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.note import make_note  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.reporting.note import note_html, note_markdown  # noqa: PLC0415 - likewise
    from pytest_supportbench.results_copy import read_whole  # noqa: PLC0415 - likewise

    results: Path = chosen.results
    out: Path | None = chosen.out
    _refuse_inputs(out, [results, *([chosen.baseline] if chosen.baseline else [])])
    run = read_whole(results)
    _know(run, chosen.agent, results)
    baseline = _baseline(chosen.baseline)
    note = make_note(
        run, _sha256(run.path or results), agent=chosen.agent, baseline=baseline, path=str(results)
    )
    html = chosen.format == "html" or (
        chosen.format is None and out is not None and out.suffix.lower() in _HTML
    )
    text = note_html(note) if html else note_markdown(note)
    text = text.encode("utf-8", "replace").decode()
    if out is None:
        print(text, end="")
        return 0
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        msg = f"{out}: cannot be written ({error.strerror}); name another path with --out"
        raise UsageError(msg) from error
    print(f"wrote {out}")
    return 0


def _refuse_inputs(out: Path | None, inputs: list[Path]) -> None:
    if out is not None and out.exists() and any(path.exists() and path.samefile(out) for path in inputs):
        msg = f"{out}: is one of the files to read; name another path with --out"
        raise UsageError(msg)


def _know(run: RunFile, agent: str | None, path: Path) -> None:
    """Raise `UsageError` where the run has no agent of that name."""
    names = dict.fromkeys(
        str(item.get("id") if "id" in item else item.get("agent"))
        for item in (*run.run["agents"], *run.episodes)
    )
    if agent is not None and agent not in names:
        msg = f"{path}: there is no agent {agent[:80]!r}; there is {', '.join(names) or 'none'}"
        raise UsageError(msg)


def _baseline(path: Path | None) -> Evidence | None:
    from pytest_supportbench.baseline import read_baseline  # noqa: PLC0415 - only where one is named

    return None if path is None else read_baseline(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
