"""The process that reports a run: it gathers rows, decides the exit status, closes the results file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_supportbench.access import RUN, SETTINGS

if TYPE_CHECKING:
    from pytest_supportbench.comparison import Paired
    from pytest_supportbench.gating import Gate
    from pytest_supportbench.judged import Judged
    from pytest_supportbench.results_file import RunFile
    from pytest_supportbench.summary import AgentSummary, Row

ATTRIBUTE: Final = "supportbench"
"""The report attribute that carries rows from where an item ran to where it is reported; plain JSON data."""

EXIT_USAGE: Final = 4
EXIT_ERRORS_ONLY: Final = 10
EXIT_INCONCLUSIVE: Final = 11


def _only_of_subtests(report: pytest.TestReport) -> bool:
    """Tell whether a test failed only because its subtests did, each of which was reported."""
    return isinstance(report.longrepr, str) and report.longrepr.startswith("contains ")


class Controller:
    """Takes every report once; the last attempt at an item counts."""

    def __init__(self, config: pytest.Config, gate: Gate | None = None) -> None:
        self._gate = gate
        self._outcome: Judged | None = None
        self._new_failures = 0
        self._run_id, path = config.stash[RUN]
        self._path = Path(path)
        self._settings = config.stash[SETTINGS]
        self._closing: dict[str, Any] | None = None
        self._here = config.invocation_params.dir
        self._reported: dict[str, list[Row]] = {}
        self._subtests: dict[str, list[Row]] = {}
        self._failed = 0
        self._errors = 0
        self._mistakes: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report's rows, and note what kind of failure it is if it is one."""
        data: dict[str, Any] = getattr(report, ATTRIBUTE, {})
        rows = data.get("rows", [])
        self._keep(report, rows)
        if not report.failed or _only_of_subtests(report):
            return
        if "usage" in data:
            self._mistakes[data["usage"]] += 1
        elif data.get("broken") and all(row["verdict"] != "failed" for row in rows):
            self._errors += 1
        elif self._gate is not None and rows and not rows[-1].get("own"):
            self._new_failures += 1  # whether it counts is the gate's to say
        else:
            self._failed += 1

    def _keep(self, report: pytest.TestReport, rows: list[Row]) -> None:
        """Keep the rows of an item's last attempt; those of its subtests are reported before its own."""
        if isinstance(report, pytest.SubtestReport):
            self._subtests.setdefault(report.nodeid, []).extend(rows)
        elif rows := [*self._subtests.pop(report.nodeid, []), *rows] if report.when == "call" else rows:
            self._reported[report.nodeid] = rows

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that could not be collected as a failure: what it holds was not evaluated."""
        self._failed += report.failed

    @property
    def _rows(self) -> list[Row]:
        return [row for rows in self._reported.values() for row in rows]

    @property
    def _judged(self) -> list[Row]:
        """The rows of scenario items; those of the user's own tests may use any agent and are counted apart."""
        return [row for row in self._rows if not row.get("own")]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Set the exit status and write the closing line."""
        if self._gate is not None and (run := self._run(session)) is not None:
            self._outcome = self._gate.judge(run)
        session.exitstatus = self._exit_status(int(session.exitstatus))
        if self._path.exists():
            self._close(session, int(session.exitstatus))

    def confirm(self, session: pytest.Session) -> None:
        """Let the gate try new failures again, while agents can still be asked."""
        run = self._run(session)
        if self._gate is None or run is None:
            return
        reporter: Any = session.config.pluginmanager.getplugin("terminalreporter")

        def tell(text: str) -> None:
            if reporter is not None:
                reporter.ensure_newline()
                reporter.write_line(text)

        self._gate.confirm(run, self._files(session.config.rootpath), tell)

    def _files(self, root: Path) -> dict[tuple[str, str], Path]:
        """Return the file of each scenario that was judged, by suite and id."""
        return {
            (row["suite"].rpartition(" ")[0], row["scenario"]): root / nodeid.partition("::")[0]
            for nodeid, rows in self._reported.items()
            for row in rows
            if not row.get("own")
        }

    def _run(self, session: pytest.Session) -> RunFile | None:
        """Return the run as its file will have it, closed; ``None`` where there is no file of this run."""
        from pytest_supportbench.results_file import belongs_to, closed, read_run  # noqa: PLC0415 - only gated runs

        if not self._path.exists() or not belongs_to(self._path, self._run_id):
            return None
        return closed(read_run(self._path), self._line(session, int(session.exitstatus)))

    def _exit_status(self, status: int) -> int:
        """Return the status: failures win over a user's mistakes, and these over errors, which a rerun may cure."""
        if status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} or self._failed:
            return status
        if self._mistakes:
            return EXIT_USAGE
        if self._gate is not None:
            return self._gated_status(status)
        return EXIT_ERRORS_ONLY if self._errors else status

    def _gated_status(self, status: int) -> int:
        """Return the gate's status; where infrastructure errors alone keep it from telling, that of errors alone."""
        if self._outcome is None:
            return EXIT_ERRORS_ONLY if self._errors else status
        gated = self._outcome.exit_status
        only_errors = gated == EXIT_INCONCLUSIVE and self._errors and not self._new_failures
        return EXIT_ERRORS_ONLY if only_errors else gated

    def _by_agent(self) -> dict[str, list[Row]]:
        """Return the judged rows by agent, configured ones in their order, whoever's came first."""
        from pytest_supportbench.summary import by_agent  # noqa: PLC0415 - only runs with scenarios

        found = by_agent(self._judged)
        configured = [name for name in self._settings.agents if name in found]
        return {name: found[name] for name in dict.fromkeys((*configured, *found))}

    def _summaries(self) -> list[AgentSummary]:
        from pytest_supportbench.summary import summarise  # noqa: PLC0415 - likewise

        return [summarise(agent, rows) for agent, rows in self._by_agent().items()]

    def _comparisons(self) -> tuple[Paired, ...]:
        from pytest_supportbench.comparison import paired  # noqa: PLC0415 - likewise

        return paired(self._by_agent())

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
            comparisons=[pair.to_json() for pair in self._comparisons()],
            budget=self._budget(summaries),
            cassettes=cassettes_used(rows),
            gate=self._outcome.to_json() if self._outcome else None,
            exit_status=status,
            stopped_early=bool(session.shouldstop or session.shouldfail) or status in {2, 3},
        )

    def _close(self, session: pytest.Session, status: int) -> None:
        from pytest_supportbench.results_file import belongs_to, write_closing  # noqa: PLC0415 - only runs with scenarios

        if not belongs_to(self._path, self._run_id):
            return
        self._closing = self._line(session, status)
        write_closing(self._path, self._closing)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the counts of each agent and where the results are, also of a run that stopped before a report."""
        if terminalreporter.no_summary or (self._closing is None and not self._mistakes):
            return
        from pytest_supportbench.reporting.terminal import print_mistakes, print_summary  # noqa: PLC0415 - likewise

        print_mistakes(terminalreporter, self._mistakes)
        if self._closing is None:
            return
        early = len(self._closing["unreported"]) if self._closing["stopped_early"] else None
        print_summary(
            terminalreporter,
            self._rows,
            self._summaries(),
            self._shown_path(),
            early=early,
            comparisons=self._comparisons(),
            budget=self._closing["budget"],
            cassettes=self._closing["cassettes"],
            alike=self._settings.alike,
        )
        if self._gate is not None and self._outcome is not None:
            self._gate.report(terminalreporter, self._outcome, self._files(terminalreporter.config.rootpath))

    def _shown_path(self) -> str:
        """Return the results file as the user can type it: from where pytest was called, or in full."""
        try:
            return str(self._path.relative_to(self._here))
        except ValueError:
            return str(self._path)


class Confirming:
    """Lets the gate try new failures again before anything is closed; registered last, so that its hook comes first."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Run the fresh trials of new failures, if the run reached its end."""
        if not (session.shouldstop or session.shouldfail or int(session.exitstatus) in {2, 3}):
            self._controller.confirm(session)
