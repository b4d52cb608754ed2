"""What an airline's desk works on: flights, fares, bookings and money, one table each."""

from decimal import Decimal
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from pytest_supportbench import Record, State

Currency: TypeAlias = Literal["EUR", "GBP"]
Price: TypeAlias = Annotated[Decimal, Field(ge=0, max_digits=9, decimal_places=2)]
"""An amount in a record: an exact decimal, in the currency of the same record."""

Desk: TypeAlias = Literal["medical", "refunds", "operations"]
Reason: TypeAlias = Literal["fitness_to_fly", "beyond_fare_rules", "system_failure", "other"]


class Passenger(Record):
    """Somebody who has bookings; the id is the subject that these belong to."""

    owners: ClassVar = ("id",)
    identifying: ClassVar = ("name", "email", "phone")

    name: str
    email: str
    phone: str | None = None


class Fare(Record):
    """What can be bought; ``price`` is today's, and no booking's."""

    name: str
    currency: Currency
    price: Price
    refundable: bool
    change_fee: Price


class Flight(Record):
    """A flight on a day; ``sold_as`` is when it was to leave before the schedule changed."""

    number: str
    origin: str
    destination: str
    departs: AwareDatetime
    sold_as: AwareDatetime | None = None
    free_seats: tuple[str, ...] = ()


class Booking(Record):
    """A seat on a flight for a passenger; paid was ``fare_paid`` and ``extras_paid`` (seats, bags)."""

    owners: ClassVar = ("passenger_id",)

    passenger_id: str
    flight_id: str
    fare_id: str
    seat: str
    currency: Currency
    fare_paid: Price
    extras_paid: Price = Decimal("0.00")
    status: Literal["confirmed", "refunded"] = "confirmed"

    @property
    def paid(self) -> Decimal:
        """All that was paid."""
        return self.fare_paid + self.extras_paid


class Receipt(Record):
    """A fee that was charged for a change."""

    owners: ClassVar = ("passenger_id",)
    volatile: ClassVar = frozenset({"idempotency_key"})

    passenger_id: str
    booking_id: str
    currency: Currency
    amount: Price
    idempotency_key: str | None = None


class Refund(Record):
    """Money on its way back for one booking."""

    owners: ClassVar = ("passenger_id",)
    free_text: ClassVar = frozenset({"reason"})
    volatile: ClassVar = frozenset({"requested_at", "idempotency_key"})

    passenger_id: str
    booking_id: str
    currency: Currency
    amount: Price
    reason: str
    requested_at: AwareDatetime
    idempotency_key: str | None = None

    def evidence(self) -> frozenset[Literal["refund"]]:
        """Return that a refund happened, so that an agent who reads this may say so."""
        return frozenset({"refund"})


class Transfer(Record):
    """A case that was moved to a desk of people."""

    owners: ClassVar = ("passenger_id",)
    free_text: ClassVar = frozenset({"summary"})

    passenger_id: str
    desk: Desk
    reason: Reason
    summary: str


class AirlineState(State):
    """The tables, each by record id."""

    passengers: dict[str, Passenger] = {}
    fares: dict[str, Fare] = {}
    flights: dict[str, Flight] = {}
    bookings: dict[str, Booking] = {}
    receipts: dict[str, Receipt] = {}
    refunds: dict[str, Refund] = {}
    transfers: dict[str, Transfer] = {}
