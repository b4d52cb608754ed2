"""Zero tolerance: what is more frequent than before blocks, and how often that would befall an unchanged agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pytest_supportbench.comparable import named
from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case, CaseEvidence
from pytest_supportbench.gate_rules import Reason
from pytest_supportbench.statistics import simulate_any_above

Tried: TypeAlias = tuple[Case, str, CaseEvidence, CaseEvidence]
"""A case with what its trials are called, before and now."""

UNSEEN: Final = 0.05
"""How likely at least nothing must be to see, of a rate that is not ruled out by that nothing was seen."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """How often the rule would block an agent that is just as it was in the baseline; nothing here is of today's run.

    ``share`` (0 to 1) is simulated from the rates of the baseline's scenarios with such violations, ``None`` where it
    has none. ``clean`` counts its trials of scenarios without any, of which the rate is not known; trials that repeat
    each other count once, and ``alike`` says that there are such.
    """

    share: float | None
    clean: int
    alike: bool

    @property
    def at_most(self) -> float:
        """The largest rate (0 to 1) of which so many clean trials are not too unlikely.

        It is Clopper and Pearson's one-sided bound (1934) at 95 % of none seen, about three over the number of trials.
        """
        return 1 - UNSEEN ** (1 / self.clean) if self.clean else 1.0

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON data."""
        return {
            "zero_tolerance_alarm": None if self.share is None else round(self.share, 6),
            "zero_tolerance_clean": {"trials": self.clean, "at_most": round(self.at_most, 6)},
        }

    def __str__(self) -> str:
        """Return it in words."""
        told = ""
        if self.share is not None:
            often = f"{100 * self.share:.1f} % of runs (simulated)"
            told = f"an agent just as it was in the baseline would be blocked by this rule in {often}"
        if not self.clean:
            return told
        once = ", identical ones counted once" if self.alike else ""
        most = f"{100 * self.at_most:.1f} % of trials (95 % confidence)"
        trials = counted(self.clean, "trial")
        if told:
            return (
                f"{told}; it has none in the other {trials}{once}, so there it may have them in up to {most}"
            )
        return (
            f"the baseline has no such violation in {trials}{once}, so an agent just as it was may have them "
            f"in up to {most}"
        )


def rises(tried: Iterable[Tried], *, several: bool) -> Iterator[Reason]:
    """Yield each scenario and code of which there is more than before, and more often: any such rise blocks.

    A rate alone may rise because an infrastructure error took a trial without the violation, and a count alone because
    the baseline has fewer trials.
    """
    for case, noun, old, new in tried:
        for code, count in sorted(new.zero_tolerance.items()):
            earlier = old.zero_tolerance.get(code, 0)
            if count > earlier and count * old.scored > earlier * new.scored:
                text = (
                    f"{named([case], several=several)}: {code} in {count} of {counted(new.scored, noun)}, "
                    f"before in {earlier} of {old.scored}"
                )
                yield Reason("zero_tolerance", text, "REGRESSED")


def alarm(tried: Iterable[Tried]) -> Alarm:
    """Return how often the rule would block an unchanged agent; fresh trials, which only some runs have, apart."""
    sides = [(old, new) for _, noun, old, new in tried if noun == "trial"]
    seen = sorted(
        (count, old.scored, new.scored) for old, new in sides for count in old.zero_tolerance.values()
    )
    counts, before, now = ([row[column] for row in seen] for column in range(3))
    clean = [old for old, _ in sides if not old.zero_tolerance]
    return Alarm(
        simulate_any_above(counts, before, now) if seen else None,
        sum(item.weight for item in clean),
        any(item.repeats for item in clean),
    )
