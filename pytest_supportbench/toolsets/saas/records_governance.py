"""Records about control: holds, exports, purges, planned changes, partners."""

from datetime import date
from typing import Literal, TypeAlias

from pydantic import AwareDatetime

from pytest_supportbench.state import Deed, Record

HoldKind: TypeAlias = Literal["legal", "security", "fraud", "payout", "change", "change_freeze"]
PurgeScope: TypeAlias = Literal["messages", "files", "audit_log", "backups", "everything"]
Operation: TypeAlias = Literal[
    "refund",
    "credit",
    "charge",
    "contact_update",
    "plan_change",
    "cancellation",
    "seat_change",
    "export",
    "security_change",
    "configuration",
    "migration",
    "message",
    "other",
]


class Governed(Record):
    """Base of what concerns a customer, a workspace, or both; either may see it."""

    owners = ("customer_id", "workspace_id")

    customer_id: str | None = None
    workspace_id: str | None = None


class Hold(Governed):
    """Something that must not change while ``active``; a freeze runs from ``starts_at`` to ``ends_at``."""

    free_text = frozenset({"kind", "reason"})
    volatile = frozenset({"placed_at"})

    kind: HoldKind
    reason: str = ""
    status: Literal["active", "released"] = "active"
    starts_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None
    placed_at: AwareDatetime | None = None
    placed_by: str = ""

    def evidence(self) -> frozenset[Deed]:
        """Return that a hold was placed, where it is active."""
        return frozenset({"hold"}) if self.status == "active" else frozenset()


class Export(Governed):
    """Data taken out: what, for which days (both included), and into which region."""

    volatile = frozenset({"at"})

    kind: Literal["audit_log", "data", "billing"] = "audit_log"
    start: date | None = None
    end: date | None = None
    region: str
    status: Literal["running", "ready", "failed", "expired"] = "ready"
    at: AwareDatetime | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that an export happened, unless it failed."""
        return frozenset() if self.status == "failed" else frozenset({"export"})


class Purge(Governed):
    """Data destroyed for good."""

    volatile = frozenset({"at"})

    scope: PurgeScope
    at: AwareDatetime | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a deletion happened."""
        return frozenset({"deletion"})


class PlannedChange(Governed):
    """A change or a retry arranged for a later time."""

    free_text = frozenset({"operation", "details", "reference"})

    kind: Literal["change", "retry"] = "change"
    operation: Operation
    at: AwareDatetime
    details: str = ""
    reference: str | None = None
    status: Literal["scheduled", "done", "cancelled"] = "scheduled"

    def evidence(self) -> frozenset[Deed]:
        """Return that something was scheduled, unless it was cancelled."""
        return frozenset() if self.status == "cancelled" else frozenset({"schedule"})


class Partner(Record):
    """A reseller or other partner; belongs to nobody."""

    name: str = ""
    contact: str | None = None
    handles: tuple[str, ...] = ()


class PartnerRequest(Governed):
    """A request passed on to a partner."""

    free_text = frozenset({"request", "reference"})
    volatile = frozenset({"at"})

    partner_id: str
    request: str = ""
    reference: str | None = None
    at: AwareDatetime | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a request was made."""
        return frozenset({"request"})
