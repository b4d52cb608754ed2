"""The options of the gate: a baseline, what is tolerated, what is in quarantine, and thresholds."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_supportbench.errors import UsageError
from pytest_supportbench.settings import MAX_SHOWN, number_of, path_of, value_of

if TYPE_CHECKING:
    from pytest_supportbench.gate_chosen import GateOptions
    from pytest_supportbench.thresholds import Thresholds

_OPTIONS: Final = {
    "baseline": ("PATH", "judge the run against this baseline (see: supportbench baseline set)"),
    "quarantine": ("PATH", "scenarios that are run and do not count for a while, from this YAML file"),
    "alpha": ("LEVEL", "false-alarm level of the gate (default 0.05)"),
    "margin": ("DROP", "drop of the pass rate that the gate tolerates, 0 to 1 (default 0)"),
    "max_errors": ("SHARE", "share of infrastructure errors that the gate tolerates, 0 to 1 (default 0.02)"),
    "fail_under": ("NAME=SHARE,...", "fail where a share is lower, such as strict=0.8,policy=0.95"),
    "fail_under_by": (
        "point|bound",
        "judge --supportbench-fail-under by the share itself (default) or its lower bound",
    ),
    "summary": (
        "PATH",
        "write the verdict as Markdown there (default: $GITHUB_STEP_SUMMARY, where it is set)",
    ),
}


def add_gate_options(parser: pytest.Parser) -> None:
    """Declare the options and their ini names."""
    group = parser.getgroup("supportbench")
    for name, (metavar, text) in _OPTIONS.items():
        group.addoption(f"--supportbench-{name.replace('_', '-')}", metavar=metavar, help=text)
        parser.addini(
            f"supportbench_{name}", f"as --supportbench-{name.replace('_', '-')}", type="string", default=None
        )


def read_gate_options(config: pytest.Config) -> GateOptions | None:
    """Return what the run is judged by, ``None`` where every scenario must pass.

    Raises `pytest.UsageError` naming the option or the file, and the remedy.
    """
    try:
        path = path_of(config, "baseline")
        under = value_of(config, "fail_under")
        if path is None and not under:
            _refuse_alone(config)
            return None
        return _read(config, path, under)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def refuse_several(agents: Collection[str]) -> None:
    """Raise `pytest.UsageError` for more agents than one: a baseline and thresholds judge one."""
    if len(agents) > 1:
        msg = f"a gated run has one agent, not {len(agents)} ({', '.join(agents)}); run them one by one"
        raise pytest.UsageError(
            f"{msg}, or compare them without --supportbench-baseline and --supportbench-fail-under"
        )


def _refuse_alone(config: pytest.Config) -> None:
    for name, needs in (
        ("quarantine", "--supportbench-baseline or --supportbench-fail-under"),
        ("alpha", "--supportbench-baseline"),
        ("margin", "--supportbench-baseline"),
        ("fail_under_by", "--supportbench-fail-under"),
    ):
        if value_of(config, name):
            option = f"--supportbench-{name.replace('_', '-')}"
            raise UsageError(f"{option} goes with {needs}; give that as well, or drop it")


def _read(config: pytest.Config, path: Path | None, under: str) -> GateOptions:
    from pytest_supportbench.baseline import read_baseline  # noqa: PLC0415 - only gated runs pay for it
    from pytest_supportbench.gate_chosen import GateOptions  # noqa: PLC0415 - likewise
    from pytest_supportbench.gate_rules import Rules  # noqa: PLC0415 - likewise
    from pytest_supportbench.quarantine import read_quarantine  # noqa: PLC0415 - likewise
    from pytest_supportbench.statistics import require_statistics  # noqa: PLC0415 - likewise

    require_statistics()
    alpha, margin, errors = (
        _share(config, name, default)
        for name, default in (("alpha", 0.05), ("margin", 0.0), ("max_errors", 0.02))
    )
    held = path_of(config, "quarantine")
    return GateOptions(
        baseline=None if path is None else read_baseline(path),
        baseline_path=path,
        rules=Rules(alpha=alpha, margin=margin, max_errors=errors),
        quarantine=() if held is None else read_quarantine(held),
        thresholds=_thresholds(config, under) if under else None,
        summary=path_of(config, "summary"),
        today=datetime.now(UTC).date(),
    )


def _thresholds(config: pytest.Config, under: str) -> Thresholds:
    from pytest_supportbench.thresholds import read_thresholds  # noqa: PLC0415 - likewise

    calibration = bool(value_of(config, "calibration"))
    return read_thresholds(under, value_of(config, "fail_under_by"), calibration=calibration)


def _share(config: pytest.Config, name: str, default: float) -> float:
    text = value_of(config, name)
    least = 1e-6 if name == "alpha" else 0.0
    value = number_of(config, name, float, least, default)
    if value is None or value >= 1:
        msg = f"--supportbench-{name.replace('_', '-')}: {text[:MAX_SHOWN]!r} is no share below 1"
        raise UsageError(f"{msg}; write e.g. {default:g}")
    return value
