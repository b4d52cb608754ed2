"""The gate within pytest: failures as before are expected, new ones are tried again, and a verdict ends the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_supportbench.access import open_session
from pytest_supportbench.beside import Beside
from pytest_supportbench.collector import CASE
from pytest_supportbench.comparable import differences
from pytest_supportbench.controller import Controller
from pytest_supportbench.counted import counted
from pytest_supportbench.errors import SupportBenchError, UsageError
from pytest_supportbench.evidence import Case, Evidence, evidence, zero_tolerance
from pytest_supportbench.gate_chosen import GateOptions
from pytest_supportbench.gate_scenarios import candidates, fresh_needed
from pytest_supportbench.judged import Judged, Yardstick, judge, nothing_judged
from pytest_supportbench.quarantine import quarantined
from pytest_supportbench.stopping import stopped
from pytest_supportbench.thresholds import EXPLANATION

if TYPE_CHECKING:
    from pytest_supportbench.explained import Explained
    from pytest_supportbench.results_file import RunFile
    from pytest_supportbench.session import BenchSession

_VERDICT = pytest.StashKey[BaseException]()
"""The exception by which a scenario's verdict failed its item."""


class ExpectedFailures:
    """Marks as expected failures what failed in the baseline too, or is in quarantine; in every process.

    Of the other failures it marks those that are a scenario's verdict: only these are the gate's to judge.
    """

    def __init__(self, options: GateOptions) -> None:
        self._baseline = options.baseline
        self._options = options

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Item) -> Generator[None, object, object]:
        """Note the failure of a scenario's own function; hooks and fixtures of the user's may raise others."""
        try:
            return (yield)
        except BaseException as error:
            pyfuncitem.stash[_VERDICT] = error
            raise

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turn a failed verdict that stands in the baseline too into an expected failure."""
        report = yield
        case = item.stash.get(CASE, None)
        if call.when != "call" or call.excinfo is None or not report.failed or case is None:
            return report
        data = getattr(report, "supportbench", {})
        rows = data.get("rows", ())
        own = call.excinfo.value is item.stash.get(_VERDICT, None)
        if not own or not rows or rows[-1]["verdict"] != "failed":
            return report
        reason = self._reason(case.name, rows[-1])
        if reason:
            report.outcome = "skipped"
            report.wasxfail = reason
        else:
            data["by_verdict"] = True
        return report

    def _reason(self, case: Case, row: Mapping[str, Any]) -> str:
        """Return why a failure is expected; empty where it is not, as where it breaks zero tolerance anew."""
        known = self._baseline.cases.get(case) if self._baseline else None
        violations = [{"code": code} for code, _ in row["violations"]]
        codes = zero_tolerance({"tags": row["tags"], "violations": violations})
        if known is not None and any(code not in known.zero_tolerance for code in codes):
            return ""
        held = quarantined(self._options.quarantine, [case], self._options.today)
        if case in held.cases:
            return f"in quarantine: {held.notes[0]}"
        if known is None or known.stable:
            return ""
        return f"as in the baseline, where it passed {known.passed} of {known.scored}"


class Gate:
    """Judges the run in the process that reports it. Raises `pytest.UsageError` where trials would be counted twice."""

    def __init__(self, config: pytest.Config, options: GateOptions) -> None:
        if config.getoption("dist", "no") == "each":
            msg = "--dist each: a gated run counts each trial once, and every process would run it"
            raise pytest.UsageError(f"{msg}; use -n or --dist load")
        self._config = config
        self._options = options
        self._left = ""
        self.fresh_keys: set[str] = set()
        self.unconfirmed = ""
        self.interrupted = False

    def confirm(self, run: RunFile, paths: Mapping[Case, Path], tell: Any) -> None:
        """Try the candidates of a finished run again, as often as the rule declares; ``tell`` shows a line.

        ``paths`` has each case's file. What keeps them from running is noted, and leaves the gate inconclusive.
        """
        before = self._options.baseline
        try:
            now = _one(_agents(run))
        except UsageError:  # told when the run is judged
            return
        if before is None or now is None or not _can_be_judged(before, now, run.run["settings"]):
            return
        counts = self._fresh_trials(before, now)
        if not counts:
            return
        from pytest_supportbench.budget import BudgetSpent  # noqa: PLC0415 - only gated runs with new failures
        from pytest_supportbench.scheduler import TooManyHung  # noqa: PLC0415 - likewise

        each = "tried" if len(counts) == 1 else "each tried"
        again = f"{each} {counted(max(counts.values()), 'time')} again"
        tell(f"gate: {counted(len(counts), 'new failure')}, {again}")
        try:
            session = open_session(self._config)
            for case, count in counts.items():
                self._try(session, now, case, paths[case], count)
        except KeyboardInterrupt:
            self.interrupted = True
            self.unconfirmed = "the fresh trials were interrupted"
        except (SupportBenchError, BudgetSpent, TooManyHung, KeyError, OSError, RuntimeError) as error:
            self.unconfirmed = f"the fresh trials ended early: {error}"

    def _fresh_trials(self, before: Evidence, now: Evidence) -> dict[Case, int]:
        """Return how many fresh trials each candidate of this run gets: what the whole run would declare.

        All but the candidate's own trials is the baseline's, so a shard declares the same.
        """
        held = quarantined(self._options.quarantine, before.cases, self._options.today)
        old = {case: item for case, item in before.cases.items() if case not in held.cases}
        new = {case: now.cases[case] for case in old.keys() & now.cases.keys() if now.cases[case].scored}
        found = candidates({case: old[case] for case in new}, new)
        counts = {case: fresh_needed(old, {case: new[case]}, self._options.rules) for case in found}
        return {case: count for case, count in counts.items() if count is not None}

    def _try(self, session: BenchSession, now: Evidence, case: Case, path: Path, count: int) -> None:
        """Run the fresh trials of one candidate; they go to the results file, from where the gate takes them."""
        from pytest_supportbench.runner import Job  # noqa: PLC0415 - only gated runs with new failures

        bound = session.scenarios.load(path)
        if not session.has_agent(now.agent):
            session.agent(now.agent)
        first = now.conditions.trials + 1
        jobs = [
            Job(f"gate:{case[0]}/{case[1]}#{number}", bound, now.agent, number)
            for number in range(first, first + count)
        ]
        for number, job in enumerate(jobs):
            self.fresh_keys.add(session.run(job, iter(jobs[number + 1 :])).key)

    @property
    def baseline(self) -> str:
        """The baseline's path as it was named; empty where there is none."""
        return str(self._options.baseline_path or "")

    @property
    def asks_for_explanation(self) -> bool:
        """Whether a threshold is of explanation."""
        return self._options.thresholds is not None and EXPLANATION in self._options.thresholds.least

    def begin(self) -> None:
        """Take an earlier run's summary away: one that ends without a verdict must not leave it as its own."""
        from pytest_supportbench.reporting.ci import forget_summary  # noqa: PLC0415 - likewise

        forget_summary(self._options.summary, self._config.rootpath)

    def judge(
        self,
        run: RunFile | None,
        explained: Callable[[RunFile, str], Explained | None],
        around: Beside,
        lost: str,
        skipped: Collection[Case],
    ) -> Judged:
        """Return what the run is judged to be; without one agent's episodes INCONCLUSIVE, with the reason.

        ``explained`` returns an agent's explanation, and is asked only where a threshold is of it. ``around`` is what
        stands beside the scenarios, ``lost`` says why there is no ``run``.
        """
        try:
            found = _agents(run) if run is not None else ()
        except UsageError as error:
            return nothing_judged(str(error), around)
        now = _one(found)
        if run is None or now is None:
            names = ", ".join(sorted(item.agent for item in found))
            one_by_one = "and a gated run judges one; run them one by one"
            several = f"the run has {len(found)} agents ({names}), {one_by_one}" if found else ""
            return nothing_judged(
                several or (lost if run is None else "") or "no scenario was run", around, names, skipped
            )
        options = self._options
        by = Yardstick(options.baseline, options.rules, options.quarantine, options.today, options.thresholds)
        notes = [self.unconfirmed] if self.unconfirmed else ()
        explanation = None
        if self.asks_for_explanation:
            held = quarantined(options.quarantine, now.cases, options.today).cases
            lines = (line for line in run.episodes if (line["suite"], line["scenario"]) not in held)
            explanation = explained(replace(run, episodes=tuple(lines)), now.agent)
        return judge(now, by, notes, explanation, around)

    def leave(self, judged: Judged) -> None:
        """Leave the judgement as Markdown for continuous integration; where it is, or why it is not, is told later."""
        from pytest_supportbench.reporting.ci import summary_markdown, write_summary  # noqa: PLC0415 - likewise

        root = self._config.rootpath
        try:
            baseline = self._options.baseline_path
            named = _from(self._config.invocation_params.dir, baseline) if baseline else ""
            where = write_summary(summary_markdown(judged, named), self._options.summary, root)
            self._left = f"summary: {_from(root, where)}"
        except OSError as error:
            self._left = (
                f"the summary was not written ({error.strerror}); name a path: --supportbench-summary"
            )

    def report(
        self, reporter: Any, judged: Judged, paths: Mapping[Case, Path], wrong: Mapping[Case, str]
    ) -> None:
        """Print the judgement, and annotate; ``paths`` has each case's file and ``wrong`` what went wrong in it."""
        from pytest_supportbench.reporting.ci import workflow_commands  # noqa: PLC0415 - likewise
        from pytest_supportbench.reporting.gate import print_judged  # noqa: PLC0415 - likewise

        print_judged(reporter, judged)
        reporter.write_line(self._left)
        root = self._config.rootpath
        files = {case: _from(root, path) for case, path in paths.items()}
        for line in workflow_commands(judged, files, wrong):
            reporter.write_line(line)


class Confirming:
    """Lets the gate try new failures again before anything is closed; registered last, so that its hook comes first."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Run the fresh trials of new failures, if the run reached its end."""
        if not stopped(session):
            self._controller.confirm(session)


def _can_be_judged(before: Evidence, now: Evidence, settings: Mapping[str, Any]) -> bool:
    """Tell whether fresh trials can change what becomes of a run: those of a selection or of other conditions cannot.

    Of a shard it is enough that the shards together have as many scenarios as the baseline.
    """
    if not now.complete or any(differences(before, now)):
        return False
    if now.shard is None:
        return now.cases.keys() == before.cases.keys()
    planned: int = settings["plan"]["scenarios"]
    return now.cases.keys() <= before.cases.keys() and planned >= len(before.cases)


def _from(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _agents(run: RunFile) -> tuple[Evidence, ...]:
    """Return what each agent of scenario items showed. Raises `UsageError` where the file cannot be read so."""
    return tuple(item for item in evidence(run) if item.cases)


def _one(found: tuple[Evidence, ...]) -> Evidence | None:
    """Return the one agent that a gated run has; a fixture may have given it several, and none is judged then."""
    return found[0] if len(found) == 1 else None
