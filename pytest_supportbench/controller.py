"""The process that reports a run: it gathers rows, decides the exit status, closes the results file."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_supportbench.access import RUN, SETTINGS
from pytest_supportbench.explaining import Explaining
from pytest_supportbench.kept import keep
from pytest_supportbench.report_data import Unloading, carried
from pytest_supportbench.stopping import cut_noticed, stopped
from pytest_supportbench.tally import Tally
from pytest_supportbench.uninterrupted import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_supportbench.comparison import Paired
    from pytest_supportbench.finished import Finished
    from pytest_supportbench.gating import Gate
    from pytest_supportbench.judged import Judged
    from pytest_supportbench.results_file import RunFile
    from pytest_supportbench.summary import AgentSummary, Row

EXIT_USAGE: Final = 4
EXIT_ERRORS_ONLY: Final = 10
_JUDGED: Final = frozenset({pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED})
"""The statuses of runs that pytest brought to their end; what the gate says takes their place."""


def _tell(config: pytest.Config, text: str) -> None:
    """Show a line while the run goes on."""
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"\n{text}")  # what pytest wrote last may have no end yet


class Controller:
    """Takes every report once; the last attempt at an item counts."""

    def __init__(self, config: pytest.Config, gate: Gate | None = None) -> None:
        self._gate = gate
        self._outcome: Judged | None = None
        self._asked = False
        self._began = False
        self._run_id, path = config.stash[RUN]
        self._path = Path(path)
        self._settings = config.stash[SETTINGS]
        gated = gate is not None and gate.asks_for_explanation
        self._explaining = Explaining(config, self._path, gated=gated)
        config.pluginmanager.register(self._explaining, "supportbench-explaining")
        self._closing: dict[str, Any] | None = None
        self._here = config.invocation_params.dir
        self._reported: dict[str, list[Row]] = {}
        self._subtests: dict[str, list[Row]] = {}
        self._tally = Tally(gated=gate is not None)
        self._unloading = Unloading()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Note what kind of failure a report is if it is one, and take its rows out when all have seen them."""
        data = carried(report)
        rows = data.get("rows", [])
        self._tally.take(report, data, rows)
        try:
            return (yield)
        finally:
            self._keep(report, [keep(row) for row in rows])
            self._unloading.take(report)

    def _keep(self, report: pytest.TestReport, rows: list[Row]) -> None:
        """Keep the rows of an item's last attempt; those of its subtests are reported before its own."""
        if isinstance(report, pytest.SubtestReport):
            self._subtests.setdefault(report.nodeid, []).extend(rows)
        elif rows := [*self._subtests.pop(report.nodeid, []), *rows] if report.when == "call" else rows:
            self._reported[report.nodeid] = rows

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that could not be collected."""
        self._tally.take_file(report)

    @property
    def _rows(self) -> list[Row]:
        return [row for rows in self._reported.values() for row in rows]

    @property
    def _judged(self) -> list[Row]:
        """The rows of scenario items; those of the user's own tests may use any agent and are counted apart."""
        return [row for row in self._rows if not row.get("own")]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Note that a run begins: lists of items or fixtures are none, and there is nothing to judge in them."""
        self._began = not session.config.option.collectonly
        if self._began and self._gate is not None:
            self._gate.begin()
        with cut_noticed(session):
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Set the exit status and write the closing line, also where Ctrl-C comes now."""
        try:
            self._judge(session)
        finally:
            with uninterrupted():
                session.exitstatus = self._exit_status(session, int(session.exitstatus))
                if self._gate is not None and self._outcome is not None:
                    self._gate.leave(self._outcome)
                if self._path.exists():
                    self._close(session, int(session.exitstatus))

    def _judge(self, session: pytest.Session) -> None:
        """Let raters and the gate judge the run, once: a report may need the verdict before the run is closed."""
        gated = self._gate is not None and self._began
        if self._asked or not (gated or self._explaining.active):
            return  # most runs are neither gated nor rated, and need not be read back
        self._asked = True
        run = self._run(session)
        if run is not None:
            files = self._files(session.config.rootpath).values()
            tell = partial(_tell, session.config)
            self._explaining.explain(run, files, tell, stopped=stopped(session))
        if self._gate is not None and gated:
            around = self._tally.beside(session.testsfailed, ended=int(session.exitstatus) in _JUDGED)
            skipped = set(self._tally.skipped.values())
            self._outcome = self._gate.judge(run, self._explaining.for_gate, around, self._lost(), skipped)

    def _lost(self) -> str:
        """Return what became of the results of a run; empty where it had none."""
        if not self._rows:
            return ""
        what = "is another run's now" if self._path.exists() else "is gone"
        return f"the results file {self._shown(self._path)} {what}, so there is nothing to judge"

    def finished(self, session: pytest.Session) -> Finished:
        """Return what a report at the end of the run tells of it."""
        from pytest_supportbench.finished import Finished  # noqa: PLC0415 - only reports ask

        self._judge(session)
        return Finished(
            rows={
                nodeid: found
                for nodeid, rows in self._reported.items()
                if (found := [row for row in rows if not row.get("own")])
            },
            summaries=tuple(self._summaries()),
            comparisons=self._comparisons,
            judged=self._outcome,
            stopped=stopped(session),
            failed=len(self._tally.others),
            mistakes=dict(self._tally.mistakes),
            baseline=self._shown(Path(self._gate.baseline)) if self._gate and self._gate.baseline else "",
            path=self._path,
        )

    def confirm(self, session: pytest.Session) -> None:
        """Let the gate try new failures again, while agents can still be asked."""
        run = self._run(session)
        if self._gate is None or run is None:
            return
        self._gate.confirm(run, self._files(session.config.rootpath), partial(_tell, session.config))
        if self._gate.interrupted:
            session.exitstatus = pytest.ExitCode.INTERRUPTED

    def _files(self, root: Path) -> dict[tuple[str, str], Path]:
        """Return the file of each scenario that was judged, by suite and id."""
        from pytest_supportbench.summary import named_case  # noqa: PLC0415 - only runs with scenarios

        return {
            named_case(row): root / nodeid.partition("::")[0]
            for nodeid, rows in self._reported.items()
            for row in rows
            if not row.get("own")
        }

    def _run(self, session: pytest.Session) -> RunFile | None:
        """Return the run as its file will have it, closed; ``None`` where there is no file of this run."""
        from pytest_supportbench.evidence import QUESTIONS  # noqa: PLC0415 - only gated runs
        from pytest_supportbench.gists import gist  # noqa: PLC0415 - likewise
        from pytest_supportbench.results_file import belongs_to, closed, read_run  # noqa: PLC0415 - likewise

        if not self._path.exists() or not belongs_to(self._path, self._run_id):
            return None
        # Raters read what was said; the gate alone needs the gist of each line.
        kept = None if self._explaining.active else partial(gist, questions=QUESTIONS)
        return closed(read_run(self._path, kept), self._line(session, int(session.exitstatus)))

    def _exit_status(self, session: pytest.Session, status: int) -> int:
        """Return the status: failures win over a user's mistakes, and these over errors, which a rerun may cure."""
        failed = self._tally.failed or self._tally.uncounted(session.testsfailed) > 0
        if status not in _JUDGED or (failed and self._outcome is None):
            return status
        judged = None if self._outcome is None else self._outcome.exit_status
        if judged == pytest.ExitCode.TESTS_FAILED:
            return judged
        if self._tally.mistakes:
            return EXIT_USAGE
        if judged is not None:
            return judged
        return EXIT_ERRORS_ONLY if self._tally.errors else status

    def _by_agent(self) -> dict[str, list[Row]]:
        """Return the judged rows by agent, configured ones in their order, whoever's came first."""
        from pytest_supportbench.summary import by_agent  # noqa: PLC0415 - only runs with scenarios

        found = by_agent(self._judged)
        configured = [name for name in self._settings.agents if name in found]
        return {name: found[name] for name in dict.fromkeys((*configured, *found))}

    @cached_property
    def _counts(self) -> list[AgentSummary]:
        """Each agent's counts, taken once when all reports are there: intervals and tests cost seconds."""
        from pytest_supportbench.summary import intervals_in_summary, summarise  # noqa: PLC0415 - likewise

        found = self._by_agent()
        intervals = intervals_in_summary(len(found), gated=self._gate is not None)
        return [summarise(agent, rows, intervals=intervals) for agent, rows in found.items()]

    def _summaries(self) -> list[AgentSummary]:
        return [replace(item, calibrated=self._explaining.calibrated) for item in self._counts]

    @cached_property
    def _comparisons(self) -> tuple[Paired, ...]:
        agents = self._by_agent()
        if len(agents) < 2:  # noqa: PLR2004 - a comparison is of two
            return ()
        from pytest_supportbench.comparison import paired  # noqa: PLC0415 - only runs of several agents

        return paired(agents)

    def _budget(self, summaries: list[AgentSummary]) -> dict[str, Any] | None:
        """Return what was spent of the token budget, by the account that all processes of the run share."""
        from pytest_supportbench.budget import TokenBudget  # noqa: PLC0415 - likewise

        silent = [summary.agent for summary in summaries if not summary.usage.counted]
        return TokenBudget(self._settings.max_tokens, self._path, self._run_id).to_json(silent)

    def _line(self, session: pytest.Session, status: int) -> dict[str, Any]:
        """Return the closing line of the results file."""
        from pytest_supportbench.cassette_counts import cassettes_used  # noqa: PLC0415 - only runs with scenarios
        from pytest_supportbench.results_file import closing_line  # noqa: PLC0415 - likewise

        rows, summaries = self._rows, self._summaries()
        fresh = self._gate.fresh_keys if self._gate is not None else set()
        return closing_line(
            self._path,
            self._run_id,
            reported={row["key"] for row in rows} | fresh,
            verdicts=[row["verdict"] for row in rows],
            agents=[summary.to_json() for summary in summaries],
            comparisons=[pair.to_json() for pair in self._comparisons],
            budget=self._budget(summaries),
            cassettes=cassettes_used(rows),
            gate=self._outcome.to_json() if self._outcome else None,
            explanation=self._explaining.to_json(),
            skipped=["/".join(case) for case in self._tally.skipped.values()],
            exit_status=status,
            stopped_early=stopped(session) or status in {2, 3},
        )

    def _close(self, session: pytest.Session, status: int) -> None:
        from pytest_supportbench.results_file import belongs_to, write_closing  # noqa: PLC0415 - only runs with scenarios

        if not belongs_to(self._path, self._run_id):
            return
        self._closing = self._line(session, status)
        write_closing(self._path, self._closing)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the counts of each agent and where the results are, also of a run that stopped before a report."""
        if terminalreporter.no_summary:
            return
        if self._closing is not None or self._tally.mistakes:
            self._report_run(terminalreporter)
        if self._gate is not None and self._outcome is not None:
            from pytest_supportbench.summary import named_case  # noqa: PLC0415 - only runs with scenarios

            wrong = {named_case(row): row["headline"] for row in self._judged if row["verdict"] == "failed"}
            files = self._files(terminalreporter.config.rootpath)
            self._gate.report(terminalreporter, self._outcome, files, wrong)

    def _report_run(self, terminalreporter: pytest.TerminalReporter) -> None:
        from pytest_supportbench.reporting.terminal import print_mistakes, print_summary  # noqa: PLC0415 - likewise

        print_mistakes(terminalreporter, self._tally.mistakes)
        if self._closing is None:
            return
        early = len(self._closing["unreported"]) if self._closing["stopped_early"] else None
        print_summary(
            terminalreporter,
            self._rows,
            self._summaries(),
            self._shown(self._path),
            early=early,
            comparisons=self._comparisons,
            budget=self._closing["budget"],
            cassettes=self._closing["cassettes"],
            alike=self._settings.alike,
            busy=self._tally.busy,
        )
        self._explaining.report(terminalreporter, self._shown)

    def _shown(self, path: Path) -> str:
        """Return a file as the user can type it: from where pytest was called, or in full."""
        try:
            return str(path.relative_to(self._here))
        except ValueError:
            return str(path)
