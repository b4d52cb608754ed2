"""What episodes cost: tokens, money, repeated requests and seconds, as far as agents report them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pytest_supportbench.protocol import Usage
from pytest_supportbench.records import Episode

Json = dict[str, Any]


def usage_json(episode: Episode) -> Json:
    """Return what an episode cost as JSON data; ``None`` where the agent reported nothing.

    ``spent_tokens`` are prompt and completion tokens without those of replayed replies, for which nobody was asked.
    ``cost`` is in US dollars, as a decimal text.
    """
    known = [record.usage for record in episode.turns if record.usage is not None]
    asked = [record.usage for record in episode.turns if record.usage is not None and not record.replayed]
    cost = [usage.cost for usage in known if usage.cost is not None]
    return {
        "turns": sum(not record.live for record in episode.turns),
        "tool_calls": len(episode.calls),
        "prompt_tokens": _total(usage.prompt_tokens for usage in known),
        "completion_tokens": _total(usage.completion_tokens for usage in known),
        "spent_tokens": 0 if episode.replayed == "yes" else _total(map(_tokens, asked)),
        "cost": format(sum(cost), "f") if cost else None,
        "retries": sum(usage.retries for usage in known),
    }


def _tokens(usage: Usage) -> int | None:
    return _total((usage.prompt_tokens, usage.completion_tokens))


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class Totals:
    """What the episodes of one agent cost together.

    ``counted`` of the ``episodes`` reported tokens. ``cost`` is in US dollars, ``None`` where no reply had a price.
    ``seconds`` is the median wall time of the episodes that were scored, ``None`` of none.
    """

    episodes: int = 0
    counted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    spent_tokens: int = 0
    cost: Decimal | None = None
    retries: int = 0
    seconds: float | None = None

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> Json:
        """Return the totals as JSON data; tokens are ``None`` where no episode reported any."""
        known = self.counted > 0
        return {
            "episodes_with_tokens": self.counted,
            "prompt_tokens": self.prompt_tokens if known else None,
            "completion_tokens": self.completion_tokens if known else None,
            "spent_tokens": self.spent_tokens if known else None,
            "cost": None if self.cost is None else format(self.cost, "f"),
            "retries": self.retries,
            "median_seconds": None if self.seconds is None else round(self.seconds, 6),
        }


def totals(rows: Sequence[Mapping[str, Any]], scored: Sequence[Mapping[str, Any]]) -> Totals:
    """Return what the summary rows of one agent cost together; only ``scored`` ones say how long an episode takes."""
    usages = [row["usage"] for row in rows]
    costs = [Decimal(usage["cost"]) for usage in usages if usage["cost"] is not None]

    def total(name: str) -> int:
        return sum(usage[name] or 0 for usage in usages)

    return Totals(
        episodes=len(rows),
        counted=sum(has_tokens(usage) for usage in usages),
        prompt_tokens=total("prompt_tokens"),
        completion_tokens=total("completion_tokens"),
        spent_tokens=total("spent_tokens"),
        cost=sum(costs, Decimal(0)) if costs else None,
        retries=total("retries"),
        seconds=statistics.median(row["seconds"] for row in scored) if scored else None,
    )


def has_tokens(usage: Mapping[str, Any]) -> bool:
    """Tell whether an episode reported any tokens."""
    return usage["prompt_tokens"] is not None or usage["completion_tokens"] is not None
