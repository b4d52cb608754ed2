"""Explanation within pytest: a judge is made before a run and asked at its end; raters that may not gate are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_supportbench.access import SETTINGS
from pytest_supportbench.collector import CASE
from pytest_supportbench.errors import UsageError
from pytest_supportbench.settings import path_of, value_of

if TYPE_CHECKING:
    from pytest_supportbench.agents.spec import AgentSpec
    from pytest_supportbench.explained import Explained
    from pytest_supportbench.judging import Explanation, Judging
    from pytest_supportbench.loading import BoundSuite
    from pytest_supportbench.results import Json
    from pytest_supportbench.results_file import RunFile


_OPTIONS: Final = {
    "judge": (
        "SPEC",
        "what is asked at the end of a run whether concepts were explained, such as ollama:qwen3:4b-instruct",
    ),
    "calibration": (
        "PATH",
        "what supportbench calibrate wrote: explanation may be gated on if it says that the rater is calibrated",
    ),
}


def add_judge_options(parser: pytest.Parser) -> None:
    """Declare the options and their ini names."""
    group = parser.getgroup("supportbench")
    for name, (metavar, text) in _OPTIONS.items():
        group.addoption(f"--supportbench-{name}", metavar=metavar, help=text)
        parser.addini(f"supportbench_{name}", f"as --supportbench-{name}", type="string", default=None)


def _judge(config: pytest.Config, root: Path) -> AgentSpec | None:
    text = value_of(config, "judge")
    if not text:
        return None
    from pytest_supportbench.judge import parse_judge  # noqa: PLC0415 - only runs with a judge pay for it

    return parse_judge(text, root, "--supportbench-judge")


def _calibration(config: pytest.Config) -> Path | None:
    """Return the calibration file. Raises `UsageError` where it is none."""
    path = path_of(config, "calibration")
    if path is None:
        return None
    from pytest_supportbench.calibration_file import load  # noqa: PLC0415 - only runs with a calibration pay for it
    from pytest_supportbench.questions import MATCHER  # noqa: PLC0415 - likewise

    try:
        load(path, {"rater": MATCHER})
    except UsageError as error:
        raise UsageError(f"--supportbench-calibration: {error}") from None
    return path


class Explaining:
    """Rates explanation in the process that reports a run; ``gated`` says whether a threshold is of it.

    ``results`` is the run's file. Raises `pytest.UsageError` naming the option.
    """

    def __init__(self, config: pytest.Config, results: Path, *, gated: bool) -> None:
        self._root = config.stash[SETTINGS].root
        try:
            self._judge, self._calibration = _judge(config, self._root), _calibration(config)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        self._results = results
        self._gated = gated
        self._suites: dict[Path, BoundSuite] = {}
        self._explanation: Explanation | None = None

    @property
    def active(self) -> bool:
        """Whether a judge or a calibration was named; else there is nothing to do."""
        return self._judge is not None or self._calibration is not None

    @cached_property
    def _judging(self) -> Judging:
        from pytest_supportbench.judging import Judging  # noqa: PLC0415 - only runs with a judge or a calibration

        return Judging(self._judge, self._calibration, self._root)

    def pytest_report_header(self) -> str | None:
        """Name the judge, where there is one."""
        judge = self._judge
        return None if judge is None else f"supportbench judge: {judge.raw}, asked at the end of the run"

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note the suites, of which a calibration must be; under xdist they are in the workers."""
        if self.active and (case := item.stash.get(CASE, None)) is not None:
            self._suites[case.packed.suite.path] = case.packed.suite

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Tell a judge that cannot be made, and a rater that may not gate, before anything runs."""
        elsewhere = not session.items  # in xdist's workers
        if not self.active or session.config.option.collectonly or not (self._suites or elsewhere):
            return
        from pytest_supportbench.suite_identity import suite_facts  # noqa: PLC0415 - only such runs

        try:
            self._judging.ready(self._results)
            if self._suites and self._gated:
                self._judging.refuse_uncalibrated(suite_facts(self._suites.values()))
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None

    def explain(
        self, run: RunFile, files: Iterable[Path], tell: Callable[[str], Any], *, stopped: bool
    ) -> None:
        """Ask the judge about a run that was not ``stopped``, and take what the raters say of it.

        ``files`` are the scenario files that were judged; ``tell`` shows a line.
        """
        if not self.active:
            return
        from pytest_supportbench.judging import STOPPED  # noqa: PLC0415 - likewise

        if stopped:
            self._judging.not_asked(STOPPED)
        else:
            self._judging.ask(run, self._results, files, tell)
        self._explanation = self._judging.explanation(run, self._results)

    @property
    def calibrated(self) -> bool:
        """Whether people have checked the phrase matcher that scored the run."""
        return self._explanation is not None and self._explanation.matcher.calibrated

    def to_json(self) -> Json | None:
        """Return what the closing line says of a judge; ``None`` without one."""
        return self._explanation.to_json() if self._explanation else None

    def report(self, reporter: Any, shown: Callable[[Path], str]) -> None:
        """Print what both raters say, where a judge was named; ``shown`` returns a path as the user can type it."""
        if self._explanation is not None:
            from pytest_supportbench.reporting.judging import print_explanation  # noqa: PLC0415 - only such runs

            print_explanation(reporter, self._explanation, shown(self._explanation.path))

    def for_gate(self, run: RunFile, agent: str) -> Explained | None:
        """Return an agent's explanation for a gate, where one is known."""
        return self._judging.for_gate(self._explanation, run, agent) if self._explanation else None
