"""How long the HTML report of a real run takes to open: ``python -m benchmarks.page [--trials N]``.

Fifty scenarios with the built-in rules, N trials each (20: a thousand episodes), opened in headless Chromium from the
start of the navigation until the table can be used, and until its last row is drawn.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
RUNS = 7


def written(folder: Path, trials: int) -> Path:
    """Run the suite in a folder and return its report."""
    shutil.copytree(ROOT / "scenarios", folder / "scenarios")
    (folder / "pytest.toml").write_text("[pytest]\n", encoding="utf-8")
    options = [f"--supportbench-trials={trials}", "--supportbench-agent=rules", "-q", "--tb=no"]
    page = ["--html=report.html", "--self-contained-html"]
    begin = perf_counter()
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "pytest", *options, *page], cwd=folder, check=False, stdout=subprocess.DEVNULL
    )
    print(f"the run took {perf_counter() - begin:.1f} s")  # noqa: T201 - a program's output
    return folder / "report.html"


def opened(browser: Browser, path: Path, rows: int) -> tuple[float, float]:
    """Return after how many seconds the table could be used, and after how many all of its rows were there."""
    page = browser.new_page()
    begin = perf_counter()
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-sb-ready]", state="attached")
    usable = perf_counter() - begin
    page.wait_for_function(f"document.querySelectorAll('.sb-row').length >= {rows}")
    whole = perf_counter() - begin
    page.close()
    return usable, whole


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20, help="trials of each of the fifty scenarios")
    trials = parser.parse_args().trials
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        path = written(Path(place), trials)
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        episodes = 50 * trials
        times = [opened(browser, path, min(episodes, 1_000)) for _ in range(RUNS)]
        size = path.stat().st_size
        browser.close()
    for name, found in zip(("can be used", "all rows are drawn"), zip(*times, strict=True), strict=True):
        low, middle, high = min(found), statistics.median(found), max(found)
        print(f"{name}: {middle:.2f} s (median of {RUNS}; {low:.2f} to {high:.2f})")  # noqa: T201 - likewise
    print(f"{episodes} episodes, {size / 1e6:.2f} MB, {size / episodes / 1e3:.2f} kB an episode")  # noqa: T201 - likewise


if __name__ == "__main__":
    main()
