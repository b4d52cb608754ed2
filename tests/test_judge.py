"""The model judge: what it is asked, what counts as its yes, what identifies it, and how its answers are kept.

No judge here is a real model, and no answer is a person's.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_ollama import FakeOllama
from fake_openai import FakeOpenAI
from stored_runs import OPEN, SHUT, desk, stored

from pytest_supportbench.cli import main
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.judge import Judge, Judgement, JudgeReply, parse_judge, stands_in
from pytest_supportbench.judgements import judge_all, read_judgements
from pytest_supportbench.protocol import Message
from pytest_supportbench.questions import Item, Question, questions

YES = json.dumps({"action": "yes", "message": "open from nine"})
NO = json.dumps({"action": "no", "message": ""})

CODE = """
asked = []

def judge(question):
    asked.append(question)
    {body}
"""


def question(*told: str, before: str = "When are you open?", asked: str = "Hours?") -> Question:
    words = tuple(Message(role="agent", message=text) for text in told)
    return Question(before=(Message(role="customer", message=before),), told=words, question=asked)


def python_judge(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str, name: str = "") -> Judge:
    """Return the judge that ``def judge(question)`` with this body in a module is."""
    name = name or f"judge_{abs(hash((body, str(folder))))}"
    (folder / f"{name}.py").write_text(CODE.format(body=body), encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    return Judge(parse_judge(f"python:{name}:judge", folder), folder)


@pytest.fixture
def judge_at(tmp_path: Path) -> Iterator[Callable[..., Judge]]:
    """Return what makes a judge of a model on a server, or of a spec; its connections are closed in the end."""
    made: list[Judge] = []

    def make(server: FakeOllama | str, extra: str = "", kind: type[Judge] = Judge) -> Judge:
        text = server if isinstance(server, str) else f"ollama:m?host={server.host}{extra}"
        made.append(kind(parse_judge(text, tmp_path), tmp_path))
        return made[-1]

    yield make
    for judge in made:
        judge.close()


@pytest.fixture
def items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Item, ...]:
    """Eight questions: four scenarios, each with a good and a bad message; the working directory has their run."""
    monkeypatch.chdir(tmp_path)
    folder = desk(tmp_path, range(1, 5))
    said = [(number, agent, text) for number in range(1, 5) for agent, text in (("a", OPEN), ("b", SHUT))]
    run = stored(folder, tmp_path / "run.jsonl", said)
    return questions([run], [folder]).items


def test_a_function_gets_the_question_and_nothing_else(
    items: tuple[Item, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is told the customer's words, what was delivered and the question: no gold, phrases, agent or verdict."""
    judge = python_judge(tmp_path, monkeypatch, "return {'answer': 'no'}", "seen_judge")
    judge_all(judge, items, tmp_path / "j.jsonl")
    import seen_judge  # noqa: PLC0415 - made by this test

    asked = seen_judge.asked
    assert len(asked) == 8
    assert set(Question.model_fields) == {"before", "told", "question"}
    assert {one.question for one in asked} == {
        "Do the agent's messages convey this to the customer: “hours”?"
    }
    assert {one.told[0].message for one in asked} == {OPEN, SHUT}
    assert all(one.before[-1].message.startswith("When are you open?") for one in asked)
    for one in asked:
        text = one.model_dump_json().replace(OPEN, "")
        for word in ('"nine"', "answer", "decline", "TB-0", "passed", "failed", "says-nothing", "escalat"):
            assert word not in text


def test_a_model_gets_it_as_json_under_a_schema(tmp_path: Path, judge_at: Callable[..., Judge]):
    """A model sees the same as a function, may say yes or no and quote, and has no tools and no policies."""
    with FakeOllama(lambda _body: YES) as server:
        found = judge_at(server).ask(question(OPEN))
    assert found == Judgement("yes", "open from nine", found=True)
    assert found.present
    (request,) = server.requests
    system, user = (message["content"] for message in request["messages"])
    assert system.startswith("You check what a support agent has told a customer.")
    assert f'"told":[{{"role":"agent","message":"{OPEN}"}}],"question":"Hours?"' in user
    assert request["format"]["properties"]["action"] == {"enum": ["yes", "no", None]}
    assert set(request["format"]["properties"]) == {"action", "message"}


