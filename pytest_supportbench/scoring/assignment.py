"""Which actual call meets which required call: an exact search, small and bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_supportbench.environment import CallRecord
from pytest_supportbench.scenario import MatcherSpec, RequiredCall
from pytest_supportbench.scoring.matchers import ABSENT, args_mismatch, mismatch
from pytest_supportbench.toolset import ToolSpec

MAX_STEPS: Final = 20_000
"""Bound on the search; an agent that repeats one call a hundred times must not stall the run."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The best assignment: as many required calls met as possible, in the required order if that can be.

    ``met[i]`` is the call that meets the ``i``-th required call, or ``None``. ``out_of_order`` lists the indices
    of met calls that came before one that they must follow.
    """

    required: tuple[RequiredCall, ...]
    met: tuple[CallRecord | None, ...]
    out_of_order: tuple[int, ...]

    @property
    def consumed(self) -> frozenset[int]:
        """The numbers of the calls that meet a required one."""
        return frozenset(call.number for call in self.met if call is not None)

    def lookup(self, reference: str) -> Any:
        """Return the value that a ``same_as`` means, such as ``look.result.request_id``; raises `KeyError`."""
        return _lookup(reference, {need.id: call for need, call in zip(self.required, self.met, strict=True)})


def _lookup(reference: str, met: Mapping[str | None, CallRecord | None]) -> Any:
    name, part, *path = reference.split(".")
    call = met.get(name)
    found = ABSENT if call is None else value_at(call.arguments if part == "args" else call.result, path)
    if found is ABSENT:
        raise KeyError(reference)
    return found


def value_at(value: Any, path: Sequence[str]) -> Any:
    """Return the part of JSON data at a path of keys and indices; `ABSENT` where there is none."""
    for key in path:
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list | tuple) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return ABSENT
    return value


class _Search:
    def __init__(
        self, required: Sequence[RequiredCall], calls: Sequence[CallRecord], specs: Mapping[str, ToolSpec]
    ) -> None:
        self.required = required
        self.calls = calls
        self.specs = specs
        self.index = {call.id: number for number, call in enumerate(required) if call.id}
        self.order = _topological(required, self.index)
        self.steps = 0
        self.best: list[CallRecord | None] = [None] * len(required)
        self.most = -1

    def lookup(self, met: list[CallRecord | None]) -> Any:
        by_id: dict[str | None, CallRecord | None] = {name: met[number] for name, number in self.index.items()}
        return lambda reference: _lookup(reference, by_id)

    def fits(self, required: RequiredCall, call: CallRecord, met: list[CallRecord | None]) -> str | None:
        return why_not(required, call, self.specs, self.lookup(met))

    def run(self, *, ordered: bool) -> tuple[CallRecord | None, ...]:
        self.most, self.steps = -1, 0
        self.best = [None] * len(self.required)
        self._extend(0, [None] * len(self.required), set(), ordered=ordered)
        return tuple(self.best)

    def _extend(self, depth: int, met: list[CallRecord | None], used: set[int], *, ordered: bool) -> None:
        self.steps += 1
        found = len(used)
        if found > self.most:
            self.most, self.best = found, list(met)
        if depth == len(self.order) or self.most == len(self.order) or self.steps > MAX_STEPS:
            return
        if found + len(self.order) - depth <= self.most:
            return
        index = self.order[depth]
        required = self.required[index]
        for call in self.calls:
            if call.tool != required.tool or call.number in used or not _counts(required, call):
                continue
            if ordered and not self._after(required, call, met):
                continue
            if self.fits(required, call, met) is None:
                met[index] = call
                used.add(call.number)
                self._extend(depth + 1, met, used, ordered=ordered)
                used.discard(call.number)
                met[index] = None
        self._extend(depth + 1, met, used, ordered=ordered)

    def _after(self, required: RequiredCall, call: CallRecord, met: list[CallRecord | None]) -> bool:
        for name in required.after:
            before = met[self.index[name]]
            if before is None or before.number >= call.number:
                return False
        return True


def _topological(required: Sequence[RequiredCall], index: Mapping[str, int]) -> list[int]:
    """Return the indices so that each call comes after those it is ``after`` or takes a value from."""
    order: list[int] = []

    def visit(number: int) -> None:
        if number in order:
            return
        call = required[number]
        names = set(call.after) | {
            matcher.same_as.split(".")[0]
            for matcher in (*call.args.values(), *call.result.values())
            if isinstance(matcher, MatcherSpec) and matcher.same_as
        }
        for name in sorted(names - {call.id}):
            if name in index:
                visit(index[name])
        order.append(number)

    for number in range(len(required)):
        visit(number)
    return order


def _counts(required: RequiredCall, call: CallRecord) -> bool:
    """Tell whether a call got far enough: it was done, or a fault stopped it where the attempt is enough."""
    return call.done


def why_not(
    required: RequiredCall, call: CallRecord, specs: Mapping[str, ToolSpec], lookup: Any = None
) -> str | None:
    """Return in one line why a call of the right tool does not meet a required call; ``None`` where it does."""
    spec = specs[required.tool]
    exact = required.exact and spec.effect == "writes"
    free = spec.free_text | {"idempotency_key"}
    reason = args_mismatch(required.args, call.arguments, exact=exact, free=free, lookup=lookup)
    if reason is None and required.result:
        for path, matcher in required.result.items():
            reason = mismatch(matcher, value_at(call.result, path.split(".")), lookup)
            if reason is not None:
                return f"result {path}: {reason}"
    return reason


def assign(
    required: tuple[RequiredCall, ...], calls: Sequence[CallRecord], specs: Mapping[str, ToolSpec]
) -> Assignment:
    """Return the best assignment of actual calls to required ones.

    An assignment in the required order is preferred; where only a disordered one meets more calls, that one is
    returned with the indices that are out of order.
    """
    search = _Search(required, calls, specs)
    met = search.run(ordered=True)
    if None not in met:
        return Assignment(required, met, ())
    loose = search.run(ordered=False)
    if sum(call is not None for call in loose) > sum(call is not None for call in met):
        met = loose
    disordered = []
    for number, (need, call) in enumerate(zip(required, met, strict=True)):
        if call is None:
            continue
        before = [met[search.index[name]] for name in need.after]
        if any(other is not None and other.number >= call.number for other in before):
            disordered.append(number)
    return Assignment(required, met, tuple(disordered))
