"""What scenario files hold, kept from one run to the next: reading and checking YAML is most of loading it.

One SQLite file of JSON texts, by the SHA-256 of a file's bytes. What each may say depends on its suite too, so the text
has what stands for the suite that it was found to fit. The file may be deleted at any time, and serves several
processes. Where it cannot be read or written, files are loaded as without it.
"""

from __future__ import annotations

import contextlib
import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json, to_json

from pytest_supportbench.packed import Heading, Packed

if TYPE_CHECKING:
    import sqlite3

FILE: Final = "scenarios.sqlite3"
MAX_BYTES: Final = 256_000_000
"""A cache that grew larger, with the files of years, begins anew."""

_COLUMNS: Final = "key BLOB PRIMARY KEY, data BLOB, sha256 TEXT, fits TEXT, heading BLOB, proof BLOB"


class ParseCache:
    """The cache in ``folder``, which is made when there is something to keep and the folder around it is there.

    Listing scenarios makes no folder in a project that has not been run yet.
    What another version of this package wrote is dropped; ``version`` stands for it in tests.
    """

    def __init__(self, folder: Path, version: str = "") -> None:
        self._folder = folder
        self._version = version or package_version()
        self._new: dict[bytes, Packed] = {}
        self._database: sqlite3.Connection | None = self._open() if (folder / FILE).exists() else None

    def get(self, raw: bytes) -> Packed | None:
        """Return what is known of a file with these bytes; ``None`` where nothing is, or it is not as it was kept."""
        if self._database is None:
            return None
        try:
            found = self._database.execute(
                "SELECT data, sha256, fits, heading, proof FROM scenarios WHERE key = ?", (self._key(raw),)
            ).fetchone()
            if found is None or _proof(*found[:-1]) != found[-1]:
                return None
            text, sha256, fits, heading, _ = found
            named, twin, category, tags, failure_mode = from_json(heading)
        except Exception:  # noqa: BLE001 - whatever is wrong with the file, the scenario itself can be read
            self._database = None
            return None
        return Packed(text, sha256, fits, Heading(named, twin, category, tuple(tags), failure_mode))

    def put(self, raw: bytes, packed: Packed) -> None:
        """Keep what a file holds; it is written by `flush`."""
        self._new[self._key(raw)] = packed

    def flush(self) -> None:
        """Write what is new, in one transaction; another process that writes at the same time is hardly waited for."""
        if not self._new or not self._folder.parent.is_dir():
            return
        import sqlite3  # noqa: PLC0415 - only runs with new files

        new, self._new = self._new, {}
        with contextlib.suppress(OSError, sqlite3.Error):
            self._folder.mkdir(exist_ok=True)
            database = self._open()
            if database is None:
                return
            with contextlib.closing(database), database:
                rows = ((key, *_row(packed)) for key, packed in new.items())
                database.executemany("INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _open(self) -> sqlite3.Connection | None:
        """Return a connection to a table of this version; ``None`` where there is none to be had."""
        import sqlite3  # noqa: PLC0415 - only runs with scenarios

        path = self._folder / FILE
        for _ in range(2):
            try:
                if path.exists() and path.stat().st_size > MAX_BYTES:
                    path.unlink()
                database = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
                try:
                    self._prepare(database)
                except BaseException:
                    database.close()
                    raise
            except sqlite3.OperationalError:  # locked, or a folder that may not be written to
                return None
            except sqlite3.DatabaseError:  # no database at all
                with contextlib.suppress(OSError):
                    path.unlink()
            except OSError:
                return None
            else:
                return database
        return None

    def _prepare(self, database: sqlite3.Connection) -> None:
        import sqlite3  # noqa: PLC0415 - only runs with scenarios

        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TABLE IF NOT EXISTS version (name TEXT)")
        if database.execute("SELECT name FROM version").fetchall() == [(self._version,)]:
            with contextlib.suppress(
                sqlite3.OperationalError
            ):  # there is no such table, or it has other columns
                database.execute("SELECT key, data, sha256, fits, heading, proof FROM scenarios LIMIT 0")
                return
        with database:
            database.execute("DROP TABLE IF EXISTS scenarios")
            database.execute(f"CREATE TABLE scenarios ({_COLUMNS}) WITHOUT ROWID")
            database.execute("DELETE FROM version")
            database.execute("INSERT INTO version VALUES (?)", (self._version,))

    def close(self) -> None:
        """Write what is new and let go of the file."""
        self.flush()
        if self._database is not None:
            self._database.close()
            self._database = None

    def _key(self, raw: bytes) -> bytes:
        """Return the key of a file; another version, which may write to the same file just now, has others."""
        return hashlib.sha256(self._version.encode() + raw).digest()


def package_version() -> str:
    """Return a hash of all that decides what a file's data are and whether they are right, its suite apart.

    It is of this package's files by name, size and time, since its code can change without its version.
    """
    here = Path(__file__).parent
    parts = [version(name) for name in ("pytest-supportbench", "pyyaml", "pydantic")]
    for path in sorted(here.rglob("*.py")):
        status = path.stat()
        parts.append(f"{path.relative_to(here)} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _row(packed: Packed) -> tuple[bytes, str, str, bytes, bytes]:
    heading = packed.heading
    named = to_json([heading.id, heading.twin, heading.category, list(heading.tags), heading.failure_mode])
    columns = packed.text, packed.sha256, packed.fits, named
    return *columns, _proof(*columns)


def _proof(text: bytes, sha256: str, fits: str, heading: bytes) -> bytes:
    """Return what tells whether a row is as it was written: SQLite itself does not notice a changed byte."""
    return hashlib.sha256(b"\0".join((text, sha256.encode(), fits.encode(), heading))).digest()
