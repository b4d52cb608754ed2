"""The CSV of a suite: written so that spreadsheet programs open it as text, and read back without loss."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from pytest_supportbench.errors import FileError, Problem
from pytest_supportbench.facts import ScenarioFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

COLUMNS: Final = tuple(ScenarioFacts.model_fields)

PLAIN: Final = frozenset(
    name for name, field in ScenarioFacts.model_fields.items() if field.annotation in {str, int}
)
"""The columns whose cells are not JSON."""

MOST_CHARACTERS: Final = 32_767
"""So many UTF-16 code units a cell of a spreadsheet holds."""

_FORMULA: Final = "=+-@\uff1d\uff0b\uff0d\uff20"  # their full-width forms begin a formula in some locales
_TEXT_MARK: Final = "'"  # what spreadsheet users themselves put before a text that looks like a formula

_MARK: Final = "\ufeff"  # without it Excel takes the file for the local 8-bit code page


def csv_text(rows: Iterable[ScenarioFacts]) -> str:
    """Return the rows as CSV with a header, beginning with the byte order mark that Excel needs to see UTF-8.

    All cells are quoted and lines end with LF. A text that a spreadsheet would run as a formula, or that begins
    with an apostrophe, has an apostrophe before it, which `read_csv` takes off.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(cells(row).values())
    return _MARK + out.getvalue()


def cells(row: ScenarioFacts) -> dict[str, str]:
    """Return the cells of a row by column, as they stand in the file."""
    data = row.model_dump(mode="json")
    return {name: _cell(data[name], plain=name in PLAIN) for name in COLUMNS}


def unfit(row: ScenarioFacts) -> Iterator[tuple[str, str]]:
    """Yield column and reason for every cell that a spreadsheet could not hold."""
    for name, cell in cells(row).items():
        length = len(cell.encode("utf-16-le", "surrogatepass")) // 2
        if length > MOST_CHARACTERS:
            yield (
                name,
                f"has {length:,} characters in the CSV, and a spreadsheet's cell holds {MOST_CHARACTERS:,}",
            )
        if "\0" in cell or any("\ud800" <= letter <= "\udfff" for letter in cell):
            yield name, "holds a NUL or half a surrogate pair, which no spreadsheet shows"


def read_csv(path: Path) -> tuple[ScenarioFacts, ...]:
    """Return the rows of a CSV that `csv_text` made.

    Raises `FileError` naming the line and column of the file where it is none.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader, [])
        if tuple(header) != COLUMNS:
            message = (
                f"has the columns {', '.join(header)[:200] or 'of an empty file'}, not those of a suite's CSV"
            )
            raise _refused(path, 1, message)
        return tuple(_row(path, reader.line_num, found) for found in reader)
    except OSError as error:
        raise _refused(path, 1, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise _refused(path, 1, f"is no UTF-8: {error.reason} at byte {error.start}") from None
    except csv.Error as error:
        raise _refused(path, reader.line_num, f"is no CSV: {error}") from None


def _row(path: Path, line: int, found: list[str]) -> ScenarioFacts:
    if len(found) != len(COLUMNS):
        raise _refused(path, line, f"this row has {len(found)} cells, not {len(COLUMNS)}")
    data: dict[str, Any] = {}
    for name, cell in zip(COLUMNS, found, strict=True):
        try:
            data[name] = _plain(cell) if name in PLAIN else json.loads(cell)
        except ValueError as error:
            raise _refused(path, line, f"{name} is no JSON: {error}") from None
    try:
        return ScenarioFacts.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _refused(path, line, f"{where}: {first['msg']}") from None


def _refused(path: Path, line: int, message: str) -> FileError:
    remedy = "write it anew with: supportbench artifacts"
    return FileError((Problem(str(path), line, 1, "", message, remedy),))


def _cell(value: Any, *, plain: bool) -> str:
    if not plain:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    text = str(value)
    begins = text.lstrip()[:1]
    needs_mark = text.startswith((_TEXT_MARK, "\t", "\r", "\n")) or (begins and begins in _FORMULA)
    return f"{_TEXT_MARK}{text}" if needs_mark else text


def _plain(cell: str) -> str:
    return cell.removeprefix(_TEXT_MARK)
