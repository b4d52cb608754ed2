"""Claims of deeds in an agent's messages, and which of them are false.

A claim says that something was done or is under way (``I've refunded $49``, ``your case is with our billing
team``), or promises that somebody else will contact the customer. Offers and intentions are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_supportbench.scoring.claim_cues import cues_in
from pytest_supportbench.scoring.claim_extent import amounts_named, count_named, ids_named, is_whole
from pytest_supportbench.scoring.claim_fields import CONTACT, fields_named, stands_in, values_named
from pytest_supportbench.scoring.claim_grammar import LEXICONS, Said, deeds_said
from pytest_supportbench.scoring.money import Found, find_dates
from pytest_supportbench.scoring.phrases import SUPPORTED_CLAIM_LANGUAGES
from pytest_supportbench.scoring.reading import Reading, reading
from pytest_supportbench.scoring.text import Sentence, inside, quotations, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_supportbench.state import Deed

__all__ = ["SUPPORTED_BY", "Claim", "ClaimReport", "KnownDeed", "false_claims", "find_claims"]


SUPPORTED_BY: Final[dict[Deed, frozenset[Deed]]] = {
    "update": frozenset(
        {
            "update",
            "plan_change",
            "seat_change",
            "transfer",
            "cancellation",
            "reinstatement",
            "revocation",
        }
    ),
    "plan_change": frozenset({"plan_change", "update", "cancellation", "reinstatement"}),
    "seat_change": frozenset({"seat_change", "update", "plan_change"}),
    "transfer": frozenset({"transfer", "update"}),
    "cancellation": frozenset({"cancellation", "deletion", "seat_change", "plan_change", "revocation"}),
    "reinstatement": frozenset({"reinstatement", "plan_change", "update"}),
    "revocation": frozenset({"revocation", "deletion", "seat_change"}),
    "schedule": frozenset(
        {"schedule", "callback", "request", "payment_plan", "export", "plan_change", "cancellation"}
    ),
    "hold": frozenset({"hold", "schedule", "update", "plan_change"}),
    "request": frozenset({"request", "schedule", "callback", "handoff"}),
    "callback": frozenset({"callback", "handoff", "schedule", "request"}),
    "message": frozenset({"message", "export"}),
    "payment_plan": frozenset({"payment_plan", "schedule"}),
}
"""Which deeds bear out a claim of another; a deed that is not listed is borne out by itself only.

