"""``supportbench artifacts``: what is published beside a suite's files, made from them and from nothing else."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_supportbench.block_texts import block_writers
from pytest_supportbench.blocks import BEGIN, refreshed
from pytest_supportbench.croissant import CROISSANT, croissant_text
from pytest_supportbench.errors import FileError, Problem, UsageError
from pytest_supportbench.facts import facts_of
from pytest_supportbench.facts_csv import csv_text, unfit
from pytest_supportbench.loading import SUITE_FILE
from pytest_supportbench.manifest import MANIFEST, changed_files, manifest_text
from pytest_supportbench.source import read_text
from pytest_supportbench.whole_suite import canary, load_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_supportbench.facts import ScenarioFacts
    from pytest_supportbench.loading import BoundScenario, BoundSuite
    from pytest_supportbench.whole_suite import WholeSuite

_DEFAULT: Final = Path("scenarios", "tinybench-50")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file as it should be."""

    path: Path
    text: str

    @property
    def drift(self) -> Problem | None:
        """How the file differs from what it should be, at the first such line; line ends do not count."""
        folder = shlex.quote(shown_path(self.path.parent))
        remedy = f"run: supportbench artifacts {folder}"
        name = shown_path(self.path)
        if not self.path.is_file():
            return Problem(name, 1, 1, "", "is missing", remedy)
        there, wanted = _lf(self.path.read_bytes()), _lf(self.text.encode())
        if there == wanted:
            return None
        lines = zip(there.split(b"\n"), wanted.split(b"\n"), strict=False)  # one may be shorter
        number = next((at for at, (old, new) in enumerate(lines, 1) if old != new), 1)
        return Problem(name, number, 1, "", "is not what the suite's files give", remedy)


def build(whole: WholeSuite) -> tuple[Artifact, ...]:
    """Return every artifact of a suite: CSV, manifest, Croissant metadata, and its pages with their blocks.

    The same files give the same bytes. Raises `FileError` for what a spreadsheet cannot hold, and for a page with
    a block that is unknown or has no end.
    """
    csv_name = f"{whole.bound.suite.name}.csv"
    csv = csv_text(_rows(whole))
    texts = {
        csv_name: csv,
        MANIFEST: manifest_text(whole),
        CROISSANT: croissant_text(whole, csv_name, csv),
    }
    writers = block_writers(whole, texts)
    for page in sorted(whole.folder.glob("*.md")):
        text = read_text(page)
        if BEGIN in text:
            texts[page.name] = refreshed(text, shown_path(page), writers)
    return tuple(Artifact(whole.folder / name, text) for name, text in texts.items())


def _rows(whole: WholeSuite) -> tuple[ScenarioFacts, ...]:
    problems: list[Problem] = []
    rows: list[ScenarioFacts] = []
    for bound in whole.scenarios:
        row = facts_of(bound, canary(Path(bound.path)))
        rows.append(row)
        problems += [
            Problem(bound.path, 1, 1, column, message, "shorten it, or split the scenario in two")
            for column, message in unfit(row)
        ]
    if problems:
        raise FileError(tuple(problems))
    return tuple(rows)


def write_artifacts(folder: Path) -> tuple[Path, ...]:
    """Write the artifacts of the suite in ``folder`` and return the files that changed.

    Raises `FileError` and `UsageError` as `load_whole` and `build` do; nothing is written then.
    """
    changed = tuple(artifact for artifact in build(load_whole(folder)) if artifact.drift)
    for artifact in changed:
        draft = artifact.path.with_name(f".{artifact.path.name}.tmp")
        try:
            draft.write_bytes(artifact.text.encode())
            draft.replace(artifact.path)
        except OSError as error:
            msg = f"cannot write {artifact.path}: {error.strerror}; choose a suite that you may write to"
            raise UsageError(msg) from None
        finally:
            draft.unlink(missing_ok=True)
    return tuple(artifact.path for artifact in changed)


def drift(folder: Path) -> tuple[Problem, ...]:
    """Return a problem for every artifact of the suite in ``folder`` that is missing or out of date."""
    return tuple(_drift(folder, build(load_whole(folder))))


def _drift(folder: Path, artifacts: Iterable[Artifact]) -> Iterator[Problem]:
    """Yield the files that were changed since the manifest was made, then what is out of date because of it."""
    stale = [(artifact, problem) for artifact in artifacts if (problem := artifact.drift)]
    for artifact, _ in stale:
        if artifact.path.name == MANIFEST and artifact.path.is_file():
            for name in changed_files(read_text(artifact.path), artifact.text):
                yield Problem(
                    shown_path(folder / name),
                    1,
                    1,
                    "",
                    "was changed since the artifacts were made",
                    "undo that, or, if it is meant, make them again; a change of scores needs a new suite version",
                )
    yield from (problem for _, problem in stale)


def artifact_problems(suite: BoundSuite, loaded: Iterable[BoundScenario] = ()) -> Iterator[Problem]:
    """Yield what is out of date in a suite that publishes artifacts, which is one that has a single one of them.

    ``loaded`` are scenarios of it that need not be read again. What keeps the artifacts from being made, such as a
    scenario that does not load, is yielded instead.
    """
    folder = suite.path.parent
    published = (folder / MANIFEST, folder / CROISSANT, folder / f"{suite.suite.name}.csv")
    if not any(path.is_file() for path in published):
        return
    try:
        yield from _drift(folder, build(load_whole(folder, loaded)))
    except FileError as error:
        yield from error.problems


def default_folder(start: Path) -> Path:
    """Return the suite that is meant where none is named: TinyBench-50, or the only one below ``start``.

    Raises `UsageError` where there is none or more than one.
    """
    if (start / _DEFAULT / SUITE_FILE).is_file():
        return start / _DEFAULT
    found = sorted(_suites_below(start))
    if len(found) == 1:
        return found[0]
    several = f"{len(found)} suites below here: {', '.join(shown_path(path) for path in found[:5])}"
    msg = f"{several if found else f'no {SUITE_FILE} below here'}; name the folder of a suite"
    raise UsageError(msg)


def _suites_below(start: Path) -> Iterator[Path]:
    """Yield the folders with a suite file, but for hidden ones and installed packages."""
    for folder, below, files in os.walk(start):
        below[:] = [
            name
            for name in below
            if not name.startswith(".") and name not in {"node_modules", "site-packages", "__pycache__"}
        ]
        if SUITE_FILE in files:
            yield Path(folder)


def shown_path(path: Path) -> str:
    """Return a path relative to the current folder where it lies below it, or else as it is."""
    absolute, here = path.absolute(), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(path)


def _lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")
