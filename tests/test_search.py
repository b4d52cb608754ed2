"""Ranked search over knowledge articles."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_supportbench.suite import Article
from pytest_supportbench.toolsets.saas.search import MAX_SNIPPET, search, stem, terms

ARTICLES = (
    Article(id="refunds", title="Refund windows", text="A charge can be refunded for 30 days. Ask billing."),
    Article(id="passwords", title="Reset a password", text="Open settings. A refund is never needed here."),
    Article(id="sso", title="Single sign-on", text="Connect your identity provider. Müller GmbH uses SAML."),
)


def found(query, limit=5, articles=ARTICLES):
    return [hit.article.id for hit in search(articles, query, limit)]


def test_title_words_outrank_words_of_the_text():
    """An article with the word in its title comes before one that only mentions it."""
    assert found("refund") == ["refunds", "passwords"]


def test_other_forms_of_a_word_are_found():
    """Plural, past and -ing forms find each other."""
    assert found("refunding") == found("Refunded") == found("refund's") == ["refunds", "passwords"]
    assert stem("policies") == stem("policy")
    assert stem("cancelled") == stem("cancels") == stem("cancel")
    assert stem("charges") == stem("charged") == stem("charging") == stem("charge")
    assert stem("billing") == stem("bills") == stem("bill")


def test_unlike_words_stay_apart():
    """Short words and those of other scripts keep their endings."""
    assert [stem(word) for word in ("need", "string", "is", "gas", "fee", "größe")] == [
        "need",
        "string",
        "is",
        "gas",
        "fee",
        "größe",
    ]


def test_words_of_any_script_are_found_whatever_their_case():
    """Unicode words match after case folding."""
    assert found("MÜLLER") == ["sso"]
    assert terms("STRASSE straße") == ["stras", "stras"]


def test_an_unknown_word_finds_nothing():
    """No article is returned that has none of the query's words."""
    assert found("zeppelin") == []
    assert found("?!") == []
    assert search((), "refund", 5) == []


def test_equal_scores_come_in_order_of_id():
    """Ties do not depend on the order of the articles."""
    twins = [Article(id=name, title="Limits", text="Seats per plan.") for name in ("b", "c", "a")]
    assert found("limits", articles=tuple(twins)) == ["a", "b", "c"]


def test_rare_words_count_more_than_common_ones():
    """A word that one article has decides over a word that all have."""
    articles = tuple(
        Article(id=f"a{n}", title="Guide", text="plan " * 3 + ("residency" if n == 3 else "colour"))
        for n in range(5)
    )
    assert found("plan residency", limit=1, articles=articles) == ["a3"]


def test_the_limit_bounds_the_hits():
    """At most ``limit`` articles come back, the best ones."""
    assert found("refund", limit=1) == ["refunds"]


def test_the_snippet_is_the_sentence_that_fits_best():
    """A hit shows the sentence with most of the query's words, and never more than the bound."""
    assert search(ARTICLES, "identity provider", 1)[0].snippet == "Connect your identity provider."
    long = (Article(id="l", title="Long", text="refund " * 500),)
    assert len(search(long, "refund", 1)[0].snippet) <= MAX_SNIPPET


def test_longer_articles_score_lower_for_the_same_words():
    """Length is normalised: the same mention weighs more in a short article."""
    short = Article(id="z-short", title="One", text="invoice")
    long = Article(id="a-long", title="Two", text="invoice " + "filler words here " * 40)
    assert found("invoice", articles=(long, short)) == ["z-short", "a-long"]


def test_scores_follow_the_formula():
    """The score of one word in one of two articles is the published formula's value."""
    articles = (Article(id="a", title="x", text="apple"), Article(id="b", title="y", text="pear"))
    # idf = ln(1 + (2 - 1 + 0.5) / (1 + 0.5)) = ln 2; tf = 1 / (1 + 1.2) since both have average length
    assert search(articles, "apple", 1)[0].score == 0.315


@given(st.text(max_size=200), st.integers(1, 20))
def test_any_query_gives_ordered_scores_within_the_limit(query, limit):
    """Whatever is asked, hits are bounded, positive and best first."""
    scores = [hit.score for hit in search(ARTICLES, query, limit)]
    assert len(scores) <= limit
    assert scores == sorted(scores, reverse=True)
    assert all(score >= 0 for score in scores)
