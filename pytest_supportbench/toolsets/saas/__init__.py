"""The built-in support toolset: a software company's help desk with its books, tenants and policies."""

from pytest_supportbench.toolsets.saas.state import SaasState
from pytest_supportbench.toolsets.saas.tools_billing import BillingTools
from pytest_supportbench.toolsets.saas.tools_customers import CustomerTools
from pytest_supportbench.toolsets.saas.tools_governance import GovernanceTools
from pytest_supportbench.toolsets.saas.tools_knowledge import KnowledgeTools
from pytest_supportbench.toolsets.saas.tools_service import ServiceTools
from pytest_supportbench.toolsets.saas.tools_sla import SlaTools
from pytest_supportbench.toolsets.saas.tools_subscriptions import SubscriptionTools
from pytest_supportbench.toolsets.saas.tools_workspaces import WorkspaceTools

__all__ = ["SaasState", "SaasToolset"]


class SaasToolset(
    CustomerTools,
    WorkspaceTools,
    SubscriptionTools,
    BillingTools,
    ServiceTools,
    KnowledgeTools,
    GovernanceTools,
    SlaTools,
):
    """All tools over one `SaasState`."""
