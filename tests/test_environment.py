"""The mock world: transactions, idempotency, faults, the virtual clock, determinism."""

import copy
import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from desk import bind
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field
from saas_world import CALLS, KNOWLEDGE, NOW, POLICIES, STATE

from pytest_supportbench.calls import CallRecord, differences
from pytest_supportbench.environment import Environment
from pytest_supportbench.episode import run_episode
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.protocol import ToolCall
from pytest_supportbench.scenario import Fault
from pytest_supportbench.state import Record, State
from pytest_supportbench.tools import Context, ToolError, tool
from pytest_supportbench.toolset import Toolset
from pytest_supportbench.toolsets.saas import SaasState, SaasToolset

SAAS = SaasState.model_validate(STATE)
REFUND = {"charge_id": "ch_1", "amount": "49.00", "currency": "USD"}


class Item(Record):
    owners = ("owner",)
    free_text = frozenset({"note"})

    owner: str = ""
    count: int = 0
    note: str = ""


class ShelfState(State):
    items: dict[str, Item] = Field(default_factory=dict)
    spare: dict[str, Item] = Field(default_factory=dict)


class Shelf(Toolset[ShelfState]):
    name = "shelf"
    version = "1"
    state_type = ShelfState

    @tool("reads")
    def look(self, item_id: str) -> Item:
        """Return one item."""
        return self.get(self.state.items, item_id, "item")

    @tool("reads")
    def peek(self, item_id: str) -> Item:
        """Return one item, and change it by mistake."""
        return self.change(self.state.items, self.state.items[item_id], count=99)

    @tool("writes")
    def add(self, item_id: str, count: int, idempotency_key: str | None = None) -> Item:
        """Make an item and count it up; a count over nine is refused halfway."""
        made = self.put(self.state.items, Item(id=self.new_id("it", self.state.items), owner="me"))
        if count > 9:
            raise ToolError("too_many", f"{count} do not fit", retryable=True)
        row = self.get(self.state.items, item_id, "item")
        self.change(self.state.items, row, count=row.count + count)
        return made

    @tool("writes", batch="item_ids")
    def drop(self, item_ids: list[str] | None = None, idempotency_key: str | None = None) -> dict[str, Any]:
        """Remove items."""
        for name in item_ids or []:
            self.state.items.pop(name)
        return {"dropped": item_ids}

    @tool("writes")
    def note(self, item_id: str, text: str) -> Item:
        """Write a note on an item."""
        return self.change(self.state.items, self.state.items[item_id], note=text)

    @tool("writes")
    def crash(self) -> None:
        """Fail like a bug does."""
        raise RuntimeError("boom")

    @tool("reads")
    def strange(self) -> Any:
        """Return what is no JSON."""
        return object()


ITEMS = {"items": {"a": {"owner": "me"}, "b": {"owner": "you"}, "c": {"owner": "me"}}}


def shelf(*faults: dict[str, Any], permitted: Any = None) -> Environment:
    return Environment(
        Shelf,
        ShelfState.model_validate(ITEMS),
        as_of=NOW,
        permitted=Shelf.specs if permitted is None else permitted,
        faults=[Fault.model_validate(fault) for fault in faults],
        subject="me",
    )


def saas(*faults: dict[str, Any], state: SaasState = SAAS) -> Environment:
    return Environment(
        SaasToolset,
        state,
        as_of=NOW,
        permitted=SaasToolset.specs,
        faults=[Fault.model_validate(fault) for fault in faults],
        subject="cus_1",
        policies=POLICIES,
        knowledge=KNOWLEDGE,
    )


def do(world: Environment, name: str, /, **arguments: Any) -> CallRecord:
    return world.call(ToolCall(tool=name, arguments=arguments), 1)


def code(record: CallRecord) -> str | None:
    return record.error.code if record.error else None


def test_a_write_that_fails_halfway_leaves_nothing():
    """A tool error in the middle of a write undoes what it did, and its ids are free again."""
    world = shelf()
    record = do(world, "add", item_id="a", count=10)
    assert (record.status, code(record), record.committed, record.changes) == ("error", "too_many", False, ())
    assert record.error is not None
    assert record.error.retryable
    assert world.changes() == ()
    assert do(world, "add", item_id="a", count=1).result["id"] == "it_1001"
    assert [change.path for change in world.changes()] == ["items.a.count", "items.it_1001"]


