"""Scripted replies that depend on what the agent did: which one is given, and which ones a file may not have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from desk import SUITE, bind, call, data, turn, write
from jsonschema import Draft202012Validator

from pytest_supportbench.check import check_files, find_scenarios
from pytest_supportbench.conversation import NEUTRAL_REPLY
from pytest_supportbench.episode import replay
from pytest_supportbench.errors import FileError
from pytest_supportbench.loading import Loader
from pytest_supportbench.protocol import Turn
from pytest_supportbench.schemas import json_schema

TOOLS = ["send_verification_code", "verify_identity", "update_contact", "add_note", "get_customer"]
SENT = {"tool": "send_verification_code"}
BY_MAIL = {**SENT, "args": {"method": "email"}}
SEND = call("send_verification_code", customer_id="cus_1", method="email")
CODE = {"asked_for": "verification_code", "after": SENT, "message": "The code is 482913."}
NONE_YET = {"asked_for": "verification_code", "message": "I have not received any code."}
ASK = turn("ask_for_information", "Which code?", asks_for=["verification_code"])


def scenario(*replies: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a case whose customer answers with these replies."""
    customer = {"subject": "cus_1", "message": "Please use my new address.", "replies": list(replies)}
    return data(**{"customer": customer, "tools": TOOLS, "expected": {**PLAIN}, **changes})


PLAIN = {"actions": ["update_account"], "escalation": "must_not", "because": ["contact-change"]}


def answers(folder: Path, replies: list[dict[str, Any]], *turns: Turn, **changes: Any) -> list[str | None]:
    """Return what the customer answered to each turn."""
    bound = Loader(folder).load(write(folder, scenario(*replies, **changes)))
    return [record.customer_reply for record in replay(bound, turns).turns]


def problems(folder: Path, *replies: Any, **changes: Any) -> list[str]:
    """Return what is wrong with a file that has these replies, each with the text at its position."""
    path = write(folder, scenario(*replies, **changes))
    with pytest.raises(FileError) as caught:
        Loader(folder).load(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{lines[problem.line - 1][problem.column - 1 :].split(':')[0]} | "
        f"{problem.field}: {problem.message}; {problem.remedy}"
        for problem in caught.value.problems
    ]


def test_an_answer_waits_for_a_call(tmp_path: Path):
    """The customer has the code only after the agent had it sent."""
    said = answers(tmp_path, [CODE, NONE_YET], ASK, turn(None, "", SEND), ASK)
    assert said == ["I have not received any code.", None, "The code is 482913."]


def test_a_call_in_the_same_turn_as_the_question_counts(tmp_path: Path):
    """Calls are executed before the customer reads the question."""
    both = turn("ask_for_information", "I sent you a code.", SEND, asks_for=["verification_code"])
    assert answers(tmp_path, [CODE, NONE_YET], both) == ["The code is 482913."]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"kind": "unavailable"}, "I have not received any code."),
        ({"kind": "timeout", "committed": False}, "I have not received any code."),
        ({"kind": "timeout", "committed": True}, "The code is 482913."),
    ],
)
def test_what_happened_counts_and_not_what_the_agent_saw(tmp_path: Path, fault: dict[str, Any], said: str):
    """A write that a fault stopped sent nothing; one that committed behind a time-out did."""
    faults = [{"tool": "send_verification_code", "on_calls": [1], **fault}]
    assert answers(tmp_path, [CODE, NONE_YET], turn(None, "", SEND), ASK, faults=faults) == [None, said]


def test_a_refused_call_is_no_call(tmp_path: Path):
    """What the tool refused had no effect that the customer could notice."""
    wrong = call("send_verification_code", customer_id="cus_1", method="letter")
    assert answers(tmp_path, [CODE, NONE_YET], turn(None, "", wrong), ASK)[1] == NONE_YET["message"]


def test_a_read_that_came_back_counts(tmp_path: Path):
    """A condition may also be a look-up."""
    looked = {"asked_for": "other", "after": {"tool": "get_customer"}, "message": "So you see it."}
    ask = turn("ask_for_information", "?", call("get_customer", customer_id="cus_1"), asks_for=["other"])
    assert answers(tmp_path, [looked], ask) == ["So you see it."]


@pytest.mark.parametrize(
    ("args", "fits"),
    [
        ({}, True),
        ({"method": "email"}, True),
        ({"method": {"any_of": ["sms", "email"]}}, True),
        ({"method": {"not": "email"}}, False),
        ({"method": "sms"}, False),
        ({"customer_id": {"matches": "cus_\\d"}, "method": "email"}, True),
    ],
)
def test_arguments_are_compared_as_elsewhere(tmp_path: Path, args: dict[str, Any], fits: bool):
    """Arguments that are named must match, by value or matcher; the others are free."""
    code = {**CODE, "after": {**SENT, "args": args}}
    said = answers(tmp_path, [code, NONE_YET], turn(None, "", SEND), ASK)[1]
    assert said == (CODE if fits else NONE_YET)["message"]


