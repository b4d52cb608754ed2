"""The rules of the lint, and what one of them finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pytest_supportbench.yaml_positions import Place

LINT_RULES: Final = (
    "outcome-word",
    "harness-word",
    "unused-state",
    "unseen-id",
    "uncited-policy",
    "proves-nothing",
    "any-action",
    "too-many-turns",
    "constant-passes",
    "echoed-concept",
    "unasked-concept",
    "similar-message",
    "unlike-twin",
    "real-looking-data",
    "single-wording",
    "repeated-counterexample",
    "failure-mode-uncommitted",
)


@dataclass(frozen=True, slots=True)
class Weakness:
    """What one rule finds at one place of a scenario's data; ``at`` is what an exemption may name."""

    rule: str
    at: str
    place: Place
    message: str
    remedy: str
