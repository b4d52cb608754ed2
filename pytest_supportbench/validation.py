"""Pydantic's errors in plain words, at the places where a user finds them in the file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

from pytest_supportbench.expected import MatcherSpec
from pytest_supportbench.findings import Finding, shown, suggestion
from pytest_supportbench.yaml12 import parse

if TYPE_CHECKING:
    from pytest_supportbench.yaml_positions import Place


def explain(error: ValidationError, model: type[BaseModel], data: Any) -> list[Finding]:
    """Return the findings that a validation error of ``data`` against ``model`` means, one a place."""
    grouped: dict[tuple[Place, bool], list[Finding]] = {}
    for finding in _findings(error, model, data):
        grouped.setdefault((finding.place, finding.key), []).append(finding)
    return [_merged(group) for group in grouped.values()]


def _merged(group: list[Finding]) -> Finding:
    """Join what the members of a union want of one value."""
    remedies = list(
        dict.fromkeys(finding.remedy.removeprefix("write ") for finding in group if finding.remedy)
    )
    first = group[0]
    if len(remedies) < 2:  # noqa: PLR2004 - one remedy needs no joining
        return first
    return Finding(first.place, first.message, f"write {' or '.join(remedies)}", first.key)


def _findings(error: ValidationError, model: type[BaseModel], data: Any) -> Iterator[Finding]:
    errors = error.errors(include_url=False)
    places = [_place(item["loc"], item["type"], data) for item in errors]
    for item, place in zip(errors, places, strict=True):
        inside = any(other != place and other[: len(place)] == place for other in places)
        if inside and (_in_union(item["loc"]) or item["type"] == "too_short"):
            continue  # another member of the union came further, or a list is only short of its faulty items
        yield _plain(item, place, model)


def _in_union(loc: tuple[int | str, ...]) -> bool:
    return any(isinstance(step, str) and "[" in step and step != "[key]" for step in loc)


def _place(loc: tuple[int | str, ...], kind: str, data: Any) -> Place:
    """Return the place in the file that a pydantic location means, without union members and added levels."""
    place: list[str | int] = []
    for number, step in enumerate(loc, 1):
        known = range(len(data)) if isinstance(data, list) else data if isinstance(data, Mapping) else ()
        if step in known:
            data = data[step]
            place.append(step)
        elif kind == "missing" and number == len(loc):
            place.append(step)
    return tuple(place)


def _plain(item: Any, place: Place, model: type[BaseModel]) -> Finding:  # noqa: PLR0911 - one return a kind of mistake
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
    if kind == "missing":
        name = str(place[-1])
        example = _example(name, models_at(model, item["loc"][:-1]))
        return Finding(place, "is missing", f"add it, e.g. `{example}`")
    if kind == "extra_forbidden":
        name = str(place[-1])
        known = {key for found in models_at(model, item["loc"][:-1]) for key in field_names(found)}
        return Finding(place, f"unknown key {name[:60]!r}", suggestion(name, known, "keys here"), key=True)
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        close = difflib.get_close_matches(value, choices, n=1) if isinstance(value, str) else []
        remedy = f"did you mean {close[0]!r}?" if close else f"write {context['expected']}"
        return Finding(place, f"is {shown(value)}", remedy)
    if kind == "value_error":
        message, _, remedy = str(context["error"]).partition("; ")
        return Finding(place, message, remedy)
    if kind == "string_pattern_mismatch":
        return Finding(place, f"is {shown(value)}", f"write {_PATTERNS.get(context['pattern'], item['msg'])}")
    key = item["loc"][-1:] == ("[key]",)
    if kind in _WANTED:
        return Finding(place, f"is {shown(value)}", f"write {_WANTED[kind].format_map(context)}", key)
    return Finding(place, f"is {shown(value)}: {item['msg'][0].lower()}{item['msg'][1:]}", "correct it", key)


def _example(name: str, models: list[type[BaseModel]]) -> str:
    """Return a line that gives the field ``name`` of the first model that has it a value that fits."""
    annotation = next((names[name] for names in map(field_types, models) if name in names), Any)
    choices = [f"{name}: {choice}" for choice in get_args(annotation) if isinstance(choice, str)]
    for example in (*_EXAMPLES.get(name, ()), *choices):
        try:
            TypeAdapter(annotation).validate_python(parse(example, name)[name])
        except (ValidationError, PydanticUserError):
            continue
        return example
    return f"{name}: …"


def field_types(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's fields as a file spells them, with annotations that hold what else their values must be."""
    return {
        field.alias or name: Annotated[field.annotation, *field.metadata]
        if field.metadata
        else field.annotation
        for name, field in model.model_fields.items()
    }


