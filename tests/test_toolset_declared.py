"""Toolsets declared in YAML, and how a suite's `toolset` is found."""

import copy
import sys
import textwrap
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_supportbench.environment import Environment
from pytest_supportbench.errors import FileError, ToolsetError
from pytest_supportbench.loading import load_suite
from pytest_supportbench.protocol import ToolCall
from pytest_supportbench.tools import ToolError, shown
from pytest_supportbench.toolsets import declared as module
from pytest_supportbench.toolsets import resolve
from pytest_supportbench.toolsets.declared import declared
from pytest_supportbench.yaml12 import parse

NOW = datetime.fromisoformat("2026-03-14T10:30:00-05:00")
EXAMPLE = textwrap.dedent(module.__doc__.split("```yaml")[1].split("```")[0])
MAPPING: dict[str, Any] = parse(EXAMPLE, "example.yaml")
STATE = {
    "parcels": {
        "p1": {"customer_id": "cus_1", "address": "1 Main St", "pin": "0123", "status": "sent"},
        "p2": {"customer_id": "cus_2", "address": "2 Main St", "pin": "9999", "status": "sent", "fee": 1},
    }
}


def world(mapping=None, permitted=None):
    """Return an environment with a declared toolset and two parcels."""
    toolset = declared(MAPPING if mapping is None else mapping)
    state = toolset.state_type.model_validate(STATE)
    return Environment(toolset, state, as_of=NOW, permitted=permitted or toolset.specs, subject="cus_1")


def with_tool(**tool):
    """Return the example with one more tool."""
    mapping = copy.deepcopy(MAPPING)
    mapping["tools"].append({"name": "extra", "description": "An extra tool.", "effect": "writes", **tool})
    return mapping


def call(environment, tool, **arguments):
    return environment.call(ToolCall(tool=tool, arguments=arguments), 1)


def test_the_documented_example_works():
    """The toolset in the documentation reads, and writes all its effects."""
    environment = world()
    assert call(environment, "get_parcel", parcel_id="p1").result == {"status": "sent", "fee": "0"}
    lost = call(environment, "report_loss", parcel_id="p1", reason="never came")
    assert (lost.status, lost.result, lost.does) == ("ok", {"accepted": True}, "request")
    assert call(environment, "get_parcel", parcel_id="p1").result == {"status": "lost", "fee": "2.50"}
    assert environment.after["parcels"]["p1"].scans == ("lost",)
    claim = environment.after["claims"]["claim_1001"]
    assert (claim.parcel_id, claim.reason, claim.evidence()) == ("p1", "never came", {"request"})
    assert claim.at.isoformat() == environment.calls[1].at


def test_records_keep_their_marks():
    """Hidden fields stay in, owners are noted, and free text and times do not count."""
    environment = world()
    record = call(environment, "get_parcel", parcel_id="p2")
    assert record.owners == (("cus_2",),)
    parcel = environment.after["parcels"]["p1"]
    assert "pin" not in parcel.shown()
    assert parcel.identifying == ("address",)
    lost = call(environment, "report_loss", parcel_id="p1", reason="x")
    claim = next(change for change in lost.changes if change.table == "claims")
    assert claim.after == {"id": "claim_1001", "parcel_id": "p1"}
    assert environment.account(["parcel"])["parcel"][0]["id"] == "p1"


def test_parameters_become_json_schema():
    """An agent sees types, descriptions and what is required."""
    schema = world().tools[1].parameters
    assert schema["required"] == ["parcel_id"]
    parcel_id = schema["properties"]["parcel_id"]
    assert (parcel_id["description"], parcel_id["type"]) == ("Number on the label", "string")
    assert declared(MAPPING).specs["report_loss"].free_text == {"reason"}


def test_a_missing_record_is_a_typed_error():
    """What is not there is `not_found`, by id and by other fields."""
    assert call(world(), "get_parcel", parcel_id="nope").error.code == "not_found"
    mapping = with_tool(
        effect="reads",
        parameters={"who": "string"},
        finds={"table": "parcels", "by": {"customer_id": "$who"}},
    )
    assert call(world(mapping), "extra", who="cus_2").result["id"] == "p2"
    missing = call(world(mapping), "extra", who="cus_9").error
    assert (missing.code, missing.message) == ("not_found", "no record in parcels with customer_id 'cus_9'")


