"""The lint of `supportbench check` finds what gives an answer away, and what proves nothing."""

from pathlib import Path
from typing import Any

import pytest
from desk import BASE, EXPECTED, SUITE, call, data, write

from pytest_supportbench.check import check_files, find_scenarios
from pytest_supportbench.errors import Problem
from pytest_supportbench.lint_personal import personal_data

STRICT_SUITE = {
    **{name: value for name, value in SUITE.items() if name != "exempt"},
    "policies": [
        SUITE["policies"][0],
        {"id": "contact-change", "text": "Contact data changes after two proofs."},
    ],
}

CHARGES = BASE["state"]["charges"]
ANN = {"name": "Ann Example", "email": "ann@example.com", "phone": "+1 202 555 0101"}

WRONG = {
    "name": "refunds the earlier charge",
    "turns": [
        {
            "action": "refund",
            "message": "Done.",
            "tool_calls": [call("issue_refund", charge_id="ch_101", amount="49.00", currency="USD")],
        }
    ],
    "fails": ["resolution", "tool_use", "escalation"],
}


def tidy(**changes: Any) -> dict[str, Any]:
    """Return a scenario in which the lint finds nothing."""
    return data(
        **{
            "state": {"customers": {"cus_1": ANN}, "charges": {k: CHARGES[k] for k in ("ch_101", "ch_204")}},
            "visible": ["customers", "charges"],
            "counterexamples": [WRONG],
            **changes,
        }
    )


def found(folder: Path, *scenarios: dict[str, Any], **suite: Any) -> list[str]:
    """Return rule, field and message of each problem; uncited policies are another test's matter."""
    return [f"{problem.field}: {problem.message}" for problem in problems(folder, *scenarios, **suite)]


def problems(folder: Path, *scenarios: dict[str, Any], **suite: Any) -> list[Problem]:
    exempt = [{"rule": "uncited-policy", "why": "They are another test's matter."}]
    for number, scenario in enumerate(scenarios):
        write(folder, scenario, f"{number}", {**STRICT_SUITE, "exempt": exempt, **suite})
    return list(check_files(find_scenarios([folder]), folder).problems)


def test_a_tidy_scenario_has_nothing_to_mend(tmp_path: Path):
    """The base of all tests here."""
    assert found(tmp_path, tidy()) == []


@pytest.mark.parametrize(
    ("changes", "field", "name", "word"),
    [
        ({"tags": ["must-escalate"]}, "tags[0]", "must-escalate", "escalate"),
        ({"tags": ["distractor-heavy"]}, "tags[0]", "distractor-heavy", "distractor"),
    ],
)
def test_names_that_tell_the_outcome_are_named(
    tmp_path: Path, changes: dict[str, Any], field: str, name: str, word: str
):
    """An agent, or whoever picks by tag, must not read the answer off a name."""
    (text,) = found(tmp_path, tidy(**changes))
    assert text == f"{field}: outcome-word: {name!r} says {word!r}, which hints at the outcome"


def test_ids_of_records_tell_nothing_either(tmp_path: Path):
    """Words of the failure mode and of the actions count in record ids, but a table's own name does not."""
    scenario = tidy()
    scenario["state"]["charges"]["charge_wrong"] = CHARGES["ch_101"]
    scenario["state"]["charges"]["ch_refund_me"] = CHARGES["ch_101"]
    assert found(tmp_path, scenario) == [
        "state.charges.charge_wrong: outcome-word: 'charge_wrong' says 'wrong', which hints at the outcome",
        "state.charges.ch_refund_me: outcome-word: 'ch_refund_me' says 'refund', which hints at the outcome",
    ]


def test_state_that_nothing_reaches_is_named(tmp_path: Path):
    """A record that no view and no permitted tool shows only makes the file longer."""
    scenario = tidy()
    scenario["state"]["orders"] = {"ord_1": {"customer_id": "cus_1", "currency": "USD", "amount": "5.00"}}
    assert found(tmp_path, scenario) == [
        "state.orders.ord_1: unused-state: orders.ord_1 cannot be seen or changed with the permitted tools"
    ]
    assert found(tmp_path, {**scenario, "tools": [*BASE["tools"], "list_orders"]}) == []
    assert found(tmp_path, {**scenario, "visible": ["customers", "charges", "orders"]}) == []


