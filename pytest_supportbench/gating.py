"""The gate within pytest: failures as before are expected, new ones are tried again, and a verdict ends the run."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_supportbench.access import open_session
from pytest_supportbench.collector import CASE
from pytest_supportbench.errors import SupportBenchError
from pytest_supportbench.evidence import Case, CaseEvidence, Evidence, case_evidence, evidence
from pytest_supportbench.gate import decide
from pytest_supportbench.gate_options import GateOptions
from pytest_supportbench.gate_scenarios import candidates, fresh_needed
from pytest_supportbench.judged import Judged
from pytest_supportbench.quarantine import Quarantine, quarantined
from pytest_supportbench.thresholds import measure

if TYPE_CHECKING:
    from pytest_supportbench.results_file import RunFile
    from pytest_supportbench.session import BenchSession


class ExpectedFailures:
    """Marks as expected failures what failed in the baseline too, or is in quarantine; in every process."""

    def __init__(self, options: GateOptions) -> None:
        self._baseline = options.baseline
        self._options = options

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turn a failed verdict that stands in the baseline too into an expected failure."""
        report = yield
        case = item.stash.get(CASE, None)
        if call.when != "call" or not report.failed or case is None:
            return report
        rows = getattr(report, "supportbench", {}).get("rows", ())
        if not rows or rows[-1]["verdict"] != "failed":
            return report
        reason = self._reason((case.bound.suite.suite.name, case.bound.scenario.id))
        if reason:
            report.outcome = "skipped"
            report.wasxfail = reason
        return report

    def _reason(self, case: Case) -> str:
        held = quarantined(self._options.quarantine, [case], self._options.today)
        if case in held.cases:
            return f"in quarantine: {held.notes[0]}"
        known = self._baseline.cases.get(case) if self._baseline else None
        if known is None or known.stable:
            return ""
        return f"as in the baseline, where it passed {known.passed} of {known.scored}"


class Gate:
    """Judges the run in the process that reports it."""

    def __init__(self, config: pytest.Config, options: GateOptions) -> None:
        self._config = config
        self._options = options
        self._fresh: dict[Case, CaseEvidence] = {}
        self.fresh_keys: set[str] = set()
        self.unconfirmed = ""

    def confirm(self, run: RunFile, paths: Mapping[Case, Path], tell: Any) -> None:
        """Try the candidates of a finished run again, as often as the rule declares; ``tell`` shows a line.

        ``paths`` has each case's file. What keeps them from running is noted, and leaves the gate inconclusive.
        """
        before = self._options.baseline
        if before is None:
            return
        now = _one(evidence(run))
        if now is None or not now.complete or now.cases.keys() != before.cases.keys():
            return  # a part of the run, such as a shard, cannot be judged whatever fresh trials show
        held = self._held(now)
        both = [case for case in before.cases.keys() & now.cases.keys() if case not in held.cases]
        old = {
            case: before.cases[case] for case in both if before.cases[case].scored and now.cases[case].scored
        }
        new = {case: now.cases[case] for case in old}
        found = candidates(old, new)
        count = fresh_needed(old, new, self._options.rules) if found else None
        if count is None:
            return
        tell(f"gate: {len(found)} new failures, each tried {count} times again")
        try:
            session = open_session(self._config)
            for case in found:
                self._fresh[case] = self._tried(session, now, case, paths[case], count)
        except (SupportBenchError, KeyError) as error:
            self.unconfirmed = str(error)

    def _tried(
        self, session: BenchSession, now: Evidence, case: Case, path: Path, count: int
    ) -> CaseEvidence:
        from pytest_supportbench.runner import Job  # noqa: PLC0415 - only gated runs with new failures

        bound = session.load(path)
        if not session.has_agent(now.agent):
            session.agent(now.agent)
        first = now.conditions.trials + 1
        jobs = [
            Job(f"gate:{case[0]}/{case[1]}#{number}", bound, now.agent, number)
            for number in range(first, first + count)
        ]
        lines = []
        for number, job in enumerate(jobs):
            result = session.run(job, iter(jobs[number + 1 :]))
            self.fresh_keys.add(result.key)
            lines.append(result.to_json())
        return case_evidence(case, lines)

    def judge(self, run: RunFile) -> Judged | None:
        """Return what the run is judged to be; ``None`` where it has no single agent's episodes."""
        now = _one(evidence(run))
        if now is None:
            return None
        measured = measure(now, self._options.thresholds) if self._options.thresholds else ()
        decision = None
        if self._options.baseline is not None:
            held = self._held(now)
            notes = (*held.notes, *held.unknown, *([self.unconfirmed] if self.unconfirmed else []))
            decision = decide(
                self._options.baseline,
                now,
                self._options.rules,
                fresh=self._fresh,
                quarantine=held.cases,
                expired=held.expired,
                notes=notes,
            )
        return Judged(now.agent, decision, measured, now.complete)

    def report(self, reporter: Any, judged: Judged, paths: Mapping[Case, Path]) -> None:
        """Print the judgement, and leave it for continuous integration."""
        from pytest_supportbench.reporting.ci import (  # noqa: PLC0415 - likewise
            summary_markdown,
            workflow_commands,
            write_summary,
        )
        from pytest_supportbench.reporting.gate import print_judged  # noqa: PLC0415 - likewise

        print_judged(reporter, judged)
        root = self._config.rootpath
        try:
            where = write_summary(
                summary_markdown(judged, str(self._options.baseline_path)), self._options.summary, root
            )
            reporter.write_line(f"summary: {_from(root, where)}")
        except OSError as error:
            reporter.write_line(
                f"the summary was not written ({error.strerror}); name a path: --supportbench-summary"
            )
        for line in workflow_commands(judged, {case: _from(root, path) for case, path in paths.items()}):
            reporter.write_line(line)

    def _held(self, now: Evidence) -> Quarantine:
        return quarantined(self._options.quarantine, now.cases, self._options.today)


def _from(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _one(found: tuple[Evidence, ...]) -> Evidence | None:
    """Return the one agent that a gated run has; the options refuse several."""
    return next((item for item in found if item.cases), None)
