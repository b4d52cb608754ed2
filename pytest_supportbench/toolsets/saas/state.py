"""The state of the support toolset: one table per kind of record, each empty unless the scenario fills it.

Each is made by a factory, since pydantic copies a default of ``{}`` ten times slower, for every scenario.
"""

from collections import defaultdict
from decimal import Decimal
from typing import Self

from pydantic import Field, model_validator

from pytest_supportbench.state import State
from pytest_supportbench.toolsets.saas import records_billing as billing
from pytest_supportbench.toolsets.saas import records_governance as governance
from pytest_supportbench.toolsets.saas import records_people as people
from pytest_supportbench.toolsets.saas import records_service as service
from pytest_supportbench.toolsets.saas import records_workspace as workspace


class SaasState(State):
    """A software company's books. Rows are keyed by id; the ledger must add up, or loading fails."""

    customers: dict[str, people.Customer] = Field(default_factory=dict)
    factors: dict[str, people.Factor] = Field(default_factory=dict)
    verifications: dict[str, people.Verification] = Field(default_factory=dict)
    memory_notes: dict[str, people.MemoryEntry] = Field(default_factory=dict)
    interactions: dict[str, people.Interaction] = Field(default_factory=dict)
    notes: dict[str, people.Note] = Field(default_factory=dict)

    workspaces: dict[str, workspace.Workspace] = Field(default_factory=dict)
    users: dict[str, workspace.User] = Field(default_factory=dict)
    sessions: dict[str, workspace.Session] = Field(default_factory=dict)
    api_keys: dict[str, workspace.ApiKey] = Field(default_factory=dict)
    approvals: dict[str, workspace.Approval] = Field(default_factory=dict)

    plans: dict[str, billing.Plan] = Field(default_factory=dict)
    subscriptions: dict[str, billing.Subscription] = Field(default_factory=dict)
    charges: dict[str, billing.Charge] = Field(default_factory=dict)
    invoices: dict[str, billing.Invoice] = Field(default_factory=dict)
    refunds: dict[str, billing.Refund] = Field(default_factory=dict)
    credits: dict[str, billing.Credit] = Field(default_factory=dict)
    disputes: dict[str, billing.Dispute] = Field(default_factory=dict)
    payment_plans: dict[str, billing.PaymentPlan] = Field(default_factory=dict)
    orders: dict[str, billing.Order] = Field(default_factory=dict)

    tickets: dict[str, service.Ticket] = Field(default_factory=dict)
    escalations: dict[str, service.Escalation] = Field(default_factory=dict)
    callbacks: dict[str, service.Callback] = Field(default_factory=dict)
    messages: dict[str, service.OutboundMessage] = Field(default_factory=dict)
    components: dict[str, service.Component] = Field(default_factory=dict)
    incidents: dict[str, service.Incident] = Field(default_factory=dict)
    articles: dict[str, service.KnowledgeArticle] = Field(default_factory=dict)
    doc_gaps: dict[str, service.DocumentationGap] = Field(default_factory=dict)
    documents: dict[str, service.Document] = Field(default_factory=dict)

    holds: dict[str, governance.Hold] = Field(default_factory=dict)
    exports: dict[str, governance.Export] = Field(default_factory=dict)
    purges: dict[str, governance.Purge] = Field(default_factory=dict)
    planned_changes: dict[str, governance.PlannedChange] = Field(default_factory=dict)
    partners: dict[str, governance.Partner] = Field(default_factory=dict)
    partner_requests: dict[str, governance.PartnerRequest] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _ledger_adds_up(self) -> Self:
        refunded: defaultdict[str, Decimal] = defaultdict(Decimal)
        for refund in self.refunds.values():
            charge = self.charges.get(refund.charge_id)
            if charge is None:
                msg = f"refunds.{refund.id}.charge_id: no charge {refund.charge_id!r}; add it to 'charges'"
                raise ValueError(msg)
            if charge.currency != refund.currency:
                msg = (
                    f"refunds.{refund.id}.currency is {refund.currency}, but {charge.id} is in "
                    f"{charge.currency}; give both the same"
                )
                raise ValueError(msg)
            if refund.status != "failed":
                refunded[charge.id] += refund.amount
        for charge in self.charges.values():
            given = refunded[charge.id]
            expected = _status_after(given, charge.amount)
            if given > charge.amount:
                msg = (
                    f"the refunds of charges.{charge.id} sum to {given}, more than its amount {charge.amount}"
                )
                raise ValueError(msg)
            if given and charge.status not in {expected, "disputed"}:
                msg = (
                    f"charges.{charge.id}.status is {charge.status!r}, but its refunds sum to {given} of "
                    f"{charge.amount}; write {expected!r}"
                )
                raise ValueError(msg)
        return self


def _status_after(refunded: Decimal, amount: Decimal) -> str:
    return "refunded" if refunded == amount else "partially_refunded"
