"""``supportbench note``: what a result note says of a run, and that it says no more than the run shows."""

from __future__ import annotations

import html.parser
import importlib.util
import itertools
import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import scipy.stats  # noqa: F401 - loaded before pytester forgets what runs import
import statsmodels.stats.proportion  # noqa: F401 - likewise
from hypothesis import given
from hypothesis import strategies as st
from note_runs import broken, hand_off, mostly, played, right, silent, spoilt, stored
from pilot_note import ROOT

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.cli import main
from pytest_supportbench.reporting.document import (
    Bullets,
    Code,
    Heading,
    Paragraph,
    Table,
    to_html,
    to_markdown,
)
from pytest_supportbench.reporting.note_setup import spec_of
from pytest_supportbench.reporting.text import clean

TWO = ({"id": "one", "kind": "rules", "options": {}}, {"id": "two", "kind": "rules", "options": {}})
HOSTILE = (
    "</td></table><script>alert(1)</script> | ](javascript:x) ![p](http://evil.example/p.png) <b>\x1b[31m\x07"
    "\n# Not a heading\n```\n| a | b |\n&lt; @octocat www.evil.example *b* _i_ ~~s~~ {{7*7}} \u202e"
    + "x"
    * 5000
)


@pytest.fixture
def note(capsys, tmp_path):
    """Return a function that prints the note of a results file, and returns it."""

    def run(path: Path, *options: str) -> str:
        assert main(["note", str(path), *options]) == 0
        return capsys.readouterr().out

    return run


def finding(text: str) -> str:
    """Return the sentence that stands before everything else."""
    (found,) = re.findall(r"^\*\*(.*)\*\*$", text, re.MULTILINE)
    assert text.splitlines()[2] == f"**{found}**"
    return found.replace("\\", "")


def section(text: str, title: str) -> str:
    """Return what stands below a heading, up to the next one of the same or a higher level."""
    found = re.search(rf"^(#+) {re.escape(title)}$\n(.*?)(?=^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {title!r} in {text[:2000]}"
    return found[2]


def rows(text: str) -> dict[str, list[str]]:
    """Return the rows of tables by their first cell, unescaped."""
    found = {}
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            cells = [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found[cells[0]] = cells[1:]
    return found


def by_hand(part: int, whole: int) -> str:
    """Return a share with Wilson's interval, by the formula of 1927."""
    z, share = 1.959963984540054, part / whole
    middle = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z / (1 + z * z / whole) * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    return f"{part}/{whole} ({100 * max(0, middle - half):.0f} to {100 * min(1, middle + half):.0f} %)"


def test_a_perfect_recall_beside_no_specificity_is_told_from_no_constant_bot(tmp_path, note):
    """The sentence names strict pass, few scenarios, recall beside specificity, and that a constant bot has as much."""
    lines = [line for line in played(right) if line["expected_escalation"] == "must"]
    lines += [line for line in played(hand_off) if line["expected_escalation"] == "must_not"]
    assert finding(note(stored(tmp_path / "run.jsonl", lines))) == (
        f"one passed all four dimensions in {by_hand(4, 10)} of its scored scenarios, on few scenarios (10); recall of "
        f"escalations is {by_hand(4, 4)} beside a specificity of {by_hand(0, 6)}, which cannot be told from a bot that "
        "always escalates."
    )


def test_good_agents_are_told_from_constant_bots_and_fifty_scenarios_are_not_few(tmp_path, note):
    """Where specificity is high the sentence ends with it."""
    said = finding(note(stored(tmp_path / "run.jsonl", played(mostly, 50))))
    assert "few" not in said
    assert "always" not in said
    assert re.search(r"recall of escalations is \d+/15 \(.*\) beside a specificity of \d+/35 \(.*\)\.$", said)


def test_an_agent_that_always_decides_alike_is_called_so(tmp_path, note):
    """A bot that hands off to the wrong team has neither full recall nor specificity: a constant agent has as much."""
    said = finding(note(stored(tmp_path / "run.jsonl", played(hand_off))))
    assert "that is no more than the 0.50 of an agent that always decides alike" in said


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ("must", "so nothing tells it from a bot that always escalates"),
        ("must_not", "so nothing tells it from a bot that never escalates"),
    ],
)
def test_one_side_of_escalation_is_not_printed_as_if_it_meant_something(tmp_path, note, expected, words):
    """Where all cases, or none, must be handed off, the sentence says what the missing half leaves open."""
    lines = [line for line in played(right) if line["expected_escalation"] == expected]
    said = finding(note(stored(tmp_path / "run.jsonl", lines)))
    assert "– (no such case)" in said
    assert words in said


