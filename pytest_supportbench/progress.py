"""A line now and then on long runs: how far it is, how it stands, how fast it goes, and how long it will take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import pytest

from pytest_supportbench.access import opened_session
from pytest_supportbench.collector import CASE
from pytest_supportbench.report_data import carried
from pytest_supportbench.settings import FILES, is_scenario_file

INTERVAL: Final = 30.0
"""Seconds between two lines; a run that is shorter has none."""

SLOW: Final = 0.1
"""Seconds for an episode above which an agent that runs one at a time is worth a word: below, the time is ours."""

ADVISED: Final = 8
"""So many episodes at a time are what async agents and servers get unasked."""


class Progress:
    """Counts finished scenario items in the process that reports them, and tells of them while the run goes on."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._counts: Counter[str] = Counter()
        self._done: set[str] = set()
        self._total = 0
        self._started = self._told = 0.0
        self._advised = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what will run; under xdist the workers know it."""
        self._total = sum(CASE in item.stash for item in session.items)
        self._started = self._told = time.monotonic()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Count the scenario files' items of a worker; all of them collect the same."""
        patterns = self._config.getini(FILES)
        self._total = sum(is_scenario_file(nodeid.partition("::")[0], patterns) for nodeid in ids)
        self._started = self._told = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count an item that brings a verdict, and tell when it is time."""
        rows = carried(report).get("rows", ())
        if not rows or rows[-1].get("own") or report.nodeid in self._done:
            return
        self._done.add(report.nodeid)
        self._counts[rows[-1]["verdict"]] += 1
        now = time.monotonic()
        if now - self._told >= INTERVAL:
            self._told = now
            self._tell(line(self._counts, self._total, now - self._started))
            self._advise(now - self._started)

    def _advise(self, seconds: float) -> None:
        """Tell once how a slow run gets faster where its agents may bear more than one episode at a time."""
        session = opened_session(self._config)
        done = self._counts.total()
        if self._advised or session is None or done == self._total or seconds / done < SLOW:
            return
        if names := session.one_at_a_time():
            self._advised = True
            self._tell(
                f"supportbench: episodes of {', '.join(names)} run one at a time; if the agent may be called from "
                f"several threads, --supportbench-concurrency={ADVISED} runs {ADVISED} at a time"
            )

    def _tell(self, text: str) -> None:
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None and reporter.verbosity >= 0:
            reporter.write_line(f"\n{text}")


def line(counts: Counter[str], total: int, seconds: float) -> str:
    """Return where a run stands; ``seconds`` have passed since it began. The time left is by the mean pace so far."""
    done = counts.total()
    pace = done / seconds
    verdicts = ", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "error") if counts[name])
    left = max(0, total - done) / pace
    rate = f"{pace:.1f} a second" if pace >= 1 else f"{60 * pace:.1f} a minute"
    return f"supportbench: {done} of {total}: {verdicts}; {rate}, about {_duration(left)} left"


def _duration(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004 - an hour