def test_another_customers_records_count_as_reached_through_a_search(tmp_path: Path):
    """Distractors that a permitted search finds are alive."""
    scenario = tidy(tools=[*BASE["tools"], "find_customers"])
    scenario["state"]["customers"]["cus_2"] = {"name": "Bob Sample", "email": "bob@example.com"}
    assert found(tmp_path, scenario) == []


def test_a_concept_that_the_customer_says_is_an_echo(tmp_path: Path):
    """Whoever repeats the question has explained nothing."""
    scenario = tidy(
        expect={"explanation": [{"concept": "twice", "any_of": ["charged twice", "two payments"]}]}
    )
    (text,) = found(tmp_path, scenario)
    assert text.startswith(
        "expected.explanation[0]: echoed-concept: the customer's own message says 'charged twice'"
    )


def test_a_concept_without_a_question_is_named_where_most_have_one(tmp_path: Path):
    """Annotators get questions of one kind; a suite that has none yet, or begins to have some, is left alone."""

    def concepts(*asked: bool) -> dict[str, Any]:
        question = {"question": "Does the agent name the date of the payment?"}
        made = [
            {"concept": f"c{n}", "any_of": ["march"], **(question if it else {})}
            for n, it in enumerate(asked)
        ]
        return tidy(expect={"explanation": made})

    assert found(tmp_path / "none", concepts(False, False)) == []
    assert found(tmp_path / "half", concepts(True, False)) == []
    assert found(tmp_path / "all", concepts(True, True)) == []
    lacking = {**concepts(False), "id": "D-2", "customer": {"subject": "cus_1", "message": "Where is it?"}}
    (text,) = found(tmp_path / "most", concepts(True, True), lacking)
    assert text.startswith("expected.explanation[0]: unasked-concept: has no question, while most concepts")
    exempt = [{"rule": "unasked-concept", "at": "c0", "why": "Its name says it."}]
    assert found(tmp_path / "exempt", concepts(True, True), {**lacking, "exempt": exempt}) == []


def test_messages_that_are_nearly_the_same_are_named_unless_they_are_twins(tmp_path: Path):
    """The second of two such messages is the problem."""
    message = "I was charged twice again for the same month, and I want one of the two back please"
    one = tidy(customer={"subject": "cus_1", "message": message})
    two = tidy(id="D-2", customer={"subject": "cus_1", "message": message.replace("please", "now")})
    (text,) = found(tmp_path / "a", one, two)
    assert text.startswith("customer.message: similar-message: is nearly the message of D-1 (")
    other = "Hello, where do I see when my refund comes"
    assert found(tmp_path / "b", one, tidy(id="D-2", customer={"subject": "cus_1", "message": other})) == []


@pytest.mark.parametrize("kind", ["text", "mention"])
def test_a_fact_in_one_wording_is_named(tmp_path: Path, kind: str):
    """A good agent must not fail for saying it otherwise."""
    fact = {"fact": "back", "value": {kind: ["refunded 49.00"]}}
    (text,) = found(tmp_path, tidy(expect={"must_state": [fact]}))
    assert text == "expected.must_state[0]: single-wording: the one text 'refunded 49.00' is all that passes"


def test_a_literal_for_free_text_is_named(tmp_path: Path):
    """What an agent writes in its own words cannot be compared word for word."""
    scenario = tidy(
        expect={"calls": [{"tool": "issue_refund", "args": {"charge_id": "ch_204", "amount": "49.00"}}]},
    )
    args = {"charge_id": "ch_204", "amount": "49.00", "currency": "USD", "reason": "duplicate"}
    scenario["expected"]["calls"] = [{"tool": "issue_refund", "args": args}]
    scenario["reference"] = [
        {"action": "refund", "message": "I refunded 49.00 USD.", "tool_calls": [call("issue_refund", **args)]}
    ]
    texts = found(tmp_path, scenario)
    assert texts == ["expected.calls[0].args.reason: single-wording: one exact free text is all that passes"]


def test_several_counterexamples_say_which_commits_the_failure_mode(tmp_path: Path):
    """One of several must name the failure mode that the scenario is there for."""
    other = {
        "name": "claims a refund",
        "turns": [{"action": "refund", "message": "I have refunded 49.00 USD."}],
        "fails": ["resolution", "policy", "tool_use", "escalation"],
        "violations": ["false_claim"],
    }
    two = [WRONG, other]
    (text,) = found(tmp_path / "a", tidy(counterexamples=two))
    assert text.startswith("counterexamples: failure-mode-uncommitted: none of them says")
    named = [WRONG, {**other, "commits": "refund-wrong-charge"}]
    assert found(tmp_path / "b", tidy(counterexamples=named)) == []


