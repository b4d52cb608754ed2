"""How amounts, numbers, dates and ids are read out of messages."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_supportbench.scoring.money import (
    find_dates,
    find_ids,
    find_money,
    find_numbers,
    minor_digits,
    parse_numeral,
)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("I refunded $49.", "en", ["49 USD"]),
        ("49.00 USD went back", "en", ["49.00 USD"]),
        ("USD 49 and EUR 20", "en", ["49 USD", "20 EUR"]),
        ("USD49", "en", ["49 USD"]),
        ("1.234,50 \u20ac", "de", ["1234.50 EUR"]),
        ("\u20ac1.234,50", "en", ["1234.50 EUR"]),
        ("1\u202f234,50 \u20ac", "fr", ["1234.50 EUR"]),
        ("\u00a51,500", "en", ["1500 JPY"]),
        ("1500 yen", "en", ["1500 JPY"]),
        ("49 dollars", "en", ["49 USD"]),
        ("49 US dollars", "en", ["49 USD"]),
        ("US$49.50", "en", ["49.50 USD"]),
        ("$1,234.56", "en", ["1234.56 USD"]),
        ("1.500 EUR", "en", ["1500 EUR"]),
        ("KWD 1.500", "en", ["1.500 KWD"]),
        ("CHF 1'250.00", "de", ["1250.00 CHF"]),
        ("-$20 on your bill", "en", ["-20 USD"]),
        ("between $20-$40", "en", ["20 USD", "40 USD"]),
        ("**$49**", "en", ["49 USD"]),
        ("\uff0449", "en", ["49 USD"]),
        ("R$ 30", "pt", ["30 BRL"]),
        ("49 days, order 204, ch_49 USD", "en", []),
        ("$20k", "en", []),
    ],
)
def test_amounts_are_found(text, language, expected):
    """Signs, codes and words before or behind give an exact amount with its currency."""
    assert [str(found) for found in find_money(text, language)] == expected


def test_a_dollar_sign_may_be_another_dollar():
    """``$49`` may mean Canadian dollars where the account has them, and never euros."""
    (found,) = find_money("$49", "en")
    assert found.is_amount(Decimal("49.00"), "CAD")
    assert not found.is_amount(Decimal(49), "EUR")
    (exact,) = find_money("US$49", "en")
    assert not exact.in_currency("CAD")


@pytest.mark.parametrize(("currency", "digits"), [("USD", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("XYZ", 2)])
def test_minor_digits(currency, digits):
    """Currencies have the minor digits of ISO 4217."""
    assert minor_digits(currency) == digits


@pytest.mark.parametrize(
    ("numeral", "language", "value"),
    [
        ("1,500", "en", "1500"),
        ("1,500", "de", "1.500"),
        ("1.500", "de", "1500"),
        ("1.500", "en", "1.500"),
        ("1,234,567.8", "en", "1234567.8"),
        ("1.234.567", "de", "1234567"),
        ("0.125", "de", "0.125"),
        ("12,5", "en", "12.5"),
    ],
)
def test_separators_are_read_by_custom(numeral, language, value):
    """A lone separator before three digits is read as the language does."""
    assert parse_numeral(numeral, language) == Decimal(value)


def test_numbers_leave_out_dates_and_ids():
    """Only what is a number counts as one, spelt out or not."""
    text = "Within 14 days of 2026-03-01 or March 12, for twelve seats, 5-7 days, ch_204, INV-7."
    assert [str(found.value) for found in find_numbers(text, "en")] == ["14", "12", "5", "7"]
    assert [str(found.value) for found in find_numbers("treinta d\u00edas", "es")] == ["30"]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("on 2026-03-14", "en", "2026-03-14"),
        ("March 14, 2026", "en", "2026-03-14"),
        ("14 March 2026", "en", "2026-03-14"),
        ("14 de marzo de 2026", "es", "2026-03-14"),
        ("14.03.2026", "de", "2026-03-14"),
        ("14. M\u00e4rz 2026", "de", "2026-03-14"),
        ("le 1er ao\u00fbt 2026", "fr", "2026-08-01"),
        ("14 de mar\u00e7o", "pt", "????-03-14"),
        ("March 14", "en", "????-03-14"),
        ("on the 14th of March", "en", "????-03-14"),
        ("03/14/2026", "en", "2026-03-14"),
        ("14/03/2026", "es", "2026-03-14"),
        ("14/03/2026", "en", "2026-03-14"),
    ],
)
def test_dates_are_found(text, language, expected):
    """Dates are read in the usual notations of five languages."""
    assert [str(found) for found in find_dates(text, language)] == [expected]


@pytest.mark.parametrize(
    "text", ["March 2026", "May I help with 3 things?", "version 14.03", "2026-13-40", "room 12"]
)
def test_what_is_no_date(text):
    """A month without a day, impossible dates and other numbers are no dates."""
    assert find_dates(text) == []


def test_a_date_without_a_year_fits_any_year():
    """``March 14`` states that day of the year in question."""
    (found,) = find_dates("March 14")
    assert found.is_date("2026-03-14")
    assert not found.is_date("2026-03-15")
    assert not find_dates("March 14, 2025")[0].is_date("2026-03-14")


def test_ids_are_found():
    """Record ids are told from ordinary hyphenated words."""
    assert find_ids("ch_204 and INV-2026-7, not UTF-8, tier-2, a_b or x@ch_1.com") == ["ch_204", "INV-2026-7"]


@given(st.text(max_size=200), st.sampled_from(["en", "de", "ja", "xx"]))
def test_no_text_breaks_the_readers(text, language):
    """Whatever a model writes, reading it never raises."""
    find_money(text, language)
    find_numbers(text, language)
    find_dates(text, language)
    find_ids(text)


@given(st.decimals(min_value=0, max_value=10**9, places=2), st.sampled_from(["USD", "EUR", "GBP"]))
def test_an_amount_is_read_back(value, currency):
    """A formatted amount reads as itself, with and without thousands separators."""
    assert find_money(f"It is {value} {currency}.", "en")[0].is_amount(value, currency)
    assert find_money(f"It is {currency} {value:,}.", "en")[0].is_amount(value, currency)


@pytest.mark.parametrize(
    "unit", ["1", "1,", "1 ", "$1", "1-", "a", "March ", "ch_", "1.1.", "12 de "], ids=repr
)
def test_long_texts_are_read_in_linear_time(unit):
    """A hostile text of 100 kB takes a fraction of a second."""
    text = unit * (100_000 // len(unit))
    begun = time.perf_counter()
    find_money(text, "fr")
    find_numbers(text, "en")
    find_dates(text)
    find_ids(text)
    assert time.perf_counter() - begun < 4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("14 880 JPY have been credited", ["14880 JPY"]),
        ("JPY 14 880 has been credited.", ["14880 JPY"]),
        ("14\u00a0880 yen", ["14880 JPY"]),
        ("14\u202f880 JPY", ["14880 JPY"]),
        ("I credited \u00a514 880.", ["14880 JPY"]),
        ("1 234 567 EUR", ["1234567 EUR"]),
        ("On May 12 300 USD was refunded", ["300 USD"]),
        ("I refunded 3 100 USD charges", ["100 USD"]),
        ("In 2026 880 JPY", ["880 JPY"]),
        ("$49 200 users", ["49 USD"]),
    ],
)
def test_blanks_may_group_an_amount(text, found):
    """Groups of three beside a currency are one amount; a date or a count before it is none of it."""
    assert [str(money) for money in find_money(text, "en")] == found


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("one hundred and forty-eight pounds", "en", ["148 GBP"]),
        ("five hundred yen", "en", ["500 JPY"]),
        ("two thousand one hundred and fifty euros", "en", []),
        ("one hundred and fifty thousand euros", "en", []),
        ("cent quarante-huit euros", "fr", ["148 EUR"]),
        ("deux cents euros", "fr", ["200 EUR"]),
        ("ciento veintis\u00e9is euros", "es", ["126 EUR"]),
        ("quinientos dos euros", "es", ["502 EUR"]),
        ("hundertacht Euro", "de", ["108 EUR"]),
        ("zweihundert Euro", "de", ["200 EUR"]),
    ],
)
def test_hundreds_in_words_are_read_whole(text, language, found):
    """An amount in words is read up to 999, and not by its tail; a larger one is not read at all."""
    assert [str(money) for money in find_money(text, language)] == found


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("on Saturday 16/05", "en", ["????-05-16"]),
        ("on 05/16", "en", ["????-05-16"]),
        ("am Samstag, 16/05", "de", ["????-05-16"]),
        ("16-05-2026", "en", ["2026-05-16"]),
        ("16-05-2026", "es", ["2026-05-16"]),
        ("we are here 24/7", "en", []),
        ("you have 15/20 seats", "en", []),
        ("10/20 points", "en", []),
        ("INV-16-05-2026", "en", []),
    ],
)
def test_days_are_read_without_a_year_and_with_dashes(text, language, found):
    """A day and a month with a slash are a date where words say so; dashes do as well as dots."""
    assert [str(date) for date in find_dates(text, language)] == found
