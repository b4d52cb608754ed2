"""One YAML file while it is being checked: its data, and its problems at their positions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_supportbench.canonical import content_sha256
from pytest_supportbench.errors import FileError, Problem
from pytest_supportbench.findings import Finding, dotted, shown
from pytest_supportbench.yaml12 import MAX_BYTES, decode, scan
from pytest_supportbench.yaml_positions import Positions, positions

if TYPE_CHECKING:
    from pytest_supportbench.packed import Packed


def read_text(path: Path) -> str:
    """Return a file's text, of at most 2 MB. Raises `FileError` where there is none to read."""
    return decode(read_bytes(path), str(path))


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, and a byte more than is allowed where it is too large. Raises `FileError`."""
    name = str(path)
    try:
        with path.open("rb", buffering=0) as file:
            # Bounded by the size, since a reader of a huge bound would set that much memory aside.
            return file.read(min(os.fstat(file.fileno()).st_size, MAX_BYTES) + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        problem = Problem(name, 1, 1, "", f"cannot be read: {reason}", "check the name and its permissions")
        raise FileError((problem,)) from None


class Source:
    """A file's data and what is wrong with it. Raises `FileError` where it cannot be read.

    ``raw`` is what it holds, where it was read already, and ``known`` the data, where they are known.
    """

    def __init__(self, path: Path, raw: bytes | None = None, known: Packed | None = None) -> None:
        self.path = path
        self.name = str(path)
        self._raw = read_bytes(path) if raw is None else raw
        self._known = known
        problems: tuple[Problem, ...] = ()
        self.data: Any = None
        if known is not None:
            self.data = known.data()
        else:
            self.data, problems = scan(self.text, self.name)
        self.problems = list(problems)
        self._unread = {(problem.line, problem.column) for problem in problems}
        self._positions: Positions | None = None

    @property
    def text(self) -> str:
        """The file as text. Raises `FileError` where it is no UTF-8."""
        return decode(self._raw, self.name)

    @property
    def sha256(self) -> str:
        """The hash of the canonical JSON of the data, so that comments and layout do not count."""
        return content_sha256(self.data) if self._known is None else self._known.sha256

    def add(self, finding: Finding) -> None:
        """Note a mistake at its position; the positions are only found when the first one is noted."""
        if self._positions is None:
            self._positions = positions(self.text)
        line, column = self._positions.at(finding.place, key=finding.key)
        if (line, column) in self._unread:
            return  # what could not be read there was reported already
        field = dotted(finding.place)
        problem = Problem(self.name, line, column, field, finding.message, finding.remedy)
        if problem not in self.problems:
            self.problems.append(problem)

    def mapping(self, what: str) -> dict[str, Any]:
        """Return the data of a file that must be a mapping; raises `FileError` where it is none."""
        if not isinstance(self.data, dict):
            message = "the file is empty" if self.data is None else f"the file holds {shown(self.data)}"
            self.add(Finding((), message, f"write {what}, a mapping that starts with a key such as `id:`"))
            self.refuse()
        data: dict[str, Any] = self.data
        return data

    def refuse(self) -> None:
        """Raise `FileError` with every problem noted, in line order, if there is any."""
        if self.problems:
            raise FileError(tuple(sorted(self.problems)))


def plain_path(path: Path) -> Path:
    """Return a path without steps to parent folders, so that one file has one path however it is written."""
    plain = Path(os.path.normpath(path))
    if plain == path:
        return path
    try:
        return plain if plain.samefile(path) else path.resolve()
    except OSError:  # it is not there, or not by the shorter way
        return path.resolve() if path.exists() else path
