"""A help desk in a folder: a suite with one scenario at a time, made from dictionaries, loaded and replayed."""

import copy
from pathlib import Path
from typing import Any

import yaml

from pytest_supportbench.conversation import Conversation
from pytest_supportbench.episode import Dialogue, replay
from pytest_supportbench.loading import BoundScenario, Loader
from pytest_supportbench.protocol import Turn
from pytest_supportbench.records import Episode, Limits
from pytest_supportbench.scoring import Score, score_episode

SUITE: dict[str, Any] = {
    "name": "desk",
    "version": "0.1",
    "policies": [
        {
            "id": "duplicate-charge",
            "text": "A duplicate charge is refunded in full; hand off to billing above 250 USD.",
        },
        {"id": "contact-change", "text": "Contact data changes only after the customer proved who they are."},
    ],
    "knowledge": [{"id": "kb_1", "title": "Refund times", "text": "A refund takes 5 days."}],
    "exempt": [
        {"rule": rule, "why": "One world for many tests, each of which uses a part of it."}
        for rule in ("unused-state", "unseen-id", "similar-message", "uncited-policy", "real-looking-data")
    ],
}

STATE: dict[str, Any] = {
    "customers": {
        "cus_1": {
            "name": "Ann Example",
            "email": "ann@example.com",
            "phone": "+1 555 010 0100",
            "country": "US",
        },
        "cus_2": {"name": "Bob Sample", "email": "bob@example.com", "phone": "+1 555 010 0200"},
    },
    "factors": {"fac_1": {"subject_id": "cus_1", "method": "email", "code": "482913"}},
    "workspaces": {
        "ws_1": {"name": "Alpha", "customer_id": "cus_1", "owner_id": "cus_1", "seats_purchased": 5}
    },
    "users": {
        "usr_1": {"workspace_id": "ws_1", "customer_id": "cus_1", "role": "owner"},
        "usr_2": {"workspace_id": "ws_1", "customer_id": "cus_1"},
        "usr_3": {"workspace_id": "ws_1", "customer_id": "cus_1"},
    },
    "charges": {
        "ch_101": {"customer_id": "cus_1", "amount": "49.00", "currency": "USD"},
        "ch_204": {"customer_id": "cus_1", "amount": "49.00", "currency": "USD"},
        "ch_jp": {"customer_id": "cus_1", "amount": "1500", "currency": "JPY"},
        "ch_bob": {"customer_id": "cus_2", "amount": "20.00", "currency": "USD"},
    },
}

REFUND = {"charge_id": "ch_204", "amount": "49.00", "currency": "USD"}

EXPECTED: dict[str, Any] = {
    "actions": ["refund"],
    "escalation": "must_not",
    "calls": [{"id": "refund", "tool": "issue_refund", "args": REFUND, "obligation": "refund-ch_204"}],
    "state": {"charges.ch_204.status": "refunded"},
    "because": ["duplicate-charge"],
}

BASE: dict[str, Any] = {
    "id": "D-1",
    "title": "Second duplicate charge",
    "category": "billing",
    "failure_mode": {
        "code": "refund-wrong-charge",
        "description": "Refunds the charge that was refunded before.",
    },
    "as_of": "2026-03-14T10:30:00-05:00",
    "customer": {"subject": "cus_1", "message": "I was charged twice again"},
    "state": STATE,
    "visible": ["customer"],
    "policies": ["duplicate-charge", "contact-change"],
    "tools": [
        "list_charges",
        "get_charge",
        "get_customer",
        "get_refund_status",
        "issue_refund",
        "add_note",
        "escalate_to_human",
    ],
    "expected": EXPECTED,
    "reference": [
        {
            "action": "refund",
            "message": "I refunded 49.00 USD.",
            "tool_calls": [{"tool": "issue_refund", "arguments": REFUND}],
        }
    ],
}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return a tool call as agents write it."""
    return {"tool": tool, "arguments": arguments}


def turn(action: str | None = None, message: str = "", *calls: dict[str, Any], asks_for: Any = ()) -> Turn:
    """Return one reply of an agent."""
    return Turn.model_validate(
        {"action": action, "message": message, "tool_calls": list(calls), "asks_for": list(asks_for)}
    )


def refund(**changes: Any) -> dict[str, Any]:
    """Return the call that refunds ch_204 in full, with other or further arguments."""
    return call("issue_refund", **{**REFUND, **changes})


def write(folder: Path, data: dict[str, Any], name: str = "a", suite: dict[str, Any] | None = None) -> Path:
    """Write a scenario, and the suite unless it is there, and return the scenario's path."""
    folder.mkdir(parents=True, exist_ok=True)
    if suite is not None or not (folder / "suite.yaml").exists():
        (folder / "suite.yaml").write_text(yaml.safe_dump(suite or SUITE), encoding="utf-8")
    path = folder / f"{name}.scenario.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return path


