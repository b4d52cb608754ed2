"""What a pytest report carries of a scenario's episodes: plain JSON data, so that it travels from a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

_ATTRIBUTE: Final = "supportbench"
_JUDGED: Final = {"judged": True}
_OWN: Final = {"own": True}


def carries(report: pytest.TestReport) -> bool:
    """Tell whether a report carries or carried anything."""
    return hasattr(report, _ATTRIBUTE)


def carried(report: pytest.TestReport) -> Mapping[str, Any]:
    """Return what a report carries: ``rows`` of episodes, and what else is told of its item."""
    found: Mapping[str, Any] = getattr(report, _ATTRIBUTE, {})
    return found


def carry(report: pytest.TestReport, data: Mapping[str, Any]) -> None:
    """Give a report something to carry, instead of what it carried."""
    setattr(report, _ATTRIBUTE, data)


def unload(report: pytest.TestReport) -> None:
    """Take the rows out of a report, which pytest keeps to the end of a run; whose they were stays."""
    if rows := carried(report).get("rows"):
        carry(report, _OWN if _of_own_test(rows) else _JUDGED)


def of_scenario(report: pytest.TestReport) -> bool:
    """Tell whether a report carries, or carried, the rows of a scenario item and not those of a user's own test."""
    data = carried(report)
    rows = data.get("rows", ())
    return "judged" in data or (bool(rows) and not _of_own_test(rows))


def _of_own_test(rows: Any) -> bool:
    return any(row.get("own") for row in rows)
