"""What keeps words from being meant: an open condition, and what only the customer wants or said.

Both are told by the clause that the words stand in, and by what stands before it in the sentence.
"""

from __future__ import annotations

import re
from typing import Final

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.text import listed

_WHEN: Final[dict[str, frozenset[str]]] = {
    "en": frozenset(listed("when whenever after soon pending")),
    "es": frozenset(listed("después tras cuanto vez")),
    "de": frozenset(listed("nachdem nach")),
    "fr": frozenset(listed("après fois")),
}
"""Words before a time that is yet to come, or has passed (``when you renewed``)."""
_EVENTS: Final = frozenset(
    listed(
        "review approval confirmation check decision dispute investigation verification consent revisión aprobación"
    )
    + listed(
        "confirmación decisión disputa comprobación verificación prüfung freigabe bestätigung entscheidung zustimmung"
    )
    + listed("klärung examen l'examen vérification validation confirmation décision accord l'accord")
)
"""What may come out either way, so that ``after the review`` promises nothing."""
_SPANS: Final = frozenset(
    listed(
        "days weeks months hours minutes working business días semanas meses horas tage tagen wochen monaten stunden"
    )
    + listed("werktagen jours semaines mois heures")
)
_OPEN: Final = frozenset(
    listed(
        "is are has have can will does do está haya han ha sea puede ist sind hat haben wird kann est sont a ont aura"
    )
)
_PAST: Final = frozenset(
    listed(
        "was were had did came went took paid got began ran made sent left chose bought moved said told asked wrote"
    )
    + listed("fue eran era había hizo pagó war waren hatte hatten wurde wurden était étaient avait avez")
)
_AFTER: Final = frozenset(listed("after después tras nach nachdem après pending soon"))
_BEFORE_NOUNS: Final = frozenset(listed("nach tras pending"))
_AT_WISH: Final[frozenset[str]] = frozenset(
    listed(
        "prefer like want wish desea prefiere quiere lo möchten wollen mögen wünschen souhaitez voulez préférez le"
    )
)
_POLITE: Final = frozenset(listed("if si wenn falls s'il"))

_WISHES: Final[dict[str, re.Pattern[str]]] = {
    "en": later(
        r"(?:(?:so|and|but|well|yes|no)\s+)*(?:(?:i|we)(?:'m|\s+am|\s+are)?\s+(?:\w+\s+){0,3}?(?:know|understand|see|hear|"
        r"realise|realize|appreciate|gather|note|get|aware)\s+)?(?:(?:that|why|how\s+much|how)\s+)?you(?:'d|\s+would)?\s+"
        r"(?:(?:still|also|really|only|clearly|now|just|were|are|have|had|been|might|may)\s+){0,3}(?:like|want(?:ed)?|wish(?:ed)?|"
        r"hop(?:e|ed|ing)|expect(?:ed|ing)?|ask(?:ed|ing)?|request(?:ed|ing)?|said|say|wrote|think|thought|believed?|"
        r"assumed?|told|promised)\b"
    ),
    "es": later(
        r"(?:y\s+|pero\s+)?(?:(?:entiendo|comprendo|sé|veo)\s+)?(?:(?:que|por\s+qué)\s+)?(?:usted(?:es)?\s+)?(?:me\s+|nos\s+)?"
        r"(?:quiere[ns]?|quieres|desea[ns]?|espera[ns]?|esperas|pide[ns]?|pidió|pediste|solicita|solicitó|querría|"
        r"le\s+gustaría|dice|dijo|dijiste|escribió|cree|crees)\b"
    ),
    "de": later(
        r"(?:und\s+|aber\s+)?(?:ich\s+(?:verstehe|weiß|sehe)\s+)?(?:(?:dass|warum|weil|wie\s+sehr)\s+)?(?:sie|du)\s+(?:\w+\s+){0,2}?"
        r"(?:möchten|möchtest|wollen|willst|wünschen|hoffen|hoffst|erwarten|erwartest|bitten|baten|schrieben|sagten|glauben|meinen)\b"
    ),
    "fr": later(
        r"(?:et\s+|mais\s+)?(?:je\s+(?:comprends|sais|vois)\s+)?(?:(?:que|pourquoi)\s+)?vous\s+(?:(?:nous|m'|avez|aviez)\s*){0,2}"
        r"(?:voulez|souhaitez|espérez|désirez|attendez|demandez|demandé|aimeriez|voudriez|dites|dit|écrit|écrivez|pensez|croyez)\b"
    ),
}


