"""Whether a state's tables and the marks of their records fit; looked at once, when a toolset's class is made."""

from __future__ import annotations

from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, PydanticUndefinedAnnotation, PydanticUserError

from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.findings import suggestion
from pytest_supportbench.parts import Part
from pytest_supportbench.state import Record, State
from pytest_supportbench.validation import models_in

_MARKS: Final[dict[str, type]] = {
    "owners": tuple,
    "identifying": tuple,
    "hidden": frozenset,
    "free_text": frozenset,
    "volatile": frozenset,
}
_WRITTEN: Final[dict[type, str]] = {tuple: '("{}",)', frozenset: 'frozenset({{"{}"}})'}


def check_state(state: type[State]) -> None:
    """Raise `ToolsetError` for a table that holds no records, and for a mark that names no field of its record."""
    try:
        state.model_rebuild()
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        msg = f"the state {state.__name__} cannot be used: {error.message}; define what it names before the toolset"
        raise ToolsetError(msg) from None
    for name, field in state.model_fields.items():
        records = [model for model in models_in(field.annotation) if issubclass(model, Record)]
        if get_origin(field.annotation) is not dict or not records:
            msg = f"the state {state.__name__}: the field {name!r} is no table; annotate it as dict[str, YourRecord]"
            raise ToolsetError(msg)
        for record in records:
            check_record(record)


def check_record(record: type[Record]) -> None:
    """Raise `ToolsetError` where ``owners``, ``hidden`` and their like do not name fields of the record.

    So does an ``observation_part`` that does not exist, and a field that could be changed in place.
    """
    known = record.model_fields
    for name, field in known.items():
        _refuse_mutable(record, name, field.annotation)
    part: Any = record.observation_part
    if part is not None and part not in get_args(Part):
        close = suggestion(str(part), get_args(Part), "parts")
        raise ToolsetError(
            f"the record {record.__name__}: observation_part is {part!r}, which is no part; {close}"
        )
    for mark, kind in _MARKS.items():
        where = f"the record {record.__name__}: {mark}"
        if mark in known:
            msg = f"{where} is annotated as a field; write {mark}: ClassVar = …"
            raise ToolsetError(msg)
        names: Any = getattr(record, mark)
        if not isinstance(names, tuple | list if kind is tuple else set | frozenset):
            example = names if isinstance(names, str) else "field"
            msg = f"{where} is {names!r}; write {mark}: ClassVar = {_WRITTEN[kind].format(example)}"
            raise ToolsetError(msg)
        for name in names:
            if name not in known:
                close = suggestion(str(name), known, "fields")
                also = f"; its fields are {', '.join(known)}" if close.startswith("did you mean") else ""
                msg = f"{where} names {name!r}, which is no field of it; {close}{also}"
                raise ToolsetError(msg)


_FROZEN: Final[dict[type, str]] = {
    list: "tuple[…, ...]",
    set: "frozenset[…]",
    dict: "Mapping[…, …], which no tool writes into",
    bytearray: "bytes",
}


def _refuse_mutable(record: type[Record], name: str, annotation: Any) -> None:
    """Refuse what a tool could change in place: no check would see it, and the next trial would begin with it."""
    kind = get_origin(annotation) or annotation
    where = f"the record {record.__name__}: the field {name!r}"
    if isinstance(kind, type) and kind in _FROZEN:
        msg = (
            f"{where} holds a {kind.__name__}, which can be changed in place; annotate it as {_FROZEN[kind]}"
        )
        raise ToolsetError(msg)
    if isinstance(kind, type) and issubclass(kind, BaseModel) and not kind.model_config.get("frozen"):
        remedy = "give it model_config = ConfigDict(frozen=True)"
        msg = f"{where} holds a {kind.__name__}, which can be changed in place; {remedy}"
        raise ToolsetError(msg)
    for part in get_args(annotation):
        _refuse_mutable(record, name, part)
