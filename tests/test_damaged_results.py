"""Damaged results files: every command that reads them ends with one line and its exit code, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored_runs import OPEN, SHUT, desk

from pytest_supportbench.cli import main
from pytest_supportbench.episode import replay
from pytest_supportbench.errors import UsageError
from pytest_supportbench.evidence import evidence
from pytest_supportbench.gists import SHORT
from pytest_supportbench.loading import Loader
from pytest_supportbench.protocol import Turn
from pytest_supportbench.records import Limits
from pytest_supportbench.recount import recounted
from pytest_supportbench.results import Result, dump, run_line
from pytest_supportbench.results_copy import read_gists, read_results, read_whole
from pytest_supportbench.results_file import RunFile, closing_line, read_run
from pytest_supportbench.scoring import score_episode
from pytest_supportbench.shards import Plan
from pytest_supportbench.suite_identity import suite_facts

PLAN: Final = Plan({("desk", f"TB-00{number}"): number for number in (1, 2)}, (), None).to_json()


def write(path: Path, numbers: range, *, shard: int | None = None) -> Path:
    """Write a whole run of the small desk with two trials each, of which the even cases fail; or a shard of two."""
    loader, lines = Loader(path.parent), []
    for number in numbers:
        bound = loader.load(path.parent / "scenarios" / f"case{number:03}.scenario.yaml")
        turn = {"action": "answer", "message": OPEN} if number % 2 else {"action": "decline", "message": SHUT}
        for trial in (1, 2):
            episode = replay(bound, (Turn.model_validate(turn),))
            lines.append(Result(bound, "bot", trial, episode, score_episode(bound, episode)).to_json())
    head = run_line(
        suite_facts(loader.suites()),
        [{"id": "bot", "kind": "python"}],
        run_id=f"r{shard}",
        trials=2,
        limits=Limits(),
        root=path.parent,
        shard=None if shard is None else {"shard": [shard, 2], "plan": PLAN},
    )
    path.write_text("".join(map(dump, (head, *lines))), encoding="utf-8")
    counts = recounted(read_run(path), ())
    keys = {f"bot/desk/{line['scenario']}/{line['trial']}" for line in lines}
    last = closing_line(path, f"r{shard}", reported=keys, exit_status=1, stopped_early=False, **counts)
    with path.open("a", encoding="utf-8") as file:
        file.write(dump(last))
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a whole run, another one like it, the two shards of one, and the scenarios."""
    folder = tmp_path_factory.mktemp("good")
    desk(folder, (1, 2))
    write(folder / "good.jsonl", range(1, 3))
    again = (folder / "good.jsonl").read_bytes().replace(b'"run":"rNone"', b'"run":"again"')
    (folder / "again.jsonl").write_bytes(again)
    write(folder / "one.jsonl", range(1, 2), shard=1)
    write(folder / "two.jsonl", range(2, 3), shard=2)
    return folder