def test_unless_ends_an_answer(tmp_path: Path):
    """An answer with ``unless`` is given until that call took effect."""
    waiting = {**NONE_YET, "unless": SENT, "message": "Nothing here."}
    said = answers(tmp_path, [waiting], ASK, turn(None, "", SEND), ASK)
    assert said == ["Nothing here.", None, NEUTRAL_REPLY]


def test_a_later_question_gets_another_answer(tmp_path: Path):
    """An entry with ``times`` answers so often, then the next one that fits does."""
    first = {**NONE_YET, "times": 2, "message": "One moment."}
    assert answers(tmp_path, [first, NONE_YET], ASK, ASK, ASK, ASK) == [
        "One moment.",
        "One moment.",
        NONE_YET["message"],
        NONE_YET["message"],
    ]


def test_a_script_that_is_used_up_is_none(tmp_path: Path):
    """After the last answer a question is one that nobody scripted: a neutral reply, then the end."""
    once = {**NONE_YET, "times": 1}
    assert answers(tmp_path, [once], ASK, ASK, ASK) == [NONE_YET["message"], NEUTRAL_REPLY, None]


def test_each_episode_begins_with_the_whole_script(tmp_path: Path):
    """What one episode used up, another one has."""
    bound = bind(
        tmp_path, customer={"subject": "cus_1", "message": "Hi", "replies": [{**NONE_YET, "times": 1}]}
    )
    assert [replay(bound, (ASK,)).turns[0].customer_reply for _ in range(2)] == [NONE_YET["message"]] * 2


def test_slots_are_answered_each_by_its_own_entries(tmp_path: Path):
    """A question about two slots gets both answers, and counts for both."""
    mail = {"asked_for": "email", "times": 1, "message": "ann@example.com"}
    ask = turn("ask_for_information", "?", asks_for=["email", "verification_code"])
    said = answers(tmp_path, [mail, NONE_YET], ask, ask)
    assert said == [f"ann@example.com {NONE_YET['message']}", NONE_YET["message"]]


def test_replies_change_no_state(tmp_path: Path):
    """Saying a code proves nothing: only calls change records."""
    bound = Loader(tmp_path).load(write(tmp_path, scenario(CODE, NONE_YET)))
    episode = replay(bound, (turn(None, "", SEND), ASK))
    assert {change.table for change in episode.changes} == {"messages"}


PLACE = "customer.replies"
GUESS = "did you mean 'send_verification_code'?"


def test_conditions_are_checked_against_the_suite(tmp_path: Path):
    """Unknown tools, tools that are not permitted, unknown parameters and references are found where they stand."""
    tool = {**CODE, "after": {"tool": "send_verification_cod"}}
    refused = {**CODE, "after": {"tool": "issue_refund"}}
    parameter = {**CODE, "unless": {**SENT, "args": {"methd": "email"}}}
    reference = {**CODE, "after": {**SENT, "args": {"method": {"same_as": "look.args.method"}}}}
    nested = {**CODE, "after": {**SENT, "args": {"method": {"any_of": [{"same_as": "look.args.method"}]}}}}
    unknown_id = "same_as: unknown call id 'look'; there are no call ids"
    assert problems(tmp_path, tool, refused, parameter, reference, nested) == [
        f"send_verification_cod | {PLACE}[0].after.tool: unknown tool 'send_verification_cod'; {GUESS}",
        f"issue_refund | {PLACE}[1].after.tool: the tool 'issue_refund' is not permitted here; add it to 'tools'",
        f"methd | {PLACE}[2].unless.args.methd: 'methd' is no parameter of {SENT['tool']}; did you mean 'method'?",
        f"look.args.method | {PLACE}[3].after.args.method.{unknown_id}",
        f"look.args.method | {PLACE}[4].after.args.method.any_of[0].{unknown_id}",
    ]


def test_shapes_are_checked(tmp_path: Path):
    """A misspelt key, a missing tool, a bad matcher and a count below one are told with a remedy."""
    found = problems(
        tmp_path,
        {**CODE, "afer": SENT},
        {**CODE, "after": {"args": {}}},
        {**CODE, "after": {**SENT, "args": {"method": {"mathces": "x"}}}},
        {**CODE, "times": 0},
    )
    assert [re.sub(r".* \| ", "", text) for text in found] == [
        "customer.replies[0].afer: unknown key 'afer'; did you mean 'after'?",
        "customer.replies[1].after.tool: is missing; add it, e.g. `tool: list_charges`",
        "customer.replies[2].after.args.method.mathces: unknown key 'mathces'; did you mean 'matches'?",
        "customer.replies[3].times: is 0; write 1 or more",
    ]


