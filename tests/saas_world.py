"""A rich state of the support toolset, and a call of each tool that succeeds on it."""

from datetime import datetime
from typing import Any

from pytest_supportbench.suite import Article, Policy
from pytest_supportbench.tools import Context, shown
from pytest_supportbench.toolsets.saas import SaasState, SaasToolset

NOW = datetime.fromisoformat("2026-03-14T10:30:00-05:00")

STATE: dict[str, Any] = {
    "customers": {
        "cus_1": {"name": "Dana Ito", "email": "dana@example.com", "phone": "+1 555-0100", "country": "US"},
        "cus_2": {
            "name": "Lee Moss",
            "email": "lee@example.com",
            "company": "Moss Ltd",
            "delegates": ["cus_1"],
        },
        "cus_3": {"name": "No Address"},
    },
    "factors": {
        "fac_1": {
            "subject_id": "cus_1",
            "method": "email",
            "code": "482913",
            "destination": "dana@example.com",
        },
        "fac_2": {"subject_id": "cus_1", "method": "security_question", "code": "Blue Heron"},
        "fac_3": {"subject_id": "usr_2", "method": "totp", "code": "111111"},
    },
    "memory_notes": {"mem_1": {"customer_id": "cus_1", "date": "2026-01-02", "text": "Likes e-mail."}},
    "interactions": {"int_1": {"customer_id": "cus_1", "at": "2026-02-01T09:00:00Z", "text": "Hello"}},
    "notes": {"note_1": {"customer_id": "cus_1", "text": "Promised 50 %", "author": "rep"}},
    "workspaces": {
        "ws_1": {
            "name": "Alpha",
            "customer_id": "cus_1",
            "owner_id": "cus_1",
            "seats_purchased": 4,
            "sso_enabled": True,
            "timezone": "America/New_York",
        },
        "ws_2": {"name": "Beta", "owner_id": "cus_2"},
    },
    "users": {
        "usr_1": {
            "workspace_id": "ws_1",
            "customer_id": "cus_1",
            "role": "owner",
            "email": "dana@example.com",
        },
        "usr_2": {"workspace_id": "ws_1", "name": "Ann", "email": "ann@example.com"},
        "usr_3": {"workspace_id": "ws_1", "name": "Bob", "email": "bob@example.com"},
        "usr_4": {"workspace_id": "ws_2", "customer_id": "cus_1", "name": "Dana"},
    },
    "sessions": {
        "ses_1": {"user_id": "usr_2", "workspace_id": "ws_1"},
        "ses_2": {"user_id": "usr_2", "workspace_id": "ws_1", "kind": "token"},
    },
    "api_keys": {"key_1": {"workspace_id": "ws_1", "customer_id": "cus_1", "last_four": "9f3c"}},
    "approvals": {
        "apr_1": {"customer_id": "cus_1", "action": "discount", "status": "approved", "code": "OK-50"}
    },
    "plans": {
        "team": {"currency": "USD", "amount": "10"},
        "business": {"currency": "USD", "amount": "25.50"},
        "euro": {"currency": "EUR", "amount": "9"},
    },
    "subscriptions": {
        "sub_1": {
            "customer_id": "cus_1",
            "workspace_id": "ws_1",
            "plan": "team",
            "amount": "30.00",
            "quantity": 3,
            "current_period_end": "2026-04-01T00:00:00-04:00",
        },
        "sub_2": {"customer_id": "cus_1", "plan": "team", "status": "cancelled", "auto_renew": False},
        "sub_3": {"customer_id": "cus_2", "plan": "team"},
    },
    "charges": {
        "ch_1": {"customer_id": "cus_1", "amount": "49.00", "currency": "USD", "invoice_id": "in_1"},
        "ch_2": {"customer_id": "cus_1", "amount": "1500", "currency": "JPY"},
        "ch_3": {
            "customer_id": "cus_1",
            "amount": "49.00",
            "currency": "USD",
            "status": "partially_refunded",
        },
        "ch_4": {"customer_id": "cus_1", "amount": "5.00", "currency": "USD", "status": "failed"},
        "ch_5": {"customer_id": "cus_1", "amount": "1.234", "currency": "KWD"},
    },
    "invoices": {
        "in_1": {"customer_id": "cus_1", "amount": "49.00", "currency": "USD"},
        "in_2": {"customer_id": "cus_1", "amount": "100.00", "currency": "USD", "status": "open"},
    },
    "refunds": {
        "rf_1": {"customer_id": "cus_1", "charge_id": "ch_3", "amount": "9.00", "currency": "USD"},
        "rf_2": {
            "customer_id": "cus_1",
            "charge_id": "ch_3",
            "amount": "40.00",
            "currency": "USD",
            "status": "failed",
        },
    },
    "credits": {"cr_1": {"customer_id": "cus_1", "amount": "5.00", "currency": "USD"}},
    "disputes": {"dp_1": {"customer_id": "cus_1", "charge_id": "ch_1", "amount": "49.00", "currency": "USD"}},
    "orders": {
        "ord_1": {"customer_id": "cus_1", "amount": "12.00", "currency": "USD"},
        "ord_2": {"customer_id": "cus_1", "amount": "12.00", "currency": "USD", "status": "shipped"},
    },
    "tickets": {"tic_1": {"customer_id": "cus_1", "title": "Sync fails", "topic": "sync"}},
    "callbacks": {"cb_1": {"customer_id": "cus_1", "at": "2026-03-10T10:00:00-05:00", "status": "missed"}},
    "components": {"api": {"status": "degraded"}, "web": {}},
    "incidents": {
        "inc_1": {
            "title": "Slow API",
            "components": ["api"],
            "started_at": "2026-03-06T16:00:00-05:00",
            "resolved_at": "2026-03-09T10:00:00-04:00",
        }
    },
    "articles": {"kb_9": {"title": "Parcel lockers", "text": "Use the locker.", "superseded_by": "kb_1"}},
    "documents": {
        "doc_1": {"title": "Standard DPA", "kind": "dpa", "text": "…"},
        "doc_2": {"title": "Addendum", "kind": "addendum", "workspace_id": "ws_1"},
    },
    "holds": {"hold_1": {"kind": "legal", "workspace_id": "ws_1"}},
    "exports": {"exp_1": {"workspace_id": "ws_1", "region": "eu"}},
    "partners": {"par_1": {"name": "Reseller"}},
}

