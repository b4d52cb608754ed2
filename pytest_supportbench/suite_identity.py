"""What a suite is, by hash: results of two runs are of one suite where all that decides them is the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from pytest_supportbench.canonical import bytes_sha256
from pytest_supportbench.loading import scenario_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_supportbench.loading import BoundSuite


def suite_facts(suites: Iterable[BoundSuite]) -> list[dict[str, Any]]:
    """Return what a run records of each suite: its name and version, its toolset's, and a ``sha256``.

    The hash is of the suite's data, of its toolset's own files (`toolset_sha256`) and of every ``*.scenario.yaml``
    below its folder, by relative path, whether or not a run selects it.
    """
    return [
        {
            "name": bound.suite.name,
            "version": bound.suite.version,
            "toolset": bound.toolset.name,
            "toolset_version": bound.toolset.version,
            "sha256": _root_hash(bound),
        }
        for bound in suites
    ]


def _root_hash(bound: BoundSuite) -> str:
    root = hashlib.sha256(bound.suite.model_dump_json(by_alias=True).encode())
    if bound.toolset_sha256:
        root.update(f"\n\0{bound.toolset_sha256}".encode())
    for name, path in scenario_files(bound.path.parent).items():
        root.update(f"\n{name}\0{bytes_sha256(path)}".encode())
    return root.hexdigest()
