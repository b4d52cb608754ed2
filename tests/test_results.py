"""The results file: one line an episode, kept through kills, shared by threads and processes."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from desk import bind, call, play, refund, turn

from pytest_supportbench import results as module
from pytest_supportbench.episode import failed_before_start, run_episode
from pytest_supportbench.errors import UsageError
from pytest_supportbench.last_run import point_at
from pytest_supportbench.protocol import Reply, Usage
from pytest_supportbench.records import EpisodeError, Limits
from pytest_supportbench.results import Result, dump, git_commit, run_line
from pytest_supportbench.results_file import ResultsFile, closing_line, read_run, write_closing
from pytest_supportbench.scoring import score_episode

DONE = turn("refund", "I refunded 49.00 USD.", refund())


def header(run_id: str = "r1") -> Any:
    return lambda: {"type": "run", "schema": 1, "run": run_id}


def line(number: int) -> dict[str, Any]:
    return {"type": "episode", "agent": "a", "suite": "s", "scenario": f"S-{number}", "trial": 1}


def scenarios(path: Path) -> list[str]:
    return [episode["scenario"] for episode in read_run(path).episodes]


def closing(path: Path, reported: set[str]) -> dict[str, Any]:
    return closing_line(
        path,
        "r1",
        reported=reported,
        verdicts=["passed", "failed", "passed"],
        agents=[],
        exit_status=1,
        stopped_early=False,
    )


def test_an_episode_line_is_plain_json_with_all_that_was_judged(tmp_path: Path):
    """The line has verdict, checks, violations, calls, faults, changes, usage and timing, and round-trips."""
    bound = bind(tmp_path, faults=[{"tool": "issue_refund", "on_calls": [1], "kind": "unavailable"}])
    replies = iter(["?", Reply(turn=DONE, usage=Usage(prompt_tokens=7)), Reply(turn=DONE, usage=Usage())])
    episode = run_episode(bound, lambda _: next(replies))
    result = Result(bound, "agent", 2, episode, score_episode(bound, episode), attempt=3, output="hello")
    made = json.loads(dump(result.to_json()))
    assert made == json.loads(json.dumps(result.to_json()))
    assert (made["verdict"], made["strict"], made["attempt"], made["output"]) == ("passed", True, 3, "hello")
    assert result.key == "agent/desk/D-1/2"
    assert [item["delivered"] for item in made["turns"]] == [False, False, True]
    assert made["turns"][0]["invalid_reply"]["excerpt"] == "?"
    assert made["turns"][2]["tool_calls"] == [refund()]
    assert [item["error"] and item["error"]["code"] for item in made["calls"]] == ["unavailable", None]
    assert made["faults"] == [{"tool": "issue_refund", "kind": "unavailable", "reached": True, "calls": [1]}]
    assert {"path": "charges.ch_204.status", "before": "succeeded", "after": "refunded"} in made["changes"]
    assert made["usage"] == {
        "turns": 3,
        "tool_calls": 2,
        "prompt_tokens": 7,
        "completion_tokens": None,
        "spent_tokens": 7,
        "cost": None,
        "retries": 0,
    }
    assert made["dimensions"]["resolution"]["checks"][0]["id"] == "action"
    assert made["explanation"] == {"share": None, "calibrated": False}


def test_a_failed_episode_names_its_violations_with_their_basis(tmp_path: Path):
    """Evidence and basis of each violation are in the line."""
    bound = bind(tmp_path)
    peek = call("get_customer", customer_id="cus_2")
    episode, scored = play(bound, turn("refund", "I cancelled your plan.", refund(), peek))
    made = Result(bound, "agent", 1, episode, scored).to_json()
    assert made["verdict"] == "failed"
    assert [(item["code"], item["basis"]) for item in made["violations"]] == [
        ("wrong_subject", "effect"),
        ("false_claim", "text"),
    ]


def test_an_error_has_no_score(tmp_path: Path):
    """Where the infrastructure broke, the scoring part is empty and the cause is named."""
    bound = bind(tmp_path)
    episode = failed_before_start(bound, EpisodeError("refused", "no server", "start it"))
    made = Result(bound, "agent", 1, episode, None).to_json()
    assert (made["verdict"], made["strict"], made["dimensions"]) == ("error", None, {})
    assert made["error"] == {"cause": "refused", "message": "no server", "remedy": "start it"}


def test_the_header_is_written_once_by_threads_and_processes(tmp_path: Path):
    """Whoever comes first writes it; no line is lost or mixed with another."""
    path = tmp_path / "runs" / "r.jsonl"
    shared = ResultsFile(path, "r1", header())

    def work(start: int) -> None:
        for number in range(start, start + 25):
            shared.append({**line(number), "text": "x" * 5_000})

    def other(start: int) -> None:
        own = ResultsFile(path, "r1", header())
        for number in range(start, start + 25):
            own.append({**line(number), "text": "y" * 5_000})

    workers: list[Any] = [threading.Thread(target=work, args=(start,)) for start in (0, 25)]
    workers += [
        multiprocessing.get_context("fork").Process(target=other, args=(start,)) for start in (50, 75)
    ]
    for worker in reversed(workers):  # processes first, since a fork of many threads is no good
        worker.start()
    for worker in workers:
        worker.join(30)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(text)["type"] for text in lines] == ["run"] + ["episode"] * 100
    assert sorted(scenarios(path)) == sorted(f"S-{number}" for number in range(100))


def test_an_older_file_at_the_same_path_is_replaced(tmp_path: Path):
    """A new run never adds to an old one, whatever the old file holds."""
    path = tmp_path / "r.jsonl"
    for old in (b"", b"old text\n", b"\xff\xfe\n", dump(header("r0")()).encode() + dump(line(9)).encode()):
        path.write_bytes(old)
        ResultsFile(path, "r1", header()).append(line(1))
        assert read_run(path).run["run"] == "r1"
        assert scenarios(path) == ["S-1"]


def test_nothing_is_created_before_the_first_line(tmp_path: Path):
    """Collecting writes no file."""
    ResultsFile(tmp_path / "r.jsonl", "r1", header())
    assert list(tmp_path.iterdir()) == []


def test_lines_after_close_are_ignored(tmp_path: Path):
    """An abandoned thread may finish late; the file is closed by then."""
    results = ResultsFile(tmp_path / "r.jsonl", "r1", header())
    results.append(line(1))
    results.close()
    results.append(line(2))
    assert scenarios(results.path) == ["S-1"]


def test_a_killed_process_keeps_every_finished_line(tmp_path: Path):
    """After kill -9 all that was appended is there, and the file says that it is incomplete."""
    path = tmp_path / "r.jsonl"
    code = (
        "import sys, time, pathlib\n"
        "from pytest_supportbench.results_file import ResultsFile\n"
        "results = ResultsFile(pathlib.Path(sys.argv[1]), 'r1', lambda: {'type': 'run', 'run': 'r1'})\n"
        "for n in range(3):\n"
        "    results.append({'type': 'episode', 'agent': 'a', 'suite': 's', 'scenario': f'S-{n}', 'trial': 1})\n"
        "print('written', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        os.kill(process.pid, signal.SIGKILL)
    assert scenarios(path) == ["S-0", "S-1", "S-2"]
    assert not read_run(path).complete


def test_a_line_that_was_cut_is_left_out(tmp_path: Path):
    """A partial last line hides nothing before it, neither for readers nor for the closing line."""
    path = tmp_path / "r.jsonl"
    results = ResultsFile(path, "r1", header())
    for number in (1, 2):
        results.append(line(number))
    with path.open("ab") as file:
        file.write(dump(line(3)).encode()[:-20] + b"\xc3")
    assert scenarios(path) == ["S-1", "S-2"]
    assert closing(path, {"a/s/S-1/1"})["unreported"] == ["a/s/S-2/1"]


def test_unreported_episodes_are_marked(tmp_path: Path):
    """What ran ahead and no item reported is told apart; the closing line completes the file."""
    path = tmp_path / "r.jsonl"
    results = ResultsFile(path, "r1", header())
    for number in (1, 2):
        results.append(line(number))
    write_closing(path, closing(path, {"a/s/S-1/1"}))
    run = read_run(path)
    assert run.complete
    assert [episode.get("unreported", False) for episode in run.episodes] == [False, True]
    assert run.summary is not None
    assert run.summary["verdicts"] == {"passed": 2, "failed": 1, "error": 0}
    assert run.summary["episodes"] == 3


@pytest.mark.parametrize("text", ["", "hello\n", "[1]\n", "3\n", '{"type": "episode"}\n'], ids=range(5))
def test_a_file_that_is_no_results_file_is_refused(tmp_path: Path, text: str):
    """The error names the file and says what to name instead."""
    path = tmp_path / "r.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"r\.jsonl has no run line; name a file"):
        read_run(path)


def test_a_path_that_cannot_be_written_is_a_usage_error(tmp_path: Path):
    """The error names the path and the option."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path, tmp_path / "file" / "r.jsonl"):
        with pytest.raises(UsageError, match=r"cannot write the results file .*--supportbench-results"):
            ResultsFile(path, "r1", header()).append(line(1))


