"""Blind sheets: what annotators get, what comes back with all its mistakes, and who decides where they disagree.

Every answer here is synthetic: no person has labelled anything.
"""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored_runs import OPEN, SHUT, desk, stored

from pytest_supportbench.cli import main
from pytest_supportbench.errors import FileError, UsageError
from pytest_supportbench.label_sheets import COLUMNS
from pytest_supportbench.labels import Labels, read_labels
from pytest_supportbench.questions import question_of, questions
from pytest_supportbench.results import score_json
from pytest_supportbench.spreadsheet import read_sheet, sheet_text

ASK = {"action": "ask_for_information", "message": "Which door?", "asks_for": ["other"]}
SAY = {"action": "answer", "message": OPEN}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with four scenarios and a run of two agents on them."""
    folder = desk(tmp_path, range(1, 5))
    said = [(number, "secret-agent", OPEN) for number in range(1, 5)]
    stored(folder, tmp_path / "run.jsonl", [*said, (1, "other-agent", SHUT), (2, "other-agent", OPEN)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def fill(path: Path, answers: dict[str, str] | str, delimiter: str = ",") -> None:
    """Fill in a sheet as a spreadsheet program saves it: synthetic answers, by item or the same for all."""
    header, *body = rows(path)
    place = header.index("answer")
    for row in body:
        row[place] = answers if isinstance(answers, str) else answers[row[0]]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *body])


def items(place: Path) -> list[dict[str, Any]]:
    return json.loads((place / "labels.key.json").read_text("utf-8"))["items"]


def filled(place: Path, first: Any = "yes", second: Any = "yes") -> Path:
    """Export, fill in both sheets and return the folder."""
    assert main(["labels", "export", "run.jsonl"]) == 0
    fill(place / "labels-1.csv", first)
    fill(place / "labels-2.csv", second)
    return place


def test_sheets_are_blind(place: Path):
    """Sheets and item ids tell nothing of agents, verdicts, scenarios, phrases, concepts' findings or the gold."""
    assert main(["labels", "export", "run.jsonl"]) == 0
    for number in (1, 2):
        text = (place / f"labels-{number}.csv").read_text("utf-8-sig")
        header, *body = rows(place / f"labels-{number}.csv")
        assert tuple(header) == COLUMNS
        for word in (
            "secret-agent",
            "other-agent",
            "passed",
            "failed",
            "TB-00",
            "matcher",
            "decline",
            "says-nothing",
        ):
            assert word not in text
        assert {row[4] for row in body} == {"Do the agent's messages convey this to the customer: “hours”?"}
        assert {tuple(row[5:]) for row in body} == {("", "")}
        assert {row[1] for row in body} == {str(number)}
        assert {row[3] for row in body} == {f"[agent] {OPEN}", f"[agent] {SHUT}"}
        assert all(row[2].startswith("[customer] When are you open? case ") for row in body)


def test_equal_texts_of_one_scenario_are_asked_about_once(place: Path):
    """What two agents or trials said letter by letter is one item; another scenario is another item."""
    found = questions([Path("run.jsonl")], [place / "scenarios"])
    assert sorted((item.scenario, item.matcher) for item in found.items) == [
        ("TB-001", False),
        ("TB-001", True),
        ("TB-002", True),
        ("TB-003", True),
        ("TB-004", True),
    ]
    assert found.episodes == 6


def test_each_annotator_has_an_order_of_their_own_that_the_seed_decides(place: Path):
    """Both sheets hold the same items, shuffled apart; the same seed gives the same bytes, another one does not."""
    outs = {}
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        assert main(["labels", "export", "run.jsonl", "--out", f"{name}.csv", "--seed", seed]) == 0
        outs[name] = [(place / f"{name}-{number}.csv").read_bytes() for number in (1, 2)]
    assert outs["a"] == outs["b"]
    assert outs["a"] != outs["c"]
    ids = {name: [row[0] for row in rows(place / f"{name}-1.csv")[1:]] for name in "ac"}
    assert set(ids["a"]).isdisjoint(ids["c"])
    first, second = ([row[0] for row in rows(place / f"a-{number}.csv")[1:]] for number in (1, 2))
    assert sorted(first) == sorted(second)
    assert first != second


