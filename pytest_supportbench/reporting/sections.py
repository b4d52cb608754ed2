"""The story of one episode as text: the failure itself, and the report sections behind it."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.describe import headline, observed_path, permitted_path
from pytest_supportbench.records import TurnRecord
from pytest_supportbench.reporting.text import MAX_LINES, as_json, clean, wrapped
from pytest_supportbench.results import Result
from pytest_supportbench.scoring import Check, DimensionScore
from pytest_supportbench.scoring.resolution import describe


def failure_text(result: Result) -> str:
    """Return the text of a failed item: the verdict in one paragraph, the dimensions, then each failed check."""
    assert result.score is not None
    lines = [*wrapped(f"{_name(result)}: {headline(result)}", rest="  "), ""]
    lines += _paths(result)
    lines += ["", *_table(result), ""]
    for name, dimension in result.score.dimensions.items():
        if name != "explanation":
            for check in dimension.failures:
                lines += _check(name, check)
    return "\n".join(lines).rstrip()


def _name(result: Result) -> str:
    """Return which episode this is, and that no agent was asked where its replies were stored."""
    marks = {"yes": " (replayed)", "partly": " (partly replayed)", "no": ""}
    return f"{result.bound.scenario.id} with {result.agent}{marks[result.episode.replayed]}"


def _paths(result: Result) -> Iterator[str]:
    scenario = result.bound.scenario
    yield from wrapped(scenario.title, "situation  ")
    yield from wrapped(permitted_path(scenario, result.bound.suite.toolset.specs), "permitted  ")
    yield from wrapped(observed_path(result.episode, result.score), "observed   ")


def _table(result: Result) -> Iterator[str]:
    assert result.score is not None
    for name, dimension in result.score.dimensions.items():
        if name == "explanation":
            yield f"{name:<12} {_share(dimension)}"
            continue
        failed = len(dimension.failures)
        mark = "FAILED" if failed else "passed"
        note = (
            f"{failed} of {len(dimension.checks)} checks failed"
            if failed
            else f"{len(dimension.checks)} checks"
        )
        if dimension.not_assessed:
            note += f", {len(dimension.not_assessed)} not assessed"
        if name == "escalation":
            note = result.score.escalation_class.replace("_", " ")
        yield f"{name:<12} {mark}  {note}"


def _share(dimension: DimensionScore) -> str:
    if dimension.share is None:
        return "–       no concepts to look for"
    found = sum(check.passed is True for check in dimension.checks)
    return f"{dimension.share:.2f}    {found} of {len(dimension.checks)} concepts (part of no verdict)"


def _check(dimension: str, check: Check) -> Iterator[str]:
    code = f"  [{check.code}, by {check.basis}]" if check.code else ""
    yield clean(f"✗ {dimension}: {check.id}{code}")
    yield from wrapped(check.expected, "    expected  ")
    yield from wrapped(check.actual, "    actual    ")
    yield from wrapped(check.reason, "    because   ")


def sections(result: Result, told: str = "") -> Iterator[tuple[str, str]]:
    """Yield titled sections: customer, account, conversation, expected beside actual, scores, agent output.

    ``told`` is what the report says already: where the failure is in it, its checks and scores are not said again.
    """
    name = _name(result)
    if result.score is None and not result.episode.turns:
        return  # nothing happened that would be worth a story
    yield f"{name}: customer", "\n".join(_customer(result))
    yield f"{name}: account and its changes", "\n".join(_account(result))
    yield f"{name}: conversation", "\n".join(_cut(list(_conversation(result))))
    if result.score is not None and failure_text(result) in told:
        yield f"{name}: what held beside that", "\n".join(_cut(list(_expected(result, known=True))))
    elif result.score is not None:
        yield f"{name}: expected beside actual", "\n".join(_cut(list(_expected(result))))
        yield f"{name}: scores", "\n".join(_table(result))
    if result.output:
        yield f"{name}: agent output", clean(result.output)


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= 2 * MAX_LINES:
        return lines
    left = len(lines) - 2 * MAX_LINES
    return [*lines[:MAX_LINES], f"… {left} lines left out; the results file has them …", *lines[-MAX_LINES:]]


def _customer(result: Result) -> Iterator[str]:
    scenario = result.bound.scenario
    for entry in scenario.customer.history:
        yield from wrapped(entry.message, f"{entry.role} (earlier): ", "    ")
    yield from wrapped(scenario.customer.message, "customer: ", "    ")
    yield from wrapped(
        f"{scenario.failure_mode.code} – {scenario.failure_mode.description}", "exposes:  ", "    "
    )


def _account(result: Result) -> Iterator[str]:
    from pytest_supportbench.conversation import make_environment  # noqa: PLC0415 - only failing items show it

    account = make_environment(result.bound).account(result.bound.scenario.visible)
    for table, rows in account.items():
        for row in rows:
            yield from wrapped(as_json(row), f"{table}: ", "    ")
    if not result.episode.changes:
        yield "changes: none"
    for change in result.episode.changes:
        yield from wrapped(describe(change), "changed: ", "    ")


def _conversation(result: Result) -> Iterator[str]:
    for record in result.episode.turns:
        yield from _turn(record)
        for call in result.episode.calls:
            if call.turn == record.number:
                yield from call_lines(call)
        if record.customer_reply is not None:
            who = "simulated customer: " if record.simulated else "customer: "
            yield from wrapped(record.customer_reply, who, "    ")
    ending = result.episode.ending.replace("_", " ")
    yield f"ended: {ending}"
    if result.episode.failure:
        yield from wrapped(result.episode.failure, "failure: ", "    ")
    if result.episode.error is not None:
        error = result.episode.error
        yield from wrapped(f"{error.cause}: {error.message}; {error.remedy}", "error: ", "    ")


def _turn(record: TurnRecord) -> Iterator[str]:
    mark = ", replayed" if record.replayed else ""
    if record.turn is None:
        yield from wrapped(f"invalid reply: {record.invalid}", f"turn {record.number}{mark}: ", "    ")
        yield from wrapped(record.excerpt, "    ", "    ")
        return
    sent = "to the customer" if record.delivered else "draft, not delivered"
    action = record.turn.action or "no action yet"
    asks = f", asks for {', '.join(record.turn.asks_for)}" if record.turn.asks_for else ""
    yield clean(f"turn {record.number}{mark}: {action}{asks}")
    if record.turn.message:
        yield from wrapped(record.turn.message, f"agent ({sent}): ", "    ")


def call_lines(call: CallRecord) -> Iterator[str]:
    """Yield a call with its arguments, and what came back."""
    fault = f" (injected fault: {call.fault})" if call.fault else ""
    committed = " committed" if call.committed and call.error else ""
    yield from wrapped(f"{call.tool} {as_json(call.arguments)}", "  → ", "    ")
    if call.error is not None:
        yield from wrapped(
            f"{call.status}{committed}: {call.error.code}: {call.error.message}{fault}", "  ← ", "    "
        )
    if call.result is not None or call.error is None:
        yield from wrapped(f"{as_json(call.result)}{'' if call.error else fault}", "  ← ", "    ")


def _expected(result: Result, *, known: bool = False) -> Iterator[str]:
    """Show what did not hold at length, unless the failure's text has made it ``known``, and what held by name."""
    assert result.score is not None
    held = []
    for name, dimension in result.score.dimensions.items():
        for check in dimension.checks:
            if check.passed is True:
                held.append(f"{name} {check.id}")
                continue
            if known and check.passed is False and name != "explanation":
                continue
            yield clean(f"{'✗' if check.passed is False else '?'} {name}: {check.id}")
            yield from wrapped(check.expected, "    expected  ")
            yield from wrapped(check.actual, "    actual    ")
    if held:
        yield from wrapped(", ".join(held), "✓ held: ", "    ")