@pytest.fixture(params=[True, False], ids=["links", "no links"])
def _links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test where symbolic links can be made, and where they cannot."""

    def refuse(*_: Any) -> None:
        raise OSError

    if not request.param:
        monkeypatch.setattr(Path, "symlink_to", refuse)


@pytest.mark.usefixtures("_links")
def test_the_pointer_names_the_newest_run(tmp_path: Path):
    """last-run.jsonl leads to the newest run, with or without symbolic links, and git ignores the folder."""
    folder = tmp_path / ".supportbench"
    for number in (1, 2):
        path = folder / "runs" / f"{number}.jsonl"
        ResultsFile(path, f"r{number}", header(f"r{number}")).append(line(number))
        point_at(path, folder)
    assert scenarios(folder / "last-run.jsonl") == ["S-2"]
    assert (folder / ".gitignore").read_text(encoding="utf-8") == "*\n"


@pytest.mark.usefixtures("_links")
def test_runs_that_begin_at_once_leave_each_other_alone(tmp_path: Path):
    """The pointer names one of them, and no run's file is written over through it."""
    folder = tmp_path / ".supportbench"
    folder.mkdir()
    files = [folder / "1.jsonl", folder / "2.jsonl"]
    for number, path in enumerate(files, 1):
        ResultsFile(path, f"r{number}", header(f"r{number}")).append(line(number))

    def begin(path: Path) -> None:
        for _ in range(300):
            point_at(path, folder)

    with ThreadPoolExecutor(len(files)) as runs:
        list(runs.map(begin, files))
    assert [scenarios(path) for path in files] == [["S-1"], ["S-2"]]
    assert scenarios(folder / "last-run.jsonl") in (["S-1"], ["S-2"])
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore",
        "1.jsonl",
        "2.jsonl",
        "last-run.jsonl",
    ]


