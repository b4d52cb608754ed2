"""A document of plain blocks, written as Markdown or as one HTML file: whatever a model wrote is escaped here.

Blocks hold plain text only. No text of a run is ever taken for markup, and no link is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from pytest_supportbench.errors import UsageError
from pytest_supportbench.reporting.gate import markdown_text
from pytest_supportbench.reporting.text import MAX_TEXT, bounded, clean

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_CELL: Final = 1_000
MAX_CODE: Final = 20_000

_LINKS: Final = re.compile(r"://|www\.|@|&", re.IGNORECASE)
"""What renderers of Markdown make links, mentions or characters of although it is no markup of Markdown itself."""

_STYLE: Final = """
:root { color-scheme: light dark; --line: #d0d4da; --soft: #f4f5f7; --strong: #0b5c8c; }
@media (prefers-color-scheme: dark) { :root { --line: #41464e; --soft: #23262b; --strong: #7cc4f0; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
.finding { font-size: 1.15rem; border-left: 4px solid var(--strong); padding: .2rem 0 .2rem 1rem; }
.wide { overflow-x: auto; } .wide > table:has(th:nth-child(4)) { min-width: 44rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { border: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top; }
th { background: var(--soft); } td { overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .8rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
"""

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 (the title), 2 or 3."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph; ``finding`` sets it apart."""

    text: str
    finding: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; nothing is written for an empty one."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as the head."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Code:
    """Text that keeps its lines, in a language for whoever colours it."""

    text: str
    language: str = "text"


Block: TypeAlias = Heading | Paragraph | Bullets | Table | Code


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return the document as Markdown of GitHub's kind."""
    return "\n\n".join(text for block in blocks if (text := _markdown(block))) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_inline(block.text)}"
    if isinstance(block, Paragraph):
        return f"**{_inline(block.text)}**" if block.finding else _inline(block.text)
    if isinstance(block, Bullets):
        return "\n".join(f"- {_inline(item)}" for item in block.items)
    if isinstance(block, Table):
        rule = "|".join("---" for _ in block.head)
        rows = [f"| {' | '.join(map(_cell, row))} |" for row in (block.head, *block.rows)]
        return "\n".join((rows[0], f"|{rule}|", *rows[1:]))
    text = _code(block)
    ticks = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}{block.language}\n{text}\n{fence}"


def _cell(text: str) -> str:
    return _inline(text, MAX_CELL)


def _inline(text: str, most: int = MAX_TEXT) -> str:
    """Return text in one line of which Markdown makes nothing: no markup, no link, no mention, no character."""
    escaped = markdown_text(bounded(text, most))
    return _LINKS.sub(lambda found: _UNLINKED[found[0].lower()], escaped)


_UNLINKED: Final = {"://": "&#58;//", "www.": "www&#46;", "@": "@<!-- -->", "&": "&amp;"}
"""A mention or an address is looked for in text that is parsed already: only another node stops it."""


def _code(block: Code) -> str:
    return clean(bounded(block.text, MAX_CODE))


def to_html(blocks: Sequence[Block], title: str) -> str:
    """Return the document as one HTML file that asks for nothing else, light or dark as the reader's system is.

    Raises `UsageError` where markupsafe is not installed.
    """
    try:
        from markupsafe import Markup  # noqa: PLC0415 - an extra, and only HTML needs it
    except ImportError as error:
        msg = (
            'HTML needs markupsafe; run: pip install "pytest-supportbench[html]", or write --format markdown'
        )
        raise UsageError(msg) from error
    head = Markup(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
    ).format(policy=_POLICY, title=_plain(title), style=Markup(_STYLE))  # noqa: S704 - fixed text
    body = Markup("\n").join(part for block in blocks for part in _html(block))
    return f"{head}{body}\n</main>\n</body>\n</html>\n"


def _html(block: Block) -> Iterator[Markup]:
    from markupsafe import Markup  # noqa: PLC0415 - see above

    if isinstance(block, Heading):
        tag = Markup(f"h{int(block.level)}")  # noqa: S704 - a number
        yield Markup("<{0}>{1}</{0}>").format(tag, _plain(block.text))
    elif isinstance(block, Paragraph):
        kind = Markup(' class="finding"') if block.finding else ""
        yield Markup("<p{}>{}</p>").format(kind, _plain(block.text))
    elif isinstance(block, Bullets):
        if block.items:
            items = Markup("\n").join(Markup("<li>{}</li>").format(_plain(item)) for item in block.items)
            yield Markup("<ul>\n{}\n</ul>").format(items)
    elif isinstance(block, Table):
        head = Markup("").join(Markup('<th scope="col">{}</th>').format(_plain(cell)) for cell in block.head)
        yield Markup('<div class="wide"><table>\n<thead><tr>{}</tr></thead>\n<tbody>').format(head)
        for row in block.rows:
            cells = Markup("").join(Markup("<td>{}</td>").format(_plain(cell, MAX_CELL)) for cell in row)
            yield Markup("<tr>{}</tr>").format(cells)
        yield Markup("</tbody></table></div>")
    else:
        yield Markup("<pre><code>{}</code></pre>").format(_code(block))


def _plain(text: str, most: int = MAX_TEXT) -> str:
    """Return text in one bounded line, without characters that steer; Markup escapes it where it is put in."""
    return " ".join(clean(bounded(text, most)).split())
