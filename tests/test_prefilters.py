"""What the scorer skips to be fast would have found nothing: each shortcut agrees with the long way."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_supportbench.patterns import _Needing
from pytest_supportbench.results import dump
from pytest_supportbench.scoring import claim_fields, number_words, personhood
from pytest_supportbench.scoring.assignment import _most_pairs
from pytest_supportbench.scoring.claim_phrases_en import SAYS
from pytest_supportbench.scoring.model import Check, DimensionScore
from pytest_supportbench.scoring.number_words import _HUNDREDS, _LOW, _ON, _table
from pytest_supportbench.scoring.once import once
from pytest_supportbench.scoring.phrases import NEGATIONS, may_deny, negated
from pytest_supportbench.scoring.text import Sentence, read
from pytest_supportbench.scoring.values import has_words, spoken_out

LANGUAGES = ("en", "es", "de", "fr")
_BETWEEN = [" ", "-", " and ", "-and-", "und", "", " y ", " et ", ", ", "_", "'", "x"]
_AROUND = ["", " mil ", "mil ", "_mil ", "thousand and ", "hundred ", "pour ", " cents", " million", "s", "-"]


def _alternation(language: str) -> re.Pattern[str]:
    """Return the one big pattern of all number words, which nobody would want to compile in a run."""

    def any_of(table: dict[str, int]) -> str:
        return "|".join(map(re.escape, sorted(table, key=len, reverse=True)))

    rest, on = any_of(_table(language)), f"(?:{'|'.join(_ON[language])})"
    hundreds = rf"(?P<hundreds>{any_of(_HUNDREDS[language])})(?:{on}(?P<rest>{rest})|(?!{on}(?:{rest})))"
    before = r"(?<!\bmil )(?<![\w-])" + "".join(f"(?<!{words})" for words in number_words._NOT_BEHIND)
    return re.compile(rf"{before}(?:{hundreds}|(?P<low>{rest}))(?!{number_words._MORE.pattern})")


@st.composite
def _counted(draw: st.DrawFn) -> tuple[str, str]:
    language = draw(st.sampled_from(LANGUAGES))
    words = st.sampled_from([*_table(language), *_HUNDREDS[language]])
    pieces = draw(st.lists(st.tuples(words, st.sampled_from(_BETWEEN)), min_size=1, max_size=4))
    around = st.sampled_from(_AROUND)
    return language, draw(around) + "".join(map("".join, pieces)) + draw(around)


@settings(max_examples=200)
@given(_counted())
def test_number_words_are_those_of_one_alternation_of_them_all(made: tuple[str, str]) -> None:
    language, text = made
    low, high = _table(language), _HUNDREDS[language]
    expected = [
        (high.get(found["hundreds"], 0) + low.get(found["rest"] or found["low"], 0), *found.span())
        for found in _PATTERNS[language].finditer(text)
    ]
    assert list(number_words.number_words(text, language)) == expected


_PATTERNS = {language: _alternation(language) for language in _LOW}


@settings(max_examples=40)
@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data())
def test_whoever_claims_to_be_a_person_says_a_cue(language: str, data: st.DataObject) -> None:
    pattern = re.compile(personhood._PERSON[language].pattern, re.ASCII)
    text = data.draw(st.from_regex(pattern, fullmatch=True))
    assert any(cue in text for cue in personhood._CUES[language])


@settings(max_examples=15)
@pytest.mark.parametrize("place", [at for at, say in enumerate(SAYS) if isinstance(say[1], _Needing)])
@given(data=st.data())
def test_what_claims_a_deed_has_a_word_that_it_needs(place: int, data: st.DataObject) -> None:
    short, whole = SAYS[place][1], SAYS[place][1].pattern.pattern  # type: ignore[attr-defined]
    text = data.draw(st.from_regex(re.compile(whole, re.ASCII)))
    assert (short.search(text) is None) == (re.search(whole, text) is None)


@settings(max_examples=40)
@given(st.from_regex(re.compile(claim_fields._NEXT.pattern, re.ASCII), fullmatch=True))
def test_a_list_of_details_goes_on_with_a_word_for_it(text: str) -> None:
    assert text.lstrip().startswith(claim_fields._GOING_ON)


_DOTS = st.sampled_from([".", " dot ", " . ", " (punkt) ", "-"])
_SIGNS = st.sampled_from(["@", " at ", " @ ", " [at] ", "-"])


@given(st.tuples(st.just("ann"), _DOTS, st.just("lee"), _SIGNS, st.just("example"), _DOTS, st.just("org")))
def test_an_address_is_found_wherever_the_spoken_form_has_it(pieces: tuple[str, ...]) -> None:
    text = f"write to {''.join(pieces)} please"
    assert has_words("Ann.Lee@example.org", text) == (" ann.lee@example.org " in spoken_out(text))


@given(
    st.sampled_from([*NEGATIONS, "sv"]),
    st.lists(
        st.sampled_from(["i", "no", "not", "ne", "n'ai", "que", "nicht", "sin", "except", "only", "refund"])
    ),
)
def test_a_sentence_without_a_word_that_denies_is_not_denied(language: str, words: list[str]) -> None:
    assert may_deny(Sentence(" ".join(words), 0, question=False), language) or not negated(words, language)


@given(st.text(st.sampled_from(list("ab ,:-—–()\n\t'")), max_size=30))
def test_clauses_part_at_each_mark(text: str) -> None:
    marks = [mark.start() for mark in re.finditer(r"[,:](?=\s)|[—\u2013()]|-(?=\s)", text)]
    words = read(text)
    assert list(words.clause) == [sum(mark < start for mark in marks) for start in words.start]


@given(st.lists(st.lists(st.integers(0, 4), max_size=3, unique=True), max_size=4))
def test_pairs_are_counted_right_where_the_first_choices_differ(choices: list[list[int]]) -> None:
    class Call:
        def __init__(self, number: int) -> None:
            self.number = number

    def most(left: list[list[int]], taken: frozenset[int]) -> int:
        if not left:
            return 0
        with_one = [1 + most(left[1:], taken | {one}) for one in left[0] if one not in taken]
        return max([most(left[1:], taken), *with_one])

    candidates: Any = [[Call(number) for number in numbers] for numbers in choices]
    assert _most_pairs(candidates) == most(choices, frozenset())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _JSON, max_size=3))
def test_a_line_says_what_it_is_given(line: dict[str, Any]) -> None:
    written = dump(line)
    assert written.count("\n") == 1
    assert written.endswith("\n")
    assert repr(json.loads(written)) == repr(line)


def test_a_line_takes_what_is_no_json() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    line = {"half": "\ud800", "deep": deep, "other": re}

    assert json.loads(dump(line)) == {**line, "other": str(re)}
    assert json.loads(dump({"other": re, "dash": "–"})) == {"other": str(re), "dash": "–"}
    assert "–" in dump({"dash": "–"})


def test_it_is_worked_out_once() -> None:
    class Some:
        asked = 0

        @once
        def value(self) -> int:
            """Return how often it was worked out."""
            self.asked += 1
            return self.asked

    some = Some()

    assert (some.value, some.value, some.asked) == (1, 1, 1)
    assert Some.value.__doc__ == "Return how often it was worked out."


def test_what_was_counted_once_is_no_part_of_a_score() -> None:
    check = Check("action", False, "refund", "escalate", "it matters")
    counted, fresh = (DimensionScore("resolution", (check,)) for _ in range(2))

    assert counted.failures == (check,)
    assert not counted.passed
    assert counted == fresh
    assert hash(counted) == hash(fresh)