def test_a_left_out_parameter_leaves_out_its_condition():
    """`many` returns all that match what was given."""
    mapping = with_tool(
        effect="reads",
        parameters={"who": {"type": "string", "required": False}},
        finds={"table": "parcels", "by": {"customer_id": "$who", "status": "sent"}, "many": True},
        returns=["id"],
    )
    assert call(world(mapping), "extra").result == [{"id": "p1"}, {"id": "p2"}]
    assert call(world(mapping), "extra", who="cus_2").result == [{"id": "p2"}]
    assert call(world(mapping), "extra", who="cus_9").result == []


def test_a_left_out_parameter_leaves_out_its_field():
    """An optional value that is not given does not overwrite anything."""
    mapping = with_tool(
        parameters={"id": "string", "address": {"type": "string", "required": False}},
        finds={"table": "parcels", "by": {"id": "$id"}},
        effects=[{"set": {"address": "$address"}}],
        returns=["address"],
    )
    assert call(world(mapping), "extra", id="p1").result == {"address": "1 Main St"}
    assert call(world(mapping), "extra", id="p1", address="3 Elm St").result == {"address": "3 Elm St"}


def test_effects_reach_every_record_that_was_found():
    """With `many`, one call changes all records that match."""
    mapping = with_tool(
        finds={"table": "parcels", "by": {"status": "sent"}, "many": True},
        effects=[{"add": {"fee": 2}}, {"set": {"status": "lost"}}],
        returns=["fee", "status"],
    )
    assert call(world(mapping), "extra").result == [
        {"fee": "2", "status": "lost"},
        {"fee": "3", "status": "lost"},
    ]


def test_a_minimum_refuses_the_whole_call():
    """A number cannot fall below its minimum, and then nothing else of the call happens either."""
    mapping = with_tool(
        parameters={"by": "integer"},
        finds={"table": "parcels", "by": {"id": "p2"}},
        effects=[{"set": {"status": "lost"}}, {"add": {"fee": "$by"}}],
    )
    environment = world(mapping)
    error = call(environment, "extra", by=-2).error
    assert error.code == "unprocessable"
    assert "fee" in error.message
    assert environment.changes() == ()
    assert call(environment, "extra", by=-1).result["fee"] == "0"


@pytest.mark.parametrize("by", [10**18, 10**400, "1e999999", "x", True])
def test_absurd_numbers_are_refused(by):
    """Numbers out of bounds are argument errors and crash nothing."""
    mapping = with_tool(
        parameters={"by": "decimal"},
        finds={"table": "parcels", "by": {"id": "p2"}},
        effects=[{"add": {"fee": "$by"}}],
    )
    assert call(world(mapping), "extra", by=by).error.code == "invalid_arguments"


def test_a_sum_that_outgrows_its_field_is_refused():
    """Adding up to too many digits is a typed error."""
    mapping = with_tool(
        parameters={"by": "decimal"},
        finds={"table": "parcels", "by": {"id": "p2"}},
        effects=[{"add": {"fee": "$by"}}],
    )
    environment = world(mapping)
    assert call(environment, "extra", by="999999999999999999").error.code == "unprocessable"


def test_dollars_are_literal_when_doubled_and_inside_text():
    """Only a whole `$name` is a reference; nothing is ever formatted."""
    mapping = with_tool(
        parameters={"id": "string"},
        finds={"table": "parcels", "by": {"id": "$id"}},
        effects=[
            {"append": {"scans": "$$id"}},
            {"append": {"scans": "costs $id {id} %s"}},
            {"append": {"scans": "$id"}},
        ],
        returns=["scans"],
    )
    assert call(world(mapping), "extra", id="p1").result == {"scans": ["$id", "costs $id {id} %s", "p1"]}


def test_model_text_is_stored_as_it_is():
    """What an agent sends is never taken for a reference or a template."""
    environment = world()
    call(environment, "report_loss", parcel_id="p1", reason="$now {0.__class__} %s")
    assert environment.after["claims"]["claim_1001"].reason == "$now {0.__class__} %s"


