"""Arguments for a tool from its JSON Schema and what the observation shows, without understanding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_supportbench.protocol import Observation, ToolInfo

MAX_DEPTH: Final = 6
"""Deeper schemas (a type that contains itself) are filled with nothing."""

SUMMARY: Final = "Please look at the customer's message."

_SAMPLES: Final = ("1", "1.00", "EN", "EUR", "en", "2026-01-01", "a@example.com", "a_1")
"""Short values of the kinds that patterns are written for: numbers, country, currency, language, date, e-mail, id."""

_WORD: Final = re.compile(r"[^\W_]+")


def arguments_for(tool: ToolInfo, observation: Observation) -> dict[str, Any]:
    """Return a value for each required parameter of ``tool``, and for no other.

    A choice is the value that the observation's policies mention most, else the first; a parameter that the
    account shows under the same name (or as the id of the record of that name) takes the first such value.
    """
    return filled(
        tool, observation.account, [policy.text for policy in observation.policies], observation.as_of
    )


def filled(tool: ToolInfo, account: Mapping[str, Any], policies: Iterable[str], now: str) -> dict[str, Any]:
    """Return what `arguments_for` does, from the parts of an observation that it looks at."""
    seen = dict(reversed(list(_facts("", account))))
    filler = _Filler(seen, tuple(policies), now, tool.parameters.get("$defs", {}))
    return filler.object(tool.parameters, 0)


def sample(name: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Return some value of the parameter ``name`` by its JSON Schema; ``definitions`` holds what it refers to."""
    return _Filler({}, (), "2026-01-01T00:00:00+00:00", definitions).value(name, schema, 0)


def choices(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Any]:
    """Return the values that a parameter's JSON Schema lists, or none."""
    return list(_Filler({}, (), "", definitions).resolved(schema).get("enum", ()))


def _facts(table: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the account's scalars by field name, and each record's ``id`` also as ``<table>_id``."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _facts(key, item, depth + 1)
                continue
            if key == "id" and table:
                yield f"{table.removesuffix('s')}_id", item
            yield key, item
    elif isinstance(value, list):
        for item in value:
            yield from _facts(table, item, depth + 1)


def _words(text: str) -> str:
    """Return casefolded words, each between two blanks, so that whole phrases are found by plain search."""
    return f" {'  '.join(_WORD.findall(text.casefold()))} "


@lru_cache(maxsize=256)
def _most_mentioned(choices: tuple[str, ...], policies: tuple[str, ...]) -> int:
    """Return which choice the policies mention most, the first of equal ones.

    Remembered, since the scenarios of a suite share both.
    """
    texts = [_words(text) for text in policies]

    def mentions(number: int) -> int:
        phrase = _words(choices[number])
        return sum(text.count(phrase) for text in texts) if phrase.strip() else 0

    return max(range(len(choices)), key=mentions)


class _Filler:
    """Fills one tool's schema; holds what it may draw on."""

    def __init__(
        self, seen: Mapping[str, Any], policies: tuple[str, ...], now: str, definitions: Mapping[str, Any]
    ) -> None:
        self._seen = seen
        self._policies = policies
        self._dates = {"date-time": now, "date": now[:10]}
        self._definitions = definitions

    def object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Return an object with its required properties only."""
        properties = schema.get("properties", {})
        return {
            name: self.value(name, properties.get(name, {}), depth) for name in schema.get("required", ())
        }

    def value(self, name: str, schema: Mapping[str, Any], depth: int) -> Any:  # noqa: PLR0911 - one for each type
        """Return a value of the schema's own type."""
        schema = self.resolved(schema)
        if depth > MAX_DEPTH:
            return None
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][_most_mentioned(tuple(map(str, schema["enum"])), self._policies)]
        kind = schema.get("type", "string")
        kind = kind[0] if isinstance(kind, list) and kind else kind
        seen = self._seen.get(name)
        if _fits(seen, kind):
            return seen
        if kind == "object":
            return self.object(schema, depth + 1)
        if kind == "array":
            item = schema.get("items", {})
            return [self.value(name.removesuffix("s"), item, depth + 1)] if schema.get("minItems", 1) else []
        if kind in {"integer", "number"}:
            return max(1, schema.get("minimum", 1))
        return self._text(name, schema) if kind == "string" else None if kind == "null" else False

    def resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow references and take the first alternative that is not null."""
        for _ in range(MAX_DEPTH):
            options = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
            if "$ref" in schema:
                schema = self._definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
            elif options:
                schema = next((option for option in options if option.get("type") != "null"), {})
            else:
                break
        return schema

    def _text(self, name: str, schema: Mapping[str, Any]) -> str:
        if name == "id" or name.endswith("_id"):
            ids = (value for key, value in self._seen.items() if key == "id" and isinstance(value, str))
            return next(ids, "unknown")
        if schema.get("format") in self._dates:
            return self._dates[schema["format"]]
        if "pattern" in schema:
            return _matching(schema["pattern"])
        return SUMMARY[: schema.get("maxLength", len(SUMMARY))]


def _matching(pattern: str) -> str:
    """Return the first sample that a schema's pattern accepts; patterns of another dialect get any."""
    try:
        return next((sample for sample in _SAMPLES if re.search(pattern, sample)), _SAMPLES[0])
    except re.error:
        return _SAMPLES[0]


def _fits(value: Any, kind: Any) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return kind == "number" and isinstance(value, int | float) and not isinstance(value, bool)
