"""What a toolset's author gets wrong is told at once, at its line, and never as a traceback."""

from __future__ import annotations

import itertools
import sys
import types
from typing import Any

import pytest
from desk import write
from pydantic import BaseModel, Field, TypeAdapter

from pytest_supportbench.check import check_files, find_scenarios
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.scenario import Scenario
from pytest_supportbench.suite import Suite
from pytest_supportbench.toolsets.declared_models import DeclaredToolset
from pytest_supportbench.validation import _example, field_types, models_in
from pytest_supportbench.yaml12 import parse

MODULE = """\
from typing import ClassVar
from pytest_supportbench import Record, State, ToolError, Toolset, tool

class Lamp(Record):
    owners: ClassVar = ("room",)
    hidden: ClassVar = frozenset({"serial"})
    room: str
    serial: str = ""
    lit: bool = False

class House(State):
    lamps: dict[str, Lamp] = {}

class Lamps(Toolset[House]):
    name = "lamps"
    version = "1.0"
    state_type = House

    @tool("reads")
    def get_lamp(self, lamp_id: str) -> Lamp:
        "Return a lamp."
        return self.get(self.state.lamps, lamp_id, "lamp")

    @tool("writes", does="update", free_text=["note"])
    def switch_on(self, lamp_id: str, note: str = "") -> Lamp:
        "Switch a lamp on."
        lamp = self.get(self.state.lamps, lamp_id, "lamp")
        return self.change(self.state.lamps, lamp, lit=True)
"""
SCENARIO: dict[str, Any] = {
    "id": "L-1",
    "title": "It is dark",
    "category": "lamps",
    "failure_mode": {"code": "talks", "description": "Only talks."},
    "as_of": "2026-03-14T10:30:00Z",
    "customer": {"subject": "attic", "message": "It is dark here."},
    "state": {"lamps": {"l_1": {"room": "attic"}}},
    "visible": ["lamps"],
    "policies": ["light"],
    "tools": ["get_lamp", "switch_on"],
    "expected": {
        "actions": ["update_account"],
        "escalation": "must_not",
        "calls": [{"tool": "switch_on", "args": {"lamp_id": "l_1"}}],
        "state": {"lamps.l_1.lit": True},
        "because": ["light"],
    },
    "reference": [
        {
            "action": "update_account",
            "message": "There is light.",
            "tool_calls": [{"tool": "switch_on", "arguments": {"lamp_id": "l_1"}}],
        }
    ],
    "counterexamples": [
        {
            "name": "talks",
            "turns": [{"action": "answer", "message": "I see."}],
            "fails": ["resolution", "tool_use", "escalation"],
        }
    ],
}
NUMBERS = itertools.count()


def checked(folder, *changes: tuple[str, str]):
    """Return what `supportbench check` finds for the toolset with parts of its module replaced, and the module."""
    text = MODULE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    name = f"lamps_{next(NUMBERS)}"
    folder.joinpath(f"{name}.py").write_text(text, encoding="utf-8")
    suite = {
        "name": "lamps",
        "version": "1.0",
        "toolset": f"{name}:Lamps",
        "policies": [{"id": "light", "text": "Switch it on."}],
    }
    write(folder, SCENARIO, suite=suite)
    try:
        return check_files(find_scenarios([folder]), folder).problems, folder / f"{name}.py"
    finally:
        sys.modules.pop(name, None)


def test_the_toolset_that_all_mistakes_are_made_in_has_none(tmp_path):
    """What the other tests break is sound."""
    assert checked(tmp_path)[0] == ()


