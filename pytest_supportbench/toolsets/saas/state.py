"""The state of the support toolset: one table per kind of record, each empty unless the scenario fills it."""
# ruff: noqa: RUF012 - pydantic copies the default of a field for every instance

from collections import defaultdict
from decimal import Decimal
from typing import Self

from pydantic import model_validator

from pytest_supportbench.state import State
from pytest_supportbench.toolsets.saas import records_billing as billing
from pytest_supportbench.toolsets.saas import records_governance as governance
from pytest_supportbench.toolsets.saas import records_people as people
from pytest_supportbench.toolsets.saas import records_service as service
from pytest_supportbench.toolsets.saas import records_workspace as workspace


class SaasState(State):
    """A software company's books. Rows are keyed by id; the ledger must add up, or loading fails."""

    customers: dict[str, people.Customer] = {}
    factors: dict[str, people.Factor] = {}
    verifications: dict[str, people.Verification] = {}
    memory_notes: dict[str, people.MemoryEntry] = {}
    interactions: dict[str, people.Interaction] = {}
    notes: dict[str, people.Note] = {}

    workspaces: dict[str, workspace.Workspace] = {}
    users: dict[str, workspace.User] = {}
    sessions: dict[str, workspace.Session] = {}
    api_keys: dict[str, workspace.ApiKey] = {}
    approvals: dict[str, workspace.Approval] = {}

    plans: dict[str, billing.Plan] = {}
    subscriptions: dict[str, billing.Subscription] = {}
    charges: dict[str, billing.Charge] = {}
    invoices: dict[str, billing.Invoice] = {}
    refunds: dict[str, billing.Refund] = {}
    credits: dict[str, billing.Credit] = {}
    disputes: dict[str, billing.Dispute] = {}
    payment_plans: dict[str, billing.PaymentPlan] = {}
    orders: dict[str, billing.Order] = {}

    tickets: dict[str, service.Ticket] = {}
    escalations: dict[str, service.Escalation] = {}
    callbacks: dict[str, service.Callback] = {}
    messages: dict[str, service.OutboundMessage] = {}
    components: dict[str, service.Component] = {}
    incidents: dict[str, service.Incident] = {}
    articles: dict[str, service.KnowledgeArticle] = {}
    doc_gaps: dict[str, service.DocumentationGap] = {}
    documents: dict[str, service.Document] = {}

    holds: dict[str, governance.Hold] = {}
    exports: dict[str, governance.Export] = {}
    purges: dict[str, governance.Purge] = {}
    planned_changes: dict[str, governance.PlannedChange] = {}
    partners: dict[str, governance.Partner] = {}
    partner_requests: dict[str, governance.PartnerRequest] = {}

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
