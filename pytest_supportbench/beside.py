"""What stands beside a run's scenarios: failures and doubts that no episode tells, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pytest_supportbench.counted import counted

MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Doubt:
    """What leaves a run INCONCLUSIVE, in words. ``infrastructure`` tells that a rerun may cure it.

    ``shares`` tells that the shares of the run may not be those of the whole.
    """

    text: str
    infrastructure: bool = False
    shares: bool = True


@dataclass(frozen=True, slots=True)
class Beside:
    """``failures`` make a run FAILED whatever its scenarios showed; ``doubts`` keep it from a PASS."""

    failures: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def beside(
    *,
    failed: Sequence[str],
    uncounted: int,
    own_errors: Collection[str],
    mistakes: Mapping[str, int],
    ended: bool,
) -> Beside:
    """Return what stands beside the scenarios of a run.

    ``failed`` names the tests and files that failed for another reason than a scenario's verdict, and ``uncounted`` is
    how many failures pytest counted that no test reported. ``own_errors`` are the user's own tests that an
    infrastructure error ended, ``mistakes`` counts items by what kept them from running. ``ended`` is false for a run
    that pytest ends with a status of its own: what failed then only leaves the verdict open.
    """
    failures = []
    if failed:
        names = ", ".join(dict.fromkeys(failed[:MAX_NAMED]))
        more = f" and {len(failed) - MAX_NAMED} more" if len(failed) > MAX_NAMED else ""
        failures.append(f"{counted(len(failed), 'failure')} beside the scenarios' verdicts: {names}{more}")
    if uncounted > 0:
        what = counted(uncounted, "failure")
        failures.append(
            f"{what} beside the scenarios' verdicts, of no test: another plugin's, such as for coverage"
        )
    doubts = [] if ended else [Doubt(text) for text in failures]
    if number := sum(mistakes.values()):
        doubts.append(Doubt(f"{counted(number, 'test')} could not be run: see NOT RUN"))
    if own_errors:
        doubts.append(
            Doubt(
                f"{counted(len(own_errors), 'test')} of your own ended in an infrastructure error",
                infrastructure=True,
                shares=False,
            )
        )
    return Beside(tuple(failures) if ended else (), tuple(doubts))