def test_a_limit_draws_that_many(place: Path):
    """``--limit`` draws so many items by the seed, the same for all annotators."""
    assert main(["labels", "export", "run.jsonl", "--limit", "2", "--annotators", "3"]) == 0
    drawn = [{row[0] for row in rows(place / f"labels-{number}.csv")[1:]} for number in (1, 2, 3)]
    assert len(drawn[0]) == 2
    assert drawn[0] == drawn[1] == drawn[2]


def test_a_whole_conversation_is_shown_with_who_wrote_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where the agent asked, annotators see the question, the customer's answer and the end, never a draft."""
    monkeypatch.chdir(tmp_path)
    draft = {"message": "A draft.", "tool_calls": [{"tool": "add_note", "arguments": {"text": "x"}}]}
    stored(desk(tmp_path), Path("run.jsonl"), [(1, "a", [draft, ASK, SAY])])
    assert main(["labels", "export", "run.jsonl"]) == 0
    (row,) = rows(tmp_path / "labels-1.csv")[1:]
    first, answer, last = row[3].split("\n\n")
    assert first == "[agent] Which door?"
    assert answer.startswith("[customer] ")
    assert last == f"[agent] {OPEN}"
    assert "draft" not in row[3]


def test_episodes_that_told_the_customer_nothing_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """An empty message is no explanation to judge: it is left out and counted."""
    monkeypatch.chdir(tmp_path)
    stored(desk(tmp_path, (1, 2)), Path("run.jsonl"), [(1, "a", OPEN), (2, "a", "")])
    assert main(["labels", "export", "run.jsonl"]) == 0
    assert "left out: 1 of 2 episodes told the customer nothing" in capsys.readouterr().out
    assert len(items(tmp_path)) == 1