@pytest.mark.filterwarnings("ignore:Field name")
@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (
            ('@tool("writes"', '@tool("write"'),
            "@tool",
            "the tool 'switch_on': effect must be 'reads' or 'writes', not 'write'; did you mean 'writes'?",
        ),
        (('@tool("reads")', "@tool"), "@tool", "'get_lamp': @tool names no effect; write @tool('reads')"),
        (('does="update"', 'does="pause"'), "@tool", "does='pause' is no deed; the deeds are "),
        (('does="update"', 'does="updat"'), "@tool", "did you mean 'update'?"),
        (('@tool("writes", ', '@tool("reads", '), "@tool", "are for tools that write"),
        (('free_text=["note"]', 'free_text="note"'), "@tool", "write a list, free_text=['note']"),
        (
            ('free_text=["note"]', 'free_text=["nose"]'),
            "class Lamps",
            "['nose'], which are no parameters of it; did",
        ),
        (("lamp_id: str,", "*lamp_id: str,"), "class Lamps", "'*lamp_id: str' cannot be passed by name"),
        (("lamp_id: str,", "lamp_id: 'Nothing',"), "class Lamps", "its annotations cannot be read"),
        (("lamp_id: str,", "lamp_id: Toolset,"), "class Lamps", "its annotations make no JSON Schema"),
        (
            ('("room",)', '("rom",)'),
            "class Lamps",
            "the record Lamp: owners names 'rom', which is no field of it; did",
        ),
        (('("room",)', '"room"'), "class Lamps", "owners is 'room'; write owners: ClassVar = (\"room\",)"),
        (
            ('frozenset({"serial"})', 'frozenset({"x"})'),
            "class Lamps",
            "names 'x', which is no field of it; the fields are id, lit, room, serial",
        ),
        (('frozenset({"serial"})', '("serial",)'), "class Lamps", "write hidden: ClassVar = frozenset("),
        (
            ("owners: ClassVar", "identifying: ClassVar = ('id', 'nam')\n    owners: ClassVar"),
            "class Lamps",
            "'nam'",
        ),
        (
            ("owners: ClassVar", "free_text: ClassVar = {'nte'}\n    owners: ClassVar"),
            "class Lamps",
            "free_text names",
        ),
        (
            ("owners: ClassVar", "volatile: ClassVar = {'at'}\n    owners: ClassVar"),
            "class Lamps",
            "volatile names",
        ),
        (("hidden: ClassVar", "hidden: frozenset[str]"), "class Lamps", "write hidden: ClassVar = "),
        (("dict[str, Lamp] = {}", "list[Lamp] = []"), "class Lamps", "'lamps' is no table"),
        (
            ("lit: bool = False", "lit: bool = False\n    seen: list[str] = []"),
            "class Lamps",
            "the record Lamp: the field 'seen' holds a list, which can be changed in place; annotate it as tuple[",
        ),
        (
            ("lit: bool = False", "lit: bool = False\n    seen: tuple[dict[str, int], ...] | None = None"),
            "class Lamps",
            "the field 'seen' holds a dict, which can be changed in place; annotate it as Mapping[",
        ),
        (
            (
                "lit: bool = False",
                "lit: bool = False\n    of: __import__('crowd_of_bulbs').Bulb | None = None",
            ),
            "class Lamps",
            "the field 'of' holds a Bulb, which can be changed in place; give it model_config = ConfigDict(",
        ),
        (("class House", "class House House"), "class House House", "cannot be imported (SyntaxError: "),
        (("class House", "1 / 0\nclass House"), "1 / 0", "(ZeroDivisionError: division by zero); mend it"),
        (("class House", "raise SystemExit(3)\nclass House"), "raise", "(SystemExit: 3); mend it"),
        (("class House", "import nowhere_at_all\nclass House"), "import n", "which is not there; install it"),
        (
            ('version = "1.0"', "version = '1'\n    def __init__(self, *_): self.x = {}['k']"),
            "def __init__",
            "the toolset broke: KeyError: 'k'",
        ),
        (
            ("lamp, lit=True", "lamp, lit=1 / 0"),
            "lit=1 / 0",
            "the tool 'switch_on' of Lamps crashed: ZeroDiv",
        ),
        (
            ("room: str", "room: str\n    def subjects(self): return self.roof"),
            "def subjects",
            "the toolset broke: AttributeError",
        ),
        (
            ("room: str", "room: str\n    def evidence(self): return self.roof"),
            "def evidence",
            "the toolset broke: AttributeError",
        ),
        (
            ("room: str", "room: str\n    def model_post_init(self, _): raise RuntimeError('a\\nb')"),
            "def model_post_init",
            "the toolset broke: RuntimeError: a b",
        ),
        (
            ('version = "1.0"', "version = '1'\n    def view(self, name): return {}[name]"),
            "def view",
            "the view of Lamps crashed: KeyError: 'lamps'",
        ),
    ],
)
def test_a_mistake_of_the_author_is_one_problem_at_its_line(tmp_path, change, line, message, monkeypatch):
    """Whatever the author's module does when imported, made or used becomes one line that an editor can open."""
    bulbs = types.ModuleType("crowd_of_bulbs")
    bulbs.__dict__["Bulb"] = type("Bulb", (BaseModel,), {"__module__": "crowd_of_bulbs"})
    monkeypatch.setitem(sys.modules, "crowd_of_bulbs", bulbs)
    problems, module = checked(tmp_path, change)
    assert len(problems) == 1, problems
    assert problems[0].path == str(module)
    assert line in module.read_text(encoding="utf-8").splitlines()[problems[0].line - 1]
    assert message in f"{problems[0].message}; {problems[0].remedy}"
    assert "\n" not in str(problems[0])
    assert problems[0].remedy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("room: str", "room: str\n    def evidence(self): return 5"), "the toolset broke: TypeError"),
        (('name = "lamps"', "name = 5"), "are 5 and '1.0'; write texts"),
        (("state_type = House", "state_type = House()"), "is no subclass of State"),
    ],
)
def test_a_mistake_without_a_line_is_told_in_the_users_files(tmp_path, change, message):
    """Where no line of the author's raised, the suite or scenario that met it is named, still without a traceback."""
    problems, module = checked(tmp_path, change)
    assert len(problems) == 1, problems
    assert problems[0].path.startswith(str(module.parent))
    assert message in f"{problems[0].message}; {problems[0].remedy}"


