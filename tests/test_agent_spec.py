"""Behaviour of agent specs and agent files, and the boundary of the agents package."""

from __future__ import annotations

import ast
import importlib.util
import pickle
import re
from pathlib import Path

import pytest

import pytest_supportbench
from pytest_supportbench.agents import AgentSpec, make_agent, parse_spec
from pytest_supportbench.agents.base import public_options
from pytest_supportbench.agents.kinds import KINDS
from pytest_supportbench.errors import UsageError

ROOT = Path()
PACKAGE = Path(pytest_supportbench.__file__).parent


def message(text, root=ROOT):
    with pytest.raises(UsageError) as caught:
        parse_spec(text, root)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind", "target", "options", "label"),
    [
        ("rules", "rules", "", {}, "rules"),
        (" do-nothing ", "do-nothing", "", {}, "do-nothing"),
        ("ollama:qwen3:4b-instruct", "ollama", "qwen3:4b-instruct", {}, "ollama-qwen3-4b-instruct"),
        (
            "ollama:hf.co/a/b:Q4?seed=3&temperature=1&host=http://h:1?x%3D1%26y",
            "ollama",
            "hf.co/a/b:Q4",
            {"seed": 3, "temperature": 1.0, "host": "http://h:1?x=1&y"},
            "ollama-hf.co-a-b-Q4",
        ),
        ("local", "local", "", {}, "local"),
        (
            "local:models/My Model.gguf?compact=False",
            "local",
            "models/My Model.gguf",
            {"compact": False},
            "local-My-Model",
        ),
        (
            "python:pkg.mod:Agent.make?a=1&b=1.5&c=true&d=x&e=1e3&f=007x",
            "python",
            "pkg.mod:Agent.make",
            {"a": 1, "b": 1.5, "c": True, "d": "x", "e": 1000.0, "f": "007x"},
            "python-pkg.mod-Agent.make",
        ),
        ("my_bot.v2", "registered", "my_bot.v2", {}, "my_bot.v2"),
    ],
)
def test_a_spec_says_kind_target_and_options(text, kind, target, options, label):
    """A spec is read into kind, target, typed options and a short label for test ids."""
    spec = parse_spec(text, ROOT)
    assert (spec.kind, spec.target, dict(spec.options), spec.id) == (kind, target, options, label)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert hash(spec)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "an agent spec is empty; write KIND[:TARGET]"),
        ("x" * 3_000, "an agent spec has 3,000 characters"),
        ("olama:qwen3", "'olama' is no kind of agent; did you mean 'ollama'? known: always-ask"),
        ("rulez?x=1", "'rulez' is no kind of agent; did you mean 'rules'?"),
        ("ollama", "kind 'ollama' needs a target; write e.g. ollama:qwen3:4b-instruct"),
        ("ollama:", "nothing follows the colon"),
        ("ollama:m?", "nothing follows the question mark"),
        ("rules:strict", "kind 'rules' takes no target, got 'strict'; write rules"),
        ("rules?x=1", "kind 'rules' has no option 'x'; known: without"),
        ("ollama:m?num_ctz=1", "has no option 'num_ctz'; did you mean 'num_ctx'? known: host, keep_alive"),
        ("ollama:m?num_ctx", "option 'num_ctx' is not key=value"),
        ("ollama:m?num_ctx=", "option 'num_ctx=' is not key=value"),
        ("ollama:m?seed=1&seed=2", "option 'seed' is given twice"),
        ("ollama:m?num_ctx=many", "option 'num_ctx' is 'many'; give a whole number of at least 256"),
        ("ollama:m?num_ctx=8", "give a whole number of at least 256"),
        ("ollama:m?num_ctx=512.5", "give a whole number of at least 256"),
        ("ollama:m?temperature=-1", "give a number of at least 0"),
        ("ollama:m?temperature=nan", "give a number of at least 0"),
        ("ollama:m?timeout=true", "give a number of at least 0.01"),
        ("ollama:m?think=perhaps", "give one of true, false, low, medium, high"),
        ("local?compact=maybe", "give true or false"),
        ("python:pkg.mod", "'pkg.mod' is not module:callable; write e.g. python:"),
        ("python:pkg/mod.py:f", "is not module:callable"),
        ("python:m:f?not-a-name=1", "option 'not-a-name' is no Python keyword argument"),
        ("agents/nowhere.yaml", "there is no file 'agents/nowhere.yaml'"),
        ("two words", "a name has letters, digits"),
    ],
)
def test_a_mistake_in_a_spec_names_the_part_and_the_remedy(text, fragment):
    """Each mistake is a usage error that quotes the wrong part and says what to write."""
    assert fragment in message(text)


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("http://127.0.0.1:8000/reply?a=1&b=2", "http", "http://127.0.0.1:8000/reply?a=1&b=2"),
        ("https://x.test", "https", "https://x.test"),
        ("command:./bot --json 'a b?c=d'", "command", "./bot --json 'a b?c=d'"),
        ("replay:tapes/a?b", "replay", "tapes/a?b"),
    ],
)
def test_addresses_commands_and_tapes_are_taken_as_they_are(text, kind, target):
    """Question marks belong to the target: such agents get their options from an agent file only."""
    spec = parse_spec(text, Path())
    assert (spec.kind, spec.target, spec.options) == (kind, target, ())


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("http://", "this is no address"),
        ("http://:80/x", "this is no address"),
        ("http://x:99999/", "this is no address"),
        ("command:", "needs a target"),
        ("command:a 'b", "close the quotation marks"),
        ("replay:", "needs a target"),
        ("rules?without=memories", "'memories'; give some of memory, knowledge, policies"),
        ("rules?without=memory,", "'memory,'; give some of memory, knowledge, policies"),
        ("desk?seed=1", "has no option 'seed'"),
    ],
)
def test_a_mistake_in_such_a_target_is_told(text, fragment):
    """What cannot be an address, a command or an ablation is a usage error at once."""
    assert fragment in message(text)