def test_an_openai_compatible_server_judges(tmp_path: Path, judge_at: Callable[..., Judge]):
    """``openai:MODEL`` judges too, and the model that the server says it is belongs to the fingerprint."""
    with FakeOpenAI(lambda _body: YES) as server:
        judge = judge_at(f"openai:m?base_url={server.url}")
        before = judge.fingerprint(["desk"])
        assert judge.ask(question(OPEN)).present
        after = judge.fingerprint(["desk"])
    assert before["served_model"] is None
    assert after["served_model"]
    assert "system_fingerprint" not in after
    assert "host" not in after


@pytest.mark.parametrize(
    ("evidence", "there"),
    [
        ("open from nine", True),
        ("We are open\n from   nine to five.", True),
        ("OPEN FROM NINE", False),
        ("open at nine", False),
        ("…open from nine…", False),
        ("", False),
        ("   ", False),
        ("e", False),
        (". ", False),
        ("When do you open", False),
        ("Which door?", False),
    ],
)
def test_evidence_must_be_the_agents_words_letter_by_letter(evidence: str, there: bool):
    """Only white space may differ; the customer's own words, one letter or a paraphrase show nothing."""
    told = (*question(OPEN).told, Message(role="customer", message="Which door?"))
    asked = question(OPEN, before="When do you open").model_copy(update={"told": told})
    assert stands_in(evidence, asked) is there
    assert Judgement("yes", evidence, stands_in(evidence, asked)).present is there
    assert not Judgement("no", evidence, stands_in(evidence, asked)).present


def test_evidence_does_not_reach_across_messages():
    """A quotation glued together from two messages is none."""
    assert not stands_in("nine. Until five", question("Open from nine.", "Until five."))


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON",
        json.dumps({"action": None, "message": ""}),
        json.dumps({"action": "maybe"}),
        json.dumps(["yes"]),
    ],
)
def test_a_reply_that_is_none_counts_as_not_there(tmp_path: Path, reply: str, judge_at: Callable[..., Judge]):
    """What does not parse, or is neither yes nor no, is recorded as invalid and passes nothing."""
    with FakeOllama(lambda _body: reply) as server:
        found = judge_at(server).ask(question(OPEN))
    assert found == Judgement("invalid", "", found=False)
    assert not found.present


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("return {'answer': 'yes', 'evidence': 'nine to five'}", "yes"),
        ("from pytest_supportbench.judge import JudgeReply; return JudgeReply(answer='no')", "no"),
        ("return 'yes'", "invalid"),
        ("return None", "invalid"),
        ("return {'answer': True}", "invalid"),
        ("return {'answer': 'yes', 'score': 5}", "invalid"),
    ],
)
def test_a_function_returns_a_reply_or_a_mapping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, answer: str
):
    """Anything else is an invalid reply, not a crash."""
    found = python_judge(tmp_path, monkeypatch, body).ask(question(OPEN))
    assert found.answer == answer
    assert found.present is (answer == "yes")
    assert JudgeReply(answer="no").evidence == ""


