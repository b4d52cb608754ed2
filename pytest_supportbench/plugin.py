"""The pytest plugin: every hook delegates, and nothing heavy is imported before a scenario is collected."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_supportbench import (
    executing,
    explaining,
    garbage,
    gate_options,
    hookspecs,
    html_report,
    settings,
    sharding,
)
from pytest_supportbench.access import BROKEN_HOOK, RUN, SETTINGS, open_session, opened_session
from pytest_supportbench.collector import CASE, ScenarioFile
from pytest_supportbench.controller import Controller
from pytest_supportbench.fixtures import (
    BROKEN,
    RUNS,
    USAGE,
    skip_further_agents,
    supportbench,
    supportbench_agent,
    supportbench_run,
    supportbench_scenario,
)
from pytest_supportbench.progress import Progress
from pytest_supportbench.report_data import carried, carry
from pytest_supportbench.shown import Warned, clear_captured
from pytest_supportbench.uninterrupted import uninterrupted
from pytest_supportbench.upcoming import NEXT, UPCOMING, Upcoming

if TYPE_CHECKING:
    from pytest_supportbench.gating import Gate
    from pytest_supportbench.run import Run
    from pytest_supportbench.session import BenchSession

__all__ = ["supportbench", "supportbench_agent", "supportbench_run", "supportbench_scenario"]

WORKER: Final = "workerinput"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and ini names."""
    settings.add_options(parser)
    gate_options.add_gate_options(parser)
    explaining.add_judge_options(parser)
    sharding.add_shard_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that users implement."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and decide where results go; under xdist the controller decides for its workers."""
    config.addinivalue_line(
        "markers",
        "supportbench_tag(name): a scenario's tag or category; select with -m 'supportbench_tag(name=\"pilot\")'",
    )
    config.stash[SETTINGS] = chosen = settings.read_settings(config)
    config.pluginmanager.register(Warned(config), "supportbench-warnings")
    gate = _gate(config)
    sharding.register_sharding(config)
    executing.register_executor(config)
    worker = getattr(config, WORKER, None)
    if worker is not None:
        config.stash[RUN] = worker["supportbench_run"]
        return
    config.stash[RUN] = settings.place_results(chosen)
    controller = Controller(config, gate)
    config.pluginmanager.register(controller, "supportbench-controller")
    if gate is not None:
        from pytest_supportbench.gating import Confirming  # noqa: PLC0415 - only gated runs pay for it

        config.pluginmanager.register(Confirming(controller), "supportbench-gate")
    html_report.register_html(config, controller)
    config.pluginmanager.register(Progress(config), "supportbench-progress")


