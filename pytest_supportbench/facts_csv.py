"""The CSV of a suite: written so that spreadsheet programs open it as text, and read back without loss."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from pytest_supportbench.errors import FileError, Problem
from pytest_supportbench.facts import ScenarioFacts
from pytest_supportbench.spreadsheet import MAX_CELL, cell_length, cell_text, sheet_text, text_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

COLUMNS: Final = tuple(ScenarioFacts.model_fields)

PLAIN: Final = frozenset(
    name for name, field in ScenarioFacts.model_fields.items() if field.annotation in {str, int}
)
"""The columns whose cells are not JSON."""


def csv_text(rows: Iterable[ScenarioFacts]) -> str:
    """Return the rows as CSV with a header, as `sheet_text` writes it; JSON cells never begin a formula."""
    return sheet_text(COLUMNS, (tuple(_texts(row).values()) for row in rows))


def cells(row: ScenarioFacts) -> dict[str, str]:
    """Return the cells of a row by column, as they stand in the file."""
    return {name: text_cell(text) for name, text in _texts(row).items()}


def _texts(row: ScenarioFacts) -> dict[str, str]:
    data = row.model_dump(mode="json")
    return {name: str(data[name]) if name in PLAIN else _json(data[name]) for name in COLUMNS}


def unfit(row: ScenarioFacts) -> Iterator[tuple[str, str]]:
    """Yield column and reason for every cell that a spreadsheet could not hold."""
    for name, cell in cells(row).items():
        length = cell_length(cell)
        if length > MAX_CELL:
            yield name, f"has {length:,} characters in the CSV, and a spreadsheet's cell holds {MAX_CELL:,}"
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
            data[name] = cell_text(cell) if name in PLAIN else json.loads(cell)
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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
