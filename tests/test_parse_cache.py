"""The cache of what scenario files hold: equal to reading them anew, and never in anybody's way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_supportbench.errors import FileError
from pytest_supportbench.loading import Loader, load_scenario
from pytest_supportbench.parse_cache import FILE, ParseCache
from pytest_supportbench.source import Source

TINYBENCH = Path(__file__).parent.parent / "scenarios" / "tinybench-50"

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=50)
@given(data=st.dictionaries(st.text(min_size=1), DATA, max_size=4), raw=st.binary(min_size=200, max_size=300))
def test_what_was_kept_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, object], raw: bytes
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    cache = ParseCache(folder)
    cache.put(raw * 20, data, "f00d")
    cache.flush()

    known = ParseCache(folder)
    assert known.get(raw * 20) == (data, "f00d")
    assert repr(known.get(raw * 20)) == repr((data, "f00d"))  # 1 and True and 1.0 are not the same
    assert known.get(raw) is None


def _scenario(folder: Path) -> Path:
    name = next(TINYBENCH.rglob("charge-after-cancellation.scenario.yaml"))
    path = folder / name.name
    path.write_bytes(name.read_bytes())
    return path


def test_a_scenario_from_the_cache_is_the_scenario(tmp_path: Path) -> None:
    path = _scenario(tmp_path)
    suite = Loader().suite(TINYBENCH / "suite.yaml")
    cache = ParseCache(tmp_path / "cache")
    first = load_scenario(path, suite, cache)
    cache.close()

    again = load_scenario(path, suite, ParseCache(tmp_path / "cache"))

    assert again.scenario == first.scenario == load_scenario(path, suite).scenario
    assert again.sha256 == first.sha256 == load_scenario(path, suite).sha256
    assert again.state == first.state


def test_a_changed_file_is_read_anew_and_a_broken_one_reports_its_place(tmp_path: Path) -> None:
    path = _scenario(tmp_path)
    suite = Loader().suite(TINYBENCH / "suite.yaml")
    cache = ParseCache(tmp_path / "cache")
    load_scenario(path, suite, cache)
    cache.close()
    text = path.read_text(encoding="utf-8")
    line = text.splitlines().index("category: billing") + 1
    path.write_text(text.replace("category: billing", "category: billing\ncategory: twice"), encoding="utf-8")

    for _ in range(2):  # and it is not kept
        cache = ParseCache(tmp_path / "cache")
        with pytest.raises(FileError) as caught:
            load_scenario(path, suite, cache)
        cache.close()
        assert [(problem.line, problem.column) for problem in caught.value.problems] == [(line + 1, 1)]


def test_a_file_whose_mistake_is_not_in_its_yaml_reports_its_place_from_the_cache_too(tmp_path: Path) -> None:
    path = _scenario(tmp_path)
    suite = Loader().suite(TINYBENCH / "suite.yaml")
    path.write_text(
        path.read_text(encoding="utf-8").replace("  - list_charges", "  - list_chargs"), encoding="utf-8"
    )
    cache = ParseCache(tmp_path / "cache")
    source = Source(path, cache)
    assert source.sha256
    cache.close()

    problems = []
    for known in (None, ParseCache(tmp_path / "cache")):
        with pytest.raises(FileError) as caught:
            load_scenario(path, suite, known)
        problems.append(caught.value.problems)
    assert problems[0] == problems[1]
    assert "did you mean 'list_charges'" in str(caught.value)


def test_aliases_that_stand_for_much_are_not_written_out(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"a: &a {'x' * 200}\nb: [{', '.join(['*a'] * 50)}]\n", encoding="utf-8")
    cache = ParseCache(tmp_path / "cache")
    source = Source(path, cache)
    assert len(source.data["b"]) == 50
    assert source.sha256

    cache.close()
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 400])
def test_a_file_that_is_no_cache_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    cache = ParseCache(tmp_path)
    assert cache.get(b"x" * 50) is None
    cache.put(b"x" * 50, {"a": 1}, "f00d")
    cache.close()

    assert ParseCache(tmp_path).get(b"x" * 50) == ({"a": 1}, "f00d")


def test_what_is_no_data_in_it_is_passed_over(tmp_path: Path) -> None:
    cache = ParseCache(tmp_path)
    cache.put(b"x" * 50, {"a": 1}, "f00d")
    cache.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("UPDATE scenarios SET data = '{'")
    database.close()

    assert ParseCache(tmp_path).get(b"x" * 50) is None


def test_another_reader_does_not_believe_it(tmp_path: Path) -> None:
    cache = ParseCache(tmp_path, "old")
    cache.put(b"x" * 50, {"a": 1}, "f00d")
    cache.close()
    assert ParseCache(tmp_path, "old").get(b"x" * 50) is not None

    assert ParseCache(tmp_path, "new").get(b"x" * 50) is None
    assert ParseCache(tmp_path, "old").get(b"x" * 50) is None


def test_one_that_grew_too_large_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ParseCache(tmp_path)
    cache.put(b"x" * 50, {"a": 1}, "f00d")
    cache.close()
    monkeypatch.setattr("pytest_supportbench.parse_cache.MAX_BYTES", 100)

    assert ParseCache(tmp_path).get(b"x" * 50) is None


def test_a_writer_that_holds_it_is_not_in_the_way(tmp_path: Path) -> None:
    cache = ParseCache(tmp_path)
    cache.put(b"x" * 50, {"a": 1}, "f00d")
    cache.close()
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("BEGIN EXCLUSIVE")
    try:
        blocked = ParseCache(tmp_path)
        assert blocked.get(b"x" * 50) is None
        blocked.put(b"y" * 50, {"b": 2}, "cafe")
        blocked.close()
    finally:
        other.close()

    assert ParseCache(tmp_path).get(b"x" * 50) == ({"a": 1}, "f00d")


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
