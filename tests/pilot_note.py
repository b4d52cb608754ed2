"""Writes ``docs/notes/pilot.md``: the founding pilot's result note, made of a reconstruction of what it reported.

Run ``python tests/pilot_note.py`` after a change of the pilot's scenarios, of the scorer or of the note.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pytest_supportbench.episode import replay
from pytest_supportbench.loading import BoundScenario, Loader, scenario_files
from pytest_supportbench.note import Note, make_note
from pytest_supportbench.protocol import Turn
from pytest_supportbench.recount import recounted
from pytest_supportbench.reporting.note import note_markdown
from pytest_supportbench.reporting.note_finding import measured, share
from pytest_supportbench.results import SCHEMA_VERSION, Result, dump, episode_key
from pytest_supportbench.results_copy import read_whole
from pytest_supportbench.results_file import closing_line, read_run
from pytest_supportbench.scoring import SCORER_VERSION, score_episode
from pytest_supportbench.suite_identity import suite_facts

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "notes" / "pilot.md"
AGENT = "qwen3-4b-instruct"

SAFETY = ("TB-006", "TB-007", "TB-008", "TB-009")
"""An unverified sensitive change, a billing outage, conflicting enterprise guidance, an unverified refund request."""

HANDED_OFF = ("TB-001", "TB-002", "TB-003", "TB-005")
"""After cancellation, outside the window, a new duplicate after an earlier refund, a customer in distress."""

TIME_OUT = "TB-004"
NOT_DESCRIBED = "TB-010"

HAND_OFF = {
    "action": "escalate",
    "message": "I have handed your case to a colleague.",
    "tool_calls": [
        {
            "tool": "escalate_to_human",
            "arguments": {"queue": "general", "reason": "other", "summary": "Please take over."},
        }
    ],
}

FINDING_OUT = {
    "action": "ask_for_information",
    "message": "Which payment do you mean?",
    "asks_for": ["charge_id"],
}

STOPPING = {"action": "decline", "message": "I am sorry, I cannot go on here. Please try again later."}


def pilot(root: Path = ROOT) -> tuple[list[BoundScenario], list[dict[str, Any]]]:
    """Return the ten scenarios with the tag ``pilot``, by id, and what a run line says of their suite."""
    loader = Loader(root)
    files = scenario_files(root / "scenarios" / "tinybench-50")
    found = [loader.load(path) for path in files.values()]
    chosen = [bound for bound in found if "pilot" in bound.scenario.tags]
    return sorted(chosen, key=lambda bound: bound.scenario.id), list(suite_facts(loader.suites()))


def turns(bound: BoundScenario, *, tenth_solved: bool) -> tuple[Turn, ...]:
    """Return what the pilot's agent is described to have done in a scenario, in words of our own."""
    name, reference = bound.scenario.id, bound.scenario.reference
    if name in SAFETY or (name == NOT_DESCRIBED and tenth_solved):
        return reference
    if name == TIME_OUT:
        refund = {"tool_calls": [reference[0].tool_calls[0].model_dump(mode="json")]}
        return tuple(Turn.model_validate(turn) for turn in (FINDING_OUT, refund, STOPPING))
    assert name in {*HANDED_OFF, NOT_DESCRIBED}, f"{name} is no scenario of the pilot as it was described"
    return (Turn.model_validate(HAND_OFF),)


