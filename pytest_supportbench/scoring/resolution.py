"""Resolution: did the agent choose an expected outcome, and did the account end as it should?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from pytest_supportbench.calls import Change
from pytest_supportbench.matchers import ABSENT, mismatch
from pytest_supportbench.scoring.assignment import value_at
from pytest_supportbench.scoring.context import Judgement
from pytest_supportbench.scoring.facts import check_fact
from pytest_supportbench.scoring.language import KNOWN_LANGUAGES, detect_language
from pytest_supportbench.scoring.model import Check, DimensionScore, brief
from pytest_supportbench.scoring.text import normalise


def score_resolution(judged: Judgement) -> DimensionScore:
    """Judge the action, the message, the end state, collateral changes and the facts that must be told."""
    checks = [
        _action(judged),
        _message(judged),
        *_state(judged),
        _collateral(judged),
        *_language(judged),
        *_facts(judged),
    ]
    return DimensionScore("resolution", tuple(checks))


def _action(judged: Judgement) -> Check:
    wanted = judged.alternative.actions
    episode = judged.episode
    got = episode.action
    actual = got or f"no final action ({episode.ending.replace('_', ' ')})"
    if episode.failure:
        actual = f"{actual}: {episode.failure.strip().splitlines()[0]}"
    return Check(
        "action",
        got in wanted,
        " or ".join(wanted),
        brief(actual),
        f"the right outcome follows from {', '.join(judged.alternative.because)}",
    )


def _message(judged: Judgement) -> Check:
    delivered = judged.episode.delivered
    told = bool(delivered) and bool(normalise(delivered[-1]).strip())
    return Check(
        "message",
        told,
        "a message to the customer at the end",
        "there is one" if told else "silence",
        "a customer who hears nothing does not know what became of the case",
    )


def _language(judged: Judgement) -> Iterator[Check]:
    """Check that the customer is told all in a language of theirs, unless the scenario states one as a fact.

    Each message counts, and all together, which leave less doubt. A language that is not known might be taken for its
    neighbour, so there is no check for customers who speak one.
    """
    facts = (must for other in judged.scenario.expected for must in other.must_state)
    if any(must.value.language for must in facts):
        return
    customer = judged.scenario.customer
    if customer.language not in KNOWN_LANGUAGES:
        return
    foreign = next(_foreign(judged), None)
    yield Check(
        "language",
        foreign is None,
        f"the customer's language ({customer.language})",
        foreign or judged.told.evident_language or "not evident",
        "an answer that the customer cannot read is none",
        basis="text",
    )


def _foreign(judged: Judgement) -> Iterator[str]:
    """Yield the languages that a message is evidently in and the customer had not written in before it."""
    told = [
        (record.number, record.turn.message)
        for record in judged.episode.turns
        if record.turn and record.delivered
    ]
    if len(told) != 1:
        told.append((told[-1][0] if told else 0, judged.told.text))
    own = judged.scenario.customer.language
    for number, message in told:
        found = judged.reading_of(message).evident_language
        if found and found != own and found != detect_language(judged.customer_words(number)):
            yield found


def _state(judged: Judgement) -> Iterator[Check]:
    changes = {change.path: change for change in judged.episode.changes}
    for path, matcher in judged.alternative.state.items():
        actual = _value(judged, changes, path)
        reason = mismatch(matcher, actual)
        yield Check(
            f"state:{path}",
            reason is None,
            brief(_plain(matcher)),
            "absent" if actual is ABSENT else brief(actual),
            "the account must end as the outcome says",
        )


def _plain(matcher: Any) -> Any:
    dump = getattr(matcher, "model_dump", None)
    return dump(mode="json", exclude_unset=True, by_alias=True) if dump else matcher


def _value(judged: Judgement, changes: dict[str, Change], path: str) -> Any:
    """Return the value at ``table.id[.field…]`` in the end state: the initial one with the episode's changes."""
    table, key, *rest = path.split(".")
    whole = changes.get(f"{table}.{key}")
    if whole is not None:
        return ABSENT if whole.after is None else value_at(whole.after, rest)
    record = judged.bound.state.tables.get(table, {}).get(key)
    if record is None:
        return ABSENT
    if rest and rest[0] in type(record).model_fields:
        change = changes.get(f"{table}.{key}.{rest[0]}")
        if change is not None:
            return value_at(change.after, rest[1:])
    row = record.model_dump(mode="json", include={rest[0]} if rest else None)
    for field in row:
        change = changes.get(f"{table}.{key}.{field}")
        if change is not None:
            row[field] = change.after
    return value_at(row, rest)


