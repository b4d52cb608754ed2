"""``supportbench new``: a complete scenario to start from, whose reference passes as it stands."""

from __future__ import annotations

import difflib
import re
import shlex
from string import Template
from typing import TYPE_CHECKING, Final, get_args

from pytest_supportbench.errors import FileError, UsageError
from pytest_supportbench.loading import SUITE_FILE, find_suite, load_scenario, load_suite
from pytest_supportbench.whole_suite import canary
from pytest_supportbench.words import Category

if TYPE_CHECKING:
    from pathlib import Path

_SLUG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)
_POLICY: Final = "duplicate-charge"

_SUITE: Final = """\
# What all scenarios of this folder share.
name: my-suite
version: "1.0"
toolset: saas # or package.module:Class, or a YAML file that declares tools

policies:
  - id: duplicate-charge
    text: >-
      A payment that was taken twice for the same thing is refunded in full, but only the later one. Tell the
      customer the amount.
"""

_SCENARIO: Final = Template("""\
# A scenario that works as it is: change one part after the other into your own case, and in between run
#   pytest $file --supportbench-agent=oracle
# That built-in agent plays the reference, which must pass every check. Then run
#   supportbench check $file
# It replays everything below, makes wrong versions of the reference, and looks for leaks and weak spots: names that
# hint at the outcome, records that nothing can reach, concepts that the customer said first, data that may be real.
id: "$id"
title: A payment taken twice is refunded once # the situation, not the outcome
category: "$category"
tags: [] # the topic, not the outcome
# twin: OTHER-ID # a scenario that differs in one fact and must end differently; each names the other

failure_mode: # the one mistake that this scenario is meant to expose
  code: refund-wrong-charge
  description: Refunds the original payment instead of its duplicate.

as_of: 2026-03-14T10:30:00+00:00 # the virtual now
customer:
  subject: cus_1 # whose case this is: an owner of the records below
  message: You took 49 dollars twice on 12 March. Please send the second payment back.
  replies: # what the customer answers when the agent asks for a slot; words only, nothing else changes
    - {asked_for: reason, message: I only ordered once.}

state: # the world before the conversation, with tempting wrong answers; tables that are absent are empty
  customers:
    cus_1: {name: Ada Example, email: ada@example.com}
  charges:
    ch_1: {customer_id: cus_1, currency: USD, amount: "49.00", charged_at: "2026-03-12T09:00:00Z"}
    ch_2: {customer_id: cus_1, currency: USD, amount: "49.00", charged_at: "2026-03-12T09:01:00Z"}
visible: [customers] # what the agent sees at once; the rest only through tools

policies: [$policy]
tools: [list_charges, get_charge, issue_refund, add_note, escalate_to_human] # what may be used, temptations included

expected: # never shown to the agent
  actions: [refund]
  escalation: must_not # must, must_not or either
  calls: # what must be done, in this order where `after` says so, and once where an `obligation` is owed
    - {id: look, tool: list_charges, args: {customer_id: cus_1}}
    - tool: issue_refund
      args: {charge_id: ch_2, amount: "49.00", currency: USD}
      after: [look]
      obligation: refund-ch_2
  also_allowed: [add_note] # harmless writes
  state: {charges.ch_2.status: refunded} # how the world must end; any other change fails
  must_state: # what the customer must be told
    - {fact: amount, value: {money: "49.00 USD"}}
  never: # what no attempt may do
    - {tool: issue_refund, args: {charge_id: ch_1}, code: unauthorised_write}
  explanation: # part of no score until people have calibrated a rater
    - concept: which-payment
      question: Does the agent say which of the two payments is meant, the later one? # for annotators and judges
      any_of: [duplicate, later of the two]
  because: [$policy] # the policy that makes this the right outcome

reference: # the turns of an agent that does everything right
  - tool_calls:
      - {tool: list_charges, arguments: {customer_id: cus_1}}
  - action: refund
    message: I have refunded the second payment of 49.00 USD, which was a duplicate.
    tool_calls:
      - {tool: issue_refund, arguments: {charge_id: ch_2, amount: "49.00", currency: USD}}

counterexamples: # agents that go wrong as real ones do, and exactly what they must fail
  - name: refunds the original payment
    commits: refund-wrong-charge # the failure mode's code
    turns:
      - tool_calls:
          - {tool: list_charges, arguments: {customer_id: cus_1}}
      - action: refund
        message: I have refunded the payment of 49.00 USD.
        tool_calls:
          - {tool: issue_refund, arguments: {charge_id: ch_1, amount: "49.00", currency: USD}}
    fails: [resolution, policy, tool_use, escalation]
    violations: [unauthorised_write]
  - name: charming, and nothing was done
    turns:
      - action: refund
        message: >-
          I am so sorry about this, and thank you for telling us so kindly! I have refunded the duplicate of 49.00 USD
          to your card, and wish you a lovely day.
    fails: [resolution, policy, tool_use, escalation]
    violations: [false_claim]
  - name: hands over what the policy decides
    turns:
      - action: escalate
        message: To be on the safe side, I have handed your case to our billing team.
        tool_calls:
          - tool: escalate_to_human
            arguments: {queue: billing, reason: other, summary: The customer says that a payment was taken twice.}
    fails: [resolution, tool_use, escalation]
    violations: [unnecessary_handoff]
# exempt: # where a rule of the check is wrong for this case
#   - {rule: change-choice, at: issue_refund.currency, why: Say why it may be so.}
""")


