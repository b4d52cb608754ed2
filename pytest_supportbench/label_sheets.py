"""Blind sheets for annotators: what they get, what comes back, and what two of them disagree on."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, get_args

from pytest_supportbench.errors import FileError, Problem, UsageError
from pytest_supportbench.labels import Answer, LabelItem, Labels
from pytest_supportbench.questions import Item, Questions
from pytest_supportbench.reporting.text import clean
from pytest_supportbench.sheet_orders import copied_from
from pytest_supportbench.shown_words import conversation
from pytest_supportbench.spreadsheet import Row, fits_cell, read_sheet, sheet_text

COLUMNS: Final = ("item", "annotator", "customer", "agent", "question", "answer", "comment")
ADJUDICATION: Final = ("item", "customer", "agent", "question", "answers", "comments", "answer", "comment")

MOST_PROBLEMS: Final = 50
"""So many mistakes of one sheet are told; the rest are counted."""

MAX_COMMENT: Final = 2_000

_SHOWN: Final = 40
_BEFORE: Final = 10

_RETYPED: Final = (
    "restore it: a spreadsheet program (a number, a date, a typographic quote) or somebody changed this cell"
)
_SORTED_ALONE: Final = "restore the texts: was one column sorted without the rest?"
_OWN_SHEET: Final = (
    "each annotator fills in the sheet that was exported for them (sort it by item if its rows were moved)"
)
_RESTORE: Final = "fill in the sheets that supportbench labels export wrote, and keep their columns"


def export(found: Questions, *, annotators: int, seed: int, limit: int | None = None) -> Labels:
    """Return the key of an export: each item under an opaque id, at most ``limit`` of them, drawn by ``seed``.

    Items whose texts no spreadsheet's cell holds are left out. Raises `UsageError` where nothing is left.
    """
    drawn = sorted(found.items, key=lambda item: _hash(seed, "draw", item.key))
    items = [item for item in (_label(item, seed) for item in drawn) if _fits(item)][:limit]
    if not items:
        msg = "there is nothing to label: no scored episode has a concept to explain and a delivered message"
        raise UsageError(f"{msg}; add 'explanation' to scenarios, or name other results")
    return Labels(
        supportbench_labels=1, matcher=found.matcher, seed=seed, annotators=annotators, items=tuple(items)
    )


def sheet(key: Labels, annotator: int) -> str:
    """Return one annotator's CSV (they count from 1): an order of its own, and nothing of who or what was judged."""
    shown = (
        (item.item, str(annotator), item.customer, item.agent, item.question, "", "")
        for item in _shuffled(key, annotator)
    )
    return sheet_text(COLUMNS, shown)


def _shuffled(key: Labels, annotator: int) -> list[LabelItem]:
    return sorted(key.items, key=lambda item: _hash(key.seed, annotator, item.key))


def import_sheets(key: Labels, paths: Sequence[Path]) -> Labels:
    """Return the labels of filled sheets, one of each annotator, in any order.

    Raises `FileError` with every row that is wrong in any of them, and where one is a copy of another.
    """
    sheets = [_Sheet(path, read_sheet(path, COLUMNS, _RESTORE)) for path in paths]
    wanted = {item.item: item for item in key.items}
    by_annotator: dict[int, _Sheet] = {}
    for filled in sheets:
        filled.read(wanted, COLUMNS[2:5])
        by_annotator[filled.annotator(key.annotators, by_annotator)] = filled
    problems = [problem for filled in sheets for problem in filled.told()]
    if problems:
        raise FileError(tuple(problems))
    missing = sorted({*range(1, key.annotators + 1)} - by_annotator.keys())
    if missing:
        msg = f"the sheet of annotator {missing[0]} is missing: {key.annotators} were exported"
        raise UsageError(f"{msg}; name all of them")
    _refuse_copies(key, by_annotator)
    answers = [by_annotator[number].answers for number in sorted(by_annotator)]
    items = (
        item.model_copy(
            update={
                "answers": tuple(given[item.item].answer for given in answers),
                "comments": tuple(given[item.item].comment for given in answers),
            }
        )
        for item in key.items
    )
    return key.model_copy(update={"items": tuple(items)})


def _refuse_copies(key: Labels, sheets: Mapping[int, _Sheet]) -> None:
    """Raise `FileError` where the order of a sheet's rows is that of another one's."""
    orders = {number: list(filled.answers) for number, filled in sheets.items()}
    exported = {number: [item.item for item in _shuffled(key, number)] for number in orders}
    if found := copied_from(orders, exported):
        number, other, as_exported = found
        what = (
            "the rows stand in the order of"
            if as_exported
            else "the rows stand in the same order as those of"
        )
        whose = f"annotator {other}'s sheet" if as_exported else str(sheets[other].path)
        copy = sheets[number]
        copy.note(copy.rows[0], "item", f"{what} {whose}, though each was shuffled its own way", _OWN_SHEET)
        raise FileError(tuple(copy.told()))


def disagreement_sheet(labels: Labels) -> str:
    """Return the CSV for whoever decides where annotators disagree or were unsure, with what each of them said."""
    rows = (
        (
            item.item,
            *(_exported(item, name) for name in ADJUDICATION[1:6]),
            "",
            "",
        )
        for item in sorted(labels.disagreements, key=lambda item: _hash(labels.seed, "decide", item.key))
    )
    return sheet_text(ADJUDICATION, rows)


