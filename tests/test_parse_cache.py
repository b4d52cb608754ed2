"""The cache of what scenario files hold: equal to reading them anew, and never in anybody's way."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from pytest_supportbench import loading
from pytest_supportbench.errors import FileError
from pytest_supportbench.loading import BoundScenario, BoundSuite, Loader, load_scenario
from pytest_supportbench.packed import Heading, Packed, PackedScenario
from pytest_supportbench.parse_cache import FILE, ParseCache
from pytest_supportbench.source import Source

TINYBENCH = Path(__file__).parent.parent / "scenarios" / "tinybench-50"

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


HEADING = Heading("TB-001", None, "billing", ("refund",), "refund-wrong-charge")


def _packed(data: dict[str, Any], sha256: str = "f00d", fits: str = "suite") -> Packed:
    return Packed(to_json(data), sha256, fits, HEADING)


@settings(deadline=None, max_examples=50)
@given(data=st.dictionaries(st.text(min_size=1), DATA, max_size=4), raw=st.binary(min_size=20, max_size=300))
def test_what_was_kept_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, object], raw: bytes
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    cache = ParseCache(folder)
    cache.put(raw, _packed(data))
    cache.flush()

    known = ParseCache(folder).get(raw)
    assert known == _packed(data)
    assert repr(known.data()) == repr(data)  # 1 and True and 1.0 are not the same
    assert ParseCache(folder).get(raw + b"x") is None


def _scenario(folder: Path) -> Path:
    """Write a suite with one scenario."""
    for name in ("suite.yaml", "policies.yaml", "knowledge.yaml"):
        folder.joinpath(name).write_bytes((TINYBENCH / name).read_bytes())
    source = next(TINYBENCH.rglob("charge-after-cancellation.scenario.yaml"))
    path = folder / source.name
    path.write_bytes(source.read_bytes())
    return path


def _load(path: Path) -> PackedScenario:
    """Load a scenario as a new run does."""
    cache = ParseCache(path.parent / "cache")
    try:
        return Loader(cache=cache).packed(path)
    finally:
        cache.close()


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of the scenarios that were checked, one after the other."""
    seen: list[str] = []
    check = loading._bound

    def spy(source: Source, suite: BoundSuite) -> BoundScenario:
        seen.append(source.path.name)
        return check(source, suite)

    monkeypatch.setattr(loading, "_bound", spy)
    return seen


def test_a_scenario_from_the_cache_is_the_scenario(tmp_path: Path, checked: list[str]) -> None:
    path = _scenario(tmp_path)
    first, again = _load(path), _load(path)

    assert checked == [path.name]  # and not twice
    fresh = load_scenario(path)
    for known in (first, again):
        assert known.unpack() == fresh
        assert known.unpack().state == fresh.state
        assert known.name == (fresh.suite.suite.name, fresh.scenario.id)
        heading = known.heading
        assert (heading.twin, heading.category) == (fresh.scenario.twin, fresh.scenario.category)
        assert (heading.tags, heading.failure_mode) == (fresh.scenario.tags, fresh.scenario.failure_mode.code)


@given(name=st.sampled_from(sorted(TINYBENCH.rglob("*.scenario.yaml"))))
@settings(deadline=None, max_examples=12)
def test_packing_loses_nothing(name: Path) -> None:
    fresh = load_scenario(name)
    assert Loader().packed(name).unpack() == fresh
    assert Loader().packed(name).unpack().scenario.model_dump_json() == fresh.scenario.model_dump_json()


def test_a_changed_file_is_read_anew_and_a_broken_one_reports_its_place(tmp_path: Path) -> None:
    path = _scenario(tmp_path)
    _load(path)
    text = path.read_text(encoding="utf-8")
    line = text.splitlines().index("category: billing") + 1
    path.write_text(text.replace("category: billing", "category: billing\ncategory: twice"), encoding="utf-8")

    for _ in range(2):  # and it is not kept
        with pytest.raises(FileError) as caught:
            _load(path)
        assert [(problem.line, problem.column) for problem in caught.value.problems] == [(line + 1, 1)]


def test_another_suite_is_another_matter(tmp_path: Path, checked: list[str]) -> None:
    """A scenario that was right is checked again where its suite changed, and its mistake has its place."""
    path = _scenario(tmp_path)
    _load(path)
    policies = tmp_path / "policies.yaml"
    text = policies.read_text(encoding="utf-8")
    needed = load_scenario(path).scenario.policies[0]
    checked.clear()
    policies.write_text(text.replace(f"id: {needed}", "id: another"), encoding="utf-8")

    said = []
    for _ in range(2):
        with pytest.raises(FileError) as caught:
            _load(path)
        said.append(str(caught.value))
    with pytest.raises(FileError) as caught:
        load_scenario(path)
    assert said == [str(caught.value)] * 2
    assert f"'{needed}'" in said[0]

    policies.write_text(text, encoding="utf-8")
    checked.clear()
    _load(path)
    assert not checked


