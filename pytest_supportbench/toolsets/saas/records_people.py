"""Records about people: customers, the factors that prove who they are, and what is remembered of them."""

from datetime import date as calendar_date
from typing import Literal, TypeAlias

from pydantic import AwareDatetime

from pytest_supportbench.state import Deed, Record

Method: TypeAlias = Literal["email", "sms", "totp", "passkey", "security_question", "document"]
"""How a person can prove who they are."""


class Customer(Record):
    """A person or company that buys; ``delegates`` are subjects who may see and manage it as well."""

    owners = ("id", "delegates")
    identifying = ("name", "email", "phone", "address", "tax_id", "payout_account")
    volatile = frozenset({"version"})

    name: str = ""
    email: str | None = None
    phone: str | None = None
    address: str | None = None
    city: str | None = None
    postcode: str | None = None
    country: str | None = None
    company: str | None = None
    language: str = "en"
    timezone: str = "UTC"
    segment: Literal["consumer", "business", "enterprise"] = "consumer"
    status: Literal["active", "suspended", "closed", "deleted"] = "active"
    tax_id: str | None = None
    payout_account: str | None = None
    partner_id: str | None = None
    delegates: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    member_since: calendar_date | None = None
    version: int = 1

    def evidence(self) -> frozenset[Deed]:
        """Return that a deletion happened, where the profile is deleted."""
        return frozenset({"deletion"}) if self.status == "deleted" else frozenset()


class Factor(Record):
    """A means of proof of one customer or user; ``code`` is the right answer and never leaves the state."""

    owners = ("subject_id",)
    hidden = frozenset({"code"})
    volatile = frozenset({"failed_attempts", "proven_at"})

    subject_id: str
    method: Method
    code: str | None = None
    destination: str | None = None
    changed_at: AwareDatetime | None = None
    proven_at: AwareDatetime | None = None
    failed_attempts: int = 0
    locked: bool = False

    def evidence(self) -> frozenset[Deed]:
        """Return that an update happened, where it is known when."""
        return frozenset({"update"}) if self.changed_at else frozenset()


class Verification(Record):
    """A proof of identity that succeeded."""

    owners = ("customer_id",)
    volatile = frozenset({"at"})

    customer_id: str
    method: Method
    at: AwareDatetime

    def evidence(self) -> frozenset[Deed]:
        """Return that a verification happened."""
        return frozenset({"verification"})


class MemoryEntry(Record):
    """What an earlier conversation left behind about a customer."""

    observation_part = "memory"
    owners = ("customer_id",)
    free_text = frozenset({"text"})

    customer_id: str
    date: calendar_date
    text: str


class Interaction(Record):
    """One earlier contact over any channel."""

    owners = ("customer_id",)
    free_text = frozenset({"text"})

    customer_id: str
    at: AwareDatetime
    channel: Literal["chat", "email", "phone", "web"] = "chat"
    by: Literal["customer", "agent", "staff"] = "customer"
    text: str


class Note(Record):
    """An internal note on a customer's account, by a member of staff or by the agent."""

    owners = ("customer_id",)
    free_text = frozenset({"text", "reference"})
    volatile = frozenset({"at"})

    customer_id: str
    text: str
    author: str = "agent"
    at: AwareDatetime | None = None
    reference: str | None = None
