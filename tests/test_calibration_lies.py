"""What was tried to make a rater look calibrated: sheets, judgements and calibration files that lie are told apart.

Every answer here is synthetic: no person has labelled anything.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_runs import OPEN, SHUT, desk, stored
from test_calibration import MATCHER, good, labels, matcher_on

from pytest_supportbench.annotators import people
from pytest_supportbench.calibration import calibrate, matcher_of
from pytest_supportbench.calibration_file import calibration_text, load
from pytest_supportbench.cli import main
from pytest_supportbench.errors import UsageError
from pytest_supportbench.judge import stands_in
from pytest_supportbench.labels import read_labels
from pytest_supportbench.protocol import Message
from pytest_supportbench.questions import Question, questions
from pytest_supportbench.shown_words import agent_messages, conversation

HONEST = """
def judge(q):
    said = q.told[-1].message
    return {'answer': 'yes' if 'five' in said else 'no', 'evidence': 'nine to five' if 'five' in said else ''}
"""
DENYING = "def judge(q):\n    return {'answer': 'no'}\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty scenarios, each with a good and a bad message, exported for two annotators."""
    root = tmp_path_factory.mktemp("study")
    folder = desk(root, range(1, 61))
    said = [(number, agent, text) for number in range(1, 61) for agent, text in (("a", OPEN), ("b", SHUT))]
    stored(folder, root / "run.jsonl", said)
    run = [str(root / "run.jsonl"), "--scenarios", str(folder)]
    assert main(["labels", "export", *run, "--out", str(root / "labels.csv")]) == 0
    return root


@pytest.fixture
def study(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it in the working directory, with both sheets filled in as the messages are."""
    place = shutil.copytree(made, tmp_path / "s")
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(place)
    for number in (1, 2):
        header, body = read(f"labels-{number}.csv")
        for row in body:
            row[header.index("answer")] = "yes" if OPEN in row[3] else "no"
        write(f"labels-{number}.csv", header, body)
    return place


def read(name: str) -> tuple[list[str], list[list[str]]]:
    header, *body = csv.reader(io.StringIO(Path(name).read_text("utf-8-sig"), newline=""))
    return header, body


def write(name: str, header: list[str], body: list[list[str]], first: str = "", delimiter: str = ",") -> None:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows([header, *body])
    Path(name).write_text(first + out.getvalue(), encoding="utf-8", newline="")


def bring(capsys: pytest.CaptureFixture[str], expected: int = 1) -> str:
    """Import both sheets and return what was told."""
    capsys.readouterr()
    assert main(["labels", "import", "labels-1.csv", "labels-2.csv"]) == expected
    return capsys.readouterr().err


def judged(code: str, out: str, name: str) -> None:
    Path(f"{name}.py").write_text(code, "utf-8")
    assert main(["judge", "run.jsonl", "--judge", f"python:{name}:judge", "--out", out]) == 0


def edit_lines(name: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the answers of a file of judgements."""
    head, *rest = Path(name).read_text("utf-8").splitlines()
    lines = [json.loads(line) for line in rest]
    for line in lines:
        change(line)
    Path(name).write_text("".join(f"{line}\n" for line in (head, *map(json.dumps, lines))), "utf-8")


# People


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [("yy", True)] * 60 + [("ny:n", False)] * 60,
            "annotators 1 and 2 agree too little: Cohen's kappa is 0.00, and must reach 0.60",
        ),
        (
            [("yn:y", True)] * 60 + [("ny:n", False)] * 60,
            "annotators 1 and 2 agree too little: Cohen's kappa is -1.00, and must reach 0.60",
        ),
        (
            [("yy", True)] * 49 + [("nn", False)] * 49 + [("yn:y", True)] * 13 + [("ny:n", False)] * 13,
            "annotators 1 and 2 agree too little: Cohen's kappa is 0.58, and must reach 0.60",
        ),
        (
            [*good(), *[("yu:y", True)] * 31],
            "annotators 1 and 2 were both sure of 120 of 151 items, and must be of at least 80 %",
        ),
        (
            [("yu:y", True)] * 60 + [("un:n", False)] * 60,
            "annotators 1 and 2: their agreement beyond chance is unknown",
        ),
    ],
    ids=["yes-to-all", "opposite", "just-below", "hidden-behind-unsure", "nothing-in-common"],
)
def test_people_who_do_not_agree_calibrate_nobody(rows: Any, told: str):
    """One adjudicator is not the people: before anybody decides, the annotators must agree among themselves."""
    found = matcher_on(rows)
    assert not found.calibrated
    assert any(reason.startswith(told) for reason in found.reasons), found.reasons


