"""When a message states a fact that the customer must be told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_supportbench.expected import MustState
from pytest_supportbench.scoring.facts import check_fact


def must(value, **more):
    return MustState.model_validate({"fact": "it", "value": value, **more})


@pytest.mark.parametrize(
    ("value", "text", "stated"),
    [
        ({"money": "49.00 USD"}, "Of the two $49 charges I refunded the second; your plan is $20.", True),
        ({"money": "49.00 USD"}, "I refunded $94.", False),
        ({"money": "49.00 USD"}, "I refunded \u20ac49.", False),
        ({"money": "49.00 USD"}, "It was not $49 but $94.", False),
        ({"money": "49.00 USD"}, "You get $94 instead of $49.", False),
        ({"money": "1500 JPY"}, "\u00a51,500 is on its way.", True),
        ({"number": "14"}, "You have 14 days.", True),
        ({"date": "2026-03-14"}, "It ends on March 14.", True),
        ({"date": "2026-03-14"}, "It ends on March 15.", False),
        ({"id": "ch_204"}, "This is about CH_204.", True),
        ({"id": "ch_204"}, "This is about ch_2045.", False),
        ({"id": "ch_204"}, "I refunded ch_101, not ch_204.", False),
        ({"language": "en"}, "I have refunded the second charge for you.", True),
        ({"language": "es"}, "I have refunded the second charge for you.", False),
        ({"text": ["managed by SCIM", "identity provider"]}, "Your tenant is managed by SCIM.", True),
        ({"text": ["managed by SCIM"]}, "Your tenant is not managed by SCIM.", False),
        ({"text": ["managed by SCIM"]}, "Is it managed by SCIM?", False),
    ],
)
def test_a_fact_is_stated_by_its_typed_value(value, text, stated):
    """What counts is the value, however it is written, unless it is denied."""
    assert check_fact(must(value), text, "en").stated is stated


@pytest.mark.parametrize(
    ("text", "stated", "against"),
    [
        ("You have 14 days to return it.", True, None),
        ("There is a 14-day window.", True, None),
        ("You have 14 calendar days.", True, None),
        ("You have fourteen days.", True, None),
        ("You have 30 days.", False, "30"),
        ("You have 14 days, later 30 days.", True, "30"),
        ("It costs 30 dollars and takes 14 days.", True, None),
        ("There are 14 seats.", False, None),
        ("Days: 14", True, None),
    ],
)
def test_a_unit_binds_a_number(text, stated, against):
    """Only numbers with the unit count, and another number with it contradicts."""
    finding = check_fact(must({"number": "14"}, unit=["day", "days"]), text, "en")
    assert (finding.stated, finding.contradicted_by) == (stated, against)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("You have 75 (seventy-five) days.", 75, "days"),
        ("You have seventy-five days.", 75, "days"),
        ("We answer in 72h.", 72, "h"),
        ("You get 15% off.", 15, "%"),
        ("It takes no more than 5 days.", 5, "days"),
        ("You have 30 days, and today is day 41.", 30, "days"),
    ],
)
def test_units_stand_in_many_ways(text, value, unit):
    """A unit may be glued to its number, stand behind a bracket or be a sign; ``day 41`` is no number of days."""
    assert check_fact(must({"number": str(value)}, unit=[unit]), text, "en").holds


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("It can't go anywhere except the card.", "en"),
        ("Es kann nirgendwohin, au\u00dfer auf die card.", "de"),
        ("Il ne peut aller que sur la card.", "fr"),
        ("No puede ir a ning\u00fan lado salvo a la card.", "es"),
    ],
)
def test_an_exception_from_a_denial_is_stated(text, language):
    """``Nowhere except the card`` states the card."""
    assert check_fact(must({"text": ["card"]}), text, language).holds


def test_a_phrase_with_its_own_negation_is_stated_by_it():
    """``Je n'ai rien trouv\u00e9`` states ``rien trouv\u00e9``, whose particle is no denial of it."""
    for text, phrase, language in (
        ("Je n'ai rien trouv\u00e9.", "rien trouv\u00e9", "fr"),
        ("No hay nada pendiente.", "nada pendiente", "es"),
        ("There is no fee.", "no fee", "en"),
    ):
        assert check_fact(must({"text": [phrase]}), text, language).holds, text
    assert not check_fact(must({"text": ["trouv\u00e9"]}), "Je n'ai rien trouv\u00e9.", "fr").stated


@pytest.mark.parametrize(
    "text",
    [
        "Was it $49?",
        "Between $49 and $94 comes off.",
        "The price goes from $49 to $94.",
        "I cannot give you the $49 back.",
        "A refund of $49 is not possible.",
    ],
)
def test_a_value_that_is_asked_replaced_or_withheld_is_not_stated(text):
    """A question, a range, an old value and what cannot be given tell no amount."""
    assert not check_fact(must({"money": "49.00 USD"}), text, "en").stated


def test_an_amount_in_words_is_stated():
    """``Forty-nine dollars`` is $49, and ``one hundred dollars`` is not $1."""
    assert check_fact(must({"money": "49.00 USD"}), "I credited forty-nine dollars.", "en").stated
    assert check_fact(must({"money": "25.00 EUR"}), "Es sind f\u00fcnfundzwanzig Euro.", "de").stated
    assert not check_fact(must({"money": "1.00 USD"}), "It is one hundred dollars.", "en").stated


