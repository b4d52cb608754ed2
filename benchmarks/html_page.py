"""The row of the HTML report: what 10,000 episodes of 5 kB add to a run, against pytest-html alone."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import window
from benchmarks.child import ROOT, Run, run, surroundings
from benchmarks.contest import Contestant, contest
from benchmarks.floor import write_yaml_floor
from benchmarks.projects import CLONE, OURS, PYTEST, forget
from benchmarks.rows import Finding, Row, samples
from pytest_supportbench.loading import Loader

_HTML: Final = ("-p", "html", "-p", "metadata", "--html=report.html")
_SELF: Final = ("--self-contained-html",)

WORDS: Final = 30

AGENT: Final = f"""\
import random
from pathlib import Path

WORDS = Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split()


def reply(observation):
    amount = observation.account["charges"][-1]["amount"]
    refund = {{"tool": "issue_refund", "arguments": {{"charge_id": "ch_204", "amount": amount, "currency": "USD"}}}}
    text = " ".join(random.Random(observation.customer.message).choices(WORDS, k={WORDS}))
    note = {{"tool": "add_note", "arguments": {{"customer_id": "cus_1", "text": text}}}}
    message = "I have refunded " + amount + " USD for the payment of March 12."
    return {{"action": "refund", "message": message, "tool_calls": [refund, note]}}
"""
"""An agent that does the right thing, and leaves a note that no other episode has.

Its words are as frequent as in what TinyBench's customers write, so that they can be packed as well as people's.
"""


def rows(place: Path, rounds: int, count: int) -> list[Row]:
    """Measure ``count`` episodes with and without the report. Raises `RuntimeError` if they cannot be made."""
    folder = place / f"html{count}"
    done = run(
        [sys.executable, "-m", "benchmarks.html_page", str(folder), str(count)], ROOT, surroundings(**CLONE)
    )
    if done.status:
        raise RuntimeError(done.last_line())
    ours = (
        *OURS,
        "suite",
        "--supportbench-agent=python:noting_agent:reply",
        "--supportbench-results=results.jsonl",
    )
    floor = (*PYTEST, "suite")
    proof = f"{count} passed"

    def entrant(name: str, command: tuple[str, ...], project: Path, *, page: bool) -> Contestant:
        whole = (*command, *_HTML, *_SELF) if page else command
        after = partial(_size, project) if page else None
        return Contestant(name, whole, project, proof, CLONE, partial(forget, project), after)

    heats = contest(
        [
            entrant("floor", floor, folder / "yaml", page=False),
            entrant("floor, pytest-html alone", floor, folder / "yaml", page=True),
            entrant("ours", ours, folder / "ours", page=False),
            entrant("ours with its report", ours, folder / "ours", page=True),
        ],
        rounds,
    )
    why = next(iter(heats.failures.values()), "")
    columns = [heats.seconds(name) for name in heats.runs]
    more = () if why else tuple((d - c) - (b - a) for a, b, c, d in zip(*columns, strict=False))
    theirs, own = (heats.extras(name) for name in ("floor, pytest-html alone", "ours with its report"))
    bigger = tuple(ours - alone for ours, alone in zip(own, theirs, strict=False))
    peaks = [heats.peaks(name) for name in ("ours", "ours with its report")]
    memory = tuple(with_it - without for without, with_it in zip(*peaks, strict=False))
    sizes = tuple(1e3 * size / count for size in own)
    lines = () if why else ((folder / "ours" / "results.jsonl").stat().st_size / 1e3 / count,)
    return [
        Row(
            "html",
            f"HTML of {count:,} episodes at 5 kB",
            "at most 1 s and 10 MB more than pytest-html alone with no extras, memory bounded",
            (
                Finding("more seconds than pytest-html adds to the floor", "s", more, 1.0, why=why),
                Finding("a larger file", "MB", bigger, 10.0, why=why),
                Finding("file for each episode", "kB", sizes, why=why),
                Finding("more memory than our run without it", "MB", memory, why=why),
                Finding("file of pytest-html alone", "MB", tuple(theirs), why=why),
                Finding("our file", "MB", tuple(own), why=why),
                Finding("line of the results file", "kB", lines, why=why),
            ),
            rounds=rounds,
            note="Each has a note that no other has, of words as frequent as in what TinyBench's customers write; "
            "its line of the results file is as long as the row above says.",
            commands=heats.commands,
            samples=samples(heats),
        )
    ]


def _size(project: Path, _done: Run) -> float:
    return (project / "report.html").stat().st_size / 1e6


def _make(folder: Path, count: int) -> None:
    ours = folder / "ours"
    ours.mkdir(parents=True)
    window.make(ours, count, 0.0)
    (ours / "noting_agent.py").write_text(AGENT, encoding="utf-8")
    (ours / "words.txt").write_text(_customers_words(), encoding="utf-8")
    write_yaml_floor(folder / "yaml", ours / "suite")


def _customers_words() -> str:
    loader = Loader(ROOT)
    files = sorted((ROOT / "scenarios" / "tinybench-50").rglob("*.scenario.yaml"))
    return "\n".join(loader.load(file).scenario.customer.message for file in files)


if __name__ == "__main__":
    _make(Path(sys.argv[1]), int(sys.argv[2]))
