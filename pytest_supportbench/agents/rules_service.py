"""Rules of the `rules` agent about workspaces, data, keys, documents, calls and what stands in their way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pytest_supportbench.agents.rules_case import Case, Plan, Row, instant, text
from pytest_supportbench.agents.rules_people import hand, is_exposed
from pytest_supportbench.agents.rules_policy import trigger
from pytest_supportbench.agents.rules_text import LONGEST, clean, dates, emails, moment, plain
from pytest_supportbench.protocol import ToolCall

_ROLES: Final = ("owner", "admin", "billing_admin", "security_admin")


def erase(case: Case) -> Plan | None:
    """Delete the customer's data where no hold stands against it."""
    if not case.wants("erase"):
        return None
    reads = () if case.has("holds") else case.read("list_holds", customer_id=case.subject or None)
    if reads:
        return Plan("", reads=reads)
    held = _held(case)
    if held:
        return held
    calls = case.call("delete_profile", customer_id=case.subject) if case.subject else ()
    return Plan("resolve", "update_account", calls=calls) if calls else hand(case, "privacy")


def purge(case: Case) -> Plan | None:
    """Destroy a workspace's data only where no hold stands against it and the message names what to destroy."""
    workspace = _workspace(case)
    if not case.wants("purge") or not workspace:
        return None
    reads = () if case.has("holds") else case.read("list_holds", workspace_id=workspace)
    if reads:
        return Plan("", reads=reads)
    held = _held(case)
    if held:
        return held
    if not _is_admin(case):
        return _ask_admins(case, workspace, "delete_data")
    scope = next((name for name in ("messages", "files", "backups") if case.mentions(name)), "")
    calls = case.call("purge_data", workspace_id=workspace, scope=scope) if scope else ()
    return Plan("resolve", "update_account", calls=calls) if calls else None


def _held(case: Case) -> Plan | None:
    """Return the hand-over, or the refusal, that a hold in force leads to; only its status lifts a hold."""
    rows = [row for row in case.rows("holds") if text(row, "status") in {"", "active"}]
    if not rows:
        return None
    if not trigger(case, "legal"):
        return Plan("decline", say=(case.tell("no"),))
    return hand(case, "legal", about=[text(row, "id") for row in rows])


def partner(case: Case) -> Plan | None:
    """Pass on what a customer who buys through a partner wants of a bill or a plan."""
    name = text(case.customer, "partner_id")
    if not name or not case.wants("money_back", "cancel", "plan", "charged", "add_seat", "remove_seat"):
        return None
    calls = case.call(
        "route_to_partner", partner_id=name, customer_id=case.subject, request=clean(case.message, 400)
    )
    return Plan("partial", "partial", calls=calls) if calls else None


def seats(case: Case) -> Plan | None:
    """Add or remove the people whom the message names, asking the admins where the customer is none of them."""
    adds, removes = case.wants("add_seat"), case.wants("remove_seat")
    if not (adds or removes) or not case.tools.keys() & {"add_seats", "remove_seats"}:
        return None
    workspace = _workspace(case)
    if not workspace:
        return None
    reads = () if case.has("users") else case.read("list_seats", workspace_id=workspace)
    if reads:
        return Plan("", reads=reads)
    if not _is_admin(case):
        return _ask_admins(case, workspace, "remove_seats" if removes else "add_seats")
    people = [row for row in case.rows("users") if _is_named(case, row)]
    if removes and people:
        return _remove(case, workspace, people)
    known = {plain(text(row, "email")) for row in case.rows("users")}
    new = [address for address in emails(case.said[:4000]) if plain(address) not in known]
    calls = case.call("add_seats", workspace_id=workspace, emails=new, role="member") if adds and new else ()
    return Plan("resolve", "update_account", calls=calls) if calls else None


def _remove(case: Case, workspace: str, people: list[Row]) -> Plan:
    """Remove people, but no owner, and nobody whom the customer's own directory manages."""
    if any(text(row, "role") == "owner" or row.get("scim_managed") is True for row in people):
        return Plan("decline", say=(case.tell("no"),))
    ids = [text(row, "id") for row in people]
    gone: set[str] = set()
    for entry in case.writes("remove_seats"):
        removed = entry.result.get("removed") if isinstance(entry.result, Mapping) else None
        gone |= {item for item in removed if isinstance(item, str)} if isinstance(removed, list) else set()
    left = [name for name in ids if name not in gone] if gone else ids
    calls = case.call("remove_seats", workspace_id=workspace, user_ids=left or ids)
    return Plan("resolve", "update_account", calls=calls)


def _is_named(case: Case, row: Row) -> bool:
    address, name = text(row, "email"), text(row, "name")
    return text(row, "customer_id") != case.subject and (case.mentions(address) or case.mentions(name))


def _workspace(case: Case) -> str:
    rows = [row for row in case.rows("workspaces") if text(row, "id")]
    named = [row for row in rows if case.mentions(text(row, "name")) or case.mentions(text(row, "id"))]
    found = next(iter(named or rows), {})
    others = (text(row, "workspace_id") for name in ("users", "subscriptions") for row in case.rows(name))
    return text(found, "id") or next((name for name in others if name), "")


