"""Scenarios that are run and shown but do not count for a while: each with an owner, a reason and an end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pytest_supportbench.errors import FileError, UsageError
from pytest_supportbench.evidence import Case
from pytest_supportbench.findings import Finding, shown
from pytest_supportbench.source import Source
from pytest_supportbench.validation import explain
from pytest_supportbench.words import Slug

Line = Annotated[str, Field(min_length=1, max_length=500)]


def _day(value: object) -> object:
    """Refuse what pydantic would make a date of and nobody means as one, such as a number of seconds."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return value
    msg = f"is {shown(value)}, which is no day; write a date, such as 2026-03-14"
    raise ValueError(msg)


class Entry(BaseModel):
    """One scenario in quarantine, of every suite that has it where none is named.

    ``expires`` is the last day on which the entry holds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: Slug
    suite: Slug | None = None
    owner: Line
    reason: Line
    expires: Annotated[date, BeforeValidator(_day)]


class QuarantineFile(BaseModel):
    """The file's data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    quarantine: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Quarantine:
    """What holds today. ``expired`` and ``unknown`` are said in words; both must be mended in the file."""

    cases: frozenset[Case]
    notes: tuple[str, ...]
    expired: tuple[str, ...]
    unknown: tuple[str, ...]


def read_quarantine(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a quarantine file, each scenario once.

    Raises `UsageError` with every mistake at its line and column.
    """
    try:
        source = Source(path)
        data = source.mapping("a quarantine file")
        try:
            entries = QuarantineFile.model_validate(data).quarantine
        except ValidationError as error:
            for finding in explain(error, QuarantineFile, data):
                source.add(finding)
            entries = ()
        seen: dict[str, set[str | None]] = {}
        for number, entry in enumerate(entries):
            suites = seen.setdefault(entry.scenario, set())
            if suites and (entry.suite is None or suites & {None, entry.suite}):
                message = f"{entry.scenario!r} is in quarantine twice"
                source.add(Finding(("quarantine", number, "scenario"), message, "keep one of the entries"))
            suites.add(entry.suite)
        source.refuse()
    except FileError as error:
        raise UsageError(str(error)) from None
    return entries


def quarantined(entries: Iterable[Entry], cases: Iterable[Case], today: date) -> Quarantine:
    """Return which of ``cases`` do not count today."""
    known = frozenset(cases)
    held: set[Case] = set()
    notes, expired, unknown = [], [], []
    for entry in entries:
        name = f"{entry.suite}/{entry.scenario}" if entry.suite else entry.scenario
        found = {case for case in known if case[1] == entry.scenario and entry.suite in {None, case[0]}}
        if not found:
            unknown.append(f"{name}: no such scenario in the run; mend its id, or take it out")
        elif entry.expires < today:
            expired.append(
                f"{name}: ended on {entry.expires}; {entry.owner} must mend or renew it ({entry.reason})"
            )
        else:
            held |= found
            notes.append(f"{name}: until {entry.expires}, {entry.owner}: {entry.reason}")
    return Quarantine(frozenset(held), tuple(notes), tuple(expired), tuple(unknown))
