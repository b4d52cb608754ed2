"""What the summary at the end of a run says of its cassettes; for 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_supportbench.counted import counted
from pytest_supportbench.reporting.text import bounded, wrapped

MAX_LISTED: Final = 10


def replayed(counts: Mapping[str, int]) -> str:
    """Return how far an agent's episodes were replayed, as it follows the agent's name; empty where none was."""
    whole, some = sum(counts.values()), counts.get("partly", 0)
    every = counts.get("yes", 0)
    if not every and not some:
        return ""
    if every == whole:
        return " (replayed)"
    return f" ({every} of {whole} replayed{f', {some} partly' if some else ''})"


def cassette_lines(cassettes: Sequence[Mapping[str, Any]], *, verbose: bool = False) -> Iterator[str]:
    """Yield what was played and recorded in each agent's folder, why agents were asked anew, and what is not used."""
    for item in cassettes:
        done = ", ".join(
            f"{counted(item[name], 'reply', 'replies')} {name}" for name in ("played", "recorded")
        )
        yield from wrapped(f"{item['folder']}: {done}", "cassette ", "  ")
        anew = item["asked_anew"]
        for entry in anew if verbose else anew[:MAX_LISTED]:
            yield from wrapped(bounded(f"{entry['episode']}: {entry['why']}", 400), "  asked anew: ", "    ")
        if len(anew) > MAX_LISTED and not verbose:
            yield f"  … and {len(anew) - MAX_LISTED} more asked anew; -v lists them all"
        unused = item["unused"]
        if unused:
            listed = unused if verbose else unused[:MAX_LISTED]
            left = len(unused) - len(listed)
            more = f"; and {left} more, -v lists them all" if left else ""
            head = f"  {counted(len(unused), 'unused entry', 'unused entries')} in files of this run: "
            yield from wrapped(f"{'; '.join(listed)}{more}", head, "    ")
