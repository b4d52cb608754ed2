"""The eight tools of an airline's desk."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from airline_records import (
    AirlineState,
    Booking,
    Currency,
    Desk,
    Flight,
    Reason,
    Receipt,
    Refund,
    Transfer,
)
from pydantic import Field

from pytest_supportbench import ToolError, Toolset, tool

BookingCode: TypeAlias = Annotated[str, Field(max_length=20, description="Booking code, such as QX7MPA")]
FlightId: TypeAlias = Annotated[str, Field(max_length=40, description="Flight id, as find_flights gives it")]
Airport: TypeAlias = Annotated[str, Field(pattern="^[A-Z]{3}$", description="Airport code, such as DUB")]
Seat: TypeAlias = Annotated[
    str, Field(pattern="^[0-9]{1,2}[A-F]$", description="Row and letter, such as 14C")
]
Amount: TypeAlias = Annotated[
    Decimal,
    Field(gt=0, max_digits=9, decimal_places=2, description='Decimal, best as text, such as "84.50"'),
]
Fee: TypeAlias = Annotated[
    Decimal, Field(ge=0, max_digits=9, decimal_places=2, description='Decimal, "0.00" for a free change')
]
Key: TypeAlias = Annotated[
    str | None,
    Field(
        max_length=100, description="A text of your own; the same call with the same key takes effect once"
    ),
]
Prose: TypeAlias = Annotated[str, Field(max_length=5000)]


class AirlineToolset(Toolset[AirlineState]):
    """Eight tools. They refuse what cannot be, such as a seat that is taken, and never what policy forbids."""

    name = "airline"
    version = "1.0"
    state_type = AirlineState

    @tool("reads")
    def list_bookings(self, passenger_id: Annotated[str, Field(max_length=40)]) -> list[Booking]:
        """List the bookings of a passenger."""
        self.get(self.state.passengers, passenger_id, "passenger")
        return self.where(self.state.bookings, passenger_id=passenger_id)

    @tool("reads")
    def get_booking(self, booking_id: BookingCode) -> dict[str, Any]:
        """Return a booking with its flight, its fare's rules and the receipts of fees."""
        booking = self._booking(booking_id)
        return {
            "booking": booking,
            "flight": self.state.flights.get(booking.flight_id),
            "fare": self.state.fares.get(booking.fare_id),
            "receipts": self.where(self.state.receipts, booking_id=booking_id),
        }

    @tool("reads")
    def find_flights(self, origin: Airport, destination: Airport, day: date) -> list[Flight]:
        """List the flights between two airports that leave on a day, with their free seats."""
        return [
            flight
            for flight in self.where(self.state.flights, origin=origin, destination=destination)
            if flight.departs.date() == day
        ]

    @tool("reads")
    def list_refunds(self, booking_id: BookingCode) -> dict[str, Any]:
        """List the refunds of a booking, and what of the payment is left."""
        booking = self._booking(booking_id)
        rows = self.where(self.state.refunds, booking_id=booking_id)
        return {"refunds": rows, "left": self._left(booking), "currency": booking.currency}

    @tool("writes", does="plan_change")
    def change_flight(
        self,
        booking_id: BookingCode,
        flight_id: FlightId,
        fee: Fee,
        currency: Currency,
        *,
        idempotency_key: Key = None,
    ) -> dict[str, Any]:
        """Move a booking to another flight, into its first free seat, and charge a fee for it, with a receipt."""
        booking = self._confirmed(booking_id)
        flight = self.get(self.state.flights, flight_id, "flight")
        if not flight.free_seats:
            raise ToolError("no_free_seat", f"{flight.number} has no free seat")
        _same_currency(booking, currency)
        self._give_back(booking)
        seat, *others = self.state.flights[flight_id].free_seats
        self.change(self.state.flights, flight, free_seats=others)
        receipt = Receipt(
            id=self.new_id("rcpt", self.state.receipts),
            passenger_id=booking.passenger_id,
            booking_id=booking_id,
            currency=currency,
            amount=fee,
            idempotency_key=idempotency_key,
        )
        self.put(self.state.receipts, receipt)
        moved = self.change(self.state.bookings, booking, flight_id=flight_id, seat=seat)
        return {"booking": moved, "receipt": receipt}

    @tool("writes", does="seat_change")
    def choose_seat(self, booking_id: BookingCode, seat: Seat) -> Booking:
        """Give a booking another free seat on its flight."""
        booking = self._confirmed(booking_id)
        if seat not in self.get(self.state.flights, booking.flight_id, "flight").free_seats:
            raise ToolError("seat_taken", f"the seat {seat} is not free")
        self._give_back(booking)
        flight = self.state.flights[booking.flight_id]
        self.change(
            self.state.flights, flight, free_seats=[free for free in flight.free_seats if free != seat]
        )
        return self.change(self.state.bookings, booking, seat=seat)

    @tool("writes", does="refund", free_text=["reason"])
    def refund_booking(
        self,
        booking_id: BookingCode,
        amount: Amount,
        currency: Currency,
        reason: Prose,
        *,
        idempotency_key: Key = None,
    ) -> Refund:
        """Return money of a booking the way it was paid; once nothing is left, the booking and its seat are gone."""
        booking = self._confirmed(booking_id)
        _same_currency(booking, currency)
        left = self._left(booking)
        if amount > left:
            raise ToolError("exceeds_payment", f"{amount} {currency} is more than is left, {left} {currency}")
        if amount == left:
            self._give_back(booking)
            self.change(self.state.bookings, booking, status="refunded")
        refund = Refund(
            id=self.new_id("ref", self.state.refunds),
            passenger_id=booking.passenger_id,
            booking_id=booking_id,
            currency=currency,
            amount=amount,
            reason=reason,
            requested_at=self.now,
            idempotency_key=idempotency_key,
        )
        return self.put(self.state.refunds, refund)

    @tool("writes", handoff=True, free_text=["summary"])
    def transfer_case(self, desk: Desk, reason: Reason, summary: Prose) -> Transfer:
        """Move the case to a desk of people, who take it from here."""
        moved = Transfer(
            id=self.new_id("tr", self.state.transfers),
            passenger_id=self.context.subject,
            desk=desk,
            reason=reason,
            summary=summary,
        )
        return self.put(self.state.transfers, moved)

    def _booking(self, booking_id: str) -> Booking:
        return self.get(self.state.bookings, booking_id, "booking")

    def _confirmed(self, booking_id: str) -> Booking:
        booking = self._booking(booking_id)
        if booking.status != "confirmed":
            raise ToolError("not_confirmed", f"the booking {booking_id} is {booking.status}")
        return booking

    def _left(self, booking: Booking) -> Decimal:
        refunds = self.where(self.state.refunds, booking_id=booking.id)
        return booking.paid - sum((refund.amount for refund in refunds), Decimal(0))

    def _give_back(self, booking: Booking) -> None:
        """Free the seat of a booking."""
        flight = self.get(self.state.flights, booking.flight_id, "flight")
        self.change(self.state.flights, flight, free_seats=sorted([*flight.free_seats, booking.seat]))


def _same_currency(booking: Booking, currency: str) -> None:
    if currency != booking.currency:
        raise ToolError("wrong_currency", f"the booking {booking.id} was paid in {booking.currency}")