def _collateral(judged: Judgement) -> Check:
    unexplained = _unexplained(judged)
    return Check(
        "collateral",
        not unexplained,
        "no change beyond the expected ones",
        brief("; ".join(describe(change) for change in unexplained[:4])) if unexplained else "none",
        "a change that nobody asked for harms the account",
    )


def _unexplained(judged: Judgement) -> list[Change]:
    stated = judged.alternative.state
    consumed = judged.assignment.consumed
    exact = {
        call.number
        for need, call in zip(judged.assignment.required, judged.assignment.met, strict=True)
        if call is not None and need.exact
    }
    foreign = {
        change.path
        for call in judged.episode.calls
        if call.number not in exact
        and not (call.tool in judged.alternative.also_allowed and call.number not in consumed)
        and not (call.handoff and judged.alternative.escalation != "must_not")
        for change in call.changes
    }
    if not foreign:
        return []
    counted = [change for change in judged.episode.changes if change.counts]
    left = [change for change in counted if _overlaps(change, foreign) and not _is_stated(change, stated)]
    if not left:
        return left
    explained = [change for change in counted if change not in left]
    return _not_in_reference(left, judged.reference_changes(), explained)


def _overlaps(change: Change, paths: set[str]) -> bool:
    """Tell whether one of the paths is the change's own, within its record, or the record that it is in."""
    record = f"{change.table}.{change.id}"
    return (
        change.path in paths
        or record in paths
        or (change.field is None and any(path.startswith(f"{record}.") for path in paths))
    )


def _is_stated(change: Change, stated: Any) -> bool:
    return any(change.path == path or path.startswith(f"{change.path}.") for path in stated)


def _not_in_reference(
    changes: list[Change], reference: tuple[Change, ...], explained: list[Change]
) -> list[Change]:
    """Drop the changes that the reference makes too; a created record is compared without its generated id.

    Each record that the reference creates excuses one: an ``explained`` one like it has used it up.
    """
    fields = {(change.path, repr(change.after)) for change in reference if change.field}
    created = [(change.table, _without_id(change.after)) for change in reference if not change.field]
    for change in explained:
        key = (change.table, _without_id(change.after))
        if not change.field and key in created:
            created.remove(key)
    left = []
    for change in changes:
        if change.field:
            if (change.path, repr(change.after)) not in fields:
                left.append(change)
        else:
            key = (change.table, _without_id(change.after))
            if key in created:
                created.remove(key)
            else:
                left.append(change)
    return left


def _without_id(row: Any) -> Any:
    return {name: value for name, value in row.items() if name != "id"} if isinstance(row, dict) else row


def describe(change: Change) -> str:
    """Return a change in one line, such as ``charges.ch_204.status: paid → refunded``."""
    if change.field is None:
        return f"{change.path} {'created' if change.before is None else 'removed'}"
    return f"{change.path}: {brief(change.before)} → {brief(change.after)}"


def _facts(judged: Judgement) -> Iterator[Check]:
    if not judged.alternative.must_state:
        return
    for must in judged.alternative.must_state:
        finding = check_fact(must, judged.told, judged.scenario.customer.language)
        passed = finding.stated and finding.contradicted_by is None
        kind = must.value.kind
        value = getattr(must.value, kind)
        wanted = f"{kind} {brief(str(value) if isinstance(value, Decimal) else value)}"
        if finding.contradicted_by is not None:
            actual = f"contradicted by {finding.contradicted_by}"
        else:
            actual = ", ".join(finding.seen) or "not said"
        yield Check(
            f"fact:{must.fact}",
            passed,
            wanted,
            brief(actual),
            "the customer must be told this, and told it right",
            basis="text",
        )
