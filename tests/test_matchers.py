"""What a scenario's matchers accept and refuse."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_supportbench.expected import MatcherSpec
from pytest_supportbench.matchers import ABSENT, args_mismatch, describe, mismatch

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def spec(**form):
    return MatcherSpec.model_validate(form)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("49.00", "49.00"),
        ("25", 25.0),
        (25.0, "25.0"),
        ("25", "25.0"),
        ("49.00", 49),
        (0.1, "0.1"),
        (" Ana ", "Ana"),
        ("caf\u00e9", "cafe\u0301"),
        ("2026-03-14T10:30:00-05:00", "2026-03-14T15:30:00Z"),
        ("2026-03-14T10:30", "2026-03-14T10:30:00"),
        ([1, "2"], ["1", 2]),
        ({"a": 1}, {"a": "1.0"}),
        (True, True),
        (None, ABSENT),
    ],
    ids=repr,
)
def test_literals_match_after_normalisation(expected, actual):
    """Equal values match however they are written."""
    assert mismatch(expected, actual) is None


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("49.00", "94.00"),
        ("025", "25"),
        ("025", 25),
        (1, True),
        (True, 1),
        ("true", True),
        ("ch_1", "CH_1"),
        ("2026-03-14", "2026-03-15"),
        ("2026-03-14T10:30:00", "2026-03-14T10:30:00Z"),
        ([1], [1, 2]),
        ([1, 2], [2, 1]),
        (None, "x"),
        ("x", None),
        ("x", ABSENT),
        ({"a": 1}, [1]),
        (1, [1]),
    ],
    ids=repr,
)
def test_different_values_do_not_match(expected, actual):
    """Ids with leading zeros, booleans, other zones and other orders are different values."""
    assert mismatch(expected, actual) is not None


def test_the_reason_names_both_values():
    """A reader sees what was expected and what came."""
    assert mismatch("49.00", "94.00") == "expected '49.00', got '94.00'"
    assert mismatch({"a": 1, "b": 2}, {"a": 1, "c": 3}) == "the keys b are missing"
    assert mismatch({"a": 1}, {"a": 1, "c": 3}) == "the keys c are not expected"
    assert mismatch({"a": 1}, {"a": 2}) == "a: expected 1, got 2"
    assert mismatch([1, 2], [1, 3]) == "item 1: expected 2, got 3"


@pytest.mark.parametrize(
    ("form", "yes", "no"),
    [
        ({"equals": {"a": 1}}, {"a": 1}, {"a": 2}),
        ({"any_of": ["a", {"contains": "b"}]}, "abc", "c"),
        ({"matches": "ch_[0-9]+"}, "ch_204", "ch_204x"),
        ({"matches": "ch_[0-9]+"}, "ch_204", 204),
        ({"contains": "dupl"}, "a duplicate", "a double"),
        ({"contains": 2}, [1, "2"], [1, 3]),
        ({"between": [1, "2.5"]}, "2.50", 2.51),
        ({"between": ["2026-03-01", "2026-03-31"]}, "2026-03-31", "2026-04-01"),
        ({"between": ["2026-03-01", "2026-03-31"]}, "2026-03-31T23:00:00Z", "2026-04-01T00:00:00Z"),
        ({"between": [1, 2]}, 1, "soon"),
        ({"approx": "10", "within": "0.1"}, 10.1, 10.11),
        ({"approx": "10", "within": "0.1"}, "9.9", "ten"),
        ({"unordered": ["a", {"any": True}]}, ["x", "a"], ["x", "y"]),
        ({"unordered": [{"any": True}, "a"]}, ["a", "x"], ["a"]),
        ({"unordered": [1]}, [1], 1),
        ({"any": True}, "x", None),
        ({"not": "x"}, "y", "x"),
        ({"not": {"contains": "x"}}, "y", "axb"),
    ],
    ids=repr,
)
def test_each_form_of_matcher(form, yes, no):
    """A matcher accepts what it describes, and refuses the rest and what is absent."""
    assert mismatch(spec(**form), yes) is None
    assert mismatch(spec(**form), no) is not None
    assert mismatch(spec(**form), ABSENT) is not None


def test_between_with_and_without_zone_is_a_mismatch():
    """A time without a zone cannot be compared with one that has it, and says so."""
    reason = mismatch(spec(between=["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"]), "2026-03-01T12:00:00")
    assert reason is not None
    assert "zone" in reason


def test_same_as_looks_up_another_call():
    """``same_as`` compares with another call's value, and a call that never came is a mismatch."""
    values = {"look.result.request_id": "rq_1"}
    same = spec(same_as="look.result.request_id")
    assert mismatch(same, "rq_1", values.__getitem__) is None
    assert "rq_1" in mismatch(same, "rq_2", values.__getitem__)
    assert "no value" in mismatch(same, "rq_1", {}.__getitem__)
    assert mismatch(same, "rq_1") is not None
    assert (
        mismatch(spec(any_of=["x", {"same_as": "look.result.request_id"}]), "rq_1", values.__getitem__)
        is None
    )


