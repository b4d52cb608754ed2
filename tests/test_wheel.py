"""What is published as a package works by itself: built, installed alone, and run from an empty folder."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling import build
from shared_work import once

ROOT = Path(__file__).parent.parent


def built(folder, into, kind):
    """Build a wheel or an sdist of the source tree in ``folder`` and return its path."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return into / getattr(build, f"build_{kind}")(str(into))
    finally:
        os.chdir(here)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = once(tmp_path_factory, "wheel", lambda folder: built(ROOT, folder, "wheel"))
    (file,) = folder.glob("*.whl")
    return file


def names(path):
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_suite_file(wheel):
    """Each file of TinyBench-50 in the repository is in the wheel, its licence included."""
    source = ROOT / "scenarios" / "tinybench-50"
    wanted = {
        f"pytest_supportbench/suites/tinybench-50/{path.relative_to(source).as_posix()}"
        for path in source.rglob("*")
        if path.is_file()
    }
    assert len(wanted) > 14
    assert {name for name in names(wheel) if "/suites/" in name} == wanted


def test_the_sdist_builds_the_same_wheel(wheel, tmp_path):
    """A wheel that is built from the unpacked sdist holds the same files."""
    with tarfile.open(built(ROOT, tmp_path, "sdist")) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # 3.11.2 has no filters yet
        archive.extractall(tmp_path)  # built by ourselves just now
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert names(built(source, tmp_path, "wheel")) == names(wheel)


@pytest.mark.slow
def test_the_wheel_alone_is_enough(wheel, tmp_path):
    """In a fresh environment the suite runs, is copied and checked from an empty folder; the installation stays."""
    environment, work = tmp_path / "environment", tmp_path / "work"
    work.mkdir()
    python = environment / "bin" / "python"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command):
        done = subprocess.run(command, cwd=work, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    run(sys.executable, "-m", "pip", "--python", str(python), "install", "-q", str(wheel))
    supportbench = str(environment / "bin" / "supportbench")
    inside = Path(run(supportbench, "suites").split(" ", 2)[2].strip())
    assert inside.is_relative_to(environment)

    def installed():
        return {path for path in environment.rglob("*") if "__pycache__" not in path.parts}

    before = installed()
    output = run(supportbench, "run", "--supportbench-agent=oracle")
    assert " passed" in output
    assert "warning" not in output.lower()
    assert run(supportbench, "copy", "tinybench-50", "mine").startswith("copied tinybench-50")
    run(supportbench, "check", "mine")
    assert installed() == before
    assert {path.name for path in work.iterdir()} == {".pytest_cache", ".supportbench", "mine"}
