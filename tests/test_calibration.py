"""Agreement of raters with people, when a rater counts as calibrated, and what takes that back.

Every label here is synthetic: no person has labelled anything.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_runs import OPEN, SHUT, desk, stored

from pytest_supportbench.agreement import Pair, agreement, cohen_kappa, gwet_ac1, share
from pytest_supportbench.annotators import people
from pytest_supportbench.calibration import Calibration, Rater, between, calibrate, matcher_of
from pytest_supportbench.calibration_file import Uncalibrated, calibration_text, load
from pytest_supportbench.cli import main
from pytest_supportbench.errors import UsageError
from pytest_supportbench.labels import LabelItem, Labels
from pytest_supportbench.questions import matcher_fingerprint
from pytest_supportbench.reporting.calibration import between_lines, people_lines, rater_lines

MATCHER = {"rater": "phrase matcher", "scorer": "4", "suites": {"desk": "abc"}}
JUDGE = {
    "rater": "judge",
    "judge": "local",
    "model_digest": "d1",
    "prompt_sha256": "p1",
    "options": {"seed": 7},
}


def labels(*rows: tuple[str, bool], clusters: int = 60, **changes: Any) -> Labels:
    """Return synthetic labels: for each row the answers (``yn``: one said yes, one no; ``yn:y`` is adjudicated) and
    what the phrase matcher found."""
    words = {"y": "yes", "n": "no", "u": "unsure"}
    items = []
    for number, (said, matcher) in enumerate(rows):
        answers, _, decided = said.partition(":")
        items.append(
            LabelItem(
                item=f"q{number}",
                key=f"k{number}",
                suite="desk",
                scenario=f"S-{number % clusters}",
                family=f"desk/S-{number % clusters}",
                concept="hours",
                customer="Hello",
                agent="Hello",
                question="?",
                matcher=matcher,
                answers=tuple(words[letter] for letter in answers),
                adjudicated=words[decided] if decided else None,
            )
        )
    made = {"supportbench_labels": 1, "matcher": MATCHER, "seed": 1, "annotators": 2, "items": items}
    return Labels.model_validate({**made, **changes})


def good(*, passes: int = 60, fails: int = 60, missed: int = 1, taken: int = 0) -> list[tuple[str, bool]]:
    """Return rows of a matcher that people agree with, but for so many passes it missed and fails it took."""
    rows = [("yy", number >= missed) for number in range(passes)]
    return [*rows, *[("nn", number < taken) for number in range(fails)]]


def matcher_on(rows: Iterable[tuple[str, bool]], **options: Any) -> Calibration:
    made = labels(*rows, **options)
    return calibrate(made, matcher_of(made))


def pairs(table: list[list[int]], clusters: int = 10) -> list[Pair]:
    cells = [(True, True), (True, False), (False, True), (False, False)]
    flat = [cell for cell, count in zip(cells, (*table[0], *table[1]), strict=True) for _ in range(count)]
    return [Pair(first, second, f"c{number % clusters}") for number, (first, second) in enumerate(flat)]


def test_ac1_is_that_of_gwets_own_example():
    """Gwet's R package irrCAC prints 0.8493305 for its data set cont3x3abstractors (and 0.7964094 for kappa)."""
    table = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]], dtype=float)
    assert gwet_ac1(table) == pytest.approx(0.8493305, abs=5e-8)
    assert cohen_kappa(table) == pytest.approx(0.7964094, abs=5e-8)


COUNTS = st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(lambda cells: sum(cells) > 0)


@given(cells=COUNTS)
def test_coefficients_are_those_of_the_definition(cells: list[int]):
    """AC1 and kappa of a 2 × 2 table equal their definitions, counted item by item in exact fractions."""
    answers = [
        pair for pair, count in zip(product((1, 0), repeat=2), cells, strict=True) for _ in range(count)
    ]
    n = len(answers)
    observed = Fraction(sum(a == b for a, b in answers), n)
    first, second = (Fraction(sum(pair[side] for pair in answers), n) for side in (0, 1))
    usual = (first + second) / 2
    chance = 2 * usual * (1 - usual)
    table = np.array(cells, dtype=float).reshape(2, 2)
    assert gwet_ac1(table) == pytest.approx(float((observed - chance) / (1 - chance)))
    expected = first * second + (1 - first) * (1 - second)
    if expected == 1:
        assert cohen_kappa(table) is None
    else:
        assert cohen_kappa(table) == pytest.approx(float((observed - expected) / (1 - expected)))


