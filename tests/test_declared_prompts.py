"""What an agent's code reads by itself and an agent file declares: the gate, A/A and cassettes see its changes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import scipy.stats
import statsmodels.stats.api
from projects import last_run, project, start

from pytest_supportbench.agents import AgentSpec, make_agent, parse_spec
from pytest_supportbench.agents.base import BaseAgent, file_digest, portable, sha256
from pytest_supportbench.cassette_key import digests, folder_name
from pytest_supportbench.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

PRELOADED = (scipy.stats, statsmodels.stats.api)
"""numpy cannot be loaded twice in one process, and pytester forgets what a run in this process loaded."""

AGENT = "--supportbench-agent=agents/desk.yaml"
CASSETTE = "--supportbench-cassette=tapes"
NONE = "--supportbench-record=none"

PROMPTED = """

def prompted(observation):
    \"\"\"Answers well if its prompt says so; it reads that by itself.\"\"\"
    with open("agents/prompt.md") as file:
        return GOOD if "kind" in file.read() else BAD
"""


def agent_file(folder: Path, text: str, **prompts: str) -> AgentSpec:
    """Write an agent file and the files of prompts beside it, and return its spec."""
    (folder / "agents").mkdir(exist_ok=True)
    (folder / "agents" / "desk.yaml").write_text(text, "utf-8")
    for name, prompt in prompts.items():
        (folder / "agents" / f"{name}.md").write_text(prompt, "utf-8")
    return parse_spec("agents/desk.yaml", folder)


def prompted(pytester: pytest.Pytester, prompt: str = "Be kind.") -> None:
    """Make a project whose agent reads a prompt that its agent file declares."""
    project(pytester, (1, 2), PROMPTED)
    agent_file(
        pytester.path, "kind: python\ntarget: desk_agents:prompted\nprompt: prompt.md\n", prompt=prompt
    )


@pytest.mark.parametrize(
    "kind",
    [
        "kind: command\ntarget: python bot.py\n",
        "kind: http\ntarget: http://127.0.0.1:9/reply\n",
        "kind: https\ntarget: https://desk.example.com/reply\n",
        "kind: python\ntarget: json:dumps\n",
    ],
)
def test_the_fingerprint_has_the_prompt_that_own_code_reads(tmp_path, kind):
    """A changed prompt is another fingerprint, hashed as the prompts of models are; without one nothing is added."""
    before = agent_file(tmp_path, f"{kind}prompt: p.md\n", p="Be kind.\r\n")
    made = make_agent(before, tmp_path).fingerprint()
    assert made["prompt_sha256"] == sha256("Be kind.")
    assert made["prompt_path"] == str(tmp_path / "agents" / "p.md")
    after = agent_file(tmp_path, f"{kind}prompt: p.md\n", p="Be brief.")
    assert make_agent(after, tmp_path).fingerprint() == {**made, "prompt_sha256": sha256("Be brief.")}
    assert not {"prompt_sha256", "prompt_path"} & set(
        make_agent(agent_file(tmp_path, kind), tmp_path).fingerprint()
    )


@pytest.mark.parametrize(
    ("kind", "module"), [("pydantic-ai", "pydantic_ai"), ("langchain", "langchain_core.runnables")]
)
def test_agents_of_frameworks_declare_prompts_too(tmp_path, monkeypatch, kind, module):
    """Their fingerprints have the prompt beside what they have of their module."""
    pytest.importorskip(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"declared_{kind.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(
        "from pydantic_ai import Agent\nagent = Agent('test')\n"
        if kind == "pydantic-ai"
        else "from langchain_core.runnables import RunnableLambda\nagent = RunnableLambda(lambda said: said)\n"
    )
    spec = agent_file(tmp_path, f"kind: {kind}\ntarget: {name}:agent\nprompt: p.md\n", p="Be kind.")
    made = make_agent(spec, tmp_path).fingerprint()
    assert made["prompt_sha256"] == sha256("Be kind.")
    assert made["module_sha256"]


def test_several_files_are_one_prompt(tmp_path):
    """A list of paths is read in its order, for code of one's own and for models alike; a change of any is seen."""
    for kind in ("kind: python\ntarget: m:f\n", "kind: ollama\nmodel: m\n"):
        spec = agent_file(tmp_path, f"{kind}prompt: [a.md, b.md]\n", a="Be kind.\n", b="Be brief.\n")
        assert spec.prompt == "Be kind.\n\nBe brief."
        folder = tmp_path / "agents"
        assert spec.prompt_path == f"{folder / 'a.md'}, {folder / 'b.md'}"


