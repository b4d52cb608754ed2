"""The HTML report opened in a real browser: what a model wrote is shown and never runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOSTILE = (
    "<script>document.title='PWNED'</script><img src=x onerror=\"document.title='PWNED'\">"
    "</script><svg onload=\"document.title='PWNED'\"> \"'`${7*7}`{{7*7}} &lt;b&gt; شكرا 谢谢"
)


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        reason = "no Chromium here; on Debian: apt-get install chromium"
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    return found


def dump_dom(report: Path, profile: Path) -> str:
    command = [
        chromium(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        report.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def test_report_shows_hostile_text_and_runs_none_of_it(tmp_path: Path) -> None:
    """A message full of markup is readable in the HTML report, and no script of it runs in the browser."""
    (tmp_path / "hostile_agent.py").write_text(
        f"def reply(observation):\n    return {{'action': 'decline', 'message': {HOSTILE!r}}}\n",
        encoding="utf-8",
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    report = tmp_path / "report.html"
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "scenarios",
            "-q",
            "--supportbench-agent=python:hostile_agent:reply",
            f"--html={report}",
            "--self-contained-html",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr

    dom = dump_dom(report, tmp_path / "profile")

    assert "<title>PWNED" not in dom
    assert "TB-001" in dom
    assert "PWNED" in dom, "the message itself must be readable"
    for element in ('<img src="x"', "<svg onload", "<script>document.title"):
        assert element not in dom
