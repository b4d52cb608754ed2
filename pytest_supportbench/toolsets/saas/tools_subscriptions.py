"""Tools about plans, subscriptions and orders."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pytest_supportbench.tools import ToolError, tool
from pytest_supportbench.toolsets.saas.base import SaasTools, at_version
from pytest_supportbench.toolsets.saas.parameters import CustomerId, MinVersion, RecordId
from pytest_supportbench.toolsets.saas.records_billing import Order, Plan, Subscription

Effective: TypeAlias = Annotated[
    Literal["immediately", "period_end"], Field(description="When it takes effect")
]


class SubscriptionTools(SaasTools):
    """What a customer has bought for how long."""

    @tool("reads")
    def list_plans(self) -> list[Plan]:
        """List the plans on sale with their price for one seat and period."""
        return self.where(self.state.plans)

    @tool("reads")
    def list_subscriptions(self, customer_id: CustomerId) -> list[Subscription]:
        """List a customer's subscriptions, past ones included."""
        self.customer(customer_id)
        return self.where(self.state.subscriptions, customer_id=customer_id)

    @tool("reads")
    def get_subscription(self, subscription_id: RecordId, min_version: MinVersion = None) -> Subscription:
        """Return one subscription: plan, price, period, renewal."""
        return at_version(self._subscription(subscription_id), min_version)

    @tool("writes", does="plan_change")
    def change_plan(self, subscription_id: RecordId, plan_id: RecordId, effective: Effective) -> Subscription:
        """Move a subscription to another plan, at once or from the next period on."""
        row = self._running(subscription_id)
        plan = self.get(self.state.plans, plan_id, "plan")
        if row.plan == plan_id:
            raise ToolError("no_change", f"{subscription_id!r} is on {plan_id!r} already")
        if effective == "period_end":
            return self.change(self.state.subscriptions, row, next_plan=plan_id, version=row.version + 1)
        if plan.currency != row.currency:
            raise ToolError(
                "currency_mismatch",
                f"{subscription_id!r} is in {row.currency}, {plan_id!r} in {plan.currency}",
            )
        return self.change(
            self.state.subscriptions,
            row,
            plan=plan_id,
            amount=plan.amount * row.quantity,
            interval=plan.interval,
            next_plan=None,
            version=row.version + 1,
        )

    @tool("writes", does="seat_change")
    def set_seat_count(
        self, subscription_id: RecordId, quantity: Annotated[int, Field(ge=1, le=100_000)]
    ) -> Subscription:
        """Set how many seats a subscription pays for; its price follows."""
        row = self._running(subscription_id)
        plan = self.get(self.state.plans, row.plan, "plan")
        return self.change(
            self.state.subscriptions,
            row,
            quantity=quantity,
            amount=plan.amount * quantity,
            version=row.version + 1,
        )

    @tool("writes", does="cancellation")
    def cancel_subscription(self, subscription_id: RecordId, effective: Effective) -> Subscription:
        """Cancel a subscription at once or at the end of its paid period."""
        row = self._running(subscription_id)
        version = row.version + 1
        if effective == "immediately":
            return self.change(
                self.state.subscriptions,
                row,
                status="cancelled",
                cancelled_at=self.now,
                auto_renew=False,
                version=version,
            )
        if row.current_period_end is None:
            raise ToolError(
                "no_period", f"{subscription_id!r} has no period end; it can only end immediately"
            )
        return self.change(
            self.state.subscriptions,
            row,
            cancel_at=row.current_period_end,
            auto_renew=False,
            version=version,
        )

    @tool("writes", does="cancellation")
    def cancel_renewal(self, subscription_id: RecordId) -> Subscription:
        """Turn automatic renewal off; the subscription runs to the end of its period."""
        row = self._running(subscription_id)
        if not row.auto_renew:
            raise ToolError("no_change", f"{subscription_id!r} does not renew already")
        return self.change(self.state.subscriptions, row, auto_renew=False, version=row.version + 1)

    @tool("writes", does="reinstatement")
    def reinstate_subscription(self, subscription_id: RecordId) -> Subscription:
        """Undo a cancellation, so that the subscription runs and renews as before."""
        row = self._subscription(subscription_id)
        if row.status != "cancelled" and row.cancel_at is None and row.auto_renew:
            raise ToolError("no_change", f"{subscription_id!r} is not cancelled")
        return self.change(
            self.state.subscriptions,
            row,
            status="active",
            cancel_at=None,
            cancelled_at=None,
            auto_renew=True,
            version=row.version + 1,
        )

    @tool("reads")
    def list_orders(self, customer_id: CustomerId) -> list[Order]:
        """List a customer's orders."""
        self.customer(customer_id)
        return self.where(self.state.orders, customer_id=customer_id)

    @tool("reads")
    def get_order(self, order_id: RecordId) -> Order:
        """Return one order with its delivery state."""
        return self.get(self.state.orders, order_id, "order")

    @tool("writes", does="cancellation")
    def cancel_order(self, order_id: RecordId) -> Order:
        """Cancel an order that has not left the warehouse."""
        row = self.get(self.state.orders, order_id, "order")
        if row.status != "placed":
            raise ToolError("not_cancellable", f"{order_id!r} is {row.status}")
        return self.change(self.state.orders, row, status="cancelled")

    def _subscription(self, subscription_id: str) -> Subscription:
        return self.get(self.state.subscriptions, subscription_id, "subscription")

    def _running(self, subscription_id: str) -> Subscription:
        row = self._subscription(subscription_id)
        if row.status == "cancelled":
            raise ToolError("already_cancelled", f"{subscription_id!r} is cancelled already")
        return row