def test_people_who_agree_enough_are_heard():
    """At 0.60 and above, and sure of 80 %, nothing is held against a good rater."""
    rows = [("yy", True)] * 50 + [("nn", False)] * 50 + [("yn:y", True)] * 10 + [("ny:n", False)] * 10
    assert matcher_on(rows).reasons == ()
    assert matcher_on([*good(), *[("yu:y", True)] * 15, *[("nu:n", False)] * 15]).reasons == ()


def test_each_two_annotators_must_agree():
    """A third one who answers at random is named with each of the others."""
    rows = [(said + "yn"[number % 2], found) for number, (said, found) in enumerate(good())]
    decided = [(f"{said}:{said[0]}", found) for said, found in rows]
    reasons = matcher_on(decided, annotators=3).reasons
    assert [reason[:20] for reason in reasons] == ["annotators 1 and 3 a", "annotators 2 and 3 a"]


@pytest.mark.parametrize(
    ("said", "severe"),
    [
        ("nn", 1),
        ("nu:n", 1),
        ("un:u", 1),
        ("uu:n", 1),
        ("nu", 1),
        ("yn:n", 0),
        ("uu:u", 0),
        ("nu:y", 0),
        ("yy", 0),
    ],
)
def test_one_unsure_hides_no_severe_false_accept(said: str, severe: int):
    """It is severe where somebody said no and nobody, the deciding person included, said yes."""
    found = matcher_on([*good(), (said, True)])
    assert found.figures.severe == severe
    assert any(reason.startswith("severe false accepts: 1") for reason in found.reasons) is bool(severe)


def test_hard_items_cannot_be_dropped_without_limit():
    """A tenth of the items may stay unsure; beyond that, what is left is not what people were asked."""
    assert matcher_on([*good(), *[("yn:u", True)] * 13]).calibrated
    (reason,) = matcher_on([*good(), *[("uu:u", True)] * 14]).reasons
    assert reason == "14 of 134 items stay undecided or unsure, and at most 10 % may"


# Sheets


@pytest.mark.parametrize("whose", [1, 2])
def test_one_persons_sheet_is_not_twos(study: Path, capsys: pytest.CaptureFixture[str], whose: int):
    """A copy with another number in ``annotator`` has the order of the sheet that it was copied from."""
    header, body = read(f"labels-{whose}.csv")
    copy = str(3 - whose)
    write(f"labels-{copy}.csv", header, [[row[0], copy, *row[2:]] for row in body])
    told = bring(capsys)
    assert f"labels-{copy}.csv:2:1: item: the rows stand in the order of annotator {whose}'s sheet" in told
    assert not Path("labels.json").exists()


def test_two_sheets_in_one_order_are_one_sheet(study: Path, capsys: pytest.CaptureFixture[str]):
    """Each sheet was shuffled its own way; a common order of no column tells of a copy, whoever moved the rows."""
    header, body = read("labels-1.csv")
    body = [*body[50:], *body[:50]]
    write("labels-1.csv", header, body)
    write("labels-2.csv", header, [[row[0], "2", *row[2:]] for row in body])
    assert "labels-2.csv:2:1: item: the rows stand in the same order as those of labels-1.csv" in bring(
        capsys
    )


def test_sorted_sheets_are_no_copies(study: Path, capsys: pytest.CaptureFixture[str]):
    """Whoever sorts by the column ``item``, up or down, or by another one, is believed."""
    for number, down in ((1, False), (2, False)):
        header, body = read(f"labels-{number}.csv")
        write(f"labels-{number}.csv", header, sorted(body, reverse=down))
    bring(capsys, 0)
    for number in (1, 2):
        header, body = read(f"labels-{number}.csv")
        write(f"labels-{number}.csv", header, sorted(body, key=lambda row: row[3]))
    Path("labels.json").unlink()
    header, body = read("labels-2.csv")
    write("labels-2.csv", header, body[::-1])
    bring(capsys, 0)


