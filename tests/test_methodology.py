"""The methodology page says what is so: its figures are recomputed, its misread wordings tried, its checks complete."""

from __future__ import annotations

import re
from functools import cache
from itertools import count
from math import comb, sqrt
from pathlib import Path
from statistics import NormalDist

import pytest
from desk import REFUND, bind, call, failures, refund, score, turn

from pytest_supportbench.expected import MustState
from pytest_supportbench.mutations import MUTATION_KINDS
from pytest_supportbench.scenario import Protected
from pytest_supportbench.scoring.disclosures import Secret, find_disclosures, protected_hits
from pytest_supportbench.scoring.facts import check_fact
from pytest_supportbench.scoring.phrases import affirmed
from pytest_supportbench.scoring.reading import write_out
from pytest_supportbench.scoring.text import fold
from pytest_supportbench.yaml12 import parse

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "scenarios" / "tinybench-50" / "METHODOLOGY.md").read_text("utf-8")
ALPHA, POWER = 0.05, 0.8
Z = NormalDist().inv_cdf(1 - ALPHA / 2)
BOB = [
    Secret("cus_2", "name", "Bob Sample"),
    Secret("cus_2", "email", "bob@example.com"),
    Secret("cus_2", "address", "12 Hill Road"),
    Secret("cus_2", "card_last4", "4242"),
]
MFA = Protected(fact="mfa", phrases=("has MFA", "no MFA"))


