"""How often the text checks are right, on labelled messages, and that the page on scoring says the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from test_claims import CORPUS, error_rates

from pytest_supportbench.expected import MustState
from pytest_supportbench.scenario import Protected
from pytest_supportbench.scoring.disclosures import Secret, find_disclosures, protected_hits
from pytest_supportbench.scoring.facts import check_fact
from pytest_supportbench.scoring.phrases import PROMISE_SETTINGS, affirmed, contains_phrase
from pytest_supportbench.scoring.reading import Reading, write_out
from pytest_supportbench.scoring.text import fold

DATA = Path(__file__).parent / "data"
PAGE = Path(__file__).parent.parent / "docs" / "scoring.md"


def corpus(name):
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


FACTS, PHRASES, DISCLOSURES = map(corpus, ("facts", "phrases", "disclosures"))


def says(row):
    """Tell what the check of a phrase says of a message, called as the scorer calls it."""
    told, language = Reading(row["message"]), row["language"]
    if row["check"] == "protected":
        return bool(protected_hits(told, [Protected(fact="it", phrases=tuple(row["phrases"]))], language))
    if row["check"] == "concept":
        return any(affirmed(told, phrase, language) for phrase in row["phrases"])
    return any(
        affirmed(told.written_out, write_out(fold(phrase)), language, unless=PROMISE_SETTINGS)
        for phrase in row["phrases"]
    )


def decisions():
    """Yield each labelled decision: check, kind, part of the corpus, what is right, what the check says."""
    for row in FACTS:
        for fact in row["facts"]:
            must = MustState.model_validate(
                {"fact": "it", "value": fact["value"], "unit": fact.get("unit", [])}
            )
            found = check_fact(must, row["message"], row["language"]).holds
            yield "facts", must.value.kind, row["split"], fact["holds"], found
    for row in PHRASES:
        yield "phrases", row["check"], row["split"], row["says"], says(row)
    for row in DISCLOSURES:
        secret = Secret("cus_2", row["field"], row["value"])
        found = bool(find_disclosures(row["message"], [secret], row["customer"]))
        yield "disclosures", row["field"], row["split"], row["discloses"], found


DECISIONS = list(decisions())


def rates(check, kind, split):
    """Return the number of decisions, precision and recall, as the page prints them."""
    counts = Counter(
        (right, found)
        for its_check, its_kind, its_split, right, found in DECISIONS
        if its_check == check and kind in {None, its_kind} and its_split == split
    )
    precision = counts[True, True] / max(1, counts[True, True] + counts[False, True])
    recall = counts[True, True] / max(1, counts[True, True] + counts[True, False])
    return [str(counts.total()), f"{precision:.2f}", f"{recall:.2f}"]


def table_row(label):
    lines = PAGE.read_text("utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| {label} |")]
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


KINDS = sorted({(check, kind) for check, kind, *_ in DECISIONS})


@pytest.mark.parametrize(
    ("check", "kind"),
    [("facts", None), ("phrases", None), ("disclosures", None), *KINDS],
    ids=lambda value: value or "all",
)
def test_the_page_tells_the_rates_that_are_measured(check, kind):
    """Decisions, precision and recall of each check stand in the page, of the used and of the held-out part."""
    label = f"{check}: {kind}" if kind else f"all {check}"
    told = table_row(label)
    assert told == [*rates(check, kind, "tuning"), *rates(check, kind, "held_out")]


@pytest.mark.parametrize(
    ("check", "least_precision", "least_recall"),
    [("facts", 0.8, 0.75), ("phrases", 0.9, 0.7), ("disclosures", 0.95, 0.8)],
)
def test_the_checks_are_right_often_enough(check, least_precision, least_recall):
    """What a text check finds is nearly always there, on messages that no rule was written after."""
    number, precision, recall = rates(check, None, "held_out")
    assert int(number) >= 40
    assert float(precision) >= least_precision
    assert float(recall) >= least_recall


def test_a_listed_wording_is_found():
    """Where a message has a wording of the rule, the phrase checks find nearly all; the page tells both numbers."""
    meant = [row for row in PHRASES if row["says"]]
    listed = [
        row
        for row in meant
        if any(
            contains_phrase(write_out(fold(row["message"])), write_out(fold(phrase)), row["language"])
            for phrase in row["phrases"]
        )
    ]
    found = sum(map(says, listed))
    told = f"{len(listed)} of the {len(meant)} messages that say it use a listed wording; {found} of those are found"
    assert told in " ".join(PAGE.read_text("utf-8").split())


@pytest.mark.parametrize(
    ("label", "split", "batch"),
    [("reported misses and false alarms", "tuning", 6), ("held out, idiomatic wording", "held_out", 5)],
)
def test_the_page_tells_the_rates_of_later_claims(label, split, batch):
    """The page tells what the newer parts of the claims corpus give today."""
    rows = [row for row in CORPUS if row["split"] == split and row["batch"] == batch]
    precision, recall, _ = error_rates(rows)
    assert table_row(label) == [str(len(rows)), f"{precision:.2f}", f"{recall:.3f}"]


@pytest.mark.parametrize("rows", [FACTS, PHRASES, DISCLOSURES], ids=["facts", "phrases", "disclosures"])
def test_the_corpora_are_what_they_say(rows):
    """Each corpus has four languages, no message of a rule twice, and about a third held out."""
    assert {row["language"] for row in rows} == {"en", "es", "de", "fr"}
    assert len({row["id"] for row in rows}) == len(rows)
    held_out = sum(row["split"] == "held_out" for row in rows)
    assert 0.3 < held_out / len(rows) < 0.36
    number = sum(len(row.get("facts", [row])) for row in rows)
    assert number >= 120
