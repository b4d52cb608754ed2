"""Records about service: tickets, hand-offs, callbacks, messages, and what is known of the systems."""

from datetime import date
from typing import Literal, TypeAlias

from pydantic import AwareDatetime

from pytest_supportbench.state import Deed, Record

Queue: TypeAlias = Literal[
    "general",
    "billing",
    "disputes",
    "tax",
    "identity",
    "fraud",
    "ownership",
    "security",
    "privacy",
    "legal",
    "policy_owner",
    "retention",
    "tier2",
    "operations",
    "estates",
    "safety",
]
Reason: TypeAlias = Literal[
    "over_limit",
    "unverified",
    "conflicting_evidence",
    "conflicting_policy",
    "system_outage",
    "ownership_dispute",
    "suspected_takeover",
    "open_dispute",
    "legal",
    "security",
    "privacy",
    "safety",
    "bereavement",
    "repeat_contact",
    "customer_request",
    "specialist_work",
    "other",
]


class Ticket(Record):
    """A support case; ``topic`` groups cases about the same fault."""

    owners = ("customer_id", "workspace_id")
    free_text = frozenset({"summary"})

    customer_id: str
    workspace_id: str | None = None
    title: str = ""
    topic: str | None = None
    status: Literal["open", "pending", "solved", "closed"] = "open"
    opened_at: AwareDatetime | None = None
    closed_at: AwareDatetime | None = None
    queue: Queue | None = None
    summary: str = ""


class Escalation(Record):
    """A case handed to a team."""

    owners = ("customer_id",)
    free_text = frozenset({"summary", "references", "priority"})
    volatile = frozenset({"at"})

    queue: Queue
    reason: Reason
    summary: str = ""
    customer_id: str | None = None
    references: tuple[str, ...] = ()
    priority: Literal["normal", "urgent"] = "normal"
    status: Literal["open", "answered", "closed"] = "open"
    at: AwareDatetime | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a hand-off happened."""
        return frozenset({"handoff"})


class Callback(Record):
    """A call back to the customer, arranged or past."""

    owners = ("customer_id",)
    free_text = frozenset({"reference", "topic"})

    customer_id: str
    at: AwareDatetime
    topic: str = ""
    reference: str | None = None
    status: Literal["scheduled", "done", "missed", "cancelled"] = "scheduled"

    def evidence(self) -> frozenset[Deed]:
        """Return that a callback was arranged, unless it was cancelled or missed."""
        return frozenset({"callback"}) if self.status in {"scheduled", "done"} else frozenset()


class OutboundMessage(Record):
    """An e-mail, code or document sent to a customer."""

    owners = ("customer_id",)
    free_text = frozenset({"subject", "body"})
    volatile = frozenset({"sent_at"})

    customer_id: str
    kind: Literal["email", "code", "document"] = "email"
    to: str | None = None
    subject: str = ""
    body: str = ""
    document_id: str | None = None
    sent_at: AwareDatetime | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a message was sent."""
        return frozenset({"message"})


class Component(Record):
    """A part of the service with its state of health; belongs to nobody."""

    name: str = ""
    status: Literal["operational", "degraded", "partial_outage", "major_outage", "maintenance"] = (
        "operational"
    )


class Incident(Record):
    """A disturbance of components; belongs to nobody."""

    title: str
    components: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    status: Literal["investigating", "identified", "monitoring", "resolved"] = "investigating"
    started_at: AwareDatetime
    resolved_at: AwareDatetime | None = None
    message: str = ""


class KnowledgeArticle(Record):
    """A knowledge article of this scenario, beside those of the suite; belongs to nobody."""

    observation_part = "knowledge"

    title: str
    text: str
    audience: Literal["public", "internal"] = "public"
    updated: str | None = None
    superseded_by: str | None = None
    tags: tuple[str, ...] = ()


class DocumentationGap(Record):
    """A question that the knowledge base does not answer."""

    free_text = frozenset({"topic", "question"})
    volatile = frozenset({"at"})

    topic: str
    question: str = ""
    status: Literal["open", "closed"] = "open"
    at: AwareDatetime | None = None

    def evidence(self) -> frozenset[Deed]:
        """Return that a request was made."""
        return frozenset({"request"})


class Document(Record):
    """A contract paper: a form for everybody, or one customer's or workspace's own."""

    owners = ("customer_id", "workspace_id")

    customer_id: str | None = None
    workspace_id: str | None = None
    title: str
    kind: Literal["dpa", "contract", "addendum", "sla", "form", "guide", "other"] = "other"
    standard: bool = True
    status: Literal["draft", "in_force", "expired"] = "in_force"
    effective_on: date | None = None
    ends_on: date | None = None
    text: str = ""