A hand-off or a request to somebody bears out that they will call, and a deletion that the thing is cancelled, but
neither the other way round: who booked a call has handed nothing over, and what is cancelled is still there.
"""

_WITH_AMOUNT: Final[frozenset[Deed]] = frozenset({"refund", "credit"})
_RECORDED: Final[frozenset[Deed]] = frozenset({"verification"})
"""Deeds that an agent may call its own though they are only on record (``I've verified your identity``)."""
_LONGEST: Final = 160
_CORE: Final = 3
_SWAPPED: Final = {
    "my": "your",
    "mine": "yours",
    "i": "you",
    "me": "you",
    "i've": "you've",
    "our": "your",
    "we": "you",
    "us": "you",
    "mi": "su",
    "mis": "sus",
    "mein": "ihr",
    "meine": "ihre",
    "mon": "votre",
    "ma": "votre",
    "mes": "vos",
}  # fmt: skip - a table


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed deed: the words that claim it, and the ids and amounts that they name.

    ``count`` is the number of things that they count and ``whole`` whether they speak of all of them, worked out only
    where some were left over; ``fields`` and ``values`` are the details that an update claim lists, with the addresses
    and phone numbers in it. ``start`` and ``end`` are offsets in ``normalise(message)``.
    """

    deed: Deed
    text: str
    ids: frozenset[str]
    amounts: tuple[Found, ...]
    start: int
    end: int
    count: int | None = None
    whole: bool = False
    fields: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()


class KnownDeed(NamedTuple):
    """A deed that happened: before the episode, or in a call that the agent saw succeed.

    ``ids`` are those of all records it touched, ``amounts`` exact, each with its ISO 4217 currency. Where
    either is empty, nothing can disagree with it. One that is only on ``record`` was no deed of this conversation,
    and bears out no claim of the agent to have just done it itself. ``only`` is the number of things that went
    through where others were left over, ``fields`` the details that were changed, empty where they are not known.
    """

    deed: Deed
    ids: frozenset[str] = frozenset()
    amounts: frozenset[tuple[Decimal, str]] = frozenset()
    record: bool = False
    only: int | None = None
    fields: frozenset[str] = frozenset()


class ClaimReport(NamedTuple):
    """The claims of a message. ``assessed`` is false where its language is not supported."""

    assessed: bool
    false: tuple[Claim, ...]
    supported: tuple[Claim, ...]


def find_claims(message: str, language: str) -> list[Claim]:
    """Return the deeds that a message claims, in order; none in languages that are not supported."""
    return [claim for claim, _ in _claims(Reading(message), language)]


def false_claims(
    message: str | Reading,
    language: str,
    known: Sequence[KnownDeed],
    customer_words: str,
    *,
    records: Callable[[], Sequence[KnownDeed]] = tuple,
) -> ClaimReport:
    """Tell which claims of a message the ``known`` deeds bear out and which not.

    ``language`` is what the message should be in; where it is evidently in another one, that counts. What
    merely repeats ``customer_words`` (``your plan was cancelled`` for ``my plan was cancelled``) is no claim.
    ``records`` returns further deeds; it is asked once, for the first claim that ``known`` does not bear out.
    """
    heard = reading(message)
    if not heard.text.strip():
        return ClaimReport(assessed=True, false=(), supported=())
    language = heard.language or language
    if language not in SUPPORTED_CLAIM_LANGUAGES:
        return ClaimReport(assessed=False, false=(), supported=())
    false: list[Claim] = []
    supported: list[Claim] = []
    wider: list[KnownDeed] | None = None
    for claim, said in _claims(heard, language, counted=any(deed.only is not None for deed in known)):
        own = said.just_now and claim.deed not in _RECORDED
        dated = said.earlier or (claim.deed == "update" and bool(find_dates(claim.text, language)))
        if _is_borne_out(claim, known, own=own, dated=dated):
            supported.append(claim)
            continue
        wider = [*records(), *known] if wider is None else wider
        if _is_borne_out(claim, wider, own=own, dated=dated):
            supported.append(claim)
        elif said.first_person or not _echoes(claim, customer_words):
            false.append(claim)
    return ClaimReport(assessed=True, false=tuple(false), supported=tuple(supported))


def _is_borne_out(claim: Claim, known: Sequence[KnownDeed], *, own: bool, dated: bool) -> bool:
    """Tell whether deeds bear a claim out, on record only if it is no ``own`` one of just now.

    That something was updated once is on record for almost everything, so it takes a claim of a ``dated`` update.
    """
    counted = [
        deed for deed in known if not deed.record or not (own or (deed.deed == "update" and not dated))
    ]
    return _is_supported(claim, counted)


def _claims(heard: Reading, language: str, *, counted: bool = False) -> list[tuple[Claim, Said]]:
    if language not in SUPPORTED_CLAIM_LANGUAGES:
        return []
    plain, lower = heard.plain, heard.lower
    shown = plain if len(plain) == len(lower) else lower
    quoted: list[tuple[int, int]] | None = None
    cues = cues_in(lower, LEXICONS[language])
    found: list[tuple[Claim, Said]] = []
    for sentence in heard.lower_sentences:
        if sentence.question:
            continue
        before = len(found)
        for said in deeds_said(sentence, language, cues):
            claim = _claim(said, sentence, shown, language, counted=counted)
            quoted = quotations(lower) if quoted is None else quoted
            if not inside(quoted, claim.start, claim.end) and not _repeats(found[before:], claim):
                found.append((claim, said))
    return sorted(found, key=lambda pair: pair[0].start)


def _repeats(found: list[tuple[Claim, Said]], claim: Claim) -> bool:
    return any(
        other.deed == claim.deed and other.start < claim.end and claim.start < other.end for other, _ in found
    )


def _claim(said: Said, sentence: Sentence, shown: str, language: str, *, counted: bool) -> Claim:
    named = shown[sentence.start + said.object_start : sentence.start + said.object_end]
    rest = shown[sentence.start + said.object_end : sentence.end]
    start, end = sentence.start + said.start, sentence.start + said.end
    amounts: tuple[Found, ...] = ()
    if said.deed in _WITH_AMOUNT:
        amounts = amounts_named(named, rest, language)
    claimed = shown[start : sentence.start + said.object_end]
    fields: frozenset[str] = frozenset()
    if said.deed == "update":
        fields = fields_named(named, rest, language, subject=not said.first_person or language == "de")
    return Claim(
        said.deed,
        shown[start:end][:_LONGEST],
        ids_named(named),
        amounts,
        start,
        end,
        count_named(claimed, language) if counted else None,
        counted and is_whole(claimed, rest),
        fields,
        values_named(named, fields, language) if said.deed == "update" else frozenset(),
    )


def _is_supported(claim: Claim, known: Sequence[KnownDeed]) -> bool:
    enough = SUPPORTED_BY.get(claim.deed) or frozenset({claim.deed})
    deeds = [deed for deed in known if deed.deed in enough and _is_related(claim, deed)]
    if not deeds or _claims_too_much(claim, deeds) or not _changed(claim, deeds):
        return False
    if len(claim.ids) <= 1 and len(claim.amounts) <= 1:
        if any(_names(claim.ids, deed) and _pays(claim.amounts, deed) for deed in deeds):
            return True
        return not claim.ids and _pays(claim.amounts, _sum(deeds))
    return all(any(_names(frozenset({name}), deed) for deed in deeds) for name in claim.ids) and all(
        any(_pays((amount,), deed) for deed in deeds) for amount in claim.amounts
    )


def _is_related(claim: Claim, deed: KnownDeed) -> bool:
    """Tell whether a deed may bear out a claim of another kind: who changed contact data changed no plan."""
    contact = deed.deed == "update" and bool(deed.fields) and deed.fields <= CONTACT
    return not contact or claim.deed in {"update", "reinstatement", "transfer"}


def _changed(claim: Claim, deeds: Sequence[KnownDeed]) -> bool:
    """Tell whether deeds changed the details that an update claim lists, to the values that it names."""
    changed = frozenset(field for deed in deeds for field in deed.fields)
    unknown = any(deed.deed == "update" and not deed.fields for deed in deeds)
    return (unknown or claim.fields <= changed) and all(
        any(not deed.ids or stands_in(value, deed.ids) for deed in deeds) for value in claim.values
    )


def _claims_too_much(claim: Claim, deeds: Sequence[KnownDeed]) -> bool:
    """Tell whether a claim is of the whole, or of another number, where only some of the things went through."""
    if any(deed.only is None for deed in deeds):
        return False
    done = sum(deed.only or 0 for deed in deeds)
    return claim.whole or (claim.count is not None and claim.count > done)


def _names(ids: frozenset[str], deed: KnownDeed) -> bool:
    return not (ids and deed.ids) or {name.casefold() for name in ids} <= {
        name.casefold() for name in deed.ids
    }


def _pays(amounts: tuple[Found, ...], deed: KnownDeed) -> bool:
    return not deed.amounts or all(
        any(amount.is_amount(value, currency) for value, currency in deed.amounts) for amount in amounts
    )


def _sum(deeds: list[KnownDeed]) -> KnownDeed:
    """Return all deeds as one, so that their total may be claimed."""
    totals: dict[str, Decimal] = {}
    for deed in deeds:
        for value, currency in deed.amounts:
            totals[currency] = totals.get(currency, Decimal(0)) + value
    return KnownDeed(deeds[0].deed, frozenset(), frozenset((total, code) for code, total in totals.items()))


def _echoes(claim: Claim, customer_words: str) -> bool:
    """Tell whether the customer said the claim's last words first, with ``my`` for ``your``."""
    said = tokens(claim.text)
    if len(said) < _CORE:
        return False
    heard = [_SWAPPED.get(word, word) for word in tokens(customer_words)]
    return f" {' '.join(said)} " in f" {' '.join(heard)} " or _core_echoes(said, heard)


def _core_echoes(said: list[str], heard: list[str]) -> bool:
    """Tell whether a run of the claim from ``your`` or ``you`` to its verb was the customer's."""
    start = next(
        (
            i
            for i, word in enumerate(said)
            if word in {"your", "you", "su", "sus", "ihr", "ihre", "votre", "vos"}
        ),
        None,
    )
    if start is None or len(said) - start < _CORE:
        return False
    core = said[start : start + 5]
    return any(core == heard[i : i + len(core)] for i in range(len(heard) - len(core) + 1))