def test_policies_that_decide_nothing_are_named_once_the_whole_suite_is_checked(tmp_path: Path):
    """With one file of several, nobody can tell whether another one cites it."""
    assert found(tmp_path, tidy(), exempt=[]) == [
        "policies: uncited-policy: 'contact-change' makes no outcome right in any scenario"
    ]
    write(tmp_path, tidy(id="D-2", twin=None, customer={"subject": "cus_1", "message": "Hello there"}), "1")
    assert check_files([tmp_path / "0.scenario.yaml"], tmp_path).problems == ()


def test_an_earlier_version_of_a_policy_need_not_be_cited(tmp_path: Path):
    """It is there to be found through a tool, by the day on which it was in force."""
    first, second = STRICT_SUITE["policies"]
    versions = [{**first, "supersedes": "contact-change"}, second]
    assert found(tmp_path, tidy(), exempt=[], policies=versions) == []


@pytest.mark.parametrize("rule", ["real-looking-data", "outcome-word"])
def test_a_suite_can_be_exempt_as_a_whole(tmp_path: Path, rule: str):
    """A company may test with its own domain; other rules still hold."""
    scenario = tidy(
        customer={"subject": "cus_1", "message": "Write to me at ann@quillmoor.eu, I was charged twice"}
    )
    (text,) = found(tmp_path / "a", scenario)
    assert "real-looking-data: 'quillmoor.eu' may be a real domain" in text
    exempt = [{"rule": rule, "why": "Our own domain."}, {"rule": "uncited-policy", "why": "Elsewhere."}]
    assert len(found(tmp_path / "b", scenario, exempt=exempt)) == (rule == "outcome-word")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("ann@example.com, bob@mail.example.org, http://shop.example/x, x@y.test", []),
        ("ann@gmail.com and https://www.quillmoor.com/a", ["domain", "domain"]),
        ("+1 202 555 0123, +44 7700 900561, 07700 900561, +44 20 7946 0123, +49 30 23125 678", []),
        ("+33 1 99 00 12 34, +61 491 570 156, (020) 7946 0123", []),
        ("+1 202 555 0223", ["phone"]),
        ("+44 7911 123456", ["phone"]),
        ("+49 (0)30 901820", ["phone"]),
        ("030 / 901820", ["phone"]),
        ("card 4539 1488 0343 6467", ["card"]),
        ("card 4539 1488 0343 6468", []),
        ("DE89 3704 0044 0532 0130 00", ["iban"]),
        ("DE88 3704 0044 0532 0130 00", []),
        ("2026-03-14T10:30:00+01:00, 12:00, invoice 2026-0314, 1.234,50 EUR, doc_41", []),
    ],
)
def test_data_that_may_be_somebodys_is_told_from_reserved_data(text: str, kinds: list[str]):
    """Reserved domains and phone ranges pass; numbers with a right check digit do not."""
    assert [kind for kind, _ in personal_data(text)] == kinds


def test_an_outcome_that_demands_nothing_is_named(tmp_path: Path):
    """Where no call, state or fact is demanded, any message passes, and so does an agent that only declines."""
    nothing = {"actions": ["decline"], "escalation": "must_not", "because": ["duplicate-charge"]}
    scenario = tidy(
        expected=nothing,
        reference=[{"action": "decline", "message": "No."}],
        counterexamples=[{**WRONG, "fails": ["resolution", "tool_use", "escalation"]}],
    )
    assert found(tmp_path, scenario) == [
        "expected: proves-nothing: demands no call, no state and no fact, so that any message passes",
        "expected: constant-passes: the constant agent always-decline passes",
    ]


def test_an_outcome_that_accepts_most_actions_is_named(tmp_path: Path):
    """The action says what was done; six of ten cannot all be true."""
    actions = ["refund", "account_credit", "answer", "cancel", "decline", "partial"]
    (text,) = found(tmp_path, tidy(expect={"actions": actions}))
    assert text == "expected.actions: any-action: accepts 6 of 10 actions"


def test_a_reference_longer_than_agents_may_be_is_named(tmp_path: Path):
    """An agent has six turns, so a reference of seven shows a case that it cannot solve."""
    look = {"tool_calls": [call("list_charges", customer_id="cus_1")]}
    needed = {"calls": [*[{"tool": "list_charges"}] * 6, *EXPECTED["calls"]]}
    (text,) = found(tmp_path, tidy(reference=[*[look] * 6, *BASE["reference"]], expect=needed))
    assert text == "reference: too-many-turns: takes 7 turns; agents have 6 unless the limit is raised"


