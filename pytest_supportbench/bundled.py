"""The suites that come with the package: where they are, and copies of them; nothing is ever written there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_supportbench.errors import UsageError
from pytest_supportbench.findings import suggestion
from pytest_supportbench.last_run import make_ignored
from pytest_supportbench.loading import SUITE_FILE, load_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_SUITE: Final = "tinybench-50"
OWN_FOLDER: Final = ".supportbench"


@dataclass(frozen=True, slots=True)
class BundledSuite:
    """A suite that comes with the package, in a folder that may be read-only."""

    name: str
    version: str
    folder: Path


def bundled_suites() -> tuple[BundledSuite, ...]:
    """Return the suites of this installation, by name.

    They are in the installed package; with an editable install they are in the repository.
    """
    package = Path(str(files("pytest_supportbench")))
    home = package / "suites"
    if not home.is_dir() and (package.parent / "pyproject.toml").is_file():
        home = package.parent / "scenarios"
    found = []
    for path in sorted(home.glob(f"*/{SUITE_FILE}")):
        suite = load_suite(path).suite
        found.append(BundledSuite(suite.name, suite.version, path.parent))
    return tuple(found)


def bundled(name: str) -> BundledSuite:
    """Return the suite of that name. Raises `UsageError` that says what there is."""
    suites = {suite.name: suite for suite in bundled_suites()}
    if name not in suites:
        remedy = suggestion(name, suites, "bundled suites")
        msg = f"{name!r} is neither a file or folder here nor a suite that comes with the package; {remedy}"
        raise UsageError(msg)
    return suites[name]


def copy_suite(suite: BundledSuite, destination: Path) -> None:
    """Copy a suite into a folder that is new or empty. Raises `UsageError` for any other, and where it cannot."""
    try:
        if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
            msg = f"{destination} exists and is no empty folder; name a new one, or remove it first"
            raise UsageError(msg)
        _mirror(suite.folder, destination)
    except OSError as error:
        msg = f"cannot write into {destination}: {error.strerror}; name a folder that you may write to"
        raise UsageError(msg) from None


def working_copy(suite: BundledSuite, start: Path) -> Path:
    """Return an up-to-date copy of a suite below ``start/.supportbench``, for pytest to run.

    Only below the user's own folder do the configuration, conftest files and results there apply as for any other
    test. The copy is the package's: what was changed in it is restored. Raises `UsageError` where it cannot be
    written.
    """
    own = start / OWN_FOLDER
    destination = own / "suites" / suite.name
    try:
        make_ignored(own)
        _mirror(suite.folder, destination)
        wanted = set(_names(suite.folder))
        for name in set(_names(destination)) - wanted:
            (destination / name).unlink()
    except OSError as error:
        msg = f"cannot write {destination}: {error.strerror}; run it from a folder that you may write to"
        raise UsageError(msg) from None
    return destination


def _mirror(source: Path, destination: Path) -> None:
    """Write every file that is missing or differs, each whole or not at all, so that two runs may do it at once."""
    for name in _names(source):
        target, data = destination / name, (source / name).read_bytes()
        if target.is_file() and target.read_bytes() == data:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            draft.write_bytes(data)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


def _names(folder: Path) -> Iterator[str]:
    """Yield the files of a suite by relative path; caches and hidden files are none of it."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith((".", "__")) for part in name.parts):
            yield name.as_posix()
