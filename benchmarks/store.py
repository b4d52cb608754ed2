"""The rows as they are kept: ``results.json``, written after each group, so that an interruption loses one group."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from benchmarks.child import ROOT
from benchmarks.rows import Row

HERE: Final = Path(__file__).parent
STORE: Final = HERE / "results.json"
_PACKAGES: Final = ("pytest", "PyYAML", "pydantic", "pytest-html")


def load(path: Path = STORE) -> dict[str, Any]:
    """Return what is stored, or an empty store."""
    if not path.exists():
        return empty()
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def empty() -> dict[str, Any]:
    """Return a store of nothing."""
    return {"machine": {}, "rows": {}, "curves": {}}


def save(store: dict[str, Any], path: Path = STORE) -> None:
    """Write the store whole or not at all."""
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(store, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def merge(store: dict[str, Any], rows: Sequence[Row], group: str, took: float) -> None:
    """Put rows into the store in place of older ones, with when and at which commit they were measured."""
    about = {
        "group": group,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "took_s": round(took, 1),
    }
    for row in rows:
        store["rows"][row.name] = row.stored() | about
    store["machine"] = machine()


def commit() -> str:
    """Return the commit's short name, with a plus if files were changed since; empty outside a repository."""
    git = shutil.which("git")
    if git is None:
        return ""

    def asked(*words: str) -> str:
        done = subprocess.run([git, *words], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
        return done.stdout.strip()

    changed = asked("status", "--porcelain", "--", "pytest_supportbench")
    return asked("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def machine() -> dict[str, str]:
    """Return what the figures depend on."""
    facts = {
        "cores": str(os.cpu_count()),
        "processor": _processor(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
    }
    for name in _PACKAGES:
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            facts[name] = "not installed"
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return "unknown"
    return f"{total / 1e9:.0f} GB"
