"""The stored rows as a page: ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.rows import Finding, Row

_HEAD = """\
# What was measured

Written by `python -m benchmarks`; how to run and read it stands in [docs/speed.md](../docs/speed.md). Change nothing
here by hand: `python -m benchmarks --report-only` makes this page again from `results.json`.

Each figure is the median of its rounds, with the lowest and highest in brackets. Contestants alternate within a round
(A B C A B C), and a ratio is the median of the ratios within the rounds. Only ratios are to be trusted from one machine
to another.
"""

_TRIAL = """\
**This is a trial (`--quick`): small sizes and one round prove that each row can be measured. Its figures and verdicts
say nothing.**
"""


def page(store: dict[str, Any], order: tuple[str, ...] = ()) -> str:
    """Return the page as Markdown, its rows in the given order and others behind."""
    stored = store["rows"]
    names = [name for name in order if name in stored] + sorted(name for name in stored if name not in order)
    rows = {name: Row.read(stored[name]) for name in names}
    head = [_HEAD, _TRIAL] if store.get("trial") else [_HEAD, *_summary(rows)]
    parts = [*head, *_machine(store), "## Targets\n", _table(rows), *_curves(store), "## Row by row\n"]
    parts += ["\n".join(_details(row, stored[name])) for name, row in rows.items()]
    return "\n".join(parts).rstrip() + "\n"


def _summary(rows: dict[str, Row]) -> Iterator[str]:
    """Yield in a few sentences what the page says, for who reads no further."""
    judged = [found.met() for row in rows.values() for found in row.findings if found.met() is not None]
    if not judged:
        return
    yield "## In short\n"
    yield f"- {sum(map(bool, judged))} of {len(judged)} figures that have a target meet it."
    for name in ("cold-1000", "second-run", "memory", "largest", "peers-1000", "peers-10000", "window"):
        row = rows.get(name)
        ratios = [found for found in row.findings if found.unit == "×"] if row else []
        if row and ratios:
            told = "; ".join(f"{found.what} {shown(found).partition(' (')[0]}" for found in ratios)
            yield f"- {row.title}: {told}."
    yield "- Why not less: [where the time goes](../docs/speed.md#where-the-time-goes)."
    yield ""


def _machine(store: dict[str, Any]) -> Iterator[str]:
    facts = store.get("machine", {})
    if facts:
        yield "## Machine\n"
        yield "| | |\n|---|---|"
        for name, value in facts.items():
            yield f"| {name} | {_cell(value)} |"
        took = sum({row["group"]: row["took_s"] for row in store["rows"].values() if "group" in row}.values())
        yield f"| measuring took | {took / 60:.0f} min |\n"


def _table(rows: dict[str, Row]) -> str:
    lines = ["| what | target | measured | verdict |", "|---|---|---|---|"]
    for row in rows.values():
        judged = [found for found in row.findings if found.limit is not None]
        for number, found in enumerate(
            judged or [found for found in row.findings if found.unit == "×"] or row.findings[:1]
        ):
            title, target = (_cell(row.title), _cell(row.target)) if number == 0 else ("", "")
            lines.append(
                f"| {title} | {target} | {_cell(f'{found.what}: {shown(found)}')} | {verdict(found)} |"
            )
    return "\n".join(lines) + "\n"


def _details(row: Row, stored: dict[str, Any]) -> Iterator[str]:
    rounds = f"{row.rounds} round{'s' if row.rounds > 1 else ''}"
    when = f"{stored.get('date', '')} at {stored.get('commit') or 'no commit'}, {rounds}"
    yield f"### {row.title}\n"
    yield f"{when}. Target: {row.target}.{' ' + row.note if row.note else ''}\n"
    yield "| | measured |\n|---|---|"
    for found in row.findings:
        yield f"| {_cell(found.what)} | {_cell(shown(found))} |"
    yield ""
    if row.samples:
        yield "| contestant | wall s | CPU s | peak MB |\n|---|---|---|---|"
        for name, kinds in row.samples.items():
            cells = (_spread(kinds[kind]) for kind in ("seconds", "cpu", "peak_mb"))
            yield f"| {_cell(name)} | {' | '.join(cells)} |"
        yield ""
    if row.commands:
        yield "```text"
        yield from (f"{name}: {command}" for name, command in row.commands.items())
        yield "```\n"


def _curves(store: dict[str, Any]) -> Iterator[str]:
    points = store.get("curves", {}).get("points", [])
    if not points:
        return
    yield "## Growth\n"
    yield "![wall and CPU seconds, peak memory and file size by episodes, with the YAML floor's](growth.svg)\n"
    yield "| episodes | of | wall s | CPU s | peak MB | results file MB | floor s | floor MB |"
    yield "|---|---|---|---|---|---|---|---|"
    for point in points:
        names = ("seconds", "cpu", "peak_mb", "file_mb", "floor_seconds", "floor_mb")
        figures = (point[name] for name in names)
        scenarios, trials = point.get("scenarios", point["episodes"]), point.get("trials", 1)
        made_of = f"{scenarios:,} scenarios" + (f", {trials} trials each" if trials > 1 else "")
        yield f"| {point['episodes']:,} | {made_of} | {' | '.join(_number(figure) for figure in figures)} |"
    yield (
        "\nThe floor is bare pytest with as many items of the same files. A further trial costs less than a further "
        "scenario: no file is read, and fewer objects are held.\n"
    )


def shown(found: Finding) -> str:
    """Return a figure in words: the median with its unit, and the spread of more than one round."""
    figure = found.figure()
    if figure is None:
        return found.why or "not measured"
    text = f"{_number(figure)} {found.unit}".rstrip()
    if len(found.values) > 1:
        text += f" ({_number(min(found.values))} to {_number(max(found.values))})"
    return text


def verdict(found: Finding) -> str:
    """Return whether a target is met, or by how much it is missed."""
    met, figure, limit = found.met(), found.figure(), found.limit
    if met is None or figure is None or limit is None:
        return "not measured" if figure is None else "–"
    doubt = "; the rounds lie on both sides of it" if min(found.values) <= limit < max(found.values) else ""
    if met:
        return f"met{doubt}"
    if not limit:
        return f"**not met**, by {_number(figure)}{doubt}"
    share = abs(figure / limit - 1)
    return f"**not met**, {100 * share:.0f} % too {'little' if found.least else 'much'}{doubt}"


def _spread(values: Sequence[float]) -> str:
    return shown(Finding("", "", tuple(values)))


def _number(value: float) -> str:
    if abs(value) >= 1_000:  # noqa: PLR2004 - where a comma reads better than decimals
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three figures


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