def test_a_function_that_fails_says_nothing_of_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its exception is an infrastructure error that names the judge."""
    judge = python_judge(tmp_path, monkeypatch, "raise KeyError('who')")
    with pytest.raises(InfrastructureError, match="the judge 'python:") as caught:
        judge.ask(question(OPEN))
    assert caught.value.cause == "judge_failed"
    assert "KeyError: 'who'" in caught.value.message


def test_a_servers_failure_names_the_judge(tmp_path: Path, judge_at: Callable[..., Judge]):
    """A server that fails gives its own cause with ``judge_`` before it, and its remedy."""
    with FakeOllama() as server:
        server.fault = "out_of_memory"
        with pytest.raises(InfrastructureError, match="the judge 'ollama:m") as caught:
            judge_at(server).ask(question(OPEN))
    assert caught.value.cause == "judge_out_of_memory"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("rules", "an agent of kind 'rules' cannot judge; the kinds are python, ollama, openai, local"),
        ("oracle", "cannot judge"),
        ("somebody", "a registered agent cannot judge"),
        ("ollama", "kind 'ollama' needs a target"),
        ("ollama:m?without=memory", "a judge sees no memory; drop 'without'"),
        ("ollama:m?mode=tools", "a judge calls no tools; drop 'mode'"),
    ],
)
def test_what_cannot_judge_is_refused(tmp_path: Path, spec: str, told: str):
    """The spec is that of an agent, of a kind that can be asked for one answer."""
    with pytest.raises(UsageError) as caught:
        parse_judge(spec, tmp_path)
    assert str(caught.value).startswith("--judge: ")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("code", "told"),
    [("async def judge(question): ...", "is asynchronous"), ("x = 1", "has no 'judge'")],
)
def test_a_judge_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, told: str
):
    """An asynchronous or missing function is wrong usage, with the option's name before it."""
    (tmp_path / f"made_{len(code)}.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    judge = Judge(parse_judge(f"python:made_{len(code)}:judge", tmp_path), tmp_path)
    with pytest.raises(UsageError, match=rf"--judge: .*{told}"):
        judge.ask(question(OPEN))


def test_the_fingerprint_changes_with_what_could_change_an_answer(
    tmp_path: Path, judge_at: Callable[..., Judge]
):
    """Model, digest, prompt, options and suites count; where the server is does not."""
    with FakeOllama(lambda _body: NO) as server, FakeOllama(lambda _body: NO) as other:

        def mark(text: str = "", at: FakeOllama = server, suites: Any = ("desk",)) -> dict[str, Any]:
            judge = judge_at(at, text)
            judge.check()
            return judge.fingerprint(list(suites))

        plain = mark()
        assert plain["model_digest"]
        assert plain["rater"] == "judge"
        assert mark(at=other) == plain
        assert mark("&temperature=0.5") != plain
        assert mark("&seed=8") != plain
        assert mark(suites=("desk", "other")) != plain
        assert mark(suites=("desk", "desk")) == plain
        other.models["m:latest"] = "sha256:" + "ef" * 32
        assert mark(at=other)["model_digest"] != plain["model_digest"]
        (tmp_path / "prompt.md").write_text("Judge.", "utf-8")
        text = f"kind: ollama\nmodel: m\noptions: {{host: '{server.host}'}}\nprompt: prompt.md\n"
        (tmp_path / "own.yaml").write_text(text, "utf-8")
        assert judge_at("own.yaml").fingerprint(["desk"])["prompt_sha256"] != plain["prompt_sha256"]


def test_the_form_of_the_question_is_part_of_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where a later version asks otherwise, what people checked is another judge."""
    judge = python_judge(tmp_path, monkeypatch, "return {'answer': 'no'}")
    before = judge.fingerprint(["desk"])
    monkeypatch.setattr("pytest_supportbench.judge.PROMPT", "Otherwise.")
    assert judge.fingerprint(["desk"])["asked_sha256"] != before["asked_sha256"]


def test_answers_are_kept_as_they_come_and_a_second_run_goes_on(
    items: tuple[Item, ...], tmp_path: Path, judge_at: Callable[..., Judge]
):
    """After a kill in the middle of a line, only what is missing is asked again."""
    path = tmp_path / "j.jsonl"
    with FakeOllama(lambda _body: YES) as server:
        first = judge_all(judge_at(server), items[:5], path)
        assert (first.new, len(server.requests)) == (5, 5)
        with path.open("a", encoding="utf-8") as file:
            file.write('{"type":"judgem')
        second = judge_all(judge_at(server), items, path)
        assert (second.new, len(server.requests)) == (3, 8)
    kept = read_judgements(path)
    assert set(kept.said) == {item.key for item in items}
    assert sum(kept.said.values()) == 4
    assert {line.matcher for line in kept.lines.values()} == {True, False}
    assert second.judgements == kept


def test_another_judges_file_is_left_alone(
    items: tuple[Item, ...], tmp_path: Path, judge_at: Callable[..., Judge]
):
    """Answers of two judges never mix in one file."""
    path = tmp_path / "j.jsonl"
    with FakeOllama(lambda _body: YES) as server:
        judge_all(judge_at(server), items[:4], path)
        before = path.read_bytes()
        with pytest.raises(UsageError, match=r"j\.jsonl has another judge's answers \(options differ\)"):
            judge_all(judge_at(server, "&temperature=0.5"), items, path)
        assert path.read_bytes() == before


def test_a_model_that_changes_in_the_middle_is_noticed(
    items: tuple[Item, ...], tmp_path: Path, judge_at: Callable[..., Judge]
):
    """A server that begins to answer with another model ends the judging: its answers would not be one judge's."""
    served = iter(["m-1", "m-1", "m-2", *["m-2"] * 9])

    class Changing(Judge):
        window = 1

        def fingerprint(self, suites: list[str]) -> dict[str, Any]:
            return {**super().fingerprint(suites), "served_model": next(served)}

    with FakeOllama(lambda _body: NO) as server:
        judge = judge_at(server, kind=Changing)
        with pytest.raises(
            InfrastructureError, match=r"another model began to answer .*served_model changed"
        ):
            judge_all(judge, items, tmp_path / "j.jsonl")
    assert len(read_judgements(tmp_path / "j.jsonl").lines) == 2


def test_single_failures_are_counted_and_many_equal_ones_stop(
    items: tuple[Item, ...], tmp_path: Path, judge_at: Callable[..., Judge]
):
    """One failure costs one answer; five equal ones in a row end the run, and the file keeps the rest."""
    path = tmp_path / "j.jsonl"
    with FakeOllama(lambda _body: NO) as server:
        server.faults = ["runner_died"]
        found = judge_all(judge_at(server, "&retries=0"), items, path)
        assert (found.new, len(found.errors), found.stopped) == (7, 1, False)
        assert found.errors[0].cause == "judge_runner_died"
        server.fault = "out_of_memory"
        found = judge_all(judge_at(server, "&retries=0"), items, tmp_path / "k.jsonl")
        assert (found.new, len(found.errors), found.stopped) == (0, 5, True)
        assert found.judgements is None


@pytest.mark.parametrize(
    ("outcomes", "asked", "stopped"),
    [("eeeeeoo", 5, True), ("eeeeoeeee", 9, False), ("eeeexeeee", 9, False), ("oeeeee", 6, True)],
)
def test_only_equal_errors_in_a_row_stop_it(
    tmp_path: Path, judge_at: Callable[..., Judge], outcomes: str, asked: int, stopped: bool
):
    """An answer or another error between them begins the count anew."""
    run = stored(
        desk(tmp_path), tmp_path / "run.jsonl", [(1, "a", f"nine {n}") for n in range(len(outcomes))]
    )
    script = iter(outcomes)

    class Flaky(Judge):
        window = 1

        def ask(self, question: Question) -> Judgement:
            outcome = next(script)
            if outcome != "o":
                raise InfrastructureError({"e": "time_out", "x": "not_json"}[outcome], "it broke", "mend it")
            return Judgement("no", "", found=False)

    items = questions([run], [tmp_path / "scenarios"]).items
    with FakeOllama() as server:
        found = judge_all(judge_at(server, kind=Flaky), items, tmp_path / "j.jsonl")
    assert (found.stopped, found.new + len(found.errors)) == (stopped, asked)


def test_a_server_that_is_not_there_is_told_at_once(
    items: tuple[Item, ...], tmp_path: Path, judge_at: Callable[..., Judge]
):
    """Nothing is asked and nothing is written."""
    with pytest.raises(InfrastructureError, match="nothing answers there"):
        judge_all(judge_at("ollama:m?host=http://127.0.0.1:9"), items, tmp_path / "j.jsonl")
    assert not (tmp_path / "j.jsonl").exists()


def test_questions_are_asked_in_the_judges_window(
    items: tuple[Item, ...], tmp_path: Path, judge_at: Callable[..., Judge]
):
    """A judge that can take several questions at a time gets them, and answers keep the order of the items."""
    busy: list[int] = []
    running = 0
    lock = threading.Lock()

    class Slow(Judge):
        window = 4

        def ask(self, question: Question) -> Judgement:
            nonlocal running
            with lock:
                running += 1
                busy.append(running)
            time.sleep(0.05)
            with lock:
                running -= 1
            return Judgement("no", "", found=False)

    with FakeOllama() as server:
        judge_all(judge_at(server, kind=Slow), items, tmp_path / "j.jsonl")
    assert max(busy) == 4
    assert list(read_judgements(tmp_path / "j.jsonl").lines) == [item.key for item in items]


@pytest.mark.parametrize("text", ["", "x", "{}\n", '{"type":"run"}\n', "[" * 99_999 + "\n"])
def test_what_is_no_file_of_judgements_is_refused(tmp_path: Path, text: str):
    """Other files are wrong usage, told with the name; so is one that is not there."""
    path = tmp_path / "j.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"j\.jsonl: .*supportbench judge wrote"):
        read_judgements(path)
    with pytest.raises(UsageError, match=r"gone\.jsonl: cannot be read as judgements"):
        read_judgements(tmp_path / "gone.jsonl")


def test_judgements_beyond_their_bound_or_that_cannot_be_written_are_told(
    items: tuple[Item, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    judge_at: Callable[..., Judge],
):
    """A file that is too big is refused, and one that cannot be written ends with the remedy."""
    with FakeOllama(lambda _body: NO) as server:
        judge_all(judge_at(server), items, tmp_path / "j.jsonl")
        with pytest.raises(UsageError, match="cannot be written"):
            judge_all(judge_at(server), items, tmp_path / "j.jsonl" / "k.jsonl")
    monkeypatch.setattr("pytest_supportbench.judgements.MAX_BYTES", 100)
    with pytest.raises(UsageError, match="has more than 100 bytes"):
        read_judgements(tmp_path / "j.jsonl")


def test_secrets_do_not_come_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judge_at: Callable[..., Judge]
):
    """A key that a server repeats is blanked in evidence and errors."""
    monkeypatch.setenv("JUDGE_KEY", "sk-s3cr3t-value")
    said = json.dumps({"action": "yes", "message": "sk-s3cr3t-value"})
    with FakeOpenAI(lambda _body: said) as server:
        judge = judge_at(f"openai:m?base_url={server.url}&key_env=JUDGE_KEY")
        assert judge.ask(question(OPEN)).evidence == "***"


def test_the_command_prints_and_keeps_what_was_judged(
    items: tuple[Item, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """``supportbench judge`` says how many are there, what lacked evidence, and where it is apart from the matcher."""
    with FakeOllama(lambda _body: YES) as server:
        spec = f"ollama:m?host={server.host}&retries=0"
        assert main(["judge", "run.jsonl", "--judge", spec]) == 0
        told = capsys.readouterr().out
        assert "8 concepts judged, 8 of them now: 4 there, 4 not" in told
        assert "counted as not there: 4 yes without words of the agent's, 0 invalid replies" in told
        assert "phrase matcher and judge disagree on 0 of 8 items (0 %)" in told
        assert main(["judge", "run.jsonl", "--judge", spec]) == 0
        assert "8 concepts judged, 0 of them now" in capsys.readouterr().out
        server.answer = lambda _body: NO
        assert main(["judge", "run.jsonl", "--judge", spec, "--out", "no.jsonl"]) == 0
        told = capsys.readouterr().out
        assert "phrase matcher and judge disagree on 4 of 8 items (50 %):" in told
        assert "  4 that only the first of them finds, 0 that only the second finds" in told
        server.faults = ["runner_died"]
        assert main(["judge", "run.jsonl", "--judge", spec, "--out", "part.jsonl"]) == 10
        told = capsys.readouterr().out
        assert "not judged, by infrastructure errors: 1, the last one:" in told
        assert main(["judge", "run.jsonl", "--judge", spec, "--out", "part.jsonl"]) == 0


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        (["--judge", "rules"], 4, "--judge: an agent of kind 'rules' cannot judge"),
        (["--judge", "python:no_such_module:judge"], 4, "there is no module 'no_such_module'"),
        (["--judge", "ollama:m?host=http://127.0.0.1:9"], 10, "nothing answers there"),
        (["--judge", "ollama:m", "--scenarios", "gone"], 4, "gone: there is no such file or folder"),
    ],
)
def test_wrong_judges_are_told_with_their_exit_code(
    items: tuple[Item, ...], capsys: pytest.CaptureFixture[str], given: list[str], code: int, told: str
):
    """Usage is 4, infrastructure is 10, and the message names what is wrong."""
    assert main(["judge", "run.jsonl", *given]) == code
    assert told in capsys.readouterr().err
