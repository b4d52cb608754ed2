"""What people and model judges are asked of stored episodes: one yes-or-no question a concept, no more of the gold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

from pytest_supportbench.canonical import content_sha256
from pytest_supportbench.errors import UsageError
from pytest_supportbench.expected import Concept
from pytest_supportbench.loading import read_yaml
from pytest_supportbench.protocol import Frozen, Message
from pytest_supportbench.results import Json
from pytest_supportbench.results_copy import damaged, read_whole
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.stored_scenarios import bundled_files, named_files

Words: TypeAlias = tuple[Message, ...]
"""What customer and agent wrote to each other, oldest first."""

Fingerprint: TypeAlias = dict[str, Any]
"""What identifies a rater: JSON data of which any change makes it another one."""

MATCHER: Final = "phrase matcher"

_NONE: Final[Mapping[str, str]] = {}

_CONCEPT: Final = "concept:"
_ASKED: Final = "Do the agent's messages convey this to the customer: “{concept}”?"


class Question(Frozen):
    """All that a person or a judge is told: nothing of the phrases, the tools or the verdict.

    ``before`` is what customer and agent had written when the episode began, the customer's message last. ``told``
    is what the agent's messages and the customer's answers were since. ``question`` asks for one concept.
    """

    before: Words
    told: Words
    question: str


@dataclass(frozen=True, slots=True)
class Item:
    """One question with where it comes from. Equal texts of one scenario are one item, whoever wrote them.

    ``key`` is a hash of scenario, concept and texts; ``family`` names the scenario and its twin; ``matcher`` is what
    the phrase matcher found.
    """

    key: str
    suite: str
    scenario: str
    family: str
    concept: str
    asked: Question
    matcher: bool


@dataclass(frozen=True, slots=True)
class Questions:
    """The items of some runs, sorted by scenario, concept and key, with the matcher that scored all of them.

    ``silent`` counts the scored episodes that are left out since the customer was told nothing.
    """

    items: tuple[Item, ...]
    matcher: Fingerprint
    episodes: int
    silent: int


def question_of(concept: str, written: Mapping[str, str] = _NONE) -> str:
    """Return the question that asks for a concept: the one ``written`` for it, else one made of its name alone."""
    made = _ASKED.format(concept=concept.replace("-", " ").replace("_", " "))
    return written.get(concept, made)


def written_questions(concepts: Iterable[Concept]) -> dict[str, str]:
    """Return the questions that a scenario has for its concepts, by their names."""
    return {concept.concept: concept.question for concept in concepts if concept.question}


def matcher_fingerprint(run: Mapping[str, Any]) -> Fingerprint:
    """Return what identifies the phrase matcher of a run line: scorer version and suite hashes by name.

    A suite's hash is of all its scenario files, so it changes with every phrase and concept.
    """
    hashes: dict[str, list[str]] = {}
    for suite in run["suites"]:
        hashes.setdefault(str(suite["name"]), []).append(str(suite["sha256"]))
    suites = {name: " ".join(sorted(found)) for name, found in sorted(hashes.items())}
    return {"rater": MATCHER, "scorer": str(run["scorer"]), "suites": suites}


def questions(results: Sequence[Path], scenarios: Sequence[Path]) -> Questions:
    """Return what can be asked of results files; ``scenarios`` are files or folders that the customers' words are in.

    Raises `UsageError` for a file that is none, for runs of different matchers, and where a scenario is missing or is
    not as it was; `FileError` for scenario files that cannot be read.
    """
    runs = [(path, *_read(path)) for path in results]
    first, _, matcher = runs[0]
    for path, _, other in runs:
        if other != matcher:
            msg = f"{path}: scored with another scorer or suite than {first}"
            raise UsageError(f"{msg}; export and judge them apart, or rerun one of them")
    lines = [(path, line) for path, run, _ in runs for line in run.episodes if _counts(line, run)]
    told = [(path, line) for path, line in lines if _told(line)]
    known = _known({str(line["scenario_sha256"]) for _, line in told}, scenarios)
    found: dict[str, Item] = {}
    for path, line in told:
        scenario = known.get(str(line["scenario_sha256"]))
        if scenario is None:
            msg = f"{path}: the scenario {line['scenario']!r} of the suite {line['suite']!r}"
            remedy = "name the folder that has it as it was in that run with --scenarios, or rerun the agent"
            raise UsageError(f"{msg} is not there as it was; {remedy}")
        found.update((item.key, item) for item in items_of(line, scenario.before, scenario.written))
    items = sorted(found.values(), key=lambda item: (item.suite, item.scenario, item.concept, item.key))
    return Questions(tuple(items), matcher, len(told), len(lines) - len(told))


def items_of(line: Mapping[str, Any], before: Words, written: Mapping[str, str] = _NONE) -> Iterator[Item]:
    """Yield the questions of one episode line whose customer had written ``before`` when it began.

    ``written`` are its scenario's `written_questions`.
    """
    told = _told(line)
    for check in line["dimensions"]["explanation"]["checks"]:
        concept = str(check["id"]).removeprefix(_CONCEPT)
        asked = Question(before=before, told=told, question=question_of(concept, written))
        data = [line["suite"], line["scenario"], line["scenario_sha256"], concept, asked.model_dump()]
        yield Item(
            key=hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest(),
            suite=str(line["suite"]),
            scenario=str(line["scenario"]),
            family=f"{line['suite']}/{min(str(line['scenario']), str(line['twin'] or line['scenario']))}",
            concept=concept,
            asked=asked,
            matcher=check["passed"] is True,
        )


def _read(path: Path) -> tuple[RunFile, Fingerprint]:
    """Return a run whose scored lines can all be asked about, and its matcher. Raises `UsageError`."""
    run = read_whole(path)
    try:
        for line in run.episodes:
            if _counts(line, run):
                list(items_of(line, ()))
        return run, matcher_fingerprint(run.run)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise damaged(str(path), error) from error


def _counts(line: Json, run: RunFile) -> bool:
    """Tell whether an episode was scored and reported, and is a declared trial of a scenario file.

    The fresh trials of a gate are of what failed alone, so that they would weigh failures twice.
    """
    declared = int(line["trial"]) <= int(run.run["settings"]["trials"])
    return declared and line["verdict"] != "error" and not line.get("own") and not line.get("unreported")


def _told(line: Mapping[str, Any]) -> Words:
    """Return the messages that were delivered, with the customer's answers; empty where nothing was."""
    words: list[Message] = []
    for turn in line["turns"]:
        if turn["delivered"] and turn["message"].strip():
            words.append(Message(role="agent", message=turn["message"]))
        if turn["customer_reply"]:
            words.append(Message(role="customer", message=turn["customer_reply"]))
    return tuple(words) if any(message.role == "agent" for message in words) else ()


@dataclass(frozen=True, slots=True)
class _Known:
    """What a scenario file gives: what customer and agent had written before, and the questions for its concepts."""

    before: Words
    written: Mapping[str, str]


def _known(wanted: set[str], paths: Sequence[Path]) -> dict[str, _Known]:
    """Return what there is to ask with by the hash of a scenario, from ``paths`` and from the package's suites.

    The hash proves that a file is what ran, so it is read as plain data.
    """
    found: dict[str, _Known] = {}
    for file in chain(named_files(paths), bundled_files()):
        if wanted <= found.keys():
            break
        data = read_yaml(file)
        sha256 = content_sha256(data) if isinstance(data, dict) else ""
        if sha256 in wanted:
            found[sha256] = _read_scenario(data)
    return found


def _read_scenario(data: Mapping[str, Any]) -> _Known:
    customer, expected = data["customer"], data["expected"]
    message = {"role": "customer", "message": customer["message"]}
    outcomes = [expected] if isinstance(expected, dict) else expected
    concepts = (Concept.model_validate(each) for one in outcomes for each in one.get("explanation", ()))
    return _Known(
        before=tuple(map(Message.model_validate, (*customer.get("history", ()), message))),
        written=written_questions(concepts),
    )