def test_high_agreement_on_a_rare_answer_has_a_low_kappa_and_a_high_ac1():
    """What is called kappa's paradox is why both are printed: 118 of 125 agree, kappa is below 0, AC1 is 0.94."""
    found = agreement(pairs([[118, 5], [2, 0]]))
    assert (found.items, found.differ, found.both) == (125, 7, 118)
    assert found.kappa is not None
    assert found.ac1 is not None
    assert found.kappa.estimate < 0
    assert found.ac1.estimate == pytest.approx(0.9408, abs=5e-5)


def test_intervals_draw_whole_scenarios():
    """Copies of the same answers within each scenario add no information: the interval stays as it was."""
    once = pairs([[20, 4], [3, 13]], clusters=20)
    fivefold = agreement([pair for pair in once for _ in range(5)])
    found = agreement(once)
    for name in ("raw", "kappa", "ac1"):
        one, many = getattr(found, name), getattr(fivefold, name)
        assert (many.low, many.high) == pytest.approx((one.low, one.high))
        assert one.low < one.estimate < one.high


def test_the_interval_of_kappa_is_that_of_an_independent_bootstrap():
    """Drawing clusters by hand, with another generator and the definition of kappa, gives the same bounds."""
    given_pairs = pairs([[40, 6], [5, 49]], clusters=100)
    found = agreement(given_pairs).kappa
    assert found is not None
    names = sorted({pair.cluster for pair in given_pairs})
    groups = {name: [pair for pair in given_pairs if pair.cluster == name] for name in names}
    source = np.random.RandomState(5)
    draws = []
    for _ in range(2_000):
        drawn = [pair for name in source.choice(names, len(names)) for pair in groups[name]]
        p = sum(pair.first == pair.second for pair in drawn) / len(drawn)
        a, b = (sum(getattr(pair, side) for pair in drawn) / len(drawn) for side in ("first", "second"))
        e = a * b + (1 - a) * (1 - b)
        draws.append((p - e) / (1 - e))
    assert (found.low, found.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.04)


