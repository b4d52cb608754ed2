"""Whether two runs can be compared at all: what must be equal, and what is missing of either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_supportbench.baseline import shared_fingerprint
from pytest_supportbench.counted import counted
from pytest_supportbench.evidence import Case, Evidence
from pytest_supportbench.gate_rules import Reason, Rules

MAX_NAMED: Final = 10

_REMEDY: Final = {
    "scorer": "grade both with today's scorer: supportbench rescore RESULTS",
    "suites": "run the baseline's agent on today's suite, and bless that",
}


def differences(before: Evidence, now: Evidence) -> Iterator[Reason]:
    """Yield each condition in which two runs differ, so that their difference would not be the agent's alone."""
    then, today = before.conditions.to_json(), now.conditions.to_json()
    suites = {suite["name"]: suite for suite in then.pop("suites")}
    suites_now = {suite["name"]: suite for suite in today.pop("suites")}
    for name in sorted(suites.keys() | suites_now.keys()):
        old, new = suites.get(name), suites_now.get(name)
        if old is None or new is None:
            where = "the run" if new is None else "the baseline"
            yield _refused(f"the suite {name!r} is not in {where}", "suites")
            continue
        for field, label in (
            ("version", "version"),
            ("toolset", "toolset"),
            ("toolset_version", "toolset's version"),
        ):
            if old[field] != new[field]:
                yield _refused(f"suite {name!r}: its {label} was {old[field]}, now {new[field]}", "suites")
        if old["sha256"] != new["sha256"]:
            changed = _changed_cases(before, now, name)
            yield _refused(f"suite {name!r}: its files changed since the baseline{changed}", "suites")
    for field in then:
        if then[field] != today[field]:
            yield _refused(f"{field.replace('_', ' ')} was {then[field]}, now {today[field]}", field)


def _changed_cases(before: Evidence, now: Evidence, suite: str) -> str:
    changed = [
        case
        for case in sorted(before.cases.keys() & now.cases.keys())
        if case[0] == suite and before.cases[case].sha256 != now.cases[case].sha256
    ]
    return f" ({named(changed)})" if changed else ""


def _refused(text: str, field: str) -> Reason:
    remedy = _REMEDY.get(field, "run with the baseline's settings, or bless a new baseline")
    return Reason("comparable", f"{text}; {remedy}", "INCONCLUSIVE")


def gaps(before: Evidence, now: Evidence, rules: Rules) -> Iterator[Reason]:
    """Yield what is missing of either side: scenarios, trials, the end of the run, or scores for too many errors."""
    if not now.complete:
        yield _gap("the run has no end: it was stopped or killed, or it ran a part only")
    for text, cases in (
        ("in the baseline and not in the run", before.cases.keys() - now.cases.keys()),
        ("in the run and not in the baseline", now.cases.keys() - before.cases.keys()),
    ):
        if cases:
            yield _gap(f"{counted(len(cases), 'scenario')} {text}: {named(sorted(cases))}")
    if now.missing:
        yield _gap(f"{counted(now.missing, 'trial')} missing of {now.conditions.trials} a scenario")
    for what, side in (("the run", now), ("the baseline", before)):
        unknown = sorted(case for case, item in side.cases.items() if not item.scored)
        if unknown:
            yield _gap(
                f"{what} has only infrastructure errors for {counted(len(unknown), 'scenario')}: {named(unknown)}"
            )
    if now.errors > rules.max_errors * now.trials:
        share = 100 * now.errors / now.trials
        yield _gap(
            f"{now.errors} of {now.trials} trials ({share:.1f} %) ended in infrastructure errors; "
            f"at most {100 * rules.max_errors:g} % may"
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


def named(cases: Sequence[Case]) -> str:
    """Return scenario ids, the first ten, with the suite's name only where there are several."""
    several = len({suite for suite, _ in cases}) > 1
    names = [f"{suite}/{scenario}" if several else scenario for suite, scenario in cases[:MAX_NAMED]]
    more = f" and {len(cases) - MAX_NAMED} more" if len(cases) > MAX_NAMED else ""
    return f"{', '.join(names)}{more}"