def test_every_number_is_that_of_the_file(tmp_path, note):
    """Scores, areas and hand-offs are what counting the lines by hand gives, with Wilson's intervals."""
    path = stored(tmp_path / "run.jsonl", played(mostly, 50))
    text, lines = note(path), [json.loads(line) for line in path.read_text("utf-8").splitlines()][1:-1]
    scores = rows(section(text, "Scores"))
    for name in ("resolution", "policy", "tool_use", "escalation"):
        passed = sum(line["dimensions"][name]["passed"] for line in lines)
        assert scores[name.replace("_", " ")] == [by_hand(passed, 50)]
    strict = sum(line["strict"] for line in lines)
    assert scores["strict pass: all four dimensions"] == [by_hand(strict, 50)]
    effects = sum(line["strict_effects"] for line in lines)
    assert scores["strict pass by effects alone, without checks of wording"] == [by_hand(effects, 50)]
    for area in {line["category"] for line in lines}:
        of_area = [line["strict"] for line in lines if line["category"] == area]
        assert scores[area] == [by_hand(sum(of_area), len(of_area))]
    must, must_not = (
        [line["escalation_class"] == good for line in lines if line["expected_escalation"] == kind]
        for kind, good in (("must", "correct_escalation"), ("must_not", "correct_autonomy"))
    )
    missed, needless = must.count(False), must_not.count(False)
    table = rows(section(text, "Hand-offs"))
    assert table["one"][:2] == [by_hand(sum(must), len(must)), by_hand(sum(must_not), len(must_not))]
    assert table["one"][3] == f"{(sum(must) / len(must) + sum(must_not) / len(must_not)) / 2:.2f}"
    right_ones, wrong = sum(must) * sum(must_not), missed * needless
    sides = (sum(must) + needless) * len(must) * len(must_not) * (sum(must_not) + missed)
    assert table["one"][4] == f"{(right_ones - wrong) / math.sqrt(sides):.2f}"
    assert table["one"][5:] == [f"{(ratio * missed + needless) / 50:.2f}" for ratio in (1, 5, 20)]
    constant = table["best constant agent: hands off everything, to the right place"]
    assert constant == ["15/15", "0/35", "0/35", "0.50", "–", "0.70", "0.70", "0.70"]


def test_each_situation_has_its_permitted_path_and_what_was_done(tmp_path, note):
    """Situations stand in groups by what must be handed off, each with what was allowed, done and wrong."""
    text = note(stored(tmp_path / "run.jsonl", played(hand_off)))
    situations = section(text, "Situations")
    must, _, routine = situations.partition("### Routine cases")
    assert set(rows(must)) - {"scenario"} == {"TB-006", "TB-007", "TB-008", "TB-009"}
    assert "### Safety escalations: must be handed off" in must
    title, permitted, observed, outcome = rows(routine)["TB-001"]
    assert title == "A payment was taken after the subscription had ended"
    assert permitted.startswith("refund: issue_refund(charge_id='ch_7052', amount='24.00', currency='USD')")
    assert observed == "handed off with escalate_to_human(queue=general, reason=other), then action escalate"
    assert outcome.startswith("unnecessary hand-off; failed resolution, tool use, escalation: ")
    assert rows(must)["TB-006"][3].startswith("misrouted; ")


def test_violations_are_sorted_by_severity(tmp_path, note):
    """Those of zero tolerance stand first; a missed escalation is one only where the scenario is about safety."""
    text = note(stored(tmp_path / "run.jsonl", played(silent, 50)))
    lines = [line for line in section(text, "Violations").splitlines() if line.startswith("| missed")]
    assert [line.split("|")[2].strip() for line in lines] == ["zero tolerance", "other"]
    counts = [int(line.split("|")[3]) for line in lines]
    assert sum(counts) == sum(line["expected_escalation"] == "must" for line in played(right, 50))
    must = [line for line in played(right, 50) if line["expected_escalation"] == "must"]
    assert counts[0] == sum("safety" in line["tags"] for line in must)
    assert "None was found." in section(note(stored(tmp_path / "good.jsonl", played(right))), "Violations")


