"""Loading of scenario and suite files: what is wrong in them, where, and what to do about it."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_supportbench.errors import FileError
from pytest_supportbench.loading import (
    BoundScenario,
    Loader,
    find_suite,
    load_scenario,
    load_suite,
    read_yaml,
)
from pytest_supportbench.scenario import Scenario
from pytest_supportbench.suite_identity import suite_facts
from pytest_supportbench.unique import check_unique

DATA = Path(__file__).parent / "data" / "malformed"
VALID = (DATA / "valid.scenario.yaml.good").read_text()
BAD = sorted(DATA.glob("*.scenario.yaml.bad"))
EXPECTED = (DATA / "expected.txt").read_text().splitlines()
SUITE = load_suite(DATA / "suite.yaml")


def load(tmp_path: Path, *changes: tuple[str, str]) -> BoundScenario:
    """Load the valid file with parts of it replaced."""
    text = VALID
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "x.scenario.yaml"
    path.write_text(text)
    return load_scenario(path, SUITE)


def problems(tmp_path: Path, *changes: tuple[str, str]) -> list[str]:
    """Return what is wrong in the valid file with parts of it replaced, without the file's name."""
    with pytest.raises(FileError) as caught:
        load(tmp_path, *changes)
    prefix = f"{tmp_path / 'x.scenario.yaml'}:"
    return [str(problem).removeprefix(prefix) for problem in caught.value.problems]


def messages(path: Path) -> list[str]:
    with pytest.raises(FileError) as caught:
        load_scenario(path, SUITE)
    return [str(problem).replace(str(path.parent) + "/", "") for problem in caught.value.problems]


def test_the_valid_file_loads():
    """The file that all malformed ones are made from has no problem itself."""
    bound = load_scenario(DATA / "valid.scenario.yaml.good", SUITE)
    assert bound.scenario.id == "MF-00"
    assert bound.state.tables["charges"]["ch_2"].amount == 49
    assert bound.suite.policy("refund-window").text.startswith("Refunds are possible")
    assert bound.suite.policy("other") is None


def test_the_expectations_cover_the_malformed_files():
    """There is exactly one expected message for each malformed file, and enough of them."""
    assert [line.partition(":")[0] for line in EXPECTED] == [path.name for path in BAD]
    assert len(BAD) >= 32


@pytest.mark.parametrize(
    ("path", "expected"), list(zip(BAD, EXPECTED, strict=True)), ids=[path.name[:2] for path in BAD]
)
def test_one_mistake_gives_its_one_message(path, expected):
    """A file with one mistake gives exactly one message, with position, field, value and remedy."""
    assert messages(path) == [expected]


def test_one_broken_file_does_not_hide_another():
    """A loader that met a broken file loads the others and reports each broken one in full."""
    loader = Loader(DATA)
    found: list[str] = []
    for path in [*BAD, DATA / "valid.scenario.yaml.good"]:
        try:
            loader.load(path)
        except FileError as error:
            found += [str(problem).replace(f"{DATA}/", "") for problem in error.problems]
        else:
            found.append(path.name)
    assert found == [*EXPECTED, "valid.scenario.yaml.good"]


def test_all_mistakes_of_a_file_are_reported_in_line_order(tmp_path):
    """Mistakes of spelling, shape, names and state all come out together."""
    found = problems(
        tmp_path,
        ("title: A duplicate charge\n", ""),
        ("category: billing", "category: billing\ncategory: memory"),
        ("subject: cus_1", "subject: cus_9"),
        ('amount: "49.00"}', "amount: lots}"),
        ("visible: [customer]", "visible: [invoices]"),
        ("actions: [refund]", "actions: [refunded]"),
        ("after: [look]", "after: [book]"),
        ("violations: [duplicate_effect]", "violations: [double]"),
    )
    assert [item.split(": ")[1] for item in found] == [
        "title",
        "the key 'category' is given twice in one mapping; remove one of them",
        "state.charges.ch_1.amount",
        "visible[0]",
        "expected.actions[0]",
        "expected.calls[1].after[0]",
        "counterexamples[0].violations[0]",
    ]
    lines = [int(item.split(":")[0]) for item in found]
    assert lines == sorted(lines)


