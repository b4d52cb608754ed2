"""The README's pictures, from a real run: ``python -m benchmarks.pictures``; needs the extra ``dev`` and Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1000, 900


def main() -> None:
    """Run the built-in rules on TinyBench-50, and take its HTML report and its result note."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        results, report, note = (Path(folder) / name for name in ("run.jsonl", "report.html", "note.html"))
        evaluate = ("pytest", "scenarios", "-q", "-p", "no:cacheprovider", "--tb=no", "--self-contained-html")
        options = (
            "--supportbench-agent=rules",
            f"--supportbench-results={results}",
            f"--html={report}",
        )
        subprocess.run([sys.executable, "-m", *evaluate, *options], cwd=ROOT, check=False)  # noqa: S603 - fixed words
        code = "import sys; from pytest_supportbench.cli import main; sys.exit(main(sys.argv[1:]))"
        write = ("note", str(results), "--format", "html", "--out", str(note))
        subprocess.run([sys.executable, "-c", code, *write], cwd=ROOT, check=True)  # noqa: S603 - likewise
        _take({"report.jpg": report, "note.jpg": note})


def _take(pages: dict[str, Path]) -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name, path in pages.items():
            page.goto(path.as_uri())
            page.wait_for_timeout(500)
            page.screenshot(path=PICTURES / name, type="jpeg", quality=60)
        browser.close()


if __name__ == "__main__":
    main()
