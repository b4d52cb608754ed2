"""The README, CONTRIBUTING and METHODOLOGY, and the pages under ``docs/`` say what is so: what they print runs.

An HTML comment before a code block says what to do with it: ``file: PATH`` writes it into the page's project,
``exits: N`` is the expected exit status, ``not run: REASON`` is only read, ``command: NAME`` is run by CI, and
``uses: PAGE`` at the top of a page begins with the files of another one. A ``text`` block right after commands is
part of their output.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from jsonschema import Draft202012Validator
from shared_work import once
from test_claims import CORPUS, error_rates

from pytest_supportbench import expected, hookspecs, plugin, results, scenario, suite
from pytest_supportbench.agents import (
    framework_faults,
    http_faults,
    make_agent,
    ollama_faults,
    openai_causes,
    parse_spec,
)
from pytest_supportbench.agents.agent_file import _FIELDS as AGENT_FILE_FIELDS
from pytest_supportbench.agents.kinds import COMMON, KINDS, MODEL_KINDS
from pytest_supportbench.check import check_files
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.lint_personal import personal_data
from pytest_supportbench.loading import load_scenario
from pytest_supportbench.matchers import mismatch
from pytest_supportbench.records import Ending, Limits
from pytest_supportbench.replies import parse_turn
from pytest_supportbench.schemas import json_schema
from pytest_supportbench.scoring import EscalationClass
from pytest_supportbench.scoring.claims import find_claims
from pytest_supportbench.scoring.language import _FUNCTION_WORDS
from pytest_supportbench.scoring.phrases import SUPPORTED_CLAIM_LANGUAGES
from pytest_supportbench.state import Deed
from pytest_supportbench.tools import tool
from pytest_supportbench.toolsets import declared_models
from pytest_supportbench.validation import field_names
from pytest_supportbench.words import DIMENSIONS, ZERO_TOLERANCE, Category, ViolationCode
from pytest_supportbench.yaml12 import parse

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "scenarios" / "tinybench-50" / "METHODOLOGY.md",
    *sorted(DOCS.glob("*.md")),
]
QUIET = "-p no:hypothesispytest -p no:anyio -p no:html -p no:xdist -p no:rerunfailures -p no:cacheprovider"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- ([a-z ]+): ([^\n]*) -->\n\Z")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    mark: tuple[str, str]

    def __str__(self):
        return f"{self.page.stem}-{self.line}"


def blocks_of(page):
    text = page.read_text("utf-8")
    for match in FENCE.finditer(text):
        mark = MARK.search(text[: match.start()])
        line = text.count("\n", 0, match.start()) + 1
        yield Block(page, line, match[1], match[2], mark.groups() if mark else ("", ""))


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def marked(kind, value=None):
    return [b for b in BLOCKS if b.mark[0] == kind and value in {None, b.mark[1]}]


def code_words(page):
    """Return the words that stand in code style in a page's prose and tables."""
    prose = FENCE.sub("", page.read_text("utf-8"))
    return {word for span in re.findall(r"`([^`\n]+)`", prose) for word in re.findall(r"\$?[\w-]+", span)}


