"""Texts in the cells of a CSV that spreadsheet programs open: never a formula, and read back without loss."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_supportbench.errors import FileError, Problem

MAX_BYTES: Final = 50_000_000
MAX_CELL: Final = 32_767
"""So many UTF-16 code units a cell of a spreadsheet holds; Excel drops the rest without a word."""

_BYTE_ORDER: Final = "\ufeff"  # without it Excel takes the file for the local 8-bit code page
_TEXT_MARK: Final = "'"  # what spreadsheet users themselves put before a text that looks like a formula
_FORMULA: Final = "=+-@\uff1d\uff0b\uff0d\uff20"  # the full-width forms begin a formula in some locales
_DELIMITERS: Final = ",;\t"  # where the comma is the decimal mark, Excel saves with semicolons
_SEP: Final = re.compile(r'"?sep=([,;\t|])"?\r?(?=\n)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a sheet by column; ``line`` is the one it begins on, ``places`` where its cells stand, from 1."""

    line: int
    cells: dict[str, str]
    places: Mapping[str, int]


def sheet_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a CSV that Excel, LibreOffice and Google Sheets open as text: quoted, UTF-8 with its mark, LF.

    A text that would run as a formula or that begins with an apostrophe has an apostrophe before it.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([text_cell(text) for text in row] for row in rows)
    return _BYTE_ORDER + out.getvalue()


def text_cell(text: str) -> str:
    """Return a text as its cell has it: with an apostrophe before it where it would not be taken as it is."""
    begins = text.lstrip()[:1]
    risky = text.startswith((_TEXT_MARK, "\t", "\r", "\n")) or (begins and begins in _FORMULA)
    return f"{_TEXT_MARK}{text}" if risky else text


def cell_text(cell: str) -> str:
    """Return the text of a cell that `text_cell` made."""
    return cell.removeprefix(_TEXT_MARK)


def cell_length(cell: str) -> int:
    """Return how long a spreadsheet finds a cell; it keeps `MAX_CELL`."""
    return len(cell.encode("utf-16-le", "surrogatepass")) // 2


def fits_cell(text: str) -> bool:
    """Tell whether a spreadsheet keeps the whole text in one cell."""
    return cell_length(text_cell(text)) <= MAX_CELL


def read_sheet(path: Path, columns: Sequence[str], remedy: str) -> tuple[Row, ...]:
    """Return the rows of a CSV that `sheet_text` made and a spreadsheet program may have saved again.

    Columns may stand in any order and further ones are ignored. Commas, semicolons and tabs are understood. Blank rows
    are left out, and Excel's first line ``sep=;`` is heeded. Raises `FileError` with line and remedy where the file is
    no such CSV.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _refused(path, 1, f"has more than {MAX_BYTES:,} bytes", remedy)
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise _refused(path, 1, f"cannot be read: {(error.strerror or str(error)).lower()}", remedy) from None
    except UnicodeDecodeError as error:
        what = f"is no UTF-8 ({error.reason} at byte {error.start})"
        raise _refused(path, 1, what, "save it as CSV in the encoding UTF-8") from None
    told = _SEP.match(text)
    delimiter = told[1] if told else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        if told:
            next(reader)
        header = [name.strip() for name in next(reader, [])]
        missing = [name for name in columns if header.count(name) != 1]
        if missing:
            raise _refused(path, 1, f"the column {missing[0]!r} must be there exactly once", remedy)
        return tuple(_rows(path, reader, header, remedy))
    except csv.Error as error:
        raise _refused(path, reader.line_num, f"is no CSV: {error}", remedy) from None


def _rows(path: Path, reader: Iterator[list[str]], header: list[str], remedy: str) -> Iterator[Row]:
    line = _line(reader)
    places = {name: header.index(name) + 1 for name in header}
    for found in reader:
        if any(cell.strip() for cell in found):
            if len(found) != len(header):
                raise _refused(path, line + 1, f"has {len(found)} cells, not {len(header)}", remedy)
            yield Row(line + 1, dict(zip(header, map(cell_text, found), strict=True)), places)
        line = _line(reader)


def _line(reader: Iterator[list[str]]) -> int:
    number: int = reader.line_num  # type: ignore[attr-defined]  # csv.reader's own type is not public
    return number


def _delimiter(text: str) -> str:
    """Return what stands most often in the header; the comma on ties."""
    header = text.partition("\n")[0]
    return max(_DELIMITERS, key=header.count)


def _refused(path: Path, line: int, message: str, remedy: str) -> FileError:
    return FileError((Problem(str(path), line, 1, "", message, remedy),))