def reconstructed(path: Path, *, tenth_solved: bool) -> Path:
    """Write the results file that the pilot would have left, but for what nobody recorded."""
    scenarios, suites = pilot()
    unknown = "not recorded"
    head = {
        "type": "run",
        "schema": SCHEMA_VERSION,
        "run": "reconstruction",
        "started": unknown,
        "suites": suites,
        "agents": [
            {
                "id": AGENT,
                "kind": "ollama",
                "model": "qwen3:4b-instruct",
                "model_digest": None,
                "prompt_sha256": None,
                "options": {"temperature": 0},
                "seed": None,
            }
        ],
        "customer": None,
        "package": version("pytest-supportbench"),
        "scorer": SCORER_VERSION,
        "python": unknown,
        "platform": unknown,
        "git_commit": None,
        "settings": {"trials": 1, "max_turns": 6, "timeout": 120.0, "shard": None, "plan": None},
    }
    lines = [line(bound, tenth_solved=tenth_solved) for bound in scenarios]
    path.write_text("".join(map(dump, (head, *lines))), encoding="utf-8", newline="\n")
    run = read_run(path)
    end = closing_line(
        path,
        head["run"],
        reported=set(map(episode_key, run.episodes)),
        exit_status=1,
        stopped_early=False,
        **recounted(run, ()),
    )
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(dump(end))
    return path


def line(bound: BoundScenario, *, tenth_solved: bool) -> dict[str, Any]:
    """Return the episode line of a scenario, without time taken and without any explanation to judge."""
    episode = replay(bound, turns(bound, tenth_solved=tenth_solved))
    found = Result(bound, AGENT, 1, episode, score_episode(bound, episode)).to_json()
    if bound.scenario.id == NOT_DESCRIBED:
        found["title"] += f" (not described; assumed to be {'solved' if tenth_solved else 'handed off'})"
    return {
        **found,
        "timing": {"seconds": 0.0, "agent_seconds": 0.0},
        "explanation": {"share": None, "calibrated": False},
    }


PROVISO = "As reconstructed, with the tenth case, which nobody described, counted as solved"


def note_of(path: Path, proviso: str = "", preface: tuple[str, ...] = ()) -> Note:
    """Return the note of a reconstruction."""
    title = "Result note of the founding pilot: a reconstruction"
    return make_note(read_whole(path), None, title=title, proviso=proviso, preface=preface, path=path.name)


def preface(solved: Note, dropped: Note) -> tuple[str, ...]:
    """Return what must be said before the numbers, with the range that the undescribed case leaves."""
    (kind,), (unkind,) = solved.agents, dropped.agents
    alike = [side.escalations.like_always_escalate for side in (kind, unkind)]
    assert all(alike), "the text below says that neither can be told from a bot that always escalates"
    assert kind.escalations.must == unkind.escalations.must
    specificity = [share(*side.escalations.must_not, side.escalations.specificity) for side in (kind, unkind)]
    what = (
        "This is a reconstruction, and no record of the run: the results file of the pilot does not exist. A scripted "
        "agent did on the ten scenarios with the tag pilot what the agent of the pilot, qwen3:4b-instruct served by "
        "Ollama at temperature 0, was published to have done, and today's scorer judged it. The scenarios are today's "
        "too. Messages, arguments of needless hand-offs and limits are ours, so nothing here that judges wording is "
        "about the pilot, and explanation is left out."
    )
    between = (
        "Described are four safety escalations, all right, and five routine cases, none solved. The tenth case is not "
        f"described. {NOT_DESCRIBED} stands for it, and that it was solved is an assumption, the kindest one. Then "
        f"specificity is {specificity[0]} and the strict pass {measured(kind.strict)}; if it was handed off they are "
        f"{specificity[1]} and {measured(unkind.strict)}. Recall is "
        f"{share(*kind.escalations.must, kind.escalations.recall)} either way, and either way this cannot be told from "
        "a bot that always escalates."
    )
    again = (
        "The command at the end runs that model on these scenarios anew. This page itself is written by: python "
        "tests/pilot_note.py"
    )
    return what, between, again


def pilot_page(folder: Path) -> str:
    """Return the page; ``folder`` is for the reconstructed files."""
    solved = reconstructed(folder / "solved.jsonl", tenth_solved=True)
    dropped = reconstructed(folder / "dropped.jsonl", tenth_solved=False)
    return note_markdown(note_of(solved, PROVISO, preface(note_of(solved), note_of(dropped))))


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        text = pilot_page(Path(place))
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
