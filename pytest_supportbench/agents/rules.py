"""The `rules` agent: keywords, the account and the policy texts decide, in a fixed order, and nothing is learnt.

It is what a support bot was before language models: a floor that a model should beat, and an agent that needs
neither server nor download. Same observation, same turn.

Its authors knew the scenarios of tinybench-50 when they chose its abilities. Nothing in it is the text, id, name or
amount of one scenario, but its score on that suite is no held-out result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pytest_supportbench.agents import rules_answers, rules_money, rules_people, rules_plans, rules_service
from pytest_supportbench.agents.base import BaseAgent
from pytest_supportbench.agents.rules_case import Case, Plan, Row, day, money, text
from pytest_supportbench.agents.rules_credit import service_credit
from pytest_supportbench.agents.rules_people import hand
from pytest_supportbench.agents.rules_text import clean
from pytest_supportbench.protocol import Observation, ToolCall, ToolEntry, Turn

RULES: Final[tuple[Callable[[Case], Plan | None], ...]] = (
    rules_people.spoken_trigger,  # what is said decides before what is asked: harm, death, law, takeover
    rules_people.third_party,  # nothing is told or done before it is clear who writes
    rules_service.partner,  # whose bills are not ours to change
    rules_money.refund_status,  # a question about a refund is not another request for one
    rules_answers.whereabouts,
    rules_plans.renewal_question,
    service_credit,
    rules_plans.instalments,
    rules_money.refund,
    rules_service.erase,
    rules_service.purge,
    rules_plans.undo,
    rules_service.callback,
    rules_service.access,
    rules_service.paperwork,
    rules_plans.change_plan,
    rules_service.seats,
    rules_people.own_data,  # after the rules whose messages name an e-mail address in passing
    rules_plans.cancel,  # late, since people mention a cancellation when they want something else
    rules_answers.status,
    rules_answers.knowledge,
)
"""The rules in the order in which they are tried; the first that returns a plan decides."""

ACTION_OF: Final[Mapping[str, str]] = {
    "issue_refund": "refund",
    "apply_credit": "account_credit",
    "cancel_subscription": "cancel",
    "cancel_renewal": "cancel",
    "cancel_order": "cancel",
    "create_callback": "schedule",
    "schedule_change": "schedule",
    "schedule_retry": "schedule",
    "set_payment_plan": "schedule",
}
"""The outcome that a committed write is called by; other writes are ``update_account``."""

_SENTENCE_OF: Final[Mapping[str, str]] = {
    "issue_refund": "refunded",
    "apply_credit": "credited",
    "set_payment_plan": "instalments",
    "create_callback": "planned",
    "schedule_change": "planned",
    "schedule_retry": "planned",
    "request_admin_approval": "asked_admin",
    "route_to_partner": "forwarded",
    "update_contact": "changed",
    "update_address": "changed",
    "update_tax_id": "changed",
    "change_plan": "changed",
    "set_seat_count": "changed",
    "report_doc_gap": "reported",
    "rotate_api_key": "rotated",
}
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "refunded": ("amount",),
    "credited": ("amount",),
    "instalments": ("amount", "count"),
    "planned": ("date",),
    "changed": ("what",),
    "reported": ("id",),
    "rotated": ("id",),
}
_KEYS: Final = frozenset({"customer_id", "subscription_id"})
"""Arguments that a customer need not read."""

DONE_BEFORE: Final = frozenset({"already_cancelled", "already_removed", "already_deleted", "no_change"})
"""Errors that say that the wanted state holds, as after a time-out whose call went through."""


class RulesAgent(BaseAgent):
    """Decides by fixed rules from the observation alone."""

    inline = True

    def reply(self, observation: Observation, /) -> Turn:
        """Return the turn that the first fitting rule wants; raises nothing, whatever the observation holds."""
        case = Case(observation)
        return _advance(case, _decide(case))


def _decide(case: Case) -> Plan:
    """Return the plan of the first rule that has one, behind the proof of identity that its writes need."""
    plans = (found for rule in RULES if (found := rule(case)) is not None)
    plan = next((plan for plan in plans if plan.reads or plan.calls or plan.say), None)
    plan = plan or rules_answers.last_resort(case)
    if plan.kind != "escalate" and plan.calls and rules_people.needs_proof(case, plan.calls):
        proof = rules_people.prove(case)
        if proof:
            return proof
    return (rules_service.frozen(case, plan.calls) or plan) if plan.kind == "resolve" else plan


def _advance(case: Case, plan: Plan) -> Turn:
    """Return the next step of a plan: its reads, its writes that are open, or the reply on what was done."""
    if plan.reads:
        return Turn(tool_calls=plan.reads)
    if plan.kind == "ask":
        return _final(case, plan, plan.calls)
    broken = [call for call in plan.calls if _is_broken(case, call)]
    if broken:
        return _recover(case, plan, broken[0])
    todo = tuple(call for call in plan.calls if not _is_done(case, call))
    if todo and case.seen.turns_left > 1:
        return Turn(tool_calls=todo)
    return _final(case, plan, todo)


def _is_done(case: Case, call: ToolCall) -> bool:
    return any(
        entry.status != "error" or (entry.error and entry.error.code in DONE_BEFORE)
        for entry in case.tries(call)
    )


def _is_broken(case: Case, call: ToolCall) -> bool:
    return not _is_done(case, call) and not case.may_try(call)


def _recover(case: Case, plan: Plan, call: ToolCall) -> Turn:
    """Hand over what failed for good: an outage to operations, anything else to specialists."""
    failed = case.tries(call)[-1].error
    tool = case.handoff
    if plan.kind == "escalate" or tool is None or call.tool == tool.name:
        return _final(case, Plan("decline", say=(case.tell("no"),)), ())
    reason = "system_outage" if failed and failed.retryable else "specialist_work"
    handed = hand(case, reason)
    if any(_is_broken(case, other) for other in handed.calls):
        return _final(case, Plan("decline", say=(case.tell("no"),)), ())
    return _advance(case, handed)


def _final(case: Case, plan: Plan, calls: tuple[ToolCall, ...]) -> Turn:
    """Return the turn that ends the case, or asks; it says what has been done and seen, and nothing of ``calls``."""
    said = [sentence for entry in case.writes() if (sentence := _report(case, entry))]
    message = " ".join([*said, *plan.say]) or case.tell("done" if plan.calls else "no_answer")
    return Turn(action=_action(case, plan), message=message, tool_calls=calls, asks_for=plan.asks)


def _action(case: Case, plan: Plan) -> str | None:
    """Return the suite's name for the outcome: the wanted one where it exists, else the first of its class."""
    wanted = plan.action
    if not wanted and plan.kind == "resolve":
        wanted = ACTION_OF.get(plan.calls[0].tool, "update_account") if plan.calls else "answer"
    names = {action.name: action.kind for action in case.seen.actions}
    if wanted in names:
        return wanted
    fallback = next((name for name, kind in names.items() if kind == plan.kind), None)
    return fallback or next(iter(names), None)