def table_rows(page):
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("|") and not line.startswith("|-"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def runs(block):
    """Tell whether a block is executed here; README's commands that make an environment are CI's to run."""
    return block.language in {"sh", "python"} and block.mark[0] not in {"not run", "file", "command"}


def play(page, folder, compiled):
    """Write a page's files and run its commands, in order; return each block's expected and actual status, output."""
    if page.parent == ROOT:
        shutil.copytree(ROOT / "scenarios", folder / "scenarios")
        for name in ("pyproject.toml", "conftest.py"):
            shutil.copy(ROOT / name, folder)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SUPPORTBENCH_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    env = {
        **kept,
        "PATH": path,
        "COLUMNS": "80",
        # pytest-html is needed on the pages that print its option, and slows down the others.
        "PYTEST_ADDOPTS": QUIET.replace("-p no:html ", "") if "--html=" in page.read_text("utf-8") else QUIET,
        "PYTHONPYCACHEPREFIX": str(compiled),
    }
    for used in re.findall(r"<!-- uses: (\S+) -->", page.read_text("utf-8")):
        for block in blocks_of(DOCS / used):
            write(block, folder)
    outcome = {}
    for block in blocks_of(page):
        write(block, folder)
        if runs(block):
            status = block.mark[1] if block.mark[0] == "exits" else 0
            start = ["sh", "-eu", "-c"] if block.language == "sh" else [sys.executable, "-c"]
            done = subprocess.run(
                [*start, block.text], cwd=folder, env=env, capture_output=True, text=True, check=False
            )
            outcome[str(block)] = (int(status), done.returncode, done.stdout + done.stderr)
    return outcome


def write(block, folder):
    if block.mark[0] == "file":
        path = folder / block.mark[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory, compiled):
    """Return a function that runs a page's commands, unless they were, and returns the folder of its project."""

    def folder_of(page):
        def make(folder):
            outcome = play(page, folder, compiled)
            (folder / "outcome.json").write_text(json.dumps(outcome), "utf-8")

        return once(tmp_path_factory, f"page-{page.stem}", make)

    return folder_of


@pytest.fixture(scope="session")
def outcome_of(folder_of):
    """Return a function that returns the expected and actual status of a block, and its output."""

    def outcome_of(block):
        return json.loads((folder_of(block.page) / "outcome.json").read_text("utf-8"))[str(block)]

    return outcome_of


@pytest.mark.parametrize("block", [block for block in BLOCKS if runs(block)], ids=str)
def test_what_is_printed_runs(block, outcome_of):
    """Each command and each Python example ends with the exit status that the page says."""
    wanted, got, output = outcome_of(block)
    assert got == wanted, output


@pytest.mark.parametrize(
    ("before", "block"),
    [(a, b) for a, b in pairwise(BLOCKS) if runs(a) and b.language == "text" and not b.mark[0]],
)
def test_output_is_as_printed(before, block, outcome_of):
    """Each line of output that a page shows is in what its command printed."""
    for line in block.text.splitlines():
        assert line in outcome_of(before)[2]


def test_scenario_examples_hold_what_they_claim(folder_of):
    """Every scenario example loads and passes ``supportbench check``, but for the one that is broken on purpose."""
    examples = [b for b in marked("file") if b.mark[1].endswith(".scenario.yaml")]
    files = [folder_of(b.page) / b.mark[1] for b in examples if not b.mark[1].startswith("broken/")]
    assert len(files) == 3
    assert check_files(files, files[0].parent).problems == ()


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "yaml" and not b.mark[0]], ids=str)
def test_parts_of_scenarios_fit_the_complete_one(block, folder_of):
    """A part of a scenario that a page shows loads in the place of the complete example's own."""
    folder = folder_of(DOCS / "scenarios.md") / "desk"
    data, part = parse((folder / "second-charge.scenario.yaml").read_text("utf-8"), ""), parse(block.text, "")
    in_outcome = set(part) <= set(field_names(expected.Alternative))
    (data["expected"] if in_outcome else data).update(part)
    data["tools"] += [fault["tool"] for fault in part.get("faults", ()) if fault["tool"] not in data["tools"]]
    path = folder / f"part-{block.line}.yaml"
    path.write_text(json.dumps(data), "utf-8")
    assert load_scenario(path).scenario.id == "DESK-1"


@pytest.mark.parametrize("row", [row for b in marked("examples", "matchers") for row in parse(b.text, "")])
def test_matchers_match_as_told(row):
    """Each matcher accepts and refuses what its example says."""
    call = expected.RequiredCall(tool="t", args={"x": row["expected"]})
    assert [value for value in row["accepts"] if mismatch(call.args["x"], value)] == []
    assert [value for value in row["refuses"] if not mismatch(call.args["x"], value)] == []


@pytest.mark.parametrize("row", [row for b in marked("examples", "claims") for row in parse(b.text, "")])
def test_claims_are_seen_as_told(row):
    """Each message claims what its example says, and what is said to be missed is missed."""
    assert [claim.deed for claim in find_claims(row["message"], row.get("language", "en"))] == row["claims"]


def test_the_observation_is_a_real_one(folder_of):
    """The printed observation is exactly what an agent sees, the printed turn ends the case, both fit their schema."""
    (observation,), (turn,) = (
        [json.loads(b.text) for b in marked("schema", kind)] for kind in ("observation", "turn")
    )
    for kind, data in (("observation", observation), ("turn", turn)):
        Draft202012Validator(json_schema(kind)).validate(data)
    bound = load_scenario(folder_of(DOCS / "toolsets.md") / "parcels" / "lost.scenario.yaml")
    conversation = Conversation(bound, Limits(), observation["episode"])
    conversation.take({"tool_calls": observation["transcript"][0]["tool_calls"]})
    assert json.loads(conversation.observation().model_dump_json(by_alias=True)) == observation
    conversation.take(parse_turn(turn))
    assert conversation.ending == "acted"