@pytest.mark.parametrize("toolset", ["declared", "python"])
def test_a_toolset_that_changed_is_another_matter_too(
    tmp_path: Path, checked: list[str], toolset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scenario is known to fit a declaration in YAML while that is the same; of Python nothing is known."""
    examples = Path(__file__).parent.parent / "examples"
    for module in ("airline_tools", "airline_records"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    origin = examples / ("telecom-yaml" if toolset == "declared" else "airline")
    folder = tmp_path / "suite"
    shutil.copytree(origin, folder)
    path = min(folder.rglob("*.scenario.yaml"))
    _load(path)
    checked.clear()
    _load(path)
    assert checked == ([] if toolset == "declared" else [path.name])
    if toolset == "declared":
        declared = folder / str(yaml.safe_load((folder / "suite.yaml").read_text())["toolset"])
        declared.write_text(declared.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
        _load(path)
        assert checked == [path.name]


def test_aliases_that_stand_for_much_are_not_written_out(tmp_path: Path, checked: list[str]) -> None:
    path = _scenario(tmp_path)
    entries = "".join(
        f"    - {{role: agent, message: {'&long ' + 'x' * 2000 if number == 0 else '*long'}}}\n"
        for number in range(60)
    )
    text = path.read_text(encoding="utf-8").replace("customer:\n", f"customer:\n  history:\n{entries}", 1)
    path.write_text(text, encoding="utf-8")

    for _ in range(2):
        known = _load(path)
        assert known.packed is None
        assert len(known.unpack().scenario.customer.history) == 60
    assert checked == [path.name] * 2
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 400])
def test_a_file_that_is_no_cache_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    cache = ParseCache(tmp_path)
    assert cache.get(b"x" * 50) is None
    cache.put(b"x" * 50, _packed({"a": 1}))
    cache.close()

    assert ParseCache(tmp_path).get(b"x" * 50) == _packed({"a": 1})


@pytest.mark.parametrize(
    "change", ["data = '{'", "data = replace(data, 1, 2)", "heading = '[]'", "fits = 'other'", "proof = NULL"]
)
def test_what_is_not_as_it_was_kept_is_passed_over(tmp_path: Path, change: str) -> None:
    cache = ParseCache(tmp_path)
    cache.put(b"x" * 50, _packed({"a": 1}))
    cache.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute(f"UPDATE scenarios SET {change}")
    database.close()

    assert ParseCache(tmp_path).get(b"x" * 50) is None


@pytest.mark.parametrize("change", ["DROP TABLE scenarios", "ALTER TABLE scenarios RENAME data TO text"])
def test_a_table_that_is_another_is_made_anew(tmp_path: Path, change: str) -> None:
    cache = ParseCache(tmp_path)
    cache.put(b"x" * 50, _packed({"a": 1}))
    cache.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute(change)
    database.close()

    cache = ParseCache(tmp_path)
    assert cache.get(b"x" * 50) is None
    cache.put(b"x" * 50, _packed({"a": 1}))
    cache.close()
    assert ParseCache(tmp_path).get(b"x" * 50) == _packed({"a": 1})


def test_another_reader_does_not_believe_it(tmp_path: Path) -> None:
    cache = ParseCache(tmp_path, "old")
    cache.put(b"x" * 50, _packed({"a": 1}))
    cache.close()
    assert ParseCache(tmp_path, "old").get(b"x" * 50) is not None

    assert ParseCache(tmp_path, "new").get(b"x" * 50) is None
    assert ParseCache(tmp_path, "old").get(b"x" * 50) is None


def test_one_that_grew_too_large_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ParseCache(tmp_path)
    cache.put(b"x" * 50, _packed({"a": 1}))
    cache.close()
    monkeypatch.setattr("pytest_supportbench.parse_cache.MAX_BYTES", 100)

    assert ParseCache(tmp_path).get(b"x" * 50) is None


def test_a_writer_that_holds_it_is_not_in_the_way(tmp_path: Path) -> None:
    cache = ParseCache(tmp_path)
    cache.put(b"x" * 50, _packed({"a": 1}))
    cache.close()
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("BEGIN EXCLUSIVE")
    try:
        blocked = ParseCache(tmp_path)
        assert blocked.get(b"x" * 50) is None
        blocked.put(b"y" * 50, _packed({"b": 2}))
        blocked.close()
    finally:
        other.close()

    assert ParseCache(tmp_path).get(b"x" * 50) == _packed({"a": 1})


PROJECT = "supportbench_agent = oracle\n"


def _project(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\n{PROJECT}")
    for name in ("suite.yaml", "policies.yaml", "knowledge.yaml"):
        pytester.path.joinpath(name).write_bytes((TINYBENCH / name).read_bytes())
    for source in sorted(TINYBENCH.glob("billing/*.scenario.yaml"))[:3]:
        pytester.path.joinpath(source.name).write_bytes(source.read_bytes())


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_second_run_reads_from_it_and_says_the_same(
    pytester: pytest.Pytester, workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _project(pytester)
    pytester.runpytest_subprocess(*workers).assert_outcomes(passed=3)
    cache = pytester.path / ".supportbench" / "cache" / FILE
    with sqlite3.connect(cache) as database:
        (kept,) = database.execute("SELECT count(*) FROM scenarios").fetchone()
    database.close()
    assert kept == 3
    pytester.makeconftest(
        "import pytest_supportbench.source as source\n"
        "read = source.scan\n"
        "def scan(text, name):\n"
        "    assert 'scenario' not in name, f'{name} was parsed again'\n"
        "    return read(text, name)\n"
        "source.scan = scan\n"
    )

    pytester.runpytest_subprocess(*workers).assert_outcomes(passed=3)
    cache.unlink()
    assert pytester.runpytest_subprocess(*workers).parseoutcomes()["errors"] >= 3  # the trap works


def test_a_project_that_cannot_be_written_to_runs_as_before(pytester: pytest.Pytester) -> None:
    _project(pytester)
    (pytester.path / ".supportbench").mkdir()
    (pytester.path / ".supportbench" / "cache").write_text(
        "a file where the folder should be", encoding="utf-8"
    )

    result = pytester.runpytest_subprocess("--collect-only", "-q")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["3 tests collected*"])