def test_an_id_that_nobody_can_know_is_named(tmp_path: Path):
    """The charge that the reference refunds must be in view, or have been read before."""
    hidden = tidy(visible=["customers"])
    assert found(tmp_path / "a", hidden) == [
        "reference[0].tool_calls[0]: unseen-id: 'ch_204' stands nowhere that an agent has looked so far"
    ]
    look = {"tool_calls": [call("list_charges", customer_id="cus_1")]}
    needed = {"calls": [{"id": "look", "tool": "list_charges"}, *EXPECTED["calls"]]}
    read = tidy(reference=[look, *BASE["reference"]], visible=["customers"], expect=needed)
    assert found(tmp_path / "b", read) == []


def test_a_counterexample_that_repeats_another_is_named(tmp_path: Path):
    """The same trace under another name shows nothing more."""
    twice = [{**WRONG, "commits": "refund-wrong-charge"}, {**WRONG, "name": "again"}]
    (text,) = found(tmp_path, tidy(counterexamples=twice))
    assert (
        text == "counterexamples[1]: repeated-counterexample: does the same as 'refunds the earlier charge'"
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (
            {"memory": [{"date": "2026-01-01", "subject": "cus_1", "text": "Expected outcome: ch_204."}]},
            "memory[0]",
        ),
        ({"customer": {"subject": "cus_1", "message": "The right answer is ch_204."}}, "customer.message"),
    ],
)
def test_words_of_the_tester_in_what_the_agent_sees_are_named(
    tmp_path: Path, changes: dict[str, Any], field: str
):
    """A note or a message that speaks of the expected outcome gives it away."""
    (text,) = found(tmp_path, tidy(**changes))
    assert text.startswith(f"{field}: harness-word: says ")


def test_words_of_the_tester_in_a_record_are_named(tmp_path: Path):
    """So does the description of a record."""
    scenario = tidy()
    scenario["state"]["charges"]["ch_101"] = {**CHARGES["ch_101"], "description": "Decoy of the other one"}
    (text,) = found(tmp_path, scenario)
    assert text.startswith("state.charges.ch_101: harness-word: says 'decoy'")


def test_twins_are_one_case_with_one_fact_flipped(tmp_path: Path):
    """Two unrelated scenarios that name each other are no pair."""
    other = tidy(
        id="D-2",
        twin="D-1",
        customer={
            "subject": "cus_9",
            "message": "Hello, which of my payments was for the course in May then",
        },
        state={
            "customers": {"cus_9": {"name": "Cy Other", "email": "cy@example.com"}},
            "charges": {
                "ch_8": {"customer_id": "cus_9", "amount": "5.00", "currency": "USD"},
                "ch_9": {"customer_id": "cus_9", "amount": "6.00", "currency": "USD"},
            },
        },
        expected={
            "actions": ["answer"],
            "escalation": "must_not",
            "must_state": [{"fact": "amount", "value": {"money": "6.00 USD"}}],
            "because": ["duplicate-charge"],
        },
        reference=[{"action": "answer", "message": "It was 6.00 USD."}],
        counterexamples=[
            {"name": "silent", "turns": [{"action": "answer"}], "fails": ["resolution", "escalation"]}
        ],
    )
    texts = found(tmp_path, tidy(twin="D-2"), other)
    assert [text.split(": ")[1] for text in texts] == ["unlike-twin", "unlike-twin"]


def test_a_suites_policies_and_articles_are_read_for_personal_data_too(tmp_path: Path):
    """What every agent of the suite reads must be as synthetic as the scenarios."""
    articles = [{"id": "kb_1", "title": "Contact", "text": "Write to help@quillmoor.eu."}]
    (text,) = found(tmp_path, tidy(), knowledge=articles)
    assert "real-looking-data: 'quillmoor.eu' in a policy or an article may be a real domain" in text


def test_a_suites_exemption_from_no_rule_is_named(tmp_path: Path):
    """A misspelt rule would exempt nothing, and nobody would notice."""
    exempt = [
        {"rule": "uncited-policies", "why": "Elsewhere."},
        {"rule": "uncited-policy", "why": "Elsewhere."},
    ]
    (problem,) = problems(tmp_path, tidy(), exempt=exempt)
    assert (problem.field, problem.message) == ("exempt", "unknown rule 'uncited-policies'")
    assert problem.remedy == "did you mean 'uncited-policy'?"