@pytest.mark.parametrize("column", ["customer", "agent", "question"])
def test_all_texts_are_checked(study: Path, capsys: pytest.CaptureFixture[str], column: str):
    """A column that stands beside other items' texts is told with its cell."""
    header, body = read("labels-1.csv")
    place = header.index(column)
    cells = [row[place] for row in body]
    if column == "question":
        cells = ["Is it so?", *cells[1:]]
    for row, cell in zip(body, cells if column == "question" else cells[7:] + cells[:7], strict=True):
        row[place] = cell
    write("labels-1.csv", header, body)
    told = bring(capsys)
    assert f":{place + 1}: {column}: is not what" in told
    why = "was one column sorted without the rest?" if column != "question" else "a spreadsheet program"
    assert why in told


@pytest.mark.parametrize("column", ["customer", "agent", "question", "answers", "comments"])
def test_all_texts_of_an_adjudication_are_checked(
    study: Path, capsys: pytest.CaptureFixture[str], column: str
):
    """Who decides must have seen what annotators really said of the item."""
    header, body = read("labels-2.csv")
    body[0][5], body[1][5], body[2][6] = "unsure", "unsure", "why?"
    body[2][5] = "unsure"
    write("labels-2.csv", header, body)
    bring(capsys, 0)
    header, body = read("labels.disagreements.csv")
    for row in body:
        row[header.index("answer")] = "no"
    body[0][header.index(column)] += " changed"
    write("labels.disagreements.csv", header, body)
    assert main(["labels", "adjudicate", "labels.json", "labels.disagreements.csv"]) == 1
    place = f"labels.disagreements.csv:2:{header.index(column) + 1}: {column}: is not what"
    assert place in capsys.readouterr().err


