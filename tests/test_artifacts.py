"""``supportbench artifacts``: what is published of a suite is what its files say."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from projects import scenario, suite

from pytest_supportbench.artifacts import artifact_problems, drift, write_artifacts
from pytest_supportbench.cli import main
from pytest_supportbench.errors import FileError
from pytest_supportbench.facts_csv import cells, read_csv
from pytest_supportbench.loading import load_scenario, load_suite
from pytest_supportbench.suite_identity import suite_facts

TINYBENCH = Path(__file__).parent.parent / "scenarios" / "tinybench-50"


def desk(folder, monkeypatch):
    """Make a suite of two scenarios in ``folder/desk`` and work in ``folder``."""
    suite(folder / "desk")
    scenario(folder / "desk", 2)
    scenario(folder / "desk" / "below", 1, tags="pilot, safety")
    monkeypatch.chdir(folder)
    return Path("desk")


def hold(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module")
def tinybench(tmp_path_factory):
    """Return a copy of the real suite with its artifacts written anew."""
    folder = tmp_path_factory.mktemp("suite") / "tinybench-50"
    shutil.copytree(TINYBENCH, folder)
    write_artifacts(folder)
    return folder


def test_the_same_files_give_the_same_bytes(tmp_path, monkeypatch, capsys):
    """A second call has nothing to write, and another folder and file order give equal artifacts."""
    folder = desk(tmp_path, monkeypatch)
    assert main(["artifacts"]) == 0
    assert (
        capsys.readouterr().out
        == "wrote desk/desk.csv\nwrote desk/MANIFEST.json\nwrote desk/croissant.json\n"
    )
    assert main(["artifacts", "desk"]) == 0
    assert capsys.readouterr().out == "all artifacts of desk are up to date\n"
    suite(tmp_path / "other")
    for source in ("below/case001", "case002"):
        target = tmp_path / "other" / f"{source}.scenario.yaml"
        target.parent.mkdir(exist_ok=True)
        shutil.copy(folder / f"{source}.scenario.yaml", target)
    write_artifacts(tmp_path / "other")
    assert hold(tmp_path / "other") == hold(folder)
    assert [row.id for row in read_csv(folder / "desk.csv")] == ["TB-001", "TB-002"]


def test_check_writes_nothing_and_names_what_is_stale(tmp_path, monkeypatch, capsys):
    """``--check`` gives file, line and the command that mends it, exits with 1, and leaves every file alone."""
    folder = desk(tmp_path, monkeypatch)
    write_artifacts(folder)
    assert main(["artifacts", "--check"]) == 0
    path = folder / "case002.scenario.yaml"
    path.write_text(path.read_text("utf-8") + "# a comment\n", "utf-8")
    (folder / "croissant.json").unlink()
    before = hold(folder)
    assert main(["artifacts", "desk", "--check"]) == 1
    changed, stale, missing = capsys.readouterr().out.splitlines()
    assert changed == (
        "desk/case002.scenario.yaml:1:1: was changed since the artifacts were made; undo that, or, if it is meant, "
        "make them again; a change of scores needs a new suite version"
    )
    number = 1 + next(
        at
        for at, line in enumerate((folder / "MANIFEST.json").read_text("utf-8").splitlines())
        if "root_sha256" in line
    )
    remedy = "run: supportbench artifacts desk"
    assert stale == f"desk/MANIFEST.json:{number}:1: is not what the suite's files give; {remedy}"
    assert missing == f"desk/croissant.json:1:1: is missing; {remedy}"
    assert hold(folder) == before


def test_line_ends_of_another_system_are_no_drift(tmp_path, monkeypatch):
    """After a checkout that turned LF into CRLF everywhere nothing is stale, and the suite's hash is the same."""
    folder = desk(tmp_path, monkeypatch)
    (folder / "README.md").write_text("# Desk\n\n<!-- generated: scenarios -->\n<!-- end -->\n", "utf-8")
    write_artifacts(folder)
    facts = suite_facts([load_suite(folder / "suite.yaml")])
    for path, data in hold(folder).items():
        (folder / path).write_bytes(data.replace(b"\n", b"\r\n"))
    assert drift(folder) == ()
    assert suite_facts([load_suite(folder / "suite.yaml")]) == facts
    assert list(artifact_problems(load_suite((folder / "suite.yaml").absolute()))) == []


