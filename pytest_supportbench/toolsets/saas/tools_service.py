"""Tools of the help desk: tickets, messages, callbacks, documents, system status, and the hand-off."""

from typing import Annotated, Any, Literal

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
from pytest_supportbench.toolsets.saas.records_service import (
    Callback,
    Document,
    Escalation,
    OutboundMessage,
    Queue,
    Reason,
    Ticket,
)


class ServiceTools(SaasTools):
    """Contact with customers and colleagues."""

    @tool("reads")
    def list_tickets(self, customer_id: CustomerId) -> list[Ticket]:
        """List a customer's support cases with topic, state and dates."""
        self.customer(customer_id)
        return self.where(self.state.tickets, customer_id=customer_id)

    @tool("reads")
    def get_ticket(self, ticket_id: RecordId) -> Ticket:
        """Return one support case."""
        return self.get(self.state.tickets, ticket_id, "ticket")

    @tool("writes", does="callback", free_text=("topic", "reference"))
    def create_callback(
        self, customer_id: CustomerId, at: Instant, topic: Prose = "", reference: Reference = None
    ) -> Callback:
        """Arrange that a colleague phones a customer at a given time."""
        self.customer(customer_id)
        if at <= self.now:
            raise ToolError("in_the_past", f"{at.isoformat()} is not after now, {self.now.isoformat()}")
        callback = Callback(
            id=self.new_id("cb", self.state.callbacks),
            customer_id=customer_id,
            at=at,
            topic=topic,
            reference=reference,
        )
        return self.put(self.state.callbacks, callback)

    @tool("reads")
    def list_callbacks(self, customer_id: CustomerId) -> list[Callback]:
        """List the callbacks arranged with a customer, missed ones included."""
        self.customer(customer_id)
        return self.where(self.state.callbacks, customer_id=customer_id)

    @tool("writes", does="message", free_text=("subject", "body"), outward=("subject", "body"))
    def send_email(self, customer_id: CustomerId, subject: Short, body: Prose) -> OutboundMessage:
        """Send an e-mail to the address on a customer's file."""
        return self._send(customer_id, kind="email", subject=subject, body=body)

    @tool("writes", does="message", free_text=("message",), outward=("message",))
    def send_document(
        self, customer_id: CustomerId, document_id: RecordId, message: Prose = ""
    ) -> OutboundMessage:
        """Send a document to the e-mail address on a customer's file."""
        document = self.get(self.state.documents, document_id, "document")
        return self._send(
            customer_id, kind="document", subject=document.title, body=message, document_id=document_id
        )

    @tool("reads")
    def list_documents(
        self, customer_id: CustomerId | None = None, workspace_id: WorkspaceId | None = None
    ) -> list[Document]:
        """List the documents of a customer or workspace, and those that are for everybody."""
        own = self.concerning(self.state.documents, customer_id, workspace_id)
        return own + self.where(self.state.documents, customer_id=None, workspace_id=None)

    @tool("reads")
    def get_document(self, document_id: RecordId) -> Document:
        """Return one document with its text."""
        return self.get(self.state.documents, document_id, "document")

    @tool("reads")
    def get_system_status(
        self, component_id: Annotated[str | None, Field(max_length=100)] = None
    ) -> dict[str, Any]:
        """Return the health of the service's components and the incidents that concern them."""
        components = self.where(self.state.components)
        incidents = self.where(self.state.incidents)
        if component_id is not None:
            components = [self.get(self.state.components, component_id, "component")]
            incidents = [row for row in incidents if component_id in row.components]
        return {"components": components, "incidents": incidents}

    @tool(
        "writes",
        handoff=True,
        does="handoff",
        free_text=("summary", "customer_id", "references", "priority"),
    )
    def escalate_to_human(
        self,
        *,
        queue: Annotated[Queue, Field(description="Team that takes over")],
        reason: Reason,
        summary: Annotated[Prose, Field(description="What the team needs to know")],
        customer_id: CustomerId | None = None,
        references: Annotated[
            list[str], Field(max_length=50, description="Ids of the records that the case is about")
        ] = [],  # noqa: B006 - pydantic copies it for every call
        priority: Literal["normal", "urgent"] = "normal",
    ) -> Escalation:
        """Hand the case to a team of people, who take it over."""
        subject = customer_id or self.context.subject or None
        if customer_id is not None:
            self.customer(customer_id)
        escalation = Escalation(
            id=self.new_id("esc", self.state.escalations),
            queue=queue,
            reason=reason,
            summary=summary,
            customer_id=subject,
            references=tuple(references),
            priority=priority,
            at=self.now,
        )
        return self.put(self.state.escalations, escalation)

    def _send(self, customer_id: str, **values: Any) -> OutboundMessage:
        customer = self.customer(customer_id)
        if not customer.email:
            raise ToolError("no_address", f"{customer_id!r} has no e-mail address on file")
        message = OutboundMessage(
            id=self.new_id("msg", self.state.messages),
            customer_id=customer_id,
            to=customer.email,
            sent_at=self.now,
            **values,
        )
        return self.put(self.state.messages, message)
