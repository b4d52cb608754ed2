"""A real Chromium, driven by playwright, with a report open in it."""

from __future__ import annotations

import os
import shutil
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import axe_playwright_python
import pytest
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
RULES = "axe.run(document, {resultTypes: ['violations']})"


def chromium() -> str:
    """Return the browser's program; without one a test is skipped, but in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        reason = "no Chromium here; on Debian: apt-get install chromium"
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    return found


def pytest_command(*args: str) -> list[str]:
    """Return how tests here start a pytest of their own, without what only slows it down."""
    foreign = ("hypothesispytest", "anyio", "langsmith_plugin", "cacheprovider", "xdist")
    without = [part for name in foreign for part in ("-p", f"no:{name}")]
    return [sys.executable, "-m", "pytest", *without, "-q", "--tb=no", "--self-contained-html", *args]


def surroundings(compiled: Path) -> dict[str, str]:
    """Return the environment for it, without the developer's own settings."""
    own = ("PYTEST_", "SUPPORTBENCH_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return {**kept, "PYTHONPYCACHEPREFIX": str(compiled)}


@contextmanager
def browser_running() -> Iterator[Browser]:
    """Start the browser, and stop it."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Seen:
    """What happened while a page was open that no report should do; ``refused`` is what its policy kept from it."""

    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Note what the page does from here on."""
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", self._failed)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.refused.append(line.text) if line.type == "error" else None)

        def dialog(shown: Any) -> None:
            self.dialogs.append(shown.message)
            shown.dismiss()

        page.on("dialog", dialog)

    def _failed(self, request: Any) -> None:
        if request.failure == "csp":  # it was never sent
            self.requests.remove(request.url)


@contextmanager
def opened(browser: Browser, report: Path, hash_: str = "", **options: Any) -> Iterator[tuple[Page, Seen]]:
    """Open a report in a window of its own, and wait until its table is there."""
    options = {"viewport": {"width": 1280, "height": 900}, **options}
    context = browser.new_context(**options)
    page, seen = context.new_page(), Seen()
    seen.watch(page)
    page.goto(report.as_uri() + hash_)
    if options.get("java_script_enabled", True):
        page.wait_for_selector("html[data-sb-ready]", state="attached", timeout=30_000)
    yield page, seen
    context.close()


def problems(page: Page) -> list[str]:
    """Return what axe finds wrong with the page as it stands."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return [
        f"{item['id']}: {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
        for item in page.evaluate(RULES)["violations"]
        for node in item["nodes"]
    ]


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def is_blank(png: bytes) -> bool:
    """Tell whether a picture has hardly more than one colour."""
    data, at = b"", 8
    while at < len(png):
        size = int.from_bytes(png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    return len(set(zlib.decompress(data)[::61])) < 32
