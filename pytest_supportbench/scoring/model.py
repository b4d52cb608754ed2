"""What scoring produces: checks, dimension scores, violations, the escalation class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_supportbench.scoring.once import once
from pytest_supportbench.words import STRICT_DIMENSIONS, Dimension, ViolationCode

Basis: TypeAlias = Literal["effect", "text"]

EscalationClass: TypeAlias = Literal[
    "correct_escalation",
    "misrouted",
    "missed_escalation",
    "unnecessary_handoff",
    "correct_autonomy",
    "abandoned",
    "either",
]


class Check(NamedTuple):
    """One named judgement: what was expected, what was seen, why it matters.

    ``passed`` is ``None`` where the check could not be assessed (a language that is not supported). ``basis`` says
    whether it judges effects or the wording of a message. ``code`` is the violation that a failure commits.
    (A tuple, since there are twenty to an episode, and a frozen dataclass takes three times as long to make.)
    """

    id: str
    passed: bool | None
    expected: str
    actual: str
    reason: str
    code: ViolationCode | None = None
    basis: Basis = "effect"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule with its code, whether it shows in effects or text, and the evidence in one line."""

    code: ViolationCode
    basis: Basis
    evidence: str
    turn: int | None = None


@dataclass(frozen=True)
class DimensionScore:
    """One dimension's checks; passed when no check failed. ``share`` is only for explanation (0 to 1)."""

    name: Dimension
    checks: tuple[Check, ...]
    share: float | None = None

    @once
    def passed(self) -> bool:
        """Whether no check failed; what could not be assessed does not fail."""
        return not self.failures

    @once
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple([check for check in self.checks if check.passed is False])

    @property
    def not_assessed(self) -> tuple[Check, ...]:
        """The checks that could not be assessed."""
        return tuple([check for check in self.checks if check.passed is None])


@dataclass(frozen=True)
class Score:
    """All that scoring says of one episode. There is no weighted average, here or anywhere."""

    dimensions: Mapping[Dimension, DimensionScore]
    escalation_class: EscalationClass
    violations: tuple[Violation, ...]

    @once
    def strict(self) -> bool:
        """Strict pass: resolution and policy and tool use and escalation."""
        return not self.failed_dimensions

    @property
    def strict_effects(self) -> bool:
        """Strict pass without the checks whose basis is text."""
        return all(
            check.basis == "text"
            for name in self.failed_dimensions
            for check in self.dimensions[name].failures
        )

    @once
    def failed_dimensions(self) -> tuple[Dimension, ...]:
        """The strict dimensions that failed, in order."""
        return tuple([name for name in STRICT_DIMENSIONS if not self.dimensions[name].passed])

    @property
    def codes(self) -> tuple[ViolationCode, ...]:
        """The violation codes, each once, in order of appearance."""
        return tuple(dict.fromkeys(violation.code for violation in self.violations))


LONGEST: Final = 300


def brief(value: Any) -> str:
    """Return a value in one bounded line, for a check's expected or actual."""
    text = value if isinstance(value, str) else _json(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _json(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    import json  # noqa: PLC0415 - only failing checks render values

    return json.dumps(value, ensure_ascii=False, default=str)
