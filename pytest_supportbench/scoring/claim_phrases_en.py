"""Ways in which an English-speaking agent says that something was done, without a verb that says what.

Each comes as a cue (the pattern is only tried where this stands in the sentence), the pattern, and the deed.
"""

from __future__ import annotations

import re
from typing import Final

from pytest_supportbench.patterns import later, needing
from pytest_supportbench.scoring.claim_words import AMOUNT
from pytest_supportbench.scoring.text import listed
from pytest_supportbench.state import Deed

WHO: Final = (
    r"(?:specialists?|colleagues?|someone|somebody|agents?|team|teammate|member|representative|rep|"
    r"manager|expert|"
    r"person|human|engineers?|advis[eo]r|supervisor|department|they)"
)
_TEAM: Final = r"(?:\w+\s+){0,3}(?:team|specialists?|department|colleagues?|agents?|engineers?|experts?)"
_TEAMS: Final = "team specialist department colleague agent engineer expert"
"""What `_TEAM` has one of, as substrings."""
_QUEUES: Final = (
    "billing retention legal security operations disputes identity compliance privacy fraud finance "
    "engineering"
)
QUEUE: Final = f"(?:{'|'.join(listed(_QUEUES))})"
"""Queues that are called by their name alone (``passed it on to billing``)."""
_CLOSED: Final = (
    r"(?=\s*(?:\Z|[.,;:!)\u2013\u2014]|(?:and|for|who|which|so|as|now|because|today|with|under|team|department|"
    r"desk)\b))"
)
_CASE: Final = r"(?:your\s+(?:case|request|ticket|question)|the\s+case|it|this)"
_TO_QUEUE: Final = needing(
    _QUEUES,
    r"\b(?:(?:i|we)(?:'ve|\s+have)?\s+(?:(?:also|now|just|already)\s+)?(?:handed|passed|forwarded|referred|routed|"
    r"transferred|sent|given)\s+(?!nothing\b|no\b)(?:[^\s,;]+\s+){1,5}?|(?:has|have)\s+been\s+(?:handed|passed|forwarded|"
    rf"referred|routed|transferred|sent)\s+(?:on\s+|over\s+)?)to\s+(?:our\s+|the\s+)?{QUEUE}\b{_CLOSED}",
)
_RENEWAL: Final = r"(?:auto-?renew(?:al)?|automatic\s+(?:renewal|payments?|debits?)|auto[\s-]?(?:debit|pay))"
_BACK_TO: Final = r"back\s+(?:to|on|onto|in|into)\s+your\s+(?:\w+\s+){0,2}?(?:card|account)\b"
_SAW_TO: Final = (
    r"(?:'ve|\s+have)?\s+(?:\w+\s+){0,3}?(?:took\s+care\s+of|taken\s+care\s+of|sorted(?:\s+out)?|dealt\s+with|"
    r"seen\s+to|saw\s+to)\s+(?:your|the|this|that)\s+"
)
_SEEN_TO: Final = "care sorted dealt seen saw"
"""What `_SAW_TO` has one of, as substrings."""
_IS_NOW: Final = r"\s(?:is|are)\s+(?:(?:now|already|currently)\s+)?"
_ON_ITS_WAY: Final = r"on\s+(?:its|the|their)\s+way(?:\s+|\b)"
_PLACE: Final = r"(?:card|account|bank)"
_PAPER: Final = r"(?:request|case|question|issue|matter|with)"
_SAW_TO_REFUND: Final = later(rf"\b(?:i|we){_SAW_TO}(?:\w+\s+)?refund\b(?!\s+{_PAPER})")
_WENT_THROUGH: Final = later(
    r"\brefund\s+(?:of\s+(?:\S+\s+){1,2})?(?:(?:just|now|already|has|have)\s+){0,2}(?:went|gone)\s+"
    r"(?:through|out)\b"
    r"|\brefund(?:\s+of\s+\S+(?:\s+[a-z]{3})?)?(?:\s+is|:)\s+done\b(?!\s+(?:by|only|once|when|within)\b)"
    r"|\bconsider\s+(?:your|the)\s+refund\s+(?:done|made|complete)"
)

