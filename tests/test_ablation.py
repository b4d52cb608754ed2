"""``?without=…``: the agent does not get to see a part, nor its tools; everything else stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from desk import bind
from projects import last_run, project

from pytest_supportbench.agents import make_agent
from pytest_supportbench.agents.spec import parse_spec
from pytest_supportbench.conversation import Conversation
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.loading import BoundScenario, Loader
from pytest_supportbench.protocol import Observation
from pytest_supportbench.records import Limits
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.state import Record
from pytest_supportbench.state_check import check_record
from pytest_supportbench.toolsets.declared import declared

SECRET = "zebra stripes"
"""Words that stand in the part that is taken away, and nowhere else."""

TOOLS = {
    "memory": ["list_memory_notes"],
    "knowledge": ["search_knowledge", "get_article"],
    "policies": ["get_policy"],
}
CALLS = {
    "list_memory_notes": {"customer_id": "cus_1"},
    "search_knowledge": {"query": SECRET},
    "get_article": {"article_id": "kb_own"},
    "get_policy": {"policy_id": "stripes"},
}


def rich(folder: Path) -> BoundScenario:
    """Return a scenario that has every part wherever a part can be: given, in tables that are shown, behind tools."""
    text = f"The policy, note or article about {SECRET}."
    suite = {
        "name": "parts",
        "version": "1.0",
        "policies": [{"id": "stripes", "text": text}],
        "knowledge": [{"id": "kb_1", "title": "Refunds", "text": text}],
    }
    scenario: dict[str, Any] = {
        "id": "P-1",
        "title": "Every part",
        "category": "memory",
        "failure_mode": {"code": "forgets", "description": "Forgets."},
        "as_of": "2026-03-10T12:00:00+00:00",
        "customer": {"subject": "cus_1", "message": "Hello."},
        "memory": [{"date": "2026-03-01", "subject": "cus_1", "text": text}],
        "state": {
            "customers": {"cus_1": {"name": "Ann Example"}},
            "memory_notes": {"mem_1": {"customer_id": "cus_1", "date": "2026-03-01", "text": text}},
            "articles": {"kb_own": {"title": "Stripes", "text": text}},
        },
        "visible": ["customers", "memory_notes", "articles"],
        "policies": ["stripes"],
        "tools": ["list_notes", *CALLS],
        "expected": {"actions": ["answer"], "escalation": "must_not", "because": ["stripes"]},
        "reference": [{"action": "answer", "message": "Hello to you."}],
        "counterexamples": [
            {"name": "no", "turns": [{"action": "decline", "message": "No."}], "fails": ["resolution"]}
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
    path = folder / "p.scenario.yaml"
    path.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    return Loader(folder).load(path)


def seen(bound: BoundScenario, *without: str) -> Observation:
    return Conversation(bound, Limits(), "e", without).observation()


@pytest.mark.parametrize("part", TOOLS)
def test_an_ablation_takes_the_part_and_its_tools_away(tmp_path, part):
    """The part is empty, its tools are not offered, its tables are not in the account; other parts are untouched."""
    bound = rich(tmp_path)
    whole, less = seen(bound), seen(bound, part)
    gone = {tool.name for tool in whole.tools} - {tool.name for tool in less.tools}
    assert gone == set(TOOLS[part])
    for name in ("memory", "policies"):
        assert getattr(less, name) == (() if name == part else getattr(whole, name))
    tables = {"memory": "memory_notes", "knowledge": "articles"}
    assert whole.account.keys() - less.account.keys() == ({tables[part]} if part in tables else set())
    assert less.customer == whole.customer
    assert less.actions == whole.actions


def test_nothing_leaks_from_what_was_taken_away(tmp_path):
    """With all parts gone their words are nowhere in the observation, and no call of a gone tool brings them back."""
    bound = rich(tmp_path)
    conversation = Conversation(bound, Limits(), "e", tuple(TOOLS))
    assert SECRET in seen(bound).model_dump_json()
    assert SECRET not in conversation.observation().model_dump_json()
    calls = [{"tool": name, "arguments": arguments} for name, arguments in CALLS.items()]
    conversation.take({"tool_calls": [*calls, {"tool": "list_notes", "arguments": {"customer_id": "cus_1"}}]})
    entries = [entry for entry in conversation.observation().transcript if entry.role == "tool"]
    assert [entry.error and entry.error.code for entry in entries] == ["not_permitted"] * 4 + [None]
    assert SECRET not in json.dumps([entry.result for entry in entries])


def test_scoring_is_the_same_with_and_without_a_part(tmp_path):
    """The same turns get the same scores, whatever the agent was not shown."""
    bound = bind(tmp_path)
    (tmp_path / "same.py").write_text(
        "def reply(observation):\n    return {'action': 'decline', 'message': 'No.'}\n", encoding="utf-8"
    )
    dimensions = []
    for text in ("python:same:reply", "python:same:reply?without=memory,knowledge,policies"):
        live = make_agent(parse_spec(text, tmp_path), tmp_path)
        result = Runner({"a": live}, Limits()).run(Job("k", bound, "a", 1))
        assert result.score is not None
        dimensions.append(result.score.dimensions)
    assert dimensions[0] == dimensions[1]


SPY = """
def spy(observation):
    seen = ["memory"] * bool(observation.memory) + ["policies"] * bool(observation.policies)
    return {"action": "answer", "message": f"We are open from nine to five. {seen}"}


