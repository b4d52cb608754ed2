"""The shape of the package: who may import what, and how long a module may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pytest_supportbench"
PYTEST_GROUP = {
    "access",
    "bundled_run",
    "collector",
    "controller",
    "executing",
    "explaining",
    "fixtures",
    "garbage",
    "gate_options",
    "gating",
    "hookspecs",
    "html_report",
    "plugin",
    "progress",
    "report_data",
    "run",
    "session",
    "settings",
    "sharding",
    "shown",
    "stopping",
    "upcoming",
}
ALLOWED = {"cli": {"bundled_run"}}  # `supportbench run` starts pytest, inside that command only
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Return every module that a file imports, at any depth, type-checking blocks included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_pytest_group_imports_pytest(path: Path) -> None:
    """The core runs without pytest: only the plugin's own modules import it, or import one that does."""
    if path.parent == PACKAGE and path.stem in PYTEST_GROUP:
        return
    names = imports(path)
    assert not {name for name in names if name.split(".")[0] in {"pytest", "_pytest", "pluggy", "xdist"}}
    group = PYTEST_GROUP - ALLOWED.get(path.stem, set())
    assert not {name for name in names if name.removeprefix("pytest_supportbench.") in group}


def test_the_command_line_starts_without_pytest() -> None:
    """Only ``supportbench run`` loads pytest: every other command starts without it."""
    code = "import sys; from pytest_supportbench.cli import main; main(['suites']); print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_uses_private_pytest(path: Path) -> None:
    """Nothing imports from pytest's private package, so that a new pytest breaks nothing unseen."""
    assert not {name for name in imports(path) if name.split(".")[0] == "_pytest"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_stay_short(path: Path) -> None:
    """One concept a file: about 300 lines at most."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 320