def test_a_failed_write_does_not_undo_the_ones_before():
    """Only the failing call is rolled back."""
    world = shelf()
    do(world, "add", item_id="a", count=1)
    do(world, "add", item_id="a", count=10)
    do(world, "add", item_id="none", count=1)
    assert world.after["items"]["a"].count == 1  # type: ignore[attr-defined]
    assert set(world.after["items"]) == {"a", "b", "c", "it_1001"}


def test_the_scenarios_state_is_never_changed():
    """Every episode starts from the same state."""
    world = saas()
    do(world, "issue_refund", **REFUND)
    assert SAAS.charges["ch_1"].status == "succeeded"
    assert world.before["charges"]["ch_1"].status == "succeeded"  # type: ignore[attr-defined]
    assert world.after["charges"]["ch_1"].status == "refunded"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("peek", {"item_id": "a"}, "'peek' is marked 'reads' and changed items.a.count; mark it 'writes'"),
        ("crash", {}, "the tool 'crash' of Shelf crashed: RuntimeError: boom"),
        ("strange", {}, "a tool returned a object, which is no JSON value"),
    ],
)
def test_a_broken_toolset_is_never_the_agents_fault(name: str, arguments: dict[str, Any], told: str):
    """A read that writes, a crash and a result that is no JSON are errors of the toolset, naming the tool."""
    with pytest.raises(ToolsetError, match=told.replace("(", r"\(")):
        do(shelf(), name, **arguments)


def test_what_is_refused_is_recorded_and_changes_nothing():
    """An unknown tool, one that is not permitted and invalid arguments are typed refusals."""
    world = shelf(permitted=["look", "add"])
    unknown = do(world, "fly")
    forbidden = do(world, "drop", item_ids=["b"])
    invalid = do(world, "add", item_id="a", count="many", extra=1)
    assert [code(record) for record in (unknown, forbidden, invalid)] == [
        "unknown_tool",
        "not_permitted",
        "invalid_arguments",
    ]
    assert {record.status for record in world.calls} == {"refused"}
    assert [record.effect for record in world.calls] == [None, "writes", "writes"]
    assert (unknown.owners, forbidden.owners, invalid.owners) == ((), (("you",),), (("me",),))
    assert invalid.error is not None
    assert invalid.error.message.startswith("count: ")
    assert "extra: " in invalid.error.message
    assert world.changes() == ()
    assert [info.name for info in world.tools] == ["look", "add"]


def test_one_key_and_one_body_commit_once():
    """A repeated idempotency key returns the first result; with another body it is an error."""
    world = saas()
    first = do(world, "issue_refund", **REFUND, idempotency_key="k")
    again = do(world, "issue_refund", charge_id="ch_1", amount=49, currency="USD", idempotency_key=" k ")
    other = do(world, "issue_refund", **{**REFUND, "amount": "1"}, idempotency_key="k")
    assert (first.committed, first.replayed) == (True, False)
    assert (again.status, again.committed, again.replayed, again.changes) == ("ok", False, True, ())
    assert again.result == first.result
    assert (code(other), other.committed) == ("idempotency_conflict", False)
    assert len(world.after["refunds"]) == len(STATE["refunds"]) + 1


def test_a_key_belongs_to_its_tool():
    """The same key for another tool is another request."""
    world = saas()
    do(world, "issue_refund", **REFUND, idempotency_key="k")
    credit = do(
        world,
        "apply_credit",
        customer_id="cus_1",
        amount=1,
        currency="USD",
        kind="goodwill",
        idempotency_key="k",
    )
    assert credit.committed


def test_a_key_whose_call_failed_is_still_free():
    """Nothing committed under a key, so a corrected call may use it."""
    world = saas()
    assert (
        code(do(world, "issue_refund", **{**REFUND, "amount": "50"}, idempotency_key="k"))
        == "exceeds_refundable"
    )
    assert do(world, "issue_refund", **REFUND, idempotency_key="k").committed


def test_a_replay_of_a_partial_outcome_is_partial_again():
    """Repeating a key never makes a half-done batch look done."""
    fault = {"tool": "drop", "on_calls": [1], "kind": "partial", "parameter": "item_ids", "completes": 1}
    world = shelf(fault)
    first = do(world, "drop", item_ids=["a", "b"], idempotency_key="k")
    again = do(world, "drop", item_ids=["a", "b"], idempotency_key="k")
    assert (first.status, again.status, again.replayed) == ("partial", "partial", True)
    assert again.error == first.error