def test_errors_own_and_unreported_episodes_are_no_items(place: Path):
    """Infrastructure errors, episodes of the user's own tests and those that no item reported are not asked about."""
    head, *lines = (json.loads(line) for line in Path("run.jsonl").read_text("utf-8").splitlines())
    broken = {"cause": "time_out", "message": "it hung", "remedy": ""}
    lines[0] |= {**score_json(None), "verdict": "error", "error": broken}
    lines[1] |= {"own": True}
    Path("run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in (head, *lines)), "utf-8")
    found = questions([Path("run.jsonl")], [place / "scenarios"])
    assert sorted(item.scenario for item in found.items) == ["TB-001", "TB-002", "TB-003", "TB-004"]
    assert found.episodes == 4


def test_a_formula_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A message that a spreadsheet would run does not begin its cell, and comes back unharmed."""
    monkeypatch.chdir(tmp_path)
    said = '=HYPERLINK("http://127.0.0.1/","nine")'
    stored(desk(tmp_path), Path("run.jsonl"), [(1, "a", said)])
    assert main(["labels", "export", "run.jsonl"]) == 0
    assert rows(tmp_path / "labels-1.csv")[1][3] == f"[agent] {said}"
    for number in (1, 2):
        fill(tmp_path / f"labels-{number}.csv", "yes")
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    assert read_labels(Path("labels.json")).items[0].agent == f"[agent] {said}"


NASTY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20).flatmap(
    lambda rest: st.sampled_from(["", "=", " @", "'", "\t-", "\r", "\n", '"', ",", ";", "＝"]).map(
        lambda start: start + rest
    )
)


@given(body=st.lists(st.tuples(NASTY, NASTY), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text_survives_a_sheet(body: list[tuple[str, str]], tmp_path: Path):
    """Whatever stands in a cell, no cell begins a formula, and reading gives the texts back."""
    path = tmp_path / "s.csv"
    path.write_text(sheet_text(("id", "a", "b"), [("q", *row) for row in body]), encoding="utf-8", newline="")
    for row in rows(path)[1:]:
        assert not any(cell.strip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")) for cell in row)
    found = [(row.cells["a"], row.cells["b"]) for row in read_sheet(path, ("id", "a", "b"), "mend it")]
    assert found == body


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_spreadsheet_programs_save_is_read(place: Path, delimiter: str):
    """Other delimiters, CRLF, no byte order mark, capital letters, blanks, moved and added columns do no harm."""
    filled(place)
    header, *body = rows(place / "labels-1.csv")
    moved = [[*row[::-1], "mine"] for row in ([*header], *body)]
    moved[0][-1] = "my column"
    for row in moved[1:]:
        row[moved[0].index("answer")] = " YES "
    with (place / "labels-1.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\r\n").writerows([*moved, [""] * len(moved[0])])
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    assert {item.answers for item in read_labels(Path("labels.json")).items} == {("yes", "yes")}


def test_every_mistake_of_every_row_is_told_at_once(place: Path, capsys: pytest.CaptureFixture[str]):
    """Unknown, doubled and missing items and wrong answers are told with line and field, and nothing is written."""
    filled(place)
    header, *body = rows(place / "labels-1.csv")
    body[0][0] = "q000"
    body[1][5] = "maybe"
    body[2][5] = ""
    body.append(body[3])
    with (place / "labels-1.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *body])
    fill(place / "labels-2.csv", "ja")
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert len([line for line in told if line.startswith("labels-2.csv:")]) == 5
    for line in (
        "labels-1.csv:2:1: item: 'q000' is no item of this export",
        "labels-1.csv:3:6: answer: is 'maybe'; write yes, no or unsure",
        "labels-1.csv:4:6: answer: is empty; write yes, no or unsure",
        f"labels-1.csv:7:1: item: {body[3][0]!r} stands in line 5 too",
    ):
        assert any(found.startswith(line) for found in told), line
    assert any("is missing" in line for line in told)
    assert not Path("labels.json").exists()


def test_lines_count_those_within_cells(place: Path, capsys: pytest.CaptureFixture[str]):
    """The line of a mistake is that on which its row begins, also behind cells with line breaks."""
    filled(place)
    header, *body = rows(place / "labels-1.csv")
    body[0][6], body[1][5:] = "two\nlines", ["?", "two\nlines"]
    with (place / "labels-1.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *body])
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 1
    assert "labels-1.csv:4:6: answer: is '?'" in capsys.readouterr().err


def test_a_column_that_was_sorted_alone_is_noticed(place: Path, capsys: pytest.CaptureFixture[str]):
    """Answers beside another item's texts would be labels of something else."""
    filled(place)
    header, *body = rows(place / "labels-1.csv")
    ids = [row[0] for row in body]
    for row, name in zip(body, ids[1:] + ids[:1], strict=True):
        row[0] = name
    with (place / "labels-1.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *body])
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 1
    assert "agent: is not what" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t.replace('"2"', '"1"'), "annotator: 1 has another sheet already; name each sheet once"),
        (lambda t: t.replace('"2"', '"7"'), "annotator: is '7'; each sheet has one of 1 to 2"),
        (lambda t: t.replace('"2"', '"1"', 1), "annotator: is '2' beside another one"),
        (lambda t: t.replace('"answer"', '"anwser"'), "the column 'answer' must be there exactly once"),
        (lambda t: t + '"x"\n', "has 1 cells, not 7"),
        (lambda t: t[:-2], "is no CSV"),
        (
            lambda t: t.replace('"comment"', '"comment","answer"'),
            "the column 'answer' must be there exactly once",
        ),
        (lambda t: "", "the column 'item' must be there exactly once"),
    ],
    ids=["twice", "nobody", "mixed", "misspelt", "short", "quote", "doubled", "empty"],
)
def test_a_sheet_that_is_none_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str], change: Any, told: str
):
    """A sheet of nobody, of two people, without a column or broken is refused with its line."""
    filled(place)
    path = place / "labels-2.csv"
    text = sheet_text(rows(path)[0], rows(path)[1:])
    path.write_text(change(text), encoding="utf-8", newline="")
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 1
    assert f"labels-2.csv:{1 if 'column' in told else ''}" in (error := capsys.readouterr().err)
    assert told in error


