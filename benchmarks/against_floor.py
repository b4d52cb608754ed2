"""Rows against the floor: cold and second runs, collection, memory, and whether time grows with the scenarios only."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contest import Contestant, Heats, contest, ratios
from benchmarks.projects import Projects, made
from benchmarks.rows import Finding, Row, samples

SMALL, MEDIUM, LARGE = 50, 1_000, 10_000
_FLOOR, _OURS, _AGAIN = "YAML floor", "ours", "ours, second run"
_COLLECTS = ("ours, --collect-only cold", "ours, --collect-only unchanged")


def rows(place: Path, rounds: int, large: int = LARGE, medium: int = MEDIUM) -> list[Row]:
    """Measure all sizes; ``large`` and ``medium`` are smaller only to try the program."""
    sizes = {count: made(place, count) for count in (SMALL, medium, large)}
    contest(_all(sizes[SMALL]), 1)  # bytecode is written here, once
    heats = {count: contest(_all(projects), rounds) for count, projects in sizes.items()}
    found = [_size(heats[count], count, 1.5 if count == SMALL else 1.2) for count in sizes]
    return [
        *found,
        _linear(heats, medium, large),
        _again(heats, medium, large),
        _collect(heats[large], large),
        _memory(heats[large], large),
    ]


def _all(projects: Projects) -> list[Contestant]:
    return [
        projects.yaml_floor(),
        projects.jsonl_floor(),
        projects.cold(),
        projects.again(),
        projects.collected(cold=False),  # while what the runs before it kept is there
        projects.collected(cold=True),
    ]


def _against(heats: Heats, name: str, what: str, limit: float | None) -> Finding:
    why = heats.failures.get(name) or heats.failures.get(_FLOOR, "")
    values = tuple(ratios(heats.seconds(name), heats.seconds(_FLOOR)))
    return Finding(what, "×", () if why else values, limit, why=why)


def _told(heats: Heats, *names: str) -> list[Finding]:
    return [
        Finding(name, "s", tuple(heats.seconds(name)), why=heats.failures.get(name, "")) for name in names
    ]


def _commands(heats: Heats, *names: str) -> dict[str, str]:
    return {name: heats.commands[name] for name in names}


def _rounds(heats: Heats) -> int:
    return len(heats.runs.get(_FLOOR, ()))


def _size(heats: Heats, count: int, limit: float) -> Row:
    names = (_OURS, _FLOOR, "JSONL floor")
    return Row(
        f"cold-{count}",
        f"{count:,} scenarios, built-in agent, full scoring, results file",
        f"at most {limit} × the YAML floor",
        (_against(heats, _OURS, "to the YAML floor", limit), *_told(heats, *names)),
        _rounds(heats),
        commands=_commands(heats, *names),
        samples=samples(heats, *names),
    )


def _linear(heats: dict[int, Heats], medium: int, large: int) -> Row:
    def growth(name: str) -> Finding:
        columns = (heats[count].seconds(name) for count in (SMALL, medium, large))
        values = tuple((big - small) / (mid - small) for small, mid, big in zip(*columns, strict=False))
        why = "" if values else "one of the sizes did not run"
        return Finding(name, "", values, 11.0 if name == _OURS else None, why=why)

    return Row(
        "linear",
        f"(t {large:,} − t {SMALL}) / (t {medium:,} − t {SMALL})",
        "at most 11",
        (growth(_OURS), growth(_FLOOR)),
        _rounds(heats[large]),
    )


def _again(heats: dict[int, Heats], *sizes: int) -> Row:
    found = [_against(heats[count], _AGAIN, f"at {count:,}, to the YAML floor", 0.8) for count in sizes]
    told = [
        Finding(f"at {count:,}", "s", tuple(heats[count].seconds(_AGAIN)))
        for count in sizes
        if _AGAIN in heats[count].runs
    ]
    large = heats[sizes[-1]]
    return Row(
        "second-run",
        "second run over unchanged files",
        "at most 0.8 × the YAML floor",
        (*found, *told),
        _rounds(large),
        commands=_commands(large, _AGAIN),
        samples=samples(large, _AGAIN),
    )


def _collect(heats: Heats, count: int) -> Row:
    cold, unchanged = _COLLECTS
    return Row(
        "collect-only",
        f"--collect-only at {count:,}",
        "at most 1.0 × the YAML floor's whole run cold, 0.4 × unchanged",
        (
            _against(heats, cold, "cold", 1.0),
            _against(heats, unchanged, "unchanged", 0.4),
            *_told(heats, *_COLLECTS),
        ),
        _rounds(heats),
        commands=_commands(heats, *_COLLECTS),
        samples=samples(heats, *_COLLECTS),
    )


def _memory(heats: Heats, count: int) -> Row:
    def peaks(name: str) -> Finding:
        return Finding(name, "MB", tuple(heats.peaks(name)), why=heats.failures.get(name, ""))

    values = tuple(ratios(heats.peaks(_OURS), heats.peaks(_FLOOR)))
    why = "" if values else "one of the two did not run"
    return Row(
        "memory",
        f"peak memory at {count:,}",
        "at most 1.3 × the YAML floor",
        (Finding("to the YAML floor", "×", values, 1.3, why=why), peaks(_OURS), peaks(_FLOOR)),
        _rounds(heats),
    )