def key_paths(value, path=""):
    if isinstance(value, dict):
        named = path.rpartition(".")[2] in {"dimensions", "categories", "classes", "arguments", "result"}
        return {f"{path}.{key}" for key in value if not named}.union(
            *(key_paths(item, path if named else f"{path}.{key}") for key, item in value.items())
        )
    return set().union(*(key_paths(item, path) for item in value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("kind", ["run", "episode", "summary"])
def test_result_lines_have_the_printed_fields(kind, folder_of):
    """The lines of a real run have exactly the fields that the page prints, and it explains each of them."""
    (block,) = marked("results", kind)
    lines = [
        json.loads(line) for line in (folder_of(block.page) / "run.jsonl").read_text("utf-8").splitlines()
    ]
    printed = key_paths(json.loads(block.text))
    assert printed == set().union(*(key_paths(line) for line in lines if line["type"] == kind))
    assert json.loads(block.text).keys() <= code_words(block.page)


class Recorder:
    """Takes the options that the plugin declares, as pytest's parser does for its ``--help``."""

    def __init__(self):
        self.options, self.ini = set(), set()

    def getgroup(self, *_):
        return self

    def addoption(self, name, **_):
        self.options.add(name)

    def addini(self, name, *_, **__):
        self.ini.add(name)


def test_options_are_those_of_the_plugin():
    """Every option in a page exists, and every option and ini name of the plugin is in a page."""
    plugin.pytest_addoption(declared := Recorder())
    pages = "\n".join(page.read_text("utf-8") for page in PAGES)
    assert set(re.findall(r"--supportbench-[a-z-]+", pages)) == declared.options
    assert declared.ini <= set().union(*map(code_words, PAGES))


def test_kinds_of_agents_and_their_options_are_told(monkeypatch):
    """Every kind is named, with exactly its options, and the defaults are those in force."""
    for name in ("OLLAMA_HOST", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    words, kinds = code_words(DOCS / "agents.md"), list(table_rows(DOCS / "agents.md"))
    rows = [*kinds, *table_rows(DOCS / "models.md")]
    assert {*KINDS, *COMMON, *AGENT_FILE_FIELDS} <= words
    for kind, known in KINDS.items():
        if known.options:
            (row,) = [
                row for row in kinds if row[0].startswith("[`") and f"`{kind}`" in row[0] and len(row) == 3
            ]
            assert re.findall(r"`(\w+)`", row[2]) == sorted(known.options)
            for name in known.options:
                assert any(f"`{name}`" in other[0] for other in rows if other is not row), name
        if kind in MODEL_KINDS:
            spec = parse_spec(kind if kind == "local" else known.example, ROOT)
            for name, value in make_agent(spec, ROOT).fingerprint()["options"].items():
                if value not in {None, False, ""} or kind == "local":
                    shown = [other[1] for other in rows if f"`{name}`" in other[0] and len(other) == 3]
                    assert any(json.dumps(value).removesuffix(".0").strip('"') in cell for cell in shown), (
                        name
                    )


@pytest.mark.parametrize(
    ("causes", "page"),
    [
        ({*ollama_faults._WHAT, "reply_truncated"}, "models"),
        ({*openai_causes.WHAT}, "models"),
        ({*re.findall(r"InfrastructureError\(\s*\"(\w+)\"", inspect.getsource(http_faults))}, "agents"),
        ({*framework_faults._KNOWN}, "agents"),
    ],
    ids=["ollama", "openai", "http", "frameworks"],
)
def test_causes_of_errors_are_told(causes, page):
    """Every cause that an agent can give is in the table of its kind."""
    assert causes <= code_words(DOCS / f"{page}.md")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (
            "scenarios",
            {
                name
                for model in (
                    scenario.Scenario,
                    scenario.FailureMode,
                    scenario.Customer,
                    scenario.ScriptedReply,
                    scenario.Fault,
                    scenario.Protected,
                    scenario.Counterexample,
                    expected.Alternative,
                    expected.RequiredCall,
                    expected.NeverCall,
                    expected.MustState,
                    expected.NeverSay,
                    expected.Concept,
                    suite.Suite,
                    suite.Policy,
                    suite.Article,
                )
                for name in field_names(model)
            }
            - {"concept", "kind"},
        ),
        ("scenarios", set(get_args(scenario.FaultKind))),
        ("scenarios", {*suite.BUILTIN_SLOTS, *(action.name for action in suite.BUILTIN_ACTIONS)}),
        ("scenarios", set(get_args(get_args(Category)[0]) or get_args(Category))),
        (
            "toolsets",
            {
                name
                for model in (
                    declared_models.FieldSpec,
                    declared_models.ParameterSpec,
                    declared_models.FindSpec,
                    declared_models.CreateSpec,
                    declared_models.EffectSpec,
                    declared_models.DeclaredTool,
                )
                for name in model.model_fields
            }
            - {"by", "fields"},
        ),
        ("toolsets", {*get_args(declared_models.TypeName), *get_args(Deed), "$now"}),
        ("toolsets", set(inspect.signature(tool).parameters) - {"effect"}),
        ("toolsets", {"owners", "identifying", "hidden", "free_text", "volatile", "evidence"}),
        ("agents", {name for name in vars(hookspecs) if name.startswith("pytest_supportbench")}),
        ("agents", set(plugin.__all__)),
        ("scoring", {*get_args(ViolationCode), *get_args(EscalationClass), *SUPPORTED_CLAIM_LANGUAGES}),
        ("scoring", set(_FUNCTION_WORDS)),
        ("results", {*get_args(Ending), *get_args(results.Verdict)}),
    ],
)
def test_what_exists_is_told(page, words):
    """Each field, kind, code, class and name that users can meet stands in code style on its page."""
    assert words - code_words(DOCS / f"{page}.md") == set()


def test_every_matcher_form_has_an_example():
    """Each form of matcher is used in an example that is tried, or told where it needs another call."""
    text = "".join(block.text for block in marked("examples", "matchers"))
    forms = {name for name in field_names(expected.MatcherSpec) if f"{name}:" not in text}
    assert forms == {"same_as"} <= code_words(DOCS / "scenarios.md")


def checks_in_the_code():
    """Return each check id's fixed beginning with its basis, as the scorers make it."""
    for path in sorted((ROOT / "pytest_supportbench" / "scoring").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Check":
                given = {word.arg: word.value for word in node.keywords}
                name = node.args[0] if node.args else given["id"]
                name = name.values[0] if isinstance(name, ast.JoinedStr) else name
                basis = node.args[6] if len(node.args) > 6 else given.get("basis", ast.Constant("effect"))
                yield name.value, basis.value


def test_every_check_is_told_with_its_basis():
    """The table of checks has each check that a scorer makes, no other, with its basis and a real dimension."""
    rows = [row for row in table_rows(DOCS / "scoring.md") if len(row) == 6 and row[0] != "check"]
    assert {(row[0].strip("`"), row[2]) for row in rows if ":" not in row[0]} | {
        (row[0].strip("`").partition(":")[0] + ":", row[2]) for row in rows if ":" in row[0]
    } == set(checks_in_the_code())
    assert {name for row in rows for name in row[1].split(" and ")} == set(DIMENSIONS)


def test_zero_tolerance_is_told():
    """The table of violations marks exactly the codes of zero tolerance."""
    rows = [row for row in table_rows(DOCS / "scoring.md") if len(row) == 3]
    rows = [row for row in rows if row[0].strip("`") in get_args(ViolationCode)]
    assert {row[0].strip("`") for row in rows if row[1] == "yes"} == ZERO_TOLERANCE
    assert len(rows) == len(get_args(ViolationCode))


@pytest.mark.parametrize(
    ("label", "split", "batches"),
    [
        ("used to write the rules", "tuning", {1, 2, 3}),
        ("held out, plain wording", "held_out", {1}),
        ("held out, free wording", "held_out", {4}),
    ],
)
def test_error_rates_are_those_measured(label, split, batches):
    """The error rates in the page are what the corpus gives today."""
    rows = [row for row in CORPUS if row["split"] == split and row["batch"] in batches]
    precision, recall, _ = error_rates(rows)
    (told,) = [row for row in table_rows(DOCS / "scoring.md") if row[0] == label]
    assert told[1:] == [str(len(rows)), f"{precision:.2f}", f"{recall:.3f}"]


def anchors(page):
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    """Every link within the repository names a file, and a heading in it, that exist."""
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text("utf-8"))):
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        assert there.is_file(), target
        assert not anchor or anchor in anchors(there), target


