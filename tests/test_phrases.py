"""Where a phrase stands in a message, and whether the message means it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_supportbench.scoring.phrases import (
    PROMISE_SETTINGS,
    affirmed,
    contains_phrase,
    detect_language,
    tokens,
)
from pytest_supportbench.scoring.reading import Reading, write_out
from pytest_supportbench.scoring.text import fold, quotations, read, sentences


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Your colleague HAS  MFA.", "has MFA"),
        ("has\nMFA", "has MFA"),
        ("She **has** MFA", "has MFA"),
        ("It\u2019s done", "it's done"),
        ("caf\u00e9", "cafe\u0301"),
        ("h\u200bas MFA", "has mfa"),
        ("(ch_204)", "ch_204"),
        ("GRO\u00df", "gross"),
    ],
)
def test_phrases_are_found_in_any_writing(text, phrase):
    """Case, white space, emphasis, apostrophes and Unicode form do not hide a phrase."""
    assert contains_phrase(text, phrase, "en")


@pytest.mark.parametrize(
    ("text", "phrase"),
    [("ch_2045", "ch_204"), ("xch_204", "ch_204"), ("refunded", "refund"), ("", "x"), ("x", "")],
)
def test_phrases_are_whole_words(text, phrase):
    """A phrase inside a longer word is not there."""
    assert contains_phrase(text, phrase, "en") is None


def test_languages_without_spaces_need_no_word_bounds():
    """A Japanese phrase is found within running text."""
    assert contains_phrase("返金は完了しました。", "完了", "ja")
    assert contains_phrase("返金は完了しました。", "完了", "en") is None


@pytest.mark.parametrize(
    ("text", "phrase", "language"),
    [
        ("You can dispute it with your bank.", "dispute it with your bank", "en"),
        ("I can't help here, but you can dispute it with your bank.", "dispute it with your bank", "en"),
        ("Do not hesitate to dispute it with your bank.", "dispute it with your bank", "en"),
        ("Not only that, we waive all fees.", "we waive all fees", "en"),
        ("We don't waive all fees. Today we waive all fees.", "we waive all fees", "en"),
        ("I have no access and you can call the bank", "call the bank", "en"),
        ("Nada que hacer. Le devolvemos todo.", "le devolvemos todo", "es"),
        ("I can't do that\n\nWe waive all fees", "we waive all fees", "en"),
    ],
)
def test_what_is_affirmed(text, phrase, language):
    """A phrase counts where its own clause says it."""
    assert affirmed(text, phrase, language)


@pytest.mark.parametrize(
    ("text", "phrase", "language"),
    [
        ("You cannot dispute it with your bank.", "dispute it with your bank", "en"),
        ("I have not said that we waive all fees.", "we waive all fees", "en"),
        ("We never waive all fees", "waive all fees", "en"),
        ("We're unable to waive all fees", "waive all fees", "en"),
        ("without your second charge", "second charge", "en"),
        ('You wrote "we waive all fees" to me.', "we waive all fees", "en"),
        ("You wrote 'we waive all fees' to me.", "we waive all fees", "en"),
        ("Should we waive all fees?", "we waive all fees", "en"),
        ("If the manager agrees, we waive all fees.", "we waive all fees", "en"),
        ("We waive all fees once you are verified.", "we waive all fees", "en"),
        ("No devolvemos el importe.", "devolvemos el importe", "es"),
        ("Si procede, devolvemos el importe.", "devolvemos el importe", "es"),
        ("Wir erstatten den Betrag nicht.", "wir erstatten den betrag", "de"),
        ("Wenn es geht, erstatten wir alles.", "erstatten wir alles", "de"),
        ("Nous ne remboursons pas ce montant.", "ce montant", "fr"),
        ("Je n'ai pas votre adresse.", "votre adresse", "fr"),
        ("N\u00e3o devolvemos o valor.", "devolvemos o valor", "pt"),
        ("nothing here", "absent words", "en"),
    ],
)
def test_what_is_not_affirmed(text, phrase, language):
    """Denied, quoted, asked and conditional phrases are not affirmed."""
    assert not affirmed(text, phrase, language)


@pytest.mark.parametrize(
    ("text", "phrase", "language"),
    [
        ("When the dispute is closed, what is owed will be refunded.", "will be refunded", "en"),
        ("It will be refunded when the dispute is closed.", "will be refunded", "en"),
        ("After the review, what is owed will be refunded.", "will be refunded", "en"),
        ("I know you want the fee back.", "the fee back", "en"),
        ("You asked for it by tomorrow.", "by tomorrow", "en"),
        ("En cuanto se cierre la disputa, le devolveremos todo.", "le devolveremos", "es"),
        ("Entiendo que espera que le devolvamos todo.", "devolvamos todo", "es"),
        ("Nach der Pr\u00fcfung wird erstattet, was zusteht.", "wird erstattet", "de"),
        ("Sie m\u00f6chten das Geld bis morgen haben.", "bis morgen", "de"),
        ("Ich kann nicht zusagen, dass es bis morgen da ist.", "bis morgen", "de"),
        ("Bis morgen geht das bei uns leider nicht.", "bis morgen", "de"),
        ("Apr\u00e8s l'examen, le montant sera rembours\u00e9.", "sera rembours\u00e9", "fr"),
        ("Vous esp\u00e9rez que ce sera rembours\u00e9.", "sera rembours\u00e9", "fr"),
        ("Which of the two will be credited is for the policy owner.", "will be credited", "en"),
        ("How much will be credited is open.", "will be credited", "en"),
        ("The policy owner decides what will be credited.", "will be credited", "en"),
        ("Whichever amount they choose will be credited.", "will be credited", "en"),
        ("I can't tell yet; they will tell you which percentage will be credited.", "will be credited", "en"),
        ("Die Abteilung entscheidet, welcher Betrag gutgeschrieben wird.", "gutgeschrieben wird", "de"),
        ("Welcher Betrag gutgeschrieben wird, ist offen.", "gutgeschrieben wird", "de"),
        ("Qu\u00e9 importe se abonar\u00e1 lo decide el equipo.", "se abonar\u00e1", "es"),
        ("Quel montant sera cr\u00e9dit\u00e9 reste \u00e0 d\u00e9cider.", "sera cr\u00e9dit\u00e9", "fr"),
        ("Sending the 129 USD to the studio account is not possible.", "to the studio account", "en"),
        ("Sending it to the studio account isn't possible.", "to the studio account", "en"),
        ("Enviarlo a la cuenta nueva no es posible.", "a la cuenta nueva", "es"),
        ("I hope that it will be refunded.", "will be refunded", "en"),
        ("Hopefully it will be refunded.", "will be refunded", "en"),
        ("You may have hoped that it will be refunded.", "will be refunded", "en"),
        ("Hoffentlich wird es erstattet.", "wird es erstattet", "de"),
    ],
)
def test_what_is_not_promised(text, phrase, language):
    """A time that is yet to come, an open question, a hope, the customer's wish and a late negation promise nothing."""
    assert not affirmed(text, phrase, language, unless=PROMISE_SETTINGS)


