"""Tools about customers: their profile, proof of identity, and what is remembered of them."""

import hmac
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from pytest_supportbench.tools import ToolError, tool
from pytest_supportbench.toolsets.saas.base import SaasTools, at_version, given
from pytest_supportbench.toolsets.saas.parameters import (
    CustomerId,
    MinVersion,
    Prose,
    Reference,
    Short,
)
from pytest_supportbench.toolsets.saas.records_people import (
    Customer,
    Factor,
    Interaction,
    MemoryEntry,
    Method,
    Note,
    Verification,
)
from pytest_supportbench.toolsets.saas.records_service import OutboundMessage

MAX_ATTEMPTS: Final = 3
"""Wrong codes after which a factor locks."""

MAX_FOUND: Final = 20
"""Customers that a search returns at most."""

_POSTCODE_REQUIRED: Final = frozenset(
    {"AU", "BR", "CA", "CH", "DE", "ES", "FR", "GB", "IT", "JP", "NL", "US"}
)
"""Countries whose addresses are refused without a postcode."""


class CustomerTools(SaasTools):
    """Profile, verification, memory."""

    @tool("reads")
    def get_customer(self, customer_id: CustomerId, min_version: MinVersion = None) -> Customer:
        """Return a customer's profile."""
        return at_version(self.customer(customer_id), min_version)

    @tool("reads")
    def find_customers(
        self,
        email: Short | None = None,
        phone: Short | None = None,
        name: Short | None = None,
        company: Short | None = None,
    ) -> list[Customer]:
        """Find customers by e-mail address, phone number, name or company; all given values must match."""
        wanted = {
            field: _key(field, value)
            for field, value in given(email=email, phone=phone, name=name, company=company).items()
        }
        found = [
            row
            for row in self.state.customers.values()
            if all(
                value and _key(field, getattr(row, field) or "") == value for field, value in wanted.items()
            )
        ]
        return [self.touch(row) for row in found[:MAX_FOUND]]

    @tool("writes", does="update")
    def update_contact(
        self,
        customer_id: CustomerId,
        *,
        name: Short | None = None,
        email: Short | None = None,
        phone: Short | None = None,
        language: Annotated[str | None, Field(pattern=r"^[a-z]{2,3}$", description="ISO 639 code")] = None,
        payout_account: Short | None = None,
    ) -> Customer:
        """Change a customer's name, e-mail address, phone number, language or payout account."""
        row = self.customer(customer_id)
        values = given(name=name, email=email, phone=phone, language=language, payout_account=payout_account)
        return self.change(self.state.customers, row, **values, version=row.version + 1)

    @tool("writes", does="update")
    def update_address(
        self,
        customer_id: CustomerId,
        *,
        address: Annotated[Short, Field(description="Street and number")],
        city: Short,
        country: Annotated[str, Field(pattern=r"^[A-Z]{2}$", description="ISO 3166 code, such as US")],
        postcode: Annotated[str | None, Field(max_length=20)] = None,
    ) -> Customer:
        """Replace a customer's postal address."""
        row = self.customer(customer_id)
        if not postcode and country in _POSTCODE_REQUIRED:
            raise ToolError("unprocessable", f"an address in {country} needs a postcode")
        return self.change(
            self.state.customers,
            row,
            address=address,
            city=city,
            country=country,
            postcode=postcode,
            version=row.version + 1,
        )

    @tool("writes", does="update")
    def update_tax_id(self, customer_id: CustomerId, tax_id: Short) -> Customer:
        """Set a customer's tax or VAT number; it appears on invoices issued from now on."""
        row = self.customer(customer_id)
        return self.change(self.state.customers, row, tax_id=tax_id, version=row.version + 1)

    @tool("writes", does="deletion")
    def delete_profile(self, customer_id: CustomerId) -> dict[str, Any]:
        """Erase a customer's personal data for good; invoices, charges and refunds are kept."""
        row = self.customer(customer_id)
        if row.status == "deleted":
            raise ToolError("already_deleted", f"the profile of {customer_id!r} is deleted already")
        blank = Customer(
            id=row.id,
            status="deleted",
            partner_id=row.partner_id,
            segment=row.segment,
            version=row.version + 1,
        )
        self.put(self.state.customers, blank)
        kept = self.where(self.state.invoices, customer_id=customer_id)
        return {"deleted": customer_id, "invoices_kept": [invoice.id for invoice in kept]}

    @tool("writes", does="message")
    def send_verification_code(
        self, customer_id: CustomerId, method: Literal["email", "sms"]
    ) -> dict[str, Any]:
        """Send a one-time code to the e-mail address or phone on a customer's file."""
        self._person(customer_id)
        factor = self._factor(customer_id, method)
        message = OutboundMessage(
            id=self.new_id("msg", self.state.messages),
            customer_id=customer_id,
            kind="code",
            to=factor.destination,
            sent_at=self.now,
        )
        self.put(self.state.messages, message)
        return {"sent": True, "method": method}

    @tool("writes", does="verification")
    def verify_identity(
        self,
        customer_id: CustomerId,
        method: Method,
        code: Annotated[str, Field(min_length=1, max_length=200, description="What the customer gave")],
    ) -> dict[str, Any]:
        """Check a code or answer that the customer gave; the result tells whether it was right."""
        self._person(customer_id)
        factor = self._factor(customer_id, method)
        right = factor.code is not None and hmac.compare_digest(_code(code), _code(factor.code))
        if not right:
            failed = factor.failed_attempts + 1
            self.change(self.state.factors, factor, failed_attempts=failed, locked=failed >= MAX_ATTEMPTS)
            return {"verified": False, "method": method, "attempts_left": MAX_ATTEMPTS - failed}
        self.change(self.state.factors, factor, failed_attempts=0, proven_at=self.now)
        proof = Verification(
            id=self.new_id("ver", self.state.verifications),
            customer_id=customer_id,
            method=method,
            at=self.now,
        )
        self.put(self.state.verifications, proof)
        return {"verified": True, "method": method, "verification_id": proof.id}

    @tool("reads")
    def get_verification_status(self, customer_id: CustomerId) -> dict[str, Any]:
        """Return which means of proof a customer has, when each was changed, and which were proven."""
        self._person(customer_id)
        return {
            "factors": self.where(self.state.factors, subject_id=customer_id),
            "verifications": self.where(self.state.verifications, customer_id=customer_id),
        }

    @tool("reads", part="memory")
    def list_memory_notes(self, customer_id: CustomerId) -> list[MemoryEntry]:
        """List what earlier conversations with a customer left in memory."""
        self.customer(customer_id)
        return self.where(self.state.memory_notes, customer_id=customer_id)

    @tool("reads")
    def list_interactions(self, customer_id: CustomerId) -> list[Interaction]:
        """List a customer's earlier contacts over all channels."""
        self.customer(customer_id)
        return self.where(self.state.interactions, customer_id=customer_id)

    @tool("reads")
    def list_notes(self, customer_id: CustomerId) -> list[Note]:
        """List the internal notes on a customer's account."""
        self.customer(customer_id)
        return self.where(self.state.notes, customer_id=customer_id)

    @tool("writes", free_text=("text", "reference"))
    def add_note(self, customer_id: CustomerId, text: Prose, reference: Reference = None) -> Note:
        """Add an internal note to a customer's account."""
        self.customer(customer_id)
        note = Note(
            id=self.new_id("note", self.state.notes),
            customer_id=customer_id,
            text=text,
            at=self.now,
            reference=reference,
        )
        return self.put(self.state.notes, note)

    def _person(self, person_id: str) -> None:
        """Touch the customer, or the user who is none; raises `ToolError` ``not_found``."""
        if person_id in self.state.users:
            self.touch(self.state.users[person_id])
        else:
            self.customer(person_id)

    def _factor(self, customer_id: str, method: str) -> Factor:
        for factor in self.state.factors.values():
            if factor.subject_id == customer_id and factor.method == method:
                if factor.locked:
                    raise ToolError(
                        "factor_locked", f"{method} of {customer_id!r} is locked after wrong codes"
                    )
                return self.touch(factor)
        raise ToolError("not_found", f"{customer_id!r} has no {method} to prove identity with")


def _code(value: str) -> bytes:
    """Return a code as it is compared: without spaces and hyphens, in one case."""
    return "".join(value.split()).replace("-", "").casefold().encode()


def _key(field: str, value: str) -> str:
    """Return a searched value as it is compared: phones by digits, all else by casefolded words."""
    if field == "phone":
        return "".join(character for character in value if character.isdigit())
    return " ".join(value.casefold().split())
