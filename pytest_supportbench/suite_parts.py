"""What a suite file names beside itself: files of policies and knowledge, and a toolset; mistakes where they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_supportbench.errors import FileError
from pytest_supportbench.findings import Finding, shown
from pytest_supportbench.source import Source
from pytest_supportbench.toolsets import resolve
from pytest_supportbench.toolsets.blame import blame, wording
from pytest_supportbench.toolsets.declaration_error import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_supportbench.toolset import Toolset
    from pytest_supportbench.yaml_positions import Place


def suite_part(source: Source, name: str, parts: dict[str, Source]) -> Any:
    """Return the list in the file that a suite names for ``policies`` or ``knowledge``, and note it in ``parts``."""
    file_name: str = source.data[name]
    if Path(file_name).name != file_name:
        source.add(Finding((name,), f"is {shown(file_name)}", "name a YAML file in the suite's own folder"))
        return []
    path = source.path.with_name(file_name)
    if not path.is_file():
        message = f"there is no file {shown(file_name)} beside the suite"
        source.add(Finding((name,), message, "add it, or mend its name"))
        return []
    try:
        part = Source(path)
    except FileError as error:
        source.problems += error.problems
        return []
    parts[name] = part
    return part.data


def suite_toolset(
    value: Any, source: Source, registered: Mapping[str, type[Toolset[Any]]]
) -> tuple[type[Toolset[Any]] | None, bool]:
    """Return the toolset that a suite's ``toolset`` means, and whether it is one of the ``registered``.

    What is wrong is noted in ``source``, and there is no toolset then.
    """
    if not isinstance(value, str | dict):
        return None, False
    if isinstance(value, str) and value in registered:
        return registered[value], True
    try:
        return resolve(value, source.path.parent, tuple(registered)), False
    except FileError as error:
        source.problems += error.problems
    except DeclarationError as error:
        _note_declaration(error, value, source)
    except Exception as error:  # noqa: BLE001 - whatever an author's class raises is a mistake in it
        blame_author(error, ("toolset",), source)
    return None, False


def blame_author(error: Exception, place: Place, source: Source) -> None:
    """Note what a toolset's code raised: at its line where it is known, or else at ``place`` in the file."""
    problem = blame(error)
    if problem is None:
        source.add(Finding(place, *wording(error)))
    elif problem not in source.problems:
        source.problems.append(problem)


def _note_declaration(error: DeclarationError, value: str | dict[str, Any], source: Source) -> None:
    """Note what is wrong in a declared toolset: in its own file, or in the suite that holds it."""
    if isinstance(value, dict):
        for finding in error.findings:
            source.add(replace(finding, place=("toolset", *finding.place)))
        return
    file = Source(source.path.parent / value)
    for finding in error.findings:
        file.add(finding)
    source.problems += file.problems