def test_other_encodings_are_refused_with_a_remedy(place: Path, capsys: pytest.CaptureFixture[str]):
    """A sheet in the local code page is refused: guessing would change people's words."""
    filled(place)
    path = place / "labels-2.csv"
    path.write_bytes(path.read_text("utf-8").replace("“", "\x93").encode("latin-1", "replace"))
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 1
    assert "save it as CSV in the encoding UTF-8" in capsys.readouterr().err


def test_all_annotators_must_be_there(place: Path, capsys: pytest.CaptureFixture[str]):
    """Labels of one annotator alone are none."""
    filled(place)
    assert main(["labels", "import", "labels-2.csv"]) == 4
    assert "the sheet of annotator 1 is missing: 2 were exported" in capsys.readouterr().err


def test_the_key_is_found_by_name_or_named(place: Path, capsys: pytest.CaptureFixture[str]):
    """A renamed sheet needs ``--key``, and the message says so."""
    filled(place)
    (place / "labels-1.csv").rename("ann.csv")
    assert main(["labels", "import", "ann.csv", "labels-2.csv"]) == 4
    assert "there is no key ann.key.json" in capsys.readouterr().err
    assert main(["labels", "import", "ann.csv", "labels-2.csv", "--key", "labels.key.json"]) == 0


def test_nothing_that_people_may_have_written_is_overwritten(place: Path, capsys: pytest.CaptureFixture[str]):
    """Exporting or importing onto files that exist is refused before anything is written."""
    filled(place)
    before = {path.name: path.read_bytes() for path in place.glob("labels*")}
    assert main(["labels", "export", "run.jsonl", "--annotators", "3"]) == 4
    assert "people's answers may be in it" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in place.glob("labels*")} == before
    (place / "labels-1.csv").rename("kept.csv")
    assert main(["labels", "export", "run.jsonl"]) == 4
    assert not Path("labels-1.csv").exists()
    Path("kept.csv").rename("labels-1.csv")
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 4


def test_disagreements_are_decided_by_somebody(place: Path, capsys: pytest.CaptureFixture[str]):
    """Items on which annotators differ or are unsure go to a sheet with what each said; its answers are the truth."""
    assert main(["labels", "export", "run.jsonl"]) == 0
    names = [item["item"] for item in items(place)]
    first = dict(zip(names, ["yes", "yes", "no", "unsure", "no"], strict=True))
    second = dict(zip(names, ["yes", "no", "no", "unsure", "unsure"], strict=True))
    fill(place / "labels-1.csv", first)
    fill(place / "labels-2.csv", second)
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    assert "3 items on which they disagree or are unsure" in capsys.readouterr().out
    decisions = place / "labels.disagreements.csv"
    header, *body = rows(decisions)
    assert {row[0]: row[header.index("answers")] for row in body} == {
        names[1]: "1: yes; 2: no",
        names[3]: "1: unsure; 2: unsure",
        names[4]: "1: no; 2: unsure",
    }
    assert main(["labels", "adjudicate", "labels.json", str(decisions)]) == 1
    assert capsys.readouterr().err.count("answer: is empty") == 3
    assert [item.is_open for item in read_labels(Path("labels.json")).items].count(True) == 3
    fill(decisions, {names[1]: "yes", names[3]: "unsure", names[4]: "no"})
    assert main(["labels", "adjudicate", "labels.json", str(decisions)]) == 0
    truth = {item.item: item.truth for item in read_labels(Path("labels.json")).items}
    assert [truth[name] for name in names] == [True, True, False, None, False]


