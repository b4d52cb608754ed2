"""Tools about workspaces: seats, roles, ownership, sessions, keys, and approvals."""

from typing import Annotated, Any

from pydantic import Field

from pytest_supportbench.tools import ToolError, tool
from pytest_supportbench.toolsets.saas.base import SaasTools, at_version, given, unique
from pytest_supportbench.toolsets.saas.parameters import (
    CustomerId,
    MinVersion,
    Prose,
    RecordId,
    Short,
    UserId,
    WorkspaceId,
)
from pytest_supportbench.toolsets.saas.records_workspace import (
    ApiKey,
    Approval,
    ApprovalAction,
    Role,
    Session,
    User,
    Workspace,
)

_GONE = frozenset({"removed", "deleted"})


class WorkspaceTools(SaasTools):
    """Tenants and who may do what in them."""

    @tool("reads")
    def list_workspaces(self, customer_id: CustomerId) -> list[Workspace]:
        """List the workspaces that a customer pays for, owns, administers or has a seat in."""
        self.customer(customer_id)
        seats = {user.workspace_id for user in self.state.users.values() if user.customer_id == customer_id}
        return [
            self.touch(row)
            for row in self.state.workspaces.values()
            if row.id in seats
            or customer_id in {row.customer_id, row.owner_id}
            or customer_id in row.admin_ids
        ]

    @tool("reads")
    def get_workspace(self, workspace_id: WorkspaceId, min_version: MinVersion = None) -> Workspace:
        """Return a workspace's settings: plan, region, owner, admins, sign-on, retention."""
        return at_version(self._workspace(workspace_id), min_version)

    @tool("reads")
    def list_seats(self, workspace_id: WorkspaceId) -> dict[str, Any]:
        """List the users of a workspace with their roles, and how many seats are bought and used."""
        row = self._workspace(workspace_id)
        users = self.where(self.state.users, workspace_id=workspace_id)
        used = sum(user.status not in _GONE for user in users)
        return {"seats": users, "used": used, "purchased": row.seats_purchased}

    @tool("reads")
    def get_user(self, user_id: UserId) -> User:
        """Return one user of a workspace."""
        return self._user(user_id)

    @tool("writes", batch="user_ids", does="seat_change")
    def remove_seats(
        self, workspace_id: WorkspaceId, user_ids: Annotated[list[str], Field(min_length=1, max_length=100)]
    ) -> dict[str, Any]:
        """Remove users from a workspace; the result lists those removed."""
        self._workspace(workspace_id)
        unique(user_ids, "user")
        for user_id in user_ids:
            user = self._user(user_id)
            if user.workspace_id != workspace_id:
                raise ToolError("not_found", f"{user_id!r} is no user of {workspace_id!r}")
            if user.status in _GONE:
                raise ToolError("already_removed", f"{user_id!r} is {user.status} already")
            self.change(self.state.users, user, status="removed")
        return {"removed": user_ids}

    @tool("writes", batch="emails", does="seat_change")
    def add_seats(
        self,
        workspace_id: WorkspaceId,
        emails: Annotated[list[str], Field(min_length=1, max_length=100)],
        role: Role,
    ) -> dict[str, Any]:
        """Invite people to a workspace in one role; the result lists the users made."""
        row = self._workspace(workspace_id)
        unique((email.casefold() for email in emails), "address")
        present = [user for user in self.state.users.values() if user.workspace_id == workspace_id]
        used = [user for user in present if user.status not in _GONE]
        taken = {(user.email or "").casefold() for user in used}
        if row.seats_purchased is not None and len(used) + len(emails) > row.seats_purchased:
            raise ToolError(
                "no_free_seats",
                f"{len(emails)} more do not fit: {len(used)} of {row.seats_purchased} seats are used",
            )
        made: list[User] = []
        for email in emails:
            if email.casefold() in taken:
                raise ToolError("already_exists", f"{email!r} has a seat in {workspace_id!r} already")
            user = User(
                id=self.new_id("usr", self.state.users),
                workspace_id=workspace_id,
                email=email,
                role=role,
                status="invited",
                added_at=self.now,
            )
            made.append(self.put(self.state.users, user))
        return {"added": made}

    @tool("writes", does="update")
    def change_role(self, user_id: UserId, role: Role) -> User:
        """Give a user another role in their workspace."""
        return self.change(self.state.users, self._user(user_id), role=role)

    @tool("writes", does="update")
    def update_user(self, user_id: UserId, name: Short | None = None, email: Short | None = None) -> User:
        """Change a user's display name or e-mail address."""
        return self.change(self.state.users, self._user(user_id), **given(name=name, email=email))

    @tool("writes", does="deletion")
    def delete_user(self, user_id: UserId) -> User:
        """Delete a user with all that is theirs, for good."""
        user = self._user(user_id)
        if user.status == "deleted":
            raise ToolError("already_deleted", f"{user_id!r} is deleted already")
        self._revoke(user_id)
        return self.change(self.state.users, user, status="deleted", name="", email=None)

    @tool("writes", does="transfer")
    def transfer_ownership(
        self,
        workspace_id: WorkspaceId,
        new_owner_id: Annotated[str, Field(max_length=100, description="Customer or user id")],
    ) -> Workspace:
        """Make somebody else the owner of a workspace."""
        row = self._workspace(workspace_id)
        if new_owner_id not in self.state.customers and new_owner_id not in self.state.users:
            raise ToolError("not_found", f"no customer or user {new_owner_id!r}")
        if row.owner_id == new_owner_id:
            raise ToolError("no_change", f"{new_owner_id!r} owns {workspace_id!r} already")
        for user in list(self.state.users.values()):
            if user.workspace_id != workspace_id:
                continue
            if new_owner_id in {user.id, user.customer_id}:
                self.change(self.state.users, user, role="owner")
            elif user.role == "owner":
                self.change(self.state.users, user, role="admin")
        return self.change(self.state.workspaces, row, owner_id=new_owner_id, version=row.version + 1)

    @tool("writes", does="update")
    def disable_sso(self, workspace_id: WorkspaceId) -> Workspace:
        """Turn single sign-on off for a workspace, so that its users sign in with passwords."""
        row = self._workspace(workspace_id)
        if not row.sso_enabled:
            raise ToolError("no_change", f"single sign-on of {workspace_id!r} is off already")
        return self.change(self.state.workspaces, row, sso_enabled=False, version=row.version + 1)

    @tool("reads")
    def list_sessions(self, user_id: UserId) -> list[Session]:
        """List a user's sessions and tokens."""
        self._user(user_id)
        return self.where(self.state.sessions, user_id=user_id)

    @tool("writes", does="revocation")
    def revoke_sessions(self, user_id: UserId) -> dict[str, Any]:
        """End all active sessions and tokens of a user; the user stays."""
        self._user(user_id)
        return {"revoked": self._revoke(user_id)}

    @tool("reads")
    def list_api_keys(
        self, customer_id: CustomerId | None = None, workspace_id: WorkspaceId | None = None
    ) -> list[ApiKey]:
        """List the API keys of a customer or workspace, without their secrets."""
        return self.concerning(self.state.api_keys, customer_id, workspace_id)

    @tool("writes", does="revocation")
    def rotate_api_key(self, key_id: RecordId) -> dict[str, Any]:
        """Replace an API key by a new one; the old one stops working at once."""
        old = self.get(self.state.api_keys, key_id, "API key")
        if old.status != "active":
            raise ToolError("not_active", f"{key_id!r} is {old.status} already")
        fresh = ApiKey(
            id=self.new_id("key", self.state.api_keys),
            customer_id=old.customer_id,
            workspace_id=old.workspace_id,
            name=old.name,
            created_at=self.now,
        )
        self.put(self.state.api_keys, fresh)
        self.change(self.state.api_keys, old, status="rotated", rotated_at=self.now, replaced_by=fresh.id)
        return {"rotated": key_id, "new_key_id": fresh.id}

    @tool("writes", does="request", free_text=("action", "details"))
    def request_admin_approval(
        self, workspace_id: WorkspaceId, action: ApprovalAction, details: Prose = ""
    ) -> Approval:
        """Ask a workspace's admins to approve something; they answer later."""
        self._workspace(workspace_id)
        approval = Approval(
            id=self.new_id("apr", self.state.approvals),
            customer_id=self.context.subject or None,
            workspace_id=workspace_id,
            action=action,
            details=details,
            requested_at=self.now,
        )
        return self.put(self.state.approvals, approval)

    @tool("reads")
    def list_approvals(
        self, customer_id: CustomerId | None = None, workspace_id: WorkspaceId | None = None
    ) -> list[Approval]:
        """List requests for approval with their answers, codes and expiry dates."""
        return self.concerning(self.state.approvals, customer_id, workspace_id)

    def _workspace(self, workspace_id: str) -> Workspace:
        return self.get(self.state.workspaces, workspace_id, "workspace")

    def _user(self, user_id: str) -> User:
        return self.get(self.state.users, user_id, "user")

    def _revoke(self, user_id: str) -> list[str]:
        active = self.where(self.state.sessions, user_id=user_id, status="active")
        for session in active:
            self.change(self.state.sessions, session, status="revoked", revoked_at=self.now)
        return [session.id for session in active]
