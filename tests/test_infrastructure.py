"""A broken model server is an error with a cause and a remedy, never a failed agent, and the run ends with 10."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fake_ollama import FakeOllama
from pilot import ROOT, command, episodes


def run(spec: str, results: Path, *extra: str) -> tuple[int, str, list[dict[str, Any]], float]:
    """Run the pilot with an agent; return exit code, output, episode lines and seconds."""
    start = time.perf_counter()
    done = subprocess.run(
        command(spec, results, *extra), cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    seconds = time.perf_counter() - start
    return done.returncode, done.stdout, episodes(results), seconds


def assert_all_errors(outcome: Any, cause: str, remedy: str) -> None:
    code, output, lines, _ = outcome
    assert code == 10, output[-3000:]
    assert {line["verdict"] for line in lines} == {"error"}
    assert {line["error"]["cause"] for line in lines} == {cause}
    plain = re.sub(r"\s+", " ", output)
    assert f"infrastructure error: {cause} ×{len(lines)}" in plain
    assert remedy in plain
    assert "Traceback" not in output


def test_a_stopped_server_names_the_command_that_starts_it(tmp_path: Path) -> None:
    """Nothing listens: one check says so for every scenario, at once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outcome = run(f"ollama:m?host=http://127.0.0.1:{port}", tmp_path / "r.jsonl")
    assert_all_errors(outcome, "connection_refused", "ollama serve")
    assert len(outcome[2]) == 10


def test_a_missing_model_names_the_pull_command(tmp_path: Path) -> None:
    """The server runs without the model: the remedy is the command that fetches it, and no chat is tried."""
    with FakeOllama() as server:
        outcome = run(f"ollama:absent:7b?host={server.host}", tmp_path / "r.jsonl")
        assert server.requests == []
    assert_all_errors(outcome, "model_missing", "ollama pull absent:7b")


@pytest.mark.parametrize(
    ("fault", "cause", "remedy"),
    [("html", "not_json", "host"), ("length", "reply_truncated", "num_predict")],
)
def test_a_spoilt_answer_has_its_own_cause(tmp_path: Path, fault: str, cause: str, remedy: str) -> None:
    """HTML in place of JSON and a reply cut at its token limit are told apart, and five of them stop the asking."""
    with FakeOllama() as server:
        server.fault = fault
        outcome = run(f"ollama:m?host={server.host}&num_ctx=32768", tmp_path / "r.jsonl")
        asked = len(server.requests)
    assert_all_errors(outcome, cause, remedy)
    assert asked <= 6
    assert len(outcome[2]) == 10


def test_a_hanging_server_is_given_up_within_its_time_out(tmp_path: Path) -> None:
    """A server that never answers costs its time-out, not the run."""
    with FakeOllama() as server:
        server.fault = "hang"
        outcome = run(
            f"ollama:m?host={server.host}&num_ctx=32768&timeout=0.5",
            tmp_path / "r.jsonl",
            "-k",
            "TB-001 or TB-002",
        )
    assert_all_errors(outcome, "time_out", "timeout")
    assert outcome[3] < 30


def test_failures_win_over_errors(tmp_path: Path) -> None:
    """Where one agent fails scenarios and another's server is down, the run has failed."""
    results = tmp_path / "r.jsonl"
    code, output, lines, _ = run(
        "do-nothing", results, "--supportbench-agent=ollama:m?host=http://127.0.0.1:9", "-k", "TB-001"
    )
    assert code == 1, output
    assert {line["verdict"] for line in lines} == {"failed", "error"}