def models(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """Return a model and all that its fields mention."""
    if model not in seen:
        seen.add(model)
        for annotation in field_types(model).values():
            for inner in models_in(annotation):
                models(inner, seen)
    return seen


REQUIRED = [
    (model, field.alias or name)
    for model in sorted(
        {model for root in (Scenario, Suite, DeclaredToolset) for model in models(root, set())}, key=str
    )
    for name, field in model.model_fields.items()
    if field.is_required()
]


@pytest.mark.parametrize(("model", "name"), REQUIRED, ids=lambda value: getattr(value, "__name__", value))
def test_the_example_for_a_missing_field_would_be_accepted(model: type[BaseModel], name: str):
    """Every \"add it, e.g.\" shows a value that the field takes."""
    example = _example(name, [model])
    assert "…" not in example
    TypeAdapter(field_types(model)[name]).validate_python(parse(example, "example")[name])


def test_an_example_of_another_meaning_is_not_shown():
    """A record of the user's own may call a field like one of ours; an example that does not fit is left out."""

    class Bulb(BaseModel):
        code: int
        kind: str
        title: bool

    assert [_example(name, [Bulb]) for name in ("code", "title")] == ["code: …", "title: …"]


def test_a_toolset_made_in_a_test_is_refused_at_once():
    """The mistakes are found when the class is made, so a plain Python test sees them as well."""
    from pytest_supportbench import Record, State, Toolset  # noqa: PLC0415 - as an author would

    class Row(Record):
        owners = ("idd",)

    class Rows(State):
        rows: dict[str, Row] = Field(default_factory=dict)

    with pytest.raises(
        ToolsetError, match="Row: owners names 'idd', which is no field of it; did you mean 'id'"
    ):
        type("Broken", (Toolset,), {"name": "b", "version": "1", "state_type": Rows})
