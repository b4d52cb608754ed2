"""The fixtures that scenario items use, and that users override or request in tests of their own."""

from __future__ import annotations

import inspect
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_supportbench.access import open_session, told_once
from pytest_supportbench.collector import CASE
from pytest_supportbench.errors import SupportBenchError, UsageError
from pytest_supportbench.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.results import Result
    from pytest_supportbench.runner import Job
    from pytest_supportbench.session import BenchSession

RUNS = pytest.StashKey[list[Run]]()
BROKEN = pytest.StashKey[BaseException]()
"""The exception by which an infrastructure error ended an item, if nobody caught it."""
ATTEMPTS = pytest.StashKey[int]()


def is_overridden(item: pytest.Item) -> bool:
    """Tell whether the user's own ``supportbench_agent`` fixture serves this item.

    pytest has no public question for this; where its answer is not to be had, the careful one is yes, since then
    the episode runs in the fixture and asks the fixture for its agent.
    """
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).get(
        "supportbench_agent"
    )
    if not definitions:
        return True
    return getattr(definitions[-1].func, "__module__", "") != __name__


def replaces_agents(item: pytest.Item) -> bool:
    """Tell whether a fixture of the user's own serves this item whatever agents are configured.

    One that requests ``supportbench_agent`` itself builds on each configured agent, and does not.
    """
    info = getattr(item, "_fixtureinfo", None)
    for definition in reversed(getattr(info, "name2fixturedefs", {}).get("supportbench_agent", ())):
        if getattr(definition.func, "__module__", "") == __name__:
            return False
        if "supportbench_agent" not in definition.argnames:
            return True
    return False


def skip_further_agents(items: Iterable[pytest.Item], agents: Sequence[str]) -> None:
    """Mark the items of all agents but the first as skipped where a fixture would serve each of them."""
    reason = "the fixture supportbench_agent overrides the configured agents"
    for item in items:
        case = item.stash.get(CASE, None)
        if case is not None and case.agent in agents[1:] and replaces_agents(item):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def supportbench_scenario(request: pytest.FixtureRequest) -> BoundScenario:
    """Return the scenario of this item, bound to its suite and toolset."""
    case = request.node.stash.get(CASE, None)
    if case is None:
        _refuse()
    bound: BoundScenario = case.bound
    return bound


def _refuse() -> NoReturn:
    pytest.fail(
        "supportbench_scenario and supportbench_run belong to scenario items; in a test of your own, request the "
        "fixture 'supportbench' and call supportbench.run('path.scenario.yaml')",
        pytrace=False,
    )


@pytest.fixture
def supportbench_agent(request: pytest.FixtureRequest) -> Any:
    """Return the agent under test; override this fixture to plug in your own callable or object with reply()."""
    session = open_session(request.config)
    case = request.node.stash.get(CASE, None)
    name = case.agent if case is not None else next(iter(session.settings.agents), None)
    return _or_fail(request.node, lambda: session.agent(name))


@pytest.fixture
def supportbench_run(request: pytest.FixtureRequest, supportbench_agent: Any) -> Run:
    """Run the item's episode, or fetch it where it ran ahead, and return it scored.

    An infrastructure error fails the set-up, so that pytest shows E and not F: it says nothing about the agent.
    """
    item = request.node
    session = open_session(request.config)
    case = item.stash.get(CASE, None) or _refuse()
    attempt = _next_attempt(item)
    if is_overridden(item):
        several = case.agent if len(session.settings.agents) > 1 and not replaces_agents(item) else ""
        name = _or_fail(item, lambda: _named(session, supportbench_agent, several))
        job = make_job(item, name, attempt)
        return _finish(item, lambda: session.run_inline(job))
    job = make_job(item, case.agent, attempt)
    from pytest_supportbench.upcoming import UPCOMING  # noqa: PLC0415 - that module imports this one

    upcoming = request.config.stash[UPCOMING].after(item)
    return _finish(item, lambda: session.run(job, upcoming))


@pytest.fixture
def supportbench(request: pytest.FixtureRequest) -> Bench:
    """Return a handle that runs scenario files in tests of your own."""
    return Bench(request, _next_attempt(request.node))


class Bench:
    """Runs scenarios by path, with the agent under test or one that is given."""

    def __init__(self, request: pytest.FixtureRequest, attempt: int) -> None:
        self._request = request
        self._attempt = attempt
        self._given: dict[tuple[Any, ...], list[Any]] = {}

    def run(self, path: str | Path, *, agent: Any = None, trial: int = 1) -> Run:
        """Run one scenario file now and return it scored; paths are relative to the test file's folder.

        ``agent`` is a callable, an object with ``reply``, or a spec as for ``--supportbench-agent``; it is used in
        place of the configured one. Fails the test for a broken file, an agent that cannot be had or an
        infrastructure error, naming the remedy.
        """
        session = open_session(self._request.config)
        item = self._request.node
        file = self._request.path.parent / path

        def result() -> Result:
            from pytest_supportbench.runner import Job  # noqa: PLC0415 - only runs with scenarios need it

            bound = session.scenarios.load(file)
            if isinstance(agent, str):
                name = session.given(agent)
            else:
                own = agent if agent is not None else self._request.getfixturevalue("supportbench_agent")
                episode = (bound.suite.suite.name, bound.scenario.id, trial)
                name = _named(session, own, number=self._number(own, episode), test=item.nodeid)
            key = f"{item.nodeid}:{bound.scenario.id}#{self._attempt}"
            return session.run_inline(Job(key, bound, name, trial, self._attempt), own=True)

        return _finish(item, result, own=True)

    def _number(self, agent: Any, episode: tuple[Any, ...]) -> int:
        """Count the agents of one name that this test runs through one episode, and return which of them this is."""
        given = self._given.setdefault((_name_of(agent), *episode), [])
        if not any(_same(agent, known) for known in given):
            given.append(agent)
        return 1 + next(number for number, known in enumerate(given) if _same(agent, known))


