"""`supportbench check` finds what a suite claims wrongly, each time one problem with file, line and column."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from desk import REFUND, call, data, refund, write

from pytest_supportbench.check import CheckReport, check_files, find_scenarios

WRONG = {
    "name": "refunds the earlier charge",
    "turns": [
        {"action": "refund", "message": "Done.", "tool_calls": [refund(charge_id="ch_101")]},
    ],
    "fails": ["resolution", "tool_use", "escalation"],
    "violations": [],
}


def good(**changes: Any) -> dict[str, Any]:
    return data(**{"counterexamples": [WRONG], **changes})


def checked(folder: Path, *scenarios: dict[str, Any]) -> CheckReport:
    for number, scenario in enumerate(scenarios):
        write(folder, scenario, f"{number}")
    return check_files(find_scenarios([folder]), folder)


def one(folder: Path, scenario: dict[str, Any], key: str) -> str:
    """Return the single problem's text and assert that it stands where ``key`` is in the file."""
    (problem,) = checked(folder, scenario).problems
    path = folder / "0.scenario.yaml"
    assert problem.path == str(path)
    text = path.read_text(encoding="utf-8").splitlines()[problem.line - 1]
    assert text[problem.column - 1 :].startswith(key), (problem, text)
    assert str(problem).startswith(f"{path}:{problem.line}:{problem.column}: ")
    assert problem.remedy
    return f"{problem.field}: {problem.message}"


def test_a_sound_suite_has_no_problem(tmp_path: Path):
    """Reference passes, counterexample fails as it says, and the constant agents are counted."""
    report = checked(tmp_path, good(), good(id="D-2"))
    assert (report.problems, report.scenarios, report.counterexamples) == ((), 2, 2)
    assert {row.agent: len(row.passed) for row in report.constants} == {
        "do-nothing": 0,
        "always-escalate": 0,
        "always-decline": 0,
        "always-ask": 0,
        "call-every-tool": 0,
    }
    assert {(row.recall, row.specificity) for row in report.constants} == {((0, 0), (0, 2))}


def test_a_reference_that_fails_is_named_with_the_check(tmp_path: Path):
    """The check, what was expected and what came are in the problem."""
    scenario = good(
        expect={"state": {"charges.ch_204.status": "refunded", "charges.ch_101.status": "refunded"}}
    )
    scenario["counterexamples"][0] = {**WRONG, "fails": ["resolution", "tool_use", "escalation"]}
    report = checked(tmp_path, scenario)
    texts = [problem.message for problem in report.problems]
    assert texts[0] == ("fails resolution, state:charges.ch_101.status: expected refunded; actual succeeded")
    assert {problem.field for problem in report.problems} == {"reference"}


def test_an_unreached_fault_is_named(tmp_path: Path):
    """A fault that the reference never meets tests nothing."""
    scenario = good(faults=[{"tool": "issue_refund", "on_calls": [2], "kind": "unavailable"}])
    text = one(tmp_path, scenario, "tool")
    assert text == "faults[0]: the reference never meets the unavailable of issue_refund"


def test_a_reference_with_a_tool_error_is_named(tmp_path: Path):
    """A reference is a model of work; its calls succeed unless a fault stops them."""
    scenario = good()
    scenario["reference"].insert(0, {"tool_calls": [call("get_charge", charge_id="none")]})
    text = one(tmp_path, scenario, "tool")
    assert text == "reference[0].tool_calls[0]: get_charge fails without a fault: not_found: no charge 'none'"


def test_a_wrong_id_in_the_reference_is_told_once_and_first(tmp_path: Path):
    """One call that fails makes checks fail too: the call is reported, with the id that was meant, they are not."""
    scenario = good()
    scenario["reference"][0]["tool_calls"] = [
        call("list_charges", customer_id="cus_1"),
        refund(charge_id="ch_24"),
    ]
    (problem,) = checked(tmp_path, scenario).problems
    assert problem.field == "reference[0].tool_calls[1]"
    assert problem.message.startswith("issue_refund fails without a fault: not_found: no charge 'ch_24' (")
    assert problem.message.endswith(" further checks fail because of it)")
    assert problem.remedy == "did you mean charge_id: ch_204?"
    line = (tmp_path / "0.scenario.yaml").read_text(encoding="utf-8").splitlines()[problem.line - 1]
    assert "issue_refund" in line


def test_a_reference_that_goes_on_after_the_end_is_named(tmp_path: Path):
    """Turns that are never played are a mistake."""
    scenario = good()
    scenario["reference"] *= 2
    assert one(tmp_path, scenario, "") == "reference[1]: the episode ends after turn 1 of 2"


def test_a_counterexample_that_fails_other_dimensions_is_named(tmp_path: Path):
    """What it really fails is told, with the checks."""
    scenario = good(counterexamples=[{**WRONG, "fails": ["policy"]}])
    text = one(tmp_path, scenario, "fails")
    assert text.startswith(
        "counterexamples[0].fails: 'refunds the earlier charge' fails "
        "['escalation', 'resolution', 'tool_use'], not ['policy'] (resolution state:charges.ch_204.status"
    )


def test_a_counterexample_that_passes_is_named(tmp_path: Path):
    """A trace that fails nothing exposes nothing."""
    passing = {**WRONG, "turns": data()["reference"]}
    text = one(tmp_path, good(counterexamples=[passing]), "fails")
    assert "fails nothing, not ['escalation', 'resolution', 'tool_use']" in text


