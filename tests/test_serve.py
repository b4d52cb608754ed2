"""Behaviour of ``supportbench serve``, driven as a person or a script would."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from desk import data, refund, write
from mcp_client import talk

from pytest_supportbench.cli import main
from pytest_supportbench.environment import Environment
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.protocol import McpAddress
from pytest_supportbench.serve import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAULTS = [
    {"tool": "issue_refund", "on_calls": [1], "kind": "timeout", "committed": True},
    {"tool": "add_note", "on_calls": [1], "kind": "unavailable"},
]
BACKGROUND = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
COMMAND = [sys.executable, "-m", "pytest_supportbench.cli", "serve"]


class Serving:
    """A running command: what it has said so far, and how it ends."""

    def __init__(self, *arguments: str, before: tuple[str, ...] = ()) -> None:
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([*before, *COMMAND, *arguments], **pipes)
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        self.said = "".join(lines)

    def address(self) -> McpAddress:
        """Return where it says that it serves."""
        found = re.search(r"^address: +(\S+)\nheader: +Authorization: Bearer (\S+)$", self.said, re.MULTILINE)
        assert found is not None, self.said
        return McpAddress(url=found[1], token=found[2])

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[str, str]:
        """Send a signal and return what was said after it, and on stderr."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path, data(faults=FAULTS))


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Return a running command for tests that only look at what it says."""
    served = Serving(str(write(tmp_path_factory.mktemp("idle"), data())))
    yield served
    served.end()


@pytest.fixture
def serve_by_hand() -> Iterator[Any]:
    """Return what starts the command; none outlives the test."""
    started: list[Serving] = []

    def start(*arguments: str, before: tuple[str, ...] = ()) -> Serving:
        started.append(Serving(*arguments, before=before))
        return started[-1]

    yield start
    for served in started:
        if served.process.poll() is None:
            served.process.kill()
            served.process.communicate()


@pytest.fixture
def serving(path: Path, serve_by_hand: Any) -> Serving:
    return serve_by_hand(str(path))


async def refund_twice(client: Any) -> list[Any]:
    """Refund, see the time-out, refund again, and call what there is not."""
    calls = [("issue_refund", refund()["arguments"])] * 2 + [("delete_everything", {"x": 1})]
    return [(await client.call_tool(*call)).structured_content for call in calls]


def test_it_says_what_a_client_needs(idle):
    """Address, header, tools, the customer's message and the account are printed at once."""
    assert "customer: I was charged twice again" in idle.said
    assert '"name": "Ann Example"' in idle.said
    assert "issue_refund" in idle.said


def test_its_configuration_connects_a_client(idle):
    """The JSON snippet holds what MCP clients want: the address and the header."""
    snippet = json.loads(idle.said[idle.said.index("{\n") : idle.said.rindex("}\n") + 2])
    server = snippet["mcpServers"]["supportbench"]
    header, address = server["headers"]["Authorization"], idle.address()
    assert (server["type"], server["url"], header) == ("http", address.url, f"Bearer {address.token}")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_its_curl_line_lists_the_tools(idle):
    """The command to try works as it is printed."""
    (line,) = re.findall(r"^curl .*$", idle.said, re.MULTILINE)
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True)
    names = [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]]
    assert "issue_refund" in names


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_report(serving, number):
    """Ctrl-C and a plain kill both say what was called, what came of it and which faults were met."""
    results = talk(serving.address(), refund_twice)
    assert [result["error"] and result["error"]["code"] for result in results] == [
        "timeout",
        "exceeds_refundable",
        "unknown_tool",
    ]
    out, err = serving.end(number)
    assert (serving.process.returncode, err) == (0, "")
    report = " ".join(out.split())
    assert report.startswith('3 calls → issue_refund {"charge_id": "ch_204"')
    assert "← error committed: timeout:" in report
    assert "(injected fault: timeout)" in report
    assert "← error: exceeds_refundable:" in report
    assert "← refused: unknown_tool:" in report
    assert "charges.ch_204.status: succeeded → refunded" in report
    assert "1 of 2 faults reached" in report
    assert "timeout of issue_refund: by its call 1 unavailable of add_note: not reached" in report