def test_only_what_is_sent_to_a_model_has_a_bound(tmp_path):
    """What code of one's own reads may be longer than any context; how much of it is used is its own affair."""
    spec = agent_file(tmp_path, "kind: python\ntarget: m:f\nprompt: p.md\n", p="x" * 100_001)
    assert spec.prompt is not None
    assert len(spec.prompt) == 100_001


def test_the_gate_shows_a_changed_prompt_and_judges_it(pytester, plain, capsys):
    """The prompt is what is compared, so it is told and not refused; A/A refuses runs of two prompts."""
    prompted(pytester)
    plain(AGENT, "--supportbench-trials=2", "--supportbench-results=before.jsonl")
    assert main(["baseline", "set", str(pytester.path / "before.jsonl"), "baseline.json"]) == 0
    prompted(pytester, "Be kind. Be brief.")
    gated = (AGENT, "--supportbench-trials=2", "--supportbench-baseline=baseline.json")
    result = plain(*gated, "--supportbench-results=after.jsonl")
    result.stdout.fnmatch_lines([f"*agent: prompt sha256: {sha256('Be kind.')[:20]}*"])
    assert result.ret == 0
    capsys.readouterr()
    assert main(["aa", "before.jsonl", "after.jsonl"]) == 4
    assert "runs of different agents (prompt sha256: " in capsys.readouterr().err
    prompted(pytester, "Be rude.")
    process = start(pytester, *gated)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    assert "prompt sha256: " in out


def test_a_missing_prompt_is_told_before_anything_runs(pytester, plain):
    """The error names the agent file, the field and the path."""
    prompted(pytester)
    (pytester.path / "agents" / "prompt.md").unlink()
    result = plain(AGENT)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*desk.yaml: prompt: cannot read '*prompt.md' (No such file*check the path*"]
    )


def test_cassettes_keep_their_key_and_see_a_changed_prompt(pytester, plain):
    """The recording stays where it was; ``none`` refuses replies to another prompt, and ``auto`` asks anew."""
    prompted(pytester)
    plain(AGENT, CASSETTE)
    folders = sorted(path.name for path in (pytester.path / "tapes").iterdir())
    assert plain(AGENT, CASSETTE, NONE).ret == 0
    assert last_run(pytester).run["agents"][0]["digest_checked"] == "prompt and module file only"
    prompted(pytester, "Be kind. Be brief.")
    result = plain(AGENT, CASSETTE, NONE)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*(cassette_stale)*prompt_sha256 was *"])
    plain(AGENT, CASSETTE).stdout.fnmatch_lines(["*asked anew: *prompt_sha256 was *"])
    assert sorted(path.name for path in (pytester.path / "tapes").iterdir()) == folders


def test_a_recording_from_before_the_declaration_replays(pytester, plain):
    """A prompt that a recording knows nothing of is nothing to compare."""
    prompted(pytester)
    agent_file(pytester.path, "kind: python\ntarget: desk_agents:prompted\n")
    plain(AGENT, CASSETTE)
    prompted(pytester)
    assert plain(AGENT, CASSETTE, NONE).ret == 0


def test_a_prompt_that_is_sent_is_no_digest(tmp_path):
    """It is part of the key already, and recordings of models stay byte-equal."""
    own = agent_file(tmp_path, "kind: http\ntarget: http://h/r\nprompt: p.md\n", p="Be kind.")
    bare = agent_file(tmp_path, "kind: http\ntarget: http://h/r\n")
    assert folder_name(own) == folder_name(bare)
    assert digests({"kind": "http", "prompt_sha256": "ab"}) == {"prompt_sha256": "ab"}
    assert digests({"kind": "ollama", "prompt_sha256": "ab"}) == {}


def test_an_agent_behind_an_address_has_its_prompt_checked(pytester, plain):
    """For kinds without any other digest the declared prompt alone is compared."""
    project(pytester)
    agent_file(pytester.path, "kind: http\ntarget: http://127.0.0.1:9/r\nprompt: p.md\n", p="Be kind.")
    plain(AGENT, CASSETTE, NONE)
    checked = last_run(pytester).run["agents"][0]["digest_checked"]
    assert checked == "prompt only: agents of kind 'http' have no digest"


