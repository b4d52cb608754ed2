"""Parameter types that several tools share, with the descriptions that an agent reads."""

from typing import Annotated, TypeAlias

from pydantic import AwareDatetime, Field

_ID_CHARS = 100

CustomerId: TypeAlias = Annotated[str, Field(max_length=_ID_CHARS, description="Customer id")]
WorkspaceId: TypeAlias = Annotated[str, Field(max_length=_ID_CHARS, description="Workspace id")]
UserId: TypeAlias = Annotated[str, Field(max_length=_ID_CHARS, description="User id (a seat)")]
RecordId: TypeAlias = Annotated[str, Field(max_length=_ID_CHARS)]

Short: TypeAlias = Annotated[str, Field(min_length=1, max_length=500)]
Prose: TypeAlias = Annotated[str, Field(max_length=20_000)]

Instant: TypeAlias = Annotated[
    AwareDatetime, Field(description="ISO 8601 with a UTC offset, such as 2026-03-16T09:00:00-05:00")
]
Reference: TypeAlias = Annotated[
    str | None, Field(max_length=500, description="Id of a ticket, charge, incident, … that this is about")
]
IdempotencyKey: TypeAlias = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=200,
        description="Any string of your own; repeating the call with the same key takes effect only once",
    ),
]
MinVersion: TypeAlias = Annotated[
    int | None, Field(ge=1, description="Fail rather than return a version older than this")
]