def test_unordered_finds_the_one_assignment_that_fits():
    """A greedy first match does not spoil a later one."""
    wanted = spec(unordered=[{"any": True}, {"any_of": ["a", "b"]}, "a"])
    assert mismatch(wanted, ["a", "b", "c"]) is None
    assert mismatch(wanted, ["b", "b", "b"]) is not None


def test_a_slow_pattern_is_a_mismatch_within_its_time_limit():
    """A pattern that explodes ends after its time limit with a reason."""
    begun = time.perf_counter()
    reason = mismatch(spec(matches="(a|aa)+$b"), "a" * 60 + "c")
    assert "longer than" in reason or "matches" in reason
    assert time.perf_counter() - begun < 2


def test_long_texts_are_not_matched():
    """A text beyond the bound matches no pattern."""
    assert "10,001" in mismatch(spec(matches=".*"), "a" * 10_001)
    assert mismatch(spec(matches="a*"), "a" * 10_000) is None


def test_writes_refuse_arguments_that_are_not_named():
    """With exact arguments, an extra one fails unless it is free or empty."""
    wanted = {"charge_id": "ch_204", "amount": "49.00"}
    given = {"charge_id": "ch_204", "amount": 49}
    free = frozenset({"note"})
    assert args_mismatch(wanted, given, exact=True, free=free) is None
    assert args_mismatch(wanted, {**given, "note": "hi"}, exact=True, free=free) is None
    assert args_mismatch(wanted, {**given, "x": None, "y": "", "z": []}, exact=True, free=free) is None
    assert args_mismatch(wanted, {**given, "x": 0}, exact=True, free=free) == "x: not expected here, got 0"
    assert args_mismatch(wanted, {**given, "x": 1}, exact=False, free=free) is None
    assert args_mismatch(wanted, {}, exact=False, free=free) == "charge_id: expected 'ch_204', got nothing"


def test_numbers_too_large_to_print_do_not_crash():
    """An integer of ten thousand digits is a mismatch like any other."""
    assert "thousands of digits" in mismatch("1", 10**10_000)


def test_a_matcher_describes_itself():
    """A check can show what was expected in a few words."""
    assert describe(spec(approx="10", within="0.1")) == "10 within 0.1"
    assert describe(spec(any_of=["a", "b"])) == "any_of ['a', 'b']"
    assert describe(spec(**{"not": {"between": [1, 2]}})) == "not a value between 1 and 2"
    assert describe(spec(any=True)) == "any value"
    assert describe("x") == "'x'"


@given(json_values)
def test_every_value_matches_itself(value):
    """A literal matches an equal value."""
    assert mismatch(value, value) is None


@given(json_values, json_values)
def test_literal_matching_is_symmetric(one, other):
    """Which side is the expected one makes no difference."""
    assert (mismatch(one, other) is None) == (mismatch(other, one) is None)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=0, max_value=10**6))
def test_money_matches_in_any_notation(amount):
    """A decimal equals its text with any number of trailing zeros."""
    assert mismatch(str(amount), f"{amount}00") is None
    assert mismatch(f"{amount}", str(amount + Decimal("0.01"))) is not None


def test_contains_takes_a_list_of_all_that_must_be_in_it():
    """Each item of the list is looked for, in a list or a text, in any order; an empty list is refused."""
    both = MatcherSpec.model_validate({"contains": ["doc_41", "doc_42"]})
    assert mismatch(both, ["doc_42", "x", "doc_41"]) is None
    assert mismatch(both, "doc_41 and doc_42") is None
    assert "doc_42" in (mismatch(both, ["doc_41"]) or "")
    assert mismatch(both, "doc_41") is not None
    with pytest.raises(ValueError, match="empty list"):
        MatcherSpec.model_validate({"contains": []})
