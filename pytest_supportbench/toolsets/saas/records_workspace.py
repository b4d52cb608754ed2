"""Records about workspaces: tenants, their users, sessions, keys, and what waits for somebody's approval."""

from datetime import date, time
from typing import Literal, Self, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AwareDatetime, Field, field_validator, model_validator

from pytest_supportbench.state import Deed, Record
from pytest_supportbench.toolsets.saas.money import Amount, Currency

Role: TypeAlias = Literal["owner", "admin", "billing_admin", "security_admin", "member", "guest"]
ApprovalAction: TypeAlias = Literal[
    "add_seats",
    "remove_seats",
    "change_role",
    "change_plan",
    "cancel_subscription",
    "change_security",
    "export_data",
    "delete_data",
    "discount",
    "credit",
    "refund",
    "other",
]


class Workspace(Record):
    """A tenant. ``owner_id`` and ``admin_ids`` may see it, besides itself and its payer.

    Business hours are local to ``timezone``; ``business_days`` are ISO weekdays (1 is Monday).
    """

    owners = ("id", "customer_id", "owner_id", "admin_ids")
    volatile = frozenset({"version"})

    name: str = ""
    customer_id: str | None = None
    owner_id: str | None = None
    admin_ids: tuple[str, ...] = ()
    plan: str = ""
    region: str = "us"
    timezone: str = "UTC"
    business_start: time = time(9)
    business_end: time = time(17)
    business_days: tuple[int, ...] = (1, 2, 3, 4, 5)
    status: Literal["active", "suspended", "closed"] = "active"
    seats_purchased: int | None = Field(default=None, ge=0)
    sso_enabled: bool = False
    scim_enabled: bool = False
    mfa_required: bool = False
    retention_days: int | None = None
    break_glass_approvers: tuple[str, ...] = ()
    break_glass_approvals_required: int | None = None
    partner_id: str | None = None
    version: int = 1

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value != "UTC":
            try:
                ZoneInfo(value)
            except (ZoneInfoNotFoundError, ValueError):
                msg = (
                    f"{value!r} is no time zone of this machine; write an IANA name such as Europe/Paris "
                    "(on Windows: pip install tzdata)"
                )
                raise ValueError(msg) from None
        return value

    @model_validator(mode="after")
    def _opens_before_it_closes(self) -> Self:
        if self.business_start >= self.business_end:
            msg = (
                f"business_start {self.business_start} is not before business_end {self.business_end}; "
                "write local times of one day, such as 09:00 and 17:00"
            )
            raise ValueError(msg)
        return self


class User(Record):
    """A seat in a workspace; ``customer_id`` is set where the person is a customer as well."""

    owners = ("id", "customer_id", "workspace_id")
    identifying = ("name", "email")
    volatile = frozenset({"added_at"})

    workspace_id: str
    customer_id: str | None = None
    name: str = ""
    email: str | None = None
    role: Role = "member"
    status: Literal["active", "invited", "deprovisioned", "removed", "deleted"] = "active"
    scim_managed: bool = False
    mfa_enabled: bool | None = None
    scopes: tuple[str, ...] = ()
    added_at: AwareDatetime | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return what a removed or deleted user proves."""
        deeds: dict[str, frozenset[Deed]] = {
            "removed": frozenset({"seat_change"}),
            "deleted": frozenset({"deletion"}),
        }
        return deeds.get(self.status, frozenset())


class Session(Record):
    """A login or token of a user."""

    owners = ("user_id", "workspace_id")
    volatile = frozenset({"revoked_at"})

    user_id: str
    workspace_id: str | None = None
    kind: Literal["web", "mobile", "token"] = "web"
    status: Literal["active", "revoked"] = "active"
    created_at: AwareDatetime | None = None
    last_used_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a revocation happened, where the session is revoked."""
        return frozenset({"revocation"}) if self.status == "revoked" else frozenset()


class ApiKey(Record):
    """An API key by its last characters; the secret itself is nowhere."""

    owners = ("customer_id", "workspace_id")
    volatile = frozenset({"created_at", "rotated_at"})

    customer_id: str | None = None
    workspace_id: str | None = None
    name: str = ""
    last_four: str = ""
    status: Literal["active", "rotated", "revoked"] = "active"
    created_at: AwareDatetime | None = None
    rotated_at: AwareDatetime | None = None
    replaced_by: str | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a revocation happened, where the key no longer works."""
        return frozenset() if self.status == "active" else frozenset({"revocation"})


class Approval(Record):
    """A request for approval and its answer; ``code`` is set where it was granted with one."""

    owners = ("customer_id", "workspace_id")
    free_text = frozenset({"action", "details"})
    volatile = frozenset({"requested_at"})

    customer_id: str | None = None
    workspace_id: str | None = None
    action: ApprovalAction
    details: str = ""
    status: Literal["pending", "approved", "declined", "expired"] = "pending"
    code: str | None = None
    currency: Currency | None = None
    amount: Amount | None = None
    percent: int | None = Field(default=None, ge=0, le=100)
    requested_at: AwareDatetime | None = None
    approved_by: str | None = None
    expires_on: date | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a request was made."""
        return frozenset({"request"})