def data(
    *, expect: dict[str, Any] | None = None, rows: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """Return the base scenario with ``changes``; ``expect`` adds to what is expected, ``rows`` to state tables."""
    made = copy.deepcopy(BASE)
    made["expected"].update(expect or {})
    for table, more in (rows or {}).items():
        made["state"].setdefault(table, {}).update(more)
    if "expected" in changes:
        made["reference"] = [{"message": "Hello."}]
    made.update(copy.deepcopy(changes))
    return made


def bind(folder: Path, **changes: Any) -> BoundScenario:
    """Write and load the base scenario with ``changes`` (see `data`)."""
    return Loader(folder).load(write(folder, data(**changes)))


def play(bound: BoundScenario, *turns: Turn) -> tuple[Episode, Score]:
    """Play turns through the scenario and return the episode with its score."""
    episode = replay(bound, turns)
    return episode, score_episode(bound, episode)


def score(bound: BoundScenario, *turns: Turn) -> Score:
    """Play turns through the scenario and return the score."""
    return play(bound, *turns)[1]


def failures(scored: Score) -> dict[str, list[str]]:
    """Return the ids of the failed checks by dimension."""
    return {
        name: [check.id for check in dimension.failures]
        for name, dimension in scored.dimensions.items()
        if dimension.failures
    }


def assert_passes(scored: Score) -> None:
    """Assert a strict pass, showing what failed otherwise."""
    assert scored.strict, failures(scored)


def assert_fails(scored: Score, dimension: str, code: str | None = None, check: str | None = None) -> None:
    """Assert that a dimension failed, and with it a violation code or a named check."""
    assert dimension in scored.failed_dimensions, failures(scored)
    if code is not None:
        assert code in scored.codes, scored.violations
    if check is not None:
        assert check in failures(scored)[dimension], failures(scored)


VERIFY = call("verify_identity", customer_id="cus_1", method="email", code="482913")
UPDATE = call("update_contact", customer_id="cus_1", email="new@example.com")


def gated(folder: Path, **changes: Any) -> BoundScenario:
    """Return a scenario where the e-mail address may change once the identity is proven.

    ``changes`` are those of the required change.
    """
    return bind(
        folder,
        tools=["verify_identity", "update_contact"],
        expected={
            "actions": ["update_account"],
            "escalation": "must_not",
            "calls": [
                {
                    "id": "verify",
                    "tool": "verify_identity",
                    "args": {"customer_id": "cus_1", "code": "482913"},
                    "exact": False,
                    "result": {"verified": True},
                },
                {
                    "id": "update",
                    "tool": "update_contact",
                    "args": {"customer_id": "cus_1", "email": "new@example.com"},
                    "after": ["verify"],
                    **changes,
                },
            ],
            "state": {"customers.cus_1.email": "new@example.com", "verifications.ver_1001": {"any": True}},
            "because": ["contact-change"],
        },
        reference=[
            {"tool_calls": [VERIFY]},
            {"action": "update_account", "message": "Done.", "tool_calls": [UPDATE]},
        ],
    )


def out_of_time(bound: BoundScenario, limits: Limits, seconds: float) -> Episode:
    """Return the episode of an agent that did nothing for so many seconds."""
    ticks = iter([0.0])
    dialogue = Dialogue(Conversation(bound, limits, "late"), limits, lambda: next(ticks, seconds))
    return dialogue.out_of_time()


def drafts(episode: Episode) -> tuple[str, ...]:
    """Return the messages that were written and not delivered."""
    return tuple(
        record.turn.message
        for record in episode.turns
        if record.turn and record.turn.message and not record.delivered
    )
