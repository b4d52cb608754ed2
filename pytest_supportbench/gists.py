"""The gist of an episode line: its short fields, and the answers to what was asked of it before the rest was let go.

A whole line takes some 30 kB of memory, its gist about two. Whoever reads many lines says beforehand what it will ask
of each, as functions of a line, and uses `asked` for them: of a whole line it gets the same answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

Answer = TypeVar("Answer")
Json: TypeAlias = dict[str, Any]
Question: TypeAlias = Callable[[Json], Any]

SHORT: Final[tuple[str, ...]] = (
    "agent",
    "suite",
    "scenario",
    "trial",
    "attempt",
    "verdict",
    "own",
    "unreported",
    "scenario_sha256",
    "title",
    "twin",
    "category",
    "tags",
    "expected_escalation",
    "escalation_class",
    "ending",
    "replayed",
)
"""The fields that a gist has, those of them that the line has: which episode it is, of what, and what became of it."""


class Gist(dict[str, Any]):
    """The `SHORT` fields of an episode line, with the answers to the questions that were asked of it."""

    __slots__ = ("_answers", "_questions")

    def __init__(
        self, fields: Mapping[str, Any], questions: Sequence[Question], answers: Sequence[Any]
    ) -> None:
        super().__init__(fields)
        self._questions = questions
        self._answers = answers

    def answer(self, question: Question) -> Any:
        """Return the answer to a question, or raise what it raised. Raises `ValueError` for one that was not asked."""
        found = self._answers[self._questions.index(question)]
        if isinstance(found, _Raised):
            raise found.error
        return found

    def with_field(self, name: str, value: object) -> Gist:
        """Return the gist with a field more."""
        return Gist({**self, name: value}, self._questions, self._answers)


class _Raised:
    """What a question raised, to be raised where its answer is wanted: not every line's is."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        error.__context__ = None
        self.error = error.with_traceback(None)  # which would keep the whole line


def gist(line: Json, questions: Sequence[Question]) -> Gist:
    """Return the gist of a line that was just read."""
    fields = {name: _once(line[name]) for name in SHORT if name in line}
    return Gist(fields, questions, tuple(_answer(question, line) for question in questions))


def _once(value: Any) -> Any:
    """Return JSON data of which texts that many lines have, names of fields above all, are in memory once."""
    if isinstance(value, str):
        return sys.intern(value)
    if isinstance(value, dict):
        return {sys.intern(name): _once(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_once, value))
    return value


def _answer(question: Question, line: Json) -> Any:
    try:
        return _once(question(line))
    except Exception as error:  # noqa: BLE001 - whoever asks for the answer decides what is to be made of it
        return _Raised(error)


def asked(question: Callable[[Json], Answer], line: Json) -> Answer:
    """Return the answer to a question about a line, or about the gist of one that was asked before."""
    if isinstance(line, Gist):
        found: Answer = line.answer(question)
        return found
    return question(line)


def with_field(line: Json, name: str, value: object) -> Json:
    """Return a line, or the gist of one, with a field more."""
    return line.with_field(name, value) if isinstance(line, Gist) else {**line, name: value}
