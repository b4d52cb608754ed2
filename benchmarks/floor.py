"""The floor: what bare pytest needs for the same toy work, with one YAML file a case or one JSONL file for all.

A floor loads a record, calls a Python function and checks five booleans; it knows nothing of desks, tools or scores.
`TOY` is that work, and the peers do the very same.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

TOY: Final = '''\
"""The toy work: an agent that is a Python function, and five booleans about its reply."""


def agent(record):
    last = record["reference"][-1]
    return {"action": last["action"], "message": last["message"], "calls": last.get("tool_calls", [])}


def checks(record, reply):
    expected = record["expected"]
    return (
        reply["action"] in expected["actions"],
        bool(reply["message"]),
        all(call["tool"] in record["tools"] for call in reply["calls"]),
        (expected["escalation"] == "must") == (reply["action"] == "escalate"),
        len(reply["calls"]) <= len(record["tools"]),
    )
'''

TRIALS: Final = "FLOOR_TRIALS"
"""The environment variable that says how many items the YAML floor makes of a file; one without it."""

YAML_CONFTEST: Final = f'''\
"""One item a YAML file and trial, read by the C loader."""

import os

import pytest
import yaml
from toy import agent, checks

TRIALS = int(os.environ.get("{TRIALS}", "1"))


class Case(pytest.File):
    def collect(self):
        with self.path.open(encoding="utf-8") as text:
            record = yaml.load(text, yaml.CSafeLoader)
        for trial in range(TRIALS):
            item = CaseItem.from_parent(self, name=record["id"] if TRIALS == 1 else f"{{record['id']}}[{{trial + 1}}]")
            item.record = record
            yield item


class CaseItem(pytest.Item):
    def runtest(self):
        assert all(checks(self.record, agent(self.record)))


def pytest_collect_file(file_path, parent):
    if file_path.name.endswith(".scenario.yaml"):
        return Case.from_parent(parent, path=file_path)
'''

JSONL_TEST: Final = '''\
"""One parametrised function over the lines of a file."""

import json

import pytest
from toy import agent, checks

with open("cases.jsonl", encoding="utf-8") as lines:
    CASES = [json.loads(line) for line in lines]


@pytest.mark.parametrize("record", CASES, ids=[record["id"] for record in CASES])
def test_case(record):
    assert all(checks(record, agent(record)))
'''


def write_yaml_floor(folder: Path, suite: Path) -> None:
    """Write a project whose ``suite`` is the given folder of scenario files."""
    folder.mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    (folder / "toy.py").write_text(TOY, encoding="utf-8")
    (folder / "conftest.py").write_text(YAML_CONFTEST, encoding="utf-8")
    shutil.copytree(
        suite, folder / "suite", copy_function=os.link
    )  # the same files, already in the page cache


def write_jsonl_floor(folder: Path, cases: Path) -> None:
    """Write a project that tests the lines of ``cases``."""
    folder.mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    (folder / "toy.py").write_text(TOY, encoding="utf-8")
    (folder / "test_cases.py").write_text(JSONL_TEST, encoding="utf-8")
    (folder / "cases.jsonl").symlink_to(cases)
