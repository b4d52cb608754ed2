"""Whether a rater of explanations may join a gate: what people say against what it says, and the file that says so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_supportbench.agreement import Agreement, Pair, agreement, share
from pytest_supportbench.errors import UsageError
from pytest_supportbench.labels import Labels
from pytest_supportbench.questions import MATCHER, Fingerprint
from pytest_supportbench.statistics import Interval

MIN_RECALL: Final = 0.8
"""What the lower bounds of both recalls must reach."""
MIN_KAPPA: Final = 0.7
MIN_LABELS: Final = 50
"""So many items people must have passed, and so many failed."""

MAX_BYTES: Final = 5_000_000
_SHOWN: Final = 60

RERUN: Final = "calibrate it anew with: supportbench labels export"


@dataclass(frozen=True, slots=True)
class Rater:
    """Who says whether concepts are there, and what it said by the key of the question."""

    fingerprint: Fingerprint
    said: Mapping[str, bool]

    @property
    def name(self) -> str:
        """What reports call it."""
        return rater_name(self.fingerprint)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What one rater is worth, measured against people; ``recall_*`` are of the items that people passed or failed.

    ``against_people`` has people first, the rater second. ``severe`` counts severe false accepts: the rater says that
    the concept is there, and every annotator said no. ``unjudged`` counts items of which the rater said nothing,
    ``open_items`` disagreements of people that nobody decided.
    """

    fingerprint: Fingerprint
    against_people: Agreement
    recall_on_passes: Interval | None
    recall_on_fails: Interval | None
    severe: int
    unjudged: int
    open_items: int

    @property
    def name(self) -> str:
        """What reports call the rater."""
        return rater_name(self.fingerprint)

    @property
    def passes(self) -> int:
        """How many of the items that it judged people passed."""
        return self.against_people.both + self.against_people.first_only

    @property
    def fails(self) -> int:
        """How many of the items that it judged people failed."""
        return self.against_people.second_only + self.against_people.neither

    @property
    def calibrated(self) -> bool:
        """Whether explanation, judged by this rater, may join a gate."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not calibrated, in words; empty where it is."""
        return tuple(_reasons(self))