def test_the_report_has_no_token(serving):
    """A token that a client puts into arguments is blanked in what is printed at the end, as in runs."""
    address = serving.address()

    async def work(client):
        await client.call_tool("add_note", {"customer_id": "cus_1", "text": f"Bearer {address.token}"})

    talk(address, work)
    out, _ = serving.end()
    assert ("Bearer ***" in " ".join(out.split()), address.token in out) == (True, False)


def test_a_job_in_the_background_ends_by_the_same_signal(path, serve_by_hand):
    """A shell has background jobs ignore Ctrl-C; the command listens all the same, and says that nothing was done."""
    served = serve_by_hand(str(path), before=(sys.executable, "-c", BACKGROUND))
    out, err = served.end()
    assert (served.process.returncode, err) == (0, "")
    assert out.split("\n")[1:3] == ["no calls", "no changes"]


def test_parts_are_taken_away_with_their_tools(tmp_path, serve_by_hand):
    """``--without`` serves what an agent of that ablation gets."""
    path = write(tmp_path, data(tools=["issue_refund", "search_knowledge"]))
    whole, served = serve_by_hand(str(path)), serve_by_hand(str(path), "--without", "knowledge,memory")
    assert ("search_knowledge" in whole.said, "search_knowledge" in served.said) == (True, False)


def test_a_chosen_port_is_used_and_given_back(path, serve_by_hand):
    """``--port`` serves there, so that a client's configuration can stay."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    served = serve_by_hand(str(path), "--port", str(port))
    assert f"http://127.0.0.1:{port}/mcp" in served.said
    served.end()
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_taken_port_is_named(path, capsys):
    """A port in use is wrong usage, in one sentence."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert main(["serve", str(path), "--port", str(port)]) == 4
    assert capsys.readouterr().err.startswith(f"supportbench: port {port} of 127.0.0.1 cannot be used: Addr")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.scenario.yaml"], "gone.scenario.yaml does not exist; name one scenario file"),
        (["."], ". is a folder; name one scenario file"),
        ([os.devnull], f"{os.devnull} is no file; name one scenario file"),
        (["x", "--without="], "'' is no part; write some of memory, knowledge, policies"),
        (["x", "--without", "memory,"], "'' is no part; write some of memory, knowledge, policies"),
        (["x", "--without", "all"], "'all' is no part; write some of memory, knowledge, policies"),
        (["x", "--port", "http"], "invalid int value: 'http'"),
    ],
)
def test_wrong_usage_is_told_apart(tmp_path, monkeypatch, capsys, arguments, said):
    """What cannot be served exits with 4 and says what to write."""
    monkeypatch.chdir(tmp_path)
    try:
        code: Any = main(["serve", *arguments])
    except SystemExit as error:
        code = error.code
    assert code == 4
    assert said in capsys.readouterr().err


def test_a_broken_scenario_shows_its_problems(tmp_path, capsys):
    """Every mistake in the file is named at its place, and nothing is served."""
    path = write(tmp_path, data(as_of="yesterday", tools=["issue_refunds"]))
    assert main(["serve", str(path)]) == 1
    err = capsys.readouterr().err
    assert re.search(r"a\.scenario\.yaml:\d+:\d+: as_of: ", err)
    assert re.search(r"a\.scenario\.yaml:\d+:\d+: tools\[0\]: ", err)


def test_a_toolset_that_breaks_is_told_after_the_report(path, monkeypatch):
    """What was called is still said, and then what broke, which makes exit code 1."""

    def crash(*_: Any) -> None:
        raise ToolsetError("the tool 'issue_refund' crashed")

    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 1:
            found = re.search(r"^address: +(\S+)\nheader: +Authorization: Bearer (\S+)$", text, re.MULTILINE)
            address = McpAddress(url=found[1], token=found[2])
            monkeypatch.setattr(Environment, "call", crash)
            said.append(talk(address, refund_twice)[0]["error"]["code"])
            raise KeyboardInterrupt

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(ToolsetError, match="issue_refund"):
        serve(path, say)
    assert (said[1], said[2].split("\n")[1]) == ("toolset", "no calls")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert "supportbench-mcp" not in {thread.name for thread in threading.enumerate()}