def test_an_adjudication_of_other_items_is_refused(place: Path, capsys: pytest.CaptureFixture[str]):
    """Decisions on items that nobody disagreed on are mistakes, not silent changes of labels."""
    filled(place)
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    assert not Path("labels.disagreements.csv").exists()
    header = ["item", "customer", "agent", "question", "answers", "comments", "answer", "comment"]
    name = items(place)[0]["item"]
    Path("d.csv").write_text(sheet_text(header, [[name, "", "", "", "", "", "no", ""]]), "utf-8")
    assert main(["labels", "adjudicate", "labels.json", "d.csv"]) == 1
    assert f"{name!r} is no item" in capsys.readouterr().err


def test_labels_are_byte_stable(place: Path):
    """The order of rows and of sheets does not change a byte of the labels."""
    filled(place, second="no")
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv", "--out", "a.json"]) == 0
    header, *body = rows(place / "labels-1.csv")
    random.Random(3).shuffle(body)
    (place / "labels-1.csv").write_text(sheet_text(header, body), "utf-8")
    key = ["--key", "labels.key.json"]
    assert main(["labels", "import", "labels-2.csv", "labels-1.csv", "--out", "b.json", *key]) == 0
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


def test_runs_of_other_scorers_or_suites_do_not_mix(place: Path):
    """One export is about one matcher: runs of two scorers or two states of a suite are told apart."""
    stored(place / "scenarios", place / "old.jsonl", [(1, "a", OPEN)], scorer="0")
    with pytest.raises(UsageError, match=r"old.jsonl: scored with another scorer or suite than run.jsonl"):
        questions([Path("run.jsonl"), Path("old.jsonl")], [Path("scenarios")])


def test_a_changed_scenario_is_not_asked_about(place: Path, capsys: pytest.CaptureFixture[str]):
    """The customer's words must be those of the run: another state of the file is refused by its hash."""
    path = place / "scenarios" / "case001.scenario.yaml"
    path.write_text(path.read_text("utf-8").replace("When are you open?", "Are you open?"), "utf-8")
    assert main(["labels", "export", "run.jsonl"]) == 4
    told = capsys.readouterr().err
    assert "the scenario 'TB-001' of the suite 'desk' is not there as it was" in told
    assert "--scenarios" in told


def test_other_files_among_the_scenarios_do_not_matter(place: Path):
    """Only what ran is read as a scenario, known by its hash."""
    (place / "scenarios" / "a-draft.scenario.yaml").write_text("id: TB-001\n", "utf-8")
    (place / "scenarios" / "b-list.scenario.yaml").write_text("- 1\n", "utf-8")
    assert len(questions([Path("run.jsonl")], [place / "scenarios"]).items) == 5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is no results file"),
        ("{}\n", "is no results file"),
        ('{"type":"run"}\n', "its schema is None"),
        (
            '{"type":"run","schema":1,"suites":[],"scorer":"4"}\n{"type":"episode"}\n',
            "cannot be read as results: a line has no 'agent'",
        ),
        ('{"type":"run","schema":1,"suites":[],"scorer":"4"}\n', "there is nothing to label"),
    ],
)
def test_what_is_no_results_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, told: str
):
    """A file without a run line, of another shape or without anything to ask about is wrong usage, told by name."""
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_text(text, "utf-8")
    assert main(["labels", "export", "r.jsonl"]) == 4
    assert told in capsys.readouterr().err


def test_missing_files_are_told(place: Path, capsys: pytest.CaptureFixture[str]):
    """Results, scenarios, sheets and labels that are not there are named."""
    assert main(["labels", "export", "gone.jsonl"]) == 4
    assert main(["labels", "export", "run.jsonl", "--scenarios", "gone"]) == 4
    assert main(["labels", "adjudicate", "gone.json", "gone.csv"]) == 4
    told = capsys.readouterr().err
    assert "gone.jsonl: cannot be read (No such file or directory)" in told
    assert "gone: there is no such file or folder of scenarios" in told
    assert "gone.json: cannot be read as labels" in told