def test_several_trials_have_pass_at_1_and_pass_hat_k(tmp_path, note):
    """With three trials the note has the means of both, as counting all draws gives them, and mixed scenarios."""
    lines = [line for trial in (1, 2) for line in played(right, trial=trial)] + played(silent, trial=3)
    text = note(stored(tmp_path / "run.jsonl", lines, trials=3))
    verdicts: dict[str, list[bool]] = {}
    for line in lines:
        verdicts.setdefault(line["scenario"], []).append(line["verdict"] == "passed")
    table = rows(section(text, "Several trials"))
    for name, k in (("pass@1: one trial passes", 1), ("pass^3: 3 trials all pass", 3)):
        draws = [[all(draw) for draw in itertools.combinations(found, k)] for found in verdicts.values()]
        mean = sum(sum(found) / len(found) for found in draws) / len(draws)
        assert table[name.replace("@", "@<!-- -->")][0].startswith(f"{100 * mean:.0f} % (")
    assert "10 scenarios passed in some trials only" in section(text, "Several trials")
    assert rows(text)["TB-001"][3].startswith("passed 2 of 3 trials; abandoned; failed ")
    assert "20/30" in finding(text)
    assert "of its scored episodes, on few scenarios (10)" in finding(text)


def test_one_trial_has_no_section_of_trials_and_says_what_is_unknown(tmp_path, note):
    """With one trial the note says that nothing is known of how the agent varies."""
    text = note(stored(tmp_path / "run.jsonl", played(right)))
    assert "## Several trials" not in text
    assert "each scenario was tried once" in section(text, "What this does not show")


def test_two_agents_are_compared_scenario_by_scenario(tmp_path, note):
    """A clear difference has its interval, an exact p-value and the scenarios that changed, in sentence and table."""
    lines = [*played(silent, 50), *played(right, 50, agent="two")]
    text = note(stored(tmp_path / "run.jsonl", lines, agents=TWO))
    fixed = sum(line["verdict"] != "passed" for line in played(silent, 50))
    p_value = 2 * 0.5**fixed
    assert re.search(
        rf"the pass rate of two differs from that of one by \+{2 * fixed} points \(.*\) on 50 scenarios that both have "
        rf"scored, which chance alone hardly makes \(p = {p_value:.2g}\)\.$",
        finding(text),
    )
    table = rows(section(text, "Differences"))
    assert table["fixed"][0].startswith(f"{fixed}: TB-0")
    assert table["broken"] == ["0"]
    assert "## Results of one" in text
    assert "## Results of two" in text


def test_an_underpowered_difference_is_called_that(tmp_path, note):
    """Few scenarios that changed are no evidence of a difference, and none that there is no difference."""
    lines = [*played(mostly), *played(right, agent="two")]
    said = finding(note(stored(tmp_path / "run.jsonl", lines, agents=TWO)))
    assert "an underpowered difference: it may be chance (p = " in said
    assert "points is not ruled out" in said
    assert "hardly" not in said


def test_agents_that_are_known_to_be_alike_are_not_called_underpowered(tmp_path, note):
    """Where the interval is narrow the sentence says what is ruled out."""
    lines = [
        {**line, "scenario": f"{line['scenario']}-{number}", "twin": None}
        for number in range(4)
        for line in [*played(right, 50), *played(right, 50, agent="two")]
    ]
    said = finding(note(stored(tmp_path / "run.jsonl", lines, agents=TWO)))
    assert "no evidence of a difference (p = 1), and one of more than 2 points is ruled out" in said


def test_one_agent_can_be_named(tmp_path, note, capsys):
    """``--agent`` leaves the others out, the comparison too; an unknown name is wrong usage."""
    lines = [*played(silent), *played(right, agent="two")]
    path = stored(tmp_path / "run.jsonl", lines, agents=TWO)
    text = note(path, "--agent", "two")
    assert finding(text).startswith("two passed all four dimensions in 10/10")
    assert "Differences" not in text
    assert "supportbench note results.jsonl --agent two" in text
    assert main(["note", str(path), "--agent", "three"]) == 4
    assert "there is no agent 'three'; there is one, two" in capsys.readouterr().err


