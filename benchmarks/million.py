"""A million episodes on paper: ``python -m benchmarks.million [--measure] [--latency S] [--tokens IN,OUT] …``.

Prints for some ways of running them which part needs how long, what is full first, and what the model costs. It is a
closed formula: each part works at its own pace, the slowest one sets the wall time. The paces are those that one
machine of two cores gave, in ``MEASURED``; ``--measure`` takes them anew here, in about a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks import window
from pytest_supportbench.results_copy import read_gists
from pytest_supportbench.results_file import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Paces:
    """What one episode takes of each part: CPU seconds, and bytes. ``base_mb`` is an empty run's memory."""

    local: float
    controller: float
    scheduler: float
    worker: float
    read: float
    line_bytes: float
    item_bytes: float
    read_bytes: float
    gist: float
    gist_bytes: float
    base_mb: float


MEASURED = Paces(
    local=0.0036,
    controller=0.0059,
    scheduler=0.0029,
    worker=0.0075,
    read=0.00007,
    line_bytes=5472,
    item_bytes=7_600,
    read_bytes=11_500,
    gist=0.0003,
    gist_bytes=3_500,
    base_mb=60,
)


@dataclass(frozen=True)
class Plan:
    """One way of running: ``shards`` controllers, each with its own scheduler, and workers of so many threads."""

    name: str
    shards: int
    workers: int
    threads: int
    dask: bool = True


PLANS = (
    Plan("one process, window of 64", 1, 1, 64, dask=False),
    Plan("one controller, 8 workers", 1, 8, 32),
    Plan("one controller, 64 workers", 1, 64, 32),
    Plan("8 shards, 64 workers", 8, 64, 32),
    Plan("64 shards, 256 workers", 64, 256, 32),
    Plan("64 shards, no cluster", 64, 64, 64, dask=False),
)


@dataclass(frozen=True)
class Load:
    """What is run: how many episodes, the agent's seconds and tokens in each, and prices for a million tokens."""

    episodes: int
    latency: float
    tokens_in: int
    tokens_out: int
    price_in: float
    price_out: float

    @property
    def cost(self) -> float:
        """What the model costs."""
        each = self.tokens_in * self.price_in + self.tokens_out * self.price_out
        return self.episodes * each / 1e6


def parts(plan: Plan, load: Load, paces: Paces) -> dict[str, float]:
    """Return the seconds that each part would need alone."""
    count = load.episodes
    model = count * load.latency / (plan.workers * plan.threads)
    if not plan.dask:
        return {"model": model, "controller": count / plan.shards * paces.local}
    return {
        "model": model,
        "controller": count / plan.shards * paces.controller,
        "scheduler": count / plan.shards * paces.scheduler,
        "workers": count / plan.workers * paces.worker,
    }


def report(load: Load, paces: Paces) -> list[str]:
    """Return the lines of the table."""
    known = [f"{name} {value:.3g}" for name, value in asdict(paces).items()]
    lines = [f"one episode: {', '.join(known)}"]
    lines.append(
        f"{load.episodes:,} episodes; agent {load.latency:g} s; {load.tokens_in}+{load.tokens_out} tokens each"
    )
    columns = "".join(f"{part:>12}" for part in _PARTS)
    lines.append(f"{'':28}{'wall':>9}{'slowest':>12}{columns}{'GB each':>10}")
    for plan in PLANS:
        found = parts(plan, load, paces)
        slowest = max(found, key=found.__getitem__)
        hours = "".join(f"{found[part] / 3600:10.2f} h" if part in found else " " * 12 for part in _PARTS)
        memory = (paces.base_mb * 1e6 + load.episodes / plan.shards * paces.item_bytes) / 1e9
        lines.append(f"{plan.name:28}{found[slowest] / 3600:7.1f} h{slowest:>12}{hours}{memory:10.1f}")
    lines.append(f"results: {load.episodes * paces.line_bytes / 1e9:.1f} GB of lines")
    for what, seconds, size in (
        ("merge, which reads them whole", paces.read, paces.read_bytes),
        ("compare and the gate, for each file", paces.gist, paces.gist_bytes),
    ):
        minutes, kept = load.episodes * seconds / 60, load.episodes * size / 1e9
        lines.append(f"{what}: {minutes:.1f} min, {kept:.1f} GB of memory")
    hours_of_model = load.episodes * load.latency / 3600
    lines.append(
        f"model: {hours_of_model:,.0f} hours of replies, {load.cost:,.0f} in the currency of the prices"
    )
    return lines