def field_names(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's fields as a file spells them, with their annotations."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def models_at(model: type[BaseModel], steps: tuple[int | str, ...]) -> list[type[BaseModel]]:
    """Return the models that a value at a location may be of; indices and free keys are passed over.

    Where the annotations say nothing there is a matcher, since those are validated by a function.
    """
    here = [model]
    for step in steps:
        inside = [names[step] for names in map(field_names, here) if step in names]
        if inside:
            here = [found for annotation in inside for found in models_in(annotation)]
    return here or [MatcherSpec]


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation mentions, however deep in unions, lists and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


_WANTED: Final[dict[str, str]] = {
    "string_type": "a string, in quotes if it looks like a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "decimal_type": 'a number, such as "49.00"',
    "decimal_parsing": 'a number, such as "49.00"',
    "float_type": "a number",
    "float_parsing": "a number",
    "tuple_type": "a list, such as [a, b]",
    "list_type": "a list, such as [a, b]",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "too_short": "a list with at least {min_length}",
    "too_long": "a list with at most {max_length}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "greater_than_equal": "{ge} or more",
    "timezone_aware": "the UTC offset too, such as 2026-03-14T10:30:00-05:00",
    "datetime_type": "an ISO 8601 time, such as 2026-03-14T10:30:00-05:00",
    "datetime_parsing": "an ISO 8601 time, such as 2026-03-14T10:30:00-05:00",
    "datetime_from_date_parsing": "an ISO 8601 time, such as 2026-03-14T10:30:00-05:00",
    "datetime_object_invalid": "an ISO 8601 time, such as 2026-03-14T10:30:00-05:00",
    "date_type": "a date, such as 2026-03-14",
    "date_parsing": "a date, such as 2026-03-14",
    "date_from_datetime_parsing": "a date, such as 2026-03-14",
    "none_required": "null",
}

_PATTERNS: Final = {
    "^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$": "letters, digits, '-', '_' and '.', no spaces, at most 100",
    "^[a-z][a-z0-9_]{0,63}$": "lower-case letters, digits and '_', a letter first, at most 64",
    "^[a-z]{2,3}$": "a language code, such as en",
    r"^\d{4}-\d\d-\d\d$": "a date, such as 2026-03-14",
    r"^\d+\.\d+(\.\d+)?$": 'a version in quotes, such as "1.0"',
    r"^[a-z][a-z0-9_]*\.(args|result)(\.[A-Za-z0-9_-]+)+$": (
        "a call's id, args or result, and a field, such as look.result.request_id"
    ),
}

# Examples by field, the first that fits its type is shown.
_EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "id": ("id: TB-014",),
    "title": ("title: Second duplicate charge after a refund",),
    "category": ("category: billing",),
    "failure_mode": ("failure_mode: {code: refund-wrong-charge, description: Refunds the wrong charge.}",),
    "code": (
        "code: refund-wrong-charge",
        "code: unauthorised_write",
    ),
    "rule": ("rule: change-choice",),
    "why": ("why: The policy leaves the kind of credit to the agent.",),
    "description": ("description: Refunds the wrong charge.",),
    "as_of": ("as_of: 2026-03-14T10:30:00-05:00",),
    "customer": ("customer: {subject: cus_1, message: I was charged twice.}",),
    "subject": ("subject: cus_1",),
    "message": ("message: I was charged twice.",),
    "state": (
        "state: {}",
        "state: {parcels: {fields: {status: string}}}",
    ),
    "tools": (
        "tools: [list_charges, escalate_to_human]",
        "tools: [{name: get_parcel, description: Return a parcel., effect: reads, finds: {table: parcels}}]",
    ),
    "tool": ("tool: list_charges",),
    "on_calls": ("on_calls: [1]",),
    "kind": ("kind: unavailable",),
    "expected": ("expected: {actions: [answer], escalation: must_not, because: [policy-id]}",),
    "actions": ("actions: [answer]",),
    "escalation": ("escalation: must_not",),
    "because": ("because: [policy-id]",),
    "reference": ("reference: [{action: answer, message: It is due in May.}]",),
    "turns": ("turns: [{action: answer, message: It is due in May.}]",),
    "fails": ("fails: [resolution]",),
    "fact": ("fact: amount",),
    "value": ('value: {money: "49.00 USD"}',),
    "phrases": ('phrases: ["MFA is on"]',),
    "phrase": ("phrase: dispute it with your bank",),
    "any_of": ('any_of: ["March 12", "second charge"]',),
    "asked_for": ("asked_for: verification_code",),
    "name": (
        "name: refund-support",
        "name: get_parcel",
    ),
    "version": ('version: "1.0"',),
    "fields": ("fields: {status: string}",),
    "class": ("class: resolve",),
    "role": ("role: customer",),
    "text": ("text: Refunds are possible for 30 days.",),
    "date": ("date: 2026-03-14",),
    "concept": ("concept: which-charge",),
    "table": ("table: parcels",),
    "prefix": ("prefix: claim",),
    "type": ("type: string",),
    "effect": ("effect: reads",),
}
