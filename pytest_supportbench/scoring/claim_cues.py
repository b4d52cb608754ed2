"""What a text must hold for a sentence of it to claim a deed, looked for once before its sentences are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import re

    from pytest_supportbench.scoring.claim_words import Lexicon
    from pytest_supportbench.state import Deed

_COMPOUNDS: Final = (
    ("add-on", "add_on"),
    ("as soon as", "as_soon_as"),
    ("in case", "in_case"),
    ("una vez", "una_vez"),
    ("second-level", "second_level"),
    ("second level", "second_level"),
    ("third-level", "third_level"),
    ("third level", "third_level"),
    ("second-line", "second_line"),
    ("second line", "second_line"),
    ("team plan", "team_plan"),
    ("team monthly", "team_monthly"),
    ("team yearly", "team_yearly"),
    ("team subscription", "team_subscription"),
    ("team workspace", "team_workspace"),
)
"""Words that belong together, joined in as many letters: a word within (a plan called Team) is not read by itself."""


class Cues(NamedTuple):
    """What may matter in any sentence of a text: a sentence has no cue that the text has not."""

    says: tuple[tuple[str, re.Pattern[str], Deed], ...]
    promised: bool
    compounds: tuple[tuple[str, str], ...]


def cues_in(lower: str, lexicon: Lexicon) -> Cues:
    """Return the cues of a lower-case text, which are looked for once and not in every sentence."""
    return Cues(
        tuple([say for say in lexicon.says if say[0] in lower]),
        any(map(lower.__contains__, lexicon.promise_cues)),
        tuple([compound for compound in _COMPOUNDS if compound[0] in lower]),
    )