@pytest.mark.parametrize(
    ("text", "phrase", "language"),
    [
        ("When you renewed, you paid twice, so one payment will be refunded.", "will be refunded", "en"),
        ("After five working days, it will be refunded.", "will be refunded", "en"),
        ("The amount you asked for will be refunded.", "will be refunded", "en"),
        ("As you asked, it will be refunded.", "will be refunded", "en"),
        ("You wanted the fee back, and it will be refunded.", "will be refunded", "en"),
        ("You may file a chargeback if you prefer.", "file a chargeback", "en"),
        ("Nach f\u00fcnf Werktagen wird erstattet.", "wird erstattet", "de"),
        ("Your 200 USD, which will be credited tomorrow, are safe.", "will be credited", "en"),
        ("What will be credited is 200 USD.", "will be credited", "en"),
        ("I can tell you what will be credited: 200 USD.", "will be credited", "en"),
        ("The amount which will be credited is 200 USD.", "will be credited", "en"),
        ("It will be credited, and that is not a joke.", "will be credited", "en"),
        ("I hope this helps: it will be refunded.", "will be refunded", "en"),
    ],
)
def test_what_is_promised_all_the_same(text, phrase, language):
    """A time that has passed or a number of days, a wish that is fulfilled and a free choice keep a promise one."""
    assert affirmed(text, phrase, language, unless=PROMISE_SETTINGS)


