"""Whether an argument, a result or a state value is what a scenario expects."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Final, TypeAlias

from pytest_supportbench.expected import MatcherSpec, MatcherValue

Lookup: TypeAlias = Callable[[str], object]
"""From a ``same_as`` path to that value; raises ``KeyError`` where there is none (yet)."""


class _Absent(Enum):
    ABSENT = "absent"

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent.ABSENT
"""Stands for an argument or field that is not there, which is not the same as ``None``."""

MAX_TEXT: Final = 10_000
"""Longer texts (in characters) match no pattern."""
PATTERN_SECONDS: Final = 0.05
"""A pattern that takes longer matches nothing."""

_PLAIN: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,]+(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?")
_SHOWN: Final = 120
_DIGITS: Final = 100
"""Longer numerals are text: nobody pays such amounts, and exact arithmetic on them takes its time."""


def mismatch(expected: MatcherValue, actual: object, lookup: Lookup | None = None) -> str | None:
    """Return ``None`` where ``actual`` (JSON data or `ABSENT`) is as expected, else a one-line reason.

    ``expected`` is a `MatcherSpec` or a literal. A literal means equality after normalisation: texts in NFC
    and trimmed, numbers and plain numerals (``"25.0"``, not ``"025"``) as exact decimals, ISO dates and
    instants as points in time, lists by item, mappings by key. A boolean never equals a number. Never raises.
    """
    if not isinstance(expected, str) and isinstance(expected, MatcherSpec):
        return _spec(expected, actual, lookup)
    if actual is ABSENT:
        return None if expected is None else f"expected {_show(expected)}, got nothing"
    return _literal(expected, actual)


def args_mismatch(
    expected: Mapping[str, MatcherValue],
    actual: Mapping[str, Any],
    *,
    exact: bool,
    free: frozenset[str],
    lookup: Lookup | None = None,
) -> str | None:
    """Return ``None`` where a call's arguments are as expected, else a one-line reason naming the argument.

    Every named argument must match. With ``exact``, others must be absent, except those in ``free``; ``None``
    and empty texts, lists and mappings count as absent.
    """
    for name, wanted in expected.items():
        reason = mismatch(wanted, actual.get(name, ABSENT), lookup)
        if reason is not None:
            return f"{name}: {reason}"
    if exact:
        for name, value in actual.items():
            if name not in expected and name not in free and not _is_empty(value):
                return f"{name}: not expected here, got {_show(value)}"
    return None


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)


def _show(value: object) -> str:
    try:
        text = f"'{value}'" if isinstance(value, Decimal) else repr(value)
    except ValueError:  # Python refuses to print integers of more than 4,300 digits
        return "a number with thousands of digits"
    text = text.replace("\n", " ")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _differs(expected: object, actual: object) -> str:
    return f"expected {_show(expected)}, got {_show(actual)}"


def _text(value: str) -> str:
    return (value if value.isascii() else unicodedata.normalize("NFC", value)).strip()


def _number(value: object) -> Decimal | None:
    """Return a number or a plain numeral as an exact decimal; floats by their shortest notation."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, str):
        value = value.strip()
        return Decimal(value) if len(value) <= _DIGITS and _PLAIN.fullmatch(value) else None
    if isinstance(value, float):
        value = Decimal(repr(value))
    return value if isinstance(value, Decimal) and value.is_finite() else None


def _moment(value: object) -> date | datetime | None:
    """Return an ISO date or date-time; a ``datetime`` is also a ``date``."""
    if isinstance(value, date):
        return value
    if isinstance(value, str) and "-" in value and _ISO.fullmatch(value := value.strip()):
        try:
            return (
                datetime.fromisoformat(value) if len(value) > len("2026-03-14") else date.fromisoformat(value)
            )
        except ValueError:
            return None
    return None


