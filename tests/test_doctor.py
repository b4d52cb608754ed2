"""``supportbench doctor``: whether an agent is wired up, in words and by exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fake_http import served
from fake_ollama import DIGEST, FakeOllama
from fake_openai import FakeOpenAI
from projects import scenario, suite

from pytest_supportbench.agents.prompting import default_prompt
from pytest_supportbench.cli import main

AGENTS = """
import os
import sys
import time


def good(observation):
    return {"action": "answer", "message": "We are open from nine to five."}


def bad(observation):
    return {"action": "decline", "message": "No."}


async def good_async(observation):
    return good(observation)


def garbage(observation):
    return "hello"


def crash(observation):
    print("printed by the agent")
    raise RuntimeError("the shop is closed " + os.environ.get("SHOP_API_KEY", ""))


def leave(observation):
    sys.exit(3)


def hang(observation):
    time.sleep(60)


def clumsy(observation):
    if not observation.transcript:
        return {"tool_calls": [{"tool": "no_such_tool", "arguments": {}}]}
    return "what?" if len(observation.transcript) == 2 else good(observation)


def noisy(observation):
    red = "\\x1b[31mred\\x07"
    return {"action": "decline", "message": red, "tool_calls": [{"tool": red, "arguments": {}}]}


def needs_server(observation):
    from pytest_supportbench.errors import InfrastructureError

    raise InfrastructureError("shop_down", "the shop does not answer", "start the shop")


