"""Shards within pytest: the option, what is deselected, and what the run line says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_supportbench.access import SETTINGS, open_session
from pytest_supportbench.collector import CASE
from pytest_supportbench.errors import UsageError
from pytest_supportbench.settings import path_of, value_of

if TYPE_CHECKING:
    from pytest_supportbench.durations import Durations
    from pytest_supportbench.shards import Plan, Shard

_OPTIONS: Final = {
    "shard": (
        "N/M",
        "run the N-th of M parts of the selected scenarios, such as 2/8; see: supportbench merge",
    ),
    "durations": (
        "PATH",
        "balance shards by the durations in this results file, the same for every shard (default: the last run's)",
    ),
}
_TOLD: Final = "supportbench_durations"
"""The key under which the controller tells its xdist workers the durations."""
_WRONG: Final = "supportbench_shard_problem"
"""The key under which a worker tells its controller that nothing can be divided so."""

EXIT_USAGE: Final = 4


def add_shard_options(parser: pytest.Parser) -> None:
    """Declare the options and their ini names."""
    group = parser.getgroup("supportbench")
    for name, (metavar, text) in _OPTIONS.items():
        group.addoption(f"--supportbench-{name}", metavar=metavar, help=text)
        parser.addini(f"supportbench_{name}", f"as --supportbench-{name}", type="string", default=None)


def register_sharding(config: pytest.Config) -> None:
    """Have the items of other shards deselected, where a shard is asked for.

    Raises `pytest.UsageError` for what is no shard, and for a file without durations.
    """
    try:
        text = value_of(config, "shard")
        if not text:
            _refuse_alone(config)
            return
        from pytest_supportbench.shards import parse_shard  # noqa: PLC0415 - only sharded runs pay for it

        shard = parse_shard(text)
        sharding = Sharding(shard, *_durations(config))
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(sharding, "supportbench-sharding")


def _refuse_alone(config: pytest.Config) -> None:
    """Raise `UsageError` for durations on the command line without a shard; in the ini file they may wait for one."""
    if config.getoption("supportbench_durations"):
        msg = "--supportbench-durations goes with --supportbench-shard=N/M; give that as well, or drop it"
        raise UsageError(msg)


def _durations(config: pytest.Config) -> tuple[Durations | None, bool]:
    """Return the durations to balance by, and whether the user named them; a worker is told what its controller has."""
    from pytest_supportbench.durations import Durations, last_durations, read_durations  # noqa: PLC0415 - likewise

    path = path_of(config, "durations")
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        told = worker[_TOLD]
        return None if told is None else Durations.from_json(told), path is not None
    root = config.stash[SETTINGS].root
    return (last_durations(root) if path is None else read_durations(path, root)), path is not None


class Sharding:
    """Keeps the items of one shard. Tests of the user's own belong to the first one, so that they run once.

    ``durations`` that nobody named count only where they are of today's suites.
    """

    def __init__(self, shard: Shard, durations: Durations | None, named: bool) -> None:
        self._shard = shard
        self._durations = durations
        self._named = named
        self._plan: Plan | None = None
        self._problem = ""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker the durations: it may start when the last run is already this one."""
        node.workerinput[_TOLD] = None if self._durations is None else self._durations.to_json()

    def pytest_report_header(self) -> str:
        """Say which shard this is."""
        return f"supportbench shard: {self._shard}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Deselect the items of other shards among those that all other means of selection have left."""
        yield
        cases = [item.stash[CASE] for item in items if CASE in item.stash]
        if not cases:
            return
        try:
            self._plan = plan = self._divided(cases)
        except UsageError as error:
            items[:] = []
            self._problem = str(error)
            if hasattr(config, "workeroutput"):
                config.workeroutput[_WRONG] = self._problem
            return
        shards = [plan.shard_of[item.stash[CASE].name] if CASE in item.stash else 1 for item in items]
        pairs = list(zip(items, shards, strict=True))
        items[:] = [item for item, number in pairs if number == self._shard.number]
        if others := [item for item, number in pairs if number != self._shard.number]:
            config.hook.pytest_deselected(items=others)
        settings = {"shard": [self._shard.number, self._shard.of], "plan": plan.to_json()}
        open_session(config).shard = settings

    def _divided(self, cases: list[Any]) -> Plan:
        """Return the plan. Raises `UsageError` where there are more shards than scenarios."""
        from pytest_supportbench.durations import same_suites  # noqa: PLC0415 - only sharded runs pay for it
        from pytest_supportbench.shards import Planned, divide  # noqa: PLC0415 - likewise
        from pytest_supportbench.suite_identity import suite_facts  # noqa: PLC0415 - likewise

        durations = self._durations
        if durations is not None and not self._named:
            suites = {case.packed.suite.path: case.packed.suite for case in cases}
            durations = durations if same_suites(durations, suite_facts(suites.values())) else None
        counts = Counter(case.name for case in cases)
        twins = {case.name: case.packed.heading.twin for case in cases}
        return divide(
            [Planned(name, twins[name], counts[name]) for name in counts], self._shard.of, durations
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what kept an xdist worker from dividing its scenarios."""
        self._problem = getattr(node, "workeroutput", {}).get(_WRONG, self._problem)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End a run that could not be divided as wrong usage."""
        if self._problem:
            session.exitstatus = EXIT_USAGE

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why nothing was run."""
        if self._problem:
            terminalreporter.write_line(f"ERROR: {self._problem}", red=True)

    def pytest_report_collectionfinish(self) -> str | None:
        """Say how large this shard is, and what it was balanced by."""
        plan = self._plan
        if plan is None:
            return None
        size = f"{plan.size(self._shard)} of {len(plan.shard_of)} scenarios"
        if plan.durations is None:
            return f"supportbench shard {self._shard}: {size}, balanced by their number"
        seconds, whole = (load / 1e6 for load in (plan.loads[self._shard.number - 1], sum(plan.loads)))
        by = f"balanced by the durations in {plan.durations.path}"
        return f"supportbench shard {self._shard}: {size}, about {seconds:.1f} of {whole:.1f} s, {by}"
