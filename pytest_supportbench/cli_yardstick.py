"""What ``supportbench compare`` judges by, beside the first run: quarantine, thresholds, and the summary it leaves."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from pytest_supportbench.evidence import Evidence
    from pytest_supportbench.gate_rules import Rules
    from pytest_supportbench.judged import Yardstick


def add_yardstick(parser: argparse.ArgumentParser) -> None:
    """Add the options, which are those of a gated run without their ``supportbench-``."""
    parser.add_argument(
        "--quarantine", type=Path, metavar="PATH", help="scenarios that do not count for a while"
    )
    parser.add_argument(
        "--fail-under",
        metavar="NAME=SHARE,...",
        help="fail where a share is lower, such as strict=0.8,policy=0.95; then one RUN is enough",
    )
    parser.add_argument(
        "--fail-under-by",
        metavar="point|bound",
        help="judge --fail-under by the share itself (default) or its lower bound",
    )
    parser.add_argument(
        "--summary",
        type=Path,
        metavar="PATH",
        help="write the verdict as Markdown there (default: $GITHUB_STEP_SUMMARY, where it is set)",
    )


def yardstick(chosen: argparse.Namespace, rules: Rules, before: Evidence | None) -> Yardstick:
    """Return what to judge by; ``before`` is the first run. Raises `UsageError`."""
    from pytest_supportbench.judged import Yardstick  # noqa: PLC0415 - --help alone needs no models
    from pytest_supportbench.quarantine import read_quarantine  # noqa: PLC0415 - likewise
    from pytest_supportbench.thresholds import read_thresholds  # noqa: PLC0415 - likewise

    if before is None and not chosen.fail_under:
        msg = "there is one agent only; name two runs, or one run of two agents, or thresholds with --fail-under"
        raise UsageError(msg)
    if chosen.fail_under_by and not chosen.fail_under:
        msg = "--fail-under-by goes with --fail-under; give that as well, or drop it"
        raise UsageError(msg)
    return Yardstick(
        before=before,
        rules=rules,
        quarantine=() if chosen.quarantine is None else read_quarantine(chosen.quarantine),
        today=datetime.now(UTC).date(),
        thresholds=read_thresholds(
            chosen.fail_under,
            chosen.fail_under_by or "",
            option="--fail-under",
            remedy="judge it where the agent runs, by pytest with --supportbench-calibration",
        )
        if chosen.fail_under
        else None,
    )


def leave_summary(texts: Sequence[str], path: Path | None) -> None:
    """Write Markdown where it was asked for, or where GitHub looks for it; what keeps it from that is no verdict."""
    from pytest_supportbench.reporting.ci import STEP_SUMMARY, write_summary  # noqa: PLC0415 - likewise

    if path is None and not os.environ.get(STEP_SUMMARY):
        return
    try:
        write_summary("\n".join(texts), path, Path())
    except OSError as error:
        print(
            f"supportbench: the summary was not written ({error.strerror}); name a path: --summary",
            file=sys.stderr,
        )
