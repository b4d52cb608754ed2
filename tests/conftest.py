"""Shared by the tests: how integration tests start a pytest of their own."""

from __future__ import annotations

import importlib.util
import os
import signal

import pytest
from foreign import FOREIGN
from shared_work import once

NEEDED = (
    "axe_playwright_python",
    "distributed",
    "drawsvg",
    "hatchling",
    "hypothesis",
    "jsonschema",
    "langchain_openai",
    "langgraph",
    "mcp",
    "scipy",
    "statsmodels",
    "mlcroissant",
    "ollama",
    "openai",
    "playwright",
    "pydantic_ai",
    "pytest_html",
    "pytest_rerunfailures",
    "trustme",
    "xdist",
)
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
REASON = (
    f"tests left out for want of {', '.join(MISSING)}; run README's test command: pip install -e '.[dev]'"
)

collect_ignore_glob = ["test_*.py"] if MISSING else []


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start jobs in the background so, and their children inherit it: no test could press Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header():
    """Say why no test is collected where the main command alone was run."""
    return REASON if MISSING else None


def pytest_terminal_summary(terminalreporter):
    """Say it with -q too, which prints no header."""
    if MISSING and terminalreporter.verbosity < 0:
        terminalreporter.write_line(REASON)


WAYS = {
    "plain": (),
    "n2": ("-n", "2"),
    "n0": ("-n", "0"),
    "bare": ("-p", "no:xdist", "-p", "no:html", "-p", "no:metadata", "-p", "no:rerunfailures"),
}


@pytest.fixture(params=WAYS, ids=str)
def plugin_args(request):
    """Return pytest arguments: as installed, with two workers, with none, and without optional plugins."""
    return WAYS[request.param]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Return a folder in which all processes that tests start share their compiled files."""
    return once(tmp_path_factory, "compiled", lambda _: None)


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch, compiled):
    """Keep the developer's own settings out of every test, and let processes start fast."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(compiled))
    for name in [name for name in os.environ if name.startswith("SUPPORTBENCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


@pytest.fixture
def run(pytester, plugin_args):
    """Return a function that runs pytest in this process, in one of the ways of ``plugin_args``."""

    def run(*args):
        return pytester.runpytest_inprocess(*plugin_args, *FOREIGN, *args)

    return run


@pytest.fixture
def plain(pytester):
    """Return a function that runs pytest in this process as installed."""

    def run(*args):
        return pytester.runpytest_inprocess(*FOREIGN, *args)

    return run
