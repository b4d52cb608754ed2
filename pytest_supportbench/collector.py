"""Scenario files as pytest modules with one function per agent and trial."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_supportbench import garbage
from pytest_supportbench.access import BROKEN_HOOK, open_session, told_once
from pytest_supportbench.errors import SupportBenchError, UsageError

if TYPE_CHECKING:
    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.packed import PackedScenario

CASE: Final = pytest.StashKey["Case"]()


class Case:
    """What one item runs: a scenario, the id of an agent (``None`` where none is named), and a trial from 1."""

    __slots__ = ("_bound", "_unpacked", "agent", "packed", "trial")

    def __init__(
        self,
        packed: PackedScenario,
        agent: str | None,
        trial: int,
        unpacked: Callable[[PackedScenario], BoundScenario],
    ) -> None:
        self._bound: BoundScenario | None = None
        self._unpacked = unpacked
        self.packed = packed
        self.agent = agent
        self.trial = trial

    @property
    def name(self) -> tuple[str, str]:
        """The suite's name and the scenario's id."""
        return self.packed.name

    @property
    def bound(self) -> BoundScenario:
        """The scenario, unpacked until `release`."""
        if self._bound is None:
            self._bound = self._unpacked(self.packed)
        return self._bound

    def release(self) -> None:
        """Let go of the scenario, which a large run would otherwise hold to its end."""
        self._bound = None


def _judge(supportbench_run: Any) -> None:
    """Fail with the episode's whole story where it is no strict pass; errors were raised by the fixture."""
    supportbench_run.assert_passed()


def _code(name: str, path: Path) -> types.CodeType:
    """Return the code of `_judge` as if it stood in the scenario file."""
    return _judge.__code__.replace(co_filename=str(path), co_firstlineno=1, co_name=name, co_qualname=name)


def _function(name: str, code: types.CodeType) -> types.FunctionType:
    """Return a test function of its own for an item, since hooks mark functions."""
    function = types.FunctionType(code, _judge.__globals__, name)
    function.__qualname__ = name
    function.__dict__["__test__"] = True
    return function


@cache
def _marker(tag: str) -> pytest.MarkDecorator:
    """Return the mark of a tag, one for all items that have it."""
    return pytest.mark.supportbench_tag(name=tag)


class ScenarioFile(pytest.Module):
    """Collects one scenario file.

    A `pytest.Module` around a synthetic module, because then fixtures of every scope, overrides in a nested
    conftest, ``-k``, ``-m``, ``--lf``, ``-n``, JUnit and HTML all work as for any test.
    """

    _cases: dict[str, Case]

    def _getobj(self) -> types.ModuleType:
        """Return the synthetic module; called once, since pytest keeps what it returns."""
        session = open_session(self.config)
        packed = session.scenarios.packed(self.path)
        module = types.ModuleType(self.path.stem.replace(".", "_"))
        module.__file__ = str(self.path)
        self._cases = {}
        unpacked = session.scenarios.unpacked
        heading = packed.heading
        code = _code(heading.id, self.path)
        for name, agent, trial in _named(heading.id, session.settings.agents, session.settings.trials):
            self._cases[name] = Case(packed, agent, trial, unpacked)
            setattr(module, name, _function(name, code))
        # Said of the file and not of each item, which a run with many trials would otherwise keep for each.
        self.extra_keyword_matches.update((*heading.tags, heading.category, heading.failure_mode))
        for tag in (*heading.tags, heading.category):
            self.add_marker(_marker(tag))
        return module

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Return an item for each agent and trial, tagged so that ``-k`` and ``-m`` select it."""
        garbage.pause(self.config)
        try:
            open_session(self.config).names  # noqa: B018 - a broken hook breaks every file, so it comes first
        except UsageError as error:
            return self._broken_hook(str(error))
        try:
            items = list(super().collect())
        except SupportBenchError as error:
            raise self.CollectError(told_once(self.config, str(error))) from None
        for item in items:
            item.stash[CASE] = case = self._cases[item.name]
            if case.agent:
                item.extra_keyword_matches.add(case.agent)
        return items

    def _broken_hook(self, message: str) -> list[pytest.Item]:
        """Leave it to the session to end with the message; an xdist worker has no way to, and reports the file."""
        if hasattr(self.config, "workerinput"):
            raise self.CollectError(told_once(self.config, message))
        self.config.stash[BROKEN_HOOK] = message
        return []


def _named(scenario: str, agents: Iterable[str], trials: int) -> Iterator[tuple[str, str | None, int]]:
    """Yield the name of an item for each agent, or for none where none is named, and each trial from 1."""
    names: list[str | None] = [*agents] or [None]
    for agent in names:
        for trial in range(1, trials + 1):
            parts = [agent] if agent and len(names) > 1 else []
            parts += [str(trial)] if trials > 1 else []
            yield f"{scenario}[{'-'.join(parts)}]" if parts else scenario, agent, trial
