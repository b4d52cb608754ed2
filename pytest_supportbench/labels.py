"""Human labels of explanations: who answered what to which question, in one file that calibration reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pytest_supportbench.errors import UsageError
from pytest_supportbench.questions import Fingerprint
from pytest_supportbench.strict_json import reading

Answer: TypeAlias = Literal["yes", "no", "unsure"]
ANSWERS: Final[tuple[Answer, ...]] = ("yes", "no", "unsure")

MAX_BYTES: Final = 100_000_000
MOST_ANNOTATORS: Final = 9

_Line = Annotated[str, Field(max_length=500)]
_Text = Annotated[str, Field(max_length=500_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LabelItem(_Strict):
    """One question with the annotators' answers, in their order; none before they were imported.

    ``item`` is the opaque id in the sheets, ``key`` the hash of scenario, concept and texts by which judgements name
    the same question. ``matcher`` is what the phrase matcher found.
    """

    item: _Line
    key: _Line
    suite: _Line
    scenario: _Line
    family: _Line
    concept: _Line
    customer: _Text
    agent: _Text
    question: _Text
    matcher: bool
    answers: tuple[Answer, ...] = ()
    comments: tuple[_Text, ...] = ()
    adjudicated: Answer | None = None
    adjudication: _Text = ""

    @property
    def agreed(self) -> bool:
        """Whether all annotators said yes, or all said no."""
        return len(set(self.answers)) == 1 and self.answers[0] != "unsure"

    @property
    def is_open(self) -> bool:
        """Whether the annotators disagree, or were unsure, and nobody has decided."""
        return not self.agreed and self.adjudicated is None

    @property
    def refused(self) -> bool:
        """Whether somebody said no and nobody, the person who decided included, said yes."""
        said = {*self.answers} if self.agreed else {*self.answers, self.adjudicated}
        return "no" in said and "yes" not in said

    @property
    def truth(self) -> bool | None:
        """What people say in the end: whether the concept is there; ``None`` where that is open or unsure."""
        said = self.answers[0] if self.agreed else self.adjudicated
        return None if said in {None, "unsure"} else said == "yes"


class Labels(_Strict):
    """All that was asked, and what people answered. As the key of an export it has no answers yet."""

    supportbench_labels: Literal[1]
    matcher: Fingerprint
    seed: int
    annotators: Annotated[int, Field(ge=2, le=MOST_ANNOTATORS)]
    items: Annotated[tuple[LabelItem, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name in ("item", "key"):
            seen = [getattr(item, name) for item in self.items]
            if len(set(seen)) != len(seen):
                twice = next(value for value in seen if seen.count(value) > 1)
                msg = f"the {name} {twice[:80]} stands there twice"
                raise ValueError(msg)
        if {len(item.answers) for item in self.items} not in ({0}, {self.annotators}):
            msg = f"not every item has {self.annotators} answers"
            raise ValueError(msg)
        return self

    @property
    def answered(self) -> bool:
        """Whether the annotators' answers are in."""
        return bool(self.items[0].answers)

    @property
    def disagreements(self) -> tuple[LabelItem, ...]:
        """The items on which the annotators disagree or were unsure, adjudicated or not."""
        return tuple(item for item in self.items if not item.agreed)

    def text(self) -> str:
        """Return the file: one line an item, in a stable order."""
        head: dict[str, Any] = self.model_dump(mode="json", exclude={"items"})
        lines = [f"{json.dumps(name)}: {_dump(value)}" for name, value in head.items()]
        items = sorted(self.items, key=lambda item: item.item)
        rows = ",\n".join(f"  {_dump(item.model_dump(mode='json'))}" for item in items)
        return "{\n" + ",\n".join(lines) + f',\n"items": [\n{rows}\n]\n}}\n'


def read_labels(path: Path) -> Labels:
    """Read a labels file, or the key of an export. Raises `UsageError` that names file, field and remedy."""
    remedy = "name a file that supportbench labels export or import wrote"
    with reading(path, "labels", remedy, most=MAX_BYTES):
        return Labels.model_validate_json(path.read_bytes())


def refuse_existing(paths: Iterable[Path]) -> None:
    """Raise `UsageError` where one of the files is there: somebody's answers may be in it."""
    for path in paths:
        if path.exists():
            msg = f"{path} exists, and people's answers may be in it; name another --out, or move it away"
            raise UsageError(msg)


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet. Raises `UsageError`."""
    refuse_existing((path,))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise _unwritable(path, error) from error


def write_over(path: Path, text: str) -> None:
    """Write a file whole or not at all, in the place of an earlier one. Raises `UsageError`."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8", newline="")
        draft.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written ({error.strerror}); name another --out")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