def _literal(expected: object, actual: object) -> str | None:  # noqa: PLR0911 - one return a kind of value
    if isinstance(expected, MatcherSpec):
        return _spec(expected, actual, None)
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None or actual is None:
        return None if expected is actual else _differs(expected, actual)
    if isinstance(expected, str):
        if isinstance(actual, str) and (expected == actual or _text(expected) == _text(actual)):
            return None
    elif isinstance(expected, list | tuple):
        return _list(expected, actual) if isinstance(actual, list | tuple) else _differs(expected, actual)
    elif isinstance(expected, Mapping):
        return _mapping(expected, actual) if isinstance(actual, Mapping) else _differs(expected, actual)
    left, right = _number(expected), _number(actual)
    if left is not None and right is not None:
        return None if left == right else _differs(expected, actual)
    here, there = _moment(expected), _moment(actual)
    if here is not None and there is not None and type(here) is type(there) and here == there:
        return None
    if not isinstance(expected, str) and not isinstance(actual, str) and expected == actual:
        return None
    return _differs(expected, actual)


def _list(expected: Sequence[object], actual: Sequence[object]) -> str | None:
    if len(expected) != len(actual):
        return f"expected {len(expected)} items, got {len(actual)}: {_show(list(actual))}"
    for place, (wanted, given) in enumerate(zip(expected, actual, strict=True)):
        reason = _literal(wanted, given)
        if reason is not None:
            return f"item {place}: {reason}"
    return None


def _mapping(expected: Mapping[Any, object], actual: Mapping[Any, object]) -> str | None:
    missing = [str(key) for key in expected if key not in actual]
    if missing:
        return f"the keys {', '.join(missing)} are missing"[:_SHOWN]
    extra = [str(key) for key in actual if key not in expected]
    if extra:
        return f"the keys {', '.join(extra)} are not expected"[:_SHOWN]
    for key, wanted in expected.items():
        reason = _literal(wanted, actual[key])
        if reason is not None:
            return f"{key}: {reason}"
    return None


def _spec(spec: MatcherSpec, actual: object, lookup: Lookup | None) -> str | None:
    given = spec.model_fields_set
    form = "approx" if "approx" in given else next(iter(given))
    if form == "equals":
        return mismatch(spec.equals, actual)
    if actual is ABSENT or (form == "any" and actual is None):
        return "expected a value, got nothing"
    return _FORMS[form](spec, actual, lookup)


def _any_of(spec: MatcherSpec, actual: object, lookup: Lookup | None) -> str | None:
    options = spec.any_of or ()
    if any(mismatch(option, actual, lookup) is None for option in options):
        return None
    return f"expected one of {', '.join(map(describe, options))}, got {_show(actual)}"


def _matches(spec: MatcherSpec, actual: object, _: Lookup | None) -> str | None:
    if not isinstance(actual, str):
        return f"expected a text that matches {spec.matches!r}, got {_show(actual)}"
    if len(actual) > MAX_TEXT:
        return f"a text of {len(actual):,} characters is not matched; at most {MAX_TEXT:,} are"
    import regex  # noqa: PLC0415 - only scenarios with patterns pay for the import

    try:
        found = regex.fullmatch(spec.matches, _text(actual), timeout=PATTERN_SECONDS)
    except TimeoutError:
        return f"the pattern {spec.matches!r} took longer than {PATTERN_SECONDS} s; simplify it"
    return None if found else f"expected a text that matches {spec.matches!r}, got {_show(actual)}"


def _contains(spec: MatcherSpec, actual: object, _: Lookup | None) -> str | None:
    for wanted in spec.contained:
        if isinstance(actual, str):
            found = isinstance(wanted, str) and _text(wanted) in _text(actual)
        else:
            found = isinstance(actual, list | tuple) and any(_literal(wanted, one) is None for one in actual)
        if not found:
            return f"expected something that contains {_show(wanted)}, got {_show(actual)}"
    return None


