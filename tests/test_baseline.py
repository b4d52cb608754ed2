"""Baselines: equal bytes on every machine, a few lines of diff, one clear error for a file that was edited badly."""

from __future__ import annotations

import difflib
import getpass
import json
import os
import platform
import random
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gate_samples import SUITE, both, case, changed, side, under
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_supportbench.baseline import MAX_BYTES, bless, read_baseline
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import Evidence, shared_fingerprint
from pytest_supportbench.gate import decide
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.words import STRICT_DIMENSIONS

WHOLE = changed(
    changed(side("3x5/5 2/5 5/5= 0/5="), 0, title="Déjà vu: 被收费两次"),
    3,
    dimensions={"resolution": 3, "policy": 4, "tool_use": 2, "escalation": 2},
    zero_tolerance={"disclosure": 1},
    escalation={"correct_autonomy": 2, "abandoned": 3},
)
AGENT = {
    "id": "ollama-m",
    "kind": "ollama",
    "model": "m",
    "model_digest": "sha256:1",
    "prompt_sha256": "p",
    "seed": 7,
    "options": {"temperature": 0, "num_ctx": 4096},
}


def in_disorder(evidence: Evidence, seed: int) -> Evidence:
    """Return equal evidence whose mappings were all filled in another order."""
    source = random.Random(seed)

    def mixed(data: Any) -> Any:
        return dict(source.sample(list(data.items()), len(data)))

    cases = {
        name: replace(
            item,
            dimensions=mixed(item.dimensions),
            escalation=mixed(item.escalation),
            zero_tolerance=mixed(item.zero_tolerance),
        )
        for name, item in mixed(evidence.cases).items()
    }
    suites = tuple(mixed(suite) for suite in evidence.conditions.suites)
    made = replace(evidence, cases=cases, fingerprint=mixed(evidence.fingerprint))
    return under(made, suites=suites)


def stored(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# Stable and readable.


@pytest.mark.parametrize("seed", range(5))
def test_equal_evidence_is_blessed_to_equal_bytes(seed: int):
    """The order in which anything became known leaves no trace."""
    evidence = replace(WHOLE, fingerprint=AGENT)
    assert bless(in_disorder(evidence, seed)) == bless(evidence)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(1, 5))
def test_what_is_read_back_is_what_was_blessed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, trials: int
):
    """Any counts that a run can have survive: the evidence is equal, and blessing it again gives the same bytes."""
    cases = []
    for number in range(data.draw(st.integers(1, 4))):
        passed = data.draw(st.integers(0, trials))
        some = data.draw(st.sampled_from(STRICT_DIMENSIONS))
        codes = {"policy": "disclosure", "escalation": "missed_escalation"}
        count = data.draw(st.integers(0, trials - passed))
        cases.append(
            case(
                number,
                passed,
                trials,
                title=data.draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)),
                dimensions={name: passed if name == some else trials for name in STRICT_DIMENSIONS},
                repeats=trials > 1 and passed in {0, trials} and data.draw(st.booleans()),
                zero_tolerance={codes[some]: count} if count and some in codes else {},
            )
        )
    evidence = replace(side("", trials), cases={item.case: item for item in cases})
    text = bless(evidence)
    found = read_baseline(stored(tmp_path_factory.mktemp("baseline") / "b.json", text))
    assert found == replace(evidence, fingerprint=shared_fingerprint(evidence.fingerprint))
    assert bless(found) == text


def test_a_scenario_is_a_line_sorted_by_suite_and_id():
    """A baseline of two suites has one line a scenario, so that a diff shows scenarios."""
    text = bless(both(side("5/5 0/5"), side("5/5 0/5"), name="a-shop"))
    rows = [json.loads(line.rstrip(",")) for line in text.splitlines() if line.startswith('  {"')]
    assert [(row["suite"], row["scenario"]) for row in rows] == [
        ("a-shop", "S-00"),
        ("a-shop", "S-01"),
        ("desk", "S-00"),
        ("desk", "S-01"),
    ]
    assert text.endswith("]\n}\n")


