"""One scenario's mock world: executes tool calls against the state, with faults and a virtual clock.

Deterministic: ids and times come from the scenario and the calls alone, so two runs of one trace give equal
records. Tools enforce what is possible, never what is allowed: judging is left to scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError

from pytest_supportbench.calls import CallRecord, Change, Status, differences, strings_in
from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.faults import FaultPlan, FaultReached, failure, split_batch, without_effect
from pytest_supportbench.protocol import ToolCall, ToolFailure, ToolInfo
from pytest_supportbench.scenario import Fault
from pytest_supportbench.state import State, Tables
from pytest_supportbench.suite import Article, Policy
from pytest_supportbench.tools import Context, ToolError, ToolSpec, argument_problem, shown
from pytest_supportbench.toolset import Toolset
from pytest_supportbench.validation import models_in

SECONDS_PER_CALL: Final = 1
SECONDS_PER_TIMEOUT: Final = 30


class Environment:
    """The world of one episode.

    ``state`` is copied, and must not change meanwhile; ``permitted`` names the tools that the scenario allows, and
    ``tools`` has them as the agent sees them; ``subject`` is whose records the first observation shows.
    """

    def __init__(
        self,
        toolset: type[Toolset[Any]],
        state: State,
        *,
        as_of: datetime,
        permitted: Iterable[str],
        faults: Sequence[Fault] = (),
        subject: str = "",
        policies: tuple[Policy, ...] = (),
        knowledge: tuple[Article, ...] = (),
    ) -> None:
        self._context = Context(as_of, policies=policies, knowledge=knowledge, subject=subject)
        self._initial = state
        self._state = state.copy_state()
        self._toolset = toolset(self._state, self._context)
        self._permitted, self.tools = _permitted(cast("Any", toolset), tuple(permitted))
        self._faults = FaultPlan(faults)
        self._replays: dict[tuple[str, str], tuple[dict[str, Any], CallRecord]] = {}
        self._owned = [table for table in state.tables.values() if table]
        self._owners_by_id: dict[str, frozenset[tuple[str, ...]]] = {}
        self.before: Final = state.tables
        self._last = self.before
        self.calls: list[CallRecord] = []

    @property
    def after(self) -> Tables:
        """The tables as they are now."""
        return self._state.tables

    @property
    def now(self) -> datetime:
        """The virtual time."""
        return self._context.now

    def account(self, visible: Iterable[str], without: Collection[str] = ()) -> dict[str, Any]:
        """Return what the first observation shows of the customer's own records, by the names given.

        Tables that belong to a part which an ablation takes away (``without``) are left out.
        Raises `ToolsetError` where the toolset's own view crashes.
        """
        try:
            shown = [name for name in visible if not without or self._toolset.part_of(name) not in without]
            return {name: self._toolset.view(name) for name in shown}
        except Exception as error:
            name = type(self._toolset).__name__
            msg = f"the view of {name} crashed: {type(error).__name__}: {error}"
            raise ToolsetError(msg) from error

    def changes(self) -> tuple[Change, ...]:
        """Return how the state differs from the one that the scenario began with."""
        changed = [call.changes for call in self.calls if call.changes]
        if len(changed) > 1:
            return differences(self.before, self._state.tables)
        return changed[0] if changed else ()

    def faults(self) -> tuple[FaultReached, ...]:
        """Say for each declared fault whether a call reached it."""
        return self._faults.report()

    def call(self, call: ToolCall, turn: int, problem: str = "") -> CallRecord:
        """Execute one call and return its record; whatever the agent sent, nothing is raised for it.

        With a ``problem`` its arguments could not be read, and it is refused for that. Raises `ToolsetError` where the
        toolset itself is broken.
        """
        record = self._execute(call, turn, len(self.calls) + 1, problem)
        self.calls.append(record)
        self._context.advance(SECONDS_PER_TIMEOUT if record.fault == "timeout" else SECONDS_PER_CALL)
        return record

    def renumber(self, changed: Callable[[int], int]) -> None:
        """Have calls belong to other turns; ``changed`` returns the new number of a turn."""
        self.calls[:] = [call._replace(turn=changed(call.turn)) for call in self.calls]

    def _execute(self, call: ToolCall, turn: int, number: int, problem: str) -> CallRecord:
        base: dict[str, Any] = {
            "number": number,
            "turn": turn,
            "tool": call.tool,
            "arguments": call.arguments,
            "at": self._context.now.isoformat(),
        }
        spec = self._permitted.get(call.tool)
        if spec is None:
            known = self._toolset.specs.get(call.tool)
            code = "not_permitted" if known else "unknown_tool"
            text = f"the tool {call.tool!r} is not among the tools of this case"
            return CallRecord(
                **base,
                status="refused",
                error=ToolFailure(code=code, message=text),
                effect=known.effect if known else None,
                handoff=bool(known and known.handoff),
                owners=self._owners_of(call.arguments.values()) if known else (),
            )
        base["effect"], base["handoff"], base["does"] = spec.effect, spec.handoff, spec.does
        base["owners"] = self._owners_of(call.arguments.values())
        if problem:
            return _unfit(base, problem)
        try:
            arguments = spec.validate(call.arguments)
        except ValidationError as error:
            return _unfit(base, argument_problem(error))
        fault = self._faults.next_call(spec.name)
        if fault is not None:
            base["fault"] = fault.kind
            if without_effect(fault):
                return CallRecord(**base, status="error", error=failure(fault, _request_id(number)))
        return self._run(spec, call, arguments, fault, base)

    def _run(
        self,
        spec: ToolSpec,
        call: ToolCall,
        arguments: dict[str, Any],
        fault: Fault | None,
        base: dict[str, Any],
    ) -> CallRecord:
        """Run a call that reaches the tool, whole or not at all."""
        key = arguments.get("idempotency_key") if spec.effect == "writes" else None
        body = {name: value for name, value in arguments.items() if name != "idempotency_key"} if key else {}
        if key and (spec.name, key) in self._replays:
            return self._replay(self._replays[spec.name, key], key, body, fault, base)
        toolset, arguments, left = self._with_fault(spec, call, arguments, fault)
        named = base["owners"]
        counters = dict(self._context.counters)
        toolset.touched.clear()
        try:
            result = shown(spec.run(toolset, arguments))
        except ToolError as error:
            self._state.restore(self._last)
            self._context.counters = counters
            base["owners"] = _owners(named, toolset, fault)
            refusal = ToolFailure(code=error.code, message=str(error), retryable=error.retryable)
            return CallRecord(**base, status="error", error=refusal)
        except ToolsetError:
            raise
        except Exception as error:
            msg = (
                f"the tool {spec.name!r} of {type(toolset).__name__} crashed: {type(error).__name__}: {error}"
            )
            raise ToolsetError(msg) from error
        base["changes"] = self._checked_changes(spec)
        base["committed"] = spec.effect == "writes"
        base["owners"] = _owners(named, toolset, fault)
        status: Status = "partial" if left else "ok"
        record = CallRecord(**base, status=status, result=result, error=_left_over(left))
        if key:
            self._replays[spec.name, key] = (body, record)
        if fault is not None and fault.kind == "timeout":
            lost = failure(fault, _request_id(record.number))
            return record._replace(status="error", result=None, error=lost)
        return record

    def _with_fault(
        self, spec: ToolSpec, call: ToolCall, arguments: dict[str, Any], fault: Fault | None
    ) -> tuple[Toolset[Any], dict[str, Any], list[Any]]:
        """Return what a call runs on, with which arguments, and the items that a fault leaves out."""
        kind = fault.kind if fault is not None else None
        if fault is None or kind not in {"partial", "wrong_record", "stale"}:
            return self._toolset, arguments, []
        if kind == "partial":
            return self._toolset, *split_batch(fault, arguments)
        if kind == "wrong_record":
            return self._toolset, _other_arguments(spec, call, fault), []
        return type(self._toolset)(self._initial.copy_state(), self._context), arguments, []

    def _replay(
        self,
        stored: tuple[dict[str, Any], CallRecord],
        key: str,
        body: dict[str, Any],
        fault: Fault | None,
        base: dict[str, Any],
    ) -> CallRecord:
        """Answer a repeated idempotency key: the earlier outcome for the same body, else an error."""
        earlier, first = stored
        if body != earlier:
            text = f"the idempotency key {key!r} was used before with other arguments"
            return CallRecord(
                **base, status="error", error=ToolFailure(code="idempotency_conflict", message=text)
            )
        if fault is not None and fault.kind == "timeout":
            lost = failure(fault, _request_id(base["number"]))
            return CallRecord(**base, status="error", error=lost, replayed=True)
        return CallRecord(**base, status=first.status, result=first.result, error=first.error, replayed=True)

    def _checked_changes(self, spec: ToolSpec) -> tuple[Change, ...]:
        """Return what the call changed since the last one, and keep the state as it is now."""
        tables = self._state.tables
        if spec.effect == "reads" and _equal_by_value(type(self._state)) and tables == self._last:
            return ()  # compared in one go, where no change is to be expected
        changes = differences(self._last, tables)
        if changes:
            if spec.effect == "reads":
                msg = f"the tool {spec.name!r} is marked 'reads' and changed {changes[0].path}; mark it 'writes'"
                raise ToolsetError(msg)
            self._last = {**self._last, **{change.table: dict(tables[change.table]) for change in changes}}
        return changes

    def _owners_of(self, values: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
        """Return the owners of every record that one of the argument values names by id."""
        found: set[tuple[str, ...]] = set()
        for value in strings_in(values):
            owners = self._owners_by_id.get(value)
            if owners is None:
                owners = self._owners_by_id[value] = self._owners_of_id(value)
            found |= owners
        return tuple(sorted(found))

    def _owners_of_id(self, value: str) -> frozenset[tuple[str, ...]]:
        named = (
            record for table in self._owned if (record := table.get(value)) is not None and record.owners
        )
        return frozenset(tuple(sorted(owners)) for record in named if (owners := record.subjects()))


@lru_cache(maxsize=256)
def _permitted(toolset: Any, names: tuple[str, ...]) -> tuple[Mapping[str, ToolSpec], tuple[ToolInfo, ...]]:
    """Return those tools and how agents see them, in the toolset's order, which tells nothing of the case."""
    specs = {name: spec for name, spec in toolset.specs.items() if name in names}
    return specs, tuple(spec.info for spec in specs.values())