def _between(spec: MatcherSpec, actual: object, _: Lookup | None) -> str | None:
    values = (*(spec.between or ()), actual)
    low: Any
    high: Any
    value: Any
    low, high, value = map(_number, values)
    if low is None or high is None or value is None:
        low, high, value = map(_moment, values)
        if low is None or high is None or value is None:
            return f"expected {describe(spec)}, got {_show(actual)}"
        if isinstance(value, datetime) and not isinstance(low, datetime) and not isinstance(high, datetime):
            value = value.date()
    try:
        inside = low <= value <= high
    except TypeError:
        return f"expected {describe(spec)}, got {_show(actual)}; give both a zone or neither"
    return None if inside else f"expected {describe(spec)}, got {_show(actual)}"


def _approx(spec: MatcherSpec, actual: object, _: Lookup | None) -> str | None:
    value = _number(actual)
    assert spec.approx is not None
    assert spec.within is not None
    if value is not None and abs(Fraction(value) - Fraction(spec.approx)) <= Fraction(spec.within):
        return None
    return f"expected {describe(spec)}, got {_show(actual)}"


def _unordered(spec: MatcherSpec, actual: object, lookup: Lookup | None) -> str | None:
    wanted = spec.unordered or ()
    if not isinstance(actual, list | tuple):
        return f"expected a list, got {_show(actual)}"
    if len(actual) != len(wanted):
        return f"expected {len(wanted)} items in any order, got {len(actual)}: {_show(list(actual))}"
    fits = [[i for i, item in enumerate(actual) if mismatch(w, item, lookup) is None] for w in wanted]
    taken: dict[int, int] = {}
    for place, option in enumerate(wanted):
        if not _place(place, fits, taken, set()):
            return f"no item is left for {describe(option)} in {_show(list(actual))}"
    return None


def _place(place: int, fits: list[list[int]], taken: dict[int, int], tried: set[int]) -> bool:
    """Give the expected item a place of its own, moving others where that helps (bipartite matching)."""
    for item in fits[place]:
        if item not in tried:
            tried.add(item)
            if item not in taken or _place(taken[item], fits, taken, tried):
                taken[item] = place
                return True
    return False


def _not(spec: MatcherSpec, actual: object, lookup: Lookup | None) -> str | None:
    if mismatch(spec.not_, actual, lookup) is None:
        return f"expected anything but {describe(spec.not_)}, got {_show(actual)}"
    return None


def _same_as(spec: MatcherSpec, actual: object, lookup: Lookup | None) -> str | None:
    path = spec.same_as or ""
    if lookup is None:
        return f"{path} cannot be looked up here"
    try:
        wanted = lookup(path)
    except KeyError:
        return f"{path} has no value, so that {_show(actual)} cannot be the same"
    reason = ABSENT if wanted is ABSENT else _literal(wanted, actual)
    return None if reason is None else f"expected the same as {path} ({_show(wanted)}), got {_show(actual)}"


def _present(_spec: MatcherSpec, _actual: object, _lookup: Lookup | None) -> None:
    """Match whatever is there; what is absent never comes here."""


_FORMS: Final[dict[str, Callable[[MatcherSpec, object, Lookup | None], str | None]]] = {
    "any_of": _any_of,
    "matches": _matches,
    "contains": _contains,
    "between": _between,
    "approx": _approx,
    "unordered": _unordered,
    "any": _present,
    "not_": _not,
    "same_as": _same_as,
}


def describe(expected: MatcherValue) -> str:
    """Return a literal or a matcher in a few words, for a check's ``expected``."""
    if isinstance(expected, str) or not isinstance(expected, MatcherSpec):
        return _show(expected)
    given = expected.model_fields_set
    if "approx" in given:
        return f"{expected.approx} within {expected.within}"
    if expected.between is not None:
        low, high = expected.between
        return f"a value between {_show(low)} and {_show(high)}"
    form = next(iter(given))
    value = getattr(expected, form)
    if isinstance(value, tuple):
        return f"{form} [{', '.join(map(describe, value))}]"
    return "any value" if form == "any" else f"{form.rstrip('_')} {describe(value)}"