@pytest.mark.parametrize(("listed", "key"), [(["disclosure"], "violations"), ([], "name")])
def test_a_counterexample_with_other_violations_is_named(tmp_path: Path, listed: list[str], key: str):
    """The violations that are listed are the ones that it commits, no more and no fewer."""
    leak = {
        "name": "tells Bob's address",
        "turns": [{"action": "refund", "message": "I cancelled your plan.", "tool_calls": [refund()]}],
        "fails": ["policy"],
        "violations": listed,
    }
    text = one(tmp_path, good(counterexamples=[leak]), key)
    assert f"commits ['false_claim'], not {listed or 'none'}" in text


def test_a_missing_counterexample_is_named(tmp_path: Path):
    """A scenario must show the failure that it is meant to expose."""
    (problem,) = checked(tmp_path, data()).problems
    assert (problem.field, problem.message) == ("counterexamples", "there is none")
    assert problem.remedy == "add a trace that commits the failure mode 'refund-wrong-charge'"
    assert problem.line >= 1


def flipped(**changes: Any) -> dict[str, Any]:
    """Return the pair of `good`: the other charge is the one to refund."""
    args = {**REFUND, "charge_id": "ch_101"}
    return good(
        id="D-2",
        expect={
            "calls": [{"tool": "issue_refund", "args": args}],
            "state": {"charges.ch_101.status": "refunded"},
        },
        reference=[{"action": "refund", "message": "Done.", "tool_calls": [refund(charge_id="ch_101")]}],
        counterexamples=[{**WRONG, "turns": [{"action": "refund", "tool_calls": [refund()]}]}],
        **changes,
    )


def test_twins_name_each_other(tmp_path: Path):
    """A twin that is missing, or that names another, is a problem of the one that names it."""
    assert checked(tmp_path / "a", good(twin="D-2"), flipped(twin="D-1")).problems == ()
    assert one(tmp_path / "b", good(twin="D-9"), "twin") == "twin: the scenario 'D-9' is not there"
    (problem,) = checked(tmp_path / "c", good(twin="D-2"), flipped()).problems
    assert problem.message == "the scenario 'D-2' names None as its twin"


def test_one_twin_alone_can_be_checked(tmp_path: Path):
    """A single file of a pair is proven by itself; that its twin was not asked for is no problem."""
    checked(tmp_path, good(twin="D-2"), flipped(twin="D-1"))
    assert check_files([tmp_path / "0.scenario.yaml"], tmp_path).problems == ()


def test_the_reference_of_a_twin_must_fail(tmp_path: Path):
    """Two scenarios in which the same is right prove nothing about the fact that tells them apart."""
    problems = checked(tmp_path, good(twin="D-2"), good(id="D-2", twin="D-1")).problems
    assert [problem.message for problem in problems] == [
        "the reference of 'D-2' passes here too",
        "the reference of 'D-1' passes here too",
    ]


def test_a_folder_of_a_suite_can_be_checked_from_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The suite file is found above the current folder, as pytest finds it."""
    checked(tmp_path)
    write(tmp_path, good())
    (tmp_path / "area").mkdir()
    (tmp_path / "a.scenario.yaml").rename(tmp_path / "area" / "a.scenario.yaml")
    monkeypatch.chdir(tmp_path / "area")
    assert check_files(find_scenarios([Path()]), Path.cwd()).problems == ()


def test_a_broken_file_hides_no_other(tmp_path: Path):
    """Each file's problems are found, and what loads is proven."""
    broken = good(id="D-2", title=None)
    report = checked(tmp_path, broken, good(), data(id="D-3"), good())
    assert [Path(problem.path).name for problem in report.problems] == [
        "0.scenario.yaml",
        "3.scenario.yaml",
        "2.scenario.yaml",
    ]
    assert report.scenarios == 3


def test_a_suite_where_nothing_loads_has_no_constants(tmp_path: Path):
    """There is nothing to run a constant agent on."""
    report = checked(tmp_path, good(title=None))
    assert (report.scenarios, report.constants) == (0, ())


def test_a_toolset_that_breaks_is_the_suites_problem(tmp_path: Path):
    """A fault whose arguments the tool cannot take is found when the reference is played."""
    fault = {"tool": "get_charge", "on_calls": [1], "kind": "wrong_record", "arguments": {"charge_id": 7}}
    scenario = good(faults=[fault])
    scenario["reference"].insert(0, {"tool_calls": [call("get_charge", charge_id="ch_204")]})
    assert one(tmp_path, scenario, "reference").startswith(
        "reference: the toolset broke: the wrong_record fault"
    )


def test_scenarios_are_found_by_file_and_folder(tmp_path: Path):
    """Folders are searched, each file comes once, and a path that does not exist is refused."""
    first = write(tmp_path / "x", good(), "b")
    second = write(tmp_path / "x", good(id="D-2"), "a")
    (tmp_path / "x" / "other.yaml").write_text(yaml.safe_dump(REFUND), encoding="utf-8")
    assert find_scenarios([tmp_path, first]) == [second, first]
    assert find_scenarios([first, tmp_path]) == [first, second]
    with pytest.raises(FileNotFoundError):
        find_scenarios([tmp_path / "none"])