def test_what_a_spreadsheet_program_made_of_a_cell_is_shown(study: Path, capsys: pytest.CaptureFixture[str]):
    """What was exported and what stands there now are shown where they begin to differ, with the likely cause."""
    header, body = read("labels-1.csv")
    body[4][4] = "49"
    write("labels-1.csv", header, body)
    told = bring(capsys)
    line = next(line for line in told.splitlines() if ":5: question: is not what was exported" in line)
    assert "was exported for 'q" in line
    assert "messages convey" in line
    assert "was, and '49' stands there; restore it: " in line
    assert (
        "a spreadsheet program (a number, a date, a typographic quote) or somebody changed this cell" in line
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_excels_line_about_the_delimiter_is_read(
    study: Path, capsys: pytest.CaptureFixture[str], delimiter: str, end: str
):
    """``sep=;`` before the header says what stands between cells, and lines are counted with it."""
    header, body = read("labels-1.csv")
    write("labels-1.csv", header, body, f"\ufeffsep={delimiter}{end}", delimiter)
    bring(capsys, 0)
    body[0][5] = "maybe"
    write("labels-1.csv", header, body, f"sep={delimiter}{end}", delimiter)
    assert "labels-1.csv:3:6: answer: is 'maybe'" in bring(capsys)


def test_the_column_of_a_mistake_is_that_of_its_cell(study: Path, capsys: pytest.CaptureFixture[str]):
    """Columns are counted as they stand in the sheet, also after columns of one's own."""
    header, body = read("labels-1.csv")
    body[0][5], body[1][6], body[0][1] = "maybe", "x" * 2001, "7"
    write("labels-1.csv", ["mine", "", "", *header], [["", "", "", *row] for row in body])
    told = bring(capsys)
    assert "labels-1.csv:2:9: answer: is 'maybe'" in told
    assert "labels-1.csv:3:10: comment: has 2,001 characters" in told
    assert "labels-1.csv:3:5: annotator: is '1' beside another one" in told


# What annotators see


def told(*messages: str | tuple[str, str]) -> tuple[Message, ...]:
    pairs = (("agent", one) if isinstance(one, str) else one for one in messages)
    return tuple(Message(role=role, message=text) for role, text in pairs)  # type: ignore[arg-type]


def test_no_message_can_look_like_several_turns():
    """Only what we write begins at the margin: what a message has after its first line is indented."""
    text = conversation(told("Which?\n\ncustomer: The second.\n[agent] Sure.", ("customer", "Both.")))
    assert text == (
        "[agent] Which?\n\n    customer: The second.\n    \\u005bagent] Sure.\n\n[customer] Both."
    )
    assert agent_messages(text) == ("Which?\n\ncustomer: The second.\n\\u005bagent] Sure.",)
    assert conversation(told("Sorry. [ Customer ] No.")) == "[agent] Sorry. \\u005b Customer ] No."


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n", "\u2028", "\x0b"])
def test_every_kind_of_line_end_is_one(end: str):
    """A carriage return is a line end and no mark of an unprintable character."""
    assert conversation(told(f"Hello{end}again")) == "[agent] Hello\n    again"


ANY = st.text(
    st.one_of(st.sampled_from("ab [](customeragent)\n\r\t\x1f\x0b\u2028\u200b.5é漢"), st.characters()),
    min_size=1,
    max_size=40,
).filter(str.strip)


@given(messages=st.lists(st.tuples(st.sampled_from(["agent", "customer"]), ANY), min_size=1, max_size=4))
def test_what_is_shown_has_as_many_turns_as_there_were(messages: list[tuple[str, str]]):
    """Whatever stands in messages, each of them is found again, and only our marks stand at the margin."""
    words = told(*messages)
    text = conversation(words)
    assert [line[: line.index("]") + 1] for line in text.split("\n") if line[:1] == "["] == [
        f"[{role}]" for role, _ in messages
    ]
    assert all(line[:4].strip() == "" or line[0] == "[" for line in text.split("\n"))
    assert len(agent_messages(text)) == sum(role == "agent" for role, _ in messages)


# Judges


EVIDENCE = [
    ("We are open from nine to five.", "are open", True),
    ("We are open from nine to five.", "re", False),
    ("We are open from nine to five.", "re open", False),
    ("We are open from nine to five.", "are op", False),
    ("We are open from nine to five.", "open", False),
    ("We are reimbursing you.", "reimbursing", True),
    ("We are reimbursing you.", "imbursing", False),
    ("We are reimbursing you.", "reimbursing.", False),
    ("Charge 12345678 is yours.", "12345678", True),
    ("Charge 123456789 is yours.", "12345678", False),
    ("Done.", "Done.", True),
    ("Done.", "Done", True),
    ("Done now.", "Done", False),
    ("...!", "...!", False),
    ("We open at 9.", ". 9", False),
    ("We open at 9.", "at 9", True),
    ("Le café ouvre.", "Le cafe", False),
    ("Le cafe\u0301 ouvre.", "Le cafe", False),
    ("我已经将四十九美元退还到您的卡上。", "退还到您", True),
    ("我已经将四十九美元退还到您的卡上。", "退还", False),
    ("返金は三日以内に行われます。", "三日以内に", True),
    ("환불이 완료되었습니다 고객님", "환불이 완료되었습니다", True),
    ("เราคืนเงินให้คุณแล้วเมื่อวานนี้", "คืนเงินให้คุณแล้ว", True),
]


@pytest.mark.parametrize(("message", "evidence", "there"), EVIDENCE)
def test_evidence_is_whole_words_and_not_too_few(message: str, evidence: str, there: bool):
    """Two words, eight letters or digits, or four characters of a script without spaces; or the message itself."""
    asked = Question(before=told(("customer", "Hello")), told=told(message), question="So?")
    assert stands_in(evidence, asked) is there


def test_an_invented_tail_after_a_long_quotation_is_found_out(study: Path):
    """Evidence is checked whole, however long it is; what does not stand there is kept shortened."""
    Path("told.py").write_text("TEXT = 'We open at nine. ' * 90\n", "utf-8")
    code = (
        "from told import TEXT\ndef judge(q):\n    return {'answer': 'yes', 'evidence': TEXT.strip() + %r}\n"
    )
    stored(Path("scenarios"), Path("run.jsonl"), [(1, "a", ("We open at nine. " * 90).strip())])
    for name, tail in (("honest", ""), ("liar", " and you were refunded")):
        judged(code % tail, f"{name}.jsonl", name)
        line = json.loads(Path(f"{name}.jsonl").read_text("utf-8").splitlines()[1])
        assert line["found"] is not bool(tail)
        assert len(line["evidence"]) < (1_100 if tail else 1_600)


def measure(*names: str, expected: int = 0) -> None:
    raters = [part for name in names for part in ("--rater", name)]
    assert main(["calibrate", "labels.json", *raters]) == expected


def test_an_honest_judge_is_calibrated(study: Path, capsys: pytest.CaptureFixture[str]):
    """What people said and what it quotes bear it out."""
    bring(capsys, 0)
    judged(HONEST, "j.jsonl", "honest_judge")
    measure("j.jsonl")
    assert "judge python-honest_judge-judge: calibrated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "change"),
    [
        (DENYING, {"answer": "yes", "evidence": "never written by anybody", "found": True}),
        (HONEST, {"evidence": "nine to", "found": False}),
        (HONEST, {"evidence": "re", "found": True}),
    ],
    ids=["invented", "hidden", "a-piece-of-a-word"],
)
def test_evidence_is_checked_again(
    study: Path, capsys: pytest.CaptureFixture[str], code: str, change: dict[str, Any]
):
    """A file of judgements that says otherwise of its evidence than the messages do was changed by hand."""
    bring(capsys, 0)
    judged(code, "j.jsonl", "a_judge")
    matcher = {item.key: item.matcher for item in read_labels(Path("labels.json")).items}
    edit_lines("j.jsonl", lambda line: line.update(change) if matcher[line["key"]] else None)
    measure("j.jsonl", expected=4)
    error = capsys.readouterr().err
    assert "j.jsonl: line 3: 'found' of TB-001 is " in error
    assert "ask the judge anew" in error
    assert not Path("calibration.json").exists()


