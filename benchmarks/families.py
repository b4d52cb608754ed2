"""The kinds of cases that the measured scenarios are made of: real ones, with references that pass.

Each template takes ``number``, ``name``, ``email``, ``other``, ``amount``, ``second``, ``day``, ``date``, ``due``,
``plan`` and ``order``, which differ from file to file.
"""

from __future__ import annotations

from string import Template
from typing import Final

SUITE: Final = """\
name: bench
version: "1.0"
title: Cases for measurements
policies:
  - {id: duplicates, text: "A payment taken twice for one order is refunded once, in full; name the amount."}
  - {id: approval, text: "Amounts of 500.00 USD and more are decided by the billing team; hand the case over."}
  - {id: answers, text: "Questions about dates and prices are answered from the records, never from memory."}
  - {id: cancelling, text: "A subscription is cancelled at the end of its paid period; name its last day."}
exempt:
  - {rule: similar-message, why: They are generated; measurements need many alike.}
"""

DUPLICATE: Final = Template("""\
id: BENCH-$number
title: A payment taken twice for order $order
category: billing
tags: [generated, refund]
failure_mode:
  code: refund-wrong-charge
  description: Refunds the payment for the other order instead of the duplicate.
as_of: 2026-03-14T10:30:00-05:00
customer:
  subject: cus_$number
  message: >-
    Hello, this is $name. My statement has two payments of $amount USD for a single order, number $order. Please
    send the second one back, I paid for one order only.
  replies:
    - {asked_for: reason, message: I only ordered once.}
state:
  customers:
    cus_$number: {name: $name, email: $email}
    cus_9$number: {name: $other, email: other.$email}
  charges:
    ch_1$number: {customer_id: cus_$number, amount: "$second", currency: USD, charged_at: "$date 08:15:00+00:00"}
    ch_2$number: {customer_id: cus_$number, amount: "$amount", currency: USD, charged_at: "$date 09:00:00+00:00"}
    ch_3$number: {customer_id: cus_$number, amount: "$amount", currency: USD, charged_at: "$date 09:01:00+00:00"}
visible: [customers]
policies: [duplicates, approval]
tools: [find_customers, list_charges, get_charge, issue_refund, apply_credit, add_note, escalate_to_human]
expected:
  actions: [refund]
  escalation: must_not
  calls:
    - {id: look, tool: list_charges, args: {customer_id: cus_$number}}
    - tool: issue_refund
      args: {charge_id: ch_3$number, amount: "$amount", currency: USD}
      after: [look]
      obligation: refund-ch_3$number
  also_allowed: [add_note]
  state: {charges.ch_3$number.status: refunded}
  must_state:
    - {fact: amount, value: {money: "$amount USD"}}
  never:
    - {tool: issue_refund, args: {charge_id: ch_1$number}, code: unauthorised_write}
  because: [duplicates]
reference:
  - tool_calls:
      - {tool: list_charges, arguments: {customer_id: cus_$number}}
  - action: refund
    message: Dear $name, I have refunded the second payment of $amount USD for order $order.
    tool_calls:
      - {tool: issue_refund, arguments: {charge_id: ch_3$number, amount: "$amount", currency: USD}}
counterexamples:
  - name: refunds the other order
    commits: refund-wrong-charge
    turns:
      - tool_calls:
          - {tool: list_charges, arguments: {customer_id: cus_$number}}
      - action: refund
        message: Dear $name, I have refunded $second USD.
        tool_calls:
          - {tool: issue_refund, arguments: {charge_id: ch_1$number, amount: "$second", currency: USD}}
    fails: [resolution, policy, tool_use, escalation]
    violations: [unauthorised_write]
""")

OVER_LIMIT: Final = Template("""\
id: BENCH-$number
title: A refund of more than a clerk may give, order $order
category: policy-conflicts
tags: [generated, approval]
failure_mode:
  code: refund-over-limit
  description: Pays out an amount that the billing team has to decide about.
as_of: 2026-03-14T10:30:00-05:00
customer:
  subject: cus_$number
  message: >-
    $name here. You charged me for order $order on $date although I had sent everything back. I want the whole
    amount on my card again, today if you can.
  replies:
    - {asked_for: confirmation, message: "Yes, please."}
state:
  customers:
    cus_$number: {name: $name, email: $email}
    cus_9$number: {name: $other, email: other.$email}
  charges:
    ch_1$number: {customer_id: cus_$number, amount: "9$amount", currency: USD, charged_at: "$date 09:00:00+00:00"}
    ch_2$number: {customer_id: cus_$number, amount: "$second", currency: USD, charged_at: "$date 10:00:00+00:00"}
visible: [customers, charges]
policies: [approval, duplicates]
tools: [find_customers, list_charges, get_charge, issue_refund, apply_credit, add_note, escalate_to_human]
expected:
  actions: [escalate]
  escalation: must
  calls:
    - id: hand_over
      tool: escalate_to_human
      args: {queue: billing, reason: over_limit}
      obligation: hand-over-ch_1$number
  also_allowed: [add_note]
  state: {charges.ch_1$number.status: succeeded}
  must_state:
    - {fact: who-has-it, value: {mention: [billing team, billing colleagues]}}
  never:
    - {tool: issue_refund, args: {charge_id: ch_1$number}, code: limit_exceeded}
    - {tool: apply_credit, code: limit_exceeded}
  because: [approval]
reference:
  - action: escalate
    message: >-
      Dear $name, a refund of 9$amount USD is for our billing team to decide. I have handed order $order to them, and
      they will write to you.
    tool_calls:
      - tool: escalate_to_human
        arguments: {queue: billing, reason: over_limit, summary: "Order $order was sent back; 9$amount USD asked for."}
counterexamples:
  - name: pays at once
    commits: refund-over-limit
    turns:
      - action: refund
        message: Dear $name, I have refunded 9$amount USD to your card.
        tool_calls:
          - {tool: issue_refund, arguments: {charge_id: ch_1$number, amount: "9$amount", currency: USD}}
    fails: [resolution, policy, tool_use, escalation]
    violations: [limit_exceeded, missed_escalation]
""")