def test_a_list_of_alternatives_is_checked_at_its_own_positions(tmp_path):
    """Alternatives are reported by their number, and a single outcome without one."""
    start, end = VALID.index("expected:\n"), VALID.index("reference:")
    one = VALID[start:end].removeprefix("expected:\n").splitlines()
    item = "\n".join(["  - " + one[0].strip(), *("  " + line for line in one[1:])]) + "\n"
    two = f"expected:\n{item}{item.replace('actions: [refund]', 'actions: [refnd]')}"
    (found,) = problems(tmp_path, (VALID[start:end], two))
    assert "expected[1].actions[0]: unknown action 'refnd'; did you mean 'refund'?" in found
    assert problems(tmp_path, (VALID[start:end], two.replace("escalation: must_not", "escalation: no", 1)))[
        0
    ].endswith("expected[0].escalation: is 'no'; write 'must', 'must_not' or 'either'")


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (
            ('["49.00", "49"]', "[{contains: a, any: true}]"),
            "args.amount.any_of[0]: a matcher has exactly one form",
        ),
        (
            ('["49.00", "49"]', "[{not: {same_as: pya.args.x}}]"),
            "any_of[0].not.same_as: unknown call id 'pya'",
        ),
        (('{any_of: ["49.00", "49"]}', "{not: {anyof: [1]}}"), "args.amount.not.anyof: unknown key 'anyof'"),
        (
            ("customer:\n", "memory: [{date: 2026-02-30, subject: cus_1, text: x}]\ncustomer:\n"),
            "memory[0].date: is '2026-02-30', which is no date; write",
        ),
        (
            ("must_not\n", "must_not\n  never: [{tool: issue_refund}]\n"),
            "expected.never[0].code: is missing; add it, e.g. `code: unauthorised_write`",
        ),
        (
            ("arguments: {charge_id: ch_2", "arguments: {charge: ch_2"),
            "tool_calls[0].arguments.charge: 'charge' is no parameter of issue_refund; did you mean 'charge_id'?",
        ),
        (("on_calls: [1]", "on_calls: [0, 1]"), "faults[0].on_calls[0]: is 0; write 1 or more"),
        (
            ("committed: false", "committed: perhaps"),
            "faults[0].committed: is 'perhaps'; write true or false",
        ),
        (
            ("must_not\n", "must_not\n  explanation: [{concept: x, any_of: [aa], question: Who is?}]\n"),
            "expected.explanation[0].question: has 7 characters; write one yes-or-no question of 10 to 200",
        ),
        (
            (
                "must_not\n",
                f"must_not\n  explanation: [{{concept: x, any_of: [aa], question: {'x' * 200}?}}]\n",
            ),
            "expected.explanation[0].question: has 201 characters; write one",
        ),
        (
            (
                "must_not\n",
                'must_not\n  explanation: [{concept: x, any_of: [aa], question: "Is it\\nhere and now?"}]\n',
            ),
            "expected.explanation[0].question: begins with white space, or has a line break or a control",
        ),
        (("  subject: cus_1\n", ""), "customer.subject: is missing; add it, e.g. `subject: cus_1`"),
        (("tools: [list", "tools: [5, list"), "tools[0]: is 5; write a string"),
        (("[refund]\nfailure", "[re fund]\nfailure"), "tags[0]: is 're fund'; write letters, digits"),
        (
            ("charges.ch_2.status", "charges"),
            "expected.state.charges: 'charges' names no record; write charges.id",
        ),
        (("must_not\n", "must_not\n  at_most: {Refund: 1}\n"), "expected.at_most.Refund: "),
        (("customer:\n", "customer: Ann\nx:\n"), "customer: is 'Ann'; write a mapping of keys to values"),
        (("state:\n", "state: []\nx:\n"), "state: is an empty list; write a mapping of keys to values"),
        (
            ("reference:\n", "reference: []\nx:\n"),
            "reference: is an empty list; write a list with at least 1",
        ),
        (("action: refund\n", "action: refnd\n"), "reference[1].action: unknown action 'refnd'"),
        (
            ("action: refund\n", "asks_for: [pin]\n    action: refund\n"),
            "reference[1].asks_for[0]: unknown slot 'pin'",
        ),
    ],
)
def test_mistakes_inside_matchers_unions_and_lists_are_located(tmp_path, change, wanted):
    """What is wrong deep inside is named by the path that the file has, without the model's inner levels."""
    assert any(wanted in item for item in problems(tmp_path, change)), problems(tmp_path, change)