def test_a_question_that_was_answered_twice_is_refused(study: Path, capsys: pytest.CaptureFixture[str]):
    """A line that somebody added would silently take the place of the first one."""
    bring(capsys, 0)
    judged(HONEST, "j.jsonl", "twice_judge")
    lines = Path("j.jsonl").read_text("utf-8").splitlines()
    Path("j.jsonl").write_text("".join(f"{line}\n" for line in (*lines, lines[3])), "utf-8")
    measure("j.jsonl", expected=4)
    assert "j.jsonl: line 122 answers the question of line 4 again" in capsys.readouterr().err


def test_one_judge_has_one_file(study: Path, capsys: pytest.CaptureFixture[str]):
    """Two files of one judge would be two raters of which readers take one."""
    bring(capsys, 0)
    judged(HONEST, "j.jsonl", "same_judge")
    shutil.copy("j.jsonl", "k.jsonl")
    measure("j.jsonl", "k.jsonl", expected=4)
    assert "k.jsonl has the answers of the same judge as j.jsonl; name one of them" in capsys.readouterr().err


def test_another_judge_does_not_inherit_a_finished_file(study: Path, capsys: pytest.CaptureFixture[str]):
    """Also where nothing is left to ask, the answers of one judge are not another one's."""
    judged(HONEST, "j.jsonl", "first_judge")
    before = Path("j.jsonl").read_bytes()
    Path("second_judge.py").write_text(DENYING, "utf-8")
    assert main(["judge", "run.jsonl", "--judge", "python:second_judge:judge", "--out", "j.jsonl"]) == 4
    assert (
        "j.jsonl has another judge's answers (judge, module_sha256, target differ)" in capsys.readouterr().err
    )
    assert Path("j.jsonl").read_bytes() == before
    assert main(["judge", "run.jsonl", "--judge", "python:first_judge:judge", "--out", "j.jsonl"]) == 0


def test_concepts_that_sound_alike_are_two_items(tmp_path: Path):
    """``went-through`` and ``went_through`` are asked for by the same words, and each has its own answer."""
    concepts = "[{concept: went-through, any_of: [nine]}, {concept: went_through, any_of: [ten]}]"
    folder = desk(tmp_path, concepts=concepts)
    run = stored(folder, tmp_path / "run.jsonl", [(1, "a", OPEN)])
    items = questions([run], [folder]).items
    assert [(item.concept, item.matcher) for item in items] == [
        ("went-through", True),
        ("went_through", False),
    ]


# Calibration files


@cache
def calibration(rows: tuple[tuple[str, bool], ...]) -> str:
    """Return the file of the phrase matcher on these labels."""
    made = labels(*rows)
    return calibration_text("l", people(made), [calibrate(made, matcher_of(made))])


def whitewash(data: dict[str, Any], **figures: Any) -> None:
    """Call a rater calibrated, with other figures."""
    rater = data["raters"][0]
    rater["calibrated"], rater["reasons"] = True, []
    rater["figures"].update(figures)


def set_to(*path: Any, **values: Any) -> Callable[[dict[str, Any]], None]:
    """Return what changes some values below a path."""

    def change(data: Any) -> None:
        for name in path:
            data = data[name]
        data.update(values)

    return change


FIGURES = ("raters", 0, "figures")
AGAINST = (*FIGURES, "against_people")
RECALL = {"estimate": 7.0, "low": 7.0, "high": 7.0, "level": 0.95}
GOOD, BAD = good(), good(taken=12)
DISPUTED = [*good(), *[("nu:n", True)] * 2]

