"""An HTML report read back: its banner, its table and its stories, as the browser would unpack them."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_supportbench.reporting.html.episodes import BLOCK, packed

INDEX = re.compile(r'(<script type="text/plain" id="sb-index">)(.*?)(</script>)')
BLOCKS = re.compile(r'<script type="text/plain" id="sb-block-\d+">(.*?)</script>\s*')
BLOB = re.compile(r'(data-jsonblob=")(.*?)(")')


def unpacked(text: str) -> Any:
    """Return what ``packed`` made text of."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def plain(markup: str) -> str:
    """Return the text of markup, in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())


@dataclass(frozen=True, slots=True)
class Page:
    """A written report. ``rows`` are the table's, ``stories`` by key, ``stakes`` by scenario."""

    text: str
    rows: list[dict[str, Any]]
    stories: dict[str, Any]
    stakes: dict[str, Any]

    @property
    def main(self) -> str:
        """Our part without the packed data and without its program, as text."""
        found = re.search(r"<main id=\"supportbench\">(.*?)<script type=", self.text, re.DOTALL)
        assert found is not None
        return plain(re.sub(r"<style>.*?</style>", "", found[1], flags=re.DOTALL))

    @property
    def banner(self) -> tuple[str, str, str]:
        """The banner's tone, its word, and the text below that."""
        found = re.search(
            r'<header class="sb-banner sb-banner-(\w+)">\s*<h1>(.*?)</h1>(.*?)</header>', self.text, re.DOTALL
        )
        assert found is not None
        return found[1], plain(found[2]), plain(found[3])

    @property
    def outcomes(self) -> dict[str, str]:
        """The outcome column by name."""
        return {row["name"]: row["outcome"] for row in self.rows}


def read(path: Path) -> Page:
    """Return a report that was written."""
    text = path.read_text(encoding="utf-8")
    index = INDEX.search(text)
    assert index is not None, "the file has no part of ours"
    table = unpacked(index[2])
    blocks = [unpacked(block) for block in BLOCKS.findall(text)]
    return Page(
        text,
        [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]],
        {key: story for block in blocks for key, story in block["episodes"].items()},
        {name: stake for block in blocks for name, stake in block["stakes"].items()},
    )


def multiplied(path: Path, size: int) -> str:
    """Return a written report with its episodes repeated until there are ``size``, each under a name of its own."""
    page = read(path)
    blob = json.loads(html.unescape(BLOB.search(page.text)[2]))
    tests, rows, stories = {}, [], {}
    for number in range(size):
        row = dict(page.rows[number % len(page.rows)])
        old, nodeid = row["key"], row["nodeid"]
        row["name"], row["key"], row["nodeid"] = (
            f"{row[name]}-{number}" for name in ("name", "key", "nodeid")
        )
        row["block"] = number // BLOCK
        stories[row["key"]] = page.stories[old]
        tests[row["nodeid"]] = blob["tests"][nodeid]
        rows.append(list(row.values()))
    keys = list(stories)
    parts = [keys[start : start + BLOCK] for start in range(0, size, BLOCK)]
    blocks = "".join(
        f'<script type="text/plain" id="sb-block-{number}">{block}</script>\n'
        for number, part in enumerate(parts)
        for block in [packed({"episodes": {key: stories[key] for key in part}, "stakes": page.stakes})]
    )
    index = packed({"columns": list(page.rows[0]), "rows": rows})
    text = BLOCKS.sub("", page.text)
    text = INDEX.sub(lambda found: f"{found[1]}{index}{found[3]}\n{blocks}", text)
    data = html.escape(json.dumps({**blob, "tests": tests}), quote=True)
    return BLOB.sub(lambda found: f"{found[1]}{data}{found[3]}", text)