FIRST = "always answer first"
BOTH = "whatever meets its 'after' meets its 'unless' too"


@pytest.mark.parametrize(
    ("replies", "hidden"),
    [
        ([CODE, NONE_YET], {}),
        ([NONE_YET, CODE], {1: FIRST}),
        ([NONE_YET, NONE_YET], {1: FIRST}),
        ([{**NONE_YET, "times": 1}, CODE, NONE_YET], {}),
        ([CODE, {**CODE, "after": BY_MAIL}], {1: FIRST}),
        ([{**CODE, "after": BY_MAIL}, CODE, NONE_YET], {}),
        ([CODE, {**NONE_YET, "unless": SENT}, NONE_YET], {2: FIRST}),
        ([{**CODE, "after": BY_MAIL}, {**NONE_YET, "unless": SENT}, NONE_YET], {}),
        ([{**CODE, "unless": SENT}, NONE_YET], {0: BOTH}),
        ([{**CODE, "after": BY_MAIL, "unless": SENT}], {0: BOTH}),
        ([{**CODE, "unless": BY_MAIL}], {}),
        ([NONE_YET, {**NONE_YET, "asked_for": "other"}], {}),
    ],
)
def test_replies_that_can_never_be_given_are_found(
    tmp_path: Path, replies: list[dict[str, Any]], hidden: dict[int, str]
):
    """A reply behind one that always answers first, or with conditions that exclude each other, is a mistake."""
    if not hidden:
        Loader(tmp_path).load(write(tmp_path, scenario(*replies)))
        return
    found = problems(tmp_path, *replies)
    ((index, why),) = hidden.items()
    assert len(found) == 1
    assert f"customer.replies[{index}]: can never be given: " in found[0]
    assert why in found[0]


def test_many_conditions_are_not_searched(tmp_path: Path):
    """A script with more conditions than anybody writes loads at once."""
    args = [
        {"asked_for": "other", "after": {"tool": "add_note", "args": {"text": f"{n}"}}} for n in range(200)
    ]
    bound = Loader(tmp_path).load(write(tmp_path, scenario(*({**row, "message": "x"} for row in args))))
    assert len(bound.scenario.customer.replies) == 200


def test_the_schema_knows_conditions():
    """An editor accepts what loads and underlines what does not."""
    validator = Draft202012Validator(json_schema("scenario"))
    matched = {**CODE, "after": {**SENT, "args": {"method": {"any_of": ["email"]}}}, "times": 1}
    assert list(validator.iter_errors(scenario(CODE, NONE_YET, matched, {**NONE_YET, "unless": SENT}))) == []
    for wrong in ({"after": {}}, {"times": 0}, {"after": {**SENT, "args": {"method": {"anyof": [1]}}}}):
        assert not validator.is_valid(scenario({**NONE_YET, **wrong}))


def test_check_plays_a_reference_that_depends_on_replies(tmp_path: Path):
    """``supportbench check`` proves a case in which the customer answers only once the code was sent."""
    proven = {"id": "proof", "tool": "verify_identity", "result": {"verified": True}}
    proven["args"] = {"customer_id": "cus_1", "method": "email", "code": "482913"}
    new = {"customer_id": "cus_1", "email": "ann.new@example.com"}
    case = scenario(
        CODE,
        NONE_YET,
        expected={
            **PLAIN,
            "calls": [
                {"id": "sent", **SENT, "args": SEND["arguments"]},
                {**proven, "after": ["sent"]},
                {"tool": "update_contact", "args": new, "after": ["proof"]},
            ],
        },
        reference=[
            {**ASK.model_dump(), "tool_calls": [SEND]},
            {"tool_calls": [call("verify_identity", **proven["args"])]},
            {
                "action": "update_account",
                "message": "It is changed.",
                "tool_calls": [call("update_contact", **new)],
            },
        ],
        counterexamples=[
            {
                "name": "changes it unproven",
                "turns": [
                    {
                        "action": "update_account",
                        "message": "Done.",
                        "tool_calls": [call("update_contact", **new)],
                    }
                ],
                "fails": ["policy", "tool_use"],
                "violations": ["verification_skipped"],
            }
        ],
    )
    write(tmp_path, case, suite=SUITE)
    report = check_files(find_scenarios([tmp_path]), tmp_path)
    assert [str(problem) for problem in report.problems] == []