SCRIPT = """
import sys
for line in sys.stdin:
    print('{"action": "answer", "message": "We are open from nine to five."}', flush=True)
"""


@pytest.fixture
def checkouts(pytester, monkeypatch) -> Callable[[], list[Path]]:
    """Return a function that makes two folders with one project, whose agent is named by an absolute path."""

    def checkouts() -> list[Path]:
        project(pytester, range(1, 5))
        (pytester.path / "bot.py").write_text(SCRIPT, "utf-8")
        folders = [pytester.path.parent / f"{pytester.path.name}-{name}" for name in ("one", "two")]
        for folder in folders:
            shutil.copytree(pytester.path, folder)
            agent_file(
                folder,
                f"kind: command\nprompt: p.md\n"
                f"target: {sys.executable} {folder}/bot.py --prompt={folder}/agents/p.md\n",
                p="Be kind.",
            )
        return folders

    return checkouts


def test_two_checkouts_make_one_baseline_and_one_run(pytester, checkouts, monkeypatch, capsys):
    """Folders below the root are nobody's business: baselines are byte-equal, shards fit together, A/A takes both."""
    folders = checkouts()
    made = []
    for number, folder in enumerate(folders, 1):
        for name, more in ("part", (f"--supportbench-shard={number}/2",)), ("whole", ()):
            process = start(
                pytester, AGENT, "-q", f"--supportbench-results={name}.jsonl", *more, folder=folder
            )
            out, errors = process.communicate(timeout=120)
            assert process.returncode == 0, out + errors
        monkeypatch.chdir(folder)
        assert main(["baseline", "set", "whole.jsonl", "baseline.json"]) == 0
        made.append((folder / "baseline.json").read_bytes())
    assert made[0] == made[1]
    assert json.loads(made[0])["fingerprint"]["command"].endswith(" bot.py --prompt=agents/p.md")
    parts = [str(folder / "part.jsonl") for folder in folders]
    assert main(["merge", *parts, "--out", "merged.jsonl"]) == 0, capsys.readouterr().err
    assert main(["aa", *(str(folder / "whole.jsonl") for folder in folders)]) == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("python ROOT/bot.py", "python bot.py"),
        ("python 'ROOT/my bot.py' --config=ROOT/c.yaml", "python 'my bot.py' --config=c.yaml"),
        ("sh -c 'cd ROOT && ./bot'", "sh -c 'cd . && ./bot'"),
        ("env PATH=ROOT/bin:ROOT bot --in ROOT/", "env PATH=bin:. bot --in ."),
        ("python ROOT-2/bot.py /elsewhereROOT/bot.py", "python ROOT-2/bot.py /elsewhereROOT/bot.py"),
    ],
)
def test_paths_below_the_root_are_relative_to_it(tmp_path, text, shown):
    """Whole paths only: a folder whose name begins alike, or ends alike, is another one."""
    here = text.replace("ROOT", str(tmp_path))
    assert portable(here, tmp_path) == shown.replace("ROOT", str(tmp_path))


def test_a_root_directory_of_the_whole_machine_leaves_paths_alone():
    """Below ``/`` is everything, and nothing is gained."""
    assert portable("python /srv/bot.py", Path("/")) == "python /srv/bot.py"


def test_an_option_with_a_path_below_the_root_is_the_same_in_each_checkout(tmp_path):
    """A certificate beside the agent file is written as seen from the root."""
    spec = agent_file(tmp_path, "kind: https\ntarget: https://h/r\noptions: {ca_file: ca.pem}\n")
    assert BaseAgent(spec, tmp_path).fingerprint()["options"]["ca_file"] == "agents/ca.pem"


def test_line_ends_are_no_other_code(tmp_path):
    """Git may write CRLF on one machine and LF on another; the hash is that of LF."""
    (tmp_path / "unix.py").write_bytes(b"a = 1\nb = 2\n")
    (tmp_path / "dos.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    (tmp_path / "other.py").write_bytes(b"a = 1\nb = 3\n")
    found = [file_digest(tmp_path / f"{name}.py") for name in ("unix", "dos", "other", "none")]
    assert found[0] == found[1] != found[2]
    assert found[3] is None