def test_an_ablation_is_part_of_the_name():
    """Two variants of one agent can be told apart in every report, whatever the order of the parts."""
    spec = parse_spec("rules?without=policies,memory", Path())
    assert spec.without == {"memory", "policies"}
    assert spec.id == "rules-without-memory-without-policies"
    assert spec == parse_spec("rules?without=memory,policies", Path()) or spec.options == (
        ("without", "memory,policies"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "http://ann:pa55word-x@127.0.0.1:1/reply?api_key=pa55word-x#pa55word-x",
        "command:./bot --api-key pa55word-x --token=pa55word-x",
        "openai:m?api_key=pa55word-x",
        "ollama:m?host=http://ann:pa55word-x@h:1&num_ctx=x",
    ],
)
def test_messages_and_labels_show_no_secret_of_a_spec(text):
    """Passwords, queries and values named like secrets are in no label and no error message."""
    try:
        spec = parse_spec(text, Path())
    except UsageError as error:
        shown = str(error)
    else:
        shown = spec.id + spec.raw
    assert "pa55word-x" not in shown


def test_a_kind_goes_before_a_file_of_its_name(tmp_path):
    """A file named like a kind does not shadow the kind."""
    (tmp_path / "rules").write_text("kind: do-nothing\n")
    assert parse_spec("rules", tmp_path).kind == "rules"


def test_a_file_goes_before_a_registered_name(tmp_path):
    """An existing agent file is read even where an agent of that name could be registered."""
    (tmp_path / "mine").write_text("kind: do-nothing\n")
    assert parse_spec("mine", tmp_path).kind == "do-nothing"
    assert parse_spec("other", tmp_path).kind == "registered"


def test_an_agent_file_holds_kind_model_options_and_prompt(tmp_path):
    """An agent file gives all that a spec does, and a prompt from beside it."""
    folder = tmp_path / "agents"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts" / "p.md").write_text("Be kind.\n")
    (folder / "support-v3.yaml").write_text(
        "kind: ollama\nmodel: qwen3:4b\nprompt: prompts/p.md\noptions:\n  num_ctx: 4096\n  think: false\n"
    )
    spec = parse_spec("agents/support-v3.yaml", tmp_path)
    assert spec == AgentSpec(
        raw="agents/support-v3.yaml",
        kind="ollama",
        target="qwen3:4b",
        options=(("num_ctx", 4096), ("think", "false")),
        prompt="Be kind.",
        prompt_path=str(folder / "prompts" / "p.md"),
        name="support-v3",
    )
    assert spec.id == "support-v3"