def test_a_partial_fault_on_an_absent_list_lets_the_call_through():
    """Where there are no items, none are left out."""
    fault = {"tool": "drop", "on_calls": "always", "kind": "partial", "parameter": "item_ids", "completes": 1}
    assert do(shelf(fault), "drop").status == "ok"


def test_a_committed_time_out_hides_the_result_and_a_replay_shows_it():
    """A time-out tells nothing, whether or not the effect took place; asking again under the key does."""
    fault = {"tool": "issue_refund", "on_calls": [1, 2], "kind": "timeout", "committed": True}
    world = saas(fault)
    records = [do(world, "issue_refund", **REFUND, idempotency_key="k") for _ in range(3)]
    assert [record.status for record in records] == ["error", "error", "ok"]
    assert [record.committed for record in records] == [True, False, False]
    assert [record.replayed for record in records] == [False, True, True]
    assert (records[0].result, records[0].seen_ok, records[0].done) == (None, False, True)
    assert records[2].result["amount"] == "49.00"
    lost = records[0].entry()
    assert (lost.status, lost.result) == ("error", None)
    assert lost.error is not None
    assert (lost.error.code, lost.error.request_id) == ("timeout", "req_0001")


def test_faults_count_the_calls_that_reached_the_tool():
    """Refused calls do not use a fault up."""
    fault = {
        "tool": "look",
        "on_calls": [2],
        "kind": "error",
        "code": "down",
        "message": "out",
        "retryable": True,
    }
    world = shelf(fault)
    do(world, "look", item_id=1)
    do(world, "look", wrong="a")
    results = [code(do(world, "look", item_id="a")) for _ in range(3)]
    assert results == [None, "down", None]
    assert world.calls[3].error is not None
    assert (world.calls[3].error.message, world.calls[3].error.retryable) == ("out", True)
    (met,) = world.faults()
    assert (met.reached, met.calls) == (True, (2,))


def test_the_first_declared_fault_of_a_call_wins():
    """Two faults on one call: the file's order decides."""
    world = shelf(
        {"tool": "look", "on_calls": [1], "kind": "unavailable"},
        {"tool": "look", "on_calls": "always", "kind": "rate_limited", "retry_after": 7},
    )
    assert [code(do(world, "look", item_id="a")) for _ in range(2)] == ["unavailable", "rate_limited"]
    assert [met.calls for met in world.faults()] == [(1,), (2,)]


def test_a_wrong_record_blames_nobody_even_when_it_fails():
    """Whose data a fault mixes up is not among the owners of the call."""
    fault = {"tool": "look", "on_calls": [1], "kind": "wrong_record", "arguments": {"item_id": "b"}}
    record = do(shelf(fault), "look", item_id="a")
    assert (record.result["id"], record.owners) == ("b", (("me",),))


def test_a_wrong_record_with_impossible_arguments_is_the_scenarios_mistake():
    """Arguments that the tool cannot take never count against the agent."""
    fault = {"tool": "look", "on_calls": [1], "kind": "wrong_record", "arguments": {"item_id": 5}}
    with pytest.raises(
        ToolsetError, match="wrong_record fault of 'look' has arguments it cannot take: item_id"
    ):
        do(shelf(fault), "look", item_id="a")


def test_a_stale_read_comes_from_before_the_episode():
    """The old state answers; the record that was read is still known."""
    world = shelf({"tool": "look", "on_calls": [1], "kind": "stale"})
    do(world, "add", item_id="a", count=4)
    assert [do(world, "look", item_id="a").result["count"] for _ in range(2)] == [0, 4]
    assert world.calls[1].owners == (("me",),)


def test_the_clock_is_virtual():
    """A call takes a second and a time-out thirty; nothing sleeps."""
    world = shelf({"tool": "look", "on_calls": [2], "kind": "timeout", "committed": False})
    for _ in range(3):
        do(world, "look", item_id="a")
    times = [datetime.fromisoformat(record.at) - NOW for record in world.calls]
    assert times == [timedelta(0), timedelta(seconds=1), timedelta(seconds=31)]
    assert world.now - NOW == timedelta(seconds=32)


def test_changes_tell_created_removed_and_altered_records_apart():
    """Each difference has its place; free text does not count."""
    world = shelf()
    do(world, "add", item_id="a", count=2)
    do(world, "drop", item_ids=["b"])
    do(world, "note", item_id="c", text="hello")
    changes = {change.path: change for change in world.changes()}
    assert changes["items.a.count"].after == 2
    assert (changes["items.it_1001"].before, changes["items.it_1001"].field) == (None, None)
    assert changes["items.b"].after is None
    assert (changes["items.c.note"].counts, changes["items.a.count"].counts) == (False, True)
    assert differences(world.before, world.before) == ()