async def needs_server_async(observation):
    return needs_server(observation)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder, with agents and a scenario in it."""
    suite(tmp_path / "desk")
    scenario(tmp_path / "desk", 1)
    (tmp_path / "doctor_agents.py").write_text(AGENTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "doctor_agents", raising=False)
    return tmp_path


@pytest.fixture
def doctor(capsys):
    """Return a function that runs the command and returns its exit code and all that it printed, blanks collapsed."""

    def run(spec: str, *args: str) -> tuple[int, str]:
        code = main(["doctor", spec, *args])
        return code, " ".join("".join(capsys.readouterr()).split())

    return run


DESK = ("--scenario", "desk/case001.scenario.yaml")


@pytest.mark.parametrize("name", ["good", "good_async"])
def test_an_agent_that_passes_is_wired_up(folder, doctor, name):
    """A passed scenario is exit code 0, with what was used and what it took."""
    code, text = doctor(f"python:doctor_agents:{name}", *DESK)
    assert code == 0
    assert text.endswith("WIRED UP. It passed the scenario.")
    assert f"agent python:doctor_agents:{name} kind python target doctor_agents:{name} module sha256 " in text
    window = "8 episodes" if name == "good_async" else "1 episode"
    assert f"window {window} at a time limits 120 s and 6 turns an episode check found nothing wrong" in text
    assert "scenario TB-001 Asks for the opening hours" in text
    assert "verdict passed ended acted turns 1 tool calls none tokens none reported seconds 0" in text


def test_a_failed_scenario_is_a_finding_and_no_fault_of_the_wiring(folder, doctor):
    """An agent that replies and fails is wired up: exit code 0, with the usual text of the failure."""
    code, text = doctor("python:doctor_agents:bad", *DESK)
    assert code == 0
    assert "verdict failed" in text
    assert "✗ resolution: action expected answer actual decline" in text
    assert text.endswith("WIRED UP. It failed the scenario, which is a finding about the agent.")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "garbage",
            ["turn 1: invalid reply: the reply is no JSON", "its replies were no turns", "schema turn"],
        ),
        ("crash", ["RuntimeError: the shop is closed", "printed by the agent", "it crashed or refused"]),
        ("leave", ["SystemExit: 3", "it crashed or refused"]),
    ],
)
def test_replies_that_are_none_are_not_wired_up(folder, doctor, name, parts):
    """Garbage, a crash and an exit are exit code 1, with what came and what to do."""
    code, text = doctor(f"python:doctor_agents:{name}", *DESK)
    assert code == 1
    assert "NOT WIRED UP" in text
    assert "remedy mend" in text
    for part in parts:
        assert part in text


def test_an_agent_that_hangs_is_given_up(folder, doctor):
    """A call that never returns ends with the time limit, and the advice names the option."""
    code, text = doctor("python:doctor_agents:hang", *DESK, "--supportbench-timeout=0.2")
    assert code == 1
    assert "NOT WIRED UP: it took too long. remedy make it faster, or give it more time with" in text
    assert text.endswith("--supportbench-timeout")


def test_slips_on_the_way_are_noted(folder, doctor):
    """A call of a tool that does not exist and one reply that is no turn do not hide behind a pass."""
    code, text = doctor("python:doctor_agents:clumsy", *DESK)
    assert code == 0
    assert "tool calls 1 (no_such_tool)" in text
    assert "note: turn 2 was no turn: the reply is no JSON" in text
    assert "note: no_such_tool: unknown_tool" in text
    assert text.endswith("WIRED UP. It passed the scenario.")


def test_the_infrastructure_is_told_from_the_agent(folder, doctor):
    """An infrastructure error is exit code 10 with cause, message and remedy, before or during the episode."""
    for name in ("needs_server", "needs_server_async"):
        code, text = doctor(f"python:doctor_agents:{name}", *DESK)
        assert code == 10
        assert "verdict error" in text
        assert text.endswith(
            "NOT WIRED UP: something beside the agent is broken. cause shop_down what is wrong the shop does not "
            "answer remedy start the shop"
        )
    code, text = doctor("ollama:m?host=http://127.0.0.1:9", *DESK)
    assert code == 10
    assert "cause connection_refused" in text
    assert "remedy start the server with: ollama serve" in text
    assert "verdict" not in text


@pytest.mark.parametrize(
    ("number", "remedy"), [(429, "wait, raise its limit"), (503, "wait until it has started")]
)
def test_a_server_without_room_is_no_agent_to_mend(folder, doctor, number, remedy):
    """For a limit of the server's the remedy is about the limit, and not to mend the agent."""
    with served(lambda request: request.send(number, "later")) as server:
        text = f"kind: http\ntarget: {server.url}\noptions: {{retries: 0}}\n"
        (folder / "desk.yaml").write_text(text, encoding="utf-8")
        code, text = doctor("desk.yaml", *DESK)
    assert code == 1
    assert f"status {number}" in text
    assert "NOT WIRED UP: its server refused the request. remedy the server " in text
    assert remedy in text
    assert "mend" not in text


def test_a_model_server_is_described_and_asked(folder, doctor):
    """The model's digest, the host, the prompt and the options in force are shown, and one scenario is run."""
    (folder / "agents").mkdir()
    (folder / "agents" / "desk.md").write_text("Be kind.", encoding="utf-8")
    reply = json.dumps({"action": "answer", "message": "We are open from nine to five.", "tool_calls": []})
    with FakeOllama(lambda _body: reply) as server:
        (folder / "agents" / "desk.yaml").write_text(
            f"kind: ollama\nmodel: m\noptions: {{host: '{server.host}', num_ctx: 4096}}\nprompt: desk.md\n",
            encoding="utf-8",
        )
        code, text = doctor("agents/desk.yaml", *DESK)
        assert code == 0, text
        assert f"kind ollama model m model digest {DIGEST} host {server.host}" in text
        assert "prompt path" in text
        assert "desk.md" in text
        assert default_prompt() not in text
        assert "num_ctx=4096; num_predict=1024 (default)" in text
        assert "completion seconds" in text
        code, text = doctor(f"ollama:nothere?host={server.host}", *DESK)
        assert code == 10
        assert "cause model_missing" in text
        assert "ollama pull nothere" in text