def test_only_suites_that_publish_something_drift(tmp_path, monkeypatch):
    """``artifact_problems`` is silent where nothing is published, and tells a broken scenario where something is."""
    folder = desk(tmp_path, monkeypatch)
    bound = load_suite((folder / "suite.yaml").absolute())
    assert list(artifact_problems(bound)) == []
    write_artifacts(folder)
    path = folder / "case002.scenario.yaml"
    path.write_text(path.read_text("utf-8").replace("title: Asks", "title: Wants"), "utf-8")
    loaded = [load_scenario(path.absolute(), bound)]
    assert [Path(problem.path).name for problem in artifact_problems(bound, loaded)] == [
        "case002.scenario.yaml",
        "desk.csv",
        "MANIFEST.json",
        "croissant.json",
    ]
    (folder / "MANIFEST.json").unlink()
    assert "is missing" in {problem.message for problem in artifact_problems(bound)}
    path.write_text("id: TB-002\n", "utf-8")
    assert {Path(problem.path).name for problem in artifact_problems(bound)} == {"case002.scenario.yaml"}


def test_what_a_spreadsheet_cannot_hold_is_an_error(tmp_path, monkeypatch, capsys):
    """A message over the limit of a cell stops everything, with file, column and remedy; nothing is written."""
    folder = desk(tmp_path, monkeypatch)
    path = folder / "case002.scenario.yaml"
    path.write_text(path.read_text("utf-8").replace("When are you open?", "When? " * 6000), "utf-8")
    assert main(["artifacts"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("desk/case002.scenario.yaml:1:1: customer_message: has 36,0")
    assert told.endswith("shorten it, or split the scenario in two\n")
    assert not (folder / "MANIFEST.json").exists()


def test_a_suite_must_be_meant(tmp_path, monkeypatch, capsys):
    """Without a folder the only suite is meant; none, several and a folder without one are usage errors."""
    monkeypatch.chdir(tmp_path)
    assert main(["artifacts"]) == 4
    assert "no suite.yaml below here; name the folder of a suite" in capsys.readouterr().err
    suite(tmp_path / "a")
    suite(tmp_path / ".hidden" / "b")
    suite(tmp_path / "site-packages" / "c")
    assert main(["artifacts"]) == 0
    suite(tmp_path / "b")
    assert main(["artifacts"]) == 4
    assert "2 suites below here: a, b; name the folder of a suite" in capsys.readouterr().err
    suite(tmp_path / "scenarios" / "tinybench-50")
    assert main(["artifacts"]) == 0
    assert main(["artifacts", "site-packages"]) == 4
    assert "site-packages has no suite.yaml" in capsys.readouterr().err


def test_a_suite_further_down_is_not_part(tmp_path, monkeypatch):
    """Scenarios that belong to another suite below are in no row, and the same id twice is an error."""
    folder = desk(tmp_path, monkeypatch)
    suite(folder / "inner", "inner")
    scenario(folder / "inner", 1)
    write_artifacts(folder)
    assert len(read_csv(folder / "desk.csv")) == 2
    scenario(folder, 2, "again.scenario.yaml")
    with pytest.raises(FileError, match="'TB-002' is the id of"):
        write_artifacts(folder)


def test_the_manifest_hashes_what_results_hash(tinybench):
    """The manifest's root hash is that of a run line, and its hash of a scenario is that of an episode line."""
    manifest = json.loads((tinybench / "MANIFEST.json").read_text("utf-8"))
    (facts,) = suite_facts([load_suite(tinybench / "suite.yaml")])
    assert manifest["root_sha256"] == facts["sha256"]
    name = "memory/second-double-payment.scenario.yaml"
    assert manifest["files"][name] == {
        "content_sha256": load_scenario(tinybench / name).sha256,
        "bytes_sha256": hashlib.sha256((tinybench / name).read_bytes()).hexdigest(),
    }
    assert {"suite.yaml", "policies.yaml", "knowledge.yaml"} < manifest["files"].keys()
    assert len(manifest["files"]) == manifest["totals"]["scenarios"] + 3


def test_the_manifest_counts_what_is_there(tmp_path, monkeypatch):
    """Scenarios are counted by area, tag, class of outcome, escalation, language, currency and fault."""
    folder = desk(tmp_path, monkeypatch)
    path = folder / "case002.scenario.yaml"
    extra = "faults: [{tool: add_note, on_calls: always, kind: unavailable}]\ntwin: TB-001\n"
    charge = "    ch_1: {customer_id: cus_1, currency: JPY, amount: '9', charged_at: 2026-03-01T10:00:00Z}\n"
    text = path.read_text("utf-8").replace("visible:", f"  charges:\n{charge}visible:")
    path.write_text(text + extra, "utf-8")
    write_artifacts(folder)
    manifest = json.loads((folder / "MANIFEST.json").read_text("utf-8"))
    assert manifest["totals"] == {
        "scenarios": 2,
        "twin_pairs": 1,
        "counterexamples": 2,
        "policies": 1,
        "articles": 0,
    }
    assert manifest["scenarios_by"] == {
        "category": {"billing": 2},
        "tag": {"pilot": 2, "safety": 1},
        "outcome": {"resolve": 2},
        "escalation": {"must_not": 2},
        "language": {"en": 2},
        "currency": {"JPY": 1},
        "fault": {"unavailable": 1},
    }


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # rdflib's own use
def test_dataset_tools_read_the_metadata(tinybench):
    """mlcroissant finds neither errors nor warnings in the metadata, and reads every cell of the CSV through it."""
    import mlcroissant  # noqa: PLC0415 - it brings pandas, which only this test needs

    dataset = mlcroissant.Dataset(tinybench / "croissant.json")
    assert dataset.metadata.ctx.issues.report().strip() == ""
    csv_name = "tinybench-50.csv"
    (file,) = dataset.metadata.distribution
    assert (file.content_url, file.sha256) == (
        csv_name,
        hashlib.sha256((tinybench / csv_name).read_bytes()).hexdigest(),
    )
    records = list(dataset.records("scenarios"))
    assert len(records) == len(read_csv(tinybench / csv_name))
    for record, row in zip(records, read_csv(tinybench / csv_name), strict=True):
        for name, cell in cells(row).items():
            value = record[f"scenarios/{name}"]
            got = "" if value is None else value.decode() if isinstance(value, bytes) else str(value)
            assert got == cell, name


def test_metadata_leave_out_what_a_suite_does_not_say(tmp_path, monkeypatch):
    """Licence, authors and release appear where the suite file names them, and nowhere else."""
    folder = desk(tmp_path, monkeypatch)
    write_artifacts(folder)
    data = json.loads((folder / "croissant.json").read_text("utf-8"))
    assert {"license", "creator", "datePublished"}.isdisjoint(data)
    assert (data["version"], data["citeAs"]) == ("1.0.0", "desk, version 1.0.")
    said = "license: MIT\nauthors: [Ada, Ben]\nreleased: 2026-05-06\n"
    (folder / "suite.yaml").write_text((folder / "suite.yaml").read_text("utf-8") + said, "utf-8")
    write_artifacts(folder)
    data = json.loads((folder / "croissant.json").read_text("utf-8"))
    assert (data["license"], data["datePublished"]) == ("MIT", "2026-05-06")
    assert data["citeAs"] == "Ada, Ben (2026). desk, version 1.0."


def test_pages_show_scenarios_agents_counts_and_hashes(tmp_path, monkeypatch):
    """Each block says what the suite, its artifacts and the built-in agents say; a bar in a title breaks no table."""
    folder = desk(tmp_path, monkeypatch)
    path = folder / "case002.scenario.yaml"
    path.write_text(path.read_text("utf-8").replace("title: Asks", "title: Asks | <b>"), "utf-8")
    blocks = [
        f"<!-- generated: {name} -->\n<!-- end -->\n"
        for name in ("counts", "scenarios", "constants", "hashes")
    ]
    (folder / "PAGE.md").write_text("\n".join(blocks), "utf-8")
    write_artifacts(folder)
    lines = (folder / "PAGE.md").read_text("utf-8").splitlines()
    for line in (
        "| scenarios | 2 |",
        "| area | `billing` 2 |",
        r"| TB-002 | billing | Asks \| &lt;b> for the opening hours, case 2 |  |",
        "| `always-escalate` | 0/2 | – | 0/2 |",
        "| `oracle` | 2/2 | – | 2/2 |",
        "| billing | 0/2 | 0/2 | 0/2 | 0/2 | 0/2 | 0/2 | 2/2 |",
        f"| `desk.csv` | `{hashlib.sha256((folder / 'desk.csv').read_bytes()).hexdigest()}` |",
    ):
        assert line in lines, line


def test_a_broken_block_is_told_and_nothing_written(tmp_path, monkeypatch, capsys):
    """An unknown block names page and line and leaves with 1."""
    folder = desk(tmp_path, monkeypatch)
    (folder / "README.md").write_text("<!-- generated: count -->\n<!-- end -->\n", "utf-8")
    assert main(["artifacts"]) == 1
    told = "desk/README.md:1:1: there is no generated block 'count'; did you mean 'counts'?\n"
    assert capsys.readouterr().err == told
    assert not (folder / "MANIFEST.json").exists()
