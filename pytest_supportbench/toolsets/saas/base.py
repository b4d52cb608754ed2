"""What the tool modules share: the bound state type and checks that several tools make."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeVar

from pytest_supportbench.state import Record
from pytest_supportbench.tools import ToolError
from pytest_supportbench.toolset import Toolset
from pytest_supportbench.toolsets.saas.money import in_minor_units, minor_digits
from pytest_supportbench.toolsets.saas.records_billing import Subscription
from pytest_supportbench.toolsets.saas.records_people import Customer
from pytest_supportbench.toolsets.saas.records_workspace import Workspace
from pytest_supportbench.toolsets.saas.state import SaasState

R = TypeVar("R", bound=Record)
V = TypeVar("V", Customer, Workspace, Subscription)


class SaasTools(Toolset[SaasState]):
    """Base of the tool modules; has no tools itself."""

    name = "saas"
    version = "1.0"
    state_type = SaasState
    schemas_when_used = True

    def customer(self, customer_id: str) -> Customer:
        """Return a customer; raises `ToolError` ``not_found``."""
        return self.get(self.state.customers, customer_id, "customer")

    def concerning(self, table: dict[str, R], customer_id: str | None, workspace_id: str | None) -> list[R]:
        """Return the rows with the given customer and workspace; raises `ToolError` without either."""
        values: dict[str, Any] = {}
        if customer_id is not None:
            self.customer(customer_id)
            values["customer_id"] = customer_id
        if workspace_id is not None:
            self.get(self.state.workspaces, workspace_id, "workspace")
            values["workspace_id"] = workspace_id
        if not values:
            raise ToolError("invalid_arguments", "give a customer_id, a workspace_id, or both")
        return self.where(table, **values)


def at_version(record: V, min_version: int | None) -> V:
    """Return ``record`` at ``min_version`` or later; raises the retryable `ToolError` ``stale_read``."""
    if min_version is not None and record.version < min_version:
        raise ToolError(
            "stale_read",
            f"{record.id!r} is at version {record.version} here; version {min_version} is not readable yet",
            retryable=True,
        )
    return record


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not ``None``; raises `ToolError` where all are."""
    found = {name: value for name, value in values.items() if value is not None}
    if not found:
        raise ToolError("invalid_arguments", f"give at least one of {', '.join(values)}")
    return found


def amount_in(amount: Decimal, currency: str, expected: str, what: str) -> Decimal:
    """Return ``amount`` with its currency's digits.

    Raises `ToolError` ``currency_mismatch`` where ``currency`` is not the ``expected`` one of ``what``, and
    ``invalid_amount`` where the amount has more digits than the currency.
    """
    if currency != expected:
        raise ToolError("currency_mismatch", f"{what} is in {expected}, not in {currency}")
    try:
        return in_minor_units(amount, currency)
    except ValueError:
        digits = minor_digits(currency)
        raise ToolError(
            "invalid_amount", f"{amount:f} is no amount in {currency}, which takes {digits or 'no'} decimals"
        ) from None


def unique(values: Iterable[str], what: str) -> None:
    """Raise `ToolError` ``invalid_arguments`` where a value comes twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ToolError("invalid_arguments", f"{what} {value!r} is listed twice")
        seen.add(value)
