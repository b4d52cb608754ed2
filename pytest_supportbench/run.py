"""A finished episode as tests see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_supportbench.results import Result
    from pytest_supportbench.scoring import Score


class Run:
    """A finished, scored episode, as tests see it.

    ``verdict`` is ``passed`` or ``failed`` (an ``error`` is raised before a test gets here); ``score`` has the five
    dimensions with their checks, ``result.episode`` the turns, calls and changes. ``own`` says that a test of the
    user's own ran it, and no scenario item.
    """

    def __init__(self, result: Result, *, own: bool = False) -> None:
        self.result = result
        self.own = own

    def __repr__(self) -> str:
        result = self.result
        failed = f", failed_dimensions={list(result.score.failed_dimensions)}" if result.score else ""
        scenario = result.bound.scenario.id
        return f"Run(scenario={scenario!r}, agent={result.agent!r}, verdict={self.verdict!r}{failed})"

    @property
    def verdict(self) -> str:
        """``passed`` for a strict pass, else ``failed``, or ``error`` where the infrastructure broke."""
        return self.result.verdict

    @property
    def score(self) -> Score:
        """The score; there is none for an infrastructure error, which is raised before."""
        assert self.result.score is not None
        return self.result.score

    def assert_passed(self) -> None:
        """Fail the test with the verdict, the dimensions and the failed checks where this is no strict pass.

        In a test of the user's own the failure points at the line that called this.
        """
        __tracebackhide__ = True
        if self.verdict != "passed":
            from pytest_supportbench.reporting.sections import failure_text  # noqa: PLC0415 - only failures

            pytest.fail(failure_text(self.result), pytrace=self.own)