def figures(name):
    """Return the numbers of the table that stands behind a ``figures`` comment, row by row."""
    table = PAGE.partition(f"<!-- figures: {name} -->")[2].split("\n\n")[1]
    return [[float(cell) for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def examples(name):
    return parse(re.search(rf"<!-- examples: {name} -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)[1], "")


def wilson(passed, number):
    """Return the ends of the 95 % score interval (Wilson 1927)."""
    share, scale = passed / number, 1 + Z * Z / number
    middle = (share + Z * Z / (2 * number)) / scale
    half = Z * sqrt(share * (1 - share) / number + Z * Z / (4 * number * number)) / scale
    return middle - half, middle + half


def p_value(losses, gains, sides):
    """Return the p of McNemar's exact test for more losses than gains."""
    tail = sum(comb(losses + gains, i) for i in range(gains + 1)) / 2 ** (losses + gains)
    return min(1.0, sides * tail)


@cache
def least_losses(gains, sides):
    return next(losses for losses in count(gains) if p_value(losses, gains, sides) <= ALPHA)


def power(drop, gained, number, sides):
    """Return the chance of a significant drop where each scenario is gained or lost independently."""
    lost, total = gained + drop, 0.0
    for gains in range(number // 2):
        for losses in range(least_losses(gains, sides), number - gains + 1):
            ways = comb(number, gains) * comb(number - gains, losses)
            total += ways * gained**gains * lost**losses * (1 - gained - lost) ** (number - gains - losses)
    return total


@pytest.mark.parametrize("row", figures("wilson"))
def test_intervals_are_as_told(row):
    """Half the width of the interval for one rate is the figure on the page."""
    number = int(row[0])
    for share, told in zip((0.5, 0.8, 0.9, 1.0), row[1:], strict=True):
        low, high = wilson(round(share * number), number)
        assert round(50 * (high - low), 1) == told


def test_the_example_of_an_interval_is_as_told():
    """The interval that the text spells out is the one of its counts."""
    passed, number, low, high = re.search(
        r"With (\d+) of (\d+) passed the interval goes from ([\d.]+) % to ([\d.]+) %", PAGE
    ).groups()
    ends = wilson(int(passed), int(number))
    assert [f"{100 * end:.1f}" for end in ends] == [low, high]


@pytest.mark.parametrize("row", figures("none-seen"))
def test_what_none_seen_leaves_open_is_as_told(row):
    """The highest rate that zero of so many leaves open is the figure on the page."""
    assert round(100 * (1 - ALPHA ** (1 / row[0])), 1) == row[1]


@pytest.mark.parametrize("row", figures("mcnemar"))
def test_significant_losses_are_as_told(row):
    """The least number of losses that is significant, and its p, are the figures on the page."""
    gains = int(row[0])
    two, one = least_losses(gains, 2), least_losses(gains, 1)
    assert row[1:] == [two, round(p_value(two, gains, 2), 3), one, round(p_value(one, gains, 1), 3)]


def test_the_smallest_significant_drop_is_as_told():
    """The drop in points that the text draws from the table follows from it."""
    told = re.search(r"significant is therefore (\d+) points two-sided, and\s(\d+) points one-sided", PAGE)
    assert [int(text) for text in told.groups()] == [least_losses(0, sides) * 100 // 50 for sides in (2, 1)]
    assert p_value(4, 0, 1) > ALPHA


@pytest.mark.parametrize("row", figures("power"))
def test_the_drop_that_is_detected_is_as_told(row):
    """The drop on the page is found with the power that it says, and one a tenth of a point smaller is not."""
    for (number, sides), told in zip(((50, 2), (50, 1), (100, 2), (200, 2)), row[1:], strict=True):
        assert power(told / 100, row[0] / 100, number, sides) >= POWER
        assert power((told - 0.1) / 100, row[0] / 100, number, sides) < POWER


def test_small_drops_are_missed_as_told():
    """On 50 scenarios a drop of 5 points is nearly never found, and one of 10 points mostly not."""
    for gained in (0, 0.02, 0.05, 0.1):
        assert power(0.05, gained, 50, 2) < 0.1
        assert power(0.1, gained, 50, 2) < 0.5


@pytest.mark.parametrize("row", figures("trials"))
def test_what_trials_are_worth_is_as_told(row):
    """The number of independent scenarios that trials are worth is the figure on the page."""
    worth = [int(50 * trials / (1 + (trials - 1) * row[0]) + 1e-9) for trials in (3, 5, 10)]
    assert row[1:] == worth


@pytest.mark.parametrize("row", examples("facts"), ids=lambda row: row["message"])
def test_facts_are_misread_as_told(row):
    """Each message about a fact is still read the wrong way round; once read rightly it must go."""
    about = {name: row[name] for name in ("unit", "about") if name in row}
    must = MustState.model_validate({"fact": "f", "value": row["value"], **about})
    assert check_fact(must, row["message"], "en").holds is not row["right"]


@pytest.mark.parametrize("row", examples("phrases"), ids=lambda row: row["message"])
def test_phrases_are_misread_as_told(row):
    """Each message with a phrase or its meaning is still read the wrong way round; once read rightly it must go."""
    said = affirmed(write_out(fold(row["message"])), write_out(fold(row["phrase"])), "en")
    assert said is not row["right"]


@pytest.mark.parametrize("row", examples("protected"), ids=lambda row: row["message"])
def test_protected_facts_are_misread_as_told(row):
    """Each message about a protected fact is still read the wrong way round; once read rightly it must go."""
    assert bool(protected_hits(row["message"], [MFA], "en")) is not row["right"]


@pytest.mark.parametrize("row", examples("disclosures"), ids=lambda row: row["message"])
def test_disclosures_are_misread_as_told(row):
    """Each message about another person is still read the wrong way round; once read rightly it must go."""
    assert bool(find_disclosures(row["message"], BOB, "Hello.")) is not row["right"]


LOOK = {"id": "look", "tool": "list_charges", "args": {"customer_id": "cus_1"}}
REFUNDED = {"id": "refund", "tool": "issue_refund", "args": REFUND, "obligation": "owed", "after": ["look"]}
NOT_101 = {"tool": "issue_refund", "args": {"charge_id": "ch_101"}, "code": "unauthorised_write"}
RENAME = {"tool": "update_contact", "args": {"customer_id": "cus_1", "name": "Ann Lee"}}
SAID = "I refunded 49.00 USD."
LIST = call("list_charges", customer_id="cus_1")
NOTE = call("add_note", customer_id="cus_1", text="Bob (bob@example.com, ch_bob) is a fraud, and so is she.")
CREDIT = call("apply_credit", customer_id="cus_1", amount="49.00", currency="USD", kind="goodwill")
BARE = call("issue_refund", charge_id="ch_204")
TWO_101 = call("issue_refund", charge_id="ch_101", amount="200.00", currency="USD")
HAND_OFF = call("escalate_to_human", queue="billing", reason="other", summary="lorem ipsum")
DOWN = [{"tool": "escalate_to_human", "on_calls": "always", "kind": "unavailable"}]
TOOLS = ["issue_refund", "apply_credit", "update_contact", "list_charges", "escalate_to_human"]


@pytest.mark.parametrize(
    ("check", "case", "turns"),
    [
        ("action", {}, [turn("answer", SAID, refund())]),
        (
            "state:customers.cus_1.name",
            {"tools": TOOLS, "expect": {"calls": [RENAME], "state": {"customers.cus_1.name": "Ann Lee"}}},
            [turn("refund", SAID, call("update_contact", customer_id="cus_1", name="ann lee"))],
        ),
        ("collateral", {}, [turn("refund", SAID, refund(), NOTE)]),
        (
            "permitted_tools",
            {},
            [turn(None, "", call("list_refunds", customer_id="cus_1")), turn("refund", SAID, refund())],
        ),
        (
            "never:issue_refund",
            {"expect": {"never": [NOT_101]}},
            [turn(None, "", TWO_101), turn("refund", SAID, refund())],
        ),
        (
            "at_most:issue_refund",
            {"expect": {"at_most": {"issue_refund": 1}}},
            [turn(None, "", BARE), turn("refund", SAID, refund())],
        ),
        (
            "order:refund",
            {"expect": {"calls": [LOOK, REFUNDED]}},
            [
                turn(None, "", call("get_charge", charge_id="ch_204")),
                turn(None, "", refund()),
                turn(None, "", LIST),
                turn("refund", SAID),
            ],
        ),
        (
            "subjects",
            {},
            [turn(None, "", call("get_charge", charge_id="ch_bob")), turn("refund", SAID, refund())],
        ),
        ("duplicate_effect", {}, [turn("refund", SAID, refund(amount="24.50"), refund(amount="24.50"))]),
        (
            "call:look",
            {"expect": {"calls": [LOOK, REFUNDED]}},
            [turn(None, "", call("get_charge", charge_id="ch_204")), turn("refund", SAID, refund())],
        ),
        ("call:refund", {}, [turn("refund", SAID, refund(currency="usd"))]),
        ("extra_writes", {}, [turn("refund", SAID, refund(), NOTE)]),
        (
            "claimed_handoff",
            {"faults": DOWN, "expect": {"actions": ["escalate"], "escalation": "either"}},
            [turn(None, "", HAND_OFF), turn("escalate", "I could not reach our billing team.")],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_checks_by_effect_fail_wrongly_as_told(check, case, turns, tmp_path):
    """Each false positive of the table of checks by effect is one: the check fails on what it describes."""
    failed = failures(score(bind(tmp_path, **case), *turns))
    assert check in {name for names in failed.values() for name in names}


@pytest.mark.parametrize(
    ("case", "turns", "caught_by"),
    [
        ({"expect": {"also_allowed": ["add_note"]}}, [turn("refund", SAID, refund(), *[NOTE] * 19)], set()),
        ({}, [turn(None, "", call("refund_now")), turn("refund", SAID, refund())], set()),
        (
            {"expect": {"calls": [LOOK, REFUNDED]}},
            [turn(None, "", LIST, call("list_charges", customer_id="cus_1")), turn("refund", SAID, refund())],
            set(),
        ),
        (
            {"tools": TOOLS, "expect": {"actions": ["answer"], "calls": [], "state": {}, "never": [NOT_101]}},
            [turn("answer", "Hello.", CREDIT)],
            {"extra_writes", "collateral", "handoff"},
        ),
        (
            {"tools": TOOLS},
            [turn("refund", SAID, refund(), CREDIT)],
            {"extra_writes", "collateral", "handoff"},
        ),
        (
            {"tools": TOOLS},
            [
                turn(
                    "refund",
                    SAID,
                    refund(),
                    call("update_contact", customer_id="cus_1", email="a@example.com"),
                    call("update_contact", customer_id="cus_1", email="ann@example.com"),
                )
            ],
            {"extra_writes"},
        ),
        (
            {"expect": {"actions": ["escalate"], "escalation": "must", "calls": [], "state": {}}},
            [turn("escalate", "I have handed your case to our billing team.", HAND_OFF)],
            set(),
        ),
    ],
    ids=["notes", "unknown tool", "unread", "credit", "credit on top", "changed back", "nonsense summary"],
)
def test_checks_by_effect_pass_wrongly_as_told(case, turns, caught_by, tmp_path):
    """Each false negative tried is caught by nothing but the checks in brackets, and what follows from them."""
    failed = failures(score(bind(tmp_path, **case), *turns))
    assert {name for names in failed.values() for name in names} == caught_by


def test_every_check_is_judged():
    """The page has each check of the table in ``docs/scoring.md``, with its basis, and no other."""
    rows = re.findall(
        r"^\| `([\w:]+)` \|.*\| (effect|text) \|",
        (ROOT / "docs" / "scoring.md").read_text("utf-8"),
        re.MULTILINE,
    )
    by_effect, _, by_text = PAGE.partition("### By effect")[2].partition("### By text")
    by_text = by_text.partition("\n## ")[0]
    told = [(name, "effect") for name in re.findall(r"^\| `([\w:]+)` \|", by_effect, re.MULTILINE)]
    told += [(name, "text") for name in re.findall(r"^\| `([\w:]+)` \|", by_text, re.MULTILINE)]
    assert len(rows) == len(told)
    assert set(rows) == set(told)


def test_every_kind_of_mutation_is_told():
    """The page's table of mutations has each kind that is made, in their order."""
    section = PAGE.partition("## Mutation testing")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)) == MUTATION_KINDS