def test_a_write_that_changes_nothing_is_committed_without_changes():
    """Setting what is set already is a commit, though the state is the same."""
    record = do(shelf(), "note", item_id="a", text="")
    assert (record.committed, record.changes) == (True, ())


def test_visible_parts_show_the_customers_own_records_without_hidden_fields():
    """The first observation has no record of anybody else and no secret."""
    account = saas().account(["customer", "factors"])
    assert [row["id"] for row in account["customer"]] == ["cus_1", "cus_2"]  # cus_1 is a delegate of cus_2
    assert [row["id"] for row in account["factors"]] == ["fac_1", "fac_2"]
    assert "482913" not in json.dumps(account)


def _values(name: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    usual = CALLS[name]
    pool = [value for arguments in CALLS.values() for value in arguments.values()]
    return st.fixed_dictionaries(
        {},
        optional={
            key: st.one_of(
                st.just(usual.get(key)),
                st.sampled_from(pool),
                st.text(max_size=6),
                st.integers(-2, 200),
                st.none(),
                st.lists(st.sampled_from(["usr_2", "usr_3", "x"]), max_size=3),
            )
            for key in schema["properties"]
        },
    )


def _call(name: str) -> st.SearchStrategy[ToolCall]:
    schema = SaasToolset.specs[name].parameters
    arguments = st.one_of(
        st.just(CALLS[name]), _values(name, schema).map(lambda more: {**CALLS[name], **more})
    )
    return arguments.map(lambda chosen: ToolCall(tool=name, arguments=copy.deepcopy(chosen)))


FAULTS = [
    {"tool": "issue_refund", "on_calls": [1, 3], "kind": "timeout", "committed": True},
    {"tool": "get_charge", "on_calls": [2], "kind": "stale"},
    {"tool": "get_customer", "on_calls": [1], "kind": "wrong_record", "arguments": {"customer_id": "cus_2"}},
    {
        "tool": "remove_seats",
        "on_calls": "always",
        "kind": "partial",
        "parameter": "user_ids",
        "completes": 1,
    },
]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(sorted(SaasToolset.specs)).flatmap(_call), min_size=1, max_size=8))
def test_two_runs_of_one_trace_give_equal_records(calls: list[ToolCall]):
    """Whatever an agent calls: no crash, failures change nothing, and the records are equal byte for byte."""
    before = repr(SAAS)
    texts = []
    for _ in range(2):
        world = saas(*FAULTS)
        for made in calls:
            record = world.call(made, 1)
            assert record.committed or not record.changes
            assert not (record.committed and record.effect == "reads")
        last = world.after["users"]
        assert all(isinstance(row, Record) for row in last.values())
        texts.append(repr((world.calls, world.changes(), world.faults())))
    assert texts[0] == texts[1]
    assert repr(SAAS) == before


def test_context_gives_ids_that_are_free():
    """A generated id never collides with one of the scenario."""
    context = Context(NOW)
    assert context.new_id("it", {"it_1001": 1}) == "it_1002"
    assert context.new_id("it", {}) == "it_1003"


def test_a_view_that_crashes_is_the_toolsets_fault(tmp_path: Path):
    """An agent that never saw an observation did not fail: the episode is an error that names the toolset."""
    bound = bind(tmp_path)

    class Broken(bound.suite.toolset):
        def view(self, name: str) -> list[dict[str, Any]]:
            raise ZeroDivisionError(name)

    broken = replace(bound, suite=replace(bound.suite, toolset=Broken), scenario=bound.scenario)
    episode = run_episode(broken, lambda _: None)
    assert (episode.ending, episode.error.cause) == ("error", "toolset")
    assert "the view of Broken crashed: ZeroDivisionError" in episode.error.message


def test_a_record_may_belong_to_somebody_of_any_kind_of_id():
    """Owners are what the fields hold: one id, which need not be text, or several; empty ones are nobody."""

    class Parcel(Record):
        owners = ("sender", "receivers", "box")

        sender: str | None = None
        receivers: tuple[str, ...] = ()
        box: int | None = None

    assert Parcel(id="p", sender="", box=None).subjects() == frozenset()
    assert Parcel(id="p", sender="cus_1", receivers=("cus_2", "cus_3"), box=7).subjects() == {
        "cus_1",
        "cus_2",
        "cus_3",
        7,
    }
