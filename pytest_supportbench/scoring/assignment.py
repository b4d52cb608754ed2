"""Which actual call meets which required call: an exact search, small and bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_supportbench.calls import CallRecord
from pytest_supportbench.expected import MatcherSpec, RequiredCall
from pytest_supportbench.matchers import ABSENT, args_mismatch, mismatch
from pytest_supportbench.scoring.once import once
from pytest_supportbench.tools import ToolSpec

MAX_STEPS: Final = 5_000
"""Calls that the search tries at most; an agent that repeats one call a hundred times must not stall the run."""
_ALWAYS_FREE: Final = frozenset({"idempotency_key"})


@dataclass(frozen=True)
class Assignment:
    """The best assignment: as many required calls met as possible, in the required order if that can be.

    ``met[i]`` is the call that meets the ``i``-th required call, or ``None``. ``out_of_order`` lists the indices
    of met calls that came before one that they must follow.
    """

    required: tuple[RequiredCall, ...]
    met: tuple[CallRecord | None, ...]
    out_of_order: tuple[int, ...]

    @once
    def consumed(self) -> frozenset[int]:
        """The numbers of the calls that meet a required one."""
        return frozenset([call.number for call in self.met if call is not None])

    def lookup(self, reference: str) -> Any:
        """Return the value that a ``same_as`` means, such as ``look.result.request_id``; raises `KeyError`."""
        return _lookup(reference, {need.id: call for need, call in zip(self.required, self.met, strict=True)})


def _lookup(reference: str, met: Mapping[Any, CallRecord | None]) -> Any:
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
        elif isinstance(value, list | tuple) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return ABSENT
    return value


class _Search:
    """Depth first over the required calls, predecessors first, each tried with the earliest calls first.

    A required call that takes a value from another one is matched during the search, all others before it, so
    that a step costs next to nothing. It ends at once when no assignment can meet more.
    """

    def __init__(
        self, required: Sequence[RequiredCall], calls: Sequence[CallRecord], specs: Mapping[str, ToolSpec]
    ) -> None:
        self.required = required
        self.specs = specs
        self.index = {call.id: number for number, call in enumerate(required) if call.id}
        sources = [_sources(call) & self.index.keys() for call in required]
        self.order = _topological(required, self.index, sources)
        self.dynamic = [bool(names) for names in sources]
        self.candidates = [
            [
                call
                for call in calls
                if call.tool == need.tool
                and _counts(need, call)
                and (dynamic or why_not(need, call, specs, _nothing) is None)
            ]
            for need, dynamic in zip(required, self.dynamic, strict=True)
        ]
        self.limit = _most_pairs(self.candidates)
        self.independent = (
            not any(self.dynamic)
            and not any(call.after for call in required)
            and _differ_at_once(self.candidates)
        )
        self.steps = 0
        self.best: list[CallRecord | None] = [None] * len(required)
        self.most = -1

    def run(self, *, ordered: bool) -> tuple[CallRecord | None, ...]:
        if self.independent:  # the first path of the search, and it meets all that can be met
            self.most = self.limit
            return tuple([calls[0] if calls else None for calls in self.candidates])
        self.most, self.steps = -1, 0
        self._extend(0, [None] * len(self.required), set(), ordered=ordered)
        return tuple(self.best)

    def _extend(self, depth: int, met: list[CallRecord | None], used: set[int], *, ordered: bool) -> None:
        found = len(used)
        if found > self.most:
            self.most, self.best = found, list(met)
        if depth == len(self.order) or found + len(self.order) - depth <= self.most:
            return
        index = self.order[depth]
        for call in self.candidates[index]:
            self.steps += 1
            if self.most >= self.limit or self.steps > MAX_STEPS:
                return
            if call.number not in used and self._fits(index, call, met, ordered=ordered):
                met[index] = call
                used.add(call.number)
                self._extend(depth + 1, met, used, ordered=ordered)
                used.discard(call.number)
                met[index] = None
        self._extend(depth + 1, met, used, ordered=ordered)

    def _fits(self, index: int, call: CallRecord, met: list[CallRecord | None], *, ordered: bool) -> bool:
        need = self.required[index]
        if ordered:
            for name in need.after:
                before = met[self.index[name]]
                if before is None or not _precedes(before, call):
                    return False
        if not self.dynamic[index]:
            return True
        by_id = {name: met[number] for name, number in self.index.items()}
        return why_not(need, call, self.specs, lambda reference: _lookup(reference, by_id)) is None


def _nothing(reference: str) -> Any:
    raise KeyError(reference)


def _differ_at_once(candidates: Sequence[Sequence[CallRecord]]) -> bool:
    """Tell whether each required call may have the first of its candidates, since no two begin with the same."""
    firsts = [calls[0].number for calls in candidates if calls]
    return len({*firsts}) == len(firsts)


def _most_pairs(candidates: Sequence[Sequence[CallRecord]]) -> int:
    """Return how many required calls can be met at most, each by a call of its own, whatever the order.

    Augmenting paths (Kuhn 1955), which are exact; the search stops when it has as many.
    """
    if _differ_at_once(candidates):
        return sum(map(bool, candidates))
    taken: dict[int, int] = {}
    return sum(_place(index, candidates, taken, set()) for index in range(len(candidates)))


def _place(
    index: int, candidates: Sequence[Sequence[CallRecord]], taken: dict[int, int], tried: set[int]
) -> bool:
    """Give a required call a candidate, for which others may have to take another one; tell whether it got one."""
    for call in candidates[index]:
        if call.number not in tried:
            tried.add(call.number)
            if call.number not in taken or _place(taken[call.number], candidates, taken, tried):
                taken[call.number] = index
                return True
    return False


def _sources(call: RequiredCall) -> set[str]:
    """Return the ids of the required calls that a call takes a value from with ``same_as``."""
    values = (*call.args.values(), *call.result.values())
    matchers = [value for value in values if not isinstance(value, str) and isinstance(value, MatcherSpec)]
    return {path.split(".")[0] for matcher in matchers for path in _references(matcher)} - {call.id or ""}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, MatcherSpec):
        if value.same_as:
            yield value.same_as
        for inner in (*(value.any_of or ()), *(value.unordered or ()), value.not_):
            yield from _references(inner)


def _topological(
    required: Sequence[RequiredCall], index: Mapping[str, int], sources: Sequence[set[str]]
) -> list[int]:
    """Return the indices so that each call comes after those it is ``after`` or takes a value from."""
    if not any(sources) and not any(call.after for call in required):
        return [*range(len(required))]
    befores = [
        [index[name] for name in sorted({*call.after, *sources[number]})]
        for number, call in enumerate(required)
    ]
    order: list[int] = []
    seen: set[int] = set()
    for number in range(len(required)):
        _visit(number, befores, seen, order)
    return order


def _visit(number: int, befores: Sequence[Sequence[int]], seen: set[int], order: list[int]) -> None:
    """Put a call into ``order`` behind what comes before it."""
    if number not in seen:
        seen.add(number)
        for before in befores[number]:
            _visit(before, befores, seen, order)
        order.append(number)


def informing(calls: Sequence[CallRecord], last_turn: int) -> list[CallRecord]:
    """Return the calls without the reads of the last turn, whose results came when all was said and done."""
    return [call for call in calls if call.effect != "reads" or call.turn < last_turn]


def _precedes(before: CallRecord, call: CallRecord) -> bool:
    """Tell whether a call came before another; a read before a write only if its result had come back by then."""
    if before.effect == "reads" and call.effect == "writes":
        return before.came_back_before(call)
    return before.number < call.number


def _counts(required: RequiredCall, call: CallRecord) -> bool:
    """Tell whether a call got far enough: it was done, or a fault stopped it where the attempt is enough."""
    return call.done or (required.attempt and call.fault is not None)


def why_not(
    required: RequiredCall,
    call: CallRecord,
    specs: Mapping[str, ToolSpec],
    lookup: Callable[[str], Any] | None = None,
) -> str | None:
    """Return in one line why a call of the right tool does not meet a required call; ``None`` where it does."""
    spec = specs[required.tool]
    exact = required.exact and spec.effect == "writes"
    free = spec.free_text | _ALWAYS_FREE if exact else _ALWAYS_FREE
    reason = args_mismatch(required.args, call.arguments, exact=exact, free=free, lookup=lookup)
    return reason or result_mismatch(required, call, lookup)


def result_mismatch(
    required: RequiredCall, call: CallRecord, lookup: Callable[[str], Any] | None = None
) -> str | None:
    """Return in one line why a call's result is not the required one; ``None`` where it is."""
    for path, matcher in required.result.items():
        reason = mismatch(matcher, value_at(call.result, path.split(".")), lookup)
        if reason is not None:
            return f"result {path}: {reason}"
    return None


def assign(
    required: tuple[RequiredCall, ...], calls: Sequence[CallRecord], specs: Mapping[str, ToolSpec]
) -> Assignment:
    """Return the best assignment of actual calls to required ones.

    An assignment in the required order is preferred; where only a disordered one meets more calls, that one is
    returned with the indices that are out of order.
    """
    if not required:
        return Assignment((), (), ())
    search = _Search(required, calls, specs)
    met = search.run(ordered=True)
    if search.most < search.limit:
        loose = search.run(ordered=False)
        if sum(call is not None for call in loose) > sum(call is not None for call in met):
            met = loose
    return Assignment(required, met, tuple(_disordered(required, met, search.index)))


def _disordered(
    required: Sequence[RequiredCall], met: Sequence[CallRecord | None], index: Mapping[str, int]
) -> Iterator[int]:
    for number, (need, call) in enumerate(zip(required, met, strict=True)):
        if call is not None and need.after:
            before = [met[index[name]] for name in need.after]
            if any(other is not None and not _precedes(other, call) for other in before):
                yield number