def test_what_a_tool_makes_is_returned():
    """Without `returns` a tool that creates answers with the new record, or with all of several."""
    create = {
        "create": {
            "table": "claims",
            "prefix": "c",
            "fields": {"parcel_id": "p1", "reason": "r", "at": "$now"},
        }
    }
    assert call(world(with_tool(effects=[create])), "extra").result["id"] == "c_1001"
    two = call(world(with_tool(effects=[create, create])), "extra").result
    assert [row["id"] for row in two] == ["c_1001", "c_1002"]
    picked = with_tool(effects=[create], returns=["parcel_id"])
    assert call(world(picked), "extra").result == {"parcel_id": "p1"}


def test_a_record_that_does_not_fit_its_table_is_not_made():
    """A value below the field's minimum is a typed error and leaves nothing behind."""
    mapping = with_tool(
        parameters={"n": "integer"},
        effects=[{"create": {"table": "logs", "prefix": "l", "fields": {"n": "$n"}}}],
    )
    mapping["state"]["logs"] = {"fields": {"n": {"type": "integer", "minimum": 1}}}
    environment = world(mapping)
    assert call(environment, "extra", n=0).error.code == "unprocessable"
    assert environment.changes() == ()
    assert call(environment, "extra", n=1).result["n"] == 1


def test_hand_offs_batches_and_idempotency_can_be_declared():
    """Declared tools have the same marks as written ones."""
    mapping = with_tool(
        handoff=True,
        batch="ids",
        parameters={"ids": "list", "idempotency_key": {"type": "string", "required": False}},
        effects=[
            {
                "create": {
                    "table": "claims",
                    "prefix": "c",
                    "fields": {"parcel_id": "p", "reason": "", "at": "$now"},
                }
            }
        ],
        returns={"ids": "$ids", "when": "$now"},
    )
    spec = declared(mapping).specs["extra"]
    assert (spec.handoff, spec.batch, spec.does) == (True, "ids", "handoff")
    environment = world(mapping)
    first = call(environment, "extra", ids=["a"], idempotency_key="k")
    assert first.result["ids"] == ["a"]
    assert call(environment, "extra", ids=["a"], idempotency_key="k").replayed


