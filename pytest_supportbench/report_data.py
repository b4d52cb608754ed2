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


class Unloading:
    """Takes out of reports what nothing needs when all have seen them: pytest keeps them to the end of a run."""

    def __init__(self) -> None:
        self._last: pytest.TestReport | None = None
        self._judged = ""

    def take(self, report: pytest.TestReport) -> None:
        """Take the rows out, and let the reports of a scenario item have their keywords together.

        What else a report carries stays, since some plugins report one again, and so does whose the rows were.
        """
        data = carried(report)
        if rows := data.get("rows"):
            left = {name: value for name, value in data.items() if name != "rows"}
            whose = _OWN if _of_own_test(rows) else _JUDGED
            carry(report, {**left, **whose} if left else whose)
            self._judged = report.nodeid if whose is _JUDGED else ""
        last, self._last = self._last, report
        if last is None or not self._judged == report.nodeid == last.nodeid:
            return
        if report.keywords == last.keywords:
            report.keywords = last.keywords


def of_scenario(report: pytest.TestReport) -> bool:
    """Tell whether a report carries, or carried, the rows of a scenario item and not those of a user's own test."""
    data = carried(report)
    rows = data.get("rows", ())
    return "judged" in data or (bool(rows) and not _of_own_test(rows))


def _of_own_test(rows: Any) -> bool:
    return any(row.get("own") for row in rows)