@pytest.mark.parametrize(
    "cluster", [lambda number: number % 12, lambda number: number // 5], ids=["apart", "together"]
)
def test_one_error_more_never_narrows_an_interval(cluster: Any):
    """Wherever the errors are, a rater with one more has no better lower bound."""
    lows = []
    for errors in range(13):
        found = share([(number >= errors, f"c{cluster(number)}") for number in range(60)])
        assert found is not None
        lows.append(found.low)
    assert lows == sorted(lows, reverse=True)
    assert lows[0] < 0.8


def test_a_share_is_never_surer_than_one_trial_a_scenario():
    """The bounds hold Wilson's over the scenarios, computed here from his formula, however alike scenarios are."""
    found = share([(number % 5 > 0, f"c{number // 10}") for number in range(200)])
    assert found is not None
    n, p, z = 20, 0.8, 1.959964
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert found.estimate == p
    assert found.low == pytest.approx(middle - half, abs=1e-5)
    assert found.high >= middle + half - 1e-5


def one_yes_and_one_no(clusters: int) -> list[Pair]:
    """Return a first rater who always says yes beside one who says yes to one of two questions of each scenario."""
    return [Pair(True, second, f"c{number}") for number in range(clusters) for second in (True, False)]


@pytest.mark.parametrize("clusters", [20, 80])
def test_scenarios_that_are_all_alike_leave_no_coefficient_without_doubt(clusters: int):
    """No resample differs from another, so kappa and AC1 get the bounds of as many independent items, as raw does."""
    found = agreement(one_yes_and_one_no(clusters))
    assert found.raw is not None
    assert found.kappa is not None
    assert found.ac1 is not None
    assert found.ac1.estimate == pytest.approx(0.2)  # (0.5 - 0.375) / (1 - 0.375), of π = 0.75
    # As AC1 is a function of the share q of yes here, (q² + 2q - 1) / (1 + q²), its bounds are those of q's.
    for bound, end in ((found.raw.low, found.ac1.low), (found.raw.high, found.ac1.high)):
        assert end == pytest.approx((bound**2 + 2 * bound - 1) / (1 + bound**2), abs=0.08)
    assert found.kappa.low <= found.kappa.estimate <= found.kappa.high
    assert found.ac1.high - found.ac1.low > 0.5 * (found.raw.high - found.raw.low)


def test_raters_who_always_agree_are_as_unsure_as_their_scenarios_are_few():
    """Ten scenarios of perfect agreement leave AC1 as unsure as the raw share; a hundred much less."""
    few, many = (agreement([Pair(True, True, f"c{number}") for number in range(n)]).ac1 for n in (10, 100))
    assert few is not None
    assert many is not None
    assert (few.estimate, few.high, many.high) == (1.0, 1.0, 1.0)
    assert few.low < 0.85
    assert 0.95 < many.low < 1


def test_a_resample_without_any_variety_shows_no_agreement():
    """Of two scenarios, one all yes and one all no, half of the resamples are all alike: kappa may be 0."""
    same = [Pair(yes, yes, "a" if yes else "b") for yes in (True, False) for _ in range(9)]
    found = agreement(same).kappa
    assert found is not None
    assert found.estimate == 1.0
    assert found.low <= 0.0


def test_a_rater_at_the_bound_is_rarely_taken_for_a_better_one():
    """A rater whose recall is 0.80 and whose errors cluster gets a lower bound of 0.80 in under 2.5 % of studies."""
    source = np.random.default_rng(11)
    above = 0
    for _ in range(200):
        observations = []
        for cluster, skill in enumerate(
            source.beta(0.8 * 7 / 3, 0.2 * 7 / 3, 40)
        ):  # intra-cluster correlation 0.3
            observations += [(bool(source.random() < skill), str(cluster)) for _ in range(4)]
        found = share(observations)
        assert found is not None
        above += found.low >= 0.8
    assert above / 200 <= 0.025


def test_nothing_is_said_of_nothing():
    """Without items there are no figures, and one scenario alone says nothing about others."""
    empty = agreement([])
    assert (empty.items, empty.raw, empty.kappa, empty.ac1) == (0, None, None, None)
    assert share([]) is None
    alone = agreement(pairs([[5, 1], [1, 5]], clusters=1))
    assert alone.kappa is not None
    assert (alone.kappa.low, alone.kappa.high) == (-1, 1)


def test_a_good_rater_is_calibrated():
    """Both bounds, kappa, the numbers of labels and no severe false accept: then nothing is held against it."""
    found = matcher_on(good())
    assert found.reasons == ()
    assert found.calibrated
    assert (found.figures.passes, found.figures.fails, found.figures.severe) == (60, 60, 0)


@pytest.mark.parametrize(
    ("rows", "options", "reason"),
    [
        (good(missed=10), {}, "the lower bound of its recall on passes is 0.72, and must reach 0.80"),
        (good(taken=1), {}, "severe false accepts: 1, and none is allowed"),
        (good(passes=49), {}, "people's passes: 49, and at least 50 are needed"),
        (good(fails=49), {}, "people's fails: 49, and at least 50 are needed"),
        (good(fails=0), {}, "its recall on fails is unknown, since people found none"),
        (good(), {"clusters": 12}, "the lower bound of its recall on passes is"),
        ([*good(), ("yn", True)], {}, "1 disagreements of the annotators are undecided"),
        ([*good(), ("uu", True)], {}, "1 disagreements of the annotators are undecided"),
        (
            [("yy", True)] * 60,
            {},
            "its agreement beyond chance is unknown, since only one answer was ever given",
        ),
    ],
)
def test_each_rule_alone_keeps_a_rater_from_the_gate(rows: Any, options: Any, reason: str):
    """Too low a bound, too few labels, a severe false accept or an open disagreement: each is told in words."""
    found = matcher_on(rows, **options)
    assert not found.calibrated
    assert any(told.startswith(reason) for told in found.reasons), found.reasons


def test_a_low_kappa_keeps_a_rater_from_the_gate():
    """With rare fails both recalls may be high while kappa is not."""
    decided = [("yn:n", True)] * 10  # people were of two minds, so no accept is severe
    found = matcher_on([*good(passes=1000, fails=90, missed=90), *decided], clusters=1100)
    assert any(told.startswith("Cohen's kappa with people is 0.") for told in found.reasons), found.reasons
    assert len(found.reasons) == 1


def test_a_bound_that_is_missed_is_not_rounded_up_to_it():
    """The reason never says that 0.80 must reach 0.80."""
    (reason,) = matcher_on(good(passes=1002, fails=1000, missed=176), clusters=2500).reasons
    assert reason == "the lower bound of its recall on passes is 0.7996, and must reach 0.80"


def test_what_people_left_unsure_is_in_no_figure():
    """Items that stay unsure are counted apart; adjudicated ones count as decided."""
    made = labels(*good(), ("yn:u", True), ("un:n", False), ("yn:y", True))
    found = calibrate(made, matcher_of(made))
    assert (found.figures.passes, found.figures.fails) == (61, 61)
    who = people(made)
    assert found.people == who
    assert (who.items, who.disagreements, who.open_items, who.unsure) == (123, 3, 0, 1)
    ((first, second, agreed),) = who.pairs
    assert (first, second, agreed.items, agreed.differ) == (1, 2, 122, 2)


def test_a_yes_against_a_decision_is_an_error_that_is_not_severe():
    """Where annotators differed and somebody decided, a rater may err: it is counted apart."""
    found = matcher_on([*good(), ("yn:n", True)]).figures
    assert (found.severe, found.disputed, found.against_people.second_only) == (0, 1, 1)
    found = matcher_on([*good(), ("nn", True)]).figures
    assert (found.severe, found.disputed, found.against_people.second_only) == (1, 0, 1)


def test_three_annotators_are_compared_two_by_two():
    """Each pair of annotators has figures of its own."""
    rows = [(said + said[0], found) for said, found in good()]
    who = people(labels(*rows, annotators=3))
    assert [(first, second) for first, second, _ in who.pairs] == [(1, 2), (1, 3), (2, 3)]


def test_a_judge_must_have_judged_everything():
    """A rater that left items out may have left the hard ones out."""
    made = labels(*good())
    said = {item.key: item.matcher for item in made.items}
    assert calibrate(made, Rater(JUDGE, said)).calibrated
    del said["k3"]
    assert calibrate(made, Rater(JUDGE, said)).reasons == ("it did not judge 1 of the labelled items",)


def test_matcher_and_judge_are_set_side_by_side():
    """Their disagreement is over all items that both judged, whatever people say, and who finds more is told."""
    made = labels(*good(missed=5, taken=2))
    said = {item.key: True for item in made.items[:70]}
    found = between(made, matcher_of(made), Rater(JUDGE, said))
    assert (found.both, found.first_only, found.second_only, found.neither) == (57, 0, 13, 0)
    lines = list(between_lines("phrase matcher", "judge local", found))
    assert lines[0] == "phrase matcher and judge local disagree on 13 of 70 items (19 %):"
    assert lines[1] == "  0 that only the first of them finds, 13 that only the second finds"


def test_figures_are_printed_with_intervals_and_reasons():
    """Lines for a terminal have every figure, its interval, and why the rater is not calibrated."""
    text = "\n".join(rater_lines(matcher_on(good(missed=10, taken=1))))
    assert text.startswith("phrase matcher: UNCALIBRATED\n  against people        120 items of 60 scenarios")
    assert "  recall on passes      50/60  0.83 [0.72, " in text
    assert "  recall on fails       59/60  0.98 [" in text
    assert "  severe false accepts  1\n  other false accepts   0, where annotators differed" in text
    assert "Cohen's kappa         0.8" in text
    assert "Gwet's AC1            0.8" in text
    assert "  not calibrated: severe false accepts: 1, and none is allowed" in text
    assert "\n".join(rater_lines(matcher_on(good()))).startswith("phrase matcher: calibrated\n")
    told = "\n".join(people_lines(people(labels(*good(), ("yn:y", True)))))
    assert "people: 121 items, 2 annotators" in told
    assert "disagreements         1, 1 of them adjudicated" in told


def written(path: Path, *raters: Rater, rows: Any = None) -> Path:
    made = labels(*(rows or good()))
    found = [calibrate(made, rater) for rater in raters or [matcher_of(made)]]
    path.write_text(calibration_text("l", people(made), found), encoding="utf-8")
    return path


def test_a_calibration_file_gives_back_what_was_found(tmp_path: Path):
    """Loading by the rater's fingerprint returns the same figures, calibrated; writing again gives the same bytes."""
    path = written(tmp_path / "c.json")
    found = load(path, MATCHER)
    assert found == matcher_on(good())
    assert written(tmp_path / "d.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scorer": "5"}, 'scorer of the phrase matcher was "4" when people checked it, and is "5" now'),
        ({"suites": {"desk": "abd"}}, 'suites.desk of the phrase matcher was "abc"'),
        ({"suites": {"other": "abc"}}, "suites.other of the phrase matcher was null"),
    ],
)
def test_any_change_of_the_matcher_returns_it_to_uncalibrated(tmp_path: Path, change: Any, told: str):
    """Another scorer, a changed phrase or another suite was not what people checked, and the reason says so."""
    found = load(written(tmp_path / "c.json"), {**MATCHER, **change})
    assert isinstance(found, Uncalibrated)
    assert any(reason.startswith(told) for reason in found.reasons), found.reasons
    assert all("supportbench labels export" in reason for reason in found.reasons)