@pytest.mark.parametrize(
    "given", [["--annotators", "1"], ["--annotators", "10"], ["--limit", "0"], ["--limit", "x"]]
)
def test_wrong_numbers_are_usage_errors(place: Path, given: list[str]):
    """Agreement takes two annotators, and a draw takes at least one item."""
    with pytest.raises(SystemExit) as left:
        main(["labels", "export", "run.jsonl", *given])
    assert left.value.code == 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d.update(extra=1), "extra"),
        (lambda d: d["items"].append(d["items"][0]), "stands there twice"),
        (lambda d: d["items"][0].update(answers=["yes"]), "not every item has 2 answers"),
        (lambda d: d["items"][0].update(answers=["yes", "perhaps"]), "items.0.answers.1"),
        (lambda d: d.update(items=[]), "items"),
    ],
)
def test_a_labels_file_that_was_spoilt_is_refused(place: Path, change: Any, told: str):
    """Unknown fields, doubled items and missing answers are told by field, with a remedy."""
    filled(place)
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    data = json.loads(Path("labels.json").read_text("utf-8"))
    change(data)
    Path("labels.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(UsageError) as caught:
        read_labels(Path("labels.json"))
    assert told in str(caught.value)
    assert "labels.json: " in str(caught.value)


def test_texts_that_no_cell_holds_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A spreadsheet would cut a message of more than 32,767 characters without a word."""
    monkeypatch.chdir(tmp_path)
    said = [(1, "a", "nine " * 8_000), (1, "b", OPEN)]
    stored(desk(tmp_path), Path("run.jsonl"), said)
    assert main(["labels", "export", "run.jsonl"]) == 0
    assert [item["agent"] for item in items(tmp_path)] == [f"[agent] {OPEN}"]


def test_steering_characters_are_made_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What would steer a terminal or turn text around reaches annotators as visible marks."""
    monkeypatch.chdir(tmp_path)
    stored(desk(tmp_path), Path("run.jsonl"), [(1, "a", "nine\x1b[2J \u202eevif")])
    assert main(["labels", "export", "run.jsonl"]) == 0
    assert rows(tmp_path / "labels-1.csv")[1][3] == "[agent] nine\\u001b[2J \\u202eevif"


def test_a_question_is_the_concepts_name_in_words():
    """Neither phrases nor anything else of the scenario are in the question of a concept that has none written."""
    made = "Do the agent's messages convey this to the customer: “which charge”?"
    assert question_of("which-charge") == made
    assert question_of("which-charge", {"who": "Does the agent say who?"}) == made
    assert question_of("which-charge", {"which-charge": "Is it the later one?"}) == "Is it the later one?"


HOURS = "Does the agent tell the customer when the desk is open?"
WRITTEN = f'[{{concept: hours, question: "{HOURS}", any_of: [nine]}}, {{concept: days, any_of: [monday]}}]'


def asked(place: Path) -> dict[str, str]:
    """Return the questions of a run of one agent by concept."""
    found = questions([place / "run.jsonl"], [place / "scenarios"])
    return {item.concept: item.asked.question for item in found.items}


def test_the_question_that_a_concept_has_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Annotators and judges get the scenario's own words; a concept without a question is asked for by its name."""
    monkeypatch.chdir(tmp_path)
    stored(desk(tmp_path, concepts=WRITTEN), Path("run.jsonl"), [(1, "a", OPEN)])
    assert asked(tmp_path) == {"hours": HOURS, "days": question_of("days")}
    assert main(["labels", "export", "run.jsonl"]) == 0
    assert {row[4] for row in rows(tmp_path / "labels-1.csv")[1:]} == {HOURS, question_of("days")}


def test_questions_of_all_alternatives_are_known(tmp_path: Path):
    """The alternative that a run was scored by may be any of them."""
    folder = desk(tmp_path)
    path = folder / "case001.scenario.yaml"
    text = path.read_text("utf-8").replace('[{concept: hours, any_of: ["nine"]}]', WRITTEN)
    start, end = text.index("expected:\n"), text.index("reference:")
    one = text[start:end].removeprefix("expected:\n").replace("\n  ", "\n    ").strip()
    other = one.replace(WRITTEN, "[]").replace("[answer]", "[decline]")
    path.write_text(f"{text[:start]}expected:\n  - {other}\n  - {one}\n{text[end:]}", "utf-8")
    stored(folder, tmp_path / "run.jsonl", [(1, "a", OPEN)])
    assert asked(tmp_path) == {"hours": HOURS, "days": question_of("days")}


def test_another_question_is_another_item(tmp_path: Path):
    """Old answers to a question that was reworded count for nothing."""
    keys = []
    for name, words in (("a", WRITTEN), ("b", WRITTEN.replace("when the desk", "at what time the desk"))):
        folder = desk(tmp_path / name, concepts=words)
        stored(folder, tmp_path / name / "run.jsonl", [(1, "a", OPEN)])
        found = questions([tmp_path / name / "run.jsonl"], [folder])
        keys.append({item.key for item in found.items if item.concept == "hours"})
    assert keys[0].isdisjoint(keys[1])


def test_a_key_is_labels_without_answers(place: Path):
    """The key of an export reads as labels that nobody has answered yet."""
    filled(place)
    key = read_labels(Path("labels.key.json"))
    assert isinstance(key, Labels)
    assert not key.answered
    with pytest.raises(FileError):
        read_sheet(Path("absent.csv"), COLUMNS, "mend it")


def test_only_so_many_mistakes_are_told_as_anybody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A sheet that is all wrong gives 50 lines and the number of the others."""
    monkeypatch.chdir(tmp_path)
    stored(desk(tmp_path), Path("run.jsonl"), [(1, "a", f"nine {number}") for number in range(60)])
    assert main(["labels", "export", "run.jsonl"]) == 0
    fill(tmp_path / "labels-2.csv", "yes")
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 51
    assert told[-1] == "labels-1.csv:1:1: 10 more mistakes; mend these first"


def test_comments_are_kept_and_bounded(place: Path, capsys: pytest.CaptureFixture[str]):
    """What annotators remark reaches the labels; an essay is refused with its length."""
    filled(place)
    header, *body = rows(place / "labels-1.csv")
    body[0][6] = "=not quite"
    (place / "labels-1.csv").write_text(sheet_text(header, body), "utf-8")
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    assert "=not quite" in {item.comments[0] for item in read_labels(Path("labels.json")).items}
    body[0][6] = "x" * 2_001
    (place / "labels-1.csv").write_text(sheet_text(header, body), "utf-8")
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv", "--out", "b.json"]) == 1
    assert "labels-1.csv:2:7: comment: has 2,001 characters; keep it under 2,000" in capsys.readouterr().err


def test_files_beyond_their_bounds_are_refused(place: Path, monkeypatch: pytest.MonkeyPatch):
    """Sheets and labels are read up to a size that no honest one has."""
    filled(place)
    monkeypatch.setattr("pytest_supportbench.spreadsheet.MAX_BYTES", 100)
    monkeypatch.setattr("pytest_supportbench.labels.MAX_BYTES", 100)
    with pytest.raises(FileError, match="has more than 100 bytes"):
        read_sheet(Path("labels-1.csv"), COLUMNS, "mend it")
    with pytest.raises(UsageError, match="has more than 100 bytes"):
        read_labels(Path("labels.key.json"))


def test_what_cannot_be_written_is_told(place: Path, capsys: pytest.CaptureFixture[str]):
    """A path below a file, or a folder in the place of the file, is wrong usage."""
    assert main(["labels", "export", "run.jsonl", "--out", "run.jsonl/labels.csv"]) == 4
    assert "cannot be written (File exists); name another --out" in capsys.readouterr().err
    filled(place)
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == 0
    Path("taken").mkdir()
    assert main(["calibrate", "labels.json", "--out", "taken"]) == 4
    assert "taken cannot be written" in capsys.readouterr().err
    assert [path.name for path in place.glob(".*.tmp")] == []
