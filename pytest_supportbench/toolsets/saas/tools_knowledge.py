"""Tools about what is known: articles, policies, and gaps in the documentation."""

from datetime import date
from typing import Annotated, Any

from pydantic import Field

from pytest_supportbench.suite import Article, Policy
from pytest_supportbench.tools import ToolError, tool
from pytest_supportbench.toolsets.saas.base import SaasTools
from pytest_supportbench.toolsets.saas.parameters import Prose, RecordId, Short
from pytest_supportbench.toolsets.saas.records_service import DocumentationGap, KnowledgeArticle
from pytest_supportbench.toolsets.saas.search import search


class KnowledgeTools(SaasTools):
    """Reading, and saying what there is nothing to read about."""

    @tool("reads", part="knowledge")
    def search_knowledge(
        self, query: Short, limit: Annotated[int, Field(ge=1, le=20)] = 5
    ) -> list[dict[str, Any]]:
        """Search the knowledge base; returns ids, titles and snippets of the best articles, best first."""
        return [
            {
                "id": hit.article.id,
                "title": hit.article.title,
                "snippet": hit.snippet,
                "score": f"{hit.score:.3f}",
                **_labels(hit.article),
            }
            for hit in search(self._articles(), query, limit)
        ]

    @tool("reads", part="knowledge")
    def get_article(self, article_id: RecordId) -> dict[str, Any]:
        """Return a knowledge article with its whole text."""
        for article in self._articles():
            if article.id == article_id:
                return {"id": article_id, "title": article.title, "text": article.text, **_labels(article)}
        raise ToolError("not_found", f"no article {article_id!r}")

    @tool("reads", part="policies")
    def get_policy(
        self,
        policy_id: RecordId,
        on: Annotated[date | None, Field(description="Return the version in force on this day")] = None,
    ) -> Policy:
        """Return a policy with its version, date of effect and predecessor."""
        policies = {policy.id: policy for policy in self.context.policies}
        policy = policies.get(policy_id)
        if policy is None:
            raise ToolError("not_found", f"no policy {policy_id!r}")
        if on is None:
            return policy
        in_force = [
            version
            for version in _versions(policy, policies)
            if version.effective and version.effective[:10] <= str(on)
        ]
        if not in_force:
            raise ToolError("not_found", f"no version of {policy_id!r} was in force on {on}")
        return max(in_force, key=lambda version: version.effective or "")

    @tool("writes", does="request", free_text=("topic", "question"))
    def report_doc_gap(self, topic: Short, question: Prose = "") -> DocumentationGap:
        """Report a question that the knowledge base does not answer to its editors."""
        gap = DocumentationGap(
            id=self.new_id("gap", self.state.doc_gaps), topic=topic, question=question, at=self.now
        )
        return self.put(self.state.doc_gaps, gap)

    def _articles(self) -> tuple[Article | KnowledgeArticle, ...]:
        """Return the suite's articles and the scenario's; the scenario's replace those with the same id."""
        own = self.state.articles
        if not own:
            return self.context.knowledge
        kept = tuple(article for article in self.context.knowledge if article.id not in own)
        return (*kept, *own.values())


def _labels(article: Any) -> dict[str, str]:
    """Return what tells how far an article can be trusted, where it is set."""
    labels = {
        "audience": article.audience,
        "updated": article.updated,
        "superseded_by": article.superseded_by,
    }
    return {name: value for name, value in labels.items() if value}


def _versions(policy: Policy, policies: dict[str, Policy]) -> list[Policy]:
    """Return a policy with all that it supersedes and that supersede it, each once."""
    found = {policy.id: policy}
    older = policies.get(policy.supersedes or "")
    while older is not None and older.id not in found:
        found[older.id] = older
        older = policies.get(older.supersedes or "")
    grown = True
    while grown:
        newer = {row.id: row for row in policies.values() if row.supersedes in found and row.id not in found}
        found |= newer
        grown = bool(newer)
    return list(found.values())