def _report(case: Case, entry: ToolEntry) -> str:
    """Return what a committed write did, from its own result; empty where the customer need not know."""
    result: Row = entry.result if isinstance(entry.result, Mapping) else {}
    row: Row = {**entry.arguments, **result}
    if case.handoff and entry.tool == case.handoff.name:
        return case.tell("handed", queue=text(row, "queue", 40).replace("_", " "))
    if entry.tool in {"cancel_subscription", "cancel_renewal", "cancel_order", "reinstate_subscription"}:
        return _ending(case, entry.tool, row)
    name = _SENTENCE_OF.get(entry.tool, "")
    values: dict[str, object] = {
        "amount": money(row),
        "date": day(case, row, "at"),
        "count": entry.arguments.get("parts"),
        "id": text(case.row("api_keys", text(row, "key_id")), "last_four", 8) or text(row, "id"),
        "what": ", ".join(
            clean(str(value), 80) for key, value in entry.arguments.items() if key not in _KEYS
        ),
    }
    needed = _NEEDED.get(name, ())
    return case.tell(name, **values) if name and all(values[key] for key in needed) else ""


def _ending(case: Case, tool: str, row: Row) -> str:
    known = case.row("subscriptions", text(row, "subscription_id") or text(row, "id"))
    what = text(row, "plan", 80) or text(known, "plan", 80) or text(row, "order_id") or text(row, "id")
    names = {"cancel_renewal": "no_renewal", "reinstate_subscription": "reinstated"}
    said = case.tell(names.get(tool, "cancelled"), what=what)
    end = day(case, row, "cancel_at", "current_period_end") if tool != "reinstate_subscription" else None
    return f"{said} {case.tell('ends', date=end)}" if end else said
