"""``supportbench run``: a suite through pytest, in this process, as if it had been called by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_supportbench.bundled import DEFAULT_SUITE, bundled, working_copy

if TYPE_CHECKING:
    from collections.abc import Sequence


_VERBOSITY: Final = re.compile(r"-[vq]+$|--(verbos|quiet)")
_PLUGIN: Final = ("-p", "supportbench")  # also where PYTEST_DISABLE_PLUGIN_AUTOLOAD keeps plugins out


def run_suite(arguments: Sequence[str]) -> int:
    """Run pytest and return its exit code; quietly, unless verbosity is given: every scenario is a file of its own.

    The first argument may be a path, or else the name of a suite that comes with the package (TinyBench-50 where
    there is neither); all others are pytest's. Raises `UsageError` for a name that is neither.
    """
    quiet = () if any(map(_VERBOSITY.match, arguments)) else ("-q",)
    first, rest = (arguments[0], arguments[1:]) if _is_target(arguments) else (DEFAULT_SUITE, arguments)
    if _is_target(arguments) and Path(first.partition("::")[0]).exists():
        return int(pytest.main([*_PLUGIN, *quiet, first, *rest]))
    folder = working_copy(bundled(first), Path.cwd())
    # Relative, so that node ids can be typed; the pattern, since a project may have its own.
    target = folder.relative_to(Path.cwd()).as_posix()
    return int(pytest.main([*_PLUGIN, *quiet, "-o", "supportbench_files=*.scenario.yaml", target, *rest]))


def _is_target(arguments: Sequence[str]) -> bool:
    return bool(arguments) and not arguments[0].startswith("-")
