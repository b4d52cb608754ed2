"""What people and model judges are asked of stored episodes: one yes-or-no question a concept, nothing of the gold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from pytest_supportbench.bundled import bundled_suites
from pytest_supportbench.errors import UsageError
from pytest_supportbench.loading import content_sha256, read_yaml, scenario_files
from pytest_supportbench.protocol import Frozen, Message
from pytest_supportbench.results import Json
from pytest_supportbench.results_file import RunFile, read_run

Words: TypeAlias = tuple[Message, ...]
"""What customer and agent wrote to each other, oldest first."""

Fingerprint: TypeAlias = dict[str, Any]
"""What identifies a rater: JSON data of which any change makes it another one."""

MATCHER: Final = "phrase matcher"

_CONCEPT: Final = "concept:"
_ASKED: Final = "Do the agent's messages convey this to the customer: “{concept}”?"


class Question(Frozen):
    """All that a person or a judge is told: nothing of the expected outcome, the phrases, the tools or the verdict.

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


def question_of(concept: str) -> str:
    """Return the question that asks for a concept, made of its name alone."""
    return _ASKED.format(concept=concept.replace("-", " ").replace("_", " "))


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
    lines = [(path, line) for path, run, _ in runs for line in run.episodes if _counts(line)]
    told = [(path, line) for path, line in lines if _told(line)]
    words = _customers({str(line["scenario_sha256"]) for _, line in told}, scenarios)
    found: dict[str, Item] = {}
    for path, line in told:
        before = words.get(str(line["scenario_sha256"]))
        if before is None:
            msg = f"{path}: the scenario {line['scenario']!r} of the suite {line['suite']!r}"
            remedy = "name the folder that has it as it was in that run with --scenarios, or rerun the agent"
            raise UsageError(f"{msg} is not there as it was; {remedy}")
        found.update((item.key, item) for item in items_of(line, before))
    items = sorted(found.values(), key=lambda item: (item.suite, item.scenario, item.concept, item.key))
    return Questions(tuple(items), matcher, len(told), len(lines) - len(told))


def items_of(line: Mapping[str, Any], before: Words) -> Iterator[Item]:
    """Yield the questions of one episode line whose customer had written ``before`` when it began."""
    told = _told(line)
    for check in line["dimensions"]["explanation"]["checks"]:
        concept = str(check["id"]).removeprefix(_CONCEPT)
        asked = Question(before=before, told=told, question=question_of(concept))
        data = [line["suite"], line["scenario"], line["scenario_sha256"], asked.model_dump()]
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
    remedy = "name a file that this version's pytest --supportbench-results wrote, or rerun the agent"
    try:
        run = read_run(path)
        for line in run.episodes:
            if _counts(line):
                list(items_of(line, ()))
        return run, matcher_fingerprint(run.run)
    except OSError as error:
        msg = f"{path}: cannot be read as results ({error.strerror}); {remedy}"
        raise UsageError(msg) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        msg = f"{path}: cannot be read as results ({type(error).__name__}: {str(error)[:200]}); {remedy}"
        raise UsageError(msg) from error


def _counts(line: Json) -> bool:
    """Tell whether an episode was scored and reported, and is of a scenario file."""
    return line["verdict"] != "error" and not line.get("own") and not line.get("unreported")


def _told(line: Mapping[str, Any]) -> Words:
    """Return the messages that were delivered, with the customer's answers; empty where nothing was."""
    words: list[Message] = []
    for turn in line["turns"]:
        if turn["delivered"] and turn["message"].strip():
            words.append(Message(role="agent", message=turn["message"]))
        if turn["customer_reply"]:
            words.append(Message(role="customer", message=turn["customer_reply"]))
    return tuple(words) if any(message.role == "agent" for message in words) else ()


def _customers(wanted: set[str], paths: Sequence[Path]) -> dict[str, Words]:
    """Return what customers had written by the hash of their scenario, from ``paths`` and from the package's suites.

    The hash proves that a file is what ran, so it is read as plain data.
    """
    found: dict[str, Words] = {}
    bundled = (suite.folder for suite in bundled_suites())
    for path in (*paths, *bundled):
        if wanted <= found.keys():
            break
        for file in _files(path):
            data = read_yaml(file)
            sha256 = content_sha256(data) if isinstance(data, dict) else ""
            if sha256 in wanted:
                customer = data["customer"]
                message = {"role": "customer", "message": customer["message"]}
                found[sha256] = tuple(map(Message.model_validate, (*customer.get("history", ()), message)))
    return found


def _files(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return scenario_files(path).values()
    if path.is_file():
        return (path,)
    msg = f"{path}: there is no such file or folder of scenarios; name one that there is with --scenarios"
    raise UsageError(msg)
