"""What reports tell of a run beside its scenarios' verdicts: other failures, skips, mistakes, infrastructure errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_supportbench.beside import Beside
    from pytest_supportbench.summary import Row


def _only_of_subtests(report: Any) -> bool:
    """Tell whether a test failed only because its subtests did, each of which was reported."""
    return isinstance(report.longrepr, str) and report.longrepr.startswith("contains ")


class Tally:
    """Counts reports as they come, each once.

    ``failed`` counts failures, but of a ``gated`` run those that are a scenario's verdict, which are the gate's to
    judge; ``others`` names those that are no scenario's verdict. ``mistakes`` counts items by what kept them from
    running, ``errors`` those that an infrastructure error ended. ``skipped`` has the suite and id of scenario items.
    ``busy`` has by process and server what servers bore that refused requests.
    """

    def __init__(self, *, gated: bool) -> None:
        self.failed = 0
        self.others: list[str] = []
        self.errors = 0
        self.mistakes: Counter[str] = Counter()
        self.skipped: dict[str, tuple[str, str]] = {}
        self.busy: dict[str, dict[str, dict[str, int]]] = {}
        self._gated = gated
        self._own_errors: list[str] = []
        self._reported = 0

    def take(self, report: Any, data: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """Take a test's report with the plain data that came with it, and what that has of episodes."""
        self.busy.update(data.get("busy", {}))
        if "skipped" in data and not rows:
            suite, scenario = data["skipped"]
            self.skipped[report.nodeid] = (suite, scenario)
        elif rows:
            self.skipped.pop(report.nodeid, None)
        self._reported += report.failed and not hasattr(report, "wasxfail")
        if not report.failed or _only_of_subtests(report):
            return
        own = bool(rows) and bool(rows[-1].get("own"))
        if "usage" in data:
            self.mistakes[data["usage"]] += 1
        elif data.get("broken") and all(row["verdict"] != "failed" for row in rows):
            self.errors += 1
            if own:
                self._own_errors.append(report.nodeid)
        elif not (self._gated and data.get("by_verdict")):
            self.failed += 1
            if self._gated or own or not rows:
                self.others.append(report.nodeid)

    def take_file(self, report: Any) -> None:
        """Take the report of a file: one that could not be collected is a failure, as what it holds did not run."""
        if report.failed:
            self._reported += 1
            self.failed += 1
            self.others.append(report.nodeid)

    def uncounted(self, failures: int) -> int:
        """Return how many of the ``failures`` that pytest counted no report told of: other plugins count some."""
        return failures - self._reported

    def beside(self, failures: int, *, ended: bool) -> Beside:
        """Return what stands beside the scenarios; ``failures`` is how many pytest counted.

        ``ended`` is false for a run that pytest ends with a status of its own.
        """
        from pytest_supportbench.beside import beside  # noqa: PLC0415 - only gated runs ask

        return beside(
            failed=self.others,
            uncounted=self.uncounted(failures),
            own_errors=self._own_errors,
            mistakes=self.mistakes,
            ended=ended,
        )