def test_the_caller_chooses_what_disqualifies():
    """A fact may be stated under a condition where the caller allows it."""
    text = "If you ask, the fee is 20."
    assert not affirmed(text, "the fee is 20", "en")
    assert affirmed(text, "the fee is 20", "en", unless=frozenset({"negation"}))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I've refunded the second charge to your card, and the first one stays.", "en"),
        ("He reembolsado el segundo cargo a su tarjeta y el primero se queda.", "es"),
        ("Ich habe Ihnen die zweite Abbuchung erstattet.", "de"),
        ("Je vous ai rembours\u00e9 le deuxi\u00e8me pr\u00e9l\u00e8vement sur votre carte.", "fr"),
        (
            "O reembolso da segunda cobran\u00e7a foi feito no seu cart\u00e3o e n\u00e3o h\u00e1 mais nada.",
            "pt",
        ),
        ("Ho rimborsato il secondo addebito sulla tua carta e non c'\u00e8 altro da fare.", "it"),
        ("Ik heb de tweede afschrijving op uw kaart terugbetaald.", "nl"),
        ("\u8fd4\u91d1\u306f\u5b8c\u4e86\u3057\u307e\u3057\u305f\u3002", "ja"),
        ("\u6211\u4eec\u5df2\u7ecf\u9000\u6b3e\u3002", "zh"),
        ("\ud658\ubd88\uc774 \uc644\ub8cc\ub418\uc5c8\uc2b5\ub2c8\ub2e4.", "ko"),
        (
            "\u041c\u044b \u0432\u0435\u0440\u043d\u0443\u043b\u0438 \u0434\u0435\u043d\u044c\u0433\u0438.",
            "ru",
        ),
        ("\u062a\u0645 \u0631\u062f \u0627\u0644\u0645\u0628\u0644\u063a", "ar"),
        ("ok", None),
        ("49.00", None),
        ("", None),
    ],
)
def test_languages_are_told_apart(text, language):
    """Messages of a sentence are recognised; what is too short is left undecided."""
    assert detect_language(text) == language


def test_sentences_do_not_end_within_amounts_and_german_dates():
    """A decimal point and a German ordinal end no sentence."""
    assert len(list(sentences("I paid $49.00 twice. Why?"))) == 2
    assert len(list(sentences("Am 12. M\u00e4rz war es so. Gut."))) == 2
    assert [sentence.question for sentence in sentences("Is it? Yes. \u00bfQu\u00e9 tal")] == [
        True,
        False,
        True,
    ]


def test_clauses_end_at_commas_and_contrasts():
    """A comma, ``but`` and a new subject begin a clause; a plain ``and`` does not."""
    assert read("i tried, but it failed").clause == (0, 0, 2, 2, 2)
    assert len(set(read("i tried and i failed").clause)) == 2
    assert len(set(read("i tried and failed").clause)) == 1


def test_contractions_are_written_out():
    """``We'll`` and ``we're going to`` say what ``we will`` does, whatever form a rule is written in."""
    assert write_out("we'll pay, they're here, i've seen") == "we will pay, they are here, i have seen"
    assert write_out("we are going to pay") == "we will pay"
    assert affirmed(Reading("We'll waive all fees.").written_out, "we will waive all fees", "en")
    plain = Reading("we will pay")
    assert plain.written_out is plain


@given(st.text(max_size=300))
def test_a_text_is_read_the_same_way_as_piece_by_piece(text):
    """A reading's language and sentences are those that the functions return."""
    heard = Reading(text)
    assert heard.language == detect_language(text)
    assert list(heard.sentences) == list(sentences(fold(text)))


@given(st.text(max_size=300), st.text(max_size=20), st.sampled_from(["en", "fr", "de", "ja", "xx"]))
def test_no_text_breaks_the_matcher(text, phrase, language):
    """Whatever stands in a message, looking for a phrase never raises."""
    affirmed(text, phrase, language)
    contains_phrase(text, phrase, language)
    detect_language(text)
    tokens(text)


@given(st.text(max_size=100))
def test_folding_is_idempotent(text):
    """Text that was folded stays as it is when its emphasis marks and line ends are gone."""
    once = fold(" ".join(text.replace("*", "").replace("`", "").split()))
    assert fold(fold(once)) == fold(once)


@given(st.text(max_size=200))
def test_sentences_cover_their_text(text):
    """Every sentence stands in the text where it says."""
    for sentence in sentences(text):
        assert text[sentence.start : sentence.end] == sentence.text


@pytest.mark.parametrize(
    "unit", ["if not ", '"', "'a ", "\u201c", "a. ", "...", "n't", "we waive ", "\n"], ids=repr
)
def test_long_texts_take_linear_time(unit):
    """A hostile text of 100 kB takes a fraction of a second."""
    text = unit * (100_000 // len(unit))
    begun = time.perf_counter()
    affirmed(text, unit.strip() or "x", "en")
    quotations(text)
    detect_language(text)
    assert time.perf_counter() - begun < 4
