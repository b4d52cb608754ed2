"""Which part of a run's scenarios one machine takes: balanced by duration, and the same on every machine."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pytest_supportbench.durations import Durations
from pytest_supportbench.errors import UsageError
from pytest_supportbench.results import Json

Case: TypeAlias = tuple[str, str]
"""A scenario by suite name and id."""

_SHARD: Final = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
MAX_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a run, ``number`` (from 1) of ``of`` parts."""

    number: int
    of: int

    def __str__(self) -> str:
        """Return ``2/8``."""
        return f"{self.number}/{self.of}"


def parse_shard(text: str) -> Shard:
    """Return the shard that ``2/8`` means. Raises `UsageError`."""
    found = _SHARD.fullmatch(text)
    shard = Shard(int(found[1]), int(found[2])) if found else None
    if shard is None or shard.number > shard.of:
        msg = f"--supportbench-shard: {text[:MAX_SHOWN]!r} is no shard; write 2/8 for the second of eight"
        raise UsageError(msg)
    return shard


@dataclass(frozen=True, slots=True)
class Planned:
    """A scenario to divide: its twin's id if it has one, and how many items (agents and trials) it has."""

    case: Case
    twin: str | None
    items: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How scenarios are divided: the number (from 1) of each one's shard, and what each shard is expected to take.

    ``loads`` are microseconds where there are ``durations``, else items. The ``sha256`` is of the division alone, so
    that shards of one plan fit together and others do not.
    """

    shard_of: Mapping[Case, int]
    loads: tuple[int, ...]
    durations: Durations | None

    @property
    def sha256(self) -> str:
        """The hash of which scenario is in which shard."""
        data = [[*case, number] for case, number in sorted(self.shard_of.items())]
        return hashlib.sha256(json.dumps(data).encode()).hexdigest()

    def size(self, shard: Shard) -> int:
        """Return how many scenarios a shard has."""
        return sum(number == shard.number for number in self.shard_of.values())

    def to_json(self) -> Json:
        """Return what the run line says of the plan."""
        used = self.durations
        return {
            "sha256": self.sha256,
            "scenarios": len(self.shard_of),
            "durations": None if used is None else {"path": used.path, "sha256": used.sha256},
        }


def divide(scenarios: Iterable[Planned], of: int, durations: Durations | None = None) -> Plan:
    """Return the plan for ``of`` shards; the order of the scenarios is no matter.

    Twins stay together, as do all items of a scenario. The longest go first, each to the shard with the least so far:
    no shard takes longer than 4/3 - 1/(3 of) times the longest of the best division (LPT rule; Graham, 1969, "Bounds
    on multiprocessing timing anomalies"). Raises `UsageError` where a shard would be empty.
    """
    known = {planned.case: planned for planned in scenarios}
    weights = {
        case: planned.items * (1 if durations is None else durations.of(case))
        for case, planned in known.items()
    }
    families = _families(known)
    if len(families) < of:
        twins = "" if len(families) == len(known) else ", of which twins stay together"
        msg = (
            f"--supportbench-shard: {of} shards are too many for {len(known)} selected scenarios{twins}; "
            f"use at most {len(families)}"
        )
        raise UsageError(msg)
    heaviest = sorted(families, key=lambda family: (-sum(weights[case] for case in family), family))
    loads, sizes, shard_of = [0] * of, [0] * of, dict[Case, int]()
    for family in heaviest:
        least = min(range(of), key=lambda number: (loads[number], sizes[number], number))
        loads[least] += sum(weights[case] for case in family)
        sizes[least] += len(family)
        shard_of.update(dict.fromkeys(family, least + 1))
    return Plan(shard_of, tuple(loads), durations)


def _families(known: Mapping[Case, Planned]) -> list[tuple[Case, ...]]:
    """Return the scenarios by family: those that name each other as twins, however long the chain."""
    family_of: dict[Case, set[Case]] = {case: {case} for case in known}
    for (suite, scenario), planned in known.items():
        other = (suite, planned.twin) if planned.twin else None
        if other is None or other not in family_of:
            continue
        mine, theirs = family_of[suite, scenario], family_of[other]
        if mine is not theirs:
            mine |= theirs
            family_of.update(dict.fromkeys(theirs, mine))
    return sorted({tuple(sorted(family)) for family in family_of.values()})
