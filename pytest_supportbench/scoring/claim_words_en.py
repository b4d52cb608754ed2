"""How an English-speaking agent says that it did something."""

from __future__ import annotations

import re
from typing import Final

from pytest_supportbench.scoring.claim_words import Lexicon, forms
from pytest_supportbench.scoring.phrases import CONDITIONS
from pytest_supportbench.scoring.text import listed

_WHO: Final = (
    r"(?:specialists?|colleagues?|someone|somebody|agents?|team|teammate|member|representative|rep|"
    r"manager|expert|"
    r"person|human|engineers?|advis[eo]r|supervisor|department|they)"
)
_TEAM: Final = r"(?:\w+\s+){0,3}(?:team|specialists?|department|colleagues?|agents?|engineers?|experts?)"
_SAW_TO: Final = (
    r"(?:'ve|\s+have)?\s+(?:\w+\s+){0,3}?(?:took\s+care\s+of|taken\s+care\s+of|sorted(?:\s+out)?|dealt\s+with|"
    r"seen\s+to|saw\s+to)\s+(?:your|the|this|that)\s+"
)
_IS_NOW: Final = r"\s(?:is|are)\s+(?:(?:now|already|currently)\s+)?"
_ON_ITS_WAY: Final = r"on\s+(?:its|the|their)\s+way(?:\s+|\b)"
_PLACE: Final = r"(?:card|account|bank)"
_PAPER: Final = r"(?:request|case|question|issue|matter|with)"