def test_what_a_server_says_of_itself_with_its_first_answer_is_told_after_it(folder, capsys, monkeypatch):
    """Served model and fingerprint are named once they are known, labels stand clear, and lines stay short."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    reply = json.dumps({"action": "answer", "message": "We are open from nine to five.", "tool_calls": []})
    with FakeOpenAI(lambda _body: reply) as server:
        assert main(["doctor", f"openai:m?base_url={server.url}", *DESK]) == 0
        out = capsys.readouterr().out
        before, _, after = out.partition("verdict ")
        assert "served model" not in before
        assert "\nserved model        m-2026-03-14\nsystem fingerprint  fp_1\n" in after
        assert "key from the environment variable OPENAI_API_KEY, which is NOT SET" in " ".join(
            before.split()
        )
        monkeypatch.setenv("DESK_KEY", "sk-11112222333344")
        main(["doctor", f"openai:m?key_env=DESK_KEY&base_url={server.url}", *DESK])
        assert "key from the environment variable DESK_KEY, which is set" in " ".join(
            capsys.readouterr().out.split()
        )
    assert max(len(line) for line in out.splitlines() if " " in line.strip()[20:]) <= 80


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ("", ["try the option mode=tools", "the other value of strict"]),
        ("&mode=tools", ["try the option mode=schema"]),
    ],
)
def test_a_model_that_ignores_the_schema_is_not_for_its_user_to_mend(folder, doctor, options, parts):
    """Who runs a model is told which options to try, and not to mend what the model sends."""
    with FakeOpenAI(lambda _body: "Sure! I am happy to help.") as server:
        code, text = doctor(f"openai:m?base_url={server.url}{options}", *DESK)
    assert code == 1
    for part in parts:
        assert part in text.partition("NOT WIRED UP")[2]
    assert "mend what it sends" not in text
    with FakeOllama(lambda _body: "Sure!") as server:
        code, text = doctor(f"ollama:m?host={server.host}", *DESK)
    assert code == 1
    assert "a newer Ollama, or another model" in text


def test_a_program_that_waits_for_the_end_of_its_input_is_told_not_to(folder, doctor):
    """It gets its request, and never an end of input, so a time-out says what a program must not wait for."""
    (folder / "bot.py").write_text("import sys\nsys.stdin.read()\n", encoding="utf-8")
    code, text = doctor(f"command:{sys.executable} bot.py", *DESK, "--supportbench-timeout=1")
    assert code == 1
    assert "read one line, and do not wait for the end of input" in text


def test_an_ablation_is_shown(folder, doctor):
    """What the agent does not get to see is among what it would use."""
    _, text = doctor("python:doctor_agents:good?without=memory,knowledge", *DESK)
    assert "options none without knowledge, memory window" in text


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("rulse", ["did you mean 'rules'?", "only pytest knows it", "--supportbench-agent=rulse"]),
        ("our-desk", ["'our-desk' is no kind of agent and no agent file.", "a hook or a fixture"]),
        ("ollama", ["kind 'ollama' needs a target"]),
        ("ollama:m?sed=3", ["no option 'sed'", "seed"]),
        ("agents/none.yaml", ["there is no file"]),
        ("python:no_such_module:reply", ["no_such_module"]),
        ("python:doctor_agents:nobody", ["nobody"]),
        ("broken.yaml", ["broken.yaml: kind: 'olama' is no kind"]),
    ],
)
def test_a_wrong_spec_is_wrong_usage(folder, doctor, spec, parts):
    """A spec that is wrong or cannot become an agent is exit code 4 with what is wrong."""
    (folder / "broken.yaml").write_text("kind: olama\n", encoding="utf-8")
    code, text = doctor(spec, *DESK)
    assert code == 4, text
    assert text.startswith("supportbench: ")
    for part in parts:
        assert part in text


@pytest.mark.parametrize("path", ["desk/none.scenario.yaml", "desk", "broken.scenario.yaml"])
def test_a_scenario_that_cannot_be_used_is_wrong_usage(folder, doctor, path):
    """A missing scenario, a folder and a broken file are exit code 4, named, and no traceback."""
    (folder / "broken.scenario.yaml").write_text("id: 3\n", encoding="utf-8")
    code, text = doctor("rules", "--scenario", path)
    assert code == 4
    assert path in text


def test_without_a_scenario_a_bundled_one_is_run(folder, doctor):
    """In a folder that has none, a short scenario of TinyBench-50 is taken, and the oracle passes it with a call."""
    code, text = doctor("oracle")
    assert code == 0
    assert "scenario TB-001" in text
    assert "tool calls 1 (issue_refund)" in text
    assert text.endswith("WIRED UP. It passed the scenario.")


def test_the_root_is_where_files_and_modules_are_looked_for(folder, doctor, monkeypatch):
    """From anywhere else, --root names the project."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (folder / "rooted_agent.py").write_text(AGENTS, encoding="utf-8")
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if Path(path) != folder])
    code, text = doctor("python:rooted_agent:good", "--root", str(folder), "--scenario", f"../{DESK[1]}")
    assert code == 0, text