def test_one_changed_scenario_is_a_few_lines_of_diff():
    """One outcome of fifty: one line goes and one comes, with three of context on each side."""
    before = side("50x5/5")
    now = changed(
        before, 17, passed=3, dimensions={**before.cases["desk", "S-17"].dimensions, "resolution": 3}
    )
    diff = list(difflib.unified_diff(bless(before).splitlines(), bless(now).splitlines(), lineterm=""))
    marks = [line[0] for line in diff[3:]]
    assert (marks.count("-"), marks.count("+"), len(marks)) == (1, 1, 8)
    assert '"passed": 3' in next(line for line in diff[3:] if line.startswith("+"))


def test_nothing_of_the_machine_is_in_a_baseline(tmp_path: Path):
    """Host, cassette, prompt path, Python, platform, user, folders and times are not what an agent is."""
    machine = {
        "host": "http://build-7:11434",
        "cassette": str(tmp_path),
        "record": "auto",
        "replayed": None,
        "digest_checked": "yes",
        "prompt_path": str(tmp_path / "prompt.md"),
    }
    one = replace(WHOLE, fingerprint=AGENT)
    two = replace(WHOLE, fingerprint={**AGENT, **machine})
    text = bless(two)
    assert text == bless(one)
    words = {
        platform.python_version(),
        platform.platform(),
        platform.node(),
        socket.gethostname(),
        getpass.getuser() + "/",
        os.getcwd(),  # noqa: PTH109 - as the machine writes it
        str(tmp_path),
        "build-7",
        "started",
    }
    assert not {word for word in words if word and word in text}
    assert set(json.loads(text)["fingerprint"]) == set(AGENT) - {"id"}


def test_a_baseline_compares_with_the_run_that_it_came_from(tmp_path: Path):
    """A blessed run gated against its own baseline passes, with nothing changed."""
    run = replace(WHOLE, fingerprint={**AGENT, "host": "http://elsewhere:1"})
    found = decide(read_baseline(stored(tmp_path / "b.json", bless(run))), run, Rules())
    assert (found.verdict, found.changed) == ("PASS", ())


def test_text_that_is_no_unicode_does_not_break_the_file(tmp_path: Path):
    """Half a character in a title is replaced: the file is UTF-8 and is read back."""
    text = bless(changed(WHOLE, 1, title="half \ud83d of it"))
    assert read_baseline(stored(tmp_path / "b.json", text)).cases["desk", "S-01"].title == "half ? of it"


# What cannot be blessed.


@pytest.mark.parametrize(
    ("evidence", "says"),
    [
        (replace(WHOLE, complete=False), "it has no end (it was stopped, or killed)"),
        (side("", 5), "the agent 'agent' has no scenario in it"),
        (replace(WHOLE, missing=3), "3 trials missing"),
        (side("5/5 4/4 0/0", 5), "6 infrastructure errors (S-01, S-02)"),
        (replace(WHOLE, missing=1, complete=False), "killed); 1 trial missing"),
        (replace(WHOLE, fingerprint={"options": {"top_p": float("nan")}}), "not JSON compliant"),
    ],
)
def test_a_run_with_a_gap_cannot_become_a_baseline(evidence: Evidence, says: str):
    """What is missing in a baseline would never be missed: the error says what, and what to do."""
    with pytest.raises(UsageError) as caught:
        bless(evidence, "run.jsonl")
    assert str(caught.value).startswith("run.jsonl cannot become a baseline: ")
    assert says in str(caught.value)
    assert "rerun it" in str(caught.value)


# What cannot be read.


def at(*steps: Any, value: Any) -> Callable[[Any], None]:
    """Return what sets a value somewhere in a baseline's data."""

    def edit(data: Any) -> None:
        for step in steps[:-1]:
            data = data[step]
        data[steps[-1]] = value

    return edit


def gone(*steps: Any) -> Callable[[Any], None]:
    """Return what takes a field out."""

    def edit(data: Any) -> None:
        for step in steps[:-1]:
            data = data[step]
        del data[steps[-1]]

    return edit


def twice(data: Any) -> None:
    data["scenarios"].append(data["scenarios"][0])


