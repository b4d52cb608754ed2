"""Which episodes may run ahead of the item at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

from pytest_supportbench.access import open_session
from pytest_supportbench.collector import CASE
from pytest_supportbench.fixtures import is_overridden, make_job

if TYPE_CHECKING:
    from pytest_supportbench.runner import Job
    from pytest_supportbench.session import BenchSession

NEXT: Final = pytest.StashKey["pytest.Item | None"]()
UPCOMING: Final = pytest.StashKey["Upcoming"]()


class Upcoming:
    """The jobs that come after an item: all of them in one process, the next one in an xdist worker."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._position: dict[pytest.Item, int] | None = None
        self._next = 0
        self._agents = 0

    def after(self, item: pytest.Item) -> Iterator[Job]:
        """Yield the jobs that follow ``item`` in the order in which pytest will run them.

        A job was taken if the caller asks for another one, and then it is not offered again; so a run asks about
        each item once, not once for each item before it.

        A worker does not look ahead for an agent that serves one episode at a time: nothing is gained, and where the
        next episode kills the process, this item would be lost and blamed with it.
        """
        bench = open_session(item.config)
        if hasattr(item.config, "workerinput"):
            following = item.config.stash.get(NEXT, None)
            job = _job(bench, following) if following is not None else None
            if job is not None and bench.window(job.agent) > 1:
                yield job
            return
        items = self._session.items
        if self._position is None:
            self._position = {other: number for number, other in enumerate(items)}
        if bench.agents_made != self._agents:
            # Items that were passed over for want of their agent may run ahead now.
            self._agents, self._next = bench.agents_made, 0
        for number in range(max(self._position.get(item, len(items)) + 1, self._next), len(items)):
            job = _job(bench, items[number])
            if job is not None:
                yield job
            self._next = number + 1


def _job(bench: BenchSession, item: pytest.Item) -> Job | None:
    """Return the job of an item that may run ahead: not skipped, and served by an agent that is already there."""
    case = item.stash.get(CASE, None)
    if case is None or case.agent is None or not bench.has_agent(case.agent):
        return None
    if is_overridden(item) or any(_may_not_run(mark) for mark in item.iter_markers()):
        return None
    return make_job(item, case.agent, 1)


def _may_not_run(mark: pytest.Mark) -> bool:
    return mark.name in {"skip", "skipif"} or (mark.name == "xfail" and not mark.kwargs.get("run", True))