@settings(max_examples=25, deadline=None)
@given(field=st.sampled_from(sorted(JUDGE.keys() - {"rater"})), value=st.text(max_size=5))
def test_any_change_of_the_judge_returns_it_to_uncalibrated(
    tmp_path_factory: pytest.TempPathFactory, field: str, value: str
):
    """Model, digest, prompt and options are all of the fingerprint: a change of any of them is told by its name."""
    path = tmp_path_factory.getbasetemp() / "judge.json"
    if not path.exists():
        written(path, Rater(JUDGE, {item.key: item.matcher for item in labels(*good()).items}))
    now = {**JUDGE, field: value}
    found = load(path, now)
    if now == JUDGE:
        assert isinstance(found, Calibration)
    else:
        assert isinstance(found, Uncalibrated)
        assert any(reason.startswith(field) for reason in found.reasons)


def test_a_rater_that_the_file_does_not_know_is_uncalibrated(tmp_path: Path):
    """A calibration of the matcher says nothing of a judge."""
    found = load(written(tmp_path / "c.json"), JUDGE)
    assert isinstance(found, Uncalibrated)
    assert "has no calibration of the judge local" in found.reasons[0]


def test_an_uncalibrated_rater_stays_so_with_its_reasons(tmp_path: Path):
    """The file of a rater that people did not bear out gives the reasons, not the rater."""
    path = written(tmp_path / "c.json", rows=good(taken=1))
    assert load(path, MATCHER) == Uncalibrated(("severe false accepts: 1, and none is allowed",))


