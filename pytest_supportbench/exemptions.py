"""What `supportbench check` may not demand of a scenario: named in its file or its suite's, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from pytest_supportbench.findings import suggestion
from pytest_supportbench.lint_rules import LINT_RULES
from pytest_supportbench.mutations import MUTATION_KINDS
from pytest_supportbench.proofs import problem_at

if TYPE_CHECKING:
    from pytest_supportbench.errors import Problem
    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.suite import Exemption

RULES: Final = (*LINT_RULES, *MUTATION_KINDS)
"""All that can be exempt: the rules of the lint and the kinds of mutation."""


def is_exempt(exemptions: Iterable[Exemption], rule: str, at: str) -> bool:
    """Tell whether one of the exemptions lets off a finding of ``rule`` at the place ``at``."""
    return any(exemption.rule == rule and exemption.at in {"", at} for exemption in exemptions)


class Exemptions:
    """The exemptions that hold for one scenario; remembers which were used."""

    def __init__(self, bound: BoundScenario) -> None:
        self._bound = bound
        self._used: set[int] = set()

    def cover(self, rule: str, at: str) -> bool:
        """Tell whether a finding of ``rule`` at ``at`` is exempt, by the scenario or by its suite."""
        for number, exemption in enumerate(self._bound.scenario.exempt):
            if is_exempt((exemption,), rule, at):
                self._used.add(number)
                return True
        return is_exempt(self._bound.suite.suite.exempt, rule, at)

    def problems(self) -> Iterator[Problem]:
        """Yield the scenario's exemptions from rules that do not exist, and those that exempted nothing."""
        for number, exemption in enumerate(self._bound.scenario.exempt):
            if exemption.rule not in RULES:
                yield problem_at(
                    self._bound,
                    ("exempt", number, "rule"),
                    f"unknown rule {exemption.rule!r}",
                    suggestion(exemption.rule, RULES, "rules"),
                )
            elif number not in self._used:
                at = f" at {exemption.at!r}" if exemption.at else ""
                yield problem_at(
                    self._bound,
                    ("exempt", number),
                    f"nothing here is exempt from {exemption.rule}{at}",
                    "remove it",
                )