def test_errors_are_said_before_any_share(tmp_path, note):
    """Episodes that broke stand first, with the strict pass that counts them as failures."""
    lines = played(right)
    text = note(stored(tmp_path / "run.jsonl", [*map(broken, lines[:2]), *lines[2:]]))
    assert finding(text).startswith(
        "2 of 10 episodes of one ended in infrastructure errors and are left out, which makes 8/10 if they count as "
        f"failures; one passed all four dimensions in {by_hand(8, 8)} of its scored scenarios, on few scenarios (8)"
    )
    assert rows(section(text, "Scores"))["strict pass, errors counted as failures"] == ["8/10"]
    assert rows(section(text, "Infrastructure errors"))["connection_refused"] == [
        "2",
        "nothing listens there",
        "start the server",
    ]
    title, permitted, observed, outcome = rows(text)["TB-001"]
    assert permitted == "–"
    assert observed == "infrastructure error (connection_refused)"
    assert outcome.startswith("infrastructure error")
    assert title


def test_a_run_of_errors_only_says_nothing_of_the_agent(tmp_path, note):
    """Without a scored episode there is a cause and no share."""
    text = note(stored(tmp_path / "run.jsonl", map(broken, played(right))))
    assert finding(text) == (
        "Nothing of one could be scored: all 10 episodes ended in infrastructure errors (connection_refused ×10), "
        "which say nothing about the agent."
    )
    assert "## Scores" not in text
    assert "## Hand-offs" not in text


@pytest.mark.parametrize("extra", [[], ["--format", "html"]])
@pytest.mark.parametrize("count", [10, 4])
def test_a_killed_run_has_no_share_anywhere(tmp_path, note, extra, count):
    """Whatever was written before a kill is shown, and no percentage of it."""
    path = stored(tmp_path / "run.jsonl", played(mostly)[:count], killed=True)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type":"episode","suite":"tinyb')
    text = note(path, *extra)
    if not extra:
        assert finding(text) == (
            "This run is incomplete (it has no end: it was killed, or is still going on), so there is no finding: "
            f"{count} episodes of one are on record, and no share of them stands for the whole."
        )
    assert "TB-001" in text
    assert "Shares are left out below" in text
    body = text.partition("<body>")[2] or text
    assert re.search(r"\d %|\d/\d", body.replace("T10:00:00", "")) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stopped_early": True}, "it was stopped before its end"),
        ({"trials": 2}, "10 of its trials are missing"),
        (
            {"settings": {"trials": 1, "max_turns": 6, "timeout": 120.0, "shard": [1, 3], "plan": {}}},
            "it is part 1 of 3 of a run",
        ),
    ],
)
def test_what_is_not_whole_is_called_incomplete(tmp_path, note, changes, words):
    """A stopped run, a shard and a run that lacks trials have no finding, and say why."""
    text = note(stored(tmp_path / "run.jsonl", played(right), **changes))
    assert finding(text).startswith(f"This run is incomplete ({words}), so there is no finding: 10 episodes")
    assert "## Scores" not in text


def test_agents_that_met_other_scenarios_are_not_compared(tmp_path, note):
    """Two agents of which one lacks scenarios are no whole run; one of them alone is."""
    path = stored(tmp_path / "run.jsonl", [*played(right), *played(right, 5, agent="two")], agents=TWO)
    assert "its agents have not met the same scenarios" in finding(note(path))
    assert finding(note(path, "--agent", "two")).startswith("two passed all four dimensions in 5/5")


@pytest.mark.parametrize("agents", [(), TWO])
@pytest.mark.parametrize("killed", [True, False])
def test_an_empty_run_has_no_finding(tmp_path, note, agents, killed):
    """A file without episodes says so in both formats, and nothing else of the agents."""
    path = stored(tmp_path / "run.jsonl", [], agents=agents, killed=killed)
    said = finding(note(path))
    assert said.startswith("There is no finding: the results file has no episode")
    assert ("incomplete" in said) == killed
    assert note(path, "--format", "html").startswith("<!doctype html>")


def test_replayed_replies_and_simulated_customers_are_said_first(tmp_path, note):
    """Where nobody was asked, or a customer was simulated, the sentence begins with that."""
    lines = [{**line, "replayed": "yes"} for line in played(right)]
    lines[0] |= {"replayed": "partly", "customer_simulated": True}
    assert finding(note(stored(tmp_path / "run.jsonl", lines))).startswith(
        "The replies of one were replayed from an earlier run in 9 of 10 scored episodes and partly in 1, so that the "
        "agent was not asked there; a simulated customer answered in 1 of 10 episodes, which no rerun repeats; one "
        "passed"
    )


