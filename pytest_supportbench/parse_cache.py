"""What scenario files hold, kept from one run to the next: reading YAML is a large part of loading it.

One SQLite file of JSON texts, by the SHA-256 of a file's bytes. What a scenario may say is checked anew each time,
since that depends on its suite and toolset too. The file may be deleted at any time, and serves several processes.
Where it cannot be read or written, files are parsed as without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from pytest_supportbench import canonical, yaml12

if TYPE_CHECKING:
    import sqlite3

FILE: Final = "scenarios.sqlite3"
MAX_BYTES: Final = 256_000_000
"""A cache that grew larger, with the files of years, begins anew."""

_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)


class ParseCache:
    """The cache in ``folder``, which is made when there is something to keep and the folder around it is there.

    Listing scenarios makes no folder in a project that has not been run yet.
    What another version of the reader wrote is dropped; ``version`` stands for it in tests.
    """

    def __init__(self, folder: Path, version: str = "") -> None:
        self._folder = folder
        self._version = version or reader_version()
        self._new: dict[bytes, tuple[str, str]] = {}
        self._database: sqlite3.Connection | None = self._open() if (folder / FILE).exists() else None

    def get(self, raw: bytes) -> tuple[dict[str, Any], str] | None:
        """Return a file's data and its canonical hash, or ``None`` where these bytes are not known."""
        if self._database is None:
            return None
        try:
            found = self._database.execute(
                "SELECT data, sha256 FROM scenarios WHERE key = ?", (_key(raw),)
            ).fetchone()
            return None if found is None else (json.loads(found[0]), found[1])
        except Exception:  # noqa: BLE001 - whatever is wrong with the file, the scenario itself can be read
            self._database = None
            return None

    def put(self, raw: bytes, data: dict[str, Any], sha256: str) -> None:
        """Keep what a file holds; it is written by `flush`. Data that shares parts is left out: it could grow."""
        text = _ENCODER.encode(data)
        if len(text) <= 4 * len(raw):
            self._new[_key(raw)] = (text, sha256)

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
                rows = [(key, *value) for key, value in new.items()]
                database.executemany("INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?)", rows)

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
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TABLE IF NOT EXISTS version (name TEXT)")
        if database.execute("SELECT name FROM version").fetchall() == [(self._version,)]:
            return
        with database:
            database.execute("DROP TABLE IF EXISTS scenarios")
            database.execute(
                "CREATE TABLE scenarios (key BLOB PRIMARY KEY, data TEXT, sha256 TEXT) WITHOUT ROWID"
            )
            database.execute("DELETE FROM version")
            database.execute("INSERT INTO version VALUES (?)", (self._version,))

    def close(self) -> None:
        """Write what is new and let go of the file."""
        self.flush()
        if self._database is not None:
            self._database.close()
            self._database = None


def reader_version() -> str:
    """Return a hash of all that decides what a file's data and their hash are: our code and the parser's version."""
    code = b"".join(Path(module.__file__ or "").read_bytes() for module in (yaml12, canonical))
    return hashlib.sha256(code + yaml.__version__.encode()).hexdigest()


def _key(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