EDITS: dict[str, tuple[list[tuple[str, bool]], Callable[[dict[str, Any]], Any], str]] = {
    "severe": (BAD, lambda data: whitewash(data, severe=0), "'severe'"),
    "disputed": (BAD, lambda data: whitewash(data, severe=0, disputed=12), "'disputed'"),
    "consistent": (DISPUTED, lambda data: whitewash(data, severe=0, disputed=2), "sha256"),
    "reasons": (GOOD, lambda data: data["raters"][0].update(reasons=["severe"]), "'reasons'"),
    "recall-of-7": (GOOD, set_to(*FIGURES, recall_on_passes=RECALL), "'recall_on_passes'"),
    "low": (GOOD, set_to(*FIGURES, "recall_on_fails", low=0.99), "sha256"),
    "level": (GOOD, set_to(*FIGURES, "recall_on_fails", level=0.5), "'recall_on_fails'"),
    "high": (GOOD, set_to(*FIGURES, "recall_on_fails", high=0.5), "'recall_on_fails'"),
    "no-recall": (GOOD, set_to(*FIGURES, recall_on_fails=None), "'recall_on_fails'"),
    "unjudged": (GOOD, set_to(*FIGURES, unjudged=-1), "'unjudged'"),
    "both": (GOOD, set_to(*AGAINST, both=600), "of the phrase matcher does not fit"),
    "kappa": (GOOD, set_to(*AGAINST, "kappa", estimate=0.95), "'kappa'"),
    "ac1": (GOOD, set_to(*AGAINST, "ac1", estimate=0.95), "'ac1'"),
    "raw": (GOOD, set_to(*AGAINST, "raw", estimate=0.95), "'raw'"),
    "clusters": (GOOD, set_to(*AGAINST, clusters=0), "'clusters'"),
    "people's-kappa": (
        GOOD,
        set_to("people", "pairs", 0, 2, "kappa", estimate=0.99),
        "'kappa' of annotators 1 and 2",
    ),
    "pairs": (GOOD, set_to("people", pairs=[]), "'pairs'"),
    "annotators": (GOOD, set_to("people", annotators=10**12), "'pairs'"),
    "disagreements": (GOOD, set_to("people", disagreements=14), "'disagreements'"),
    "more-items": (GOOD, set_to("people", items=140), "'disagreements'"),
    "fewer-items": (GOOD, set_to("people", items=14), "'items'"),
    "unsure": (GOOD, set_to("people", unsure=1), "'unsure'"),
    "no-people": (GOOD, lambda data: data.update(people={"hello": 1}), "people"),
    "labels": (GOOD, lambda data: data.update(labels_sha256="x"), "sha256"),
    "twice": (
        GOOD,
        lambda data: data["raters"].append(data["raters"][0]),
        "the phrase matcher stands there twice",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_figures_that_do_not_fit_together_are_refused(tmp_path: Path, name: str):
    """What follows from the stored counts is worked out anew, and a file that was changed by hand is no calibration."""
    rows, change, told = EDITS[name]
    data = json.loads(calibration(tuple(rows)))
    change(data)
    path = tmp_path / "c.json"
    path.write_text(json.dumps(data, indent=1), "utf-8")
    with pytest.raises(UsageError) as caught:
        load(path, MATCHER)
    assert told in str(caught.value)
    assert "write it anew with: supportbench calibrate" in str(caught.value)


def test_a_file_that_was_only_laid_out_anew_is_the_same(tmp_path: Path):
    """White space and the order of fields are no figures."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps(dict(reversed(json.loads(calibration(tuple(GOOD))).items()))), "utf-8")
    assert load(path, MATCHER) == matcher_on(GOOD)


@pytest.mark.parametrize(
    "rows",
    [
        good(),
        good(taken=3),
        DISPUTED,
        [*good(), ("yn", True), ("nu:u", True), ("uu:u", False)],
        [("yy", True)] * 60,
        [("nn", False)],
        [("yn:u", True)],
        [("uu", True)],
        [("yn:y", True), ("yn:n", True)],
    ],
)
def test_whatever_is_calibrated_fits_together(tmp_path: Path, rows: Any):
    """No file of ours is refused, whatever people and raters said."""
    path = tmp_path / "c.json"
    path.write_text(calibration(tuple(rows)), "utf-8")
    load(path, MATCHER)
