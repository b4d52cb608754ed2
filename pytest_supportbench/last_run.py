"""The name of the newest run's results file, in the project's own folder that git ignores."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from pytest_supportbench.results import dump


def point_at(path: Path, folder: Path) -> None:
    """Make ``last-run.jsonl`` in ``folder`` name the newest run, and let git ignore the folder.

    The name changes hands in one step: of two runs that begin at once, one is named, and neither is written over.
    """
    make_ignored(folder)
    pointer = folder / "last-run.jsonl"
    draft = folder / f".last-run.{os.getpid()}-{threading.get_ident()}"
    draft.unlink(missing_ok=True)
    try:
        draft.symlink_to(os.path.relpath(path, folder))
    except OSError:
        draft.write_text(dump({"type": "pointer", "path": str(path.absolute())}), encoding="utf-8")
    draft.replace(pointer)


def make_ignored(folder: Path) -> None:
    """Make a folder of this package's own in somebody's project, which git ignores."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
