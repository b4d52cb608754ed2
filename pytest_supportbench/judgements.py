"""The file of a judge's answers: written as they come, so that a judge that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self, TextIO

from pydantic import BaseModel, ConfigDict

from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.executor import DaemonExecutor
from pytest_supportbench.judge import Judge, Judgement, Verdict, stands_in_shown
from pytest_supportbench.labels import Labels, write_over
from pytest_supportbench.questions import Fingerprint, Item
from pytest_supportbench.strict_json import reading

MAX_BYTES: Final = 500_000_000
MOST_EQUAL_ERRORS: Final = 5
"""So many equal infrastructure errors in a row stop a judge, as they stop an agent."""

_REMEDY: Final = "name a file that supportbench judge wrote"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class JudgeLine(_Strict):
    """The first line: which judge this is."""

    type: Literal["judge"]
    supportbench_judgements: Literal[1]
    fingerprint: Fingerprint


class JudgementLine(_Strict):
    """One answer, with the question's key, where it comes from, and what the phrase matcher found."""

    type: Literal["judgement"]
    key: str
    suite: str
    scenario: str
    concept: str
    answer: Verdict
    evidence: str
    found: bool
    matcher: bool

    @property
    def present(self) -> bool:
        """Whether the concept counts as there."""
        return Judgement(self.answer, self.evidence, self.found).present


@dataclass(frozen=True, slots=True)
class Judgements:
    """A judge's answers by the key of the question, in the order in which they came."""

    fingerprint: Fingerprint
    lines: Mapping[str, JudgementLine]

    @property
    def said(self) -> dict[str, bool]:
        """Whether each concept counts as there."""
        return {key: line.present for key, line in self.lines.items()}


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of the questions: all ``judgements`` of the file, how many are ``new``, and what failed.

    ``stopped`` says that so many equal errors came in a row that the rest was not asked.
    """

    judgements: Judgements | None
    new: int
    errors: tuple[InfrastructureError, ...]
    stopped: bool


def read_judgements(path: Path) -> Judgements:
    """Read a file of judgements; a last line that was cut by a kill is left out. Raises `UsageError`."""
    with reading(path, "judgements", _REMEDY, most=MAX_BYTES, whole="the line"):
        text = path.read_text(encoding="utf-8", errors="replace")
        first, *rest = text[: text.rfind("\n") + 1].split("\n")[:-1] or [""]
        head = JudgeLine.model_validate_json(first)
        answers = [JudgementLine.model_validate_json(row) for row in rest]
    found: dict[str, JudgementLine] = {}
    lines: dict[str, int] = {}
    for number, answer in enumerate(answers, 2):
        if answer.key in found:
            msg = f"{path}: line {number} answers the question of line {lines[answer.key]} again"
            raise UsageError(f"{msg}; keep the one that the judge gave")
        found[answer.key], lines[answer.key] = answer, number
    return Judgements(head.fingerprint, found)


def said_of(labels: Labels, judged: Judgements, path: Path) -> dict[str, bool]:
    """Return whether each labelled concept counts as there, after checking the evidence of all answers anew.

    Raises `UsageError` where the file says otherwise of it than the messages that people have read.
    """
    shown = {item.key: item.agent for item in labels.items}
    for number, line in enumerate(judged.lines.values(), 2):
        if line.key in shown and stands_in_shown(line.evidence, shown[line.key]) is not line.found:
            what = f"{path}: line {number}: 'found' of {line.scenario[:40]!s} is {str(line.found).lower()}"
            is_so = "the agent did not write this evidence" if line.found else "the agent wrote this evidence"
            raise UsageError(
                f"{what}, and {is_so}: {line.evidence[:60]!r}; ask the judge anew into another --out"
            )
    return {key: there for key, there in judged.said.items() if key in shown}


def judge_all(judge: Judge, items: Iterable[Item], path: Path) -> Judged:
    """Ask a judge about all items that the file does not have yet, and add its answers to the file as they come.

    Raises `UsageError` where the file is another judge's, and `InfrastructureError` where nobody could be asked at
    all or another model began to answer.
    """
    items = tuple(items)
    suites = [item.suite for item in items]
    earlier = read_judgements(path) if path.exists() else None
    known = dict(earlier.lines) if earlier else {}
    left = [item for item in items if item.key not in known]
    judge.check()
    if earlier:
        _refuse_known(path, earlier.fingerprint, judge.fingerprint(suites))
    fingerprint = earlier.fingerprint if earlier else None
    errors: list[InfrastructureError] = []
    new = row = 0
    with _asking(judge, left) as answers, _Appender(path, earlier) as file:
        for item, answer in answers:
            if isinstance(answer, InfrastructureError):
                row = row + 1 if errors and errors[-1].cause == answer.cause and row else 1
                errors.append(answer)
                if row == MOST_EQUAL_ERRORS:
                    break
                continue
            row = 0
            now = judge.fingerprint(suites)
            fingerprint = fingerprint or now
            _refuse_another(path, fingerprint, now, begun=new > 0)
            known[item.key] = _line(item, answer)
            file.add(fingerprint, known[item.key])
            new += 1
    found = Judgements(fingerprint, known) if fingerprint else None
    return Judged(found, new, tuple(errors), stopped=row == MOST_EQUAL_ERRORS)


def _refuse_known(path: Path, before: Fingerprint, now: Fingerprint) -> None:
    """Refuse a judge of which its fingerprint tells before any answer that it is another; a server says more later."""
    known = {name: value for name, value in now.items() if value is not None}
    unknown = {name: value for name, value in before.items() if now.get(name, value) is None}
    _refuse_another(path, before, {**known, **unknown}, begun=False)


def _refuse_another(path: Path, before: Fingerprint, now: Fingerprint, *, begun: bool) -> None:
    fields = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if not fields:
        return
    if begun:
        msg = f"another model began to answer in the middle ({', '.join(fields)} changed)"
        raise InfrastructureError("judge_changed", msg, "name a fixed version of the model and a new --out")
    msg = f"{path} has another judge's answers ({', '.join(fields)} differ)"
    raise UsageError(f"{msg}; name another --out")


@contextmanager
def _asking(
    judge: Judge, items: Iterable[Item]
) -> Iterator[Iterator[tuple[Item, Judgement | InfrastructureError]]]:
    """Ask about items in the judge's window, and give the answers in the order of the items."""
    executor = DaemonExecutor(judge.window, "supportbench-judge")
    futures = [(item, executor.submit(judge.ask, item.asked)) for item in items]

    def answers() -> Iterator[tuple[Item, Judgement | InfrastructureError]]:
        for item, future in futures:
            try:
                yield item, future.result()
            except InfrastructureError as error:
                yield item, error

    try:
        yield answers()
    finally:
        executor.shutdown(cancel_futures=True)