def test_a_concept_has_one_question(tmp_path):
    """Alternatives that share a concept share its question, or results could not tell which one was answered."""
    start, end = VALID.index("expected:\n"), VALID.index("reference:")
    one = VALID[start:end].removeprefix("expected:\n").replace("\n  ", "\n    ").lstrip()
    asked = "    explanation: [{{concept: which, question: {}, any_of: [second]}}]\n"
    first, other = asked.format("Is it the second one?"), asked.format("Is it the later one?")

    def expected(*concepts: str) -> tuple[str, str]:
        return VALID[start:end], "expected:\n" + "".join(f"  - {one}{concept}" for concept in concepts)

    assert load(tmp_path, expected(first, first)).scenario.expected[1].explanation[0].question
    (found,) = problems(tmp_path, expected(first, other))
    assert (
        "expected[1].explanation[0].question: asks for the concept 'which' otherwise than an earlier" in found
    )


def test_a_counterexample_may_call_a_tool_that_does_not_exist(tmp_path):
    """Agents invent tools, so a counterexample may; a reference may not."""
    last = "turns: [{action: refund, tool_calls: [{tool: issue_refund,"
    assert load(tmp_path, (last, last.replace("issue_refund", "wire_money"))).scenario.counterexamples


def test_a_record_that_a_tool_will_create_may_be_expected(tmp_path):
    """State paths may name ids that the initial state does not have."""
    assert load(tmp_path, ("charges.ch_2.status", "charges.ch_9.status"))


def test_the_hash_is_of_the_data_and_not_of_the_layout(tmp_path):
    """Comments and layout do not change a scenario's hash; a changed value does."""
    first = load(tmp_path).sha256
    assert load(tmp_path, ("tags: [refund]", "tags:\n  - refund # why")).sha256 == first
    assert load(tmp_path, ("tags: [refund]", "tags: [refunds]")).sha256 != first
    assert len(first) == 64


def test_a_schema_comment_and_key_are_accepted(tmp_path):
    """Editors may be pointed to the schema, by a comment or by a ``$schema`` key."""
    comment = "# yaml-language-server: $schema=scenario.json\n$schema: scenario.json\n"
    assert load(tmp_path, ("id: MF-00", f"{comment}id: MF-00"))


def test_a_bound_scenario_travels_between_processes(tmp_path):
    """A scenario pickles with its suite and state, so that any executor can run it."""
    bound = load(tmp_path)
    again = pickle.loads(pickle.dumps(bound))
    assert again == bound
    assert again.state.tables == bound.state.tables


