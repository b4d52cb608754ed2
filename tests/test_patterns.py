"""Patterns that are compiled when they are first used: alike to compiled ones, and every one of ours compiles."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys

import pytest

import pytest_supportbench
from pytest_supportbench.patterns import _Later, later


def test_it_does_what_a_compiled_pattern_does() -> None:
    lazy, eager = later(r"(?P<n>\d+) \w", re.IGNORECASE), re.compile(r"(?P<n>\d+) \w", re.IGNORECASE)
    text = "10 a, 20 b"

    assert lazy.pattern == eager.pattern
    assert lazy.findall(text) == eager.findall(text) == ["10", "20"]
    assert lazy.sub("x", text) == eager.sub("x", text)
    assert lazy.groupindex == eager.groupindex
    assert lazy.search(text)["n"] == "10"  # type: ignore[index]


def test_a_pattern_that_is_wrong_says_so_when_it_is_used() -> None:
    wrong = later("(")

    with pytest.raises(re.error):
        wrong.search("x")
    with pytest.raises(AttributeError):
        later("x").nothing  # type: ignore[attr-defined]  # noqa: B018


def _names() -> list[str]:
    found = pkgutil.walk_packages(pytest_supportbench.__path__, "pytest_supportbench.")
    return [module.name for module in found if module.name.startswith("pytest_supportbench.scoring")] + [
        f"pytest_supportbench.{name}"
        for name in ("cassette_key", "yaml_errors", "spellings", "secret_values", "redaction", "agents.base")
    ]


@pytest.mark.parametrize("name", _names())
def test_every_pattern_of_ours_compiles(name: str) -> None:
    for value in vars(importlib.import_module(name)).values():
        for pattern in value.values() if isinstance(value, dict) else [value]:
            if isinstance(pattern, _Later):
                pattern.search("")


def test_nothing_is_compiled_by_importing_the_scorer() -> None:
    code = (
        "import re, sys; before = re.compile; seen = []\n"
        "def compiled(*given):\n"
        "    if sys._getframe(1).f_globals['__name__'].startswith('pytest_supportbench.scoring'):\n"
        "        seen.append(given)\n"
        "    return before(*given)\n"
        "re.compile = compiled\n"
        "import pytest_supportbench.scoring\n"
        "assert not seen, seen"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