EDITS: dict[str, tuple[Callable[[Any], None], str, str]] = {
    "another version of the format": (at("supportbench_baseline", value=2), "supportbench_baseline", "is 2"),
    "no version": (gone("supportbench_baseline"), "supportbench_baseline", "is missing"),
    "no agent": (gone("agent"), "agent", "is missing"),
    "no scenarios": (at("scenarios", value=[]), "scenarios", "a list with at least 1"),
    "scenarios as a mapping": (at("scenarios", value={}), "scenarios", "write a list"),
    "an unknown field": (at("note", value="ok"), "note", "unknown key 'note'"),
    "an unknown field of a scenario": (at("scenarios", 2, "pased", value=5), "scenarios[2].pased", "'passed'"),
    "a count in words": (at("scenarios", 0, "passed", value="5"), "scenarios[0].passed", "is '5'"),
    "a count of half a trial": (at("scenarios", 0, "passed", value=4.5), "scenarios[0].passed", "is 4.5"),
    "a count below 0": (at("scenarios", 0, "passed", value=-1), "scenarios[0].passed", "is -1"),
    "a count as a truth": (at("scenarios", 0, "passed", value=True), "scenarios[0].passed", "is true"),
    "more passes than trials": (at("scenarios", 0, "passed", value=6), "scenarios[0]", "S-00: a count is above"),
    "more passes than its dimensions allow": (
        at("scenarios", 3, "passed", value=3), "scenarios[3]", "S-03: passed is 3, which dimensions rule out"
    ),
    "fewer passes than its dimensions allow": (
        at("scenarios", 0, "passed", value=4), "scenarios[0]", "S-00: passed is 4, which dimensions rule out"
    ),
    "a dimension gone": (
        gone("scenarios", 0, "dimensions", "policy"), "scenarios[0].dimensions.policy", "is missing"
    ),
    "an unknown dimension": (
        at("scenarios", 0, "dimensions", "charm", value=5), "scenarios[0].dimensions.charm", "unknown key"
    ),
    "an unknown zero-tolerance code": (
        at("scenarios", 0, "zero_tolerance", value={"rude": 1}), "scenarios[0]", "zero_tolerance has no code 'rude'"
    ),
    "more violations than trials": (
        at("scenarios", 0, "zero_tolerance", value={"disclosure": 6}), "scenarios[0]", "a count is above"
    ),
    "a violation in trials that passed policy": (
        at("scenarios", 3, "zero_tolerance", value={"unauthorised_write": 2}),
        "scenarios[3]",
        "S-03: zero_tolerance has unauthorised_write in 2 trials, and policy failed in 1",
    ),
    "a missed escalation in trials that passed escalation": (
        at("scenarios", 0, "zero_tolerance", value={"missed_escalation": 1}),
        "scenarios[0]",
        "S-00: zero_tolerance has missed_escalation in 1 trial, and escalation and policy failed in 0",
    ),
    "wrong hand-offs in trials that passed escalation": (
        at("scenarios", 3, "escalation", value={"abandoned": 4, "correct_autonomy": 1}),
        "scenarios[3]",
        "S-03: escalation has 4 trials that fail it, and it failed in 3",
    ),
    "an unknown escalation class": (
        at("scenarios", 0, "escalation", value={"x": 1}), "scenarios[0].escalation.x", "is 'x'"
    ),
    "trials that repeat each other and differ": (
        at("scenarios", 3, "repeats", value=True), "scenarios[3]", "repeats is true"
    ),
    "an infrastructure error": (at("scenarios", 0, "errors", value=1), "scenarios[0].errors", "is 1"),
    "a trial taken away": (at("scenarios", 0, value=case(0, 4, 4).to_json()), "the file", "desk/S-00: scored is 4"),
    "a scenario twice": (twice, "the file", "scenarios has desk/S-00 twice"),
    "a scenario of a suite that is not there": (
        at("scenarios", 0, "suite", value="shop"), "the file", "conditions.suites has no 'shop'"
    ),
    "an id that is none": (at("scenarios", 0, "scenario", value="a b\x1b[2J"), "scenarios[0].scenario", "no spaces"),
    "a hash that is none": (at("scenarios", 0, "sha256", value="abc"), "scenarios[0].sha256", "no SHA-256"),
    "no trials": (at("conditions", "trials", value=0), "conditions.trials", "is 0"),
    "a time limit of none": (at("conditions", "timeout", value=0), "conditions.timeout", "is 0"),
    "conditions gone": (gone("conditions"), "conditions", "is missing"),
    "a suite without a version": (
        gone("conditions", "suites", 0, "version"), "conditions.suites[0].version", "is missing"
    ),
    "a key that would steer a terminal": (at("\x1b[2J" * 90, value=1), "?[2J?[2J", "unknown key"),
}  # fmt: skip


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_baseline(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.endswith("estore the file, or write it anew with: supportbench baseline set RESULTS")
    assert len(text) - len(str(path)) < 500
    assert "\n" not in text
    assert text.isprintable()
    return text.removeprefix(f"{path}: ")


@pytest.mark.parametrize("name", EDITS)
def test_a_baseline_that_was_edited_badly_is_one_error_at_its_field(tmp_path: Path, name: str):
    """Whatever was edited: one line that names the file, the field, what is wrong and how to get it back."""
    data = json.loads(bless(WHOLE))
    edit, field, says = EDITS[name]
    edit(data)
    text = refused(stored(tmp_path / "baseline.json", json.dumps(data)))
    assert text.startswith(field), text
    assert says in text


GOOD = bless(WHOLE)

TEXTS = {
    "nothing": ("", "is no JSON of a baseline"),
    "a list": ("[]", "the file: "),
    "null": ("null", "the file: "),
    "half of it": (GOOD[: len(GOOD) // 2], "is no JSON of a baseline"),
    "a comma too many": (GOOD.replace("\n]\n}", ",\n]\n}"), "line "),
    "a merge that was not resolved": (f"<<<<<<< ours\n{GOOD}=======\n>>>>>>> theirs\n", "line 1 column 1"),
    "a merge that kept both lines": (
        GOOD.replace('"agent": ', '"agent": "old",\n"agent": ', 1),
        "'agent' is there twice",
    ),
    "a number that is none": (GOOD.replace('"timeout": 120.0', '"timeout": NaN'), "NaN is no number of JSON"),
    "an endless number": (GOOD.replace('"timeout": 120.0', '"timeout": 1e999'), "conditions.timeout"),
    "a number of many digits": (GOOD.replace('"passed": 2', f'"passed": {"9" * 5000}'), "digits"),
    "a depth without end": ('{"agent": ' + "[" * 100_000, "recursion"),
    "a results file": ('{"type": "run"}\n{"type": "episode"}\n', "is no JSON of a baseline"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_baseline_is_one_error(tmp_path: Path, name: str):
    """Whatever text is in the file: one line that says where it stops being a baseline."""
    text, says = TEXTS[name]
    assert says in refused(stored(tmp_path / "baseline.json", text))


def test_bytes_that_are_no_text_are_one_error(tmp_path: Path):
    """A binary file is no baseline."""
    path = tmp_path / "baseline.json"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is no UTF-8 text" in refused(path)


@pytest.mark.parametrize("name", [".", "missing.json"])
def test_a_path_that_is_no_file_is_one_error(tmp_path: Path, name: str):
    """A folder, or nothing at all, is no baseline."""
    assert "cannot be read as a baseline" in refused(tmp_path / name)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path):
    """A baseline of more than 20 MB is none; so is a device without an end."""
    path = tmp_path / "baseline.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert "has more than 20,000,000 bytes" in refused(path)
    if Path("/dev/zero").exists():
        assert "no JSON" in refused(Path("/dev/zero"))


def test_a_baseline_of_two_suites_of_one_name_is_read(tmp_path: Path):
    """Two folders may name their suites alike, as long as their scenarios differ."""
    made = under(WHOLE, suites=(SUITE, {**SUITE, "version": "2.0"}))
    assert read_baseline(stored(tmp_path / "b.json", bless(made))).conditions == made.conditions
