"""What travels between a run and the workers of a cluster: orders, answers, and what both sides must have in common."""

from __future__ import annotations

import functools
import hashlib
import pickle
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

from pytest_supportbench.agents.spec import AgentSpec
from pytest_supportbench.loading import BoundScenario, BoundSuite
from pytest_supportbench.records import Episode, EpisodeError, Limits
from pytest_supportbench.scoring import Score

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Folders whose packages are nobody's project, though they may be below one."""


Facts = dict[str, str]


@dataclass(frozen=True, slots=True)
class Assignment:
    """What all orders for one agent of a run have in common.

    ``paths`` are the folders below the root that the run searches for modules. ``alone`` says that a process serves
    no more episodes at a time than the agent can by itself, whatever threads it has. ``facts`` are of the run's side.
    """

    run: str
    name: str
    spec: AgentSpec
    customer: AgentSpec | None
    root: Path
    paths: tuple[str, ...]
    limits: Limits
    alone: bool
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """One episode to run, or with an empty ``case`` an agent to make ready.

    ``case`` is a pickled scenario without its suite, which travels in ``suite`` only where it is not there yet.
    ``fingerprint`` is what the agent must be, empty where any will do.
    """

    assignment: Assignment
    fingerprint: str = ""
    suite_id: str = ""
    suite: bytes = b""
    case: bytes = b""
    key: str = ""
    trial: int = 1
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an order; ``episode`` is ``None`` where only the agent was made ready."""

    worker: str
    fingerprint: dict[str, Any]
    episode: Episode | None = None
    score: Score | None = None
    output: str = ""


@dataclass(frozen=True, slots=True)
class NoSuite:
    """The suite is not in this process yet, so that it must be sent along."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a worker cannot serve an agent. No episode began, so that another worker may take it.

    ``usage`` tells a mistake of the user's from what broke; ``hung`` tells that too many calls hang there.
    """

    worker: str
    problem: EpisodeError
    kind: Literal["usage", "broken", "hung"] = "broken"


Answer = Done | NoSuite | Unfit


def facts() -> Facts:
    """Return what must be the same on both sides, by what it is called in an error."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "python": python,
        "pytest-supportbench": version("pytest-supportbench"),
        "pytest-supportbench's code": _code(),
    }


@functools.cache
def _code() -> str:
    """Return a hash of this package's code, as it was when it was first asked for."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:12]


def differences(ours: Facts, theirs: Facts) -> str:
    """Return in words what differs on a worker, empty where nothing does."""
    return ", ".join(
        f"{name} is {theirs.get(name, 'unknown')} there and {value} here"
        for name, value in ours.items()
        if theirs.get(name) != value
    )


def fingerprint_id(fingerprint: dict[str, Any]) -> str:
    """Return what tells one fingerprint from another."""
    return hashlib.sha256(repr(sorted(fingerprint.items())).encode()).hexdigest()


def pack(order: Order) -> bytes:
    """Return an order as it travels."""
    return pickle.dumps(order)


def pack_case(bound: BoundScenario) -> bytes:
    """Return a scenario as it travels: without its suite, which is five times as large."""
    return pickle.dumps((bound.scenario, bound.path, bound.sha256))


def unpack_case(case: bytes, suite: BoundSuite) -> BoundScenario:
    """Return a scenario bound to its suite again."""
    scenario, path, sha256 = pickle.loads(case)  # noqa: S301 - as above
    return BoundScenario(scenario, suite, path, sha256)