@pytest.fixture
def place(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the same files, where a test may damage them; it is the current one."""
    desk(tmp_path, (1, 2))
    for name in ("good.jsonl", "again.jsonl", "one.jsonl", "two.jsonl"):
        (tmp_path / name).write_bytes((good / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "baseline set": ("baseline", "set", "X", "made/base.json"),
    "compare with it": ("compare", "X", "good.jsonl"),
    "compare it": ("compare", "good.jsonl", "X", "--format", "json"),
    "thresholds": ("compare", "X", "--fail-under", "strict=0.1"),
    "aa": ("aa", "again.jsonl", "X"),
    "merge": ("merge", "X", "two.jsonl", "--out", "made/merged.jsonl"),
    "rescore": ("rescore", "X", "--out", "made/new.jsonl"),
    "labels export": ("labels", "export", "X", "--out", "made/labels.csv"),
    "judge": ("judge", "X", "--judge", "python:json:loads", "--out", "made/judgements.jsonl"),
    "calibrate": ("calibrate", "X"),
}
"""Every command that is given results; X is the damaged file, a shard for ``merge`` and else a whole run."""


def cut(text: bytes) -> bytes:
    """Return a file without its end, as a kill leaves it: half a line, and no closing one."""
    return text[: text.rindex(b"\n", 0, -1) - 50]


def middle(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return a damage of the second line, which is an episode."""

    def damage(text: bytes) -> bytes:
        first, second, *rest = text.splitlines(keepends=True)
        return b"".join((first, change(second), *rest))

    return damage


def swap(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Return a damage that puts other bytes in the place of all of some."""

    def damage(text: bytes) -> bytes:
        assert old in text
        return text.replace(old, new)

    return damage


UNREADABLE: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "empty": lambda _: b"",
    "binary": lambda _: bytes(range(256)) * 40,
    "zeros": lambda _: b"\0" * 4096,
    "prose": lambda _: b"hello\nworld\n",
    "a list": lambda text: b"[" + b",".join(text.splitlines()) + b"]",
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "no UTF-8": middle(swap(b"desk", b"d\xe9sk")),
    "a cut line": middle(lambda line: line[: len(line) // 2] + b"\n"),
    "two lines in one": middle(lambda line: line[:-1]),
    "a line lost": middle(lambda _: b""),
    "nested without end": middle(lambda line: line.replace(b'"calls":[]', b'"calls":' + b"[" * 100_000)),
    "nested deeply": middle(lambda line: line.replace(b'"calls":[]', b'"calls":' + b"[" * 300 + b"]" * 300)),
    "nested run line": swap(b'"kind":"python"', b'"kind":' + b'{"a":' * 200 + b"1" + b"}" * 200),
    "thousands of digits": middle(swap(b'"trial":1', b'"trial":' + b"9" * 5000)),
    "a key twice": middle(swap(b'"verdict":"passed"', b'"verdict":"failed","verdict":"passed"')),
    "no run line": lambda text: text.partition(b"\n")[2],
    "another schema": swap(b'"schema":1', b'"schema":99'),
    "no agents": swap(b'"agents":[', b'"agentz":['),
    "no path": lambda _: b'{"type":"pointer"}\n',
    "a path that is none": lambda _: b'{"type":"pointer","path":[1]}\n',
    "nowhere": lambda _: b'{"type":"pointer","path":"nowhere.jsonl"}\n',
    "itself": lambda _: b'{"type":"pointer","path":"X"}\n',
    "unreported is a number": swap(b'"unreported":[]', b'"unreported":7'),
    "no verdict": middle(swap(b'"verdict":', b'"verdikt":')),
    "no turns": middle(swap(b'"dimensions":{', b'"dimensions":7,"was":{')),
}
"""What no command can read: exit code 4, whatever it would do."""

ODD: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "an unknown verdict": middle(swap(b'"verdict":"passed"', b'"verdict":"superb"')),
    "a trial beyond numbers": middle(swap(b'"trial":1', b'"trial":1e400')),
    "a trial of no bounds": middle(swap(b'"trial":1', b'"trial":99999999999999999999')),
    "a trial in words": middle(swap(b'"trial":1', b'"trial":"one"')),
    "trials in words": swap(b'"trials":2', b'"trials":"two"'),
    "half a surrogate": swap(b'"bot"', b'"b\\ud800t"'),
    "steering characters": swap(b'"bot"', b'"b\\u001b[2Jt"'),
    "no number": swap(b'"timeout":120.0', b'"timeout":NaN'),
    "a scenario that is a list": middle(swap(b'"scenario":"TB-001"', b'"scenario":["TB-001"]')),
    "settings are gone": swap(b'"settings":{', b'"zettings":{'),
    "a shard in words": swap(b'"shard":', b'"shard":"x","was":'),
    "suites are words": swap(b'"suites":[', b'"suites":["x",'),
    "an episode twice": middle(lambda line: line + line),
    "the run twice": lambda text: text + text,
    "turns are words": middle(swap(b'"turns":[', b'"turns":"x","was":[')),
    "tags are none": middle(swap(b'"tags":[', b'"tags":null,"was":[')),
    "violations are words": middle(swap(b'"violations":[', b'"violations":["x",[]],"was":[')),
    "a summary of words": swap(b'"type":"summary","run"', b'"type":"summary","agents":"x","was"'),
}
"""What some commands need and others do not: refused by name, or done."""


def told(capsys: pytest.CaptureFixture[str], name: str) -> str:
    """Return the only line of an error, which names the file and a remedy."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"supportbench: {name}"), line
    assert "; " in line, line
    assert len(line) < 700, line
    return line


def damaged(place: Path, command: str, damage: Callable[[bytes], bytes]) -> list[str]:
    """Write the damaged file and return the command's words."""
    source = place / ("one.jsonl" if command == "merge" else "good.jsonl")
    (place / "X").write_bytes(damage(source.read_bytes()))
    return list(COMMANDS[command])


@pytest.mark.parametrize("damage", UNREADABLE)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_read_is_one_line_and_exit_code_4(
    place: Path, capsys: pytest.CaptureFixture[str], command: str, damage: str
):
    """Nothing is written, and the line names the file and what to name instead; a lost line is a lost shard."""
    words = damaged(place, command, UNREADABLE[damage])
    code = main(words)
    if damage == "a line lost" and command == "merge":
        assert code == 11
        assert "X (shard 1/2): its episodes do not add up" in capsys.readouterr().out
    else:
        assert code == 4
        told(capsys, "nowhere.jsonl" if damage == "nowhere" and command != "calibrate" else "X")
    assert not (place / "made").exists()


@pytest.mark.parametrize("damage", ODD)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_odd_is_refused_by_name_or_done(
    place: Path, capsys: pytest.CaptureFixture[str], command: str, damage: str
):
    """No value in a file, whatever its kind, ends in a traceback or steers a terminal."""
    words = damaged(place, command, ODD[damage])
    code = main(words)
    out = capsys.readouterr()
    assert "\x1b" not in out.out + out.err
    assert code in {0, 1, 4, 10, 11}
    if code == 4:
        assert len(out.err.splitlines()) == 1, out.err
        assert out.err.startswith("supportbench: X"), out.err


INCOMPLETE: Final = {
    "baseline set": 4,
    "compare with it": 11,
    "compare it": 11,
    "thresholds": 11,
    "aa": 0,
    "merge": 11,
    "rescore": 0,
    "labels export": 0,
    "calibrate": 4,
}
"""A file that a kill left has what it has: each command says that it has no end, or takes what there is."""


@pytest.mark.parametrize("command", INCOMPLETE)
def test_a_file_without_its_end_is_incomplete(place: Path, capsys: pytest.CaptureFixture[str], command: str):
    """The half line is left out, and no gate passes what is left; that is documented, and not a damage."""
    words = damaged(place, command, cut)
    assert main(words) == INCOMPLETE[command]
    out = capsys.readouterr()
    said = {
        "labels export": "wrote",
        "rescore": "graded",
        "calibrate": "name a file that supportbench labels",
    }
    assert said.get(command, "no end" if command != "aa" else "gaps of a run: in 2 of 2") in out.out + out.err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", ["missing", "a folder", "in a file"])
def test_what_is_no_file_is_told(place: Path, capsys: pytest.CaptureFixture[str], command: str, what: str):
    """A name that is nothing, a folder, or below a file."""
    if what == "a folder":
        (place / "X").mkdir()
    name = "good.jsonl/X" if what == "in a file" else "X"
    assert main([name if word == "X" else word for word in COMMANDS[command]]) == 4
    told(capsys, name)


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"judge", "calibrate"}))
def test_the_undamaged_file_is_taken(place: Path, command: str):
    """The same files without damage: what each command would do with them."""
    assert main(damaged(place, command, bytes)) == 0