@lru_cache(maxsize=256)
def _equal_by_value(state: type[State]) -> bool:
    """Tell whether records of these tables are equal only where all their fields are: no class says otherwise."""
    return all(
        model.__eq__ is BaseModel.__eq__
        for field in state.model_fields.values()
        for model in models_in(field.annotation)
    )


def _unfit(base: dict[str, Any], problem: str) -> CallRecord:
    return CallRecord(**base, status="refused", error=ToolFailure(code="invalid_arguments", message=problem))


def _request_id(number: int) -> str:
    return f"req_{number:04}"


def _left_over(left: list[Any]) -> ToolFailure | None:
    if not left:
        return None
    text = f"{len(left)} of the items were not processed: {shown(left)}"
    return ToolFailure(code="partial", message=text, retryable=True)


def _owners(
    named: tuple[tuple[str, ...], ...], toolset: Toolset[Any], fault: Fault | None
) -> tuple[tuple[str, ...], ...]:
    """Return whose records a call named or touched; what a fault mixed up is not the agent's doing."""
    if fault is not None and fault.kind == "wrong_record":
        return named
    touched = {tuple(sorted(owners)) for owners in toolset.touched if owners}
    return named if touched.issubset(named) else tuple(sorted(touched.union(named)))


def _other_arguments(spec: ToolSpec, call: ToolCall, fault: Fault) -> dict[str, Any]:
    """Return the arguments that a ``wrong_record`` fault puts in the place of the agent's."""
    try:
        return spec.validate({**call.arguments, **(fault.arguments or {})})
    except ValidationError as error:
        msg = (
            f"the wrong_record fault of {spec.name!r} has arguments it cannot take: {argument_problem(error)}"
        )
        raise ToolsetError(f"{msg}; correct them in the scenario") from error