CREATE = {"table": "claims", "prefix": "c", "fields": {"parcel_id": "p", "reason": "r", "at": "$now"}}
FIND = {"table": "parcels", "by": {"id": "p1"}}


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (
            {"effects": [{"create": {**CREATE, "table": "parcel"}}]},
            "no table 'parcel'; the tables are parcels, customers, claims",
        ),
        ({"finds": {"table": "x"}, "effect": "reads"}, "finds.table: there is no table 'x'"),
        (
            {"finds": {"table": "parcels", "by": {"nr": 1}}, "effect": "reads"},
            "finds.by.nr: there is no field 'nr'",
        ),
        (
            {"finds": FIND, "effects": [{"set": {"status": "$st"}}]},
            "effects[0].set.status: $st is unknown; there are $now",
        ),
        ({"finds": FIND, "effects": [{"set": {"status": "$5 off"}}]}, "write $$5 off"),
        ({"finds": FIND, "effects": [{"set": {"status": "gone"}}]}, "'gone' is no string as declared"),
        (
            {"finds": FIND, "effects": [{"set": {"status": "$s"}}], "parameters": {"s": "string"}},
            "give the parameter that enum",
        ),
        (
            {"finds": FIND, "effects": [{"set": {"fee": "$s"}}], "parameters": {"s": "string"}},
            "$s is of type string, but decimal",
        ),
        ({"finds": FIND, "effects": [{"set": {"id": "p9"}}]}, "an id never changes"),
        ({"finds": FIND, "effects": [{"add": {"status": 1}}]}, "needs integer or decimal"),
        ({"finds": FIND, "effects": [{"append": {"fee": "x"}}]}, "needs list"),
        (
            {"finds": FIND, "effects": [{"set": {"fee": 1}, "add": {"fee": 1}}]},
            "exactly one of set, add, append, create",
        ),
        ({"effects": [{"set": {"fee": 1}}]}, "add 'finds'"),
        ({"effects": []}, "needs effects"),
        (
            {"effect": "reads", "finds": FIND, "effects": [{"set": {"fee": 1}}]},
            "a tool that reads has no effects",
        ),
        (
            {"effect": "reads", "finds": FIND, "handoff": True},
            "'handoff' and 'does' are for tools that write",
        ),
        ({"effect": "reads"}, "finds and creates nothing"),
        ({"effect": "reads", "finds": FIND, "returns": ["pin"]}, "'pin' is hidden"),
        ({"effect": "reads", "finds": FIND, "returns": {"x": 1.5}}, "returns.x: 1.5 is no text"),
        ({"effect": "reads", "finds": FIND, "finder": 1}, "finder: there is no such key"),
        (
            {"effects": [{"create": {**CREATE, "fields": {"reason": "r", "at": "$now"}}}]},
            "needs 'parcel_id'; add it",
        ),
        (
            {"effects": [{"create": {**CREATE, "fields": {**CREATE["fields"], "id": "x"}}}]},
            "ids are generated",
        ),
        (
            {
                "effects": [{"create": {**CREATE, "fields": {**CREATE["fields"], "parcel_id": "$p"}}}],
                "parameters": {"p": {"type": "string", "required": False}},
            },
            "$p may be missing, but the field is required",
        ),
        ({"effect": "reads", "finds": FIND, "parameters": {"now": "string"}}, "'now' has a reserved name"),
        (
            {"effect": "reads", "finds": FIND, "parameters": {"class": "string"}},
            "'class' has a reserved name",
        ),
        ({"effect": "reads", "finds": FIND, "parameters": {"copy": "string"}}, "for example to copy_"),
        ({"effect": "reads", "finds": FIND, "parameters": {"n": "number"}}, "parameters.n.type"),
        (
            {"effect": "reads", "finds": FIND, "parameters": {"n": {"type": "list", "enum": ["a"]}}},
            "'enum' goes with type string",
        ),
        (
            {"effect": "reads", "finds": FIND, "parameters": {"n": {"type": "string", "minimum": 1}}},
            "'minimum' goes with",
        ),
        ({"effect": "reads", "finds": FIND, "batch": "ids"}, "the marker names ['ids']"),
        ({"effect": "reads", "finds": FIND, "name": "get_parcel"}, "declared twice"),
        ({"effect": "reads", "finds": FIND, "name": "view"}, "for example to view_"),
        ({"effect": "reads", "finds": FIND, "name": "Extra!"}, "'Extra!'"),
        (
            {
                "effects": [{"create": CREATE}, {"create": {"table": "logs", "prefix": "l"}}],
                "returns": ["at"],
            },
            "no table 'logs'",
        ),
    ],
)
def test_mistakes_are_named_with_tool_field_and_remedy(tool, message):
    """A wrong declaration fails at once, with what is wrong and where."""
    with pytest.raises(ToolsetError) as caught:
        declared(with_tool(**tool))
    assert message in str(caught.value)
    assert repr(tool.get("name", "extra")) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("version"), "version: is missing; add it"),
        (
            lambda m: m["state"].update(copy={"fields": {}}),
            "the table 'copy': 'copy' has the name of a part of State",
        ),
        (
            lambda m: m["state"]["parcels"]["fields"].update(owners="list"),
            "the field 'owners': 'owners' has the name of a part",
        ),
        (lambda m: m["state"]["parcels"]["fields"].update(id="string"), "has an id already"),
        (lambda m: m["state"]["parcels"]["fields"].update(x={"type": "integer", "owner": True}), "holds ids"),
        (lambda m: m["state"]["claims"].update(proves=["miracle"]), "proves"),
        (lambda m: m.update(tools=[]), "tools"),
        (lambda m: m.update(tools=[3]), "the tool 'number 0'"),
    ],
)
def test_mistakes_outside_of_tools_are_named_too(change, message):
    """Tables, fields and the head of the mapping are checked as well."""
    mapping = copy.deepcopy(MAPPING)
    change(mapping)
    with pytest.raises(ToolsetError) as caught:
        declared(mapping)
    assert message in str(caught.value)


