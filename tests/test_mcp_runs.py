"""Behaviour of agents that get their tools over MCP, in whole runs of pytest."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_client import Player, serving
from projects import last_run, project

TESTS = Path(__file__).parent
SUITE = TESTS.parent / "scenarios" / "tinybench-50"
VERIFIED = Path("identity-and-permissions") / "old-contact-data-still-works.scenario.yaml"
HTTP = "kind: {kind}\ntarget: {target!r}\noptions: {{mcp: true}}\n"

COMMAND = """
import json, sys
from pathlib import Path
from mcp_client import Player

player = Player(Path({folder!r}))
for line in sys.stdin:
    print(json.dumps(player.reply(json.loads(line))), flush=True)
"""

TELLTALE = """
import json, sys

for line in sys.stdin:
    token = json.loads(line)["mcp"]["token"]
    print("connected with", token, file=sys.stderr, flush=True)
    Path({seen!r}).open("a").write(token + "\\n")
    print(json.dumps({{"action": "decline", "message": "No. " + token}}), flush=True)
"""


HANGING = """
import json, sys, time
from mcp_client import talk
from pytest_supportbench.protocol import McpAddress

async def work(client):
    await client.call_tool("update_contact", {"customer_id": "cus_1", "email": "new@example.com"})

for line in sys.stdin:
    talk(McpAddress.model_validate(json.loads(line)["mcp"]), work)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _findable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that a run starts import what the tests here share."""
    found = os.pathsep.join(filter(None, (str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", found)


@pytest.fixture
def references(pytester: pytest.Pytester) -> Path:
    """Return a folder with a part of the bundled suite: faults of every kind, and a change that needs proof."""
    folder = pytester.path / "cases"
    shutil.copytree(SUITE / "recovery", folder)
    for path in (SUITE / VERIFIED, *SUITE.glob("*.yaml")):
        shutil.copy(path, folder)
    (pytester.path / "pytest.toml").write_text("[pytest]\nstrict = true\n", encoding="utf-8")
    return folder


def agent_file(pytester: pytest.Pytester, kind: str, target: str) -> str:
    """Write an agent file that asks for MCP, and return the option that names it."""
    (pytester.path / f"loop-{kind}.yaml").write_text(HTTP.format(kind=kind, target=target), encoding="utf-8")
    return f"--supportbench-agent=loop-{kind}.yaml"


def judged(run: Any, agent: str) -> dict[str, Any]:
    """Return what each scenario's episode came to, with the calls that were made."""
    return {
        line["scenario"]: (
            line["verdict"],
            line["escalation_class"],
            {name: found["checks"] for name, found in line["dimensions"].items() if name != "explanation"},
            [(call["tool"], call["arguments"], call["status"]) for call in line["calls"]],
        )
        for line in run.episodes
        if line["agent"] == agent
    }


def assert_equal_to_the_oracle(pytester: pytest.Pytester, agent: str) -> None:
    """Assert that an agent's checks and calls are those of the oracle, and its calls steps of their own."""
    run = last_run(pytester)
    assert judged(run, agent) == judged(run, "oracle")
    for line in run.episodes:
        if line["agent"] == agent:
            live = [number for number, turn in enumerate(line["turns"], start=1) if turn["live"]]
            assert [call["turn"] for call in line["calls"]] == live


def files(folder: Path) -> str:
    """Return what every file below a folder holds."""
    return "\n".join(
        path.read_bytes().decode("latin-1") for path in sorted(folder.rglob("*")) if path.is_file()
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_an_http_agent_with_its_own_tool_loop_scores_like_the_oracle(pytester, references, workers):
    """Its calls over MCP get the checks of the same calls in turns, and nothing of the server stays behind."""
    seen: list[dict[str, Any]] = []
    player = Player(references)

    def reply(observation: dict[str, Any]) -> Any:
        seen.append(observation["mcp"])
        return player.reply(observation)

    with serving(reply) as url:
        agent = agent_file(pytester, "http", url)
        result = pytester.runpytest_subprocess(
            "cases",
            *workers,
            agent,
            "--supportbench-agent=oracle",
            "-rA",
            "--log-level=DEBUG",
            "--junitxml=junit.xml",
            "--html=report.html",
            "--self-contained-html",
        )
    assert result.ret == 0, result.stdout.str()
    assert_equal_to_the_oracle(pytester, "loop-http")
    text = result.stdout.str() + result.stderr.str() + files(pytester.path)
    assert not any(address["token"] in text for address in seen)
    for url in {address["url"] for address in seen}:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(url.split(":")[2].partition("/")[0])))
    assert "uvicorn" not in result.stdout.str()


def test_a_command_with_its_own_tool_loop_scores_like_the_oracle(pytester, references):
    """A process finds the address in the line that it reads, and works there before it answers."""
    (pytester.path / "loop.py").write_text(COMMAND.format(folder=str(references)), encoding="utf-8")
    agent = agent_file(pytester, "command", shlex.join([sys.executable, "loop.py"]))
    result = pytester.runpytest_subprocess("cases", agent, "--supportbench-agent=oracle")
    assert result.ret == 0, result.stdout.str()
    assert_equal_to_the_oracle(pytester, "loop-command")


def test_what_an_agent_did_before_it_hangs_is_judged(pytester):
    """A program that makes a forbidden call over MCP and then hangs fails policy, and not only by the clock."""
    project(pytester, (1,))
    (pytester.path / "loop.py").write_text(HANGING, encoding="utf-8")
    agent = agent_file(pytester, "command", shlex.join([sys.executable, "loop.py"]))
    result = pytester.runpytest_subprocess("desk", agent, "--supportbench-timeout=12")
    assert result.ret == 1, result.stdout.str()
    (line,) = last_run(pytester).episodes
    assert [(call["tool"], call["status"]) for call in line["calls"]] == [("update_contact", "refused")]
    assert (line["ending"], line["dimensions"]["policy"]["passed"]) == ("time_limit", False)


def test_agents_that_repeat_their_token_do_not_publish_it(pytester):
    """Replies, crashes and what a process writes to stderr are stored and shown without it."""
    project(pytester, (1, 2))
    seen: list[str] = []

    def reply(observation: dict[str, Any]) -> Any:
        seen.append(observation["mcp"]["token"])
        if len(seen) > 1:
            raise ValueError(f"cannot use {seen[-1]}")
        return {"action": "decline", "message": f"No. {seen[-1]}"}

    notes = pytester.path / "seen.txt"
    script = "from pathlib import Path\n" + TELLTALE.format(seen=str(notes))
    (pytester.path / "loop.py").write_text(script, encoding="utf-8")
    with serving(reply) as url:
        agents = [
            agent_file(pytester, "http", url),
            agent_file(pytester, "command", shlex.join([sys.executable, "loop.py"])),
        ]
        result = pytester.runpytest_subprocess("desk", *agents, "--html=report.html", "--junitxml=junit.xml")
    assert result.ret == 1
    tokens = [*seen, *notes.read_text(encoding="utf-8").split()]
    notes.unlink()
    assert len(set(tokens)) == len(tokens) == 4
    text = result.stdout.str() + result.stderr.str() + files(pytester.path)
    assert not any(token in text for token in tokens)
    for phrase in ("No. ***", "connected with ***", "cannot use ***"):
        assert phrase in text
