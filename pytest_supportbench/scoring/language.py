"""Which language a message is written in, by its script and its function words."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_supportbench.scoring.text import listed, normalise, words

if TYPE_CHECKING:
    from collections.abc import Collection

_FUNCTION_WORDS: Final[dict[str, str]] = {
    "en": "the a an and or but is are was were has have had been be will would can could not of to in "
    "on for with "
    "your you i we it this that at by from as if my our their i've we've i'm you'll don't there any please",
    "es": "el la los las un una y o pero es son fue ha han he hemos sido será puede no de del al en por "
    "para con su "
    "sus le les se que esta este usted te tu nuestro nuestra si lo como más ya está aún muy hola gracias",
    "de": "der die das den dem des ein eine einen einem und oder aber ist sind war wurde wurden hat "
    "haben habe nicht "
    "von zu zum zur im in am auf für mit ihr ihre ihren ihnen sie ich wir es dass wenn bei nach noch "
    "auch bitte uns",
    "fr": "le la les un une des et ou mais est sont était a ont ai avons été sera peut ne pas de du au "
    "aux en sur pour "
    "avec votre vos vous je j'ai nous il elle que qui ce cette si dans par plus déjà bonjour merci "
    "notre n'est c'est",
    "pt": "o a os as um uma e ou mas é são foi foram tem temos ser será pode não de do da dos das no na "
    "em por para com "
    "seu sua seus você que este esta isso se ao já ainda mais nosso nossa olá obrigado está lhe eu",
    "it": "il lo la i gli le un una e o ma è sono era stato stata ha hanno ho abbiamo non di del della "
    "al alla in per "
    "con su suo sua che questo questa se come più già ancora ci vi nostro nostra ciao grazie può nel",
    "nl": "de het een en of maar is zijn was werd heeft hebben heb niet van te aan in op voor met uw u "
    "je jouw ik we "
    "wij dat dit deze als bij naar nog ook er wordt worden onze alstublieft kan geen",
}


def _index() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, text in _FUNCTION_WORDS.items():
        for word in listed(text):
            found[word] = (*found.get(word, ()), language)
    return found


_LANGUAGES_OF: Final = _index()
_SCRIPTS: Final = (
    ("\u0400", "\u04ff", "ru"),
    ("\u0600", "\u06ff", "ar"),
    ("\u3040", "\u30ff", "ja"),
    ("\u4e00", "\u9fff", "zh"),
    ("\uac00", "\ud7af", "ko"),
)
"""The first and the last character of each other script than Latin, and the language that it is taken for."""
KNOWN_LANGUAGES: Final = frozenset({*_FUNCTION_WORDS, "ja", "zh", "ko", "ru", "ar"})
"""What `detect_language` tells apart."""
_APART: Final = frozenset(listed("en es de fr"))
"""Languages with words enough of their own to be told from any other without doubt."""
BOUND: Final = 5_000
"""Characters of a text that are looked at."""
_LEAST_SHARE: Final = 0.15


def _script_of(character: str) -> str | None:
    return next((language for first, last, language in _SCRIPTS if first <= character <= last), None)


def _script(text: str) -> str | None:
    others = {character: of for character in {*text} if (of := _script_of(character))}
    if not others:
        return None
    counts = Counter(others[character] for character in text if character in others)
    if counts.total() * 2 < sum(map(str.isalpha, text)):
        return None
    if counts["ja"] * 10 > counts["zh"]:
        counts["ja"] += counts.pop("zh", 0)
    return counts.most_common(1)[0][0]


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code of en, es, de, fr, pt, it, nl, ja, zh, ko, ru or ar; ``None`` when in doubt.

    Latin-script languages are told apart by their share of function words, in which a word that several
    languages share counts for each in part. Texts without at least two such words are left undecided.
    """
    plain = normalise(text[:BOUND])
    return detect_script(plain) or clear_of(shares_of(words(plain.lower())))


def detect_script(plain: str) -> str | None:
    """Return the language of normalised text in another script than Latin; ``None`` for the rest."""
    return None if plain.isascii() else _script(plain[:BOUND])


class Shares(NamedTuple):
    """How many of the words of a text are function words, and how many of these speak for each language, best first."""

    words: int
    function_words: int
    languages: tuple[tuple[str, float], ...]


def shares_of(found: Collection[str]) -> Shares:
    """Return the shares of lower-case words in Latin script."""
    counts: dict[tuple[str, ...], int] = {}
    for languages in map(_LANGUAGES_OF.get, found):
        if languages is not None:
            counts[languages] = counts.get(languages, 0) + 1
    scores: dict[str, float] = {}
    for languages, count in counts.items():
        part = count / len(languages)
        for language in languages:
            scores[language] = scores.get(language, 0.0) + part
    best_first = sorted(scores.items(), key=itemgetter(1), reverse=True)
    return Shares(len(found), sum(counts.values()), tuple(best_first))


def clear_of(shares: Shares) -> str | None:
    """Return what `detect_language` returns for text in Latin script."""
    return _best(shares, hits=2, lead=1.2)


def evident_of(shares: Shares) -> str | None:
    """Return the language of text in Latin script that leaves no doubt: many function words, twice those of any other.

    Portuguese, Italian and Dutch are too close to other languages that a customer may write in for that.
    """
    best = _best(shares, hits=5, lead=2.0)
    return best if best in _APART else None


def _best(shares: Shares, *, hits: int, lead: float) -> str | None:
    if shares.function_words < hits or shares.function_words < _LEAST_SHARE * shares.words:
        return None
    (best, score), *others = shares.languages
    return None if others and score < lead * others[0][1] else best
