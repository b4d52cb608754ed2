"""Which episodes may run ahead of the item at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pytest

from pytest_supportbench.access import open_session
from pytest_supportbench.collector import CASE
from pytest_supportbench.fixtures import is_overridden, make_job

if TYPE_CHECKING:
    from pytest_supportbench.runner import Job

NEXT: Final = pytest.StashKey["pytest.Item | None"]()
UPCOMING: Final = pytest.StashKey["Upcoming"]()


class Upcoming:
    """The jobs that come after an item: all of them in one process, the next one in an xdist worker."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._position: dict[pytest.Item, int] | None = None

    def after(self, item: pytest.Item) -> Iterator[Job]:
        """Yield the jobs that follow ``item`` in the order in which pytest will run them.

        A worker does not look ahead for an agent that serves one episode at a time: nothing is gained, and where the
        next episode kills the process, this item would be lost and blamed with it.
        """
        if hasattr(item.config, "workerinput"):
            following = item.config.stash.get(NEXT, None)
            for job in _jobs([following] if following is not None else []):
                if open_session(item.config).window(job.agent) > 1:
                    yield job
            return
        items = self._session.items
        if self._position is None:
            self._position = {other: number for number, other in enumerate(items)}
        first = self._position.get(item, len(items)) + 1
        yield from _jobs(items[number] for number in range(first, len(items)))


def _jobs(items: Iterable[pytest.Item]) -> Iterator[Job]:
    """Yield the jobs of the items that may run ahead: not skipped, and served by an agent that is already there."""
    for item in items:
        case = item.stash.get(CASE, None)
        if case is None or case.agent is None or not open_session(item.config).has_agent(case.agent):
            continue
        if is_overridden(item) or any(_may_not_run(mark) for mark in item.iter_markers()):
            continue
        yield make_job(item, case.agent, 1)


def _may_not_run(mark: pytest.Mark) -> bool:
    return mark.name in {"skip", "skipif"} or (mark.name == "xfail" and not mark.kwargs.get("run", True))