def test_no_rerun_turns_a_failure_into_a_pass(tmp_path, note):
    """The first attempt that was scored counts, errors before it do not, and the note says what it left out."""
    good, bad = played(right), played(silent)
    lines = [
        broken(good[0]),
        {**bad[0], "attempt": 2},
        {**good[0], "attempt": 3},
        *good[1:],
        {**good[1], "trial": 2},
        {**good[2], "own": True},
    ]
    text = note(stored(tmp_path / "run.jsonl", lines, unreported=["one/tinybench-50/TB-010/1"]))
    assert "one passed all four dimensions in 8/9" in finding(text)
    for words in (
        "2 episodes of reruns are left out: a trial counts by its first attempt that was scored.",
        "1 further trial of a gate is left out.",
        "1 episode that pytest did not get to is left out.",
        "1 episode of tests that are no scenario files is left out.",
    ):
        assert f"- {words}" in text


def test_explanation_is_uncalibrated_unless_the_closing_line_says_otherwise(tmp_path, note):
    """The share of concepts stands apart, and is called what it is."""
    plain = section(note(stored(tmp_path / "a.jsonl", played(right))), "Explanation, apart from all scores")
    assert "UNCALIBRATED" in plain
    found = note(stored(tmp_path / "b.jsonl", played(right), calibrated=True))
    calibrated = section(found, "Explanation, apart from all scores")
    assert "people's labels have calibrated" in calibrated
    assert "UNCALIBRATED" not in found
    assert "not calibrated" not in found


def test_a_baseline_judges_the_run(tmp_path, note, capsys):
    """With a baseline the note has the gate's verdict and its reasons."""
    before = stored(tmp_path / "before.jsonl", played(right, 50))
    now = stored(tmp_path / "now.jsonl", played(silent, 50))
    assert main(["baseline", "set", str(before), str(tmp_path / "baseline.json")]) == 0
    capsys.readouterr()
    text = note(now, "--baseline", str(tmp_path / "baseline.json"))
    judged = section(text, "one against the baseline one")
    assert "REGRESSED: the agent got worse" in judged
    deciding, mark, others = judged.partition("What else was looked at:")
    assert "Each of these is enough for that verdict:\n\n- zero tolerance: " in deciding
    assert mark
    assert "all scenarios: " in others
    assert text.index("REGRESSED: ") < text.index("## Setup") < text.index("## Situations")
    assert "new failure; " in section(text, "Situations")


def test_the_fresh_trials_of_a_gated_run_count_for_its_verdict(tmp_path, note, capsys):
    """A new failure that the gate has confirmed is confirmed in the note too; its fresh trials are in no score."""
    before = stored(tmp_path / "before.jsonl", [*played(right, 50), *played(right, 50, trial=2)], trials=2)
    failed = {number: played(silent, 50, trial=number)[0] for number in range(1, 6)}
    lines = [line for number in (1, 2) for line in (failed[number], *played(right, 50, trial=number)[1:])]
    now = stored(tmp_path / "now.jsonl", [*lines, failed[3], failed[4], failed[5]], trials=2)
    assert main(["baseline", "set", str(before), str(tmp_path / "baseline.json")]) == 0
    capsys.readouterr()
    text = note(now, "--baseline", str(tmp_path / "baseline.json"))
    assert ": confirmed" in section(text, "one against the baseline one")
    assert "100 trials of which 100 scored" in text


def test_equal_files_give_equal_bytes(tmp_path, note):
    """The note of one file is the same twice, printed or written, wherever the file lies."""
    lines = [*played(mostly), *played(right, agent="two")]
    path = stored(tmp_path / "run.jsonl", lines, agents=TWO)
    other = tmp_path / "elsewhere.jsonl"
    other.write_bytes(path.read_bytes())
    for extra in ([], ["--format", "html"]):
        text = note(path, *extra)
        assert note(other, *extra) == text
        out = tmp_path / "made" / f"note{len(extra)}"
        assert main(["note", str(path), *extra, "--out", str(out)]) == 0
        assert out.read_text("utf-8") == text.partition("wrote")[0]
        note(path)