ENGLISH: Final = Lexicon(
    done=forms(
        refund="refunded reimbursed repaid",
        reverse="reversed",
        bring="brought",
        **{"return": "returned paid"},
        credit="credited",
        issue="issued processed applied made completed initiated granted given gave added put placed "
        "posted approved pushed "
        "raised arranged triggered generated prepared submitted finalised finalized",
        cancel="cancelled canceled terminated",
        stop="stopped turned switched disabled ended",
        reinstate="reinstated restored reactivated undone undid reopened",
        change="changed updated corrected edited amended replaced adjusted swapped",
        move="moved migrated",
        plan_change="upgraded downgraded",
        remove="removed dropped",
        delete="deleted erased purged",
        revoke="revoked rotated invalidated deactivated",
        sign_out="signed logged",
        transfer="transferred reassigned",
        handoff="escalated",
        **{
            "pass": "passed forwarded handed referred routed assigned flagged looped notified alerted "
            "informed asked "
            "contacted connected involved relayed shared briefed delegated"
        },
        schedule="scheduled rescheduled booked",
        send="sent",
        message="emailed messaged texted mailed",
        hold="locked frozen froze paused suspended blocked halted withheld",
        verify="verified confirmed",
        export="exported",
        set_up="set",
        save="saved",
        close="closed",
        split="split divided spread",
        open="opened created logged filed",
    )
    | {"raised": "open", "submitted": "open", "switched": "move", "turned": "stop", "arranged": "schedule"},
    nouns=forms(
        refund="refund refunds reimbursement reversal",
        cash="money funds dollars euros pounds yen francs usd eur gbp chf jpy",
        money="payment payments amount amounts",
        charge="charge charges fee",
        credit="credit credits",
        card="card visa mastercard",
        back="back",
        cancellation="cancellation",
        renewal="renewal auto-renewal autorenewal renewals",
        subscription="subscription membership add_on",
        plan="plan basic pro team-plan business enterprise annual monthly tier",
        payment_plan="instalments installments instalment installment",
        seat="seat seats licence licences license licenses",
        contact="address phone number name details vat method postcode contact profile",
        email="email e-mail mail",
        mail="link confirmation agreement document dpa pdf contract form letter report guide copy "
        "message invoice receipt code instructions",
        account="account workspace",
        data="data records files",
        session="session sessions token tokens key keys device devices access",
        hold="hold freeze lock",
        callback="callback call",
        ticket="ticket request case approval",
        export="export",
        ownership="ownership",
        team="team teams colleague colleagues specialist specialists department agent agents human "
        "manager supervisor "
        "engineer engineers engineering tier person expert experts representative",
        admin="admin admins administrator reseller partner approver",
        identity="identity",
        time="monday tuesday wednesday thursday friday saturday sunday tomorrow",
    ),
    endings={},
    doing=forms(
        refund="refunding reversing reimbursing",
        issue="processing issuing applying adding",
        cancel="cancelling canceling",
        handoff="escalating",
        bring="bringing",
        **{"pass": "passing forwarding handing referring routing connecting"},
        transfer="transferring",
        send="sending",
        change="updating changing",
        delete="deleting",
    ),
    base=forms(
        refund="refund reimburse",
        reverse="reverse",
        credit="credit",
        issue="process issue apply add place complete",
        cancel="cancel",
        reinstate="reinstate restore reactivate undo",
        change="change update correct",
        plan_change="upgrade downgrade",
        remove="remove",
        delete="delete erase",
        revoke="revoke rotate",
        transfer="transfer",
        handoff="escalate",
        schedule="schedule book",
        verify="verify confirm",
        export="export",
        **{"pass": "forward pass"},
    ),
    past={},
    adverbs=frozenset(
        listed(
            "just already now also successfully today therefore fully personally promptly recently then "
            "both all "
            "immediately manually gone went ahead and since officially safely indeed finally formally"
        )
    ),
    definite=frozenset(listed("your the this both all everything it its these those our")),
    conditions=CONDITIONS["en"] | frozenset(listed("when whenever before please as_soon_as in_case should")),
    habits=frozenset(
        listed(
            "within once if when automatically usually always only unless typically normally normal can every"
        )
    ),
    says=(
        (
            " gone",
            re.compile(r"\byour\s+(?:\w+\s+)?(?:data|profile|account)\s+(?:is|are)\s+(?:now\s+)?gone\b"),
            "deletion",
        ),
        (
            "refund",
            re.compile(
                r"\brefund\s+(?:of\s+\S+\s+|for\s+(?:\S+\s+){1,5}?)?(?:is|are)\s+(?:(?:already|now|"
                r"currently)\s+)?"
                r"(?:on\s+(?:its|the|their)\s+way|under\s?way|in\s+progress|being\s+sent|complete)\b"
            ),
            "refund",
        ),
        (
            "with ",
            re.compile(rf"\b(?:is|are)\s+(?:now\s+|already\s+)?with\s+(?:our|the|a)\s+{_TEAM}\b"),
            "handoff",
        ),
        (
            "your ",
            re.compile(
                rf"\b(?:our|the)\s+{_TEAM}\s+(?:now\s+|already\s+)?(?:has|have)\s+(?:now\s+)?your\s+"
                r"(?:case|request|ticket|details)\b"
            ),
            "handoff",
        ),
        (
            " is ",
            re.compile(
                rf"\b(?:our|the)\s+{_TEAM}\s+is\s+(?:now\s+|already\s+)(?:reviewing|handling|looking)\b"
            ),
            "handoff",
        ),
        (
            " over",
            re.compile(
                rf"\b{_WHO}\s+(?:from\s+\S+\s+(?:\w+\s+)?)?(?:is|are|has|have)\s+(?:now\s+)?(?:taking|"
                rf"taken)\s+over\b"
            ),
            "handoff",
        ),
        (
            "back",
            re.compile(
                rf"{_IS_NOW}back\s+(?:on|in)\s+your\s+{_PLACE}\b(?!\s+(?:only|once|when|after|within)\b)"
            ),
            "refund",
        ),
        (
            " way",
            re.compile(
                rf"{_IS_NOW}{_ON_ITS_WAY}(?:back\b(?!\s+to\s+us)|to\s+your\s+{_PLACE}\b)"
                rf"|\b(?:money|funds){_IS_NOW}{_ON_ITS_WAY}"
            ),
            "refund",
        ),
        (
            " discount",
            re.compile(
                r"\b(?:i|we)(?:'ve|\s+have)?\s+(?:also\s+)?(?:added|applied|granted|given\s+you)\s+an?\s+"
                r"[^\s0-9]?[0-9]\S*\s+(?:\S+\s+)?discount\b"
            ),
            "credit",
        ),
        ("refund", re.compile(rf"\b(?:i|we){_SAW_TO}(?:\w+\s+)?refund\b(?!\s+{_PAPER})"), "refund"),
        (
            "refund",
            re.compile(
                r"\brefund\s+(?:of\s+(?:\S+\s+){1,2})?(?:(?:just|now|already|has|have)\s+){0,2}(?:went|gone)\s+"
                r"(?:through|out)\b"
                r"|\brefund(?:\s+of\s+\S+(?:\s+[a-z]{3})?)?(?:\s+is|:)\s+done\b(?!\s+(?:by|only|once|when|within)\b)"
                r"|\bconsider\s+(?:your|the)\s+refund\s+(?:done|made|complete)"
            ),
            "refund",
        ),
        (
            "your ",
            re.compile(
                r"\byour\s+(?:\w+\s+){0,2}(?:e-?mail|phone|number)(?:\s+(?:address|number))?\s+is\s+now\s+(?:\S+@|\+?[0-9][0-9\s]{6})"
                rf"|\b(?:i|we){_SAW_TO}(?:\w+\s+){{0,2}}(?:phone|number|address|contact\s+\w+)\b(?!\s+{_PAPER})"
            ),
            "update",
        ),
        (
            "change",
            re.compile(
                rf"\b(?:i|we){_SAW_TO}(?:\w+\s+)?(?:e-?mail|phone|number|address|contact|details?)\s+(?:\w+\s+)?"
                rf"changes?\b(?!\s+{_PAPER})"
            ),
            "update",
        ),
        (
            "your new ",
            re.compile(
                r"\byour\s+new\s+(?:e-?mail|phone|number|address|contact)\s+(?:\w+\s+){0,3}(?:is|are)\s+(?:(?:now|already)\s+)?(?:in\s+place|saved|active)\b"
            ),
            "update",
        ),
        ("on file", re.compile(r"\byour\s+new\s+(?:\w+\s+){1,3}is\s+(?:now\s+)?on\s+file\b"), "update"),
        (
            " plan",
            re.compile(r"\byou(?:'re|\s+are)\s+now\s+on\s+(?:the\s+|our\s+)?\w+\s+plan\b"),
            "plan_change",
        ),
        ("owner", re.compile(r"\byou(?:'re|\s+are)\s+now\s+(?:the|an?)\s+owner\b"), "transfer"),
        (
            "export",
            re.compile(r"\b(?:here\s+is|here's|attached\s+is)\s+your\s+(?:\w+\s+){0,2}export\b"),
            "export",
        ),
        (
            " credit",
            re.compile(
                r"\b(?:the|your)\s+credit\s+(?:of\s+(?:\S+\s+){1,2})?is\s+(?:(?:now|already)\s+)?on\s+your\s+"
                r"(?:\w+\s+){0,2}(?:invoice|account|bill)\b"
            ),
            "credit",
        ),
        (" credit", re.compile(r"\bthere(?:'s|\s+is)\s+now\s+(?:a|an)\s+(?:\S+\s+){0,3}?credit\b"), "credit"),
        (
            "being ",
            re.compile(
                rf"\bbeing\s+(?:reviewed|handled|looked\s+(?:at|into)|investigated)\s+by\s+(?:our|the|"
                rf"a)\s+{_TEAM}\b"
            ),
            "handoff",
        ),
        (
            "way to",
            re.compile(
                r"\b(?:is|are)\s+(?:now\s+)?on\s+(?:its|their|the)\s+way\s+to\s+your\s+(?:inbox|email)\b"
            ),
            "message",
        ),
        ("verified", re.compile(r"\byou(?:'re|\s+are)\s+(?:now\s+)?verified\b"), "verification"),
        ("export", re.compile(r"\bexport\s+(?:\w+\s+){0,4}?is\s+(?:now\s+)?ready\b"), "export"),
    ),
    promise_cues=("will", "'ll", "expect", "going to"),
    promises=re.compile(
        rf"\b{_WHO}(?:\s+\w+){{0,5}}?(?:\s+will|'ll|\s+(?:is|are)\s+going\s+to)\s+(?:\w+ly\s+|soon\s+|"
        rf"also\s+|then\s+)?"
        r"(?:call|phone|ring|contact|reach\s+out|get\s+back|get\s+in\s+touch|be\s+(?:in\s+touch|calling|"
        r"contacting|"
        r"reaching)|follow\s+up|email)\b"
        r"|\byou(?:'ll|\s+will)\s+(?:soon\s+|then\s+)?(?:hear\s+(?:back\s+)?from|be\s+(?:contacted|"
        r"called)\s+by|"
        r"(?:get|receive)\s+a\s+call)\b"
        r"|\bexpect\s+(?:a\s+call|to\s+hear)\b"
        rf"|\b(?:i|we)(?:'ll|\s+will)\s+have\s+(?:\w+\s+){{0,4}}?{_WHO}\s+(?:call|contact|reach|phone)\b"
    ),
    reported=re.compile(
        r"(?<!as )\b(?:you|they|he|she|customers?|your\s+(?:message|email|bank|admin|colleague|note)|"
        r"(?:the|our|this)\s+(?:article|policy|guide|page|document|rules?|customer))\s+"
        r"(?:\w+\s+)?(?:said|says?|told|mention\w*|wrote|writes?|report\w*|claim\w*|stated?|think|"
        r"thought|believe\w*|"
        r"assum\w*|suggest\w*|describe\w*|asked|hop\w+|expect\w*)\b"
        r"|\b(?:tell|confirm|check|let)\s+(?:me|us|to\s+us)\b|\baccording\s+to\s+you\b"
    ),
)