def test_several_created_tables_need_values_to_return():
    """Fields to return are ambiguous where records of two tables are made."""
    mapping = with_tool(
        effects=[{"create": CREATE}, {"create": {"table": "logs", "prefix": "l", "fields": {"n": 1}}}],
        returns=["at"],
    )
    mapping["state"]["logs"] = {"fields": {"n": "integer"}}
    with pytest.raises(ToolsetError, match="return values instead of fields"):
        declared(mapping)


def test_the_state_is_checked_by_the_declared_types():
    """A scenario's rows must fit the fields."""
    state = declared(MAPPING).state_type
    for wrong in ({"status": "gone"}, {"fee": -1}, {"colour": "red"}):
        with pytest.raises(ValidationError):
            state.model_validate({"parcels": {"p1": {**STATE["parcels"]["p1"], **wrong}}})


def test_a_default_that_does_not_fit_is_refused():
    """Defaults are held to their type like everything else."""
    mapping = copy.deepcopy(MAPPING)
    mapping["state"]["parcels"]["fields"]["fee"] = {"type": "decimal", "minimum": 0, "default": "-1"}
    with pytest.raises(ToolsetError, match="'fee': the default '-1' is no decimal"):
        declared(mapping)


def test_a_mapping_or_its_file_is_a_toolset(tmp_path):
    """`toolset:` takes the mapping itself or a YAML file beside the suite."""
    (tmp_path / "tools.yaml").write_text(EXAMPLE, encoding="utf-8")
    for value in (MAPPING, "tools.yaml"):
        toolset = resolve(value, tmp_path)
        assert (toolset.name, toolset.version, [*toolset.specs]) == (
            "parcels",
            "1.0",
            ["get_parcel", "report_loss"],
        )


def test_files_that_hold_no_toolset_are_named(tmp_path):
    """A missing file, one with other content and broken YAML are told apart."""
    with pytest.raises(ToolsetError, match=r"no toolset file .*none.yaml; create it"):
        resolve("none.yaml", tmp_path)
    (tmp_path / "list.yaml").write_text("- 1\n", encoding="utf-8")
    with pytest.raises(ToolsetError, match="holds no mapping"):
        resolve("list.yaml", tmp_path)
    (tmp_path / "broken.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(FileError):
        resolve("broken.yaml", tmp_path)


OWN = """
from pytest_supportbench import Record, State, Toolset, tool

class Lamp(Record):
    lit: bool = False

class House(State):
    lamps: dict[str, Lamp] = {}

class Lamps(Toolset[House]):
    name = "lamps"
    version = "1.0"
    state_type = House

    @tool("reads")
    def get_lamp(self, lamp_id: str) -> Lamp:
        '''Return a lamp.'''
        return self.get(self.state.lamps, lamp_id, "lamp")

class Nameless(Toolset[House]):
    pass

class Empty(Toolset[House]):
    name, version, state_type = "empty", "1.0", House

class Stateless(Lamps):
    state_type = dict
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a module of the user's own."""
    (tmp_path / "own_lamps.py").write_text(OWN, encoding="utf-8")
    yield tmp_path
    sys.modules.pop("own_lamps", None)


def test_a_class_beside_the_suite_is_found_without_touching_the_path(own):
    """`module:Class` is looked for in the suite's folder, which does not stay on `sys.path`."""
    before = list(sys.path)
    assert list(resolve("own_lamps:Lamps", own).specs) == ["get_lamp"]
    assert sys.path == before


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("own_lamps:Missing", "has no 'Missing'"),
        ("own_lamps:Lamp", "no subclass of pytest_supportbench.toolset.Toolset"),
        ("own_lamps:Nameless", "lacks name, version, state_type"),
        ("own_lamps:Empty", "has no tools"),
        ("own_lamps:Stateless", "no subclass of State"),
        ("own_lamps:Lampz", "has no 'Lampz'; did you mean 'Lamps'?"),
        ("no_such_module_here:Lamps", "there is no module 'no_such_module_here'; install it, or put it into"),
        ("saaz", "'saaz' names no toolset; did you mean 'saas'?"),
        (
            "our-own",
            "write saas, package.module:Class, the name of a YAML file, or a mapping; other names are",
        ),
        ("own-lamps:Lamps", "names no toolset"),
    ],
)
def test_names_that_lead_nowhere_say_what_to_write(own, value, message):
    """Each way to name no toolset has its own message."""
    with pytest.raises(ToolsetError) as caught:
        resolve(value, own)
    assert message in str(caught.value)


