"""Whether two runs can be compared at all: what must be equal, and what is missing of either."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case, Evidence, shared_fingerprint
from pytest_supportbench.gate_rules import Reason, Rules

MAX_NAMED: Final = 10

_REMEDY: Final = {
    "scorer": "grade both with today's scorer: supportbench rescore RESULTS",
    "suites": "bless a run of the old agent on today's suite",
}


def differences(before: Evidence, now: Evidence) -> Iterator[Reason]:
    """Yield each condition in which two runs differ, so that their difference would not be the agent's alone."""
    then, today = before.conditions.to_json(), now.conditions.to_json()
    old, new = _by_name(then.pop("suites")), _by_name(today.pop("suites"))
    for name in sorted(old.keys() | new.keys()):
        if name in old and name in new:
            yield from _suite(name, old[name], new[name], before, now)
        elif name in new or now.shard is None:  # the other shards may have it
            where = "the run" if name in old else "the baseline"
            yield _refused(f"suite {name} is not in {where}", "suites")
    for field in then:
        if then[field] != today[field]:
            text = f"{field.replace('_', ' ')}: {_short(then[field])} before, {_short(today[field])} now"
            yield _refused(text, field)


def _by_name(suites: Iterable[Mapping[str, str]]) -> dict[str, list[Mapping[str, str]]]:
    """Return suites by name, which two folders may share."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for suite in suites:
        found.setdefault(suite["name"], []).append(suite)
    return found


def _suite(
    name: str,
    old: Sequence[Mapping[str, str]],
    new: Sequence[Mapping[str, str]],
    before: Evidence,
    now: Evidence,
) -> Iterator[Reason]:
    for field, label in (
        ("version", "version"),
        ("toolset", "toolset"),
        ("toolset_version", "toolset version"),
    ):
        earlier, later = ([suite[field] for suite in side] for side in (old, new))
        if sorted(earlier) != sorted(later):
            text = (
                f"suite {name}: {label} {_short(', '.join(earlier))} before, {_short(', '.join(later))} now"
            )
            yield _refused(text, "suites")
    if sorted(suite["sha256"] for suite in old) != sorted(suite["sha256"] for suite in new):
        changed = [
            case
            for case in sorted(before.cases.keys() & now.cases.keys())
            if case[0] == name and before.cases[case].sha256 != now.cases[case].sha256
        ]
        names = f" ({named(changed)})" if changed else ""
        yield _refused(f"suite {name}: its files changed{names}", "suites")


def _refused(text: str, field: str) -> Reason:
    remedy = _REMEDY.get(field, "run with the same, or bless a new baseline")
    return Reason("comparable", f"{text}; {remedy}", "INCONCLUSIVE")


def gaps(
    before: Evidence, now: Evidence, rules: Rules, quarantine: Collection[Case] = ()
) -> Iterator[Reason]:
    """Yield what is missing of either side: scenarios, trials, the end of the run, or scores for too many errors.

    Errors of scenarios in ``quarantine`` do not count.
    """
    several = several_suites((*before.cases, *now.cases))
    part = now.shard is not None
    if now.shard is not None:
        yield replace(_gap(part_text(now.shard)), infrastructure=True)
    if before.shard is not None:
        number, of = before.shard
        yield _gap(
            f"the baseline is shard {number}/{of} of a run, and nothing can be judged by one shard; put all of them "
            "together (supportbench merge), and name that run"
        )
    for text, cases in (
        ("in the baseline and not in the run", before.cases.keys() - now.cases.keys()),
        ("in the run and not in the baseline", now.cases.keys() - before.cases.keys()),
    ):
        if cases and not (part and cases.isdisjoint(now.cases)):
            names = named(sorted(cases), several=several)
            yield _gap(f"{counted(len(cases), 'scenario')} {text}: {names}")
    for what, side in (("the run", now), ("the baseline", before)):
        if not side.complete:
            yield _gap(f"{what} has no end: it was stopped or killed")
        yield from _missing(what, side)
        counting = side.without(quarantine)
        trials = (before.without(quarantine) if part else counting).trials
        for reason in _errors(what, counting, trials, rules, several=several):
            yield replace(reason, infrastructure=side is now)


def own_gaps(now: Evidence, rules: Rules) -> Iterator[tuple[Reason, bool]]:
    """Yield what is missing of a run by itself, and whether infrastructure errors are the cause."""
    for reason in _missing("the run", now):
        yield reason, False
    for reason in _errors("the run", now, now.trials, rules, several=several_suites(now.cases)):
        yield reason, True


def _missing(what: str, side: Evidence) -> Iterator[Reason]:
    if side.missing:
        missing = counted(side.missing, "trial")
        yield _gap(f"{what} lacks {missing}; each scenario has {side.conditions.trials}")


def broken(before: Evidence, now: Evidence, rules: Rules) -> bool:
    """Tell whether a run has more infrastructure errors than may be; a shard, whether the whole run has already."""
    trials = before.trials if now.shard is not None else now.trials
    return any(_errors("the run", now, trials, rules, several=False))


def _errors(what: str, side: Evidence, trials: int, rules: Rules, *, several: bool) -> Iterator[Reason]:
    """Yield where errors are too many to judge; ``trials`` are those of the whole run."""
    unknown = sorted(case for case, item in side.cases.items() if item.errors > item.scored)
    if unknown:
        names = named(unknown, several=several)
        yield _gap(f"{what} has mostly infrastructure errors in {counted(len(unknown), 'scenario')}: {names}")
    if side.errors > rules.max_errors * trials:
        share = f"{side.errors} of {trials} trials ({100 * side.errors / trials:.1f} %)"
        yield _gap(f"{what} has infrastructure errors in {share}; at most {100 * rules.max_errors:g} % may")


def part_text(shard: tuple[int, int]) -> str:
    """Return why a shard has no verdict of its own, and what gives one."""
    return (
        f"this is shard {shard[0]}/{shard[1]} of a run, and one shard cannot be judged; "
        "put all of them together (supportbench merge), and judge that run (supportbench compare)"
    )


def _gap(text: str) -> Reason:
    return Reason("integrity", text, "INCONCLUSIVE")


def what_changed(before: Evidence, now: Evidence) -> list[str]:
    """Return in words what differs between the agents: it is what the gate compares, so it is shown, not refused."""
    old, new = shared_fingerprint(before.fingerprint), shared_fingerprint(now.fingerprint)
    return [
        f"{name.replace('_', ' ')}: {_short(old.get(name))} → {_short(new.get(name))}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def _short(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:24]}…{text[-12:]}"  # noqa: PLR2004 - one line of a terminal


def several_suites(cases: Iterable[Case]) -> bool:
    """Tell whether scenarios are of more than one suite, so that their ids alone may mean two of them."""
    return len({suite for suite, _ in cases}) > 1


def named(cases: Sequence[Case], *, several: bool | None = None) -> str:
    """Return scenario ids, the first ten; with the suite's name where ``several``, or where these differ in it."""
    with_suite = several_suites(cases) if several is None else several
    names = [f"{suite}/{scenario}" if with_suite else scenario for suite, scenario in cases[:MAX_NAMED]]
    more = f" and {len(cases) - MAX_NAMED} more" if len(cases) > MAX_NAMED else ""
    return f"{', '.join(names)}{more}"