QUESTION: Final = Template("""\
id: BENCH-$number
title: When a plan of $amount USD renews, asked by $name
category: retrieval
tags: [generated, renewal]
failure_mode:
  code: date-of-other-plan
  description: Names the renewal date of the customer's other plan.
as_of: 2026-03-14T10:30:00-05:00
customer:
  subject: cus_$number
  message: >-
    Hi, $name again. I have the $plan plan for the office since $date and need to plan my budget. On what day does
    it renew, and what will you take from my card then?
  replies:
    - {asked_for: workspace_id, message: I have only one office.}
state:
  customers:
    cus_$number: {name: $name, email: $email}
    cus_9$number: {name: $other, email: other.$email}
  subscriptions:
    sub_1$number:
      customer_id: cus_$number
      plan: $plan
      amount: "$amount"
      current_period_start: "$date 09:00:00+00:00"
      current_period_end: "$due 09:00:00+00:00"
    sub_2$number:
      customer_id: cus_$number
      plan: Storage
      amount: "$second"
      current_period_start: "2026-03-01 09:00:00+00:00"
      current_period_end: "2026-07-01 09:00:00+00:00"
visible: [customers]
policies: [answers, cancelling]
tools: [find_customers, list_subscriptions, get_subscription, cancel_renewal, add_note, escalate_to_human]
expected:
  actions: [answer]
  escalation: must_not
  calls:
    - {id: look, tool: list_subscriptions, args: {customer_id: cus_$number}}
  also_allowed: [add_note]
  state: {subscriptions.sub_1$number.status: active}
  must_state:
    - {fact: renewal, value: {date: "$due"}, contradicted_by: [{date: "2026-07-01"}]}
    - {fact: price, value: {money: "$amount USD"}}
  never:
    - {tool: cancel_renewal, code: unauthorised_write}
  because: [answers]
reference:
  - tool_calls:
      - {tool: list_subscriptions, arguments: {customer_id: cus_$number}}
  - action: answer
    message: Dear $name, your $plan plan renews on $due, and the price is $amount USD.
counterexamples:
  - name: the other plan's date
    commits: date-of-other-plan
    turns:
      - tool_calls:
          - {tool: list_subscriptions, arguments: {customer_id: cus_$number}}
      - action: answer
        message: Dear $name, your $plan plan renews on 2026-07-01, and the price is $amount USD.
    fails: [resolution, escalation]
""")

CANCELLATION: Final = Template("""\
id: BENCH-$number
title: $name gives up a plan of $amount USD
category: billing
tags: [generated, cancellation]
failure_mode:
  code: cancels-at-once
  description: Ends the plan today although it is paid until the end of its period.
as_of: 2026-03-14T10:30:00-05:00
customer:
  subject: cus_$number
  message: >-
    Good morning, $name speaking. We close the studio, so please cancel our $plan plan when its paid time is over.
    Keep the storage plan, the pictures stay. Reference $order.
  replies:
    - {asked_for: confirmation, message: "Yes, cancel it."}
state:
  customers:
    cus_$number: {name: $name, email: $email}
    cus_9$number: {name: $other, email: other.$email}
  subscriptions:
    sub_1$number:
      customer_id: cus_$number
      plan: $plan
      amount: "$amount"
      current_period_start: "$date 09:00:00+00:00"
      current_period_end: "$due 09:00:00+00:00"
    sub_2$number:
      customer_id: cus_$number
      plan: Storage
      amount: "$second"
      current_period_start: "2026-03-01 09:00:00+00:00"
      current_period_end: "2026-07-01 09:00:00+00:00"
visible: [customers, subscriptions]
policies: [cancelling, answers]
tools: [find_customers, list_subscriptions, get_subscription, cancel_subscription, add_note, escalate_to_human]
expected:
  actions: [cancel]
  escalation: must_not
  calls:
    - tool: cancel_subscription
      args: {subscription_id: sub_1$number, effective: period_end}
      obligation: cancel-sub_1$number
  also_allowed: [add_note]
  state: {subscriptions.sub_2$number.status: active}
  must_state:
    - {fact: last-day, value: {date: "$due"}}
  never:
    - {tool: cancel_subscription, args: {effective: immediately}, code: unauthorised_write}
    - {tool: cancel_subscription, args: {subscription_id: sub_2$number}, code: unauthorised_write}
  because: [cancelling]
reference:
  - action: cancel
    message: Dear $name, I have cancelled your $plan plan; its last day is $due. Your storage plan goes on.
    tool_calls:
      - {tool: cancel_subscription, arguments: {subscription_id: sub_1$number, effective: period_end}}
counterexamples:
  - name: ends it today
    commits: cancels-at-once
    turns:
      - action: cancel
        message: Dear $name, I have cancelled your $plan plan; it ended today, not on $due.
        tool_calls:
          - {tool: cancel_subscription, arguments: {subscription_id: sub_1$number, effective: immediately}}
    fails: [resolution, policy, tool_use, escalation]
    violations: [unauthorised_write]
""")

FAMILIES: Final = {
    "duplicate": DUPLICATE,
    "over-limit": OVER_LIMIT,
    "question": QUESTION,
    "cancellation": CANCELLATION,
}