def test_the_nearest_suite_counts(tmp_path):
    """The suite is the nearest suite.yaml beside a scenario or above it, but not above the root."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "suite.yaml").write_text("")
    assert find_suite(deep) == tmp_path / "suite.yaml"
    assert find_suite(deep, tmp_path / "a") is None
    (tmp_path / "a" / "suite.yaml").write_text("")
    assert find_suite(deep, tmp_path / "a") == tmp_path / "a" / "suite.yaml"


def test_a_scenario_without_a_suite_says_so(tmp_path):
    """A scenario outside any suite is reported with what to add."""
    path = tmp_path / "x.scenario.yaml"
    path.write_text(VALID)
    with pytest.raises(FileError, match=r"x\.scenario\.yaml:1:1: there is no suite\.yaml beside this file"):
        Loader(tmp_path).load(path)


def test_a_missing_file_says_so(tmp_path):
    """A file that cannot be read is a problem of that file and no crash."""
    with pytest.raises(FileError, match="cannot be read: no such file or directory; check the name"):
        load_scenario(tmp_path / "none.yaml", SUITE)


def test_policies_and_knowledge_may_lie_in_files_of_their_own(tmp_path):
    """A suite may name sibling files; what is wrong in them is reported there, beside its own mistakes."""
    suite = tmp_path / "suite.yaml"
    suite.write_text('name: s\nversion: "1.0"\ntoolset: saas\npolicies: rules.yaml\nknowledge: kb.yaml\n')
    (tmp_path / "rules.yaml").write_text("- {id: p1, text: Yes.}\n- {id: p2, text: No., supersedes: p1}\n")
    (tmp_path / "kb.yaml").write_text("- {id: a1, title: T, text: X}\n")
    bound = load_suite(suite)
    assert bound.policy("p2").supersedes == "p1"
    assert bound.suite.knowledge[0].id == "a1"
    (tmp_path / "rules.yaml").write_text("- {id: p1, txt: Yes.}\n- {id: p1, text: No., supersedes: p0}\n")
    (tmp_path / "kb.yaml").unlink()
    suite.write_text(suite.read_text().replace("name: s", "nam: s"))
    with pytest.raises(FileError) as caught:
        load_suite(suite)
    assert [str(item).replace(f"{tmp_path}/", "") for item in caught.value.problems] == [
        "rules.yaml:1:3: [0].text: is missing; add it, e.g. `text: Refunds are possible for 30 days.`",
        "rules.yaml:1:12: [0].txt: unknown key 'txt'; did you mean 'text'?",
        "rules.yaml:2:8: [1].id: 'p1' is there already; give each its own name",
        "rules.yaml:2:35: [1].supersedes: unknown id 'p0'; the ids are p1",
        "suite.yaml:1:1: nam: unknown key 'nam'; did you mean 'name'?",
        "suite.yaml:1:1: name: is missing; add it, e.g. `name: refund-support`",
        "suite.yaml:5:12: knowledge: there is no file 'kb.yaml' beside the suite; add it, or mend its name",
    ]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            "policies: ../rules.yaml",
            "4:11: policies: is '../rules.yaml'; name a YAML file in the suite",
        ),
        ("toolset: nowhere:Desk", "4:10: toolset: there is no module 'nowhere'; install it, or put it into "),
        ("toolset: sas", "4:10: toolset: 'sas' names no toolset; did you mean 'saas'?"),
        ("toolset: parcels", "4:10: toolset: 'parcels' names no toolset; write saas, package.module:Class, "),
        (
            'policies: [{id: a, text: t, effective: "2026-99-01"}]',
            "4:40: policies[0].effective: is '2026-99-01', which is no date; write an ISO 8601 one, such as ",
        ),
        (
            "knowledge: [{id: a, title: t, text: x, updated: last May}]",
            "4:49: knowledge[0].updated: is 'last May', which is no date; write an ISO 8601 one, such as ",
        ),
        (
            "policies: none.yaml",
            "4:11: policies: there is no file 'none.yaml' beside the suite; add it, or mend ",
        ),
        ("toolset: 5", "4:10: toolset: is 5; write "),
        ("actions: [{name: refund, class: solve, description: x}]", "4:33: actions[0].class: is 'solve'"),
    ],
)
def test_a_mistake_in_a_suite_is_located(tmp_path, line, wanted):
    """A suite's mistakes have positions too, an unknown toolset included."""
    suite = tmp_path / "suite.yaml"
    suite.write_text(f'name: s\nversion: "1.0"\ntitle: t\n{line}\n')
    with pytest.raises(FileError) as caught:
        load_suite(suite)
    (found,) = caught.value.problems
    assert str(found).startswith(f"{suite}:{wanted}")


