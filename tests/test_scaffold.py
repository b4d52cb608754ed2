"""``supportbench new`` writes a scenario that works as it is."""

from __future__ import annotations

import pytest

from pytest_supportbench.check import check_files
from pytest_supportbench.episode import run_episode
from pytest_supportbench.errors import UsageError
from pytest_supportbench.loading import load_scenario
from pytest_supportbench.scaffold import new_scenario
from pytest_supportbench.scoring import score_episode

NO_REFUND = """\
name: s
version: "1.0"
policies: [{id: p, text: t}]
actions: [{name: a, class: ask, description: b}]
"""

CANARY = "# supportbench-canary 12345678-1234-1234-1234-123456789abc"


def play(bound, turns):
    script = iter(turns)
    return score_episode(bound, run_episode(bound, lambda observation: next(script)))


def test_a_new_scenario_is_self_consistent(tmp_path):
    """The reference passes everything, each counterexample fails exactly what it says, one commits the failure mode."""
    path = new_scenario(tmp_path / "support", "MY-1", "billing")
    assert path == tmp_path / "support" / "my-1.scenario.yaml"
    bound = load_scenario(path)
    assert (bound.scenario.id, bound.scenario.category) == ("MY-1", "billing")
    assert play(bound, bound.scenario.reference).failed_dimensions == ()
    assert len(bound.scenario.counterexamples) == 3
    for wrong in bound.scenario.counterexamples:
        score = play(bound, wrong.turns)
        assert score.failed_dimensions == wrong.fails
        assert tuple(violation.code for violation in score.violations) == wrong.violations
    committed = [wrong.commits for wrong in bound.scenario.counterexamples if wrong.commits]
    assert committed == [bound.scenario.failure_mode.code]


def test_a_new_scenario_passes_the_check_of_its_suite(tmp_path):
    """``supportbench check`` finds nothing in it: no leak, no weak spot, no faulty version that passes."""
    report = check_files([new_scenario(tmp_path, "MY-1", "billing")], tmp_path)
    assert report.problems == ()
    assert sum(row.made for row in report.mutations) == sum(row.caught for row in report.mutations) > 0


def test_the_canary_of_the_suite_comes_first(tmp_path):
    """A suite that marks its files with a canary has it in a new scenario too, in the first line."""
    (tmp_path / "suite.yaml").write_text(
        f"{CANARY}\nname: s\nversion: '1.0'\npolicies: [{{id: p, text: t}}]\n"
    )
    assert new_scenario(tmp_path, "A", "billing").read_text().startswith(f"{CANARY}\n")


def test_only_whole_files_are_left(tmp_path):
    """The folder holds the scenario and a suite, and no draft."""
    new_scenario(tmp_path, "1e3", "my-own")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1e3.scenario.yaml", "suite.yaml"]
    assert load_scenario(tmp_path / "1e3.scenario.yaml").scenario.id == "1e3"


def test_nothing_is_overwritten(tmp_path):
    """A scenario that is there already stays as it is."""
    path = new_scenario(tmp_path, "A", "billing")
    path.write_text("mine")
    with pytest.raises(UsageError, match=r"a\.scenario\.yaml exists already; choose another id"):
        new_scenario(tmp_path, "A", "billing")
    assert path.read_text() == "mine"


def test_a_suite_above_is_used(tmp_path):
    """A second scenario joins the suite that is there, whose first policy it turns on."""
    text = 'name: s\nversion: "1.0"\npolicies: [{id: rule-1, text: Refund duplicates.}]\n'
    (tmp_path / "suite.yaml").write_text(text)
    path = new_scenario(tmp_path / "deep", "B", "billing")
    assert load_scenario(path).scenario.policies == ("rule-1",)
    assert [item.name for item in path.parent.iterdir()] == ["b.scenario.yaml"]


@pytest.mark.parametrize(
    ("suite", "reason"),
    [
        ('name: s\nversion: "1.0"\n', "has no policies; add the one"),
        ("name: s\n", "the suite cannot be loaded"),
        (NO_REFUND, "the template does not fit"),
    ],
)
def test_a_suite_that_does_not_fit_leaves_nothing_behind(tmp_path, suite, reason):
    """Where the template cannot work nothing is written, and the reason says what to do."""
    (tmp_path / "suite.yaml").write_text(suite)
    with pytest.raises(UsageError, match=reason):
        new_scenario(tmp_path, "A", "billing")
    assert [path.name for path in tmp_path.iterdir()] == ["suite.yaml"]


@pytest.mark.parametrize(
    ("scenario_id", "category"), [("../x", "billing"), ("a b", "billing"), ("a", "b/c"), ("", "x")]
)
def test_odd_names_are_refused(tmp_path, scenario_id, category):
    """An id or a category that is no slug is refused, so that no file lands elsewhere."""
    with pytest.raises(UsageError, match="is no slug; use letters, digits"):
        new_scenario(tmp_path, scenario_id, category)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("category", ["biling", "Billing", "identity_and_permissions", "retreival"])
def test_a_known_area_that_is_misspelt_is_refused(tmp_path, category):
    """A category that is nearly one of the eight areas is a slip of the pen, and nothing is written."""
    with pytest.raises(UsageError, match=r"is nearly '[a-z-]+'; did you mean that"):
        new_scenario(tmp_path, "A", category)
    assert list(tmp_path.iterdir()) == []


def test_a_new_scenario_says_how_to_run_it(tmp_path):
    """The command at its top can be copied as it is, also where the path holds a blank."""
    path = new_scenario(tmp_path / "my desk", "A", "my-own")
    assert f"pytest '{path}' --supportbench-agent=oracle\n" in path.read_text()