def test_a_rater_that_is_no_file_of_judgements_is_told(place: Path, capsys: pytest.CaptureFixture[str]):
    """Results in the place of judgements."""
    assert main(["labels", "export", "good.jsonl"]) == 0
    capsys.readouterr()
    assert main(["calibrate", "labels.key.json", "--rater", "good.jsonl"]) == 4
    assert "Traceback" not in capsys.readouterr().err


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_any_changed_byte_is_read_or_refused(place: Path, places: list[tuple[int, int]]):
    """Bytes that a disk or a copy changed: the file is read, or refused with its name; never anything else."""
    data = bytearray((place / "good.jsonl").read_bytes())
    for number, value in places:
        data[number % len(data)] = value
    (place / "X").write_bytes(data)
    try:
        run = read_results(place / "X")
    except UsageError as error:
        said = str(error)
    else:
        said = "X: " if json.loads(dump(run.run)) == run.run else ""
    assert "X: " in said


MARKS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "undamaged": bytes,
    "a cut line at the end": cut,
    "no closing line": lambda text: text[: text.rindex(b"\n", 0, -1) + 1],
    "no closing line and a cut line": lambda text: UNREADABLE["a cut line"](
        text[: text.rindex(b"\n", 0, -1) + 1]
    ),
    "an unreported one": swap(b'"unreported":[]', b'"unreported":["bot/desk/TB-001/1"]'),
    "an unreported one, counted": lambda text: swap(
        b'"unreported":[]', b'"unreported":["bot/desk/TB-002/2"]'
    )(text.replace(b'"trial":2,"attempt":1', b'"trial":2,"attempt":2')),
    "an own one": middle(swap(b'"type":"episode"', b'"type":"episode","own":true')),
    "a rerun": middle(lambda line: line + line.replace(b'"attempt":1', b'"attempt":2')),
    "a fresh one": middle(lambda line: line + line.replace(b'"trial":1', b'"trial":3')),
    "of another file": middle(swap(b'"title":"', b'"title":"Not ')),
}
"""What is no damage, or a run that a kill or a gate left; and lines that contradict each other."""


def shown(path: Path, read: Callable[[Path], RunFile]) -> object:
    """Return what comparing knows of a file, by what reads it; or how it is refused."""
    try:
        run = read(path)
        light = [{name: line[name] for name in SHORT if name in line} for line in run.episodes]
        return run.run, light, run.summary, run.path, run.places, evidence(run, "X")
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize("damage", [*UNREADABLE, *ODD, *MARKS])
def test_reading_line_by_line_is_reading_all_at_once(place: Path, damage: str):
    """Comparing keeps the gist of each line as it reads: it shows and refuses what whole lines do, in their words."""
    change = {**UNREADABLE, **ODD, **MARKS}[damage]
    (place / "X").write_bytes(change((place / "good.jsonl").read_bytes()))
    whole = shown(Path("X"), read_whole)
    assert shown(Path("X"), read_gists) == whole
    assert isinstance(whole, str) or damage in {**ODD, **MARKS}