def test_a_model_path_in_an_agent_file_is_relative_to_it(tmp_path):
    """The model file of a local agent is looked for beside the agent file."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "a.yaml").write_text("kind: local\nmodel: m.gguf\n")
    spec = parse_spec("agents/a.yaml", tmp_path)
    assert Path(spec.target) == tmp_path / "agents" / "m.gguf"


def test_an_agent_file_may_list_what_is_taken_away(tmp_path):
    """A YAML list is one way to write several parts; it means the same as text with commas."""
    for name, parts in (
        ("list", "[policies, knowledge]"),
        ("text", "knowledge,policies"),
        ("spaced", '"policies, knowledge"'),
    ):
        (tmp_path / f"{name}.yaml").write_text(f"kind: rules\noptions:\n  without: {parts}\n")
        spec = parse_spec(f"{name}.yaml", tmp_path)
        assert spec.options == (("without", "knowledge,policies"),)
        assert spec.without == {"knowledge", "policies"}


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("- kind\n", "an agent file is a mapping, not a list"),
        ("model: m\n", "kind is missing; write e.g. kind: ollama"),
        ("kind: olama\nmodel: m\n", "'olama' is no kind of agent; did you mean 'ollama'?"),
        ("kind: openai\n", "kind 'openai' needs a target"),
        ("kind: rules\nheaders: {A: B}\n", "agents of kind 'rules' send none"),
        ("kind: http\ntarget: http://x\nheaders: [A]\n", "headers is a list; give a mapping"),
        ("kind: http\ntarget: http://x\nheaders: {A B: C}\n", "'A B' is no header name"),
        (
            "kind: http\ntarget: http://x\nheaders: {A: Bearer s3cret}\n",
            "is no name of an environment variable",
        ),
        ("kind: ollama\nmodle: m\n", "unknown field 'modle'; did you mean 'model'?"),
        ("kind: ollama\nmodel: m\ntarget: n\n", "model and target say the same thing"),
        ("kind: ollama\nmodel: 3\n", "model: 3 is no text; put it in quotes"),
        ("kind: ollama\nmodel: m\noptions: [seed]\n", "options is a list; give a mapping"),
        ("kind: ollama\nmodel: m\noptions: {seed: [1]}\n", "option 'seed' is [1]; give a whole number"),
        ("kind: ollama\nmodel: m\nprompt: no.md\n", "cannot read"),
        ("kind: ollama\nmodel: m\nprompt: empty.md\n", "has 0 characters"),
        ("kind: rules\nprompt: empty.md\n", "agents of kind 'rules' take no prompt"),
        ("kind: replay\ntarget: t\nprompt: empty.md\n", "agents of kind 'replay' take no prompt"),
        ("kind: python\ntarget: m:f\nprompt: no.md\n", "prompt: cannot read"),
        ("kind: python\ntarget: m:f\nprompt: .\n", "prompt: cannot read"),
        ("kind: python\ntarget: m:f\nprompt: [a.yaml, empty.md]\n", "has 0 characters; give at least 1"),
        ("kind: python\ntarget: m:f\nprompt: []\n", "prompt: [] is no path; write e.g. prompts/support.md"),
        ("kind: python\ntarget: m:f\nprompt: [3]\n", "prompt: [3] is no path"),
        ("kind: ollama\nmodel: m\nprompt: {a: b}\n", "prompt: {'a': 'b'} is no path"),
        ("kind: python\ntarget: m:f\noptions: {a: {b: 1}}\n", "option 'a' is a dict; give text"),
        ("kind: ollama\nkind: local\n", "a.yaml:2:1"),
        (
            "kind: rules\noptions: {without: []}\n",
            "'without' is []; give some of memory, knowledge, policies",
        ),
        (
            "kind: rules\noptions: {without: [1]}\n",
            "'without' is [1]; give some of memory, knowledge, policies",
        ),
        ("kind: [\n", "a.yaml:"),
    ],
)
def test_a_mistake_in_an_agent_file_names_file_field_and_remedy(tmp_path, text, fragment):
    """Each mistake in an agent file is a usage error that names the file."""
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "a.yaml").write_text(text)
    assert fragment in message("a.yaml", tmp_path)
    assert "a.yaml" in message("a.yaml", tmp_path)


def test_an_agent_file_that_is_no_text_is_a_usage_error(tmp_path):
    """Bytes that are not UTF-8 are reported."""
    (tmp_path / "a.yaml").write_bytes(b"kind: \xff")
    assert "is not UTF-8" in message("a.yaml", tmp_path)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("m.gguf", "local:m.gguf"),
        ("./my_agent.py", "python:my_agent:reply"),
        ("my_agent.py", "python:my_agent:reply"),
        ("my_agent.py:answer?tone=short", "python:my_agent:answer?tone=short"),
        ("shop/my_agent.py", "python:shop.my_agent:reply"),
        ("my_agent:answer", "python:my_agent:answer"),
        ("no_such.py", "python:no_such:reply"),
        ("agent.js", "command:node agent.js"),
        ("./my-agent.py", "command:python ./my-agent.py"),
        ("tapes/one", "replay:tapes/one"),
        ("localhost:8801/reply", "http://localhost:8801/reply"),
        ("localhost:8801", "http://localhost:8801"),
        ("localhost/reply?key=1", "http://localhost/reply"),
        ("127.0.0.1:8801/reply", "http://127.0.0.1:8801/reply"),
        ("[::1]:8801/reply", "http://[::1]:8801/reply"),
        ("desk.example.com:80/reply", "http://desk.example.com:80/reply"),
    ],
)
def test_a_file_or_an_address_without_its_kind_is_told_what_to_write(tmp_path, text, meant):
    """A module, a program, a model, a cassette or an address alone is not read as something else."""
    for name in (
        "m.gguf",
        "my_agent.py",
        "my-agent.py",
        "agent.js",
        "shop/my_agent.py",
        "tapes/one/agent.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"GGUF\xff")
    assert message(text, tmp_path).endswith(f"the kind is missing; write {meant}")


@pytest.mark.parametrize("name", ["localhost", "tapes", "my_bot.v2", "agent.js"])
def test_a_registered_name_is_not_taken_for_something_else(tmp_path, name):
    """A name that a hook may register stays one, whatever folder is called the same."""
    (tmp_path / "tapes").mkdir()
    assert parse_spec(name, tmp_path).kind == "registered"


@pytest.mark.parametrize("word", ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"])
def test_what_only_a_shell_understands_is_refused_in_a_command(word):
    """An operator that would be passed as an argument is named, and stays possible in quotation marks."""
    text = message(f"command:node a.js {word} log")
    assert f"no shell reads this, so '{word}' would be an argument; write command:sh -c" in text
    assert parse_spec(f"command:node a.js '{word}' log", ROOT).kind == "command"
    assert parse_spec(f"command:sh -c 'node a.js {word} log'", ROOT).kind == "command"


@pytest.mark.parametrize("text", ["command:node a.js?mcp=true", "replay:tapes?without=memory"])
def test_options_behind_a_kind_that_takes_the_rest_as_it_is_are_refused(text):
    """They would become part of a file's name, so the agent file is named instead."""
    assert "takes no options behind a question mark; write an agent file with kind:" in message(text)