def make_job(item: pytest.Item, agent: str, attempt: int) -> Job:
    """Return the job of a scenario item; a rerun is a job of its own."""
    from pytest_supportbench.runner import Job  # noqa: PLC0415 - only runs with scenarios need it

    case = item.stash[CASE]
    return Job(f"{item.nodeid}#{attempt}", case.bound, agent, case.trial, attempt)


def _next_attempt(item: pytest.Item) -> int:
    """Count an attempt at an item, and forget what an earlier one left for JUnit."""
    attempt = item.stash.get(ATTEMPTS, 0) + 1
    item.stash[ATTEMPTS] = attempt
    if attempt > 1:
        kept = [pair for pair in item.user_properties if not pair[0].startswith("supportbench_")]
        item.user_properties[:] = kept
    return attempt


def _finish(item: pytest.Item, run: Callable[[], Result], *, own: bool = False) -> Run:
    from pytest_supportbench.budget import BudgetSpent  # noqa: PLC0415 - only runs with scenarios need it
    from pytest_supportbench.scheduler import TooManyHung  # noqa: PLC0415 - likewise

    result, unaffordable = None, False
    try:
        result = _or_fail(item, run)
    except (BudgetSpent, TooManyHung) as error:
        item.session.shouldstop = str(error)
        unaffordable = isinstance(error, BudgetSpent)
    if unaffordable:
        pytest.skip(str(item.session.shouldstop))
    if result is None:
        _fail(str(item.session.shouldstop))
    finished = Run(result, own=own)
    item.stash.setdefault(RUNS, []).append(finished)
    item.user_properties.extend(properties(result))
    broken = result.episode.error
    if broken is not None:
        text = f"infrastructure error ({broken.cause}): {broken.message}"
        try:
            _fail(f"{text}\n{broken.remedy}" if broken.remedy else text)
        except pytest.fail.Exception as failure:
            item.stash[BROKEN] = failure
            raise
    return finished


USAGE = pytest.StashKey[str]()
"""The user's mistake that kept an item from running, as it was said."""


def _or_fail(item: pytest.Item, call: Callable[[], Any]) -> Any:
    """Return what ``call`` returns; a user's mistake fails with its message and without a traceback of ours."""
    try:
        return call()
    except SupportBenchError as error:
        message = str(error)
    item.stash[USAGE] = message
    _fail(told_once(item.config, message))
    return None  # never reached; it spares the linter a guess


def _fail(message: str) -> NoReturn:
    """Fail without a traceback of ours; the message may quote a model or its server, so it is bounded and plain."""
    from pytest_supportbench.reporting.text import bounded, clean  # noqa: PLC0415 - only failures need it

    pytest.fail(clean(bounded(message)), pytrace=False)


def _named(
    session: BenchSession, agent: Any, configured: str = "", *, number: int = 1, test: str = ""
) -> str:
    """Return the id of an agent of the session, or of one that the user's code supplied. Raises `UsageError`.

    ``configured`` is the one of several agents that the supplied one builds on. ``test`` is the user's own test that
    has it, and ``number`` tells several of one name in it apart.
    """
    if agent is None:
        raise UsageError(
            "the fixture supportbench_agent returned None; return a callable or an object with reply()"
        )
    own = f"{_name_of(agent)}-{configured}" if configured else _name_of(agent)
    own = f"{own}.{number}" if number > 1 else own
    return session.name_of(agent) or session.adopt(own, agent, test)


def _same(agent: Any, other: Any) -> bool:
    """Tell whether two are one object; a method is made anew each time that it is asked for."""
    if inspect.ismethod(agent) and inspect.ismethod(other):
        return agent.__self__ is other.__self__ and agent.__func__ is other.__func__
    return agent is other


def _name_of(agent: Any) -> str:
    """Return a short name for an agent that a fixture or a test supplied."""
    import re  # noqa: PLC0415 - only such agents need it

    name = getattr(agent, "__name__", None) or type(agent).__name__
    return re.sub(r"[^A-Za-z0-9._-]+", "-", str(name)).strip("-")[:80] or "agent"


def properties(result: Result) -> list[tuple[str, str]]:
    """Return flat pairs for JUnit: scenario, agent, trial, verdict, ending, dimensions, class, violations."""
    scenario = result.bound.scenario
    pairs = {
        "scenario": scenario.id,
        "category": scenario.category,
        "agent": result.agent,
        "trial": str(result.trial),
        "verdict": result.verdict,
        "replayed": result.episode.replayed,
        "ending": result.episode.ending,
    }
    if result.score is not None:
        score = result.score
        for name, dimension in score.dimensions.items():
            if name != "explanation":
                pairs[name] = "passed" if dimension.passed else "failed"
        share = score.dimensions["explanation"].share
        pairs["explanation_by_phrases"] = "" if share is None else f"{share:.2f}"
        pairs["escalation_class"] = score.escalation_class
        pairs["violations"] = ",".join(score.codes)
    elif result.episode.error is not None:
        pairs["error"] = result.episode.error.cause
    return [_pair(name, value) for name, value in pairs.items()]


@lru_cache(maxsize=1024)
def _pair(name: str, value: str) -> tuple[str, str]:
    """Return a property, one for all items that have it: pytest keeps them to the end of a run."""
    return f"supportbench_{name}", value
