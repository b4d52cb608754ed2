"""Which call meets which required call: as many as possible, in order if that can be, and always fast."""

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.expected import RequiredCall
from pytest_supportbench.matchers import ABSENT
from pytest_supportbench.scoring.assignment import assign, value_at
from pytest_supportbench.tools import ToolSpec
from pytest_supportbench.toolsets.saas import SaasToolset

SPECS: dict[str, ToolSpec] = dict(SaasToolset.specs)


def need(tool: str = "issue_refund", **parts: Any) -> RequiredCall:
    return RequiredCall.model_validate({"tool": tool, **parts})


def record(number: int, tool: str = "issue_refund", result: Any = None, **arguments: Any) -> CallRecord:
    effect = SPECS[tool].effect
    return CallRecord(
        number=number,
        turn=number,
        tool=tool,
        arguments=arguments,
        status="ok",
        result=result,
        effect=effect,
        committed=effect == "writes",
    )


def numbers(required: list[RequiredCall], calls: list[CallRecord]) -> list[int | None]:
    made = assign(tuple(required), calls, SPECS)
    return [call.number if call else None for call in made.met]


def test_each_call_is_consumed_once():
    """Two required calls need two actual ones."""
    wanted = need(args={"charge_id": "c", "amount": "1"})
    assert numbers([wanted, wanted], [record(1, charge_id="c", amount="1")]) == [1, None]
    assert numbers([wanted, wanted], [record(i, charge_id="c", amount="1") for i in (1, 2)]) == [1, 2]


def test_the_assignment_is_maximal():
    """A picky requirement gets the call that a generous one could also have had."""
    generous = need(args={"charge_id": {"any": True}})
    picky = need(args={"charge_id": "b"})
    assert numbers([generous, picky], [record(1, charge_id="b"), record(2, charge_id="a")]) == [2, 1]


def test_what_did_not_commit_meets_nothing():
    """A refused or failed write is no required call, unless the attempt is enough."""
    failed = CallRecord(
        1, 1, "issue_refund", {"charge_id": "a"}, "error", fault="unavailable", effect="writes"
    )
    assert numbers([need(args={"charge_id": "a"})], [failed]) == [None]
    assert numbers([need(args={"charge_id": "a"}, attempt=True)], [failed]) == [1]
    refused = CallRecord(1, 1, "issue_refund", {"charge_id": "a"}, "refused", effect="writes")
    assert numbers([need(args={"charge_id": "a"}, attempt=True)], [refused]) == [None]


def test_order_is_kept_where_it_can_be():
    """With several calls to choose from, the one that comes late enough is chosen."""
    look = need("get_charge", id="look")
    then = need(id="pay", after=["look"], args={"charge_id": "a"})
    calls = [record(1, charge_id="a"), record(2, "get_charge"), record(3, charge_id="a")]
    made = assign((then, look), calls, SPECS)
    assert [call.number if call else None for call in made.met] == [3, 2]
    assert made.out_of_order == ()
    assert made.consumed == {2, 3}


def test_a_disordered_assignment_is_told():
    """Where only the wrong order meets all, it is used and named."""
    look = need("get_charge", id="look")
    then = need(id="pay", after=["look"], args={"charge_id": "a"})
    made = assign((look, then), [record(1, charge_id="a"), record(2, "get_charge")], SPECS)
    assert [call.number if call else None for call in made.met] == [2, 1]
    assert made.out_of_order == (1,)


def test_results_and_arguments_of_other_calls_are_looked_up():
    """same_as binds to results and arguments, in either order of the file, and fails where there is none."""
    look = need("get_refund_status", id="look")
    again = need(args={"charge_id": "a", "idempotency_key": {"same_as": "look.args.idempotency_key"}})
    calls = [
        record(1, "get_refund_status", {"refunds": [{"id": "rf_1"}]}, idempotency_key="k"),
        record(2, charge_id="a", idempotency_key="other"),
        record(3, charge_id="a", idempotency_key="k"),
    ]
    assert numbers([again, look], calls) == [3, 1]
    made = assign((look,), calls, SPECS)
    assert made.lookup("look.result.refunds.0.id") == "rf_1"
    for missing in ("look.result.nothing", "other.args.x", "look.result.refunds.9.id"):
        with pytest.raises(KeyError, match=re.escape(missing)):
            made.lookup(missing)


def test_values_that_depend_on_each_other_meet_nothing_and_end():
    """Two calls that each take a value from the other cannot be told apart; the search ends all the same."""
    one = need(id="one", args={"charge_id": {"same_as": "two.args.charge_id"}})
    two = need(id="two", args={"charge_id": {"same_as": "one.args.charge_id"}})
    assert numbers([one, two], [record(1, charge_id="a"), record(2, charge_id="a")]).count(None) >= 1


def test_a_path_reads_maps_and_lists():
    """A result's parts are found by keys and indices; what is not there is absent."""
    data = {"a": [{"b": 1}], "²": 2}
    assert value_at(data, ["a", "0", "b"]) == 1
    assert value_at(data, []) == data
    for path in (["a", "1"], ["a", "x"], ["a", "²"], ["c"], ["a", "0", "b", "c"]):
        assert value_at(data, path) is ABSENT


def test_two_hundred_equal_calls_are_assigned_at_once():
    """An agent that floods cannot stall scoring, even where some requirement cannot be met."""
    flood = [record(i, charge_id="a", amount="1") for i in range(1, 201)]
    generous = need(args={"charge_id": {"any": True}}, exact=False)
    keyed = need(id="first", args={"charge_id": "a"}, exact=False)
    for required in (
        [generous] * 4 + [need(args={"charge_id": "b"})],
        [generous] * 3 + [need(args={"charge_id": "a", "amount": "2"})] * 2,
        [keyed, *[need(id=f"n{i}", after=["first"], args={"charge_id": "a"}, exact=False) for i in range(4)]],
        [need(id="last", after=["never"], exact=False), need("get_charge", id="never"), *[generous] * 3],
        [keyed, *[need(args={"charge_id": {"same_as": "first.args.amount"}}, exact=False)] * 3],
    ):
        began = time.perf_counter()
        made = assign(tuple(required), flood, SPECS)
        assert time.perf_counter() - began < 3.0
        assert sum(call is not None for call in made.met) >= min(len(required), 3) - 2


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", "*"]), max_size=4),
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=5),
)
def test_no_other_assignment_meets_more(wanted: list[str], made: list[str]):
    """Against trying everything: the number of met calls is the greatest there is."""
    required = [need(args={"charge_id": {"any": True} if name == "*" else name}) for name in wanted]
    calls = [record(number, charge_id=name) for number, name in enumerate(made, start=1)]

    def most(index: int, left: tuple[str, ...]) -> int:
        if index == len(wanted):
            return 0
        taking = [
            1 + most(index + 1, left[:place] + left[place + 1 :])
            for place, name in enumerate(left)
            if wanted[index] in {"*", name}
        ]
        return max([most(index + 1, left), *taking])

    met = numbers(required, calls)
    assert sum(number is not None for number in met) == most(0, tuple(made))
    chosen = [number for number in met if number is not None]
    assert len(set(chosen)) == len(chosen)