def test_the_order_of_episodes_is_no_matter(tmp_path, note):
    """Episodes that finished in another order give the same note, but for the file's hash."""
    lines = played(mostly)
    texts = [
        note(stored(tmp_path / f"{name}.jsonl", found)) for name, found in (("a", lines), ("b", lines[::-1]))
    ]
    first, second = (re.sub(r'"results_sha256": "\w+"', "", text) for text in texts)
    assert first == second


def test_the_suffix_chooses_the_format(tmp_path, capsys):
    """A path that ends in .html gets HTML, unless the format is named."""
    path = stored(tmp_path / "run.jsonl", played(right))
    for name, options, start in (
        ("a.html", [], "<!doctype html>"),
        ("b.md", [], "# Result note: tinybench-50"),
        ("c.html", ["--format", "markdown"], "# Result note: tinybench-50"),
    ):
        assert main(["note", str(path), "--out", str(tmp_path / name), *options]) == 0
        assert (tmp_path / name).read_text("utf-8").startswith(start)
        assert capsys.readouterr().out == f"wrote {tmp_path / name}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("hello\n", "is no results file"),
        ('{"type":"run"}\n', "its schema is None"),
    ],
)
def test_what_is_no_results_file_is_wrong_usage(tmp_path, capsys, text, message):
    """A file that is missing or something else is named, with exit code 4 and no traceback."""
    path = tmp_path / "x.jsonl"
    if text is not None:
        path.write_text(text, "utf-8")
    assert main(["note", str(path)]) == 4
    error = capsys.readouterr().err
    assert f"{path}: {message}" in error


@pytest.mark.parametrize("field", ["title", "calls", "turns", "dimensions", "ending", "usage", "replayed"])
@pytest.mark.parametrize("value", ["missing", 7])
def test_a_damaged_line_is_wrong_usage(tmp_path, capsys, field, value):
    """A line that lacks a field, or has another thing there, is told without a traceback, or does no harm."""
    lines = played(right)
    lines[3] = (
        {key: item for key, item in lines[3].items() if key != field}
        if value == "missing"
        else {**lines[3], field: value}
    )
    code = main(["note", str(stored(tmp_path / "run.jsonl", lines))])
    assert code == 4 or (value == 7 and field in {"title", "replayed"})
    assert code == 0 or re.search("cannot be read as results|do not add up", capsys.readouterr().err)


def test_a_file_that_lost_episodes_is_refused(tmp_path, capsys):
    """Where the lines are not those that the closing line counted, nothing is written of them."""
    path = stored(tmp_path / "run.jsonl", played(mostly))
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:3], *lines[4:]]), "utf-8")
    assert main(["note", str(path)]) == 4
    assert "do not add up to its summary" in capsys.readouterr().err


def test_inputs_are_never_overwritten(tmp_path, capsys):
    """A note does not replace the results that it is of, or its baseline."""
    path = stored(tmp_path / "run.jsonl", played(right))
    data = path.read_bytes()
    assert main(["note", str(path), "--out", str(path)]) == 4
    assert "is one of the files to read" in capsys.readouterr().err
    assert path.read_bytes() == data
    assert main(["note", str(path), "--out", str(tmp_path)]) == 4
    assert "cannot be written" in capsys.readouterr().err


def test_html_without_markupsafe_names_the_extra(tmp_path, capsys, monkeypatch):
    """Where the package for escaping is missing, HTML is refused with the remedy."""
    monkeypatch.setitem(sys.modules, "markupsafe", None)
    assert main(["note", str(stored(tmp_path / "run.jsonl", played(right))), "--format", "html"]) == 4
    assert 'pip install "pytest-supportbench[html]"' in capsys.readouterr().err


def test_statistics_that_are_missing_name_the_extra(tmp_path, capsys, monkeypatch):
    """Where scipy is missing, the note is refused with the remedy."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "scipy" else found(name))
    assert main(["note", str(stored(tmp_path / "run.jsonl", played(right)))]) == 4
    assert 'pip install "pytest-supportbench[gate]"' in capsys.readouterr().err


class Page(html.parser.HTMLParser):
    """Collects the tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.said: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.said.append(data)