def test_a_calibration_cannot_be_written_by_hand(tmp_path: Path):
    """Whether a rater is calibrated follows from the figures; a flag that says otherwise is refused."""
    path = written(tmp_path / "c.json", rows=good(taken=1))
    path.write_text(path.read_text("utf-8").replace('"calibrated": false', '"calibrated": true'), "utf-8")
    with pytest.raises(
        UsageError, match="'calibrated' of the phrase matcher does not follow from its figures"
    ):
        load(path, MATCHER)


def test_figures_that_are_no_numbers_calibrate_nothing(tmp_path: Path):
    """A bound that is not a number does not reach 0.80."""
    path = written(tmp_path / "c.json")
    data = json.loads(path.read_text("utf-8"))
    data["raters"][0]["figures"]["recall_on_passes"]["low"] = math.nan
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(UsageError):
        load(path, MATCHER)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"supportbench_calibration": 2}', "\0", "[" * 100_000])
def test_what_is_no_calibration_is_refused(tmp_path: Path, text: str):
    """Other files are wrong usage, told with the name and a remedy; so is one that is not there."""
    path = tmp_path / "c.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"c\.json: .*supportbench calibrate"):
        load(path, MATCHER)
    with pytest.raises(UsageError, match=r"gone\.json: cannot be read as a calibration"):
        load(tmp_path / "gone.json", MATCHER)