@dataclass(frozen=True, slots=True)
class Uncalibrated:
    """No rater of the file may join a gate as things are now, and why."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class People:
    """How the annotators agree, two by two, over the items on which both decided.

    ``disagreements`` counts items on which they differed or were unsure, ``open_items`` those that nobody decided,
    ``unsure`` those that stay unsure although somebody looked: they are left out of every figure.
    """

    items: int
    annotators: int
    disagreements: int
    open_items: int
    unsure: int
    pairs: tuple[tuple[int, int, Agreement], ...]


def rater_name(fingerprint: Mapping[str, Any]) -> str:
    """Return what reports call a rater: the phrase matcher, or the judge with its model."""
    if fingerprint["rater"] == MATCHER:
        return MATCHER
    return f"judge {fingerprint.get('judge', '')}".strip()


def matcher_of(labels: Labels) -> Rater:
    """Return the phrase matcher with what it found when the labels were exported."""
    return Rater(labels.matcher, {item.key: item.matcher for item in labels.items})


def people(labels: Labels) -> People:
    """Return how the annotators agree. Raises `UsageError` where there are no answers yet."""
    if not labels.answered:
        msg = "these labels have no answers yet; fill in the sheets, then: supportbench labels import"
        raise UsageError(msg)
    pairs = []
    for first, second in combinations(range(labels.annotators), 2):
        answers = ((item.answers[first], item.answers[second], item.family) for item in labels.items)
        decided = [Pair(a == "yes", b == "yes", family) for a, b, family in answers if "unsure" not in {a, b}]
        pairs.append((first + 1, second + 1, agreement(decided)))
    open_items = sum(item.is_open for item in labels.items)
    return People(
        items=len(labels.items),
        annotators=labels.annotators,
        disagreements=len(labels.disagreements),
        open_items=open_items,
        unsure=sum(item.truth is None for item in labels.items) - open_items,
        pairs=tuple(pairs),
    )


def calibrate(labels: Labels, rater: Rater) -> Calibration:
    """Return what a rater is worth against people who have answered."""
    known = [(item, item.truth) for item in labels.items]
    judged = [
        (item, truth, rater.said[item.key])
        for item, truth in known
        if truth is not None and item.key in rater.said
    ]
    return Calibration(
        fingerprint=rater.fingerprint,
        against_people=agreement([Pair(truth, said, item.family) for item, truth, said in judged]),
        recall_on_passes=share([(said, item.family) for item, truth, said in judged if truth]),
        recall_on_fails=share([(not said, item.family) for item, truth, said in judged if not truth]),
        severe=sum(rater.said.get(item.key, False) and set(item.answers) == {"no"} for item in labels.items),
        unjudged=sum(truth is not None and item.key not in rater.said for item, truth in known),
        open_items=sum(item.is_open for item in labels.items),
    )


def between(labels: Labels, first: Rater, second: Rater) -> Agreement:
    """Return how two raters agree over the items that both judged, whatever people say."""
    return agreement(
        [
            Pair(first.said[item.key], second.said[item.key], item.family)
            for item in labels.items
            if item.key in first.said and item.key in second.said
        ]
    )


def _reasons(found: Calibration) -> Iterator[str]:
    yield from _recall("passes", found.recall_on_passes)
    yield from _recall("fails", found.recall_on_fails)
    kappa = found.against_people.kappa
    if kappa is None:
        yield "its agreement beyond chance is unknown, since only one answer was ever given"
    elif not kappa.estimate >= MIN_KAPPA:
        yield f"Cohen's kappa with people is {_below(kappa.estimate, MIN_KAPPA)}"
    for name, number in (("passes", found.passes), ("fails", found.fails)):
        if number < MIN_LABELS:
            yield f"people's {name}: {number}, and at least {MIN_LABELS} are needed"
    if found.severe:
        yield f"severe false accepts: {found.severe}, and none is allowed"
    if found.unjudged:
        yield f"it did not judge {found.unjudged} of the labelled items"
    if found.open_items:
        yield f"{found.open_items} disagreements of the annotators are undecided; see supportbench labels adjudicate"


def _recall(name: str, recall: Interval | None) -> Iterator[str]:
    if recall is None:
        yield f"its recall on {name} is unknown, since people found none"
    elif not recall.low >= MIN_RECALL:
        yield f"the lower bound of its recall on {name} is {_below(recall.low, MIN_RECALL)}"


def _below(value: float, bound: float) -> str:
    """Return a number that misses a bound with two digits, not rounded up to the bound, and the bound."""
    rounded = f"{value:.2f}"
    shown = f"{value:.4f}" if float(rounded) >= bound else rounded
    return f"{shown}, and must reach {bound:.2f}"


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    calibrated: bool
    reasons: list[str]
    figures: Calibration


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    supportbench_calibration: Literal[1]
    labels_sha256: str
    people: dict[str, Any]
    raters: list[_Stored]


def calibration_text(labels_sha256: str, found: People, raters: Sequence[Calibration]) -> str:
    """Return the calibration file of some raters: byte-stable, readable in a diff."""
    data = {
        "supportbench_calibration": 1,
        "labels_sha256": labels_sha256,
        "people": asdict(found),
        "raters": [
            {"calibrated": rater.calibrated, "reasons": list(rater.reasons), "figures": asdict(rater)}
            for rater in raters
        ],
    }
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def load(path: Path, fingerprint: Fingerprint) -> Calibration | Uncalibrated:
    """Return the calibration of the rater with this fingerprint, or why it may not join a gate as it is now.

    Whether it is calibrated is decided anew from the figures. Raises `UsageError` for a file that is none.
    """
    raters = _read(path)
    name = rater_name(fingerprint)
    for rater in raters:
        if rater.fingerprint == fingerprint:
            return rater if rater.calibrated else Uncalibrated(rater.reasons)
    kind = [rater.fingerprint for rater in raters if rater.fingerprint["rater"] == fingerprint["rater"]]
    if not kind:
        return Uncalibrated((f"{path} has no calibration of the {name}; {RERUN}",))
    nearest = min((tuple(_changes(before, fingerprint)) for before in kind), key=len)
    return Uncalibrated(tuple(f"{change}; {RERUN}" for change in nearest))


def _changes(before: Fingerprint, now: Fingerprint) -> Iterator[str]:
    """Yield each difference of two fingerprints in words; parts of parts by their path (``options.seed``)."""
    old, new = dict(_flat(before)), dict(_flat(now))
    for field in sorted(old.keys() | new.keys()):
        if old.get(field) != new.get(field):
            was, is_now = (_short(side.get(field)) for side in (old, new))
            yield f"{field} of the {rater_name(now)} was {was} when people checked it, and is {is_now} now"


def _flat(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, item in value.items():
        if isinstance(item, dict):
            yield from _flat(item, f"{path}{name}.")
        else:
            yield f"{path}{name}", item


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _read(path: Path) -> tuple[Calibration, ...]:
    remedy = "write it anew with: supportbench calibrate"
    try:
        if path.stat().st_size > MAX_BYTES:
            msg = f"{path}: has more than {MAX_BYTES:,} bytes; {remedy}"
            raise UsageError(msg)
        stored = _File.model_validate_json(path.read_bytes())
    except OSError as error:
        msg = f"{path}: cannot be read as a calibration ({error.strerror}); {remedy}"
        raise UsageError(msg) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        msg = f"{path}: {field}: {first['msg'][:300]}; {remedy}"
        raise UsageError(msg) from error
    for rater in stored.raters:
        if rater.calibrated != rater.figures.calibrated:
            msg = f"{path}: 'calibrated' of the {rater.figures.name} does not follow from its figures"
            raise UsageError(f"{msg}; {remedy}")
    return tuple(rater.figures for rater in stored.raters)
