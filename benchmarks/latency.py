"""Rows about agents that take their time: a window of episodes against the ideal and the peers, and how a run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from benchmarks import window
from benchmarks.child import Run, surroundings
from benchmarks.contest import Contestant, contest, ratios, say
from benchmarks.peers import PEERS, able, contestant
from benchmarks.projects import CLONE, OURS, forget, made
from benchmarks.rows import Finding, Row, samples

DELAY: Final = 0.2
WIDTHS: Final = {16: 1.12, 64: 1.4}
"""Episodes at a time, and how many times the ideal is the most that is allowed."""

MEMORY_MB: Final = 60.0
_SERIAL: Final = 1


def window_rows(place: Path, folder: Path, rounds: int, count: int) -> list[Row]:
    """Measure ``count`` episodes of 200 ms at each width, and the peers with all cases at a time."""
    project = _project(place / f"window{count}", count)
    ours = {width: _ours(project, width, count) for width in (*WIDTHS, count)}
    projects = made(place, count)
    found = {peer.name: (version, why) for peer, version, why in able(folder)}
    settings = {"BENCH_DELAY": str(DELAY), "BENCH_WIDTH": str(count)}
    peers = [
        contestant(peer, folder, projects.root / "peers", projects.cases, count, **settings)
        for peer in PEERS
        if peer.width and not found[peer.name][1]
    ]
    contest([ours[count], *peers], 1)  # bytecode is written here, once
    heats = contest([*ours.values(), *peers], rounds)
    findings = []
    for width, limit in WIDTHS.items():
        name, ideal = ours[width].name, count * DELAY / width
        why = heats.failures.get(name, "")
        phases, whole = heats.extras(name), heats.seconds(name)
        findings += [
            Finding(f"run phase at {width}", "× ideal", tuple(s / ideal for s in phases), limit, why=why),
            Finding(f"whole process at {width}", "× ideal", tuple(s / ideal for s in whole), limit, why=why),
            Finding(f"memory at {width}", "MB", tuple(heats.peaks(name)), MEMORY_MB, why=why),
        ]
    best = heats.seconds(ours[count].name)
    for peer in PEERS:
        if not peer.width:
            continue
        version, missing = found[peer.name]
        why = missing or heats.failures.get(peer.name) or heats.failures.get(ours[count].name, "")
        values = () if why else tuple(ratios(best, heats.seconds(peer.name)))
        findings.append(
            Finding(f"ours at {count} to {peer.name} {version} at {count}", "×", values, 1.0, why=why)
        )
    findings += [Finding(name, "s", tuple(heats.seconds(name))) for name in heats.runs]
    return [
        Row(
            "window",
            f"{count} × {1000 * DELAY:.0f} ms in one process",
            "at most 1.12 × ideal at 16, 1.4 × at 64, in 60 MB; ahead of every peer at its best setting",
            tuple(findings),
            rounds,
            note=(
                "Ideal is episodes × seconds / width. The run phase begins with the agent's first call. deepeval under "
                "pytest and pytest-agent-eval run one case after the other in a process and are left out."
            ),
            commands=heats.commands,
            samples=samples(heats),
        )
    ]


def stop_rows(place: Path, rounds: int) -> list[Row]:
    """Measure how much longer than a serial run a window of 16 goes on after a failure and after Ctrl-C."""
    project = _project(place / "stop", 200)
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for what, options in (("-x", ("-x",)), ("--maxfail=3", ("--maxfail=3",)), ("Ctrl-C", ())):
            agent = "fails" if options else "reply"
            stop = _after_failure if options else _after_interrupt
            wide, serial = (stop(project, agent, width, options) for width in (16, _SERIAL))
            if what == "--maxfail=3":
                serial -= 2 * DELAY  # the second and the third failure come one after the other
            say(f"{what}: {wide:.2f} s at 16, {serial:.2f} s serially")
            found.setdefault(what, []).append(wide - serial)
            found.setdefault(f"{what}, window of 16, to the end of the process", []).append(wide)
    limits = {"-x": 0.5, "--maxfail=3": 0.5, "Ctrl-C": 0.5}
    return [
        Row(
            "stop",
            "-x, --maxfail, Ctrl-C with episodes of 200 ms",
            "at most 0.5 s longer than a serial run",
            tuple(
                Finding(
                    f"{what}: longer than a serial run" if what in limits else what,
                    "s",
                    tuple(times),
                    limits.get(what),
                )
                for what, times in found.items()
            ),
            rounds,
            note=(
                "From the end of the first failing call, or from the signal, to the end of the process. With "
                "--maxfail=3 the serial run's two further calls are taken off. Below zero the window was faster."
            ),
            commands={"us": " ".join(map(str, _command("fails", 16, ("-x",))))},
        )
    ]


def _project(folder: Path, count: int) -> Path:
    if not folder.exists():
        folder.mkdir(parents=True)
        window.make(folder, count, DELAY)
    return folder


def _command(agent: str, width: int, options: tuple[str, ...] = ()) -> tuple[str, ...]:
    named = (f"--supportbench-agent=python:slow_agent:{agent}", f"--supportbench-concurrency={width}")
    return (*OURS, "suite", *named, "--supportbench-results=results.jsonl", *options)


def _ours(project: Path, width: int, count: int) -> Contestant:
    return Contestant(
        f"ours at {width}",
        _command("reply", width),
        project,
        f"{count} passed",
        CLONE,
        partial(forget, project),
        partial(_phase, project),
    )


def _phase(project: Path, done: Run) -> float:
    """Return the seconds from the agent's first call to the end of the process."""
    return done.began + done.seconds - float((project / "first-call").read_text(encoding="utf-8"))


def _after_failure(project: Path, agent: str, width: int, options: tuple[str, ...]) -> float:
    forget(project)
    bare = Contestant("", _command(agent, width, options), project, environment=CLONE)
    with _started(bare) as child:
        child.wait()
        end = time.time()
    return end - float((project / "first-failure").read_text(encoding="utf-8"))


def _after_interrupt(project: Path, agent: str, width: int, options: tuple[str, ...]) -> float:
    forget(project)
    marker = project / "first-call"
    marker.unlink(missing_ok=True)
    bare = replace(Contestant("", _command(agent, width, options), project), environment=CLONE)
    with _started(bare) as child:
        while not marker.exists() and child.poll() is None:
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(child.pid, signal.SIGINT)
        begin = time.time()
        status = child.wait()
        if status != pytest.ExitCode.INTERRUPTED:
            msg = f"Ctrl-C did not stop the run: its exit status is {status}"
            raise RuntimeError(msg)
        return time.time() - begin


def _started(contestant: Contestant) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own commands
        contestant.command,
        cwd=contestant.folder,
        env=surroundings(**contestant.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
