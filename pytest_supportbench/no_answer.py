"""Episodes that ended without a decision of the agent's own: how many, in which ways, and what was told of them.

Such an episode is scored like any other, but it passes what only a deed can break: a server that never answers keeps
every policy. So whoever shows a share says beside it how many of its passes are of this kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_supportbench.counted import counted
from pytest_supportbench.describe import crash_text
from pytest_supportbench.records import EXCERPT, Episode
from pytest_supportbench.words import NO_ANSWER

MAX_TEXT: Final = 200
"""Characters that are kept of what ended an episode; the results file has all of it."""

MAX_TEXTS: Final = 3
"""So many different texts are kept of each ending."""

_REMEDIES: Final = {
    "time_limit": "make the agent faster, or give it more time with --supportbench-timeout",
    "turn_limit": "if it needs more turns than that, allow them with --supportbench-max-turns",
    "invalid_reply": "mend what it sends; `supportbench schema turn` prints the form of a turn",
}

_BUSY: Final = re.compile(r"status (?:429|503)\b")
_TOO_BUSY: Final = "ask its server for fewer episodes at a time with --supportbench-concurrency"

_NUMBERED: Final = re.compile(r"(?=[\w-]*\d)[\w-]{6,}|\d{4,}")
"""Ids and times, in which texts that say the same differ."""


def ending_text(ending: object, failure: str, invalid: Sequence[str]) -> str:
    """Return in one bounded line what ended an episode; empty for a decision of the agent's own.

    ``invalid`` are the reasons for which replies were no turns, oldest first.
    """
    text = ""
    if ending == "agent_failed":
        text = crash_text(failure[: 2 * EXCERPT])
    elif ending == "time_limit":
        text = failure.partition("; ")[2] or failure  # how long each took differs
    elif ending == "invalid_reply" and invalid:
        text = invalid[-1]
    text = " ".join(text.split())
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def episode_ending(episode: Episode) -> dict[str, str]:
    """Return the fields of a summary row that tell how an episode ended."""
    reasons = [record.invalid for record in episode.turns if record.invalid]
    return {"ending": episode.ending, "ending_text": ending_text(episode.ending, episode.failure, reasons)}


def line_ending(line: Mapping[str, Any]) -> dict[str, str]:
    """Return the same fields of an episode line of a results file, which may be older than they are."""
    ending = str(line.get("ending") or "")
    reasons = [
        str(turn["invalid_reply"]["reason"]) for turn in line["turns"] if turn["invalid_reply"] is not None
    ]
    return {"ending": ending, "ending_text": ending_text(ending, str(line.get("failure") or ""), reasons)}


@dataclass(frozen=True, slots=True)
class Ended:
    """How many scored episodes ended in one way; ``texts`` are the most frequent ones with their counts."""

    ending: str
    count: int
    texts: tuple[tuple[str, int], ...] = ()

    @property
    def words(self) -> str:
        """``41 crashed or refused``."""
        return f"{self.count} {NO_ANSWER[self.ending]}"

    @property
    def remedy(self) -> str:
        """What to do about it; empty where nobody can tell from here."""
        if self.ending == "agent_failed":
            return _TOO_BUSY if self.texts and _BUSY.search(self.texts[0][0]) else ""
        return _REMEDIES[self.ending]

    @property
    def told(self) -> str:
        """The most frequent text with its count; empty where there is none."""
        return f"{self.texts[0][0]} ×{self.texts[0][1]}" if self.texts else ""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The scored episodes without an answer of the agent's own: ``count`` of ``whole``.

    ``endings`` has the most frequent first. ``dimensions`` counts those that passed a dimension all the same,
    ``classes`` those of an escalation class.
    """

    whole: int = 0
    endings: tuple[Ended, ...] = ()
    dimensions: Mapping[str, int] = field(default_factory=dict)
    classes: Mapping[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(item.count for item in self.endings)

    @property
    def words(self) -> str:
        """Each ending that occurred with its count, such as ``41 crashed or refused, 2 out of time``."""
        return ", ".join(item.words for item in self.endings)

    @property
    def headline(self) -> str:
        """``41 of 50 scored episodes ended without an answer of the agent's own``."""
        return no_answer_of(self.count, self.whole)

    def to_json(self) -> dict[str, int]:
        """Return how many episodes ended in each way, as JSON data."""
        return {item.ending: item.count for item in self.endings}


def no_answer_of(count: int, whole: int) -> str:
    """Return in words that ``count`` of ``whole`` scored episodes have no answer."""
    return f"{count} of {counted(whole, 'scored episode')} ended without an answer of the agent's own"


def is_answered(row: Mapping[str, Any]) -> bool:
    """Tell whether a scored episode ended by a decision of the agent's own; rows of older versions do not say."""
    return row.get("ending") not in NO_ANSWER


def no_answers(scored: Sequence[Mapping[str, Any]]) -> NoAnswer:
    """Return which of the scored rows have no answer of the agent's own; equal rows in any order give equal counts."""
    found = [row for row in scored if not is_answered(row)]
    ways = Counter(str(row["ending"]) for row in found)
    return NoAnswer(
        whole=len(scored),
        endings=tuple(
            Ended(ending, count, _texts(str(row["ending_text"]) for row in found if row["ending"] == ending))
            for ending, count in sorted(ways.items(), key=lambda item: (-item[1], item[0]))
        ),
        dimensions=Counter(name for row in found for name, passed in row["dimensions"].items() if passed),
        classes=Counter(str(row["escalation_class"]) for row in found),
    )


def _texts(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return the most frequent texts, those that differ by ids alone counted as one."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for text in filter(None, texts):
        kind = _NUMBERED.sub("…", text)
        first[kind] = min(first.get(kind, text), text)
        counts[kind] += 1
    common = sorted(counts.items(), key=lambda item: (-item[1], first[item[0]]))
    return tuple((first[kind], count) for kind, count in common[:MAX_TEXTS])
