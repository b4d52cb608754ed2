"""Which scenarios flipped between two runs, and whether what a report leads to really is their episode."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from gate_samples import case, side
from stored_runs import OPEN, SHUT, desk

from pytest_supportbench.cli import main
from pytest_supportbench.episode import replay
from pytest_supportbench.evidence import Evidence
from pytest_supportbench.flips import Flip, flips
from pytest_supportbench.loading import Loader
from pytest_supportbench.protocol import Turn
from pytest_supportbench.records import Limits
from pytest_supportbench.recount import recounted
from pytest_supportbench.reporting.flips import flip_lines, flip_markdown
from pytest_supportbench.results import Result, dump, run_line
from pytest_supportbench.results_file import closing_line, read_run
from pytest_supportbench.scoring import score_episode
from pytest_supportbench.suite_identity import suite_facts
from pytest_supportbench.traces import Trace, traces

WRONG = {"action": "decline", "message": SHUT}
GOOD = {"action": "answer", "message": OPEN}


def write(path: Path, verdicts: str, *, agent: str = "bot", wrong: dict[str, Any] = WRONG) -> Path:
    """Write a whole run beside its desk: ``pf ff`` are two trials of two scenarios, passed or failed."""
    cases = verdicts.split()
    folder = desk(path.parent, range(1, len(cases) + 1))
    loader, lines = Loader(path.parent), []
    for number, letters in enumerate(cases, 1):
        bound = loader.load(folder / f"case{number:03}.scenario.yaml")
        for trial, letter in enumerate(letters, 1):
            episode = replay(bound, (Turn.model_validate(GOOD if letter == "p" else wrong),))
            result = Result(bound, agent, trial, episode, score_episode(bound, episode))
            lines.append(result.to_json())
    fingerprints = [{"id": agent, "kind": "python"}]
    head = run_line(
        suite_facts(loader.suites()),
        fingerprints,
        run_id="r1",
        trials=len(cases[0]),
        limits=Limits(),
        root=folder,
    )
    path.write_text("".join(map(dump, (head, *lines))), encoding="utf-8")
    keys = {f"{agent}/{line['suite']}/{line['scenario']}/{line['trial']}" for line in lines}
    closing = closing_line(
        path, "r1", reported=keys, exit_status=1, stopped_early=False, **recounted(read_run(path), ())
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(dump(closing))
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own, so that paths are as short as people type them."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pair(here: Path) -> None:
    """Write two runs: a new failure, a fixed scenario, one that is worse, one that is better, one that stayed."""
    write(here / "before.jsonl", "ppp fff ppp fff ppp")
    write(here / "after.jsonl", "fff ppp ppf ffp ppp")


def read(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["compare", *arguments]) in {0, 1, 11}
    return capsys.readouterr().out


def comparison(capsys: pytest.CaptureFixture[str], *files: str) -> dict[str, Any]:
    (found,) = json.loads(read(capsys, *files, "--format", "json"))["comparisons"]
    return found


def line_of(file: str, number: int) -> dict[str, Any]:
    return json.loads(Path(file).read_text(encoding="utf-8").split("\n")[number - 1])


def test_json_leads_to_the_very_episodes(pair: None, capsys: pytest.CaptureFixture[str]):
    """Each place is the line of the file that has this episode, before and now, with its key and its verdict."""
    found = comparison(capsys, "before.jsonl", "after.jsonl")["flips"]
    assert [(flip["scenario"], flip["kind"]) for flip in found] == [
        ("TB-001", "new_failure"),
        ("TB-002", "fixed"),
        ("TB-003", "worse"),
        ("TB-004", "better"),
    ]
    for flip in found:
        for when, file in (("before", "before.jsonl"), ("now", "after.jsonl")):
            episodes = flip[when]["episodes"]
            assert [item["trial"] for item in episodes] == [1, 2, 3]
            assert sum(item["verdict"] == "passed" for item in episodes) == flip[when]["passed"]
            for item in episodes:
                line = line_of(item["file"], item["line"])
                assert item["file"] == file
                assert line["verdict"] == item["verdict"]
                key = f"{line['agent']}/{line['suite']}/{line['scenario']}/{line['trial']}"
                assert (line["scenario"], key) == (flip["scenario"], item["key"])
        assert flip["failing"] == ("now" if flip["kind"] in {"new_failure", "worse"} else "before")
        assert flip["headline"].startswith("failed resolution")


def test_text_has_flips_first_with_places_that_can_be_clicked(pair: None, capsys: pytest.CaptureFixture[str]):
    """After the verdict come the flips, each with ``path:line`` of a telling episode on both sides; 80 columns."""
    text = read(capsys, "before.jsonl", "after.jsonl")
    rows = text.splitlines()
    assert rows[2:4] == ["  new failures: 1", "    TB-001 Asks for the opening hours, case 1"]
    assert max(map(len, rows)) <= 80
    assert text.index("better in some trials: 1") < text.index("agent: no difference")
    assert text.count("new failures: ") == 1  # not told twice
    places = re.findall(r"(now|before) +(\d)/3  (\w+\.jsonl):(\d+) ", text)
    assert len(places) == 8
    for (when, passed, file, number), (kind, failing) in zip(
        places,
        [(kind, failing) for kind in ("new", "fixed", "worse", "better") for failing in (True, False)],
        strict=True,
    ):
        line = line_of(file, int(number))
        assert (when == "now") == (file == "after.jsonl")
        assert line["verdict"] == ("failed" if failing else "passed") or passed in {"0", "3"}, kind


def test_markdown_links_to_the_line(here: Path, capsys: pytest.CaptureFixture[str]):
    """The first line is the verdict still; links are relative, whatever letters a path has, and lead to the line."""
    folder = here / "a (b) [c] ü"
    folder.mkdir()
    write(folder / "x y.jsonl", "pp")
    write(here / "after.jsonl", "ff")
    text = read(capsys, "a (b) [c] ü/x y.jsonl", "after.jsonl", "--format", "markdown")
    assert text.startswith("**")
    (item,) = (row for row in text.splitlines() if row.startswith("- [TB-001]"))
    links = re.findall(r"\[([^\]]+)\]\(([^()\s]+)#L(\d+)\)", item)
    assert [name for name, _, _ in links] == ["TB-001", "trial 1", "trial 2", "trial 1", "trial 2"]
    for _, address, number in links:
        assert line_of(unquote(address), int(number))["scenario"] == "TB-001"
    assert unquote(links[0][1]) == "after.jsonl"
    assert "failed resolution" in item


def test_a_baseline_has_no_traces_and_says_so(here: Path, capsys: pytest.CaptureFixture[str]):
    """Its side has counts and no place; a scenario that was fixed since has no headline then."""
    write(here / "before.jsonl", "pp ff")
    write(here / "after.jsonl", "ff pp")
    assert main(["baseline", "set", "before.jsonl", "baseline.json"]) == 0
    text = read(capsys, "baseline.json", "after.jsonl")
    assert text.count("before 2/2  a baseline has counts, and no traces") == 1
    assert text.count("before 0/2  a baseline has counts, and no traces") == 1
    found = comparison(capsys, "baseline.json", "after.jsonl")["flips"]
    assert [flip["before"]["episodes"] for flip in found] == [None, None]
    assert [flip["headline"] is None for flip in found] == [False, True]
    markdown = read(capsys, "baseline.json", "after.jsonl", "--format", "markdown")
    assert "before 2/2 (a baseline has counts, and no traces)" in markdown


def test_nothing_flipped_is_said(here: Path, capsys: pytest.CaptureFixture[str]):
    """Two runs that agree have no list, and a line that says why."""
    write(here / "before.jsonl", "pp ff")
    write(here / "after.jsonl", "pp ff")
    assert "no scenario flipped" in read(capsys, "before.jsonl", "after.jsonl")
    assert "No scenario flipped." in read(capsys, "before.jsonl", "after.jsonl", "--format", "markdown")
    assert comparison(capsys, "before.jsonl", "after.jsonl")["flips"] == []


def test_text_of_models_is_escaped_and_bounded(here: Path, capsys: pytest.CaptureFixture[str]):
    """A message cannot steer a terminal, break a line, or make a link or HTML of its own in Markdown."""
    evil = "\x1b[31m<img src=x onerror=alert(1)> [click](http://evil) `x`\n# Title " + "x" * 5_000
    arguments = {"queue": "billing", "reason": "other", "summary": evil}
    calls = [{"tool": "escalate_to_human", "arguments": arguments}]
    write(here / "before.jsonl", "pp")
    write(here / "after.jsonl", "ff", wrong={"action": "escalate", "message": evil, "tool_calls": calls})
    text = read(capsys, "before.jsonl", "after.jsonl")
    assert "onerror" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert len(text) < 6_000
    markdown = read(capsys, "before.jsonl", "after.jsonl", "--format", "markdown")
    assert "onerror" in markdown
    assert "\x1b" not in markdown
    assert "<img" not in markdown.replace("\\<img", "")
    assert "](http" not in markdown.replace("\\](http", "")
    assert not [row for row in markdown.splitlines() if row.startswith("#")]


def made(count: int, kind: str = "0/2") -> tuple[Evidence, Evidence]:
    passed, scored = kind.split("/")
    return side(f"{count}x{scored}/{scored}"), side(f"{count}x{passed}/{scored}")


def flipped(count: int) -> tuple[Flip, ...]:
    before, now = made(count)
    places = {
        name: tuple(Trace(Path("r.jsonl"), 9 + trial, "k", trial, "failed", "why") for trial in range(1, 13))
        for name in now.cases
    }
    return flips(before, now, None, places)


def names(lines: Iterable[str]) -> list[str]:
    return re.findall(r"\bS-\d+", "\n".join(lines))


def test_long_lists_are_cut_unless_all_are_asked_for():
    """Twenty scenarios of a kind and five episodes of a side are listed; ``-v`` lists all scenarios."""
    found = flipped(30)
    short = list(flip_lines(found))
    assert len(names(short)) == 20
    assert short[-1] == "    … and 10 more; -v lists them all"
    assert len(names(flip_lines(found, everything=True))) == 30
    assert len(names(flip_markdown(found))) == 20
    assert len(names(flip_markdown(found, everything=True))) == 30
    assert "now    0/2  r.jsonl:10 (other trials: 11, 12, 13, 14 and 7 more)" in "\n".join(short)


@pytest.mark.parametrize("option", ["-v", "--all"])
def test_the_command_lists_all_with_either_option(
    here: Path, capsys: pytest.CaptureFixture[str], option: str
):
    """Both spellings list what was cut; JSON always has all."""
    write(here / "before.jsonl", " ".join(["p"] * 22))
    write(here / "after.jsonl", " ".join(["f"] * 22))
    assert "… and 2 more" in read(capsys, "before.jsonl", "after.jsonl")
    assert "… and" not in read(capsys, "before.jsonl", "after.jsonl", option).split("all scenarios")[0]
    assert len(comparison(capsys, "before.jsonl", "after.jsonl")["flips"]) == 22


def test_scenarios_that_one_side_has_not_scored_are_no_flips():
    """What was not run or only broke on one side says nothing of a change."""
    before, now = side("5/5 5/5 5/5"), side("5/5 0/0 0/5", 5)
    del now.cases["desk", "S-02"]  # type: ignore[attr-defined] - a dict in tests
    assert flips(before, now, None, None) == ()


def test_the_gates_candidates_are_the_new_failures():
    """A scenario that passed all before and fails more than half now is a new failure, one that fails less is worse."""
    before = side("4x5/5 2/5 2/5 0/5")
    now = side("2/5 3/5 4/5 5/5 5/5 1/5 1/5")
    assert [(flip.case[1], flip.kind) for flip in flips(before, now, None, None)] == [
        ("S-00", "new_failure"),
        ("S-04", "fixed"),
        ("S-01", "worse"),
        ("S-02", "worse"),
        ("S-05", "worse"),
        ("S-06", "better"),
    ]
    assert case(1, 5, 5).stable


def test_lines_are_counted_as_editors_count_them(here: Path):
    """Lines that were cut, attempts that do not count and a pointer to the file do not shift a place."""
    path = write(here / "run.jsonl", "ff")
    head, first, second, closing = path.read_text(encoding="utf-8").splitlines(keepends=True)
    error = {
        **json.loads(first),
        "verdict": "error",
        "dimensions": {},
        "error": {"cause": "c", "message": "m", "remedy": "r"},
    }
    rerun = {**json.loads(first), "attempt": 2}
    later = {**json.loads(second), "attempt": 2, "verdict": "passed"}
    lines = [head, "\n", '{"cut', "\n", dump(error), dump(rerun), second, dump(later), closing]
    path.write_text("".join(lines), encoding="utf-8")
    pointer = here / "last-run.jsonl"
    pointer.write_text(dump({"type": "pointer", "path": str(path)}), encoding="utf-8")
    (found,) = traces(read_run(pointer), "bot").values()
    assert [(item.file, item.line, item.trial) for item in found] == [(path, 5, 1), (path, 6, 2)]
    assert [json.loads(path.read_text("utf-8").split("\n")[item.line - 1])["attempt"] for item in found] == [
        2,
        1,
    ]


def test_an_episode_of_another_version_is_led_to_without_a_headline(here: Path):
    """A line whose checks cannot be read stops no comparison: where it stands is told all the same."""
    path = write(here / "run.jsonl", "f")
    path.write_text(path.read_text("utf-8").replace('"reason":', '"why":'), encoding="utf-8")
    ((found,),) = traces(read_run(path), "bot").values()
    assert (found.line, found.headline) == (2, "what went wrong first cannot be read from this line")