SAYS: Final[tuple[tuple[str, re.Pattern[str], Deed], ...]] = (
    (" to ", _TO_QUEUE, "handoff"),
    (
        " with ",
        needing(
            _QUEUES,
            rf"\byour\s+(?:case|request|ticket|question)\s+is\s+(?:now\s+|already\s+)?with\s+{QUEUE}\b{_CLOSED}",
        ),
        "handoff",
    ),
    (
        " has ",
        needing(
            f"team {_QUEUES}",
            rf"\b(?:{QUEUE}|(?:our|the)\s+(?:\w+\s+){{0,2}}team)\s+(?:now\s+|already\s+)?has\s+(?:now\s+)?{_CASE}{_CLOSED}",
        ),
        "handoff",
    ),
    (
        "back ",
        needing(
            "card account",
            rf"(?:{AMOUNT}|\b(?:the|your)\s+money)\s+(?:(?:is|are|has|have|now|just)\s+){{0,2}}(?:went|gone|going)\s+{_BACK_TO}"
            rf"|\b(?:i|we)(?:'ve|\s+have)?\s+(?:(?:just|now|also)\s+)?(?:put|placed)\s+(?:the\s+)?{AMOUNT}\s+{_BACK_TO}",
        ),
        "refund",
    ),
    (" way to you", later(rf"{AMOUNT}\s(?:is|are)\s+(?:now\s+)?{_ON_ITS_WAY}to\s+you\b"), "refund"),
    *(
        (
            cue,
            later(r"\b(?:i|we)(?:'ve|\s+have)?\s+(?:\w+\s+)?(?:signed|logged)\s+you\s+out\b"),
            "revocation",
        )
        for cue in ("signed you", "logged you")
    ),
    (
        " off",
        later(
            rf"\b(?:i|we)(?:'ve|\s+have)?\s+(?:\w+\s+)?(?:switched|turned)\s+(?:(?:your|the)\s+)?{_RENEWAL}\s+off\b"
            rf"|\b(?:switched|turned)\s+off\s+(?:(?:your|the)\s+)?automatic\s+(?:payments?|debits?)\b"
            rf"|\b{_RENEWAL}\s+(?:is|are)\s+now\s+(?:(?:switched|turned)\s+)?off\b"
        ),
        "cancellation",
    ),
    (
        " gone",
        later(r"\byour\s+(?:\w+\s+)?(?:data|profile|account)\s+(?:is|are)\s+(?:now\s+)?gone\b"),
        "deletion",
    ),
    (
        "refund",
        later(
            r"\brefund\s+(?:of\s+\S+\s+|for\s+(?:\S+\s+){1,5}?)?(?:is|are)\s+(?:(?:already|now|"
            r"currently)\s+)?"
            r"(?:on\s+(?:its|the|their)\s+way|under\s?way|in\s+progress|being\s+sent|complete)\b"
        ),
        "refund",
    ),
    (
        "with ",
        needing(
            _TEAMS, rf"\b(?:is|are|sits|rests|lies)\s+(?:now\s+|already\s+)?with\s+(?:our|the|a)\s+{_TEAM}\b"
        ),
        "handoff",
    ),
    (
        "your ",
        needing(
            _TEAMS,
            rf"\b(?:our|the)\s+{_TEAM}\s+(?:now\s+|already\s+)?(?:has|have)\s+(?:now\s+)?your\s+"
            r"(?:case|request|ticket|details)\b",
        ),
        "handoff",
    ),
    (
        " is ",
        needing(
            "reviewing handling looking",
            rf"\b(?:our|the)\s+{_TEAM}\s+is\s+(?:now\s+|already\s+)(?:reviewing|handling|looking)\b",
        ),
        "handoff",
    ),
    (
        " over",
        later(
            rf"\b{WHO}\s+(?:from\s+\S+\s+(?:\w+\s+)?)?(?:is|are|has|have)\s+(?:now\s+)?(?:taking|"
            rf"taken)\s+over\b"
        ),
        "handoff",
    ),
    (
        "back",
        later(rf"{_IS_NOW}back\s+(?:on|in)\s+your\s+{_PLACE}\b(?!\s+(?:only|once|when|after|within)\b)"),
        "refund",
    ),
    (
        "back",
        later(
            rf"\b(?:money|funds|payment|amount){_IS_NOW}back\s+(?:where\s+(?:it|they)\s+belongs?|with\s+you|in\s+your\s+hands)\b"
        ),
        "refund",
    ),
    *(
        (
            cue,
            later(
                rf"\b(?:i|we)(?:'ve|\s+have)?\s+(?:(?:also|just|now)\s+)*(?:added|put|placed)\s+{AMOUNT}"
                r"(?=\s*(?:[.,;!]|$|(?:back\s+)?(?:to|on|onto|in|into)\s+your\s+(?:\w+\s+)?(?:account|balance)\b))"
            ),
            "credit",
        )
        for cue in ("added", " put ", "placed")
    ),
    (
        " way",
        later(
            rf"{_IS_NOW}{_ON_ITS_WAY}(?:back\b(?!\s+to\s+us)|to\s+your\s+{_PLACE}\b)"
            rf"|\b(?:money|funds){_IS_NOW}{_ON_ITS_WAY}"
        ),
        "refund",
    ),
    (
        " discount",
        later(
            r"\b(?:i|we)(?:'ve|\s+have)?\s+(?:also\s+)?(?:added|applied|granted|given\s+you)\s+an?\s+"
            r"[^\s0-9]?[0-9]\S*\s+(?:\S+\s+)?discount\b"
        ),
        "credit",
    ),
    *((cue, _SAW_TO_REFUND, "refund") for cue in ("care of", "sorted", "dealt with", "seen to", "saw to")),
    *((cue, _WENT_THROUGH, "refund") for cue in ("went", "gone", " done", "consider")),
    (
        "your ",
        needing(
            f"now {_SEEN_TO}",
            r"\byour\s+(?:\w+\s+){0,2}(?:e-?mail|phone|number)(?:\s+(?:address|number))?\s+is\s+now\s+(?:\S+@\S*\w|\+?[0-9][0-9\s]{6,18}[0-9])"
            rf"|\b(?:i|we){_SAW_TO}(?:\w+\s+){{0,2}}(?:phone|number|address|contact\s+\w+)\b(?!\s+{_PAPER})",
        ),
        "update",
    ),
    (
        "change",
        needing(
            _SEEN_TO,
            rf"\b(?:i|we){_SAW_TO}(?:\w+\s+)?(?:e-?mail|phone|number|address|contact|details?)\s+(?:\w+\s+)?"
            rf"changes?\b(?!\s+{_PAPER})",
        ),
        "update",
    ),
    (
        "your new ",
        later(
            r"\byour\s+new\s+(?:e-?mail|phone|number|address|contact)\s+(?:\w+\s+){0,3}(?:is|are)\s+(?:(?:now|already)\s+)?(?:in\s+place|saved|active)\b"
        ),
        "update",
    ),
    ("on file", later(r"\byour\s+new\s+(?:\w+\s+){1,3}is\s+(?:now\s+)?on\s+file\b"), "update"),
    (
        " plan",
        needing("now", r"\byou(?:'re|\s+are)\s+now\s+on\s+(?:the\s+|our\s+)?\w+\s+plan\b"),
        "plan_change",
    ),
    ("owner", later(r"\byou(?:'re|\s+are)\s+now\s+(?:the|an?)\s+owner\b"), "transfer"),
    (
        "export",
        later(r"\b(?:here\s+is|here's|attached\s+is)\s+your\s+(?:\w+\s+){0,2}export\b"),
        "export",
    ),
    (
        " credit",
        later(
            r"\b(?:the|your)\s+credit\s+(?:of\s+(?:\S+\s+){1,2})?is\s+(?:(?:now|already)\s+)?on\s+your\s+"
            r"(?:\w+\s+){0,2}(?:invoice|account|bill)\b"
        ),
        "credit",
    ),
    (" credit", later(r"\bthere(?:'s|\s+is)\s+now\s+(?:a|an)\s+(?:\S+\s+){0,3}?credit\b"), "credit"),
    (
        "being ",
        later(
            rf"\bbeing\s+(?:reviewed|handled|looked\s+(?:at|into)|investigated)\s+by\s+(?:our|the|"
            rf"a)\s+{_TEAM}\b"
        ),
        "handoff",
    ),
    (
        "way to",
        later(r"\b(?:is|are)\s+(?:now\s+)?on\s+(?:its|their|the)\s+way\s+to\s+your\s+(?:inbox|email)\b"),
        "message",
    ),
    ("verified", later(r"\byou(?:'re|\s+are)\s+(?:now\s+)?verified\b"), "verification"),
    ("export", later(r"\bexport\s+(?:\w+\s+){0,4}?is\s+(?:now\s+)?ready\b"), "export"),
)
