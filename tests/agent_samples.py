"""A realistic observation for the tests of agents; changed by keyword."""

from __future__ import annotations

from typing import Any

from pytest_supportbench.protocol import Observation

ACTIONS = (
    ("refund", "resolve", "Money went back to the customer's payment method."),
    ("account_credit", "resolve", "A credit was put on the customer's account."),
    ("update_account", "resolve", "Account, contact, seat or security data was changed."),
    ("cancel", "resolve", "A subscription, renewal or order was cancelled."),
    ("schedule", "resolve", "Something was arranged for a later time."),
    ("answer", "resolve", "The question was answered; nothing had to change."),
    ("partial", "partial", "One part was done; the other was declined or goes elsewhere."),
    ("ask_for_information", "ask", "The customer must say or prove something first."),
    ("decline", "decline", "The request is not allowed; the customer was told why."),
    ("escalate", "escalate", "The case was handed to a person or team through a hand-off tool."),
)


def parameters(required: list[str], **properties: Any) -> dict[str, Any]:
    """Return a tool's parameter schema as pydantic writes them."""
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


TEXT = {"type": "string"}
MAYBE_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
MONEY = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}]}
QUEUES = ["general", "billing", "disputes", "identity", "tier2", "data_protection"]

TOOLS: list[dict[str, Any]] = [
    {
        "name": "list_charges",
        "description": "List the charges of a customer, newest first.",
        "parameters": parameters(["customer_id"], customer_id=TEXT),
    },
    {
        "name": "get_charge",
        "description": "Return one charge.",
        "parameters": parameters(["charge_id"], charge_id=TEXT),
    },
    {
        "name": "list_refunds",
        "description": "List the refunds of a charge.",
        "parameters": parameters(["charge_id"], charge_id=TEXT),
    },
    {
        "name": "issue_refund",
        "description": "Refund a charge in whole or in part.",
        "parameters": parameters(
            ["charge_id", "amount", "currency"],
            charge_id=TEXT,
            amount=MONEY,
            currency=TEXT,
            reason=MAYBE_TEXT,
            idempotency_key=MAYBE_TEXT,
        ),
    },
    {
        "name": "escalate_to_human",
        "description": "Hand the case to a queue of people.",
        "handoff": True,
        "parameters": {
            **parameters(
                ["queue", "reason", "summary"],
                queue={"$ref": "#/$defs/Queue"},
                reason={"enum": ["over_limit", "unverified", "other"], "type": "string"},
                summary=TEXT,
                references={"type": "array", "items": TEXT, "default": []},
            ),
            "$defs": {"Queue": {"enum": QUEUES, "type": "string"}},
        },
    },
]

CASE: dict[str, Any] = {
    "as_of": "2026-03-14T10:30:00-05:00",
    "customer": {
        "message": "I was charged twice again this month. Please send the second 49 dollars back.",
        "history": [{"role": "agent", "message": "Your earlier refund is done."}],
    },
    "account": {
        "customer": [{"id": "cus_1", "name": "Ada Park", "email": "ada@example.com"}],
        "subscriptions": [{"id": "sub_9", "customer_id": "cus_1", "plan": "team", "currency": "USD"}],
    },
    "memory": [{"date": "2026-02-13", "subject": "cus_1", "text": "Charge ch_101 was refunded."}],
    "policies": [
        {
            "id": "duplicate-charge",
            "text": "Two charges for one invoice within 24 hours are duplicates. Refund the later one in full. "
            "Above 250 USD hand over to disputes; the disputes queue answers within a day.",
        },
        {
            "id": "refund-retry",
            "text": "After a timeout look whether the refund exists before trying again; after two failures "
            "hand over to billing.",
        },
    ],
    "tools": TOOLS,
    "actions": [{"name": name, "class": kind, "description": text} for name, kind, text in ACTIONS],
    "slots": ["verification_code", "customer_id", "charge_id", "amount", "other"],
    "transcript": [],
    "turns_left": 6,
    "episode": "e-1",
}

TOOL_RESULT: dict[str, Any] = {
    "role": "tool",
    "tool": "list_charges",
    "arguments": {"customer_id": "cus_1"},
    "status": "ok",
    "result": [{"id": "ch_204", "amount": "49.00", "currency": "USD", "status": "paid"}],
}


def observation(**changes: Any) -> Observation:
    """Return the case, with some of its parts replaced."""
    return Observation.model_validate({**CASE, **changes})