def _gate(config: pytest.Config) -> Gate | None:
    """Return what judges the run against a baseline or thresholds, where either is asked for."""
    options = gate_options.read_gate_options(config)
    if options is None:
        return None
    gate_options.refuse_several(config.stash[SETTINGS].agents)
    from pytest_supportbench.gating import ExpectedFailures, Gate  # noqa: PLC0415 - only gated runs pay for it

    config.pluginmanager.register(ExpectedFailures(options), "supportbench-expected-failures")
    return Gate(config, options)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker the run's id and its one results file."""
    node.workerinput["supportbench_run"] = node.config.stash[RUN]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the agents and the simulated customer, where any are configured."""
    chosen = config.stash[SETTINGS]
    lines = [f"supportbench agents: {', '.join(chosen.agents)}"] if chosen.agents else []
    if chosen.cassette is not None:
        what = {
            "auto": "what is stored is replayed, the rest is asked and stored",
            "none": "REPLAYED, no agent is asked",
            "all": "every agent is asked anew and stored",
        }
        lines.append(f"supportbench cassette: {chosen.cassette} ({chosen.record}: {what[chosen.record]})")
    replays = [name for name, spec in chosen.agents.items() if spec.kind == "replay"]
    if replays:
        lines.append(f"supportbench replays: {', '.join(replays)} (REPLAYED, no agent is asked)")
    if chosen.executor is not None:
        lines.append(f"supportbench executor: dask:{chosen.executor.address}")
    if chosen.customer is not None:
        lines.append(f"simulated customer: not deterministic ({chosen.customer.raw})")
    return lines


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Claim the files that the ini option ``supportbench_files`` names, and no others."""
    if settings.is_scenario_file(file_path.name, parent.config.getini(settings.FILES)):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Let garbage collection, which the first scenario paused, go on after the last one; tell of a broken hook.

    What was read of scenario files is kept for the next run.
    """
    try:
        collected = yield
    finally:
        garbage.resume(session.config)
        opened = opened_session(session.config)
        if opened is not None:
            opened.scenarios.keep()
    if BROKEN_HOOK in session.config.stash:
        raise pytest.UsageError(session.config.stash[BROKEN_HOOK])
    return collected


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let garbage collection go on where scenarios were collected outside of a session's collection."""
    garbage.resume(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Skip what a fixture would run twice, and make the order of items known, so that episodes can run ahead."""
    agents = tuple(config.stash[SETTINGS].agents)
    if len(agents) > 1:
        skip_further_agents(items, agents)
    config.stash[UPCOMING] = Upcoming(session)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Note the next item, which is all that an xdist worker knows of what comes, and the streams without capture.

    After an item its scenario is let go.
    """
    item.config.stash[NEXT] = nextitem
    session = opened_session(item.config)
    if session is not None:
        session.scheduler.output.note_streams()
    ran = yield
    case = item.stash.get(CASE, None)
    if case is not None:
        case.release()
    return ran


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Route the output of episodes that run ahead away from this item's, before its fixtures wait for them."""
    _route_output(item.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Route it again: pytest put other streams in place for this phase."""
    _route_output(item.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Route it again, for the same reason."""
    _route_output(item.config)


def _route_output(config: pytest.Config) -> None:
    session = opened_session(config)
    if session is not None:
        session.scheduler.output.install()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach rows and sections to the report that ends an item.

    An infrastructure error stays one where a failure is expected (``xfail``): it says nothing about the agent.
    """
    report = yield
    _route_output(item.config)
    clear_captured(item, report)
    _tell_in_one_line(item, call, report)
    broken = call.excinfo is not None and call.excinfo.value is item.stash.get(BROKEN, None)
    if broken and hasattr(report, "wasxfail"):
        report.outcome = "failed"
        del report.wasxfail
    _tell_of_skipped(item, report)
    if call.when != "call" and not (call.when == "setup" and report.failed):
        return report
    runs = _taken_runs(item)
    data: dict[str, Any] = dict(carried(report))
    if USAGE in item.stash:
        data["usage"] = item.stash[USAGE]
    if broken:
        data["broken"] = True
    if runs:
        session = open_session(item.config)
        data["rows"] = [
            {
                **session.row(run.result),
                **({"own": True} if run.own else html_report.stake(item.config, run.result.bound)),
            }
            for run in runs
        ]
        data |= _busy(item.config, session)
        if report.failed or session.settings.passed_sections:
            from pytest_supportbench.reporting.sections import sections  # noqa: PLC0415 - mostly failures only

            for run in runs:
                report.sections.extend(sections(run.result, str(report.longrepr)))
    if data:
        carry(report, data)
    return report


def _tell_of_skipped(item: pytest.Item, report: pytest.TestReport) -> None:
    """Attach to a scenario item's report that was skipped which scenario that is."""
    case = item.stash.get(CASE, None)
    if report.skipped and case is not None:
        carry(report, {"skipped": list(case.name)})


def _taken_runs(item: pytest.Item) -> list[Run]:
    """Return the episodes of an item that no report has yet; the item lets go of them."""
    if RUNS not in item.stash:
        return []
    runs = item.stash[RUNS]
    del item.stash[RUNS]
    return runs


def _busy(config: pytest.Config, session: BenchSession) -> dict[str, Any]:
    """Return what servers bore so far that had no room for all that this process asked; the last report counts."""
    busy = session.busy()
    return {"busy": {getattr(config, WORKER, {}).get("workerid", ""): busy}} if busy else {}


def _tell_in_one_line(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Leave of a scenario's failure the first paragraph where pytest and JUnit want a line of it.

    The whole text stands above already: in CI pytest would print all of it once more in its short summary.
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    failure = call.excinfo.value if call.excinfo else None
    if crash is not None and CASE in item.stash and not getattr(failure, "pytrace", True):
        crash.message = " ".join(crash.message.partition("\n\n")[0].split())


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop what runs ahead, at once; the controller closes the results file after this."""
    opened = opened_session(session.config)
    if opened is not None:
        with uninterrupted():
            opened.close()
