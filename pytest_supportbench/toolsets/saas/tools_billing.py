"""Tools about money: charges, invoices, refunds, credits, disputes, payment plans.

The ledger is enforced (currency, digits, what is left to refund); what may be refunded to whom is not.
"""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from pytest_supportbench.tools import ToolError, tool
from pytest_supportbench.toolsets.saas.base import SaasTools, amount_in
from pytest_supportbench.toolsets.saas.money import Currency, Money, instalments, text
from pytest_supportbench.toolsets.saas.parameters import (
    CustomerId,
    IdempotencyKey,
    Prose,
    RecordId,
    Reference,
)
from pytest_supportbench.toolsets.saas.records_billing import (
    Charge,
    Credit,
    CreditKind,
    Dispute,
    Invoice,
    PaymentPlan,
    Refund,
)


class BillingTools(SaasTools):
    """The ledger."""

    @tool("reads")
    def list_charges(self, customer_id: CustomerId) -> list[Charge]:
        """List the payments taken from a customer."""
        self.customer(customer_id)
        return self.where(self.state.charges, customer_id=customer_id)

    @tool("reads")
    def get_charge(self, charge_id: RecordId) -> dict[str, Any]:
        """Return one payment, with how much of it is not refunded yet."""
        charge = self._charge(charge_id)
        return {**charge.shown(), "refundable": self._left(charge)}

    @tool("reads")
    def list_invoices(self, customer_id: CustomerId) -> list[Invoice]:
        """List a customer's invoices."""
        self.customer(customer_id)
        return self.where(self.state.invoices, customer_id=customer_id)

    @tool("reads")
    def get_invoice(self, invoice_id: RecordId) -> dict[str, Any]:
        """Return one invoice with the payments taken for it."""
        invoice = self.get(self.state.invoices, invoice_id, "invoice")
        return {**invoice.shown(), "charges": self.where(self.state.charges, invoice_id=invoice_id)}

    @tool("writes", does="refund", free_text=("reason",))
    def issue_refund(
        self,
        charge_id: RecordId,
        amount: Money,
        currency: Currency,
        *,
        reason: Prose | None = None,
        idempotency_key: IdempotencyKey = None,
    ) -> Refund:
        """Send money of one charge back the way it was paid, wholly or in part."""
        charge = self._charge(charge_id)
        fitted = amount_in(amount, currency, charge.currency, f"the charge {charge_id!r}")
        if charge.status in {"pending", "failed"}:
            raise ToolError(
                "not_refundable", f"the charge {charge_id!r} is {charge.status}; no money was taken"
            )
        left = self._left(charge)
        if fitted > left:
            raise ToolError(
                "exceeds_refundable",
                f"{text(fitted, currency)} is more than is left of {charge_id!r}: {text(left, currency)}",
            )
        refund = Refund(
            id=self.new_id("rf", self.state.refunds),
            customer_id=charge.customer_id,
            workspace_id=charge.workspace_id,
            charge_id=charge_id,
            currency=currency,
            amount=fitted,
            requested_at=self.now,
            reason=reason,
            idempotency_key=idempotency_key,
        )
        status = "refunded" if fitted == left else "partially_refunded"
        self.change(self.state.charges, charge, status=status)
        return self.put(self.state.refunds, refund)

    @tool("reads")
    def list_refunds(self, customer_id: CustomerId) -> list[Refund]:
        """List the refunds made to a customer."""
        self.customer(customer_id)
        return self.where(self.state.refunds, customer_id=customer_id)

    @tool("reads")
    def get_refund(self, refund_id: RecordId) -> Refund:
        """Return one refund with its state."""
        return self.get(self.state.refunds, refund_id, "refund")

    @tool("reads")
    def get_refund_status(
        self,
        idempotency_key: Annotated[
            str | None, Field(max_length=200, description="The key that the refund was sent with")
        ] = None,
        charge_id: RecordId | None = None,
    ) -> dict[str, Any]:
        """Tell whether the ledger has a refund sent with a key, or refunds of a charge."""
        if idempotency_key is None and charge_id is None:
            raise ToolError("invalid_arguments", "give an idempotency_key, a charge_id, or both")
        values: dict[str, str] = {}
        if idempotency_key is not None:
            values["idempotency_key"] = idempotency_key
        if charge_id is not None:
            self._charge(charge_id)
            values["charge_id"] = charge_id
        found = self.where(self.state.refunds, **values)
        return {"found": bool(found), "refunds": found}

    @tool("writes", does="credit", free_text=("kind", "note", "reference"))
    def apply_credit(
        self,
        customer_id: CustomerId,
        amount: Money,
        currency: Currency,
        *,
        kind: CreditKind,
        note: Prose | None = None,
        reference: Reference = None,
        idempotency_key: IdempotencyKey = None,
    ) -> Credit:
        """Put credit on a customer's account, to be used for future invoices."""
        self.customer(customer_id)
        credit = Credit(
            id=self.new_id("cr", self.state.credits),
            customer_id=customer_id,
            currency=currency,
            amount=amount_in(amount, currency, currency, "the credit"),
            kind=kind,
            granted_at=self.now,
            note=note,
            reference=reference,
            idempotency_key=idempotency_key,
        )
        return self.put(self.state.credits, credit)

    @tool("reads")
    def list_credits(self, customer_id: CustomerId) -> list[Credit]:
        """List the credits given to a customer, with kind and date."""
        self.customer(customer_id)
        return self.where(self.state.credits, customer_id=customer_id)

    @tool("reads")
    def list_disputes(self, customer_id: CustomerId) -> list[Dispute]:
        """List the chargebacks that a customer opened with their bank."""
        self.customer(customer_id)
        return self.where(self.state.disputes, customer_id=customer_id)

    @tool("reads")
    def get_dispute(self, dispute_id: RecordId) -> Dispute:
        """Return one chargeback with its state."""
        return self.get(self.state.disputes, dispute_id, "dispute")

    @tool("writes", does="payment_plan", free_text=("first_due_on",))
    def set_payment_plan(
        self,
        invoice_id: RecordId,
        parts: Annotated[int, Field(ge=2, le=60, description="Number of monthly instalments")],
        first_due_on: Annotated[date | None, Field(description="Day of the first instalment")] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> PaymentPlan:
        """Let an unpaid invoice be paid in equal monthly instalments."""
        invoice = self.get(self.state.invoices, invoice_id, "invoice")
        if invoice.status not in {"open", "past_due"}:
            raise ToolError("not_payable", f"the invoice {invoice_id!r} is {invoice.status}")
        if self.where(self.state.payment_plans, invoice_id=invoice_id, status="active"):
            raise ToolError("already_exists", f"the invoice {invoice_id!r} has a payment plan already")
        due = invoice.amount - invoice.credit_applied
        plan = PaymentPlan(
            id=self.new_id("pp", self.state.payment_plans),
            customer_id=invoice.customer_id,
            workspace_id=invoice.workspace_id,
            invoice_id=invoice_id,
            currency=invoice.currency,
            amount=due,
            parts=instalments(due, invoice.currency, parts),
            first_due_on=first_due_on or self.now.date(),
            idempotency_key=idempotency_key,
        )
        return self.put(self.state.payment_plans, plan)

    @tool("reads")
    def list_payment_plans(self, customer_id: CustomerId) -> list[PaymentPlan]:
        """List a customer's payment plans."""
        self.customer(customer_id)
        return self.where(self.state.payment_plans, customer_id=customer_id)

    def _charge(self, charge_id: str) -> Charge:
        return self.get(self.state.charges, charge_id, "charge")

    def _left(self, charge: Charge) -> Decimal:
        """Return how much of a charge no refund has taken; nothing of one that says it is refunded."""
        if charge.status == "refunded":
            return charge.amount - charge.amount
        taken = sum(
            (
                row.amount
                for row in self.state.refunds.values()
                if row.charge_id == charge.id and row.status != "failed"
            ),
            Decimal(0),
        )
        return charge.amount - taken
