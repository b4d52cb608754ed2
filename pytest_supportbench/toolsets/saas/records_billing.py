"""Records about money: plans, subscriptions, charges, invoices, refunds, credits, disputes, orders.

Each declares ``currency`` before its amounts, so that amounts are checked against the currency's digits.
"""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Literal, TypeAlias

from pydantic import AwareDatetime, ConfigDict, Field

from pytest_supportbench.state import Deed, Record
from pytest_supportbench.toolsets.saas.money import Amount, Currency

CreditKind: TypeAlias = Literal[
    "goodwill", "proration", "service_level", "refund_alternative", "promotion", "correction", "other"
]


class Plan(Record):
    """A plan in the catalogue; ``amount`` is the price of one seat for one ``interval``."""

    model_config = ConfigDict(validate_default=True)

    name: str = ""
    currency: Currency
    amount: Amount
    interval: Literal["month", "year"] = "month"
    limits: Mapping[str, str] = Field(default_factory=dict)


class Billing(Record):
    """Base of what a customer pays or gets; the payer may see it, and the workspace that it is for.

    Defaults are validated, so that a default amount has its currency's digits from the start.
    """

    model_config = ConfigDict(validate_default=True)

    owners = ("customer_id", "workspace_id")

    customer_id: str
    workspace_id: str | None = None


class Subscription(Billing):
    """A running contract for a plan; ``amount`` is the price of one period for all ``quantity`` seats."""

    volatile = frozenset({"cancelled_at", "version"})

    plan: str
    status: Literal["trialing", "active", "past_due", "cancelled"] = "active"
    currency: Currency = "USD"
    amount: Amount = Decimal("0.00")
    interval: Literal["month", "year"] = "month"
    quantity: int = Field(default=1, ge=1)
    started_at: AwareDatetime | None = None
    current_period_start: AwareDatetime | None = None
    current_period_end: AwareDatetime | None = None
    auto_renew: bool = True
    next_plan: str | None = None
    cancel_at: AwareDatetime | None = None
    cancelled_at: AwareDatetime | None = None
    undo_until: AwareDatetime | None = None
    version: int = 1

    def evidence(self) -> frozenset[Deed]:
        """Return that a cancellation happened, where it ended or will not renew."""
        ends = self.status == "cancelled" or self.cancel_at is not None or not self.auto_renew
        return frozenset({"cancellation"}) if ends else frozenset()


class Charge(Billing):
    """A payment taken; ``credit_share`` is the part of ``amount`` that account credit paid."""

    subscription_id: str | None = None
    invoice_id: str | None = None
    order_id: str | None = None
    currency: Currency
    amount: Amount
    credit_share: Amount = Decimal(0)
    status: Literal["pending", "succeeded", "failed", "partially_refunded", "refunded", "disputed"] = (
        "succeeded"
    )
    charged_at: AwareDatetime | None = None
    method: str = "card"
    description: str = ""


class Invoice(Billing):
    """A bill; ``amount`` includes ``tax_amount``; ``retained_until`` is how long the law keeps it."""

    subscription_id: str | None = None
    currency: Currency
    amount: Amount
    tax_amount: Amount = Decimal(0)
    credit_applied: Amount = Decimal(0)
    status: Literal["draft", "open", "past_due", "paid", "void"] = "paid"
    issued_on: date | None = None
    due_on: date | None = None
    retained_until: date | None = None
    partner_id: str | None = None
    lines: tuple[str, ...] = ()


class Refund(Billing):
    """Money on its way back, or back, for one charge."""

    free_text = frozenset({"reason"})
    volatile = frozenset({"requested_at", "idempotency_key"})

    charge_id: str
    currency: Currency
    amount: Amount
    status: Literal["pending", "succeeded", "failed"] = "succeeded"
    requested_at: AwareDatetime | None = None
    expected_by: date | None = None
    reason: str | None = None
    idempotency_key: str | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a refund happened, unless it failed."""
        return frozenset() if self.status == "failed" else frozenset({"refund"})


class Credit(Billing):
    """Credit on an account."""

    free_text = frozenset({"note", "kind", "reference"})
    volatile = frozenset({"granted_at", "idempotency_key"})

    currency: Currency
    amount: Amount
    kind: CreditKind = "goodwill"
    status: Literal["available", "used", "expired", "revoked"] = "available"
    granted_at: AwareDatetime | None = None
    expires_on: date | None = None
    reference: str | None = None
    note: str | None = None
    idempotency_key: str | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a credit was given, unless it was revoked."""
        return frozenset() if self.status == "revoked" else frozenset({"credit"})


class Dispute(Billing):
    """A chargeback that the customer opened with their bank."""

    charge_id: str
    currency: Currency
    amount: Amount
    status: Literal["open", "won", "lost", "withdrawn"] = "open"
    opened_at: AwareDatetime | None = None
    evidence_due_on: date | None = None
    reason: str | None = None


class PaymentPlan(Billing):
    """An invoice paid in parts; ``parts`` sum to ``amount``, one a month from ``first_due_on``."""

    volatile = frozenset({"idempotency_key", "first_due_on"})

    invoice_id: str
    currency: Currency
    amount: Amount
    parts: tuple[Decimal, ...] = Field(min_length=1)
    first_due_on: date
    status: Literal["active", "finished", "defaulted"] = "active"
    idempotency_key: str | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a payment plan was set up."""
        return frozenset({"payment_plan"})


class Order(Billing):
    """Goods that were ordered."""

    currency: Currency
    amount: Amount
    items: tuple[str, ...] = ()
    status: Literal["placed", "shipped", "delivered", "returned", "cancelled"] = "placed"
    placed_at: AwareDatetime | None = None
    delivered_on: date | None = None
    expected_on: date | None = None
    tracking: str | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a cancellation happened, where the order is cancelled."""
        return frozenset({"cancellation"}) if self.status == "cancelled" else frozenset()
