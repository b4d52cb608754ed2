"""Faults that scenarios declare: which call meets which, and what the agent is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_supportbench.protocol import ToolFailure
from pytest_supportbench.scenario import Fault, FaultKind


@dataclass(frozen=True, slots=True)
class FaultReached:
    """Whether a declared fault was met; ``calls`` are the tool's call numbers (from 1) that met it."""

    tool: str
    kind: FaultKind
    reached: bool
    calls: tuple[int, ...]


class FaultPlan:
    """The faults of one episode, with a count of the calls that reached each tool."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = tuple(faults)
        self._counts: dict[str, int] = {}
        self._met: dict[int, list[int]] = {}

    def next_call(self, tool: str) -> Fault | None:
        """Count one more call of ``tool`` and return the first declared fault that it meets."""
        number = self._counts[tool] = self._counts.get(tool, 0) + 1
        for index, fault in enumerate(self._faults):
            if fault.tool == tool and fault.hits(number):
                self._met.setdefault(index, []).append(number)
                return fault
        return None

    def report(self) -> tuple[FaultReached, ...]:
        """Say for each declared fault whether it was reached, in the order of the file."""
        return tuple(
            FaultReached(fault.tool, fault.kind, index in self._met, tuple(self._met.get(index, ())))
            for index, fault in enumerate(self._faults)
        )


def failure(fault: Fault, request_id: str) -> ToolFailure:
    """Return what the agent is told of a fault that keeps the result from it."""
    if fault.kind == "timeout":
        text = "the request timed out; it is not known whether it took effect"
        return ToolFailure(code="timeout", message=text, retryable=True, request_id=request_id)
    if fault.kind == "unavailable":
        text = fault.message or "the service is unavailable"
        return ToolFailure(code="unavailable", message=text, retryable=True, request_id=request_id)
    if fault.kind == "rate_limited":
        text = f"too many requests; retry after {fault.retry_after} seconds"
        return ToolFailure(
            code="rate_limited",
            message=text,
            retryable=True,
            retry_after=fault.retry_after,
            request_id=request_id,
        )
    return ToolFailure(
        code=fault.code or "error",
        message=fault.message or f"the service answered with the error {fault.code}",
        retryable=fault.retryable,
        request_id=request_id,
    )


def without_effect(fault: Fault) -> bool:
    """Tell whether the call is stopped before it does anything."""
    return fault.kind in {"unavailable", "rate_limited", "error"} or (
        fault.kind == "timeout" and not fault.committed
    )


def split_batch(fault: Fault, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return the arguments that go through a ``partial`` fault, and the items that do not."""
    items = list(arguments[fault.parameter or ""] or ())
    kept = fault.completes or 0
    return {**arguments, fault.parameter or "": items[:kept]}, items[kept:]
