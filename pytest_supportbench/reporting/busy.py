"""What the summary says of servers that had no room for all that they were asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_supportbench.counted import counted
from pytest_supportbench.reporting.text import wrapped


def busy_lines(processes: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Iterator[str]:
    """Yield a sentence for each server that refused requests: how often, what it was given, and what spares that.

    ``processes`` has by process and server what `Borne` holds; worker processes have names.
    """
    by_server: dict[str, list[Mapping[str, int]]] = {}
    for servers in processes.values():
        for server, borne in servers.items():
            by_server.setdefault(server, []).append(borne)
    for server, parts in by_server.items():
        total = {name: sum(part[name] for part in parts) for name in ("refusals", "alone")}
        times = f"the server at {server} was busy {counted(total['refusals'], 'time')}"
        yield from wrapped(times + _advice(parts[0], total["alone"], workers=any(processes)), "", "  ")


def _advice(borne: Mapping[str, int], alone: int, *, workers: bool) -> str:
    if alone:
        return (
            f", {alone} of them with one request of this run at a time: raise the server's limit, keep others away "
            "from it, or raise the option retries"
        )
    if workers:
        return (
            ": the worker processes of -n do not know of each other; without -n the run finds out how many at a time "
            "the server bears"
        )
    given = borne["given"]
    spared = f"; --supportbench-concurrency={given} spares the waiting" if given < borne["most"] else ""
    return f": it was given {given} at a time in the end{spared}"