class Spy:
    def __init__(self, **options):
        self.options = options

    def reply(self, observation):
        assert self.options == {"tone": "kind"}
        return spy(observation)
"""


@pytest.mark.parametrize(
    "spec",
    [
        "python:desk_agents:spy?without=policies",
        "python:desk_agents:Spy?tone=kind&without=policies",
        "agents/spy.yaml?without=policies",
        "agents/less.yaml",
        "desk?without=policies",
    ],
)
def test_agents_of_every_kind_can_be_ablated(plain, pytester, spec):
    """A function, a class with options of its own, an agent file and a registered agent lack the part, and say so."""
    project(pytester, [1], SPY)
    folder = pytester.mkdir("agents")
    (folder / "spy.yaml").write_text("kind: python\ntarget: desk_agents:spy\n", encoding="utf-8")
    (folder / "less.yaml").write_text(
        "kind: python\ntarget: desk_agents:spy\noptions: {without: policies}\n", encoding="utf-8"
    )
    pytester.makeconftest(
        "import desk_agents\n\ndef pytest_supportbench_agents(config):\n    return {'desk': desk_agents.spy}\n"
    )
    assert plain(f"--supportbench-agent={spec}").ret == 0
    found = last_run(pytester)
    (episode,) = found.episodes
    assert episode["turns"][0]["message"] == "We are open from nine to five. []"
    assert episode["agent"].endswith("-without-policies")
    assert found.run["agents"][0]["without"] == ["policies"]


def test_the_fingerprint_of_a_whole_agent_has_no_ablation(plain, pytester):
    """Without an ablation the run line says nothing of one, and the agent sees the policies."""
    project(pytester, [1], SPY)
    plain("--supportbench-agent=python:desk_agents:spy")
    found = last_run(pytester)
    assert "without" not in found.run["agents"][0]
    assert found.episodes[0]["turns"][0]["message"].endswith("['policies']")


def test_one_command_tells_what_memory_is_worth(run, pytester):
    """Does memory improve outcomes? Two specs in one command give the paired difference."""
    project(
        pytester,
        [1, 2, 3],
        "def forgetful(observation):\n    return GOOD if observation.policies or case(observation) == 1 else BAD\n",
    )
    spec = "--supportbench-agent=python:desk_agents:forgetful"
    text = run(spec, f"{spec}?without=policies").stdout.str()
    assert "A = python-desk_agents-forgetful\n" in text
    assert "B = python-desk_agents-forgetful-without-policies\n" in text
    assert "strict pass 33.3 % against 100.0 %: -66.7 points, -2 scenarios" in text
    assert "fixed 0, broken 2, both pass 1, both fail 0" in text


def test_a_declared_table_and_its_readers_belong_to_a_part():
    """A table with a part takes the tools along that read it; a tool may name a part itself; others stay."""
    tools = declared(
        {
            "name": "parcels",
            "version": "1.0",
            "state": {
                "notes": {"part": "memory", "fields": {"text": "string"}},
                "parcels": {"fields": {"status": "string"}},
            },
            "tools": [
                {"name": "get_note", "description": "d", "effect": "reads", "finds": {"table": "notes"}},
                {"name": "get_parcel", "description": "d", "effect": "reads", "finds": {"table": "parcels"}},
                {
                    "name": "get_rule",
                    "description": "d",
                    "effect": "reads",
                    "part": "policies",
                    "returns": {"rule": "none"},
                },
                {
                    "name": "add_note",
                    "description": "d",
                    "effect": "writes",
                    "parameters": {"text": "string"},
                    "effects": [{"create": {"table": "notes", "prefix": "n", "fields": {"text": "$text"}}}],
                },
            ],
        }
    )
    assert {name: spec.part for name, spec in tools.specs.items()} == {
        "get_note": "memory",
        "get_parcel": None,
        "get_rule": "policies",
        "add_note": None,
    }


def test_a_part_that_does_not_exist_is_refused_in_a_declaration():
    """A misspelt part is a mistake in the toolset, and no ablation that silently does nothing."""
    wrong = {
        "name": "p",
        "version": "1.0",
        "state": {"notes": {"part": "memories", "fields": {}}},
        "tools": [{"name": "t", "description": "d", "effect": "reads", "finds": {"table": "notes"}}],
    }
    with pytest.raises(ToolsetError, match="memory"):
        declared(wrong)


def test_a_part_that_does_not_exist_is_refused_in_a_record():
    """The same holds for a record that is written in Python."""
    note = type("Note", (Record,), {"observation_part": "memories", "__module__": __name__})
    with pytest.raises(ToolsetError, match="did you mean 'memory'"):
        check_record(note)


def test_an_ablation_that_takes_nothing_away_says_so(plain, pytester):
    """The summary counts the episodes that had any of the part; where none had, the experiment shows nothing."""
    project(pytester, [1, 2])
    shown = plain("--supportbench-agent=rules?without=memory", "--supportbench-agent=rules?without=policies")
    shown.stdout.fnmatch_lines(
        [
            "  without memory: 0/2 (0 %) of scored episodes had any, so nothing was taken*",
            "  without policies: 2/2 (100 %) of scored episodes had any",
        ]
    )
    counts = [agent["without"] for agent in last_run(pytester).summary["agents"]]
    assert counts == [{"memory": [0, 2]}, {"policies": [2, 2]}]