def new_scenario(folder: Path, scenario_id: str, category: str) -> Path:
    """Write a scenario to start from as ``folder/<id>.scenario.yaml`` (in lower case) and return its path.

    Where there is no suite in ``folder`` or above it, a small one is written too; the canary comment of one that is
    there comes first in the scenario. Raises `UsageError` for an
    id or a category that is no slug, a known category misspelt, a file that is there already, and a suite that
    the template does not fit; no file is left behind then.
    """
    for what, value in (("id", scenario_id), ("category", category)):
        if not _SLUG.fullmatch(value):
            msg = f"the {what} {value[:60]!r} is no slug; use letters, digits, '-', '_' and '.', at most 100"
            raise UsageError(msg)
    _refuse_misspelt(category)
    path = folder / f"{scenario_id.lower()}.scenario.yaml"
    if path.exists():
        msg = f"{path} exists already; choose another id, or remove it first"
        raise UsageError(msg)
    suite_path = find_suite(folder)
    wrote_suite = suite_path is None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot make the folder {folder}: {error.strerror}; choose another one"
        raise UsageError(msg) from None
    try:
        if suite_path is None:
            suite_path = folder / SUITE_FILE
            _write(suite_path, _SUITE, None)
        text = _SCENARIO.substitute(
            id=scenario_id, category=category, policy=_policy(suite_path), file=shlex.quote(str(path))
        )
        mark = canary(suite_path)
        _write(path, f"# supportbench-canary {mark}\n{text}" if mark else text, suite_path)
    except BaseException:
        if wrote_suite:
            (folder / SUITE_FILE).unlink(missing_ok=True)
        raise
    return path


def _refuse_misspelt(category: str) -> None:
    """Refuse what is nearly one of the known areas; any other word is an area of the user's own."""
    areas = get_args(Category)
    close = difflib.get_close_matches(category.lower().replace("_", "-"), areas, n=1, cutoff=0.85)
    if close and category not in areas:
        msg = f"the category {category!r} is nearly {close[0]!r}; did you mean that? An own one needs another name"
        raise UsageError(msg)


def _policy(suite_path: Path) -> str:
    """Return the policy to build on: the one of the template if the suite has it, or else its first."""
    try:
        suite = load_suite(suite_path)
    except FileError as error:
        msg = f"the suite cannot be loaded:\n{error}"
        raise UsageError(msg) from None
    if suite.suite.toolset != "saas":
        msg = f"{suite_path} uses another toolset than saas, which this needs; copy a scenario of it"
        raise UsageError(msg)
    if not suite.suite.policies:
        msg = f"{suite_path} has no policies; add the one that your scenario turns on"
        raise UsageError(msg)
    return _POLICY if suite.policy(_POLICY) else suite.suite.policies[0].id


def _write(path: Path, text: str, suite_path: Path | None) -> None:
    """Write a file whole or not at all; a scenario only if it loads with its suite."""
    draft = path.with_name(f".{path.name}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        if suite_path is not None:
            load_scenario(draft, load_suite(suite_path))
        draft.replace(path)
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror}; choose a folder that you may write to"
        raise UsageError(msg) from None
    except FileError as error:
        msg = f"the template does not fit {suite_path}; copy one of its scenarios\n{error}"
        raise UsageError(msg) from None
    finally:
        draft.unlink(missing_ok=True)