PLAIN_TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "ul",
        "li",
        "div",
    ),
    *("table", "thead", "tbody", "tr", "th", "td", "pre", "code"),
}
KEPT = frozenset(
    {"type", "verdict", "expected_escalation", "escalation_class", "ending", "effect", "status", "fault"}
)
"""Fields whose values are words of ours: a line with others is no results line."""


def hostile(tmp_path: Path) -> Path:
    """Write a results file whose every free text is hostile, agent, suite and scenario ids included."""
    lines = [*played(hand_off, 5), *played(right)[5:9], broken(played(right)[9])]
    spoiled = []
    for number, line in enumerate(lines):
        found = spoilt(
            line, HOSTILE, KEPT | {"dimensions", "usage", "timing", "explanation", "replayed", "violations"}
        )
        found["scenario"] = f"{number}{HOSTILE}"
        for name, dimension in line["dimensions"].items():
            checks = spoilt(dimension["checks"], HOSTILE, frozenset({"id", "code", "basis"}))
            found["dimensions"][name] = {**dimension, "checks": checks}
        checks = [check for item in found["dimensions"].values() for check in item["checks"]]
        failed = [check for check in checks if check["passed"] is False]
        for check in failed:
            check["code"] = check["code"] if check["id"] == "handoff" else HOSTILE
        found["violations"] = [
            {"code": check["code"], "basis": check["basis"], "evidence": check["actual"]}
            for check in failed
            if check["code"]
        ]
        if found["action"]:
            found["action"] = HOSTILE[:150]
        for turn in found["turns"]:
            turn |= {"action": HOSTILE[:150], "asks_for": [HOSTILE[:50]]}
        for call in found["calls"]:
            call["arguments"] = {HOSTILE[:20]: HOSTILE[:20], "a": "<b>|`"}
        spoiled.append(found)
    agent = {
        "id": HOSTILE,
        "kind": HOSTILE,
        "model": HOSTILE,
        "options": {HOSTILE: HOSTILE},
        "prompt_path": HOSTILE,
    }
    suite = dict.fromkeys(("name", "version", "sha256", "toolset", "toolset_version"), HOSTILE)
    return stored(
        tmp_path / "run.jsonl",
        spoiled,
        agents=[agent],
        suites=[suite],
        **dict.fromkeys(("started", "package", "scorer", "python", "platform", "git_commit", "run"), HOSTILE),
        customer={HOSTILE: HOSTILE},
        rescored_from={"run": HOSTILE},
    )


def test_hostile_text_is_no_markup_in_html(tmp_path, note):
    """Whatever stands in a results file is text in the page: no tag, no attribute, no address, nothing that runs."""
    text = note(hostile(tmp_path), "--format", "html")
    page = Page(text)
    assert page.tags <= PLAIN_TAGS
    assert {name for name, _ in page.attributes} <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "scope")
    }
    assert "url(" not in text
    assert "<script>alert(1)</script>" in "".join(page.said)
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert len(text) < 500_000


def test_hostile_text_is_no_markup_in_markdown(tmp_path, note):
    """It opens no heading, table, fence, tag or link either, and every row keeps its cells."""
    text = note(hostile(tmp_path))
    blocks = re.split(r"^(`{3,})\w*\n.*?^\1$", text, flags=re.MULTILINE | re.DOTALL)
    prose = "\n".join(blocks[::2])
    assert "Not a heading" in prose
    assert not re.search(r"^# Not", text, re.MULTILINE)
    assert not re.search(r"(?<!\\)<(?!!-- -->)", prose)
    assert not re.search(r"://|www\.|@(?!<!-- -->)|&(?!amp;|#\d+;)", prose)
    assert not re.search(r"(?<!\\)[\[\]`*_~](?!\*)", prose.replace("**", ""))
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    for table in re.findall(r"(?:^\|.*\n)+", prose, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1
    assert len(text) < 500_000


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_survives_both_formats(first, second):
    """Whatever the text, HTML gives it back as it was shown, Markdown keeps its blocks, and neither gets new ones."""
    blocks = (
        Heading(first, 2),
        Paragraph(second),
        Bullets((first,)),
        Table(("a", second), ((first, second),)),
        Code(second),
    )
    page = Page(to_html(blocks, first))
    assert page.tags <= PLAIN_TAGS
    shown = " ".join(clean(second).split())
    assert not shown or shown in page.said or shown in "".join(page.said)
    lines = to_markdown(blocks).rstrip("\n").split("\n")
    (start,) = [number for number, text in enumerate(lines) if text == "|---|---|"]
    assert all(
        len(re.findall(r"(?<!\\)(?:\\\\)*\|", lines[number])) == 3 for number in (start - 1, start, start + 1)
    )
    assert lines[start + 3].startswith("```")
    assert lines[-1] == lines[start + 3].removesuffix("text")
    assert lines.count(lines[-1]) == 1


def test_html_asks_for_nothing_and_has_both_schemes(tmp_path, note):
    """The page forbids itself all requests, and follows the reader's choice of light or dark."""
    text = note(stored(tmp_path / "run.jsonl", played(right)), "--format", "html")
    page = Page(text)
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert ("content", "light dark") in page.attributes
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"\b(?:src|href|srcset|action)=|@import|url\(", text)