class _Appender:
    """Adds lines to the file, flushed one by one; a file that is there is first cleared of what a kill cut."""

    def __init__(self, path: Path, earlier: Judgements | None) -> None:
        self._path = path
        self._earlier = earlier
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, fingerprint: Fingerprint, line: JudgementLine) -> None:
        """Write one line; the first one opens the file. Raises `UsageError` where it cannot be written."""
        try:
            if self._file is None:
                known = self._earlier.lines.values() if self._earlier else ()
                head = JudgeLine(type="judge", supportbench_judgements=1, fingerprint=fingerprint)
                write_over(self._path, "".join(map(_dump, (head, *known))))
                self._file = self._path.open("a", encoding="utf-8", newline="")
            self._file.write(_dump(line))
            self._file.flush()
        except OSError as error:
            msg = f"{self._path} cannot be written ({error.strerror}); name another --out"
            raise UsageError(msg) from error


def _line(item: Item, judgement: Judgement) -> JudgementLine:
    return JudgementLine(
        type="judgement",
        key=item.key,
        suite=item.suite,
        scenario=item.scenario,
        concept=item.concept,
        answer=judgement.answer,
        evidence=judgement.evidence,
        found=judgement.found,
        matcher=item.matcher,
    )


def _dump(line: BaseModel) -> str:
    return json.dumps(line.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")) + "\n"
