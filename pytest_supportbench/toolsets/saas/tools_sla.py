"""The calculator for service-level credits: how long an incident counted, and what that is worth."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from pytest_supportbench.tools import ToolError, tool
from pytest_supportbench.toolsets.saas.base import SaasTools
from pytest_supportbench.toolsets.saas.money import rounded
from pytest_supportbench.toolsets.saas.parameters import RecordId
from pytest_supportbench.toolsets.saas.records_workspace import Workspace


class SlaTools(SaasTools):
    """Service-level arithmetic."""

    @tool("reads")
    def compute_sla_credit(
        self,
        subscription_id: RecordId,
        incident_id: RecordId,
        clock: Annotated[
            Literal["business_hours", "wall_clock"],
            Field(description="Count only the workspace's business hours, or all time"),
        ],
        percent_per_hour: Annotated[
            Decimal,
            Field(
                gt=0,
                le=100,
                max_digits=9,
                description="Percent of the period's price for each hour that counts",
            ),
        ],
    ) -> dict[str, Any]:
        """Compute how long an incident lasted by a clock and the credit at a rate; changes nothing."""
        subscription = self.get(self.state.subscriptions, subscription_id, "subscription")
        incident = self.get(self.state.incidents, incident_id, "incident")
        end = incident.resolved_at or self.now
        if clock == "wall_clock":
            minutes = int((end - incident.started_at).total_seconds() // 60)
        else:
            if subscription.workspace_id is None:
                raise ToolError(
                    "no_business_hours", f"{subscription_id!r} has no workspace with business hours"
                )
            workspace = self.get(self.state.workspaces, subscription.workspace_id, "workspace")
            minutes = business_minutes(incident.started_at, end, workspace)
        credit = min(subscription.amount, subscription.amount * percent_per_hour * minutes / 6000)
        return {
            "minutes": minutes,
            "clock": clock,
            "amount": rounded(credit, subscription.currency),
            "currency": subscription.currency,
        }


def business_minutes(start: datetime, end: datetime, workspace: Workspace) -> int:
    """Return the whole minutes of ``start`` to ``end`` within a workspace's business hours.

    Days are the workspace's own, so that daylight saving changes count as they happen there.
    """
    zone: tzinfo = UTC if workspace.timezone == "UTC" else ZoneInfo(workspace.timezone)
    day, last = start.astimezone(zone).date(), end.astimezone(zone).date()
    total = timedelta()
    while day <= last:
        if day.isoweekday() in workspace.business_days:
            opens = _instant(day, workspace.business_start, zone)
            closes = _instant(day, workspace.business_end, zone)
            total += max(timedelta(), min(end, closes) - max(start, opens))
        day += timedelta(days=1)
    return int(total.total_seconds() // 60)


def _instant(day: date, at: time, zone: tzinfo) -> datetime:
    """Return a local time as UTC, since differences of local times ignore changes of the clock."""
    return datetime.combine(day, at, zone).astimezone(UTC)
