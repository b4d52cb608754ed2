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
    """The jobs that come after an item: all of them in one process, the next one in an xdist worker.

    Each agent's items are gone through apart from the others', so that no slow agent keeps another's window empty.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._position: dict[pytest.Item, int] = {}
        self._queues: dict[str, list[int]] = {}
        self._next: dict[str, int] = {}

    def after(self, item: pytest.Item) -> After:
        """Return the jobs that follow ``item``."""
        return After(self, item)

    def jobs(self, item: pytest.Item) -> Iterator[Job]:
        """Yield jobs after ``item``, in pytest's order for each agent, while its window is not full.

        A job that was yielded is not offered again, so a run asks about each item once, not once for each item before
        it.

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
        self._read()
        here = self._position.get(item, len(self._position))
        for agent, queue in self._queues.items():
            if not bench.has_agent(agent):
                continue
            while not bench.scheduler.full(agent):
                place = self._next[agent]
                if place >= len(queue):
                    break
                self._next[agent] += 1
                if (
                    queue[place] > here
                    and (job := _job(bench, self._session.items[queue[place]])) is not None
                ):
                    yield job

    def _read(self) -> None:
        """Note where each agent's items are, once: pytest has their final order when the first one runs."""
        if self._position:
            return
        for number, other in enumerate(self._session.items):
            self._position[other] = number
            case = other.stash.get(CASE, None)
            if case is not None and case.agent is not None:
                self._queues.setdefault(case.agent, []).append(number)
        self._next = dict.fromkeys(self._queues, 0)


class After:
    """What may run ahead of one item, asked anew each time that it is gone through."""

    def __init__(self, upcoming: Upcoming, item: pytest.Item) -> None:
        self._upcoming = upcoming
        self._item = item

    def __iter__(self) -> Iterator[Job]:
        """Go through what may run ahead now."""
        return self._upcoming.jobs(self._item)


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