def test_labels_are_safe_for_test_ids():
    """Whatever a target contains, the label has letters, digits, dots, dashes and underscores only."""
    spec = AgentSpec(raw="", kind="ollama", target="ü[x]::/\n" * 40)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,80}", spec.id)


def test_a_registered_agent_cannot_be_made_without_the_plugin():
    """Making a registered agent from its spec alone is a usage error that lists the kinds."""
    with pytest.raises(UsageError, match="no agent of that name is registered"):
        make_agent(parse_spec("my-bot", ROOT), ROOT)


def test_secrets_never_enter_results():
    """Options that look like secrets, and passwords in URLs, are blanked before they are stored."""
    options = {
        "api_key": "k1",
        "authToken": "k2",
        "host": "https://u:pw@h/x",
        "other": "u:pw@h",
        "max_tokens": 5,
    }
    assert public_options(options) == {
        "api_key": "***",
        "authToken": "***",
        "host": "https://***@h/x",
        "max_tokens": 5,
        "other": "***@h",
    }


def test_every_kind_names_a_module_of_this_package():
    """Each kind's factory lies in the agents package."""
    for kind in KINDS.values():
        module, _, attribute = kind.factory.partition(":")
        assert module.startswith("pytest_supportbench.agents.")
        assert attribute.endswith(("Agent", "Nothing", "Escalate", "Decline", "Ask", "Tool"))


def imported_by(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_agents_cannot_reach_the_expected_outcome():
    """No module that agents import, directly or through others, knows scenarios, loading or scoring."""
    forbidden = {"scenario", "loading", "environment", "scoring", "episode"}
    todo, seen = sorted((PACKAGE / "agents").glob("**/*.py")), set()
    assert len(todo) > 8
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in imported_by(path):
            package, _, rest = name.partition(".")
            if package != "pytest_supportbench" or not rest:
                assert package not in {"pytest", "_pytest"}
                continue
            assert rest.split(".")[0] not in forbidden, f"{path} imports {name}"
            target = PACKAGE.joinpath(*rest.split("."))
            todo += [file for file in (target.with_suffix(".py"), target / "__init__.py") if file.is_file()]


def test_the_boundary_check_sees_imports(tmp_path):
    """The boundary check itself finds both forms of import, type-checking blocks included."""
    (tmp_path / "x.py").write_text("import a.b\nif TYPE_CHECKING:\n    from c import d\n")
    assert set(imported_by(tmp_path / "x.py")) == {"a.b", "c", "c.d"}


def test_parsing_a_spec_imports_no_client():
    """Specs are checked without importing a model's library."""
    assert importlib.util.find_spec("ollama")
    source = (PACKAGE / "agents" / "spec.py").read_text() + (PACKAGE / "agents" / "__init__.py").read_text()
    assert not re.search(r"^(import|from) (ollama|httpx|xllamacpp)", source, re.MULTILINE)