_PARTS = ("model", "controller", "scheduler", "workers")


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[psutil.Process]]]:
    """Yield a scheduler's address, and the processes of it and of a worker."""
    file = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    started = [subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", str(file)], **quiet)]  # type: ignore[call-overload] # noqa: S603 - our words
    try:
        while not file.exists() or not file.read_text(encoding="utf-8").endswith("}"):
            time.sleep(0.1)
        address = json.loads(file.read_text(encoding="utf-8"))["address"]
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--host", "127.0.0.1"]
        command += ["--no-nanny", "--no-dashboard", "--nthreads", "4"]
        started.append(subprocess.Popen(command, **quiet))  # type: ignore[call-overload] # noqa: S603 - our words
        yield address, [psutil.Process(process.pid) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


def run(folder: Path, trials: int, *options: str) -> tuple[float, float]:
    """Run the project and return its CPU seconds and the bytes of its memory at their most."""
    ours = (f"--supportbench-trials={trials}", "--supportbench-results=r.jsonl", *options)
    command = window.command("python:slow_agent:reply", 4, *ours)
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603 - our words
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the run ended with {os.waitstatus_to_exitcode(status)}: {' '.join(command)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024.0


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def measure(scenarios: int = 300, trials: int = 5) -> Paces:
    """Return the paces of this machine: what further trials of the same scenarios take."""
    more = scenarios * (trials - 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        window.make(folder, scenarios, 0)
        run(folder, 1)
        (few, base), (many, full) = run(folder, 1), run(folder, trials)
        lines = folder / "r.jsonl"
        begin, before = time.process_time(), psutil.Process().memory_info().rss
        gists = read_gists(lines)
        gist, gist_kept = time.process_time() - begin, psutil.Process().memory_info().rss - before
        begin, before = time.process_time(), psutil.Process().memory_info().rss
        stored = read_run(lines)
        read, kept = time.process_time() - begin, psutil.Process().memory_info().rss - before
        del gists
        with cluster(folder) as (address, processes):
            option = f"--supportbench-executor=dask:{address}"
            first, _ = run(folder, 1, option)
            marks = [_cpu(process) for process in processes]
            all_of_them, _ = run(folder, trials, option)
            scheduler, worker = (
                (_cpu(process) - mark) / (scenarios * trials)
                for process, mark in zip(processes, marks, strict=True)
            )
        count = len(stored.episodes)
        return Paces(
            local=(many - few) / more,
            controller=(all_of_them - first) / more,
            scheduler=scheduler,
            worker=worker,
            read=read / count,
            line_bytes=lines.stat().st_size / count,
            item_bytes=(full - base) / more,
            read_bytes=kept / count,
            gist=gist / count,
            gist_bytes=gist_kept / count,
            base_mb=(base - scenarios * (full - base) / more) / 1e6,
        )


def main() -> None:
    """Print the table for the paces of the machine that they were taken on, or of this one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true", help="take the paces of this machine")
    parser.add_argument("--episodes", type=int, default=1_000_000)
    parser.add_argument("--latency", type=float, default=5.0, help="seconds of the agent in an episode")
    parser.add_argument("--tokens", default="6000,400", help="prompt and completion tokens of an episode")
    parser.add_argument("--prices", default="0.5,2", help="price of a million prompt and completion tokens")
    given = parser.parse_args()
    paces = measure() if given.measure else MEASURED
    tokens, prices = given.tokens.split(","), given.prices.split(",")
    asked = Load(
        given.episodes, given.latency, int(tokens[0]), int(tokens[1]), float(prices[0]), float(prices[1])
    )
    print("\n".join(report(asked, paces)))  # noqa: T201 - a simulation prints


if __name__ == "__main__":
    main()