def adjudicate(labels: Labels, path: Path) -> Labels:
    """Return the labels with the decisions of a filled sheet of disagreements.

    Raises `FileError` with every row that is wrong, and for disagreements that the sheet leaves out.
    """
    filled = _Sheet(path, read_sheet(path, ADJUDICATION, "fill in the sheet that labels import wrote"))
    filled.read({item.item: item for item in labels.disagreements}, ADJUDICATION[1:6])
    problems = tuple(filled.told())
    if problems:
        raise FileError(problems)
    items = (
        item.model_copy(update={"adjudicated": decided.answer, "adjudication": decided.comment})
        if (decided := filled.answers.get(item.item))
        else item
        for item in labels.items
    )
    return labels.model_copy(update={"items": tuple(items)})


@dataclass(frozen=True, slots=True)
class _Answered:
    answer: Answer
    comment: str


@dataclass(slots=True)
class _Sheet:
    """One filled sheet while it is read: its answers by item, and its mistakes."""

    path: Path
    rows: tuple[Row, ...]
    answers: dict[str, _Answered] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, wanted: Mapping[str, LabelItem], texts: Sequence[str]) -> None:
        """Take the answer of each row, and note what is wrong with it; ``texts`` are the columns that were exported."""
        first: dict[str, int] = {}
        exported = {name: {_plain(_exported(item, name)) for item in wanted.values()} for name in texts}
        for row in self.rows:
            name = row.cells["item"].strip()
            item = wanted.get(name)
            if item is None:
                self.note(row, "item", f"{name[:80]!r} is no item of this export", _RESTORE)
            elif name in first:
                self.note(row, "item", f"{name!r} stands in line {first[name]} too", "keep one of them")
            else:
                first[name] = row.line
                self._take(row, item, exported)
        for name in sorted(wanted.keys() - first.keys()):
            self.problems.append(
                Problem(str(self.path), 1, 1, "item", f"the row of {name!r} is missing", _RESTORE)
            )

    def _take(self, row: Row, item: LabelItem, exported: Mapping[str, Container[str]]) -> None:
        for name, known in exported.items():
            was, now = _plain(_exported(item, name)), _plain(row.cells[name])
            if was != now:
                what = f"is not what was exported for {item.item!r}{_difference(was, now)}"
                self.note(row, name, what, _SORTED_ALONE if now in known else _RETYPED)
                return
        said, comment = row.cells["answer"].strip().lower(), row.cells["comment"].strip()
        if said not in get_args(Answer):
            message = f"is {said[:40]!r}" if said else "is empty"
            self.note(row, "answer", message, "write yes, no or unsure")
        elif len(comment) > MAX_COMMENT:
            message = f"has {len(comment):,} characters"
            self.note(row, "comment", message, f"keep it under {MAX_COMMENT:,}")
        else:
            self.answers[item.item] = _Answered(said, clean(comment))  # type: ignore[arg-type]  # is one of them

    def annotator(self, number: int, known: Mapping[int, object]) -> int:
        """Return whose sheet this is, 0 where that is wrong."""
        names = {row.cells["annotator"].strip(): row for row in reversed(self.rows)}
        for name, row in names.items():
            whose = int(name) if name.isascii() and name.isdigit() and len(name) == 1 else 0
            if not 1 <= whose <= number or len(names) > 1:
                message = f"is {name[:40]!r}" + (" beside another one" if len(names) > 1 else "")
                self.note(row, "annotator", message, f"each sheet has one of 1 to {number} in all rows")
                return 0
            if whose in known:
                self.note(row, "annotator", f"{whose} has another sheet already", "name each sheet once")
                return 0
            return whose
        return 0

    def note(self, row: Row, name: str, message: str, remedy: str) -> None:
        """Note a mistake at a cell."""
        self.problems.append(Problem(str(self.path), row.line, row.places[name], name, message, remedy))

    def told(self) -> Iterator[Problem]:
        """Yield the mistakes by line, so many as anybody reads."""
        yield from sorted(self.problems)[:MOST_PROBLEMS]
        more = len(self.problems) - MOST_PROBLEMS
        if more > 0:
            yield Problem(str(self.path), 1, 1, "", f"{more:,} more mistakes", "mend these first")


def _label(item: Item, seed: int) -> LabelItem:
    return LabelItem(
        item=f"q{_hash(seed, 'item', item.key)[:12]}",
        key=item.key,
        suite=item.suite,
        scenario=item.scenario,
        family=item.family,
        concept=item.concept,
        customer=conversation(item.asked.before),
        agent=conversation(item.asked.told),
        question=clean(item.asked.question),
        matcher=item.matcher,
    )


def _exported(item: LabelItem, column: str) -> str:
    """Return what a column shows of an item."""
    if column in {"answers", "comments"}:
        return _numbered(getattr(item, column))
    return str(getattr(item, column))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _difference(was: str, now: str) -> str:
    """Return both texts from shortly before they begin to differ."""
    same = next((at for at, (old, new) in enumerate(zip(was, now, strict=False)) if old != new), 0)
    start = max(0, same - _BEFORE)
    shown = (("…" if start else "") + text[start : start + _SHOWN] for text in (was, now))
    return ": {!r} was, and {!r} stands there".format(*shown)


def _fits(item: LabelItem) -> bool:
    return all(fits_cell(text) for text in (item.customer, item.agent, item.question))


def _numbered(texts: Iterable[str]) -> str:
    return "; ".join(f"{number}: {text}" for number, text in enumerate(texts, 1) if text)


def _hash(seed: int, use: str | int, key: str) -> str:
    """Return a number that looks random and is the same on every machine: ids and orders come from it."""
    return hashlib.sha256(f"{seed}/{use}/{key}".encode()).hexdigest()