def test_two_days_share_a_month():
    """``From 1 to 14 April`` names two days, and a moved date is the new one."""
    for day in ("2026-04-01", "2026-04-14"):
        assert check_fact(must({"date": day}), "Your trial runs from 1 to 14 April.", "en").holds
    moved = "We moved the renewal from 1 May to 1 June 2026."
    assert check_fact(must({"date": "2026-06-01"}), moved, "en").holds
    assert not check_fact(must({"date": "2026-05-01"}), moved, "en").stated


def test_spanish_number_words_count():
    """``treinta d\u00edas`` states thirty days."""
    assert check_fact(must({"number": "30"}, unit=["d\u00edas"]), "Tiene treinta d\u00edas.", "es").holds


def test_a_listed_value_contradicts():
    """A value that must not be stated instead fails the fact, other amounts do not."""
    wanted = must({"money": "49.00 USD"}, contradicted_by=[{"money": "98.00 USD"}])
    assert check_fact(wanted, "I refunded $49; your plan is $20.", "en").holds
    finding = check_fact(wanted, "I refunded $49, $98 in all.", "en")
    assert finding.stated
    assert finding.contradicted_by == "98.00 USD"
    assert not finding.holds
    assert check_fact(wanted, "I refunded $49, not $98.", "en").holds


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("I have not refunded $49.", False),
        ("The refund of $49 was declined.", False),
        ("$49 has not been refunded.", False),
        ("You should not have paid $49, and it is refunded.", True),
        ("The refund of $49 failed at first and then worked.", True),
        ("I have refunded $49 and not changed anything else.", True),
        ("It is $49 or $94.", False),
        ("$20, $49, $94", False),
        ("I refunded $49, $98 in all.", True),
        ("It is $49, no wait, $94.", False),
        ("It is $49. No other charge of $94 was made.", True),
        ("It is probably $49.", False),
        ("It is probably $94. The bill says $49.", True),
    ],
)
def test_a_value_that_is_denied_offered_or_taken_back_is_not_stated(text, stated):
    """An amount counts where the message stands by it: not beside an undone deed, an alternative or a correction."""
    assert check_fact(must({"money": "49.00 USD"}), text, "en").stated is stated


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("It renews at $94; $49 is the list price.", "94 USD"),
        ("It renews at $49, up from $94.", None),
        ("Your $94 plan renews at $49.", None),
        ("It never renews at $94 again. It is $49.", None),
        ("You paid $94 last year. It renews at $49.", None),
        ("Does it renew, as it renews at $94? It is $49.", None),
    ],
)
def test_another_value_where_the_fact_is_announced_contradicts(text, against):
    """Beside a phrase of ``about`` stands the right value, or the message tells something else."""
    wanted = must({"money": "49.00 USD"}, about=["renews"])
    assert check_fact(wanted, text, "en").contradicted_by == against


def test_a_day_in_figures_may_be_read_either_way():
    """``04/10/2026`` states 4 October as well as 10 April, ``14/10/2026`` only one day."""
    for day in ("2026-10-04", "2026-04-10"):
        assert check_fact(must({"date": day}), "It is on 04/10/2026.", "en").holds
    assert not check_fact(must({"date": "2026-10-04"}), "It is on 14/10/2026.", "en").stated


def test_the_report_shows_what_was_found():
    """A missing amount comes with the amounts that were there."""
    finding = check_fact(must({"money": "49.00 USD"}), "I refunded $94 and 20 EUR.", "en")
    assert finding.seen == ("94 USD", "20 EUR")


@given(st.text(max_size=200), st.sampled_from(["en", "es", "xx"]))
def test_no_text_breaks_the_check(text, language):
    """Whatever a message says, every kind of fact can be looked for."""
    for value in (
        {"money": "49.00 USD"},
        {"number": "14"},
        {"date": "2026-03-14"},
        {"id": "ch_204"},
        {"language": "en"},
        {"text": ["a b"]},
    ):
        check_fact(must(value, unit=["day"] if "number" in value else []), text, language)


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("It takes 5 working days; you filed it 2 working days ago.", True),
        ("It takes 5 days (working days).", True),
        ("It takes one week (5 working days).", True),
        ("Es dauert 5 Werktage; das war vor 2 Werktagen.", True),
        ("It takes 5 working days, or 2 working days.", False),
        ("It takes 5 working days. Others wait 7 working days.", False),
        ("Price: 5\nWorking days: 2", False),
    ],
)
def test_a_time_ago_is_no_other_length(message, holds):
    """What is counted back from now contradicts no length of time; a unit stands in the line of its number."""
    must = MustState.model_validate(
        {"fact": "f", "value": {"number": "5"}, "unit": ["working days", "Werktage", "Werktagen"]}
    )
    language = "de" if "Werk" in message else "en"
    assert check_fact(must, message, language).holds is holds


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("No money has moved yet and operations has the case.", True),
        ("I couldn't refund it and passed it to operations.", True),
        ("The OPERATIONS team looks at it.", True),
        ("Did operations call you?", False),
        ('You wrote "operations has it".', False),
        ("I couldn't refund it.", False),
    ],
)
def test_a_mention_counts_in_any_mood(message, holds):
    """A ``mention`` is found beside a denial too, but not in a question, a quotation, or nowhere."""
    must = MustState.model_validate({"fact": "f", "value": {"mention": ["operations"]}})
    assert check_fact(must, message, "en").holds is holds