def test_a_registered_toolset_is_found_by_name(tmp_path):
    """A toolset that a plugin registered is what a suite's ``toolset`` means, also in another process."""
    suite = tmp_path / "suite.yaml"
    suite.write_text('name: s\nversion: "1.0"\ntoolset: front\n')
    loader = Loader(tmp_path, toolsets={"front": SUITE.toolset})
    bound = loader.suite(suite)
    assert bound.toolset is SUITE.toolset
    assert pickle.loads(pickle.dumps(bound)).toolset is SUITE.toolset
    assert loader.suites() == (bound,)


def test_a_loader_reads_a_suite_once(tmp_path):
    """A suite is loaded once a session, however many scenarios it has, and a broken one is remembered too."""
    suite = tmp_path / "suite.yaml"
    suite.write_text("name: s")
    loader = Loader(tmp_path)
    path = tmp_path / "x.scenario.yaml"
    path.write_text(VALID)
    with pytest.raises(FileError) as first:
        loader.load(path)
    suite.unlink()
    with pytest.raises(FileError) as second:
        loader.load(path)
    assert second.value.problems == first.value.problems
    assert [problem.field for problem in first.value.problems] == ["version"]


def test_two_scenarios_with_one_id_are_a_problem(tmp_path):
    """An id that two files of one suite share is reported at the second one, naming the first."""
    one, two = tmp_path / "a.scenario.yaml", tmp_path / "b.scenario.yaml"
    one.write_text(VALID)
    two.write_text(VALID)
    bound = [load_scenario(path, SUITE) for path in (one, two)]
    (problem,) = check_unique(bound)
    assert str(problem) == f"{two}:2:5: id: 'MF-00' is the id of {one} too; give each scenario its own"
    assert check_unique(bound[:1]) == ()
    other = BoundScenario(bound[1].scenario, SimpleNamespace(path=tmp_path), bound[1].path, bound[1].sha256)
    assert check_unique([bound[0], other]) == ()


def test_a_suite_hash_changes_with_any_scenario(tmp_path):
    """The facts of a suite that a run records change when a scenario of it does."""
    (tmp_path / "suite.yaml").write_text('name: mine\nversion: "1.0"\n')
    bound = load_suite(tmp_path / "suite.yaml")
    (before,) = suite_facts([bound])
    (tmp_path / "x.scenario.yaml").write_text(VALID)
    (after,) = suite_facts([bound])
    assert before["sha256"] != after["sha256"]
    assert {key: after[key] for key in ("name", "version", "toolset")} == {
        "name": "mine",
        "version": "1.0",
        "toolset": "saas",
    }


def test_plain_yaml_is_read_strictly(tmp_path):
    """Other YAML files of a suite are read by the same rules."""
    path = tmp_path / "tools.yaml"
    path.write_text("a: no\n")
    assert read_yaml(path) == {"a": "no"}


def test_positions_are_not_looked_up_for_valid_files(tmp_path, monkeypatch):
    """A valid file is parsed once; the slower pass for positions runs only where something is wrong."""
    monkeypatch.setattr("pytest_supportbench.source.positions", None)
    assert isinstance(load(tmp_path).scenario, Scenario)


VALUES = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", "a.b", [], {}, [None], [[]], {"x": None}, ["x"], [{"id": "x"}]]
)


def replaced(data: Any, choose: random.Random, value: Any) -> Any:
    """Return data with one random value in it replaced."""
    if not isinstance(data, dict | list) or not data or choose.random() < 0.15:
        return value
    copy = data.copy()
    key = choose.choice(list(copy)) if isinstance(copy, dict) else choose.randrange(len(copy))
    copy[key] = replaced(copy[key], choose, value)
    return copy


@given(st.randoms(use_true_random=False), st.lists(VALUES, min_size=1, max_size=3))
def test_no_wrong_shape_makes_the_loader_crash(tmp_path_factory, choose, values):
    """Whatever stands anywhere in a file, the loader returns a scenario or says what is wrong."""
    data = read_yaml(DATA / "valid.scenario.yaml.good")
    for value in values:
        data = replaced(data, choose, value)
    path = tmp_path_factory.getbasetemp() / "fuzz.scenario.yaml"
    path.write_text(json.dumps(data))
    with contextlib.suppress(FileError):
        load_scenario(path, SUITE)