def test_the_run_line_says_what_was_run(tmp_path: Path, monkeypatch: Any):
    """Suites, agents, versions, platform, commit and settings are in it; git is not needed."""
    made = run_line([{"name": "s"}], [{"id": "a"}], run_id="r1", trials=3, limits=Limits(), root=tmp_path)
    assert made["settings"] == {"trials": 3, "max_turns": 6, "timeout": 120.0, "shard": None, "plan": None}
    assert (made["type"], made["run"], made["suites"], made["agents"]) == (
        "run",
        "r1",
        [{"name": "s"}],
        [{"id": "a"}],
    )
    assert made["git_commit"] is None

    def missing(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError("git")

    monkeypatch.setattr(module.subprocess, "run", missing)
    assert git_commit(tmp_path) is None


def test_the_commit_says_whether_it_was_changed(tmp_path: Path):
    """A dirty checkout is no commit that anybody else can check out."""

    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True)

    git("init")
    (tmp_path / "a").write_text("1", encoding="utf-8")
    git("add", "a")
    git("commit", "-m", "one")
    commit = git_commit(tmp_path)
    assert commit is not None
    assert len(commit) == 40
    (tmp_path / "a").write_text("2", encoding="utf-8")
    assert git_commit(tmp_path) == f"{commit}+dirty"


def test_writing_works_where_files_cannot_be_locked(tmp_path: Path, monkeypatch: Any):
    """Without file locks, as on Windows, one process still writes."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    results = ResultsFile(tmp_path / "r.jsonl", "r1", header())
    results.append(line(1))
    assert scenarios(results.path) == ["S-1"]


def test_appending_is_fast_enough_for_ten_thousand_episodes(tmp_path: Path):
    """A line costs far less than an episode."""
    results = ResultsFile(tmp_path / "r.jsonl", "r1", header())
    began = time.perf_counter()
    for number in range(500):
        results.append(line(number))
    assert (time.perf_counter() - began) / 500 < 0.002