def test_reserved_telephone_numbers_are_reserved():
    """The lint lets every range through that the contribution guide names, and stops a number beside it."""
    cells = [row[1] for row in table_rows(ROOT / "CONTRIBUTING.md") if len(row) == 2 and "+" in row[1]]
    ranges = [number for cell in cells for number in re.findall(r"`(\+[^`]+)`", cell)]
    assert len(ranges) >= 10
    for number in ranges:
        for digit in "079":
            assert list(personal_data(f"Call {number.replace('x', digit)}.")) == []
    assert list(personal_data("Call +44 7700 800123."))


def test_other_examples_parse():
    """TOML examples and workflows parse, and the pre-commit example names the hook that there is."""
    assert [tomllib.loads(block.text) for block in BLOCKS if block.language == "toml"]
    hooks = {hook["id"] for hook in parse((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"), "")}
    found = [parse(block.text, "") for block in marked("not run") if block.language == "yaml"]
    (example,) = [data for data in found if "repos" in data]
    assert {hook["id"] for repo in example["repos"] for hook in repo["hooks"]} == hooks


def test_every_block_is_dealt_with():
    """No code block escapes these tests: each is run, written, compared, or marked with the reason why not."""
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    for block in BLOCKS:
        if block.mark[0] == "command":
            assert f"readme_command {block.mark[1]}" in ci, block
        if block.mark[0] == "not run":
            assert len(block.mark[1].split()) > 3, block
        if block.language == "json":
            assert block.mark[0] in {"schema", "results"}, block
        assert block.language in {"sh", "python", "yaml", "json", "toml", "text"}, block