def test_secrets_are_never_printed(folder, doctor, monkeypatch):
    """Keys of the environment, passwords in addresses and secret options are blanked wherever they come up."""
    monkeypatch.setenv("SHOP_API_KEY", "sk-11112222333344")
    _, text = doctor("python:doctor_agents:crash", *DESK)
    assert "the shop is closed ***" in text
    (folder / "shut_agents.py").write_text(
        "import os\nraise RuntimeError(os.environ['SHOP_API_KEY'])\n", encoding="utf-8"
    )
    secrets = ("hunter2hunter2", "sk-11112222333344")
    specs: list[Any] = [
        "ollama:m?host=http://ann:hunter2hunter2@127.0.0.1:9",
        "python:doctor_agents:nobody?api_key=hunter2hunter2",
        "python:shut_agents:reply",
        "ollama:m?host=http://127.0.0.1:9/sk-11112222333344",
        "http://ann:hunter2hunter2@127.0.0.1:9/reply?key=sk-11112222333344",
    ]
    for spec in specs:
        _, text = doctor(spec, *DESK)
        assert not [secret for secret in secrets if secret in text], text


def test_a_secret_that_a_line_would_cut_is_blanked_as_a_whole(folder, capsys):
    """What is shown is blanked before it is wrapped, wherever the end of a line would be."""
    with FakeOpenAI(lambda _: "{}") as server:
        server.models_status = 401
        for size in range(2, 34, 2):
            base = f"{server.url}/{'x' * size}?token=Qtok%2Fqvj%2Bzz%26w1"
            main(["doctor", f"openai:m?retries=0&base_url={quote(base, safe='')}", *DESK])
            text = capsys.readouterr().out
            assert "***" in text
            assert not [part for part in ("Qtok", "Fqvj", "Bzz", "26w1") if part in text], text


def test_what_an_agent_says_cannot_steer_the_terminal(folder, capsys):
    """Control characters of replies come out as visible marks."""
    main(["doctor", "python:doctor_agents:noisy", *DESK])
    main(["doctor", "ollama:\x1b[31m\x07?host=http://127.0.0.1:9", *DESK])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_the_command_runs_without_pytest(folder):
    """As a command of its own it leaves with the exit code, imports no pytest and leaves no thread behind."""
    code = (
        "import sys, threading; from pytest_supportbench.cli import main; "
        f"code = main(['doctor', 'python:doctor_agents:good_async', *{DESK!r}]); "
        "print('pytest' in sys.modules, [t.name for t in threading.enumerate() if not t.daemon]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False ['MainThread']"


@pytest.mark.parametrize("text", ["0", "-1", "inf", "soon"])
def test_a_time_limit_that_is_none_is_wrong_usage(folder, text, capsys):
    """The limit is a number of seconds above 0."""
    with pytest.raises(SystemExit) as left:
        main(["doctor", "rules", f"--supportbench-timeout={text}"])
    assert left.value.code == 4
    assert "--supportbench-timeout" in capsys.readouterr().err
