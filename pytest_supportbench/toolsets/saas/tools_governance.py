"""Tools of control: holds, exports, purges, planned changes, partners."""

from datetime import date
from typing import Annotated, Any

from pydantic import Field

from pytest_supportbench.tools import ToolError, tool
from pytest_supportbench.toolsets.saas.base import SaasTools
from pytest_supportbench.toolsets.saas.parameters import (
    CustomerId,
    Instant,
    Prose,
    RecordId,
    Reference,
    Short,
    WorkspaceId,
)
from pytest_supportbench.toolsets.saas.records_governance import (
    Export,
    Hold,
    HoldKind,
    Operation,
    PartnerRequest,
    PlannedChange,
    Purge,
    PurgeScope,
)


class GovernanceTools(SaasTools):
    """What must stay, go, wait, or be done by others."""

    @tool("reads")
    def list_holds(
        self, customer_id: CustomerId | None = None, workspace_id: WorkspaceId | None = None
    ) -> list[Hold]:
        """List legal, security and other holds, and change freezes, on a customer or workspace."""
        return self.concerning(self.state.holds, customer_id, workspace_id)

    @tool("writes", does="hold", free_text=("kind", "reason"))
    def hold_change(self, customer_id: CustomerId, kind: HoldKind, reason: Prose = "") -> Hold:
        """Freeze what the kind names on a customer's account until somebody releases it."""
        self.customer(customer_id)
        hold = Hold(
            id=self.new_id("hold", self.state.holds),
            customer_id=customer_id,
            kind=kind,
            reason=reason,
            placed_at=self.now,
            placed_by="agent",
        )
        return self.put(self.state.holds, hold)

    @tool("writes", does="deletion")
    def purge_data(self, workspace_id: WorkspaceId, scope: PurgeScope) -> Purge:
        """Destroy a workspace's data of one scope for good."""
        self.get(self.state.workspaces, workspace_id, "workspace")
        purge = Purge(
            id=self.new_id("pur", self.state.purges), workspace_id=workspace_id, scope=scope, at=self.now
        )
        return self.put(self.state.purges, purge)

    @tool("writes", does="export")
    def export_audit_log(
        self,
        workspace_id: WorkspaceId,
        start: Annotated[date, Field(description="First day")],
        end: Annotated[date, Field(description="Last day, included")],
        region: Annotated[Short, Field(description="Storage region that the export is written to")],
    ) -> Export:
        """Write a workspace's audit log of some days to storage in a region."""
        self.get(self.state.workspaces, workspace_id, "workspace")
        if end < start:
            raise ToolError("invalid_arguments", f"the last day {end} is before the first day {start}")
        export = Export(
            id=self.new_id("exp", self.state.exports),
            workspace_id=workspace_id,
            start=start,
            end=end,
            region=region,
            at=self.now,
        )
        return self.put(self.state.exports, export)

    @tool("reads")
    def list_exports(self, workspace_id: WorkspaceId) -> list[Export]:
        """List a workspace's exports."""
        return self.concerning(self.state.exports, None, workspace_id)

    @tool("writes", does="schedule", free_text=("operation", "details"))
    def schedule_change(
        self, workspace_id: WorkspaceId, operation: Operation, at: Instant, details: Prose = ""
    ) -> PlannedChange:
        """Arrange that a change to a workspace is made at a given time."""
        self.get(self.state.workspaces, workspace_id, "workspace")
        return self._plan(
            kind="change", operation=operation, at=at, details=details, workspace_id=workspace_id
        )

    @tool("writes", does="schedule", free_text=("operation", "reference"))
    def schedule_retry(self, operation: Operation, at: Instant, reference: Reference = None) -> PlannedChange:
        """Arrange that an operation which could not be done now is tried again at a given time."""
        return self._plan(kind="retry", operation=operation, at=at, reference=reference)

    @tool("reads")
    def list_scheduled(
        self, customer_id: CustomerId | None = None, workspace_id: WorkspaceId | None = None
    ) -> list[PlannedChange]:
        """List the changes and retries arranged for a customer or workspace."""
        return self.concerning(self.state.planned_changes, customer_id, workspace_id)

    @tool("writes", does="request", free_text=("request", "reference"), outward=("request",))
    def route_to_partner(
        self, partner_id: RecordId, customer_id: CustomerId, request: Prose, reference: Reference = None
    ) -> PartnerRequest:
        """Pass a customer's request on to the partner through whom they buy."""
        self.get(self.state.partners, partner_id, "partner")
        self.customer(customer_id)
        made = PartnerRequest(
            id=self.new_id("prq", self.state.partner_requests),
            partner_id=partner_id,
            customer_id=customer_id,
            request=request,
            reference=reference,
            at=self.now,
        )
        return self.put(self.state.partner_requests, made)

    def _plan(self, **values: Any) -> PlannedChange:
        if values["at"] <= self.now:
            raise ToolError(
                "in_the_past", f"{values['at'].isoformat()} is not after now, {self.now.isoformat()}"
            )
        planned = PlannedChange(
            id=self.new_id("chg", self.state.planned_changes),
            customer_id=self.context.subject or None,
            **values,
        )
        return self.put(self.state.planned_changes, planned)