def test_a_calibration_beyond_its_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The file is read up to a size that no honest one has."""
    path = written(tmp_path / "c.json")
    monkeypatch.setattr("pytest_supportbench.calibration_file.MAX_BYTES", 100)
    with pytest.raises(UsageError, match="has more than 100 bytes"):
        load(path, MATCHER)


def test_the_matcher_is_its_scorer_and_its_suites(tmp_path: Path):
    """The fingerprint of a run's matcher changes with the scorer and with any phrase of its suite."""
    folder = desk(tmp_path)
    before = json.loads(
        stored(folder, tmp_path / "a.jsonl", [(1, "a", OPEN)]).read_text("utf-8").splitlines()[0]
    )
    path = folder / "case001.scenario.yaml"
    path.write_text(path.read_text("utf-8").replace('"nine"', '"nine", "nine sharp"'), "utf-8")
    after = json.loads(
        stored(folder, tmp_path / "b.jsonl", [(1, "a", OPEN)]).read_text("utf-8").splitlines()[0]
    )
    assert matcher_fingerprint(before) != matcher_fingerprint(after)
    assert matcher_fingerprint(before) == matcher_fingerprint({**before, "run": "r2", "git_commit": "x"})
    assert matcher_fingerprint(before) != matcher_fingerprint({**before, "scorer": "0"})


def test_the_commands_lead_from_results_to_a_calibration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Export, import, judge and calibrate print every rater and the disagreement of matcher and judge, and write it."""
    monkeypatch.chdir(tmp_path)
    folder = desk(tmp_path, range(1, 61))
    stored(
        folder,
        Path("run.jsonl"),
        [(n, agent, text) for n in range(1, 61) for agent, text in (("a", OPEN), ("b", SHUT))],
    )
    Path("mine.py").write_text(
        "def judge(q):\n"
        "    said = q.told[-1].message\n"
        "    return {'answer': 'yes' if 'five' in said else 'no', 'evidence': 'nine to five'}\n",
        "utf-8",
    )
    assert main(["judge", "run.jsonl", "--judge", "python:mine:judge"]) == 0
    assert "phrase matcher and judge disagree on 0 of 120 items" in capsys.readouterr().out
    assert main(["labels", "export", "run.jsonl"]) == 0
    for number in (1, 2):  # synthetic answers: yes where the message names an hour
        sheet = Path(f"labels-{number}.csv")
        header, *body = csv.reader(io.StringIO(sheet.read_text("utf-8-sig"), newline=""))
        body = [[*row[:5], "yes" if "nine" in row[3] else "no", ""] for row in body]
        with sheet.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *body])
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    capsys.readouterr()
    assert main(["calibrate", "labels.json"]) == 0
    told = capsys.readouterr().out
    assert "phrase matcher: calibrated" in told
    assert "how far they disagree is unknown, since no judge was named" in told
    assert main(["calibrate", "labels.json", "--rater", "matcher", "--rater", "judgements.jsonl"]) == 0
    told = capsys.readouterr().out
    assert "judge python-mine-judge: calibrated" in told
    assert "phrase matcher and judge python-mine-judge disagree on 0 of 120 items" in told
    run = json.loads(Path("run.jsonl").read_text("utf-8").splitlines()[0])
    assert isinstance(load(Path("calibration.json"), matcher_fingerprint(run)), Calibration)


def test_labels_without_answers_calibrate_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The key of an export has no answers yet, and the message says what comes before."""
    monkeypatch.chdir(tmp_path)
    stored(desk(tmp_path), Path("run.jsonl"), [(1, "a", OPEN)])
    assert main(["labels", "export", "run.jsonl"]) == 0
    assert main(["calibrate", "labels.key.json"]) == 4
    assert "have no answers yet; fill in the sheets" in capsys.readouterr().err