def test_a_namesake_from_another_folder_is_refused(own, tmp_path_factory):
    """Two suites with a module of one name do not silently share the first one's tools."""
    other = tmp_path_factory.mktemp("other")
    (other / "own_lamps.py").write_text(OWN, encoding="utf-8")
    resolve("own_lamps:Lamps", own)
    with pytest.raises(ToolsetError, match=r"was loaded from .* rename one"):
        resolve("own_lamps:Lamps", other)


def test_tools_of_two_classes_combine(own):
    """A toolset made of two others has the tools of both, the first one's where both have one."""
    lamps = resolve("own_lamps:Lamps", own)
    both = type("Both", (lamps, declared(MAPPING)), {})
    assert list(both.specs) == ["get_lamp", "get_parcel", "report_loss"]


def test_a_table_whose_ids_are_subjects_owns_itself():
    """`owner: id` makes each record belong to the subject that its id names; another field is refused."""
    mapping = copy.deepcopy(MAPPING)
    customers = (
        declared(mapping).state_type.model_validate({"customers": {"cus_1": {"name": "Ann"}}}).customers
    )
    assert customers["cus_1"].subjects() == {"cus_1"}
    mapping["state"]["customers"]["owner"] = "name"
    with pytest.raises(ToolsetError, match=r"state\.customers\.owner: "):
        declared(mapping)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("effect: writes", "effect: write", "effect: write\n", "is 'write'; did you mean 'writes'?"),
        ("does: request", "does: reqest", "does: reqest", "is 'reqest'; did you mean 'request'?"),
        ("status: lost}", "status: gone}", "- set: {status: gone}", "'gone' is no string as declared"),
        ("customer_id: {type", "copy: {type", "copy: {type", "'copy' has the name of a part"),
        ("effect: reads", "effect: read", "effect: read", "is 'read'; did you mean 'reads'?"),
        ("owner: id ", "owner: name ", "owner: name ", "is 'name'; write 'id'"),
    ],
)
def test_a_mistake_in_a_declaration_is_found_at_its_own_line(tmp_path, old, new, line, message):
    """What is wrong in the file that declares tools is told at its line there, and inline at its line in the suite."""
    text = EXAMPLE.replace(old, new, 1)
    assert text != EXAMPLE
    (tmp_path / "tools.yaml").write_text(text, encoding="utf-8")
    suite = tmp_path / "suite.yaml"
    inline = "toolset:\n" + textwrap.indent(text, "  ")
    for toolset, path in (("toolset: tools.yaml\n", tmp_path / "tools.yaml"), (inline, suite)):
        suite.write_text(f'name: s\nversion: "1.0"\n{toolset}', encoding="utf-8")
        with pytest.raises(FileError) as caught:
            load_suite(suite)
        (problem,) = caught.value.problems
        assert problem.path == str(path)
        assert line.strip() in path.read_text(encoding="utf-8").splitlines()[problem.line - 1]
        assert message in f"{problem.message}; {problem.remedy}"


def test_a_list_of_faulty_tools_is_not_called_too_short(tmp_path):
    """Where every tool has a mistake, each is told, and nothing else."""
    (tmp_path / "tools.yaml").write_text(EXAMPLE.replace("effect:", "efect:"), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text('name: s\nversion: "1.0"\ntoolset: tools.yaml\n', encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load_suite(tmp_path / "suite.yaml")
    fields = {problem.field for problem in caught.value.problems}
    assert fields == {"tools[0].effect", "tools[0].efect", "tools[1].effect", "tools[1].efect"}


def test_a_declared_tool_runs_outside_an_environment():
    """A declared toolset is an ordinary `Toolset`."""
    toolset = declared(MAPPING)
    environment = world()
    bound = toolset(toolset.state_type.model_validate(STATE), environment._context)
    spec = toolset.specs["get_parcel"]
    assert shown(spec.run(bound, spec.validate({"parcel_id": "p1"})))["status"] == "sent"
    with pytest.raises(ToolError):
        spec.run(bound, spec.validate({"parcel_id": "p3"}))
    assert resolve(MAPPING, Path()).name == "parcels"