def _is_admin(case: Case) -> bool:
    if any(case.subject and text(row, "owner_id") == case.subject for row in case.rows("workspaces")):
        return True
    address = text(case.customer, "email")
    mine = [
        row
        for row in case.rows("users")
        if (case.subject and text(row, "customer_id") == case.subject)
        or (address and text(row, "email") == address)
    ]
    return not mine or any(text(row, "role") in _ROLES for row in mine)


def _ask_admins(case: Case, workspace: str, action: str) -> Plan:
    calls = case.call(
        "request_admin_approval", workspace_id=workspace, action=action, details=clean(case.message, 300)
    )
    return Plan("resolve", "schedule", calls=calls) if calls else Plan("decline", say=(case.tell("no"),))


def access(case: Case) -> Plan | None:
    """End sessions, replace the API key that the message names, or turn single sign-on off."""
    if (case.wants("key") or is_exposed(case)) and "rotate_api_key" in case.tools:
        return _rotate(case)
    if case.wants("sessions") and "revoke_sessions" in case.tools:
        mine = [
            row for row in case.rows("users") if case.subject and text(row, "customer_id") == case.subject
        ]
        target = text(mine[0], "id") if mine else ""
        return (
            Plan("resolve", "update_account", calls=case.call("revoke_sessions", user_id=target))
            if target
            else None
        )
    workspace = _workspace(case)
    if case.wants("sso") and workspace and "disable_sso" in case.tools:
        if not _is_admin(case):
            return _ask_admins(case, workspace, "change_security")
        return Plan("resolve", "update_account", calls=case.call("disable_sso", workspace_id=workspace))
    return None


def _rotate(case: Case) -> Plan | None:
    reads = () if case.has("api_keys") else case.read("list_api_keys", customer_id=case.subject or None)
    if reads:
        return Plan("", reads=reads)
    live = [row for row in case.rows("api_keys") if text(row, "status") in {"", "active"}]
    ends = [row for row in live if _is_quoted(case, text(row, "last_four"))]
    found = ends or [row for row in live if case.mentions(text(row, "name"))] or live
    if len(found) != 1:
        return None
    name = text(found[0], "id")
    calls = case.call("rotate_api_key", key_id=name)
    if is_exposed(case) and trigger(case, "security"):
        told = hand(case, "security", about=[name])
        return Plan("escalate", calls=calls + told.calls, say=told.say)
    return Plan("resolve", "update_account", calls=calls)


def _is_quoted(case: Case, ending: str) -> bool:
    """Tell whether the customer wrote the ending of a key, letter by letter."""
    return bool(ending) and re.search(rf"(?<!\w){re.escape(ending)}(?!\w)", case.said[:LONGEST]) is not None


def paperwork(case: Case) -> Plan | None:
    """Send the document that the message names, or export the audit log of the days that it names."""
    if case.wants("document") and "send_document" in case.tools and case.subject:
        reads = case.need("documents")
        if reads:
            return Plan("", reads=reads)
        rows = [row for row in case.rows("documents") if text(row, "status") in {"", "in_force"}]
        rows.sort(
            key=lambda row: case.overlap(text(row, "title")) + case.mentions(text(row, "kind")),
            reverse=True,
        )
        if rows:
            calls = case.call("send_document", customer_id=case.subject, document_id=text(rows[0], "id"))
            return Plan("resolve", "answer", calls=calls)
    days = dates(case.text, case.now.date())
    workspace = _workspace(case)
    if case.wants("export") and len(days) > 1 and workspace:
        region = text(case.row("workspaces", workspace), "region")
        calls = case.call(
            "export_audit_log",
            workspace_id=workspace,
            start=min(days).isoformat(),
            end=max(days).isoformat(),
            region=region or None,
        )
        return Plan("resolve", "answer", calls=calls) if calls and region else None
    return None


def callback(case: Case) -> Plan | None:
    """Arrange a call at the time that the message names, on the customer's clock; ask where it names none."""
    if not case.wants("callback") or "create_callback" not in case.tools or not case.subject:
        return None
    at = moment(case.text, case.local(case.now))
    if at is None:
        slots = tuple(slot for slot in case.seen.slots if slot == "date")
        return Plan("ask", say=(case.tell("ask", what="date"),), asks=slots)
    calls = case.call("create_callback", customer_id=case.subject, at=at.isoformat())
    return Plan("resolve", "schedule", calls=calls)


def frozen(case: Case, calls: tuple[ToolCall, ...]) -> Plan | None:
    """Arrange a change for the end of a change freeze, where one holds now and a tool can do so."""
    if not calls or "schedule_change" not in case.tools:
        return None
    for row in case.rows("holds"):
        start, end = instant(row, "starts_at"), instant(row, "ends_at")
        if text(row, "kind") != "change_freeze" or text(row, "status") not in {"", "active"} or end is None:
            continue
        if (start is None or start <= case.now) and case.now < end:
            later = end.isoformat()
            planned = case.call("schedule_change", workspace_id=_workspace(case), operation="other", at=later)
            return Plan("resolve", "schedule", calls=planned)
    return None
