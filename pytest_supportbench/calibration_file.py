"""The file of a calibration: bound to the rater's fingerprint, and refused where its figures do not fit together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from pytest_supportbench.annotators import People
from pytest_supportbench.calibration import Calibration, Figures, rater_name
from pytest_supportbench.calibration_checks import misfits
from pytest_supportbench.errors import UsageError
from pytest_supportbench.questions import Fingerprint
from pytest_supportbench.strict_json import reading

MAX_BYTES: Final = 5_000_000
_SHOWN: Final = 60

RERUN: Final = "calibrate it anew with: supportbench labels export"
_REMEDY: Final = "write it anew with: supportbench calibrate"


@dataclass(frozen=True, slots=True)
class Uncalibrated:
    """No rater of the file may join a gate as things are now, and why."""

    reasons: tuple[str, ...]


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    calibrated: bool
    reasons: tuple[str, ...]
    figures: Figures


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    supportbench_calibration: Literal[1]
    labels_sha256: str
    people: People
    raters: tuple[_Stored, ...]
    sha256: str


def calibration_text(labels_sha256: str, found: People, raters: Sequence[Calibration]) -> str:
    """Return the calibration file of some raters: byte-stable, readable in a diff."""
    data = {
        "supportbench_calibration": 1,
        "labels_sha256": labels_sha256,
        "people": asdict(found),
        "raters": [
            {"calibrated": rater.calibrated, "reasons": list(rater.reasons), "figures": asdict(rater.figures)}
            for rater in raters
        ],
    }
    data["sha256"] = _sha256(data)
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def load(path: Path, fingerprint: Fingerprint) -> Calibration | Uncalibrated:
    """Return the calibration of the rater with this fingerprint, or why it may not join a gate as it is now.

    Whether it is calibrated is decided anew from the figures. Raises `UsageError` for a file that is none, or that
    somebody changed: its figures do not fit together, or its own hash does not.
    """
    raters = _read(path)
    name = rater_name(fingerprint)
    for rater in raters:
        if rater.figures.fingerprint == fingerprint:
            return rater if rater.calibrated else Uncalibrated(rater.reasons)
    known = [rater.figures.fingerprint for rater in raters]
    kind = [before for before in known if before["rater"] == fingerprint["rater"]]
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
    with reading(path, "a calibration", _REMEDY, most=MAX_BYTES):
        text = path.read_bytes()
        stored = _File.model_validate_json(text)
    for wrong in _wrong(stored, text):
        raise UsageError(f"{path}: {wrong}; {_REMEDY}")
    return tuple(Calibration(rater.figures, stored.people) for rater in stored.raters)


def _wrong(stored: _File, text: bytes) -> Iterator[str]:
    """Yield what shows that the file was changed by hand."""
    if any("rater" not in rater.figures.fingerprint for rater in stored.raters):
        yield "a fingerprint does not say whose it is"
        return
    yield from misfits(stored.people, [rater.figures for rater in stored.raters])
    known: list[Fingerprint] = []
    for rater in stored.raters:
        found = Calibration(rater.figures, stored.people)
        if rater.figures.fingerprint in known:
            yield f"the {found.name} stands there twice"
        known.append(rater.figures.fingerprint)
        for field in ("calibrated", "reasons"):
            if getattr(rater, field) != getattr(found, field):
                yield f"{field!r} of the {found.name} does not follow from its figures"
    if stored.sha256 != _sha256(json.loads(text)):
        yield "its sha256 is not that of its content: it was changed by hand"


def _sha256(data: Mapping[str, Any]) -> str:
    """Return the hash of all fields but its own; it tells of a change, and proves nothing of who wrote the file."""
    content = {name: value for name, value in data.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
