"""The quarantine file: who holds what until when, what is over, and every mistake at its line."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from pytest_supportbench.errors import UsageError
from pytest_supportbench.quarantine import Quarantine, quarantined, read_quarantine

TODAY = date(2026, 11, 30)
CASES = [("desk", "S-1"), ("desk", "S-2"), ("shop", "S-1")]


def entry(scenario: str = "S-1", expires: str = "2026-12-31", **more: str) -> str:
    fields = {
        "scenario": scenario,
        "owner": "ann",
        "reason": "the bank's sandbox is down",
        "expires": expires,
        **more,
    }
    return "- {" + ", ".join(f"{name}: {value}" for name, value in fields.items()) + "}\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "quarantine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, *entries: str) -> Quarantine:
    found = read_quarantine(written(folder, "quarantine:\n" + "".join(entries)))
    return quarantined(found, CASES, TODAY)


def test_an_entry_holds_its_scenario_and_says_why(tmp_path: Path):
    """The scenario does not count, and the note names day, owner and reason."""
    found = read(tmp_path, entry("S-2"))
    assert found.cases == {("desk", "S-2")}
    assert found.notes == ("S-2: until 2026-12-31, ann: the bank's sandbox is down",)
    assert (found.expired, found.unknown) == ((), ())


def test_without_a_suite_an_entry_holds_the_scenario_of_every_suite(tmp_path: Path):
    """One id in two suites is held in both, unless the entry names one."""
    assert read(tmp_path, entry("S-1")).cases == {("desk", "S-1"), ("shop", "S-1")}
    found = read(tmp_path, entry("S-1", suite="shop"))
    assert found.cases == {("shop", "S-1")}
    assert found.notes[0].startswith("shop/S-1: until")


@pytest.mark.parametrize(("days", "holds"), [(-400, False), (-1, False), (0, True), (1, True)])
def test_the_day_of_expiry_is_the_last_on_which_it_holds(tmp_path: Path, days: int, holds: bool):
    """From the day after on the entry is over, and says who must do what."""
    last = TODAY + timedelta(days=days)
    found = read(tmp_path, entry(expires=last.isoformat()))
    assert bool(found.cases) == holds
    expected = f"S-1: ended on {last}; ann must mend or renew it (the bank's sandbox is down)"
    assert found.expired == (() if holds else (expected,))


def test_an_entry_for_a_scenario_that_is_not_there_is_told(tmp_path: Path):
    """A mistyped or renamed scenario is not in quarantine, whatever its day, and that is said."""
    found = read(tmp_path, entry("S-9"), entry("S-2", suite="shop", expires="2020-01-01"))
    assert (found.cases, found.notes, found.expired) == (frozenset(), (), ())
    assert found.unknown == (
        "S-9: no such scenario in the run; mend its id, or take it out",
        "shop/S-2: no such scenario in the run; mend its id, or take it out",
    )


def test_an_empty_list_holds_nothing(tmp_path: Path):
    """A file may stand ready with no entry in it."""
    assert read_quarantine(written(tmp_path, "quarantine: []\n")) == ()


MISTAKES = {
    "nothing": ("", "1:1: the file is empty"),
    "a list": ("- S-1\n", "1:1: the file holds a list"),
    "another key": ("quarantined: []\n", "unknown key 'quarantined'; did you mean 'quarantine'?"),
    "no list": ("quarantine: S-1\n", "1:13: quarantine: is 'S-1'; write a list"),
    "an id alone": ("quarantine: [S-1]\n", "1:14: quarantine[0]: is 'S-1'"),
    "no owner": ("quarantine:\n- {scenario: S-1, reason: r, expires: 2026-12-31}\n", "2:3: quarantine[0].owner: is"),
    "an empty owner": ("quarantine:\n" + entry(owner="''"), "quarantine[0].owner: is ''"),
    "no reason": ("quarantine:\n- {scenario: S-1, owner: ann, expires: 2026-12-31}\n", "quarantine[0].reason: is"),
    "no day": ("quarantine:\n- {scenario: S-1, owner: ann, reason: r}\n", "quarantine[0].expires: is missing"),
    "a day that is none": ("quarantine:\n" + entry(expires="2026-02-30"), "quarantine[0].expires: is '2026-02-30'"),
    "a day in words": ("quarantine:\n" + entry(expires="soon"), "is 'soon', which is no day; write a date"),
    "a number for a day": ("quarantine:\n" + entry(expires="86400"), "is 86400, which is no day; write a date"),
    "a moment for a day": ("quarantine:\n" + entry(expires="'2026-12-31T00:00:00'"), "which is no day"),
    "an id with a blank": ("quarantine:\n" + entry("S 1"), "quarantine[0].scenario: is 'S 1'"),
    "a misspelt key": ("quarantine:\n" + entry(sute="desk"), "unknown key 'sute'; did you mean 'suite'?"),
    "a scenario twice": ("quarantine:\n" + entry() + entry(), "3:14: quarantine[1].scenario: 'S-1' is in"),
    "twice, once for every suite": ("quarantine:\n" + entry(suite="desk") + entry(), "is in quarantine twice"),
    "twice, once for one suite": ("quarantine:\n" + entry() + entry(suite="desk"), "is in quarantine twice"),
    "an alias bomb": ("quarantine: &a [*a]\n", "the alias *a lies inside its own anchor"),
    "a tag": ("quarantine: !!python/object:os.system []\n", "tag"),
    "broken YAML": ("quarantine: [\n", "quarantine.yaml:"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_a_usage_error_at_its_line(tmp_path: Path, name: str):
    """Every mistake names file, line, column, field and remedy."""
    text, says = MISTAKES[name]
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        read_quarantine(path)
    assert str(caught.value).startswith(f"{path}:")
    assert says in str(caught.value)


def test_one_mistake_does_not_hide_another(tmp_path: Path):
    """All that is wrong in a file is said at once, a line each."""
    path = written(tmp_path, "quarantine:\n" + entry("S 1") + entry(expires="soon"))
    with pytest.raises(UsageError) as caught:
        read_quarantine(path)
    assert len(str(caught.value).splitlines()) == 2


def test_one_scenario_in_two_suites_is_not_twice(tmp_path: Path):
    """Each suite's scenario has an entry of its own."""
    found = read(tmp_path, entry(suite="desk"), entry(suite="shop", expires="2026-01-01"))
    assert found.cases == {("desk", "S-1")}
    assert len(found.expired) == 1


@pytest.mark.parametrize("name", [".", "missing.yaml"])
def test_a_path_that_is_no_file_is_a_usage_error(tmp_path: Path, name: str):
    """A folder, or nothing at all, is no quarantine file."""
    with pytest.raises(UsageError, match="cannot be read"):
        read_quarantine(tmp_path / name)


def test_thousands_of_entries_are_read_at_once(tmp_path: Path):
    """A long file takes no time that grows with its square."""
    path = written(tmp_path, "quarantine:\n" + "".join(entry(f"S-{number}") for number in range(4_000)))
    assert len(read_quarantine(path)) == 4_000
