"""A checked scenario as the text of its data: an eighth of what it takes as objects, and as good between its runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json, to_json

from pytest_supportbench.scenario import Scenario
from pytest_supportbench.toolset_code import YAML_FILES

if TYPE_CHECKING:
    from pytest_supportbench.loading import BoundScenario, BoundSuite

MAX_GROWTH: Final = 4
"""So many times longer than its file a text may be: data that shares parts, by aliases, could grow without bounds."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What selects a scenario: all that is asked of it before it is run."""

    id: str
    twin: str | None
    category: str
    tags: tuple[str, ...]
    failure_mode: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A scenario file's data as JSON, with its canonical hash.

    ``fits`` stands for the suite that it is known to fit (`ground`); empty where that must be found out each time.
    """

    text: bytes
    sha256: str
    fits: str
    heading: Heading

    def data(self) -> dict[str, Any]:
        """Return the file's data."""
        data: dict[str, Any] = from_json(self.text)
        return data


@dataclass(frozen=True, slots=True)
class PackedScenario:
    """A scenario that fits ``suite``; ``path`` names its file as it was given. ``held`` is one that is not packed."""

    suite: BoundSuite
    path: str
    heading: Heading
    packed: Packed | None
    held: BoundScenario | None = None

    @property
    def name(self) -> tuple[str, str]:
        """The suite's name and the scenario's id, by which results know it."""
        return self.suite.suite.name, self.heading.id

    def unpack(self) -> BoundScenario:
        """Return the scenario."""
        from pytest_supportbench.loading import BoundScenario  # noqa: PLC0415 - loading packs what it loads

        if self.packed is None:
            assert self.held is not None
            return self.held
        scenario = Scenario.model_validate(self.packed.data())
        return BoundScenario(scenario, self.suite, self.path, self.packed.sha256)


def packed(bound: BoundScenario, data: dict[str, Any], size: int, fits: str) -> PackedScenario:
    """Return a scenario packed, from the data of a file of ``size`` bytes."""
    scenario = bound.scenario
    heading = Heading(
        scenario.id, scenario.twin, scenario.category, scenario.tags, scenario.failure_mode.code
    )
    text = to_json(data)
    if len(text) > MAX_GROWTH * size:
        return PackedScenario(bound.suite, bound.path, heading, None, bound)
    return PackedScenario(bound.suite, bound.path, heading, Packed(text, bound.sha256, fits, heading))


def ground(bound: BoundSuite) -> str:
    """Return a hash of all that decides, beside this package, whether a scenario fits a suite.

    It is empty where a toolset in Python decides too, which may say something else each time.
    """
    toolset = bound.suite.toolset
    if bound.registered or (
        isinstance(toolset, str) and toolset != "saas" and not toolset.endswith(YAML_FILES)
    ):
        return ""
    data = bound.suite.model_dump_json(by_alias=True) + bound.toolset_sha256
    return hashlib.sha256(data.encode()).hexdigest()
