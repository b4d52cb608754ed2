"""A small toolset of its own, so that the expected messages do not change with the built-in one."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field

from pytest_supportbench.state import Record, State
from pytest_supportbench.tools import ToolError, tool
from pytest_supportbench.toolset import Toolset


class Person(Record):
    """Somebody who writes to the desk."""

    owners: ClassVar[tuple[str, ...]] = ("id",)

    name: str = ""


class Charge(Record):
    """Money taken from somebody."""

    owners: ClassVar[tuple[str, ...]] = ("customer_id",)

    customer_id: str
    amount: Decimal
    currency: str = "USD"
    status: Literal["paid", "refunded"] = "paid"


class DeskState(State):
    """Two tables."""

    customers: dict[str, Person] = Field(default_factory=dict)
    charges: dict[str, Charge] = Field(default_factory=dict)


class Desk(Toolset[DeskState]):
    """A read, a write, a batch and a hand-off."""

    name: ClassVar[str] = "desk"
    version: ClassVar[str] = "1.0"
    state_type: ClassVar[type[State]] = DeskState

    @tool("reads")
    def list_charges(self, customer_id: str) -> list[Charge]:
        """List a customer's charges."""
        return self.where(self.state.charges, customer_id=customer_id)

    @tool("writes", does="refund")
    def issue_refund(self, charge_id: str, amount: Decimal, currency: str = "USD") -> Charge:
        """Refund a charge."""
        charge = self.get(self.state.charges, charge_id, "charge")
        if (amount, currency) != (charge.amount, charge.currency):
            raise ToolError("amount_mismatch", f"the charge is {charge.amount} {charge.currency}")
        return self.change(self.state.charges, charge, status="refunded")

    @tool("writes", batch="names")
    def rename(self, customer_id: str, names: list[str]) -> Person:
        """Set a customer's name from its parts."""
        person = self.get(self.state.customers, customer_id, "customer")
        return self.change(self.state.customers, person, name=" ".join(names))

    @tool("writes", handoff=True)
    def escalate_to_human(self, queue: str) -> str:
        """Hand the case to a team."""
        return queue