POLICIES = tuple(
    Policy.model_validate(row)
    for row in (
        {"id": "refunds-v6", "text": "14 days", "effective": "2024-01-01"},
        {"id": "refunds-v7", "text": "30 days", "effective": "2026-01-01", "supersedes": "refunds-v6"},
        {"id": "undated", "text": "Be kind."},
    )
)
KNOWLEDGE = (
    Article(id="kb_1", title="Reset a password", text="Open settings. Choose reset."),
    Article(id="kb_2", title="Refunds", text="Refunds take ten days.", audience="internal"),
)

CALLS: dict[str, dict[str, Any]] = {
    "get_customer": {"customer_id": "cus_1"},
    "find_customers": {"email": "DANA@example.com"},
    "update_contact": {"customer_id": "cus_1", "email": "new@example.com"},
    "update_address": {
        "customer_id": "cus_1",
        "address": "1 Main St",
        "city": "Ames",
        "country": "US",
        "postcode": "50010",
    },
    "update_tax_id": {"customer_id": "cus_1", "tax_id": "DE123"},
    "delete_profile": {"customer_id": "cus_1"},
    "send_verification_code": {"customer_id": "cus_1", "method": "email"},
    "verify_identity": {"customer_id": "cus_1", "method": "email", "code": "482913"},
    "get_verification_status": {"customer_id": "cus_1"},
    "list_memory_notes": {"customer_id": "cus_1"},
    "list_interactions": {"customer_id": "cus_1"},
    "list_notes": {"customer_id": "cus_1"},
    "add_note": {"customer_id": "cus_1", "text": "Called."},
    "list_workspaces": {"customer_id": "cus_1"},
    "get_workspace": {"workspace_id": "ws_1"},
    "list_seats": {"workspace_id": "ws_1"},
    "get_user": {"user_id": "usr_2"},
    "remove_seats": {"workspace_id": "ws_1", "user_ids": ["usr_2", "usr_3"]},
    "add_seats": {"workspace_id": "ws_1", "emails": ["new@example.com"], "role": "member"},
    "change_role": {"user_id": "usr_2", "role": "admin"},
    "update_user": {"user_id": "usr_2", "name": "Anna"},
    "delete_user": {"user_id": "usr_2"},
    "transfer_ownership": {"workspace_id": "ws_1", "new_owner_id": "usr_2"},
    "disable_sso": {"workspace_id": "ws_1"},
    "list_sessions": {"user_id": "usr_2"},
    "revoke_sessions": {"user_id": "usr_2"},
    "list_api_keys": {"workspace_id": "ws_1"},
    "rotate_api_key": {"key_id": "key_1"},
    "request_admin_approval": {"workspace_id": "ws_1", "action": "add_seats", "details": "Two more"},
    "list_approvals": {"customer_id": "cus_1"},
    "list_plans": {},
    "list_subscriptions": {"customer_id": "cus_1"},
    "get_subscription": {"subscription_id": "sub_1"},
    "change_plan": {"subscription_id": "sub_1", "plan_id": "business", "effective": "immediately"},
    "set_seat_count": {"subscription_id": "sub_1", "quantity": 5},
    "cancel_subscription": {"subscription_id": "sub_1", "effective": "period_end"},
    "cancel_renewal": {"subscription_id": "sub_1"},
    "reinstate_subscription": {"subscription_id": "sub_2"},
    "list_orders": {"customer_id": "cus_1"},
    "get_order": {"order_id": "ord_1"},
    "cancel_order": {"order_id": "ord_1"},
    "list_charges": {"customer_id": "cus_1"},
    "get_charge": {"charge_id": "ch_3"},
    "list_invoices": {"customer_id": "cus_1"},
    "get_invoice": {"invoice_id": "in_1"},
    "issue_refund": {"charge_id": "ch_1", "amount": "49.00", "currency": "USD", "idempotency_key": "k1"},
    "list_refunds": {"customer_id": "cus_1"},
    "get_refund": {"refund_id": "rf_1"},
    "get_refund_status": {"charge_id": "ch_3"},
    "apply_credit": {"customer_id": "cus_1", "amount": 10, "currency": "USD", "kind": "goodwill"},
    "list_credits": {"customer_id": "cus_1"},
    "list_disputes": {"customer_id": "cus_1"},
    "get_dispute": {"dispute_id": "dp_1"},
    "set_payment_plan": {"invoice_id": "in_2", "parts": 3},
    "list_payment_plans": {"customer_id": "cus_1"},
    "list_tickets": {"customer_id": "cus_1"},
    "get_ticket": {"ticket_id": "tic_1"},
    "create_callback": {"customer_id": "cus_1", "at": "2026-03-16T09:00:00-05:00"},
    "list_callbacks": {"customer_id": "cus_1"},
    "send_email": {"customer_id": "cus_1", "subject": "Hi", "body": "Hello"},
    "send_document": {"customer_id": "cus_1", "document_id": "doc_1"},
    "list_documents": {"workspace_id": "ws_1"},
    "get_document": {"document_id": "doc_1"},
    "get_system_status": {"component_id": "api"},
    "escalate_to_human": {
        "queue": "tax",
        "reason": "specialist_work",
        "summary": "VAT",
        "references": ["in_1"],
    },
    "search_knowledge": {"query": "password"},
    "get_article": {"article_id": "kb_9"},
    "get_policy": {"policy_id": "refunds-v7", "on": "2025-06-01"},
    "report_doc_gap": {"topic": "Lockers"},
    "list_holds": {"workspace_id": "ws_1"},
    "hold_change": {"customer_id": "cus_1", "kind": "payout"},
    "purge_data": {"workspace_id": "ws_1", "scope": "files"},
    "export_audit_log": {"workspace_id": "ws_1", "start": "2026-01-01", "end": "2026-01-31", "region": "eu"},
    "list_exports": {"workspace_id": "ws_1"},
    "schedule_change": {"workspace_id": "ws_1", "operation": "migration", "at": "2026-04-01T09:00:00-05:00"},
    "schedule_retry": {"operation": "refund", "at": "2026-03-14T11:00:00-05:00"},
    "list_scheduled": {"workspace_id": "ws_1"},
    "route_to_partner": {"partner_id": "par_1", "customer_id": "cus_1", "request": "Edit the invoice"},
    "compute_sla_credit": {
        "subscription_id": "sub_1",
        "incident_id": "inc_1",
        "clock": "business_hours",
        "percent_per_hour": "10",
    },
}


class World:
    """The toolset on a fresh copy of the rich state."""

    def __init__(self, **tables: Any) -> None:
        self.state = SaasState.model_validate({**STATE, **tables})
        context = Context(NOW, policies=POLICIES, knowledge=KNOWLEDGE, subject="cus_1")
        self.toolset = SaasToolset(self.state, context)

    def __call__(self, tool: str, **arguments: Any) -> Any:
        """Call a tool like the environment does and return its result as JSON data."""
        spec = SaasToolset.specs[tool]
        self.toolset.touched.clear()
        return shown(spec.run(self.toolset, spec.validate(arguments)))
