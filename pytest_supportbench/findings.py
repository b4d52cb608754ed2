"""A mistake at a place in a file's data, and the small tools to find and word one."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_supportbench.yaml_positions import Place

_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake at a place in a file's data; ``key`` says that the key is wrong and not its value."""

    place: Place
    message: str
    remedy: str = ""
    key: bool = False


def dotted(place: Place) -> str:
    """Return a place as a user writes it, such as ``expected.calls[0].tool``."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def placed(text: str) -> Place:
    """Return the place that `dotted` writes as ``text``; no key in it may hold a dot or a bracket."""
    steps = text.replace("[", ".[").split(".")
    return tuple(int(step[1:-1]) if step.startswith("[") else step for step in steps if step)


def shown(value: object) -> str:
    """Return a value as its file spells it, in at most about 60 characters."""
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:58]}…{text[-1]}"  # noqa: PLR2004 - as the docstring says


def suggestion(name: str, known: Collection[str], what: str) -> str:
    """Return "did you mean" for an unknown name, or else what there is."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    if not known:
        return f"there are no {what}"
    listed = sorted(known)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return f"the {what} are {', '.join(listed[:_LISTED])}{more}"


def unknown(place: Place, name: str, known: Collection[str], what: str, *, key: bool = False) -> Finding:
    """Return the finding for a name that is not ``known``; ``what`` is singular, such as ``tool``."""
    plural = f"{what[:-1]}ies" if what.endswith("cy") else f"{what}s"
    return Finding(place, f"unknown {what} {name[:60]!r}", suggestion(name, known, plural), key)


def not_permitted(place: Place, name: str) -> Finding:
    """Return the finding for a tool of the suite that the scenario does not permit."""
    return Finding(place, f"the tool {name!r} is not permitted here", "add it to 'tools'")


def items(holder: Any, name: str) -> list[Any]:
    """Return the list under a mapping's key, or an empty one where either has another shape."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def entries(holder: Any, name: str) -> dict[str, Any]:
    """Return the mapping under a mapping's key, or an empty one where either has another shape."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def unknown_items(
    holder: Any, name: str, base: Place, known: Collection[str], what: str
) -> Iterator[Finding]:
    """Yield the findings for the strings in the list under ``name`` that are not ``known``."""
    for index, item in enumerate(items(holder, name)):
        if isinstance(item, str) and item not in known:
            yield unknown((*base, name, index), item, known, what)


def unknown_field(
    holder: Any, name: str, base: Place, known: Collection[str], what: str
) -> Iterator[Finding]:
    """Yield the finding for the string under ``name``, if it is not ``known``."""
    value = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(value, str) and value not in known:
        yield unknown((*base, name), value, known, what)