def test_both_formats_say_the_same(tmp_path, note):
    """Every sentence and cell of the Markdown stands in the HTML."""
    path = stored(tmp_path / "run.jsonl", [*played(mostly), *played(right, agent="two")], agents=TWO)
    markdown, page = note(path), Page(note(path, "--format", "html"))
    words = re.sub(r"\W+", "", "".join(text for text in page.said if "color-scheme" not in text))
    plain = re.sub(r"^\|[-|]+$|^```\w*$|<!-- -->", "", markdown, flags=re.MULTILINE)
    plain = re.sub(r"\W+", "", plain.replace("&amp;", "&").replace("_", ""))
    assert words.replace("_", "").endswith(plain)


@pytest.mark.parametrize(
    "spec",
    [
        "rules",
        "rules?without=memory,policies",
        "always-escalate",
        "ollama:qwen3:4b-instruct?num_ctx=16384&seed=3",
        "openai:gpt-x?temperature=0.5",
    ],
)
def test_the_command_names_the_agent_that_ran(spec):
    """An agent that is made of the printed spec has the fingerprint of the one that ran."""
    made = make_agent(parse_spec(spec, ROOT), ROOT)
    found = {"id": made.spec.id, **made.fingerprint()}
    found |= {"without": sorted(made.spec.without)} if made.spec.without else {}
    again = make_agent(parse_spec(spec_of(found), ROOT), ROOT)
    assert again.fingerprint() == made.fingerprint()
    assert again.spec.without == made.spec.without


def test_options_with_signs_of_the_grammar_survive_in_the_command():
    """A value that holds the grammar's own signs is read back as it was, in a shell too."""
    options = {"a": "b&c=d?e %26", "n": 3, "yes": True, "none": None}
    (word,) = shlex.split(shlex.quote(spec_of({"kind": "python", "target": "m:f", "options": options})))
    assert dict(parse_spec(word, ROOT).options) == {"a": "b&c=d?e %26", "n": 3, "yes": True}
    assert spec_of({"id": "desk", "kind": "registered", "options": {}}) == "desk"
    assert (
        spec_of({"kind": "https", "address": "https://a.example/x", "options": {}}) == "https://a.example/x"
    )
    assert (
        spec_of({"kind": "command", "command": "python a.py --b", "options": {}}) == "command:python a.py --b"
    )


def test_the_printed_command_does_it_again(tmp_path, note):
    """The command line of a note runs the same scenarios with the same agent and limits, to the same verdicts."""
    first = tmp_path / "first.jsonl"
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--tb=no"]
    own = [*options, "-k", "TB-001 or TB-006", "--supportbench-agent=rules", "--supportbench-max-turns=3"]
    runs = [[sys.executable, "-m", "pytest", "scenarios", *own, f"--supportbench-results={first}"]]
    for command in runs:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode in {0, 1}, done.stdout + done.stderr
    line = re.search(r"```sh\n(pytest .*)\n", note(first))
    assert line is not None
    words = [word.replace("results.jsonl", str(tmp_path / "again.jsonl")) for word in shlex.split(line[1])]
    done = subprocess.run(
        [sys.executable, "-m", *words, *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr

    def told(path: Path) -> tuple[Any, ...]:
        lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
        return (
            lines[0]["agents"],
            lines[0]["settings"],
            [(item["scenario"], item["verdict"]) for item in lines[1:-1]],
        )

    assert told(tmp_path / "again.jsonl") == told(first)