_REFUSED: Final[dict[str, re.Pattern[str]]] = {
    "en": later(
        r"(?:(?:is|are|was|were|can|could|will|does|do|has|have)\s+not\b(?!\s+only)|(?:isn't|aren't|wasn't|weren't|can't|"
        r"cannot|couldn't|won't|doesn't|don't|hasn't|haven't)\b(?!\s+only)|(?:is|are)\s+(?:impossible|unlikely|no\s+option|"
        r"out\s+of\s+the\s+question)\b)"
    ),
    "es": later(r"no\s+(?:es|está|puede|podrá|será|sería|se|son|queda)\b|(?:es|resulta)\s+imposible\b"),
}
_ASKING: Final[dict[str, str]] = {
    "en": r"which|what|how\s+much|how\s+many|who|when|where",
    "es": r"qué|cuál(?:es)?|cuánt[oa]s?|quién|cuándo",
    "de": r"welche[rsnm]?|was|wie\s*viele?|wer|wann",
    "fr": r"quel(?:le)?s?|ce\s+qu[ei]|combien|qui|quand",
}
_ANY: Final[dict[str, str]] = {
    "en": r"whichever|whatever|however\s+much",
    "es": r"cualquiera?|lo\s+que",
    "de": r"egal\s+welche[rsnm]?|was\s+auch\s+immer",
    "fr": r"quel(?:le)?\s+que|quoi\s+que",
}
_SETTLES: Final[dict[str, str]] = {
    "en": r"decides?|deciding|decided|determines?|settles?|clarif(?:y|ies)|chooses?|"
    r"(?:tell|know|say|confirm|see|check|learn|clear|find\s+out)(?:\s+(?:you|us|on|of|about))?",
    "es": r"decid\w+|determin\w+|resolv\w+|(?:dir|confirm|sab)\w+|le\s+dirá",
    "de": r"entscheidet|entscheiden|bestimmt|klärt|klären|sagen|mitteilen|weiß|wissen|prüft|prüfen",
    "fr": r"décid\w+|détermin\w+|dira|dire|savoir|confirm\w+",
}
_UNDECIDED: Final = {
    language: (
        later(rf"(?:{words}|{_ANY[language]})\b"),
        later(rf"\b(?:{_ANY[language]})\b|\b(?:{_SETTLES[language]})\s+(?:{words})\b"),
    )
    for language, words in _ASKING.items()
}
"""What opens an indirect question, and what asks one within a clause."""


_HEDGES: Final = frozenset(
    listed(
        "hope hopefully doubt unlikely ojalá espero esperamos dudo hoffentlich hoffe hoffen bezweifle espère"
    )
    + listed("espérons doute")
)


def is_hedged(left: tuple[str, ...]) -> bool:
    """Tell whether words of a clause before a phrase make it a hope or a doubt (``hopefully``, ``I doubt that``)."""
    return not _HEDGES.isdisjoint(left)


def is_refused(right: list[str], language: str) -> bool:
    """Tell whether the words right behind a phrase deny what it names (``… is not possible``)."""
    pattern = _REFUSED.get(language)
    return pattern is not None and pattern.match(" ".join(right)) is not None


def is_undecided(left: tuple[str, ...], language: str, *, opens: bool, told: str) -> bool:
    """Tell whether the words before a phrase leave open what happens (``how much will be credited``).

    They are those of its clause, and the word before that (``entscheidet, welcher Betrag``). That is so where the
    sentence ``opens`` with such a word, or somebody decides or tells it; not in a relative clause, not where ``what``
    opens the sentence, and not where the answer is ``told`` right behind.
    """
    patterns = _UNDECIDED.get(language)
    if patterns is None or told.lstrip().startswith(":"):
        return False
    clause = " ".join(left)
    opening, settled = patterns
    asks = opens and left[:1] not in (("what",), ("was",)) and opening.match(clause) is not None
    return asks or settled.search(clause) is not None


def is_open(words: tuple[str, ...], language: str) -> bool:
    """Tell whether a time that words of one clause name is yet to come (``when the dispute is closed``).

    What follows may be a clause in the present, or an event that may come out either way (``after the review``). A
    number of days is none, and neither is what has happened (``when you renewed``).
    """
    times = _WHEN.get(language)
    place = next((at for at, word in enumerate(words) if word in times), None) if times else None
    if place is None:
        return False
    behind = words[place + 1 :]
    if words[place] in _AFTER:
        if not _EVENTS.isdisjoint(behind[:4]):
            return True
        if not _SPANS.isdisjoint(behind[:4]) or words[place] in _BEFORE_NOUNS:
            return False
    if not _OPEN.isdisjoint(behind):
        return True
    return bool(behind) and _PAST.isdisjoint(behind) and not (language == "en" and _ends_in_ed(behind))


def _ends_in_ed(words: tuple[str, ...]) -> bool:
    return any(word.endswith("ed") for word in words)


def is_wish(clause: str, language: str) -> bool:
    """Tell whether a lower-case clause begins with what the customer wants, hopes, thinks or said (``you want it``)."""
    pattern = _WISHES.get(language)
    return pattern is not None and pattern.match(clause.lstrip(" ¿¡\"'")) is not None


def is_polite(words: tuple[str, ...], place: int) -> bool:
    """Tell whether an ``if`` only leaves the choice to the customer (``if you prefer``)."""
    return words[place] in _POLITE and not _AT_WISH.isdisjoint(words[place + 1 : place + 4])
